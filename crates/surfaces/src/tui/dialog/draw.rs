//! How a question looks.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget};
use trimtab_vocab::event::CheckpointKind;

use super::Dialog;
use crate::tui::diffs;
use crate::tui::keys::{Action, KeyMap};
use crate::tui::text::{cut, hints, tame, wrapped};
use crate::tui::theme::{Name, Theme};
use crate::words::wrap;

/// Rows of a change that a question shows.
const DIFF: usize = 16;

impl Dialog {
    fn heading(&self) -> &'static str {
        match (self.kind, self.about.as_str()) {
            (_, "trust") => "Trust this folder?",
            (CheckpointKind::Permission, _) => "Permission",
            (_, "understanding") => "Understood?",
            (CheckpointKind::Clarification, _) => "Question",
            (CheckpointKind::Plan, _) => "Plan",
            (_, "pause") => "Paused",
            (CheckpointKind::Step, _) => "Step",
            (CheckpointKind::Satisfaction, _) => "Content?",
            (_, "budget") => "Budget",
            (_, "overtime") => "Still running",
            (CheckpointKind::Confirm, _) => "Go on?",
            (CheckpointKind::Recovery, _) => "Cut off",
            (CheckpointKind::Handoff, _) => "The conversation is nearly full",
            (CheckpointKind::Unknown, _) => "Not known",
        }
    }

    /// Everything above the choices.
    fn above(&self, width: usize, theme: &Theme, queue: usize) -> Vec<Line<'static>> {
        let style = |name| theme.style(name);
        let mut head = vec![Span::styled(self.heading(), style(Name::Warning).patch(style(Name::Strong)))];
        if queue > 1 {
            head.push(Span::styled(format!("  1 of {queue}"), style(Name::Dim)));
        }
        let mut rows = vec![Line::from(head)];
        if let Some(clarify) = &self.clarify {
            let (at, of) = (clarify.at + 1, clarify.questions.len());
            let number = if of > 1 { format!("{at} of {of}: ") } else { String::new() };
            rows.extend(wrapped(&tame(&format!("{number}{}", clarify.question().text)), style(Name::Text), width));
            return rows;
        }
        // A command stands in a line of its own, as it would run.
        let title = tame(&self.title);
        match self.command().map(tame) {
            Some(command) if title.ends_with(command.trim()) => {
                let words = title[..title.len() - command.trim().len()].trim_end().to_owned();
                rows.extend(wrapped(&words, style(Name::Text), width));
                for line in command.trim().lines() {
                    rows.extend(wrap(&Line::from(Span::styled(format!("  $ {line}"), style(Name::Code))), width, 4));
                }
            }
            _ => rows.extend(wrapped(&title, style(Name::Text), width)),
        }
        if let Some(files) = &self.diff {
            rows.extend(diffs::rows(files, width, None, theme, DIFF, "d shows all of it."));
        }
        for line in self.details.iter().map(|line| tame(line)) {
            // The rule is shown with the answer that makes it.
            if line.starts_with("`always` would") || line.starts_with("Another command instead:") {
                continue;
            }
            // A plan and its commands are what is decided about; why and where stand back behind them.
            let name = match self.kind {
                CheckpointKind::Plan if !line.starts_with("     ") => Name::Text,
                CheckpointKind::Confirm if line.starts_with("  ") => Name::Text,
                _ => Name::Dim,
            };
            rows.extend(wrap(&Line::from(Span::styled(line, style(name))), width, 2));
        }
        rows
    }

    fn choices(&self, width: usize, theme: &Theme, notes: bool) -> Vec<(Line<'static>, bool)> {
        let style = |name| theme.style(name);
        let mut rows = Vec::new();
        let mut add = |number: usize, label: String, note: Option<String>, is_chosen: bool| {
            let mark = if is_chosen { "›" } else { " " };
            let name = if is_chosen { Name::Selected } else { Name::Text };
            let line = Line::from(vec![
                Span::styled(format!("{mark} "), style(Name::Accent)),
                Span::styled(format!("{number}. "), style(Name::Key)),
                Span::styled(label, style(name)),
            ]);
            let wrapped = wrap(&line, width, 5);
            rows.extend(wrapped.into_iter().map(|line| (line, is_chosen)));
            if let Some(note) = note.filter(|_| notes) {
                let note = Line::from(Span::styled(format!("     {note}"), style(Name::Dim)));
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
                add(at + 1, format!("{tick}{}", tame(&option.title)), None, clarify.row == at);
            }
            let options = question.options.len();
            add(options + 1, "Answer in words".into(), clarify.answered().map(tame), clarify.row == options);
            add(options + 2, "Skip".into(), None, clarify.row == options + 1);
            return rows;
        }
        for (at, choice) in self.choices.iter().enumerate() {
            let rule = (choice.id == "always").then(|| self.text("ruleText")).filter(|rule| !rule.is_empty());
            let note = rule.map(|rule| format!("makes this rule: {}", tame(rule)));
            add(at + 1, tame(&choice.label), note, at == self.selected);
        }
        rows
    }

    /// What keys do; `written`: they still go to the input, which ends like that.
    fn hint(&self, keys: &KeyMap, written: Option<&str>) -> String {
        match written {
            Some("") => return "In a moment, keys are for this question.".to_owned(),
            Some(words) => return format!("Your keys still go to the input: {words}"),
            None => {}
        }
        let stop = keys.key(Action::Interrupt);
        if self.field.is_some() {
            let back = if self.about == "tell" { "stops" } else { "goes back" };
            return format!("{} answers · {stop} {back}", keys.key(Action::Send));
        }
        let mut hints = vec!["number or enter answers".to_owned()];
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
                    hints.push("e edits".into());
                } else if self.has("modify") {
                    hints.push("e edits the plan".into());
                }
                if self.diff.is_some() {
                    hints.push("d shows the change".into());
                }
                hints.push(format!("{} adds words", keys.key(Action::Queue)));
            }
        }
        hints.push(format!("{} later", keys.key(Action::Questions)));
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
        let rows = self.above(columns, theme, queue).len() + self.choices(columns, theme, true).len() + 2;
        u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(field).min(most)
    }

    /// Draws it. What is chosen is always in sight, whatever has to go for it.
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
        let frame = theme.style(Name::Warning);
        let mut room = area.height;
        let mut y = area.y;
        let mut put = |line: Line<'static>, y: &mut u16| {
            Paragraph::new(line).render(Rect { y: *y, height: 1, ..area }, buf);
            *y += 1;
        };
        if room > 5 {
            put(Line::styled("─".repeat(width), frame), &mut y);
            room -= 1;
        }
        let mut field_rows = match &mut self.field {
            Some(field) => field.words.height(area.width, 8) + 1,
            None => 0,
        };
        field_rows = field_rows.min(room);
        let choices = self.choices(width, theme, room > 9);
        let mut above = self.above(width, theme, queue);
        let has_room = above.len() + choices.len() + usize::from(field_rows) < usize::from(room);
        let hint_rows = u16::from(room > 5 || has_room);
        let left = room - field_rows.min(room) - hint_rows;
        let wanted = u16::try_from(choices.len()).unwrap_or(u16::MAX);
        // The choices first; what is said above them gets the rest, but at least a row.
        let for_choices = wanted.min(left.saturating_sub(1).max(1)).min(left);
        let for_above = usize::from(left - for_choices);
        if for_above < 3 && above.len() > for_above {
            // What is asked about matters more than what sort of question it is.
            let named = usize::from(self.command().is_some()) + 1;
            above.drain(..named.min(above.len() - 1));
        }
        let hidden = above.len().saturating_sub(for_above);
        for (at, line) in above.into_iter().take(for_above).enumerate() {
            let is_last = at + 1 == for_above;
            match is_last && hidden > 0 && for_above > 1 {
                true => put(
                    Line::styled(cut(&format!("… {} more rows", hidden + 1), width), theme.style(Name::Dim)),
                    &mut y,
                ),
                false => put(line, &mut y),
            }
        }
        let chosen = choices.iter().position(|(_, chosen)| *chosen).unwrap_or(0);
        let shown = usize::from(for_choices);
        let from = if choices.len() <= shown { 0 } else { chosen.min(choices.len() - shown) };
        for (line, _) in choices.into_iter().skip(from).take(shown) {
            put(line, &mut y);
        }
        let mut cursor = None;
        let hint = self.hint(keys, written);
        if let Some(field) = &mut self.field
            && field_rows > 0
        {
            let label = Line::styled(cut(&format!("{}:", field.label), width), theme.style(Name::Strong));
            let mut rest = field_rows;
            if rest > 1 {
                Paragraph::new(label).render(Rect { y, height: 1, ..area }, buf);
                y += 1;
                rest -= 1;
            }
            cursor = field.words.draw(Rect { y, height: rest, ..area }, buf, theme);
            y += rest;
        }
        if hint_rows > 0 {
            let line = Line::styled(hints(&hint, width), theme.style(Name::Dim));
            Paragraph::new(line).render(Rect { y, height: 1, ..area }, buf);
        }
        cursor
    }
}
