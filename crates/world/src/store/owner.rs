//! Which processes are alive.
//!
//! Every process that opens a data folder holds a locked file there while it lives. The kernel releases the lock when
//! the process ends in any way, so the lease of a killed process is void at once, and the lease of a stopped or
//! sleeping process is not. No clock is involved, and a reused process ID does no harm.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// Files that may be swept away under our hands before we give up.
const TRIES: u64 = 20;

/// Tells which owners of leases are alive.
///
/// It is called inside of transactions, so it must answer at once: the files of a folder are checked directly; a
/// database that many machines share has heartbeats, and answers from the last ones that it has seen.
pub trait Liveness: Send + Sync {
    /// The name under which this process owns leases.
    fn name(&self) -> &str;
    /// Whether the named owner still lives. In doubt it does: two owners are worse than none.
    fn is_alive(&self, owner: &str) -> bool;
    /// An owner in words for the user.
    fn describe(&self, owner: &str) -> String;
}

/// This process, as others see it.
#[derive(Debug)]
pub(super) struct Owner {
    folder: PathBuf,
    name: String,
    _lock: File,
}

impl Owner {
    pub(super) fn enter(data: &Path, chance: u64) -> io::Result<Self> {
        let folder = data.join("owners");
        std::fs::create_dir_all(&folder)?;
        for attempt in 0..TRIES {
            let name = format!("{}-{:016x}", std::process::id(), chance.wrapping_add(attempt));
            // Locked before it gets its name, so that no process sees the file without its lock and takes it for
            // dead.
            let unnamed = folder.join(format!(".{name}"));
            let lock = OpenOptions::new().create_new(true).write(true).open(&unnamed)?;
            // Before it was locked, a cleanup may have taken it for an abandoned one.
            let locked = flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(io::Error::from);
            match locked.and_then(|()| rename(&unnamed, &folder.join(&name))) {
                Ok(()) => {
                    let owner = Self { folder, name, _lock: lock };
                    owner.sweep();
                    return Ok(owner);
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::WouldBlock) => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("its file keeps being removed"))
    }

    /// Removes the files of killed processes, including files without a final name.
    fn sweep(&self) {
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if let Ok(name) = entry.file_name().into_string() {
                self.is_alive(&name);
            }
        }
    }
}

impl Liveness for Owner {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_alive(&self, name: &str) -> bool {
        if name == self.name {
            return true;
        }
        let path = self.folder.join(name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) => return error.kind() != io::ErrorKind::NotFound,
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                // It is gone, and so is the use of its file.
                remove(&path);
                false
            }
            Err(_) => true,
        }
    }

    fn describe(&self, owner: &str) -> String {
        format!("process {}", owner.split('-').next().unwrap_or(owner))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        remove(&self.folder.join(&self.name));
    }
}

#[expect(clippy::disallowed_methods, reason = "an owner's file is the store's own")]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}

#[expect(clippy::disallowed_methods, reason = "an owner's file is the store's own")]
fn remove(path: &Path) {
    // If this fails, the next process that finds it unlocked removes it.
    let _ = std::fs::remove_file(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_lives_until_its_lock_is_gone() {
        let data = tempfile::tempdir().expect("folder");
        let me = Owner::enter(data.path(), 1).expect("enters");
        let other = Owner::enter(data.path(), 2).expect("enters");
        let name = other.name().to_owned();
        assert!(me.is_alive(&name));
        assert!(me.is_alive(me.name()));
        drop(other);
        assert!(!me.is_alive(&name));
        // Killed rather than ended: the file is still there, the lock is not.
        std::fs::write(data.path().join("owners/99-00"), "").expect("writes");
        assert!(!me.is_alive("99-00"));
        assert!(!data.path().join("owners/99-00").exists());
    }

    #[test]
    fn the_files_of_the_killed_are_swept_away() {
        let data = tempfile::tempdir().expect("folder");
        let me = Owner::enter(data.path(), 1).expect("enters");
        std::fs::write(data.path().join("owners/99-00"), "").expect("writes");
        // Killed before its file had its name.
        std::fs::write(data.path().join("owners/.98-00"), "").expect("writes");
        let other = Owner::enter(data.path(), 2).expect("enters");
        let left = std::fs::read_dir(data.path().join("owners")).expect("a folder").count();
        assert_eq!(left, 2, "the two that live");
        assert!(other.is_alive(me.name()));
    }

    #[test]
    fn those_who_come_at_the_same_time_do_not_sweep_each_other_away() {
        let data = tempfile::tempdir().expect("folder");
        let owners: Vec<Owner> = std::thread::scope(|scope| {
            let data = data.path();
            let enter = |number: u64| scope.spawn(move || Owner::enter(data, number << 32).expect("enters"));
            let threads: Vec<_> = (0..16).map(enter).collect();
            threads.into_iter().map(|thread| thread.join().expect("enters")).collect()
        });
        assert!(owners.iter().all(|owner| owners.iter().all(|other| owner.is_alive(other.name()))));
        assert_eq!(std::fs::read_dir(data.path().join("owners")).expect("a folder").count(), owners.len());
    }
}
