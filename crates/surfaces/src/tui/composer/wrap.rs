//! A text as rows of a screen: wrapped at words, with the characters that it is made of and where they stand.

use std::borrow::Cow;

use super::chip::{Chips, is_chip};
use super::text::{left, snapped};
use crate::diff::visible::{GlyphCell, cells};

/// A row on the screen: a part of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WrappedRow {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Something that is drawn in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrapPiece<'a> {
    pub(super) cell: GlyphCell<'a>,
    pub(super) is_chip: bool,
}

/// The pieces of a part of the text without line ends; a chip is one, at most as wide as the screen.
pub(super) fn pieces<'a>(
    text: &'a str,
    part: std::ops::Range<usize>,
    chips: &'a Chips,
    width: usize,
) -> Vec<WrapPiece<'a>> {
    let mut pieces = Vec::new();
    let plain = |from: usize, to: usize, pieces: &mut Vec<WrapPiece<'a>>| {
        let found = cells(&text.as_bytes()[from..to], from);
        pieces.extend(found.into_iter().map(|cell| WrapPiece { cell, is_chip: false }));
    };
    let mut from = part.start;
    for (at, c) in text[part.clone()].char_indices().filter(|(_, c)| is_chip(*c)) {
        let at = part.start + at;
        plain(from, at, &mut pieces);
        let label = chips.get(c).map_or("[?]", |chip| chip.label.as_str());
        let (mut shown, mut wide) = (String::new(), 0);
        for cell in cells(label.as_bytes(), 0) {
            if wide + cell.width > width {
                break;
            }
            wide += cell.width;
            shown += &cell.text;
        }
        pieces.push(WrapPiece {
            cell: GlyphCell { text: Cow::Owned(shown), width: wide, at, is_mark: false },
            is_chip: true,
        });
        from = at + c.len_utf8();
    }
    plain(from, part.end, &mut pieces);
    pieces
}

/// The rows of a text in so many columns. A blank that finds no room at the end of a row stays there unseen.
pub(super) fn rows(text: &str, chips: &Chips, width: usize) -> Vec<WrappedRow> {
    let width = width.max(1);
    let (mut rows, mut line) = (Vec::new(), 0);
    loop {
        let end = text[line..].find('\n').map_or(text.len(), |newline| line + newline);
        wrap(text, line..end, chips, width, &mut rows);
        if end == text.len() {
            return rows;
        }
        line = end + 1;
    }
}

/// What a row has to know of a piece: where it begins and ends, its columns, and whether it is a blank or one after
/// which a row can end.
struct WrapStep {
    at: usize,
    end: usize,
    width: usize,
    is_blank: bool,
    is_gap: bool,
}

fn wrap(text: &str, line: std::ops::Range<usize>, chips: &Chips, width: usize, rows: &mut Vec<WrappedRow>) {
    let bytes = &text.as_bytes()[line.clone()];
    // Most lines are plain, and a draft may be long.
    if bytes.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        let steps = bytes.iter().zip(line.start..).map(|(byte, at)| {
            let is_blank = *byte == b' ';
            WrapStep { at, end: at + 1, width: 1, is_blank, is_gap: is_blank }
        });
        return wrap_steps(steps, line, width, rows);
    }
    let pieces = pieces(text, line.clone(), chips, width);
    let ends = pieces.iter().skip(1).map(|piece| piece.cell.at).chain([line.end]);
    let steps = pieces.iter().zip(ends).map(|(WrapPiece { cell, .. }, end)| {
        let is_blank = text[cell.at..].starts_with(char::is_whitespace);
        // Scripts without blanks between words can be cut anywhere.
        let is_gap = is_blank || (cell.width == 2 && !cell.is_mark);
        WrapStep { at: cell.at, end, width: cell.width, is_blank, is_gap }
    });
    wrap_steps(steps, line, width, rows);
}

