//! Where everything is kept.
//!
//! [`Store`] is the one interface; `sqlite` is the embedded database. A store knows rows, not
//! meanings: inputs are opaque texts to it, and whether a session may be run is a matter of
//! [`Lease`]s, which only a store can hand out and which every write of a session's owner must
//! show. A commit under a lost lease changes nothing.

mod access;
mod audit;
mod audit_key;
mod error;
mod local_files;
mod memory;
mod owner;
mod session_query;
mod sqlite;
mod tasks;

use std::collections::HashSet;

use async_trait::async_trait;
use trimtab_vocab::event::Status;
use trimtab_vocab::{
    CallId, CheckpointId, Event, FileSet, MemoryEntry, MemoryId, RefKey, RequestId, SessionId, Task, TaskId, Time,
};

pub use access::{TokenKind, TokenRow};
pub use audit::{AuditCheck, AuditEntry, AuditLine};
pub use audit_key::AuditKey;
pub use error::StoreError;
pub use local_files::LocalFiles;
pub use memory::MemoryChange;
pub use session_query::SessionQuery;
pub use sqlite::SqliteStore;
pub use tasks::{TaskBook, TaskChange, TaskChanged, TaskKey, TaskWork, tasks_session};

/// The name of bytes by their content: BLAKE3, in hex.
pub fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// What a store gives back.
pub type Result<T> = std::result::Result<T, StoreError>;

/// The right to run a session. Whoever holds it is its only owner; a newer lease makes it void.
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
    /// Names it.
    pub id: SessionId,
    /// Where it works.
    pub folder: String,
    /// Its name; empty before the first request.
    pub title: String,
    /// When it was made.
    pub created: Time,
    /// When something last happened.
    pub updated: Time,
    /// The session that was handed off to it or that it was forked from, whether or not it still exists.
    pub parent: Option<SessionId>,
    /// It was forked from its parent: so many facts at its beginning are that session's.
    pub forked: Option<u64>,
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
}

/// A request as the list of jobs begins with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// Names it.
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
    /// Requests that had ended and go on.
    pub reopened: Vec<RequestId>,
    /// What waits for a person now, each as the event that opened it.
    pub opened: Vec<(CheckpointId, Event)>,
    /// What no longer does.
    pub resolved: Vec<CheckpointId>,
    /// Requests that ended for good: nothing of them waits for a person any more.
    pub closed: Vec<RequestId>,
    /// The session's new name.
    pub title: Option<String>,
    /// Sessions that it makes.
    pub children: Vec<SeededSession>,
    /// Inputs for other sessions, those that it makes among them.
    pub tell: Vec<(Recipient, NewInput)>,
    /// Requests that can only go on once somebody answers: they take no slot until they ask for one again.
    pub resting: Vec<RequestId>,
    /// Rules that a person made or removed.
    pub rules: RuleChange,
    /// What its person said for good.
    pub remembered: Vec<MemoryEntry>,
    /// What the trail is told of it.
    pub audit: Vec<AuditEntry>,
    /// Files that the session is about to write: whoever watches a command meanwhile does not take them for its doing.
    pub writing: Vec<FileSet>,
    /// A move of its history is under way: should it be cut off here, the files are half moved until it is finished.
    pub moving: bool,
    /// It is a step on the way: nothing outside follows from it, and what led to it can be found again. It survives the
    /// process at once and the machine's power with the next one that is not; waiting for the disk would help nobody.
    pub relaxed_durability: bool,
}

/// Whom an input is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recipient {
    /// This session. Where it is no more, nobody is told.
    Session(SessionId),
    /// Every other session that has something to do or to ask.
    OtherBusy,
}

/// Rules that a person made or removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleChange {
    /// New ones, as their reader understands them.
    pub added: Vec<String>,
    /// Those that are no more.
    pub removed: Vec<String>,
}

/// A request as the list of jobs shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    /// Names it.
    pub request: RequestId,
    /// Where it belongs.
    pub session: SessionId,
    /// Where it works.
    pub folder: String,
    /// Its first words.
    pub text: String,
    /// How it stands.
    pub state: JobState,
    /// When it came.
    pub created: Time,
    /// It came to a server, or one has run it.
    pub served: bool,
}

/// How a request stands, as the store sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobState {
    /// It has not begun.
    Queued,
    /// Somebody works on it.
    Running,
    /// It began, and nobody works on it: its owner is gone.
    Interrupted,
    /// It ended.
    Finished(Status),
}

