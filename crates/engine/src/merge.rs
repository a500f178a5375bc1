//! Three-way merge of texts, line by line.
//!
//! A line that neither side has touched keeps its bytes, its ending, and its place. A change of one side is taken
//! over. Where both sides have changed the same or adjacent lines differently, there is a [`Clash`], and nothing is
//! guessed. Binary files are merged only if one side is unchanged or both sides are the same.
//!
//! Lines are compared as everywhere ([`crate::proposal::compare`]), so that hunks have the numbers that users see.
//! For hostile texts the comparison is coarser, which gives more clashes but never a wrong result.

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::proposal::compare::{self, ChangedBlock, DiffHunk};

/// A place where both sides differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clash {
    Lines {
        /// Where they are in the left text, from 0.
        left: Range<usize>,
        /// What both have started from.
        base: Vec<u8>,
        /// The left side's version.
        ours: Vec<u8>,
        /// The right side's version.
        theirs: Vec<u8>,
    },
    /// One of the three is not text, so it cannot be merged in parts.
    NoText,
    /// One of the three has more bytes or lines than are compared.
    TooLarge,
    /// One side has changed the file and the other has removed it, or both have created one.
    Existence,
    /// Both have changed who may do what with the file.
    Mode,
}

/// A file: its bytes and its permission bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File<'a> {
    pub bytes: &'a [u8],
    /// The permission bits.
    pub mode: u32,
}

/// Bytes of a text that is merged line by line, at most.
const LARGEST: usize = 16 * 1024 * 1024;
/// Lines of it, at most.
const MOST_LINES: usize = 1_000_000;

/// Whose lines are taken where both sides clash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prefer {
    /// Neither: the merge fails.
    #[default]
    Neither,
    /// The left side's.
    Left,
    /// The right side's.
    Right,
}

/// Merges the changes of `left` and `right` to a file; absent: there is no file.
pub fn merge_files(
    base: Option<File<'_>>,
    left: Option<File<'_>>,
    right: Option<File<'_>>,
    prefer: Prefer,
) -> Result<Option<(Vec<u8>, u32)>, Vec<Clash>> {
    let whole = |side: Option<File<'_>>| Ok(side.map(|file| (file.bytes.to_vec(), file.mode)));
    if left == right || right == base {
        return whole(left);
    }
    if left == base {
        return whole(right);
    }
    let (Some(base), Some(ours), Some(theirs)) = (base, left, right) else {
        return match prefer {
            Prefer::Neither => Err(vec![Clash::Existence]),
            Prefer::Left => whole(left),
            Prefer::Right => whole(right),
        };
    };
    let mode = match (base.mode, ours.mode, theirs.mode, prefer) {
        (_, left, right, _) if left == right => left,
        (base, left, right, _) if left == base => right,
        (base, left, right, _) if right == base => left,
        (.., Prefer::Neither) => return Err(vec![Clash::Mode]),
        (_, left, _, Prefer::Left) => left,
        (_, _, right, Prefer::Right) => right,
    };
    merge(base.bytes, ours.bytes, theirs.bytes, prefer).map(|bytes| Some((bytes, mode)))
}

/// Merges the changes of `left` and `right` to `base`.
pub fn merge(base: &[u8], left: &[u8], right: &[u8], prefer: Prefer) -> Result<Vec<u8>, Vec<Clash>> {
    if left == right || right == base {
        return Ok(left.to_vec());
    }
    if left == base {
        return Ok(right.to_vec());
    }
    if let Some(clash) = [base, left, right].into_iter().find_map(unfit) {
        return match prefer {
            Prefer::Neither => Err(vec![clash]),
            Prefer::Left => Ok(left.to_vec()),
            Prefer::Right => Ok(right.to_vec()),
        };
    }
    let (base, left, right) = (MergeText::new(base), MergeText::new(left), MergeText::new(right));
    let (mut lefts, mut rights) = (MergeSide::new(&base, &left), MergeSide::new(&base, &right));
    let mut merged = Vec::with_capacity(left.bytes.len().max(right.bytes.len()));
    let (mut clashes, mut at) = (Vec::new(), 0);
    while let Some(from) = lefts.next_at().into_iter().chain(rights.next_at()).min() {
        merged.extend_from_slice(base.lines(at..from));
        // Changes that touch belong together.
        let mut to = from;
        let (was_left, was_right) = (lefts.place(from), rights.place(from));
        let (mut in_left, mut in_right) = (false, false);
        loop {
            match (lefts.take_until(&mut to), rights.take_until(&mut to)) {
                (false, false) => break,
                (one, other) => (in_left, in_right) = (in_left || one, in_right || other),
            }
        }
        let (its_left, its_right) = (was_left..lefts.place(to), was_right..rights.place(to));
        let (ours, theirs) = (left.lines(its_left.clone()), right.lines(its_right));
        let clash = in_left && in_right && ours != theirs;
        match (clash, prefer) {
            (false, _) => merged.extend_from_slice(if in_left { ours } else { theirs }),
            (true, Prefer::Left) => merged.extend_from_slice(ours),
            (true, Prefer::Right) => merged.extend_from_slice(theirs),
            (true, Prefer::Neither) => clashes.push(Clash::Lines {
                left: its_left,
                base: base.lines(from..to).to_vec(),
                ours: ours.to_vec(),
                theirs: theirs.to_vec(),
            }),
        }
        at = to;
    }
    merged.extend_from_slice(base.lines(at..base.len()));
    if clashes.is_empty() { Ok(merged) } else { Err(clashes) }
}

