//! Folders that a build makes again: their files are too many to be stored, and nobody misses them.
//!
//! Two things must hold. Git ignores the folder, and its name is one that tools use for nothing else; a name that
//! people also use needs the file beside it that tells a build to make it. What a folder says of itself
//! (`CACHEDIR.TAG`) does not count, because an edit could say it of any folder. Nor does what the session itself has
//! written ([`decides`]) about folders that were there before its first snapshot.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use trimtab_vocab::FileWrite;

/// What may be done with a folder during a command without approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Built {
    /// Builds write there.
    Output,
    /// A package manager fills it, often with hard links to a store that all projects share. Builds only read it.
    Packages,
}

/// Files that say what git ignores.
const IGNORE_FILES: &[&str] = &[".gitignore", ".ignore", "exclude"];
/// The mark that a Python environment has in it.
const ENVIRONMENT: &str = "pyvenv.cfg";
const OUTPUT: &[&str] = &[
    "__pycache__",
    ".angular",
    ".astro",
    ".cache",
    ".dart_tool",
    ".eggs",
    ".gradle",
    ".hypothesis",
    ".mypy_cache",
    ".next",
    ".nox",
    ".nuxt",
    ".nyc_output",
    ".parcel-cache",
    ".pytest_cache",
    ".ruff_cache",
    ".stack-work",
    ".svelte-kit",
    ".tox",
    ".turbo",
    ".vite",
    ".zig-cache",
    "DerivedData",
    "dist-newstyle",
    "htmlcov",
    "zig-out",
];
/// Names that people use too, and what must lie beside them.
const BESIDE: &[(&[&str], &[&str])] = &[
    (&["target"], &["Cargo.toml", "pom.xml", "build.sbt", "project.clj"]),
    (
        &["build", "dist", "out", "coverage", "storybook-static"],
        &[
            "package.json",
            "pyproject.toml",
            "setup.py",
            "CMakeLists.txt",
            "build.gradle",
            "build.gradle.kts",
            "meson.build",
            "pubspec.yaml",
            "build.zig",
            "foundry.toml",
        ],
    ),
    (&["obj"], &["Directory.Build.props", "global.json"]),
    (&["deps"], &["mix.exs"]),
    (&["_build"], &["mix.exs", "rebar.config", "dune-project", "conf.py"]),
    (&[".output"], &["package.json"]),
    (
        &["node_modules"],
        &["package.json", "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.json"],
    ),
    (&["bower_components"], &["bower.json"]),
    (&["Pods"], &["Podfile"]),
];
/// The names that Python environments have.
const ENVIRONMENTS: &[&str] = &[".venv", "venv", "env"];
const PACKAGES: &[&str] = &["node_modules", "bower_components", "Pods", "deps"];

/// Whether an ignored directory is such a folder.
pub(super) fn built(directory: &Path) -> Option<Built> {
    let name = directory.file_name()?.to_str()?;
    let is_file = |path: PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_file());
    if ENVIRONMENTS.contains(&name) {
        return is_file(directory.join(ENVIRONMENT)).then_some(Built::Packages);
    }
    if OUTPUT.contains(&name) {
        return Some(Built::Output);
    }
    let parent = directory.parent()?;
    let (_, beside) = BESIDE.iter().find(|(names, _)| names.contains(&name))?;
    let kind = if PACKAGES.contains(&name) { Built::Packages } else { Built::Output };
    beside.iter().any(|name| is_file(parent.join(name))).then_some(kind)
}

/// Whether a write affects which folders count as such: it changes what git ignores, or creates a file that must be
/// beside one. An existing file had the same effect before.
pub fn decides(write: &FileWrite) -> bool {
    let name = write.path.rsplit('/').next().unwrap_or_default();
    let is = |other: &&str| other.eq_ignore_ascii_case(name);
    let is_new = write.before.is_none();
    IGNORE_FILES.iter().any(&is)
        || (is_new && (is(&ENVIRONMENT) || BESIDE.iter().any(|(_, beside)| beside.iter().any(&is))))
}

/// Whether tools alone use this name.
pub(crate) fn is_built(name: &str) -> bool {
    PACKAGES.contains(&name) || OUTPUT.contains(&name)
}

