//! A cache of directory listings between scans of a folder.
//!
//! The change time of a directory moves whenever a name in it is created, removed, or renamed. Unlike the
//! modification time, no program can set it, so a command cannot hide from the next scan. A listing is valid as long
//! as device, inode, and change time are the same; every directory is checked once per scan, and only changed ones
//! are listed. Only names, types, and what follows from a path are cached. Contents and link targets are read every
//! time.
//!
//! Kernels count time in ticks, so two changes may have the same time. A directory that changed shortly before the
//! scan is therefore listed again next time. Nothing is cached where another machine sets the times (network file
//! systems), or where that is unknown.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use trimtab_vocab::ControlFile;

use crate::shared_work;

/// Folders whose listings are kept, at most.
const MOST_FOLDERS: usize = 4;

/// How old a change must be so that the next one has another time. A tick takes 10 ms at most.
const SETTLED: Duration = Duration::from_millis(20);

/// The same where times have whole seconds only.
const SETTLED_SECONDS: Duration = Duration::from_secs(2);

/// Which version of a directory it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    changed: Duration,
}

impl Version {
    #[allow(clippy::unnecessary_cast, reason = "the types differ between systems")]
    fn of(stat: &Stat) -> Option<Self> {
        let seconds = u64::try_from(stat.st_ctime).ok()?;
        let changed = Duration::new(seconds, u32::try_from(stat.st_ctime_nsec).ok()?);
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        is_folder.then_some(Self { device: stat.st_dev as u64, inode: stat.st_ino as u64, changed })
    }

    fn at(path: &Path) -> Option<Self> {
        let stat = rustix::fs::statat(rustix::fs::CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Self::of(&stat)
    }

    /// Whether a change after `now` gets another time.
    fn is_settled(&self, now: Duration) -> bool {
        let age = if self.changed.subsec_nanos() == 0 { SETTLED_SECONDS } else { SETTLED };
        self.changed + age < now
    }
}

/// An entry of a directory, with what its path says about it.
#[derive(Debug)]
pub(super) struct NotedEntry {
    pub(super) name: OsString,
    pub(super) kind: FileType,
    pub(super) is_secret: bool,
    pub(super) control: Option<ControlFile>,
    /// Tools alone use this name.
    pub(super) is_built: bool,
    /// Tools and people use this name.
    pub(super) may_be_built: bool,
}

/// The relevant entries of a directory.
#[derive(Debug, Clone)]
pub(super) struct Listing {
    /// How many entries there are, with those that do not matter.
    pub(super) entries: usize,
    pub(super) noted: Arc<[NotedEntry]>,
}

#[derive(Debug)]
struct KeptListing {
    version: Version,
    listing: Listing,
    /// It is as it was when it was listed.
    is_current: bool,
    /// This scan has reached it.
    is_met: bool,
}

/// By the text of the path: to compare paths part by part takes several times as long, and all are made in one way.
type Kept = HashMap<OsString, KeptListing>;

/// The listings of the folders that were scanned last, the latest first.
#[derive(Debug, Clone, Default)]
pub struct ListingCache(Arc<Mutex<Vec<(PathBuf, Kept)>>>);

impl ListingCache {
    fn take(&self, folder: &Path) -> Kept {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|(path, _)| path == folder);
        at.map(|at| all.remove(at).1).unwrap_or_default()
    }

    #[cfg(test)]
    pub(super) fn keeps(&self, folder: &Path, path: &Path) -> bool {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().any(|(of, kept)| of == folder && kept.contains_key(path.as_os_str()))
    }

    fn put(&self, folder: PathBuf, kept: Kept) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(path, _)| *path != folder);
        all.insert(0, (folder, kept));
        all.truncate(MOST_FOLDERS);
    }
}

/// The listings of one folder, during one scan. Another scan of it meanwhile begins with none.
pub(super) struct Listings<'c> {
    cache: &'c ListingCache,
    kept: Kept,
    began: Duration,
    /// The text of the path that was asked for last.
    path: OsString,
    /// Devices, by whether their times are this machine's.
    local: HashMap<u64, bool>,
}