/// The hunks of a change, in order; none if either text cannot be taken apart.
pub fn hunks(before: &[u8], after: &[u8]) -> Vec<DiffHunk> {
    if unfit(before).or_else(|| unfit(after)).is_some() {
        return Vec::new();
    }
    compare::hunks(before, after)
}

/// The new text without some of its hunks, counted from 1; the error is the number of a hunk that does not exist.
pub fn without(before: &[u8], after: &[u8], unwanted: &[u32]) -> Result<Vec<u8>, u32> {
    let hunks = hunks(before, after);
    let all = u32::try_from(hunks.len()).unwrap_or(u32::MAX);
    if let Some(wrong) = unwanted.iter().find(|number| !(1..=all).contains(*number)) {
        return Err(*wrong);
    }
    let (before, after) = (MergeText::new(before), MergeText::new(after));
    let (mut made, mut at) = (Vec::new(), 0);
    for (number, hunk) in (1..).zip(&hunks) {
        for block in hunk.blocks.iter().filter(|_| unwanted.contains(&number)) {
            made.extend_from_slice(after.lines(at..block.after.start));
            made.extend_from_slice(before.lines(block.before.clone()));
            at = block.after.end;
        }
    }
    made.extend_from_slice(after.lines(at..after.len()));
    Ok(made)
}

/// Why bytes cannot be taken apart into lines.
fn unfit(bytes: &[u8]) -> Option<Clash> {
    let newlines = || bytes.iter().filter(|byte| **byte == b'\n').count();
    if bytes.len() > LARGEST || newlines() > MOST_LINES {
        return Some(Clash::TooLarge);
    }
    (!is_text(bytes)).then_some(Clash::NoText)
}

/// Whether bytes are text that has lines: valid UTF-8 without a NUL. A byte that is a line's end in one
/// encoding is half a character in another.
pub fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

/// A text and where its lines begin.
struct MergeText<'a> {
    bytes: &'a [u8],
    starts: Vec<usize>,
}

impl<'a> MergeText<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let (mut starts, mut at) = (vec![0], 0);
        for line in compare::lines(bytes) {
            at += line.len();
            starts.push(at);
        }
        Self { bytes, starts }
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn lines(&self, range: Range<usize>) -> &'a [u8] {
        &self.bytes[self.starts[range.start]..self.starts[range.end]]
    }
}

/// A position in the changes of one side.
struct MergeSide {
    changes: Vec<ChangedBlock>,
    taken: usize,
}

impl MergeSide {
    fn new(base: &MergeText<'_>, side: &MergeText<'_>) -> Self {
        Self { changes: compare::blocks(base.bytes, side.bytes), taken: 0 }
    }

    /// The line of the base at which the next change begins.
    fn next_at(&self) -> Option<usize> {
        self.changes.get(self.taken).map(|block| block.before.start)
    }

    /// Takes up the changes that begin no later than `to`, and moves it to the end of the last of them.
    fn take_until(&mut self, to: &mut usize) -> bool {
        let before = self.taken;
        while let Some(block) = self.changes.get(self.taken).filter(|block| block.before.start <= *to) {
            *to = block.before.end.max(*to);
            self.taken += 1;
        }
        self.taken > before
    }

    /// Where an untouched line of the base, behind what is taken up, is in this side.
    fn place(&self, line: usize) -> usize {
        match self.taken.checked_sub(1).and_then(|last| self.changes.get(last)) {
            Some(block) => block.after.end + (line - block.before.end),
            None => line,
        }
    }
}
