//! Ignore rules: `.gitignore`, `.ignore`, and `.git/info/exclude`.
//!
//! They are read here and not by the library that interprets them, because a folder may be hostile: only regular
//! files count, a pipe does not block, and a file that is too large ignores nothing.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, Mode, OFlags};

use super::read::LOOKING;

/// The names of such files in any directory, the weaker one first.
pub(super) const NAMES: [&str; 2] = [".gitignore", ".ignore"];
/// Beside them, git reads this one at the top of a repository.
pub(super) const EXCLUDE: &str = ".git/info/exclude";
/// Bytes of one such file. Larger ones would take seconds to understand.
const LARGEST: u64 = 256 * 1024;

/// The bytes of a small regular file that decides what is scanned. As in git, a link at the end of the path is not
/// followed. Nothing blocks, and the size is bounded.
pub fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    let fd = rustix::fs::open(path, LOOKING | OFlags::NOFOLLOW, Mode::empty())?;
    let stat = rustix::fs::fstat(&fd)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::from(fd).take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
    }
    Ok(bytes)
}

/// The rules in one text, for paths below `directory`; nothing if it has none.
pub(super) fn parse(directory: &Path, text: &[u8]) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(directory);
    for line in String::from_utf8_lossy(text).lines() {
        // A line that cannot be read ignores nothing, as in git.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

/// The rules of a directory and of those above it. Those of git end at the top of a repository.
#[derive(Debug, Default)]
pub(super) struct IgnoreRules {
    above: Option<Rc<IgnoreRules>>,
    own: Option<Gitignore>,
    git: Option<Gitignore>,
    exclude: Option<Gitignore>,
    is_repository: bool,
}

impl IgnoreRules {
    /// The rules that apply in `start`, without those of `start` itself: from the top of the repository or from
    /// `top`, the higher one of both.
    pub(super) fn above(start: &Path, top: &Path) -> Option<Rc<Self>> {
        let repository = start.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok());
        let is_over = |above: &&Path| above.starts_with(top) || repository.is_some_and(|top| above.starts_with(top));
        let mut above: Vec<&Path> = start.ancestors().skip(1).take_while(is_over).collect();
        above.reverse();
        let mut rules = None;
        for directory in above {
            let names = [".gitignore", ".ignore", ".git"];
            let is_there = |name: &str| directory.join(name).symlink_metadata().is_ok();
            let found = names.into_iter().filter(|name| is_there(name)).map(OsStr::new);
            rules = Some(Rc::new(Self::read(rules, directory, found, &mut Vec::new())));
        }
        rules
    }

    /// Those that hold in a directory with these names in it. Files that could not be read are added to `unread`.
    pub(super) fn read<'n>(
        above: Option<Rc<Self>>,
        directory: &Path,
        names: impl Iterator<Item = &'n OsStr>,
        unread: &mut Vec<PathBuf>,
    ) -> Self {
        let mut rules = Self { above, ..Self::default() };
        let mut one = |path: PathBuf| match read_small(&path) {
            Ok(text) => parse(directory, &text),
            Err(error) => {
                let is_absent = matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
                unread.extend((!is_absent).then_some(path));
                None
            }
        };
        for name in names {
            if name == OsStr::new(NAMES[0]) {
                rules.git = one(directory.join(name));
            } else if name == OsStr::new(NAMES[1]) {
                rules.own = one(directory.join(name));
            } else if name == OsStr::new(".git") {
                rules.is_repository = true;
                rules.exclude = one(directory.join(EXCLUDE));
            }
        }
        rules
    }

    /// Whether a path in the directory is ignored. Rules for the directories above are not checked, because the walk
    /// did that.
    pub(super) fn ignores(&self, path: &Path, is_dir: bool) -> bool {
        let (mut own, mut git, mut exclude) = (None, None, None);
        let mut is_inside = true;
        let mut next = Some(self);
        while let Some(rules) = next {
            let said = |rules: &Option<Gitignore>| match rules.as_ref()?.matched(path, is_dir) {
                Match::None => None,
                Match::Ignore(_) => Some(true),
                Match::Whitelist(_) => Some(false),
            };
            own = own.or_else(|| said(&rules.own));
            if is_inside {
                git = git.or_else(|| said(&rules.git));
                exclude = exclude.or_else(|| said(&rules.exclude));
                is_inside = !rules.is_repository;
            }
            next = rules.above.as_deref();
        }
        own.or(git).or(exclude).unwrap_or(false)
    }
}
