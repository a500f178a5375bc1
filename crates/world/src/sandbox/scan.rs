//! Finds what must be protected in a folder while a command runs: control files, by the shared table and by
//! structure, repositories, and files that usually hold secrets. The walk is bounded, and reports where it had to
//! stop.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FileType;
use serde::{Deserialize, Serialize};
use trimtab_vocab::sensitive_paths::is_secret_in;
use trimtab_vocab::{ControlFile, control_entry};

use super::listings::{ListingCache, Listings, NotedEntry};
use crate::workspace::snapshot::rebuildable;

/// Entries that are scanned at most. A larger folder cannot be sandboxed quickly.
const MOST_ENTRIES: usize = 400_000;

const LONGEST: Duration = Duration::from_secs(3);

/// A folder with this file and a fitting name has files that tools have made: outputs of Cargo and others, and
/// virtual environments. The file alone proves nothing, because a command or an edit could put it anywhere.
const CACHE: &str = "CACHEDIR.TAG";
const ENVIRONMENT: &str = "pyvenv.cfg";

/// Names by which a directory is known as a repository, or as what tools have made.
const TELLING: &[&str] = &["HEAD", "objects", "refs", "commondir", CACHE, ENVIRONMENT];

/// Parts of a path where keys are test fixtures, not secrets.
const FIXTURES: &[&str] =
    &["test", "tests", "testdata", "test_data", "test-data", "fixtures", "__fixtures__", "testing"];

/// The results; all paths are absolute.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FolderScan {
    /// Outermost control files and folders, apart from repositories.
    pub(super) control: Vec<(PathBuf, ControlFile)>,
    /// Folders that git takes for repositories.
    pub(super) repositories: Vec<PathBuf>,
    /// Files called `.git`, which say where a repository is.
    pub(super) pointers: Vec<PathBuf>,
    /// Links with the name of a control file or of `.git`, and links to files in control folders.
    pub(super) links: Vec<PathBuf>,
    pub(super) secrets: Vec<PathBuf>,
    /// Device and inode of those that have further names.
    #[serde(skip)]
    linked: HashSet<(u64, u64)>,
    /// Why it is not all.
    pub(super) cut: Option<String>,
}

/// The kind of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanTarget {
    /// Secrets and repositories: all that matters to who cannot write.
    Secrets,
    /// Control files and repositories: all that matters to who may read secrets.
    Control,
    All,
}

struct Ahead {
    folder: PathBuf,
    rules: ScanRules,
}

/// The rules for a folder, by its place.
#[derive(Clone, Copy, Default)]
struct ScanRules {
    /// It is in a control folder, where only secrets are searched.
    in_control: bool,
    /// Tools fill and empty it. Further down, only secrets are searched.
    is_shallow: bool,
    /// It is further down in such a folder.
    is_deep: bool,
    /// It is the same, if it says so itself.
    may_be_shallow: bool,
}

/// Looks at everything.
pub(super) fn scan(folder: &Path, wanted: ScanTarget) -> FolderScan {
    scan_again(folder, wanted, &ListingCache::default())
}

/// Looks at everything, and lists only the directories that have changed since the scans that `cache` knows of.
pub(super) fn scan_again(folder: &Path, wanted: ScanTarget, cache: &ListingCache) -> FolderScan {
    let mut listings = Listings::open(cache, folder);
    let mut scan = FolderScan::default();
    let top = folder.to_owned();
    let mut ahead = vec![Ahead { folder: top, rules: ScanRules::default() }];
    let (start, mut entries) = (Instant::now(), 0);
    while let Some(mut next) = ahead.pop() {
        // Most listings are known, so this is seldom asked for.
        let above = LazyCell::new(|| names_above(folder, &next.folder));
        let listing = match listings.list(&next.folder, MOST_ENTRIES, |name, kind| note(&above, name, kind)) {
            Ok(listing) => listing,
            Err(error) => {
                scan.cut = scan.cut.or_else(|| why_unlisted(folder, &next.folder, &error));
                continue;
            }
        };
        let inside = &listing.noted;
        entries += listing.entries;
        if entries > MOST_ENTRIES {
            break;
        }
        if start.elapsed() > LONGEST {
            let seconds = LONGEST.as_secs();
            scan.cut = Some(format!("scanning the folder for protected files takes longer than {seconds} seconds"));
            break;
        }
        let has = |name: &str| inside.iter().any(|entry| entry.name == name);
        // With `commondir`, objects and refs are elsewhere.
        if !next.rules.in_control
            && !next.rules.is_deep
            && has("HEAD")
            && ((has("objects") && has("refs")) || has("commondir"))
        {
            scan.repositories.push(next.folder);
            continue;
        }
        let is_environment = !next.rules.is_deep && has(ENVIRONMENT);
        next.rules.is_shallow |= next.rules.may_be_shallow && (is_environment || has(CACHE));
        if is_environment {
            let is_programs =
                |entry: &&NotedEntry| entry.kind.is_dir() && (entry.name == "bin" || entry.name == "Scripts");
            let programs = inside.iter().filter(is_programs).map(|entry| next.folder.join(&entry.name));
            scan.control.extend(programs.map(|path| (path, ControlFile::Program)));
        }
        for entry in inside.iter() {
            let Some(rules) = scan.visit(folder, &next, entry, wanted) else { continue };
            match listings.plain(&next.folder, &entry.name) {
                Some(count) => entries += count,
                None => ahead.push(Ahead { folder: next.folder.join(&entry.name), rules }),
            }
        }
    }
    if entries > MOST_ENTRIES {
        let why = format!("the folder has more than {MOST_ENTRIES} files, too many to scan for protected files");
        scan.cut.get_or_insert(why);
    }
    listings.keep(folder.to_owned());
    if !scan.linked.is_empty() {
        scan.find_further_names(folder);
    }
    scan
}

