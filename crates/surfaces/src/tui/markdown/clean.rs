//! Text from models and tools made fit for a screen: without escape sequences, control characters and
//! characters that hide or turn the direction of writing.

use std::borrow::Cow;

/// Columns from one tab stop to the next.
const TAB: usize = 4;

/// One line, cleaned; tabs become blanks.
pub(super) fn clean(line: &str) -> Cow<'_, str> {
    if !line.contains(is_wild) {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len());
    let mut column = 0;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '\u{1b}' => skip_sequence(&mut rest),
            // The same sequences, begun by one character.
            '\u{9b}' => skip_control(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut rest),
            '\t' => {
                let wide = TAB - column % TAB;
                text.extend(std::iter::repeat_n(' ', wide));
                column += wide;
            }
            c if is_wild(c) => {}
            c => {
                text.push(c);
                column += 1;
            }
        }
    }
    Cow::Owned(text)
}

/// Without what must not be drawn; for text that was written as entities.
pub(super) fn without_wild(text: &str) -> Cow<'_, str> {
    match text.contains(is_wild) {
        true => Cow::Owned(text.chars().filter(|c| !is_wild(*c)).collect()),
        false => Cow::Borrowed(text),
    }
}

fn skip_sequence(rest: &mut std::str::Chars<'_>) {
    let mut ahead = rest.clone();
    match ahead.next() {
        Some('[') => {
            *rest = ahead;
            skip_control(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            *rest = ahead;
            skip_string(rest);
        }
        Some(' '..='/') => {
            *rest = ahead;
            for c in rest.by_ref() {
                if !matches!(c, ' '..='/') {
                    break;
                }
            }
        }
        Some('0'..='~') => *rest = ahead,
        _ => {}
    }
}

/// Up to the letter that ends it; what cannot be part of it is kept.
fn skip_control(rest: &mut std::str::Chars<'_>) {
    loop {
        let mut ahead = rest.clone();
        match ahead.next() {
            Some(' '..='?') => *rest = ahead,
            Some('@'..='~') => {
                *rest = ahead;
                return;
            }
            _ => return,
        }
    }
}

/// Up to its end, or to the end of the line.
fn skip_string(rest: &mut std::str::Chars<'_>) {
    while let Some(c) = rest.next() {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                let mut ahead = rest.clone();
                if ahead.next() == Some('\\') {
                    *rest = ahead;
                }
                return;
            }
            _ => {}
        }
    }
}

/// Whether a character must not be drawn. Joiners stay: letters of some scripts and emoji need them.
fn is_wild(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sequences_go_whole_and_the_words_around_them_stay() {
        assert_eq!(clean("a\u{1b}[1;31mb\u{1b}[0m c"), "ab c");
        assert_eq!(clean("\u{1b}]0;title\u{7}x\u{1b}]8;;http://e\u{1b}\\link"), "xlink");
        assert_eq!(clean("\u{1b}]52;c;aGk="), "", "one without an end takes the line with it, not more");
        assert_eq!(clean("\u{1b}(Bx\u{1b}cy\u{9b}2Jz\u{1b}"), "xyz");
        assert_eq!(clean("ad\u{200b}min\u{202e}\r\u{0}"), "admin");
        assert_eq!(clean("a\tb"), "a   b");
        assert_eq!(clean("می\u{200c}خواهم 👩‍👩‍👧"), "می\u{200c}خواهم 👩‍👩‍👧");
    }

    proptest! {
        #[test]
        fn nothing_wild_is_left(text in "(.|[\u{1b}\u{9b}\u{9d}\\[\\]0-9;mP\u{7}]){0,40}") {
            prop_assert!(!clean(&text).contains(is_wild));
            prop_assert!(!without_wild(&text).contains(is_wild));
        }
    }
}
