//! Views that cover the whole screen, one file each and all of one shape: a state, `input` takes a key,
//! `draw` draws. The screen below is as it was when they are closed.

pub(super) mod background;
pub(super) mod changes;
pub(super) mod diff;
pub(super) mod fork;
pub(super) mod help;
pub(super) mod models;
pub(super) mod pager;
pub(super) mod plan;
pub(super) mod rewind;
pub(super) mod sessions;
pub(super) mod subtasks;
pub(super) mod trace;
pub(super) mod transcript;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use trimtab_vocab::Time;

use super::keys::{KeyMap, TerminalInput};
use super::message::Cmd;
use super::setup::{self, SetupDialog};
use super::theme::Theme;
use super::trace::TraceSpans;
use super::transcript::Transcript;

/// What covers the screen.
#[derive(Debug)]
pub(super) enum Overlay {
    Background(Box<background::BackgroundView>),
    Changes(Box<changes::ChangesView>),
    Diff(diff::DiffOverlay),
    Fork(Box<fork::Fork>),
    Help(help::Help),
    Models(Box<models::ModelsView>),
    Plan(Box<plan::PlanEditor>),
    Rewind(Box<rewind::RewindView>),
    Trace(trace::Waterfall),
    Transcript(transcript::Whole),
    Sessions(Box<sessions::SessionsView>),
    Setup(Box<SetupDialog>),
    Subtasks(Box<subtasks::SubtasksView>),
}

/// What came of a key.
#[derive(Debug, PartialEq)]
pub(super) enum ViewOutcome {
    /// Something else is shown, or nothing.
    Moved,
    /// The view is not needed any more.
    Close,
    /// Something should be done; the view stays.
    Run(Cmd),
    /// Something should be done; the view is not needed any more.
    CloseWith(Cmd),
    /// An answer is copied by its entry, or one of its code blocks.
    Copy { entry: usize, block: Option<usize> },
}

impl Overlay {
    pub(super) fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> ViewOutcome {
        match self {
            Self::Background(view) => view.input(input, keys),
            Self::Changes(view) => view.input(input, keys),
            Self::Diff(view) => view.input(input, keys),
            Self::Fork(view) => view.input(input, keys),
            Self::Help(view) => view.input(input, keys),
            Self::Models(view) => view.input(input, keys),
            Self::Plan(view) => view.input(input, keys),
            Self::Rewind(view) => view.input(input, keys),
            Self::Trace(view) => view.input(input, keys),
            Self::Transcript(view) => view.input(input, keys),
            Self::Sessions(view) => view.input(input, keys),
            Self::Subtasks(view) => view.input(input, keys),
            Self::Setup(view) => match view.input(input, keys) {
                setup::SetupChoice::Moved => ViewOutcome::Moved,
                setup::SetupChoice::Key { provider, key } => ViewOutcome::Run(Cmd::KeepKey { provider, key }),
                setup::SetupChoice::Local => ViewOutcome::Run(Cmd::Local),
                setup::SetupChoice::Address(address) => ViewOutcome::Run(Cmd::Address(address)),
                setup::SetupChoice::Demo => ViewOutcome::Run(Cmd::Demo),
                setup::SetupChoice::Closed => ViewOutcome::Close,
            },
        }
    }

    pub(super) fn draw(
        &mut self,
        area: Rect,
        buf: &mut Buffer,
        theme: &Theme,
        keys: &KeyMap,
        (transcript, trace, now): (&mut Transcript, &TraceSpans, Time),
    ) -> Option<Position> {
        match self {
            Self::Background(view) => view.draw(area, buf, theme, now),
            Self::Changes(view) => view.draw(area, buf, theme, keys),
            Self::Diff(view) => view.draw(area, buf, theme, keys),
            Self::Fork(view) => view.draw(area, buf, theme),
            Self::Help(view) => view.draw(area, buf, theme, keys),
            Self::Models(view) => view.draw(area, buf, theme),
            Self::Plan(view) => view.draw(area, buf, theme, keys),
            Self::Rewind(view) => view.draw(area, buf, theme, now),
            Self::Trace(view) => view.draw(area, buf, theme, trace, now),
            Self::Transcript(view) => view.draw(area, buf, theme, keys, transcript),
            Self::Sessions(view) => view.draw(area, buf, theme, keys),
            Self::Setup(view) => view.draw(area, buf, theme),
            Self::Subtasks(view) => view.draw(area, buf, theme, now),
        }
    }
}
