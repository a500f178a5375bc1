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
    let bytes = text.as_bytes();
    let (mut tokens, mut foreign) = (0.0_f64, 0.0_f64);
    let mut at = 0;
    while let Some(first) = bytes.get(at) {
        let start = at;
        match first {
            b'a'..=b'z' | b'A'..=b'Z' => {
                at += 1;
                // A capital begins a word of its own.
                let is_in_word = |last: u8, next: u8| {
                    next.is_ascii_alphabetic() && !(next.is_ascii_uppercase() && last.is_ascii_lowercase())
                };
                while at < bytes.len() && is_in_word(bytes[at - 1], bytes[at]) {
                    at += 1;
                }
                tokens += 1.0 + f64::from(count(at - start).saturating_sub(5)) / 5.5;
            }
            b'0'..=b'9' => {
                at += length(&bytes[at..], u8::is_ascii_digit);
                tokens += f64::from(count(at - start).div_ceil(3));
            }
            byte if byte.is_ascii_punctuation() => {
                at += length(&bytes[at..], u8::is_ascii_punctuation);
                tokens += f64::from(count(at - start)) / 1.6;
            }
            byte if byte.is_ascii_whitespace() => {
                at += length(&bytes[at..], u8::is_ascii_whitespace);
                let lines = bytes[start..at].iter().filter(|byte| **byte == b'\n').count();
                (0..lines).for_each(|_| foreign += 0.6);
                // One space belongs to the word after it; more of them are separate tokens.
                tokens += f64::from(count(at - start - lines).saturating_sub(1)) / 6.0;
            }
            byte if byte.is_ascii() => {
                at += 1;
                tokens += 1.0 / 1.6;
            }
            _ => {
                let c = text[at..].chars().next().unwrap_or_default();
                at += c.len_utf8();
                foreign += match c {
                    '\u{80}'..='\u{24f}' => 0.55,
                    '\u{370}'..='\u{5ff}' => 0.5,
                    '\u{600}'..='\u{fff}' => 0.7,
                    c if u32::from(c) > 0xffff => 2.0,
                    _ => 1.0,
                };
            }
        }
    }
    (tokens + foreign).ceil() as u64
}

fn length(bytes: &[u8], is_in: fn(&u8) -> bool) -> usize {
    bytes.iter().position(|byte| !is_in(byte)).unwrap_or(bytes.len())
}

fn count(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
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
