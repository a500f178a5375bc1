//! Reads git's settings as git does: which files take part, and which files of a folder git runs or obeys because of
//! them. The reading is bounded. What it cannot read is unknown, and the caller must then assume anything.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};

mod repositories;
mod syntax;

pub use repositories::{Repositories, worktrees};
use syntax::GitSetting;

/// Bytes of a settings file, at most.
const LONGEST: u64 = 1024 * 1024;

/// The maximum depth of includes, which is git's own.
const DEEPEST: usize = 10;

/// Repositories, worktrees of one, and settings files that one leads to, at most.
const MOST: usize = 1000;

/// What git looks for in a folder of hooks. They are named one by one only where that folder is the whole project.
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];

/// Settings whose values are names and places, and neither run nor obeyed.
const DATA: &[&str] = &[
    "blame.ignorerevsfile",
    "branch.*.merge",
    "branch.*.remote",
    "commit.template",
    "core.excludesfile",
    "core.worktree",
    "mailmap.file",
    "remote.*.fetch",
    "remote.*.push",
    "remote.*.pushurl",
    "remote.*.url",
    "safe.directory",
    "submodule.*.path",
    "submodule.*.url",
    "user.email",
    "user.name",
];

/// A repository, and the folder that its files are checked out to, if that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Where its settings are.
    pub path: PathBuf,
    /// Where relative paths of its settings begin.
    pub work_tree: Option<PathBuf>,
}

/// What git runs or obeys in a folder, existing or not; all paths are absolute and in the folder.
#[derive(Debug, Default)]
pub struct Orders {
    /// Settings and programs.
    pub files: BTreeSet<PathBuf>,
    /// Hooks and templates: all that is in them counts.
    pub folders: BTreeSet<PathBuf>,
    /// The same as they are spelled, where a link on the way leads to another place.
    pub linked: BTreeSet<PathBuf>,
    /// Why there may be more.
    pub unknown: Option<String>,
}

impl Orders {
    /// The paths in `folder` that the settings of these repositories and of the user name. `folder` has no links in
    /// its path.
    pub fn read(folder: &Path, repositories: &[Repository]) -> Self {
        Self::with(folder, &of_the_user(), repositories)
    }

    fn with(folder: &Path, of_the_user: &[PathBuf], repositories: &[Repository]) -> Self {
        let mut orders = Orders::default();
        let mut user = GitSettings::default();
        for file in of_the_user {
            user.read(file, 0);
        }
        orders.take(folder, &user, &[]);
        for repository in repositories {
            let mut own = GitSettings::default();
            own.read_repository(repository);
            let mut bases: Vec<PathBuf> = repository.work_tree.iter().cloned().collect();
            bases.extend(repository.path.parent().filter(|_| bases.is_empty()).map(Path::to_owned));
            let trees = own.all.iter().filter(|setting| setting.key == "core.worktree");
            bases.extend(trees.flat_map(|tree| resolved(&tree.value, std::slice::from_ref(&repository.path)).0));
            bases.push(repository.path.clone());
            orders.take(folder, &own, &bases);
            // What the user's settings name may be relative to this repository.
            orders.take(folder, &user, &bases);
        }
        orders
    }

    fn take(&mut self, folder: &Path, settings: &GitSettings, bases: &[PathBuf]) {
        for file in &settings.files {
            self.add(folder, file, false);
        }
        for setting in &settings.all {
            match setting.key.as_str() {
                "core.hookspath" | "init.templatedir" => {
                    for path in self.paths(&setting.value, bases) {
                        self.add(folder, &path, true);
                    }
                }
                "core.attributesfile" => {
                    for path in self.paths(&setting.value, bases) {
                        self.add(folder, &path, false);
                    }
                }
                key if is_data(key) || syntax::is_include(key) => {}
                key => {
                    for path in programs(key, &setting.value, bases) {
                        self.add(folder, &path, false);
                    }
                }
            }
        }
        if let Some(why) = &settings.unknown {
            self.unknown.get_or_insert_with(|| why.clone());
        }
    }

    fn paths(&mut self, value: &[u8], bases: &[PathBuf]) -> Vec<PathBuf> {
        let (paths, unknown) = resolved(value, bases);
        self.unknown = self.unknown.take().or(unknown);
        paths
    }

    fn add(&mut self, folder: &Path, path: &Path, is_folder: bool) {
        let (spelled, real) = (plain(path), real(path));
        if is_folder && real == folder {
            self.files.extend(HOOKS.iter().map(|name| folder.join(name)));
            return;
        }
        let is_inside = |path: &PathBuf| path.starts_with(folder) && path != folder;
        if is_inside(&spelled) && spelled != real {
            self.linked.insert(spelled);
        }
        if is_inside(&real) {
            let set = if is_folder { &mut self.folders } else { &mut self.files };
            set.insert(real);
        }
    }
}

