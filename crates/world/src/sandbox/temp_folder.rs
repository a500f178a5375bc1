//! The private temporary folders of commands.
//!
//! A supervisor makes one, holds a lock on it for as long as it lives, and removes it last. If the supervisor is killed,
//! its host removes the folder. If the host is killed as well, the next host finds a folder without a lock.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags};

use super::supervise::tell;
use super::wire::SupervisorReport;

/// How the names begin. Folders of versions that locked nothing had other names.
const PREFIX: &str = "trimtab-run-";

/// A younger folder may be about to be locked.
pub(super) const SETTLED: Duration = Duration::from_secs(60);

/// The private temporary folder of a command, which goes with it.
#[derive(Default)]
pub(super) struct TempFolder(Option<(PathBuf, Option<File>)>);

impl TempFolder {
    /// Makes it, unless it is there.
    pub(super) fn make(&mut self) -> Result<(), String> {
        if self.0.is_none() {
            let path = private_temp()?;
            let lock = lock(&path);
            self.0 = Some((path, lock));
        }
        Ok(())
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.0.as_ref().map(|(path, _)| path.as_path())
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        if let Some(temp) = self.path() {
            remove(temp);
        }
    }
}

/// The folder with its lock. None if somebody else has it, or if there are no locks here.
fn lock(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    rustix::fs::flock(&folder, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(File::from(folder))
}

/// A temporary folder that no other user can enter or guess.
fn private_temp() -> Result<PathBuf, String> {
    use std::os::unix::fs::DirBuilderExt as _;
    let base = std::env::temp_dir();
    let failed = |error: &dyn std::fmt::Display| {
        format!("No private temporary folder can be made in {}: {error}.", base.display())
    };
    let number = getrandom::u64().map_err(|error| failed(&error))?;
    let base = base.canonicalize().map_err(|error| failed(&error))?;
    let path = base.join(format!("{PREFIX}{number:016x}"));
    // First the report: if this process is killed in between, the host removes nothing.
    tell(&SupervisorReport::Temporary(path.clone()));
    fs::DirBuilder::new().mode(0o700).create(&path).map_err(|error| failed(&error))?;
    Ok(path)
}

/// Removes a temporary folder, and asks for no permission: some programs shut the folders that they make.
pub(super) fn remove(temp: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fn unlock(folder: &Path) {
        let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
        let inside = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in inside.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            unlock(&entry.path());
        }
    }
    // Where others may write, something of theirs may have the name by now.
    let is_own = || temp.symlink_metadata().is_ok_and(|found| found.is_dir() && is_ours(&found));
    if is_own() && fs::remove_dir_all(temp).is_err() && is_own() {
        unlock(temp);
        let _ = fs::remove_dir_all(temp);
    }
}

fn is_ours(found: &fs::Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw()
}

/// Removes the folders of supervisors that are gone and could not do it, as their hosts could not.
pub(super) fn sweep(base: &Path, settled: Duration) {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    for folder in entries.filter(|entry| is_private_temp(&entry.file_name())).map(|entry| entry.path()) {
        // From here on it is not taken by anybody: each supervisor makes its own.
        if let Some(_lock) = is_settled(&folder, settled).then(|| lock(&folder)).flatten() {
            remove(&folder);
        }
    }
}

fn is_private_temp(name: &OsStr) -> bool {
    let number = name.as_bytes().strip_prefix(PREFIX.as_bytes());
    number.is_some_and(|number| number.len() == 16 && number.iter().all(u8::is_ascii_hexdigit))
}

fn is_settled(folder: &Path, settled: Duration) -> bool {
    #[expect(clippy::disallowed_methods, reason = "it is compared with a time of the file system")]
    let now = std::time::SystemTime::now();
    // What is in the folder is its command's. The folder is older than what changed in it last.
    let Ok(found) = folder.symlink_metadata() else { return false };
    let changed = Duration::from_secs(u64::try_from(found.ctime()).unwrap_or(u64::MAX));
    is_ours(&found) && now.duration_since(std::time::UNIX_EPOCH).is_ok_and(|now| now > changed + settled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_without_a_lock_are_removed_once_they_are_old_enough() {
        let base = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let path = base.path().join(name);
            fs::create_dir_all(path.join("inside")).unwrap();
            path
        };
        let (left, used) = (make("trimtab-run-0123456789abcdef"), make("trimtab-run-0123456789abcde0"));
        let others = ["trimtab-0123456789abcdef", "trimtab-run-notes", "trimtab-run-0123456789abcdef0"].map(make);
        std::os::unix::fs::symlink(&others[0], base.path().join("trimtab-run-0123456789abcde1")).unwrap();
        let lock = lock(&used).unwrap();
        sweep(base.path(), SETTLED);
        assert!(left.is_dir(), "it may be about to be locked");
        sweep(base.path(), Duration::ZERO);
        assert!(!left.exists() && used.is_dir());
        assert!(others.iter().all(|other| other.join("inside").is_dir()), "what has other names is not ours");
        drop(lock);
        sweep(base.path(), Duration::ZERO);
        assert!(!used.exists());
    }
}
