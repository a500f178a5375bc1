//! Takes a snapshot of a folder.

use std::collections::{BTreeMap, btree_map};
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::iter::Peekable;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use trimtab_vocab::{FileState, WhyUnkept, sensitive_paths};

use super::super::read::permissions;
use super::super::{Folder, FolderWalk, WalkEntry};
use super::rebuildable::{Built, LinkScan, Linked, Links, built, scan};
use super::{FileStamp, LARGEST, Snapshot, SnapshotContent, SnapshotEntry, Uncovered};
use crate::clock::{Clock as _, SystemClock};
use crate::shared_work;

/// Files beyond this many are looked at after a command that has made them, if there was room before.
const MORE_AFTERWARDS: usize = 2;
/// Files of one ignored directory that are kept one by one.
const MOST_IGNORED: usize = 10_000;
/// Entries of one built folder that are named; of more, the folder itself is.
const MOST_LINKED: usize = 200;
/// A folder that takes longer is too large to be noted before every command.
const LONGEST: Duration = Duration::from_secs(15);

/// Files whose stamps are asked for between two looks whether anybody still waits.
const AT_ONCE: usize = 16_384;

/// Stores the bytes of files by their hash, and can stop the scan.
pub trait Keep {
    fn keep(&mut self, hash: &str, bytes: Vec<u8>);
    /// Whether the caller no longer waits for the snapshot.
    fn is_over(&self) -> bool;
}

/// What to look at.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotOrder<'a> {
    pub folder: &'a Folder,
    /// The earlier snapshot.
    pub known: &'a Snapshot,
    /// Files at most.
    pub files: usize,
    /// Bytes that are newly kept at most.
    pub bytes: u64,
    /// A command has run since `known` was taken: known files are scanned even if they are ignored now.
    pub afterwards: bool,
    /// The next command has no approval: report also which build folders share files with others.
    pub whole: bool,
    /// The session may affect what counts as made by a build. Files from before its first snapshot are then stored
    /// like any others, because an edit must not make the user's files disappear.
    pub doubt: bool,
}

/// Scans all files of a folder. None if the caller no longer waits.
pub fn take(order: &SnapshotOrder<'_>, keep: &mut dyn Keep) -> Option<Snapshot> {
    let mut taking = Taking {
        order,
        keep,
        left: order.bytes,
        until: Instant::now() + LONGEST,
        met: Vec::new(),
        groups: BTreeMap::new(),
        links: Links::default(),
        linked: Vec::new(),
        scanned: Vec::new(),
        taken: Snapshot::default(),
    };
    taking.walk()?;
    taking.stat_all()?;
    taking.count();
    taking.leave_out_groups();
    taking.read()?;
    if order.afterwards {
        taking.look_for_the_missing()?;
    } else if order.whole {
        taking.find_linked();
    }
    Some(taking.taken)
}

/// A file or link that was met on the way.
struct Met<'a> {
    path: PathBuf,
    /// The topmost ignored directory that it is in, or the file itself.
    ignored: Option<Arc<Path>>,
    stat: Option<rustix::fs::Stat>,
    /// What the earlier snapshot has of this path.
    known: Option<&'a SnapshotEntry>,
}

/// The files under an ignored directory.
#[derive(Default)]
struct IgnoredGroup {
    files: usize,
    bytes: u64,
    /// Bytes of them that are not kept yet.
    new: u64,
    /// There are more than are kept one by one.
    is_cut: bool,
}

struct Taking<'a> {
    order: &'a SnapshotOrder<'a>,
    keep: &'a mut dyn Keep,
    left: u64,
    until: Instant,
    met: Vec<Met<'a>>,
    groups: BTreeMap<Arc<Path>, IgnoredGroup>,
    links: Links,
    /// Files with several names; and of each built folder, which entries of it hold such files.
    linked: Vec<(PathBuf, u64, bool, Linked)>,
    scanned: Vec<(PathBuf, Built, LinkScan)>,
    taken: Snapshot,
}

