//! Earlier sessions: search by words and tags, go on with one, forget one.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use trimtab_host::{JobRow, JobState, SessionRow};
use trimtab_vocab::{SessionId, Time};

use super::Outcome;
use super::pager;
use crate::cli::output::age;
use crate::tui::keys::{Action, Chord, Input, Key, KeyMap};
use crate::tui::news::Wish;
use crate::tui::picker::{self, Item, Picker};
use crate::tui::text::{cut, tame};
use crate::tui::theme::{Name, Theme};

/// The list.
#[derive(Debug)]
pub(in crate::tui) struct Sessions {
    picker: Picker,
    rows: Vec<SessionRow>,
    /// The session on the screen below.
    current: Option<SessionId>,
    /// What the person is about to do with a session.
    doing: Option<Doing>,
    /// Why something was not done.
    trouble: Option<String>,
}

/// Something that is done with a session after another key.
#[derive(Debug)]
enum Doing {
    /// Forget it, which cannot be undone.
    Forget { session: SessionId, title: String },
}

impl Sessions {
    pub(in crate::tui) fn new(current: Option<SessionId>) -> Self {
        let picker = Picker::new("Sessions:", "There are no sessions in this folder yet.").found_elsewhere();
        Self { picker, rows: Vec::new(), current, doing: None, trouble: None }
    }

    /// The sessions in which somebody said or was told what is searched.
    pub(in crate::tui) fn set(&mut self, query: &str, rows: Vec<SessionRow>, jobs: &[JobRow], now: Time) {
        // Letters may have come since it was asked for.
        if query != self.picker.query() {
            return;
        }
        let item = |row: &SessionRow| {
            let job = jobs.iter().find(|job| job.session == row.id);
            let state = match job.map(|job| &job.state) {
                Some(JobState::Finished(_)) | None => "",
                Some(JobState::Running) => " · runs",
                Some(_) => " · waits",
            };
            let here = if self.current.as_ref() == Some(&row.id) { " · on the screen" } else { "" };
            Item::noted(title(row), format!("{}{state}{here}", age(row.updated, now)))
        };
        self.picker.set_items(Arc::new(rows.iter().map(item).collect()));
        self.rows = rows;
    }

    /// Something was not done.
    pub(in crate::tui) fn failed(&mut self, why: String) {
        self.trouble = Some(why);
    }

    fn chosen(&self) -> Option<&SessionRow> {
        self.rows.get(self.picker.chosen()?)
    }

    pub(super) fn input(&mut self, input: &Input, keys: &KeyMap) -> Outcome {
        if let Input::Key(chord) = input {
            self.trouble = None;
            if let Some(doing) = self.doing.take() {
                return self.go_on(doing, *chord, keys);
            }
            if self.begins(*chord) {
                return Outcome::Moved;
            }
        }
        let query = self.picker.query().to_owned();
        match self.picker.input(input, keys) {
            picker::Outcome::Picked(at) => match self.rows.get(at) {
                Some(row) => Outcome::CloseWith(Wish::Open(row.id.clone())),
                None => Outcome::Moved,
            },
            picker::Outcome::Closed => Outcome::Close,
            picker::Outcome::Moved | picker::Outcome::Passed if self.picker.query() != query => {
                Outcome::Wish(Wish::LoadSessions { query: self.picker.query().to_owned() })
            }
            picker::Outcome::Moved | picker::Outcome::Passed => Outcome::Moved,
        }
    }

    /// Letters search, so what can be done with a session has Alt held.
    fn begins(&mut self, chord: Chord) -> bool {
        let (Key::Char(letter), true, false) = (chord.key, chord.alt, chord.ctrl) else { return false };
        let Some(row) = self.chosen() else { return false };
        let (session, title) = (row.id.clone(), title(row));
        self.doing = match letter {
            'x' => Some(Doing::Forget { session, title }),
            _ => return false,
        };
        true
    }

    fn go_on(&mut self, doing: Doing, chord: Chord, keys: &KeyMap) -> Outcome {
        match doing {
            Doing::Forget { session, .. } if chord.typed() == Some('y') => {
                Outcome::Wish(Wish::Forget { session, query: self.picker.query().to_owned() })
            }
            Doing::Forget { .. } if self.leaves(chord, keys) => Outcome::Moved,
            doing => {
                self.doing = Some(doing);
                Outcome::Moved
            }
        }
    }

    fn leaves(&self, chord: Chord, keys: &KeyMap) -> bool {
        chord.typed() == Some('n') || matches!(keys.action(chord), Some(Action::Interrupt | Action::Quit))
    }

    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme, _: &KeyMap) -> Option<Position> {
        let hint = "type to search words and #tags · enter goes on with it · alt-x forgets it · esc closes";
        let hint = if self.doing.is_some() { "y does it · esc leaves it" } else { hint };
        let hint = self.trouble.as_deref().map_or(hint.to_owned(), tame);
        let inner = pager::frame(area, buf, theme, "Earlier sessions of this folder", &hint);
        let Some(Doing::Forget { title, .. }) = &self.doing else {
            return self.picker.draw_whole(inner, buf, theme);
        };
        let width = usize::from(inner.width);
        let rows = [
            Line::styled(cut(&format!("Forget “{}”?", tame(title)), width), theme.style(Name::Warning)),
            Line::styled(cut("What was said in it is gone then, and its changes", width), theme.style(Name::Text)),
            Line::styled(cut("can no longer be taken back. Files stay as they are.", width), theme.style(Name::Text)),
        ];
        pager::put(inner, buf, &rows);
        None
    }
}

fn title(row: &SessionRow) -> String {
    if row.title.is_empty() { row.id.to_string() } else { row.title.clone() }
}
