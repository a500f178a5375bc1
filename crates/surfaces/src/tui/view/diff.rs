//! A change that is asked about, whole.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use super::Outcome;
use super::pager::{self, Pager};
use crate::cli::diff::Loaded;
use crate::tui::diffs;
use crate::tui::keys::{Action, Input, KeyMap};
use crate::tui::theme::Theme;

/// The change.
#[derive(Debug)]
pub(in crate::tui) struct Diff {
    files: Arc<Vec<Loaded>>,
    rows: Vec<Line<'static>>,
    width: usize,
    pager: Pager,
}

impl Diff {
    pub(in crate::tui) fn new(files: Arc<Vec<Loaded>>) -> Self {
        Self { files, rows: Vec::new(), width: 0, pager: Pager::default() }
    }

    pub(super) fn input(&mut self, input: &Input, keys: &KeyMap) -> Outcome {
        if self.pager.input(input, keys) {
            return Outcome::Moved;
        }
        let Input::Key(chord) = input else { return Outcome::Moved };
        let closes = matches!(keys.action(*chord), Some(Action::Interrupt | Action::Quit | Action::Send));
        if closes || chord.typed() == Some('q') { Outcome::Close } else { Outcome::Moved }
    }

    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme, _: &KeyMap) -> Option<Position> {
        let inner =
            pager::frame(area, buf, theme, "What is asked about", "↑ ↓ pages move · esc goes back to the question");
        let width = usize::from(inner.width);
        if self.width != width {
            self.rows = diffs::rows(&self.files, width, None, theme, usize::MAX, "");
            self.width = width;
        }
        let from = self.pager.fit(self.rows.len(), usize::from(inner.height));
        pager::put(inner, buf, &self.rows[from..]);
        None
    }
}