/// Records an entry if any kind of scan needs it.
fn note(above: &[String], entry: &OsStr, kind: FileType) -> Option<NotedEntry> {
    let name = entry.to_string_lossy();
    let is_secret = is_secret_in(above.last().map_or("", String::as_str), &name);
    let control = control_entry(above, &name);
    let matters = !kind.is_file() || is_secret || control.is_some() || TELLING.contains(&&*name);
    matters.then(|| NotedEntry {
        name: entry.to_owned(),
        kind,
        is_secret,
        control,
        is_built: rebuildable::is_built(&name),
        may_be_built: rebuildable::may_be_built(&name),
    })
}

/// The names of a folder beneath `top` and of those above it, in small letters.
fn names_above(top: &Path, folder: &Path) -> Vec<String> {
    let below = folder.strip_prefix(top).unwrap_or(Path::new(""));
    below.iter().map(|name| name.to_string_lossy().to_lowercase()).collect()
}

/// Why a folder that cannot be listed matters, if it does. The command cannot enter a folder that another user has
/// closed, but it can open one that its own user has closed.
fn why_unlisted(top: &Path, folder: &Path, error: &std::io::Error) -> Option<String> {
    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
        return None;
    }
    let is_own = fs::symlink_metadata(folder).is_ok_and(|meta| meta.uid() == rustix::process::geteuid().as_raw());
    let can_enter = || rustix::fs::access(folder, rustix::fs::Access::EXEC_OK).is_ok();
    let shown = folder.strip_prefix(top).unwrap_or(folder).display();
    (is_own || can_enter()).then(|| format!("{shown} cannot be listed: {error}"))
}

impl FolderScan {
    /// Records an entry. Returns its rules if it is a folder to scan.
    fn visit(&mut self, top: &Path, at: &Ahead, entry: &NotedEntry, wanted: ScanTarget) -> Option<ScanRules> {
        let (name, kind, is_secret) = (entry.name.to_string_lossy(), entry.kind, entry.is_secret);
        let counts =
            !at.rules.in_control && !at.rules.is_deep && (wanted != ScanTarget::Secrets || is_secret || is_git(&name));
        let control = entry.control.filter(|_| counts);
        let path = || at.folder.join(&entry.name);
        if is_secret && control != Some(ControlFile::Own) && holds_secret(&path(), &name, kind, top) {
            // What is covered cannot be written either, but what is new is to be found afterwards.
            self.control.extend(control.map(|kind| (path(), kind)));
            self.secrets.push(path());
            // Package managers link all files of packages to a store, so those say nothing.
            if let Some(found) = path().symlink_metadata().ok().filter(|_| !at.rules.is_shallow && !at.rules.is_deep)
                && found.is_file()
                && found.nlink() > 1
            {
                self.linked.insert((found.dev(), found.ino()));
            }
            return None;
        }
        match control {
            Some(ControlFile::Versions) if is_git(&name) && kind.is_dir() => {
                self.repositories.push(path());
                return None;
            }
            Some(ControlFile::Versions) if is_git(&name) && kind.is_file() => self.pointers.push(path()),
            Some(_) if kind.is_symlink() => self.links.push(path()),
            Some(control) => self.control.push((path(), control)),
            // The folder is obeyed with what its links lead to.
            None if at.rules.in_control
                && !at.rules.is_deep
                && wanted != ScanTarget::Secrets
                && kind.is_symlink()
                && path().is_file() =>
            {
                self.links.push(path());
            }
            None => {}
        }
        let is_deep = at.rules.is_shallow || at.rules.is_deep;
        let counts = kind.is_dir() && !(is_deep && (wanted == ScanTarget::Control || is_git(&name)));
        counts.then_some(ScanRules {
            in_control: at.rules.in_control || control.is_some(),
            is_shallow: !is_deep && entry.is_built,
            is_deep,
            may_be_shallow: !is_deep && entry.may_be_built,
        })
    }

