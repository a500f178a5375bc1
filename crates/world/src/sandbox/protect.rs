//! What a command must not write in a writable folder, and what an automatic command must not read there.
//!
//! Before the run, the host finds all of it (`scan.rs`), the supervisor follows what was found (`repository.rs`), and
//! the fence mounts it accordingly. A path can be made read-only only if it exists. So where `.git`, `.trimtab`, or
//! the hooks or settings of a repository are missing, the supervisor creates an empty placeholder while the command
//! runs; otherwise a command could create a `.git` with hooks. Commands can share a placeholder: each holds a lock on
//! it, and the last one removes it. A placeholder is empty and has the sticky bit.
//!
//! What cannot have a placeholder is undone after the run: control files that an automatic command has created are
//! renamed, so that no program obeys them, and so are new settings of an existing repository. Nothing is deleted,
//! because another program may have created them meanwhile; if git shows that one has, they are only reported. Where
//! mounts are not possible, a comparison before and after reports what was touched.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use trimtab_vocab::{ControlFile, Sandbox};

use super::repository;
use super::scan::{FolderScan, ScanTarget, holds_credential, scan};
use super::wire::{FolderMarks, RunOrder, ScannedFolder};
use crate::git_config::Repositories;

const STICKY: u32 = 0o1000;

/// How often a placeholder is tried again when other runs come in between. Each try that fails is one
/// that another run won, so more than a few are not to be expected.
const TRIES: usize = 1000;

/// More mounts than this take longer than the user would wait for a command to start.
const MOST_MARKS: usize = 4000;

/// The end of the name of what was set aside.
const ASIDE: &str = "blocked";

/// Files of a repository that change when its work tree gets the files of another commit or of a stash. The index is
/// not one of them, because editors that only look refresh it.
const MOVES: &[&str] = &["HEAD", "ORIG_HEAD", "logs/HEAD", "logs/refs/stash"];

/// Programs that change control files as they change all others: the files of another commit.
const VERSION_CONTROL: &[&str] = &["git", "gh", "hg", "jj", "sl", "svn"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Directory,
    File,
}

/// How a path is mounted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MountMark {
    /// It can be written in, but not renamed, or what is protected in it could be moved out of the way.
    Pinned(PathBuf),
    /// It cannot be written.
    ReadOnly(PathBuf),
    /// It is covered with nothing.
    Absent(PathBuf),
}

impl MountMark {
    pub(super) fn path(&self) -> &Path {
        match self {
            MountMark::Pinned(path) | MountMark::ReadOnly(path) | MountMark::Absent(path) => path,
        }
    }
}

/// What the supervisor has to look after once the command is over.
pub(super) struct Protected {
    folder: PathBuf,
    placeholders: Vec<(PathBuf, EntryKind, File)>,
    /// Control files that were there, if what an automatic command makes is to be set aside.
    known: Option<BTreeSet<PathBuf>>,
    /// Links with the names of control files, with where they led.
    links: Vec<(PathBuf, PathBuf)>,
    /// Settings of repositories that were not there.
    missing: Vec<PathBuf>,
    /// Paths that are only compared before and after.
    watched: Vec<PathBuf>,
    before: Vec<Vec<ChangeStamp>>,
    /// Files that only another program can change while an automatic command runs.
    others: Vec<(PathBuf, Vec<ChangeStamp>)>,
}

/// What became of control files.
#[derive(Debug, Default)]
pub(super) struct Aftermath {
    /// Control files that are not as they were.
    pub(super) touched: Vec<String>,
    /// Control files that the command had made, and that have other names now.
    pub(super) undone: Vec<String>,
}

/// The mounts that were found so far.
#[derive(Default)]
struct ProtectedPaths {
    read_only: BTreeSet<PathBuf>,
    watched: Vec<PathBuf>,
    missing: Vec<PathBuf>,
    links: Vec<(PathBuf, PathBuf)>,
    others: Vec<(PathBuf, Vec<ChangeStamp>)>,
    repositories: Option<BTreeSet<PathBuf>>,
    trouble: Option<String>,
}

