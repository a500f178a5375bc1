//! A home folder that is empty except for what builds need: toolchains and caches, never the user's files.
//!
//! It is a file system in memory, which the command may write and which is gone afterward. Toolchains are mounted
//! into it, read-only. Caches that tools insist on writing are overlaid, so that writes stay in memory.

use std::collections::HashSet;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind_recursive};

use super::super::scan::holds_credential;
use super::super::wire::RunOrder;
use super::namespaces::said;
use super::real;
use crate::workspace::copy::reads_outside;

/// What is kept, relative to the home. No file here holds a credential by its usual use.
const KEPT: &[&str] = &[
    ".asdf",
    ".bun/bin",
    ".bun/install",
    ".cabal/bin",
    ".cabal/packages",
    ".cabal/store",
    ".cargo/.crates.toml",
    ".cargo/.crates2.json",
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".cargo/git",
    ".cargo/registry",
    ".composer/vendor",
    ".config/git/attributes",
    ".config/git/config",
    ".config/git/ignore",
    ".deno",
    ".dotnet",
    ".elan",
    ".fnm",
    ".gem",
    ".ghcup",
    ".gitconfig",
    ".gvm",
    ".julia/artifacts",
    ".julia/compiled",
    ".julia/packages",
    ".juliaup",
    ".linuxbrew",
    ".local/bin",
    ".local/go",
    ".local/lib",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/rtx",
    ".local/share/uv",
    ".local/state/fnm_multishells",
    ".m2/wrapper",
    ".mix/archives",
    ".mix/elixir",
    ".nix-profile",
    ".nodenv",
    ".nuget/packages",
    ".nvm",
    ".opam",
    ".phpenv",
    ".pub-cache/bin",
    ".pub-cache/hosted",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman/candidates",
    ".stack/programs",
    ".stack/snapshots",
    ".swiftly",
    ".volta",
    ".yarn/bin",
    ".yarn/cache",
    "anaconda3",
    "bin",
    "flutter",
    "go/bin",
    "go/pkg",
    "miniconda3",
    "miniforge3",
];

/// The ones that may contain a credential.
const GIT_SETTINGS: &[&str] = &[".config/git/config", ".gitconfig"];

/// Caches that are written as they are read.
const CACHES: &[&str] = &[
    ".cache/bazel",
    ".cache/ccache",
    ".cache/deno",
    ".cache/go-build",
    ".cache/pip",
    ".cache/pnpm",
    ".cache/pre-commit",
    ".cache/sccache",
    ".cache/uv",
    ".cache/yarn",
    ".cache/zig",
    ".gradle/caches",
    ".gradle/wrapper",
    ".m2/repository",
    ".npm/_cacache",
];

/// Homes of accounts that have none.
const NO_HOMES: &[&str] = &["/", "/nonexistent", "/dev/null", "/var/empty", "/proc", "/bin", "/usr/sbin"];

/// Empties the homes; which mounts the command may write. The reason if that cannot be.
pub(super) fn empty(order: &RunOrder) -> Result<Vec<PathBuf>, String> {
    let mut homes: Vec<PathBuf> = order.home.homes.iter().cloned().chain(by_account()).collect();
    homes = homes.iter().filter_map(|home| home.canonicalize().ok()).filter(|home| home.is_dir()).collect();
    homes.retain(|home| !NO_HOMES.iter().any(|none| home == Path::new(none)));
    homes.sort();
    homes.dedup();
    // The outer one covers the inner one.
    let outer: Vec<PathBuf> = homes
        .iter()
        .filter(|home| !homes.iter().any(|other| other != *home && home.starts_with(other)))
        .cloned()
        .collect();
    let mut open = Vec::new();
    for home in outer {
        if home.starts_with(&order.folder) {
            return Err(format!("the folder contains your home folder {}", home.display()));
        }
        let failed = |errno: Errno| format!("{} cannot be emptied: {}", home.display(), said(errno));
        open.extend(cover(&home, order).map_err(failed)?);
    }
    Ok(open)
}

/// The home from the user database, for programs that do not use the variable.
fn by_account() -> Option<PathBuf> {
    let user = rustix::process::getuid().as_raw().to_string();
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    let fields = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
    fields
        .into_iter()
        .find(|fields| fields.get(2) == Some(&user.as_str()))
        .and_then(|fields| Some(fields.get(5)?.into()))
}

