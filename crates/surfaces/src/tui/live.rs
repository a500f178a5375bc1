//! The live region: what is under way, what is asked, where one writes, and the line at the bottom. Where there
//! is little room, what a person needs most stays: the question or the input, then what is being done.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use super::app::App;
use super::keys::KeyAction;
use super::pane::subtasks::subtask_rows;
use super::screen::DrawnRows;
use super::text::{cut, first_line, wrapped};
use super::theme::StyleName;
use super::transcript::MessageTurn;
use crate::words::sanitize_cells;
use trimtab_vocab::format;

/// Rows that the input takes at most.
const INPUT: u16 = 12;

/// Characters of a draft that show a person where their keys go.
const TAIL: usize = 30;

/// How a draft ends.
fn last_words(draft: &str) -> String {
    let line = sanitize_cells(draft.lines().last().unwrap_or_default());
    let before = line.chars().count().saturating_sub(TAIL);
    let mark = if before > 0 { "…" } else { "" };
    format!("{mark}{}", line.chars().skip(before).collect::<String>())
}

impl App {
    /// Draws the live region.
    pub(super) fn live(&mut self) -> DrawnRows {
        let (width, height) = (self.size.width.max(1), self.size.height.max(1));
        let columns = usize::from(width);
        let queue = if self.dialogs.aside() > 0 { 0 } else { self.dialogs.len() };
        let has_status = height >= 3;
        let has_rule = height >= 10 && queue == 0;
        let mut left = height - u16::from(has_status) - u16::from(has_rule);

        let input = match self.dialogs.current() {
            Some(dialog) => dialog.height(width, left, &self.theme, queue),
            None => self.composer.height(width, INPUT.min((height / 2).max(1)).min(left)),
        };
        left -= input.min(left);

        let (mut above, has_long_hint) = self.pane_rows(queue, &mut left);
        // What is under way gets what is left, but for a row that keeps the conversation in sight.
        let room = usize::from(left.saturating_sub(u16::from(height >= 12)));
        let mut rows = self.transcript.unfinished(columns, &self.theme, room, queue > 0);
        let has_room = if rows.is_empty() { height >= 16 } else { rows.len() < room };
        if has_room && !above.is_empty() {
            rows.push(Line::default());
        }
        rows.append(&mut above);

        let total = u16::try_from(rows.len()).unwrap_or(height) + u16::from(has_rule) + input + u16::from(has_status);
        let area = Rect::new(0, 0, width, total.min(height));
        let mut buf = Buffer::empty(area);
        let mut y = 0;
        for row in rows {
            row.render(Rect::new(0, y, width, 1).intersection(area), &mut buf);
            y += 1;
        }
        if has_rule {
            let rule = Line::styled("─".repeat(columns), self.theme.style(StyleName::Frame));
            rule.render(Rect::new(0, y, width, 1).intersection(area), &mut buf);
            y += 1;
        }
        let place = Rect::new(0, y, width, input).intersection(area);
        let written = self.dialogs.is_guarded(self.now).then(|| last_words(&self.composer.draft().text()));
        let cursor = match self.dialogs.current() {
            Some(dialog) => dialog.draw(place, &mut buf, &self.theme, &self.keys, queue, written.as_deref()),
            None => {
                self.composer.set_hint(self.input_hint());
                self.composer.draw(place, &mut buf, &self.theme)
            }
        };
        y += input;
        if has_status {
            let help = self.keys.key(KeyAction::Help);
            let now = self.keys.key(KeyAction::Implement);
            // After a talk, one key goes over to the work.
            let offer = match self.status.offers_work() && self.has_talked() && width >= 60 {
                true => format!("{now} starts the work · "),
                false => String::new(),
            };
            let hint = self.hint().filter(|_| !has_long_hint);
            let hint = hint.map_or_else(|| format!("{offer}{help} help"), str::to_owned);
            let vim = self.composer.vim_mode();
            let vim_columns = vim.map_or(0, |mode| mode.len() + 3);
            let mut line = self.status.line(columns.saturating_sub(vim_columns), &self.theme, &hint);
            if let Some(mode) = vim {
                line.spans.insert(0, Span::styled(" · ", self.theme.style(StyleName::Dim)));
                line.spans.insert(0, Span::styled(mode, self.theme.style(StyleName::Strong)));
            }
            line.render(Rect::new(0, y, width, 1).intersection(area), &mut buf);
        }
        DrawnRows { cells: buf, cursor }
    }

