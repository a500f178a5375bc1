//! Markdown as styled lines, while it comes.
//!
//! Whatever the text is and however it is cut into pieces, the lines at the end are the same, the work is linear,
//! and nothing in the text can steer a terminal.

mod block;
mod clean;
mod code;
mod inline;
mod lay;
mod sign;
mod table;

use ratatui::text::Line;

use super::theme::Theme;
use block::Blocks;

/// Bytes of a line after which it is taken for whole.
const LONGEST: usize = 4_000;

/// A text that comes in pieces: what is finished never changes again, and only the rest is laid out anew.
#[derive(Debug, Clone)]
pub struct MarkdownStream {
    blocks: Blocks,
    /// The last line, as far as it has come.
    pending: String,
    /// Bytes of it in which no line ends.
    seen: usize,
    finished: Vec<Line<'static>>,
    open: Option<Vec<Line<'static>>>,
}

impl MarkdownStream {
    /// For so many columns.
    pub fn new(width: u16, theme: Theme) -> Self {
        let blocks = Blocks::new(usize::from(width.max(1)), theme);
        Self { blocks, pending: String::new(), seen: 0, finished: Vec::new(), open: None }
    }

    /// Adds a piece of any size.
    pub fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.open = None;
        self.pending += text;
        let mut from = 0;
        loop {
            let rest = &self.pending[from..];
            let newline =
                rest.as_bytes().get(self.seen..).and_then(|unseen| unseen.iter().position(|byte| *byte == b'\n'));
            let (end, next) = match newline.map(|at| self.seen + at) {
                Some(at) if at <= LONGEST => (at, at + 1),
                None if rest.len() <= LONGEST => {
                    self.seen = rest.len();
                    break;
                }
                _ => {
                    let at = cut(rest);
                    (at, at)
                }
            };
            self.blocks.line(&rest[..end]);
            (from, self.seen) = (from + next, 0);
        }
        self.pending.drain(..from);
        self.finished.append(&mut self.blocks.take());
    }

    /// The text is whole: all of it is finished now.
    pub fn finish(&mut self) {
        self.open = None;
        if !self.pending.is_empty() {
            let pending = std::mem::take(&mut self.pending);
            self.blocks.line(&pending);
        }
        self.seen = 0;
        self.blocks.finish();
        self.finished.append(&mut self.blocks.take());
    }

    /// The lines that were finished since this was last asked.
    pub fn take_finished(&mut self) -> Vec<Line<'static>> {
        std::mem::take(&mut self.finished)
    }

    /// The lines of what is not finished, as they look now. Laid out when asked for, so that many small pieces
    /// between two frames cost no more than one.
    pub fn open_lines(&mut self) -> Vec<Line<'static>> {
        self.open.get_or_insert_with(|| self.blocks.guess(&self.pending)).clone()
    }
}

/// Where a line that is too long is cut: at the last blank, if there is one.
fn cut(line: &str) -> usize {
    let mut end = LONGEST;
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line[..end].rfind(' ').filter(|at| *at > 0).unwrap_or(end)
}

/// A whole text in so many columns.
pub fn render(text: &str, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let mut stream = MarkdownStream::new(width, theme);
    stream.push(text);
    stream.finish();
    stream.take_finished()
}

/// Gets ready to colour programs. That takes a moment, so it is done beside the screen, before the first one comes.
pub fn warm() {
    crate::diff::syntax::warm();
}

#[cfg(test)]
mod tests;