    /// Looks for other names of secrets that have several (hard links), wherever they are in the folder.
    fn find_further_names(&mut self, folder: &Path) {
        let (start, mut entries) = (Instant::now(), 0);
        let mut ahead = vec![folder.to_owned()];
        while let Some(next) = ahead.pop() {
            for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
                entries += 1;
                let path = || entry.path();
                let is_one = |found: &fs::Metadata| self.linked.contains(&(found.dev(), found.ino()));
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => ahead.push(path()),
                    Ok(kind) if kind.is_file() && self.linked.iter().any(|(_, inode)| *inode == entry.ino()) => {
                        let is_new =
                            entry.metadata().is_ok_and(|found| is_one(&found)) && !self.secrets.contains(&path());
                        self.secrets.extend(is_new.then(path));
                    }
                    _ => {}
                }
            }
            if entries > MOST_ENTRIES || start.elapsed() > LONGEST {
                let why = "scanning the folder for hard links to a secret file takes too long";
                self.cut.get_or_insert_with(|| why.to_owned());
                return;
            }
        }
    }
}

fn is_git(name: &str) -> bool {
    name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("git~1")
}

/// Some names hold secrets only sometimes; those are looked into, so that builds find what they need.
fn holds_secret(path: &Path, name: &str, kind: FileType, top: &Path) -> bool {
    let name = name.to_ascii_lowercase();
    let says = |words: &[&str]| match (kind.is_file(), read_small(path)) {
        (true, Some(text)) => words.iter().any(|word| text.to_lowercase().contains(word)),
        _ => true,
    };
    let is_fixture = || {
        let above = names_above(top, path.parent().unwrap_or(top));
        above.iter().any(|part| FIXTURES.contains(&part.as_str()))
    };
    match name.rsplit('.').next().unwrap_or("") {
        "npmrc" | "yarnrc" => says(&["_auth", "_password", "token"]),
        "yml" if name == ".yarnrc.yml" => says(&["authtoken", "authident", "password"]),
        "pem" => !is_fixture() && says(&["private key"]),
        "key" | "p8" | "p12" | "pfx" | "ppk" | "jks" | "keystore" | "tfstate" | "tfvars" => !is_fixture(),
        "env" if name != ".env" => !is_fixture(),
        _ => true,
    }
}

/// The text of a small regular file. Anything else, a FIFO or a device, is not waited for.
pub(super) fn read_small(path: &Path) -> Option<String> {
    Some(String::from_utf8_lossy(&crate::workspace::read_small(path).ok()?).into_owned())
}

/// Names of git's settings that hold a credential.
const CREDENTIALS: &[&str] = &["extraheader", "token", "password", "passwd"];

/// Whether a file of git's settings holds a credential: in a header, in an address, or by name. One that cannot be
/// read here counts, since others may be able to.
pub(super) fn holds_credential(settings: &Path) -> bool {
    let Some(text) = read_small(settings) else { return settings.is_file() };
    text.lines().any(|line| {
        let line = line.to_lowercase();
        let name = line.split('=').next().unwrap_or("").rsplit(']').next().unwrap_or("").trim();
        CREDENTIALS.iter().any(|end| name.ends_with(end)) || line.split("://").skip(1).any(names_user)
    })
}

