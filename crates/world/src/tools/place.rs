//! The session's folder, and how paths in it are resolved.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};
use trimtab_vocab::format;
use trimtab_vocab::sensitive_paths::has_secret;
use trimtab_vocab::wording::Refusal;

use super::{Going, ReadRefusal, nearest, on_one_line};

/// The system takes no longer ones.
const LONGEST_PATH: usize = 4_096;

/// The session's folder. Only files in it are read.
#[derive(Debug, Clone)]
pub struct ReadScope(Arc<FolderHandle>);

#[derive(Debug)]
struct FolderHandle {
    /// As it is called without links.
    root: PathBuf,
    /// Its original name, because a model may know it by that.
    given: PathBuf,
}

/// Something in the folder.
#[derive(Debug)]
pub(super) struct FoundPath {
    /// As it was asked for, relative to the folder, `/` between its parts; the folder itself is `.`.
    pub(super) shown: String,
    /// Where it is, without links.
    pub(super) real: PathBuf,
}

impl FoundPath {
    /// The same, unless a link hides that it is a file with secrets, because the approval did not cover that.
    pub(super) fn named_openly(self, place: &ReadScope) -> Result<Self, ReadRefusal> {
        let real = place.shown(&self.real);
        if has_secret(&real) && !has_secret(&self.shown) {
            let (shown, real) = (on_one_line(&self.shown), on_one_line(&real));
            return Err(ReadRefusal(Refusal::ThroughLink(format!("`{shown}`"), format!("`{real}`")).into()));
        }
        Ok(self)
    }
}

impl ReadScope {
    pub fn open(folder: &Path) -> io::Result<Self> {
        let root = folder.canonicalize()?;
        if !root.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self(Arc::new(FolderHandle { root, given: std::path::absolute(folder)? })))
    }

    pub(super) fn root(&self) -> &Path {
        &self.0.root
    }

    /// A path within the folder, as it is shown.
    pub(super) fn shown(&self, path: &Path) -> String {
        let path = path.strip_prefix(self.root()).unwrap_or(path);
        if path.as_os_str().is_empty() { ".".to_owned() } else { path.to_string_lossy().into_owned() }
    }

    /// The rest of an absolute path within the folder; nothing for one outside.
    pub(super) fn within<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.0.root).or_else(|_| path.strip_prefix(&self.0.given)).ok()
    }

    /// What a path names. Links are followed as long as they stay in the folder.
    pub(super) fn find(&self, asked: &str, going: &Going) -> Result<FoundPath, ReadRefusal> {
        let inside = self.inside(asked)?;
        let shown = self.shown(&self.root().join(&inside));
        let whole = self.root().join(&inside);
        match whole.canonicalize() {
            Ok(real) if real.starts_with(self.root()) => Ok(FoundPath { shown, real }),
            Ok(_) => Err(self.linked_outside(&shown)),
            Err(error) => {
                // Behind a link that leads outside, even the existence of a file is not revealed.
                let reached = whole.ancestors().skip(1).find_map(|ancestor| ancestor.canonicalize().ok());
                if reached.is_some_and(|reached| !reached.starts_with(self.root())) {
                    return Err(self.linked_outside(&shown));
                }
                if !is_absent(&error) {
                    return Err(unreadable(&shown, &error));
                }
                if whole.is_symlink() {
                    return Err(ReadRefusal(format!("`{}` is a broken link.", on_one_line(&shown))));
                }
                Err(self.absent(&inside, &shown, going))
            }
        }
    }

    fn linked_outside(&self, shown: &str) -> ReadRefusal {
        ReadRefusal(format!(
            "`{}` is a link to a file outside the folder. Only files in {} can be read.",
            on_one_line(shown),
            self.root().display()
        ))
    }

    /// The path relative to the folder, without `.` and `..`, going by the words alone: a path that
    /// leaves the folder is refused before anything outside is touched.
    fn inside(&self, asked: &str) -> Result<PathBuf, ReadRefusal> {
        if asked.contains('\0') {
            return Err(ReadRefusal::new("The path contains a NUL character."));
        }
        if asked.len() > LONGEST_PATH {
            return Err(ReadRefusal::new("The path is too long."));
        }
        let path = Path::new(asked);
        let relative = if path.is_absolute() { self.within(path).ok_or_else(|| self.outside(asked))? } else { path };
        let mut inside = PathBuf::new();
        for part in relative.components() {
            match part {
                Component::Normal(name) => inside.push(name),
                Component::CurDir => {}
                Component::ParentDir if inside.pop() => {}
                _ => return Err(self.outside(asked)),
            }
        }
        Ok(inside)
    }

    pub(super) fn outside(&self, asked: &str) -> ReadRefusal {
        let mut sentence = format!(
            "`{}` is outside the folder. Only files in {} can be read. Paths are relative to it.",
            on_one_line(asked),
            self.root().display()
        );
        // Models like to take the folder for the root of everything.
        let rest = asked.trim_start_matches('/');
        let is_plain = Path::new(rest).components().all(|part| matches!(part, Component::Normal(_)));
        if asked.starts_with('/') && !rest.is_empty() && is_plain && self.root().join(rest).symlink_metadata().is_ok() {
            sentence.push_str(&format!(" Did you mean `{}`?", on_one_line(rest)));
        }
        ReadRefusal(sentence)
    }

    /// If a path within the folder names nothing: names that resemble it.
    pub(super) fn resembling(&self, asked: &str, going: &Going) -> Option<Vec<String>> {
        let inside = self.inside(asked).ok()?;
        let whole = self.root().join(&inside);
        whole.symlink_metadata().err().filter(is_absent)?;
        // Behind a link that leads outside, even the existence of a file is not revealed.
        let reached = whole.ancestors().skip(1).find_map(|ancestor| ancestor.canonicalize().ok())?;
        reached.starts_with(self.root()).then(|| nearest::names(self, &inside, going).unwrap_or_default())
    }

    fn absent(&self, inside: &Path, shown: &str, going: &Going) -> ReadRefusal {
        let names = match nearest::names(self, inside, going) {
            Ok(names) => names,
            Err(stopped) => return stopped,
        };
        let hint = match names.as_slice() {
            [] => "Use `list_files` to see its files.".to_owned(),
            names => {
                let names: Vec<_> = names.iter().map(|name| format!("`{}`", on_one_line(name))).collect();
                format!("Did you mean {}?", format::choices(&names))
            }
        };
        ReadRefusal(format!("There is no `{}` in the folder. {hint}", on_one_line(shown)))
    }

    /// Opens a regular file that was found. It does not wait for the other end of a pipe, and follows
    /// no link that was put in place since the file was found.
    pub(super) fn open_file(&self, real: &Path) -> io::Result<File> {
        // Before it is opened, because opening a device can set it in motion;
        let not_regular = || io::Error::other("it is not a regular file");
        if !real.symlink_metadata()?.is_file() {
            return Err(not_regular());
        }
        let file = File::from(open_beneath(self.root(), real)?);
        // and afterwards, because it may be another by now.
        if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
    }
}

const FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

#[cfg(target_os = "linux")]
fn open_beneath(root: &Path, real: &Path) -> io::Result<OwnedFd> {
    use rustix::fs::{CWD, ResolveFlags, openat, openat2};
    use rustix::io::Errno;

    let relative = real.strip_prefix(root).map_err(io::Error::other)?;
    let folder = openat(CWD, root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(&folder, relative, FLAGS, Mode::empty(), resolve) {
        // Old kernels do not have the call, and some sandboxes hide it.
        Err(Errno::NOSYS | Errno::PERM) => open_unlinked(real),
        opened => Ok(opened?),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(_root: &Path, real: &Path) -> io::Result<OwnedFd> {
    open_unlinked(real)
}

/// The fallback: at least the last part of the path is not a link.
fn open_unlinked(real: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(real, FLAGS | OFlags::NOFOLLOW, Mode::empty())?)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The sentence for an error of the system.
pub(super) fn unreadable(shown: &str, error: &io::Error) -> ReadRefusal {
    let shown = on_one_line(shown);
    ReadRefusal(match error.kind() {
        io::ErrorKind::PermissionDenied => format!("`{shown}` cannot be read: permission denied."),
        io::ErrorKind::NotFound => format!("`{shown}` is no longer there."),
        io::ErrorKind::WouldBlock => format!("`{shown}` has no data to read now."),
        _ if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            format!("`{shown}` is a link to itself.")
        }
        io::ErrorKind::InvalidFilename => format!("`{shown}` is too long for a path."),
        _ => format!("`{shown}` cannot be read: {error}."),
    })
}
