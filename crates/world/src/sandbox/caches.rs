//! The package caches of the home folder, as the commands of one project see them.
//!
//! Package managers download into the home folder, which no command can write. So each project has a layer above these
//! caches: an approved command writes there, and later commands of the project see it. What the script of a package
//! leaves in a cache is never run outside of the sandbox, because the user's own programs do not see the layer.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use trimtab_vocab::CommandRun;

use super::temp_folder::remove;
use super::wire::OrderedCaches;
use crate::clock::{Clock as _, SystemClock};

/// Caches, relative to the home. No file here holds a credential by its usual use.
pub(super) const LAYERED: &[&str] = &[
    ".bun/install",
    ".cabal/packages",
    ".cabal/store",
    ".cache",
    ".cargo/git",
    ".cargo/registry",
    ".composer/cache",
    ".deno",
    ".gradle/caches",
    ".gradle/wrapper",
    ".hex",
    ".ivy2/cache",
    ".local/share/pnpm",
    ".local/share/uv",
    ".m2/repository",
    ".m2/wrapper",
    ".npm",
    ".nuget/packages",
    ".pub-cache",
    ".sbt/boot",
    ".stack/snapshots",
    ".yarn/berry",
    ".yarn/cache",
    "go/pkg",
];

/// Which of them programs create if they are missing. A layer needs something to lie above.
const CREATED: &[(&str, &[&str])] = &[
    ("bun", &[".bun/install"]),
    ("cargo", &[".cargo/git", ".cargo/registry"]),
    ("composer", &[".cache", ".composer/cache"]),
    ("deno", &[".cache"]),
    ("dotnet", &[".nuget/packages"]),
    ("go", &[".cache", "go/pkg"]),
    ("gradle", &[".gradle/caches", ".gradle/wrapper"]),
    ("gradlew", &[".gradle/caches", ".gradle/wrapper"]),
    ("mix", &[".hex"]),
    ("mvn", &[".m2/repository"]),
    ("mvnw", &[".m2/repository", ".m2/wrapper"]),
    ("npm", &[".npm"]),
    ("npx", &[".npm"]),
    ("pip", &[".cache"]),
    ("pip3", &[".cache"]),
    ("pnpm", &[".cache", ".local/share/pnpm"]),
    ("poetry", &[".cache"]),
    ("python", &[".cache"]),
    ("python3", &[".cache"]),
    ("uv", &[".cache", ".local/share/uv"]),
    ("uvx", &[".cache", ".local/share/uv"]),
    ("yarn", &[".cache", ".yarn/berry", ".yarn/cache"]),
];

/// The file of a project's layers that names its folder.
const FOLDER: &str = "folder";
/// The file that the command which writes the layers holds locked.
const LOCK: &str = "lock";
/// How long layers stay that no command has written.
const KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1000;

/// Where the layers of all projects are.
#[derive(Debug, Clone)]
pub struct PackageCaches {
    root: PathBuf,
}

/// The layers for one command. They are its own to write as long as this is held.
pub(super) struct CacheLease {
    pub(super) ordered: OrderedCaches,
    _lock: Option<File>,
}

impl PackageCaches {
    /// In this data folder.
    pub fn new(data: &Path) -> Self {
        Self { root: data.join("caches") }
    }

    /// The layers for a command; none if it has no use for them, or they cannot be created.
    pub(super) fn lease(&self, run: &CommandRun, home: Option<&Path>) -> Option<CacheLease> {
        // The copy of the folder that a worker has is in the data folder, and is gone with the worker.
        let is_copy = self.root.parent().is_some_and(|data| Path::new(&run.folder).starts_with(data));
        let layers = self.root.join(&blake3::hash(run.folder.as_bytes()).to_hex()[..24]);
        if run.automatic.is_some() || is_copy {
            return layers
                .is_dir()
                .then(|| CacheLease { ordered: OrderedCaches { layers, writes: false }, _lock: None });
        }
        if !layers.is_dir() {
            let all = self.clone();
            // Old layers can be large, and nobody waits for their end.
            let _ = std::thread::Builder::new().spawn(move || all.sweep());
        }
        create(&layers, &run.folder).ok()?;
        create_missing(home?, &run.command);
        let lock = OpenOptions::new().create(true).append(true).open(layers.join(LOCK)).ok()?;
        // Two commands cannot write the same layers. What the second one downloads lasts as long as the command.
        let writes = lock.try_lock().is_ok();
        Some(CacheLease { ordered: OrderedCaches { layers, writes }, _lock: writes.then_some(lock) })
    }

