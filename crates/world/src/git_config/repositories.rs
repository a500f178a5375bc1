//! Finds the repositories in a folder, starting from one another.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{MOST, Orders, Repository, real};

/// Where a path leads to, if that is in the folder.
fn inside(folder: &Path, path: &Path) -> Option<PathBuf> {
    let path = real(path);
    (path.starts_with(folder) && path != folder).then_some(path)
}

/// The repositories that are in a folder, and what they obey there.
#[derive(Debug, Default)]
pub struct Repositories {
    /// Their folders.
    pub all: BTreeSet<PathBuf>,
    /// The paths that their settings name, existing or not.
    pub named: BTreeSet<PathBuf>,
    /// The same as it is spelled, where a link on the way leads to another place.
    pub linked: BTreeSet<PathBuf>,
    /// Why that is not all.
    pub trouble: Option<String>,
}

impl Repositories {
    /// The repositories of `found`, those that files called `.git` point to, and those that they lead to: their common
    /// folder, their submodules. The settings of repositories outside of the folder count as well, since they may name
    /// files inside.
    pub fn new(folder: &Path, found: &[PathBuf], pointers: &[PathBuf]) -> Self {
        let mut repositories = Self::default();
        let mut ahead: Vec<PathBuf> = found.to_vec();
        let mut settings = super::above(folder);
        for pointer in pointers {
            let Some(path) = super::repository_at(pointer) else { continue };
            ahead.extend(inside(folder, &path));
            settings.push(Repository { path, work_tree: pointer.parent().map(Path::to_owned) });
        }
        while let Some(repository) = ahead.pop() {
            if repositories.all.contains(&repository) {
                continue;
            }
            if repositories.all.len() >= MOST {
                repositories.trouble = Some("the folder has too many repositories to protect".into());
                break;
            }
            ahead.extend(super::common_folder(&repository).and_then(|path| inside(folder, &path)));
            if !modules(&repository.join("modules"), 0, &mut ahead) || !worktrees(&repository).1 {
                repositories.trouble = Some("a repository has too many submodules or worktrees to protect".into());
            }
            settings.push(Repository { path: repository.clone(), work_tree: None });
            repositories.all.insert(repository);
        }
        let orders = Orders::read(folder, &settings);
        repositories.linked = orders.linked;
        repositories.trouble = repositories.trouble.or(orders.unknown);
        // What is missing in a repository is for git to make.
        let is_own = |path: &PathBuf| repositories.all.iter().any(|repository| path.starts_with(repository));
        repositories.named =
            orders.files.into_iter().chain(orders.folders).filter(|path| path.exists() || !is_own(path)).collect();
        repositories
    }
}

/// Adds the repositories of submodules, whose names may have several parts; whether these are all.
fn modules(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> bool {
    let (folders, mut whole) = folders(folder);
    for path in folders {
        match path.join("HEAD").exists() {
            true => found.push(path),
            false => whole &= depth < 8 && modules(&path, depth + 1, found),
        }
        whole &= found.len() <= MOST;
        if !whole {
            break;
        }
    }
    whole
}

/// The folders of linked worktrees, and whether these are all.
pub fn worktrees(repository: &Path) -> (Vec<PathBuf>, bool) {
    folders(&repository.join("worktrees"))
}

fn folders(folder: &Path) -> (Vec<PathBuf>, bool) {
    let inside = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let found: Vec<PathBuf> = inside.filter(is_folder).map(|entry| entry.path()).take(MOST + 1).collect();
    let whole = found.len() <= MOST;
    (found, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_config_of_what_a_repository_leads_to_is_found() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().canonicalize().unwrap();
        for path in [".bare/objects", ".bare/modules/a/b", ".bare/worktrees/w", ".husky/_", "wt"] {
            fs::create_dir_all(folder.join(path)).unwrap();
        }
        fs::write(folder.join(".bare/modules/a/b/HEAD"), "").unwrap();
        fs::write(folder.join(".git"), "gitdir: ./.bare\n").unwrap();
        fs::write(folder.join(".bare/config"), "[core]\n\thooksPath = .husky/_\n[include]\n path = ../extra.cfg\n")
            .unwrap();
        let found = Repositories::new(&folder, &[], &[folder.join(".git")]);
        assert!(found.all.contains(&folder.join(".bare")) && found.all.contains(&folder.join(".bare/modules/a/b")));
        for path in [".husky/_", "extra.cfg"] {
            assert!(found.named.contains(&folder.join(path)), "{path}: {found:?}");
        }
        assert_eq!(found.trouble, None);
        fs::write(folder.join("wt/.git"), "gitdir: /elsewhere").unwrap();
        assert!(Repositories::new(&folder, &[], &[folder.join("wt/.git")]).all.is_empty());
    }

    #[test]
    fn git_config_of_too_many_submodules_are_reported() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().canonicalize().unwrap();
        for number in 0..=MOST {
            fs::create_dir_all(folder.join(format!(".git/modules/{number}"))).unwrap();
        }
        assert!(Repositories::new(&folder, &[folder.join(".git")], &[]).trouble.is_some());
    }
}