impl Protected {
    /// Looks for all that has to be marked. `scanned` is what the host has found in the folder.
    pub(super) fn prepare(order: &RunOrder, scanned: Option<ScannedFolder>) -> (Self, FolderMarks) {
        let mut protected = Self {
            folder: order.folder.clone(),
            placeholders: Vec::new(),
            known: None,
            links: Vec::new(),
            missing: Vec::new(),
            watched: Vec::new(),
            before: Vec::new(),
            others: Vec::new(),
        };
        let is_off = order.sandbox == Sandbox::Off;
        let Some(wanted) = order.wanted() else { return (protected, FolderMarks::default()) };
        let scan = usable(scanned, &order.folder).unwrap_or_else(|| scan(&order.folder, wanted));
        let mut found = ProtectedPaths { trouble: scan.cut.clone(), ..ProtectedPaths::default() };
        if order.writes_folder() {
            protected.put_placeholders(order, &scan);
        }
        if order.writes_folder() || is_off {
            found.inspect(order, &scan, &protected.placeholders);
        }
        if is_off {
            // Nothing is fenced; what changed is said.
            found.watched.append(&mut found.missing);
            protected.before = found.watched.iter().map(|path| stamp(path)).collect();
            return (Self { watched: found.watched, ..protected }, FolderMarks::default());
        }
        if order.is_scanned_afterwards() {
            protected.known = Some(made_of(&scan));
        }
        found.read_only.extend(order.read_only.iter().cloned());
        let mut marks = marks(&order.folder, &found.read_only);
        if order.automatic.is_some() {
            // Git needs its settings; other programs do not need the settings that hold a credential.
            let repositories = match order.git.plain {
                true => BTreeSet::new(),
                false => found.repositories.take().unwrap_or_else(|| repositories(&order.folder, &scan)),
            };
            let settings = repositories.iter().flat_map(|of| ["config", "config.worktree"].map(|name| of.join(name)));
            let settings = settings.filter(|settings| holds_credential(settings));
            marks.extend(scan.secrets.iter().cloned().chain(settings).map(MountMark::Absent));
        }
        if marks.len() > MOST_MARKS {
            found.trouble = Some(format!("the folder has {} files to guard, which is too many", marks.len()));
            marks.truncate(MOST_MARKS);
        }
        protected.before = found.watched.iter().map(|path| stamp(path)).collect();
        let ProtectedPaths { watched, missing, links, others, trouble, .. } = found;
        (Self { watched, missing, links, others, ..protected }, FolderMarks { marks, unmarked: trouble })
    }

    fn put_placeholders(&mut self, order: &RunOrder, scan: &FolderScan) {
        let git = order.folder.join(".git");
        let is_there = fs::symlink_metadata(&git).is_ok() && !is_placeholder(&git);
        if !is_there && !scan.repositories.contains(&order.folder) {
            self.placeholders.extend(placeholder(git, EntryKind::Directory));
        }
        self.placeholders.extend(placeholder(order.folder.join(".trimtab"), EntryKind::Directory));
        if order.automatic.is_none() {
            for repository in scan.repositories.iter().filter(|path| !is_placeholder(path)) {
                self.placeholders.extend(placeholder(repository.join("hooks"), EntryKind::Directory));
                self.placeholders.extend(placeholder(repository.join("config"), EntryKind::File));
            }
        }
    }

