//! Where git takes orders from: which files of a repository decide what it runs, as far as they lie in the folder.

use std::path::{Path, PathBuf};

use super::scan::read_small;
use crate::git_config::worktrees;

/// Read-only in a repository that may be written otherwise. Some cannot have a placeholder where they are missing,
/// since git takes even an empty one for an order; those are removed if they appear.
pub(super) const DECIDES: &[&str] = &["config", "config.worktree", "hooks", "commondir", "gitdir", "info/attributes"];

/// The same, of a linked worktree.
const WORKTREE_DECIDES: &[&str] = &["config.worktree", "commondir", "gitdir"];

/// What a linked worktree of a repository has as its common folder.
const COMMON: &str = "../..";

/// The paths of a repository that decide what git runs, whether they are there or not.
pub(super) fn deciding(repository: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = DECIDES.iter().map(|name| repository.join(name)).collect();
    for worktree in worktrees(repository).0 {
        paths.extend(WORKTREE_DECIDES.iter().map(|name| worktree.join(name)));
    }
    paths
}

/// Whether a file that appeared in a repository is one that git itself makes for a new worktree in its usual place.
pub(super) fn is_usual(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "commondir")
        && path.parent().and_then(Path::parent).and_then(Path::file_name).is_some_and(|name| name == "worktrees")
        && read_small(path).is_some_and(|text| text.trim() == COMMON)
}
