//! Snapshots of the files of a folder, so that the effects of a command can be shown and undone.
//!
//! [`take`] walks the folder without following links, and skips `.git` and the folders that a build makes again
//! (`rebuildable.rs`). Other ignored files are included, because they are often the only copy of a database or of the
//! user's notes. A file whose stamp (size, times, inode, mode) is that of an earlier snapshot is not read again. The
//! bytes of all others are handed to the caller for storage. [`compare`] compares two snapshots without looking at
//! the folder.
//!
//! A stamp is not trusted where the clock is too coarse: a file that was changed within two seconds before it was
//! read may change again under the same stamp, so it is read again.
//!
//! What is not stored is listed in [`Snapshot::uncovered`]: files that are too large or too many, secrets, unreadable
//! files, and files with another hard link outside of the folder, which a write would reach too. A command without
//! approval must not be able to write to these. Empty directories, owners, attributes, and everything outside of the
//! folder are not recorded.

mod compare;
pub(crate) mod rebuildable;
mod record;
mod take;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use trimtab_vocab::{FileState, WhyUnkept};

pub use self::compare::{SnapshotDiff, compare};
pub use self::rebuildable::decides;
pub use self::take::{Keep, SnapshotOrder, take};

/// The largest file that is kept, as large as one that can be put back.
pub const LARGEST: u64 = 64 * 1024 * 1024;
/// How long a change may hide behind an equal stamp. Some file systems count in steps of two seconds.
const COARSE: i64 = 2_000_000_000;

/// The files of a folder at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snapshot {
    entries: BTreeMap<PathBuf, SnapshotEntry>,
    /// Directories of which only that they are there is known, and why.
    folders: BTreeMap<PathBuf, WhyUnkept>,
    /// Directories that could not be looked into.
    closed: Vec<PathBuf>,
    uncovered: Vec<Uncovered>,
    /// There were more files than the limit.
    is_cut: bool,
    /// Its time was up.
    is_late: bool,
}

/// A file or a folder that undo could not bring back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncovered {
    /// Relative to the folder.
    pub path: PathBuf,
    /// Of all its files; 0 where that was not counted.
    pub bytes: u64,
    /// Why not.
    pub why: WhyUnkept,
    /// Whether it is a directory.
    pub is_folder: bool,
    /// Whether git ignores it.
    pub is_ignored: bool,
    /// It cannot be made read-only for a command, so the user must be asked.
    pub ask: bool,
}

/// "`prod.sqlite` (2.1 GB, ignored by git)".
impl std::fmt::Display for Uncovered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let slash = if self.is_folder { "/" } else { "" };
        let mut about = Vec::new();
        about.extend((self.bytes > 0).then(|| trimtab_vocab::format::size(self.bytes)));
        about.extend(self.is_ignored.then(|| "ignored by git".to_owned()));
        // A size and the rules of git say it already.
        let is_plain = matches!(self.why, WhyUnkept::Large | WhyUnkept::Full);
        about.extend((!is_plain).then(|| self.why.words().to_owned()));
        write!(f, "`{}{slash}` ({})", crate::tools::on_one_line(&self.path.to_string_lossy()), about.join(", "))
    }
}

impl Snapshot {
    /// A snapshot of files whose states are known otherwise, for hands that have no folder.
    pub fn from_states(states: impl IntoIterator<Item = (PathBuf, FileState)>) -> Self {
        let stamp = FileStamp { size: 0, modified: 0, changed: 0, inode: 0, mode: 0 };
        let entry = |(path, state)| (path, SnapshotEntry { stamp, content: SnapshotContent::Kept { state, read: 0 } });
        Self { entries: states.into_iter().map(entry).collect(), ..Self::default() }
    }

    /// How many files it knows.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has nothing that a later one could rely on.
    pub fn notes_nothing(&self) -> bool {
        self.entries.is_empty() && self.folders.is_empty()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether there were more files than the limit.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Whether its time was up before all files were seen.
    pub fn is_late(&self) -> bool {
        self.is_late
    }

    /// Whether `write` gives the same for both, as far as that shows without writing.
    pub fn has_list_of(&self, other: &Self) -> bool {
        self.closed == other.closed && self.folders == other.folders && self.entries == other.entries
    }

    /// What undo could not bring back, in no order.
    pub fn uncovered(&self) -> &[Uncovered] {
        &self.uncovered
    }

    /// Whether a file may have existed although the snapshot does not have it.
    fn is_unknown(&self, path: &Path) -> bool {
        self.closed.iter().chain(self.folders.keys()).any(|above| path.starts_with(above))
    }
}

/// One file, or one symbolic link.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SnapshotEntry {
    stamp: FileStamp,
    content: SnapshotContent,
}

/// Metadata that shows without reading that a file is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    size: u64,
    /// Nanoseconds since 1970, both.
    modified: i64,
    changed: i64,
    inode: u64,
    mode: u32,
}

impl FileStamp {
    fn is_file(&self) -> bool {
        rustix::fs::FileType::from_raw_mode(self.mode) == rustix::fs::FileType::RegularFile
    }

    /// Whether a file with this stamp that was read at `when` may have changed since without showing it.
    fn is_coarse(&self, when: i64) -> bool {
        self.modified.max(self.changed) >= when.saturating_sub(COARSE)
    }
}

/// The known state of the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum SnapshotContent {
    Kept {
        state: FileState,
        /// When they were read, in nanoseconds since 1970.
        read: i64,
    },
    /// After a command: only the hash is known, which is enough to put back what was there before.
    Seen(FileState),
    Unkept(WhyUnkept),
}
