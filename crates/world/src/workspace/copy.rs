//! Copies of a folder for workers. Each worker changes files and runs commands in its own copy, and nothing of it
//! reaches the original.

#![expect(clippy::disallowed_methods, reason = "a copy is ours; nothing here writes in the user's folder")]

mod git;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

use trimtab_vocab::{BuildFolders, CopyStats, FileState, LeftBehind};

use super::{FolderWalk, WalkEntry, read_small};

/// Files of a copy at most.
const MOST_FILES: u64 = 50_000;
/// Bytes of a copy at most.
const MOST_BYTES: u64 = 1 << 30;
/// Files and bytes of one dependency folder that is cloned; a larger one is linked.
const MOST_CLONED: (u64, u64) = (100_000, 4 << 30);
/// A folder that takes longer to look through is too large for copies.
const LONGEST: Duration = Duration::from_secs(120);
/// How long a finished copy is looked through.
const LONGEST_LOOK: Duration = Duration::from_secs(10);
/// Bytes of a file that is compared with the original.
const MOST_COMPARED: u64 = 16 << 20;
/// Folders that git ignores and that programs mostly read. Output of builds such as `target` is left out, because it is
/// large and holds paths of the original.
const DEPENDENCIES: [&str; 4] = ["node_modules", ".venv", "venv", "vendor"];

/// Why a folder cannot be copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error("the folder has more than {MOST_FILES} files that git does not ignore")]
    TooManyFiles,
    #[error("the folder has more than {} MB that git does not ignore", MOST_BYTES >> 20)]
    TooLarge,
    #[error("it took too long to look through the folder")]
    TooSlow,
    #[error("no space is left on the disk with the copies")]
    Full,
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
}

/// Says that a copy is whole; it stands beside it.
fn mark(copy: &Path) -> PathBuf {
    let mut name = copy.as_os_str().to_owned();
    name.push(".whole");
    PathBuf::from(name)
}

/// Names the files that a copy had when it was made; it stands beside it. What is missing later was deleted there.
fn listing(copy: &Path) -> PathBuf {
    let mut name = copy.as_os_str().to_owned();
    name.push(".files");
    PathBuf::from(name)
}

/// Whether a copy was made to its end.
pub fn whole(copy: &Path) -> Option<CopyStats> {
    let text = read_small(&mark(copy)).ok().filter(|_| copy.is_dir())?;
    let text = String::from_utf8(text).unwrap_or_default();
    // Its figures are the last line, which is no path.
    Some(text.lines().last().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default())
}

/// A copy was made to its end, and what else belongs into it is there.
pub fn set_whole(copy: &Path, mut made: MadeCopy) -> Result<CopyStats, CopyError> {
    made.names.flush().map_err(io_error(&listing(copy)))?;
    let mut lines: Vec<String> = made.reads.iter().filter_map(|path| Some(path.to_str()?.to_owned())).collect();
    lines.extend(serde_json::to_string(&made.stats));
    fs::write(mark(copy), lines.join("\n")).map_err(io_error(&mark(copy)))?;
    Ok(made.stats)
}

/// Paths outside of a copy that programs in it read. None if the folder is not a copy of ours: commands cannot write the
/// mark, which lies beside the copy.
pub fn reads_outside(folder: &Path) -> Vec<PathBuf> {
    let text = read_small(&mark(folder)).ok().and_then(|text| String::from_utf8(text).ok()).unwrap_or_default();
    text.lines().map(PathBuf::from).filter(|path| path.is_absolute() && path.is_dir()).collect()
}

/// A copy that is not marked as whole yet.
#[derive(Debug)]
pub struct MadeCopy {
    stats: CopyStats,
    /// Folders of the original that programs in the copy read: linked dependencies, and the objects of its repository.
    reads: Vec<PathBuf>,
    /// Goes to the disk name by name, because a folder can have many files and many workers.
    names: BufWriter<File>,
}

impl MadeCopy {
    /// Makes a change in the copy before a worker gets it.
    pub fn seed(&mut self, copy: &Path, path: &str, content: Option<(&[u8], u32)>) -> Result<(), CopyError> {
        if !put(copy, path, content)? {
            return Ok(());
        }
        let sign = if content.is_some() { SEEDED } else { GONE };
        list(&mut self.names, sign, Path::new(path)).map_err(io_error(&listing(copy)))
    }
}

