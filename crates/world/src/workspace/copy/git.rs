//! Git in a copy of a folder: the copy has its own repository that borrows the objects of the original.
//!
//! `git status`, `git diff`, and `git log` work in the copy. Nothing that git does there is written to the original:
//! the copy has its own `HEAD`, index, refs, and objects, and finds the objects of the original through
//! `objects/info/alternates`, which git only reads. Hooks and settings are not copied, because a copy must not run
//! anything that a folder brings with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Cloner, CopyError, io_error};
use crate::git_config::plain;
use crate::workspace::branch::repository_of;
use crate::workspace::rules::read_small;

/// Bytes of refs and of the index at most; a larger repository gets no git in its copies.
const LARGEST: u64 = 256 << 20;
/// Refs outside of `packed-refs` at most.
const MOST_REFS: usize = 20_000;
/// Files of the repository that are data and nothing else.
const DATA: [&str; 4] = ["HEAD", "index", "packed-refs", "shallow"];

/// Makes the repository of a copy. The folder of the objects that it borrows; none for a folder that is not the top of a
/// repository, and for one that keeps its refs in another format.
pub(super) fn borrow_repository(
    original: &Path,
    copy: &Path,
    cloner: &mut Cloner,
) -> Result<Option<PathBuf>, CopyError> {
    let Some(repository) = repository_of(&original.join(".git")) else { return Ok(None) };
    let common = common_of(&repository);
    let objects = common.join("objects");
    let Some(format) = ObjectFormat::read(&common).filter(|_| objects.is_dir()) else { return Ok(None) };
    let git = copy.join(".git");
    for folder in ["objects/info", "refs/heads", "refs/tags", "info"] {
        fs::create_dir_all(git.join(folder)).map_err(io_error(&git))?;
    }
    let put = |name: &str, text: &str| fs::write(git.join(name), text).map_err(io_error(&git));
    put("config", &format!("{}{}", format.config(), core_flags(&common)))?;
    put("objects/info/alternates", &format!("{}\n", objects.display()))?;
    let mut left = LARGEST;
    for name in DATA {
        // A worktree has its own HEAD and index; refs belong to the repository that it is a part of.
        // A link could lead to what commands must not read.
        let size_of =
            |from: &PathBuf| from.symlink_metadata().ok().filter(fs::Metadata::is_file).map(|found| found.len());
        let places = [&repository, &common].map(|place| place.join(name));
        if let Some((from, size)) = places.into_iter().find_map(|from| size_of(&from).map(|size| (from, size))) {
            left = left.checked_sub(size).ok_or(CopyError::TooLarge)?;
            cloner.copy_file(&from, &git.join(name))?;
        }
    }
    let exclude = common.join("info/exclude");
    if exclude.symlink_metadata().is_ok_and(|found| found.is_file()) {
        cloner.copy_file(&exclude, &git.join("info/exclude"))?;
    }
    copy_refs(&common.join("refs"), &git.join("refs"), cloner)?;
    Ok(Some(objects))
}

fn common_of(repository: &Path) -> PathBuf {
    let named = read_small(&repository.join("commondir")).ok().and_then(|named| String::from_utf8(named).ok());
    named.map_or_else(|| repository.to_owned(), |named| plain(&repository.join(named.trim())))
}

/// How a repository names its objects. Other extensions change how it is read, so that a copy without them would be wrong.
enum ObjectFormat {
    Sha1,
    Sha256,
}

impl ObjectFormat {
    fn read(common: &Path) -> Option<Self> {
        let config = String::from_utf8(read_small(&common.join("config")).ok()?).ok()?.to_lowercase();
        let value = |name: &str| {
            let line = config.lines().map(str::trim).find(|line| line.starts_with(name))?;
            line.split_once('=').map(|(_, value)| value.trim().to_owned())
        };
        if value("refstorage").is_some_and(|format| format != "files") {
            return None;
        }
        match value("objectformat").as_deref() {
            None | Some("sha1") => Some(Self::Sha1),
            Some("sha256") => Some(Self::Sha256),
            Some(_) => None,
        }
    }

    fn config(&self) -> &'static str {
        match self {
            Self::Sha1 => "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n",
            Self::Sha256 => {
                "[extensions]\n\tobjectformat = sha256\n[core]\n\trepositoryformatversion = 1\n\tfilemode = true\n\tbare = false\n"
            }
        }
    }
}

/// Flags of the repository that say how files are compared. Nothing else of its settings is taken over.
fn core_flags(common: &Path) -> String {
    const FLAGS: [&str; 5] = ["autocrlf", "eol", "ignorecase", "symlinks", "precomposeunicode"];
    const VALUES: [&str; 6] = ["true", "false", "input", "lf", "crlf", "native"];
    let config = read_small(&common.join("config")).ok().and_then(|config| String::from_utf8(config).ok());
    let config = config.unwrap_or_default().to_lowercase();
    let pairs = config.lines().filter_map(|line| line.split_once('=')).map(|(name, value)| (name.trim(), value.trim()));
    let known = pairs.filter(|(name, value)| FLAGS.contains(name) && VALUES.contains(value));
    known.map(|(name, value)| format!("\t{name} = {value}\n")).collect()
}

