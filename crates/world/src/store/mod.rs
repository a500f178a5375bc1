//! The storage.
//!
//! [`Store`] is the interface, the sum of the small ones in `traits`; `sqlite` is the embedded database, and `postgres`
//! the one that several machines share. A store knows rows, not meanings: inputs are opaque texts to it. Only a store
//! can grant the [`Lease`] that is needed to run a session, and every write of a session's owner must show it. A commit
//! under a lost lease changes nothing.

mod access;
mod audit;
mod audit_key;
mod encoding;
mod error;
mod local_files;
mod memory;
mod owner;
mod postgres;
mod recorded_calls;
mod session_query;
mod sqlite;
mod tasks;
mod traits;

use std::collections::HashSet;

use trimtab_vocab::event::Status;
use trimtab_vocab::{CallId, CheckpointId, Event, FileSet, MemoryEntry, RefKey, RequestId, SessionId, Time};

pub use access::{TokenKind, TokenRow};
pub use audit::{AuditCheck, AuditEntry, AuditLine};
pub use audit_key::AuditKey;
pub use error::{ServerTrouble, StoreError};
pub use local_files::LocalFiles;
pub use memory::MemoryChange;
pub use owner::Liveness;
pub use postgres::PostgresStore;
pub use recorded_calls::RecordedCall;
pub use session_query::SessionQuery;
pub use sqlite::SqliteStore;
pub use tasks::{TaskBook, TaskChange, TaskChanged, TaskKey, TaskWork, tasks_session};
pub use traits::{
    AccessStore, AuditStore, BlobStore, ChangeFeed, InboxStore, JobStore, LeaseStore, LogStore, RecallStore, RuleStore,
    SessionStore, Store, TaskStore, WritingStore,
};

/// The name of bytes by their content: BLAKE3, in hex.
pub fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Only the user may look into the data folder: it holds conversations.
fn make_private_folder(folder: &std::path::Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// The result of a store operation.
pub type Result<T> = std::result::Result<T, StoreError>;

/// The right to run a session. Its holder is the only owner; a newer lease makes it void.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    session: SessionId,
    token: u64,
}

impl Lease {
    /// For stores: the lease with this token of this session.
    pub fn new(session: SessionId, token: u64) -> Self {
        Self { session, token }
    }

    /// The session that may be run.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// Grows with each new owner.
    pub fn token(&self) -> u64 {
        self.token
    }
}

/// A session as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    pub id: SessionId,
    /// The session's folder.
    pub folder: String,
    /// Its name; empty before the first request.
    pub title: String,
    /// When it was made.
    pub created: Time,
    /// When the session last changed.
    pub updated: Time,
    /// The session that was handed off to it or that it was forked from, whether or not it still exists.
    pub parent: Option<SessionId>,
    /// It was forked from its parent: this many facts at its beginning are the parent's.
    pub forked: Option<u64>,
}

impl SessionRow {
    /// A session that begins now, and has no parent.
    pub fn new(id: SessionId, folder: String, title: String, now: Time) -> Self {
        Self { id, folder, title, created: now, updated: now, parent: None, forked: None }
    }
}

/// A session that begins with a log: one that another is handed off to, or a fork.
#[derive(Debug, Clone, PartialEq)]
pub struct SeededSession {
    /// How lists show it.
    pub row: SessionRow,
    /// Its facts so far, already numbered.
    pub events: Vec<Event>,
    /// Stored bytes of its parent that it needs, each with the name that it has there and here.
    pub shares: Vec<(RefKey, RefKey)>,
}

/// An input to put into a session's inbox, with what must become durable together with it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NewInput {
    /// The input, as its reader understands it.
    pub payload: String,
    /// The request that this input begins, for the list of jobs.
    pub job: Option<NewJob>,
    /// Texts to store.
    pub keeps: Vec<(RefKey, String)>,
    /// It only tidies up: the session was not used by it.
    pub housekeeping: bool,
    /// It comes from work that the session's owner is doing, and nothing follows from it until the owner takes it up. It
    /// survives the end of the process at once, and a power failure once the commit that takes it up is durable.
    pub relaxed_durability: bool,
}

