//! One file of a change set: its place, its state, and the steps between before and after.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;
use trimtab_vocab::{FileState, FileWrite, sensitive_paths};

use super::super::Folder;
use super::super::folder::{Astray, Spot};
use super::super::read::{LOOKING, PERMISSIONS, permissions};
use super::directories::{Directories, rename_to_free, sync};
use super::outcome::{ChangeKind, ChangedPath, Why};
use super::{Gate, WriteStep};

/// The entry with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PathState {
    Nothing,
    File { state: FileState, owner: (u32, u32), links: u64 },
    Something(&'static str),
}

/// The state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileStatus {
    /// As the plan expects it before.
    Before,
    /// In the plan's state after.
    After,
    /// Neither.
    Elsewhere,
}

/// Why one file failed.
#[derive(Debug)]
pub(super) enum WriteFault {
    Changed,
    ReadOnly,
    NoContent(String),
    System(Errno),
}

impl From<Errno> for WriteFault {
    fn from(errno: Errno) -> Self {
        WriteFault::System(errno)
    }
}

pub(super) struct FileWriter<'a> {
    write: &'a FileWrite,
    spot: Spot,
    part: String,
    held: String,
    now: PathState,
    stood: Option<FileStatus>,
    unlinked: bool,
    directories: &'a Directories<'a>,
    contents: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    gate: Gate<'a>,
}

impl<'a> FileWriter<'a> {
    pub(super) fn find(
        folder: &Folder,
        directories: &'a Directories<'a>,
        n: usize,
        write: &'a FileWrite,
        contents: &'a dyn Fn(&str) -> Option<Vec<u8>>,
        gate: Gate<'a>,
    ) -> Result<Self, Why> {
        let path = write.path.clone();
        let walk = || match is_about_a_link(write) {
            true => folder.walk_to_link(Path::new(&write.path)),
            false => folder.walk(Path::new(&write.path)),
        };
        let found = match walk() {
            Err(Astray::Directory) if write.before.is_none() && folder.remove_empty(Path::new(&write.path)) => walk(),
            found => found,
        };
        let mut spot = found.map_err(|astray| match astray {
            Astray::Outside => Why::Outside { path: path.clone() },
            Astray::Malformed => Why::BadPath { path: path.clone(), problem: "its path is empty or has a NUL in it" },
            Astray::Directory => Why::NotAFile { path: path.clone(), problem: "it is a directory" },
            Astray::ThroughAFile => {
                Why::NotAFile { path: path.clone(), problem: "a part of its path is a file, not a directory" }
            }
            Astray::System(errno) => Why::System { path: path.clone(), error: errno.into() },
        })?;
        if spot.through_link && (write.before.is_none() || write.after.is_none()) {
            return Err(Why::BadPath { path, problem: "it is a symbolic link" });
        }
        if leads_to_care(&write.path, &spot.inside) {
            return Err(Why::BadPath {
                path,
                problem: "a link on its way leads to a file that must be named by its own path",
            });
        }
        spot.dir = directories.share(above(&spot.inside, spot.missing.len() + 1), spot.dir);
        let (part, held) = (directories.name_for(n, "part"), directories.name_for(n, "tmp"));
        let now = PathState::Nothing;
        Ok(Self { write, spot, part, held, now, stood: None, unlinked: false, directories, contents, gate })
    }

    pub(super) fn path(&self) -> String {
        self.write.path.clone()
    }

    /// The way from the folder to it, without links.
    pub(super) fn place(&self) -> &Path {
        &self.spot.inside
    }

    pub(super) fn is_creation(&self) -> bool {
        self.write.before.is_none()
    }

    pub(super) fn is_deletion(&self) -> bool {
        self.write.before.is_some() && self.write.after.is_none()
    }

    /// Puts an edit back that an exchange took away just before the run was killed.
    pub(super) fn heal(&mut self) -> Result<(), WriteFault> {
        if !self.spot.missing.is_empty() {
            return Ok(());
        }
        let held = self.path_state(&self.held)?;
        let ours = held == PathState::Nothing || self.is_as(&held, self.before()) || self.is_as(&held, self.after());
        if ours {
            return Ok(());
        }
        let now = self.path_state(&self.spot.name)?;
        if now == PathState::Nothing {
            let _ = rename_to_free(&self.spot.dir, &self.held, &self.spot.dir, &self.spot.name);
        } else if self.is_as(&now, self.before()) || self.is_as(&now, self.after()) {
            let _ = self.exchange();
        }
        // In every other case there is a newer edit, made by someone who saw this one gone.
        Ok(())
    }

