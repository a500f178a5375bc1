//! Errors of the store.

use std::path::Path;

use trimtab_vocab::{Problem, ProblemKind, SessionId};

/// Why a store could not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The folder or file cannot be written.
    #[error("the data folder cannot be written: {0}")]
    ReadOnly(String),
    /// The disk is full.
    #[error("the disk of the data folder is full")]
    Full,
    /// A newer version wrote it.
    #[error("the data folder was written by a newer version (format {found}, this version knows {known})")]
    Newer {
        /// The format found.
        found: u32,
        /// The newest format this version knows.
        known: u32,
    },
    /// It is damaged.
    #[error("the database is damaged: {0}")]
    Corrupt(String),
    /// Something in it was written by a version that knows more.
    #[error("the data folder contains data that this version cannot read: {0}")]
    Unreadable(String),
    /// Another process keeps it locked.
    #[error("another process keeps the database locked")]
    Locked,
    /// Another process owns the session now.
    #[error("the session is being run by another process")]
    LeaseLost,
    /// The session is being run and cannot be deleted.
    #[error("the session is being run by {0}")]
    InUse(String),
    /// No session has this ID.
    #[error("unknown session {0}")]
    NoSession(SessionId),
    /// It already exists.
    #[error("there is one already")]
    Taken,
    /// The database server is not there, or refuses.
    #[error("{}", .0.message)]
    Server(ServerTrouble),
    /// Something else.
    #[error("the data folder cannot be used: {0}")]
    Io(String),
}

/// What is wrong with a database server, in words for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTrouble {
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl StoreError {
    /// The error as a user meets it.
    pub fn problem(&self, folder: &Path) -> Problem {
        let place = folder.display();
        let hint = match self {
            Self::ReadOnly(_) => format!("Make {place} writable, or set TRIMTAB_HOME to a folder that is."),
            Self::Full => {
                format!("Free some space on the disk of {place}, and run the command again. Nothing was lost.")
            }
            Self::Newer { .. } => {
                format!("Update Trimtab, or set TRIMTAB_HOME to another folder. {place} was not changed.")
            }
            Self::Corrupt(_) => format!(
                "Run `trimtab doctor` for details. The file was not changed. Move {place}/trimtab.db away to start over, or copy it and try `sqlite3 trimtab.db .recover`."
            ),
            Self::Unreadable(_) => format!("Update Trimtab. {place} was not changed."),
            Self::Locked => "Wait for the other process or stop it, and run the command again.".into(),
            Self::LeaseLost | Self::InUse(_) => {
                "`trimtab jobs` lists running requests. Wait for the process to end, or stop it.".into()
            }
            Self::NoSession(_) => "`trimtab sessions list --all` lists all sessions.".into(),
            Self::Taken => "Choose another name.".into(),
            Self::Server(trouble) => trouble.hint.clone(),
            Self::Io(_) => format!("Check {place}, then run `trimtab doctor`."),
        };
        let kind = match self {
            Self::Locked | Self::LeaseLost | Self::InUse(_) => ProblemKind::Busy,
            Self::NoSession(_) => ProblemKind::NotFound,
            Self::Taken => ProblemKind::Usage,
            _ => ProblemKind::Store,
        };
        let mut message = self.to_string();
        if let Some(first) = message.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        Problem::new(kind, format!("{message}.")).hint(hint)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        let text = error.to_string();
        match error.sqlite_error_code() {
            Some(Code::ReadOnly | Code::CannotOpen | Code::PermissionDenied) => Self::ReadOnly(text),
            Some(Code::DiskFull) => Self::Full,
            Some(Code::DatabaseCorrupt | Code::NotADatabase) => Self::Corrupt(text),
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Self::Locked,
            _ => Self::Io(text),
        }
    }
}
