//! The change history of a session for display: the sets that the engine folds, with their time, cost, and file
//! contents.

use std::collections::{BTreeMap, HashMap, HashSet};

use trimtab_engine::Session;
use trimtab_vocab::event::{
    ByCommand, ChangeFact, ChangedFile, CommandFact, Conflict, Inherited, SessionFact, UsageFact,
};
use trimtab_vocab::{
    ChangeSetId, Event, Fact, FileWrite, Problem, ProblemKind, RefKey, SessionId, Time, Unobserved, WorkerSpending,
};

use trimtab_world::store::{Store, StoreError};

use crate::client::store_problem;
use crate::handles::SessionChanges;

/// Facts that are read at once.
const PAGE: u32 = 1000;

/// A change set.
#[derive(Debug, Clone)]
pub struct Set {
    pub id: ChangeSetId,
    /// The files, before and after.
    pub writes: Vec<FileWrite>,
    /// When it was applied.
    pub time: Time,
    /// Dollars that the calls since the set before it cost, if that is known.
    pub cost: Option<f64>,
    /// Its file contents are no longer stored, so it can be neither undone nor redone.
    pub expired: bool,
    /// The change set of which it undoes a part.
    pub undoes: Option<ChangeSetId>,
    /// The command that did it, if it was one.
    pub by: Option<Box<ByCommand>>,
    /// It was made in the session that was handed off to this one, or that it was forked from, or in an earlier one.
    pub inherited: bool,
    /// The only session that can undo it: the session of a handoff, or the original of a fork.
    pub lent: Option<SessionId>,
}

impl Set {
    /// The files as events tell of them.
    pub fn files(&self) -> Vec<ChangedFile> {
        self.writes.iter().map(ChangedFile::from).collect()
    }
}

/// The history of a session, from its log.
#[derive(Debug, Default)]
pub struct History {
    /// The sets, oldest first.
    pub sets: Vec<Set>,
    /// How many of them are in force.
    pub in_force: usize,
    /// A move was begun and is not over.
    pub is_moving: bool,
    /// The last move that was refused.
    pub refused: Option<RewindRefusal>,
    /// The number of commands whose file changes are unknown, with the reason of the last one.
    pub unobserved: Option<(u64, Unobserved)>,
    /// Sets that only another session can move, with that session. Some of them are no longer in `sets`.
    pub handed_on: BTreeMap<ChangeSetId, SessionId>,
    /// The session that it was forked from, if it was.
    pub forked_from: Option<SessionId>,
    /// The last fact that was read.
    pub last: u64,
}

/// A move of the history that was refused.
#[derive(Debug, Clone)]
pub struct RewindRefusal {
    /// Where in the log that is.
    pub at: u64,
    pub reason: String,
    /// Conflicts with the user's edits.
    pub conflicts: Vec<Conflict>,
}

impl History {
    /// The sum of all applied sets: each file before the first and after the last.
    pub fn net(&self) -> Vec<FileWrite> {
        let mut files: BTreeMap<&str, FileWrite> = BTreeMap::new();
        for write in self.sets.iter().take(self.in_force).flat_map(|set| &set.writes) {
            files
                .entry(&write.path)
                .and_modify(|file| file.after.clone_from(&write.after))
                .or_insert_with(|| write.clone());
        }
        files.into_values().filter(|file| file.before != file.after).collect()
    }
}

/// When and how a set was made.
type SetOrigin = (Time, Option<f64>, Option<Box<ByCommand>>);

#[derive(Default)]
pub(crate) struct HistoryReader {
    pub(crate) session: Session,
    made: HashMap<ChangeSetId, SetOrigin>,
    unobserved: Option<(u64, Unobserved)>,
    undoes: HashMap<ChangeSetId, ChangeSetId>,
    inherited: HashSet<ChangeSetId>,
    cost: Option<f64>,
    workers: WorkerSpending,
    refused: Option<RewindRefusal>,
    pub(crate) last: u64,
}

