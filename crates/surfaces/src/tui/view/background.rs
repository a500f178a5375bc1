//! The background commands of the session: a list, the output of one, and its end.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use trimtab_vocab::{BackgroundId, BackgroundRow, Time};

use super::ViewOutcome;
use super::pager::{self, Pager};
use crate::tui::keys::{KeyAction, KeyMap, TerminalInput};
use crate::tui::message::Cmd;
use crate::tui::text::cut;
use crate::tui::theme::{StyleName, Theme};
use crate::words::{self, sanitize_cells};

#[derive(Debug, Default)]
pub(in crate::tui) struct BackgroundView {
    rows: Vec<BackgroundRow>,
    selected: usize,
    is_loaded: bool,
    /// The command whose output is shown, and the output.
    open: Option<(BackgroundId, Vec<String>)>,
    /// That output is being read; there is more of it since.
    is_loading: bool,
    is_stale: bool,
    pager: Pager,
}

impl BackgroundView {
    /// The list as it is now. The latest is the first.
    pub(in crate::tui) fn set(&mut self, mut rows: Vec<BackgroundRow>) -> Option<Cmd> {
        rows.reverse();
        rows.sort_by_key(|row| !row.is_running());
        let id = self.rows.get(self.selected).map(|row| row.id.clone());
        self.selected = rows.iter().position(|row| Some(&row.id) == id.as_ref()).unwrap_or(0);
        (self.rows, self.is_loaded) = (rows, true);
        self.load_output()
    }

    /// Reads the output that is shown again, or once more when it has been read.
    pub(in crate::tui) fn refresh_output(&mut self) -> Option<Cmd> {
        self.is_stale = self.is_loading;
        if self.is_loading { None } else { self.load_output() }
    }

    fn load_output(&mut self) -> Option<Cmd> {
        let (id, _) = self.open.as_ref()?;
        (self.is_loading, self.is_stale) = (true, false);
        Some(Cmd::LoadOutput(id.clone()))
    }

    /// The output of a command, if it is the one that is shown.
    pub(in crate::tui) fn set_output(&mut self, of: &BackgroundId, text: &str) -> Option<Cmd> {
        let (_, lines) = self.open.as_mut().filter(|(id, _)| id == of)?;
        *lines = text.lines().map(sanitize_cells).collect();
        self.is_loading = false;
        if self.is_stale { self.load_output() } else { None }
    }

    pub(super) fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> ViewOutcome {
        let TerminalInput::Key(chord) = input else {
            self.pager.input(input, keys);
            return ViewOutcome::Moved;
        };
        let action = keys.action(*chord);
        let closes = matches!(action, Some(KeyAction::Interrupt | KeyAction::Quit)) || chord.typed() == Some('q');
        let stop = |id: Option<BackgroundId>| match id {
            Some(id) => ViewOutcome::Run(Cmd::StopCommand(id)),
            None => ViewOutcome::Moved,
        };
        if let Some((id, _)) = &self.open {
            if closes {
                self.open = None;
                return ViewOutcome::Moved;
            }
            match chord.typed() {
                Some('s') => return stop(Some(id.clone())),
                Some('o') => return ViewOutcome::Run(Cmd::OpenPort(id.clone())),
                _ => {}
            }
            self.pager.input(input, keys);
            return ViewOutcome::Moved;
        }
        match (action, chord.typed()) {
            _ if closes => return ViewOutcome::Close,
            (Some(KeyAction::Down), _) | (_, Some('j')) => {
                self.selected = (self.selected + 1).min(self.rows.len().saturating_sub(1));
            }
            (Some(KeyAction::Up), _) | (_, Some('k')) => self.selected = self.selected.saturating_sub(1),
            (Some(KeyAction::Send), _) => {
                if let Some(id) = self.rows.get(self.selected).map(|row| row.id.clone()) {
                    self.open = Some((id.clone(), Vec::new()));
                    self.pager = Pager::from_end();
                    return ViewOutcome::Run(Cmd::LoadOutput(id));
                }
            }
            (_, Some('s')) => {
                let running = self.rows.get(self.selected).filter(|row| row.is_running());
                return stop(running.map(|row| row.id.clone()));
            }
            (_, Some('o')) => {
                let running = self.rows.get(self.selected).filter(|row| row.is_running());
                if let Some(row) = running {
                    return ViewOutcome::Run(Cmd::OpenPort(row.id.clone()));
                }
            }
            _ => {}
        }
        ViewOutcome::Moved
    }

    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme, now: Time) -> Option<Position> {
        let style = |name| theme.style(name);
        if let Some((id, lines)) = &self.open {
            let row = self.rows.iter().find(|row| row.id == *id);
            let state = row.map(|row| words::background_state(row, now)).unwrap_or_default();
            let title = format!("{id} {}", sanitize_cells(&state));
            let hint = self.pager.placed("↑ ↓ scroll · o open port · s stop · esc back");
            let inner = pager::frame(area, buf, theme, &title, &hint);
            let (width, page) = (usize::from(inner.width), usize::from(inner.height));
            let from = self.pager.fit(lines.len(), page);
            let shown = lines.iter().skip(from).take(page);
            let rows: Vec<Line<'static>> =
                shown.map(|line| Line::styled(cut(line, width), style(StyleName::Text))).collect();
            pager::put(inner, buf, &rows);
            return None;
        }
        let hint = "↑ ↓ choose · enter output · o open port · s stop · esc close";
        let inner = pager::frame(area, buf, theme, "Background commands", hint);
        let width = usize::from(inner.width);
        let line = |(at, row): (usize, &BackgroundRow)| {
            let mark = if at == self.selected { "› " } else { "  " };
            let text = sanitize_cells(&words::background_line(row, now));
            let name = match (at == self.selected, row.is_running()) {
                (true, _) => StyleName::Accent,
                (false, true) => StyleName::Text,
                (false, false) => StyleName::Dim,
            };
            Line::styled(cut(&format!("{mark}{text}"), width), style(name))
        };
        let mut rows: Vec<Line<'static>> = self.rows.iter().enumerate().map(line).collect();
        if rows.is_empty() && self.is_loaded {
            rows.push(Line::styled(cut(words::NONE_RUNNING, width), style(StyleName::Dim)));
        }
        let page = usize::from(inner.height);
        let from = (self.selected + 1).saturating_sub(page.max(1));
        pager::put(inner, buf, &rows[from.min(rows.len())..]);
        None
    }
}
