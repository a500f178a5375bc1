//! Where git takes orders from: which files of a repository decide what it runs, as far as they lie in the folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::scan::read_small;

/// Read-only in a repository that may be written otherwise. Some cannot have a placeholder where they are missing,
/// since git takes even an empty one for an order; those are removed if they appear.
pub(super) const DECIDES: &[&str] = &["config", "config.worktree", "hooks", "commondir", "gitdir", "info/attributes"];

/// The same, of a linked worktree.
const WORKTREE_DECIDES: &[&str] = &["config.worktree", "commondir", "gitdir"];

/// What a linked worktree of a repository has as its common folder.
const COMMON: &str = "../..";

/// Submodules and worktrees that are looked at.
const MOST: usize = 1000;

/// A path without `.` and `..`, so far as that can be told without following links.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Where a path of a settings file leads to, if that is in the folder.
pub(super) fn inside(folder: &Path, base: &Path, named: impl AsRef<Path>) -> Option<PathBuf> {
    let path = plain(&base.join(named));
    let path = path.canonicalize().unwrap_or(path);
    (path.starts_with(folder) && path != folder).then_some(path)
}

/// The repository that a file called `.git` points to, if that is in the folder.
pub(super) fn pointed(folder: &Path, pointer: &Path) -> Option<PathBuf> {
    let text = read_small(pointer)?;
    inside(folder, pointer.parent()?, text.trim().strip_prefix("gitdir:")?.trim())
}

/// What git reads of the repository that the folder is a part of, where it lies outside the folder: a folder further up,
/// or the repository of a linked worktree.
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

/// The repositories of `found` and those that they lead to: their common folder, their submodules.
pub(super) fn all(folder: &Path, found: impl IntoIterator<Item = PathBuf>) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    let mut ahead: Vec<PathBuf> = found.into_iter().collect();
    while let Some(repository) = ahead.pop() {
        if all.len() > MOST || !all.insert(repository.clone()) {
            continue;
        }
        let common = read_small(&repository.join("commondir"));
        ahead.extend(common.and_then(|named| inside(folder, &repository, named.trim())));
        ahead.extend(modules(&repository.join("modules"), 0));
    }
    all
}

/// The repositories of submodules, whose names may have several parts.
fn modules(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let inside = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST);
    let folders = inside.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path());
    folders
        .flat_map(|path| match path.join("HEAD").exists() {
            true => vec![path],
            false if depth < 8 => modules(&path, depth + 1),
            false => Vec::new(),
        })
        .collect()
}

/// The paths of a repository that decide what git runs, whether they are there or not.
pub(super) fn deciding(folder: &Path, repository: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = DECIDES.iter().map(|name| repository.join(name)).collect();
    let worktrees = fs::read_dir(repository.join("worktrees")).into_iter().flatten().flatten().take(MOST);
    for worktree in worktrees {
        paths.extend(WORKTREE_DECIDES.iter().map(|name| worktree.path().join(name)));
    }
    paths.extend(named_by_settings(folder, repository));
    paths
}

/// The hooks and further settings that the settings name.
pub(super) fn named_by_settings(folder: &Path, repository: &Path) -> Vec<PathBuf> {
    let mut named = Vec::new();
    for name in ["config", "config.worktree"] {
        let text = read_small(&repository.join(name)).unwrap_or_default();
        let mut section = String::new();
        for line in text.lines().map(str::trim) {
            if let Some(header) = line.strip_prefix('[') {
                section = header.to_lowercase();
            }
            let line = line.rsplit(']').next().unwrap_or(line);
            let Some((key, value)) = line.split_once('=') else { continue };
            let value = value.trim().trim_matches('"');
            // Hooks are named from the top of the work tree, settings from where they are named.
            let base = match key.trim().to_lowercase().as_str() {
                "hookspath" if section.starts_with("core") => repository.parent().unwrap_or(folder),
                "path" if section.starts_with("include") => repository,
                _ => continue,
            };
            named.extend(inside(folder, base, value));
            named.extend(inside(folder, folder, value).filter(|path| path.exists()));
        }
    }
    named
}

/// Whether a file that appeared in a repository is one that git itself makes for a new worktree in its usual place.
pub(super) fn is_usual(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "commondir")
        && path.parent().and_then(Path::parent).and_then(Path::file_name).is_some_and(|name| name == "worktrees")
        && read_small(path).is_some_and(|text| text.trim() == COMMON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_repository_leads_to_is_found() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().canonicalize().unwrap();
        for path in [".bare/objects", ".bare/modules/a/b", ".bare/worktrees/w", ".husky/_", "wt"] {
            fs::create_dir_all(folder.join(path)).unwrap();
        }
        fs::write(folder.join(".bare/modules/a/b/HEAD"), "").unwrap();
        fs::write(folder.join(".git"), "gitdir: ./.bare\n").unwrap();
        fs::write(folder.join(".bare/config"), "[core]\n\thooksPath = .husky/_\n[include]\n path = ../extra.cfg\n")
            .unwrap();
        let repository = pointed(&folder, &folder.join(".git")).unwrap();
        assert_eq!(repository, folder.join(".bare"));
        let all = all(&folder, [repository.clone()]);
        assert!(all.contains(&folder.join(".bare/modules/a/b")));
        let deciding = deciding(&folder, &repository);
        for path in [".bare/config", ".bare/hooks", ".bare/worktrees/w/commondir", ".husky/_", "extra.cfg"] {
            assert!(deciding.contains(&folder.join(path)), "{path}: {deciding:?}");
        }
        fs::write(folder.join("wt/.git"), "gitdir: /elsewhere").unwrap();
        assert_eq!(pointed(&folder, &folder.join("wt/.git")), None);
    }
}