    /// Undoes what could not be prevented. `scanned` is what the host has found in the folder after the command.
    pub(super) fn finish(&self, scanned: Option<ScannedFolder>) -> Aftermath {
        let mut aftermath = Aftermath::default();
        let shown = |path: &Path| path.strip_prefix(&self.folder).unwrap_or(path).display().to_string();
        for (path, before) in self.watched.iter().zip(&self.before) {
            if stamp(path) != *before {
                aftermath.touched.push(shown(path));
            }
        }
        let mut made: BTreeSet<PathBuf> = self.missing.iter().filter(|path| is_made(path)).cloned().collect();
        if let Some(known) = &self.known {
            let scan = usable(scanned, &self.folder).unwrap_or_else(|| scan(&self.folder, ScanTarget::Control));
            made.extend(made_of(&scan).difference(known).filter(|path| is_made(path)).cloned());
            aftermath.touched.extend(scan.cut.map(|why| format!("perhaps others ({why})")));
        }
        let moved = |(link, target): &&(PathBuf, PathBuf)| fs::read_link(link).ok().as_ref() != Some(target);
        made.extend(self.links.iter().filter(moved).map(|(link, _)| link.clone()));
        // The command cannot write these, so a new one may come from a checkout by another program.
        let is_shared = self.others.iter().any(|(path, before)| stamp(path) != *before);
        for path in made {
            match is_shared || !set_aside(&path) {
                true => aftermath.touched.push(shown(&path)),
                false => aftermath.undone.push(shown(&path)),
            }
            if let Some((link, target)) = self.links.iter().find(|(link, _)| *link == path && !is_shared) {
                let _ = std::os::unix::fs::symlink(target, link);
            }
        }
        aftermath
    }

    /// Removes the placeholders that no other run needs. The kernel takes its time to close what was removed, so that is
    /// left to the caller.
    pub(super) fn remove_placeholders(&mut self) -> Vec<File> {
        let placeholders = std::mem::take(&mut self.placeholders);
        for (path, kind, lock) in placeholders.iter().rev() {
            // Removing it would unmount it from under another run. The directory must still be empty, and
            // so must the file, or someone has made it theirs.
            if rustix::fs::flock(lock, FlockOperation::NonBlockingLockExclusive).is_err() {
                continue;
            }
            let _ = match kind {
                EntryKind::Directory => fs::remove_dir(path),
                #[expect(clippy::disallowed_methods, reason = "it is the empty file that was put there above")]
                EntryKind::File if is_placeholder(path) && lock.metadata().is_ok_and(|meta| meta.len() == 0) => {
                    fs::remove_file(path)
                }
                EntryKind::File => Ok(()),
            };
            let _ = rustix::fs::flock(lock, FlockOperation::Unlock);
        }
        placeholders.into_iter().map(|(_, _, lock)| lock).collect()
    }
}

impl ProtectedPaths {
    fn inspect(&mut self, order: &RunOrder, scan: &FolderScan, placeholders: &[(PathBuf, EntryKind, File)]) {
        let folder = &order.folder;
        let is_automatic = order.automatic.is_some();
        let found = Repositories::new(folder, &scan.repositories, &scan.pointers);
        let repositories = found.all;
        self.trouble = self.trouble.take().or(found.trouble);
        for linked in &found.linked {
            self.fail(folder, linked, "leads through a symbolic link");
        }
        for named in &found.named {
            self.add(folder, named, is_automatic);
            if is_automatic && fs::symlink_metadata(named).is_err() {
                self.missing.push(named.clone());
            }
        }
        for (path, _, _) in placeholders {
            self.read_only.insert(path.clone());
        }
        for name in [".git", ".trimtab"] {
            // What an automatic command makes is set aside afterwards.
            if !is_automatic && fs::symlink_metadata(folder.join(name)).is_err() && !repositories.contains(folder) {
                self.fail(folder, &folder.join(name), "is missing and no placeholder could be put");
            }
        }
        for pointer in &scan.pointers {
            self.add(folder, pointer, is_automatic);
        }
        for repository in &repositories {
            match is_automatic && !order.writes_repository {
                true => {
                    self.add(folder, repository, true);
                    // A link in it cannot be exchanged, but where it leads to may be written.
                    let hooks = repository.join("hooks");
                    self.read_only.extend(hooks.canonicalize().ok().filter(|to| to.starts_with(folder)));
                }
                false => {
                    for path in repository::deciding(repository) {
                        self.add(folder, &path, false);
                    }
                }
            }
        }
        if is_automatic {
            let moves = repositories.iter().flat_map(|repository| MOVES.iter().map(|name| repository.join(name)));
            self.others = moves.map(|path| (path.clone(), stamp(&path))).collect();
        }
        let changes_all = order.writes_repository || !is_automatic && runs_version_control(&order.argv);
        for link in &scan.links {
            self.follow(folder, link, is_automatic, changes_all);
        }
        for (path, kind) in &scan.control {
            match kind {
                // Who approves a command approves what it installs.
                ControlFile::Program if !is_automatic => {}
                ControlFile::Own => self.add(folder, path, is_automatic),
                _ if changes_all => self.watched.push(path.clone()),
                _ => self.add(folder, path, is_automatic),
            }
        }
        self.watched.extend(self.read_only.iter().filter(|_| !is_automatic).cloned());
        self.repositories = Some(repositories);
    }

