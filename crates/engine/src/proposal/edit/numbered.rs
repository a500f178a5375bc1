//! Removes line numbers that were copied into a search block.
//!
//! `read_file` shows each line with its number and a tab. Other tools use ` | `, `→`, or `: `, and models that were
//! trained on those write them, too.

use super::SearchReplace;
use super::lines::{TextLine, TextLines, split, without_bom};

/// Separators between the number and the line.
const SEPARATORS: [&str; 4] = ["\t", " | ", "→", ": "];

/// A block without its numbers.
#[derive(Debug)]
pub(super) struct Unnumbered {
    pub(super) block: SearchReplace,
    /// The number of its first line.
    pub(super) first: usize,
}

/// What became of the numbers of a block.
#[derive(Debug)]
pub(super) enum Numbering {
    /// The search has none, or not on every line, or not consecutive ones.
    None,
    /// Some lines of the replacement have them and others do not.
    Mixed,
    TakenOff(Unnumbered),
}

/// The number of a line and the text after it.
fn numbered<'l>(line: &'l [u8], separator: &str) -> Option<(usize, &'l [u8])> {
    let start = line.iter().position(|byte| *byte != b' ')?;
    let line = &line[start..];
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&line[..digits]).ok().filter(|_| digits <= 7)?.parse().ok()?;
    let rest = &line[digits..];
    let text = rest.strip_prefix(separator.as_bytes());
    // An empty line often lost the blank at its end.
    let text = text.or_else(|| (rest == separator.trim_end().as_bytes() && !rest.is_empty()).then_some(&b""[..]));
    Some((number, text?))
}

/// The first number and the lines without theirs, if every line has one and they are consecutive.
fn consecutive<'l>(lines: &[TextLine<'l>], separator: &str) -> Option<(usize, Vec<TextLine<'l>>)> {
    let mut first = None;
    let mut texts = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        let (number, text) = numbered(line.text, separator)?;
        if *first.get_or_insert(number) + at != number {
            return None;
        }
        texts.push(TextLine { text, ending: line.ending });
    }
    Some((first?, texts))
}

fn joined(lines: &[TextLine<'_>]) -> String {
    let bytes: Vec<u8> = lines.iter().flat_map(|line| [line.text, line.ending.bytes()].concat()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Takes copied numbers off a block. Numbers that the file's own lines have are text, and stay.
pub(super) fn take_off(block: &SearchReplace, file: &TextLines<'_>) -> Numbering {
    let search = split(without_bom(&block.search).as_bytes());
    let replace = split(without_bom(&block.replace).as_bytes());
    let found = SEPARATORS.iter().find_map(|separator| Some((*separator, consecutive(&search, separator)?)));
    let Some((separator, (first, lines))) = found else { return Numbering::None };
    if first == 0 || file.lines.iter().any(|line| numbered(line.text, separator).is_some()) {
        return Numbering::None;
    }
    let has_number = |line: &TextLine<'_>| numbered(line.text, separator).is_some();
    let replace = match consecutive(&replace, separator) {
        Some((_, lines)) => joined(&lines),
        None if replace.iter().any(has_number) => return Numbering::Mixed,
        None => block.replace.clone(),
    };
    Numbering::TakenOff(Unnumbered { block: SearchReplace { search: joined(&lines), replace }, first })
}
