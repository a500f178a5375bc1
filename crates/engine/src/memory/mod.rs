//! Long-term memory of what the user says once and means permanently.
//!
//! Only the user's own words are stored, not those of a model, a file, a tool, or a page. Rules decide which
//! (`durable.rs`), so it costs no call. Memories are emitted after the answer and before the request's end, become
//! durable with them, and the user can see, edit, and delete all of them.

mod durable;
mod words;

use std::collections::BTreeSet;

use trimtab_vocab::event::Status;
use trimtab_vocab::{Ingest, MemoryEntry, MemoryFact, MemoryId, Remembered, RequestId};

use crate::fragment::Fragment;
use crate::record::{RunningRequest, Session};
use crate::transition::Transition;

pub use durable::{Lasting, lasting};

/// Bytes of one entry.
pub const LONGEST: usize = 500;
/// Entries that one request may add.
const AT_ONCE: usize = 5;

/// What goes before the entries in a prompt.
const INTRODUCTION: &str = "Facts from earlier requests that the user wants you to remember. The latest list counts, and the current request overrides it:";
/// The note when nothing is remembered any longer.
const FORGOTTEN: &str = "The user no longer wants you to remember anything from earlier requests.";
/// Bytes of it that are sent: more than any setting asks for.
const CAP: usize = 24 * 1024;

/// The entries that the model gets in a folder: all if they fit into `bytes`, else those that share most words with
/// the request, the latest first. They keep the order of `entries`, oldest first, so that a prompt stays the same
/// from request to request if possible.
pub fn recall(entries: &[MemoryEntry], folder: Option<&str>, words: &str, bytes: usize) -> Vec<Remembered> {
    let holds = |entry: &&MemoryEntry| entry.folder.is_none() || entry.folder.as_deref() == folder;
    let known: Vec<&MemoryEntry> = entries.iter().filter(holds).collect();
    let size = |entry: &MemoryEntry| line(&entry.text).len();
    let mut chosen: Vec<usize> = (0..known.len()).collect();
    if known.iter().map(|entry| size(entry)).sum::<usize>() > bytes {
        let asked = words_of(words);
        let shared = |at: &usize| words_of(&known[*at].text).intersection(&asked).count();
        let ranks: Vec<usize> = chosen.iter().map(shared).collect();
        chosen.sort_by_key(|at| std::cmp::Reverse((ranks[*at], *at)));
        let mut room = bytes;
        chosen.retain(|at| match room.checked_sub(size(known[*at])) {
            Some(left) => {
                room = left;
                true
            }
            None => false,
        });
        chosen.sort_unstable();
    }
    chosen.into_iter().map(|at| known[at].remembered()).collect()
}

/// The words by which texts are compared: short ones say nothing.
fn words_of(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 3);
    words.take(2_000).map(str::to_lowercase).collect()
}

/// An entry as the model reads it: one line, so that it cannot pass for anything but an entry.
fn line(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    format!("\n- {}", words.join(" "))
}

/// The fragment with the memories of earlier sessions.
pub(crate) fn fragment(session: &Session) -> Fragment {
    let entries = session.recalled();
    let lines: String = entries.iter().map(|entry| line(&entry.text)).collect();
    let text = if lines.is_empty() { lines } else { format!("{INTRODUCTION}{lines}") };
    Fragment::volatile("memory", text, CAP, FORGOTTEN)
}

/// Records which memories the model gets from here on, if they have changed.
pub(crate) fn recalled(step: &mut Transition<'_>, request: &RequestId, entries: Vec<Remembered>) {
    if entries != step.session.recalled() {
        step.emit(Some(request), MemoryFact::Recalled { entries });
    }
}

/// At the end of a request: stores what the user said permanently.
pub(crate) fn ending(step: &mut Transition<'_>, request: &RequestId, status: Status) {
    let Some(active) = step.session.unfinished(request).filter(|_| status == Status::Completed) else { return };
    let entries = noted(active, step.session);
    if !entries.is_empty() {
        step.emit(Some(request), MemoryFact::Noted { entries });
    }
}

fn noted(active: &RunningRequest, session: &Session) -> Vec<Remembered> {
    // What was too large to send is material, not something that the user says of themselves.
    if !active.request.refs.is_empty() {
        return Vec::new();
    }
    let said = std::iter::once(&active.request.text).chain(&active.steering.said);
    let found: Vec<Lasting> = match active.request.settings.memory.ingest {
        Ingest::Off => return Vec::new(),
        Ingest::Durable => said.flat_map(|text| lasting(text)).collect(),
        Ingest::All => said.filter_map(|text| durable::whole(text)).collect(),
    };
    let mut entries: Vec<Remembered> = Vec::new();
    for Lasting { text, personal } in found {
        // Requests about tasks have no folder.
        let place = session.folder().filter(|folder| !personal && !folder.is_empty());
        let folder = place.map(str::to_owned);
        let same = |entry: &Remembered| entry.folder == folder && entry.text.to_lowercase() == text.to_lowercase();
        if entries.len() < AT_ONCE && !entries.iter().chain(session.recalled()).any(same) {
            let id = MemoryId::nth(&active.request.id, entries.len() + 1);
            entries.push(Remembered { id, text, folder });
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::Time;

    use super::*;

    fn entry(n: i64, text: &str, folder: Option<&str>) -> MemoryEntry {
        MemoryEntry {
            id: format!("m{n}").parse().expect("an id"),
            text: text.into(),
            folder: folder.map(str::to_owned),
            session: None,
            request: None,
            made: Time::from_millis(n),
            edited: None,
        }
    }

    fn texts(recalled: &[Remembered]) -> Vec<&str> {
        recalled.iter().map(|entry| entry.text.as_str()).collect()
    }

    #[test]
    fn what_holds_in_another_folder_is_not_recalled() {
        let entries = [entry(1, "My name is Ada", None), entry(2, "We use tabs", Some("/a"))];
        assert_eq!(texts(&recall(&entries, Some("/a"), "", 1_000)), ["My name is Ada", "We use tabs"]);
        assert_eq!(texts(&recall(&entries, Some("/b"), "", 1_000)), ["My name is Ada"]);
        assert_eq!(texts(&recall(&entries, None, "", 1_000)), ["My name is Ada"]);
    }

    #[test]
    fn beyond_the_room_the_likeliest_and_then_the_latest_are_recalled_in_their_order() {
        let entries = [
            entry(1, "I prefer spaces in Python", None),
            entry(2, "I live in Graz", None),
            entry(3, "I work at Acme", None),
            entry(4, "I speak German", None),
        ];
        let room = line(&entries[0].text).len() + line(&entries[3].text).len();
        let recalled = recall(&entries, None, "Format this python file", room);
        assert_eq!(texts(&recalled), ["I prefer spaces in Python", "I speak German"]);
        assert!(recall(&entries, None, "anything", 0).is_empty());
    }

    #[test]
    fn an_entry_is_one_line_of_the_prompt_whatever_it_holds() {
        assert_eq!(line("a\n\n# System\tb\u{1b}[1m"), "\n- a # System b [1m");
    }
}
