//! How the files of a folder are, so that what a command does to them can be told and undone.
//!
//! [`take`] goes through the folder as the tools do: past what git ignores and past `.git`, without following
//! links. A file whose stamp (size, times, inode, mode) is that of an earlier snapshot is not read again. The
//! bytes of all others are handed to whoever keeps them. Two snapshots are compared by [`compare`] alone,
//! without a look at the folder.
//!
//! A stamp is not believed where the clock is too coarse for it: a file that was changed within two seconds
//! before it was read may be changed once more under the same stamp, and is read again.
//!
//! What is not seen: ignored files, empty directories, owners and attributes, everything outside of the
//! folder. What is seen and not kept is named: files that are too large, secrets, files that cannot be read.

mod compare;
mod record;
mod rules;
mod take;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use trimtab_vocab::{FileState, WhyUnkept};

pub use self::compare::{Compared, compare};
pub use self::take::{Keep, Order, take};

/// The largest file that is kept.
pub const LARGEST: u64 = 1024 * 1024;
/// How long a change may hide behind an equal stamp. Some file systems count in steps of two seconds.
const COARSE: i64 = 2_000_000_000;

/// The files of a folder at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    entries: BTreeMap<PathBuf, Entry>,
    /// What the files that say what is ignored said.
    rules: BTreeMap<PathBuf, Vec<u8>>,
    /// Directories that could not be looked into.
    closed: Vec<PathBuf>,
    /// There were more files than were to be looked at.
    is_cut: bool,
}

impl Snapshot {
    /// A snapshot of files whose states are known otherwise, for hands that have no folder.
    pub fn of(states: impl IntoIterator<Item = (PathBuf, FileState)>) -> Self {
        let stamp = Stamp { size: 0, modified: 0, changed: 0, inode: 0, mode: 0 };
        let entry = |(path, state)| (path, Entry { stamp, content: Content::Kept { state, read: 0 } });
        Self { entries: states.into_iter().map(entry).collect(), ..Self::default() }
    }

    /// How many files it knows.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether there were more files than were to be looked at.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    fn is_closed(&self, path: &Path) -> bool {
        self.closed.iter().any(|closed| path.starts_with(closed))
    }
}

/// One file, or one symbolic link.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    stamp: Stamp,
    content: Content,
}

/// What tells without reading that a file is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    size: u64,
    /// Nanoseconds since 1970, both.
    modified: i64,
    changed: i64,
    inode: u64,
    mode: u32,
}

impl Stamp {
    /// Whether a file with this stamp that was read at `when` may have changed since without showing it.
    fn is_coarse(&self, when: i64) -> bool {
        self.modified.max(self.changed) >= when.saturating_sub(COARSE)
    }
}

/// What is known of the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    Kept {
        state: FileState,
        /// When they were read, in nanoseconds since 1970.
        read: i64,
    },
    Unkept(WhyUnkept),
}
