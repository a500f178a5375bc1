//! The outcome of a change set.

use std::fmt;
use std::io;

use trimtab_vocab::FileState;

/// The whole set is in place, and durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenSet {
    /// Its files, in the order of the plan.
    pub files: Vec<ChangedPath>,
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPath {
    /// As in the plan.
    pub path: String,
    /// What was done.
    pub how: ChangeKind,
    /// The file had other names, which keep the old bytes.
    pub unlinked: bool,
}

/// The ways in which a file can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// There was none.
    Created,
    /// It has other bytes or another mode.
    Overwritten,
    /// It is gone.
    Deleted,
    /// It was already done: an earlier run of the same plan was killed.
    AlreadyDone,
}

impl fmt::Display for WrittenSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.files.as_slice() {
            [] => f.write_str("There was nothing to change."),
            [one] => write!(f, "{} {}.", one.path, one.how),
            files => write!(f, "{} files were changed.", files.len()),
        }
    }
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChangeKind::Created => "was created",
            ChangeKind::Overwritten => "was changed",
            ChangeKind::Deleted => "was deleted",
            ChangeKind::AlreadyDone => "was already changed",
        })
    }
}

/// Nothing of the set is in place, unless `not_put_back` or `unsure` name files.
#[derive(Debug)]
pub struct Refused {
    /// The first reason that was met.
    pub why: Why,
    /// Files that were changed and could not be put back as they were.
    pub not_put_back: Vec<String>,
    /// Files of which it could not be seen how they are.
    pub unsure: Vec<String>,
}

/// Why a set was not written.
#[derive(Debug)]
pub enum Why {
    /// The file is not as the plan expects it: someone changed it meanwhile.
    Conflict {
        /// As in the plan.
        path: String,
        /// What is there instead; nothing, or no regular file: `None`.
        found: Option<FileState>,
    },
    /// The path leads out of the folder.
    Outside {
        /// As in the plan.
        path: String,
    },
    /// The path is invalid, or ends at a link through which nothing is created or deleted.
    BadPath {
        /// As in the plan.
        path: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// There is something at the path that is not a regular file, or a file where a directory is needed.
    NotAFile {
        /// As in the plan.
        path: String,
        problem: &'static str,
    },
    /// No one may write to the file.
    ReadOnly {
        /// As in the plan.
        path: String,
    },
    /// Two paths of the set are the same file.
    Twice {
        /// The second of them.
        path: String,
    },
    /// The bytes for a hash are not in the store, or are not what the hash says.
    NoContent {
        /// The file that needs them.
        path: String,
        /// Which bytes.
        hash: String,
    },
    /// The system refused.
    System {
        /// As in the plan.
        path: String,
        /// What it said.
        error: io::Error,
    },
}

impl Refused {
    pub(super) fn new(why: Why) -> Self {
        Self { why, not_put_back: Vec::new(), unsure: Vec::new() }
    }

    /// Whether every file is as it was.
    pub fn is_clean(&self) -> bool {
        self.not_put_back.is_empty() && self.unsure.is_empty()
    }

    /// What to do next.
    pub fn hint(&self) -> &'static str {
        if !self.is_clean() {
            return "Check these files. Their earlier versions are stored with the session.";
        }
        match &self.why {
            Why::Conflict { .. } => "Ask for the change again. It will use the current file.",
            Why::Outside { .. } => "Start the session in a folder that contains the file.",
            Why::BadPath { .. } | Why::Twice { .. } => "Ask for the change again, with the file's own path.",
            Why::NotAFile { .. } => "Move the existing file or folder away, or choose another path.",
            Why::ReadOnly { .. } => "Make the file writable (chmod u+w), and try again.",
            Why::NoContent { .. } => "Run `trimtab doctor`: the data folder may be damaged.",
            Why::System { error, .. } => match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "Free some disk space, and try again.",
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "Check the permissions of the folder, and try again."
                }
                _ => "Try again. If it fails again, check the disk.",
            },
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)?;
        if self.is_clean() {
            return f.write_str(" Nothing was changed.");
        }
        if !self.not_put_back.is_empty() {
            write!(f, " Could not be put back: {}.", self.not_put_back.join(", "))?;
        }
        if !self.unsure.is_empty() {
            write!(f, " Could not be checked: {}.", self.unsure.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Conflict { path, .. } => write!(f, "{path} changed after the change was prepared."),
            Why::Outside { path } => write!(f, "{path} leads out of the session's folder."),
            Why::BadPath { path, problem } | Why::NotAFile { path, problem } => {
                write!(f, "{path} cannot be changed: {problem}.")
            }
            Why::ReadOnly { path } => write!(f, "{path} is read-only."),
            Why::Twice { path } => write!(f, "{path} is the same file as another one of this change."),
            Why::NoContent { path, .. } => write!(f, "The new content of {path} is missing in the store."),
            Why::System { path, error } => write!(f, "{path} cannot be changed: {error}."),
        }
    }
}

impl std::error::Error for Refused {}
