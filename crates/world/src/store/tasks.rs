//! The storage of the user's tasks. It does not interpret operations: the caller passes a function that sees the
//! tasks inside the transaction and returns what to write.

use std::collections::BTreeMap;
use std::fmt;

use trimtab_vocab::{Event, SessionId, Task, TaskId, TaskWrite, Time};

use super::AuditEntry;

/// The session whose log has the facts about tasks. No process runs it: each change of tasks appends to its log in
/// its own transaction.
pub fn tasks_session() -> SessionId {
    "tasks".parse().expect("letters make an id")
}

/// All tasks, as a transaction sees them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskBook {
    /// By number.
    pub tasks: BTreeMap<TaskId, Task>,
    /// The number of the next new task; no number is given twice.
    pub next: TaskId,
    /// How many facts there are in the log.
    pub seq: u64,
    /// The log, if it was asked for.
    pub log: Vec<Event>,
}

/// What to make durable, all of it or nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskWork {
    /// The tasks that change.
    pub writes: Vec<TaskWrite>,
    /// Facts for the log, already numbered.
    pub events: Vec<Event>,
    /// Lines for the audit trail.
    pub audit: Vec<AuditEntry>,
    /// Whether the answer is kept under the key.
    pub keep: bool,
    /// The answer for the caller.
    pub answer: String,
}

/// A change of tasks.
pub struct TaskChange {
    /// When it came.
    pub now: Time,
    /// The idempotency key of its answer.
    pub key: Option<TaskKey>,
    /// Whether `work` needs the log.
    pub with_log: bool,
    /// Decides what to write. It may be called again: a database that many share gives a transaction up when another
    /// one was quicker, and the store tries again with the tasks as they are then.
    pub work: Box<dyn Fn(TaskBook) -> TaskWork + Send + Sync>,
}

impl fmt::Debug for TaskChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskChange").field("now", &self.now).field("key", &self.key).finish_non_exhaustive()
    }
}

/// An idempotency key, and a fingerprint of its request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskKey {
    /// The key, unchanged.
    pub name: String,
    /// A hash of what is wished.
    pub print: String,
    /// For how long its answer is kept, in milliseconds.
    pub life_ms: i64,
    /// How many answers are kept at most.
    pub most: u32,
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskChanged {
    /// It was done now.
    Done {
        answer: String,
        /// The facts that were recorded.
        events: Vec<Event>,
    },
    /// It had been done before; nothing changed now.
    Known {
        /// The answer that it got then.
        answer: String,
    },
    /// The key was used for another request; nothing changed.
    Reused,
}

/// The words of a search, each to begin a word of a task.
pub(super) fn words(text: &str) -> Vec<String> {
    split(text).take(MOST_WORDS).collect()
}

/// All words of a text.
pub(super) fn split(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// A search of more words finds no less by leaving the others out.
const MOST_WORDS: usize = 32;
