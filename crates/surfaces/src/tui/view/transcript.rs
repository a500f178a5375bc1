//! The complete transcript, with everything that the conversation folds.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use super::ViewOutcome;
use super::pager::{self, Pager};
use crate::tui::keys::{KeyAction, KeyMap, TerminalInput};
use crate::tui::theme::Theme;
use crate::tui::transcript::Transcript;

/// The transcript. A long one is laid out from its end, as far as it is looked at.
#[derive(Debug)]
pub(in crate::tui) struct Whole {
    pager: Pager,
    rows: Vec<Line<'static>>,
    width: usize,
    /// Entries from here on are laid out.
    from: usize,
    /// Entries up to here are.
    upto: usize,
    is_stale: bool,
}

impl Whole {
    pub(in crate::tui) fn new() -> Self {
        Self { pager: Pager::from_end(), rows: Vec::new(), width: 0, from: 0, upto: 0, is_stale: false }
    }

    pub(super) fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> ViewOutcome {
        if self.scrolls(input, keys) {
            return ViewOutcome::Moved;
        }
        let TerminalInput::Key(chord) = input else { return ViewOutcome::Moved };
        let closes =
            matches!(keys.action(*chord), Some(KeyAction::Interrupt | KeyAction::Quit | KeyAction::Transcript));
        if closes || chord.typed() == Some('q') { ViewOutcome::Close } else { ViewOutcome::Moved }
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
            self.rows = (self.from..count).flat_map(|at| transcript.whole(at, width, theme)).collect();
        }
        while self.from > 0 && (self.rows.len() < 3 * page || self.pager.top < page) {
            self.from -= 1;
            let mut more = transcript.whole(self.from, width, theme);
            let by = more.len();
            more.append(&mut self.rows);
            self.rows = more;
            if !self.pager.at_end {
                self.pager.pushed_down(by);
            }
        }
    }

    pub(super) fn draw(
        &mut self,
        area: Rect,
        buf: &mut Buffer,
        theme: &Theme,
        _: &KeyMap,
        transcript: &mut Transcript,
    ) -> Option<Position> {
        let hint = "↑ ↓ scroll · g first · G last · esc close";
        self.draw_rows(area, buf, theme, ("Transcript", hint), transcript);
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
        let from = self.pager.fit(self.rows.len(), page);
        pager::put(inner, buf, &self.rows[from..]);
    }
}
