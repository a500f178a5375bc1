//! Reads the files of pills: the user's, and those of a folder. They are interpreted elsewhere.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::folder::Folder;

/// Files of one folder at most.
const MOST: usize = 200;
/// Where a folder keeps its pills.
pub const PILLS: &str = ".trimtab/pills";

/// A file that is called `*.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PillFile {
    pub path: PathBuf,
    /// Its name without `.md`.
    pub stem: String,
    /// Its content, or why it cannot be read.
    pub text: Result<String, String>,
}

/// The pills that the user keeps beside their settings. They may be links: whose the folder is, is known.
pub fn of_person(folder: &Path, cap: usize) -> Vec<PillFile> {
    read_all(folder, |path| {
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
    })
}

/// The pills of a folder that the user trusts, in `here` of it. A link that leads out of the folder, or to
/// keys, is not followed.
pub fn of_folder(folder: &Path, here: &str, cap: usize) -> Vec<PillFile> {
    let kept = folder.join(here);
    let one = |reason: &str| {
        vec![PillFile { path: kept.clone(), stem: String::new(), text: Err(format!("It cannot be read: {reason}.")) }]
    };
    let Ok(real) = kept.canonicalize() else { return Vec::new() };
    let folder = match Folder::open(folder) {
        Ok(folder) => folder,
        Err(error) => return one(&error.to_string()),
    };
    if !real.starts_with(folder.path()) {
        return one("it is outside the folder");
    }
    read_all(&kept, |path| {
        let name = path.strip_prefix(&kept).map(|name| Path::new(here).join(name)).map_err(io::Error::other)?;
        let (bytes, _) = folder.read_without_keys(&name, cap)?.ok_or(io::ErrorKind::NotFound)?;
        Ok(bytes)
    })
}

/// The files `*.md` of a folder, and of the folders in it, which other programs use to group commands.
fn markdown_in(folder: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path()).take(MOST * 4).collect()
    };
    let is_pill = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    // A link to a folder is not followed: it may lead anywhere.
    let is_group = |path: &PathBuf| path.symlink_metadata().is_ok_and(|data| data.is_dir()) && !is_pill(path);
    let here = entries(folder);
    let groups = here.iter().filter(|path| is_group(path)).take(MOST);
    let below: Vec<PathBuf> =
        groups.flat_map(|group| entries(group)).filter(|path| is_pill(path) && !path.is_dir()).collect();
    here.into_iter().filter(is_pill).chain(below).collect()
}

fn read_all(folder: &Path, read: impl Fn(&Path) -> io::Result<Vec<u8>>) -> Vec<PillFile> {
    let mut paths = markdown_in(folder);
    paths.sort();
    let left_out = paths.len().saturating_sub(MOST);
    paths.truncate(MOST);
    let one = |path: PathBuf| {
        let text = match read(&path).map(String::from_utf8) {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(_)) => Err("It is not valid UTF-8.".to_owned()),
            Err(error) => Err(format!("It cannot be read: {error}.")),
        };
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        PillFile { path, stem, text }
    };
    let mut files: Vec<PillFile> = paths.into_iter().map(one).collect();
    if left_out > 0 {
        let text = Err(format!("It holds more than {MOST} pills; {left_out} of them are left out."));
        files.push(PillFile { path: folder.to_owned(), stem: String::new(), text });
    }
    files
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const CAP: usize = 1024;

    fn told(files: &[PillFile]) -> Vec<(String, String)> {
        let words = |file: &PillFile| match &file.text {
            Ok(text) => text.clone(),
            Err(why) => format!("! {why}"),
        };
        files.iter().map(|file| (file.stem.clone(), words(file))).collect()
    }

    #[test]
    fn one_bad_file_does_not_keep_the_others_from_being_read() {
        let home = tempfile::tempdir().expect("folder");
        let (folder, kept) = (home.path().join("project"), home.path().join("project").join(PILLS));
        std::fs::create_dir_all(&kept).expect("folders");
        std::fs::write(home.path().join("secret.md"), "secret").expect("writes");
        std::fs::write(folder.join("inside.md"), "inside").expect("writes");
        std::fs::write(kept.join("a.md"), "a").expect("writes");
        std::fs::write(kept.join("b.md"), [0xff, 0xfe]).expect("writes");
        std::fs::write(kept.join("c.md"), "x".repeat(CAP + 1)).expect("writes");
        std::fs::write(kept.join("notes.txt"), "no pill").expect("writes");
        symlink("../../../secret.md", kept.join("d.md")).expect("links");
        symlink("../../inside.md", kept.join("e.md")).expect("links");
        std::fs::create_dir(kept.join("f.md")).expect("a folder");
        rustix::fs::mknodat(rustix::fs::CWD, kept.join("g.md"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .expect("a pipe");
        let files = told(&of_folder(&folder, PILLS, CAP));
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d", "e", "f", "g"]);
        assert_eq!((files[0].1.as_str(), files[4].1.as_str()), ("a", "inside"));
        for (at, why) in [(1, "UTF-8"), (2, "larger"), (3, "outside the folder"), (5, ""), (6, "")] {
            let (name, text) = &files[at];
            assert!(text.starts_with("! ") && text.contains(why), "{name}: {text}");
        }
        assert_eq!(told(&of_person(&kept, CAP))[3], ("d".into(), "secret".into()), "a person's own may be links");
    }

    #[test]
    fn a_folder_of_pills_that_lies_elsewhere_is_not_read() {
        let home = tempfile::tempdir().expect("folder");
        let folder = home.path().join("project");
        std::fs::create_dir_all(folder.join(".trimtab")).expect("folders");
        std::fs::create_dir_all(home.path().join("elsewhere")).expect("folders");
        std::fs::write(home.path().join("elsewhere/a.md"), "a").expect("writes");
        symlink(home.path().join("elsewhere"), folder.join(PILLS)).expect("links");
        let files = told(&of_folder(&folder, PILLS, CAP));
        assert_eq!(files, [(String::new(), "! It cannot be read: it is outside the folder.".to_owned())]);
        assert_eq!(of_folder(&home.path().join("nowhere"), PILLS, CAP), []);
    }
}
