//! Characters that make a line look other than it is.

use super::word::shown;

/// Says what is strange about the characters of a line, if anything.
///
/// A person who approves a line approves what they see. Accented letters, other scripts and pictures are
/// welcome in file names and texts; what cannot be seen, what turns the reading direction, and what looks
/// like a space, a dash, a quote or a letter of another script is not.
pub(super) fn strange(line: &str) -> Option<String> {
    for c in line.chars() {
        if c.is_control() && !matches!(c, '\n' | '\t') {
            return Some(format!("the line holds the control character U+{:04X}", u32::from(c)));
        }
        if hidden(c) {
            return Some(format!(
                "the line holds U+{:04X}, which is hidden or looks like something else",
                u32::from(c)
            ));
        }
    }
    line.split(|c: char| !c.is_alphabetic())
        .find(|run| run.chars().any(|c| c.is_ascii_alphabetic()) && run.chars().any(look_alike))
        .map(|run| format!("`{}` mixes letters of several scripts", shown(run)))
}

/// A line as a person must see it before they agree: whatever cannot be seen, moves the cursor, turns the reading
/// direction or passes for another character is spelled out. All else is as it is, line ends included.
pub fn visible(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut word = String::new();
    let flush = |word: &mut String, out: &mut String| {
        let is_mixed = word.chars().any(|c| c.is_ascii_alphabetic()) && word.chars().any(look_alike);
        for c in word.drain(..) {
            if is_mixed && look_alike(c) { spell(c, out) } else { out.push(c) }
        }
    };
    for c in line.chars() {
        if c.is_alphabetic() && !hidden(c) {
            word.push(c);
            continue;
        }
        flush(&mut word, &mut out);
        if (c.is_control() && c != '\n') || hidden(c) { spell(c, &mut out) } else { out.push(c) }
    }
    flush(&mut word, &mut out);
    out
}

fn spell(c: char, out: &mut String) {
    out.push_str(&format!("⟨U+{:04X}⟩", u32::from(c)));
}

/// Invisible characters, and such as pass for ASCII punctuation.
pub(super) fn hidden(c: char) -> bool {
    matches!(u32::from(c),
        0x00A0 | 0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x1680 | 0x17B4 | 0x17B5 | 0x180B..=0x180F
        // Spaces, zero-width marks, dashes, curly quotes, bidirectional controls, primes, fraction slash.
        | 0x2000..=0x201F | 0x2024 | 0x2025 | 0x2027..=0x2044 | 0x204E..=0x206F
        | 0x2212 | 0x2215 | 0x2216 | 0x2217 | 0x2223 | 0x2236 | 0x223C | 0x2758 | 0x275B..=0x275E
        | 0x02B9..=0x02DF | 0x0300..=0x036F
        | 0x2800 | 0x3000 | 0x3164 | 0xFE00..=0xFE0F | 0xFE10..=0xFE19 | 0xFE30..=0xFE6B
        | 0xFEFF | 0xFF00..=0xFFEF | 0xFFF0..=0xFFFF
        | 0xE000..=0xF8FF | 0x1D400..=0x1D7FF | 0x1D173..=0x1D17A | 0xE0000..=0x10FFFF)
}

/// Letters of the scripts from which Latin is usually counterfeited.
fn look_alike(c: char) -> bool {
    matches!(u32::from(c), 0x0250..=0x02AF | 0x0370..=0x058F | 0x10A0..=0x10FF | 0x13A0..=0x13FF | 0x1D00..=0x1DBF
        | 0x1F00..=0x1FFF | 0x2100..=0x218F | 0x2C80..=0x2CFF | 0xA640..=0xA69F | 0xA4D0..=0xA4FF | 0xAB30..=0xABBF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_deceive_is_spelled_out_and_the_rest_stays() {
        for (line, seen) in [
            ("ls -la 'a b' 日本 привет é 🦀", "ls -la 'a b' 日本 привет é 🦀"),
            ("one\ntwo", "one\ntwo"),
            ("ls\rrm x", "ls⟨U+000D⟩rm x"),
            ("a\tb\0", "a⟨U+0009⟩b⟨U+0000⟩"),
            ("ls \u{1b}[2K\u{7}", "ls ⟨U+001B⟩[2K⟨U+0007⟩"),
            ("cat \u{202e}txt.exe\u{2066}", "cat ⟨U+202E⟩txt.exe⟨U+2066⟩"),
            ("rm\u{200b} x\u{feff}", "rm⟨U+200B⟩ x⟨U+FEFF⟩"),
            ("c\u{0430}t a", "c⟨U+0430⟩t a"),
            ("ls \u{2013}la\u{a0}x", "ls ⟨U+2013⟩la⟨U+00A0⟩x"),
            ("\u{e0041}\u{fe0f}\u{85}", "⟨U+E0041⟩⟨U+FE0F⟩⟨U+0085⟩"),
        ] {
            assert_eq!(visible(line), seen, "{line:?}");
        }
    }

    #[test]
    fn whatever_asks_for_its_characters_does_not_look_plain() {
        for line in ["ls\u{2028}rm", "c\u{0430}t", "x\u{301}", "\u{1d5ba}", "ls \u{ff0d}la"] {
            assert!(strange(line).is_some() && visible(line) != line, "{line:?}");
        }
    }
}
