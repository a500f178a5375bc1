//! Changing the user's files: the only code that does.
//!
//! A change set is written whole or not at all, and can be killed between any two system calls:
//! calling [`apply`] again with the same plan finishes it or takes it back. There is no journal.
//! Every file says by its hash whether it is as before or as after, and what a killed run has left
//! beside it says the rest:
//!
//! * `.trimtab-<set>-<n>.part` is being written and means nothing.
//! * `.trimtab-<set>-<n>.tmp` is whole: bytes that wait to be put in place, or bytes that were there
//!   before. If it is neither, it is an edit that the user made at the very moment of the exchange,
//!   and it goes back to its place.
//! * `.trimtab-<set>.made` marks a directory that was made for a file of the set, and
//!   `.trimtab-<set>.dir` is one on its way to its name, or away from it.
//!
//! First everything is looked at, then all new bytes are written and synced beside their targets, so
//! that a full disk is met while nothing has changed. Only then does one file after the other change,
//! by an exchange of names: the old bytes are in hand, and are looked at once more, before they go.
//! They are removed when the whole set is in place.
//!
//! Choices that a reader may wonder about:
//!
//! * **Hard links** are broken: the path gets its new bytes, other names of the same file keep the old
//!   ones. To write in place could not be undone by a kill, and would change files outside of the
//!   folder that share the bytes, such as a package manager's store. `Changed::unlinked` says so.
//! * **Symbolic links** inside the folder are followed and kept when their target is overwritten. A
//!   set neither deletes nor creates through one, since the user would expect another thing to vanish. A
//!   link is itself the thing that changes only where the set says so ([`FileState::is_link`]), which is
//!   how what commands did to links is undone.
//! * **Read-only files** are refused, although a rename could replace them, unless the change itself
//!   gives them another mode. Deleting one needs no more than `rm -f` does.
//! * **Directories** that a deletion leaves empty go too, as with git: so undoing a creation leaves
//!   nothing behind, and undoing the deletion makes them again.
//! * **An empty directory** in the place of a file that is to be made is nothing: it goes.
//! * A file that is as `after` before anything was written counts as written, and is put back when
//!   the set is refused, because a killed run may have written it. At a first attempt
//!   ([`FilePlan::is_first_attempt`]) there was no such run: then somebody else made the very same change,
//!   undoing the set would undo theirs, and the set is refused.
//!
//! [`FileState::is_link`]: trimtab_vocab::FileState::is_link

mod directories;
mod one;
mod outcome;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use trimtab_vocab::{FilePlan, FileWrite};

pub use self::outcome::{ChangeKind, ChangedPath, Refused, Why, WrittenSet};

use self::directories::Directories;
use self::one::{FileStatus, FileWriter, WriteFault};
use super::Folder;
use super::folder::Astray;

/// The next operation. Tests intercept it, to fail it, to race it, or to be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum WriteStep {
    MakeDirectory,
    Stage,
    Sync,
    Staged,
    Recheck,
    Place,
    Verify,
    TakeBack,
    Clean,
}

type Gate<'a> = &'a dyn Fn(WriteStep, &str) -> Result<(), Errno>;

