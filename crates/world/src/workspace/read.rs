//! Reading the user's files.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use trimtab_vocab::{FileState, sensitive_paths};

use super::folder::{Astray, Folder};

/// A FIFO without a writer would block an ordinary open, and a terminal must not become ours.
pub(super) const LOOKING: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The bits that say who may read, write and execute. Set-user-id and its like are left to the kernel.
pub(super) const PERMISSIONS: u32 = 0o777;

impl Folder {
    /// The bytes of a regular file and its state, or nothing if there is no such file. A file of more
    /// than `cap` bytes is an error, and so is everything that is not a regular file.
    pub fn read(&self, path: impl AsRef<Path>, cap: usize) -> io::Result<Option<(Vec<u8>, FileState)>> {
        self.open_to_read(path.as_ref())?.map(|fd| contents(fd, cap)).transpose()
    }

    /// The same for a file that is sent without a question: one that holds keys or passwords, by the name that it has
    /// when all links are followed, is an error. Every file of a project that becomes part of a prompt by itself is read
    /// by this.
    pub fn read_without_keys(&self, path: impl AsRef<Path>, cap: usize) -> io::Result<Option<(Vec<u8>, FileState)>> {
        let inside = self.place_of(path)?;
        if sensitive_paths::holds_keys(&inside.to_string_lossy()) {
            let what = "its name says that it holds keys or passwords";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
        match self.open_without_links(&inside) {
            Ok(fd) => contents(fd, cap).map(Some),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NXIO) => Err(not_regular()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The state of a regular file of any size; none if there is no such file.
    pub fn state(&self, path: impl AsRef<Path>) -> io::Result<Option<FileState>> {
        let Some(fd) = self.open_to_read(path.as_ref())? else { return Ok(None) };
        let stat = rustix::fs::fstat(&fd)?;
        must_be_regular(&stat)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::from(fd))?;
        Ok(Some(FileState { hash: hasher.finalize().to_hex().to_string(), mode: permissions(&stat) }))
    }

    fn open_to_read(&self, path: &Path) -> io::Result<Option<OwnedFd>> {
        let names = self.names(path)?;
        if names.is_empty() {
            return Err(Astray::Directory.into());
        }
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
            let straight: std::path::PathBuf = names.iter().collect();
            match rustix::fs::openat2(self.as_fd(), &straight, LOOKING, Mode::empty(), beneath) {
                Ok(fd) => return Ok(Some(fd)),
                // These are plain answers. Every other one is for the walk to explain: an old kernel has no
                // such call, an absolute link may lead back inside, and a race is to be tried again.
                Err(Errno::NOENT) => return Ok(None),
                Err(errno @ Errno::ACCESS) => return Err(errno.into()),
                Err(_) => {}
            }
        }
        self.open_by_walk(path)
    }

    /// Opens what a walk has found, for reading. No link is followed, not even one that a directory on the way
    /// was exchanged for since.
    pub(super) fn open_without_links(&self, path: &Path) -> Result<OwnedFd, Errno> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::ResolveFlags;
            let plain = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
            match rustix::fs::openat2(self.as_fd(), path, LOOKING, Mode::empty(), plain) {
                Err(Errno::NOSYS) => {}
                answer => return answer,
            }
        }
        let spot = self.walk(path).map_err(|_| Errno::ACCESS)?;
        if !spot.missing.is_empty() || spot.inside != path {
            return Err(Errno::NOENT);
        }
        rustix::fs::openat(&spot.dir, &spot.name, LOOKING | OFlags::NOFOLLOW, Mode::empty())
    }

    fn open_by_walk(&self, path: &Path) -> io::Result<Option<OwnedFd>> {
        let spot = self.walk(path)?;
        if !spot.missing.is_empty() {
            return Ok(None);
        }
        match rustix::fs::openat(&spot.dir, &spot.name, LOOKING | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(fd) => Ok(Some(fd)),
            Err(Errno::NOENT) => Ok(None),
            // What opens a socket says this.
            Err(Errno::NXIO) => Err(not_regular()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// The bytes of an opened file, if it is a regular one.
fn contents(fd: OwnedFd, cap: usize) -> io::Result<(Vec<u8>, FileState)> {
    let stat = rustix::fs::fstat(&fd)?;
    must_be_regular(&stat)?;
    let too_large =
        || io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than the {cap} bytes that may be read"));
    if u64::try_from(stat.st_size).is_ok_and(|size| size > cap as u64) {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    // One more than the cap: the size was true a moment ago, and files of /proc say 0.
    File::from(fd).take(cap as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > cap {
        return Err(too_large());
    }
    let hash = blake3::hash(&bytes).to_hex().to_string();
    Ok((bytes, FileState { hash, mode: permissions(&stat) }))
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

fn must_be_regular(stat: &Stat) -> io::Result<()> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(Astray::Directory.into()),
        _ => Err(not_regular()),
    }
}

pub(super) fn permissions(stat: &Stat) -> u32 {
    #[allow(clippy::useless_conversion, reason = "the width differs between systems")]
    let mode = u32::from(stat.st_mode);
    mode & PERMISSIONS
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let base = tempfile::tempdir().unwrap();
        fs::create_dir_all(base.path().join("in/src")).unwrap();
        fs::write(base.path().join("secret"), "secret").unwrap();
        fs::write(base.path().join("in/src/a.rs"), "fn a() {}").unwrap();
        let folder = Folder::open(base.path().join("in")).unwrap();
        (base, folder)
    }

    /// Both ways to open must agree about everything.
    fn both(folder: &Folder, path: impl AsRef<Path>) -> Result<Option<Vec<u8>>, io::ErrorKind> {
        let path = path.as_ref();
        let read = folder.read(path, 1000).map(|found| found.map(|(bytes, _)| bytes)).map_err(|error| error.kind());
        let walked = (|| {
            let Some(fd) = folder.open_by_walk(path)? else { return Ok(None) };
            must_be_regular(&rustix::fs::fstat(&fd)?)?;
            let mut bytes = Vec::new();
            File::from(fd).read_to_end(&mut bytes)?;
            Ok(Some(bytes))
        })();
        assert_eq!(read, walked.map_err(|error: io::Error| error.kind()), "{}", path.display());
        read
    }

    #[test]
    fn a_file_is_read_with_its_hash_and_its_permissions() {
        let (base, folder) = folder();
        fs::set_permissions(base.path().join("in/src/a.rs"), fs::Permissions::from_mode(0o750)).unwrap();
        let (bytes, state) = folder.read("src/a.rs", 9).unwrap().unwrap();
        assert_eq!(bytes, b"fn a() {}");
        assert_eq!(state, FileState { hash: blake3::hash(b"fn a() {}").to_hex().to_string(), mode: 0o750 });
    }

    #[test]
    fn every_spelling_of_a_path_inside_is_understood() {
        let (base, folder) = folder();
        let absolute = base.path().canonicalize().unwrap().join("in/src/a.rs");
        for path in [Path::new("src/a.rs"), Path::new("./src//a.rs"), Path::new("src/../src/a.rs"), &absolute] {
            assert_eq!(both(&folder, path), Ok(Some(b"fn a() {}".to_vec())));
        }
        for path in ["src/b.rs", "lib/a.rs"] {
            assert_eq!(both(&folder, path), Ok(None));
        }
    }

    #[test]
    fn no_path_and_no_link_leads_outside() {
        let (base, folder) = folder();
        let inside = base.path().join("in");
        symlink("../../secret", inside.join("src/out")).unwrap();
        symlink(base.path().join("secret").canonicalize().unwrap(), inside.join("out")).unwrap();
        symlink("..", inside.join("up")).unwrap();
        for path in ["../secret", "src/../../secret", "/etc/passwd", "src/out", "out", "up/secret", "up/in/src/a.rs"] {
            assert_eq!(both(&folder, path), Err(io::ErrorKind::PermissionDenied), "{path}");
        }
        assert_eq!(both(&folder, ""), Err(io::ErrorKind::InvalidInput));
        assert_eq!(both(&folder, "src/a\0.rs"), Err(io::ErrorKind::InvalidInput));
    }

    #[test]
    fn links_that_stay_inside_are_followed() {
        let (base, folder) = folder();
        let inside = base.path().canonicalize().unwrap().join("in");
        symlink("a.rs", inside.join("src/near")).unwrap();
        symlink(inside.join("src/a.rs"), inside.join("absolute")).unwrap();
        symlink("src", inside.join("dir")).unwrap();
        symlink("../src/near", inside.join("src/chain")).unwrap();
        for path in ["src/near", "absolute", "dir/a.rs", "src/chain"] {
            assert_eq!(both(&folder, path), Ok(Some(b"fn a() {}".to_vec())), "{path}");
        }
        symlink("loop", inside.join("loop")).unwrap();
        assert!(folder.read("loop", 10).is_err());
    }

    #[test]
    fn what_is_no_regular_file_is_refused_and_never_waited_for() {
        let (base, folder) = folder();
        let inside = base.path().join("in");
        rustix::fs::mkfifoat(rustix::fs::CWD, inside.join("fifo"), Mode::from_raw_mode(0o600)).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(inside.join("socket")).unwrap();
        for path in ["fifo", "socket"] {
            assert_eq!(both(&folder, path), Err(io::ErrorKind::InvalidInput), "{path}");
        }
        for path in ["src", ".", "src/.."] {
            assert_eq!(both(&folder, path), Err(io::ErrorKind::IsADirectory), "{path}");
        }
        assert_eq!(both(&folder, "src/a.rs/b"), Err(io::ErrorKind::NotADirectory));
    }

    #[test]
    fn a_file_over_the_cap_is_an_error_and_not_cut() {
        let (_base, folder) = folder();
        assert_eq!(folder.read("src/a.rs", 8).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
