//! What a model says, as it comes.

use ratatui::text::Line;
use trimtab_vocab::CallId;

use crate::tui::markdown::{MarkdownStream, render};
use crate::tui::theme::Theme;
use crate::words::wrap;

/// What a model says.
#[derive(Debug)]
pub(in crate::tui) struct ReplyEntry {
    pub(super) call: CallId,
    /// The words as they came.
    pub(in crate::tui) text: String,
    pub(super) is_done: bool,
    /// Some of it is printed.
    pub(super) is_begun: bool,
    /// How it is laid out, for the width that it began with.
    stream: Option<(MarkdownStream, usize)>,
    /// Bytes of the text that the layout has.
    laid_out: usize,
}

impl ReplyEntry {
    pub(super) fn new(call: CallId) -> Self {
        Self { call, text: String::new(), is_done: false, is_begun: false, stream: None, laid_out: 0 }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// The reply has come to its end, whole or not.
    pub(super) fn end(&mut self) {
        self.is_done = true;
    }

    /// The answer is what was said here, or a part of it: banners do not belong to it. As long as nothing is printed,
    /// the answer stands here.
    pub(super) fn becomes(&mut self, answer: &str) {
        if self.text.trim() != answer && !self.is_begun {
            self.text = answer.to_owned();
            (self.stream, self.laid_out) = (None, 0);
        }
    }

    fn lay_out(&mut self, width: usize, theme: &Theme) -> (&mut MarkdownStream, usize) {
        let (stream, begun) = self.stream.get_or_insert_with(|| (MarkdownStream::new(columns(width), *theme), width));
        if self.laid_out < self.text.len() {
            stream.push(&self.text[self.laid_out..]);
            self.laid_out = self.text.len();
        }
        if self.is_done {
            stream.finish();
        }
        (stream, *begun)
    }

    /// Rows that will not change any more and were not taken yet.
    pub(super) fn settle(&mut self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let (stream, begun) = self.lay_out(width, theme);
        fitted(stream.take_finished(), begun, width)
    }

    /// Rows that may still change.
    pub(super) fn tail(&mut self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let (stream, begun) = self.lay_out(width, theme);
        fitted(stream.open_lines(), begun, width)
    }

    /// All rows.
    pub(super) fn lines(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        render(&self.text, columns(width), *theme)
    }
}

/// Rows that were laid out for a wider screen are broken where this one ends.
fn fitted(rows: Vec<Line<'static>>, begun: usize, width: usize) -> Vec<Line<'static>> {
    if begun <= width {
        return rows;
    }
    rows.iter().flat_map(|row| wrap(row, width, 0)).collect()
}

fn columns(width: usize) -> u16 {
    u16::try_from(width).unwrap_or(u16::MAX)
}
