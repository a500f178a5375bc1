//! Landlock: which paths may be read, and which written.
//!
//! It can only allow what is beneath a path. So "everything but secrets" means listing the neighbors of each secret
//! and of each folder above it. Names may be listed everywhere: they show only that a secret exists.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope, make_bitflags,
};

use trimtab_vocab::CommandClass;

use super::super::repository;
use super::super::wire::RunOrder;
use super::devices;
use super::namespaces::Space;
use super::real;
use crate::workspace::copy::reads_outside;

/// The newest version that was tried out. An older kernel gives what it has.
const TRIED: ABI = ABI::V7;

pub(super) struct Landlock {
    pub(super) version: u32,
}

pub(super) fn restrict(order: &RunOrder, space: Option<&Space>) -> Result<Landlock, String> {
    let status = try_restrict(order, space).map_err(|error| format!("Landlock refused: {error}"))?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, LandlockStatus::NotImplemented) => Err("the kernel has no Landlock".into()),
        (RulesetStatus::NotEnforced, _) => Err("Landlock is switched off in the kernel".into()),
        (_, LandlockStatus::Available { effective_abi, .. }) => Ok(Landlock { version: effective_abi as u32 }),
        _ => Err("Landlock gave no answer".into()),
    }
}

fn try_restrict(
    order: &RunOrder,
    space: Option<&Space>,
) -> Result<landlock::RestrictionStatus, landlock::RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(TRIED))?
        .scope(Scope::Signal)?
        .scope(Scope::AbstractUnixSocket)?;
    if space.is_none() {
        rules = rules.handle_access(AccessNet::from_all(TRIED))?;
    }
    let everything = AccessFs::from_all(TRIED);
    let reading = AccessFs::from_read(TRIED);
    let device = make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | IoctlDev});
    let mut rules = allow(rules.create()?, Path::new("/"), AccessFs::ReadDir.into())?;
    let mut hidden: Vec<PathBuf> = order.hidden.iter().filter_map(|path| real(path)).collect();
    if order.folder.starts_with(devices::FOLDER) {
        for path in readable(&order.folder, &hidden) {
            rules = allow(rules, &path, reading)?;
        }
    }
    hidden.push(devices::FOLDER.into());
    for path in read_roots(order).iter().flat_map(|root| readable(root, &hidden)) {
        rules = allow(rules, &path, reading)?;
    }
    for path in devices::PLAIN {
        rules = allow(rules, Path::new(path), device)?;
    }
    if order.terminal {
        // The terminal of this command under any name: it is standard error.
        rules = allow(rules, Path::new(devices::TERMINAL), device)?;
        rules = allow(rules, Path::new("/proc/self/fd/2"), device)?;
    }
    let own = space.map(|space| space.devices).unwrap_or_default();
    if own.terminals {
        for path in [devices::TERMINALS, devices::NEW_TERMINAL, devices::TERMINAL] {
            rules = allow(rules, Path::new(path), device)?;
        }
    }
    if order.writes_folder() {
        rules = allow(rules, &order.folder, everything)?;
    }
    if order.automatic.is_some() && space.is_some() {
        // Emptied, and in memory; what is kept in them is mounted read-only.
        for home in &order.home.homes {
            rules = allow(rules, home, everything)?;
        }
    }
    for path in space.into_iter().flat_map(|space| &space.caches).chain(&order.fence.temp) {
        rules = allow(rules, path, everything)?;
    }
    if own.shared_memory {
        rules = allow(rules, Path::new(devices::SHARED_MEMORY), everything)?;
    }
    rules.restrict_self()
}

/// Where system programs and their settings are.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/etc",
    "/nix",
    "/gnu",
    "/proc",
    "/sys",
    "/run/current-system",
];

/// What may be read beneath. A command that only reads needs the folder and programs: words that are known only when
/// it runs (names of files, targets of links) cannot lead it to other projects then.
fn read_roots(order: &RunOrder) -> Vec<PathBuf> {
    if order.automatic != Some(CommandClass::Read) {
        return vec!["/".into()];
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = std::env::split_paths(&path).filter(|path| path.is_absolute() && path.parent().is_some());
    let system = SYSTEM.iter().map(PathBuf::from);
    let mut roots: Vec<PathBuf> =
        system.chain(programs).chain(repository::around(&order.folder)).chain(reads_outside(&order.folder)).collect();
    roots.push(order.folder.clone());
    // The program itself, where it is named by its path.
    roots.extend(order.argv.first().map(PathBuf::from).filter(|program| program.is_absolute()));
    roots.sort();
    roots.dedup();
    roots
}

fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    // What is not there, or may not be entered, needs no permission.
    let Ok(fd) = PathFd::new(path) else { return Ok(rules) };
    // Rights of directories cannot be given on files.
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(TRIED) };
    rules.add_rule(PathBeneath::new(fd, access))
}

/// The fewest paths that together hold everything beneath `path` but what is hidden. Links are left out:
/// where they lead to counts, not where they are.
fn readable(path: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    if hidden.iter().any(|hidden| path.starts_with(hidden)) {
        return Vec::new();
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(path)) {
        return vec![path.to_owned()];
    }
    let inside = std::fs::read_dir(path).into_iter().flatten().flatten();
    let real = inside.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    real.flat_map(|entry| readable(&entry.path(), hidden)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn everything_but_the_hidden_is_readable() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        for name in ["home/.ssh", "home/.config/gh", "home/.config/nvim", "home/src", "etc"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        fs::write(base.join("home/.netrc"), "").unwrap();
        std::os::unix::fs::symlink(".ssh", base.join("home/link")).unwrap();
        let hidden = ["home/.ssh", "home/.config/gh", "home/.netrc"].map(|name| base.join(name));
        let mut found = readable(&base, &hidden);
        found.sort();
        assert_eq!(found, ["etc", "home/.config/nvim", "home/src"].map(|name| base.join(name)));
        assert_eq!(readable(&base.join("etc"), &hidden), [base.join("etc")]);
    }
}
