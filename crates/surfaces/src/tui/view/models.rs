//! The models of the configured providers, to choose one for the next request.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::ViewOutcome;
use super::pager;
use crate::tui::keys::{KeyMap, TerminalInput};
use crate::tui::message::Cmd;
use crate::tui::picker::{self, Picker, PickerItem};
use crate::tui::theme::Theme;

/// The list.
#[derive(Debug)]
pub(in crate::tui) struct ModelsView {
    picker: Picker,
}

impl ModelsView {
    pub(in crate::tui) fn new() -> Self {
        Self { picker: Picker::new("Search:", "Asking the providers…") }
    }

    /// More models are known.
    pub(in crate::tui) fn add(&mut self, models: Vec<PickerItem>) {
        let known = self.picker.items().iter().cloned();
        self.picker.set_items(Arc::new(known.chain(models).collect()));
    }

    pub(super) fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> ViewOutcome {
        match self.picker.input(input, keys) {
            picker::PickerOutcome::Picked(at) => match self.picker.items().get(at) {
                Some(item) => ViewOutcome::CloseWith(Cmd::Model(item.text.clone())),
                None => ViewOutcome::Moved,
            },
            picker::PickerOutcome::Closed => ViewOutcome::Close,
            picker::PickerOutcome::Moved | picker::PickerOutcome::Passed => ViewOutcome::Moved,
        }
    }

    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme) -> Option<Position> {
        let hint = "type to search · enter use for the next request · esc close";
        let inner = pager::frame(area, buf, theme, "Models", hint);
        self.picker.draw_whole(inner, buf, theme)
    }
}