/// Carries out `plan` in `folder`; `contents` gives the bytes for a hash. Call it again with the same
/// plan if it was killed.
///
/// A rewind is the plan of [`FileSet::reversed`], applied: a file that is no longer as the set left it
/// refuses the whole.
///
/// [`FileSet::reversed`]: trimtab_vocab::FileSet::reversed
pub fn apply(
    folder: &Folder,
    plan: &FilePlan,
    contents: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> Result<WrittenSet, Refused> {
    apply_at(folder, plan, contents, &|_, _| Ok(()))
}

fn apply_at(
    folder: &Folder,
    plan: &FilePlan,
    contents: &dyn Fn(&str) -> Option<Vec<u8>>,
    gate: Gate<'_>,
) -> Result<WrittenSet, Refused> {
    let set = plan.set();
    make_room_for(set.writes.len());
    let Ordered { first, rest } = Ordered::new(folder, &set.writes);
    let is_first_attempt = plan.is_first_attempt();
    let job = WriteJob { folder, set: set.change_set.as_str(), contents, gate, is_first_attempt };
    if first.is_empty() {
        return job.run(&rest);
    }
    // It is gone before the rest is tried, and comes from the store if it has to come back.
    let kept = |write: &FileWrite| write.before.as_ref().is_none_or(|state| contents(&state.hash).is_some());
    if let Some((_, FileWrite { path, before: Some(state), .. })) = first.iter().find(|(_, write)| !kept(write)) {
        return Err(Refused::new(Why::NoContent { path: path.clone(), hash: state.hash.clone() }));
    }
    let mut done = job.run(&first)?;
    match job.run(&rest) {
        Ok(more) => {
            done.files.extend(more.files);
            Ok(done)
        }
        Err(mut refused) => {
            let back: Vec<(usize, FileWrite)> = first.iter().map(|(n, write)| (*n, reversed(write))).collect();
            if job.run(&back.iter().map(|(n, write)| (*n, write)).collect::<Vec<_>>()).is_err() {
                refused.not_put_back.extend(back.into_iter().map(|(_, write)| write.path));
            }
            Err(refused)
        }
    }
}

fn reversed(write: &FileWrite) -> FileWrite {
    FileWrite { before: write.after.clone(), after: write.before.clone(), ..write.clone() }
}

/// The files of a set with their numbers, in two parts. Where a command made a folder of a file, or put a link or a
/// file in the place of a folder, what is in the way must go before what was there can come back.
struct Ordered<'a> {
    first: Vec<(usize, &'a FileWrite)>,
    rest: Vec<(usize, &'a FileWrite)>,
}

impl<'a> Ordered<'a> {
    fn new(folder: &Folder, writes: &'a [FileWrite]) -> Self {
        let created: HashSet<&Path> =
            writes.iter().filter(|write| write.before.is_none()).map(|write| Path::new(&write.path)).collect();
        let above: HashSet<&Path> = created.iter().flat_map(|path| path.ancestors().skip(1)).collect();
        let is_in_the_way = |write: &FileWrite| {
            let path = Path::new(&write.path);
            write.after.is_none()
                && (above.contains(path) || path.ancestors().skip(1).any(|above| created.contains(above)))
        };
        let (first, rest): (Vec<_>, Vec<_>) = writes.iter().enumerate().partition(|(_, write)| is_in_the_way(write));
        // After a kill, what comes back may be in place already; then this is gone.
        let is_gone = |write: &FileWrite| {
            let found = folder.walk_to_link(Path::new(&write.path));
            matches!(found, Err(Astray::Directory | Astray::ThroughAFile))
        };
        Self { first: first.into_iter().filter(|(_, write)| !is_gone(write)).collect(), rest }
    }
}

/// What is the same for both parts of a set.
struct WriteJob<'a> {
    folder: &'a Folder,
    set: &'a str,
    contents: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    gate: Gate<'a>,
    is_first_attempt: bool,
}

impl WriteJob<'_> {
    fn run(&self, writes: &[(usize, &FileWrite)]) -> Result<WrittenSet, Refused> {
        let directories = Directories::new(self.folder, self.set, self.gate);
        let mut files = Vec::with_capacity(writes.len());
        let mut astray = None;
        for (n, write) in writes {
            match FileWriter::find(self.folder, &directories, *n, write, self.contents, self.gate) {
                Ok(one) => files.push(one),
                Err(why) => astray = astray.or(Some(why)),
            }
        }
        // The others are still looked at: a killed run may have changed them.
        if let Some(why) = astray {
            return Err(self.refuse(files, why, &directories));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = files.iter().find(|one| !seen.insert(one.place().to_owned())) {
            return Err(Refused::new(Why::Twice { path: twice.path() }));
        }
        if let Err(why) = inspect(&mut files, &directories) {
            return Err(self.refuse(files, why, &directories));
        }
        if self.is_first_attempt
            && let Some(one) = files.iter().find(|one| !one.is_as_before())
        {
            return Err(Refused::new(one.why(WriteFault::Changed)));
        }
        match forward(&mut files) {
            Ok(()) => Ok(finish(files, &directories)),
            Err(why) => Err(take_back(files, why, &directories)),
        }
    }

    /// Refuses the set before this run has written anything. At a first attempt nothing is undone, because another
    /// program made what already is as after.
    fn refuse(&self, files: Vec<FileWriter<'_>>, why: Why, directories: &Directories<'_>) -> Refused {
        if self.is_first_attempt { Refused::new(why) } else { take_back(files, why, directories) }
    }
}

/// Files that are open all the time, besides those of a set.
const OTHER_FILES: u64 = 512;

/// The directory of every file is held open while the set is written. Where that may be more than are
/// allowed, as many as the system permits are allowed from now on; a set that needs still more is refused.
fn make_room_for(files: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let (wanted, limit) = (files as u64 + OTHER_FILES, getrlimit(Resource::Nofile));
    if limit.current.is_some_and(|current| current < wanted) {
        let current = Some(limit.maximum.map_or(wanted, |most| most.min(wanted)));
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum });
    }
}

