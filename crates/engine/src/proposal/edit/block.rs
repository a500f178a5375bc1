//! Search blocks: whole lines or a part of one, found and replaced one block after another.

use std::borrow::Cow;

use super::hunk::{HunkLine, Numbers, Op, PatchHunk};
use super::lines::{self, LineEnding, TextLine, TextLines, is_blank, split, without_bom};
use super::numbered::{self, Numbering, Unnumbered};
use super::place::Finder;
use super::splice::{Splice, splice};
use super::{EditRefusal, NewContent, RefusalKind, SearchReplace, elision, part};

pub(super) fn apply(path: &str, blocks: &[SearchReplace], before: Option<&[u8]>) -> Result<NewContent, EditRefusal> {
    let Some(before) = before else {
        let reason =
            format!("{path} does not exist, so nothing in it can be replaced. Give its whole text to create it.");
        return Err(EditRefusal::new(RefusalKind::Missing, reason));
    };
    lines::readable(path, before, true)?;
    let mut bytes = Cow::Borrowed(before);
    for (at, block) in blocks.iter().enumerate() {
        let name = if blocks.len() == 1 { "The search text".to_owned() } else { format!("Search block {}", at + 1) };
        let replaced = replace(path, &name, block, &bytes);
        bytes = Cow::Owned(replaced.map_err(|refusal| all_or_partly(path, blocks, before, refusal))?);
    }
    if *bytes == *before {
        let reason = format!("The edit changes nothing in {path}: what it would write is there already.");
        return Err(EditRefusal::new(RefusalKind::NoChange, reason));
    }
    Ok(NewContent::Write(bytes.into_owned()))
}

/// Only where every block is there already has the edit nothing left to do.
fn all_or_partly(path: &str, blocks: &[SearchReplace], before: &[u8], refusal: EditRefusal) -> EditRefusal {
    if refusal.kind != RefusalKind::AlreadyApplied {
        return refusal;
    }
    let is_done = |block: &SearchReplace| {
        replace(path, "", block, before).is_err_and(|refusal| refusal.kind == RefusalKind::AlreadyApplied)
    };
    match blocks {
        [block] if !is_certain(block, before) => EditRefusal { kind: RefusalKind::NotFound, ..refusal },
        _ if blocks.iter().all(|block| is_done(block) && is_certain(block, before)) => refusal,
        _ => EditRefusal { kind: RefusalKind::PartlyApplied, ..refusal },
    }
}

/// Whether a block whose new text was found in the file is certainly applied already. If the old text is no longer
/// around it, the new one must be long enough and occur once.
fn is_certain(block: &SearchReplace, before: &[u8]) -> bool {
    const TELLING: usize = 8;
    let before = String::from_utf8_lossy(before);
    let (search, replace) = (block.search.trim(), block.replace.trim());
    let is_telling = replace.chars().filter(|c| c.is_alphanumeric()).count() >= TELLING;
    before.contains(search) || (is_telling && before.matches(replace).take(2).count() == 1)
}

fn replace(path: &str, name: &str, block: &SearchReplace, bytes: &[u8]) -> Result<Vec<u8>, EditRefusal> {
    let file = TextLines::split(bytes);
    let refusal = match replace_lines(path, name, block, None, bytes, &file) {
        Err(refusal) if refusal.kind == RefusalKind::NotFound => refusal,
        other => return other,
    };
    // Text that matches the file literally has no copied line numbers.
    let (search, replacement) = (without_bom(&block.search), without_bom(&block.replace));
    if let Some(replaced) = part::replace(path, name, &file, search, replacement) {
        return replaced;
    }
    match numbered::take_off(block, &file) {
        Numbering::None => Err(refusal),
        Numbering::Mixed => {
            let reason =
                format!("{name} has line numbers in front of some lines. Give the lines without the line numbers.");
            Err(EditRefusal::new(RefusalKind::Malformed, reason))
        }
        Numbering::TakenOff(Unnumbered { block, first }) => {
            replace_lines(path, name, &block, Some(first), bytes, &file).map_err(|mut refusal| {
                refusal.reason.push_str(" Give the lines without the line numbers.");
                refusal
            })
        }
    }
}

/// Replaces whole lines. `first` is the number that the first one was given.
fn replace_lines(
    path: &str,
    name: &str,
    block: &SearchReplace,
    first: Option<usize>,
    bytes: &[u8],
    file: &TextLines<'_>,
) -> Result<Vec<u8>, EditRefusal> {
    let search = split(without_bom(&block.search).as_bytes());
    if search.iter().all(|line| is_blank(line.text)) {
        let reason = format!("{name} is empty. Give the lines of {path} to replace.");
        return Err(EditRefusal::new(RefusalKind::EmptySearch, reason));
    }
    let replace = split(without_bom(&block.replace).as_bytes());
    let numbers = first.map(|old| Numbers { old, old_count: None, new: None, new_count: None });
    let hunk = PatchHunk { lines: compare(&search, &replace), numbers, ..PatchHunk::default() };
    elision::refuse(path, name, &hunk.lines, hunk.old().map(|line| line.text))?;
    lines::writable(path, bytes, hunk.added())?;
    let placed = Finder::new(path, file).place(name, &hunk, 0)?;
    let style = match replace.first().map(|line| line.ending) {
        Some(LineEnding::CrLf) => LineEnding::CrLf,
        _ => LineEnding::Lf,
    };
    splice(path, file, vec![Splice::new(name.to_owned(), &hunk, placed)], style)
}

/// The two sides as one hunk: lines that both have are context, so that they are not written again
/// and keep the white space that they have in the file.
fn compare<'t>(old: &[TextLine<'t>], new: &[TextLine<'t>]) -> Vec<HunkLine<'t>> {
    let same = |a: &TextLine<'_>, b: &TextLine<'_>| a.text == b.text;
    let head = old.iter().zip(new).take_while(|(a, b)| same(a, b)).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| same(a, b)).count();
    let (old_middle, new_middle) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    let mut lines: Vec<HunkLine<'t>> = old[..head].iter().map(|line| HunkLine::new(Op::Keep, line.text)).collect();
    let (mut i, mut j) = (0, 0);
    for (a, b) in common(old_middle, new_middle) {
        lines.extend(old_middle[i..a].iter().map(|line| HunkLine::new(Op::Remove, line.text)));
        lines.extend(new_middle[j..b].iter().map(|line| HunkLine::new(Op::Add, line.text)));
        lines.push(HunkLine::new(Op::Keep, old_middle[a].text));
        (i, j) = (a + 1, b + 1);
    }
    lines.extend(old_middle[i..].iter().map(|line| HunkLine::new(Op::Remove, line.text)));
    lines.extend(new_middle[j..].iter().map(|line| HunkLine::new(Op::Add, line.text)));
    lines.extend(old_rest[old_rest.len() - tail..].iter().map(|line| HunkLine::new(Op::Keep, line.text)));
    lines
}

/// A longest common subsequence, as pairs of positions; none if the texts are too long for the table.
fn common(old: &[TextLine<'_>], new: &[TextLine<'_>]) -> Vec<(usize, usize)> {
    const MOST_CELLS: usize = 1_000_000;
    let width = new.len() + 1;
    if old.is_empty() || new.is_empty() || width.saturating_mul(old.len() + 1) > MOST_CELLS {
        return Vec::new();
    }
    let mut lengths = vec![0u32; width * (old.len() + 1)];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i * width + j] = if old[i].text == new[j].text {
                lengths[(i + 1) * width + j + 1] + 1
            } else {
                lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < old.len() && j < new.len() {
        if old[i].text == new[j].text {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}
