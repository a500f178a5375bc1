//! The stored form of a snapshot, so that a new process can tell what an interrupted command did.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use trimtab_vocab::{FileState, WhyUnkept};

use super::{FileStamp, Snapshot, SnapshotContent, SnapshotEntry};

/// Names that are not UTF-8 are left out, because such files could not be restored anyway.
#[derive(Serialize, Deserialize)]
struct Record {
    entries: Vec<SnapshotLine>,
    closed: Vec<String>,
    /// Earlier versions did not note ignored files, and have none. To compare with theirs would make such files new.
    folders: BTreeMap<String, WhyUnkept>,
}

/// Path, size, modified, changed, inode, mode; then what is known of the bytes.
#[derive(Serialize, Deserialize)]
struct SnapshotLine(String, u64, i64, i64, u64, u32, KnownContent);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum KnownContent {
    Kept(String, u32, i64),
    Unkept(WhyUnkept),
}

impl Snapshot {
    /// The bytes to store.
    pub fn write(&self) -> Vec<u8> {
        let line = |(path, entry): (&PathBuf, &SnapshotEntry)| {
            let FileStamp { size, modified, changed, inode, mode } = entry.stamp;
            let known = match &entry.content {
                SnapshotContent::Kept { state, read } => KnownContent::Kept(state.hash.clone(), state.mode, *read),
                SnapshotContent::Unkept(why) => KnownContent::Unkept(*why),
                SnapshotContent::Seen(_) => KnownContent::Unkept(WhyUnkept::Full),
            };
            Some(SnapshotLine(path.to_str()?.to_owned(), size, modified, changed, inode, mode, known))
        };
        let text = |path: &PathBuf| path.to_str().map(str::to_owned);
        let record = Record {
            entries: self.entries.iter().filter_map(line).collect(),
            closed: self.closed.iter().filter_map(text).collect(),
            folders: self.folders.iter().filter_map(|(path, why)| Some((text(path)?, *why))).collect(),
        };
        serde_json::to_vec(&record).expect("a snapshot is plain data with string keys")
    }

    /// Reads what `write` has written; nothing if it is something else.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let record: Record = serde_json::from_slice(bytes).ok()?;
        let entry = |SnapshotLine(path, size, modified, changed, inode, mode, known): SnapshotLine| {
            let content = match known {
                KnownContent::Kept(hash, mode, read) => SnapshotContent::Kept { state: FileState { hash, mode }, read },
                KnownContent::Unkept(why) => SnapshotContent::Unkept(why),
            };
            (PathBuf::from(path), SnapshotEntry { stamp: FileStamp { size, modified, changed, inode, mode }, content })
        };
        Some(Self {
            entries: record.entries.into_iter().map(entry).collect(),
            closed: record.closed.into_iter().map(Into::into).collect(),
            folders: record.folders.into_iter().map(|(path, why)| (path.into(), why)).collect(),
            ..Self::default()
        })
    }
}