/// Before the name of a file of the original.
const COPIED: u8 = b'+';
/// Before the name of a file that an earlier worker has written.
const SEEDED: u8 = b'*';
/// Before the name of a file that an earlier worker has deleted.
const GONE: u8 = b'-';

fn list(names: &mut BufWriter<File>, sign: u8, path: &Path) -> io::Result<()> {
    names.write_all(&[sign])?;
    names.write_all(path.as_os_str().as_bytes())?;
    names.write_all(&[0])
}

fn io_error(path: &Path) -> impl Fn(io::Error) -> CopyError + Copy + '_ {
    move |error| match error.kind() {
        // The file that was being read is not what lacks space.
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => CopyError::Full,
        _ => CopyError::Io(path.to_owned(), error),
    }
}

/// Copies files, and shares their contents on the disk as long as the file system can.
struct Cloner {
    can_clone: bool,
    stats: CopyStats,
}

impl Cloner {
    /// Copies a file with its mode. No link is followed.
    fn copy_file(&mut self, from: &Path, to: &Path) -> Result<(), CopyError> {
        if self.can_clone {
            match clone_file(from, to) {
                Ok(bytes) => {
                    self.stats.cloned_bytes += bytes;
                    return self.count(bytes);
                }
                // That a file has just been deleted says nothing about the file system.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(CopyError::Io(from.to_owned(), error));
                }
                Err(_) => self.can_clone = false,
            }
        }
        let bytes = fs::copy(from, to).map_err(io_error(from))?;
        self.count(bytes)
    }

    fn count(&mut self, bytes: u64) -> Result<(), CopyError> {
        self.stats.files += 1;
        self.stats.bytes += bytes;
        match self.stats.bytes > MOST_BYTES {
            true => Err(CopyError::TooLarge),
            false => Ok(()),
        }
    }
}

/// Makes a file that shares its contents with another one until either is written.
fn clone_file(from: &Path, to: &Path) -> io::Result<u64> {
    let source = File::open(from)?;
    let found = source.metadata()?;
    let target = File::create(to)?;
    rustix::fs::ioctl_ficlone(&target, &source)?;
    target.set_permissions(fs::Permissions::from_mode(found.permissions().mode() & 0o777))?;
    Ok(found.len())
}

/// Copies what git does not ignore, and makes git commands work in the copy. The contents are shared where the file system
/// can do that, until one of them is written. What an earlier attempt left is removed first.
pub fn copy_folder(original: &Path, copy: &Path, dependencies: BuildFolders) -> Result<MadeCopy, CopyError> {
    let began = Instant::now();
    remove(copy);
    fs::create_dir_all(copy).map_err(io_error(copy))?;
    // Private to the user.
    fs::set_permissions(copy, fs::Permissions::from_mode(0o700)).map_err(io_error(copy))?;
    let mut cloner = Cloner { can_clone: true, stats: CopyStats::default() };
    let mut names = File::create(listing(copy)).map(BufWriter::new).map_err(io_error(copy))?;
    let is_dependency = move |entry: &WalkEntry| {
        let is_named = DEPENDENCIES.iter().any(|name| entry.file_name() == OsStr::new(name));
        is_named && entry.kind().is_dir() && dependencies != BuildFolders::None
    };
    let mut walk = FolderWalk::new(original, original, LONGEST)
        .with_ignored()
        .only(move |entry| entry.file_name() != OsStr::new(".git") && (!entry.is_ignored() || is_dependency(entry)));
    let mut found: Vec<(PathBuf, PathBuf)> = Vec::new();
    while let Some(entry) = walk.next() {
        let Ok(path) = entry.path().strip_prefix(original) else { continue };
        if entry.depth() == 0 {
            continue;
        }
        let to = copy.join(path);
        if entry.is_ignored() {
            found.push((entry.path().to_owned(), to));
            let dependency = entry.path().to_owned();
            walk.leave(&dependency);
            continue;
        }
        if copy_entry(&entry, &to, &mut cloner)? && !entry.kind().is_dir() {
            list(&mut names, COPIED, path).map_err(io_error(copy))?;
        }
        if cloner.stats.files > MOST_FILES {
            return Err(CopyError::TooManyFiles);
        }
    }
    if walk.is_cut {
        return Err(CopyError::TooSlow);
    }
    let mut reads = Vec::new();
    for (from, to) in found {
        let is_cloned = dependencies == BuildFolders::Clone && cloner.can_clone && clone_tree(&from, &to, &mut cloner);
        if !is_cloned {
            let _ = fs::remove_dir_all(&to);
            symlink(&from, &to).map_err(io_error(&to))?;
            reads.push(from);
        }
    }
    let objects = git::borrow_repository(original, copy, &mut cloner)?;
    cloner.stats.has_git = objects.is_some();
    reads.extend(objects);
    let millis = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(MadeCopy { stats: CopyStats { millis, ..cloner.stats }, reads, names })
}