    fn add(&mut self, folder: &Path, path: &Path, is_automatic: bool) {
        match fs::symlink_metadata(path) {
            Ok(meta) if meta.is_symlink() => {
                self.fail(folder, path, "is a symbolic link");
                self.read_only.extend(path.canonicalize().ok().filter(|to| to.starts_with(folder) && to != folder));
            }
            Ok(meta) if meta.is_file() && meta.nlink() > 1 && is_automatic => {
                self.fail(folder, path, "has a second name, by which it could be written (a hard link)");
            }
            Ok(_) => drop(self.read_only.insert(path.to_owned())),
            Err(_) if !is_automatic && repository::DECIDES.iter().any(|name| path.ends_with(name)) => {
                self.missing.push(path.to_owned());
            }
            Err(_) => {}
        }
    }

    /// A link with the name of a control file can be exchanged, which is undone or said afterwards. What it leads to is
    /// obeyed, and is treated as control files are.
    fn follow(&mut self, folder: &Path, link: &Path, is_automatic: bool, changes_all: bool) {
        let is_git = link.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
        let Some(target) = fs::read_link(link).ok().filter(|_| !is_git) else {
            return self.fail(folder, link, "is a symbolic link");
        };
        let real = match link.canonicalize() {
            Ok(real) => (real.starts_with(folder) && real != folder).then_some(real),
            Err(_) => repository::inside(folder, link.parent().unwrap_or(folder), &target),
        };
        match real {
            Some(real) if fs::symlink_metadata(&real).is_err() => self.missing.extend(is_automatic.then_some(real)),
            Some(real) if changes_all => self.watched.push(real),
            Some(real) => drop(self.read_only.insert(real)),
            None if link.canonicalize().is_ok_and(|real| folder.starts_with(real)) => {
                self.fail(folder, link, "is a symbolic link to the whole folder");
            }
            None => {}
        }
        match is_automatic {
            true => self.links.push((link.to_owned(), target)),
            false => self.watched.push(link.to_owned()),
        }
    }

    fn fail(&mut self, folder: &Path, path: &Path, why: &str) {
        let shown = path.strip_prefix(folder).unwrap_or(path).display();
        self.trouble.get_or_insert_with(|| format!("{shown} {why}"));
    }
}

/// The host's scan, if it is of this folder.
fn usable(scanned: Option<ScannedFolder>, folder: &Path) -> Option<FolderScan> {
    scanned.filter(|scanned| scanned.folder == folder).map(|scanned| scanned.scan)
}

/// The repositories of a scan, and those that they lead to.
fn repositories(folder: &Path, scan: &FolderScan) -> BTreeSet<PathBuf> {
    Repositories::new(folder, &scan.repositories, &scan.pointers).all
}

/// Mounts for all that is read-only and for the folders above, outer before inner. What is inside something read-only
/// needs no mount.
fn marks(folder: &Path, read_only: &BTreeSet<PathBuf>) -> Vec<MountMark> {
    let mut marks: BTreeSet<(PathBuf, MountMark)> = BTreeSet::new();
    for path in read_only {
        let above = || path.ancestors().skip(1).take_while(|above| *above != folder && above.starts_with(folder));
        if above().any(|above| read_only.contains(above)) {
            continue;
        }
        marks.insert((path.clone(), MountMark::ReadOnly(path.clone())));
        marks.extend(above().map(|above| (above.to_owned(), MountMark::Pinned(above.to_owned()))));
    }
    marks.into_iter().map(|(_, mark)| mark).collect()
}

