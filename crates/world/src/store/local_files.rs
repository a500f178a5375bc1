//! Small files that a surface keeps in the data folder: drafts and the input history.
//!
//! They are not facts of a session. A file is written whole or not at all, even if the process is killed, and only
//! its owner can read it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Larger files are not read: nothing that was kept here is that large.
const LARGEST: u64 = 16 * 1024 * 1024;
/// Files that may be swept away under our hands before we give up.
const TRIES: u32 = 20;

/// The drawer of a data folder.
#[derive(Debug, Clone)]
pub struct LocalFiles {
    folder: PathBuf,
}

impl LocalFiles {
    /// The drawer of this data folder; nothing is made before something is put into it.
    pub fn new(data: &Path) -> Self {
        Self { folder: data.join("drawer") }
    }

    /// The name of a file for something that has a name of any kind, such as a folder.
    pub fn name(kind: &str, thing: &str) -> String {
        format!("{kind}-{}", &blake3::hash(thing.as_bytes()).to_hex()[..24])
    }

    /// The text under a name; `None` if there is none, or it cannot be read.
    pub fn read(&self, name: &str) -> Option<String> {
        self.try_read(name).ok().flatten()
    }

    /// The same, and why it cannot be read; `None` only if nothing is kept.
    pub fn try_read(&self, name: &str) -> io::Result<Option<String>> {
        let file = match File::open(self.path(name)?) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        file.take(LARGEST).read_to_string(&mut text)?;
        Ok(Some(text))
    }

    /// Waits until no other process changes what is kept under a name. The lock ends with the file.
    pub fn lock(&self, name: &str) -> io::Result<File> {
        // Not the file itself, because each change puts another one in its place.
        let path = self.path(&format!("{name}.lock"))?;
        self.make()?;
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        let file = private(&mut options).open(path)?;
        file.lock()?;
        Ok(file)
    }

    /// Keeps a text under a name, in the place of what was there.
    pub fn write(&self, name: &str, text: &str) -> io::Result<()> {
        self.put(name, text.as_bytes()).map(drop)
    }

    /// Keeps bytes under a name, in the place of what was there; says where they are.
    pub fn put(&self, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        use io::ErrorKind::{AlreadyExists, NotFound};
        let path = self.path(name)?;
        self.make()?;
        self.sweep();
        let mut tries = 0;
        loop {
            let draft = self.draft(name);
            match replace(&draft, &path, bytes) {
                Ok(()) => return Ok(path),
                // A cleanup took the unlocked file for an abandoned one, or a process with the same ID in another
                // container writes a draft with the same name.
                Err(error) if tries < TRIES && matches!(error.kind(), NotFound | AlreadyExists) => tries += 1,
                Err(error) => {
                    // A disk that is full shall not be filled with halves.
                    if error.kind() != AlreadyExists {
                        let _ = remove(&draft);
                    }
                    return Err(error);
                }
            }
        }
    }

    /// A unique name for every write, because concurrent writers must not share a file.
    fn draft(&self, name: &str) -> PathBuf {
        static WRITES: AtomicU64 = AtomicU64::new(0);
        let number = WRITES.fetch_add(1, Ordering::Relaxed);
        self.folder.join(format!(".{name}.{}.{number}", std::process::id()))
    }

    /// Removes what processes have left behind that were killed while they wrote.
    fn sweep(&self) {
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_half = entry.file_name().as_encoded_bytes().starts_with(b".");
            if is_half && File::open(&path).is_ok_and(|file| file.try_lock().is_ok()) {
                let _ = remove(&path);
            }
        }
    }

    /// Adds a line to what is kept under a name.
    pub fn append(&self, name: &str, line: &str) -> io::Result<()> {
        let path = self.path(name)?;
        self.make()?;
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        private(&mut options).open(&path)?.write_all(format!("{line}\n").as_bytes())
    }

    /// Removes the file with this name.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match remove(&self.path(name)?) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            ended => ended,
        }
    }

    fn make(&self) -> io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)
    }

    fn path(&self, name: &str) -> io::Result<PathBuf> {
        let is_plain = !name.is_empty()
            && !name.starts_with('.')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'));
        match is_plain {
            true => Ok(self.folder.join(name)),
            false => Err(io::Error::new(io::ErrorKind::InvalidInput, "no name for a file")),
        }
    }
}

