//! Going through the folder.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use trimtab_vocab::{FileState, WhyUnkept, names};

use super::super::Folder;
use super::super::read::permissions;
use super::{Content, Entry, LARGEST, Snapshot, Stamp, rules};
use crate::clock::{Clock as _, SystemClock};

/// Files beyond this many are looked at after a command that has made them, if there was room before.
const MORE_AFTERWARDS: usize = 2;

/// Who keeps the bytes of files, by their hash, and may say that enough is enough.
pub trait Keep {
    /// Keeps bytes.
    fn keep(&mut self, hash: &str, bytes: Vec<u8>);
    /// Whether nobody waits for the snapshot any more.
    fn is_over(&self) -> bool;
}

/// What to look at.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// The folder.
    pub folder: &'a Folder,
    /// What is known already.
    pub known: &'a Snapshot,
    /// Files at most.
    pub files: usize,
    /// Bytes that are newly kept at most.
    pub bytes: u64,
    /// A command has run since `known` was taken: files that are known are looked at even if they are ignored now.
    pub afterwards: bool,
}

/// Looks at all files of a folder. Nothing is given back if nobody waits for it any more.
pub fn take(order: &Order<'_>, keep: &mut dyn Keep) -> Option<Snapshot> {
    let mut taking =
        Taking { order, keep, left: order.bytes, found: BTreeMap::new(), closed: Vec::new(), is_cut: false };
    taking.walk()?;
    if order.afterwards {
        taking.look_for_the_missing()?;
    }
    let Taking { found, closed, is_cut, .. } = taking;
    let rules = rules::of(order.folder.path(), found.keys());
    Some(Snapshot { entries: found, rules, closed, is_cut })
}

struct Taking<'a> {
    order: &'a Order<'a>,
    keep: &'a mut dyn Keep,
    left: u64,
    found: BTreeMap<PathBuf, Entry>,
    closed: Vec<PathBuf>,
    is_cut: bool,
}

impl Taking<'_> {
    fn walk(&mut self) -> Option<()> {
        let folder = self.order.folder.path();
        let most = if self.order.afterwards { self.order.files * MORE_AFTERWARDS } else { self.order.files };
        let walk = WalkBuilder::new(folder)
            .follow_links(false)
            .hidden(false)
            .require_git(false)
            .git_global(false)
            .filter_entry(|entry| entry.depth() == 0 || !is_ours(entry.file_name()))
            .build();
        for entry in walk {
            if self.keep.is_over() {
                return None;
            }
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    self.closed.extend(place_of(&error).and_then(|path| inside(folder, path)));
                    continue;
                }
            };
            if entry.file_type().is_none_or(|kind| !kind.is_file() && !kind.is_symlink()) {
                continue;
            }
            let Some(path) = inside(folder, entry.path()) else { continue };
            if self.found.len() >= most {
                self.is_cut = true;
                return Some(());
            }
            if let Some(found) = self.look(&path) {
                self.found.insert(path, found);
            }
        }
        Some(())
    }

    /// What was there and was not met on the way: gone, ignored since, or behind a door that was shut.
    fn look_for_the_missing(&mut self) -> Option<()> {
        let known = self.order.known;
        for (path, before) in &known.entries {
            if self.found.contains_key(path) {
                continue;
            }
            if self.keep.is_over() {
                return None;
            }
            match self.stat(path) {
                Ok(_) => {
                    if let Some(found) = self.look(path) {
                        self.found.insert(path.clone(), found);
                    }
                }
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                // It cannot be seen whether it is there: what was known of it stays.
                Err(_) => drop(self.found.insert(path.clone(), before.clone())),
            }
        }
        Some(())
    }

    fn stat(&self, path: &Path) -> Result<rustix::fs::Stat, Errno> {
        rustix::fs::statat(self.order.folder.as_fd(), path, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// One file: as it is known, or read.
    fn look(&mut self, path: &Path) -> Option<Entry> {
        let stat = self.stat(path).ok()?;
        let (stamp, kind) = (Stamp::of(&stat), FileType::from_raw_mode(stat.st_mode));
        if let Some(known) = self.order.known.entries.get(path)
            && known.stamp == stamp
        {
            match &known.content {
                Content::Kept { read, .. } if stamp.is_coarse(*read) => {}
                // It may be its turn now.
                Content::Unkept(WhyUnkept::Full | WhyUnkept::Unreadable) => {}
                _ => return Some(known.clone()),
            }
        }
        let content = match kind {
            FileType::Symlink => self.link(path),
            FileType::RegularFile => self.file(path, &stamp),
            _ => return None,
        };
        Some(Entry { stamp, content: content.unwrap_or_else(Content::Unkept) })
    }

    fn link(&mut self, path: &Path) -> Result<Content, WhyUnkept> {
        path.to_str().ok_or(WhyUnkept::Name)?;
        let read = now();
        let target = rustix::fs::readlinkat(self.order.folder.as_fd(), path, Vec::new());
        let target = target.map_err(|_| WhyUnkept::Unreadable)?.into_bytes();
        Ok(self.kept(target, FileState::LINK, read))
    }

    fn file(&mut self, path: &Path, stamp: &Stamp) -> Result<Content, WhyUnkept> {
        let name = path.to_str().ok_or(WhyUnkept::Name)?;
        if names::has_secret(name) {
            return Err(WhyUnkept::Secret);
        }
        if stamp.size > LARGEST {
            return Err(WhyUnkept::Large);
        }
        if stamp.size > self.left {
            return Err(WhyUnkept::Full);
        }
        let read = now();
        let fd = self.order.folder.open_without_links(path).map_err(|_| WhyUnkept::Unreadable)?;
        let stat = rustix::fs::fstat(&fd).map_err(|_| WhyUnkept::Unreadable)?;
        // It was exchanged for something else a moment ago.
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(WhyUnkept::Unreadable);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or(0) + 1);
        let most = LARGEST.min(self.left) + 1;
        File::from(fd).take(most).read_to_end(&mut bytes).map_err(|_| WhyUnkept::Unreadable)?;
        if bytes.len() as u64 >= most {
            return Err(WhyUnkept::Large);
        }
        Ok(self.kept(bytes, permissions(&stat), read))
    }

    fn kept(&mut self, bytes: Vec<u8>, mode: u32, read: i64) -> Content {
        self.left = self.left.saturating_sub(bytes.len() as u64);
        let hash = crate::store::hash(&bytes);
        self.keep.keep(&hash, bytes);
        Content::Kept { state: FileState { hash, mode }, read }
    }
}

impl Stamp {
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the widths differ between systems")]
    fn of(stat: &rustix::fs::Stat) -> Self {
        let time = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
        Self {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: time(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: time(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            inode: u64::from(stat.st_ino),
            mode: u32::from(stat.st_mode),
        }
    }
}

/// `.git` is git's own, and what a killed change has left is ours.
fn is_ours(name: &OsStr) -> bool {
    name == OsStr::new(".git") || name.as_bytes().starts_with(b".trimtab-")
}

fn inside(folder: &Path, path: &Path) -> Option<PathBuf> {
    path.strip_prefix(folder).ok().map(Path::to_owned)
}

fn place_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => place_of(err),
        ignore::Error::Partial(errors) => errors.iter().find_map(place_of),
        _ => None,
    }
}

fn now() -> i64 {
    SystemClock.now().millis().saturating_mul(1_000_000)
}
