//! What was changed in the session: every set, line by line; to take back, whole or in parts, or to bring forward.

use std::collections::BTreeSet;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use trimtab_host::History;
use trimtab_vocab::format;
use trimtab_vocab::{ChangePart, ChangeSetId, Control, OnConflict, Time};

use super::ViewOutcome;
use super::pager::{self, Pager};
use crate::diff::LoadedDiff;
use crate::tui::diffs::{self, DiffRow};
use crate::tui::keys::{Chord, KeyAction, KeyMap, TerminalInput};
use crate::tui::message::Cmd;
use crate::tui::text::cut;
use crate::tui::theme::{StyleName, Theme};
use crate::words::sanitize_cells;
use crate::words::wrap;

/// From so many columns on, the list stands beside the change.
const WIDE: u16 = 110;
/// Columns of the list there.
const LIST: u16 = 40;

/// The change history.
#[derive(Debug)]
pub(in crate::tui) struct ChangesView {
    history: Option<Box<History>>,
    now: Time,
    /// The chosen set, by its place in the history.
    chosen: usize,
    /// Its bytes, and whose they are: a set may take the place of one that was taken back.
    files: Option<(ChangeSetId, Arc<Vec<LoadedDiff>>)>,
    /// The change has the keys, and not the list.
    in_change: bool,
    pager: Pager,
    /// The hunk that is looked at, counted over all files.
    hunk: usize,
    marked: BTreeSet<usize>,
    /// What is about to be done.
    asked: Option<PendingMove>,
    /// The last fact that was read when something was wished for.
    wished: Option<u64>,
    rows: Vec<DiffRow>,
    /// The columns that the rows were laid out for.
    laid_out: Option<usize>,
}

/// A move that a person is asked about.
#[derive(Debug)]
struct PendingMove {
    control: Control,
    /// What it means.
    lines: Vec<String>,
    stage: MoveStage,
}

/// How far such a move has come. Each takes other keys: one that was pressed twice moves nothing twice, and nobody's
/// edits are given up by a key that was not named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MoveStage {
    /// It waits for a yes.
    Proposed,
    /// It is on its way.
    Moving,
    /// The person's own edits stand in its way.
    InTheWay,
    /// It cannot be done.
    Refused,
}

impl ChangesView {
    pub(in crate::tui) fn new(now: Time) -> Self {
        Self {
            history: None,
            now,
            chosen: 0,
            files: None,
            in_change: false,
            pager: Pager::default(),
            hunk: 0,
            marked: BTreeSet::new(),
            asked: None,
            wished: None,
            rows: Vec::new(),
            laid_out: None,
        }
    }

    /// The history as it is; what is to be loaded for it.
    pub(in crate::tui) fn set(&mut self, history: Box<History>) -> Option<Cmd> {
        let is_first = self.history.is_none();
        if is_first || self.chosen >= history.sets.len() {
            self.chosen = history.in_force.max(1).min(history.sets.len()).saturating_sub(1);
        }
        // A wish that was refused for the person's own edits can be made in another way.
        if let (Some(at), Some(refused)) = (self.wished, &history.refused)
            && refused.at > at
            && let Some(asked) = &mut self.asked
        {
            let mut lines = vec![sanitize_cells(&refused.reason)];
            for conflict in refused.conflicts.iter().take(6) {
                let place = conflict.first_line.map(|line| format!(":{line}")).unwrap_or_default();
                lines.push(format!(
                    "  {}{place}  {}",
                    sanitize_cells(&conflict.path),
                    sanitize_cells(&conflict.reason)
                ));
            }
            let (stage, keys) = match refused.conflicts.is_empty() {
                true => (MoveStage::Refused, "Nothing was changed · esc back"),
                false => (MoveStage::InTheWay, "m keep your lines · o overwrite them · esc cancel"),
            };
            lines.push(keys.into());
            (asked.lines, asked.stage) = (lines, stage);
        } else if !history.is_moving && self.wished.is_some_and(|at| history.last > at) {
            (self.asked, self.wished) = (None, None);
        }
        self.history = Some(history);
        self.load()
    }

    /// The bytes of a set.
    pub(in crate::tui) fn set_files(&mut self, set: ChangeSetId, files: Arc<Vec<LoadedDiff>>) {
        let chosen = self.history.as_ref().and_then(|history| history.sets.get(self.chosen));
        if chosen.is_some_and(|chosen| chosen.id == set) {
            self.files = Some((set, files));
            self.laid_out = None;
        }
    }

