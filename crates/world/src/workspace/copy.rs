//! Copies of a folder for workers: each changes files and runs commands in its own one, and nothing of it reaches the
//! folder that was copied.

#![expect(clippy::disallowed_methods, reason = "a copy is ours; nothing here writes in the user's folder")]

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use super::FolderWalk;

/// Files of a copy at most.
const MOST_FILES: usize = 50_000;
/// Bytes of a copy at most.
const MOST_BYTES: u64 = 1 << 30;
/// A folder that takes longer to look through is too large for copies.
const LONGEST: Duration = Duration::from_secs(120);
/// Folders that git ignores and that programs only read: copies share them. A command cannot write there, because the
/// sandbox lets it write in its own folder only.
const SHARED: [&str; 4] = ["node_modules", ".venv", "venv", "vendor"];

/// Why a folder cannot be copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("the folder has more than {MOST_FILES} files that git does not ignore")]
    TooManyFiles,
    #[error("the folder has more than {} MB that git does not ignore", MOST_BYTES >> 20)]
    TooLarge,
    #[error("it took too long to look through the folder")]
    TooSlow,
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
}

/// Says that a copy is whole; it stands beside it.
fn mark(copy: &Path) -> PathBuf {
    let mut name = copy.as_os_str().to_owned();
    name.push(".whole");
    PathBuf::from(name)
}

/// Whether a copy was made to its end.
pub fn is_whole(copy: &Path) -> bool {
    mark(copy).exists() && copy.is_dir()
}

/// A copy was made to its end, and what else belongs into it is there.
pub fn set_whole(copy: &Path) -> Result<(), CopyError> {
    fs::write(mark(copy), b"").map_err(|error| CopyError::Io(mark(copy), error))
}

/// Copies what git does not ignore. The contents are shared where the file system can do that, until one of them is
/// written. What an earlier attempt left is removed first.
pub fn copy_folder(original: &Path, copy: &Path) -> Result<(), CopyError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| CopyError::Io(path, error)
    };
    remove(copy);
    fs::create_dir_all(copy).map_err(at(copy))?;
    // Nobody else looks into it.
    fs::set_permissions(copy, fs::Permissions::from_mode(0o700)).map_err(at(copy))?;
    let is_git = |name: &OsStr| name == OsStr::new(".git");
    let mut walk = FolderWalk::new(original, original, LONGEST).with_ignored().only(move |entry| {
        let is_shared = SHARED.iter().any(|name| entry.file_name() == OsStr::new(name));
        !is_git(entry.file_name()) && (!entry.is_ignored() || (is_shared && entry.kind().is_dir()))
    });
    let (mut files, mut bytes) = (0, 0);
    let mut shared: Vec<PathBuf> = Vec::new();
    for entry in walk.by_ref().filter(|entry| entry.depth() > 0) {
        let Ok(path) = entry.path().strip_prefix(original) else { continue };
        if shared.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        let to = copy.join(path);
        files += 1;
        if files > MOST_FILES {
            return Err(CopyError::TooManyFiles);
        }
        if entry.is_ignored() {
            symlink(entry.path(), &to).map_err(at(&to))?;
            shared.push(path.to_owned());
        } else if entry.kind().is_dir() {
            fs::create_dir(&to).map_err(at(&to))?;
        } else if entry.kind().is_symlink() {
            let target = fs::read_link(entry.path()).map_err(at(entry.path()))?;
            symlink(target, &to).map_err(at(&to))?;
        } else if entry.kind().is_file() {
            bytes += fs::copy(entry.path(), &to).map_err(at(entry.path()))?;
            if bytes > MOST_BYTES {
                return Err(CopyError::TooLarge);
            }
        }
    }
    if walk.is_cut { Err(CopyError::TooSlow) } else { Ok(()) }
}

/// Writes a file of a copy, or removes it. Paths that lead out of the copy are left alone.
pub fn put(copy: &Path, path: &str, content: Option<(&[u8], u32)>) -> Result<(), CopyError> {
    let relative = Path::new(path);
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(());
    }
    let to = copy.join(relative);
    let at = |error| CopyError::Io(to.clone(), error);
    // A link on the way could lead out of it.
    let is_link = |above: &Path| above.symlink_metadata().is_ok_and(|found| found.is_symlink());
    if relative.ancestors().any(|above| is_link(&copy.join(above))) {
        return Ok(());
    }
    match content {
        Some((bytes, mode)) => {
            if let Some(above) = to.parent() {
                fs::create_dir_all(above).map_err(at)?;
            }
            fs::write(&to, bytes).map_err(at)?;
            fs::set_permissions(&to, fs::Permissions::from_mode(mode & 0o777)).map_err(at)
        }
        None => match fs::remove_file(&to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at(error)),
            _ => Ok(()),
        },
    }
}

/// The bytes and the mode of a file of a copy.
pub fn get(copy: &Path, path: &str) -> Option<(Vec<u8>, u32)> {
    let from = copy.join(path);
    let mode = from.symlink_metadata().ok().filter(|found| found.is_file())?.permissions().mode() & 0o777;
    Some((fs::read(from).ok()?, mode))
}

/// Removes a copy with all that is in it. What links lead to is not touched.
pub fn remove(copy: &Path) {
    let _ = fs::remove_file(mark(copy));
    let _ = fs::remove_dir_all(copy);
}

/// The copies in a folder, by their names.
pub fn all(place: &Path) -> Vec<String> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().is_dir()).filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_what_git_knows_and_shares_what_programs_only_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let (original, copy) = (folder.path().join("a"), folder.path().join("w/s-w1"));
        for (path, text) in [
            ("src/main.rs", "fn main() {}\n"),
            (".gitignore", "target\nnode_modules\n.env\n"),
            (".env", "KEY=1"),
            ("target/debug/x", "x"),
            ("node_modules/left/index.js", "1"),
            (".git/HEAD", "ref"),
        ] {
            put(&original, path, Some((text.as_bytes(), 0o644))).expect("written");
        }
        copy_folder(&original, &copy).expect("copied");
        assert!(!is_whole(&copy));
        set_whole(&copy).expect("marked");
        assert!(is_whole(&copy));
        assert_eq!(fs::read_to_string(copy.join("src/main.rs")).expect("there"), "fn main() {}\n");
        assert_eq!(fs::read_to_string(copy.join("node_modules/left/index.js")).expect("there"), "1");
        for left in [".env", "target", ".git"] {
            assert!(!copy.join(left).exists(), "{left}");
        }
        put(&copy, "src/main.rs", Some((b"changed", 0o644))).expect("written");
        put(&copy, "node_modules/left/index.js", Some((b"2", 0o644))).expect("left alone");
        put(&copy, "../out.txt", Some((b"2", 0o644))).expect("left alone");
        assert_eq!(fs::read_to_string(original.join("src/main.rs")).expect("there"), "fn main() {}\n");
        assert_eq!(fs::read_to_string(original.join("node_modules/left/index.js")).expect("there"), "1");
        assert!(!folder.path().join("w/out.txt").exists());
        assert_eq!(all(&folder.path().join("w")), ["s-w1"]);
        remove(&copy);
        assert!(!copy.exists() && !is_whole(&copy));
        assert!(original.join("node_modules/left/index.js").exists(), "what a link leads to stays");
    }
}
