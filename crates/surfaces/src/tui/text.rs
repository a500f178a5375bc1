//! Words from elsewhere, fit for the screen: without what steers a terminal, and in lines of a given width.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::cli::output::calm;

/// Text from models, files, commands and networks, with nothing in it that moves a cursor. Tabs are blanks.
pub(super) fn tame(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let text = calm(&text);
    if text.contains('\t') { text.replace('\t', "    ") } else { text.into_owned() }
}

/// The first line of a text, cut to so many columns.
pub(super) fn first_line(text: &str, width: usize) -> String {
    let mut lines = text.trim().lines();
    let first = tame(lines.next().unwrap_or_default());
    let more = lines.next().is_some();
    if !more {
        return cut(&first, width);
    }
    cut(&format!("{first} …"), width)
}

/// A text that is cut to so many columns, with an ellipsis where something is missing.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let (mut kept, mut used) = (String::new(), 0);
    for cluster in text.graphemes(true) {
        let wide = cluster.width();
        if used + wide + 1 > width {
            break;
        }
        used += wide;
        kept.push_str(cluster);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// What keys do, in one row: `a does this · b does that · esc closes`. Where there is little room, whole parts go from
/// the middle, and an ellipsis stands for them; the way out, which is the last one, stays.
pub(super) fn hints(text: &str, width: usize) -> String {
    let parts: Vec<&str> = text.split(" · ").collect();
    let (Some((way_out, rest)), true) = (parts.split_last(), text.width() > width) else { return text.to_owned() };
    let shown = |count: usize| format!("{} … {way_out}", rest[..count].join(" · "));
    match (1..rest.len()).rev().map(shown).find(|row| row.width() <= width) {
        Some(row) => row,
        None => cut(if rest.is_empty() { text } else { way_out }, width),
    }
}

/// Breaks a styled line between words so that no part is wider than `width`. Parts after the first begin with
/// `hang` blanks.
pub(crate) fn wrap(line: &Line<'_>, width: usize, hang: usize) -> Vec<Line<'static>> {
    let width = width.max(1);
    let hang = if hang < width / 2 { hang } else { 0 };
    let mut rows = Rows { width, hang, rows: Vec::new(), row: Vec::new(), used: 0, is_first: true };
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

/// Plain text in lines of one style.
pub(super) fn wrapped(text: &str, style: Style, width: usize) -> Vec<Line<'static>> {
    text.split('\n').flat_map(|line| wrap(&Line::styled(line.to_owned(), style), width, 0)).collect()
}

struct Rows {
    width: usize,
    hang: usize,
    rows: Vec<Line<'static>>,
    row: Vec<(String, Style)>,
    used: usize,
    is_first: bool,
}

impl Rows {
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

    #[test]
    fn the_way_out_is_the_last_hint_to_go() {
        let all = "enter reads it · r takes back · f brings forward · esc closes";
        assert_eq!(hints(all, 80), all);
        assert_eq!(hints(all, 50), "enter reads it · r takes back … esc closes");
        assert_eq!(hints(all, 40), "enter reads it … esc closes");
        assert_eq!(hints(all, 12), "esc closes");
        assert_eq!(hints("The session is in notes.md now.", 12), "The session…");
    }

    #[test]
    fn texts_are_cut_where_the_room_ends() {
        assert_eq!(cut("hello", 5), "hello");
        assert_eq!(cut("hello world", 6), "hello…");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(first_line("a\nb", 10), "a …");
        assert_eq!(tame("a\tb\u{1b}[2J\r\nc"), "a    b\u{fffd}[2J\nc");
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