/// Whether people use this name too.
pub(crate) fn may_be_built(name: &str) -> bool {
    BESIDE.iter().any(|(names, _)| names.contains(&name))
}

/// The names that each file with several names has in the folder.
#[derive(Debug, Default)]
pub(super) struct Links(HashMap<(u64, u64), u64>);

/// A file with several names: device and inode, and how many names it has in all.
#[derive(Debug, Clone, Copy)]
pub(super) struct Linked {
    pub(super) file: (u64, u64),
    pub(super) names: u64,
}

impl Linked {
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "the widths differ between systems")]
    pub(super) fn from_stat(stat: &rustix::fs::Stat) -> Option<Self> {
        let names = stat.st_nlink as u64;
        (names > 1).then(|| Self { file: (stat.st_dev as u64, u64::from(stat.st_ino)), names })
    }
}

impl Links {
    /// Counts a name.
    pub(super) fn met(&mut self, linked: Linked) {
        *self.0.entry(linked.file).or_default() += 1;
    }

    /// Whether some of its hard links were not found: they may be outside of the folder.
    pub(super) fn lead_out(&self, linked: Linked) -> bool {
        self.0.get(&linked.file).is_none_or(|met| *met < linked.names)
    }
}

/// The files with several names in a built folder.
#[derive(Debug, Default)]
pub(super) struct LinkScan {
    /// The entries of the folder itself.
    tops: Vec<PathBuf>,
    /// Each such file, with the index of its entry.
    linked: Vec<(usize, Linked)>,
    /// Its time was up.
    pub(super) is_cut: bool,
}

impl LinkScan {
    /// The entries that hold a file with a name that was not met.
    pub(super) fn leading_out(&self, links: &Links) -> Vec<PathBuf> {
        let mut tops: Vec<usize> =
            self.linked.iter().filter(|(_, linked)| links.lead_out(*linked)).map(|(top, _)| *top).collect();
        tops.sort_unstable();
        tops.dedup();
        tops.into_iter().map(|top| self.tops[top].clone()).collect()
    }
}

/// Looks for files with several names. Only names and stamps are read. What cannot be listed cannot be written to
/// by its old names either, because a command finds them no better.
pub(super) fn scan(folder: &Path, links: &mut Links, until: Instant) -> LinkScan {
    use std::os::unix::fs::MetadataExt as _;
    let mut scan = LinkScan::default();
    let mut left = vec![(folder.to_owned(), None::<usize>)];
    while let Some((directory, top)) = left.pop() {
        let Ok(entries) = directory.read_dir() else { continue };
        if Instant::now() > until {
            scan.is_cut = true;
            break;
        }
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if !kind.is_dir() && !kind.is_file() {
                continue;
            }
            let top = top.unwrap_or_else(|| {
                scan.tops.push(entry.path());
                scan.tops.len() - 1
            });
            if kind.is_dir() {
                left.push((entry.path(), Some(top)));
            } else if let Ok(found) = entry.metadata()
                && found.nlink() > 1
            {
                let linked = Linked { file: (found.dev(), found.ino()), names: found.nlink() };
                links.met(linked);
                scan.linked.push((top, linked));
            }
        }
    }
    scan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_people_use_too_needs_what_makes_it_beside_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| built(&folder.path().join(name));
        assert_eq!((at("node_modules"), at("__pycache__")), (None, Some(Built::Output)));
        assert_eq!((at("target"), at("build"), at("data"), at(".venv")), (None, None, None, None));
        std::fs::write(folder.path().join("Cargo.toml"), "").expect("written");
        assert_eq!((at("target"), at("build")), (Some(Built::Output), None));
        std::fs::write(folder.path().join("package.json"), "").expect("written");
        assert_eq!((at("build"), at("node_modules")), (Some(Built::Output), Some(Built::Packages)));
        std::fs::create_dir(folder.path().join(".venv")).expect("made");
        std::fs::write(folder.path().join(".venv/pyvenv.cfg"), "").expect("written");
        assert_eq!(at(".venv"), Some(Built::Packages));
    }
}
