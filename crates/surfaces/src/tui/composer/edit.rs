//! A text, a cursor, and what was done to them: editing as people know it from their shells.

use std::collections::VecDeque;
use std::ops::Range;

use super::text::{left, line_end, line_start, right, snapped, word_left, word_right};
use crate::tui::keys::KeyAction;

/// Edits that can be undone.
const MOST_EDITS: usize = 1_000;
/// Bytes that they may hold.
const MOST_BYTES: usize = 4 << 20;
/// Texts that were cut and can be put again.
const MOST_CUT: usize = 30;

/// One change: what was there, and what is there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TextChange {
    at: usize,
    removed: String,
    added: String,
    cursor: usize,
}

/// What was done last; some things go together with it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Last {
    Other,
    Typed,
    Deleted,
    Cut,
    /// Put this part, from this place of the ring.
    Put(Range<usize>, usize),
}

/// The text and its cursor.
#[derive(Debug, Clone)]
pub(super) struct Editor {
    text: String,
    cursor: usize,
    done: VecDeque<TextChange>,
    undone: Vec<TextChange>,
    bytes: usize,
    ring: VecDeque<String>,
    last: Last,
    /// Grows with every change of the text.
    version: u64,
}

impl Default for Editor {
    fn default() -> Self {
        let (done, undone, ring) = (VecDeque::new(), Vec::new(), VecDeque::new());
        Self { text: String::new(), cursor: 0, done, undone, bytes: 0, ring, last: Last::Other, version: 0 }
    }
}

impl Editor {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Every text that it may come to hold again.
    pub(super) fn held(&self) -> impl Iterator<Item = &str> {
        let edits = self.done.iter().chain(&self.undone);
        let edited = edits.flat_map(|edit| [edit.removed.as_str(), edit.added.as_str()]);
        [self.text.as_str()].into_iter().chain(edited).chain(self.ring.iter().map(String::as_str))
    }

    /// Begins anew with a text; nothing of the one before can be undone to.
    pub(super) fn reset(&mut self, text: String) {
        (self.done, self.undone, self.bytes) = (VecDeque::new(), Vec::new(), 0);
        self.cursor = text.len();
        self.text = text;
        self.version += 1;
        self.last = Last::Other;
    }

    /// Puts the cursor somewhere.
    pub(super) fn move_cursor(&mut self, at: usize) {
        self.cursor = snapped(&self.text, at);
        self.last = Last::Other;
    }

    /// Writes at the cursor, as typing does.
    pub(super) fn write(&mut self, text: &str) {
        let begins_word = text.chars().all(char::is_whitespace);
        let goes_on = self.last == Last::Typed
            && !begins_word
            && self
                .done
                .back()
                .is_some_and(|edit| edit.removed.is_empty() && edit.at + edit.added.len() == self.cursor);
        let at = self.cursor;
        let merged = if goes_on { self.done.pop_back() } else { None };
        self.replace(at..at, text);
        if let (Some(mut before), Some(edit)) = (merged, self.done.back_mut()) {
            before.added += &edit.added;
            *edit = before;
        }
        self.last = Last::Typed;
    }

    /// Puts something in the place of a part; one step for undo.
    pub(super) fn replace(&mut self, part: Range<usize>, with: &str) {
        let removed = self.text[part.clone()].to_owned();
        let edit = TextChange { at: part.start, removed, added: with.to_owned(), cursor: self.cursor };
        self.change(&edit);
        self.cursor = snapped(&self.text, part.start + with.len());
        self.undone.clear();
        self.bytes += edit.removed.len() + edit.added.len();
        self.done.push_back(edit);
        while self.done.len() > MOST_EDITS || (self.bytes > MOST_BYTES && self.done.len() > 1) {
            if let Some(oldest) = self.done.pop_front() {
                self.bytes = self.bytes.saturating_sub(oldest.removed.len() + oldest.added.len());
            }
        }
        self.last = Last::Other;
    }

    fn change(&mut self, edit: &TextChange) {
        self.text.replace_range(edit.at..edit.at + edit.removed.len(), &edit.added);
        self.version += 1;
    }

