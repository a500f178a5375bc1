//! Estimates the tokens of a text, for windows and for usage that a provider does not report.
//!
//! Every provider splits differently, so no single table is right. The estimate follows what they share: common words
//! are one token, long ones several, digits go by threes, signs by ones or twos, and scripts without spaces by about
//! one character each.

use trimtab_vocab::{Part, Prompt};

/// A picture in a prompt: about what the dearest one takes.
pub(crate) const PICTURE: u64 = 1_600;

/// About how many tokens a prompt has, with its tools.
pub fn prompt_tokens(prompt: &Prompt) -> u64 {
    let messages = prompt.messages.iter().map(|message| 4 + message.parts.iter().map(part_tokens).sum::<u64>());
    let tools =
        prompt.tools.iter().map(|tool| estimate(&tool.description) + tool.input_schema.to_string().len() as u64 / 3);
    estimate(&prompt.system) + messages.sum::<u64>() + tools.sum::<u64>()
}

/// About how many tokens a part of a message has.
pub(crate) fn part_tokens(part: &Part) -> u64 {
    match part {
        Part::Text { text } | Part::Thinking { text, .. } => estimate(text),
        Part::RedactedThinking { data, .. } => data.len() as u64 / 4,
        Part::Image { .. } => PICTURE,
        Part::ToolUse(call) => estimate(&call.input.to_string()) + 16,
        Part::ToolResult(result) => estimate(&result.content) + 8,
    }
}

/// About how many tokens a text has.
pub fn estimate(text: &str) -> u64 {
    let mut tokens = 0.0_f64;
    let mut letters = 0_u32;
    let mut digits = 0_u32;
    let mut signs = 0_u32;
    let mut spaces = 0_u32;
    let mut flush = |letters: &mut u32, digits: &mut u32, signs: &mut u32, spaces: &mut u32| {
        tokens += match *letters {
            0 => 0.0,
            n => 1.0 + f64::from(n.saturating_sub(5)) / 5.5,
        };
        tokens += (f64::from(*digits) / 3.0).ceil();
        tokens += f64::from(*signs) / 1.6;
        // One space belongs to the word after it; more of them are separate tokens.
        tokens += f64::from(spaces.saturating_sub(1)) / 6.0;
        (*letters, *digits, *signs, *spaces) = (0, 0, 0, 0);
    };
    let mut foreign = 0.0_f64;
    let mut last = ' ';
    for c in text.chars() {
        let same_kind = (c.is_ascii_alphabetic()
            && last.is_ascii_alphabetic()
            && !(c.is_ascii_uppercase() && last.is_ascii_lowercase()))
            || (c.is_ascii_digit() && last.is_ascii_digit())
            || (c.is_ascii_punctuation() && last.is_ascii_punctuation())
            || (c.is_ascii_whitespace() && last.is_ascii_whitespace());
        if !same_kind {
            flush(&mut letters, &mut digits, &mut signs, &mut spaces);
        }
        match c {
            'a'..='z' | 'A'..='Z' => letters += 1,
            '0'..='9' => digits += 1,
            '\n' => foreign += 0.6,
            c if c.is_ascii_whitespace() => spaces += 1,
            c if c.is_ascii() => signs += 1,
            '\u{80}'..='\u{24f}' => foreign += 0.55,
            '\u{370}'..='\u{5ff}' => foreign += 0.5,
            '\u{600}'..='\u{fff}' => foreign += 0.7,
            '\u{2e80}'..='\u{d7ff}' => foreign += 1.0,
            c if u32::from(c) > 0xffff => foreign += 2.0,
            _ => foreign += 1.0,
        }
        last = c;
    }
    flush(&mut letters, &mut digits, &mut signs, &mut spaces);
    (tokens + foreign).ceil() as u64
}

/// The beginning of a text, of at most `most` tokens.
pub(crate) fn head(text: &str, most: u64) -> &str {
    let head = |bytes: usize| &text[..text.floor_char_boundary(bytes)];
    head(longest(text.len(), |bytes| estimate(head(bytes)) <= most))
}

/// The end of a text, of at most `most` tokens.
pub(crate) fn tail(text: &str, most: u64) -> &str {
    let tail = |bytes: usize| &text[text.ceil_char_boundary(text.len() - bytes)..];
    tail(longest(text.len(), |bytes| estimate(tail(bytes)) <= most))
}

/// The most bytes that fit, found by halving.
fn longest(all: usize, fits: impl Fn(usize) -> bool) -> usize {
    if fits(all) {
        return all;
    }
    let (mut least, mut most) = (0, all);
    while least + 1 < most {
        let middle = least + (most - least) / 2;
        if fits(middle) { least = middle } else { most = middle }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_is_near_what_a_common_tokenizer_counts() {
        // Counted with a public byte-pair vocabulary of 200,000 entries.
        let samples = [
            ("The quick brown fox jumps over the lazy dog.", 10),
            ("fn main() {\n    println!(\"Hello, world!\");\n}\n", 14),
            ("Donaudampfschifffahrtsgesellschaft ist ein langes Wort.", 17),
            ("Привет, как дела? Всё хорошо.", 10),
            ("今日はとても良い天気ですね。", 10),
            ("1234567890 3.14159 2026-11-15", 15),
            ("🦀🦀🦀", 5),
            ("", 0),
        ];
        for (text, counted) in samples {
            let guess = estimate(text);
            assert!(guess * 10 >= counted * 6 && guess * 10 <= counted * 17, "{text:?}: {guess} for {counted}");
        }
    }

    #[test]
    fn the_estimate_grows_with_the_text_and_takes_linear_time() {
        let (small, large) = (estimate(&"word ".repeat(1_000)), estimate(&"word ".repeat(100_000)));
        assert!(large > 90 * small && large < 110 * small);
    }
}
