//! Detects two lines of a diff on one line (`-old+new`), which a lost line break causes.

use super::hunk::{Op, PatchHunk};
use super::lines::{is_blank, shown, trim_end};
use super::occur::LineMatch;
use super::place::Finder;
use super::{EditRefusal, RefusalKind};

/// Markers within one line that are checked, so that a line of minus signs is not slow.
const MOST_MARKS: usize = 64;

fn refusal(name: &str, line: &[u8]) -> EditRefusal {
    let reason = format!("{name} has two lines run together on one: {}. Put each one on its own line.", shown(line));
    EditRefusal::new(RefusalKind::RunTogether, reason)
}

/// Explains an old side that was not found by a removed or context line that another line was joined to.
pub(super) fn in_removed(name: &str, hunk: &PatchHunk<'_>, finder: &Finder<'_>) -> Option<EditRefusal> {
    if !hunk.has_markers {
        return None;
    }
    let index = finder.index(LineMatch::Indentation);
    let stands = |text: &[u8]| !index.places(&[text]).is_empty();
    // Each look at the index walks the file, so only the first few lines are worth it.
    hunk.old().take(16).find_map(|line| {
        if stands(line.text) {
            return None;
        }
        let marks = line.text.iter().enumerate().skip(1).filter(|(_, byte)| matches!(byte, b'+' | b'-'));
        let joined = marks.take(8).any(|(at, _)| !is_blank(&line.text[..at]) && stands(&line.text[..at]));
        joined.then(|| refusal(name, line.text))
    })
}

/// Refuses an added line that ends in a mark and a line of the place: `+new-old`. That line has to
/// look like code, so that a hyphen between words is not mistaken for a mark.
pub(super) fn refuse_added(name: &str, hunk: &PatchHunk<'_>, file: &[&[u8]], start: usize) -> Result<(), EditRefusal> {
    if !hunk.has_markers {
        return Ok(());
    }
    const AROUND: usize = 2;
    let end = start + hunk.old_len();
    let around = &file[start.saturating_sub(AROUND)..(end + AROUND).min(file.len())];
    let around: std::collections::HashSet<&[u8]> = around.iter().map(|line| trim_end(line)).collect();
    let is_code = |text: &[u8]| text.len() >= 4 && text.iter().any(|byte| b" \t(){};=:,".contains(byte));
    let ends_in_line = |text: &[u8]| {
        let marks = text.iter().enumerate().skip(1).filter(|(_, byte)| matches!(byte, b'+' | b'-'));
        marks.take(MOST_MARKS).any(|(at, _)| {
            let rest = trim_end(&text[at + 1..]);
            // Marks alone in front make a comment of the line (`--    x = 1`), not another line.
            let has_words = text[..at].iter().any(|byte| byte.is_ascii_alphanumeric());
            has_words && is_code(rest) && around.contains(rest)
        })
    };
    match hunk.lines.iter().find(|line| line.op == Op::Add && ends_in_line(line.text)) {
        Some(line) => Err(refusal(name, line.text)),
        None => Ok(()),
    }
}