    fn undo(&mut self) -> bool {
        let Some(edit) = self.done.pop_back() else { return false };
        self.bytes = self.bytes.saturating_sub(edit.removed.len() + edit.added.len());
        let back = TextChange { removed: edit.added, added: edit.removed, ..edit };
        self.change(&back);
        let cursor = std::mem::replace(&mut self.cursor, snapped(&self.text, back.cursor));
        self.undone.push(TextChange { cursor, removed: back.added, added: back.removed, ..back });
        true
    }

    fn redo(&mut self) -> bool {
        let Some(edit) = self.undone.pop() else { return false };
        self.change(&edit);
        let cursor = std::mem::replace(&mut self.cursor, snapped(&self.text, edit.cursor));
        self.bytes += edit.removed.len() + edit.added.len();
        self.done.push_back(TextChange { cursor, ..edit });
        true
    }

    fn delete(&mut self, part: Range<usize>) -> bool {
        if part.is_empty() {
            return false;
        }
        self.replace(part, "");
        self.last = Last::Deleted;
        true
    }

    /// Cuts a part; what is cut in one go can be put in one go.
    fn cut(&mut self, part: Range<usize>) -> bool {
        if part.is_empty() {
            return false;
        }
        let cut = self.text[part.clone()].to_owned();
        let goes_on = self.last == Last::Cut;
        let is_left = part.end == self.cursor;
        self.replace(part, "");
        match self.ring.front_mut().filter(|_| goes_on) {
            Some(before) if is_left => before.insert_str(0, &cut),
            Some(before) => before.push_str(&cut),
            None => self.ring.push_front(cut),
        }
        self.ring.truncate(MOST_CUT);
        self.last = Last::Cut;
        true
    }

    /// Cuts a part that a command names.
    pub(super) fn cut_part(&mut self, part: Range<usize>) -> bool {
        self.last = Last::Other;
        self.cut(part)
    }

    /// What was cut last.
    pub(super) fn last_cut(&self) -> Option<&str> {
        self.ring.front().map(String::as_str)
    }

    fn put(&mut self, part: Range<usize>, place: usize) -> bool {
        let Some(text) = self.ring.get(place).cloned() else { return false };
        let start = part.start;
        self.replace(part, &text);
        self.last = Last::Put(start..start + text.len(), place);
        true
    }

    /// Does what an action of writing says; `None` if it is none, else whether the text changed. Up and down
    /// depend on how the text is drawn, and are not done here.
    pub(super) fn act(&mut self, action: KeyAction) -> Option<bool> {
        let (text, at) = (self.text.as_str(), self.cursor);
        let goal = match action {
            KeyAction::Left => left(text, at),
            KeyAction::Right => right(text, at),
            KeyAction::WordLeft => word_left(text, at),
            KeyAction::WordRight => word_right(text, at),
            KeyAction::LineStart => line_start(text, at),
            KeyAction::LineEnd => line_end(text, at),
            KeyAction::TextStart => 0,
            KeyAction::TextEnd => text.len(),
            KeyAction::Newline => {
                self.write("\n");
                return Some(true);
            }
            KeyAction::Backspace => return Some(self.delete(left(text, at)..at)),
            KeyAction::Delete => return Some(self.delete(at..right(text, at))),
            KeyAction::DeleteWordLeft => return Some(self.cut(word_left(text, at)..at)),
            KeyAction::DeleteWordRight => return Some(self.cut(at..word_right(text, at))),
            // At the end of a line its end is cut, so that repeating goes on.
            KeyAction::KillToEnd => return Some(self.cut(at..line_end(text, at).max(right(text, at).min(at + 1)))),
            KeyAction::KillToStart => {
                let start = line_start(text, at);
                return Some(self.cut(if start == at { left(text, at) } else { start }..at));
            }
            KeyAction::Yank => return Some(self.put(at..at, 0)),
            KeyAction::YankOlder => {
                let Last::Put(part, place) = self.last.clone() else { return Some(false) };
                return Some(self.put(part, (place + 1) % self.ring.len().max(1)));
            }
            KeyAction::Undo | KeyAction::Redo => {
                let is_done = if action == KeyAction::Undo { self.undo() } else { self.redo() };
                self.last = Last::Other;
                return Some(is_done);
            }
            _ => return None,
        };
        self.move_cursor(goal);
        Some(false)
    }
}

#[cfg(test)]
mod tests;
