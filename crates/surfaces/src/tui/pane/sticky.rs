//! The last answer in a line, and what could be said next: within reach when the answer itself has scrolled away.

use ratatui::text::{Line, Span};
use trimtab_vocab::event::{AnswerFact, RequestFact};
use trimtab_vocab::{Event, Fact, NextStep};

use crate::tui::text::{cut, first_line};
use crate::tui::theme::{StyleName, Theme};
use crate::words::step_text;

/// Next steps that are offered.
pub(in crate::tui) const OFFERED: usize = 3;

/// Signs of Markdown that a text may begin with; the bar has no room for what they mean, nor for those within it.
const SIGNS: [char; 5] = ['#', '*', '>', '`', ' '];

/// A next step as it is offered: by what it sends, after its label where that is not the same.
pub(in crate::tui) fn offered(next: &NextStep) -> String {
    let (label, text) = (step_text(&next.label()), step_text(&next.input_text));
    if label == text { text } else { format!("{label}: “{text}”") }
}

/// The last answer.
#[derive(Debug, Default)]
pub(in crate::tui) struct Sticky {
    summary: String,
    next: Vec<NextStep>,
    is_dismissed: bool,
}

impl Sticky {
    pub(in crate::tui) fn observe(&mut self, event: &Event) {
        match &event.fact {
            Fact::Answer(AnswerFact { answer }) => {
                let (summary, next) = (answer.summary.clone(), answer.next_steps.clone());
                *self = Self { summary, next, is_dismissed: false };
            }
            Fact::Request(RequestFact::Received { .. } | RequestFact::Joined { .. }) => *self = Self::default(),
            _ => {}
        }
    }

    /// Whether there is an answer to be reminded of.
    pub(in crate::tui) fn is_armed(&self) -> bool {
        !self.is_dismissed && !self.summary.is_empty()
    }

    /// What a next step puts into the input; the bar is not needed any more.
    pub(in crate::tui) fn take(&mut self, number: usize) -> Option<String> {
        let text = step_text(&self.next.get(number).filter(|_| number < OFFERED)?.input_text);
        self.is_dismissed = true;
        Some(text)
    }

    pub(in crate::tui) fn dismiss(&mut self) {
        self.is_dismissed = true;
    }

    pub(in crate::tui) fn lines(&self, width: usize, theme: &Theme, details: &str) -> Vec<Line<'static>> {
        let style = |name| theme.style(name);
        let right = format!("  See details ↑ {details}  ✕ esc");
        let room = width.saturating_sub(2 + right.chars().count());
        let summary = self.summary.trim_start_matches(SIGNS).replace("**", "").replace('`', "");
        let mut head = vec![
            Span::styled("✓ ", style(StyleName::Good)),
            Span::styled(first_line(&summary, room.max(10)), style(StyleName::Text)),
        ];
        if room >= 10 {
            head.push(Span::styled(right, style(StyleName::Dim)));
        }
        let mut rows = vec![Line::from(head)];
        let mut offers = Vec::new();
        let each = width / OFFERED.min(self.next.len()).max(1);
        for (number, next) in self.next.iter().take(OFFERED).enumerate() {
            let key = format!("alt-{} ", number + 1);
            let label = cut(&offered(next), each.saturating_sub(key.len() + 2));
            offers.push(Span::styled(key, style(StyleName::Key)));
            offers.push(Span::styled(format!("{label}  "), style(StyleName::Text)));
        }
        if !offers.is_empty() {
            rows.push(Line::from(offers));
        }
        rows
    }
}
