//! The operations of a store, by noun. [`Store`] is their sum, and what the rest of the program holds.
//!
//! Methods are atomic and durable when they return; a future that is dropped early has done all of its work or
//! nothing. Ownership (`claim`, `release`, `admit`), intermediate commits ([`Commit::relaxed_durability`]), results that
//! the owner is about to take up ([`NewInput::relaxed_durability`]), and bytes that are kept soon survive any end of the
//! process, but perhaps not a power failure, after which they are useless anyway. Nothing durable exists without what
//! came before it.

use std::time::Duration;

use async_trait::async_trait;
use trimtab_vocab::event::SubtaskFact;
use trimtab_vocab::{CallId, Event, Fact, FileSet, MemoryEntry, MemoryId, RefKey, RequestId, SessionId, Task, TaskId};

use super::{
    Admission, AuditEntry, AuditKey, AuditLine, Claim, Commit, FileSpace, InputRow, JobRow, Lease, MemoryChange,
    NewInput, Recipient, RecordedCall, Result, RuleChange, SeededSession, SessionQuery, SessionRow, StoreError,
    TaskBook, TaskChange, TaskChanged, TokenRow,
};

/// Sessions as rows.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Makes a session with its first inputs.
    async fn create_session(&self, row: SessionRow, inputs: Vec<NewInput>) -> Result<()>;
    /// Makes a session that begins with a log. Without a parent, it is as old as its row says. [`StoreError::Taken`] when its name is in use; then nothing was done.
    async fn create_child(&self, child: SeededSession) -> Result<()>;
    async fn session(&self, id: &SessionId) -> Result<Option<SessionRow>>;
    /// All sessions, those first that were used last, and of these the youngest; of one folder if it is given.
    async fn sessions(&self, folder: Option<&str>) -> Result<Vec<SessionRow>>;
    /// The sessions that match a query.
    async fn search(&self, folder: Option<&str>, wanted: SessionQuery) -> Result<Vec<SessionRow>>;
    /// Deletes a session and every text that only it had. Refused while a process runs it, and if its log has grown
    /// beyond `seen`. The session that was handed off to it, if any, gets `tell` as an input, and becomes the parent
    /// of the sessions that it was handed off to. Forks are not affected.
    async fn delete_session(&self, id: &SessionId, seen: u64, tell: NewInput) -> Result<()>;
}

/// Inputs that wait for the owner of a session.
#[async_trait]
pub trait InboxStore: Send + Sync {
    /// Puts an input into a session's inbox, from anywhere. [`StoreError::Taken`] when it begins a request whose
    /// name is in use; then nothing was done.
    async fn enqueue(&self, session: &SessionId, input: NewInput) -> Result<()>;
    /// The inputs that wait, in order of arrival.
    async fn inbox(&self, session: &SessionId) -> Result<Vec<InputRow>>;
}

/// Who may run what: owners of sessions, and room among the running requests. Which owners are alive, a store
/// asks its [`super::Liveness`].
#[async_trait]
pub trait LeaseStore: Send + Sync {
    /// Claims a session. A repeated claim gets a new lease, and the old one is void.
    async fn claim(&self, session: &SessionId) -> Result<Claim>;
    /// Gives a session back.
    async fn release(&self, lease: &Lease) -> Result<()>;
    /// Asks for room among at most `limit` running requests. One that rests ([`Commit::resting`]) asks again.
    async fn admit(&self, lease: &Lease, request: &RequestId, limit: u32) -> Result<Admission>;
    /// Whether a living process, this one or another, runs the session.
    async fn is_run(&self, session: &SessionId) -> Result<bool>;
    /// How long to wait before asking again for a lease that another process has, or for room.
    fn pace(&self) -> Duration {
        Duration::from_millis(50)
    }
    /// Makes this process a server: what it receives and runs is marked as its own.
    fn serve(&self) {}
}