/// Settings, and the files that contain them.
#[derive(Default)]
struct GitSettings {
    files: BTreeSet<PathBuf>,
    all: Vec<GitSetting>,
    unknown: Option<String>,
}

impl GitSettings {
    fn read_repository(&mut self, repository: &Repository) {
        let mut homes = vec![repository.path.clone()];
        homes.extend(common_folder(&repository.path));
        for home in homes {
            self.read(&home.join("config"), 0);
            self.read(&home.join("config.worktree"), 0);
            let (worktrees, whole) = worktrees(&home);
            if !whole {
                self.fail(&home, "has too many worktrees");
            }
            worktrees.iter().for_each(|worktree| self.read(&worktree.join("config.worktree"), 0));
        }
    }

    fn read(&mut self, file: &Path, depth: usize) {
        if file == Path::new("/dev/null") || !self.files.insert(file.to_owned()) {
            return;
        }
        if depth > DEEPEST || self.files.len() > MOST {
            return self.fail(file, "is included too deeply or too often");
        }
        let text = match read_bounded(file) {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(why) => return self.fail(file, &why),
        };
        let (settings, whole) = syntax::parse(&text);
        if !whole {
            self.fail(file, "is not valid git configuration");
        }
        let beside = file.parent().unwrap_or(Path::new("/"));
        for setting in settings {
            if syntax::is_include(&setting.key) {
                // Whether a condition holds may change by the next time git runs, so each counts as if it held.
                let (paths, unknown) = resolved(&setting.value, &[beside.to_owned()]);
                self.unknown = self.unknown.take().or(unknown);
                paths.iter().for_each(|path| self.read(path, depth + 1));
            }
            self.all.push(setting);
        }
    }

    fn fail(&mut self, file: &Path, why: &str) {
        self.unknown.get_or_insert_with(|| format!("{} {why}", file.display()));
    }
}

/// The repository that a path called `.git` is or points to.
pub fn repository_at(dot_git: &Path) -> Option<PathBuf> {
    if fs::metadata(dot_git).ok()?.is_dir() {
        return Some(dot_git.to_owned());
    }
    let text = read_bounded(dot_git).ok()??;
    Some(dot_git.parent()?.join(one_path(text.strip_prefix(b"gitdir:")?)))
}

/// The folder that a repository shares with others.
pub fn common_folder(repository: &Path) -> Option<PathBuf> {
    let text = read_bounded(&repository.join("commondir")).ok()??;
    Some(repository.join(one_path(&text)))
}

/// The repositories around a folder, without its own.
pub fn above(folder: &Path) -> Vec<Repository> {
    let found = folder.ancestors().skip(1).filter_map(|above| {
        Some(Repository { path: repository_at(&above.join(".git"))?, work_tree: Some(above.to_owned()) })
    });
    found.collect()
}

fn one_path(text: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(text.trim_ascii()))
}

/// A path without links, `.`, and `..`, so far as it exists, and then by its spelling.
pub fn real(path: &Path) -> PathBuf {
    let found = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    match found.and_then(|(above, found)| Some(found.join(path.strip_prefix(above).ok()?))) {
        Some(path) => plain(&path),
        None => plain(path),
    }
}

/// A path without `.` and `..`, by its spelling.
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// The settings files of the user and of the machine.
fn of_the_user() -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from("/etc/gitconfig")];
    let settings = std::env::var_os("XDG_CONFIG_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    files.extend(settings.or_else(|| home().map(|home| home.join(".config"))).map(|path| path.join("git/config")));
    files.extend(home().map(|home| home.join(".gitconfig")));
    files
}

/// The possible targets of a path value, and why they are unknown.
fn resolved(value: &[u8], bases: &[PathBuf]) -> (Vec<PathBuf>, Option<String>) {
    let value = value.strip_prefix(b":(optional)").unwrap_or(value);
    let path = Path::new(OsStr::from_bytes(value));
    if value.is_empty() || value.starts_with(b"%(prefix)/") {
        return (Vec::new(), None);
    }
    if value.starts_with(b"~") {
        return match (home(), path.strip_prefix("~")) {
            (Some(home), Ok(rest)) => (vec![home.join(rest)], None),
            _ => (Vec::new(), Some(format!("{} cannot be followed", path.display()))),
        };
    }
    match path.is_absolute() {
        true => (vec![path.to_owned()], None),
        false => (bases.iter().map(|base| base.join(path)).collect(), None),
    }
}

