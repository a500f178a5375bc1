//! What a tool call would do to files, before anything is prepared.

use std::collections::{BTreeMap, BTreeSet};

use trimtab_vocab::{FileWrite, MergeChoice, RefKey, SessionId};

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
    /// Write pictures that the user wants to keep, under names that are free.
    Save {
        /// Where to; empty: the session's folder itself.
        folder: String,
        /// Where the bytes of each are stored, and what it is.
        pictures: Vec<(RefKey, String)>,
    },
    /// Bring together what workers have made.
    Merge(MergeOrder),
}

/// The changes of workers, in the order in which they are merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MergeOrder {
    pub parts: Vec<MergePart>,
    /// How conflicts are settled that were found before, by the path and the sub-task.
    pub settled: BTreeMap<(String, String), MergeChoice>,
}

/// The changes of one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergePart {
    pub subtask: String,
    /// Its session, which has the contents of the files.
    pub worker: SessionId,
    pub writes: Vec<FileWrite>,
}

impl ProposedChange {
    /// The file that is changed.
    pub fn path(&self) -> &str {
        match self {
            Self::Edit(edit) => edit.path(),
            Self::Delete { path } | Self::Move { from: path, .. } | Self::Save { folder: path, .. } => path,
            Self::Merge(order) => order.paths().next().unwrap_or_default(),
        }
    }

    /// Every file that is changed, [`ProposedChange::path`] first.
    pub fn paths(&self) -> Vec<String> {
        match self {
            Self::Edit(edit) => edit.paths(),
            Self::Move { from, to } => vec![from.clone(), to.clone()],
            Self::Merge(order) => order.paths().map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect(),
            other => vec![other.path().to_owned()],
        }
    }
}

impl MergeOrder {
    /// The same of one file alone.
    pub(crate) fn only(&self, path: &str) -> Self {
        let part = |part: &MergePart| {
            let writes = part.writes.iter().filter(|write| write.path == path).cloned().collect();
            MergePart { writes, ..part.clone() }
        };
        Self { parts: self.parts.iter().map(part).collect(), settled: BTreeMap::new() }
    }

    /// Every changed file, once per change.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|part| &part.writes).map(|write| write.path.as_str())
    }
}
