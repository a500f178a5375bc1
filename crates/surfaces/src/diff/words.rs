//! Within lines that changed: which words did.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};
use unicode_segmentation::UnicodeSegmentation;

/// Of two lines, at least this share must have stayed for single words to stand out; below it, the line is
/// another one.
const LIKE: f64 = 0.35;
/// Bytes that are compared to match the lines of a block by likeness; where it would take more, they are
/// matched in order.
const MOST_BYTES: usize = 200_000;

/// The parts of each line that changed, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ChangedWords {
    pub(super) before: Vec<Range<usize>>,
    pub(super) after: Vec<Range<usize>>,
}

/// Which words of two lines differ; `None`: too many for that to be of use.
pub(super) fn changed(before: &str, after: &str) -> Option<ChangedWords> {
    let (old, new) = (words(before), words(after));
    let mut input = InternedInput::default();
    input.update_before(old.iter().copied());
    input.update_after(new.iter().copied());
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_no_heuristic(&input);
    let (old_ends, new_ends) = (ends(&old), ends(&new));
    let mut found = ChangedWords::default();
    for hunk in diff.hunks() {
        let bytes = |ends: &[usize], range: Range<u32>| ends[range.start as usize]..ends[range.end as usize];
        add(&mut found.before, bytes(&old_ends, hunk.before), before);
        add(&mut found.after, bytes(&new_ends, hunk.after), after);
    }
    let solid = |text: &str| text.bytes().filter(|byte| !byte.is_ascii_whitespace()).count();
    let gone: usize = found.before.iter().map(|range| solid(&before[range.clone()])).sum();
    let come: usize = found.after.iter().map(|range| solid(&after[range.clone()])).sum();
    let all = solid(before) + solid(after);
    // Lines that differ in white space only are alike, however little else they hold.
    let stayed = if all == 0 { 1.0 } else { 1.0 - (gone + come) as f64 / all as f64 };
    (stayed >= LIKE).then_some(found)
}

/// Adds a part; two with only white space between them are one, which is calmer to read.
fn add(parts: &mut Vec<Range<usize>>, part: Range<usize>, text: &str) {
    if part.is_empty() {
        return;
    }
    match parts.last_mut() {
        Some(last) if text[last.end..part.start].chars().all(char::is_whitespace) => last.end = part.end,
        _ => parts.push(part),
    }
}

/// Where each word begins, and where the last one ends.
fn ends(words: &[&str]) -> Vec<usize> {
    let mut at = 0;
    let mut ends = vec![0];
    ends.extend(words.iter().map(|word| {
        at += word.len();
        at
    }));
    ends
}

/// Runs of letters and digits, runs of white space, and every other character by itself. Scripts without
/// spaces between words have a word per character.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut from, mut kind) = (0, None);
    for (at, cluster) in text.grapheme_indices(true) {
        let now = cluster.chars().next().and_then(|c| match c {
            '\u{2e80}'..='\u{ffdc}' | '\u{20000}'..='\u{3ffff}' => None,
            c if c.is_alphanumeric() || c == '_' => Some('w'),
            c if c.is_whitespace() => Some(' '),
            _ => None,
        });
        if at > 0 && (now.is_none() || now != kind) {
            words.push(&text[from..at]);
            from = at;
        }
        kind = now;
    }
    if from < text.len() {
        words.push(&text[from..]);
    }
    words
}

/// Matches the removed lines of a block with the added ones they have become, in order: pairs of places.
pub(super) fn matched(before: &[&str], after: &[&str]) -> Vec<(usize, usize)> {
    let bytes = |lines: &[&str]| lines.iter().map(|line| line.len() + 1).sum::<usize>();
    let work = bytes(before).saturating_mul(after.len()).saturating_add(bytes(after).saturating_mul(before.len()));
    if before.len() == after.len() || work > MOST_BYTES {
        return (0..before.len().min(after.len())).map(|at| (at, at)).collect();
    }
    let mut pairs = Vec::new();
    let mut next = 0;
    for (at, old) in before.iter().enumerate() {
        if old.trim().is_empty() {
            continue;
        }
        if let Some(there) = (next..after.len()).find(|there| changed(old, after[*there]).is_some()) {
            pairs.push((at, there));
            next = there + 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(before: &str, after: &str) -> Option<(Vec<String>, Vec<String>)> {
        let found = changed(before, after)?;
        let of =
            |text: &str, ranges: &[Range<usize>]| ranges.iter().map(|range| text[range.clone()].to_owned()).collect();
        Some((of(before, &found.before), of(after, &found.after)))
    }

    #[test]
    fn single_words_stand_out() {
        let both = |a: &[&str], b: &[&str]| {
            Some((a.iter().map(|x| (*x).to_owned()).collect(), b.iter().map(|x| (*x).to_owned()).collect()))
        };
        assert_eq!(parts("let a = 1;", "let a = 2;"), both(&["1"], &["2"]));
        assert_eq!(parts("call(first_name)", "call(first_name, last)"), both(&[], &[", last"]));
        assert_eq!(parts("größe = 日本語", "größe = 日本人"), both(&["語"], &["人"]));
        assert_eq!(parts("  x", "    x"), both(&["  "], &["    "]));
        assert_eq!(parts("alpha beta gamma", "delta(epsilon)"), None);
    }

    #[test]
    fn lines_are_matched_with_what_they_have_become() {
        assert_eq!(
            matched(&["let a = 1;", "let b = 2;"], &["// new", "let a = 10;", "let b = 2 + 1;"]),
            [(0, 1), (1, 2)]
        );
        assert_eq!(matched(&["gone entirely", "keep(me)"], &["keep(you)"]), [(1, 0)]);
    }
}
