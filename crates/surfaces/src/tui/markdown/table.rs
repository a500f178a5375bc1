//! Tables: columns that fit, cells that wrap.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::inline;
use super::lay::{self, StyledRun};
use crate::tui::theme::{StyleName, Theme};

/// Rows after which the widths of the columns are settled: a table may be endless, and what was drawn stays.
const SETTLED: usize = 64;
/// Columns that are drawn.
const MOST: usize = 40;
/// What stands between two columns.
const BETWEEN: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Align {
    Left,
    Middle,
    Right,
}

/// A table that is being read.
#[derive(Debug, Clone)]
pub(super) struct Table {
    head: Vec<String>,
    aligns: Vec<Align>,
    rows: Vec<Vec<String>>,
    /// Widths that do not change any more; what came before is drawn.
    widths: Option<Vec<usize>>,
}

/// The cells of a row.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let (mut cells, mut cell, mut is_escaped) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '|' if is_escaped => {
                cell.pop();
                cell.push('|');
            }
            '|' => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            c => cell.push(c),
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    if !cell.trim().is_empty() {
        cells.push(cell.trim().to_owned());
    }
    cells.truncate(MOST);
    cells
}

/// The line under a head: how each column stands.
fn aligns(line: &str) -> Option<Vec<Align>> {
    if !line.contains('-') || !line.contains('|') && !line.contains(':') {
        return None;
    }
    let of = |cell: &String| {
        let bare = cell.trim_start_matches(':').trim_end_matches(':');
        let is_line = !bare.is_empty() && bare.bytes().all(|byte| byte == b'-');
        is_line.then(|| match (cell.starts_with(':'), cell.ends_with(':')) {
            (true, true) => Align::Middle,
            (false, true) => Align::Right,
            _ => Align::Left,
        })
    };
    let found = cells(line);
    (!found.is_empty()).then(|| found.iter().map(of).collect()).flatten()
}

impl Table {
    /// A table, if a line and the one below it begin one.
    pub(super) fn begun(head: &str, under: &str) -> Option<Self> {
        let aligns = aligns(under)?;
        let head = cells(head);
        (head.len() == aligns.len()).then(|| Self { head, aligns, rows: Vec::new(), widths: None })
    }

    /// A table of which only the head is there.
    pub(super) fn head(line: &str) -> Self {
        let head = cells(line);
        Self { aligns: vec![Align::Left; head.len()], head, rows: Vec::new(), widths: None }
    }

    /// Whether a line can be a row.
    pub(super) fn is_row(line: &str) -> bool {
        line.contains('|')
    }

    /// Adds a row; what can be drawn for good comes back.
    pub(super) fn add(&mut self, line: &str, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let mut row = cells(line);
        // Cells without a column stand in the last one.
        let more = row.split_off(self.head.len().min(row.len()));
        if let Some(last) = row.last_mut().filter(|_| !more.is_empty()) {
            *last = format!("{last} | {}", more.join(" | "));
        }
        row.resize(self.head.len(), String::new());
        self.rows.push(row);
        if self.widths.is_none() && self.rows.len() < SETTLED {
            return Vec::new();
        }
        self.draw(width, theme)
    }

    /// Draws what was not drawn yet; the widths are settled with that.
    pub(super) fn draw(&mut self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let plain = Style::default();
        let laid = |row: &[String], style| row.iter().map(|cell| inline::runs(cell, theme, style)).collect::<Vec<_>>();
        let head = laid(&self.head, theme.style(StyleName::Strong));
        let rows: Vec<_> = std::mem::take(&mut self.rows).iter().map(|row| laid(row, plain)).collect();
        let mut lines = Vec::new();
        let is_first = self.widths.is_none();
        let widths = self.widths.get_or_insert_with(|| fitted(&head, &rows, width)).clone();
        if widths.is_empty() {
            // Too narrow for columns: a cell per line, named.
            if is_first && rows.is_empty() {
                return head.iter().flat_map(|cell| lay::words(cell, width)).map(Line::from).collect();
            }
            return rows.iter().flat_map(|row| listed(&head, row, width)).collect();
        }
        if is_first {
            lines.extend(self.row(&head, &widths, theme));
            let frame = theme.style(StyleName::Frame);
            let parts: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            lines.push(Line::from(Span::styled(parts.join("─┼─"), frame)));
        }
        lines.extend(rows.iter().flat_map(|row| self.row(row, &widths, theme)));
        lines
    }

    fn row(&self, row: &[Vec<StyledRun>], widths: &[usize], theme: &Theme) -> Vec<Line<'static>> {
        let cells: Vec<Vec<Vec<Span<'static>>>> =
            row.iter().zip(widths).map(|(cell, width)| lay::words(cell, *width)).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        let frame = theme.style(StyleName::Frame);
        let line = |at: usize| {
            let mut spans: Vec<Span<'static>> = Vec::new();
            for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
                if column > 0 {
                    spans.push(Span::styled(" │ ", frame));
                }
                let text = cell.get(at).cloned().unwrap_or_default();
                let free = width.saturating_sub(text.iter().map(Span::width).sum());
                let before = match self.aligns.get(column) {
                    Some(Align::Right) => free,
                    Some(Align::Middle) => free / 2,
                    _ => 0,
                };
                let blank = |count: usize| (count > 0).then(|| Span::raw(" ".repeat(count)));
                spans.extend(blank(before));
                spans.extend(text);
                let is_last = column + 1 == widths.len();
                spans.extend(blank(if is_last { 0 } else { free - before }));
            }
            Line::from(spans)
        };
        (0..height).map(line).collect()
    }
}

/// Widths of columns that fit together: what is narrow keeps its width, the rest share what is left. Empty if
/// there is no room for columns.
fn fitted(head: &[Vec<StyledRun>], rows: &[Vec<Vec<StyledRun>>], width: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = head.iter().map(|cell| lay::width(cell).max(1)).collect();
    for row in rows {
        for (wide, cell) in widths.iter_mut().zip(row) {
            *wide = (*wide).max(lay::width(cell));
        }
    }
    let room = width.saturating_sub(BETWEEN * widths.len().saturating_sub(1));
    if room < 4 * widths.len() && widths.iter().sum::<usize>() > room {
        return Vec::new();
    }
    let total = |most: usize| widths.iter().map(|wide| (*wide).min(most)).sum::<usize>();
    let (mut low, mut high) = (1, room.max(1));
    while low < high {
        let middle = (low + high).div_ceil(2);
        if total(middle) <= room { low = middle } else { high = middle - 1 }
    }
    widths.iter().map(|wide| (*wide).min(low)).collect()
}

fn listed(head: &[Vec<StyledRun>], row: &[Vec<StyledRun>], width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (name, cell) in head.iter().zip(row) {
        let mut runs = name.clone();
        runs.push(StyledRun::new(": ", Style::default()));
        runs.extend(cell.iter().cloned());
        lines.extend(lay::words(&runs, width).into_iter().map(Line::from));
    }
    lines
}
