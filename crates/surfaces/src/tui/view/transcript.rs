//! The complete transcript, with everything that the conversation folds.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use super::ViewOutcome;
use super::pager::{self, Pager};
use crate::tui::keys::{KeyAction, KeyMap, TerminalInput};
use crate::tui::theme::{StyleName, Theme};
use crate::tui::transcript::Transcript;

/// The transcript. A long one is laid out from its end, as far as it is looked at.
#[derive(Debug)]
pub(in crate::tui) struct Whole {
    pager: Pager,
    rows: Vec<Line<'static>>,
    /// The entry of each row.
    owners: Vec<usize>,
    /// The answer that is looked at, by its entry.
    answer: Option<usize>,
    /// What came of the last key, until the next one.
    told: Option<String>,
    width: usize,
    /// Entries from here on are laid out.
    from: usize,
    /// Entries up to here are.
    upto: usize,
    is_stale: bool,
    search: TranscriptSearch,
}

/// What is looked for in the transcript.
#[derive(Debug, Default)]
struct TranscriptSearch {
    /// It is being typed.
    is_typed: bool,
    words: String,
    /// Where to go once the rows are laid out.
    wanted: Option<SearchStep>,
    /// The row that was found, and how many there are.
    found: Option<usize>,
    count: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SearchStep {
    /// The last match, from where the transcript ends.
    Last,
    Older,
    Newer,
}

impl Whole {
    pub(in crate::tui) fn new() -> Self {
        Self {
            pager: Pager::from_end(),
            rows: Vec::new(),
            owners: Vec::new(),
            answer: None,
            told: None,
            width: 0,
            from: 0,
            upto: 0,
            is_stale: false,
            search: TranscriptSearch::default(),
        }
    }

    pub(super) fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> ViewOutcome {
        self.told = None;
        if self.searches(input, keys) {
            return ViewOutcome::Moved;
        }
        if self.scrolls(input, keys) {
            return ViewOutcome::Moved;
        }
        let TerminalInput::Key(chord) = input else { return ViewOutcome::Moved };
        match (chord.typed(), self.answer) {
            (Some('c'), Some(entry)) => return ViewOutcome::Copy { entry, block: None },
            (Some(digit @ '1'..='9'), Some(entry)) => {
                return ViewOutcome::Copy { entry, block: digit.to_digit(10).map(|block| block as usize) };
            }
            _ => {}
        }
        let closes =
            matches!(keys.action(*chord), Some(KeyAction::Interrupt | KeyAction::Quit | KeyAction::Transcript));
        if closes || chord.typed() == Some('q') { ViewOutcome::Close } else { ViewOutcome::Moved }
    }

    /// Takes what is typed for the search; whether the input was for it.
    fn searches(&mut self, input: &TerminalInput, keys: &KeyMap) -> bool {
        let search = &mut self.search;
        let TerminalInput::Key(chord) = input else { return false };
        if !search.is_typed {
            match chord.typed() {
                Some('/') => *search = TranscriptSearch { is_typed: true, ..TranscriptSearch::default() },
                Some('n') if !search.words.is_empty() => search.wanted = Some(SearchStep::Older),
                Some('N') if !search.words.is_empty() => search.wanted = Some(SearchStep::Newer),
                _ => return false,
            }
            return true;
        }
        match (keys.action(*chord), chord.typed()) {
            (Some(KeyAction::Interrupt | KeyAction::Quit), _) => *search = TranscriptSearch::default(),
            (Some(KeyAction::Send), _) => search.is_typed = false,
            (Some(KeyAction::Backspace), _) => {
                search.words.pop();
                search.wanted = Some(SearchStep::Last);
            }
            (_, Some(c)) => {
                search.words.push(c);
                search.wanted = Some(SearchStep::Last);
            }
            _ => {}
        }
        true
    }

    /// Shows what came of a key.
    pub(in crate::tui) fn tell(&mut self, text: String) {
        self.told = Some(text);
    }

    /// Lays out the entry before the first one, and says how many rows it has.
    fn lay_out_earlier(&mut self, width: usize, theme: &Theme, transcript: &mut Transcript) -> usize {
        self.from -= 1;
        let more = transcript.whole(self.from, width, theme);
        let by = more.len();
        self.owners.splice(..0, std::iter::repeat_n(self.from, by));
        self.rows.splice(..0, more);
        if !self.pager.at_end {
            self.pager.pushed_down(by);
        }
        by
    }

