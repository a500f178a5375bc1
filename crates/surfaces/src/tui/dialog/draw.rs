//! How a question looks.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget};
use trimtab_vocab::Visible;
use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::CheckpointKind;
use trimtab_vocab::wording::permission;

use super::{Confirming, QuestionDialog};
use crate::tui::diffs;
use crate::tui::keys::{KeyAction, KeyMap};
use crate::tui::text::{cut, hints, tame, wrapped};
use crate::tui::theme::{StyleName, Theme};
use crate::words::{self, answers, fold_blank_lines, wrap};

impl QuestionDialog {
    fn heading(&self) -> &'static str {
        match (&self.ask, self.kind) {
            (Ask::Trust { .. }, _) => "Trust this folder?",
            (Ask::Understanding { .. }, _) => "Understood?",
            (Ask::Pause, _) => "Paused",
            (Ask::Budget { .. }, _) => "Budget",
            (Ask::Overtime { .. }, _) => "Still running",
            (Ask::Commands(_), _) => "Commands",
            (Ask::Breakdown { .. } | Ask::SubtaskPlan { .. }, _) => "Sub-tasks",
            (Ask::SubtaskFailed { .. }, _) => "Sub-task failed",
            (Ask::MergeConflict { .. }, _) => "Conflict",
            (Ask::MergeBlocked { .. }, _) => "Not merged",
            (_, CheckpointKind::Permission) => permission::HEADING,
            (_, CheckpointKind::Clarification) => "Question",
            (_, CheckpointKind::Plan) => "Plan",
            (_, CheckpointKind::Step) => "Step",
            (_, CheckpointKind::Satisfaction) => "Satisfaction check",
            (_, CheckpointKind::Confirm) => "Continue?",
            (_, CheckpointKind::Recovery) => "Interrupted",
            (_, CheckpointKind::Handoff) => "The context window is almost full",
            (_, CheckpointKind::Unknown) => "Unknown",
        }
    }

    /// What stays in sight above what is asked about.
    fn head(&self, width: usize, theme: &Theme, queue: usize) -> Vec<Line<'static>> {
        let style = |name| theme.style(name);
        let mut head = vec![Span::styled(self.heading(), style(StyleName::Warning).patch(style(StyleName::Strong)))];
        if queue > 1 {
            head.push(Span::styled(format!("  1 of {queue}"), style(StyleName::Dim)));
        }
        let mut rows = vec![Line::from(head)];
        if let Some(asks) = &self.asks {
            rows.push(Line::styled(cut(asks, width), style(StyleName::Accent)));
        }
        if let Some(words) = self.words_before_command() {
            rows.extend(wrapped(&words, style(StyleName::Text), width));
        }
        rows
    }

    /// The question, where the command that it is about stands in lines of its own.
    fn words_before_command(&self) -> Option<String> {
        let command = Visible::command(self.command()?.trim());
        Some(self.title.strip_suffix(command.as_str())?.trim_end().to_owned())
    }

    /// The proposed change, laid out once: a large change takes a while.
    fn body(&mut self, width: usize, theme: &Theme) -> Arc<Vec<Line<'static>>> {
        match &self.rows {
            Some((of, rows)) if *of == width && self.clarify.is_none() => Arc::clone(rows),
            _ => {
                let rows = Arc::new(self.laid_out(width, theme));
                self.rows = Some((width, Arc::clone(&rows)));
                rows
            }
        }
    }

    /// The proposed change. Where it does not fit, it is paged through.
    fn laid_out(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let style = |name| theme.style(name);
        let mut rows = Vec::new();
        if let Some(clarify) = &self.clarify {
            let (at, of) = (clarify.at + 1, clarify.questions.len());
            let number = if of > 1 { format!("{at} of {of}: ") } else { String::new() };
            // What a server says is set off from who asks.
            if let Ask::Elicitation(asked_by) = &self.ask {
                rows.extend(wrapped(&tame(&self.title), style(StyleName::Text), width));
                for line in words::server_says(asked_by) {
                    rows.extend(wrap(&Line::from(Span::styled(tame(&line), style(StyleName::Dim))), width, 4));
                }
            }
            rows.extend(wrapped(&tame(&format!("{number}{}", clarify.question().text)), style(StyleName::Text), width));
            return rows;
        }
        match self.command().filter(|_| self.words_before_command().is_some()) {
            Some(command) => {
                let command = fold_blank_lines(Visible::command(command.trim()).as_str());
                for (line, sign) in command.lines().zip(std::iter::once("$").chain(std::iter::repeat(">"))) {
                    rows.extend(wrap(
                        &Line::from(Span::styled(format!("  {sign} {line}"), style(StyleName::Code))),
                        width,
                        4,
                    ));
                }
            }
            None => rows.extend(wrapped(&tame(&words::title(&self.title, &self.ask)), style(StyleName::Text), width)),
        }
        if let Some(files) = &self.diff.loaded {
            rows.extend(diffs::rows(files, width, None, theme, usize::MAX, ""));
        }
        for line in self.details.iter().filter(|line| !self.reasons.contains(line)).map(|line| tame(line)) {
            // A plan and its commands are what is decided about; why and where stand back behind them.
            let name = match self.kind {
                _ if matches!(
                    self.ask,
                    Ask::Breakdown { .. } | Ask::MergeConflict { .. } | Ask::MergeBlocked { .. }
                ) =>
                {
                    match line.starts_with("     ") {
                        true => StyleName::Dim,
                        false => StyleName::Text,
                    }
                }
                CheckpointKind::Plan if !line.starts_with("     ") => StyleName::Text,
                CheckpointKind::Confirm if line.starts_with("  ") => StyleName::Text,
                _ => StyleName::Dim,
            };
            rows.extend(wrap(&Line::from(Span::styled(line, style(name))), width, 2));
        }
        rows
    }

    /// Why it is asked and where it would happen, in at most so many rows. The reason comes first.
    fn foot(&self, width: usize, theme: &Theme, most: usize) -> Vec<Line<'static>> {
        let row = |text: String| Line::from(Span::styled(text, theme.style(StyleName::Dim)));
        let lines: Vec<String> = self.reasons.iter().map(|line| Visible::line(line).into()).collect();
        let whole: Vec<_> = lines.iter().flat_map(|line| wrap(&row(line.clone()), width, 2)).collect();
        if whole.len() <= most {
            return whole;
        }
        // The reason gets what is left by a row for the place, which is cut to fit.
        let mut rows: Vec<Line<'static>> = Vec::new();
        if let Some((reason, rest)) = lines.split_first() {
            let room = most.saturating_sub(rest.len()).max(1);
            let broken = wrap(&row(reason.clone()), width, 2);
            let is_cut = broken.len() > room;
            rows.extend(broken.into_iter().take(room));
            if is_cut && let Some(last) = rows.last_mut() {
                *last = row(cut(&format!("{last}…"), width));
            }
            rows.extend(rest.iter().map(|line| row(cut(line, width))));
        }
        rows.truncate(most);
        rows
    }

    fn choices(&self, width: usize, theme: &Theme) -> Vec<(Line<'static>, bool)> {
        let style = |name| theme.style(name);
        let mut rows = Vec::new();
        let mut add = |key: String, label: String, note: Option<String>, is_chosen: bool, is_disabled: bool| {
            let mark = if is_chosen { "›" } else { " " };
            let name = match (is_disabled, is_chosen) {
                (true, _) => StyleName::Dim,
                (false, true) => StyleName::Selected,
                (false, false) => StyleName::Text,
            };
            let key_name = if is_disabled { StyleName::Dim } else { StyleName::Key };
            let line = Line::from(vec![
                Span::styled(format!("{mark} "), style(StyleName::Accent)),
                Span::styled(format!("{key}. "), style(key_name)),
                Span::styled(label, style(name)),
            ]);
            let wrapped = wrap(&line, width, 5);
            rows.extend(wrapped.into_iter().map(|line| (line, is_chosen)));
            if let Some(note) = note {
                let note = Line::from(Span::styled(format!("     {note}"), style(StyleName::Dim)));
                rows.extend(wrap(&note, width, 5).into_iter().map(|line| (line, is_chosen)));
            }
        };
        if let Some(clarify) = &self.clarify {
            let question = clarify.question();
            for (at, option) in question.options.iter().enumerate() {
                let tick = match question.several {
                    true if clarify.ticked.contains(&at) => "[x] ",
                    true => "[ ] ",
                    false => "",
                };
                let label = format!("{tick}{}", tame(&option.title));
                add((at + 1).to_string(), label, None, clarify.row == at, false);
            }
            let options = question.options.len();
            let said = clarify.answered().map(tame);
            add((options + 1).to_string(), "Answer in text".into(), said, clarify.row == options, false);
            let last = options + 1 + usize::from(clarify.is_form);
            if clarify.is_form {
                add((options + 2).to_string(), "Leave it empty".into(), None, clarify.row == options + 1, false);
            }
            let skip = if clarify.is_form { "Decline the form" } else { "Skip" };
            add((last + 1).to_string(), skip.into(), None, clarify.row == last, false);
            return rows;
        }
        if let Some(confirming) = &self.second.confirming {
            return confirming_rows(confirming, width, theme);
        }
        for (at, choice) in self.choices.iter().enumerate() {
            let number = answers::number(&self.choices, at).to_string();
            let letter = answers::letter(&self.choices, at).map(|letter| format!(" ({letter})")).unwrap_or_default();
            let label = format!("{}{letter}", tame(&choice.label));
            add(number, label, None, at == self.selected, self.is_disabled(at));
        }
        rows
    }

    /// What keys do; `written`: they still go to the input, which ends like that.
    fn hint(&self, keys: &KeyMap, written: Option<&str>) -> String {
        match written {
            Some("") => return "This question accepts keys in a moment.".to_owned(),
            Some(words) => return format!("Your keys still go to the input: {words}"),
            None => {}
        }
        let stop = keys.key(KeyAction::Interrupt);
        if self.field.is_some() {
            let back = if self.ask == Ask::Tell { "stops" } else { "goes back" };
            return format!("{} to answer · {stop} {back}", keys.key(KeyAction::Send));
        }
        match &self.second.confirming {
            Some(confirming) if confirming.rules.len() > 1 => return format!("choose a rule · n or {stop} back"),
            Some(_) => return format!("y add the rule · n or {stop} back"),
            None => {}
        }
        if self.is_unread() {
            return format!("space next page · read to the end to allow · {stop} stop");
        }
        let mut hints = vec!["number or enter to answer".to_owned()];
        if self.reading.is_long() {
            hints.push(format!("{} {} scroll", keys.key(KeyAction::PageUp), keys.key(KeyAction::PageDown)));
        }
        match &self.clarify {
            Some(clarify) => {
                if clarify.question().several {
                    hints.push("space ticks".into());
                }
                if clarify.questions.len() > 1 {
                    hints.push("← → other questions".into());
                }
            }
            None => {
                if self.command().is_some() {
                    hints.push("e edits the command".into());
                } else if matches!(self.ask, Ask::Plan { .. } | Ask::SubtaskPlan { .. }) {
                    hints.push("e edits the plan".into());
                } else if matches!(&self.ask, Ask::MergeConflict { conflict, .. } if !conflict.partial) {
                    hints.push("e edits the text".into());
                }
                if self.diff.loaded.is_some() {
                    hints.push("d shows the change".into());
                }
                hints.push(format!("{} adds a note", keys.key(KeyAction::Queue)));
            }
        }
        hints.push(format!("{} later", keys.key(KeyAction::Questions)));
        hints.push(format!("{stop} stops"));
        hints.join(" · ")
    }

    /// Rows that it wants.
    pub(in crate::tui) fn height(&mut self, width: u16, most: u16, theme: &Theme, queue: usize) -> u16 {
        let columns = usize::from(width);
        let field = match &mut self.field {
            Some(field) => field.words.height(width, 8) + 1,
            None => 0,
        };
        let rows = self.head(columns, theme, queue).len()
            + self.body(columns, theme).len()
            + self.foot(columns, theme, usize::MAX).len()
            + self.choices(columns, theme).len()
            + 2;
        u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(field).min(most)
    }

    /// Draws it. What is chosen is always in sight, and so is why it is asked, whatever has to go for it.
    pub(in crate::tui) fn draw(
        &mut self,
        area: Rect,
        buf: &mut Buffer,
        theme: &Theme,
        keys: &KeyMap,
        queue: usize,
        written: Option<&str>,
    ) -> Option<Position> {
        let width = usize::from(area.width);
        let frame = theme.style(StyleName::Warning);
        let mut room = usize::from(area.height);
        let mut y = area.y;
        let mut put = |line: Line<'static>, y: &mut u16| {
            Paragraph::new(line).render(Rect { y: *y, height: 1, ..area }.intersection(area), buf);
            *y += 1;
        };
        let (head, body) = (self.head(width, theme, queue), self.body(width, theme));
        let choices = self.choices(width, theme);
        let wanted = head.len() + body.len() + self.foot(width, theme, usize::MAX).len() + choices.len() + 2;
        if room > 5 && (room >= wanted || room > 12) {
            put(Line::styled("─".repeat(width), frame), &mut y);
            room -= 1;
        }
        let field_rows = match &mut self.field {
            Some(field) => usize::from(field.words.height(area.width, 8) + 1).min(room),
            None => 0,
        };
        let hint_rows = usize::from(room > 5 || room + 2 > wanted + field_rows);
        let mut left = room.saturating_sub(field_rows + hint_rows);
        // The choices first, then the reason, then what is asked about; each has at least a row where there are three.
        let for_choices = choices.len().min(left.saturating_sub(2).max(1)).min(left);
        left -= for_choices;
        let foot = self.foot(width, theme, left.saturating_sub(1).min((room / 3).max(1)));
        left -= foot.len();
        // What is asked about matters more than what sort of question it is.
        let head_rows = head.len().min(left.saturating_sub(body.len().min(3)));
        left -= head_rows;
        for line in head.into_iter().take(head_rows) {
            put(line, &mut y);
        }
        let is_long = body.len() > left;
        let page = if is_long && left > 1 { left - 1 } else { left };
        let from = self.reading.show(body.len(), page);
        let (all, below) = (body.len(), self.reading.below());
        for line in body.iter().skip(from).take(page) {
            put(line.clone(), &mut y);
        }
        if is_long && left > 1 {
            let place = match below {
                0 => format!("… end of {all} rows"),
                below => format!("… {below} more rows"),
            };
            put(Line::styled(cut(&place, width), theme.style(StyleName::Warning)), &mut y);
        }
        // What cannot be chosen yet is not what Enter takes.
        if self.is_disabled(self.selected) {
            let first = (0..self.choices.len()).find(|at| !self.is_disabled(*at));
            self.selected = first.unwrap_or(self.selected);
        }
        foot.into_iter().for_each(|line| put(line, &mut y));
        let choices = self.choices(width, theme);
        let chosen = choices.iter().position(|(_, chosen)| *chosen).unwrap_or(0);
        let from = if choices.len() <= for_choices { 0 } else { chosen.min(choices.len() - for_choices) };
        for (line, _) in choices.into_iter().skip(from).take(for_choices) {
            put(line, &mut y);
        }
        let mut cursor = None;
        let hint = self.hint(keys, written);
        if let Some(field) = &mut self.field
            && field_rows > 0
        {
            let label = Line::styled(cut(&format!("{}:", field.label), width), theme.style(StyleName::Strong));
            let mut rest = u16::try_from(field_rows).unwrap_or(1);
            if rest > 1 {
                Paragraph::new(label).render(Rect { y, height: 1, ..area }, buf);
                y += 1;
                rest -= 1;
            }
            cursor = field.words.draw(Rect { y, height: rest, ..area }, buf, theme);
            y += rest;
        }
        if hint_rows > 0 {
            let line = Line::styled(hints(&hint, width), theme.style(StyleName::Dim));
            Paragraph::new(line).render(Rect { y, height: 1, ..area }, buf);
        }
        cursor
    }
}

