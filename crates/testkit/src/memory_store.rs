//! A store in memory, with processes that can be killed at any operation.
//!
//! [`Disk`] is what survives; a [`MemoryStore`] is one process's handle on it. A handle can be told
//! to die at its n-th operation, before or after that operation took effect: from then on nothing
//! it is asked ever returns, exactly as the callers of a killed process never hear back.

mod blobs;
mod log;
mod person;
mod running;
mod sessions;
mod tasks;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::Notify;
use trimtab_engine::Session;
use trimtab_vocab::event::Status;
use trimtab_vocab::{CallId, CheckpointId, Event, FileSet, MemoryEntry, RefKey, RequestId, SessionId, Time};
use trimtab_world::store::{
    AuditEntry, AuditLine, JobRow, JobState, Lease, NewInput, Recipient, Result, RuleChange, SeededSession, SessionRow,
    Store, StoreError, TokenRow,
};

use crate::dice::Dice;

pub use tasks::Kept;

/// What survives every process.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    state: Arc<Mutex<State>>,
}

/// The rows, and what was noticed about them.
#[derive(Debug, Default)]
pub struct State {
    pub sessions: BTreeMap<SessionId, SessionRow>,
    /// Logs by session.
    pub events: BTreeMap<SessionId, Vec<Event>>,
    /// Inputs that wait, in order of arrival.
    pub inbox: Vec<(i64, SessionId, String)>,
    pub jobs: BTreeMap<RequestId, Job>,
    /// Partial replies.
    pub partials: BTreeMap<(SessionId, CallId), String>,
    /// What waits for a person.
    pub checkpoints: BTreeMap<CheckpointId, Event>,
    /// Stored texts.
    pub texts: BTreeMap<RefKey, String>,
    /// Stored bytes.
    pub bytes: BTreeMap<RefKey, Vec<u8>>,
    /// The user's files.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The copies of workers by their folder: the files, and whether the copy is whole.
    pub copies: BTreeMap<String, (BTreeMap<String, Vec<u8>>, bool)>,
    /// A person's standing decisions.
    pub rules: Vec<String>,
    /// What is remembered beyond sessions, oldest first.
    pub remembered: Vec<MemoryEntry>,
    /// A person's own tasks.
    pub kept: Kept,
    /// The trail.
    pub audit: Vec<AuditLine>,
    /// Tokens by the hash of their secret.
    pub tokens: BTreeMap<String, TokenRow>,
    next_input: i64,
    next_asked: u64,
    writing: AnnouncedWrites,
    processes: ProcessTable,
    /// What was noticed.
    pub seen: Observations,
}

/// What sessions were about to write.
#[derive(Debug, Default)]
struct AnnouncedWrites {
    /// Numbered and in order.
    sets: Vec<(u64, SessionId, FileSet)>,
    last: u64,
    /// Sessions whose history is being moved.
    moving: BTreeSet<SessionId>,
}

/// The processes that share the disk.
#[derive(Debug, Default)]
struct ProcessTable {
    leases: BTreeMap<SessionId, (Option<u64>, u64)>,
    alive: BTreeSet<u64>,
    next_owner: u64,
    /// How often each process wrote something.
    writes: BTreeMap<u64, u64>,
}

/// What was noticed while processes used the disk.
#[derive(Debug, Default)]
pub struct Observations {
    /// How often each command was begun.
    pub commands: BTreeMap<String, u32>,
    /// What processes are doing with their hands just now.
    pub doing: BTreeSet<(u64, String)>,
    /// The most requests that ever ran at once.
    pub most_running: u32,
    /// Rules that were broken, in words.
    pub broken: Vec<String>,
}

/// A request as the disk knows it.
#[derive(Debug, Clone)]
pub struct Job {
    /// How it is listed.
    pub row: JobRow,
    asked: Option<u64>,
    running: bool,
    resting: bool,
    /// How it ended.
    pub status: Option<Status>,
}

/// When a process dies.
#[derive(Debug, Clone, Copy)]
pub struct Death {
    /// At which operation, counted from 0.
    pub at: u64,
    /// Whether that operation still takes effect.
    pub after: bool,
}

/// One process's handle.
pub struct MemoryStore {
    disk: Disk,
    owner: u64,
    script: Mutex<Script>,
    /// Rings when the process has died.
    pub died: Arc<Notify>,
}

