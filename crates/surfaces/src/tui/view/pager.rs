//! Many rows of which a part is shown.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget};

use crate::tui::keys::{KeyAction, KeyMap, TerminalInput};
use crate::tui::text::{cut, hints};
use crate::tui::theme::{StyleName, Theme};

/// Which part of the rows is shown.
#[derive(Debug, Default, Clone)]
pub(in crate::tui) struct Pager {
    /// The first row.
    pub(in crate::tui) top: usize,
    /// Rows that are shown at once.
    page: usize,
    rows: usize,
    /// It follows the end.
    pub(in crate::tui) at_end: bool,
}

impl Pager {
    /// One that begins at the end.
    pub(in crate::tui) fn from_end() -> Self {
        Self { at_end: true, ..Self::default() }
    }

    /// Moves; whether the key was one for it.
    pub(in crate::tui) fn input(&mut self, input: &TerminalInput, keys: &KeyMap) -> bool {
        let page = self.page.saturating_sub(1).max(1);
        let by = match input {
            TerminalInput::Wheel(turn) => isize::from(*turn) * 3,
            TerminalInput::Key(chord) => match (chord.typed(), keys.action(*chord)) {
                (Some('j'), _) | (_, Some(KeyAction::Down)) => 1,
                (Some('k'), _) | (_, Some(KeyAction::Up)) => -1,
                (Some(' '), _) | (_, Some(KeyAction::PageDown)) => page.cast_signed(),
                (Some('b'), _) | (_, Some(KeyAction::PageUp)) => -page.cast_signed(),
                (Some('g'), _) | (_, Some(KeyAction::LineStart | KeyAction::TextStart)) => isize::MIN,
                (Some('G'), _) | (_, Some(KeyAction::LineEnd | KeyAction::TextEnd)) => isize::MAX,
                _ => return false,
            },
            _ => return false,
        };
        let last = self.last();
        let top = if self.at_end { last } else { self.top };
        self.top = top.saturating_add_signed(by).min(last);
        self.at_end = self.top == last && by > 0;
        true
    }

    fn last(&self) -> usize {
        self.rows.saturating_sub(self.page)
    }

    /// Tells how many rows there are and how many are shown; says which is the first.
    pub(in crate::tui) fn fit(&mut self, rows: usize, page: usize) -> usize {
        (self.rows, self.page) = (rows, page);
        if self.at_end {
            self.top = self.last();
        }
        self.top = self.top.min(self.last());
        self.top
    }

    /// Goes to a row.
    pub(in crate::tui) fn go_to(&mut self, row: usize) {
        (self.top, self.at_end) = (row, false);
    }

    /// Rows were put before all others.
    pub(in crate::tui) fn pushed_down(&mut self, by: usize) {
        self.top += by;
        self.rows += by;
    }

    /// A hint with the place on the page behind it, unless all of it is in sight: `esc close   37%`.
    pub(in crate::tui) fn placed(&self, hint: &str) -> String {
        match self.last() {
            0 => hint.to_owned(),
            last => format!("{hint}   {}%", self.top.min(last) * 100 / last),
        }
    }
}

/// Draws a title, rows and a line of hints; gives the area for the rows.
pub(in crate::tui) fn frame(area: Rect, buf: &mut Buffer, theme: &Theme, title: &str, hint: &str) -> Rect {
    let width = usize::from(area.width);
    let top = Rect { height: 1, ..area };
    Paragraph::new(Line::styled(cut(title, width), theme.style(StyleName::Title))).render(top, buf);
    if area.height >= 3 {
        let bottom = Rect { y: area.y + area.height - 1, height: 1, ..area };
        Paragraph::new(Line::styled(hints(hint, width), theme.style(StyleName::Dim))).render(bottom, buf);
    }
    rows_area(area)
}

/// The area for the rows, between the title and the hints.
pub(in crate::tui) fn rows_area(area: Rect) -> Rect {
    let around = if area.height < 3 { 1 } else { 2 };
    Rect { y: area.y + 1, height: area.height.saturating_sub(around), ..area }
}

/// Draws the rows from the first one that is shown on.
pub(in crate::tui) fn put(area: Rect, buf: &mut Buffer, rows: &[Line<'static>]) {
    for (at, row) in rows.iter().take(usize::from(area.height)).enumerate() {
        let y = area.y + u16::try_from(at).unwrap_or(u16::MAX);
        row.render(Rect { y, height: 1, ..area }, buf);
    }
}
