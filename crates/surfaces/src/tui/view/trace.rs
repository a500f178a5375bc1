//! How long each call took, as a waterfall: a row for each call of a model, each tool and each question, with a bar that
//! stands where it was within its request.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span as Part};
use trimtab_vocab::Time;
use trimtab_vocab::format;
use unicode_width::UnicodeWidthStr;

use super::ViewOutcome;
use super::pager::{self, Pager};
use crate::tui::keys::{KeyAction, KeyMap, TerminalInput};
use crate::tui::text::cut;
use crate::tui::theme::{StyleName, Theme};
use crate::tui::trace::{TraceSpan, TraceSpans};

/// Columns of a time: `12.4 s`, `3 min 20 s`.
const TIME: usize = 11;
/// From so many columns on there are bars.
const WIDE: usize = 50;

#[derive(Debug)]
pub(in crate::tui) struct Waterfall {
    pager: Pager,
}

impl Waterfall {
    pub(in crate::tui) fn new() -> Self {
        Self { pager: Pager::from_end() }
    }

    pub(super) fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> ViewOutcome {
        if self.pager.input(input, keys) {
            return ViewOutcome::Moved;
        }
        let TerminalInput::Key(chord) = input else { return ViewOutcome::Moved };
        let closes = matches!(keys.action(*chord), Some(KeyAction::Interrupt | KeyAction::Quit | KeyAction::Trace));
        if closes || chord.typed() == Some('q') { ViewOutcome::Close } else { ViewOutcome::Moved }
    }

    pub(super) fn draw(
        &mut self,
        area: Rect,
        buf: &mut Buffer,
        theme: &Theme,
        trace: &TraceSpans,
        now: Time,
    ) -> Option<Position> {
        let hint = self.pager.placed("↑ ↓ scroll · g first · G last · esc close");
        let inner = pager::frame(area, buf, theme, "How long each call took", &hint);
        let width = usize::from(inner.width);
        let count = trace.spans().count();
        if count == 0 {
            let line = Line::styled("This session has no calls yet.", theme.style(StyleName::Dim));
            pager::put(inner, buf, &[line]);
            return None;
        }
        let page = usize::from(inner.height);
        let from = self.pager.fit(count, page);
        let rows: Vec<Line<'static>> =
            trace.spans().skip(from).take(page).map(|span| row(span, trace, width, theme, now)).collect();
        pager::put(inner, buf, &rows);
        None
    }
}

fn row(span: &TraceSpan, trace: &TraceSpans, width: usize, theme: &Theme, now: Time) -> Line<'static> {
    let style = |name| theme.style(name);
    let time = format::duration(Duration::from_millis(span.millis(now).max(0) as u64));
    let name = match (span.is_bad, span.ended.is_none()) {
        (true, _) => StyleName::Bad,
        (false, true) => StyleName::Accent,
        (false, false) if span.is_request() => StyleName::Title,
        (false, false) => StyleName::Text,
    };
    if span.is_request() {
        let note = if span.note.is_empty() { String::new() } else { format!("  {}", span.note) };
        let room = width.saturating_sub(TIME + note.width() + 1);
        let label = cut(&format!("› {}", span.label), room);
        let pad = " ".repeat(room.saturating_sub(label.width()) + 1);
        return Line::from(vec![
            Part::styled(label, style(name)),
            Part::styled(format!("{pad}{time:>TIME$}{note}"), style(StyleName::Dim)),
        ]);
    }
    if width < WIDE {
        let room = width.saturating_sub(TIME + 2);
        let label = cut(&span.label, room);
        let pad = " ".repeat(room.saturating_sub(label.width()));
        return Line::from(vec![
            Part::styled(format!("  {label}{pad}"), style(name)),
            Part::styled(format!("{time:>TIME$}"), style(StyleName::Dim)),
        ]);
    }
    let note = if width >= 100 { 24 } else { 0 };
    let label = width * 2 / 5 - 8;
    let bar = width.saturating_sub(8 + label + 1 + TIME + note);
    let text = cut(&span.label, label);
    let pad = " ".repeat(label.saturating_sub(text.width()) + 1);
    let (before, filled) = place(span, trace, bar, now);
    let colour = match span.kind {
        _ if span.is_bad => StyleName::Bad,
        // Time that a person took, and not the program.
        "asked" => StyleName::Warning,
        _ => StyleName::Accent,
    };
    let mut parts = vec![
        Part::styled(format!("  {:<6}", span.kind), style(StyleName::Dim)),
        Part::styled(format!("{text}{pad}"), style(name)),
        Part::raw(" ".repeat(before)),
        Part::styled("▇".repeat(filled), style(colour)),
        Part::raw(" ".repeat(bar.saturating_sub(before + filled))),
        Part::styled(format!("{time:>TIME$}"), style(StyleName::Dim)),
    ];
    if note > 0 {
        parts.push(Part::styled(cut(&format!("  {}", span.note), note), style(StyleName::Dim)));
    }
    Line::from(parts)
}

/// Where the bar of a span begins within its request, and how long it is: one column at least, and never beyond.
fn place(span: &TraceSpan, trace: &TraceSpans, columns: usize, now: Time) -> (usize, usize) {
    let (began, whole) = trace.whole(span, now);
    let share = |millis: i64| match whole {
        0 => 0.0,
        whole => (millis.max(0) as f64 / whole as f64).min(1.0),
    };
    let before = (share(span.began.millis() - began.millis()) * columns as f64) as usize;
    let before = before.min(columns.saturating_sub(1));
    let filled = (share(span.millis(now)) * columns as f64).round() as usize;
    (before, filled.clamp(1, columns.saturating_sub(before).max(1)))
}
