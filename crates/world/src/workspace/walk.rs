//! The walk through a folder that all readers share: in the order of names, without ignored files, without following
//! links, and without blocking on an ignore file.

use std::ffi::{OsStr, OsString};
use std::fs::{FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::rules::IgnoreRules;

/// Something that was met on the way.
#[derive(Debug, Clone)]
pub struct WalkEntry {
    path: PathBuf,
    depth: usize,
    kind: FileType,
    is_ignored: bool,
}

impl WalkEntry {
    /// Where it is: the path that the walk began with, and the way from there.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its depth below the start, which is 0.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Its last name.
    pub fn file_name(&self) -> &OsStr {
        self.path.file_name().unwrap_or(self.path.as_os_str())
    }

    /// Its type, without following a link.
    pub fn kind(&self) -> FileType {
        self.kind
    }

    /// Whether git ignores it. Such entries are met only where they were asked for.
    pub fn is_ignored(&self) -> bool {
        self.is_ignored
    }

    /// Of a link, its own.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.path.symlink_metadata()
    }
}

/// What is passed by.
type Filter = Box<dyn Fn(&WalkEntry) -> bool + Send>;

/// Lists a folder with all that is below it, and stops when its time is up.
pub struct FolderWalk {
    start: Option<WalkEntry>,
    stack: Vec<WalkLevel>,
    deepest: usize,
    with_ignored: bool,
    filter: Filter,
    until: Instant,
    /// Directories and files with rules that could not be read.
    pub unread: Vec<PathBuf>,
    /// Whether its time was up before its end.
    pub is_cut: bool,
    first_rules: Option<Rc<IgnoreRules>>,
}

struct WalkLevel {
    directory: PathBuf,
    entries: std::vec::IntoIter<(OsString, FileType)>,
    rules: Rc<IgnoreRules>,
    is_ignored: bool,
}

impl FolderWalk {
    /// Everything under `start`, itself first. The rules of directories between `top` and `start` count.
    pub fn new(start: &Path, top: &Path, longest: Duration) -> Self {
        let found = start.metadata().ok();
        let entry = |found: Metadata| WalkEntry {
            path: start.to_owned(),
            depth: 0,
            kind: found.file_type(),
            is_ignored: false,
        };
        Self {
            first_rules: found.as_ref().and_then(|_| IgnoreRules::above(start, top)),
            start: found.map(entry),
            stack: Vec::new(),
            deepest: usize::MAX,
            with_ignored: false,
            filter: Box::new(|_| true),
            until: Instant::now() + longest,
            unread: Vec::new(),
            is_cut: false,
        }
    }

    /// No deeper than this.
    #[must_use]
    pub fn down_to(mut self, depth: Option<usize>) -> Self {
        self.deepest = depth.unwrap_or(usize::MAX);
        self
    }

    /// What git ignores as well.
    #[must_use]
    pub fn with_ignored(mut self) -> Self {
        self.with_ignored = true;
        self
    }

    /// Only what `filter` lets pass, and what is under it.
    #[must_use]
    pub fn only(mut self, filter: impl Fn(&WalkEntry) -> bool + Send + 'static) -> Self {
        self.filter = Box::new(filter);
        self
    }

    /// Skips the rest of a directory.
    pub fn leave(&mut self, directory: &Path) {
        while self.stack.last().is_some_and(|level| level.directory.starts_with(directory)) {
            self.stack.pop();
        }
    }

    fn enter(&mut self, directory: &Path, is_ignored: bool) {
        let mut entries = Vec::new();
        let mut read = || -> io::Result<()> {
            for entry in directory.read_dir()? {
                let entry = entry?;
                entries.push((entry.file_name(), entry.file_type()?));
            }
            Ok(())
        };
        if read().is_err() {
            self.unread.push(directory.to_owned());
        }
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        let above = self.stack.last().map(|level| Rc::clone(&level.rules)).or_else(|| self.first_rules.take());
        // Below what is ignored no rule changes anything.
        let rules = match (is_ignored, above) {
            (true, Some(above)) => above,
            (_, above) => {
                let names = entries.iter().map(|(name, _)| name.as_os_str());
                Rc::new(IgnoreRules::read(above, directory, names, &mut self.unread))
            }
        };
        self.stack.push(WalkLevel { directory: directory.to_owned(), entries: entries.into_iter(), rules, is_ignored });
    }
}