#[derive(Debug)]
struct Script {
    dice: Dice,
    operations: u64,
    death: Option<Death>,
    /// One operation in so many fails; 0: none.
    failure: u64,
    dead: bool,
}

enum Fate {
    Goes,
    Fails,
    Dies { after: bool },
    IsDead,
}

impl Disk {
    /// Looks at the rows.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a process lives.
    pub fn is_alive(&self, owner: u64) -> bool {
        self.state().is_alive(Some(owner))
    }

    /// Starts a process. One in `failure` of its operations fails for no reason; 0: none does.
    pub fn process(&self, seed: u64, death: Option<Death>, failure: u64) -> MemoryStore {
        let mut state = self.state();
        state.processes.next_owner += 1;
        let owner = state.processes.next_owner;
        state.processes.alive.insert(owner);
        let script = Script { dice: Dice::new(seed), operations: 0, death, failure, dead: false };
        MemoryStore { disk: self.clone(), owner, script: Mutex::new(script), died: Arc::new(Notify::new()) }
    }
}

impl MemoryStore {
    /// Ends the process here and now.
    pub fn kill(&self) {
        self.script.lock().unwrap_or_else(PoisonError::into_inner).dead = true;
        self.disk.state().processes.alive.remove(&self.owner);
        self.died.notify_one();
    }

    /// Which process it is.
    pub fn owner(&self) -> u64 {
        self.owner
    }

    /// Whether the process has died.
    pub fn is_dead(&self) -> bool {
        self.script.lock().unwrap_or_else(PoisonError::into_inner).dead
    }

    fn next_fate(&self) -> Fate {
        let mut script = self.script.lock().unwrap_or_else(PoisonError::into_inner);
        if script.dead {
            return Fate::IsDead;
        }
        let number = script.operations;
        script.operations += 1;
        let failure = script.failure;
        let fails = failure > 0 && script.dice.once_in(failure);
        match script.death {
            Some(death) if death.at <= number => Fate::Dies { after: death.after },
            _ if fails => Fate::Fails,
            _ => Fate::Goes,
        }
    }

    /// One operation: perhaps the last one, perhaps one that fails.
    async fn operate<T>(&self, work: impl FnOnce(&mut State, u64) -> Result<T>) -> Result<T> {
        // Others may come in between, as they may on a real disk.
        tokio::task::yield_now().await;
        match self.next_fate() {
            Fate::Goes => {}
            Fate::Fails => return Err(StoreError::Locked),
            Fate::IsDead => return std::future::pending().await,
            Fate::Dies { after } => {
                if after {
                    let _ = work(&mut self.disk.state(), self.owner);
                }
                self.kill();
                return std::future::pending().await;
            }
        }
        work(&mut self.disk.state(), self.owner)
    }

    /// An operation that others can notice.
    async fn write<T>(&self, work: impl FnOnce(&mut State, u64) -> Result<T>) -> Result<T> {
        self.operate(|state, owner| {
            *state.processes.writes.entry(owner).or_default() += 1;
            work(state, owner)
        })
        .await
    }
}

impl State {
    fn is_alive(&self, owner: Option<u64>) -> bool {
        owner.is_some_and(|owner| self.processes.alive.contains(&owner))
    }

    fn demand(&self, owner: u64, lease: &Lease) -> Result<()> {
        match self.processes.leases.get(lease.session()) {
            Some((Some(holder), token)) if *holder == owner && *token == lease.token() => Ok(()),
            _ => Err(StoreError::LeaseLost),
        }
    }

    fn put_audit(&mut self, entries: &[AuditEntry]) {
        for entry in entries {
            let (n, prev) = (self.audit.len() as u64 + 1, self.audit.last().map(|last| last.hash.clone()));
            let line = entry.line(n, Time::from_millis(0), &prev.unwrap_or_default());
            let hash = trimtab_world::store::hash(line.as_bytes());
            self.audit.push(AuditLine { n, line, hash });
        }
    }

    fn put_token(&mut self, hash: &str, row: TokenRow) -> Result<()> {
        self.tokens.retain(|_, known| known.holds(row.created));
        if self.tokens.contains_key(hash) || self.tokens.values().any(|known| known.name == row.name) {
            return Err(StoreError::Taken);
        }
        self.tokens.insert(hash.to_owned(), row);
        Ok(())
    }