    /// Removes the layers of folders that are gone, and those that no command has written for a month.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.root).into_iter().flatten().flatten() {
            let layers = entry.path();
            let lock = OpenOptions::new().append(true).open(layers.join(LOCK));
            // Whoever writes them holds the lock.
            let Ok(lock) = lock else { continue };
            if lock.try_lock().is_err() {
                continue;
            }
            let folder = fs::read_to_string(layers.join(FOLDER)).unwrap_or_default();
            let written = fs::metadata(layers.join(FOLDER)).ok().map(|found| found.mtime().saturating_mul(1000));
            let is_old = written.is_some_and(|at| SystemClock.now().millis() - at > KEPT_MS);
            if is_old || !Path::new(&folder).is_dir() {
                remove(&layers);
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the layers are this program's own files")]
fn create(layers: &Path, folder: &str) -> io::Result<()> {
    fs::create_dir_all(layers)?;
    fs::write(layers.join(FOLDER), folder)
}

/// Creates the caches that the programs of an approved command would create themselves.
fn create_missing(home: &Path, command: &str) {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let words = || command.split(|c: char| !is_part(c));
    let named = CREATED.iter().filter(|(program, _)| words().any(|word| word.trim_start_matches('.') == *program));
    for name in named.flat_map(|(_, caches)| caches.iter()) {
        // Without it, the program says itself that it cannot write there.
        let _ = fs::create_dir_all(home.join(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_caches_of_named_programs_are_created() {
        let home = tempfile::tempdir().expect("a folder");
        create_missing(home.path(), "echo cargoes npmx; cat notes.npm");
        assert_eq!(fs::read_dir(home.path()).expect("is read").count(), 0);
        create_missing(home.path(), "cd app && npm install && ../gradlew build");
        let is_there = |name: &str| home.path().join(name).is_dir();
        assert!(is_there(".npm") && is_there(".gradle/caches") && !is_there(".cargo"));
    }

    #[test]
    fn every_cache_that_is_created_has_a_layer() {
        for name in CREATED.iter().flat_map(|(_, caches)| caches.iter()) {
            assert!(LAYERED.contains(name), "{name}");
        }
        let is_inside = |one: &str, other: &str| one != other && Path::new(one).starts_with(other);
        let nested = LAYERED.iter().find(|one| LAYERED.iter().any(|other| is_inside(one, other)));
        assert_eq!(nested, None, "a layer in a layer would hide it");
    }

    #[test]
    fn layers_of_a_folder_that_is_gone_are_swept_away_unless_they_are_written() {
        let base = tempfile::tempdir().expect("a folder");
        let caches = PackageCaches::new(base.path());
        let [here, gone, busy] = ["here", "gone", "busy"].map(|name| {
            let layers = caches.root.join(name);
            let folder = if name == "here" { base.path().to_owned() } else { base.path().join("no") };
            create(&layers, &folder.to_string_lossy()).expect("is created");
            fs::create_dir_all(layers.join("upper/home/.npm")).expect("is created");
            File::create(layers.join(LOCK)).expect("is created");
            layers
        });
        let lock = File::open(busy.join(LOCK)).expect("opens");
        lock.try_lock().expect("is free");
        caches.sweep();
        assert!(here.is_dir() && busy.is_dir() && !gone.exists());
    }
}