impl<'a> Taking<'a> {
    /// Meets everything; nothing is read yet.
    fn walk(&mut self) -> Option<()> {
        let folder = self.order.folder.path();
        let most = if self.order.afterwards { self.order.files * MORE_AFTERWARDS } else { self.order.files };
        let mut walk =
            FolderWalk::new(folder, folder, LONGEST).with_ignored().only(|entry| !is_ours(entry.file_name()));
        // The topmost ignored directory that the walk is in.
        let mut top: Option<Arc<Path>> = None;
        // The walk has the order of the list.
        let mut earlier = EarlierEntries(self.order.known.entries.iter().peekable());
        let (mut plain, mut ignored) = (0, 0);
        while let Some(entry) = walk.next() {
            if self.keep.is_over() {
                return None;
            }
            let Some(path) = inside(folder, entry.path()) else { continue };
            top = top.filter(|top| path.starts_with(top));
            if entry.kind().is_dir() {
                if !path.as_os_str().is_empty() && self.passes_by(&entry, &path) {
                    walk.leave(entry.path());
                } else if entry.is_ignored() && top.is_none() {
                    top = Some(path.into());
                }
                continue;
            }
            if !entry.kind().is_file() && !entry.kind().is_symlink() {
                continue;
            }
            let known = earlier.of(&path);
            // An ignored file that a command made may stay.
            if self.order.afterwards && entry.is_ignored() && known.is_none() {
                continue;
            }
            if let Some(top) = &top {
                let group = self.groups.entry(Arc::clone(top)).or_default();
                group.files += 1;
                ignored += 1;
                if !self.order.afterwards && (group.files > MOST_IGNORED || ignored > most) {
                    group.is_cut = true;
                    walk.leave(&folder.join(top));
                }
            } else if plain >= most {
                self.taken.is_cut = true;
                break;
            } else {
                plain += 1;
            }
            let ignored = top.clone().or_else(|| entry.is_ignored().then(|| path.as_path().into()));
            self.met.push(Met { path, ignored, stat: None, known });
        }
        self.taken.is_late |= walk.is_cut;
        if self.taken.is_cut {
            return Some(());
        }
        self.taken.closed =
            walk.unread.iter().filter(|path| path.is_dir()).filter_map(|path| inside(folder, path)).collect();
        Some(())
    }

    /// Asks for the stamps of everything that was met. This takes longer than the walk, so several threads ask.
    fn stat_all(&mut self) -> Option<()> {
        let folder = self.order.folder.as_fd();
        let ask = |met: &mut Met<'_>| met.stat = rustix::fs::statat(folder, &met.path, AtFlags::SYMLINK_NOFOLLOW).ok();
        for part in self.met.chunks_mut(AT_ONCE) {
            if self.keep.is_over() {
                return None;
            }
            if Instant::now() > self.until {
                self.taken.is_late = true;
                break;
            }
            shared_work::for_each(part, ask);
        }
        // What was removed meanwhile.
        self.met.retain(|met| met.stat.is_some());
        Some(())
    }

    /// Notes which files are as they were, which have several names, and how large groups are.
    fn count(&mut self) {
        for met in &mut self.met {
            let Some(stat) = &met.stat else { continue };
            let stamp = FileStamp::from_stat(stat);
            if let Some(linked) = Linked::from_stat(stat).filter(|_| stamp.is_file()) {
                self.links.met(linked);
            }
            met.known = met.known.filter(|known| known.is_believed(&stamp));
            if let Some(group) = met.ignored.as_ref().and_then(|top| self.groups.get_mut(top)) {
                group.bytes += stamp.size;
                group.new += if met.known.is_some() { 0 } else { stamp.size };
            }
        }
    }

