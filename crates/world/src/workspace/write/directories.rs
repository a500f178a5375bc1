//! Directories that a change set creates and removes.
//!
//! A directory gets its name only once a marker is in it, and loses its name before the marker is removed. So a
//! directory that the set created can always be told from an empty one of the user.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{AtFlags, Dir, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::super::Folder;
use super::{Gate, WriteStep};

pub(super) struct Directories<'a> {
    folder: &'a Folder,
    set: String,
    mark: String,
    moving: String,
    /// Directories that are held open, by their way from the folder: one for all files that are in it.
    known: RefCell<HashMap<PathBuf, Rc<OwnedFd>>>,
    gate: Gate<'a>,
}

const OPEN: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl<'a> Directories<'a> {
    pub(super) fn new(folder: &'a Folder, set: &str, gate: Gate<'a>) -> Self {
        let (mark, moving) = (format!(".trimtab-{set}.made"), format!(".trimtab-{set}.dir"));
        Self { folder, set: set.to_owned(), mark, moving, known: RefCell::default(), gate }
    }

    /// The directory at `inside` as it was first opened for this set, or `dir` if it is the first.
    pub(super) fn share(&self, inside: &Path, dir: Rc<OwnedFd>) -> Rc<OwnedFd> {
        Rc::clone(self.known.borrow_mut().entry(inside.to_owned()).or_insert(dir))
    }

    /// The temporary name beside the `n`th file of the set.
    pub(super) fn name_for(&self, n: usize, state: &str) -> String {
        format!(".trimtab-{}-{n}.{state}", self.set)
    }

    /// Creates `names` inside each other, beginning in `dir`, which is at `inside`, and returns the last one.
    /// Directories that another program creates at the same moment are fine.
    pub(super) fn make(
        &self,
        dir: &Rc<OwnedFd>,
        inside: &Path,
        names: &[OsString],
        path: &str,
    ) -> Result<Rc<OwnedFd>, Errno> {
        let (mut dir, mut inside) = (Rc::clone(dir), inside.to_owned());
        for name in names {
            inside.push(name);
            if let Some(known) = self.known.borrow().get(&inside) {
                dir = Rc::clone(known);
                continue;
            }
            match rustix::fs::openat(&dir, name, OPEN, Mode::empty()) {
                Err(Errno::NOENT) => {}
                found => {
                    dir = self.share(&inside, Rc::new(found?));
                    continue;
                }
            }
            (self.gate)(WriteStep::MakeDirectory, path)?;
            match rustix::fs::mkdirat(&dir, &self.moving, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
            let made = rustix::fs::openat(&dir, &self.moving, OPEN, Mode::empty())?;
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            (self.gate)(WriteStep::MakeDirectory, path)?;
            rustix::fs::openat(&made, &self.mark, flags, Mode::from_raw_mode(0o600))?;
            (self.gate)(WriteStep::MakeDirectory, path)?;
            match rename_to_free(&dir, &self.moving, &dir, name) {
                Ok(()) => {}
                Err(Errno::EXIST | Errno::NOTEMPTY) => self.discard(&dir),
                Err(errno) => {
                    self.discard(&dir);
                    return Err(errno);
                }
            }
            let next = rustix::fs::openat(&dir, name, OPEN, Mode::empty())?;
            sync(&dir)?;
            dir = self.share(&inside, Rc::new(next));
        }
        Ok(dir)
    }

    /// Removes what a killed run left on its way to a name or away from it, along the way to `place`.
    pub(super) fn sweep(&self, place: &Path) {
        for above in place.ancestors().skip(1) {
            if let Some(dir) = self.open(above) {
                self.discard(&dir);
            }
        }
    }

    /// Forgets which directories on the way to `place` the set has made: they stay.
    pub(super) fn unmark(&self, place: &Path) {
        for above in place.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            if let Some(dir) = self.open(above) {
                let _ = rustix::fs::unlinkat(&dir, &self.mark, AtFlags::empty());
            }
        }
    }

    /// Removes the directories on the way to `place` that the set has made, if nothing is in them.
    pub(super) fn remove_made(&self, place: &Path) {
        self.remove(place, true);
    }

    /// Removes the directories on the way to `place` that have become empty.
    pub(super) fn remove_empty(&self, place: &Path) {
        self.remove(place, false);
    }

    fn remove(&self, place: &Path, only_made: bool) {
        for above in place.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            let Some(name) = above.file_name() else { return };
            let Some(outer) = self.open(above.parent().unwrap_or(Path::new(""))) else { return };
            let Ok(dir) = rustix::fs::openat(&outer, name, OPEN, Mode::empty()) else { continue };
            let gone = match self.content(&dir) {
                Some(DirectoryContent::Nothing) if !only_made => {
                    (self.gate)(WriteStep::Clean, "").is_ok()
                        && rustix::fs::unlinkat(&outer, name, AtFlags::REMOVEDIR).is_ok()
                }
                Some(DirectoryContent::Mark) => self.remove_marked(&outer, name),
                _ => false,
            };
            if !gone {
                return;
            }
        }
    }

    fn remove_marked(&self, outer: &OwnedFd, name: &OsStr) -> bool {
        let away = (self.gate)(WriteStep::Clean, "").and_then(|()| rename_to_free(outer, name, outer, &self.moving));
        away.is_ok() && {
            let _ = (self.gate)(WriteStep::Clean, "");
            self.discard(outer);
            // Someone put something into it at the last moment: it is theirs now.
            rename_to_free(outer, &self.moving, outer, name).is_err()
        }
    }

    /// Removes the nameless directory in `dir`, unless there is something in it.
    fn discard(&self, dir: &OwnedFd) {
        if let Ok(moving) = rustix::fs::openat(dir, &self.moving, OPEN, Mode::empty()) {
            let _ = rustix::fs::unlinkat(&moving, &self.mark, AtFlags::empty());
            let _ = rustix::fs::unlinkat(dir, &self.moving, AtFlags::REMOVEDIR);
        }
    }

    /// A directory by its way without links; a link that has come in between is not followed.
    fn open(&self, inside: &Path) -> Option<OwnedFd> {
        let mut dir = self.folder.as_fd().try_clone_to_owned().ok()?;
        for name in inside {
            dir = rustix::fs::openat(&dir, name, OPEN, Mode::empty()).ok()?;
        }
        Some(dir)
    }

    fn content(&self, dir: &OwnedFd) -> Option<DirectoryContent> {
        let mut content = DirectoryContent::Nothing;
        for entry in Dir::read_from(dir).ok()? {
            match entry.ok()?.file_name().to_bytes() {
                b"." | b".." => {}
                name if name == self.mark.as_bytes() => content = DirectoryContent::Mark,
                _ => return Some(DirectoryContent::Something),
            }
        }
        Some(content)
    }
}

