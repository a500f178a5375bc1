//! Styled text as lines of a width.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Marks that one character may carry; towers of them would cover the lines above.
const MOST_MARKS: usize = 4;

/// A part of a text in one style.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StyledRun {
    pub(super) text: String,
    pub(super) style: Style,
}

impl StyledRun {
    pub(super) fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

/// Stands for a line end that must stay one.
pub(super) const BREAK: char = '\u{1}';

#[derive(Debug, Clone, Copy)]
struct TableCell<'a> {
    text: &'a str,
    width: usize,
    style: Style,
}

impl TableCell<'_> {
    fn is_blank(&self) -> bool {
        self.text == " "
    }
}

fn cells(runs: &[StyledRun]) -> impl Iterator<Item = TableCell<'_>> {
    runs.iter().flat_map(|run| {
        run.text.graphemes(true).map(|text| {
            let text = text
                .char_indices()
                .nth(MOST_MARKS + 1)
                .filter(|_| text.width() <= 1)
                .map_or(text, |(at, _)| &text[..at]);
            TableCell { text, width: text.width(), style: run.style }
        })
    })
}

/// The columns of a text.
pub(super) fn width(runs: &[StyledRun]) -> usize {
    cells(runs).map(|cell| cell.width).sum()
}

/// Lines of at most so many columns, cut between words where that is possible.
pub(super) fn words(runs: &[StyledRun], width: usize) -> Vec<Vec<Span<'static>>> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let (mut line, mut column): (Vec<TableCell<'_>>, usize) = (Vec::new(), 0);
    // How many cells of the line stand before the last place where it can be cut.
    let mut gap = 0;
    for cell in cells(runs) {
        if cell.text.starts_with(BREAK) {
            lines.push(spans(&line));
            (line, column, gap) = (Vec::new(), 0, 0);
            continue;
        }
        if cell.is_blank() {
            if !line.is_empty() && column < width {
                line.push(cell);
                column += 1;
            }
            gap = line.len();
            continue;
        }
        while column + cell.width > width && column > 0 {
            let tail = line.split_off(if gap > 0 { gap } else { line.len() });
            lines.push(spans(&line));
            column = tail.iter().map(|cell| cell.width).sum();
            (line, gap) = (tail, 0);
        }
        line.push(cell);
        column += cell.width;
        // Scripts without blanks between words can be cut anywhere.
        if cell.width == 2 {
            gap = line.len();
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(spans(&line));
    }
    lines
}

/// Lines of at most so many columns, cut anywhere: for programs, where blanks matter.
pub(super) fn letters(runs: &[StyledRun], width: usize) -> Vec<Vec<Span<'static>>> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let (mut line, mut column): (Vec<TableCell<'_>>, usize) = (Vec::new(), 0);
    for cell in cells(runs) {
        if column + cell.width > width && column > 0 {
            lines.push(whole(&line));
            (line, column) = (Vec::new(), 0);
        }
        line.push(cell);
        column += cell.width;
    }
    lines.push(whole(&line));
    lines
}

fn spans(line: &[TableCell<'_>]) -> Vec<Span<'static>> {
    let end = line.iter().rposition(|cell| !cell.is_blank()).map_or(0, |at| at + 1);
    whole(&line[..end])
}

fn whole(line: &[TableCell<'_>]) -> Vec<Span<'static>> {
    let mut spans: Vec<(String, Style)> = Vec::new();
    for cell in line {
        match spans.last_mut() {
            Some((text, style)) if *style == cell.style => *text += cell.text,
            _ => spans.push((cell.text.to_owned(), cell.style)),
        }
    }
    spans.into_iter().map(|(text, style)| Span::styled(text, style)).collect()
}

/// Puts something before each line: the first, and the others.
pub(super) fn prefixed(
    lines: Vec<Vec<Span<'static>>>,
    first: &[Span<'static>],
    rest: &[Span<'static>],
) -> Vec<Line<'static>> {
    let before = |at: usize| if at == 0 { first } else { rest };
    lines
        .into_iter()
        .enumerate()
        .map(|(at, line)| Line::from(before(at).iter().cloned().chain(line).collect::<Vec<_>>()))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(text: &str, width: usize) -> Vec<String> {
        let plain = |spans: Vec<Span<'_>>| spans.iter().map(|span| span.content.as_ref()).collect::<String>();
        words(&[StyledRun::new(text, Style::default())], width).into_iter().map(plain).collect()
    }

    #[test]
    fn lines_end_between_words_and_long_words_are_cut() {
        assert_eq!(cut("the quick brown", 9), ["the quick", "brown"]);
        assert_eq!(cut("a abcdefgh b", 4), ["a", "abcd", "efgh", "b"]);
        assert_eq!(cut("日本語です ok", 5), ["日本", "語で", "す ok"]);
        assert_eq!(cut("one\u{1}two", 9), ["one", "two"]);
        assert_eq!(cut("  a   ", 9), ["a"]);
        assert_eq!(cut("", 9), [""]);
        assert_eq!(cut(&format!("e{}x", "\u{301}".repeat(50)), 9), [format!("e{}x", "\u{301}".repeat(4))]);
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide_and_no_letter_is_lost(text in "[a-c日👩 ]{0,60}", width in 2_usize..12) {
            let lines = cut(&text, width);
            prop_assert!(lines.iter().all(|line| line.width() <= width), "{lines:?}");
            let bare = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(bare(&lines.concat()), bare(&text));
        }
    }
}
