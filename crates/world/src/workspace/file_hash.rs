//! The hash of a file's content, for files that must be the same as before.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::{FileType, Mode};

use super::read::LOOKING;

/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;

/// The hash of a regular file of at most `most` bytes. Links are followed, and nothing blocks.
pub fn hash_file(path: &Path, most: u64) -> io::Result<String> {
    let fd = rustix::fs::open(path, LOOKING, Mode::empty())?;
    let stat = rustix::fs::fstat(&fd)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut file = File::from(fd).take(most.saturating_add(1));
    let (mut hasher, mut piece, mut total) = (blake3::Hasher::new(), vec![0; PIECE], 0_u64);
    loop {
        let count = file.read(&mut piece)?;
        if count == 0 {
            return Ok(hasher.finalize().to_hex().to_string());
        }
        total += count as u64;
        if total > most {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
        }
        hasher.update(&piece[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_follows_the_content_and_is_bounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a");
        std::fs::write(&path, "one").expect("writes");
        let first = hash_file(&path, 3).expect("a hash");
        assert_eq!(first, crate::store::hash(b"one"));
        std::fs::write(&path, "two").expect("writes");
        assert_ne!(hash_file(&path, 3).expect("a hash"), first);
        assert!(hash_file(&path, 2).is_err(), "too large");
        assert!(hash_file(folder.path(), 3).is_err(), "a folder");
    }
}
