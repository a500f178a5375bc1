//! The models of the providers that are set up, to choose one for what is said next.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::Outcome;
use super::pager;
use crate::tui::keys::{Input, KeyMap};
use crate::tui::news::Wish;
use crate::tui::picker::{self, Item, Picker};
use crate::tui::theme::Theme;

/// The list.
#[derive(Debug)]
pub(in crate::tui) struct Models {
    picker: Picker,
}

impl Models {
    pub(in crate::tui) fn new() -> Self {
        Self { picker: Picker::new("Models:", "The providers are asked…") }
    }

    /// More models are known.
    pub(in crate::tui) fn add(&mut self, models: Vec<Item>) {
        let known = self.picker.items().iter().cloned();
        self.picker.set_items(Arc::new(known.chain(models).collect()));
    }

    pub(super) fn input(&mut self, input: &Input, keys: &KeyMap) -> Outcome {
        match self.picker.input(input, keys) {
            picker::Outcome::Picked(at) => match self.picker.items().get(at) {
                Some(item) => Outcome::CloseWith(Wish::Model(item.text.clone())),
                None => Outcome::Moved,
            },
            picker::Outcome::Closed => Outcome::Close,
            picker::Outcome::Moved | picker::Outcome::Passed => Outcome::Moved,
        }
    }

    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme) -> Option<Position> {
        let hint = "type to search · enter uses it from the next request on · esc closes";
        let inner = pager::frame(area, buf, theme, "Models", hint);
        self.picker.draw_whole(inner, buf, theme)
    }
}
