//! Reads the instruction files of a repository above the session's folder.

use std::io;
use std::path::Path;

use trimtab_vocab::{InstructionFile, sensitive_paths};

use super::folder::Folder;
use super::skills::read_capped;

/// Folders between a folder and the root of its repository.
const LEVELS: usize = 16;

/// The instructions of the folders above, from the root of the repository down; none outside of a repository. The home
/// folder and what is above it are never a repository here.
pub fn instructions_above(folder: &Path, home: &Path, cap: usize) -> Vec<InstructionFile> {
    let Ok(folder) = folder.canonicalize() else { return Vec::new() };
    let is_root = |folder: &Path| folder.join(".git").symlink_metadata().is_ok();
    if is_root(&folder) {
        return Vec::new();
    }
    let home = home.canonicalize().ok();
    let is_broad = |folder: &Path| home.as_ref().is_some_and(|home| home.starts_with(folder));
    let above: Vec<&Path> = folder.ancestors().skip(1).take(LEVELS).take_while(|folder| !is_broad(folder)).collect();
    let Some(root) = above.iter().position(|folder| is_root(folder)) else { return Vec::new() };
    let levels = above[..=root].iter().enumerate().rev();
    levels.flat_map(|(level, above)| in_folder(above, &"../".repeat(level + 1), cap)).collect()
}

fn in_folder(folder: &Path, prefix: &str, cap: usize) -> Vec<InstructionFile> {
    let Ok(opened) = Folder::open(folder) else { return Vec::new() };
    let read = |name: &&str| {
        let (bytes, state) = opened.read_without_keys(name, cap).ok()??;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Some(InstructionFile { path: format!("{prefix}{name}"), hash: state.hash, text, own: false })
    };
    sensitive_paths::INSTRUCTIONS.iter().filter_map(read).collect()
}

/// The user's own instructions, for all folders. They may be a link: whose the file is, is known.
pub fn own_instructions(file: &Path, cap: usize) -> Option<InstructionFile> {
    let bytes = match read_capped(file, cap) {
        Ok(bytes) => bytes,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(file = %file.display(), %error, "your own instructions cannot be read");
            }
            return None;
        }
    };
    let hash = blake3::hash(&bytes).to_hex().to_string();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(InstructionFile { path: file.display().to_string(), hash, text, own: true })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_are_read_from_the_root_of_the_repository_down_and_no_further_up() {
        let place = tempfile::tempdir().expect("folder");
        let (home, repository) = (place.path().join("home"), place.path().join("home/repository"));
        let folder = repository.join("a/b");
        std::fs::create_dir_all(&folder).expect("folders");
        std::fs::write(home.join("AGENTS.md"), "home").expect("writes");
        std::fs::write(repository.join("AGENTS.md"), "root").expect("writes");
        std::fs::write(repository.join("a/CLAUDE.md"), "a").expect("writes");
        std::fs::write(folder.join("AGENTS.md"), "the folder's own").expect("writes");
        symlink(home.join("AGENTS.md"), repository.join("a/AGENTS.md")).expect("links");
        assert_eq!(instructions_above(&folder, &home, 1024), [], "it is not in a repository");
        std::fs::create_dir(repository.join(".git")).expect("folder");
        let found = instructions_above(&folder, &home, 1024);
        let told: Vec<(&str, &str)> = found.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
        assert_eq!(told, [("../../AGENTS.md", "root"), ("../CLAUDE.md", "a")]);
        assert_eq!(instructions_above(&repository, &home, 1024), []);
        std::fs::remove_dir(repository.join(".git")).expect("removes");
        std::fs::create_dir(home.join(".git")).expect("folder");
        assert_eq!(instructions_above(&folder, &home, 1024), [], "a home folder is not a project");
    }
}
