//! Text from other sources, made safe to show: users see every character that is there.
//!
//! A control character can move the cursor, write the clipboard or repaint a question; a mark of direction can turn a
//! file name around; a character without width can hide in a word. Here each of them is spelled out as `⟨U+202E⟩`.

use std::borrow::Cow;
use std::fmt;

/// Text that shows itself and does nothing else to the terminal or the page it is written to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Visible(String);

impl Visible {
    /// A text in lines. Line ends and tabs stay.
    pub fn text(text: &str) -> Self {
        Self(visible(text).into_owned())
    }

    /// A text in one line: its line ends are shown as `↵`.
    pub fn line(text: &str) -> Self {
        Self(one_line(&visible(text)))
    }

    /// A command or a rule. Characters that pass for others are spelled out as well, because a person who approves a
    /// command approves what they see.
    pub fn command(line: &str) -> Self {
        Self(spelled(line))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Visible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl AsRef<str> for Visible {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<Visible> for String {
    fn from(visible: Visible) -> Self {
        visible.0
    }
}

/// A text whose control characters and hidden characters are spelled out; line ends and tabs stay.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(|c: char| is_unfit(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\r' if rest.peek() == Some(&'\n') => {}
            // They join the parts of one emoji, and choose how it looks.
            '\u{200d}' | '\u{fe0f}' if joins_emoji(before) => out.push(c),
            c if is_unfit(c) => spell(c, &mut out),
            c => out.push(c),
        }
        before = c;
    }
    Cow::Owned(out)
}

/// A text whose line ends are shown as `↵`.
fn one_line(text: &str) -> String {
    text.trim_end_matches('\n').replace('\n', " ↵ ")
}

/// Whether a character must not be written to a terminal as it is.
fn is_unfit(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t')) || is_hidden(c)
}

/// Characters that take no room, look like a space and are none, or turn the direction of writing.
pub fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn joins_emoji(before: char) -> bool {
    before == '\u{fe0f}' || is_emoji(before)
}

/// Whether a character may be a part of an emoji.
pub fn is_emoji(c: char) -> bool {
    matches!(c, '\u{1f000}'..='\u{1faff}' | '\u{2190}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '0'..='9' | '#' | '*' | '©' | '®')
}

fn spell(c: char, out: &mut String) {
    out.push_str(&format!("⟨U+{:04X}⟩", u32::from(c)));
}

/// A command as a person must see it before they agree: whatever cannot be seen, moves the cursor, turns the reading
/// direction or passes for another character is spelled out. All else is unchanged, line ends included.
pub fn spelled(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut word = String::new();
    let flush = |word: &mut String, out: &mut String| {
        let is_mixed = word.chars().any(|c| c.is_ascii_alphabetic()) && word.chars().any(is_look_alike);
        for c in word.drain(..) {
            if is_mixed && is_look_alike(c) { spell(c, out) } else { out.push(c) }
        }
    };
    for c in line.chars() {
        if c.is_alphabetic() && !deceives(c) {
            word.push(c);
            continue;
        }
        flush(&mut word, &mut out);
        if (c.is_control() && c != '\n') || deceives(c) { spell(c, &mut out) } else { out.push(c) }
    }
    flush(&mut word, &mut out);
    out
}

/// Invisible characters, and those that pass for ASCII punctuation.
pub fn deceives(c: char) -> bool {
    is_hidden(c)
        || matches!(u32::from(c),
        0x00A0 | 0x1680
        // Spaces, dashes, curly quotes, primes, the fraction slash.
        | 0x2000..=0x201F | 0x2024 | 0x2025 | 0x2027..=0x2044 | 0x204E..=0x206F
        | 0x2212 | 0x2215 | 0x2216 | 0x2217 | 0x2223 | 0x2236 | 0x223C | 0x2758 | 0x275B..=0x275E
        | 0x02B9..=0x02DF | 0x0300..=0x036F
        | 0x3000 | 0xFE10..=0xFE19 | 0xFE30..=0xFE6B | 0xFF00..=0xFFEF | 0xFFF0..=0xFFFF
        | 0xE000..=0xF8FF | 0x1D400..=0x1D7FF | 0xE0000..=0x10FFFF)
}

/// Letters of the scripts from which Latin is usually counterfeited.
pub fn is_look_alike(c: char) -> bool {
    matches!(u32::from(c), 0x0250..=0x02AF | 0x0370..=0x058F | 0x10A0..=0x10FF | 0x13A0..=0x13FF | 0x1D00..=0x1DBF
        | 0x1F00..=0x1FFF | 0x2100..=0x218F | 0x2C80..=0x2CFF | 0xA640..=0xA69F | 0xA4D0..=0xA4FF | 0xAB30..=0xABBF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_or_hides_is_spelled_out_and_the_rest_stays() {
        for (text, seen) in [
            ("two\n\tlines é 🦀", "two\n\tlines é 🦀"),
            ("👩‍👩‍👧 ❤️ 1️⃣ 🇩🇪 日本 नमस्ते", "👩‍👩‍👧 ❤️ 1️⃣ 🇩🇪 日本 नमस्ते"),
            ("a\u{1b}]52;c;ZQ==\u{7}b", "a⟨U+001B⟩]52;c;ZQ==⟨U+0007⟩b"),
            ("a\r\nb\rc\u{9b}31m", "a\nb⟨U+000D⟩c⟨U+009B⟩31m"),
            (
                "x\u{202e}txt\u{61c}\u{200b}\u{2028}\u{feff}\u{e0041}",
                "x⟨U+202E⟩txt⟨U+061C⟩⟨U+200B⟩⟨U+2028⟩⟨U+FEFF⟩⟨U+E0041⟩",
            ),
            ("a\u{200d}b", "a⟨U+200D⟩b"),
        ] {
            let shown = Visible::text(text);
            assert_eq!(shown.as_str(), seen, "{text:?}");
            assert_eq!(Visible::text(seen).as_str(), seen, "what is visible stays so");
        }
        assert_eq!(Visible::line("a\nb\r\n").as_str(), "a ↵ b");
    }

    #[test]
    fn a_command_spells_out_what_passes_for_another_character() {
        for (line, seen) in [
            ("ls -la 'a b' 日本 привет é 🦀", "ls -la 'a b' 日本 привет é 🦀"),
            ("one\ntwo", "one\ntwo"),
            ("a\tb\0", "a⟨U+0009⟩b⟨U+0000⟩"),
            ("cat \u{202e}txt.exe\u{2066}", "cat ⟨U+202E⟩txt.exe⟨U+2066⟩"),
            ("c\u{0430}t a", "c⟨U+0430⟩t a"),
            ("ls \u{2013}la\u{a0}x", "ls ⟨U+2013⟩la⟨U+00A0⟩x"),
        ] {
            assert_eq!(Visible::command(line).as_str(), seen, "{line:?}");
        }
    }
}
