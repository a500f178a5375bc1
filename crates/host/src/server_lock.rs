//! One server per data folder.
//!
//! The server holds a locked file while it lives, and the kernel releases the lock when the process ends in any way.
//! The file has the server's address, so that other commands can show it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use trimtab_vocab::{Problem, ProblemKind};

/// The right to serve a data folder, for as long as it is held.
#[derive(Debug)]
pub struct ServerLock {
    file: File,
}

/// How long a look may take, and how often one may come in between.
const RETRY_DELAY: Duration = Duration::from_millis(10);
const RETRIES: u32 = 5;

fn path(data: &Path) -> PathBuf {
    data.join("server")
}

impl ServerLock {
    /// Takes it; refused while another server runs.
    pub fn take(data: &Path) -> Result<Self, Problem> {
        let unusable = |error: std::io::Error| {
            Problem::new(ProblemKind::Store, format!("{} cannot be used: {error}.", path(data).display()))
                .hint("Check the data folder with `trimtab doctor`.")
        };
        let mut options = OpenOptions::new();
        options.create(true).read(true).write(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path(data)).map_err(unusable)?;
        let mut taken = file.try_lock();
        for _ in 0..RETRIES {
            // A process that checks for a server holds the lock for a moment.
            if !matches!(taken, Err(TryLockError::WouldBlock)) {
                break;
            }
            std::thread::sleep(RETRY_DELAY);
            taken = file.try_lock();
        }
        match taken {
            Ok(()) => Ok(Self { file }),
            Err(TryLockError::Error(error)) => Err(unusable(error)),
            Err(TryLockError::WouldBlock) => {
                let there = running(data).map(|url| format!(" at {url}")).unwrap_or_default();
                Err(Problem::new(
                    ProblemKind::Busy,
                    format!("A server is already running for this data folder{there}."),
                )
                .hint("Use it (`trimtab token login` creates a link), or stop it first."))
            }
        }
    }

    /// Says where the server is.
    pub fn tell(&mut self, url: &str) -> std::io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(url.as_bytes())?;
        self.file.flush()
    }
}

/// Where the server of a data folder is, if one runs.
pub fn running(data: &Path) -> Option<String> {
    let file = File::open(path(data)).ok()?;
    if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
        return None;
    }
    let mut url = String::new();
    file.take(1000).read_to_string(&mut url).ok()?;
    (!url.is_empty()).then_some(url)
}