/// Copies what was found; whether it is still there. The user and other programs work in the folder meanwhile, and
/// editors and builds make files that live for a moment.
fn copy_entry(entry: &WalkEntry, to: &Path, cloner: &mut Cloner) -> Result<bool, CopyError> {
    let copied = copy_found(entry, to, cloner);
    let is_gone = || entry.path().symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if copied.is_err() && is_gone() {
        let _ = fs::remove_file(to);
        return Ok(false);
    }
    copied.map(|()| true)
}

fn copy_found(entry: &WalkEntry, to: &Path, cloner: &mut Cloner) -> Result<(), CopyError> {
    if entry.kind().is_dir() {
        cloner.stats.files += 1;
        fs::create_dir(to).map_err(io_error(to))
    } else if entry.kind().is_symlink() {
        let target = fs::read_link(entry.path()).map_err(io_error(entry.path()))?;
        cloner.stats.files += 1;
        symlink(target, to).map_err(io_error(to))
    } else if entry.kind().is_file() {
        cloner.copy_file(entry.path(), to)
    } else {
        Ok(())
    }
}

/// Clones a folder recursively. Returns whether that was possible; otherwise, the partial result stays.
fn clone_tree(from: &Path, to: &Path, cloner: &mut Cloner) -> bool {
    let (mut files, mut bytes) = (0, 0);
    let mut open = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = open.pop() {
        let (Ok(entries), Ok(())) = (fs::read_dir(&from), fs::create_dir(&to)) else { return false };
        for entry in entries {
            let Ok(entry) = entry else { return false };
            let (path, target) = (entry.path(), to.join(entry.file_name()));
            let made = match entry.file_type() {
                Ok(kind) if kind.is_dir() => {
                    open.push((path, target));
                    Ok(0)
                }
                Ok(kind) if kind.is_symlink() => {
                    fs::read_link(&path).and_then(|link| symlink(link, &target)).map(|()| 0)
                }
                Ok(kind) if kind.is_file() => clone_file(&path, &target),
                Ok(_) => Ok(0),
                Err(error) => Err(error),
            };
            let Ok(made) = made else { return false };
            (files, bytes) = (files + 1, bytes + made);
            if files > MOST_CLONED.0 || bytes > MOST_CLONED.1 {
                return false;
            }
        }
    }
    // It shares its storage, so it does not count against the limit of a copy.
    cloner.stats.files += files;
    cloner.stats.cloned_bytes += bytes;
    true
}

/// Writes a file of a copy, or removes it; whether it did. Paths that lead out of the copy are left alone.
pub fn put(copy: &Path, path: &str, content: Option<(&[u8], u32)>) -> Result<bool, CopyError> {
    let relative = Path::new(path);
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(false);
    }
    let to = copy.join(relative);
    let at = io_error(&to);
    // A link on the way could lead out of it.
    let is_link = |above: &Path| above.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let mut above = relative.ancestors();
    above.next();
    if above.any(|above| is_link(&copy.join(above))) {
        return Ok(false);
    }
    if is_link(&to) {
        fs::remove_file(&to).map_err(at)?;
    }
    match content {
        Some((bytes, mode)) => {
            if let Some(above) = to.parent() {
                fs::create_dir_all(above).map_err(at)?;
            }
            if mode == FileState::LINK {
                let _ = fs::remove_file(&to);
                symlink(OsStr::from_bytes(bytes), &to).map_err(at)?;
                return Ok(true);
            }
            fs::write(&to, bytes).map_err(at)?;
            fs::set_permissions(&to, fs::Permissions::from_mode(mode & 0o777)).map_err(at)?;
        }
        None => match fs::remove_file(&to) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(error)),
            _ => {}
        },
    }
    Ok(true)
}

