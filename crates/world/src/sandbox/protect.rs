//! Paths of the folder that a command must not write, although it may write in the folder: what git
//! would execute later, outside of any fence, and what this program believes.
//!
//! A path can be made read-only only if there is one. So where one is missing, the supervisor puts an
//! empty placeholder for as long as the command runs; otherwise a command could make a `.git` of its
//! own, with hooks. Several commands may share a placeholder. Each holds a lock on it, and the last
//! one removes it. A placeholder is known by its sticky bit, which no such path has by itself.
//!
//! Where no mounts are possible, nothing holds a command off these paths. Then, and for those that
//! cannot have a placeholder, a look before and after says at least what was touched.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use trimtab_vocab::Sandbox;

use super::wire::Order;

/// Read-only while a command runs; relative to the folder.
const READ_ONLY: &[(&str, Kind)] =
    &[(".git/hooks", Kind::Directory), (".git/config", Kind::File), (".trimtab", Kind::Directory)];

/// Where git would take its settings from as well. It does not bear a placeholder in their place.
const WATCHED: &[&str] = &[".git/hooks", ".git/config", ".trimtab", ".git/config.worktree", ".git/commondir"];

const STICKY: u32 = 0o1000;

/// How often a placeholder is tried again when other runs come in between. Each try that fails is one
/// that another run won, so more than a few are not to be expected.
const TRIES: usize = 1000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Directory,
    File,
}

/// How the mounts shall treat a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    /// It can be written in, but not renamed, or what is protected in it could be moved out of the way.
    Pinned(PathBuf),
    /// It cannot be written.
    ReadOnly(PathBuf),
}

/// What is to be mounted on itself, outer before inner. A link cannot be: its target is protected if
/// it is in the list itself, but the link could be exchanged, so that is an error.
pub(super) fn marks(folder: &Path) -> Result<Vec<Mark>, String> {
    let mut marks = Vec::new();
    let git = folder.join(".git");
    match fs::symlink_metadata(&git) {
        Ok(meta) if meta.is_dir() && meta.mode() & STICKY == 0 => marks.push(Mark::Pinned(git.clone())),
        Ok(meta) if meta.is_symlink() => return Err(".git is a symbolic link".into()),
        // A file that says where the repository is, or a placeholder.
        Ok(_) => marks.push(Mark::ReadOnly(git.clone())),
        Err(_) => return Err(".git is missing and no placeholder could be put".into()),
    }
    let pinned = marks.contains(&Mark::Pinned(git));
    for (name, _) in READ_ONLY.iter().filter(|(name, _)| pinned || !name.starts_with(".git/")) {
        match fs::symlink_metadata(folder.join(name)) {
            Ok(meta) if meta.is_symlink() => return Err(format!("{name} is a symbolic link")),
            Ok(_) => marks.push(Mark::ReadOnly(folder.join(name))),
            Err(_) => return Err(format!("{name} is missing and no placeholder could be put")),
        }
    }
    Ok(marks)
}

/// The placeholders of one run, and how things were before it.
pub(super) struct Protected {
    folder: PathBuf,
    placeholders: Vec<(PathBuf, Kind, File)>,
    before: Vec<Vec<Stamp>>,
}

impl Protected {
    pub(super) fn prepare(order: &Order) -> Self {
        let folder = order.folder.clone();
        let mut placeholders = Vec::new();
        if order.sandbox == Sandbox::Workspace && !order.probe {
            let git_is_there = fs::symlink_metadata(folder.join(".git")).is_ok_and(|meta| meta.mode() & STICKY == 0);
            if !git_is_there {
                placeholders.extend(placeholder(folder.join(".git"), Kind::Directory));
            }
            let wanted = READ_ONLY.iter().filter(|(name, _)| git_is_there || !name.starts_with(".git/"));
            placeholders.extend(wanted.filter_map(|(name, kind)| placeholder(folder.join(name), *kind)));
        }
        let before = stamps(&folder);
        Self { folder, placeholders, before }
    }

    /// Removes the placeholders that no other run needs; which protected paths are not as they were.
    pub(super) fn finish(self) -> Vec<String> {
        let after = stamps(&self.folder);
        let pairs = WATCHED.iter().zip(self.before.iter().zip(after));
        let touched =
            pairs.filter(|(_, (before, after))| *before != after).map(|(name, _)| (*name).to_owned()).collect();
        for (path, kind, lock) in self.placeholders.iter().rev() {
            // Removing it would unmount it from under another run. The directory must still be empty, and
            // so must the file, or someone has made it theirs.
            if rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            let _ = match kind {
                Kind::Directory => fs::remove_dir(path),
                #[expect(clippy::disallowed_methods, reason = "it is the empty file that was put there above")]
                Kind::File if is_placeholder(path) && lock.metadata().is_ok_and(|meta| meta.len() == 0) => {
                    fs::remove_file(path)
                }
                Kind::File => Ok(()),
            };
        }
        touched
    }
}

fn is_placeholder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_symlink() && meta.mode() & STICKY != 0)
}

/// Puts a placeholder at `path`, or shares the one that is there. None if something else is there.
///
/// Other runs put and remove theirs at the same time, so whatever was there a moment ago may be gone,
/// and what was not may be there; then it is tried again. Its bit is set as it is made: a run that saw
/// it without would take it for someone's own.
fn placeholder(path: PathBuf, kind: Kind) -> Option<(PathBuf, Kind, File)> {
    for _ in 0..TRIES {
        let made = match kind {
            Kind::Directory => DirBuilder::new().mode(0o755 | STICKY).create(&path),
            Kind::File => OpenOptions::new().write(true).create_new(true).mode(0o644 | STICKY).open(&path).map(|_| ()),
        };
        match made {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => match fs::symlink_metadata(&path) {
                Ok(meta) if meta.is_symlink() || meta.mode() & STICKY == 0 => return None,
                Ok(_) => {}
                Err(_) => continue,
            },
            Err(_) => return None,
        }
        let Ok(lock) = File::open(&path) else { continue };
        rustix::fs::flock(&lock, FlockOperation::LockShared).ok()?;
        // Another run may have removed it between the look and the lock.
        let still = fs::symlink_metadata(&path).is_ok_and(|there| {
            lock.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
        });
        if still {
            return Some((path, kind, lock));
        }
    }
    None
}

/// Enough of a file to see that it is not the same any more: nobody can set the change time.
type Stamp = (PathBuf, u64, u64, i64, i64);

fn stamps(folder: &Path) -> Vec<Vec<Stamp>> {
    WATCHED.iter().map(|name| stamp(&folder.join(name))).collect()
}

fn stamp(path: &Path) -> Vec<Stamp> {
    let one = |path: PathBuf| {
        // A placeholder may be another run's, which comes and goes as it likes.
        let meta = fs::symlink_metadata(&path).ok().filter(|meta| meta.mode() & STICKY == 0)?;
        Some((path, meta.ino(), meta.size(), meta.ctime(), meta.ctime_nsec()))
    };
    let mut stamps: Vec<Stamp> = one(path.to_owned()).into_iter().collect();
    // Hooks and settings lie flat. A folder with very many entries is none of these.
    let inside = fs::read_dir(path).into_iter().flatten().flatten().take(1000);
    stamps.extend(inside.filter_map(|entry| one(entry.path())));
    stamps.sort();
    stamps
}
