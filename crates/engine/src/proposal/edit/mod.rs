//! Edits: applied to exactly one place, or refused with a reason.
//!
//! A model names a file and says what should change in it, as a unified diff, as search blocks or
//! as the whole new text. [`apply`] takes that and the bytes of the file and gives back the bytes
//! afterwards, or an [`EditRefusal`]. It never guesses: an old side has to occur in the file, white space
//! apart, and at one place only; line numbers merely choose between places that fit.
//!
//! Everything works on bytes split into lines. The text of the file is never decoded, so a byte that
//! no hunk touches cannot change, whatever the encoding.
//!
//! The way of an edit through the files here: `diff` (with `header`) or `block` reads it into hunks,
//! `place` finds where each hunk fits (`occur` searches, `indent` judges indentation, `anchor` holds it to
//! what it says about its place, `gaps` reads over blank lines), `splice` builds the new text, `elision` and
//! `joined` look for damage in what is added, `echo` for words that stand for a text, and `nearest` explains a refusal. `numbered` takes copied line
//! numbers off a block, and `part` replaces a part of a line.

mod anchor;
mod block;
mod diff;
pub mod echo;
mod elision;
mod gaps;
mod header;
mod hunk;
mod indent;
mod joined;
mod lines;
mod nearest;
mod numbered;
mod occur;
mod part;
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
    /// A unified diff or a Codex patch.
    UnifiedDiff {
        /// The file, relative to the folder. A patch of several files names it among others.
        path: String,
        /// The diff; headers and numbers may be missing or wrong.
        diff: String,
    },
    /// Lines to find, and what takes their place.
    SearchReplace {
        /// The file, relative to the folder.
        path: String,
        /// Applied in order, each to the result of the one before.
        blocks: Vec<SearchReplace>,
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

    /// The files that the edit moves, and where to. A part of such an edit would lose one.
    pub fn moves(&self) -> Vec<(String, String)> {
        match self {
            Edit::UnifiedDiff { path, diff } => {
                diff::moves(path, diff).into_iter().filter_map(|(from, to)| Some((from, to?))).collect()
            }
            Edit::SearchReplace { .. } | Edit::WholeFile { .. } => Vec::new(),
        }
    }

    /// Every file that the edit is about, [`Edit::path`] first: a patch may change, create, delete and move several.
    pub fn paths(&self) -> Vec<String> {
        match self {
            Edit::UnifiedDiff { path, diff } => diff::paths(path, diff),
            Edit::SearchReplace { path, .. } | Edit::WholeFile { path, .. } => vec![path.clone()],
        }
    }
}

/// Whether a text for a file has a placeholder line ("... existing code ...").
pub fn has_placeholder(path: &str, text: &str) -> bool {
    elision::is_in(path, text)
}

/// Lines to find, and the lines that take their place. A part of one line is found as well if it occurs only once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchReplace {
    /// The lines, literally as in the file.
    pub search: String,
    /// The lines afterwards; empty to remove them.
    pub replace: String,
}

/// The content of the file after the edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewContent {
    /// The file has these bytes.
    Write(Vec<u8>),
    /// The file is gone.
    Delete,
}

/// Why an edit was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditRefusal {
    /// A sentence or two that a model and the user can act on.
    pub reason: String,
    /// The class of the reason, for code.
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
    /// Two lines of the diff are on one (`-old+new`).
    RunTogether,
    /// What the hunk says about its place is not where its lines are.
    Contradiction,
    /// Two hunks touch the same lines.
    Overlap,
    /// The edit creates a file that exists.
    Exists,
    /// The edit changes a file that does not exist.
    Missing,
    /// The diff is about another file.
    OtherPath,
    /// The diff is about a file that was not given, or whose name is not certain.
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

impl EditRefusal {
    fn new(kind: RefusalKind, reason: impl Into<String>) -> Self {
        EditRefusal { kind, reason: reason.into() }
    }
}

/// The result for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAfter {
    /// The file, as the edit names it.
    pub path: String,
    pub after: NewContent,
    /// The file that moves here.
    pub from: Option<String>,
}

/// The bytes of the files that an edit is about, by the names of [`Edit::paths`]. `None`: there is no such file.
#[derive(Debug, Clone, Default)]
pub struct Files<'f>(Vec<(String, Option<&'f [u8]>)>);

impl<'f> FromIterator<(String, Option<&'f [u8]>)> for Files<'f> {
    fn from_iter<T: IntoIterator<Item = (String, Option<&'f [u8]>)>>(files: T) -> Self {
        Self(files.into_iter().collect())
    }
}

impl<'f> Files<'f> {
    fn get(&self, path: &str) -> Result<Option<&'f [u8]>, EditRefusal> {
        let found = self.0.iter().find(|(name, _)| name == path).map(|(_, bytes)| *bytes);
        found.ok_or_else(|| {
            let reason =
                format!("The diff is about {} as well. Give one edit for each file.", lines::shown(path.as_bytes()));
            EditRefusal::new(RefusalKind::SeveralFiles, reason)
        })
    }
}

/// Applies `edit` to its files: all of them, or none.
///
/// Pure and total: no input makes it panic. Memory grows with the sizes of the files and of the edit.
/// So does time, but for search blocks, each of which reads the file that the one before it made.
pub fn apply(edit: &Edit, files: &Files<'_>) -> Result<Vec<FileAfter>, EditRefusal> {
    echo::refuse(edit)?;
    let one = |path: &str, after: NewContent| vec![FileAfter { path: path.to_owned(), after, from: None }];
    match edit {
        Edit::UnifiedDiff { path, diff } => diff::apply(path, diff, files),
        Edit::SearchReplace { path, blocks } => Ok(one(path, block::apply(path, blocks, files.get(path)?)?)),
        Edit::WholeFile { path, content } => Ok(one(path, whole::apply(path, content, files.get(path)?)?)),
    }
}
