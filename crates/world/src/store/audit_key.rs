//! The key of the audit trail. It has its own file, so that access to the database alone is not enough to forge the
//! chain.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::clock;

/// The file in the data folder.
const FILE: &str = "audit.key";
/// Marks hashes that were made with a key, and the form of the file.
const MARK: &str = "k1";

/// The key, and from which line on it is used. Lines before it were written by earlier versions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AuditKey {
    key: [u8; 32],
    from: u64,
}

impl std::fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AuditKey(from line {})", self.from)
    }
}

impl AuditKey {
    /// The hash of a line.
    pub(super) fn hash(&self, line: &str) -> String {
        format!("{MARK}:{}", blake3::keyed_hash(&self.key, line.as_bytes()).to_hex())
    }

    /// Whether a line must have a hash that was made with the key.
    pub(super) fn covers(&self, n: u64) -> bool {
        n >= self.from
    }

    /// The key of the trail in `folder`, if there is one.
    pub(super) fn find(folder: &Path) -> io::Result<Option<Self>> {
        read(&folder.join(FILE))
    }

    /// Creates the key of the trail in `folder`, unless another process just did. `written`: existing lines. None if
    /// the system has no random numbers.
    pub(super) fn make(folder: &Path, written: u64) -> io::Result<Option<Self>> {
        let file = folder.join(FILE);
        let Some(key) = Self::fresh(written) else { return Ok(None) };
        make(folder, &file, &format!("{}\n", key.text()))?;
        read(&file)
    }

    /// A new key for the lines after those that exist. None if the system has no random numbers.
    pub(super) fn fresh(written: u64) -> Option<Self> {
        Self::parse(&format!("{MARK} {} {}", clock::secret()?, written + 1))
    }

    /// The key as it is kept.
    pub(super) fn text(&self) -> String {
        format!("{MARK} {} {}", blake3::Hash::from_bytes(self.key).to_hex(), self.from)
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let (mark, key, from) = (words.next()?, words.next()?, words.next()?);
        let key = *blake3::Hash::from_hex(key).ok()?.as_bytes();
        Some(Self { key, from: from.parse().ok()? }).filter(|_| mark == MARK)
    }
}

/// Whether a hash says that it was made with a key.
pub(super) fn is_keyed(hash: &str) -> bool {
    hash.strip_prefix(MARK).is_some_and(|rest| rest.starts_with(':'))
}

fn read(file: &Path) -> io::Result<Option<AuditKey>> {
    match fs::read_to_string(file) {
        Ok(text) => match AuditKey::parse(&text) {
            Some(key) => Ok(Some(key)),
            None => Err(io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged", file.display()))),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the file whole or not at all; of two processes that make it, the first one wins.
#[expect(clippy::disallowed_methods, reason = "the store removes its own")]
fn make(folder: &Path, file: &Path, text: &str) -> io::Result<()> {
    let number = getrandom::u64().map_err(io::Error::other)?;
    let draft = folder.join(format!("{FILE}.{number:016x}"));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut written = options.open(&draft)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    let linked = fs::hard_link(&draft, file);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_made_once_is_private_and_is_found_again() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(AuditKey::find(folder.path()).expect("looked for"), None);
        let made = AuditKey::make(folder.path(), 4).expect("made").expect("random numbers");
        assert_eq!(AuditKey::make(folder.path(), 9).expect("made before"), Some(made));
        assert_eq!(AuditKey::find(folder.path()).expect("read"), Some(made));
        assert!(made.covers(5) && !made.covers(4));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(folder.path().join(FILE)).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        assert_eq!(fs::read_dir(folder.path()).expect("reads").count(), 1, "no draft is left");
        fs::write(folder.path().join(FILE), "k1 short 5").expect("writes");
        assert!(AuditKey::find(folder.path()).is_err(), "a damaged key is not replaced without a word");
    }
}