/// Facts, and partial replies that are not facts yet.
#[async_trait]
pub trait LogStore: Send + Sync {
    /// Makes a step durable.
    async fn commit(&self, lease: &Lease, commit: Commit) -> Result<()>;
    /// Adds to what has come of a call's reply.
    async fn append_partial(&self, lease: &Lease, call: &CallId, text: &str) -> Result<()>;
    /// What has come of the replies of calls that are not closed.
    async fn partials(&self, session: &SessionId) -> Result<Vec<(CallId, String)>>;
    /// Facts after `after`, in order, at most `limit` of them.
    async fn events(&self, session: &SessionId, after: u64, limit: u32) -> Result<Vec<Event>>;
    /// The number of its last fact; 0 before the first.
    async fn last_seq(&self, session: &SessionId) -> Result<u64>;
    /// The last fact about the sub-task of a worker, in the log of the session that started it. Each worker asks several
    /// times at its start, so a store that can find the fact does better than to read all that came after it.
    async fn last_subtask(&self, session: &SessionId, worker: &SessionId) -> Result<Option<SubtaskFact>> {
        const RECENT: u32 = 100;
        let mut to = self.last_seq(session).await?;
        // What came since this look is read with the last ones.
        let mut most = 1_000;
        while to > 0 {
            let from = to.saturating_sub(u64::from(RECENT));
            let events = self.events(session, from, most).await?;
            if let Some(found) = events.into_iter().rev().find_map(|event| about_worker(event, worker)) {
                return Ok(Some(found));
            }
            (to, most) = (from, RECENT);
        }
        Ok(None)
    }
    /// What the latest model calls came to, as the last `facts` facts of the `sessions` that were used last say.
    async fn recent_calls(&self, sessions: u32, facts: u32) -> Result<Vec<RecordedCall>>;
}

/// Requests as lists show them, and what they ask the user.
#[async_trait]
pub trait JobStore: Send + Sync {
    /// Requests, newest first; unfinished ones only, or all.
    async fn jobs(&self, all: bool) -> Result<Vec<JobRow>>;
    /// One request, if it was ever taken in.
    async fn job(&self, request: &RequestId) -> Result<Option<JobRow>>;
    /// Whether a session has a request that has not ended.
    async fn has_open_request(&self, session: &SessionId) -> Result<bool>;
    /// What waits for the user, oldest first, each as the event that opened it.
    async fn checkpoints(&self) -> Result<Vec<Event>>;
}

/// Bytes by name, each stored once.
#[async_trait]
pub trait BlobStore: Send + Sync {
    /// Stores bytes under a name, outside of any step: what they are is settled by a later one.
    async fn keep(&self, session: &SessionId, key: &RefKey, bytes: Vec<u8>) -> Result<()> {
        self.keep_all(session, vec![(key.clone(), bytes)]).await
    }
    /// Stores many, all of them or none.
    async fn keep_all(&self, session: &SessionId, keeps: Vec<(RefKey, Vec<u8>)>) -> Result<()>;
    /// The same, for bytes that only something later refers to. They are durable with it at the latest.
    async fn keep_soon(&self, session: &SessionId, keeps: Vec<(RefKey, Vec<u8>)>) -> Result<()> {
        self.keep_all(session, keeps).await
    }
    /// What sessions hold of files that were read or written, for undo.
    async fn file_space(&self) -> Result<Vec<FileSpace>>;
    /// The names of all that a session has stored, in no order.
    async fn ref_keys(&self, session: &SessionId) -> Result<Vec<RefKey>>;
    /// Stored bytes; only those of a session, if one is given.
    async fn bytes(&self, session: Option<&SessionId>, key: &RefKey) -> Result<Option<Vec<u8>>>;
    /// A stored text.
    async fn text(&self, key: &RefKey) -> Result<Option<String>> {
        let bytes = self.bytes(None, key).await?;
        let broken = |_| StoreError::Corrupt("a stored text is not valid UTF-8".into());
        bytes.map(|bytes| String::from_utf8(bytes).map_err(broken)).transpose()
    }
}

