//! The files of a repository that decide what git runs, as far as they are in the folder.

use std::fs;
use std::path::{Path, PathBuf};

use super::scan::read_small;
use crate::git_config::{plain, worktrees};

/// Read-only in a repository that may be written otherwise. Some cannot have a placeholder where they are missing,
/// since git takes even an empty one for an order; those are removed if they appear.
pub(super) const DECIDES: &[&str] = &["config", "config.worktree", "hooks", "commondir", "gitdir", "info/attributes"];

/// The same, of a linked worktree.
const WORKTREE_DECIDES: &[&str] = &["config.worktree", "commondir", "gitdir"];

/// What a linked worktree of a repository has as its common folder.
const COMMON: &str = "../..";

/// Where a path leads to, if that is in the folder.
pub(super) fn inside(folder: &Path, base: &Path, named: impl AsRef<Path>) -> Option<PathBuf> {
    let path = plain(&base.join(named));
    let path = path.canonicalize().unwrap_or(path);
    (path.starts_with(folder) && path != folder).then_some(path)
}

/// What git reads outside the folder, if the folder is part of a repository: a folder further up, or the repository
/// of a linked worktree.
pub(super) fn around(folder: &Path) -> Vec<PathBuf> {
    let Some(top) = folder.ancestors().find(|above| fs::symlink_metadata(above.join(".git")).is_ok()) else {
        return Vec::new();
    };
    let git = top.join(".git");
    let pointed = || {
        let text = read_small(&git)?;
        top.join(text.trim().strip_prefix("gitdir:")?.trim()).canonicalize().ok()
    };
    let repository = if git.is_dir() { git.clone() } else { pointed().unwrap_or_default() };
    let common = read_small(&repository.join("commondir")).map(|named| repository.join(named.trim()));
    let files = [".gitignore", ".gitattributes", ".gitmodules"].map(|name| top.join(name));
    let is_repository = |path: &PathBuf| path.join("HEAD").is_file();
    let repositories = [Some(repository.clone()), common].into_iter().flatten().filter(is_repository);
    repositories.chain([git.clone()]).chain(files).collect()
}

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
