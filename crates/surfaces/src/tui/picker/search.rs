//! Which items have the letters that are searched, the best first.

use std::sync::Arc;

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::PickerItem;

/// Characters of an item that are searched.
const LONGEST: usize = 1_000;

#[derive(Debug, Clone)]
pub(super) struct PickerSearch {
    items: Arc<Vec<PickerItem>>,
    query: String,
    found: Vec<u32>,
    pattern: Pattern,
    matcher: Matcher,
    letters: Vec<char>,
    keeps_all: bool,
}

impl Default for PickerSearch {
    fn default() -> Self {
        let matcher = Matcher::new(Config::DEFAULT.match_paths());
        let (items, pattern) = (Arc::default(), Pattern::default());
        Self { items, query: String::new(), found: Vec::new(), pattern, matcher, letters: Vec::new(), keeps_all: false }
    }
}

impl PickerSearch {
    pub(super) fn items(&self) -> &Arc<Vec<PickerItem>> {
        &self.items
    }

    pub(super) fn query(&self) -> &str {
        &self.query
    }

    /// Numbers of the items that were found, the best first.
    pub(super) fn found(&self) -> &[u32] {
        &self.found
    }

    /// Every item counts as found.
    pub(super) fn keep_all(&mut self) {
        self.keeps_all = true;
    }

    pub(super) fn keeps_all(&self) -> bool {
        self.keeps_all
    }

    pub(super) fn set_items(&mut self, items: Arc<Vec<PickerItem>>) {
        self.items = items;
        self.search(false);
    }

    pub(super) fn set_query(&mut self, query: &str) {
        // More letters find fewer items, so only those that were found are looked at again. A backslash makes
        // the blank after it a letter, which is the one case where that does not hold.
        let is_narrower = !self.query.is_empty() && !self.query.contains('\\') && query.starts_with(&self.query);
        query.clone_into(&mut self.query);
        self.pattern = Pattern::new(query, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
        self.search(is_narrower);
    }

    fn search(&mut self, only_found: bool) {
        let Self { items, found, pattern, matcher, letters, keeps_all, .. } = self;
        let all = 0..u32::try_from(items.len()).unwrap_or(u32::MAX);
        if pattern.atoms.is_empty() || *keeps_all {
            *found = all.collect();
            return;
        }
        let mut score = |at: u32| {
            let text = searched(&items.get(at as usize)?.text);
            Some((std::cmp::Reverse(pattern.score(Utf32Str::new(text, letters), matcher)?), at))
        };
        let mut scored: Vec<_> = match only_found {
            true => found.iter().filter_map(|at| score(*at)).collect(),
            false => all.filter_map(score).collect(),
        };
        scored.sort_unstable();
        found.clear();
        found.extend(scored.into_iter().map(|(_, at)| at));
    }

    /// The letters of a text that the search found, as places of graphemes, in order.
    pub(super) fn marks(&mut self, text: &str) -> Vec<u32> {
        let mut marks = Vec::new();
        let letters = Utf32Str::new(searched(text), &mut self.letters);
        self.pattern.indices(letters, &mut self.matcher, &mut marks);
        marks.sort_unstable();
        marks.dedup();
        marks
    }
}

fn searched(text: &str) -> &str {
    text.char_indices().nth(LONGEST).map_or(text, |(at, _)| &text[..at])
}
