//! Views that cover the whole screen, one file each and all of one shape: a state, `input` takes a key,
//! `draw` draws. The screen below is as it was when they are closed.

pub(super) mod changes;
pub(super) mod diff;
pub(super) mod fork;
pub(super) mod help;
pub(super) mod models;
pub(super) mod pager;
pub(super) mod plan;
pub(super) mod sessions;
pub(super) mod trace;
pub(super) mod transcript;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use trimtab_vocab::Time;

use super::keys::{Input, KeyMap};
use super::news::Wish;
use super::setup::{self, Setup};
use super::theme::Theme;
use super::trace::Trace;
use super::transcript::Transcript;

/// What covers the screen.
#[derive(Debug)]
pub(super) enum View {
    Changes(Box<changes::Changes>),
    Diff(diff::Diff),
    Fork(Box<fork::Fork>),
    Help(help::Help),
    Models(Box<models::Models>),
    Plan(Box<plan::PlanEditor>),
    Trace(trace::Waterfall),
    Transcript(transcript::Whole),
    Sessions(Box<sessions::Sessions>),
    Setup(Box<Setup>),
}

/// What came of a key.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    /// Something else is shown, or nothing.
    Moved,
    /// The view is not needed any more.
    Close,
    /// Something should be done; the view stays.
    Wish(Wish),
    /// Something should be done; the view is not needed any more.
    CloseWith(Wish),
}

impl View {
    pub(super) fn input(&mut self, input: &Input, keys: &KeyMap) -> Outcome {
        match self {
            Self::Changes(view) => view.input(input, keys),
            Self::Diff(view) => view.input(input, keys),
            Self::Fork(view) => view.input(input, keys),
            Self::Help(view) => view.input(input, keys),
            Self::Models(view) => view.input(input, keys),
            Self::Plan(view) => view.input(input, keys),
            Self::Trace(view) => view.input(input, keys),
            Self::Transcript(view) => view.input(input, keys),
            Self::Sessions(view) => view.input(input, keys),
            Self::Setup(view) => match view.input(input, keys) {
                setup::Outcome::Moved => Outcome::Moved,
                setup::Outcome::Key { provider, key } => Outcome::Wish(Wish::KeepKey { provider, key }),
                setup::Outcome::Local => Outcome::Wish(Wish::Local),
                setup::Outcome::Demo => Outcome::Wish(Wish::Demo),
                setup::Outcome::Closed => Outcome::Close,
            },
        }
    }

    pub(super) fn draw(
        &mut self,
        area: Rect,
        buf: &mut Buffer,
        theme: &Theme,
        keys: &KeyMap,
        (transcript, trace, now): (&mut Transcript, &Trace, Time),
    ) -> Option<Position> {
        match self {
            Self::Changes(view) => view.draw(area, buf, theme, keys),
            Self::Diff(view) => view.draw(area, buf, theme, keys),
            Self::Fork(view) => view.draw(area, buf, theme),
            Self::Help(view) => view.draw(area, buf, theme, keys),
            Self::Models(view) => view.draw(area, buf, theme),
            Self::Plan(view) => view.draw(area, buf, theme, keys),
            Self::Trace(view) => view.draw(area, buf, theme, trace, now),
            Self::Transcript(view) => view.draw(area, buf, theme, keys, transcript),
            Self::Sessions(view) => view.draw(area, buf, theme, keys),
            Self::Setup(view) => view.draw(area, buf, theme),
        }
    }
}