    /// Whether a directory is only noted as being there.
    fn passes_by(&mut self, entry: &WalkEntry, path: &Path) -> bool {
        let known = self.order.known;
        let was_kept = || known.entries.range(path.to_owned()..).next().is_some_and(|(next, _)| next.starts_with(path));
        if self.order.afterwards {
            return known.folders.contains_key(path) || (entry.is_ignored() && !was_kept());
        }
        // What was stored before, or was to be, stays stored: an edit of the ignore rules must not remove it.
        let was_to_be_kept = || match known.folders.get(path) {
            Some(why) => *why != WhyUnkept::Rebuildable,
            None => known.folders.keys().any(|above| path.starts_with(above)),
        };
        if !entry.is_ignored() || (self.order.doubt && known.notes_nothing()) || was_kept() || was_to_be_kept() {
            return false;
        }
        let Some(kind) = built(entry.path()) else { return false };
        self.taken.folders.insert(path.to_owned(), WhyUnkept::Rebuildable);
        if self.order.whole {
            self.scan_built(entry.path(), kind);
        }
        true
    }

    /// Finds files of a built folder that may have another name outside: writing to them would change that too.
    fn scan_built(&mut self, directory: &Path, kind: Built) {
        let scan = scan(directory, &mut self.links, self.until);
        self.taken.is_late |= scan.is_cut;
        self.scanned.push((directory.to_owned(), kind, scan));
    }

