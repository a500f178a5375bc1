//! Where a session is forked: behind everything, or before something that was said, with its words in the input.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use trimtab_vocab::SessionId;

use super::ViewOutcome;
use super::pager;
use crate::tui::keys::{KeyMap, TerminalInput};
use crate::tui::message::Cmd;
use crate::tui::picker::{self, Picker, PickerItem};
use crate::tui::theme::Theme;

/// The places.
#[derive(Debug)]
pub(in crate::tui) struct Fork {
    session: SessionId,
    picker: Picker,
    /// The number of the fact and the words of what was said, the latest first.
    said: Vec<(u64, String)>,
}

impl Fork {
    pub(in crate::tui) fn new(session: SessionId, said: &[(u64, String)]) -> Self {
        let said: Vec<(u64, String)> = said.iter().rev().cloned().collect();
        let whole = PickerItem::noted("At the end", "the whole conversation so far");
        let before = said.iter().map(|(_, words)| PickerItem::new(format!("Before: {words}")));
        let mut picker = Picker::new("Fork:", "");
        picker.set_items(Arc::new(std::iter::once(whole).chain(before).collect()));
        Self { session, picker, said }
    }

    pub(super) fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> ViewOutcome {
        match self.picker.input(input, keys) {
            picker::PickerOutcome::Picked(at) => {
                let said = at.checked_sub(1).and_then(|at| self.said.get(at));
                let at = said.map(|(seq, _)| seq.saturating_sub(1));
                let words = said.map(|(_, words)| words.clone());
                ViewOutcome::CloseWith(Cmd::Fork { session: self.session.clone(), at, words })
            }
            picker::PickerOutcome::Closed => ViewOutcome::Close,
            picker::PickerOutcome::Moved | picker::PickerOutcome::Passed => ViewOutcome::Moved,
        }
    }

    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme) -> Option<Position> {
        let hint = "enter fork here (this session and the files do not change) · esc close";
        let inner = pager::frame(area, buf, theme, "Continue from here in a new session", hint);
        self.picker.draw_whole(inner, buf, theme)
    }
}