/// Files that sessions are about to write.
#[async_trait]
pub trait WritingStore: Send + Sync {
    /// The number of the last set of files that any session was about to write.
    async fn last_writing(&self) -> Result<u64>;
    /// The sets after that one which sessions other than this were about to write, in order. Only the latest are kept:
    /// they count while a command runs.
    async fn writings(&self, but: &SessionId, after: u64) -> Result<Vec<FileSet>>;
    /// The sets that this session was about to write, as far as they are kept.
    async fn own_writings(&self, session: &SessionId) -> Result<Vec<FileSet>>;
    /// Sessions of a folder that have nothing else to do and were moving their history when they were last heard of.
    async fn moving(&self, folder: &str) -> Result<Vec<SessionId>>;
}

/// The user's standing decisions.
#[async_trait]
pub trait RuleStore: Send + Sync {
    /// The user's standing decisions, oldest first.
    async fn rules(&self) -> Result<Vec<String>>;
    /// Adds or removes rules, and notifies the sessions concerned.
    async fn change_rules(&self, change: RuleChange, tell: Vec<(Recipient, NewInput)>) -> Result<()>;
}

/// Memories of all sessions.
#[async_trait]
pub trait RecallStore: Send + Sync {
    /// What is remembered beyond sessions, oldest first: the latest `limit` of what holds in a folder, or of all.
    async fn memories(&self, folder: Option<&str>, limit: u32) -> Result<Vec<MemoryEntry>>;
    /// One such thing.
    async fn memory(&self, id: &MemoryId) -> Result<Option<MemoryEntry>>;
    /// Adds, edits, or deletes a memory, and returns it as it is then, or was before it was deleted. None if it does
    /// not exist.
    async fn change_memory(&self, change: MemoryChange) -> Result<Option<MemoryEntry>>;
}

/// The user's tasks.
#[async_trait]
pub trait TaskStore: Send + Sync {
    /// The user's tasks; with their log, if requested.
    async fn tasks(&self, with_log: bool) -> Result<TaskBook>;
    async fn task(&self, id: TaskId) -> Result<Option<Task>>;
    /// Those that have all these words, or words that begin so, in title, notes or tags; the best first.
    async fn search_tasks(&self, words: &str, limit: u32) -> Result<Vec<Task>>;
    /// Changes tasks: one transaction from the first look at them to the answer that is kept under the key.
    async fn change_tasks(&self, change: TaskChange) -> Result<TaskChanged>;
}

/// The audit trail.
#[async_trait]
pub trait AuditStore: Send + Sync {
    /// Lines of the trail after the `after`th, in order, at most `limit` of them. What is added to it goes with what
    /// it tells of: a [`Commit`], a change of tasks or of what is remembered.
    async fn audit_lines(&self, after: u64, limit: u32) -> Result<Vec<AuditLine>>;
    /// How many lines were ever written.
    async fn audit_written(&self) -> Result<u64>;
    /// Adds a line about something that no log records.
    async fn add_audit(&self, entry: AuditEntry) -> Result<()>;
    /// The key of the chain, if there is one.
    fn audit_key(&self) -> Option<AuditKey> {
        None
    }
}

/// Tokens, known by the hashes of their secrets.
#[async_trait]
pub trait AccessStore: Send + Sync {
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
}

/// News of what other processes write.
#[async_trait]
pub trait ChangeFeed: Send + Sync {
    /// Waits until another process has written something since the moment `since`, and returns the present moment.
    /// With `None` it returns at once. It may return without news, but never misses any, and can be canceled. Writes
    /// of this process do not count.
    async fn changed(&self, since: Option<u64>) -> Result<u64>;
}

/// Where everything is kept.
#[async_trait]
pub trait Store:
    SessionStore
    + InboxStore
    + LeaseStore
    + LogStore
    + JobStore
    + BlobStore
    + WritingStore
    + RuleStore
    + RecallStore
    + TaskStore
    + AuditStore
    + AccessStore
    + ChangeFeed
{
    /// Looks for damage; says what it finds.
    async fn check(&self) -> Result<Vec<String>>;
}

/// The fact of an event, if it is about the sub-task of this worker.
pub(super) fn about_worker(event: Event, worker: &SessionId) -> Option<SubtaskFact> {
    match event.fact {
        Fact::Subtask(fact) if fact.worker.as_ref() == Some(worker) => Some(fact),
        _ => None,
    }
}
