//! The list on the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::Picker;
use crate::diff::visible::cells;
use crate::tui::theme::{StyleName, Theme};

impl Picker {
    /// Rows that the list wants, of at most so many.
    pub fn height(&self, most: u16) -> u16 {
        u16::try_from(self.found().max(1)).unwrap_or(u16::MAX).min(most)
    }

    /// Draws the items.
    pub fn draw(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme) {
        let area = area.intersection(buf.area);
        if area.is_empty() {
            return;
        }
        self.page = usize::from(area.height);
        if self.found() == 0 {
            let words = if self.has_none() { self.empty.clone() } else { "No match.".to_owned() };
            put(buf, area, 2, &words, theme.style(StyleName::Dim));
            return;
        }
        self.top = self.top.min(self.chosen).max((self.chosen + 1).saturating_sub(self.page));
        self.top = self.top.min(self.found().saturating_sub(self.page));
        let notes = self.note_column(area);
        for row in 0..area.height {
            let place = self.top + usize::from(row);
            let Some(at) = self.search.found().get(place).copied() else { break };
            let line = Rect { y: area.y + row, height: 1, ..area };
            self.draw_item(at as usize, place == self.chosen, notes, line, buf, theme);
        }
    }

    /// Says in the last row how many there are, where not all have room: more come with the arrows.
    pub(in crate::tui) fn draw_count(&self, area: Rect, buf: &mut Buffer, theme: &Theme) {
        let (last, all) = (self.top + usize::from(area.height), self.found());
        let count = format!("  {last} of {all}");
        if all <= usize::from(area.height) || area.height == 0 || usize::from(area.width) < 2 * count.len() {
            return;
        }
        let row = Rect { y: area.y + area.height - 1, height: 1, ..area };
        put(buf, row, usize::from(area.width) - count.len(), &count, theme.style(StyleName::Dim));
    }

    /// Where the notes of what is shown begin: one below the other, unless a text is too long for that.
    fn note_column(&self, area: Rect) -> usize {
        let shown = self.search.found().iter().skip(self.top).take(usize::from(area.height));
        let items = self.items();
        let texts = shown.filter_map(|at| items.get(*at as usize)).map(|item| item.text.lines().next());
        let widths = texts.map(|text| text.unwrap_or_default().width() + 2);
        widths.filter(|width| *width <= usize::from(area.width) / 2).max().unwrap_or(0)
    }

    fn draw_item(&mut self, at: usize, is_chosen: bool, notes: usize, line: Rect, buf: &mut Buffer, theme: &Theme) {
        let items = std::sync::Arc::clone(self.items());
        let Some(item) = items.get(at) else { return };
        let base = if is_chosen { theme.style(StyleName::Selected) } else { Style::default() };
        buf.set_style(line, base);
        put(buf, line, 0, if is_chosen { "›" } else { " " }, base.patch(theme.style(StyleName::Accent)));
        let first = item.text.lines().next().unwrap_or_default();
        let marks = self.search.marks(&item.text);
        let starts: Vec<usize> = first.grapheme_indices(true).map(|(at, _)| at).collect();
        let marked: Vec<usize> = marks.iter().filter_map(|mark| starts.get(*mark as usize).copied()).collect();
        let mut column = 2;
        for cell in cells(first.as_bytes(), 0) {
            let is_marked = marked.binary_search(&cell.at).is_ok();
            let style = if is_marked { base.patch(theme.style(StyleName::Match)) } else { base };
            if column + cell.width + 1 > usize::from(line.width) {
                put(buf, line, column, "…", base);
                return;
            }
            put(buf, line, column, &cell.text, style);
            column += cell.width;
        }
        if first.len() < item.text.len() {
            put(buf, line, column, " …", base.patch(theme.style(StyleName::Dim)));
            column += 2;
        }
        if !item.note.is_empty() {
            let note: String = cells(item.note.as_bytes(), 0).into_iter().map(|cell| cell.text).collect();
            put(buf, line, column.max(notes) + 2, &note, base.patch(theme.style(StyleName::Dim)));
        }
    }

    /// Draws a line with the title and what is searched, then the items; returns where the cursor is.
    pub fn draw_whole(&mut self, area: Rect, buf: &mut Buffer, theme: &Theme) -> Option<Position> {
        let area = area.intersection(buf.area);
        if area.is_empty() {
            return None;
        }
        let head = Rect { height: 1, ..area };
        let count = format!("{}/{}", self.found(), self.items().len());
        let title = format!("{} ", self.title);
        let column = put(buf, head, 0, &title, theme.style(StyleName::Title));
        let query: String = cells(self.query().as_bytes(), 0).into_iter().map(|cell| cell.text).collect();
        let end = put(buf, head, column, &query, Style::default());
        if end + count.len() + 2 < usize::from(area.width) {
            put(buf, head, usize::from(area.width) - count.len(), &count, theme.style(StyleName::Dim));
        }
        self.draw(Rect { y: area.y + 1, height: area.height - 1, ..area }, buf, theme);
        let x = area.x + u16::try_from(end).unwrap_or(u16::MAX).min(area.width - 1);
        Some(Position { x, y: area.y })
    }
}

/// Writes into a row from a column on, as far as there is room; returns the column after it.
fn put(buf: &mut Buffer, line: Rect, column: usize, text: &str, style: Style) -> usize {
    let Some(room) = usize::from(line.width).checked_sub(column).filter(|room| *room > 0) else { return column };
    let (end, _) = buf.set_stringn(line.x + column as u16, line.y, text, room, style);
    usize::from(end - line.x)
}