    fn load(&mut self) -> Option<Cmd> {
        let set = self.history.as_ref()?.sets.get(self.chosen)?;
        if self.files.as_ref().is_some_and(|(of, _)| *of == set.id) {
            return None;
        }
        (self.hunk, self.pager, self.files) = (0, Pager::default(), None);
        self.marked.clear();
        self.rows.clear();
        Some(Cmd::LoadSet { set: set.id.clone(), writes: set.writes.clone() })
    }

    fn choose(&mut self, by: isize) -> ViewOutcome {
        let count = self.history.as_ref().map_or(0, |history| history.sets.len());
        let chosen = self.chosen.saturating_add_signed(by).min(count.saturating_sub(1));
        if chosen == self.chosen {
            return ViewOutcome::Moved;
        }
        self.chosen = chosen;
        self.load().map_or(ViewOutcome::Moved, ViewOutcome::Run)
    }

    pub(super) fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> ViewOutcome {
        if self.asked.is_some() {
            return match input {
                TerminalInput::Key(chord) => self.confirm(*chord, keys),
                _ => ViewOutcome::Moved,
            };
        }
        if let TerminalInput::Key(chord) = input {
            match (chord.typed(), keys.action(*chord)) {
                (_, Some(KeyAction::Interrupt)) if self.in_change => {
                    self.in_change = false;
                    return ViewOutcome::Moved;
                }
                (Some('q'), _) | (_, Some(KeyAction::Interrupt | KeyAction::Quit)) => return ViewOutcome::Close,
                (Some('r'), _) => return self.ask_rewind(),
                (Some('f'), _) => return self.ask_forward(),
                (Some('u'), _) => return self.ask_undo(),
                (Some('n' | ']'), _) => return self.go_to_hunk(1),
                (Some('p' | '['), _) => return self.go_to_hunk(-1),
                (Some(' '), _) => {
                    if !self.marked.remove(&self.hunk) {
                        self.marked.insert(self.hunk);
                    }
                    return ViewOutcome::Moved;
                }
                (_, Some(KeyAction::Send | KeyAction::Right)) => {
                    self.in_change = true;
                    return ViewOutcome::Moved;
                }
                (_, Some(KeyAction::Left)) => {
                    self.in_change = false;
                    return ViewOutcome::Moved;
                }
                // The newest stands first: down is back in time.
                (Some('j'), _) | (_, Some(KeyAction::Down)) if !self.in_change => return self.choose(-1),
                (Some('k'), _) | (_, Some(KeyAction::Up)) if !self.in_change => return self.choose(1),
                _ => {}
            }
        }
        self.pager.input(input, keys);
        ViewOutcome::Moved
    }

    fn hunks(&self) -> usize {
        self.rows.iter().filter_map(|row| row.hunk).max().map_or(0, |last| last + 1)
    }

    fn go_to_hunk(&mut self, by: isize) -> ViewOutcome {
        let count = self.hunks();
        self.hunk = self.hunk.saturating_add_signed(by).min(count.saturating_sub(1));
        if let Some(at) = self.rows.iter().position(|row| row.hunk == Some(self.hunk)) {
            (self.pager.top, self.pager.at_end) = (at, false);
        }
        ViewOutcome::Moved
    }

    fn ask_rewind(&mut self) -> ViewOutcome {
        let Some(history) = &self.history else { return ViewOutcome::Moved };
        if self.chosen >= history.in_force {
            return ViewOutcome::Moved;
        }
        let steps = u32::try_from(history.in_force - self.chosen).unwrap_or(u32::MAX);
        let lines = self.preview(self.chosen..history.in_force, "Undo");
        self.ask(Control::Rewind { steps, on_conflict: OnConflict::Refuse }, lines);
        ViewOutcome::Moved
    }

    fn ask_forward(&mut self) -> ViewOutcome {
        let Some(history) = &self.history else { return ViewOutcome::Moved };
        if self.chosen < history.in_force || self.chosen >= history.sets.len() {
            return ViewOutcome::Moved;
        }
        let steps = u32::try_from(self.chosen + 1 - history.in_force).unwrap_or(u32::MAX);
        let lines = self.preview(history.in_force..self.chosen + 1, "Redo");
        self.ask(Control::Forward { steps, on_conflict: OnConflict::Refuse }, lines);
        ViewOutcome::Moved
    }

