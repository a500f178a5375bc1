//! The branch that is checked out in a folder, read from git's files without starting git.

use std::path::{Path, PathBuf};

use super::rules::read_small;

/// Characters of a branch that are shown.
const LONGEST: usize = 100;

/// The branch of the repository of a folder, or the start of the commit. Call it only for a trusted folder. Only
/// small regular files are read, and only a text that looks like a branch or a commit is returned.
pub fn branch(folder: &Path) -> Option<String> {
    let git = folder.ancestors().map(|folder| folder.join(".git")).find(|git| git.symlink_metadata().is_ok())?;
    let git = repository_of(&git)?;
    let head = String::from_utf8(read_small(&git.join("HEAD")).ok()?).ok()?;
    let head = head.trim();
    match head.strip_prefix("ref: refs/heads/") {
        Some(branch) if !branch.contains(char::is_control) => Some(branch.chars().take(LONGEST).collect()),
        None if head.len() >= 40 && head.bytes().all(|byte| byte.is_ascii_hexdigit()) => Some(head[..8].to_owned()),
        _ => None,
    }
}

/// The repository that a path called `.git` is or names.
pub(super) fn repository_of(git: &Path) -> Option<PathBuf> {
    let kind = git.symlink_metadata().ok()?.file_type();
    if git.is_dir() { Some(git.to_owned()) } else { kind.is_file().then(|| linked(git)).flatten() }
}

/// The git folder of a worktree or a submodule, which a file called `.git` names. A place outside of the folder must
/// refer back to the file, because any folder can contain a file that names another repository.
fn linked(file: &Path) -> Option<PathBuf> {
    let text = String::from_utf8(read_small(file).ok()?).ok()?;
    let folder = file.parent()?;
    let notes = folder.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let is_inside = || folder.canonicalize().is_ok_and(|folder| notes.starts_with(folder));
    let is_ours = || {
        let back = String::from_utf8(read_small(&notes.join("gitdir")).ok()?).ok()?;
        let (back, file) = (Path::new(back.trim()).canonicalize().ok()?, file.canonicalize().ok()?);
        (back == file).then_some(())
    };
    (is_inside() || is_ours().is_some()).then_some(notes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("one")).expect("made");
        fs::write(path, text).expect("written");
    }

    #[test]
    fn branches_commits_and_worktrees_are_known() {
        let top = tempfile::tempdir().expect("a folder");
        let (main, tree) = (top.path().join("main"), top.path().join("tree"));
        put(&main.join(".git/HEAD"), "ref: refs/heads/feature/x\n");
        put(&main.join("src/a"), "");
        assert_eq!(branch(&main.join("src")).as_deref(), Some("feature/x"));
        put(&main.join(".git/HEAD"), &format!("{}\n", "ab12".repeat(10)));
        assert_eq!(branch(&main).as_deref(), Some("ab12ab12"));
        let notes = main.join(".git/worktrees/tree");
        put(&notes.join("HEAD"), "ref: refs/heads/tree\n");
        put(&tree.join(".git"), &format!("gitdir: {}\n", notes.display()));
        assert_eq!(branch(&tree), None, "nothing there says that it belongs to this folder");
        put(&notes.join("gitdir"), &format!("{}\n", tree.join(".git").display()));
        assert_eq!(branch(&tree).as_deref(), Some("tree"));
    }

    #[test]
    fn nothing_is_waited_for_and_no_other_text_is_shown() {
        let top = tempfile::tempdir().expect("a folder");
        let folder = |name: &str| {
            let folder = top.path().join(name);
            fs::create_dir_all(&folder).expect("made");
            folder
        };
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, folder("fifo").join(".git"), mode).expect("a pipe");
        symlink("/dev/zero", folder("zero").join(".git")).expect("a link");
        symlink("/dev/zero", {
            fs::create_dir_all(folder("head").join(".git")).expect("made");
            folder("head").join(".git/HEAD")
        })
        .expect("a link");
        put(&folder("text").join(".git/HEAD"), "root:x:0:0\n");
        put(&folder("escape").join(".git/HEAD"), "ref: refs/heads/a\u{1b}[2J\n");
        put(&folder("elsewhere").join("HEAD"), "ref: refs/heads/secret\n");
        put(&folder("pointer").join(".git"), "gitdir: ../elsewhere\n");
        for name in ["fifo", "zero", "head", "text", "escape", "pointer"] {
            assert_eq!(branch(&top.path().join(name)), None, "{name}");
        }
    }
}