    /// An ignored directory that does not fit is left out as a whole: a part of it would be no help. What git does
    /// not ignore comes first.
    fn leave_out_groups(&mut self) {
        if self.order.afterwards {
            return;
        }
        let groups = std::mem::take(&mut self.groups);
        let is_plain = |met: &&Met<'_>| met.ignored.as_ref().is_none_or(|top| !groups.contains_key(top));
        let size = |met: &Met<'_>| {
            let size = met.stat.as_ref().map_or(0, |stat| FileStamp::from_stat(stat).size);
            if size > LARGEST || met.known.is_some() { 0 } else { size }
        };
        let mut room = self.left.saturating_sub(self.met.iter().filter(is_plain).map(size).sum());
        let does_not_fit = |(_, group): &(Arc<Path>, IgnoredGroup)| {
            let fits = !group.is_cut && group.new <= room;
            room -= if fits { group.new } else { 0 };
            !fits
        };
        let left_out: BTreeMap<Arc<Path>, IgnoredGroup> = groups.into_iter().filter(does_not_fit).collect();
        self.met.retain(|met| met.ignored.as_ref().is_none_or(|top| !left_out.contains_key(top)));
        for (path, group) in left_out {
            let path = path.to_path_buf();
            // A build that cannot write its output fails with confusing errors.
            let is_output = built(&self.order.folder.path().join(&path)) == Some(Built::Output);
            let ask = is_output || path.to_str().is_none();
            self.taken.folders.insert(path.clone(), WhyUnkept::Full);
            self.taken.uncovered.push(Uncovered {
                path,
                bytes: group.bytes,
                why: WhyUnkept::Full,
                is_folder: true,
                is_ignored: true,
                ask,
            });
        }
    }

    /// Reads what is not known.
    fn read(&mut self) -> Option<()> {
        let met = std::mem::take(&mut self.met);
        let mut entries = Vec::with_capacity(met.len());
        for Met { path, ignored, stat, known } in met {
            if self.keep.is_over() {
                return None;
            }
            let Some(stat) = stat else { continue };
            let Some(entry) = known.cloned().or_else(|| self.inspect(&path, &stat)) else { continue };
            if let SnapshotContent::Unkept(why) = entry.content {
                self.uncovered(&path, entry.stamp.size, why, ignored.is_some());
            } else if let Some(linked) = Linked::from_stat(&stat).filter(|_| entry.stamp.is_file()) {
                self.linked.push((path.clone(), entry.stamp.size, ignored.is_some(), linked));
            }
            entries.push((path, entry));
        }
        // They are in order, so the map is built at once.
        self.taken.entries = entries.into_iter().collect();
        for path in self.taken.closed.clone() {
            self.uncovered(&path, 0, WhyUnkept::Unreadable, false);
        }
        Some(())
    }

    fn uncovered(&mut self, path: &Path, bytes: u64, why: WhyUnkept, is_ignored: bool) {
        let (path, is_folder) = (path.to_owned(), self.taken.closed.iter().any(|closed| closed == path));
        // What cannot be written as text cannot be named to the fence either.
        let ask = path.to_str().is_none();
        self.taken.uncovered.push(Uncovered { path, bytes, why, is_folder, is_ignored, ask });
    }

    /// Names the files with another name that was not met.
    fn find_linked(&mut self) {
        let folder = self.order.folder.path();
        for (path, bytes, is_ignored, linked) in std::mem::take(&mut self.linked) {
            if self.links.lead_out(linked) {
                self.uncovered(&path, bytes, WhyUnkept::Linked, is_ignored);
            }
        }
        for (directory, kind, scan) in std::mem::take(&mut self.scanned) {
            let mut out = scan.leading_out(&self.links);
            if out.is_empty() {
                continue;
            }
            // A build that cannot write its output fails with confusing errors.
            let ask = kind == Built::Output;
            if ask || out.len() > MOST_LINKED {
                out = vec![directory];
            }
            for path in out.iter().filter_map(|path| inside(folder, path)) {
                let (why, ask) = (WhyUnkept::Linked, ask || path.to_str().is_none());
                let is_folder = folder.join(&path).is_dir();
                self.taken.uncovered.push(Uncovered { path, bytes: 0, why, is_folder, is_ignored: true, ask });
            }
        }
    }

    /// What was there and was not met on the way: gone, ignored since, or behind a door that was shut.
    fn look_for_the_missing(&mut self) -> Option<()> {
        let known = self.order.known;
        for (path, before) in &known.entries {
            if self.taken.entries.contains_key(path) {
                continue;
            }
            if self.keep.is_over() {
                return None;
            }
            // A link in the place of a folder may lead to a file of the same name, which is another.
            if self.order.folder.itself(path) == Some(None) {
                continue;
            }
            match self.stat(path) {
                Ok(stat) => {
                    let is_known = before.is_believed(&FileStamp::from_stat(&stat));
                    let found = if is_known { Some(before.clone()) } else { self.inspect(path, &stat) };
                    self.taken.entries.extend(found.map(|found| (path.clone(), found)));
                }
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                // It cannot be seen whether it is there: what was known of it stays.
                Err(_) => drop(self.taken.entries.insert(path.clone(), before.clone())),
            }
        }
        let folder = self.order.folder.path();
        let has_something = |path: &Path| match folder.join(path).read_dir() {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) => error.kind() == std::io::ErrorKind::PermissionDenied,
        };
        let there = known.folders.iter().filter(|(path, _)| has_something(path));
        self.taken.folders = there.map(|(path, why)| (path.clone(), *why)).collect();
        Some(())
    }

    fn stat(&self, path: &Path) -> Result<rustix::fs::Stat, Errno> {
        rustix::fs::statat(self.order.folder.as_fd(), path, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// One file that is not known as it is: it is read.
    fn inspect(&mut self, path: &Path, stat: &rustix::fs::Stat) -> Option<SnapshotEntry> {
        let (stamp, kind) = (FileStamp::from_stat(stat), FileType::from_raw_mode(stat.st_mode));
        let content = match kind {
            FileType::Symlink => self.link(path),
            FileType::RegularFile => self.file(path, &stamp),
            _ => return None,
        };
        Some(SnapshotEntry { stamp, content: content.unwrap_or_else(SnapshotContent::Unkept) })
    }

    fn link(&mut self, path: &Path) -> Result<SnapshotContent, WhyUnkept> {
        path.to_str().ok_or(WhyUnkept::Name)?;
        let read = now();
        let target = rustix::fs::readlinkat(self.order.folder.as_fd(), path, Vec::new());
        let target = target.map_err(|_| WhyUnkept::Unreadable)?.into_bytes();
        Ok(self.kept(target, FileState::LINK, read))
    }

    fn file(&mut self, path: &Path, stamp: &FileStamp) -> Result<SnapshotContent, WhyUnkept> {
        let name = path.to_str().ok_or(WhyUnkept::Name)?;
        if sensitive_paths::has_secret(name) {
            return Err(WhyUnkept::Secret);
        }
        if stamp.size > LARGEST {
            return self.hashed(path, WhyUnkept::Large);
        }
        if stamp.size > self.left {
            return self.hashed(path, WhyUnkept::Full);
        }
        let read = now();
        let (file, mode) = self.open(path)?;
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or(0) + 1);
        let most = LARGEST.min(self.left);
        file.take(most + 1).read_to_end(&mut bytes).map_err(|_| WhyUnkept::Unreadable)?;
        if bytes.len() as u64 > most {
            return Err(WhyUnkept::Large);
        }
        Ok(self.kept(bytes, mode, read))
    }

    /// A file that was kept before the command and has become too large since: its new bytes are not needed to
    /// put the old ones back, only their hash is.
    fn hashed(&self, path: &Path, why: WhyUnkept) -> Result<SnapshotContent, WhyUnkept> {
        let was_kept = self
            .order
            .known
            .entries
            .get(path)
            .is_some_and(|known| matches!(known.content, SnapshotContent::Kept { .. }));
        if !self.order.afterwards || !was_kept {
            return Err(why);
        }
        let (file, mode) = self.open(path)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file).map_err(|_| WhyUnkept::Unreadable)?;
        Ok(SnapshotContent::Seen(FileState { hash: hasher.finalize().to_hex().to_string(), mode }))
    }

    fn open(&self, path: &Path) -> Result<(File, u32), WhyUnkept> {
        let fd = self.order.folder.open_without_links(path).map_err(|_| WhyUnkept::Unreadable)?;
        let stat = rustix::fs::fstat(&fd).map_err(|_| WhyUnkept::Unreadable)?;
        // It was exchanged for something else a moment ago.
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(WhyUnkept::Unreadable);
        }
        Ok((File::from(fd), permissions(&stat)))
    }

    fn kept(&mut self, bytes: Vec<u8>, mode: u32, read: i64) -> SnapshotContent {
        self.left = self.left.saturating_sub(bytes.len() as u64);
        let hash = crate::store::hash(&bytes);
        self.keep.keep(&hash, bytes);
        SnapshotContent::Kept { state: FileState { hash, mode }, read }
    }
}