impl<'c> Listings<'c> {
    pub(super) fn open(cache: &'c ListingCache, folder: &Path) -> Self {
        #[expect(clippy::disallowed_methods, reason = "it is compared with the kernel's own times")]
        let began = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut kept = cache.take(folder);
        compare(&mut kept);
        Self { cache, kept, began, path: OsString::new(), local: HashMap::new() }
    }

    /// The listing of a directory, which is never a link. Of more than `most` entries, not all are read.
    pub(super) fn list(
        &mut self,
        path: &Path,
        most: usize,
        note: impl Fn(&OsStr, FileType) -> Option<NotedEntry>,
    ) -> io::Result<Listing> {
        if let Some(kept) = self.kept.get_mut(path.as_os_str()).filter(|kept| kept.is_current) {
            kept.is_met = true;
            return Ok(kept.listing.clone());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty())?;
        // Before it is read: what changes meanwhile makes it another version.
        let version = Version::of(&rustix::fs::fstat(&folder)?).filter(|version| version.is_settled(self.began));
        let version = version.filter(|version| self.is_local(version, &folder));
        let listing = read(&folder, most, note)?;
        if let Some(version) = version.filter(|_| listing.entries <= most) {
            let kept = KeptListing { version, listing: listing.clone(), is_current: true, is_met: true };
            self.kept.insert(path.as_os_str().to_owned(), kept);
        }
        Ok(listing)
    }

    /// How many entries a directory has, if it is as it was and none of them matters. Most directories are like this.
    pub(super) fn plain(&mut self, folder: &Path, name: &OsStr) -> Option<usize> {
        self.path.clear();
        for part in [folder.as_os_str(), OsStr::new("/"), name] {
            self.path.push(part);
        }
        let kept = self.kept.get_mut(&self.path).filter(|kept| kept.is_current && kept.listing.noted.is_empty())?;
        kept.is_met = true;
        Some(kept.listing.entries)
    }

    fn is_local(&mut self, version: &Version, folder: &OwnedFd) -> bool {
        *self.local.entry(version.device).or_insert_with(|| is_local(folder))
    }

    /// Keeps what was listed for the next scan.
    pub(super) fn keep(mut self, folder: PathBuf) {
        self.kept.retain(|_, kept| kept.is_met);
        self.cache.put(folder, self.kept);
    }
}

/// Looks which directories are as they were.
fn compare(kept: &mut Kept) {
    let check = |(path, kept): &mut (&OsString, &mut KeptListing)| {
        kept.is_met = false;
        kept.is_current = Version::at(Path::new(path)) == Some(kept.version);
    };
    let mut all: Vec<(&OsString, &mut KeptListing)> = kept.iter_mut().collect();
    shared_work::for_each(&mut all, check);
}

fn read(folder: &OwnedFd, most: usize, note: impl Fn(&OsStr, FileType) -> Option<NotedEntry>) -> io::Result<Listing> {
    let (mut entries, mut noted) = (0, Vec::new());
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        entries += 1;
        if entries > most {
            break;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => match rustix::fs::statat(folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => continue,
            },
            kind => kind,
        };
        noted.extend(note(name, kind));
    }
    Ok(Listing { entries, noted: noted.into() })
}

/// File systems of this machine, whose change times are by its own clock: ext2 to 4, Btrfs, XFS, F2FS, ZFS, bcachefs,
/// memory, and overlays of these.
#[cfg(target_os = "linux")]
const LOCAL: &[u64] =
    &[0xEF53, 0x9123_683E, 0x5846_5342, 0xF2F5_2010, 0x2FC1_2FC1, 0xCA45_1A4E, 0x0102_1994, 0x794C_7630];

#[cfg(target_os = "linux")]
#[allow(clippy::unnecessary_cast, clippy::cast_sign_loss, reason = "the type differs between systems")]
fn is_local(folder: &OwnedFd) -> bool {
    rustix::fs::fstatfs(folder.as_fd()).is_ok_and(|found| LOCAL.contains(&(found.f_type as u64 & 0xFFFF_FFFF)))
}

#[cfg(not(target_os = "linux"))]
fn is_local(_: &OwnedFd) -> bool {
    false
}