    /// Goes to what is looked for. All of the transcript is laid out for it, once.
    fn find(&mut self, width: usize, page: usize, theme: &Theme, transcript: &mut Transcript) {
        let Some(step) = self.search.wanted.take() else { return };
        while self.from > 0 {
            let by = self.lay_out_earlier(width, theme, transcript);
            if let Some(found) = &mut self.search.found {
                *found += by;
            }
        }
        let words = self.search.words.to_lowercase();
        let is_match = |row: &Line<'_>| !words.is_empty() && row.to_string().to_lowercase().contains(&words);
        let places: Vec<usize> = (0..self.rows.len()).filter(|at| is_match(&self.rows[*at])).collect();
        let at = self.search.found.unwrap_or(usize::MAX);
        let found = match step {
            SearchStep::Last => places.last(),
            SearchStep::Older => places.iter().rev().find(|place| **place < at).or(places.last()),
            SearchStep::Newer => places.iter().find(|place| **place > at).or(places.first()),
        };
        (self.search.found, self.search.count) = (found.copied(), places.len());
        if let Some(place) = found {
            self.pager.go_to(place.saturating_sub(page / 2));
        }
    }

    /// Moves; whether the key was one for it.
    pub(super) fn scrolls(&mut self, input: &TerminalInput, keys: &KeyMap) -> bool {
        self.pager.input(input, keys)
    }

    /// What is shown has changed.
    pub(super) fn renew(&mut self) {
        self.is_stale = true;
    }

    fn lay_out(&mut self, width: usize, page: usize, theme: &Theme, transcript: &mut Transcript) {
        let count = transcript.entries().len();
        if self.is_stale || self.width != width || self.upto != count {
            // What is under way changes at any time; all that was looked at is laid out anew, and stays where it is.
            self.from = if self.upto == 0 { count } else { self.from.min(count) };
            (self.width, self.upto, self.is_stale) = (width, count, false);
            (self.rows, self.owners) = (self.from..count)
                .flat_map(|at| transcript.whole(at, width, theme).into_iter().map(move |row| (row, at)))
                .unzip();
        }
        while self.from > 0 && (self.rows.len() < 3 * page || self.pager.top < page) {
            self.lay_out_earlier(width, theme, transcript);
        }
    }

    /// Finds the answer that is looked at: the last one on the page, or the one above it.
    fn find_answer(&mut self, from: usize, page: usize, transcript: &Transcript) {
        let upto = self.owners.len().min(from + page);
        let mut owners = self.owners[..upto].iter().rev();
        self.answer = owners.find(|at| transcript.answer_at(**at).is_some()).copied();
    }

    pub(super) fn draw(
        &mut self,
        area: Rect,
        buf: &mut Buffer,
        theme: &Theme,
        _: &KeyMap,
        transcript: &mut Transcript,
    ) -> Option<Position> {
        // The hint shows the number of matches, so the search comes first.
        let inner = pager::rows_area(area);
        let (width, page) = (usize::from(inner.width), usize::from(inner.height));
        self.lay_out(width, page, theme, transcript);
        self.find(width, page, theme, transcript);
        let search = &self.search;
        let hint = match (search.is_typed, search.words.is_empty()) {
            (true, true) => "/▏ type to search · esc cancel".to_owned(),
            (true, false) => format!("/{}▏ {} · enter done · esc cancel", search.words, matches(search.count)),
            _ if self.told.is_some() => self.told.clone().unwrap_or_default(),
            (false, true) => "↑ ↓ scroll · / search · c copy answer · 1-9 copy code block · esc close".to_owned(),
            (false, false) => {
                format!("/{}: {} · n older · N newer · esc close", search.words, matches(search.count))
            }
        };
        self.draw_rows(area, buf, theme, ("Transcript", &hint), transcript);
        None
    }

    /// Draws a transcript below a title, with what keys do below it.
    pub(super) fn draw_rows(
        &mut self,
        area: Rect,
        buf: &mut Buffer,
        theme: &Theme,
        (title, hint): (&str, &str),
        transcript: &mut Transcript,
    ) {
        let hint = self.pager.placed(hint);
        let inner = pager::frame(area, buf, theme, title, &hint);
        let page = usize::from(inner.height);
        self.lay_out(usize::from(inner.width), page, theme, transcript);
        self.find(usize::from(inner.width), page, theme, transcript);
        let from = self.pager.fit(self.rows.len(), page);
        self.find_answer(from, page, transcript);
        pager::put(inner, buf, &self.rows[from..]);
        let shown = self.search.found.and_then(|row| row.checked_sub(from)).filter(|row| *row < page);
        if let Some(row) = shown.and_then(|row| u16::try_from(row).ok()) {
            let style = theme.style(StyleName::Selected);
            buf.set_style(Rect { y: inner.y + row, height: 1, ..inner }, style);
        }
    }
}

fn matches(count: usize) -> String {
    trimtab_vocab::format::plural(count, "match")
}
