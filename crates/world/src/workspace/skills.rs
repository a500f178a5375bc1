//! Reads the files of skills: the user's, and those of a folder. They are interpreted elsewhere.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use trimtab_vocab::{SKILL_FILE, sensitive_paths};

use super::folder::Folder;

/// Levels of folders below a folder of skills.
const DEPTH: usize = 4;
/// Folders that are looked into, in one folder of skills.
const FOLDERS: usize = 500;
/// Skills of one folder of skills.
const MOST: usize = 100;
/// Other files of a skill that are named.
const FILES: usize = 60;
/// Bytes of such a name.
const LONGEST_NAME: usize = 80;
/// Entries of a folder that are looked at.
const ENTRIES: usize = 10_000;

/// A file that is called `SKILL.md`, or a place where one cannot be looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillFile {
    pub path: PathBuf,
    /// The name of its folder.
    pub folder: String,
    /// Its content, or why it cannot be read.
    pub text: Result<String, String>,
}

/// Reads one file below a folder, if it may be read.
type ReadBelow<'a> = dyn Fn(&Path) -> io::Result<Vec<u8>> + 'a;

/// The skills that the user keeps. They may be links: whose the folder is, is known.
pub fn skills_of_person(root: &Path, cap: usize) -> Vec<SkillFile> {
    find(root, None, &|path| read_capped(path, cap))
}

/// The skills in a folder that the user trusts, below `root`, which is relative to it. A link that leads out of the
/// folder is not followed.
pub fn skills_of_folder(folder: &Path, root: &str, cap: usize) -> Vec<SkillFile> {
    let below = folder.join(root);
    if below.symlink_metadata().is_err() {
        return Vec::new();
    }
    let opened = match Folder::open(folder) {
        Ok(opened) => opened,
        Err(error) => return vec![wrong(&below, &error.to_string())],
    };
    find(&below, Some(opened.path()), &|path| {
        let inside = path.strip_prefix(folder).map_err(io::Error::other)?;
        let (bytes, _) = opened.read_without_keys(inside, cap)?.ok_or(io::ErrorKind::NotFound)?;
        Ok(bytes)
    })
}

/// The file of a skill again. `folder` is the one that it may not lead out of; none for the user's own.
pub fn read_skill(path: &Path, folder: Option<&Path>, cap: usize) -> Result<String, String> {
    let bytes = match folder {
        None => read_capped(path, cap),
        Some(folder) => Folder::open(folder).and_then(|opened| {
            let inside = path.strip_prefix(folder).unwrap_or(path);
            let (bytes, _) = opened.read_without_keys(inside, cap)?.ok_or(io::ErrorKind::NotFound)?;
            Ok(bytes)
        }),
    };
    text_of(bytes)
}

/// Another file of a skill, whose folder it may not lead out of. `folder` is the trusted one that has the skill; none for
/// the user's own. Files with keys are not read.
pub fn read_beside(skill: &Path, folder: Option<&Path>, file: &str, cap: usize) -> Result<String, String> {
    let beside = skill.parent().unwrap_or(skill);
    let read = |opened: &Folder, place: &Path| {
        let (bytes, _) = opened.read_without_keys(place, cap)?.ok_or(io::ErrorKind::NotFound)?;
        Ok(bytes)
    };
    let of_person = || read(&Folder::open(beside)?, Path::new(file));
    // From the trusted folder down, so that the names of the skill's own folders count as well.
    let of_folder = |folder: &Path| {
        let opened = Folder::open(folder)?;
        let beside = beside.strip_prefix(folder).map_err(io::Error::other)?;
        // A folder has no place of its own; a file that is not there has.
        let home = opened.place_of(beside.join(".trimtab-none"))?;
        let place = opened.place_of(beside.join(file))?;
        match home.parent().is_some_and(|home| place.starts_with(home)) {
            true => read(&opened, &place),
            false => Err(io::Error::other("it is outside the folder of the skill")),
        }
    };
    text_of(folder.map_or_else(of_person, of_folder))
}

/// The other files in the folder of a skill, relative to it and sorted. Only `SKILL.md` was accepted, so a name that could
/// be read as a sentence is left out: the model reads the names among the instructions.
pub fn files_beside(skill: &Path) -> Vec<String> {
    let Some(folder) = skill.parent() else { return Vec::new() };
    let (mut files, mut folders, mut seen) = (Vec::new(), vec![(folder.to_owned(), 0)], 0);
    while let Some((next, depth)) = folders.pop() {
        for entry in next.read_dir().into_iter().flatten().flatten().take(FOLDERS) {
            seen += 1;
            let name = entry.file_name().to_string_lossy().into_owned();
            if seen > FOLDERS || name == "node_modules" || !is_plain(&name) {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < DEPTH => folders.push((entry.path(), depth + 1)),
                Ok(kind) if kind.is_file() => {
                    let path = entry.path();
                    files.extend(path.strip_prefix(folder).ok().map(|path| path.to_string_lossy().into_owned()));
                }
                _ => {}
            }
        }
    }
    files.retain(|file| file != SKILL_FILE);
    files.sort();
    files.truncate(FILES);
    files
}

fn is_plain(name: &str) -> bool {
    let is_odd = |c: char| c.is_control() || c.is_whitespace();
    name.len() <= LONGEST_NAME && !name.starts_with('.') && !name.contains(is_odd) && !sensitive_paths::is_secret(name)
}