    /// Whether a request of this name is there already.
    fn knows(&self, input: &NewInput) -> bool {
        input.job.as_ref().is_some_and(|job| self.jobs.contains_key(&job.request))
    }

    fn put_input(&mut self, session: &SessionId, input: NewInput) {
        self.next_input += 1;
        self.inbox.push((self.next_input, session.clone(), input.payload));
        self.texts.extend(input.keeps);
        if let (Some(job), Some(row)) = (input.job, self.sessions.get(session)) {
            let row = JobRow {
                request: job.request.clone(),
                session: session.clone(),
                folder: row.folder.clone(),
                text: job.text,
                state: JobState::Queued,
                created: row.created,
                served: false,
            };
            self.jobs.insert(job.request, Job { row, asked: None, running: false, resting: false, status: None });
        }
    }

    fn put_child(&mut self, SeededSession { row, events, shares }: SeededSession) {
        for (there, here) in shares {
            if let Some(bytes) = self.bytes.get(&there).cloned() {
                self.bytes.insert(here, bytes);
            }
        }
        self.events.insert(row.id.clone(), events);
        self.sessions.insert(row.id.clone(), row);
    }

    fn change_rules(&mut self, change: RuleChange) {
        for rule in change.added {
            if !self.rules.contains(&rule) {
                self.rules.push(rule);
            }
        }
        self.rules.retain(|rule| !change.removed.contains(rule));
    }

    fn tell(&mut self, from: Option<&SessionId>, told: Vec<(Recipient, NewInput)>) {
        for (recipient, input) in told {
            let sessions = match recipient {
                Recipient::Session(id) => Some(id).filter(|id| self.sessions.contains_key(id)).into_iter().collect(),
                Recipient::OtherBusy => self.busy_but(from),
            };
            sessions.iter().for_each(|session| self.put_input(session, input.clone()));
        }
    }

    /// The sessions that have something to do or to ask, but for one.
    fn busy_but(&self, one: Option<&SessionId>) -> Vec<SessionId> {
        let open = self.jobs.values().filter(|job| job.status.is_none()).map(|job| job.row.session.clone());
        let mut others: Vec<SessionId> =
            open.chain(self.checkpoints.values().map(|event| event.session.clone())).collect();
        others.sort();
        others.dedup();
        others.retain(|session| Some(session) != one);
        others
    }

    /// What says the same makes room; what has the same name stays in its place.
    fn remember(&mut self, entry: MemoryEntry) {
        let same = |known: &MemoryEntry| {
            known.folder == entry.folder && known.text.trim().to_lowercase() == entry.text.trim().to_lowercase()
        };
        self.remembered.retain(|known| known.id == entry.id || !same(known));
        match self.remembered.iter_mut().find(|known| known.id == entry.id) {
            Some(known) => *known = entry,
            None => self.remembered.push(entry),
        }
    }

    fn session_is_owned(&self, session: &SessionId) -> bool {
        self.is_alive(self.processes.leases.get(session).and_then(|(owner, _)| *owner))
    }

    fn job_row(&self, job: &Job) -> JobRow {
        let owned = self.session_is_owned(&job.row.session);
        let state = match job.status {
            Some(status) => JobState::Finished(status),
            None if (job.running || job.resting) && owned => JobState::Running,
            None if (job.asked.is_some() || job.running || job.resting) && !owned => JobState::Interrupted,
            None => JobState::Queued,
        };
        JobRow { state, ..job.row.clone() }
    }

    fn running(&self) -> u32 {
        let running = |job: &&Job| job.status.is_none() && job.running && self.session_is_owned(&job.row.session);
        self.jobs.values().filter(running).count() as u32
    }

    fn complain(&mut self, what: String) {
        self.seen.broken.push(what);
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn check(&self) -> Result<Vec<String>> {
        self.operate(|state, _| Ok(state.seen.broken.clone())).await
    }
}

/// A session's state, folded from its log.
pub fn folded(log: &[Event]) -> Session {
    Session::replay(log.iter().map(|event| (event.request.as_ref(), &event.fact)))
}
