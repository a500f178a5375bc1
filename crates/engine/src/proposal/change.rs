//! What a tool call would do to files, before anything is prepared.

use trimtab_vocab::RefKey;

use crate::proposal::edit::Edit;

/// A change to files that a model would like to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProposedChange {
    Edit(Edit),
    Delete {
        path: String,
    },
    Move {
        from: String,
        /// Where to; the place must be free.
        to: String,
    },
    /// Write pictures that a person wants to keep, under names that are free.
    Save {
        /// Where to; empty: the session's folder itself.
        folder: String,
        /// Where the bytes of each are stored, and what it is.
        pictures: Vec<(RefKey, String)>,
    },
}

impl ProposedChange {
    /// The file that is changed.
    pub fn path(&self) -> &str {
        match self {
            Self::Edit(edit) => edit.path(),
            Self::Delete { path } | Self::Move { from: path, .. } | Self::Save { folder: path, .. } => path,
        }
    }

    /// Every file that is changed, [`ProposedChange::path`] first.
    pub fn paths(&self) -> Vec<String> {
        match self {
            Self::Edit(edit) => edit.paths(),
            Self::Move { from, to } => vec![from.clone(), to.clone()],
            other => vec![other.path().to_owned()],
        }
    }
}