/// Writes a file beside another one and puts it in its place. It is locked meanwhile: who writes it lives.
fn replace(draft: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    let mut file = private(&mut options).open(draft)?;
    file.lock()?;
    file.write_all(bytes)?;
    file.sync_data()?;
    rename(draft, path)
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

#[expect(clippy::disallowed_methods, reason = "what is in the drawer is the store's own")]
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}

#[expect(clippy::disallowed_methods, reason = "what is in the drawer is the store's own")]
fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_there_whole_private_and_gone_when_removed() {
        let data = tempfile::tempdir().expect("a folder");
        let local_files = LocalFiles::new(data.path());
        let name = LocalFiles::name("draft", "/any/folder name");
        assert_eq!(local_files.read(&name), None);
        local_files.write(&name, "one").expect("written");
        local_files.write(&name, "two").expect("written");
        assert_eq!(local_files.read(&name).as_deref(), Some("two"));
        local_files.append(&name, " lines").expect("written");
        assert_eq!(local_files.read(&name).as_deref(), Some("two lines\n"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
            assert_eq!((mode(&local_files.folder), mode(&local_files.folder.join(&name))), (0o700, 0o600));
        }
        assert_eq!(std::fs::read_dir(&local_files.folder).expect("there").count(), 1, "no drafts are left behind");
        local_files.remove(&name).expect("removed");
        local_files.remove(&name).expect("nothing to do");
        assert_eq!(local_files.read(&name), None);
    }

    #[test]
    fn a_name_cannot_lead_elsewhere() {
        let data = tempfile::tempdir().expect("a folder");
        let local_files = LocalFiles::new(data.path());
        for name in ["", ".", "..", "../x", "a/b", "a\0", ".hidden"] {
            assert!(local_files.write(name, "x").is_err(), "{name:?}");
            assert_eq!(local_files.read(name), None);
        }
    }

    #[test]
    fn what_a_killed_writer_left_behind_is_swept_away_and_a_living_ones_is_not() {
        let data = tempfile::tempdir().expect("a folder");
        let local_files = LocalFiles::new(data.path());
        local_files.write("draft-1", "one").expect("kept");
        let folder = data.path().join("drawer");
        let alive = File::create(folder.join(".draft-2.98")).expect("a file");
        alive.lock().expect("is locked");
        std::fs::write(folder.join(".draft-1.99"), "ha").expect("a file");
        local_files.write("draft-1", "two").expect("kept");
        let mut left: Vec<_> =
            std::fs::read_dir(&folder).expect("a folder").flatten().map(|it| it.file_name()).collect();
        left.sort();
        assert_eq!(left, [".draft-2.98", "draft-1"]);
    }

    #[test]
    fn threads_that_write_the_same_name_each_keep_a_whole_text() {
        let data = tempfile::tempdir().expect("a folder");
        let texts: Vec<String> = (0..8).map(|number| format!("{number}").repeat(50_000 + number)).collect();
        std::thread::scope(|scope| {
            for text in &texts {
                let local_files = LocalFiles::new(data.path());
                scope.spawn(move || local_files.write("same", text).expect("written"));
            }
        });
        let local_files = LocalFiles::new(data.path());
        assert!(texts.contains(&local_files.read("same").expect("a text")));
        assert_eq!(std::fs::read_dir(&local_files.folder).expect("there").count(), 1, "no drafts are left behind");
    }

    #[test]
    fn a_lock_is_held_until_its_file_is_closed() {
        let data = tempfile::tempdir().expect("a folder");
        let local_files = LocalFiles::new(data.path());
        let held = local_files.lock("notes").expect("locked");
        let other = File::open(local_files.folder.join("notes.lock")).expect("there");
        assert!(other.try_lock().is_err());
        local_files.write("notes", "one").expect("written");
        drop(held);
        assert!(other.try_lock().is_ok());
        assert_eq!(local_files.try_read("notes").expect("readable").as_deref(), Some("one"));
        assert_eq!(local_files.try_read("other").expect("nothing"), None);
    }
}