/// What a session holds of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSpace {
    /// The session.
    pub session: SessionId,
    /// How many contents.
    pub contents: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The bytes that they take on the disk. What two sessions share counts for both.
    pub packed: u64,
}

/// The answer to the wish to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Go.
    Granted,
    /// Wait; so many run or wait before it.
    Held {
        /// How many.
        ahead: u32,
    },
}

/// The answer to the wish to own a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It is yours.
    Granted(Lease),
    /// Somebody else runs it.
    Held {
        /// Who, for a person to read.
        by: String,
    },
}

/// Where everything is kept. Methods are atomic and durable when they return; a future that is
/// dropped early leaves the whole of its work done or none of it. Who owns and runs what (`claim`, `release`,
/// `admit`) and steps on the way ([`Commit::on_the_way`]) survive any end of the process, but perhaps not one of the
/// machine: nobody could make use of them then. Nothing durable is ever without what came before it.
#[async_trait]
pub trait Store: Send + Sync {
    /// Makes a session with its first inputs.
    async fn create_session(&self, row: SessionRow, inputs: Vec<NewInput>) -> Result<()>;
    /// Makes a session that begins with a log. [`StoreError::Taken`] when its name is in use; then nothing was done.
    async fn create_child(&self, child: SeededSession) -> Result<()>;
    /// One session.
    async fn session(&self, id: &SessionId) -> Result<Option<SessionRow>>;
    /// All sessions, those first that were used last, and of these the youngest; of one folder if it is given.
    async fn sessions(&self, folder: Option<&str>) -> Result<Vec<SessionRow>>;
    /// Those among them in which somebody said or was told what is looked for.
    async fn search(&self, folder: Option<&str>, wanted: SessionQuery) -> Result<Vec<SessionRow>>;
    /// Forgets a session and every text only it had. Refused while somebody runs it, and when its log has grown
    /// beyond `seen`. The session that was handed off to it, if there is one, gets `tell` as an input, and becomes
    /// the parent of those that it was handed off to itself. Forks have nothing to do with that.
    async fn delete_session(&self, id: &SessionId, seen: u64, tell: NewInput) -> Result<()>;

    /// Puts an input into a session's inbox, from anywhere. [`StoreError::Taken`] when it begins a request whose
    /// name is in use; then nothing was done.
    async fn enqueue(&self, session: &SessionId, input: NewInput) -> Result<()>;
    /// The inputs that wait, in order of arrival.
    async fn inbox(&self, session: &SessionId) -> Result<Vec<InputRow>>;

    /// Asks to own a session. Whoever asks again gets a new lease, and its old one is void.
    async fn claim(&self, session: &SessionId) -> Result<Claim>;
    /// Gives a session back.
    async fn release(&self, lease: &Lease) -> Result<()>;
    /// Makes a step durable.
    async fn commit(&self, lease: &Lease, commit: Commit) -> Result<()>;
    /// Asks for room among at most `limit` running requests. One that rests ([`Commit::resting`]) asks again.
    async fn admit(&self, lease: &Lease, request: &RequestId, limit: u32) -> Result<Admission>;

    /// Adds to what has come of a call's reply.
    async fn append_partial(&self, lease: &Lease, call: &CallId, text: &str) -> Result<()>;
    /// What has come of the replies of calls that are not closed.
    async fn partials(&self, session: &SessionId) -> Result<Vec<(CallId, String)>>;

