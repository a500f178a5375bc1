//! Which files of a folder version control takes orders from, found by structure. A repository need not be called
//! `.git`: a folder that holds `HEAD`, `objects`, and `refs` is one, and a `.git` file may point anywhere.

use std::path::{Component, Path, PathBuf};

use trimtab_world::workspace::read_small;

/// Those of `paths`, which are relative to `folder` and about to be written, that lie in a version-control area.
pub(crate) fn among(folder: &Path, paths: &[String]) -> Vec<String> {
    let named = named_areas(folder, paths);
    let is_in = |path: &&String| {
        let path = Path::new(path.as_str());
        named.iter().any(|area| path.starts_with(area))
            || holders(path).any(|place| is_repository(folder, place, paths))
    };
    paths.iter().filter(is_in).cloned().collect()
}

/// The folders that a path lies in, the outermost first; the empty one is the folder itself.
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

/// Places in the folder that a repository's own files name: where a `.git` file points, the folder that it shares, and
/// where its hooks are.
fn named_areas(folder: &Path, paths: &[String]) -> Vec<PathBuf> {
    let mut places: Vec<&Path> = paths.iter().flat_map(|path| holders(Path::new(path.as_str()))).collect();
    places.sort_unstable();
    places.dedup();
    let mut areas = Vec::new();
    for place in places {
        let work_tree = folder.join(place);
        let dot_git = work_tree.join(".git");
        let Ok(found) = dot_git.symlink_metadata() else { continue };
        let repository = match found.is_dir() {
            true => dot_git,
            false => match small(&dot_git).and_then(|text| pointed_to(&text, "gitdir:")) {
                Some(to) => work_tree.join(to),
                None => continue,
            },
        };
        let shared = small(&repository.join("commondir")).map(|text| repository.join(text.trim()));
        let settings = [Some(&repository), shared.as_ref()].into_iter().flatten();
        let hooks =
            settings.filter_map(|repository| hooks_path(&repository.join("config"))).map(|to| work_tree.join(to));
        areas.extend(hooks);
        areas.push(repository);
        areas.extend(shared);
    }
    let inside = |area: &PathBuf| plain(area).strip_prefix(folder).map(Path::to_owned).ok();
    // An area that is the folder itself would be every file of it.
    areas.iter().filter_map(inside).filter(|area| !area.as_os_str().is_empty()).collect()
}

fn pointed_to(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| line.trim().strip_prefix(key)).map(|to| to.trim().to_owned())
}

/// The value of `core.hooksPath`. A line that looks like it counts in whichever section it stands.
fn hooks_path(config: &Path) -> Option<String> {
    let text = small(config)?;
    let value = |line: &str| {
        let (name, value) = line.split_once('=')?;
        name.trim().eq_ignore_ascii_case("hookspath").then(|| value.trim().trim_matches('"').to_owned())
    };
    text.lines().find_map(value)
}

/// The text of a regular file, if it is small.
fn small(file: &Path) -> Option<String> {
    Some(String::from_utf8_lossy(&read_small(file).ok()?).into_owned())
}

/// A path without `.` and `..`, by its spelling.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::fs;

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
}
