//! Puts placed hunks into a file: context lines stay unchanged, added lines get the file's line ends.

use std::borrow::Cow;

use super::hunk::{Op, PatchHunk};
use super::lines::{LineEnding, TextLine, TextLines, bom};
use super::place::Placed;
use super::{EditRefusal, RefusalKind};

/// A hunk, and where it goes.
pub(super) struct Splice<'h, 't> {
    name: String,
    hunk: Cow<'h, PatchHunk<'t>>,
    placed: Placed<'t>,
}

impl<'h, 't> Splice<'h, 't> {
    pub(super) fn new(name: String, hunk: &'h PatchHunk<'t>, mut placed: Placed<'t>) -> Self {
        let hunk = placed.aligned.take().map_or(Cow::Borrowed(hunk), Cow::Owned);
        Splice { name, hunk, placed }
    }
    fn start(&self) -> usize {
        self.placed.start
    }

    fn end(&self) -> usize {
        self.placed.start + self.hunk.old_len()
    }
}

/// The bytes of `file` with all splices made. `style` is how lines end if the file does not show it.
pub(super) fn splice(
    path: &str,
    file: &TextLines<'_>,
    mut splices: Vec<Splice<'_, '_>>,
    style: LineEnding,
) -> Result<Vec<u8>, EditRefusal> {
    splices.sort_by_key(|splice| (splice.start(), splice.end()));
    refuse_overlap(path, &splices)?;
    let style = file.dominant().unwrap_or(style);
    let mut out = Vec::with_capacity(file.lines.len());
    let mut at = 0;
    for splice in &splices {
        out.extend(file.lines[at..splice.start()].iter().map(copied));
        at = write_hunk(file, splice, style, &mut out);
    }
    out.extend(file.lines[at..].iter().map(copied));
    let newline = splices
        .iter()
        .filter(|splice| splice.end() == file.lines.len())
        .find_map(|splice| final_newline(&splice.hunk))
        .unwrap_or(file.lines.is_empty() || file.ends_with_newline());
    Ok(written(file.bom, out, newline, style))
}

fn copied<'a>(line: &TextLine<'a>) -> (Cow<'a, [u8]>, LineEnding) {
    (Cow::Borrowed(line.text), line.ending)
}

/// Hunks may touch, but no line belongs to two of them and no two insert at one point: their order
/// would be a guess.
fn refuse_overlap(path: &str, splices: &[Splice<'_, '_>]) -> Result<(), EditRefusal> {
    for pair in splices.windows(2) {
        let (one, two) = (&pair[0], &pair[1]);
        let same_point = one.start() == two.start() && one.end() == two.end();
        if two.start() < one.end() || same_point {
            let reason = format!(
                "{} and {} overlap at line {} of {path}. Join them into one.",
                one.name,
                two.name,
                two.start() + 1
            );
            return Err(EditRefusal::new(RefusalKind::Overlap, reason));
        }
    }
    Ok(())
}

/// Writes the lines of one hunk and says which line of the file comes next.
fn write_hunk<'a>(
    file: &TextLines<'a>,
    splice: &Splice<'_, '_>,
    style: LineEnding,
    out: &mut Vec<(Cow<'a, [u8]>, LineEnding)>,
) -> usize {
    let mut at = splice.start();
    let mut added = splice.placed.added.iter();
    for group in splice.hunk.lines.chunk_by(|a, b| (a.op == Op::Keep) == (b.op == Op::Keep)) {
        let old = group.iter().filter(|line| line.op != Op::Add).count();
        if group.first().is_some_and(|line| line.op == Op::Keep) {
            out.extend(file.lines[at..at + old].iter().map(copied));
        } else {
            let new = group.len() - old;
            let endings = SpliceEndings::for_group(file, at, at + old, style);
            out.extend(
                added.by_ref().take(new).enumerate().map(|(n, text)| (Cow::Owned(text.clone()), endings.nth(n))),
            );
        }
        at += old;
    }
    at
}

/// The line ends of added lines: those of the lines that they replace, one by one, else those of both
/// neighbours, else those of most lines of the file.
struct SpliceEndings<'f, 'a> {
    replaced: &'f [TextLine<'a>],
    otherwise: LineEnding,
}

impl<'f, 'a> SpliceEndings<'f, 'a> {
    fn for_group(file: &'f TextLines<'a>, start: usize, end: usize, style: LineEnding) -> Self {
        let ending = |at: Option<usize>| {
            at.and_then(|at| file.lines.get(at)).map(|line| line.ending).filter(|ending| *ending != LineEnding::None)
        };
        let otherwise = match (ending(start.checked_sub(1)), ending(Some(end))) {
            (Some(before), Some(after)) if before != after => style,
            (before, after) => before.or(after).unwrap_or(style),
        };
        SpliceEndings { replaced: &file.lines[start..end], otherwise }
    }

    fn nth(&self, n: usize) -> LineEnding {
        let last = self.replaced.len().saturating_sub(1);
        let replaced = self.replaced.get(n.min(last)).map(|line| line.ending);
        replaced.filter(|ending| *ending != LineEnding::None).unwrap_or(self.otherwise)
    }
}

/// What the markers of a hunk at the end of the file say about its final newline. The same marker on
/// both sides says that nothing changes there.
fn final_newline(hunk: &PatchHunk<'_>) -> Option<bool> {
    let old = hunk.old().last().filter(|line| line.op == Op::Remove).is_some_and(|line| line.no_newline);
    let new = hunk.new_side().last()?;
    match (old, new.no_newline) {
        (true, false) => Some(true),
        (false, true) if new.op == Op::Add => Some(false),
        _ => None,
    }
}

/// The bytes of lines. Only the last may be without a line end, according to `newline`.
pub(super) fn written(
    has_bom: bool,
    lines: Vec<(Cow<'_, [u8]>, LineEnding)>,
    newline: bool,
    style: LineEnding,
) -> Vec<u8> {
    let size = lines.iter().map(|(text, _)| text.len() + 2).sum::<usize>() + 3;
    let mut bytes = Vec::with_capacity(size);
    bytes.extend_from_slice(bom(has_bom));
    let count = lines.len();
    for (at, (text, ending)) in lines.into_iter().enumerate() {
        bytes.extend_from_slice(&text);
        let ending = match ending {
            _ if at + 1 == count && !newline => LineEnding::None,
            LineEnding::None => style,
            ending => ending,
        };
        bytes.extend_from_slice(ending.bytes());
    }
    bytes
}
