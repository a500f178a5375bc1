//! File content made fit for a screen: cells of known width, and nothing that steers a terminal or hides.
//!
//! What a person approves must be what they saw. Control characters, escape sequences, characters that
//! turn the direction of writing and those that take no room are therefore drawn as marks, never passed on.

use std::borrow::Cow;

use trimtab_vocab::visible::{is_emoji, is_hidden};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns from one tab stop to the next.
const TAB: usize = 4;
/// Combining marks that one character may carry; towers of them would cover the lines above.
const MOST_MARKS: usize = 4;

/// The least that is drawn at once: a character with what belongs to it, or a mark for what cannot be drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GlyphCell<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Columns it takes.
    pub(crate) width: usize,
    /// Where it stands in its line, in bytes.
    pub(crate) at: usize,
    /// It stands for something that cannot be drawn.
    pub(crate) is_mark: bool,
}

/// The cells of a line, which begins at `offset` in its own counting.
pub(crate) fn cells(line: &[u8], offset: usize) -> Vec<GlyphCell<'_>> {
    let mut cells = Vec::with_capacity(line.len());
    let (mut at, mut column) = (offset, 0);
    for chunk in line.utf8_chunks() {
        for cluster in chunk.valid().graphemes(true) {
            for cell in cluster_cells(cluster, at, column) {
                column += cell.width;
                cells.push(cell);
            }
            at += cluster.len();
        }
        for byte in chunk.invalid() {
            cells.push(mark(format!("<{byte:02X}>"), at));
            column += 4;
            at += 1;
        }
    }
    cells
}

/// A text as it is drawn.
pub(crate) fn visible(text: &[u8]) -> String {
    cells(text, 0).into_iter().map(|cell| cell.text).collect()
}

fn mark(text: String, at: usize) -> GlyphCell<'static> {
    GlyphCell { width: text.len(), text: Cow::Owned(text), at, is_mark: true }
}

fn cluster_cells(cluster: &str, at: usize, column: usize) -> Vec<GlyphCell<'_>> {
    if cluster == "\t" {
        let width = TAB - column % TAB;
        return vec![GlyphCell { text: Cow::Owned(" ".repeat(width)), width, at, is_mark: false }];
    }
    let is_fit = cluster.chars().enumerate().all(|(place, c)| fits(c, place, cluster));
    if is_fit && cluster.chars().filter(|c| c.width() == Some(0)).count() <= MOST_MARKS {
        return vec![GlyphCell { text: Cow::Borrowed(cluster), width: cluster.width(), at, is_mark: false }];
    }
    let mut cells = Vec::new();
    for (within, c) in cluster.char_indices() {
        let width = c.width().unwrap_or(0);
        cells.push(match name(c) {
            Some(name) => mark(name, at + within),
            None if width == 0 => mark(format!("<U+{:04X}>", u32::from(c)), at + within),
            None => GlyphCell {
                text: Cow::Borrowed(&cluster[within..within + c.len_utf8()]),
                width,
                at: at + within,
                is_mark: false,
            },
        });
    }
    cells
}

/// Whether a character may be drawn where it stands.
fn fits(c: char, place: usize, cluster: &str) -> bool {
    match c {
        // Joins the parts of one emoji, and chooses how a character looks.
        '\u{200d}' | '\u{fe0f}' => place > 0 && cluster.chars().next().is_some_and(is_emoji),
        _ => name(c).is_none() && (place > 0 || c.width() != Some(0)),
    }
}

/// The mark for a character that must not be drawn.
fn name(c: char) -> Option<String> {
    match c {
        '\u{0}'..='\u{1f}' => Some(format!("^{}", char::from(c as u8 + 64))),
        '\u{7f}' => Some("^?".to_owned()),
        _ if c.is_control() || is_hidden(c) => Some(format!("<U+{:04X}>", u32::from(c))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drawn(text: &str) -> String {
        visible(text.as_bytes())
    }

    #[test]
    fn what_steers_or_hides_is_drawn_as_a_mark() {
        assert_eq!(drawn("a\u{1b}[31mb\r\u{7f}"), "a^[[31mb^M^?");
        assert_eq!(drawn("x\u{202e}y\u{2066}z"), "x<U+202E>y<U+2066>z");
        assert_eq!(drawn("ad\u{200b}min\u{feff}\u{e0041}"), "ad<U+200B>min<U+FEFF><U+E0041>");
        assert_eq!(drawn("a\u{200d}b \u{9b}31m"), "a<U+200D>b <U+009B>31m");
        assert_eq!(drawn("\u{301}e\u{301}"), "<U+0301>e\u{301}");
        assert_eq!(drawn(&format!("e{}", "\u{301}".repeat(6))), format!("e{}", "<U+0301>".repeat(6)));
        assert_eq!(visible(b"caf\xe9 \xff"), "caf<E9> <FF>");
    }

    #[test]
    fn letters_of_any_script_and_emoji_are_left_alone() {
        for text in ["naïve", "日本語", "한국어", "नमस्ते", "👩‍👩‍👧 ❤️ 1️⃣ 🇩🇪", "\u{e0b0}"]
        {
            assert_eq!(drawn(text), text);
        }
        let width = |text: &str| cells(text.as_bytes(), 0).iter().map(|cell| cell.width).sum::<usize>();
        assert_eq!([width("日本"), width("e\u{301}"), width("👩‍👩‍👧"), width("a\tb\t")], [4, 1, 2, 8]);
    }

    proptest! {
        #[test]
        fn nothing_that_is_drawn_can_steer_a_terminal(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "\\PC*|.*") {
            for drawn in [visible(&bytes), visible(text.as_bytes())] {
                for (at, c) in drawn.char_indices() {
                    prop_assert!(!c.is_control(), "{drawn:?}");
                    prop_assert!(!is_hidden(c) || (matches!(c, '\u{200d}' | '\u{fe0f}') && at > 0), "{drawn:?}");
                }
            }
        }

        #[test]
        fn every_byte_of_a_line_is_in_some_cell(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let places: Vec<usize> = cells(&bytes, 0).iter().map(|cell| cell.at).collect();
            prop_assert!(places.is_sorted());
            prop_assert_eq!(places.first().copied().unwrap_or(0), 0);
        }
    }
}
