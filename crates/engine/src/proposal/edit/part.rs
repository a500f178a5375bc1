//! A search for a part of a line.

use trimtab_vocab::format;

use super::lines::{LineEnding, TextLine, TextLines, is_blank, split};
use super::splice::written;
use super::{EditRefusal, RefusalKind};

/// A shorter search says too little about where it belongs.
const SHORTEST: usize = 8;
/// How many lines a refusal names.
const MOST_LINES: usize = 5;

/// Where `search` occurs: the line, and the byte in it.
fn occurrences(file: &TextLines<'_>, search: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (at, line) in file.lines.iter().enumerate() {
        let mut from = 0;
        while let Some(step) = find(&line.text[from..], search) {
            found.push((at, from + step));
            from += step + 1;
        }
    }
    found
}

/// The first place of `wanted`, in time linear in `text`, even if it almost matches everywhere.
fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, wanted)
}

/// The file with `search`, a part of one of its lines, replaced; why not, if it occurs at all; none if it does not.
pub(super) fn replace(
    path: &str,
    name: &str,
    file: &TextLines<'_>,
    search: &str,
    replace: &str,
) -> Option<Result<Vec<u8>, EditRefusal>> {
    if search.contains(['\n', '\r']) || search.is_empty() {
        return None;
    }
    let places = occurrences(file, search.as_bytes());
    let (line, at) = *places.first()?;
    if places.len() > 1 {
        let mut lines: Vec<String> = places.iter().map(|(line, _)| (line + 1).to_string()).collect();
        lines.dedup();
        let more = if lines.len() > MOST_LINES { " and more" } else { "" };
        lines.truncate(MOST_LINES);
        let (noun, lines) = (format::verb(lines.len(), "line", "lines"), lines.join(", "));
        let reason = format!(
            "{name} is only a part of a line, and occurs {} times in {path} ({noun} {lines}{more}). Give whole lines.",
            places.len()
        );
        return Some(Err(EditRefusal::new(RefusalKind::Ambiguous, reason)));
    }
    if search.chars().count() < SHORTEST {
        let reason = format!(
            "{name} is only a part of line {} of {path}. Give whole lines, or at least {SHORTEST} characters of one.",
            line + 1
        );
        return Some(Err(EditRefusal::new(RefusalKind::NotFound, reason)));
    }
    let whole = file.lines[line];
    if is_done(whole, at, search, replace) {
        let reason = format!("{name} is already replaced: line {} of {path} has the new text.", line + 1);
        return Some(Err(EditRefusal::new(RefusalKind::AlreadyApplied, reason)));
    }
    Some(Ok(spliced(file, line, at, search.len(), replace)))
}

/// Whether the new text is already there, and contains the old one.
fn is_done(line: TextLine<'_>, at: usize, search: &str, replace: &str) -> bool {
    replace != search
        && replace.match_indices(search).any(|(inside, _)| {
            let from = at.checked_sub(inside);
            from.is_some_and(|from| line.text[from..].starts_with(replace.as_bytes()))
        })
}

fn spliced(file: &TextLines<'_>, line: usize, at: usize, len: usize, replace: &str) -> Vec<u8> {
    let whole = file.lines[line];
    let style = match whole.ending {
        LineEnding::None => file.dominant().unwrap_or(LineEnding::Lf),
        ending => ending,
    };
    let behind = &whole.text[at + len..];
    // Line ends at the ends of a block do not matter, so one behind the last text of a line adds no empty line.
    let replace = if is_blank(behind) { replace.trim_end_matches(['\r', '\n']) } else { replace };
    let mut text = whole.text[..at].to_vec();
    for part in split(replace.as_bytes()) {
        text.extend_from_slice(part.text);
        if part.ending != LineEnding::None {
            text.extend_from_slice(style.bytes());
        }
    }
    text.extend_from_slice(behind);
    let lines = file.lines.iter().enumerate().map(|(number, other)| match number == line {
        true => (text.clone().into(), other.ending),
        false => (other.text.into(), other.ending),
    });
    written(file.bom, lines.collect(), file.ends_with_newline(), style)
}