/// A request as the list of jobs begins with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    pub request: RequestId,
    /// The first words.
    pub text: String,
}

/// An input that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputRow {
    /// Its place in the order of arrival.
    pub id: i64,
    /// The input.
    pub payload: String,
}

/// What one step of a session's owner makes durable, all of it or nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Commit {
    /// Inputs that were taken up.
    pub consumed: Vec<i64>,
    /// Facts, in order, already numbered.
    pub events: Vec<Event>,
    /// Texts to store.
    pub keeps: Vec<(RefKey, String)>,
    /// Of the session's contents of files, the names of those that are still needed; the others go.
    pub keep_only: Option<HashSet<RefKey>>,
    /// Calls whose partial texts are no longer needed.
    pub closed_calls: Vec<CallId>,
    /// Requests that ended.
    pub finished: Vec<(RequestId, Status)>,
    /// Requests that had ended and continue.
    pub reopened: Vec<RequestId>,
    /// New checkpoints, each as the event that opened it.
    pub opened: Vec<(CheckpointId, Event)>,
    /// Checkpoints that were answered or dropped.
    pub resolved: Vec<CheckpointId>,
    /// Requests that ended permanently, without an open question.
    pub closed: Vec<RequestId>,
    /// The session's new name.
    pub title: Option<String>,
    /// Sessions that it makes.
    pub children: Vec<SeededSession>,
    /// Inputs for other sessions, those that it makes among them.
    pub tell: Vec<(Recipient, NewInput)>,
    /// Requests that wait for the user's answer: they use no slot until they ask for one again.
    pub resting: Vec<RequestId>,
    /// Rules that the user made or removed.
    pub rules: RuleChange,
    /// Memories for later sessions.
    pub remembered: Vec<MemoryEntry>,
    /// Its lines of the audit trail.
    pub audit: Vec<AuditEntry>,
    /// Files that the session is about to write, so that they are not attributed to a command that runs meanwhile.
    pub writing: Vec<FileSet>,
    /// A move of its history is under way: should it be cut off here, the files are half moved until it is finished.
    pub moving: bool,
    /// It is an intermediate commit: nothing outside depends on it, and its inputs can be found again. It survives
    /// the end of the process at once, and a power failure once a durable commit follows, so waiting for the disk is
    /// pointless.
    pub relaxed_durability: bool,
}

/// Whom an input is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipient {
    /// This session. Ignored if it no longer exists.
    Session(SessionId),
    /// Every other session that has something to do or to ask.
    OtherBusy,
}

/// Rules that the user made or removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleChange {
    /// New ones, as their reader understands them.
    pub added: Vec<String>,
    /// Removed rules.
    pub removed: Vec<String>,
}

/// A request as the list of jobs shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    pub request: RequestId,
    /// The session that it belongs to.
    pub session: SessionId,
    /// The session's folder.
    pub folder: String,
    /// Its first words.
    pub text: String,
    /// Whether it waits, runs, or has ended.
    pub state: JobState,
    /// When it came.
    pub created: Time,
    /// It came to a server, or one has run it.
    pub served: bool,
}

/// The status of a request in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// It has not begun.
    Queued,
    /// A process works on it.
    Running,
    /// It began, and its owner is gone.
    Interrupted,
    /// It ended.
    Finished(Status),
}

/// The file contents that a session stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSpace {
    pub session: SessionId,
    pub contents: u64,
    pub bytes: u64,
    /// The bytes that they take on the disk. What two sessions share counts for both.
    pub packed: u64,
}

/// The answer to a request to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Go.
    Granted,
    /// Wait; this many run or wait before it.
    Held { ahead: u32 },
}

/// The answer to a request to own a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It is yours.
    Granted(Lease),
    /// Another process runs it.
    Held {
        /// Who, for the user to read.
        by: String,
    },
}