impl HistoryReader {
    pub(crate) fn read(&mut self, event: Event) {
        self.last = event.seq.unwrap_or(self.last);
        self.session.fold(event.request.as_ref(), &event.fact);
        if let Some((_, spent)) = self.workers.observe(&event) {
            self.cost = spent.cost_usd.map(|more| self.cost.unwrap_or(0.0) + more).or(self.cost);
        }
        match event.fact {
            // What a worker spent after the end of its request belongs to no later change.
            Fact::Usage(UsageFact { usage, worker: None, .. }) => {
                self.cost = usage.cost_usd.map(|more| self.cost.unwrap_or(0.0) + more).or(self.cost);
            }
            Fact::Change(ChangeFact::Applied(change)) => {
                // What the user does themselves costs nothing.
                let cost = event.request.as_ref().and_then(|_| self.cost.take());
                // A set may be told of in parts, one for each file.
                let made = self.made.entry(change.change_set).or_insert((event.time, None, change.by));
                made.1 = cost.map(|more| made.1.unwrap_or(0.0) + more).or(made.1);
            }
            Fact::Command(CommandFact::Finished { unobserved: Some(why), .. }) => {
                self.unobserved = Some((self.unobserved.map_or(1, |(count, _)| count + 1), why));
            }
            Fact::Change(ChangeFact::Inherited(inherited)) => {
                let Inherited { change, made, cost_usd, undoes, .. } = *inherited;
                self.inherited.insert(change.change_set.clone());
                self.undoes.extend(undoes.map(|of| (change.change_set.clone(), of)));
                self.made.insert(change.change_set.clone(), (made.unwrap_or(event.time), cost_usd, change.by));
            }
            Fact::Change(ChangeFact::Moving { undo: Some(undo), .. }) => {
                self.undoes.insert(undo.change_set, undo.of);
            }
            // What stands before this was made in the session that this one was forked from.
            Fact::Session(SessionFact::Forked { .. }) => {
                self.inherited.extend(self.session.history().iter().map(|set| set.id.clone()));
                self.refused = None;
            }
            Fact::Change(ChangeFact::Refused { reason, conflicts }) => {
                self.refused = Some(RewindRefusal { at: self.last, reason, conflicts });
            }
            _ => {}
        }
    }

    pub(crate) fn finish(mut self) -> History {
        let mut sets = Vec::new();
        for set in self.session.history() {
            let (time, cost, by) = self.made.remove(&set.id).unwrap_or((Time::from_millis(0), None, None));
            let undoes = self.undoes.remove(&set.id);
            let (id, writes, expired) = (set.id.clone(), set.writes.clone(), set.expired);
            let inherited = self.inherited.contains(&set.id);
            let lent = self.session.lineage().lent.get(&set.id).cloned();
            sets.push(Set { id, writes, time, cost, expired, undoes, by, inherited, lent });
        }
        let in_force = self.session.in_force();
        let (is_moving, unobserved) = (self.session.is_moving(), self.unobserved);
        let lineage = self.session.lineage();
        let handed_on = lineage.lent.clone();
        let forked_from = lineage.parent.clone().filter(|_| lineage.is_fork);
        let (refused, last) = (self.refused, self.last);
        History { sets, in_force, is_moving, refused, unobserved, handed_on, forked_from, last }
    }
}

/// Reads the history of a session from its log.
pub(crate) async fn read(store: &dyn Store, session: &SessionId) -> Result<History, StoreError> {
    let mut reader = HistoryReader::default();
    loop {
        let page = store.events(session, reader.last, PAGE).await?;
        if page.is_empty() {
            return Ok(reader.finish());
        }
        page.into_iter().for_each(|event| reader.read(event));
    }
}

impl SessionChanges<'_> {
    /// The change history of a session.
    pub async fn history(self, session: &SessionId) -> Result<History, Problem> {
        read(self.0.store(), session).await.map_err(store_problem)
    }

    /// Both contents of a file of a change set. A content that does not exist or is no longer stored is absent.
    pub async fn contents(
        self,
        session: &SessionId,
        write: &FileWrite,
    ) -> Result<(Option<Vec<u8>>, Option<Vec<u8>>), Problem> {
        let mut both = Vec::new();
        for state in [&write.before, &write.after] {
            both.push(match state {
                Some(state) => {
                    let key = RefKey::file_of(session, &state.hash);
                    self.0.store().bytes(Some(session), &key).await.map_err(store_problem)?
                }
                None => None,
            });
        }
        let after = both.pop().flatten();
        Ok((both.pop().flatten(), after))
    }

    /// The bytes of a file as a session has read or written it.
    pub async fn file(self, session: &SessionId, hash: &str) -> Result<Vec<u8>, Problem> {
        let key = RefKey::file_of(session, hash);
        let found = self.0.store().bytes(Some(session), &key).await.map_err(store_problem)?;
        found.ok_or_else(|| {
            Problem::new(ProblemKind::NotFound, "An earlier version of a changed file is no longer stored.")
                .hint("`trimtab doctor` checks the database.")
        })
    }
}