/// The second step of an answer that makes a rule: the rule, or the rules to choose from with what each covers.
fn confirming_rows(confirming: &Confirming, width: usize, theme: &Theme) -> Vec<(Line<'static>, bool)> {
    let style = |name| theme.style(name);
    let shown = |rule: &str| fold_blank_lines(Visible::command(rule).as_str());
    let what = match confirming.rules.as_slice() {
        [only] => permission::adds_rule(&shown(&only.rule)),
        _ => permission::LINES.which_rule.to_owned(),
    };
    let mut rows: Vec<_> =
        wrapped(&what, style(StyleName::Strong), width).into_iter().map(|line| (line, false)).collect();
    let mut add = |key: String, label: &str, covers: Option<&str>, is_chosen: bool| {
        let (mark, name) = if is_chosen { ("›", StyleName::Selected) } else { (" ", StyleName::Text) };
        let line = Line::from(vec![
            Span::styled(format!("{mark} "), style(StyleName::Accent)),
            Span::styled(format!("{key}. "), style(StyleName::Key)),
            Span::styled(label.to_owned(), style(name)),
        ]);
        rows.extend(wrap(&line, width, 5).into_iter().map(|line| (line, is_chosen)));
        if let Some(covers) = covers {
            let covers = Line::from(Span::styled(format!("     {}", tame(covers)), style(StyleName::Dim)));
            rows.extend(wrap(&covers, width, 5).into_iter().map(|line| (line, is_chosen)));
        }
    };
    let is_one = confirming.rules.len() == 1;
    for (at, rule) in confirming.rules.iter().enumerate() {
        let key = rule.keys.first().map(char::to_string).unwrap_or_default();
        let is_chosen = confirming.row == at;
        match is_one {
            true => add(key, permission::LINES.add_rule, None, is_chosen),
            false => add(key, &shown(&rule.rule), rule.covers.as_deref(), is_chosen),
        }
    }
    add("n".into(), permission::LINES.back, None, confirming.row == confirming.rules.len());
    rows
}
