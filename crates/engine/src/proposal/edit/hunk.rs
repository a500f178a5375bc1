//! A hunk: the old side gives the place, the new side the text.

/// What a line of a hunk does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    /// In the file before and after.
    Keep,
    /// Only in the file before.
    Remove,
    /// Only in the file after.
    Add,
}

/// One line of a hunk, without marker and line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HunkLine<'t> {
    pub(super) op: Op,
    pub(super) text: &'t [u8],
    /// For a context line of a diff: the line with its first blank, in case that the blank is not the
    /// marker but the text's own and the marker was left out.
    pub(super) unmarked: Option<&'t [u8]>,
    /// The line is followed by `\ No newline at end of file`.
    pub(super) no_newline: bool,
}

impl<'t> HunkLine<'t> {
    pub(super) fn new(op: Op, text: &'t [u8]) -> Self {
        HunkLine { op, text, unmarked: None, no_newline: false }
    }
}

/// Lines that replace lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PatchHunk<'t> {
    pub(super) lines: Vec<HunkLine<'t>>,
    /// The numbers of the `@@` line.
    pub(super) numbers: Option<Numbers>,
    /// Some context line came without its marker, so that others may have, too.
    pub(super) markers_missing: bool,
    /// The hunk comes from a diff, where a column in front of each line is the marker's.
    pub(super) has_markers: bool,
    /// Lines of the file that the hunk lies after, outermost first.
    pub(super) anchors: Vec<&'t [u8]>,
    /// The anchor comes after line numbers, where git puts the last heading before the hunk. It may be outdated, so
    /// an anchor that is not in the file is ignored.
    pub(super) anchor_is_heading: bool,
    /// `*** End of File` follows.
    pub(super) at_end: bool,
    /// Lines that are only added and have no anchor go to the end of the file, as in a Codex patch.
    pub(super) appends: bool,
}

/// `@@ -old,old_count +new,new_count @@`, as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbers {
    pub(super) old: usize,
    pub(super) old_count: Option<usize>,
    pub(super) new: Option<usize>,
    pub(super) new_count: Option<usize>,
}

impl<'t> PatchHunk<'t> {
    /// The lines that have to be in the file.
    pub(super) fn old(&self) -> impl Iterator<Item = &HunkLine<'t>> {
        self.lines.iter().filter(|line| line.op != Op::Add)
    }

    /// The lines that are in the file afterwards.
    pub(super) fn new_side(&self) -> impl Iterator<Item = &HunkLine<'t>> {
        self.lines.iter().filter(|line| line.op != Op::Remove)
    }

    /// The texts of the lines that the hunk adds.
    pub(super) fn added(&self) -> impl Iterator<Item = &'t [u8]> {
        self.lines.iter().filter(|line| line.op == Op::Add).map(|line| line.text)
    }

    pub(super) fn old_len(&self) -> usize {
        self.old().count()
    }

    /// Whether the hunk changes anything.
    pub(super) fn changes(&self) -> bool {
        self.lines.iter().any(|line| line.op != Op::Keep)
    }

    /// The zero-based line that the `@@` line names for the first line of the old side.
    pub(super) fn named(&self) -> Option<usize> {
        self.numbers.and_then(|numbers| numbers.old.checked_sub(1))
    }
}