pub(super) fn read_capped(path: &Path, cap: usize) -> io::Result<Vec<u8>> {
    // Opening a FIFO without a writer would block.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(cap as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > cap {
        return Err(io::Error::other(format!("it is larger than {} KB", cap / 1024)));
    }
    Ok(bytes)
}

fn text_of(bytes: io::Result<Vec<u8>>) -> Result<String, String> {
    match bytes.map(String::from_utf8) {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(_)) => Err("It is not valid UTF-8.".to_owned()),
        Err(error) => Err(format!("It cannot be read: {error}.")),
    }
}

fn wrong(path: &Path, reason: &str) -> SkillFile {
    let folder = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    SkillFile { path: path.to_owned(), folder, text: Err(format!("It cannot be read: {reason}.")) }
}

/// Finds skills below a folder. `within` is what links may not lead out of.
fn find(root: &Path, within: Option<&Path>, read: &ReadBelow<'_>) -> Vec<SkillFile> {
    let (mut files, mut folders, mut looked) = (Vec::new(), vec![(root.to_owned(), 0)], 0);
    while let Some((folder, depth)) = folders.pop() {
        looked += 1;
        if looked > FOLDERS {
            files.push(wrong(root, &format!("it holds more than {FOLDERS} folders; the others are left out")));
            break;
        }
        if let Some(within) = within {
            match folder.canonicalize() {
                Ok(real) if real.starts_with(within) => {}
                Ok(_) => {
                    files.push(wrong(&folder, "it is a link that leads out of the folder"));
                    continue;
                }
                Err(error) => {
                    files.push(wrong(&folder, &error.to_string()));
                    continue;
                }
            }
        }
        let path = folder.join(SKILL_FILE);
        if depth > 0 && path.symlink_metadata().is_ok() {
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            files.push(SkillFile { text: text_of(read(&path)), path, folder: name });
            // What is below a skill belongs to it.
            continue;
        }
        if depth == DEPTH {
            continue;
        }
        let is_place = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            !name.starts_with('.') && name != "node_modules" && path.is_dir()
        };
        let entries = folder.read_dir().into_iter().flatten().flatten().take(ENTRIES).map(|entry| entry.path());
        folders.extend(entries.filter(is_place).take(FOLDERS).map(|path| (path, depth + 1)));
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    if files.len() > MOST {
        let left = files.len() - MOST;
        files.truncate(MOST);
        files.push(wrong(root, &format!("it holds more than {MOST} skills; {left} of them are left out")));
    }
    files
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const CAP: usize = 1024;

    fn put(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("writes");
    }

    #[test]
    fn links_lead_out_of_a_person_s_folder_and_not_out_of_a_project() {
        let home = tempfile::tempdir().expect("folder");
        let project = home.path().join("project");
        let root = project.join(".claude/skills");
        put(&home.path().join("elsewhere/SKILL.md"), "secret");
        put(&root.join("a/SKILL.md"), "a");
        put(&root.join("group/b/SKILL.md"), "b");
        put(&root.join("a/inner/SKILL.md"), "belongs to a");
        put(&root.join("large/SKILL.md"), &"x".repeat(CAP + 1));
        put(&root.join("binary/notes.txt"), "no skill");
        std::fs::write(root.join("binary/SKILL.md"), [0xff, 0xfe]).expect("writes");
        symlink(home.path().join("elsewhere"), root.join("out")).expect("links");
        std::fs::create_dir_all(root.join("file")).expect("folder");
        symlink(home.path().join("elsewhere/SKILL.md"), root.join("file/SKILL.md")).expect("links");
        symlink(&root, root.join("group/loop")).expect("links");
        let told = |files: &[SkillFile]| -> Vec<(String, String)> {
            files
                .iter()
                .map(|file| (file.folder.clone(), file.text.clone().unwrap_or_else(|why| format!("! {why}"))))
                .collect()
        };
        let found = told(&skills_of_folder(&project, ".claude/skills", CAP));
        let of = |name: &str| found.iter().find(|(folder, _)| folder == name).map(|(_, text)| text.as_str());
        assert_eq!((of("a"), of("b")), (Some("a"), Some("b")));
        assert!(of("large").is_some_and(|why| why.contains("larger")), "{found:?}");
        assert!(of("binary").is_some_and(|why| why.contains("UTF-8")), "{found:?}");
        assert!(of("out").is_some_and(|why| why.contains("out of the folder")), "{found:?}");
        assert!(of("file").is_some_and(|why| why.contains("outside the folder")), "{found:?}");
        assert!(!found.iter().any(|(_, text)| text.contains("secret")));
        let own = told(&skills_of_person(&root, CAP));
        assert!(own.contains(&("out".into(), "secret".into())), "{own:?}");
        assert_eq!(skills_of_folder(&project, ".agents/skills", CAP), []);
        assert_eq!(files_beside(&root.join("binary/SKILL.md")), ["notes.txt"]);
        assert!(read_beside(&root.join("a/SKILL.md"), None, "../../../secret", CAP).is_err());
        assert_eq!(
            read_beside(&root.join("binary/SKILL.md"), Some(&project), "notes.txt", CAP).as_deref(),
            Ok("no skill")
        );
        assert!(read_skill(&root.join("file/SKILL.md"), Some(&project), CAP).is_err());
    }
}