    /// Looks how the file stands.
    pub(super) fn refresh(&mut self) -> Result<(), WriteFault> {
        self.now = if self.spot.missing.is_empty() { self.path_state(&self.spot.name)? } else { PathState::Nothing };
        let status = self.status();
        self.stood.get_or_insert(status);
        Ok(())
    }

    pub(super) fn status(&self) -> FileStatus {
        // After comes first: a file that does not change is done.
        if self.is_as(&self.now, self.after()) {
            FileStatus::After
        } else if self.is_as(&self.now, self.before()) {
            FileStatus::Before
        } else {
            FileStatus::Elsewhere
        }
    }

    /// Whether it is in the plan's state before, even if the plan does not change it.
    pub(super) fn is_as_before(&self) -> bool {
        self.is_as(&self.now, self.before())
    }

    pub(super) fn may_be_written(&self) -> Result<(), WriteFault> {
        match (&self.now, self.before(), self.after()) {
            (PathState::File { state, .. }, Some(before), Some(after))
                if state.mode & 0o222 == 0 && before.mode == after.mode =>
            {
                Err(WriteFault::ReadOnly)
            }
            _ => Ok(()),
        }
    }

    /// Writes the new bytes beside the file.
    pub(super) fn stage_after(&mut self) -> Result<(), WriteFault> {
        match self.write.after.as_ref() {
            Some(after) => self.stage(after),
            None => Ok(()),
        }
    }

    pub(super) fn go_forward(&mut self) -> Result<(), WriteFault> {
        self.unlinked = matches!(self.now, PathState::File { links, .. } if links > 1) && self.write.after.is_some();
        self.shift(self.before(), self.after())?;
        self.refresh()
    }

    /// Whether what was taken out of its place, if anything, is still what it was.
    pub(super) fn still_holds_before(&mut self) -> Result<(), WriteFault> {
        if !self.spot.missing.is_empty() || self.before().is_none() {
            return Ok(());
        }
        match self.path_state(&self.held)? {
            PathState::Nothing => Ok(()),
            held if self.is_as(&held, self.before()) => Ok(()),
            held => {
                self.now = held;
                Err(WriteFault::Changed)
            }
        }
    }

    pub(super) fn go_back(&mut self) -> Result<(), WriteFault> {
        (self.gate)(WriteStep::TakeBack, &self.write.path)?;
        if let Some(before) = self.write.before.as_ref() {
            self.stage(before)?;
        }
        self.shift(self.after(), self.before())
    }

    /// Removes what was kept beside the file.
    pub(super) fn clean(&self) {
        if !self.spot.missing.is_empty() {
            return;
        }
        for name in [&self.part, &self.held] {
            if rustix::fs::statat(&self.spot.dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                let _ = (self.gate)(WriteStep::Clean, &self.write.path);
                let _ = rustix::fs::unlinkat(&self.spot.dir, name, AtFlags::empty());
            }
        }
    }

    pub(super) fn sync_directory(&self) -> Result<(), Errno> {
        (self.gate)(WriteStep::Sync, &self.write.path)?;
        sync(&self.spot.dir)
    }

    pub(super) fn report(&self) -> ChangedPath {
        let how = match (self.stood, self.before(), self.after()) {
            (Some(FileStatus::After), ..) => ChangeKind::AlreadyDone,
            (_, None, _) => ChangeKind::Created,
            (_, _, None) => ChangeKind::Deleted,
            _ => ChangeKind::Overwritten,
        };
        ChangedPath { path: self.path(), how, unlinked: self.unlinked }
    }

    pub(super) fn why(&self, fault: WriteFault) -> Why {
        let path = self.path();
        match (fault, &self.now) {
            (WriteFault::Changed, PathState::Something(problem)) => Why::NotAFile { path, problem },
            (WriteFault::Changed, PathState::File { state, .. }) => Why::Conflict { path, found: Some(state.clone()) },
            (WriteFault::Changed, PathState::Nothing) => Why::Conflict { path, found: None },
            (WriteFault::ReadOnly, _) => Why::ReadOnly { path },
            (WriteFault::NoContent(hash), _) => Why::NoContent { path, hash },
            (WriteFault::System(errno), _) => Why::System { path, error: errno.into() },
        }
    }

