//! The session's folder, held open, and how paths beneath it are resolved.
//!
//! A model wrote the path. It is resolved one name at a time, from directory to directory, and no name is ever opened
//! through a link: a link is read, and its text is resolved like the rest of the path. So a directory that is
//! replaced by a link at the worst moment leads nowhere, and every step out of the folder is noticed. Reading tries
//! `openat2` with `RESOLVE_BENEATH` first, which does the same in one call where the kernel has it.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use thiserror::Error;
use trimtab_vocab::FileState;

/// As many links as the kernel follows before it calls them a loop.
const MOST_LINKS: usize = 40;

/// A directory that is only passed through needs no right to be listed.
#[cfg(target_os = "linux")]
const PASSING: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASSING: OFlags = OFlags::RDONLY;

/// A folder that is held open, and nothing outside of it.
#[derive(Debug)]
pub struct Folder {
    dir: OwnedFd,
    path: PathBuf,
}

/// Why a path leads to no file of the folder.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum Astray {
    #[error("the path is empty or has a NUL in it")]
    Malformed,
    #[error("it is outside the folder")]
    Outside,
    #[error("it is a directory")]
    Directory,
    #[error("a part of its path is a file, not a directory")]
    ThroughAFile,
    #[error("{}", io::Error::from(*.0))]
    System(Errno),
}

impl From<Errno> for Astray {
    fn from(errno: Errno) -> Self {
        Astray::System(errno)
    }
}

impl From<Astray> for io::Error {
    fn from(astray: Astray) -> Self {
        let kind = match &astray {
            Astray::Malformed => io::ErrorKind::InvalidInput,
            Astray::Outside => io::ErrorKind::PermissionDenied,
            Astray::Directory => io::ErrorKind::IsADirectory,
            Astray::ThroughAFile => io::ErrorKind::NotADirectory,
            Astray::System(errno) => return (*errno).into(),
        };
        io::Error::new(kind, astray)
    }
}

/// Where a path ends after all links: a name in a directory.
#[derive(Debug)]
pub(super) struct Spot {
    /// The directory, or the deepest one there is if some are missing. Files of one directory share it, so
    /// that a set of thousands does not need thousands of open files.
    pub(super) dir: Rc<OwnedFd>,
    /// Directories that are missing between `dir` and `name`.
    pub(super) missing: Vec<OsString>,
    /// The last name. It is not a link, as far as could be seen.
    pub(super) name: OsString,
    /// The way from the folder to it, without links.
    pub(super) inside: PathBuf,
    /// Whether the last name that was given is itself a link.
    pub(super) through_link: bool,
}

