//! A change that is asked about, whole. Where it has several hunks, some can be left out before it is allowed.

use std::collections::BTreeSet;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use trimtab_vocab::{ChangePart, CheckpointId};

use super::ViewOutcome;
use super::pager::{self, Pager};
use crate::diff::LoadedDiff;
use crate::tui::diffs::{self, DiffRow};
use crate::tui::keys::{KeyAction, KeyMap, TerminalInput};
use crate::tui::message::Cmd;
use crate::tui::theme::{StyleName, Theme};

/// The change.
#[derive(Debug)]
pub(in crate::tui) struct DiffOverlay {
    /// The question that can be answered with a part of it.
    asked: Option<CheckpointId>,
    files: Arc<Vec<LoadedDiff>>,
    rows: Vec<DiffRow>,
    /// The columns that the rows were laid out for.
    width: Option<usize>,
    pager: Pager,
    /// The hunk that is looked at, counted over all files.
    hunk: usize,
    /// Hunks that are left out.
    left: BTreeSet<usize>,
    /// The last row has been on the screen.
    is_read: bool,
}

impl DiffOverlay {
    pub(in crate::tui) fn new(files: Arc<Vec<LoadedDiff>>, asked: Option<CheckpointId>) -> Self {
        let (rows, pager, left) = (Vec::new(), Pager::default(), BTreeSet::new());
        Self { asked, files, rows, width: None, pager, hunk: 0, left, is_read: false }
    }

    /// Whether all of it was on the screen.
    pub(in crate::tui) fn is_read(&self) -> bool {
        self.is_read
    }

    pub(super) fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> ViewOutcome {
        if let TerminalInput::Key(chord) = input {
            match (chord.typed(), keys.action(*chord)) {
                (Some('q'), _) | (_, Some(KeyAction::Interrupt | KeyAction::Quit)) => return ViewOutcome::Close,
                (_, Some(KeyAction::Send)) => return self.allow(),
                (Some('n' | ']'), _) => self.go_to(1),
                (Some('p' | '['), _) => self.go_to(-1),
                (Some(' '), _) if self.can_choose() => {
                    if !self.left.remove(&self.hunk) {
                        self.left.insert(self.hunk);
                    }
                }
                _ => {
                    self.pager.input(input, keys);
                }
            }
            return ViewOutcome::Moved;
        }
        self.pager.input(input, keys);
        ViewOutcome::Moved
    }

    fn count(&self) -> usize {
        self.rows.iter().filter(|row| row.is_head).count()
    }

    fn can_choose(&self) -> bool {
        self.asked.is_some() && self.count() > 1
    }

    fn go_to(&mut self, by: isize) {
        self.hunk = self.hunk.saturating_add_signed(by).min(self.count().saturating_sub(1));
        if let Some(at) = self.rows.iter().position(|row| row.hunk == Some(self.hunk)) {
            (self.pager.top, self.pager.at_end) = (at, false);
        }
    }

    /// Some hunks are left out: the rest is allowed. Otherwise the question is what answers.
    fn allow(&mut self) -> ViewOutcome {
        let (Some(checkpoint), false) = (self.asked.clone(), self.left.is_empty()) else { return ViewOutcome::Close };
        if !self.is_read {
            return ViewOutcome::Moved;
        }
        let mut parts: Vec<ChangePart> = Vec::new();
        for row in self.rows.iter().filter(|row| row.is_head && row.hunk.is_some_and(|at| !self.left.contains(&at))) {
            match parts.iter_mut().find(|part| part.path == row.path) {
                Some(part) => part.hunks.push(row.number),
                None => parts.push(ChangePart { path: row.path.clone(), hunks: vec![row.number] }),
            }
        }
        match parts.is_empty() {
            // To leave everything out is another answer.
            true => ViewOutcome::Close,
            false => ViewOutcome::CloseWith(Cmd::AllowParts { checkpoint, parts }),
        }
    }

    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme, _: &KeyMap) -> Option<Position> {
        // How many hunks there are decides what can be done.
        let width = usize::from(area.width).saturating_sub(2);
        if self.width != Some(width) {
            self.rows = diffs::hunks(&self.files, width, theme);
            self.width = Some(width);
        }
        let hint = match (self.can_choose(), self.left.len()) {
            (false, _) => "↑ ↓ scroll · esc back to the question".to_owned(),
            (true, 0) => "n p hunks · space deselect · esc back to the question".to_owned(),
            (true, _) if !self.is_read => "read to the end to allow the rest · space deselect · esc back".to_owned(),
            (true, left) => {
                let all = self.count();
                format!("{} of {all} hunks · enter allow only these · esc back", all - left)
            }
        };
        let inner = pager::frame(area, buf, theme, "The proposed change", &hint);
        let page = usize::from(inner.height);
        let from = self.pager.fit(self.rows.len(), page);
        self.is_read |= from + page >= self.rows.len();
        let (can_choose, left, hunk) = (self.can_choose(), &self.left, self.hunk);
        let sign = |row: &DiffRow| match (row.hunk, row.is_head) {
            (Some(at), true) if left.contains(&at) => "✗ ",
            (Some(at), false) if left.contains(&at) => "╎ ",
            (Some(at), true) if can_choose && at == hunk => "› ",
            (Some(_), true) if can_choose => "✓ ",
            _ => "  ",
        };
        let shown: Vec<Line<'static>> = self.rows[from..]
            .iter()
            .take(page)
            .map(|row| {
                let mut line = row.line.clone();
                if row.hunk.is_some_and(|at| left.contains(&at)) {
                    line = Line::styled(line.to_string(), theme.style(StyleName::Dim));
                }
                line.spans.insert(0, Span::styled(sign(row), theme.style(StyleName::Accent)));
                line
            })
            .collect();
        pager::put(inner, buf, &shown);
        None
    }
}
