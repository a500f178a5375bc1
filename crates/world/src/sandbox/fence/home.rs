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

use super::super::caches::LAYERED;
use super::super::repository;
use super::super::scan::holds_credential;
use super::super::wire::{OrderedCaches, RunOrder};
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

fn homes(order: &RunOrder) -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = order.home.homes.iter().cloned().chain(by_account()).collect();
    homes = homes.iter().filter_map(|home| home.canonicalize().ok()).filter(|home| home.is_dir()).collect();
    homes.retain(|home| !NO_HOMES.iter().any(|none| home == Path::new(none)));
    homes.sort();
    homes.dedup();
    homes
}

/// Empties the homes; which mounts the command may write. The reason if that cannot be.
pub(super) fn empty(order: &RunOrder) -> Result<Vec<PathBuf>, String> {
    let homes = homes(order);
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
    let mut borrowed = reads_outside(&order.folder);
    // The folder may be a part of a repository that begins further up.
    let gives_away = |path: &PathBuf| !order.git.plain && holds_credential(&path.join("config"));
    borrowed.extend(repository::around(&order.folder).into_iter().filter(|path| !gives_away(path)));
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
    // Everything is opened before the home is covered: the layers may be in it.
    let kept: Vec<KeptPath> = kept.into_iter().filter_map(|(path, way)| KeptPath::open(path, way, order)).collect();
    mount("tmpfs", home, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0700,size=2g")?;
    for (number, kept) in kept.iter().enumerate() {
        if kept.mount(home, number)? {
            writable.push(kept.path.clone());
        }
    }
    Ok(writable)
}

/// Something of the home that stays visible.
struct KeptPath {
    path: PathBuf,
    way: HomeMount,
    original: OwnedFd,
    /// What approved commands of the project have added.
    layer: Option<OwnedFd>,
}

impl KeptPath {
    fn open(path: PathBuf, way: HomeMount, order: &RunOrder) -> Option<Self> {
        let original = opened(&path)?;
        let layer = order.caches.as_ref().and_then(|caches| opened_folder(&upper(caches, &path)));
        Some(Self { path, way, original, layer })
    }

    /// Mounts it where it was; whether the command may write it.
    fn mount(&self, home: &Path, number: usize) -> Result<bool, Errno> {
        let from = by_number(&self.original);
        let is_folder = Path::new(&from).is_dir();
        place(&self.path, is_folder)?;
        let layer = self.layer.as_ref().filter(|_| is_folder);
        let lower = layer.map_or_else(|| from.clone(), |layer| format!("{}:{from}", by_number(layer)));
        if matches!(self.way, HomeMount::Overlaid) && overlay(home, &lower, &self.path, number).is_ok() {
            return Ok(true);
        }
        if layer.is_none() || overlay_with(&self.path, &format!("lowerdir={lower}")).is_err() {
            mount_bind_recursive(&from, &self.path)?;
        }
        Ok(false)
    }
}

fn opened(path: &Path) -> Option<OwnedFd> {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// No link is followed, because commands write the layers.
fn opened_folder(path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    real(path).filter(|real| real == path).and_then(|path| rustix::fs::open(path, flags, Mode::empty()).ok())
}

/// A name for an open folder, without the characters that separate mount options.
fn by_number(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// Where the layer above a folder of the home is.
fn upper(caches: &OrderedCaches, path: &Path) -> PathBuf {
    caches.layers.join("upper").join(path.strip_prefix("/").unwrap_or(path))
}

/// Mounts the layers of the project above the package caches, for an approved command. Returns the caches that the
/// command can write; the others stay read-only.
pub(super) fn layer(order: &RunOrder) -> Vec<PathBuf> {
    let Some(caches) = order.caches.as_ref().filter(|_| order.automatic.is_none()) else { return Vec::new() };
    let names = |home: &PathBuf| LAYERED.iter().map(|name| home.join(name)).collect::<Vec<_>>();
    let is_usual = |path: &PathBuf| real(path).as_ref() == Some(path) && path.is_dir();
    // Secrets inside a cache are covered afterward, with whatever is above them.
    let is_hidden = |path: &Path| order.hidden.iter().any(|hidden| path.starts_with(hidden));
    let is_apart = |path: &PathBuf| {
        let mut own = [&order.folder, &order.cwd, &caches.layers].into_iter().chain(&order.fence.temp);
        !own.any(|own| own.starts_with(path) || path.starts_with(own)) && !is_hidden(path)
    };
    let found = homes(order).iter().flat_map(names).filter(is_usual).filter(is_apart).collect::<Vec<_>>();
    let mut written: Vec<PathBuf> = Vec::new();
    for (number, path) in found.into_iter().enumerate() {
        // The caches of one home can be inside another one.
        if !written.iter().any(|done| path.starts_with(done)) && lay(order, caches, &path, number).is_ok() {
            written.push(path);
        }
    }
    written
}

/// Mounts one layer. What a second command writes at the same time is in its temporary folder.
fn lay(order: &RunOrder, caches: &OrderedCaches, path: &Path, number: usize) -> Result<(), Errno> {
    let original = opened(path).ok_or(Errno::NOENT)?;
    let shared = upper(caches, path);
    let base = match (&order.fence.temp, caches.writes) {
        (_, true) => caches.layers.clone(),
        (Some(temp), false) => temp.join(".caches"),
        (None, false) => return Err(Errno::NOENT),
    };
    let own = upper(&OrderedCaches { layers: base.clone(), writes: true }, path);
    let work = base.join("work").join(number.to_string());
    place(&own, true)?;
    place(&work, true)?;
    let [own, work] = [&own, &work].map(|folder| opened_folder(folder).ok_or(Errno::LOOP));
    let (own, work) = (own?, work?);
    let below = opened_folder(&shared).filter(|_| !caches.writes);
    let lower = below.as_ref().map_or_else(String::new, |below| format!("{}:", by_number(below)));
    let (from, own, work) = (by_number(&original), by_number(&own), by_number(&work));
    overlay_with(path, &format!("lowerdir={lower}{from},upperdir={own},workdir={work}"))
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
    overlay_with(path, &format!("lowerdir={from},upperdir={},workdir={}", upper.display(), work.display()))
}

fn overlay_with(path: &Path, layers: &str) -> Result<(), Errno> {
    let options = std::ffi::CString::new(format!("{layers},userxattr")).map_err(|_| Errno::INVAL)?;
    mount("overlay", path, "overlay", MountFlags::NOSUID | MountFlags::NODEV, options.as_c_str())
}
