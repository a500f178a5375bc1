//! The signs with which blocks begin.

/// The sign of a list item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker {
    /// What tells lists apart: the bullet, or what stands behind the number.
    pub(super) sign: char,
    pub(super) number: Option<u64>,
    /// Bytes that it takes.
    pub(super) len: usize,
}

/// Blanks before a line.
pub(super) fn indent(line: &str) -> usize {
    line.bytes().take_while(|byte| *byte == b' ').count()
}

/// The sign of a list item at the start of a line.
pub(super) fn marker(line: &str) -> Option<Marker> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let sign = line[digits..].chars().next()?;
    let (number, is_sign) = match digits {
        0 => (None, matches!(sign, '-' | '+' | '*')),
        1..=9 => (line[..digits].parse().ok(), matches!(sign, '.' | ')')),
        _ => return None,
    };
    let len = digits + sign.len_utf8();
    let is_alone = line[len..].is_empty() || line[len..].starts_with(' ');
    (is_sign && is_alone).then_some(Marker { sign, number, len })
}

/// Three or more of the same sign, and nothing else.
pub(super) fn is_rule(line: &str) -> bool {
    let mut signs = line.chars().filter(|c| *c != ' ');
    let Some(first @ ('-' | '*' | '_')) = signs.next() else { return false };
    let mut count = 1;
    for sign in signs {
        if sign != first {
            return false;
        }
        count += 1;
    }
    count >= 3
}

/// The level and the text of a heading.
pub(super) fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = &line[level..];
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with(' ')) {
        return None;
    }
    let text = rest.trim();
    let bare = text.trim_end_matches('#');
    let is_closed = bare.len() < text.len() && (bare.is_empty() || bare.ends_with(' '));
    Some((level, if is_closed { bare.trim_end() } else { text }))
}

/// Whether a line that is not whole yet may turn out to be nothing but signs, which are not drawn.
pub(super) fn may_be_sign(line: &str) -> bool {
    let bare = line.trim();
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    bare.chars().all(|c| matches!(c, '|' | '-' | ':' | '=' | ' '))
        || (bare.len() <= 8 && bare.chars().all(|c| matches!(c, '`' | '~' | '#' | '*' | '+' | '>' | '_' | '-' | ' ')))
        || (digits > 0 && matches!(&bare[digits..], "." | ")"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_told_from_words() {
        assert_eq!(marker("- a"), Some(Marker { sign: '-', number: None, len: 1 }));
        assert_eq!(marker("12) a"), Some(Marker { sign: ')', number: Some(12), len: 3 }));
        assert_eq!([marker("-a"), marker("1.5 m"), marker("1234567890. x"), marker("é")], [None; 4]);
        assert!(is_rule("---") && is_rule("* * *") && !is_rule("--") && !is_rule("-*-"));
        assert_eq!(heading("## Two ##"), Some((2, "Two")));
        assert_eq!(heading("# C#"), Some((1, "C#")));
        assert_eq!([heading("#tag"), heading("####### x")], [None; 2]);
    }
}
