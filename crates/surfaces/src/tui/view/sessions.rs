//! Earlier sessions: search by words and tags, go on with one.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use trimtab_host::{JobRow, JobState, SessionRow};
use trimtab_vocab::{SessionId, Time};

use super::Outcome;
use super::pager;
use crate::cli::output::age;
use crate::tui::keys::{Input, KeyMap};
use crate::tui::news::Wish;
use crate::tui::picker::{self, Item, Picker};
use crate::tui::theme::Theme;

/// The list.
#[derive(Debug)]
pub(in crate::tui) struct Sessions {
    picker: Picker,
    rows: Vec<SessionId>,
}

impl Sessions {
    pub(in crate::tui) fn new() -> Self {
        Self { picker: Picker::new("Sessions:", "There are no sessions in this folder yet."), rows: Vec::new() }
    }

    /// The sessions that there are.
    pub(in crate::tui) fn set(&mut self, rows: &[SessionRow], jobs: &[JobRow], now: Time) {
        let item = |row: &SessionRow| {
            let job = jobs.iter().find(|job| job.session == row.id);
            let state = match job.map(|job| &job.state) {
                Some(JobState::Finished(_)) | None => "",
                Some(_) => "  runs or waits",
            };
            let title = if row.title.is_empty() { row.id.to_string() } else { row.title.clone() };
            Item::noted(title, format!("{}{state}", age(row.updated, now)))
        };
        self.rows = rows.iter().map(|row| row.id.clone()).collect();
        self.picker.set_items(Arc::new(rows.iter().map(item).collect()));
    }

    pub(super) fn input(&mut self, input: &Input, keys: &KeyMap) -> Outcome {
        match self.picker.input(input, keys) {
            picker::Outcome::Picked(at) => match self.rows.get(at) {
                Some(session) => Outcome::CloseWith(Wish::Open(session.clone())),
                None => Outcome::Moved,
            },
            picker::Outcome::Closed => Outcome::Close,
            picker::Outcome::Moved | picker::Outcome::Passed => Outcome::Moved,
        }
    }

    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme, _: &KeyMap) -> Option<Position> {
        let inner = pager::frame(
            area,
            buf,
            theme,
            "Earlier sessions of this folder",
            "type to search · enter goes on with it · esc closes",
        );
        self.picker.draw_whole(inner, buf, theme)
    }
}