/// The files that a value names if it is a command. A word that may not be a path counts if such a file exists.
fn programs(key: &str, value: &[u8], bases: &[PathBuf]) -> Vec<PathBuf> {
    let is_between = |byte: &u8| byte.is_ascii_whitespace() || b"'\";|&()<>=!`".contains(byte);
    let words = [value].into_iter().chain(value.split(is_between).filter(|word| !word.is_empty()));
    let mut found = Vec::new();
    for (number, word) in words.enumerate() {
        // A first word without `/` is looked up among the programs of the machine.
        let is_path = word.contains(&b'/') || (number > 1 && word.contains(&b'.'));
        let looks_like_one = is_path && !key.starts_with("alias.");
        let counts = |path: &PathBuf| match fs::metadata(path) {
            Ok(meta) => meta.is_file(),
            Err(_) => looks_like_one,
        };
        found.extend(resolved(word, bases).0.into_iter().filter(counts));
    }
    found
}

fn is_data(key: &str) -> bool {
    DATA.iter().any(|row| match row.split_once('*') {
        Some((start, end)) => key.len() > start.len() + end.len() && key.starts_with(start) && key.ends_with(end),
        None => key == *row,
    })
}

/// The bytes of a regular file, if there is one. Nothing else, a FIFO or a device, is waited for.
fn read_bounded(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = match fs::OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    match file.metadata() {
        Ok(meta) if meta.is_file() && meta.len() <= LONGEST => {}
        Ok(meta) if meta.is_file() => return Err("is too large for a settings file".into()),
        _ => return Err("is not a regular file".into()),
    }
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).map_err(|error| format!("cannot be read: {error}"))?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().canonicalize().unwrap();
        for (path, text) in files {
            fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
            fs::write(folder.join(path), text).unwrap();
        }
        (base, folder)
    }

    fn from_folder(folder: &Path) -> Orders {
        let repository = Repository { path: folder.join(".git"), work_tree: Some(folder.to_owned()) };
        Orders::with(folder, &[], &[repository])
    }

    #[test]
    fn git_config_names_hooks_in_every_spelling() {
        for value in
            ["tools/hk ; c", "tools/hk # c", "\"tools\"/hk", "to\\\nols/hk", "to\\\r\nols/hk", "./x/../tools/hk"]
        {
            let (_base, folder) = folder(&[(".git/config", &format!("[core]\n\tHooksPath = {value}\n"))]);
            assert!(from_folder(&folder).folders.contains(&folder.join("tools/hk")), "{value}");
        }
        let (_base, folder) = folder(&[(".git/config", "[core] hooksPath=.")]);
        assert!(from_folder(&folder).files.contains(&folder.join("pre-commit")));
    }

    #[test]
    fn git_config_follows_includes() {
        let (_base, folder) = folder(&[
            (".git/config", "[include]\n path = \"../inc.cfg\" ; x\n[includeIf \"onbranch:x\"] path=../missing\n"),
            ("inc.cfg", "[include] path = sub/two.cfg # c\n[include] path = inc.cfg\n"),
            ("sub/two.cfg", "[core] hooksPath = hk\n fsmonitor = sh tools/f.sh\n attributesFile = at\n"),
        ]);
        let orders = from_folder(&folder);
        for file in ["inc.cfg", "missing", "sub/two.cfg", "tools/f.sh", "at"] {
            assert!(orders.files.contains(&folder.join(file)), "{file}: {orders:?}");
        }
        assert!(orders.folders.contains(&folder.join("hk")));
        assert_eq!(orders.unknown, None);
    }

    #[test]
    fn git_config_that_cannot_be_read_is_unknown() {
        for text in ["[core\n", "[core] a = \"x\n", "[core] = x", "[core] a = \\q", "[include] path = ~other/x"] {
            let (_base, folder) = folder(&[(".git/config", text)]);
            assert!(from_folder(&folder).unknown.is_some(), "{text}");
        }
        let (_base, folder) = folder(&[(".git/config", "[include] path = ../f")]);
        rustix::fs::mknodat(rustix::fs::CWD, folder.join("f"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(from_folder(&folder).unknown.is_some_and(|why| why.contains("regular file")));
    }

    #[test]
    fn git_config_of_an_ordinary_repository_names_nothing() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = ../other.git\n\t\
                    fetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = \
                    refs/heads/main\n[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\trequired\n";
        let (_base, folder) = folder(&[(".git/config", text)]);
        let Orders { files, folders, linked, unknown } = from_folder(&folder);
        let outside = |path: &&PathBuf| !path.starts_with(folder.join(".git"));
        assert_eq!((files.iter().find(outside), folders.len(), linked.len(), unknown), (None, 0, 0, None));
    }
}