/// The bytes and the mode of a file of a copy.
pub fn get(copy: &Path, path: &str) -> Option<(Vec<u8>, u32)> {
    let from = copy.join(path);
    let mode = from.symlink_metadata().ok().filter(|found| found.is_file())?.permissions().mode() & 0o777;
    Some((fs::read(from).ok()?, mode))
}

/// What was made or deleted in a copy since it was whole, and is not among the known changes, so that it is lost with the
/// copy. What git ignores is counted, and a folder that it ignores counts once, because builds write many files there.
pub fn left_behind(copy: &Path, original: &Path, known: &BTreeSet<String>) -> LeftBehind {
    let mut left = LeftBehind::default();
    // The mark was written last, and no program in the copy can set the time of a change.
    let Ok(whole) = mark(copy).symlink_metadata() else { return left };
    let is_new = |found: &Metadata| (found.ctime(), found.ctime_nsec()) > (whole.ctime(), whole.ctime_nsec());
    let mut walk =
        FolderWalk::new(copy, copy, LONGEST_LOOK).with_ignored().only(|entry| entry.file_name() != OsStr::new(".git"));
    while let Some(entry) = walk.next() {
        let (Ok(path), Ok(found)) = (entry.path().strip_prefix(copy), entry.metadata()) else { continue };
        let path = path.to_string_lossy().into_owned();
        if entry.depth() == 0 {
            continue;
        }
        if entry.kind().is_dir() {
            let inside = format!("{path}/");
            let has_known = known.range(inside.clone()..).next().is_some_and(|known| known.starts_with(&inside));
            let is_dependency = DEPENDENCIES.iter().any(|name| entry.file_name() == OsStr::new(name));
            if entry.is_ignored() && !has_known && (is_new(&found) || is_dependency) {
                walk.leave(entry.path());
                left.ignored += u64::from(is_new(&found));
            }
            continue;
        }
        let is_file = entry.kind().is_file() || entry.kind().is_symlink();
        if is_file && is_new(&found) && !known.contains(&path) && !is_same(entry.path(), &original.join(&path)) {
            match entry.is_ignored() {
                true => left.ignored += 1,
                false => left.add_file(path),
            }
        }
    }
    missing(copy, original, known).into_iter().for_each(|path| left.add_deleted(path));
    left
}

/// Files that a copy had when it was made and has no longer, where that is not among the known changes. A folder of which
/// nothing is there is named once.
fn missing(copy: &Path, original: &Path, known: &BTreeSet<String>) -> BTreeSet<String> {
    // What may not be looked at is not gone.
    let is_there = |folder: &Path, path: &str| match folder.join(path).symlink_metadata() {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    };
    let has_known = |inside: &String| known.range(inside.clone()..).next().is_some_and(|path| path.starts_with(inside));
    let mut missing = BTreeSet::new();
    let Ok(names) = File::open(listing(copy)) else { return missing };
    for name in BufReader::new(names).split(0).map_while(Result::ok) {
        let Some((sign, Ok(path))) = name.split_first().map(|(sign, path)| (*sign, std::str::from_utf8(path))) else {
            continue;
        };
        if sign == GONE {
            missing.remove(path);
        } else if !known.contains(path) && !is_there(copy, path) && (sign == SEEDED || is_there(original, path)) {
            missing.insert(path.to_owned());
        }
    }
    let folded = |path: String| {
        let folders = path.match_indices('/').map(|(at, _)| &path[..=at]);
        let gone = folders.into_iter().find(|folder| !is_there(copy, folder) && !has_known(&(*folder).to_owned()));
        gone.map(str::to_owned).unwrap_or(path)
    };
    missing.into_iter().map(folded).collect()
}