/// What another name takes the effect from, for each control file of a scan.
fn made_of(scan: &FolderScan) -> BTreeSet<PathBuf> {
    let is_named = |path: &Path| path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
    let repositories = scan.repositories.iter().map(|path| match is_named(path) {
        true => path.clone(),
        false => path.join("HEAD"),
    });
    let control = scan.control.iter().filter(|(_, kind)| *kind != ControlFile::Program).map(|(path, _)| path.clone());
    repositories.chain(control).chain(scan.pointers.iter().cloned()).chain(scan.links.iter().cloned()).collect()
}

/// Whether something other than a placeholder or git's own files is there.
fn is_made(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok() && !is_placeholder(path) && !repository::is_usual(path)
}

/// Renames it to a free name that no program obeys.
fn set_aside(path: &Path) -> bool {
    let Some(name) = path.file_name() else { return false };
    let named = |end: String| {
        let mut aside = name.to_owned();
        aside.push(end);
        path.with_file_name(aside)
    };
    let Ok(number) = getrandom::u64() else { return false };
    let usual = named(format!(".{ASIDE}"));
    let is_free = matches!(fs::symlink_metadata(&usual), Err(error) if error.kind() == ErrorKind::NotFound);
    let aside = if is_free { usual } else { named(format!(".{ASIDE}-{number:016x}")) };
    // The longer name may be too long for the file system.
    let short = path.with_file_name(format!("{ASIDE}-{number:016x}"));
    #[expect(clippy::disallowed_methods, reason = "the command that made it has ended, and nothing is written over")]
    let is_aside = fs::rename(path, aside).or_else(|_| fs::rename(path, short)).is_ok();
    is_aside
}

fn runs_version_control(argv: &[String]) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    argv.iter().flat_map(|text| text.split(|c| !is_word(c))).any(|word| VERSION_CONTROL.contains(&word))
}

/// A placeholder cannot be written, so one that is not empty is not a placeholder: a command has set the bit.
fn is_placeholder(path: &Path) -> bool {
    let is_empty = |meta: &fs::Metadata| match meta.is_dir() {
        true => fs::read_dir(path).is_ok_and(|mut inside| inside.next().is_none()),
        false => meta.is_file() && meta.len() == 0,
    };
    fs::symlink_metadata(path).is_ok_and(|meta| meta.mode() & STICKY != 0 && !meta.is_symlink() && is_empty(&meta))
}

/// Creates a placeholder at `path`, or shares an existing one. None if something else is there.
///
/// Other runs create and remove placeholders at the same time, so it retries when something appears or vanishes in
/// between. The bit is set at creation, because a run that saw a placeholder without it would take it for the user's
/// file.
fn placeholder(path: PathBuf, kind: EntryKind) -> Option<(PathBuf, EntryKind, File)> {
    for _ in 0..TRIES {
        let made = match kind {
            EntryKind::Directory => DirBuilder::new().mode(0o755 | STICKY).create(&path),
            EntryKind::File => {
                OpenOptions::new().write(true).create_new(true).mode(0o644 | STICKY).open(&path).map(|_| ())
            }
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

/// Enough of a file's metadata to see that it changed: no program can set the change time.
type ChangeStamp = (PathBuf, u64, u64, i64, i64);

fn stamp(path: &Path) -> Vec<ChangeStamp> {
    let one = |path: PathBuf| {
        // A placeholder may be another run's, which comes and goes as it likes.
        let meta = fs::symlink_metadata(&path).ok().filter(|meta| meta.mode() & STICKY == 0)?;
        Some((path, meta.ino(), meta.size(), meta.ctime(), meta.ctime_nsec()))
    };
    let mut stamps: Vec<ChangeStamp> = one(path.to_owned()).into_iter().collect();
    // Hooks and settings are flat. A folder with very many entries is neither.
    let inside = fs::read_dir(path).into_iter().flatten().flatten().take(1000);
    stamps.extend(inside.filter_map(|entry| one(entry.path())));
    stamps.sort();
    stamps
}