    /// Takes the marked hunks back, or the one that is looked at.
    fn ask_undo(&mut self) -> ViewOutcome {
        let Some(set) = self.history.as_ref().and_then(|history| history.sets.get(self.chosen)) else {
            return ViewOutcome::Moved;
        };
        let wanted: BTreeSet<usize> = match self.marked.is_empty() {
            true => [self.hunk].into(),
            false => self.marked.clone(),
        };
        let mut parts: Vec<ChangePart> = Vec::new();
        for row in self.rows.iter().filter(|row| row.is_head && row.hunk.is_some_and(|hunk| wanted.contains(&hunk))) {
            match parts.iter_mut().find(|part| part.path == row.path) {
                Some(part) => part.hunks.push(row.number),
                None => parts.push(ChangePart { path: row.path.clone(), hunks: vec![row.number] }),
            }
        }
        if parts.is_empty() {
            return ViewOutcome::Moved;
        }
        let mut lines = vec![format!("Undo {} of change #{}?", format::plural(wanted.len(), "hunk"), self.chosen + 1)];
        lines.extend(parts.iter().map(|part| format!("  {}: {}", sanitize_cells(&part.path), numbers(&part.hunks))));
        lines.push("enter or y undo (this can be undone too) · esc cancel".into());
        let change_set = set.id.clone();
        self.ask(Control::UndoPart { change_set, parts, on_conflict: OnConflict::Refuse }, lines);
        ViewOutcome::Moved
    }

    fn ask(&mut self, control: Control, lines: Vec<String>) {
        self.asked = Some(PendingMove { control, lines, stage: MoveStage::Proposed });
    }

    fn preview(&self, range: std::ops::Range<usize>, what: &str) -> Vec<String> {
        let Some(history) = &self.history else { return Vec::new() };
        let sets = &history.sets[range.clone()];
        let mut lines = vec![format!("{what} {}?", format::plural(sets.len(), "change"))];
        for (at, set) in range.zip(sets).rev().take(8) {
            let files: Vec<String> = set.writes.iter().take(4).map(|write| sanitize_cells(&write.path)).collect();
            let more = if set.writes.len() > 4 { ", …" } else { "" };
            let gone = if set.expired { "  (expired: cannot be undone)" } else { "" };
            lines.push(format!("  #{}  {}{more}{gone}", at + 1, files.join(", ")));
        }
        lines.push("enter or y confirm (this can be undone too) · esc cancel".into());
        lines
    }

