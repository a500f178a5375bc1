//! Tolerates blank lines that the context lacks or has in excess.
//!
//! If the other lines of a hunk match at one place only, blank lines between them are no reason to refuse: the file
//! keeps its own. It must only be certain on which side of them an added line goes.

use super::hunk::{HunkLine, Op, PatchHunk};
use super::lines::is_blank;
use super::occur::{Index, LineMatch};

/// A file without its blank lines, and the positions of the others.
pub(super) struct Packed<'f> {
    index: Index<'f>,
    at: Vec<usize>,
}

impl<'f> Packed<'f> {
    pub(super) fn new(file: &[&'f [u8]]) -> Self {
        let (at, lines): (Vec<usize>, Vec<&'f [u8]>) =
            file.iter().copied().enumerate().filter(|(_, line)| !is_blank(line)).unzip();
        Packed { index: Index::new(LineMatch::TrailingBlanks, &lines), at }
    }

    /// Where the lines of `hunk` that are not blank stand, at each place that fits.
    pub(super) fn places(&self, hunk: &PatchHunk<'_>) -> Vec<&[usize]> {
        let removes_blank = hunk.lines.iter().any(|line| line.op == Op::Remove && is_blank(line.text));
        let old: Vec<&[u8]> = hunk.old().map(|line| line.text).filter(|line| !is_blank(line)).collect();
        if removes_blank || old.is_empty() {
            return Vec::new();
        }
        self.index.places(&old).into_iter().map(|start| &self.at[start..start + old.len()]).collect()
    }
}

/// The hunk with the blank lines that the file of `len` lines has between `lines`, and its first line; none if it is
/// not certain where an added line goes.
pub(super) fn aligned<'t>(hunk: &PatchHunk<'t>, lines: &[usize], file: &[&[u8]]) -> Option<(PatchHunk<'t>, usize)> {
    let blank = || HunkLine::new(Op::Keep, b"");
    let is_gap = |line: &HunkLine<'_>| line.op == Op::Add || (line.op == Op::Keep && is_blank(line.text));
    let mut out: Vec<HunkLine<'t>> = Vec::with_capacity(hunk.lines.len());
    let mut rest = &hunk.lines[..];
    let mut start = *lines.first()?;
    for at in 0..=lines.len() {
        let (gap, next) = rest.split_at(rest.iter().position(|line| !is_gap(line)).unwrap_or(rest.len()));
        let said = gap.iter().filter(|line| line.op == Op::Keep).count();
        let adds = || gap.iter().filter(|line| line.op == Op::Add).cloned();
        let previous = at.checked_sub(1).map(|at| lines[at]);
        let has = match (previous, lines.get(at)) {
            (Some(one), Some(two)) => two - one - 1,
            (None, Some(first)) => file[..*first].iter().rev().take_while(|line| is_blank(line)).count(),
            (Some(last), None) => file[last + 1..].iter().take_while(|line| is_blank(line)).count(),
            (None, None) => return None,
        };
        let is_edge = previous.is_none() || at == lines.len();
        let is_removed = |line: Option<&HunkLine<'_>>| line.is_some_and(|line| line.op == Op::Remove);
        if adds().next().is_none() {
            // Context before and after the changes says only where they are.
            if !is_edge {
                if said != has && is_removed(out.last()) && is_removed(next.first()) {
                    return None;
                }
                out.extend(std::iter::repeat_with(blank).take(has));
            }
        } else if said == has {
            out.extend(gap.iter().cloned());
            if previous.is_none() {
                start -= has;
            }
        } else if has == 0 || (said == 0 && is_edge) {
            out.extend(adds());
        } else {
            // What replaces a line goes where that line was; the blank lines behind it stay behind it.
            let behind = gap.iter().position(|line| line.op == Op::Keep).unwrap_or(gap.len());
            let replaces = is_removed(out.last()) && gap[behind..].iter().all(|line| line.op == Op::Keep);
            if !replaces || is_edge || is_removed(next.first()) {
                return None;
            }
            out.extend(adds());
            out.extend(std::iter::repeat_with(blank).take(has));
        }
        if let Some((line, after)) = next.split_first() {
            out.push(line.clone());
            rest = after;
        }
    }
    Some((PatchHunk { lines: out, ..hunk.clone() }, start))
}
