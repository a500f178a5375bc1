//! What in a folder has to be guarded while a command runs: control files, by the shared table and by structure,
//! repositories, and files that usually hold secrets. The walk is bounded, and says so where it had to stop.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use trimtab_vocab::names::is_secret;
use trimtab_vocab::{ControlFile, control_entry};

/// Entries that are looked at, at most. A folder with more is not one that a command can be fenced in quickly.
const MOST_ENTRIES: usize = 400_000;

const LONGEST: Duration = Duration::from_secs(3);

/// A settings file is shorter than this.
const LONGEST_SETTINGS: u64 = 256 * 1024;

/// Folders of packages and outputs, which tools fill and empty. Only what lies directly in them is looked at.
const SHALLOW: &[&str] = &[
    "node_modules",
    "bower_components",
    "__pycache__",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".gradle",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".turbo",
    ".parcel-cache",
    ".terraform",
    ".pnpm-store",
];

/// A folder with one of these is such a folder as well: outputs of Cargo and others, and virtual environments.
const CACHE: &str = "CACHEDIR.TAG";
const ENVIRONMENT: &str = "pyvenv.cfg";

/// Parts of a path where keys are made for tests and are no secrets.
const FIXTURES: &[&str] =
    &["test", "tests", "testdata", "test_data", "test-data", "fixtures", "__fixtures__", "testing"];

/// What was found; all paths absolute.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Outermost control files and folders, apart from repositories.
    pub(super) control: Vec<(PathBuf, ControlFile)>,
    /// Folders that git takes for repositories.
    pub(super) repositories: Vec<PathBuf>,
    /// Files called `.git`, which say where a repository is.
    pub(super) pointers: Vec<PathBuf>,
    /// Links with the name of a control file or of `.git`.
    pub(super) links: Vec<PathBuf>,
    pub(super) secrets: Vec<PathBuf>,
    /// Why it is not all.
    pub(super) cut: Option<String>,
}

struct Ahead {
    folder: PathBuf,
    above: Vec<String>,
    /// It lies in a control folder, where only secrets are looked for.
    in_control: bool,
    is_shallow: bool,
}

pub(super) fn scan(folder: &Path) -> Scan {
    let mut scan = Scan::default();
    let mut ahead = vec![Ahead { folder: folder.to_owned(), above: Vec::new(), in_control: false, is_shallow: false }];
    let (start, mut entries) = (Instant::now(), 0);
    while let Some(mut next) = ahead.pop() {
        // What cannot be listed by its owner cannot be by the command either; a link is never entered.
        let Ok(inside) = fs::read_dir(&next.folder) else { continue };
        let inside: Vec<(String, PathBuf, fs::FileType)> = inside
            .flatten()
            .take(MOST_ENTRIES)
            .filter_map(|entry| {
                Some((entry.file_name().to_string_lossy().into_owned(), entry.path(), entry.file_type().ok()?))
            })
            .collect();
        entries += inside.len();
        if entries > MOST_ENTRIES || start.elapsed() > LONGEST {
            scan.cut =
                Some(format!("the folder has more than {entries} files, too many to find what has to be guarded"));
            break;
        }
        let has = |name: &str| inside.iter().any(|(entry, _, _)| entry == name);
        // With `commondir`, objects and refs are elsewhere.
        if !next.in_control && has("HEAD") && ((has("objects") && has("refs")) || has("commondir")) {
            scan.repositories.push(next.folder);
            continue;
        }
        let is_environment = has(ENVIRONMENT);
        next.is_shallow |= (is_environment || has(CACHE)) && !next.above.is_empty();
        if is_environment {
            let programs =
                inside.iter().filter(|(name, _, kind)| kind.is_dir() && matches!(name.as_str(), "bin" | "Scripts"));
            scan.control.extend(programs.map(|(_, path, _)| (path.clone(), ControlFile::Program)));
        }
        for (name, path, kind) in inside {
            scan.look(&next, name, path, kind, &mut ahead);
        }
    }
    scan
}

impl Scan {
    fn look(&mut self, at: &Ahead, name: String, path: PathBuf, kind: fs::FileType, ahead: &mut Vec<Ahead>) {
        let control = if at.in_control { None } else { control_entry(&at.above, &name) };
        if is_secret(&name) && control != Some(ControlFile::Own) && holds_secret(&path, &name, kind, &at.above) {
            // What is covered cannot be written either, but what is new is to be found afterwards.
            self.control.extend(control.map(|kind| (path.clone(), kind)));
            self.secrets.push(path);
            return;
        }
        match control {
            Some(ControlFile::Versions) if is_git(&name) && kind.is_dir() => return self.repositories.push(path),
            Some(ControlFile::Versions) if is_git(&name) && kind.is_file() => return self.pointers.push(path),
            Some(_) if kind.is_symlink() => return self.links.push(path),
            Some(control) => self.control.push((path.clone(), control)),
            None => {}
        }
        if !kind.is_dir() || at.is_shallow {
            return;
        }
        let folded = name.to_lowercase();
        let is_shallow = SHALLOW.contains(&folded.as_str());
        let above = at.above.iter().cloned().chain([folded]).collect();
        ahead.push(Ahead { folder: path, above, in_control: at.in_control || control.is_some(), is_shallow });
    }
}

fn is_git(name: &str) -> bool {
    name.eq_ignore_ascii_case(".git") || name.eq_ignore_ascii_case("git~1")
}

/// Some names hold secrets only sometimes; those are looked into, so that builds find what they need.
fn holds_secret(path: &Path, name: &str, kind: fs::FileType, above: &[String]) -> bool {
    let name = name.to_ascii_lowercase();
    let says = |words: &[&str]| match (kind.is_file(), read_small(path)) {
        (true, Some(text)) => words.iter().any(|word| text.to_lowercase().contains(word)),
        _ => true,
    };
    let is_fixture = || above.iter().any(|part| FIXTURES.contains(&part.as_str()));
    match name.rsplit('.').next().unwrap_or("") {
        "npmrc" | "yarnrc" => says(&["_auth", "_password", "token"]),
        "yml" if name == ".yarnrc.yml" => says(&["authtoken", "authident", "password"]),
        "pem" => !is_fixture() && says(&["private key"]),
        "key" | "p12" | "pfx" | "jks" | "keystore" => !is_fixture(),
        _ => true,
    }
}

/// The text of a small regular file. Anything else, a FIFO or a device, is not waited for.
pub(super) fn read_small(path: &Path) -> Option<String> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
    let file = fs::OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path).ok()?;
    let meta = file.metadata().ok().filter(|meta| meta.is_file() && meta.len() <= LONGEST_SETTINGS)?;
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
    file.take(LONGEST_SETTINGS).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