    fn confirm(&mut self, chord: Chord, keys: &KeyMap) -> ViewOutcome {
        let Some(PendingMove { control, stage, .. }) = &self.asked else { return ViewOutcome::Moved };
        let (control, stage) = (control.clone(), *stage);
        let on_conflict = match (chord.typed(), keys.action(chord)) {
            (Some('y'), _) | (_, Some(KeyAction::Send)) if stage == MoveStage::Proposed => OnConflict::Refuse,
            (Some('m'), _) if stage == MoveStage::InTheWay => OnConflict::KeepMine,
            (Some('o'), _) if stage == MoveStage::InTheWay => OnConflict::DiscardMine,
            (Some('n' | 'q'), _) | (_, Some(KeyAction::Interrupt | KeyAction::Quit)) => {
                (self.asked, self.wished) = (None, None);
                return ViewOutcome::Moved;
            }
            _ => return ViewOutcome::Moved,
        };
        let control = match control {
            Control::Rewind { steps, .. } => Control::Rewind { steps, on_conflict },
            Control::Forward { steps, .. } => Control::Forward { steps, on_conflict },
            Control::UndoPart { change_set, parts, .. } => Control::UndoPart { change_set, parts, on_conflict },
            other => other,
        };
        self.wished = Some(self.history.as_ref().map_or(0, |history| history.last));
        self.asked =
            Some(PendingMove { control: control.clone(), lines: vec!["Moving…".into()], stage: MoveStage::Moving });
        ViewOutcome::Run(Cmd::Control(control))
    }

    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme, _: &KeyMap) -> Option<Position> {
        // A question names its own keys; these would do nothing then.
        let hint = match self.asked {
            None if self.in_change => {
                "↑ ↓ scroll the diff · n p hunks · space mark · u undo marked · esc back to the list"
            }
            None => "r undo · f redo · u undo marked · space mark · enter scroll · n p hunks · ↑ ↓ select · esc close",
            Some(_) => "",
        };
        let inner = pager::frame(area, buf, theme, "Change History", hint);
        let is_empty = self.history.as_ref().is_some_and(|history| history.sets.is_empty());
        if is_empty {
            let line = Line::styled("No files were changed in this session.", theme.style(StyleName::Dim));
            pager::put(inner, buf, &[line]);
            return None;
        }
        let (list, change) = match inner.width >= WIDE {
            true => {
                let list = Rect { width: LIST, ..inner };
                (list, Rect { x: inner.x + LIST + 1, width: inner.width - LIST - 1, ..inner })
            }
            false => {
                let sets = self.history.as_ref().map_or(0, |history| history.sets.len());
                let height = u16::try_from(sets).unwrap_or(u16::MAX).min(inner.height / 3).max(1).min(inner.height);
                let rest = inner.height.saturating_sub(height + 1);
                let list = Rect { height, ..inner };
                (list, Rect { y: inner.y + inner.height - rest, height: rest, ..inner })
            }
        };
        self.draw_list(list, buf, theme);
        match &self.asked {
            Some(asked) => {
                let rows: Vec<Line<'static>> = asked
                    .lines
                    .iter()
                    .flat_map(|line| {
                        let line = Line::styled(line.clone(), theme.style(StyleName::Text));
                        wrap(&line, usize::from(change.width), 2)
                    })
                    .collect();
                pager::put(change, buf, &rows);
            }
            None => self.draw_change(change, buf, theme),
        }
        None
    }

    fn draw_list(&self, area: Rect, buf: &mut Buffer, theme: &Theme) {
        let Some(history) = &self.history else { return };
        let mut rows = Vec::new();
        for (at, set) in history.sets.iter().enumerate().rev() {
            let mark = match at + 1 {
                place if place == history.in_force => "●",
                place if place < history.in_force => "○",
                _ => "·",
            };
            let (added, removed) = set.writes.iter().fold((0, 0), |(a, r), write| (a + write.added, r + write.removed));
            let what = match (&set.by, set.writes.as_slice()) {
                (Some(by), _) => format!("$ {}", by.command.lines().next().unwrap_or_default()),
                (None, [one]) => one.path.clone(),
                (None, many) => format::plural(many.len(), "file"),
            };
            // A binary file has no lines.
            let counts = if (added, removed) == (0, 0) { String::new() } else { format!("  +{added} −{removed}") };
            let gone = if at >= history.in_force { " (undone)" } else { "" };
            let line = format!(
                "{mark} #{} {}{gone}{counts}  {}",
                at + 1,
                sanitize_cells(&what),
                format::age(set.time, self.now)
            );
            let name = match at == self.chosen {
                true => StyleName::Selected,
                false if at >= history.in_force => StyleName::Dim,
                false => StyleName::Text,
            };
            rows.push(Line::from(Span::styled(cut(&line, usize::from(area.width)), theme.style(name))));
        }
        let chosen = history.sets.len().saturating_sub(self.chosen + 1);
        let page = usize::from(area.height);
        let from = chosen.saturating_sub(page.saturating_sub(1));
        pager::put(area, buf, &rows[from.min(rows.len())..]);
    }

    fn draw_change(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme) {
        let width = usize::from(area.width).saturating_sub(2);
        let Some((_, files)) = &self.files else { return };
        if self.laid_out != Some(width) {
            self.rows = diffs::hunks(files, width, theme);
            self.laid_out = Some(width);
        }
        let page = usize::from(area.height);
        let from = self.pager.fit(self.rows.len(), page);
        if self.in_change && self.rows.get(from).and_then(|row| row.hunk).is_some() {
            self.hunk = self.rows[from].hunk.unwrap_or(self.hunk);
        }
        let shown: Vec<Line<'static>> = self.rows[from..]
            .iter()
            .take(page)
            .map(|row| {
                let is_marked = row.hunk.is_some_and(|hunk| self.marked.contains(&hunk));
                let sign = match (row.is_head, is_marked, row.hunk == Some(self.hunk)) {
                    (true, true, _) => "✓ ",
                    (_, true, _) => "│ ",
                    (true, false, true) => "› ",
                    _ => "  ",
                };
                let mut line = row.line.clone();
                line.spans.insert(0, Span::styled(sign, theme.style(StyleName::Accent)));
                line
            })
            .collect();
        pager::put(area, buf, &shown);
    }
}

fn numbers(hunks: &[u32]) -> String {
    let all: Vec<String> = hunks.iter().map(|hunk| format!("hunk {hunk}")).collect();
    all.join(", ")
}
