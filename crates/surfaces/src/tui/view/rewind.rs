//! Going back to an earlier message: which one, what to restore, and what that changes, before it happens.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use trimtab_host::{RewindDone, RewindPlan, RewindPoint};
use trimtab_vocab::{OnConflict, RewindScope, Time, format};

use super::ViewOutcome;
use super::pager::{self, Pager};
use crate::diff::LoadedDiff;
use crate::tui::diffs;
use crate::tui::keys::{Chord, KeyAction, KeyMap, TerminalInput};
use crate::tui::message::Cmd;
use crate::tui::picker::{self, Picker, PickerItem};
use crate::tui::text::{cut, first_line, wrapped};
use crate::tui::theme::{StyleName, Theme};
use crate::words::{self, sanitize_cells};

/// From so many rows on, there are blank ones between the parts.
const ROOMY: u16 = 16;
/// Columns of what can be chosen.
const TITLE: usize = 22;
/// Rows of a preview at most; the change list has the rest.
const MOST_ROWS: usize = 2_000;

/// The list of messages, then the choice for one of them.
#[derive(Debug)]
pub(in crate::tui) struct RewindView {
    picker: Picker,
    /// The messages, the latest first.
    points: Vec<RewindPoint>,
    can_undo: bool,
    is_loaded: bool,
    stage: RewindStage,
}

/// Each stage takes other keys, so that a key pressed twice does nothing twice.
#[derive(Debug)]
enum RewindStage {
    Choosing,
    /// What it would do is being found out.
    Planning,
    Confirming(Box<RewindPreviewPane>),
    Moving(Box<RewindPreviewPane>),
    /// The person's own edits stand in its way.
    InTheWay(Box<RewindPreviewPane>, Vec<String>),
    /// It cannot be done, and why.
    Refused(Vec<String>),
}

/// What going back would do, and how much of it is wanted.
#[derive(Debug)]
struct RewindPreviewPane {
    plan: Box<RewindPlan>,
    files: Arc<Vec<LoadedDiff>>,
    /// What can be restored, the chosen one among them.
    scopes: Vec<RewindScope>,
    chosen: usize,
    pager: Pager,
    /// The rows of the changes, and the columns that they were laid out for.
    rows: Option<(usize, Vec<Line<'static>>)>,
}

impl RewindView {
    pub(in crate::tui) fn new() -> Self {
        let picker = Picker::new("Go back to before:", "This session has no messages yet.");
        Self { picker, points: Vec::new(), can_undo: false, is_loaded: false, stage: RewindStage::Choosing }
    }

    /// The messages are known.
    pub(in crate::tui) fn set_points(&mut self, points: Vec<RewindPoint>, can_undo: bool, now: Time) {
        (self.points, self.can_undo, self.is_loaded) = (points.into_iter().rev().collect(), can_undo, true);
        let undo = can_undo.then(|| PickerItem::noted(words::UNDO_REWIND, "the conversation before you went back"));
        let point = |point: &RewindPoint| {
            let changes = match point.changes {
                0 => String::new(),
                changes => format!(" · {}", format::plural(changes, "change")),
            };
            PickerItem::noted(first_line(&point.text, 400), format!("{}{changes}", format::age(point.time, now)))
        };
        let messages = self.points.iter().map(point);
        // The latest message comes first, because it is the one that people go back to most often.
        self.picker.set_items(Arc::new(messages.chain(undo).collect()));
    }

    /// What going back would do is known.
    pub(in crate::tui) fn set_plan(&mut self, plan: Box<RewindPlan>, files: Arc<Vec<LoadedDiff>>) {
        if !matches!(self.stage, RewindStage::Planning) {
            return;
        }
        let has_files = !plan.writes.is_empty();
        let scopes = match has_files && plan.blocked.is_none() {
            true => vec![RewindScope::Both, RewindScope::Conversation, RewindScope::Files],
            false => vec![RewindScope::Conversation],
        };
        let pane = RewindPreviewPane { plan, files, scopes, chosen: 0, pager: Pager::default(), rows: None };
        self.stage = RewindStage::Confirming(Box::new(pane));
    }

    /// It was not done. True: the view has said so.
    pub(in crate::tui) fn set_refused(&mut self, done: &RewindDone) -> bool {
        let Some((reason, conflicts)) = &done.refused else { return false };
        let mut lines = vec![sanitize_cells(reason)];
        for conflict in conflicts.iter().take(6) {
            let place = conflict.first_line.map(|line| format!(":{line}")).unwrap_or_default();
            lines.push(format!("  {}{place}  {}", sanitize_cells(&conflict.path), sanitize_cells(&conflict.reason)));
        }
        self.stage = match std::mem::replace(&mut self.stage, RewindStage::Choosing) {
            RewindStage::Moving(pane) if !conflicts.is_empty() => RewindStage::InTheWay(pane, lines),
            _ => RewindStage::Refused(lines),
        };
        true
    }