/// Copies refs that are separate files. Links are left out, because they could lead anywhere.
fn copy_refs(from: &Path, to: &Path, cloner: &mut Cloner) -> Result<(), CopyError> {
    let mut open = vec![(from.to_owned(), to.to_owned())];
    let mut count = 0;
    while let Some((from, to)) = open.pop() {
        let entries = match fs::read_dir(&from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other.map_err(io_error(&from))?,
        };
        fs::create_dir_all(&to).map_err(io_error(&to))?;
        for entry in entries {
            let entry = entry.map_err(io_error(&from))?;
            let kind = entry.file_type().map_err(io_error(&from))?;
            count += 1;
            if count > MOST_REFS {
                return Err(CopyError::TooManyFiles);
            }
            if kind.is_dir() {
                open.push((entry.path(), to.join(entry.file_name())));
            } else if kind.is_file() {
                cloner.copy_file(&entry.path(), &to.join(entry.file_name()))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use trimtab_vocab::BuildFolders;

    use super::super::{copy_folder, put, remove};
    use super::*;

    /// Runs git as a user would, without the settings of the machine.
    fn git(folder: &Path, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.current_dir(folder).args(arguments).env_clear();
        for (name, value) in [("GIT_CONFIG_NOSYSTEM", "1"), ("HOME", "/nonexistent"), ("GIT_AUTHOR_NAME", "a")] {
            command.env(name, value);
        }
        for name in ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
            command.env(name, "a@example.com");
        }
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        let output = command.output().expect("git runs");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn listing(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let mut all = Vec::new();
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                match entry.file_type().expect("a kind").is_dir() {
                    true => open.push(entry.path()),
                    false => all.push((entry.path(), fs::read(entry.path()).expect("bytes"))),
                }
            }
        }
        all.sort();
        all
    }

    fn repository() -> (tempfile::TempDir, PathBuf) {
        let top = tempfile::tempdir().expect("a folder");
        let original = top.path().join("project");
        put(&original, "a.txt", Some((b"one\n", 0o644))).expect("written");
        put(&original, "old.txt", Some((b"old\n", 0o644))).expect("written");
        git(&original, &["init", "-q", "-b", "main"]);
        git(&original, &["add", "."]);
        git(&original, &["commit", "-q", "-m", "first commit"]);
        (top, original)
    }

    #[test]
    fn git_reads_the_history_in_a_copy_and_writes_nothing_to_the_original() {
        let (top, original) = repository();
        put(&original, ".git/hooks/pre-commit", Some((b"#!/bin/sh\ntouch \"$PWD/hooked\"\n", 0o755))).expect("written");
        git(&original, &["config", "core.fsmonitor", "touch fsmonitored; false"]);
        git(&original, &["tag", "v1"]);
        put(&original, "a.txt", Some((b"two\n", 0o644))).expect("written");
        let before = listing(&original);
        let copy = top.path().join("copies/s-w1");
        assert!(copy_folder(&original, &copy, BuildFolders::Clone).expect("copied").stats.has_git);
        assert_eq!(git(&copy, &["status", "--porcelain"]), " M a.txt\n", "the user's own change, as in the original");
        put(&copy, "old.txt", None).expect("removed");
        assert!(git(&copy, &["diff"]).contains("+two"));
        assert_eq!(git(&copy, &["log", "--format=%s", "v1"]), "first commit\n");
        git(&copy, &["commit", "-q", "-a", "-m", "in the copy"]);
        assert_eq!(git(&copy, &["log", "--format=%s"]), "in the copy\nfirst commit\n");
        assert!(!copy.join("hooked").exists() && !copy.join("fsmonitored").exists(), "nothing of the folder ran");
        assert_eq!(listing(&original), before, "the original is as it was");
        remove(&copy);
        assert_eq!(git(&original, &["log", "--format=%s"]), "first commit\n");
    }

    #[test]
    fn a_linked_worktree_is_copied_with_its_own_branch() {
        let (top, original) = repository();
        let tree = top.path().join("tree");
        git(&original, &["worktree", "add", "-q", "-b", "side", tree.to_str().expect("text")]);
        let copy = top.path().join("copies/s-w1");
        assert!(copy_folder(&tree, &copy, BuildFolders::Clone).expect("copied").stats.has_git);
        assert_eq!(git(&copy, &["rev-parse", "--abbrev-ref", "HEAD"]), "side\n");
        assert_eq!(git(&copy, &["status", "--porcelain"]), "");
    }
}
