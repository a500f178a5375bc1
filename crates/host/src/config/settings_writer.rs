//! Writes the user's settings file: one at a time, and whole.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The one that changes the user's settings file now. Another one waits, so that neither loses what the other has written.
#[derive(Debug)]
pub(super) struct SettingsWriter {
    /// Where the file is. A link stays one.
    file: PathBuf,
    _lock: Option<File>,
}

/// Bytes of a settings file at most.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// How long another one may take to change the file.
const PATIENCE: Duration = Duration::from_secs(5);
/// Links that are followed.
const MOST_LINKS: usize = 16;

#[expect(clippy::disallowed_methods, reason = "the settings are the person's, who asks for this")]
impl SettingsWriter {
    pub(super) fn open(file: &Path) -> std::io::Result<Self> {
        let mut file = file.to_owned();
        for _ in 0..MOST_LINKS {
            let Ok(target) = std::fs::read_link(&file) else { break };
            file = file.parent().map(|folder| folder.join(&target)).unwrap_or(target);
        }
        if file.is_symlink() {
            return Err(std::io::Error::other("its links lead nowhere"));
        }
        let Some(folder) = file.parent() else { return Err(ErrorKind::InvalidInput.into()) };
        std::fs::create_dir_all(folder)?;
        let lock = lock_folder(folder)?;
        Ok(Self { file, _lock: lock })
    }

    /// The text of the file; empty if there is none. Only a regular file is read, which never blocks.
    pub(super) fn read(&self) -> std::io::Result<String> {
        match std::fs::metadata(&self.file) {
            Ok(known) if !known.is_file() => return Err(std::io::Error::other("it is not a regular file")),
            Ok(known) if known.len() > MOST_BYTES => return Err(ErrorKind::FileTooLarge.into()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(String::new()),
            _ => {}
        }
        std::fs::read_to_string(&self.file)
    }

    /// The file is there whole before and after. One that the user has made read-only stays as it is.
    pub(super) fn write(&self, text: &str) -> std::io::Result<()> {
        use std::io::Write;
        let known = std::fs::metadata(&self.file).ok();
        if known.as_ref().is_some_and(|known| known.permissions().readonly()) {
            return Err(std::io::Error::new(ErrorKind::PermissionDenied, "it is read-only"));
        }
        let draft = self.file.with_file_name(format!(".config.toml.{}", std::process::id()));
        let written = (|| {
            let mut out = std::fs::OpenOptions::new().create_new(true).write(true).open(&draft)?;
            if let Some(known) = known {
                out.set_permissions(known.permissions())?;
            }
            out.write_all(text.as_bytes())?;
            out.sync_all()?;
            std::fs::rename(&draft, &self.file)
        })();
        if written.is_err() {
            let _ = std::fs::remove_file(&draft);
        }
        written
    }
}

/// Makes another file of the user. One that is there with another content is never replaced.
pub(crate) fn create_beside(file: &Path, text: &str) -> std::io::Result<()> {
    let writer = SettingsWriter::open(file)?;
    match std::fs::read(&writer.file) {
        Err(error) if error.kind() == ErrorKind::NotFound => writer.write(text),
        Ok(there) if there == text.as_bytes() => Ok(()),
        Ok(_) | Err(_) => Err(std::io::Error::new(ErrorKind::AlreadyExists, "it is there already")),
    }
}

/// Adds a part to the end of another file of the user. One that is not text stays as it is.
pub(crate) fn append_beside(file: &Path, part: &str) -> std::io::Result<()> {
    let writer = SettingsWriter::open(file)?;
    let before = writer.read()?;
    let gap = if before.is_empty() || before.ends_with("\n\n") { "" } else { "\n" };
    writer.write(&format!("{before}{gap}{part}"))
}

/// Locks the folder of the file, because the file itself is replaced. Where folders cannot be locked, nobody waits.
fn lock_folder(folder: &Path) -> std::io::Result<Option<File>> {
    let Ok(folder) = File::open(folder) else { return Ok(None) };
    let start = Instant::now();
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(Some(folder)),
            Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(TryLockError::WouldBlock) => return Err(std::io::Error::other("another program is changing it")),
            Err(TryLockError::Error(_)) => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_is_neither_replaced_nor_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("AGENTS.md");
        append_beside(&file, "a\n").expect("made");
        append_beside(&file, "b\n").expect("extended");
        assert_eq!(std::fs::read_to_string(&file).expect("there"), "a\n\nb\n");
        create_beside(&file, "a\n\nb\n").expect("the same");
        for content in [&b"other"[..], b"not UTF-8: \xe9"] {
            std::fs::write(&file, content).expect("written");
            assert!(create_beside(&file, "new").is_err());
            assert_eq!(std::fs::read(&file).expect("there"), content);
        }
        assert!(append_beside(&file, "new").is_err(), "its text would be lost");
        assert_eq!(std::fs::read(&file).expect("there"), b"not UTF-8: \xe9");
    }

    #[test]
    fn a_link_to_the_settings_stays_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let (real, link) = (folder.path().join("real.toml"), folder.path().join("config.toml"));
        std::fs::write(&real, "").expect("written");
        std::os::unix::fs::symlink(&real, &link).expect("linked");
        let writer = SettingsWriter::open(&link).expect("opened");
        writer.write("model = \"a/b\"\n").expect("kept");
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&real).expect("there"), "model = \"a/b\"\n");
    }
}