/// Looks how all files stand, after what a killed run has left beside them was put in order.
fn inspect(files: &mut [FileWriter<'_>], directories: &Directories<'_>) -> Result<(), Why> {
    for one in files.iter_mut() {
        one.heal().and_then(|()| one.refresh()).map_err(|fault| one.why(fault))?;
        directories.sweep(one.place());
    }
    Ok(())
}

fn forward(files: &mut [FileWriter<'_>]) -> Result<(), Why> {
    if let Some(one) = files.iter().find(|one| one.status() == FileStatus::Elsewhere) {
        return Err(one.why(WriteFault::Changed));
    }
    let todo = |one: &&mut FileWriter<'_>| one.status() == FileStatus::Before;
    for one in files.iter_mut().filter(todo) {
        one.may_be_written().and_then(|()| one.stage_after()).map_err(|fault| one.why(fault))?;
    }
    for one in files.iter_mut().filter(todo) {
        one.go_forward().map_err(|fault| one.why(fault))?;
    }
    sync(files).map_err(|(path, errno)| Why::System { path, error: errno.into() })?;
    // A program that had the old file open may have written to it since. This is the last moment at
    // which that can be seen.
    for one in files.iter_mut() {
        one.still_holds_before().map_err(|fault| one.why(fault))?;
    }
    Ok(())
}

/// All files are durably as they should be, so the data for an undo can go. A failure here does not affect the
/// change, so the set does not fail.
fn finish(files: Vec<FileWriter<'_>>, directories: &Directories<'_>) -> WrittenSet {
    for one in &files {
        one.clean();
    }
    for one in files.iter().filter(|one| one.is_deletion()) {
        directories.remove_empty(one.place());
    }
    // After this, the directories of the set can no longer be told apart.
    for one in &files {
        directories.unmark(one.place());
    }
    let _ = sync(&files);
    WrittenSet { files: files.iter().map(FileWriter::report).collect() }
}

/// Restores all files that are as after, from any run, and reports what could not be restored.
fn take_back(mut files: Vec<FileWriter<'_>>, why: Why, directories: &Directories<'_>) -> Refused {
    let mut refused = Refused::new(why);
    for one in files.iter_mut().rev() {
        if one.heal().and_then(|()| one.refresh()).is_err() {
            refused.unsure.push(one.path());
            continue;
        }
        if one.status() == FileStatus::After && one.go_back().is_err() {
            refused.not_put_back.push(one.path());
        }
    }
    let _ = sync(&files);
    for one in &files {
        // What was kept may be all there is of a file that cannot be read just now.
        if !refused.unsure.contains(&one.path()) {
            one.clean();
        }
        directories.sweep(one.place());
        if one.is_creation() {
            directories.remove_made(one.place());
        }
    }
    for one in &files {
        directories.unmark(one.place());
    }
    refused
}

/// Makes the names durable. One sync for each directory, however many files it has.
fn sync(files: &[FileWriter<'_>]) -> Result<(), (String, Errno)> {
    let mut done: HashSet<PathBuf> = HashSet::new();
    for one in files {
        if done.insert(one.place().parent().unwrap_or(Path::new("")).to_owned()) {
            one.sync_directory().map_err(|errno| (one.path(), errno))?;
        }
    }
    Ok(())
}