/// Whether an address, without its scheme, has a name or password before the host. `git` is everybody's.
fn names_user(address: &str) -> bool {
    let host = address.split(|c: char| c == '/' || c == '"' || c.is_whitespace()).next().unwrap_or("");
    host.rsplit_once('@').is_some_and(|(user, _)| user != "git")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(paths: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for path in paths {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    /// A folder that was scanned after it had settled, so that all its listings are kept.
    fn known_folder(paths: &[&str]) -> (tempfile::TempDir, ListingCache) {
        let (folder, cache) = (folder(paths), ListingCache::default());
        std::thread::sleep(Duration::from_millis(60));
        scan_again(folder.path(), ScanTarget::All, &cache);
        (folder, cache)
    }

    fn assert_found(folder: &Path, cache: &ListingCache, secret: &str) {
        for wanted in [ScanTarget::Secrets, ScanTarget::All] {
            let (again, anew) = (scan_again(folder, wanted, cache), scan(folder, wanted));
            assert!(again.secrets.contains(&folder.join(secret)), "{secret}: {again:?}");
            assert_eq!(sorted(again), sorted(anew), "{secret}");
        }
    }

    fn sorted(mut scan: FolderScan) -> FolderScan {
        scan.secrets.sort();
        scan.repositories.sort();
        scan.control.sort_by(|one, other| one.0.cmp(&other.0));
        scan
    }

    fn modified(path: &Path) -> std::time::SystemTime {
        fs::metadata(path).unwrap().modified().unwrap()
    }

    fn set_modified(path: &Path, then: std::time::SystemTime) {
        fs::File::open(path).unwrap().set_modified(then).unwrap();
    }

    #[test]
    fn a_secret_that_appears_between_two_scans_is_never_missed() {
        type Change = fn(&Path);
        let changes: [(&str, Change); 7] = [
            ("a/b/.env", |at| fs::write(at.join("a/b/.env"), "x").unwrap()),
            ("a/b/.env.local", |at| fs::rename(at.join("a/b/plain"), at.join("a/b/.env.local")).unwrap()),
            ("a/server.key", |at| fs::hard_link(at.join("a/b/plain"), at.join("a/server.key")).unwrap()),
            ("a/moved/deep/.env", |at| fs::rename(at.join("../out"), at.join("a/moved")).unwrap()),
            ("a/new/x/y/z/.netrc", |at| {
                fs::create_dir_all(at.join("a/new/x/y/z")).unwrap();
                fs::write(at.join("a/new/x/y/z/.netrc"), "x").unwrap();
            }),
            ("a/b/credentials", |at| std::os::unix::fs::symlink("plain", at.join("a/b/credentials")).unwrap()),
            // Another directory by an old name.
            ("a/b/.env", |at| {
                fs::rename(at.join("a/b"), at.join("a/old")).unwrap();
                fs::create_dir(at.join("a/b")).unwrap();
                fs::write(at.join("a/b/.env"), "x").unwrap();
            }),
        ];
        for (secret, change) in changes {
            let (base, cache) = known_folder(&["in/a/b/plain", "in/AGENTS.md", "in/c/file", "out/deep/.env"]);
            let at = base.path().join("in");
            scan_again(&at, ScanTarget::All, &cache);
            assert!(cache.keeps(&at, &at.join("a/b")), "the listing is kept");
            // Who covers its tracks puts the times back that everybody can set.
            let times = [at.clone(), at.join("a"), at.join("a/b")].map(|path| (modified(&path), path));
            change(&at);
            times.iter().for_each(|(then, path)| set_modified(path, *then));
            assert_found(&at, &cache, secret);
        }
    }

    #[test]
    fn a_control_file_that_appears_between_two_scans_is_never_missed() {
        let (base, cache) = known_folder(&["a/b/plain", "tools/hooks/run"]);
        let at = base.path();
        let times = [at.to_owned(), at.join("a"), at.join("a/b")].map(|path| (modified(&path), path));
        fs::write(at.join("a/b/AGENTS.md"), "x").unwrap();
        fs::create_dir_all(at.join("a/.git/hooks")).unwrap();
        fs::rename(at.join("tools"), at.join(".husky")).unwrap();
        for name in ["HEAD", "objects", "refs"] {
            fs::write(at.join("a/b").join(name), "x").unwrap();
        }
        times.iter().for_each(|(then, path)| set_modified(path, *then));
        let (again, anew) = (scan_again(at, ScanTarget::All, &cache), scan(at, ScanTarget::All));
        assert_eq!(again.repositories.len(), 2, "{again:?}");
        assert!(again.control.iter().any(|(path, _)| path.ends_with(".husky")), "{again:?}");
        assert_eq!(sorted(again), sorted(anew));
    }

    #[test]
    fn a_change_in_the_moment_of_a_scan_is_never_missed() {
        let (base, cache) = known_folder(&["a/plain"]);
        for number in 0..300 {
            let secret = format!("a/{number}.key");
            scan_again(base.path(), ScanTarget::Secrets, &cache);
            let then = modified(&base.path().join("a"));
            fs::write(base.path().join(&secret), "x").unwrap();
            set_modified(&base.path().join("a"), then);
            let found = scan_again(base.path(), ScanTarget::Secrets, &cache).secrets;
            assert_eq!(found.len(), number + 1, "{secret}");
        }
    }

    #[test]
    fn what_a_file_holds_is_never_kept_in_mind() {
        let (base, cache) = known_folder(&["a/.npmrc"]);
        assert!(scan_again(base.path(), ScanTarget::All, &cache).secrets.is_empty());
        assert!(cache.keeps(base.path(), &base.path().join("a")), "the listing is kept");
        fs::write(base.path().join("a/.npmrc"), "//r/:_authToken=x").unwrap();
        assert_found(base.path(), &cache, "a/.npmrc");
    }

    #[test]
    fn a_folder_that_is_shut_after_a_scan_is_never_taken_from_memory() {
        use std::os::unix::fs::PermissionsExt as _;
        let (base, cache) = known_folder(&["shut/a"]);
        let shut = base.path().join("shut");
        fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).unwrap();
        let is_seen = fs::read_dir(&shut).is_ok();
        let cut = scan_again(base.path(), ScanTarget::All, &cache).cut;
        fs::set_permissions(&shut, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(is_seen || cut.is_some());
    }

    #[test]
    fn a_planted_tag_never_ends_the_search() {
        let folder =
            folder(&["ops/CACHEDIR.TAG", "ops/pyvenv.cfg", "ops/a/.env", "ops/a/AGENTS.md", "ops/a/.git/HEAD"]);
        let scan = scan(folder.path(), ScanTarget::All);
        assert_eq!(scan.secrets, [folder.path().join("ops/a/.env")]);
        assert_eq!(scan.repositories, [folder.path().join("ops/a/.git")]);
        assert!(scan.control.iter().any(|(path, _)| path.ends_with("ops/a/AGENTS.md")));
    }

    fn below(folder: &Path, mut found: Vec<PathBuf>) -> Vec<String> {
        found.sort();
        found.iter().map(|path| path.strip_prefix(folder).unwrap().display().to_string()).collect()
    }

    #[test]
    fn in_what_tools_make_only_secrets_are_searched_for() {
        let secrets = [".env", ".next/standalone/.env", "build/a/.env", "node_modules/a/b/.env", "target/a/prod.env"];
        let others =
            ["target/CACHEDIR.TAG", "node_modules/a/AGENTS.md", "node_modules/a/.git/HEAD", "target/a/.env.example"];
        let folder = folder(&[&secrets[..], &others[..]].concat());
        let all = scan(folder.path(), ScanTarget::All);
        assert_eq!(below(folder.path(), all.secrets), secrets);
        assert!(all.control.is_empty() && all.repositories.is_empty(), "{:?}", all.control);
        assert_eq!(below(folder.path(), scan(folder.path(), ScanTarget::Secrets).secrets), secrets);
        assert_eq!(below(folder.path(), scan(folder.path(), ScanTarget::Control).secrets), [".env", "build/a/.env"]);
    }

    #[test]
    fn a_second_name_never_shows_a_secret() {
        let folder = folder(&["a/.env", "b/plain.txt"]);
        for name in ["b/notes.txt", "b/.gitkeep"] {
            fs::hard_link(folder.path().join("a/.env"), folder.path().join(name)).unwrap();
        }
        let found = scan(folder.path(), ScanTarget::Secrets).secrets;
        assert_eq!(below(folder.path(), found), ["a/.env", "b/.gitkeep", "b/notes.txt"]);
    }

    #[test]
    fn a_folder_that_was_shut_is_not_taken_for_an_empty_one() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = folder(&["shut/AGENTS.md"]);
        let shut = folder.path().join("shut");
        fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).unwrap();
        let is_seen = fs::read_dir(&shut).is_ok();
        let cut = scan(folder.path(), ScanTarget::All).cut;
        fs::set_permissions(&shut, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(is_seen || cut.is_some_and(|why| why.starts_with("shut cannot be listed")));
    }

    #[test]
    fn credentials_in_the_settings_of_git_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let settings = folder.path().join("config");
        for (text, holds) in [
            ("[remote \"o\"]\n\turl = https://x-access-token:abc@example.com/a.git\n", true),
            ("[url \"https://tok@example.com/\"]\n\tinsteadOf = gh:\n", true),
            ("[http \"https://example.com/\"]\n\textraheader = AUTHORIZATION: basic abc\n", true),
            ("[github] token = abc\n", true),
            ("[remote \"o\"]\n\turl = ssh://git@example.com/a.git\n\turl = https://example.com/a@b\n", false),
            ("[core]\n\tbare = false\n", false),
        ] {
            fs::write(&settings, text).unwrap();
            assert_eq!(holds_credential(&settings), holds, "{text}");
        }
    }
}
