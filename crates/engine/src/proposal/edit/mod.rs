//! Edits: applied to exactly one place, or refused with a reason.
//!
//! A model names a file and says what should change in it, as a unified diff, as search blocks or
//! as the whole new text. [`apply`] takes that and the bytes of the file and gives back the bytes
//! afterwards, or a [`Refusal`]. It never guesses: an old side has to occur in the file, white space
//! apart, and at one place only; line numbers merely choose between places that fit.
//!
//! Everything works on bytes split into lines. The text of the file is never decoded, so a byte that
//! no hunk touches cannot change, whatever the encoding.
//!
//! The way of an edit through the files here: `diff` (with `header`) or `block` reads it into hunks,
//! `place` finds where each hunk fits (`occur` searches, `indent` judges indentation), `splice`
//! builds the new text, `elision` and `joined` look for damage in what is added, and `nearest`
//! explains a refusal.

mod block;
mod diff;
mod elision;
mod header;
mod hunk;
mod indent;
mod joined;
mod lines;
mod nearest;
mod occur;
mod place;
mod splice;
#[cfg(test)]
mod tests;
mod whole;

use serde::{Deserialize, Serialize};

/// One change to one file, as a model writes it and as `trimtab apply-edit` reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Edit {
    /// A unified diff of one file.
    UnifiedDiff {
        /// The file, relative to the folder.
        path: String,
        /// The diff; headers and numbers may be missing or wrong.
        diff: String,
    },
    /// Whole lines to find, and what takes their place.
    SearchReplace {
        /// The file, relative to the folder.
        path: String,
        /// Applied in order, each to the result of the one before.
        blocks: Vec<Block>,
    },
    /// The whole new text of a file, which need not exist yet.
    WholeFile {
        /// The file, relative to the folder.
        path: String,
        /// The text from the first line to the last.
        content: String,
    },
}

impl Edit {
    /// The file that the edit is about.
    pub fn path(&self) -> &str {
        match self {
            Edit::UnifiedDiff { path, .. } | Edit::SearchReplace { path, .. } | Edit::WholeFile { path, .. } => path,
        }
    }
}

/// Whole lines to find, and the lines that take their place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The lines as they stand in the file.
    pub search: String,
    /// The lines afterwards; empty to remove them.
    pub replace: String,
}

/// What the file is to be after the edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum After {
    /// The file has these bytes.
    Write(Vec<u8>),
    /// The file is gone.
    Delete,
}

/// Why an edit was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// A sentence or two that a model and a person can act on.
    pub reason: String,
    /// The class of the reason, for code that has to tell them apart.
    pub kind: RefusalKind,
}

/// The classes of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// The old side does not occur in the file.
    NotFound,
    /// The old side occurs more than once and nothing names one place.
    Ambiguous,
    /// The old side is empty, or has blank lines only, where text is needed to find the place.
    EmptySearch,
    /// The file would stay as it is.
    NoChange,
    /// The new side is there already.
    AlreadyApplied,
    /// The new side of one part is there already, and that of another is not.
    PartlyApplied,
    /// Added text leaves something out ("... existing code ...").
    Placeholder,
    /// Two lines of the diff stand on one (`-old+new`).
    RunTogether,
    /// Two hunks touch the same lines.
    Overlap,
    /// The edit creates a file that exists.
    Exists,
    /// The edit changes a file that does not exist.
    Missing,
    /// The diff is about another file, or moves one.
    OtherPath,
    /// The diff is about several files.
    SeveralFiles,
    /// A file is to be deleted, but its text is not what the diff removes.
    Differs,
    /// The lines fit but for their indentation, and what added lines should have is not certain.
    Indentation,
    /// The file is not text that the edit could be written in: binary, UTF-16, or not UTF-8.
    Encoding,
    /// The edit cannot be read as what it claims to be.
    Malformed,
}

impl Refusal {
    fn new(kind: RefusalKind, reason: impl Into<String>) -> Self {
        Refusal { kind, reason: reason.into() }
    }
}

/// Applies `edit` to the bytes of its file, `None` if there is no such file.
///
/// Pure and total: no input makes it panic. Memory grows with the sizes of the file and of the edit.
/// So does time, but for search blocks, each of which reads the file that the one before it made.
pub fn apply(edit: &Edit, before: Option<&[u8]>) -> Result<After, Refusal> {
    match edit {
        Edit::UnifiedDiff { path, diff } => diff::apply(path, diff, before),
        Edit::SearchReplace { path, blocks } => block::apply(path, blocks, before),
        Edit::WholeFile { path, content } => whole::apply(path, content, before),
    }
}