    fn before(&self) -> Option<&'a FileState> {
        self.write.before.as_ref()
    }

    fn after(&self) -> Option<&'a FileState> {
        self.write.after.as_ref()
    }

    /// Modes count only where they alone tell before from after: a file that the user has made
    /// executable meanwhile still has the bytes that the change is about.
    fn is_as(&self, seen: &PathState, wanted: Option<&FileState>) -> bool {
        let only_mode = matches!((self.before(), self.after()), (Some(a), Some(b)) if a.hash == b.hash);
        match (seen, wanted) {
            (PathState::Nothing, None) => true,
            (PathState::File { state, .. }, Some(wanted)) => {
                let as_wanted = state.is_link() || !only_mode || state.mode == wanted.mode & PERMISSIONS;
                state.hash == wanted.hash && state.is_link() == wanted.is_link() && as_wanted
            }
            _ => false,
        }
    }

    /// A link, whose bytes are where it leads to.
    fn see_link(&self, name: impl rustix::path::Arg + Copy) -> Result<PathState, Errno> {
        let target = rustix::fs::readlinkat(&self.spot.dir, name, Vec::new())?;
        let stat = rustix::fs::statat(&self.spot.dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let state = FileState { hash: blake3::hash(target.as_bytes()).to_hex().to_string(), mode: FileState::LINK };
        Ok(PathState::File { state, owner: (stat.st_uid, stat.st_gid), links: 1 })
    }

    fn path_state(&self, name: impl rustix::path::Arg + Copy) -> Result<PathState, Errno> {
        let fd = match rustix::fs::openat(&self.spot.dir, name, LOOKING | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(PathState::Nothing),
            Err(Errno::LOOP | Errno::MLINK) if is_about_a_link(self.write) => return self.see_link(name),
            Err(Errno::LOOP | Errno::MLINK) => return Ok(PathState::Something("it is a symbolic link")),
            Err(Errno::NXIO) => return Ok(PathState::Something("it is not a regular file")),
            Err(errno) => return Err(errno),
        };
        let stat = rustix::fs::fstat(&fd)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Ok(PathState::Something("it is a directory")),
            _ => return Ok(PathState::Something("it is not a regular file")),
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::from(fd)).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let state = FileState { hash: hasher.finalize().to_hex().to_string(), mode: permissions(&stat) };
        #[allow(clippy::useless_conversion, reason = "the width differs between systems")]
        let links = u64::from(stat.st_nlink);
        Ok(PathState::File { state, owner: (stat.st_uid, stat.st_gid), links })
    }

    /// The new mode of the file: its own, unless the change sets another.
    fn mode_for(&self, wanted: &FileState) -> u32 {
        match (&self.now, self.before(), self.after()) {
            _ if wanted.is_link() => FileState::LINK,
            (PathState::File { state, .. }, Some(before), Some(after)) if before.mode == after.mode => state.mode,
            _ => wanted.mode & PERMISSIONS,
        }
    }

    /// Has the bytes of `wanted` ready beside the file, whole and on the disk.
    fn stage(&mut self, wanted: &FileState) -> Result<(), WriteFault> {
        if !self.spot.missing.is_empty() {
            let missing = std::mem::take(&mut self.spot.missing);
            let inside = above(&self.spot.inside, missing.len() + 1);
            match self.directories.make(&self.spot.dir, inside, &missing, &self.write.path) {
                Ok(dir) => self.spot.dir = dir,
                Err(errno) => {
                    self.spot.missing = missing;
                    return Err(errno.into());
                }
            }
        }
        let mode = self.mode_for(wanted);
        if matches!(self.path_state(&self.held)?, PathState::File { state, .. } if state.hash == wanted.hash && state.mode == mode)
        {
            return Ok(());
        }
        let bytes = (self.contents)(&wanted.hash)
            .filter(|bytes| blake3::hash(bytes).to_hex().as_str() == wanted.hash)
            .ok_or_else(|| WriteFault::NoContent(wanted.hash.clone()))?;
        (self.gate)(WriteStep::Stage, &self.write.path)?;
        self.remove(&self.part)?;
        if wanted.is_link() {
            rustix::fs::symlinkat(bytes.as_slice(), &self.spot.dir, &self.part)?;
            (self.gate)(WriteStep::Staged, &self.write.path)?;
            return Ok(rustix::fs::renameat(&self.spot.dir, &self.part, &self.spot.dir, &self.held)?);
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.spot.dir, &self.part, flags, Mode::from_raw_mode(0o600))?;
        (self.gate)(WriteStep::Stage, &self.write.path)?;
        let mut file = File::from(fd);
        file.write_all(&bytes).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let fd = OwnedFd::from(file);
        self.dress(&fd);
        #[allow(clippy::useless_conversion, reason = "the width differs between systems")]
        rustix::fs::fchmod(&fd, Mode::from_raw_mode(mode.try_into().unwrap_or(0o600)))?;
        (self.gate)(WriteStep::Sync, &self.write.path)?;
        rustix::fs::fsync(&fd)?;
        (self.gate)(WriteStep::Staged, &self.write.path)?;
        Ok(rustix::fs::renameat(&self.spot.dir, &self.part, &self.spot.dir, &self.held)?)
    }

    /// Copies owner, group, and attributes of the old file, as far as permitted: a file that a group shares stays
    /// shared. Attributes that cannot be kept are ignored.
    fn dress(&self, fd: &OwnedFd) {
        let PathState::File { owner: (user, group), .. } = &self.now else { return };
        let Ok(mine) = rustix::fs::fstat(fd) else { return };
        if (mine.st_uid, mine.st_gid) != (*user, *group) {
            let group = Some(Gid::from_raw(*group));
            if rustix::fs::fchown(fd, Some(Uid::from_raw(*user)), group).is_err() {
                let _ = rustix::fs::fchown(fd, None, group);
            }
        }
        let flags = LOOKING | OFlags::NOFOLLOW;
        let Ok(old) = rustix::fs::openat(&self.spot.dir, &self.spot.name, flags, Mode::empty()) else { return };
        copy_attributes(&old, fd);
    }

    /// Moves from one state to the other. The current file is compared with `from` immediately before and, if the
    /// file system can exchange names, again once it is out of the way.
    fn shift(&mut self, from: Option<&FileState>, to: Option<&FileState>) -> Result<(), WriteFault> {
        let path = &self.write.path;
        (self.gate)(WriteStep::Recheck, path)?;
        self.now = self.path_state(&self.spot.name)?;
        if !self.is_as(&self.now, from) {
            return Err(WriteFault::Changed);
        }
        (self.gate)(WriteStep::Place, path)?;
        let (dir, name, held) = (&self.spot.dir, &self.spot.name, &self.held);
        match (from, to) {
            (None, None) => return Ok(()),
            (None, Some(_)) => match rename_to_free(dir, held, dir, name) {
                Err(Errno::EXIST) => return self.has_changed(),
                answer => return Ok(answer?),
            },
            (Some(_), Some(_)) => match self.exchange() {
                Ok(()) => {}
                // Without an exchange, only the look a moment ago stands between an edit and its loss.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                    return Ok(rustix::fs::renameat(dir, held, dir, name)?);
                }
                Err(Errno::NOENT) => return self.has_changed(),
                Err(errno) => return Err(errno.into()),
            },
            (Some(_), None) => match rustix::fs::renameat(dir, name, dir, held) {
                Err(Errno::NOENT) => return self.has_changed(),
                answer => answer?,
            },
        }
        (self.gate)(WriteStep::Verify, path)?;
        if self.is_as(&self.path_state(held)?, from) {
            return Ok(());
        }
        // An edit came in between. It goes back, and if yet another one has followed it, that one stays.
        if to.is_none() {
            let _ = rename_to_free(dir, held, dir, name);
        } else if self.exchange().is_ok() && !self.is_as(&self.path_state(held)?, to) {
            self.exchange()?;
        }
        self.has_changed()
    }

    fn has_changed(&mut self) -> Result<(), WriteFault> {
        self.now = self.path_state(&self.spot.name)?;
        Err(WriteFault::Changed)
    }

    fn exchange(&self) -> Result<(), Errno> {
        let Spot { dir, name, .. } = &self.spot;
        rustix::fs::renameat_with(dir, &self.held, dir, name, RenameFlags::EXCHANGE)
    }

    fn remove(&self, name: &str) -> Result<(), Errno> {
        match rustix::fs::unlinkat(&self.spot.dir, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

/// Whether the path is meant as that of a symbolic link, before or after, and not as that of what it leads to.
fn is_about_a_link(write: &FileWrite) -> bool {
    [&write.before, &write.after].into_iter().flatten().any(FileState::is_link)
}

/// Whether links lead to a file that is treated with more care than its path shows. What was approved was
/// the path, and a link may have been put on its way since.
fn leads_to_care(path: &str, inside: &Path) -> bool {
    let named: Vec<String> = path.split('/').map(str::to_lowercase).collect();
    inside.iter().map(|part| part.to_string_lossy().to_lowercase()).any(|part| {
        (sensitive_paths::is_secret(&part) || sensitive_paths::decides_what_runs(&part)) && !named.contains(&part)
    })
}

/// The directory `names` levels above a path.
fn above(inside: &Path, names: usize) -> &Path {
    inside.ancestors().nth(names).unwrap_or(Path::new(""))
}

/// Copies extended attributes, access lists among them. File capabilities stay behind, as the kernel
/// itself drops them when a file is written to.
fn copy_attributes(from: &OwnedFd, to: &OwnedFd) {
    let mut names = vec![0; 64 * 1024];
    let Ok(length) = rustix::fs::flistxattr(from, names.as_mut_slice()) else { return };
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let mut value = vec![0; 64 * 1024];
        if name != b"security.capability"
            && let Ok(length) = rustix::fs::fgetxattr(from, name, value.as_mut_slice())
        {
            let _ = rustix::fs::fsetxattr(to, name, &value[..length], rustix::fs::XattrFlags::empty());
        }
    }
}
