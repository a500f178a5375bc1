//! The tools' walk through a folder. Hidden entries are shown only at the top, unless requested.

use std::ffi::OsStr;
use std::path::Path;

use super::{Going, LONGEST_WALK, ReadRefusal, ReadScope};
use crate::workspace::{FolderWalk, WalkEntry};
use trimtab_vocab::format::plural;

/// Which hidden entries are shown. `.git` never is, unless it is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    /// Those at the top: there they are settings that belong to the project.
    AtTheTop,
    Everywhere,
}

pub(super) struct Entries {
    walk: FolderWalk,
    going: Going,
    /// Files that could not be read.
    pub(super) missed: usize,
}

/// All that is under a path, the path itself first.
pub(super) fn walk(place: &ReadScope, start: &Path, hidden: Hidden, depth: Option<usize>, going: &Going) -> Entries {
    let tops = [place.root().to_owned(), start.to_owned()];
    let walk = FolderWalk::new(start, place.root(), LONGEST_WALK).down_to(depth).only(move |entry| {
        let name = entry.file_name();
        if name == OsStr::new(".git") {
            return false;
        }
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        let at_the_top = || entry.path().parent().is_some_and(|parent| tops.iter().any(|top| parent == top));
        !is_hidden || hidden == Hidden::Everywhere || at_the_top()
    });
    Entries { walk, going: going.clone(), missed: 0 }
}

impl Entries {
    /// The next entry, if the caller still waits.
    pub(super) fn next(&mut self) -> Result<Option<WalkEntry>, ReadRefusal> {
        self.going.on()?;
        Ok(self.walk.next())
    }

    /// A line about what was skipped, if anything.
    pub(super) fn note(&self) -> Option<String> {
        let missed = self.missed + self.walk.unread.len();
        let unread = (missed > 0).then(|| format!("[{} could not be read.]", plural(missed, "entry")));
        let cut = self.walk.is_cut.then(|| {
            let longest = LONGEST_WALK.as_secs();
            format!("[Stopped after {longest} s; the rest was not looked at. Name a smaller folder.]")
        });
        [unread, cut].into_iter().flatten().reduce(|one, other| format!("{one}\n{other}"))
    }
}
