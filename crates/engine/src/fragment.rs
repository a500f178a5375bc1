//! The parts of a prompt besides the conversation. Each has a size limit, and a cut is marked.
//!
//! Providers cache a prompt from its beginning, so the beginning must not change: stable fragments make up the system
//! text, which is the same byte for byte as long as the settings are. Volatile ones become notes in the conversation,
//! sent when they are new and recorded with the call that sends them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use trimtab_vocab::event::PromptNote;
use trimtab_vocab::{Message, Part, Prompt, Role};

/// Whether a fragment may change while a session lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cache {
    /// Never: it is part of the system text.
    Stable,
    /// It may change, and is sent as a note. `gone` is sent once it no longer applies.
    Volatile { gone: &'static str },
}

/// A piece of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// Unique in its list.
    pub(crate) name: Cow<'static, str>,
    /// What it says; empty: it does not hold now.
    pub(crate) text: Cow<'static, str>,
    /// Bytes of the text that are sent.
    pub(crate) cap: usize,
    pub(crate) cache: Cache,
}

impl Fragment {
    /// A part of the system text.
    pub(crate) fn stable(name: &'static str, text: impl Into<Cow<'static, str>>, cap: usize) -> Self {
        Self { name: name.into(), text: text.into(), cap, cache: Cache::Stable }
    }

    /// A fragment that is sent when it is new.
    pub(crate) fn volatile(
        name: impl Into<Cow<'static, str>>,
        text: impl Into<Cow<'static, str>>,
        cap: usize,
        gone: &'static str,
    ) -> Self {
        Self { name: name.into(), text: text.into(), cap, cache: Cache::Volatile { gone } }
    }

    /// What a prompt without a conversation is about.
    pub(crate) fn request(text: impl Into<Cow<'static, str>>, cap: usize) -> Self {
        Self::volatile("request", text, cap, "")
    }

    /// The text, cut where it is too long.
    pub(crate) fn capped(&self) -> Cow<'_, str> {
        capped(&self.text, self.cap)
    }
}

/// A text of at most `cap` bytes; a cut says how much is left out.
pub(crate) fn capped(text: &str, cap: usize) -> Cow<'_, str> {
    if text.len() <= cap {
        return Cow::Borrowed(text);
    }
    let cut = text.floor_char_boundary(cap);
    Cow::Owned(format!("{}\n[... {} more bytes are left out ...]", &text[..cut], text.len() - cut))
}

/// The system text: the stable fragments, in order.
pub(crate) fn system(fragments: &[Fragment]) -> String {
    fragments.iter().filter(|fragment| fragment.cache == Cache::Stable).map(Fragment::capped).collect()
}

/// The notes that differ from what was sent last.
pub(crate) fn notes(fragments: &[Fragment], told: &BTreeMap<String, String>) -> Vec<PromptNote> {
    let note = |fragment: &Fragment| {
        let Cache::Volatile { gone } = fragment.cache else { return None };
        let before = told.get(&*fragment.name).map(String::as_str);
        let text = match fragment.text.trim().is_empty() {
            true => before.map(|_| Cow::Borrowed(gone))?,
            false => fragment.capped(),
        };
        (before != Some(&*text))
            .then(|| PromptNote { name: fragment.name.clone().into_owned(), text: text.into_owned() })
    };
    fragments.iter().filter_map(note).collect()
}

/// A prompt without a conversation: the stable fragments are the system text, the others the one message.
pub(crate) fn prompt(fragments: &[Fragment]) -> Prompt {
    let told = fragments.iter().filter(|fragment| fragment.cache != Cache::Stable && !fragment.text.is_empty());
    let parts = told.map(|fragment| Part::Text { text: fragment.capped().into_owned() }).collect();
    let messages = vec![Arc::new(Message { role: Role::User, parts })];
    Prompt { system: system(fragments), messages, ..Prompt::default() }
}

/// A note in its form for the conversation.
pub(crate) fn part(note: &PromptNote) -> Part {
    Part::Text { text: format!("{}{}] {}", PromptNote::MARK, note.name, note.text) }
}

/// The name of a note and what it says, where a part of the conversation is one.
pub(crate) fn note_in(part: &Part) -> Option<(&str, &str)> {
    let Part::Text { text } = part else { return None };
    text.strip_prefix(PromptNote::MARK)?.split_once("] ")
}

/// Whether a text is a note. Notes are sent again where needed, so they are never summarized.
pub(crate) fn is_note(words: &str) -> bool {
    words.starts_with(PromptNote::MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(mode: &'static str, memory: &'static str) -> Vec<Fragment> {
        vec![
            Fragment::stable("role", "You help.", 100),
            Fragment::volatile("mode", mode, 100, "Plan mode is over."),
            Fragment::volatile("memory", memory, 10, "Nothing is remembered."),
        ]
    }

    fn tell(told: &mut BTreeMap<String, String>, fragments: &[Fragment]) -> Vec<String> {
        let notes = notes(fragments, told);
        let texts = notes.iter().map(|note| note.text.clone()).collect();
        told.extend(notes.into_iter().map(|note| (note.name, note.text)));
        texts
    }

    #[test]
    fn what_has_not_changed_is_never_told_twice() {
        let mut told = BTreeMap::new();
        assert_eq!(tell(&mut told, &list("", "")), Vec::<String>::new(), "what never held is not over");
        assert_eq!(tell(&mut told, &list("Plan.", "tabs")), ["Plan.", "tabs"]);
        assert_eq!(tell(&mut told, &list("Plan.", "tabs")), Vec::<String>::new());
        assert_eq!(tell(&mut told, &list("", "tabs")), ["Plan mode is over."]);
        assert_eq!(tell(&mut told, &list("", "tabs")), Vec::<String>::new());
        assert_eq!(tell(&mut told, &list("Plan.", "spaces")), ["Plan.", "spaces"]);
    }

    #[test]
    fn nothing_is_cut_without_saying_so() {
        let long = Fragment::stable("long", "é".repeat(10), 5);
        assert_eq!(long.capped(), "éé\n[... 16 more bytes are left out ...]");
        assert_eq!(system(&[long.clone(), Fragment::stable("more", "!", 1)]), format!("{}!", long.capped()));
        assert!(is_note("[CONTEXT: memory] x") && !is_note("CONTEXT"));
    }

    #[test]
    fn a_note_is_read_as_it_was_told() {
        let note = PromptNote { name: "memory".into(), text: "[a] b".into() };
        assert_eq!(note_in(&part(&note)), Some(("memory", "[a] b")));
        assert_eq!(note_in(&Part::Text { text: "memory] x".into() }), None);
    }
}
