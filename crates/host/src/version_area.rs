//! Finds the files of a folder that control version control, by structure. A repository need not be called `.git`: a
//! folder with `HEAD`, `objects`, and `refs` is one, and a `.git` file may point anywhere. Also finds the targets of
//! control files that are links.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use trimtab_vocab::control_entry;
use trimtab_world::git_config::{Repositories, plain, real};

/// Entries that are looked at for links, at most.
const MOST: usize = 10_000;

/// Those of `paths` (relative to `folder`, about to be written) that other programs run or obey, although their names
/// do not show it. All of them if that is unknown.
pub(crate) fn among(folder: &Path, paths: &[String]) -> Vec<String> {
    let Ok(folder) = folder.canonicalize() else { return paths.to_vec() };
    let (Some(named), Some(linked)) = (named_areas(&folder, paths), behind_links(&folder)) else {
        return paths.to_vec();
    };
    let is_in = |path: &&String| {
        let spelled = folder.join(path.as_str());
        let is_in = |area: &PathBuf| plain(&spelled).starts_with(area) || real(&spelled).starts_with(area);
        named.iter().chain(&linked).any(is_in)
            || holders(Path::new(path.as_str())).any(|place| is_repository(&folder, place, paths))
    };
    paths.iter().filter(is_in).cloned().collect()
}

/// The folders above a path, the outermost first; the empty one is the folder itself.
fn holders(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors().skip(1)
}

/// Whether git takes `place` for a repository, or would once `paths` are written.
fn is_repository(folder: &Path, place: &Path, paths: &[String]) -> bool {
    let will_be = |name: &str| {
        let below = |path: &String| {
            let rest = Path::new(path).strip_prefix(place).ok().and_then(|rest| rest.components().next());
            rest.is_some_and(|first| first.as_os_str().eq_ignore_ascii_case(name))
        };
        folder.join(place).join(name).symlink_metadata().is_ok() || paths.iter().any(below)
    };
    // With `commondir`, objects and refs are elsewhere.
    will_be("HEAD") && ((will_be("objects") && will_be("refs")) || will_be("commondir"))
}

/// Places in the folder that repositories make part of version control: the target of a `.git` file, the folder that
/// it shares, and what the settings name. `None` if they cannot be read.
fn named_areas(folder: &Path, paths: &[String]) -> Option<BTreeSet<PathBuf>> {
    let places: BTreeSet<&Path> = paths.iter().flat_map(|path| holders(Path::new(path.as_str()))).collect();
    let dot_gits = places.iter().map(|place| folder.join(place).join(".git"));
    let (found, pointers): (Vec<PathBuf>, Vec<PathBuf>) =
        dot_gits.filter(|path| path.symlink_metadata().is_ok()).partition(|path| path.is_dir());
    let found: Vec<PathBuf> = found.iter().map(|path| real(path)).collect();
    let Repositories { mut all, mut named, mut linked, trouble } = Repositories::new(folder, &found, &pointers);
    // An area that is the folder itself would be every file of it.
    all.remove(folder);
    named.append(&mut all);
    named.append(&mut linked);
    trouble.is_none().then_some(named)
}

/// Where control files lead to that are links: at the top of the folder, and in control folders there. `None` if there
/// are too many entries.
fn behind_links(folder: &Path) -> Option<BTreeSet<PathBuf>> {
    let entries = |place: &Path| {
        let found: Vec<fs::DirEntry> = fs::read_dir(place).into_iter().flatten().flatten().take(MOST + 1).collect();
        (found.len() <= MOST).then_some(found)
    };
    let is_control = |entry: &fs::DirEntry| control_entry(&[], &entry.file_name().to_string_lossy()).is_some();
    let mut areas = BTreeSet::new();
    for entry in entries(folder)?.into_iter().filter(is_control) {
        let inner = match entry.file_type() {
            Ok(kind) if kind.is_dir() && entry.file_name() != ".git" => entries(&entry.path())?,
            _ => Vec::new(),
        };
        for path in inner.iter().chain([&entry]).map(fs::DirEntry::path) {
            let Ok(target) = fs::read_link(&path) else { continue };
            // The one says where it leads to now, the other where it would if that were there.
            areas.extend([real(&path), real(&path.with_file_name("").join(target))]);
        }
    }
    Some(areas)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, text).expect("writes");
        }
        folder
    }

    fn found(folder: &tempfile::TempDir, paths: &[&str]) -> Vec<String> {
        among(folder.path(), &paths.iter().map(|&path| path.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_repository_is_known_by_what_it_holds_or_would_hold() {
        let with = folder(&[("docs/HEAD", ""), ("docs/objects/x", ""), ("src/HEAD", "")]);
        assert_eq!(found(&with, &["docs/refs/x"]), ["docs/refs/x"], "the last part makes it one");
        assert_eq!(found(&with, &["docs/config", "docs/refs/y"]), ["docs/config", "docs/refs/y"]);
        assert!(found(&with, &["docs/config", "src/main.rs", "src/refs/x"]).is_empty());
        assert_eq!(found(&with, &["src/commondir"]), ["src/commondir"], "its objects would be elsewhere");
    }

    #[test]
    fn what_a_git_file_and_its_settings_name_belongs_to_it() {
        let config = "[core]\n\thooksPath = .my-hooks\n";
        let with =
            folder(&[(".git", "gitdir: ./.bare\n"), (".bare/config", config), (".bare/commondir", "../shared\n")]);
        for path in [".bare/config", ".bare/hooks/pre-commit", ".my-hooks/pre-commit", "shared/config"] {
            assert_eq!(found(&with, &[path]), [path]);
        }
        assert!(found(&with, &["src/main.rs", ".barely"]).is_empty());
    }

    #[test]
    fn what_stands_behind_a_linked_control_file_is_one() {
        let with = folder(&[("docs/g.md", ""), ("cfg/tasks.json", ""), (".github/x", ""), ("src/main.rs", "")]);
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, with.path().join(name)).expect("linked");
        link("docs/g.md", "CLAUDE.md");
        link("cfg", ".vscode");
        link("../flows", ".github/workflows");
        for path in ["docs/g.md", "cfg/tasks.json", "cfg/new.json", "flows/ci.yml"] {
            assert_eq!(found(&with, &[path]), [path]);
        }
        assert!(found(&with, &["src/main.rs", "docs/h.md"]).is_empty());
    }

    #[test]
    fn settings_that_cannot_be_read_make_every_path_one() {
        let with = folder(&[(".git/config", "[core\n")]);
        assert_eq!(found(&with, &["src/main.rs"]), ["src/main.rs"]);
    }
}
