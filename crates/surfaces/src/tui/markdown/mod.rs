//! Markdown as styled lines, while it comes.

use ratatui::text::Line;

use super::theme::Theme;

/// A text that comes in pieces: what is finished never changes again, and only the rest is laid out anew.
#[derive(Debug, Clone)]
pub struct Stream {
    width: usize,
    theme: Theme,
    text: String,
    taken: usize,
}

impl Stream {
    /// For so many columns.
    pub fn new(width: u16, theme: Theme) -> Self {
        Self { width: usize::from(width.max(1)), theme, text: String::new(), taken: 0 }
    }

    /// Adds a piece of any size.
    pub fn push(&mut self, text: &str) {
        self.text += text;
    }

    /// The text is whole: all of it is finished now.
    pub fn finish(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// The lines that were finished since this was last asked.
    pub fn take_finished(&mut self) -> Vec<Line<'static>> {
        let end = self.text.rfind('\n').map_or(0, |at| at + 1).max(self.taken);
        let lines = self.text[self.taken..end].lines().map(|line| Line::from(crate::diff::visible(line.as_bytes())));
        let lines = lines.collect();
        self.taken = end;
        lines
    }

    /// The lines of what is not finished, as they look now.
    pub fn open_lines(&mut self) -> Vec<Line<'static>> {
        let _ = (self.width, self.theme);
        self.text[self.taken..].lines().map(|line| Line::from(crate::diff::visible(line.as_bytes()))).collect()
    }
}

/// A whole text in so many columns.
pub fn render(text: &str, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let mut stream = Stream::new(width, theme);
    stream.push(text);
    stream.finish();
    stream.take_finished()
}