enum DirectoryContent {
    Nothing,
    Mark,
    Something,
}

/// Renames `from` to `to`, which must be free. Where the file system cannot guarantee that, it is checked first,
/// which leaves a gap of microseconds.
pub(super) fn rename_to_free(
    from_dir: impl AsFd,
    from: impl rustix::path::Arg + Copy,
    to_dir: impl AsFd,
    to: impl rustix::path::Arg + Copy,
) -> Result<(), Errno> {
    match rustix::fs::renameat_with(&from_dir, from, &to_dir, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        answer => return answer,
    }
    match rustix::fs::statat(&to_dir, to, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => rustix::fs::renameat(&from_dir, from, &to_dir, to),
        Ok(_) => Err(Errno::EXIST),
        Err(errno) => Err(errno),
    }
}

/// Syncs a directory that may have been opened only to pass through.
pub(super) fn sync(dir: &OwnedFd) -> Result<(), Errno> {
    let opened = match rustix::fs::openat(dir, ".", OPEN, Mode::empty()) {
        Ok(opened) => opened,
        // A directory that cannot be listed cannot be synced, and one that is gone need not be.
        Err(Errno::ACCESS | Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(errno),
    };
    match rustix::fs::fsync(&opened) {
        // Some network file systems cannot sync directories, and keep them consistent themselves.
        Ok(()) | Err(Errno::INVAL | Errno::NOTSUP | Errno::BADF | Errno::ROFS) => Ok(()),
        Err(errno) => Err(errno),
    }
}
