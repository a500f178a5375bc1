//! A store in memory, with processes that can be killed at any operation.
//!
//! [`Disk`] is what survives; a [`MemoryStore`] is one process's handle on it. A handle can be told
//! to die at its n-th operation, before or after that operation took effect: from then on nothing
//! it is asked ever returns, exactly as the callers of a killed process never hear back.

mod tasks;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::Notify;
use trimtab_engine::Session;
use trimtab_vocab::event::Status;
use trimtab_vocab::{
    CallId, CheckpointId, Event, FileSet, MemoryEntry, MemoryId, RefKey, RequestId, SessionId, Task, TaskId, Time,
};
use trimtab_world::store::{
    Admission, AuditEntry, AuditLine, Claim, Commit, FileSpace, InputRow, JobRow, JobState, Lease, MemoryChange,
    NewInput, Recipient, Result, RuleChange, SeededSession, SessionQuery, SessionRow, Store, StoreError, TaskBook,
    TaskChange, TaskChanged, TokenKind, TokenRow,
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
    /// Sessions by id.
    pub sessions: BTreeMap<SessionId, SessionRow>,
    /// Logs by session.
    pub events: BTreeMap<SessionId, Vec<Event>>,
    /// Inputs that wait, in order of arrival.
    pub inbox: Vec<(i64, SessionId, String)>,
    /// Requests by id.
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
    /// How often each command was begun.
    pub commands: BTreeMap<String, u32>,
    /// What processes are doing with their hands just now.
    pub doing: BTreeSet<(u64, String)>,
    /// A person's standing decisions.
    pub rules: Vec<String>,
    /// What is remembered beyond sessions, oldest first.
    pub remembered: Vec<MemoryEntry>,
    /// What sessions were about to write, numbered and in order.
    pub writings: Vec<(u64, SessionId, FileSet)>,
    last_writing: u64,
    moving: BTreeSet<SessionId>,
    /// A person's own tasks.
    pub kept: Kept,
    /// The trail.
    pub audit: Vec<AuditLine>,
    /// Tokens by the hash of their secret.
    pub tokens: BTreeMap<String, TokenRow>,
    leases: BTreeMap<SessionId, (Option<u64>, u64)>,
    alive: BTreeSet<u64>,
    next_owner: u64,
    next_input: i64,
    next_asked: u64,
    /// How often each process wrote something.
    writes: BTreeMap<u64, u64>,
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
        state.next_owner += 1;
        let owner = state.next_owner;
        state.alive.insert(owner);
        let script = Script { dice: Dice::new(seed), operations: 0, death, failure, dead: false };
        MemoryStore { disk: self.clone(), owner, script: Mutex::new(script), died: Arc::new(Notify::new()) }
    }
}

impl MemoryStore {
    /// Ends the process here and now.
    pub fn kill(&self) {
        self.script.lock().unwrap_or_else(PoisonError::into_inner).dead = true;
        self.disk.state().alive.remove(&self.owner);
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
            *state.writes.entry(owner).or_default() += 1;
            work(state, owner)
        })
        .await
    }
}

impl State {
    fn is_alive(&self, owner: Option<u64>) -> bool {
        owner.is_some_and(|owner| self.alive.contains(&owner))
    }