/// Whether a file was only touched.
fn is_same(one: &Path, other: &Path) -> bool {
    let bytes = |path: &Path| path.symlink_metadata().ok().filter(Metadata::is_file).map(|found| found.len());
    match (bytes(one), bytes(other)) {
        (Some(one_len), Some(other_len)) if one_len == other_len && one_len <= MOST_COMPARED => {
            matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
        }
        _ => false,
    }
}

/// Removes a copy with all that is in it. What links lead to is not touched.
pub fn remove(copy: &Path) {
    let _ = fs::remove_file(mark(copy));
    let _ = fs::remove_file(listing(copy));
    let _ = fs::remove_dir_all(copy);
}

/// The copies in a folder, by their names.
pub fn all(place: &Path) -> Vec<String> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().is_dir()).filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_what_git_knows_and_shares_what_programs_only_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let (original, copy) = (folder.path().join("a"), folder.path().join("w/s-w1"));
        for (path, text) in [
            ("src/main.rs", "fn main() {}\n"),
            (".gitignore", "target\nnode_modules\n.env\n"),
            (".env", "KEY=1"),
            ("target/debug/x", "x"),
            ("node_modules/left/index.js", "1"),
            (".git/HEAD", "ref"),
        ] {
            put(&original, path, Some((text.as_bytes(), 0o644))).expect("written");
        }
        let made = copy_folder(&original, &copy, BuildFolders::Share).expect("copied");
        assert!(whole(&copy).is_none());
        set_whole(&copy, made).expect("marked");
        assert!(whole(&copy).is_some());
        assert_eq!(reads_outside(&copy), [original.join("node_modules")]);
        assert_eq!(fs::read_to_string(copy.join("src/main.rs")).expect("there"), "fn main() {}\n");
        assert_eq!(fs::read_to_string(copy.join("node_modules/left/index.js")).expect("there"), "1");
        for left in [".env", "target", ".git"] {
            assert!(!copy.join(left).exists(), "{left}");
        }
        put(&copy, "src/main.rs", Some((b"changed", 0o644))).expect("written");
        put(&copy, "node_modules/left/index.js", Some((b"2", 0o644))).expect("left alone");
        put(&copy, "../out.txt", Some((b"2", 0o644))).expect("left alone");
        assert_eq!(fs::read_to_string(original.join("src/main.rs")).expect("there"), "fn main() {}\n");
        assert_eq!(fs::read_to_string(original.join("node_modules/left/index.js")).expect("there"), "1");
        assert!(!folder.path().join("w/out.txt").exists());
        assert_eq!(all(&folder.path().join("w")), ["s-w1"]);
        remove(&copy);
        assert!(!copy.exists() && whole(&copy).is_none());
        assert!(original.join("node_modules/left/index.js").exists(), "what a link leads to stays");
    }

    #[test]
    fn a_file_that_goes_while_the_folder_is_copied_is_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let (original, copy) = (folder.path().join("a"), folder.path().join("w"));
        for path in ["kept", "a/gone", "link"] {
            put(&original, path, Some((b"1", 0o644))).expect("written");
        }
        fs::remove_file(original.join("link")).expect("removed");
        symlink("kept", original.join("link")).expect("made");
        fs::create_dir(&copy).expect("made");
        let walk = FolderWalk::new(&original, &original, LONGEST);
        let found: Vec<WalkEntry> = walk.filter(|entry| !entry.kind().is_dir()).collect();
        fs::remove_dir_all(original.join("a")).expect("removed");
        fs::remove_file(original.join("link")).expect("removed");
        for can_clone in [true, false] {
            let mut cloner = Cloner { can_clone, stats: CopyStats::default() };
            let mut copied = Vec::new();
            for entry in &found {
                let name = entry.file_name().to_owned();
                if copy_entry(entry, &copy.join(&name), &mut cloner).expect("goes on") {
                    copied.push(name);
                }
            }
            assert_eq!(copied, [OsStr::new("kept")]);
            assert_eq!((cloner.stats.files, cloner.stats.bytes), (1, 1));
            assert_eq!(fs::read_dir(&copy).expect("there").count(), 1, "nothing half-made is left");
        }
    }

    #[test]
    fn links_and_modes_of_changes_reach_the_copy_and_dependencies_can_be_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let (original, copy) = (folder.path().join("a"), folder.path().join("w/s-w1"));
        for (path, text) in [("run.sh", "true\n"), (".gitignore", "vendor\n"), ("vendor/x", "x")] {
            put(&original, path, Some((text.as_bytes(), 0o644))).expect("written");
        }
        symlink("run.sh", original.join("latest")).expect("a link");
        let MadeCopy { stats, .. } = copy_folder(&original, &copy, BuildFolders::None).expect("copied");
        assert!(stats.bytes >= 12 && stats.files == 3 && !stats.has_git, "{stats:?}");
        assert!(!copy.join("vendor").exists());
        put(&copy, "run.sh", Some((b"false\n", 0o755))).expect("written");
        put(&copy, "other", Some((b"run.sh", FileState::LINK))).expect("linked");
        put(&copy, "latest", Some((b"a file now", 0o644))).expect("written");
        assert_eq!(fs::read_link(copy.join("other")).expect("a link"), Path::new("run.sh"));
        assert_eq!(fs::read_to_string(copy.join("run.sh")).expect("there"), "false\n", "the link was not followed");
        assert_eq!(get(&copy, "run.sh").expect("there").1, 0o755);
        // A clone is never a link into the original, whether or not this file system can make one.
        let again = folder.path().join("w/s-w2");
        copy_folder(&original, &again, BuildFolders::Clone).expect("copied");
        assert_eq!(fs::read_to_string(again.join("vendor/x")).expect("there"), "x");
    }

    #[test]
    fn what_is_made_in_a_copy_and_not_recorded_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let (original, copy) = (folder.path().join("a"), folder.path().join("w/s-w1"));
        for (path, text) in [("a.txt", "a\n"), (".gitignore", "out\ndist\n*.log\n"), (".env", "KEY=1\n")] {
            put(&original, path, Some((text.as_bytes(), 0o644))).expect("written");
        }
        let mut made = copy_folder(&original, &copy, BuildFolders::Clone).expect("copied");
        // Changes of workers before it.
        made.seed(&copy, "dist/earlier.js", Some((b"1", 0o644))).expect("written");
        set_whole(&copy, made).expect("marked");
        assert_eq!(left_behind(&copy, &original, &BTreeSet::new()), LeftBehind::default());
        std::thread::sleep(Duration::from_millis(20));
        for (path, text) in [
            ("a.txt", "a\n"),
            ("known.txt", "k"),
            (".env", "KEY=2\n"),
            ("out/x/y", "1"),
            ("out/z", "2"),
            ("b.log", "b"),
        ] {
            put(&copy, path, Some((text.as_bytes(), 0o644))).expect("written");
        }
        let known = BTreeSet::from(["known.txt".to_owned()]);
        let left = left_behind(&copy, &original, &known);
        assert_eq!((left.files, left.more), (vec![".env".to_owned()], 0));
        assert_eq!((left.ignored, left.deleted), (2, vec![]), "b.log, and the folder out");
        // A recorded file in an ignored folder does not hide the others there.
        put(&copy, "out/w", Some((b"3", 0o644))).expect("written");
        let known = BTreeSet::from(["known.txt".to_owned(), "out/z".to_owned()]);
        assert_eq!(left_behind(&copy, &original, &known).ignored, 3, "b.log, out/w, and the folder out/x");
        for number in 0..30 {
            put(&copy, &format!("{number}.txt"), Some((b"1", 0o644))).expect("written");
        }
        let left = left_behind(&copy, &original, &known);
        assert_eq!((left.files.len(), left.more, left.ignored), (LeftBehind::MOST, 11, 3));
    }

    #[test]
    fn what_is_deleted_in_a_copy_and_not_recorded_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let (original, copy) = (folder.path().join("a"), folder.path().join("w/s-w1"));
        let files = ["kept", "gone", "known", "earlier", "both", "old/a", "old/b/c", "part/a", "part/b", "deep/a/b"];
        for path in files {
            put(&original, path, Some((b"1", 0o644))).expect("written");
        }
        symlink("kept", original.join("link")).expect("a link");
        let mut made = copy_folder(&original, &copy, BuildFolders::Clone).expect("copied");
        // An earlier worker deleted one file and made another; both are among its recorded changes.
        made.seed(&copy, "earlier", None).expect("removed");
        made.seed(&copy, "new", Some((b"1", 0o644))).expect("written");
        set_whole(&copy, made).expect("marked");
        assert_eq!(left_behind(&copy, &original, &BTreeSet::new()), LeftBehind::default());
        // What the user makes or deletes in the folder meanwhile is not the worker's.
        put(&original, "later", Some((b"1", 0o644))).expect("written");
        put(&original, "both", None).expect("removed");
        for path in ["gone", "known", "both", "link", "new", "part/a"] {
            fs::remove_file(copy.join(path)).expect("removed");
        }
        for path in ["old", "deep/a"] {
            fs::remove_dir_all(copy.join(path)).expect("removed");
        }
        let known = BTreeSet::from(["known".to_owned()]);
        let left = left_behind(&copy, &original, &known);
        assert_eq!(left.deleted, ["deep/a/", "gone", "link", "new", "old/", "part/a"]);
        assert_eq!((left.files.len(), left.ignored, left.more_deleted), (0, 0, 0));
        // A recorded deletion in a folder does not hide the others there.
        let known = BTreeSet::from(["known".to_owned(), "old/a".to_owned()]);
        assert_eq!(
            left_behind(&copy, &original, &known).deleted,
            ["deep/a/", "gone", "link", "new", "old/b/", "part/a"]
        );
        remove(&copy);
        assert_eq!(fs::read_dir(folder.path().join("w")).expect("there").count(), 0, "nothing stays beside the copy");
    }

    #[test]
    fn a_copied_file_has_the_same_bytes_and_is_independent_whether_or_not_it_can_be_cloned() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = folder.path().join("source");
        put(folder.path(), "source", Some((&[7; 100_000], 0o755))).expect("written");
        for can_clone in [true, false] {
            let target = folder.path().join(format!("target-{can_clone}"));
            let mut cloner = Cloner { can_clone, stats: CopyStats::default() };
            cloner.copy_file(&source, &target).expect("copied");
            assert_eq!((cloner.stats.files, cloner.stats.bytes), (1, 100_000), "counted once, also after a fallback");
            assert_eq!(cloner.stats.cloned_bytes, if cloner.can_clone { 100_000 } else { 0 });
            assert_eq!(get(folder.path(), &format!("target-{can_clone}")), Some((vec![7; 100_000], 0o755)));
            fs::write(&target, b"changed").expect("written");
            assert_eq!(fs::read(&source).expect("there"), vec![7; 100_000], "the original stays");
        }
    }

    #[test]
    fn a_copy_of_a_folder_shares_contents_exactly_where_the_file_system_can() {
        // Most machines that run tests have no clones. A folder that has them can be named.
        let place = std::env::var_os("TRIMTAB_CLONES_IN");
        let folder = tempfile::tempdir_in(place.clone().unwrap_or_else(|| std::env::temp_dir().into()));
        let folder = folder.expect("a folder");
        let (original, copy) = (folder.path().join("a"), folder.path().join("w/s-w1"));
        put(&original, "one", Some((&[1; 50_000], 0o644))).expect("written");
        put(&original, "in/two", Some((&[2; 10_000], 0o755))).expect("written");
        let can_clone = clone_file(&original.join("one"), &folder.path().join("probe")).is_ok();
        assert!(can_clone || place.is_none(), "{place:?} has no clones");
        let made = copy_folder(&original, &copy, BuildFolders::Clone).expect("copied");
        let stats = set_whole(&copy, made).expect("marked");
        assert_eq!((stats.bytes, stats.cloned_bytes), (60_000, if can_clone { 60_000 } else { 0 }));
        // No name leads to a file of the user: a command may write in place.
        let links = |path: &Path| path.symlink_metadata().expect("there").nlink();
        assert_eq!((links(&original.join("one")), links(&copy.join("in/two"))), (1, 1));
        fs::write(copy.join("one"), b"in place").expect("written");
        assert_eq!(fs::read(original.join("one")).expect("there"), vec![1; 50_000]);
    }
}