    /// Something that it asked for did not work.
    pub(in crate::tui) fn failed(&mut self, message: &str, hint: &str) {
        let lines = format!("{message}{hint}");
        self.stage = RewindStage::Refused(lines.lines().map(sanitize_cells).collect());
    }

    pub(super) fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> ViewOutcome {
        if let RewindStage::Choosing = self.stage {
            return match self.picker.input(input, keys) {
                picker::PickerOutcome::Picked(at) => {
                    self.stage = RewindStage::Planning;
                    ViewOutcome::Run(Cmd::LoadRewindPlan(self.points.get(at).map(|point| point.seq)))
                }
                picker::PickerOutcome::Closed => ViewOutcome::Close,
                picker::PickerOutcome::Moved | picker::PickerOutcome::Passed => ViewOutcome::Moved,
            };
        }
        if let RewindStage::Confirming(pane) = &mut self.stage
            && pane.input(input, keys)
        {
            return ViewOutcome::Moved;
        }
        match input {
            TerminalInput::Key(chord) => self.key(*chord, keys),
            _ => ViewOutcome::Moved,
        }
    }

    fn key(&mut self, chord: Chord, keys: &KeyMap) -> ViewOutcome {
        let action = keys.action(chord);
        if let Some(KeyAction::Interrupt | KeyAction::Quit) = action {
            // A rewind that has begun cannot be cancelled.
            if !matches!(self.stage, RewindStage::Moving(_)) {
                self.stage = RewindStage::Choosing;
            }
            return ViewOutcome::Moved;
        }
        let on_conflict = match (&self.stage, chord.typed(), action) {
            (RewindStage::Confirming(_), _, Some(KeyAction::Send)) => OnConflict::Refuse,
            (RewindStage::InTheWay(..), Some('m'), _) => OnConflict::KeepMine,
            (RewindStage::InTheWay(..), Some('o'), _) => OnConflict::DiscardMine,
            _ => return ViewOutcome::Moved,
        };
        match std::mem::replace(&mut self.stage, RewindStage::Choosing) {
            RewindStage::Confirming(pane) | RewindStage::InTheWay(pane, _) => {
                let before = pane.plan.point.as_ref().map(|point| point.seq);
                let scope = pane.scope();
                self.stage = RewindStage::Moving(pane);
                ViewOutcome::Run(Cmd::Rewind { before, scope, on_conflict })
            }
            _ => ViewOutcome::Moved,
        }
    }

    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme, _: Time) -> Option<Position> {
        let hint = match &self.stage {
            RewindStage::Choosing => "type to search · enter choose · esc close",
            RewindStage::Confirming(_) => {
                "↑ ↓ select · enter go back (this can be undone) · page up, page down scroll · esc other message"
            }
            RewindStage::Planning | RewindStage::Moving(_) => "",
            RewindStage::InTheWay(..) => "m keep your lines · o overwrite them · esc cancel",
            RewindStage::Refused(_) => "esc back",
        };
        let inner = pager::frame(area, buf, theme, "Go back to an earlier message", hint);
        let width = usize::from(inner.width);
        let text = |lines: &[String]| -> Vec<Line<'static>> {
            lines.iter().flat_map(|line| wrapped(line, theme.style(StyleName::Text), width)).collect()
        };
        match &mut self.stage {
            RewindStage::Choosing if !self.is_loaded => {}
            RewindStage::Choosing => return self.picker.draw_whole(inner, buf, theme),
            RewindStage::Planning => pager::put(inner, buf, &text(&["Comparing files…".to_owned()])),
            RewindStage::Confirming(pane) => pane.draw(inner, buf, theme),
            RewindStage::Moving(_) => pager::put(inner, buf, &text(&["Going back…".to_owned()])),
            RewindStage::InTheWay(_, lines) | RewindStage::Refused(lines) => pager::put(inner, buf, &text(lines)),
        }
        None
    }
}

impl RewindPreviewPane {
    fn scope(&self) -> RewindScope {
        self.scopes.get(self.chosen).copied().unwrap_or_default()
    }

    /// Selects what is restored, or scrolls; whether the key was one for that.
    fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> bool {
        if let TerminalInput::Key(chord) = input {
            let last = self.scopes.len().saturating_sub(1);
            let digit = chord.typed().and_then(|c| c.to_digit(10)).and_then(|digit| (digit as usize).checked_sub(1));
            self.chosen = match (digit, keys.action(*chord)) {
                (Some(at), _) if at <= last => at,
                (_, Some(KeyAction::Up)) => self.chosen.saturating_sub(1),
                (_, Some(KeyAction::Down)) => (self.chosen + 1).min(last),
                _ => return self.pager.input(input, keys),
            };
            self.pager = Pager::default();
            return true;
        }
        self.pager.input(input, keys)
    }

    fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme) {
        let width = usize::from(area.width);
        // On a small screen, the rows are for the changes.
        let gap = (area.height >= ROOMY).then(Line::default);
        let mut rows = vec![self.heading(width, theme)];
        rows.extend(gap.clone());
        for (at, scope) in self.scopes.iter().enumerate() {
            let is_chosen = at == self.chosen;
            let (sign, name) = if is_chosen { ("›", StyleName::Selected) } else { (" ", StyleName::Text) };
            let (title, note) = self.describe(*scope);
            let label = format!("{sign} {}. {title:<TITLE$}", at + 1);
            let fits = note.chars().count() + TITLE + 7 <= width;
            let note = if fits { format!("  {note}") } else { String::new() };
            rows.push(Line::from(vec![
                Span::styled(cut(&label, width), theme.style(name)),
                Span::styled(note, theme.style(StyleName::Dim)),
            ]));
        }
        rows.extend(gap.clone());
        let summary = self.summary();
        rows.extend(wrapped(&summary, theme.style(StyleName::Dim), width));
        rows.extend(gap);
        let above = u16::try_from(rows.len()).unwrap_or(u16::MAX).min(area.height);
        pager::put(area, buf, &rows);
        let below = Rect { y: area.y + above, height: area.height - above, ..area };
        if self.scope().has_files() && below.height > 0 {
            self.draw_files(below, buf, theme);
        }
    }

    fn heading(&self, width: usize, theme: &Theme) -> Line<'static> {
        match &self.plan.point {
            Some(point) => Line::from(vec![
                Span::styled("Before: ", theme.style(StyleName::Dim)),
                Span::styled(first_line(&point.text, width.saturating_sub(8)), theme.style(StyleName::Person)),
            ]),
            None => Line::styled(cut(words::UNDO_REWIND, width), theme.style(StyleName::Strong)),
        }
    }

    fn describe(&self, scope: RewindScope) -> (&'static str, &'static str) {
        let is_undo = self.plan.point.is_none();
        match scope {
            RewindScope::Both => ("Conversation and files", ""),
            RewindScope::Conversation if self.scopes.len() == 1 => ("Conversation", ""),
            RewindScope::Conversation => ("Conversation only", "files stay as they are"),
            RewindScope::Files if is_undo => ("Files only", "you stay in this conversation"),
            RewindScope::Files => ("Files only", "the conversation stays as it is"),
        }
    }

    /// What happens to the files, in a sentence.
    fn summary(&self) -> String {
        if let Some(reason) = &self.plan.blocked {
            return format!("Files cannot go back: {}", sanitize_cells(reason));
        }
        if !self.scope().has_files() {
            return match self.plan.writes.is_empty() {
                true => "No file changes.".to_owned(),
                false => "No file changes, and the earlier session keeps every message.".to_owned(),
            };
        }
        let (undone, redone) = self.plan.counts();
        let mut parts = Vec::new();
        for (count, verb) in [(undone, "undoes"), (redone, "redoes")] {
            if count > 0 {
                parts.push(format!("{verb} {}", format::plural(count as usize, "change")));
            }
        }
        let files = format::plural(self.plan.writes.len(), "file");
        let lost = match self.plan.lost {
            0 => String::new(),
            lost => format!(" {} that you undid since stay undone.", format::plural(lost, "change")),
        };
        format!("This {} in {files}. Your own edits since then are merged.{lost}", format::list(&parts))
    }

    fn draw_files(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme) {
        let width = usize::from(area.width);
        if self.rows.as_ref().is_none_or(|(laid_out, _)| *laid_out != width) {
            let rows = match self.files.is_empty() {
                true => {
                    let line = |write: &trimtab_vocab::FileWrite| {
                        let counts = format!("  +{} −{}", write.added, write.removed);
                        Line::raw(cut(&format!("  {}{counts}", sanitize_cells(&write.path)), width))
                    };
                    self.plan.writes.iter().map(line).collect()
                }
                false => diffs::rows(&self.files, width, None, theme, MOST_ROWS, "alt-c shows all changes."),
            };
            self.rows = Some((width, rows));
        }
        let Some((_, rows)) = &self.rows else { return };
        let from = self.pager.fit(rows.len(), usize::from(area.height));
        pager::put(area, buf, &rows[from..]);
    }
}
