//! A list that is searched by typing some of the letters: files, pills, tags, what was said before, sessions.

mod draw;
mod search;

use std::sync::Arc;

use super::keys::{Chord, KeyAction, KeyMap, TerminalInput};
use search::PickerSearch;

/// Something that can be picked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PickerItem {
    /// What is searched and picked.
    pub text: String,
    /// What is said about it.
    pub note: String,
}

impl PickerItem {
    /// Something with nothing to say about it.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), note: String::new() }
    }

    /// Something, and what is said about it.
    pub fn noted(text: impl Into<String>, note: impl Into<String>) -> Self {
        Self { text: text.into(), note: note.into() }
    }
}

/// What came of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PickerOutcome {
    /// The key means nothing here.
    Passed,
    /// Something else is shown or chosen now.
    Moved,
    /// The item with this number was picked.
    Picked(usize),
    /// The person wants none of them.
    Closed,
}

/// The list, what is searched in it, and which item is chosen.
#[derive(Debug, Clone)]
pub struct Picker {
    title: String,
    empty: String,
    search: PickerSearch,
    /// Place of the chosen one among those found.
    chosen: usize,
    /// Place of the first one on the screen.
    top: usize,
    /// Items that were last on the screen at once.
    page: usize,
}

impl Picker {
    /// A list under a title; `empty` is said where there is nothing to pick from.
    pub fn new(title: impl Into<String>, empty: impl Into<String>) -> Self {
        let (title, empty) = (title.into(), empty.into());
        Self { title, empty, search: PickerSearch::default(), chosen: 0, top: 0, page: 1 }
    }

    /// A list whose items are looked for elsewhere: all that are given fit what is searched.
    pub fn found_elsewhere(mut self) -> Self {
        self.search.keep_all();
        self
    }

    /// Gives the items, in the order in which they are shown while nothing is searched. Equally good finds
    /// keep it.
    pub fn set_items(&mut self, items: Arc<Vec<PickerItem>>) {
        let kept = self.chosen().and_then(|at| self.search.items().get(at).cloned());
        self.search.set_items(items);
        let place = kept.and_then(|item| {
            self.search.found().iter().position(|at| self.search.items().get(*at as usize) == Some(&item))
        });
        self.chosen = place.unwrap_or(0);
    }

    /// Searches for something else.
    pub fn set_query(&mut self, query: &str) {
        if query != self.search.query() {
            self.search.set_query(query);
            (self.chosen, self.top) = (0, 0);
        }
    }

    /// What is searched.
    pub fn query(&self) -> &str {
        self.search.query()
    }

    pub fn items(&self) -> &Arc<Vec<PickerItem>> {
        self.search.items()
    }

    /// How many were found.
    pub fn found(&self) -> usize {
        self.search.found().len()
    }

    /// The number of the chosen item.
    pub fn chosen(&self) -> Option<usize> {
        self.search.found().get(self.chosen).map(|at| *at as usize)
    }

    /// The chosen item.
    pub fn item(&self) -> Option<&PickerItem> {
        self.search.items().get(self.chosen()?)
    }

    /// Whether there is nothing to pick from, whatever is searched.
    pub(super) fn has_none(&self) -> bool {
        self.items().is_empty() && (self.query().is_empty() || !self.search.keeps_all())
    }

    /// Moves, picks or closes; does not write.
    pub fn act(&mut self, action: KeyAction) -> PickerOutcome {
        let count = self.found();
        let last = count.saturating_sub(1);
        self.chosen = match action {
            KeyAction::Send | KeyAction::Queue => {
                return self.chosen().map_or(PickerOutcome::Moved, PickerOutcome::Picked);
            }
            KeyAction::Interrupt | KeyAction::Quit => return PickerOutcome::Closed,
            KeyAction::Up if self.chosen == 0 => last,
            KeyAction::Up => self.chosen - 1,
            KeyAction::Down if self.chosen >= last => 0,
            KeyAction::Down => self.chosen + 1,
            KeyAction::PageUp => self.chosen.saturating_sub(self.page),
            KeyAction::PageDown => (self.chosen + self.page).min(last),
            KeyAction::TextStart => 0,
            KeyAction::TextEnd => last,
            _ => return PickerOutcome::Passed,
        };
        PickerOutcome::Moved
    }

    /// For a list with a line of its own to write in: the same, and typing searches.
    pub fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> PickerOutcome {
        let text = match input {
            TerminalInput::Key(chord) => return self.key(*chord, keys),
            TerminalInput::Paste(text) => text.lines().next().unwrap_or_default(),
            TerminalInput::Wheel(turn) => return self.act(if *turn < 0 { KeyAction::Up } else { KeyAction::Down }),
            TerminalInput::Resize { .. } | TerminalInput::Focus(_) => return PickerOutcome::Passed,
        };
        let query = format!("{}{text}", self.query());
        self.set_query(&query);
        PickerOutcome::Moved
    }

    fn key(&mut self, chord: Chord, keys: &KeyMap) -> PickerOutcome {
        let mut query = self.query().to_owned();
        match (chord.typed(), keys.action(chord)) {
            (Some(c), _) => query.push(c),
            (None, Some(KeyAction::Backspace)) => {
                query = super::composer::text::without_last(&query).to_owned();
            }
            (None, Some(KeyAction::DeleteWordLeft)) => {
                let at = super::composer::text::word_left(&query, query.len());
                query.truncate(at);
            }
            (None, Some(KeyAction::KillToStart)) => query.clear(),
            // The same key that opened a search goes to the next older find, as shells do it.
            (None, Some(KeyAction::History)) => return self.act(KeyAction::Down),
            (None, Some(action)) => return self.act(action),
            (None, None) => return PickerOutcome::Passed,
        }
        self.set_query(&query);
        PickerOutcome::Moved
    }
}

#[cfg(test)]
mod tests;
