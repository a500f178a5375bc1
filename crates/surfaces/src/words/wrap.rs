//! Lines in a given width.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Breaks a styled line between words so that no part is wider than `width`. Parts after the first begin with
/// `hang` blanks.
pub(crate) fn wrap(line: &Line<'_>, width: usize, hang: usize) -> Vec<Line<'static>> {
    let width = width.max(1);
    let hang = if hang < width / 2 { hang } else { 0 };
    let mut rows = WrappedLines { width, hang, rows: Vec::new(), row: Vec::new(), used: 0, is_first: true };
    let mut word: Vec<(String, Style)> = Vec::new();
    let mut wide = 0;
    for span in &line.spans {
        let style = line.style.patch(span.style);
        for cluster in span.content.graphemes(true) {
            if cluster == " " {
                rows.put(&mut word, &mut wide);
                rows.blank(style);
            } else {
                wide += cluster.width();
                match word.last_mut() {
                    Some((text, last)) if *last == style => text.push_str(cluster),
                    _ => word.push((cluster.to_owned(), style)),
                }
            }
        }
    }
    rows.put(&mut word, &mut wide);
    rows.end(true);
    rows.rows
}

struct WrappedLines {
    width: usize,
    hang: usize,
    rows: Vec<Line<'static>>,
    row: Vec<(String, Style)>,
    used: usize,
    is_first: bool,
}

impl WrappedLines {
    fn room(&self) -> usize {
        if self.is_first { self.width } else { self.width - self.hang }
    }

    fn blank(&mut self, style: Style) {
        // A blank at the beginning of a row that was broken would only push it aside.
        if self.used < self.room() && (self.used > 0 || self.is_first) {
            self.add(" ", style);
        }
    }

    fn add(&mut self, text: &str, style: Style) {
        self.used += text.width();
        match self.row.last_mut() {
            Some((last, same)) if *same == style => last.push_str(text),
            _ => self.row.push((text.to_owned(), style)),
        }
    }

    fn put(&mut self, word: &mut Vec<(String, Style)>, wide: &mut usize) {
        let wide = std::mem::take(wide);
        if wide == 0 {
            return word.clear();
        }
        if self.used + wide > self.room() && self.used > 0 {
            self.end(false);
        }
        for (text, style) in word.drain(..) {
            if self.used + text.width() <= self.room() {
                self.add(&text, style);
                continue;
            }
            // A word that is wider than a row is broken wherever the row ends.
            for cluster in text.graphemes(true) {
                if self.used + cluster.width() > self.room() && self.used > 0 {
                    self.end(false);
                }
                self.add(cluster, style);
            }
        }
    }

    fn end(&mut self, is_last: bool) {
        if is_last && self.row.is_empty() && !self.rows.is_empty() {
            return;
        }
        let hang = (!self.is_first && self.hang > 0).then(|| Span::raw(" ".repeat(self.hang)));
        let mut row = std::mem::take(&mut self.row);
        if !is_last && let Some((text, _)) = row.last_mut() {
            text.truncate(text.trim_end().len());
        }
        let spans = row.into_iter().map(|(text, style)| Span::styled(text, style));
        self.rows.push(Line::from(hang.into_iter().chain(spans).collect::<Vec<_>>()));
        (self.used, self.is_first) = (0, false);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::style::Stylize;

    use super::*;

    fn broken(text: &str, width: usize, hang: usize) -> Vec<String> {
        wrap(&Line::from(text.to_owned()), width, hang).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn lines_break_between_words_and_hang() {
        assert_eq!(broken("the quick brown fox", 10, 0), ["the quick", "brown fox"]);
        assert_eq!(broken("- the quick brown fox", 12, 2), ["- the quick", "  brown fox"]);
        assert_eq!(broken("abcdefghij", 4, 0), ["abcd", "efgh", "ij"]);
        assert_eq!(broken("日本語日本", 4, 0), ["日本", "語日", "本"]);
        assert_eq!(broken("", 4, 0), [""]);
        assert_eq!(broken("  indented", 20, 0), ["  indented"]);
    }

    #[test]
    fn styles_stay_with_their_words() {
        let line = Line::from(vec!["one ".into(), "two three".bold()]);
        let rows = wrap(&line, 8, 0);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].spans[1].content, "two");
        assert!(rows[1].spans[0].style.add_modifier.contains(ratatui::style::Modifier::BOLD));
    }

    proptest! {
        #[test]
        fn no_row_is_too_wide_and_no_word_is_lost(text in "[a-z日 ]{0,60}", width in 2_usize..20, hang in 0_usize..6) {
            let rows = broken(&text, width, hang);
            prop_assert!(rows.iter().all(|row| row.width() <= width), "{rows:?}");
            let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(letters(&rows.concat()), letters(&text));
        }
    }
}
