//! The way through a folder, the same for everything that looks: in the order of names, past what
//! git ignores, without following links.

use std::ffi::OsStr;
use std::path::Path;

use ignore::{DirEntry, Walk, WalkBuilder};

use super::{Going, Place, Refusal};

/// What of the names that begin with a dot is seen. `.git` never is, unless it is asked for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    /// Those at the top: there they are settings that belong to the project.
    AtTheTop,
    /// All of them.
    Everywhere,
}

pub(super) struct Entries {
    walk: Walk,
    going: Going,
    /// How many folders and files could not be looked at.
    pub(super) missed: usize,
}

/// All that is under a path, the path itself first.
pub(super) fn walk(place: &Place, start: &Path, hidden: Hidden, depth: Option<usize>, going: &Going) -> Entries {
    let tops = [place.root().to_owned(), start.to_owned()];
    let walk = WalkBuilder::new(start)
        .max_depth(depth)
        .follow_links(false)
        .hidden(false)
        // A `.gitignore` says what is worth seeing, in a repository or not.
        .require_git(false)
        // What is seen depends on the folder, not on whose machine it lies.
        .git_global(false)
        .sort_by_file_name(OsStr::cmp)
        .filter_entry(move |entry| {
            let name = entry.file_name();
            if entry.depth() == 0 {
                return true;
            }
            if name == OsStr::new(".git") {
                return false;
            }
            let is_hidden = name.as_encoded_bytes().starts_with(b".");
            let at_the_top = || entry.path().parent().is_some_and(|parent| tops.iter().any(|top| parent == top));
            !is_hidden || hidden == Hidden::Everywhere || at_the_top()
        })
        .build();
    Entries { walk, going: going.clone(), missed: 0 }
}

impl Entries {
    /// The next entry, if anybody still waits for it.
    pub(super) fn next(&mut self) -> Result<Option<DirEntry>, Refusal> {
        loop {
            self.going.on()?;
            match self.walk.next() {
                None => return Ok(None),
                Some(Ok(entry)) => return Ok(Some(entry)),
                Some(Err(_)) => self.missed += 1,
            }
        }
    }

    /// A line about what could not be looked at, if there was such.
    pub(super) fn note(&self) -> Option<String> {
        (self.missed > 0).then(|| format!("[{} could not be read.]", super::count(self.missed, "entry")))
    }
}
