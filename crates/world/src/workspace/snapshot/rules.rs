//! What a folder's own rules ignored at the time of a snapshot.
//!
//! A command may change the rules. What shows then that did not show before is not new, and must not be taken
//! for something that the command made: undoing it would delete it.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::Snapshot;

/// Files that say what is ignored, the weaker one first.
const NAMES: [&[u8]; 2] = [b".gitignore", b".ignore"];
/// Beside the folder's own files, git reads this one.
const EXCLUDE: &str = ".git/info/exclude";
/// Rules of more bytes than this are not read.
const LARGEST: u64 = 256 * 1024;

/// What the rules of a folder say, of those among `paths` that are rules.
pub(super) fn of<'p>(folder: &Path, paths: impl Iterator<Item = &'p PathBuf>) -> BTreeMap<PathBuf, Vec<u8>> {
    let is_rule = |path: &&PathBuf| path.file_name().is_some_and(|name| NAMES.contains(&name.as_bytes()));
    let read = |path: PathBuf| {
        let whole = folder.join(&path);
        let is_small = std::fs::symlink_metadata(&whole).is_ok_and(|data| data.is_file() && data.len() <= LARGEST);
        Some((path, is_small.then(|| std::fs::read(whole).ok()).flatten()?))
    };
    paths.filter(is_rule).cloned().chain([PathBuf::from(EXCLUDE)]).filter_map(read).collect()
}

/// Tells whether files that show now were ignored at the time of an earlier snapshot.
pub(super) struct Earlier {
    /// The rules of each directory, the strongest last.
    rules: BTreeMap<PathBuf, Vec<Gitignore>>,
}

impl Earlier {
    /// Nothing if the rules are the same now.
    pub(super) fn of(before: &Snapshot, after: &Snapshot) -> Option<Self> {
        if before.rules == after.rules {
            return None;
        }
        let mut rules: BTreeMap<PathBuf, Vec<Gitignore>> = BTreeMap::new();
        for (path, text) in &before.rules {
            let directory = match path.parent() {
                Some(parent) if path != Path::new(EXCLUDE) => parent.to_owned(),
                _ => PathBuf::new(),
            };
            let mut builder = GitignoreBuilder::new("");
            for line in String::from_utf8_lossy(text).lines() {
                // A line that cannot be read ignores nothing, as in git.
                let _ = builder.add_line(None, line);
            }
            if let Ok(matcher) = builder.build() {
                rules.entry(directory).or_default().push(matcher);
            }
        }
        Some(Self { rules })
    }

    /// Whether a file, or a directory on the way to it, was ignored.
    pub(super) fn ignored(&self, path: &Path) -> bool {
        let mut ways: Vec<&Path> = path.ancestors().filter(|part| !part.as_os_str().is_empty()).collect();
        ways.reverse();
        ways.iter().any(|part| self.matches(part, *part != path))
    }

    /// The nearest rule that says something decides.
    fn matches(&self, path: &Path, is_dir: bool) -> bool {
        for directory in path.ancestors().skip(1) {
            let Ok(inside) = path.strip_prefix(directory) else { continue };
            for matcher in self.rules.get(directory).into_iter().flatten().rev() {
                match matcher.matched(inside, is_dir) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => {}
                }
            }
        }
        false
    }
}