impl Iterator for FolderWalk {
    type Item = WalkEntry;

    fn next(&mut self) -> Option<WalkEntry> {
        if let Some(start) = self.start.take() {
            if start.kind.is_dir() && self.deepest > 0 {
                self.enter(&start.path, false);
            }
            return Some(start);
        }
        loop {
            let depth = self.stack.len();
            let level = self.stack.last_mut()?;
            let Some((name, kind)) = level.entries.next() else {
                self.stack.pop();
                continue;
            };
            if Instant::now() > self.until {
                self.is_cut = true;
                self.stack.clear();
                return None;
            }
            let path = level.directory.join(name);
            let is_ignored = level.is_ignored || level.rules.ignores(&path, kind.is_dir());
            let entry = WalkEntry { path, depth, kind, is_ignored };
            if (is_ignored && !self.with_ignored) || !(self.filter)(&entry) {
                continue;
            }
            if kind.is_dir() && depth < self.deepest {
                self.enter(&entry.path, is_ignored);
            }
            return Some(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("one")).expect("made");
            fs::write(path, text).expect("written");
        }
        folder
    }

    fn files(walk: FolderWalk, start: &Path) -> Vec<String> {
        let shown = |entry: WalkEntry| {
            let name = entry.path().strip_prefix(start).expect("below").to_string_lossy().into_owned();
            entry.kind().is_file().then(|| format!("{name}{}", if entry.is_ignored() { "!" } else { "" }))
        };
        walk.only(|entry| entry.file_name() != ".git").filter_map(shown).collect()
    }

    #[test]
    fn the_rules_count_as_git_reads_them_and_those_of_dot_ignore_beat_them() {
        let folder = folder(&[
            (".gitignore", "*.log\n/out\nsub/deep\n"),
            (".git/info/exclude", "mine\n"),
            (".ignore", "!kept.log\n"),
            ("a.log", ""),
            ("kept.log", ""),
            ("mine", ""),
            ("out/x", ""),
            ("sub/.gitignore", "!b.log\n*.tmp\n"),
            ("sub/b.log", ""),
            ("sub/c.tmp", ""),
            ("sub/deep/d", ""),
            ("sub/out/e", ""),
            // A repository of its own, which the rules above say nothing about.
            ("own/.git/HEAD", ""),
            ("own/f.log", ""),
        ]);
        let top = folder.path();
        let seen = [".gitignore", ".ignore", "kept.log", "own/f.log", "sub/.gitignore", "sub/b.log", "sub/out/e"];
        assert_eq!(files(FolderWalk::new(top, top, LONG), top), seen);
        let below = top.join("sub");
        assert_eq!(files(FolderWalk::new(&below, top, LONG), &below), [".gitignore", "b.log", "out/e"]);
        let all = files(FolderWalk::new(top, top, LONG).with_ignored(), top);
        for name in ["a.log!", "mine!", "out/x!", "sub/c.tmp!", "sub/deep/d!"] {
            assert!(all.iter().any(|seen| seen == name), "{name}: {all:?}");
        }
        assert_eq!(all.len(), seen.len() + 5);
    }

    #[test]
    fn files_that_say_what_to_ignore_are_never_waited_for() {
        let folder = folder(&[("a", ""), ("sub/b", ""), (".git/info/x", "")]);
        let top = folder.path();
        for pipe in [".gitignore", "sub/.ignore", ".git/info/exclude"] {
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mkfifoat(rustix::fs::CWD, top.join(pipe), mode).expect("a pipe");
        }
        std::os::unix::fs::symlink("/dev/zero", top.join(".ignore")).expect("a link");
        let mut walk = FolderWalk::new(top, top, LONG);
        let seen = walk.by_ref().filter(|entry| entry.kind().is_file()).count();
        assert_eq!((seen, walk.unread.len()), (3, 4), "{:?}", walk.unread);
    }

    #[test]
    fn a_walk_ends_when_its_time_is_up_and_says_so() {
        let folder = folder(&[("a", ""), ("b", "")]);
        let mut walk = FolderWalk::new(folder.path(), folder.path(), Duration::ZERO);
        assert_eq!(walk.by_ref().count(), 1, "where it begins");
        assert!(walk.is_cut);
    }
}
