//! The names of the files in a folder, for completion.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::FolderWalk;

/// Entries that are scanned, without ignored ones.
const MOST_ENTRIES: usize = 400_000;
/// The time limit. What was found until then is offered.
const LONGEST: Duration = Duration::from_secs(10);

/// The files and folders below a folder, the shallow ones first, as relative paths; folders end with a slash. Ignored
/// files and git's own files are left out. At most `most`; stops when `stop` is set.
pub fn names(folder: &Path, most: usize, stop: &AtomicBool) -> Vec<String> {
    let walk = FolderWalk::new(folder, folder, LONGEST).only(|entry| entry.file_name() != OsStr::new(".git"));
    let mut names: Vec<(usize, String)> = Vec::new();
    for entry in walk.take(MOST_ENTRIES).filter(|entry| entry.depth() > 0) {
        if stop.load(Ordering::Relaxed) || names.len() >= most {
            break;
        }
        let Some(name) = entry.path().strip_prefix(folder).ok().and_then(Path::to_str) else { continue };
        let is_folder = entry.kind().is_dir();
        names.push((entry.depth(), if is_folder { format!("{name}/") } else { name.to_owned() }));
    }
    // Those of one depth stay in the order of their names.
    names.sort_by_key(|(depth, _)| *depth);
    names.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_ignores_is_not_named_and_what_is_near_comes_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("one")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        for path in ["z.rs", "src/deep/a.rs", "src/b.rs", "target/x", ".git/config", ".github/ci.yml"] {
            put(path, "");
        }
        put(".gitignore", "target\n");
        let go = AtomicBool::new(false);
        let all =
            [".github/", ".gitignore", "src/", "z.rs", ".github/ci.yml", "src/b.rs", "src/deep/", "src/deep/a.rs"];
        assert_eq!(names(folder.path(), 100, &go), all);
        assert_eq!(names(folder.path(), 3, &go).len(), 3);
        go.store(true, Ordering::Relaxed);
        assert!(names(folder.path(), 100, &go).is_empty());
        assert!(names(Path::new("/nowhere/at/all"), 10, &AtomicBool::new(false)).is_empty());
    }
}
