//! A plan that is edited before it is carried out: steps in another order, other words, fewer or more of them.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use trimtab_vocab::PlanStep;

use super::ViewOutcome;
use super::pager;
use crate::tui::composer::{Composer, ComposerDraft, ComposerOutcome as Typed};
use crate::tui::keys::{KeyAction, KeyMap, TerminalInput};
use crate::tui::message::Cmd;
use crate::tui::theme::{StyleName, Theme};
use crate::words::sanitize_cells;
use crate::words::wrap;

/// The plan under the editor.
#[derive(Debug)]
pub(in crate::tui) struct PlanEditor {
    steps: Vec<PlanStep>,
    chosen: usize,
    /// The title of the chosen step, while it is written; `true`: of a new one.
    field: Option<(Composer, bool)>,
    is_changed: bool,
}

impl PlanEditor {
    pub(in crate::tui) fn new(steps: Vec<PlanStep>) -> Self {
        Self { steps, chosen: 0, field: None, is_changed: false }
    }

    fn last(&self) -> usize {
        self.steps.len().saturating_sub(1)
    }

    fn swap(&mut self, with: usize) {
        if with < self.steps.len() && with != self.chosen {
            self.steps.swap(self.chosen, with);
            (self.chosen, self.is_changed) = (with, true);
        }
    }

    fn write(&mut self, text: &str, is_new: bool) {
        let mut words = Composer::for_words();
        words.set_draft(&ComposerDraft::new(text));
        self.field = Some((words, is_new));
    }

    fn written(&mut self, title: String, is_new: bool) {
        let title = title.trim().to_owned();
        self.field = None;
        if title.is_empty() {
            return;
        }
        self.is_changed = true;
        if is_new {
            let at = (self.chosen + 1).min(self.steps.len());
            self.steps.insert(at, PlanStep { title, ..PlanStep::default() });
            self.chosen = at;
        } else if let Some(step) = self.steps.get_mut(self.chosen) {
            step.title = title;
        }
    }

    pub(super) fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> ViewOutcome {
        if let Some((words, is_new)) = &mut self.field {
            let is_new = *is_new;
            match words.input(input, keys) {
                Typed::Send(draft) | Typed::Queue(draft) => self.written(draft.text(), is_new),
                Typed::Passed(Some(KeyAction::Interrupt | KeyAction::Quit)) => self.field = None,
                _ => {}
            }
            return ViewOutcome::Moved;
        }
        let TerminalInput::Key(chord) = input else { return ViewOutcome::Moved };
        match (chord.typed(), keys.action(*chord)) {
            (Some('J'), _) => self.swap(self.chosen + 1),
            (Some('K'), _) => self.swap(self.chosen.saturating_sub(1)),
            (Some('j'), _) | (_, Some(KeyAction::Down)) => self.chosen = (self.chosen + 1).min(self.last()),
            (Some('k'), _) | (_, Some(KeyAction::Up)) => self.chosen = self.chosen.saturating_sub(1),
            (Some('e'), _) => {
                if let Some(title) = self.steps.get(self.chosen).map(|step| step.title.clone()) {
                    self.write(&title, false);
                }
            }
            (Some('a'), _) => self.write("", true),
            (Some('d' | 'x'), _) | (_, Some(KeyAction::Delete)) if !self.steps.is_empty() => {
                self.steps.remove(self.chosen);
                (self.chosen, self.is_changed) = (self.chosen.min(self.last()), true);
            }
            (Some('s'), _) | (_, Some(KeyAction::Send)) if !self.steps.is_empty() => {
                let steps = self.steps.clone();
                return match self.is_changed {
                    true => ViewOutcome::CloseWith(Cmd::Plan(steps)),
                    false => ViewOutcome::Close,
                };
            }
            (Some('q'), _) | (_, Some(KeyAction::Interrupt | KeyAction::Quit)) => return ViewOutcome::Close,
            _ => {}
        }
        ViewOutcome::Moved
    }

    pub(super) fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme, _: &KeyMap) -> Option<Position> {
        let hint = match self.field {
            Some(_) => "enter save · esc cancel",
            None => "enter save · e edit · a add · d remove · J K move · ↑ ↓ select · esc cancel",
        };
        let inner = pager::frame(area, buf, theme, "Edit the plan", hint);
        let width = usize::from(inner.width);
        let mut rows = Vec::new();
        let mut place = 0;
        for (at, step) in self.steps.iter().enumerate() {
            if at == self.chosen {
                place = rows.len();
            }
            let name = if at == self.chosen { StyleName::Selected } else { StyleName::Text };
            let mark = if at == self.chosen { "›" } else { " " };
            let line = Line::from(vec![
                Span::styled(format!("{mark} {:>2}. ", at + 1), theme.style(StyleName::Key)),
                Span::styled(sanitize_cells(&step.title), theme.style(name)),
            ]);
            rows.extend(wrap(&line, width, 6));
            let mut more: Vec<String> = step.details.lines().map(sanitize_cells).collect();
            for (what, list) in [("files", &step.files), ("commands", &step.commands)] {
                more.extend((!list.is_empty()).then(|| format!("{what}: {}", sanitize_cells(&list.join(", ")))));
            }
            for line in more {
                let line = Line::from(Span::styled(format!("      {line}"), theme.style(StyleName::Dim)));
                rows.extend(wrap(&line, width, 6));
            }
        }
        let field = u16::from(self.field.is_some()) * 3;
        let list = Rect { height: inner.height.saturating_sub(field), ..inner };
        let from = place.saturating_sub(usize::from(list.height / 2));
        pager::put(list, buf, &rows[from.min(rows.len())..]);
        let (words, _) = self.field.as_mut()?;
        let place = Rect { y: inner.y + list.height, height: field.min(inner.height), ..inner };
        words.draw(place, buf, theme)
    }
}
