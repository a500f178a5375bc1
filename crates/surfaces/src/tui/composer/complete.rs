//! Which word at the cursor can be completed, and from what.

use std::ops::Range;

/// Where completions come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompletionSource {
    /// `@`: files of the folder.
    Files,
    /// `/` at the start: pills and commands.
    Commands,
    /// `#`: tags.
    Tags,
}

impl CompletionSource {
    /// What is said while there is nothing to choose from.
    pub(super) fn empty(self) -> &'static str {
        match self {
            Self::Files => "Looking in trusted folders…",
            Self::Commands => "There are no commands.",
            Self::Tags => "There are no tags yet. Type a new one.",
        }
    }

    /// The character that calls it.
    pub fn sign(self) -> char {
        match self {
            Self::Files => '@',
            Self::Commands => '/',
            Self::Tags => '#',
        }
    }
}

/// Longer words are none of those that can be completed.
const LONGEST: usize = 300;

/// The word that the cursor stands in or behind, if it can be completed: its source, and where it is from its
/// sign to the cursor. Commands are offered only where the person began one.
pub(super) fn word(text: &str, cursor: usize, is_slash: bool) -> Option<(CompletionSource, Range<usize>)> {
    let mut start = cursor;
    for (at, c) in text[..cursor].char_indices().rev() {
        if c.is_whitespace() {
            break;
        }
        if cursor - at > LONGEST {
            return None;
        }
        start = at;
    }
    let word = &text[start..cursor];
    // A bracket or a quote before the sign does not matter.
    let bare = word.trim_start_matches(['(', '[', '{', '"', '\'']);
    let start = start + word.len() - bare.len();
    let source = match bare.chars().next()? {
        '@' => CompletionSource::Files,
        '/' if is_slash && text[..start].trim().is_empty() && !bare[1..].contains('/') => CompletionSource::Commands,
        '#' if !bare[1..].starts_with('#') => CompletionSource::Tags,
        _ => return None,
    };
    // At the start of a line, a sign and a blank make a heading; a lone sign may become either.
    Some((source, start..cursor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(text: &str) -> Option<(CompletionSource, &str)> {
        word(text, text.len(), true).map(|(source, part)| (source, &text[part]))
    }

    #[test]
    fn signs_call_their_lists_only_where_a_word_begins() {
        assert_eq!(completed("look at @src/ma"), Some((CompletionSource::Files, "@src/ma")));
        assert_eq!(completed("(see @a"), Some((CompletionSource::Files, "@a")));
        assert_eq!(completed("mail me@example.org"), None);
        assert_eq!(completed("/rev"), Some((CompletionSource::Commands, "/rev")));
        assert_eq!(completed("in /usr"), None);
        assert_eq!(completed("/usr/bin"), None, "that is a path");
        assert_eq!(completed("fix this #bu"), Some((CompletionSource::Tags, "#bu")));
        assert_eq!(completed("## Head"), None);
        assert_eq!(completed("@a b"), None);
        assert_eq!(completed(""), None);
        assert_eq!(completed(&format!("@{}", "a".repeat(400))), None);
    }
}
