//! The steps of the work, as the model keeps them or as a plan has them.

use ratatui::text::{Line, Span};
use trimtab_vocab::event::{PlanFact, RequestFact, StepsFact};
use trimtab_vocab::{Event, Fact, StepStatus, Todo};

use crate::tui::text::cut;
use crate::tui::theme::{StyleName, Theme};
use crate::words::sanitize_cells;

/// The list of steps.
#[derive(Debug)]
pub(in crate::tui) struct Steps {
    todos: Vec<Todo>,
    /// The one that is worked on, by its title.
    current: Option<String>,
    /// The person wants to see it.
    pub(in crate::tui) is_shown: bool,
}

impl Default for Steps {
    fn default() -> Self {
        Self { todos: Vec::new(), current: None, is_shown: true }
    }
}

impl Steps {
    /// What was to be done in another session is not to be done in this one.
    pub(in crate::tui) fn begin_session(&mut self) {
        (self.todos, self.current) = (Vec::new(), None);
    }

    pub(in crate::tui) fn observe(&mut self, event: &Event) {
        match &event.fact {
            Fact::Steps(StepsFact { todos }) => self.todos.clone_from(todos),
            Fact::Plan(PlanFact::Step { title, status, .. }) => {
                self.current = (*status == StepStatus::Running).then(|| title.clone());
            }
            Fact::Request(RequestFact::Received { .. }) => {
                self.todos.clear();
                self.current = None;
            }
            Fact::Request(RequestFact::Finished { .. }) => self.current = None,
            _ => {}
        }
    }

    /// Whether there are any.
    pub(in crate::tui) fn is_empty(&self) -> bool {
        self.todos.is_empty()
    }

    /// The rows, at most `most`: around the first that is not done.
    pub(in crate::tui) fn lines(&self, width: usize, most: usize, theme: &Theme, key: &str) -> Vec<Line<'static>> {
        if self.todos.is_empty() || most == 0 {
            return Vec::new();
        }
        let done = self.todos.iter().filter(|todo| todo.completed).count();
        let head = format!("Steps {done}/{}", self.todos.len());
        let mut rows = vec![Line::from(vec![
            Span::styled(head, theme.style(StyleName::Title)),
            Span::styled(
                format!("  {key} {}", if self.is_shown { "hides them" } else { "shows them" }),
                theme.style(StyleName::Dim),
            ),
        ])];
        if !self.is_shown {
            return rows;
        }
        let room = most.saturating_sub(1);
        let next = self.todos.iter().position(|todo| !todo.completed).unwrap_or(self.todos.len());
        let from = if self.todos.len() <= room { 0 } else { next.saturating_sub(1).min(self.todos.len() - room) };
        for (at, todo) in self.todos.iter().enumerate().skip(from).take(room) {
            let is_now = self.current.as_ref().map_or(at == next, |title| *title == todo.text);
            let (sign, name) = match (todo.completed, is_now) {
                (true, _) => ("✓", StyleName::Dim),
                (false, true) => ("▸", StyleName::Accent),
                (false, false) => ("·", StyleName::Text),
            };
            let line = cut(&format!(" {sign} {}", sanitize_cells(&todo.text)), width);
            rows.push(Line::from(Span::styled(line, theme.style(name))));
        }
        rows
    }
}