    /// The rows of the panes, as far as there is room for them, and whether a long hint has rows of its own.
    fn pane_rows(&self, queue: usize, left: &mut u16) -> (Vec<Line<'static>>, bool) {
        let (columns, height) = (usize::from(self.size.width.max(1)), self.size.height.max(1));
        let mut above: Vec<Line<'static>> = Vec::new();
        let mut add = |mut lines: Vec<Line<'static>>, most: u16| {
            let room = usize::from(most.min(*left));
            lines.truncate(room);
            *left -= u16::try_from(lines.len()).unwrap_or(*left);
            above.extend(lines);
            usize::from(*left)
        };
        // In the order of importance; they are drawn in the order of the screen below.
        let activity =
            self.activity.lines(columns, &self.theme, self.now, height >= 16 && self.transcript.shows_running_tool());
        let batch = if height >= 12 { self.batch.lines(columns, &self.theme) } else { Vec::new() };
        let steps_room = usize::from((height / 3).min(10));
        let key = self.keys.key(KeyAction::Steps);
        let steps = match self.activity.is_open() && height >= 12 && !self.steps.is_empty() {
            true => self.steps.lines(columns, steps_room, &self.theme, &key),
            false => Vec::new(),
        };
        let subtasks = if height >= 12 { self.subtask_board(columns, steps_room) } else { Vec::new() };
        let aside = match self.dialogs.aside() {
            0 => Vec::new(),
            waiting => {
                let what = format::plural(waiting, "pending question");
                let line = format!("? {what} · {} to answer", self.keys.key(KeyAction::Questions));
                vec![Line::styled(cut(&line, columns), self.theme.style(StyleName::Warning))]
            }
        };
        let is_sticky = queue == 0 && !self.activity.is_open() && height >= 8;
        let held = self.held_rows(columns);
        let mut notices: Vec<Line<'static>> = Vec::new();
        if let Some(line) = self.outputs.line(&self.keys.key(KeyAction::DropOutput), columns) {
            let line = cut(&sanitize_cells(&format!("  {line}")), columns);
            notices.push(Line::styled(line, self.theme.style(StyleName::Dim)));
        }
        // A hint that the bottom line has no room for has rows of its own.
        let long = self.hint().filter(|hint| hint.width() * 2 > columns).map(sanitize_cells);
        notices.extend(long.iter().flat_map(|hint| wrapped(hint, self.theme.style(StyleName::Warning), columns)));
        add(activity, 1);
        add(held, 4);
        add([aside, self.commands.lines(columns, height, &self.theme)].concat(), 2);
        add(subtasks, 12);
        add(batch, 12);
        let sight = add(steps, 12);
        // The bar is there while the beginning of the answer is not; its own rows take some of the sight.
        let sticky = match is_sticky && self.sticky.is_armed() {
            true => self.sticky.lines(columns, &self.theme, &self.keys.key(KeyAction::Transcript)),
            false => Vec::new(),
        };
        if self.transcript.since_reply() + sticky.len() > sight {
            add(sticky, 2);
        }
        let has_long_hint = long.is_some();
        add(notices, 4);
        (above, has_long_hint)
    }

    /// Messages that were sent and wait for their turn.
    fn held_rows(&self, width: usize) -> Vec<Line<'static>> {
        let style = |name| self.theme.style(name);
        let held = self.transcript.held();
        let queued = held.iter().rposition(|message| matches!(message.turn, MessageTurn::Queued(_)));
        let mut rows = Vec::new();
        for (at, message) in held.iter().enumerate().take(3) {
            let (what, why) = match (&message.turn, &message.reason) {
                (MessageTurn::Steers(_), _) => ("steers", "the model sees it at its next step".to_owned()),
                (MessageTurn::Queued(_), Some(reason)) => ("queued", reason.clone()),
                (MessageTurn::Queued(_), None) if queued == Some(at) => {
                    ("queued", format!("{} edits it", self.keys.key(KeyAction::EditPending)))
                }
                (MessageTurn::Queued(_), None) => ("queued", String::new()),
            };
            let why = if why.is_empty() { String::new() } else { format!("  {}", sanitize_cells(&why)) };
            let text = first_line(&message.text, width.saturating_sub(12 + why.width()).max(20));
            let spans = vec![
                Span::styled(format!("  {what}: "), style(StyleName::Dim)),
                Span::styled(text, style(StyleName::Person)),
                Span::styled(why, style(StyleName::Dim)),
            ];
            rows.push(Line::from(spans));
        }
        if held.len() > 3 {
            rows.push(Line::styled(format!("  and {} more", held.len() - 3), style(StyleName::Dim)));
        }
        rows
    }

    /// The sub-tasks of the running request, in at most so many rows.
    fn subtask_board(&self, width: usize, most: usize) -> Vec<Line<'static>> {
        let board = self.transcript.running_board().filter(|_| self.activity.is_open());
        let key = self.keys.key(KeyAction::Subtasks);
        board.map(|board| subtask_rows(board, self.now, width, most, &self.theme, &key)).unwrap_or_default()
    }

    /// Draws what covers the screen, if something does.
    pub(super) fn cover(&mut self) -> Option<DrawnRows> {
        let view = self.view.as_mut()?;
        let area = Rect::new(0, 0, self.size.width.max(1), self.size.height.max(1));
        let mut buf = Buffer::empty(area);
        let cursor = view.draw(area, &mut buf, &self.theme, &self.keys, (&mut self.transcript, &self.trace, self.now));
        Some(DrawnRows { cells: buf, cursor })
    }
}
