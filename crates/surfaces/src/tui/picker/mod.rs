//! A list that is searched by typing some of the letters: files, pills, tags, what was said before, sessions.

mod draw;
mod search;

use std::sync::Arc;

use super::keys::{Action, Chord, Input, KeyMap};
use search::Search;

/// Something that can be picked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Item {
    /// What is searched and picked.
    pub text: String,
    /// What is said about it.
    pub note: String,
}

impl Item {
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
pub enum Outcome {
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
    search: Search,
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
        Self { title, empty, search: Search::default(), chosen: 0, top: 0, page: 1 }
    }

    /// A list whose items are looked for elsewhere: all that are given fit what is searched.
    pub fn found_elsewhere(mut self) -> Self {
        self.search.keep_all();
        self
    }

    /// Gives the items, in the order in which they are shown while nothing is searched. Equally good finds
    /// keep it.
    pub fn set_items(&mut self, items: Arc<Vec<Item>>) {
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

    /// The items.
    pub fn items(&self) -> &Arc<Vec<Item>> {
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
    pub fn item(&self) -> Option<&Item> {
        self.search.items().get(self.chosen()?)
    }

    /// Whether there is nothing to pick from, whatever is searched.
    pub(super) fn has_none(&self) -> bool {
        self.items().is_empty() && (self.query().is_empty() || !self.search.keeps_all())
    }

    /// Moves, picks or closes; does not write.
    pub fn act(&mut self, action: Action) -> Outcome {
        let count = self.found();
        let last = count.saturating_sub(1);
        self.chosen = match action {
            Action::Send | Action::Queue => return self.chosen().map_or(Outcome::Moved, Outcome::Picked),
            Action::Interrupt | Action::Quit => return Outcome::Closed,
            Action::Up if self.chosen == 0 => last,
            Action::Up => self.chosen - 1,
            Action::Down if self.chosen >= last => 0,
            Action::Down => self.chosen + 1,
            Action::PageUp => self.chosen.saturating_sub(self.page),
            Action::PageDown => (self.chosen + self.page).min(last),
            Action::TextStart => 0,
            Action::TextEnd => last,
            _ => return Outcome::Passed,
        };
        Outcome::Moved
    }

    /// For a list with a line of its own to write in: the same, and typing searches.
    pub fn input(&mut self, input: &Input, keys: &KeyMap) -> Outcome {
        let text = match input {
            Input::Key(chord) => return self.key(*chord, keys),
            Input::Paste(text) => text.lines().next().unwrap_or_default(),
            Input::Wheel(turn) => return self.act(if *turn < 0 { Action::Up } else { Action::Down }),
            Input::Resize { .. } | Input::Focus(_) => return Outcome::Passed,
        };
        let query = format!("{}{text}", self.query());
        self.set_query(&query);
        Outcome::Moved
    }

    fn key(&mut self, chord: Chord, keys: &KeyMap) -> Outcome {
        let mut query = self.query().to_owned();
        match (chord.typed(), keys.action(chord)) {
            (Some(c), _) => query.push(c),
            (None, Some(Action::Backspace)) => {
                query = super::composer::text::without_last(&query).to_owned();
            }
            (None, Some(Action::DeleteWordLeft)) => {
                let at = super::composer::text::word_left(&query, query.len());
                query.truncate(at);
            }
            (None, Some(Action::KillToStart)) => query.clear(),
            // The same key that opened a search goes to the next older find, as shells do it.
            (None, Some(Action::History)) => return self.act(Action::Down),
            (None, Some(action)) => return self.act(action),
            (None, None) => return Outcome::Passed,
        }
        self.set_query(&query);
        Outcome::Moved
    }
}

#[cfg(test)]
mod tests;
