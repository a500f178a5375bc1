//! The panel about several commands that run one after the other.

use ratatui::text::{Line, Span};
use trimtab_vocab::event::{CommandsFact, RequestFact};
use trimtab_vocab::{Event, Fact, Series, SeriesState};

use crate::tui::text::{cut, first_line};
use crate::tui::theme::{StyleName, Theme};
use crate::words::conversation::SERIES_TITLE;
use crate::words::sanitize_cells;

/// Commands that are listed.
const LISTED: usize = 6;

/// Several commands, as they stand.
#[derive(Debug, Default)]
pub(in crate::tui) struct CommandBatchPane {
    series: Option<Series>,
    /// The person has closed the panel.
    is_closed: bool,
}

impl CommandBatchPane {
    pub(in crate::tui) fn observe(&mut self, event: &Event) {
        match &event.fact {
            Fact::Commands(CommandsFact { series, .. }) if series.total > 1 => {
                if self.series.as_ref().is_none_or(|before| before.total == 0 || series.done < before.done) {
                    self.is_closed = false;
                }
                self.series = Some(series.clone());
            }
            Fact::Request(RequestFact::Received { .. }) => *self = Self::default(),
            _ => {}
        }
    }

    /// Whether it can be closed: everything has ended.
    pub(in crate::tui) fn is_over(&self) -> bool {
        let over = |series: &Series| matches!(series.state, SeriesState::Done | SeriesState::Left);
        self.is_open() && self.series.as_ref().is_some_and(over)
    }

    pub(in crate::tui) fn close(&mut self) {
        self.is_closed = true;
    }

    fn is_open(&self) -> bool {
        !self.is_closed && self.series.as_ref().is_some_and(|series| series.state != SeriesState::Offered)
    }

    pub(in crate::tui) fn lines(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let Some(series) = self.series.as_ref().filter(|_| self.is_open()) else { return Vec::new() };
        let style = |name| theme.style(name);
        let close = if self.is_over() { "  [✕] esc" } else { "" };
        let mut rows = vec![Line::from(vec![
            Span::styled(SERIES_TITLE, style(StyleName::Title)),
            Span::styled(format!("  ✓ {}", series.ok), style(StyleName::Good)),
            Span::styled(
                format!("  ✗ {}", series.failed),
                style(if series.failed > 0 { StyleName::Bad } else { StyleName::Dim }),
            ),
            Span::styled(format!("  {}/{}", series.done, series.total), style(StyleName::Text)),
            Span::styled(close, style(StyleName::Dim)),
        ])];
        let room = width.saturating_sub(6).min(40);
        let filled = room * series.percent.min(100) as usize / 100;
        let colour = if series.failed > 0 { StyleName::Bad } else { StyleName::Good };
        rows.push(Line::from(vec![
            Span::styled("█".repeat(filled), style(colour)),
            Span::styled("░".repeat(room - filled), style(StyleName::Dim)),
            Span::styled(format!(" {}%", series.percent), style(StyleName::Text)),
        ]));
        let from = series.results.len().saturating_sub(LISTED);
        for result in &series.results[from..] {
            let (sign, name) = match (result.ok, result.skipped) {
                (true, _) => ("✓", StyleName::Good),
                (_, true) => ("–", StyleName::Dim),
                _ => ("✗", StyleName::Bad),
            };
            let command = first_line(&result.command, (width / 2).max(8));
            let preview = first_line(&result.preview, width.saturating_sub(command.chars().count() + 6));
            rows.push(Line::from(vec![
                Span::styled(format!("{sign} "), style(name)),
                Span::styled(command, style(StyleName::Code)),
                Span::styled(format!("  {preview}"), style(StyleName::Dim)),
            ]));
        }
        if let Some(current) = &series.current {
            let line = cut(&format!("▸ {}", first_line(&current.command, width)), width);
            rows.push(Line::from(Span::styled(line, style(StyleName::Accent))));
        }
        if !series.remaining.is_empty() {
            let next: Vec<String> =
                series.remaining.iter().map(|command| format!("`{}`", sanitize_cells(command))).collect();
            rows.push(Line::from(Span::styled(
                cut(&format!("Next: {}", next.join(", ")), width),
                style(StyleName::Dim),
            )));
        }
        rows
    }
}