impl SnapshotEntry {
    /// Whether what is known of a file holds for one with this stamp.
    fn is_believed(&self, stamp: &FileStamp) -> bool {
        self.stamp == *stamp
            && match &self.content {
                SnapshotContent::Kept { read, .. } => !stamp.is_coarse(*read),
                // It may be its turn now.
                SnapshotContent::Seen(_) | SnapshotContent::Unkept(WhyUnkept::Full | WhyUnkept::Unreadable) => false,
                SnapshotContent::Unkept(_) => true,
            }
    }
}

/// The entries of the earlier snapshot, for paths that are asked for in their order. For a path out of order there is
/// nothing, so that its file is read.
struct EarlierEntries<'a>(Peekable<btree_map::Iter<'a, PathBuf, SnapshotEntry>>);

impl<'a> EarlierEntries<'a> {
    fn of(&mut self, path: &Path) -> Option<&'a SnapshotEntry> {
        while self.0.next_if(|(next, _)| next.as_path() < path).is_some() {}
        self.0.next_if(|(next, _)| next.as_path() == path).map(|(_, entry)| entry)
    }
}

impl FileStamp {
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the widths differ between systems")]
    fn from_stat(stat: &rustix::fs::Stat) -> Self {
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

fn now() -> i64 {
    SystemClock.now().millis().saturating_mul(1_000_000)
}