impl Folder {
    /// Opens the folder at `path`, which may itself be reached through links.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().canonicalize()?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(CWD, &path, flags, Mode::empty())?;
        Ok(Self { dir, path })
    }

    /// Its path without links, as it was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a file is, or would be, when all links are followed: its way from the folder.
    pub fn place_of(&self, path: impl AsRef<Path>) -> io::Result<PathBuf> {
        Ok(self.walk(path.as_ref())?.inside)
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.dir.as_fd()
    }

    /// The names that `path` consists of. Whether `..` stays inside is for the walk to find out, since a
    /// link before it changes what it means.
    pub(super) fn names(&self, path: &Path) -> Result<VecDeque<OsString>, Astray> {
        if path.as_os_str().is_empty() || path.as_os_str().as_bytes().contains(&0) {
            return Err(Astray::Malformed);
        }
        let path = if path.is_absolute() { path.strip_prefix(&self.path).map_err(|_| Astray::Outside)? } else { path };
        Ok(path
            .components()
            .filter_map(|part| match part {
                Component::Normal(name) => Some(name.to_owned()),
                Component::ParentDir => Some(OsString::from("..")),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
            })
            .collect())
    }

    /// Walks to the end of `path`.
    pub(super) fn walk(&self, path: &Path) -> Result<Spot, Astray> {
        self.walk_to(path, true)
    }

    /// Walks to the last name of `path`, which may be that of a link: the link itself is meant.
    pub(super) fn walk_to_link(&self, path: &Path) -> Result<Spot, Astray> {
        self.walk_to(path, false)
    }

    /// Removes a directory if nothing is in it, and says whether it did.
    pub(super) fn remove_empty(&self, path: &Path) -> bool {
        let (Some(name), Some(above)) = (path.file_name(), path.parent()) else { return false };
        // What is beside it leads to the directory that it is in, and to nothing outside of the folder.
        let beside = self.walk_to_link(&above.join(".trimtab-none"));
        beside.is_ok_and(|spot| {
            spot.missing.is_empty() && rustix::fs::unlinkat(&spot.dir, name, AtFlags::REMOVEDIR).is_ok()
        })
    }

    /// The state of a path that is not a plain file: the state of a link, or nothing if a directory is in its place
    /// or a link or file is on the way. Does not follow links.
    pub fn itself(&self, path: impl AsRef<Path>) -> Option<Option<FileState>> {
        let path = path.as_ref();
        let kind = |path: &Path| {
            let stat = rustix::fs::statat(&self.dir, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            Some(FileType::from_raw_mode(stat.st_mode))
        };
        let mut above: Vec<&Path> = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()).collect();
        above.reverse();
        if path.components().any(|part| !matches!(part, Component::Normal(_))) {
            return None;
        }
        for above in above {
            match kind(above) {
                Some(FileType::Directory) => {}
                Some(_) => return Some(None),
                None => return None,
            }
        }
        match kind(path)? {
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&self.dir, path, Vec::new()).ok()?;
                let hash = blake3::hash(target.as_bytes()).to_hex().to_string();
                Some(Some(FileState { hash, mode: FileState::LINK }))
            }
            FileType::Directory => Some(None),
            _ => None,
        }
    }

    fn walk_to(&self, path: &Path, through: bool) -> Result<Spot, Astray> {
        let mut ahead = self.names(path)?;
        let mut behind: Vec<(OsString, OwnedFd)> = Vec::new();
        let mut links = 0;
        let mut through_link = false;
        while let Some(name) = ahead.pop_front() {
            if name == ".." {
                behind.pop().ok_or(Astray::Outside)?;
                continue;
            }
            let here = behind.last().map_or(self.dir.as_fd(), |(_, dir)| dir.as_fd());
            let kind = match rustix::fs::statat(here, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(Errno::NOENT) => return self.spot_of_nothing(behind, name, ahead, through_link),
                Err(Errno::NOTDIR) => return Err(Astray::ThroughAFile),
                Err(errno) => return Err(errno.into()),
            };
            match kind {
                FileType::Symlink if through || !ahead.is_empty() => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Errno::LOOP.into());
                    }
                    through_link |= ahead.is_empty();
                    let text = rustix::fs::readlinkat(here, &name, Vec::new())?.into_bytes();
                    let target = PathBuf::from(OsString::from_vec(text));
                    if target.is_absolute() {
                        behind.clear();
                    }
                    for part in self.names(&target)?.into_iter().rev() {
                        ahead.push_front(part);
                    }
                }
                _ if ahead.is_empty() => {
                    return match kind {
                        FileType::Directory => Err(Astray::Directory),
                        _ => self.spot(behind, Vec::new(), name, through_link),
                    };
                }
                FileType::Directory => {
                    let flags = PASSING | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let dir = rustix::fs::openat(here, &name, flags, Mode::empty())?;
                    behind.push((name, dir));
                }
                _ => return Err(Astray::ThroughAFile),
            }
        }
        Err(Astray::Directory)
    }

    fn spot_of_nothing(
        &self,
        behind: Vec<(OsString, OwnedFd)>,
        first: OsString,
        rest: VecDeque<OsString>,
        through_link: bool,
    ) -> Result<Spot, Astray> {
        if rest.iter().any(|part| part == "..") {
            return Err(Errno::NOENT.into());
        }
        let mut missing = vec![first];
        missing.extend(rest);
        let name = missing.pop().unwrap_or_default();
        self.spot(behind, missing, name, through_link)
    }

    fn spot(
        &self,
        mut behind: Vec<(OsString, OwnedFd)>,
        missing: Vec<OsString>,
        name: OsString,
        through_link: bool,
    ) -> Result<Spot, Astray> {
        let mut inside: PathBuf = behind.iter().map(|(name, _)| name.as_os_str()).collect();
        inside.extend(missing.iter().map(OsStr::new));
        inside.push(&name);
        let dir = match behind.pop() {
            Some((_, dir)) => dir,
            None => self.dir.try_clone().map_err(|_| Errno::MFILE)?,
        };
        Ok(Spot { dir: Rc::new(dir), missing, name, inside, through_link })
    }
}
