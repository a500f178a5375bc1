//! The composer on the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::wrap::{self, pieces};
use super::{CompletionSource, Composer, DraftKind};
use crate::tui::theme::{StyleName, Theme};

/// Rows that an open list takes at most.
const LIST: u16 = 8;
/// What is said while no command of the person's own is written yet.
const SHELL: &str = "Shell command: runs in your shell, without the sandbox";
/// Columns before the text, where there is room for them.
const GUTTER: u16 = 2;

impl Composer {
    /// Rows that it wants in so many columns, an open list included.
    pub fn height(&mut self, width: u16, most: u16) -> u16 {
        self.set_width(width);
        let text = u16::try_from(self.rows().len()).unwrap_or(u16::MAX);
        text.saturating_add(self.list_height()).clamp(1, most.max(1))
    }

    fn list_height(&self) -> u16 {
        match (&self.searching, &self.completing) {
            (Some(search), _) => search.height(LIST) + 1,
            (None, Some(open)) => open.picker.height(LIST),
            (None, None) => 0,
        }
    }

    fn set_width(&mut self, width: u16) {
        // One column stays free, so that the cursor has room behind a full row.
        self.width = usize::from(width.saturating_sub(gutter(width) + 1).max(1));
    }

    /// Draws it, and tells where the cursor is. A list stands above the text.
    pub fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme) -> Option<Position> {
        let area = area.intersection(buf.area);
        if area.is_empty() {
            return None;
        }
        self.set_width(area.width);
        let list = self.list_height().min(area.height - 1);
        let (above, below) =
            (Rect { height: list, ..area }, Rect { y: area.y + list, height: area.height - list, ..area });
        let mut cursor = None;
        if let Some(search) = &mut self.searching {
            cursor = search.draw_whole(above, buf, theme);
        } else if let Some(open) = &mut self.completing {
            open.picker.draw(above, buf, theme);
            open.picker.draw_count(above, buf, theme);
        }
        let in_text = self.draw_text(below, buf, theme);
        cursor.or(Some(in_text))
    }

    fn draw_text(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme) -> Position {
        let gutter = gutter(area.width);
        let (sign, name) = match self.kind {
            DraftKind::Shell => ("!", StyleName::Warning),
            DraftKind::Message | DraftKind::Slash => ("›", StyleName::Accent),
        };
        if gutter > 0 {
            buf.set_stringn(area.x, area.y, sign, 1, theme.style(name));
        }
        let (x, room) = (area.x + gutter, usize::from(area.width - gutter));
        if self.editor.text().is_empty() {
            let hint = if self.kind == DraftKind::Shell { SHELL } else { self.hint };
            buf.set_stringn(x, area.y, hint, room, theme.style(StyleName::Dim));
            return Position { x: x.min(area.right() - 1), y: area.y };
        }
        let cursor = self.editor.cursor();
        let rows = self.rows().to_vec();
        let (row, height) = (wrap::row_of(&rows, cursor), usize::from(area.height));
        self.top = self.top.min(row).max((row + 1).saturating_sub(height)).min(rows.len().saturating_sub(height));
        for (y, part) in (area.y..area.bottom()).zip(rows.iter().skip(self.top)) {
            self.draw_row(*part, Rect { x, y, width: room as u16, height: 1 }, buf, theme);
        }
        let column = wrap::column_of(self.editor.text(), &self.chips, self.width, rows[row], cursor);
        let x = x.saturating_add(u16::try_from(column).unwrap_or(u16::MAX)).min(area.right() - 1);
        Position { x, y: area.y + u16::try_from(row - self.top).unwrap_or(0) }
    }

    fn draw_row(&self, row: wrap::WrappedRow, line: Rect, buf: &mut Buffer, theme: &Theme) {
        let text = self.editor.text();
        let mut x = line.x;
        let calls = calls(text, row, self.kind == DraftKind::Slash);
        for piece in pieces(text, row.start..row.end, &self.chips, self.width) {
            let room = usize::from(line.right().saturating_sub(x));
            if room < piece.cell.width.max(1) {
                break;
            }
            let style = match piece.is_chip {
                true => theme.style(StyleName::Chip),
                false if piece.cell.is_mark => theme.style(StyleName::Warning),
                false if calls.iter().any(|call| call.contains(&piece.cell.at)) => theme.style(StyleName::Code),
                false => Style::default(),
            };
            (x, _) = buf.set_stringn(x, line.y, &piece.cell.text, room, style);
        }
    }
}

/// Words of a row that mean more than themselves: files, tags, the command at the start.
fn calls(text: &str, row: wrap::WrappedRow, is_slash: bool) -> Vec<std::ops::Range<usize>> {
    let part = &text[row.start..row.end];
    let mut calls = Vec::new();
    let mut at = row.start;
    for word in part.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        let is_call = match bare.chars().next() {
            Some('/') => is_slash && at == 0 && bare.len() > 1 && !bare[1..].contains('/'),
            Some('@' | '#') => bare.len() > 1 && !bare[1..].starts_with(['@', '#']),
            _ => false,
        };
        if is_call {
            calls.push(at..at + bare.len());
        }
        at += word.len();
    }
    calls
}

fn gutter(width: u16) -> u16 {
    if width >= 8 { GUTTER } else { 0 }
}

impl Composer {
    /// Which list is open.
    pub fn open_list(&self) -> Option<CompletionSource> {
        self.completing.as_ref().map(|open| open.source)
    }
}