fn wrap_steps(
    steps: impl Iterator<Item = WrapStep>,
    line: std::ops::Range<usize>,
    width: usize,
    rows: &mut Vec<WrappedRow>,
) {
    let (mut start, mut column) = (line.start, 0);
    // Where the row could end, and the column there.
    let mut gap: Option<(usize, usize)> = None;
    for step in steps {
        if column + step.width > width && column > 0 {
            if step.is_blank {
                rows.push(WrappedRow { start, end: step.end });
                (start, column, gap) = (step.end, 0, None);
                continue;
            }
            let (at, before) = gap.unwrap_or((step.at, column));
            rows.push(WrappedRow { start, end: at });
            (start, column, gap) = (at, column - before, None);
            if column + step.width > width && column > 0 {
                rows.push(WrappedRow { start, end: step.at });
                (start, column) = (step.at, 0);
            }
        }
        column += step.width;
        if step.is_gap {
            gap = Some((step.end, column));
        }
    }
    rows.push(WrappedRow { start, end: line.end });
}

/// The row of a place.
pub(super) fn row_of(rows: &[WrappedRow], at: usize) -> usize {
    rows.partition_point(|row| row.start <= at).saturating_sub(1)
}

/// The column of a place within its row.
pub(super) fn column_of(text: &str, chips: &Chips, width: usize, row: WrappedRow, at: usize) -> usize {
    let pieces = pieces(text, row.start..row.end, chips, width);
    pieces.iter().filter(|piece| piece.cell.at < at).map(|piece| piece.cell.width).sum()
}

/// The place in a row that is nearest to a column from the left.
pub(super) fn place_at(
    text: &str,
    chips: &Chips,
    width: usize,
    rows: &[WrappedRow],
    row: usize,
    column: usize,
) -> usize {
    let Some(here) = rows.get(row) else { return text.len() };
    let (mut at, mut passed) = (here.start, 0);
    for piece in pieces(text, here.start..here.end, chips, width) {
        if passed + piece.cell.width > column {
            at = piece.cell.at;
            return snapped_back(text, at, here.start);
        }
        passed += piece.cell.width;
        at = here.end;
    }
    // The end of a row that goes on below is the start of the next one.
    let goes_on = rows.get(row + 1).is_some_and(|next| next.start == here.end);
    if goes_on && at == here.end && here.end > here.start { left(text, at).max(here.start) } else { snapped(text, at) }
}

/// The position at or before a place.
fn snapped_back(text: &str, at: usize, least: usize) -> usize {
    if super::text::is_position(text, at) { at } else { left(text, at).max(least) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wrapped(text: &str, width: usize) -> Vec<&str> {
        rows(text, &Chips::default(), width).iter().map(|row| &text[row.start..row.end]).collect()
    }

    #[test]
    fn rows_end_between_words() {
        assert_eq!(wrapped("the quick brown fox", 10), ["the quick ", "brown fox"]);
        assert_eq!(wrapped("the quick", 5), ["the ", "quick"]);
        assert_eq!(wrapped("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrapped("ab cdefgh", 3), ["ab ", "cde", "fgh"]);
        assert_eq!(wrapped("日本語です", 5), ["日本", "語で", "す"]);
        assert_eq!(wrapped("a\n\nb", 5), ["a", "", "b"]);
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(wrapped("abc   d", 3), ["abc ", "  d"]);
    }

    #[test]
    fn a_row_is_never_wider_than_the_screen_but_for_one_blank() {
        let text = "👩‍👩‍👧👩‍👩‍👧 e\u{301}e\u{301}e\u{301} \u{1b}[31m";
        for width in 1..12 {
            for row in wrapped(text, width) {
                let wide: usize = cells(row.trim_end().as_bytes(), 0).iter().map(|cell| cell.width).sum();
                assert!(wide <= width.max(8), "{width} {row:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn rows_hold_the_whole_text_in_order(text in "[a-c日👩\u{301}\u{200d} \n\t]{0,60}", width in 1_usize..12) {
            let chips = Chips::default();
            let rows = rows(&text, &chips, width);
            let mut at = 0;
            for row in &rows {
                prop_assert!(row.start <= row.end);
                prop_assert!(row.start == at || (row.start == at + 1 && text.as_bytes()[at] == b'\n'), "{rows:?}");
                at = row.end;
            }
            prop_assert_eq!(at, text.len());
            for place in (0..=text.len()).filter(|at| super::super::text::is_position(&text, *at)) {
                let row = row_of(&rows, place);
                prop_assert!(rows[row].start <= place && place <= rows[row].end);
                let column = column_of(&text, &chips, width, rows[row], place);
                let back = place_at(&text, &chips, width, &rows, row, column);
                prop_assert!(super::super::text::is_position(&text, back));
            }
        }
    }
}