    fn demand(&self, owner: u64, lease: &Lease) -> Result<()> {
        match self.leases.get(lease.session()) {
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
        self.is_alive(self.leases.get(session).and_then(|(owner, _)| *owner))
    }

    fn job_row(&self, job: &Job) -> JobRow {
        let owned = self.session_is_owned(&job.row.session);
        let state = match job.status {
            Some(status) => JobState::Finished(status),
            None if (job.running || job.resting) && owned => JobState::Running,
            None if job.asked.is_some() && !owned => JobState::Interrupted,
            None => JobState::Queued,
        };
        JobRow { state, ..job.row.clone() }
    }

    fn running(&self) -> u32 {
        let running = |job: &&Job| job.status.is_none() && job.running && self.session_is_owned(&job.row.session);
        self.jobs.values().filter(running).count() as u32
    }

    fn complain(&mut self, what: String) {
        self.broken.push(what);
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn create_session(&self, row: SessionRow, inputs: Vec<NewInput>) -> Result<()> {
        self.write(|state, _| {
            let id = row.id.clone();
            state.events.insert(id.clone(), Vec::new());
            state.sessions.insert(id.clone(), row);
            inputs.into_iter().for_each(|input| state.put_input(&id, input));
            Ok(())
        })
        .await
    }

    async fn create_child(&self, child: SeededSession) -> Result<()> {
        self.write(|state, _| {
            if state.sessions.contains_key(&child.row.id) {
                return Err(StoreError::Taken);
            }
            state.put_child(child);
            Ok(())
        })
        .await
    }

    async fn session(&self, id: &SessionId) -> Result<Option<SessionRow>> {
        self.operate(|state, _| Ok(state.sessions.get(id).cloned())).await
    }

    async fn sessions(&self, folder: Option<&str>) -> Result<Vec<SessionRow>> {
        self.operate(|state, _| {
            let mut rows: Vec<_> =
                state.sessions.values().filter(|row| folder.is_none_or(|it| it == row.folder)).cloned().collect();
            rows.sort_by(|a, b| (b.updated, b.created, &b.id).cmp(&(a.updated, a.created, &a.id)));
            Ok(rows)
        })
        .await
    }

    async fn search(&self, folder: Option<&str>, wanted: SessionQuery) -> Result<Vec<SessionRow>> {
        let rows = self.sessions(folder).await?;
        self.operate(|state, _| {
            let holds = |row: &SessionRow| {
                let mut missing = wanted.clone();
                missing.see_title(&row.title);
                state.events.get(&row.id).into_iter().flatten().for_each(|event| missing.observe(&event.fact));
                missing.is_found()
            };
            Ok(rows.into_iter().filter(holds).collect())
        })
        .await
    }

    async fn delete_session(&self, id: &SessionId, seen: u64, news: NewInput) -> Result<()> {
        self.write(|state, _| {
            let last = state.events.get(id).and_then(|events| events.last()?.seq);
            if state.session_is_owned(id) || last > Some(seen) {
                return Err(StoreError::InUse("another process".into()));
            }
            let row = state.sessions.remove(id).ok_or(StoreError::NoSession)?;
            let handed_off = row.parent.filter(|_| row.forked.is_none());
            let parent = handed_off.filter(|parent| state.sessions.contains_key(parent));
            if let Some(parent) = &parent {
                state.tell(None, vec![(Recipient::Session(parent.clone()), news)]);
            }
            let is_heir = |other: &&mut SessionRow| other.parent.as_ref() == Some(id) && other.forked.is_none();
            for heir in state.sessions.values_mut().filter(is_heir) {
                heir.parent.clone_from(&parent);
            }
            state.events.remove(id);
            state.inbox.retain(|(_, session, _)| session != id);
            state.jobs.retain(|_, job| job.row.session != *id);
            state.partials.retain(|(session, _), _| session != id);
            state.writings.retain(|(_, session, _)| session != id);
            state.moving.remove(id);
            Ok(())
        })
        .await
    }

    async fn enqueue(&self, session: &SessionId, input: NewInput) -> Result<()> {
        self.write(|state, _| {
            if !state.sessions.contains_key(session) {
                return Err(StoreError::NoSession);
            }
            if state.knows(&input) {
                return Err(StoreError::Taken);
            }
            state.put_input(session, input);
            Ok(())
        })
        .await
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<InputRow>> {
        self.operate(|state, _| {
            let mine = state.inbox.iter().filter(|(_, of, _)| of == session);
            Ok(mine.map(|(id, _, payload)| InputRow { id: *id, payload: payload.clone() }).collect())
        })
        .await
    }

    async fn claim(&self, session: &SessionId) -> Result<Claim> {
        self.write(|state, owner| {
            if !state.sessions.contains_key(session) {
                return Err(StoreError::NoSession);
            }
            let (holder, token) = state.leases.get(session).copied().unwrap_or((None, 0));
            if holder != Some(owner) && state.is_alive(holder) {
                return Ok(Claim::Held { by: "another process".into() });
            }
            state.leases.insert(session.clone(), (Some(owner), token + 1));
            state.jobs.values_mut().filter(|job| job.row.session == *session).for_each(|job| {
                (job.running, job.resting) = (false, false);
            });
            Ok(Claim::Granted(Lease::new(session.clone(), token + 1)))
        })
        .await
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        self.write(|state, owner| {
            if state.demand(owner, lease).is_ok() {
                state.leases.insert(lease.session().clone(), (None, lease.token()));
            }
            Ok(())
        })
        .await
    }

    async fn commit(&self, lease: &Lease, commit: Commit) -> Result<()> {
        self.write(|state, owner| {
            state.demand(owner, lease)?;
            let id = lease.session();
            let log = state.events.entry(id.clone()).or_default();
            for event in commit.events {
                let expected = log.last().and_then(|last| last.seq).unwrap_or(0) + 1;
                if event.seq != Some(expected) {
                    let complaint = format!("{id}: {:?} follows {}", event.seq, expected - 1);
                    state.broken.push(complaint);
                    return Err(StoreError::Corrupt("a gap".into()));
                }
                log.push(event);
            }
            let before = state.inbox.len();
            state.inbox.retain(|(input, session, _)| !(session == id && commit.consumed.contains(input)));
            if before - state.inbox.len() != commit.consumed.len() {
                state.complain(format!("{id}: an input was taken up twice"));
            }
            state.texts.extend(commit.keeps);
            if let Some(needed) = &commit.keep_only {
                let prefix = format!("file-{id}-");
                state.bytes.retain(|key, _| !key.as_str().starts_with(&prefix) || needed.contains(key));
            }
            state.change_rules(commit.rules);
            for entry in commit.remembered {
                state.remember(entry);
            }
            state.put_audit(&commit.audit);
            match commit.moving {
                true if !commit.writing.is_empty() => drop(state.moving.insert(id.clone())),
                true => {}
                false => drop(state.moving.remove(id)),
            }
            for set in commit.writing {
                state.last_writing += 1;
                state.writings.push((state.last_writing, id.clone(), set));
            }
            for call in commit.closed_calls {
                state.partials.remove(&(id.clone(), call));
            }
            for (request, status) in commit.finished {
                if let Some(job) = state.jobs.get_mut(&request) {
                    (job.status, job.running, job.resting) = (Some(status), false, false);
                }
            }
            for request in commit.reopened {
                if let Some(job) = state.jobs.get_mut(&request) {
                    (job.status, job.asked) = (None, None);
                }
            }
            for request in commit.resting {
                if let Some(job) = state.jobs.get_mut(&request).filter(|job| job.status.is_none()) {
                    (job.running, job.resting, job.asked) = (false, true, None);
                }
            }
            state.checkpoints.extend(commit.opened);
            for id in commit.resolved {
                state.checkpoints.remove(&id);
            }
            for request in &commit.closed {
                state.checkpoints.retain(|_, event| event.request.as_ref() != Some(request));
            }
            for child in commit.children {
                if state.sessions.contains_key(&child.row.id) {
                    state.complain(format!("{}: was made twice", child.row.id));
                }
                state.put_child(child);
            }
            state.tell(Some(id), commit.tell);
            if let (Some(title), Some(row)) = (commit.title, state.sessions.get_mut(id)) {
                row.title = title;
            }
            Ok(())
        })
        .await
    }

    async fn admit(&self, lease: &Lease, request: &RequestId, limit: u32) -> Result<Admission> {
        self.write(|state, owner| {
            state.demand(owner, lease)?;
            state.next_asked += 1;
            let next = state.next_asked;
            let Some(job) = state.jobs.get_mut(request) else { return Err(StoreError::NoSession) };
            let mine = *job.asked.get_or_insert(next);
            let is_ahead = |(id, job): &(&RequestId, &Job)| {
                let earlier = job.asked.is_some_and(|asked| asked < mine);
                *id != request
                    && job.status.is_none()
                    && (job.running || earlier)
                    && state.session_is_owned(&job.row.session)
            };
            let ahead = state.jobs.iter().filter(is_ahead).count() as u32;
            if ahead >= limit {
                return Ok(Admission::Held { ahead });
            }
            if let Some(job) = state.jobs.get_mut(request) {
                (job.running, job.resting) = (true, false);
            }
            state.most_running = state.most_running.max(state.running());
            Ok(Admission::Granted)
        })
        .await
    }

    async fn append_partial(&self, lease: &Lease, call: &CallId, text: &str) -> Result<()> {
        self.write(|state, owner| {
            state.demand(owner, lease)?;
            state.partials.entry((lease.session().clone(), call.clone())).or_default().push_str(text);
            Ok(())
        })
        .await
    }

    async fn partials(&self, session: &SessionId) -> Result<Vec<(CallId, String)>> {
        self.operate(|state, _| {
            let mine = state.partials.iter().filter(|((of, _), _)| of == session);
            Ok(mine.map(|((_, call), text)| (call.clone(), text.clone())).collect())
        })
        .await
    }

    async fn events(&self, session: &SessionId, after: u64, limit: u32) -> Result<Vec<Event>> {
        self.operate(|state, _| {
            let log = state.events.get(session).map(Vec::as_slice).unwrap_or_default();
            Ok(log.iter().skip(after as usize).take(limit as usize).cloned().collect())
        })
        .await
    }

    async fn last_seq(&self, session: &SessionId) -> Result<u64> {
        self.operate(|state, _| Ok(state.events.get(session).map_or(0, |log| log.len() as u64))).await
    }

    async fn jobs(&self, all: bool) -> Result<Vec<JobRow>> {
        self.operate(|state, _| {
            let wanted = state.jobs.values().rev().filter(|job| all || job.status.is_none());
            Ok(wanted.map(|job| state.job_row(job)).collect())
        })
        .await
    }

    async fn job(&self, request: &RequestId) -> Result<Option<JobRow>> {
        self.operate(|state, _| Ok(state.jobs.get(request).map(|job| state.job_row(job)))).await
    }

    async fn checkpoints(&self) -> Result<Vec<Event>> {
        self.operate(|state, _| Ok(state.checkpoints.values().cloned().collect())).await
    }

    async fn keep_all(&self, _: &SessionId, keeps: Vec<(RefKey, Vec<u8>)>) -> Result<()> {
        self.write(|state, _| {
            state.bytes.extend(keeps);
            Ok(())
        })
        .await
    }

    async fn file_space(&self) -> Result<Vec<FileSpace>> {
        self.operate(|state, _| {
            let of = |session: &SessionId| {
                let prefix = format!("file-{session}-");
                let mine = state.bytes.iter().filter(|(key, _)| key.as_str().starts_with(&prefix));
                let sizes: Vec<u64> = mine.map(|(_, bytes)| bytes.len() as u64).collect();
                let bytes = sizes.iter().sum();
                FileSpace { session: session.clone(), contents: sizes.len() as u64, bytes, packed: bytes }
            };
            Ok(state.sessions.keys().map(of).filter(|space| space.contents > 0).collect())
        })
        .await
    }

    /// What belongs to which session is not known here: all there is.
    async fn ref_keys(&self, _: &SessionId) -> Result<Vec<RefKey>> {
        self.operate(|state, _| Ok(state.texts.keys().chain(state.bytes.keys()).cloned().collect())).await
    }

    async fn last_writing(&self) -> Result<u64> {
        self.operate(|state, _| Ok(state.last_writing)).await
    }

    async fn writings(&self, but: &SessionId, after: u64) -> Result<Vec<FileSet>> {
        self.operate(|state, _| {
            let others = state.writings.iter().filter(|(n, session, _)| *n > after && session != but);
            Ok(others.map(|(_, _, set)| set.clone()).collect())
        })
        .await
    }

    async fn own_writings(&self, session: &SessionId) -> Result<Vec<FileSet>> {
        self.operate(|state, _| {
            let own = state.writings.iter().filter(|(_, of, _)| of == session);
            Ok(own.map(|(_, _, set)| set.clone()).collect())
        })
        .await
    }

    async fn moving(&self, folder: &str) -> Result<Vec<SessionId>> {
        self.operate(|state, _| {
            let is_free =
                |id: &&SessionId| !state.jobs.values().any(|job| job.row.session == **id && job.status.is_none());
            let is_there = |id: &&SessionId| state.sessions.get(*id).is_some_and(|row| row.folder == folder);
            Ok(state.moving.iter().filter(is_free).filter(is_there).cloned().collect())
        })
        .await
    }

    async fn bytes(&self, _: Option<&SessionId>, key: &RefKey) -> Result<Option<Vec<u8>>> {
        self.operate(|state, _| {
            let text = state.texts.get(key).map(|text| text.clone().into_bytes());
            Ok(text.or_else(|| state.bytes.get(key).cloned()))
        })
        .await
    }

    async fn rules(&self) -> Result<Vec<String>> {
        self.operate(|state, _| Ok(state.rules.clone())).await
    }

    async fn change_rules(&self, change: RuleChange, tell: Vec<(Recipient, NewInput)>) -> Result<()> {
        self.write(|state, _| {
            state.change_rules(change);
            state.tell(None, tell);
            Ok(())
        })
        .await
    }

    async fn memories(&self, folder: Option<&str>, limit: u32) -> Result<Vec<MemoryEntry>> {
        self.operate(|state, _| {
            let holds =
                |entry: &&MemoryEntry| folder.is_none() || entry.folder.is_none() || entry.folder.as_deref() == folder;
            let known: Vec<MemoryEntry> = state.remembered.iter().filter(holds).cloned().collect();
            Ok(known[known.len().saturating_sub(limit as usize)..].to_vec())
        })
        .await
    }

    async fn memory(&self, id: &MemoryId) -> Result<Option<MemoryEntry>> {
        self.operate(|state, _| Ok(state.remembered.iter().find(|entry| entry.id == *id).cloned())).await
    }

    async fn change_memory(&self, change: MemoryChange) -> Result<Option<MemoryEntry>> {
        self.write(|state, _| {
            let (id, told) = (change.id().clone(), change.audit());
            let known = state.remembered.iter().find(|entry| entry.id == id).cloned();
            let Some((entry, goes)) = change.apply(known) else { return Ok(None) };
            match goes {
                true => state.remembered.retain(|known| known.id != id),
                false => state.remember(entry.clone()),
            }
            state.put_audit(&[told]);
            Ok(Some(entry))
        })
        .await
    }

    async fn tasks(&self, with_log: bool) -> Result<TaskBook> {
        self.operate(|state, _| Ok(tasks::book(state, with_log))).await
    }

    async fn task(&self, id: TaskId) -> Result<Option<Task>> {
        self.operate(|state, _| Ok(state.kept.tasks.get(&id).cloned())).await
    }

    async fn search_tasks(&self, words: &str, limit: u32) -> Result<Vec<Task>> {
        self.operate(|state, _| Ok(tasks::search(state, words, limit))).await
    }

    async fn change_tasks(&self, change: TaskChange) -> Result<TaskChanged> {
        self.write(|state, _| Ok(tasks::change(state, change))).await
    }

    async fn audit_lines(&self, after: u64, limit: u32) -> Result<Vec<AuditLine>> {
        let of = |state: &mut State, _| {
            Ok(state.audit.iter().filter(|line| line.n > after).take(limit as usize).cloned().collect())
        };
        self.operate(of).await
    }

    async fn add_audit(&self, entry: AuditEntry) -> Result<()> {
        self.operate(|state, _| {
            state.put_audit(std::slice::from_ref(&entry));
            Ok(())
        })
        .await
    }

    async fn audit_written(&self) -> Result<u64> {
        self.operate(|state, _| Ok(state.audit.len() as u64)).await
    }

    async fn add_token(&self, hash: &str, row: TokenRow) -> Result<()> {
        self.write(|state, _| state.put_token(hash, row)).await
    }

    async fn token(&self, hash: &str) -> Result<Option<TokenRow>> {
        self.operate(|state, _| Ok(state.tokens.get(hash).cloned())).await
    }

    async fn tokens(&self) -> Result<Vec<TokenRow>> {
        self.operate(|state, _| {
            let mut rows: Vec<TokenRow> = state.tokens.values().cloned().collect();
            rows.sort_by(|a, b| (a.created, &a.name).cmp(&(b.created, &b.name)));
            Ok(rows)
        })
        .await
    }

    async fn exchange_token(&self, login: &str, hash: &str, row: TokenRow) -> Result<bool> {
        self.write(|state, _| {
            let holds = |known: &TokenRow| known.kind == TokenKind::Login && known.holds(row.created);
            if !state.tokens.get(login).is_some_and(holds) {
                return Ok(false);
            }
            state.tokens.remove(login);
            state.put_token(hash, row)?;
            Ok(true)
        })
        .await
    }

    async fn revoke_token(&self, name: &str) -> Result<bool> {
        self.write(|state, _| {
            let before = state.tokens.len();
            state.tokens.retain(|_, row| row.name != name);
            Ok(state.tokens.len() < before)
        })
        .await
    }

    async fn version(&self) -> Result<u64> {
        // As SQLite has it: what one wrote oneself does not count.
        self.operate(|state, owner| Ok(state.writes.iter().filter(|(by, _)| **by != owner).map(|(_, n)| n).sum())).await
    }

    async fn check(&self) -> Result<Vec<String>> {
        self.operate(|state, _| Ok(state.broken.clone())).await
    }
}

/// A session's state, folded from its log.
pub fn folded(log: &[Event]) -> Session {
    Session::replay(log.iter().map(|event| (event.request.as_ref(), &event.fact)))
}