    /// Facts after `after`, in order, at most `limit` of them.
    async fn events(&self, session: &SessionId, after: u64, limit: u32) -> Result<Vec<Event>>;
    /// The number of its last fact; 0 before the first.
    async fn last_seq(&self, session: &SessionId) -> Result<u64>;
    /// From now on this process is a server: what comes to it and what it runs is marked as its own.
    fn serve(&self) {}
    /// Requests, newest first; unfinished ones only, or all.
    async fn jobs(&self, all: bool) -> Result<Vec<JobRow>>;
    /// One request, if it was ever taken in.
    async fn job(&self, request: &RequestId) -> Result<Option<JobRow>>;
    /// What waits for a person, oldest first, each as the event that opened it.
    async fn checkpoints(&self) -> Result<Vec<Event>>;
    /// Stores bytes under a name, outside of any step: what they are is settled by a later one.
    async fn keep(&self, session: &SessionId, key: &RefKey, bytes: Vec<u8>) -> Result<()> {
        self.keep_all(session, vec![(key.clone(), bytes)]).await
    }
    /// Stores many, all of them or none.
    async fn keep_all(&self, session: &SessionId, keeps: Vec<(RefKey, Vec<u8>)>) -> Result<()>;
    /// What sessions hold of files that were read or written, for undo.
    async fn file_space(&self) -> Result<Vec<FileSpace>>;
    /// The names of all that a session has stored, in no order.
    async fn ref_keys(&self, session: &SessionId) -> Result<Vec<RefKey>>;
    /// Stored bytes; only those of a session, if one is given.
    async fn bytes(&self, session: Option<&SessionId>, key: &RefKey) -> Result<Option<Vec<u8>>>;
    /// The number of the last set of files that any session was about to write.
    async fn last_writing(&self) -> Result<u64>;
    /// The sets after that one which sessions other than this were about to write, in order. Only the latest are kept:
    /// they count while a command runs.
    async fn writings(&self, but: &SessionId, after: u64) -> Result<Vec<FileSet>>;
    /// The sets that this session was about to write, as far as they are kept.
    async fn own_writings(&self, session: &SessionId) -> Result<Vec<FileSet>>;
    /// Sessions of a folder that have nothing else to do and were moving their history when they were last heard of.
    async fn moving(&self, folder: &str) -> Result<Vec<SessionId>>;
    /// A stored text.
    async fn text(&self, key: &RefKey) -> Result<Option<String>> {
        let bytes = self.bytes(None, key).await?;
        let broken = |_| StoreError::Corrupt("a stored text is no text".into());
        bytes.map(|bytes| String::from_utf8(bytes).map_err(broken)).transpose()
    }

    /// A person's standing decisions, oldest first.
    async fn rules(&self) -> Result<Vec<String>>;
    /// Makes or removes some, and tells whoever must hear of it.
    async fn change_rules(&self, change: RuleChange, tell: Vec<(Recipient, NewInput)>) -> Result<()>;

    /// What is remembered beyond sessions, oldest first: the latest `limit` of what holds in a folder, or of all.
    async fn memories(&self, folder: Option<&str>, limit: u32) -> Result<Vec<MemoryEntry>>;
    /// One such thing.
    async fn memory(&self, id: &MemoryId) -> Result<Option<MemoryEntry>>;
    /// Adds, edits or deletes one; as it is then, or was until it was deleted. Nothing if there is none.
    async fn change_memory(&self, change: MemoryChange) -> Result<Option<MemoryEntry>>;

    /// A person's tasks; with their log, if it is wanted.
    async fn tasks(&self, with_log: bool) -> Result<TaskBook>;
    /// One of them.
    async fn task(&self, id: TaskId) -> Result<Option<Task>>;
    /// Those that have all these words, or words that begin so, in title, notes or tags; the best first.
    async fn search_tasks(&self, words: &str, limit: u32) -> Result<Vec<Task>>;
    /// Changes tasks: one transaction from the first look at them to the answer that is kept under the key.
    async fn change_tasks(&self, change: TaskChange) -> Result<TaskChanged>;

    /// Lines of the trail after the `after`th, in order, at most `limit` of them. What is added to it goes with what
    /// it tells of: a [`Commit`], a change of tasks or of what is remembered.
    async fn audit_lines(&self, after: u64, limit: u32) -> Result<Vec<AuditLine>>;
    /// How many lines were ever written.
    async fn audit_written(&self) -> Result<u64>;
    /// Adds a line about something that is told nowhere else.
    async fn add_audit(&self, entry: AuditEntry) -> Result<()>;
    /// The key that the lines are chained with; nothing: there is none.
    fn audit_key(&self) -> Option<AuditKey> {
        None
    }

    /// Makes a token known by the hash of its secret. [`StoreError::Taken`] when the name is in use.
    async fn add_token(&self, hash: &str, row: TokenRow) -> Result<()>;
    /// The token with this hash, whether or not it still holds.
    async fn token(&self, hash: &str) -> Result<Option<TokenRow>>;
    /// All of them, oldest first.
    async fn tokens(&self) -> Result<Vec<TokenRow>>;
    /// Puts another token in the place of a login, which is then used up. Whether there was one that holds.
    async fn exchange_token(&self, login: &str, hash: &str, row: TokenRow) -> Result<bool>;
    /// Forgets a token; whether there was one.
    async fn revoke_token(&self, name: &str) -> Result<bool>;

    /// Changes whenever another process has written something.
    async fn version(&self) -> Result<u64>;
    /// Looks for damage; says what it finds.
    async fn check(&self) -> Result<Vec<String>>;
}