enum HomeMount {
    Bound,
    Overlaid,
}

fn cover(home: &Path, order: &RunOrder) -> Result<Vec<PathBuf>, Errno> {
    let mut writable = vec![home.to_owned()];
    let own: Vec<&PathBuf> = order.fence.temp.iter().chain([&order.folder, &order.cwd]).collect();
    let borrowed = reads_outside(&order.folder);
    let named = own.iter().copied().chain(&order.home.kept).chain(&borrowed);
    let named = named.filter(|path| path.starts_with(home) && *path != home);
    let mut kept: Vec<(PathBuf, HomeMount)> = named.map(|path| (path.clone(), HomeMount::Bound)).collect();
    let gives_away =
        |name: &str| GIT_SETTINGS.contains(&name) && !order.git.plain && holds_credential(&home.join(name));
    kept.extend(KEPT.iter().filter(|name| !gives_away(name)).map(|name| (home.join(name), HomeMount::Bound)));
    kept.extend(CACHES.iter().map(|name| (home.join(name), HomeMount::Overlaid)));
    // `~/bin/..`, or a link to the home, would bring all of it back; a link to a secret, that one.
    let is_closed = |real: &Path| home.starts_with(real) || order.hidden.iter().any(|hidden| real.starts_with(hidden));
    // Outer before inner; what is inside a kept folder needs no mount.
    kept.sort_by(|(one, _), (other, _)| one.cmp(other));
    kept.dedup_by(|(one, _), (other, _)| one == other);
    let is_there = names_in(home);
    kept.retain(|(path, _)| own.contains(&path) || is_there(path) && real(path).is_some_and(|real| !is_closed(&real)));
    kept.dedup_by(|(inner, _), (outer, _)| inner.starts_with(outer));
    let open = |path: &Path| rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok();
    let kept: Vec<(PathBuf, OwnedFd, HomeMount)> =
        kept.into_iter().filter_map(|(path, way)| open(&path).map(|fd| (path, fd, way))).collect();
    mount("tmpfs", home, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0700,size=2g")?;
    for (number, (path, fd, way)) in kept.iter().enumerate() {
        let from = format!("/proc/self/fd/{}", fd.as_raw_fd());
        place(path, Path::new(&from).is_dir())?;
        match matches!(way, HomeMount::Overlaid) && overlay(home, &from, path, number).is_ok() {
            true => writable.push(path.clone()),
            false => mount_bind_recursive(&from, path)?,
        }
    }
    Ok(writable)
}

/// Whether there may be something at a path beneath `home`. To list the home takes less time than to ask for each path,
/// most of which are not there.
fn names_in(home: &Path) -> impl Fn(&Path) -> bool {
    let listed = std::fs::read_dir(home).and_then(|names| {
        names.map(|entry| entry.map(|entry| entry.file_name())).collect::<std::io::Result<HashSet<_>>>()
    });
    let home = home.to_owned();
    move |path| match (&listed, path.strip_prefix(&home).ok().and_then(|inside| inside.components().next())) {
        (Ok(names), Some(Component::Normal(first))) => names.contains(first),
        _ => true,
    }
}

/// Something to mount on.
fn place(path: &Path, is_folder: bool) -> Result<(), Errno> {
    let above = path.parent().unwrap_or(path);
    let made = std::fs::create_dir_all(if is_folder { path } else { above });
    #[expect(clippy::disallowed_methods, reason = "a place to mount on, in the command's own file system")]
    let made = made.and_then(|()| if is_folder { Ok(()) } else { std::fs::write(path, "") });
    made.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// What is written to `path` stays in the home, which is memory.
fn overlay(home: &Path, from: &str, path: &Path, number: usize) -> Result<(), Errno> {
    let layers = home.join(".cache/.overlay");
    let (upper, work) = (layers.join(format!("{number}.upper")), layers.join(format!("{number}.work")));
    for folder in [&upper, &work] {
        place(folder, true)?;
    }
    let options = format!("lowerdir={from},upperdir={},workdir={},userxattr", upper.display(), work.display());
    let options = std::ffi::CString::new(options).map_err(|_| Errno::INVAL)?;
    mount("overlay", path, "overlay", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())
}
