//! Earlier sessions: search by words and tags, then continue, fork, rename, export, or delete one.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use trimtab_host::{JobRow, JobState, SessionRow};
use trimtab_vocab::format;
use trimtab_vocab::{SessionId, Time};

use super::ViewOutcome;
use super::pager;
use crate::tui::composer::{Composer, ComposerDraft, ComposerOutcome as Typed};
use crate::tui::keys::{Chord, Key, KeyAction, KeyMap, TerminalInput};
use crate::tui::message::Cmd;
use crate::tui::picker::{self, Picker, PickerItem};
use crate::tui::text::cut;
use crate::tui::theme::{StyleName, Theme};
use crate::words::sanitize_cells;

/// The list.
#[derive(Debug)]
pub(in crate::tui) struct SessionsView {
    picker: Picker,
    rows: Vec<SessionRow>,
    /// The session on the screen below.
    current: Option<SessionId>,
    /// What the person is about to do with a session.
    doing: Option<Doing>,
    /// What came of what was done last.
    told: Option<String>,
}

/// Something that is done with a session after another key.
#[derive(Debug)]
enum Doing {
    /// Give it another name, which is being written.
    Rename { session: SessionId, name: Box<Composer> },
    /// Forget it, which cannot be undone.
    Forget { session: SessionId, title: String },
}

impl SessionsView {
    pub(in crate::tui) fn new(current: Option<SessionId>) -> Self {
        let picker = Picker::new("Search:", "There are no sessions in this folder yet.").found_elsewhere();
        Self { picker, rows: Vec::new(), current, doing: None, told: None }
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
                Some(JobState::Running) => " · running",
                Some(_) => " · waiting",
            };
            let here = if self.current.as_ref() == Some(&row.id) { " · current" } else { "" };
            PickerItem::noted(title(row), format!("{}{state}{here}", format::age(row.updated, now)))
        };
        self.picker.set_items(Arc::new(rows.iter().map(item).collect()));
        self.rows = rows;
    }

    /// Something was done, or not.
    pub(in crate::tui) fn tell(&mut self, text: String) {
        self.told = Some(text);
    }

    fn chosen(&self) -> Option<&SessionRow> {
        self.rows.get(self.picker.chosen()?)
    }

    pub(super) fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> ViewOutcome {
        if let TerminalInput::Key(chord) = input {
            self.told = None;
            if let Some(Doing::Forget { .. }) = &self.doing {
                return self.forget(*chord, keys);
            }
            if self.doing.is_none()
                && let Some(outcome) = self.begin(*chord)
            {
                return outcome;
            }
        }
        if let Some(Doing::Rename { .. }) = &self.doing {
            return self.rename(input, keys);
        }
        let query = self.picker.query().to_owned();
        match self.picker.input(input, keys) {
            picker::PickerOutcome::Picked(at) => match self.rows.get(at) {
                Some(row) => ViewOutcome::CloseWith(Cmd::Open(row.id.clone())),
                None => ViewOutcome::Moved,
            },
            picker::PickerOutcome::Closed => ViewOutcome::Close,
            picker::PickerOutcome::Moved | picker::PickerOutcome::Passed if self.picker.query() != query => {
                ViewOutcome::Run(Cmd::LoadSessions { query: self.picker.query().to_owned() })
            }
            picker::PickerOutcome::Moved | picker::PickerOutcome::Passed => ViewOutcome::Moved,
        }
    }

    /// Letters search, so what can be done with a session has Alt held.
    fn begin(&mut self, chord: Chord) -> Option<ViewOutcome> {
        let (Key::Char(letter), true, false) = (chord.key, chord.alt, chord.ctrl) else { return None };
        let row = self.chosen()?;
        let (session, title) = (row.id.clone(), title(row));
        match letter {
            'f' => return Some(ViewOutcome::Run(Cmd::Fork { session, at: None, words: None })),
            'e' => return Some(ViewOutcome::Run(Cmd::Export(session))),
            'r' => {
                let mut name = Box::new(Composer::for_words());
                name.set_draft(&ComposerDraft::new(title));
                self.doing = Some(Doing::Rename { session, name });
            }
            'x' => self.doing = Some(Doing::Forget { session, title }),
            _ => return None,
        }
        Some(ViewOutcome::Moved)
    }

    fn forget(&mut self, chord: Chord, keys: &KeyMap) -> ViewOutcome {
        let is_over = chord.typed() == Some('y') || self.leaves(chord, keys);
        match self.doing.take() {
            Some(Doing::Forget { session, .. }) if chord.typed() == Some('y') => {
                ViewOutcome::Run(Cmd::Forget { session, query: self.picker.query().to_owned() })
            }
            doing => {
                self.doing = doing.filter(|_| !is_over);
                ViewOutcome::Moved
            }
        }
    }

    fn rename(&mut self, input: &TerminalInput, keys: &KeyMap) -> ViewOutcome {
        let Some(Doing::Rename { session, mut name }) = self.doing.take() else { return ViewOutcome::Moved };
        match name.input(input, keys) {
            Typed::Send(draft) | Typed::Queue(draft) => {
                let (title, query) = (draft.text(), self.picker.query().to_owned());
                return ViewOutcome::Run(Cmd::Rename { session, title, query });
            }
            Typed::Passed(Some(KeyAction::Interrupt | KeyAction::Quit)) => return ViewOutcome::Moved,
            _ => self.doing = Some(Doing::Rename { session, name }),
        }
        ViewOutcome::Moved
    }

    fn leaves(&self, chord: Chord, keys: &KeyMap) -> bool {
        chord.typed() == Some('n') || matches!(keys.action(chord), Some(KeyAction::Interrupt | KeyAction::Quit))
    }

    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme, _: &KeyMap) -> Option<Position> {
        let hint = match &self.doing {
            None if area.width >= 110 => {
                "type to search words and #tags · enter open · alt-f fork · alt-r rename · alt-x delete · alt-e export · esc close"
            }
            None => "enter open · alt-f fork · alt-r rename · alt-x delete · alt-e export · esc close",
            Some(Doing::Rename { .. }) => "enter rename · esc cancel",
            Some(Doing::Forget { .. }) => "y confirm · esc cancel",
        };
        let hint = self.told.as_deref().map_or(hint.to_owned(), sanitize_cells);
        let inner = pager::frame(area, buf, theme, "Sessions in this folder", &hint);
        let width = usize::from(inner.width);
        match &mut self.doing {
            None => self.picker.draw_whole(inner, buf, theme),
            Some(Doing::Rename { name, .. }) => {
                pager::put(inner, buf, &[Line::styled(cut("New name:", width), theme.style(StyleName::Title))]);
                let below = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1).min(3), ..inner };
                name.draw(below, buf, theme)
            }
            Some(Doing::Forget { title, .. }) => {
                let text = |words: &str| Line::styled(cut(words, width), theme.style(StyleName::Text));
                let rows = [
                    Line::styled(
                        cut(&format!("Forget “{}”?", sanitize_cells(title)), width),
                        theme.style(StyleName::Warning),
                    ),
                    text("The conversation is deleted, and its changes"),
                    text("can no longer be undone. Files are not changed."),
                ];
                pager::put(inner, buf, &rows);
                None
            }
        }
    }
}

fn title(row: &SessionRow) -> String {
    if row.title.is_empty() { row.id.to_string() } else { row.title.clone() }
}
