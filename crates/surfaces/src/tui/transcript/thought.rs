//! What a model thinks, as it comes: its last rows while it thinks, one line once it has thought.

use std::time::Duration;

use ratatui::text::{Line, Span};
use trimtab_vocab::{CallId, Time, format};

use super::entry::signed;
use crate::tui::pane::activity::TOKEN;
use crate::tui::theme::{StyleName, Theme};
use crate::words::{sanitize_cells, wrap};

/// Rows of a thought that are shown while it grows.
const WINDOW: usize = 3;
/// Bytes of a thought that are laid out while it grows.
const TAIL: usize = 2_000;

/// What a model thought.
#[derive(Debug)]
pub(in crate::tui) struct ThoughtEntry {
    pub(super) call: CallId,
    pub(super) text: String,
    /// It is printed whole.
    pub(super) is_whole: bool,
    pub(super) is_done: bool,
    /// When it began and ended, if that was seen.
    began: Option<Time>,
    ended: Option<Time>,
}

impl ThoughtEntry {
    pub(super) fn new(call: CallId, is_whole: bool) -> Self {
        Self { call, text: String::new(), is_whole, is_done: false, began: None, ended: None }
    }

    pub(super) fn push(&mut self, text: &str, now: Time) {
        self.began.get_or_insert(now);
        self.text.push_str(text);
    }

    pub(super) fn end(&mut self, now: Option<Time>) {
        self.ended = self.ended.or(now);
        self.is_done = true;
    }

    fn title(&self) -> String {
        let took = match (self.began, self.ended) {
            (Some(began), Some(ended)) => {
                Duration::from_millis((ended.millis() - began.millis()).max(0).unsigned_abs())
            }
            _ => Duration::ZERO,
        };
        let tokens = format::plural((self.text.chars().count() / TOKEN).max(1), "token");
        match took.as_secs() {
            0 => format!("Thought (~{tokens})"),
            _ => format!("Thought for {} (~{tokens})", format::duration(took)),
        }
    }

    fn rows(&self, text: &str, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let text = sanitize_cells(text.trim());
        let style = theme.style(StyleName::Quote);
        text.lines().flat_map(|line| wrap(&Line::from(Span::styled(format!("  {line}"), style)), width, 2)).collect()
    }

    pub(super) fn lines(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        match (self.is_done, self.is_whole) {
            (true, true) => self.whole(width, theme),
            (true, false) => self.head(&self.title(), width, theme),
            (false, _) => {
                let from = self.text.ceil_char_boundary(self.text.len().saturating_sub(TAIL));
                let mut rows = self.rows(&self.text[from..], width, theme);
                rows.drain(..rows.len().saturating_sub(WINDOW));
                rows
            }
        }
    }

    fn head(&self, title: &str, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let words = vec![Span::styled(title.to_owned(), theme.style(StyleName::Dim))];
        signed("✻", StyleName::Dim, words, width, theme)
    }

    /// Its rows with nothing folded.
    pub(super) fn whole(&self, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let mut rows = self.head(&self.title(), width, theme);
        rows.extend(self.rows(&self.text, width, theme));
        rows
    }
}
