//! Where characters and words begin and end.
//!
//! A position is a place in bytes at which a grapheme begins or the text ends: between two of them a cursor can
//! stand, inside one it cannot.

use unicode_segmentation::GraphemeCursor;

use super::chip::is_chip;

/// Whether a cursor can stand there.
pub(crate) fn is_position(text: &str, at: usize) -> bool {
    text.is_char_boundary(at) && GraphemeCursor::new(at, text.len(), true).is_boundary(text, 0).unwrap_or(true)
}

/// The position to the left.
pub(crate) fn left(text: &str, at: usize) -> usize {
    GraphemeCursor::new(at, text.len(), true).prev_boundary(text, 0).ok().flatten().unwrap_or(0)
}

/// The position to the right.
pub(crate) fn right(text: &str, at: usize) -> usize {
    GraphemeCursor::new(at, text.len(), true).next_boundary(text, 0).ok().flatten().unwrap_or(text.len())
}

/// The same place if a cursor can stand there, else the next one where it can.
pub(crate) fn snapped(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    if is_position(text, at) { at } else { right(text, at) }
}

/// A text without its last grapheme.
pub(crate) fn without_last(text: &str) -> &str {
    &text[..left(text, text.len())]
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Blank,
    Word,
    Sign,
    Chip,
}

fn class(text: &str, from: usize) -> Class {
    match text[from..].chars().next() {
        Some(c) if is_chip(c) => Class::Chip,
        Some(c) if c.is_whitespace() => Class::Blank,
        Some(c) if c.is_alphanumeric() || c == '_' => Class::Word,
        _ => Class::Sign,
    }
}

/// Where the word to the left begins.
pub(crate) fn word_left(text: &str, mut at: usize) -> usize {
    while at > 0 && class(text, left(text, at)) == Class::Blank {
        at = left(text, at);
    }
    if at == 0 {
        return 0;
    }
    at = left(text, at);
    let kind = class(text, at);
    while kind != Class::Chip && at > 0 && class(text, left(text, at)) == kind {
        at = left(text, at);
    }
    at
}

/// Where the word to the right ends.
pub(crate) fn word_right(text: &str, mut at: usize) -> usize {
    while at < text.len() && class(text, at) == Class::Blank {
        at = right(text, at);
    }
    if at == text.len() {
        return at;
    }
    let kind = class(text, at);
    at = right(text, at);
    while kind != Class::Chip && at < text.len() && class(text, at) == kind {
        at = right(text, at);
    }
    at
}

/// Where the next word begins.
pub(crate) fn word_next(text: &str, mut at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    let kind = class(text, at);
    while at < text.len() && class(text, at) == kind && kind != Class::Blank {
        at = right(text, at);
        if kind == Class::Chip {
            break;
        }
    }
    while at < text.len() && class(text, at) == Class::Blank {
        at = right(text, at);
    }
    at
}

/// The last letter of this word, or of the next one where this is the last letter already.
pub(crate) fn word_end(text: &str, at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    let end = word_right(text, right(text, at));
    left(text, end)
}

/// Where the line of a place begins.
pub(crate) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Where the line of a place ends.
pub(crate) fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_steps_over_whole_characters() {
        let text = "e\u{301}👩‍👩‍👧日🇩🇪x";
        let (mut at, mut steps) = (0, Vec::new());
        while at < text.len() {
            let next = right(text, at);
            assert_eq!(left(text, next), at);
            steps.push(&text[at..next]);
            at = next;
        }
        assert_eq!(steps, ["e\u{301}", "👩‍👩‍👧", "日", "🇩🇪", "x"]);
    }

    #[test]
    fn words_are_runs_of_letters_or_of_signs() {
        let text = "let größe += (日本語, 1);\n  next";
        let (mut at, mut ends) = (0, Vec::new());
        while at < text.len() {
            at = word_right(text, at);
            ends.push(&text[..at]);
        }
        let last: Vec<&str> = ends.iter().map(|end| &end[word_left(end, end.len())..]).collect();
        assert_eq!(last, ["let", "größe", "+=", "(", "日本語", ",", "1", ");", "next"]);
        assert_eq!((word_left("  ", 2), word_right("  ", 0)), (0, 2));
    }
}
