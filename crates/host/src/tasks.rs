//! The user's tasks: rows of the store, interpreted by the engine, in the user's time zone.
//!
//! Every change of tasks is one transaction: it reads the tasks, lets the engine apply the operations, and writes
//! rows, history, and the answer for a repeated request together. So concurrent changes wait for each other, and a
//! kill leaves all of a change or nothing.

mod calendar;
mod rhythm;
pub(crate) mod when;

use std::sync::Arc;

use serde_json::{Value, json};
use trimtab_engine::tasks::{self, Moment, TaskHistory, TaskSet, Trial};
use trimtab_vocab::event::SessionFact;
use trimtab_vocab::{
    Aggregates, Annotated, Applied, ChangeSetId, Date, DryRun, Event, Fact, Item, OnConflict, Operation,
    OperationResult, Problem, ProblemKind, SessionId, Task, TaskAuthor, TaskConflict, TaskCounts, TaskId, TaskWrite,
    TasksFact, Validation, View, Where,
};
use trimtab_world::clock;
use trimtab_world::store::{AuditEntry, TaskBook, TaskChange, TaskChanged, TaskKey, TaskWork, hash, tasks_session};

use crate::client::{ActorContext, Client, store_problem};
use crate::config::TaskSettings;
use crate::hub::Update;

pub use calendar::{Imported, Skipped};
pub use when::When;

/// How long a repeated request gets the first answer: ten minutes.
const KEY_LIFE_MS: i64 = 10 * 60 * 1000;
/// Bytes of a key at most.
const LONGEST_KEY: usize = 255;

/// The door to the user's tasks.
#[derive(Clone)]
pub struct TaskList {
    deps: Arc<ActorContext>,
    settings: TaskSettings,
    zone: jiff::tz::TimeZone,
}

/// A request to apply operations.
#[derive(Debug, Clone, Default)]
pub struct ApplyOperations {
    /// The operations, not checked yet.
    pub operations: Vec<Value>,
    /// Who requests it.
    pub by: TaskAuthor,
    /// The idempotency key.
    pub key: Option<String>,
    /// Whether the user has confirmed a large change.
    pub confirmed: bool,
}

/// Why operations were not applied. Nothing changed.
#[derive(Debug, Clone, PartialEq)]
pub enum NotApplied {
    /// Some of them are wrong.
    Invalid(Validation),
    /// They change so many tasks that the user must confirm.
    Unconfirmed(DryRun),
    /// The key was used for another request.
    KeyReused,
    /// Something else.
    Problem(Problem),
}

impl From<Problem> for NotApplied {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// Why the history did not move. Nothing changed.
#[derive(Debug, Clone, PartialEq)]
pub enum NotMoved {
    /// There is nothing to move.
    Nothing,
    /// There is no such change set in force.
    Unknown,
    /// Tasks were changed since.
    Conflicts(Vec<TaskConflict>),
    /// Something else.
    Problem(Problem),
}

/// Which way the history is to move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskMove {
    /// Undoes the last so many sets.
    Back(usize),
    /// Redoes so many sets.
    Forward(usize),
    /// Undoes one set and keeps the later ones.
    Undo(ChangeSetId),
}

impl Client {
    /// The user's tasks, in the time zone of the settings.
    pub fn tasks(&self, settings: &TaskSettings) -> Result<TaskList, Problem> {
        let zone = when::zone(&settings.timezone)?;
        Ok(TaskList { deps: Arc::clone(self.deps()), settings: settings.clone(), zone })
    }
}

impl TaskList {
    /// The current time, and the day in the user's time zone.
    pub fn moment(&self) -> Moment {
        let now = self.deps.world.clock.now();
        Moment { now, today: when::day(now, &self.zone) }
    }

    /// The name of the time zone that gives "today" its meaning.
    pub fn zone(&self) -> String {
        self.zone.iana_name().unwrap_or("local").to_owned()
    }

    /// The settings in force.
    pub fn settings(&self) -> &TaskSettings {
        &self.settings
    }

    /// Reads a day, and perhaps a time, as people say it.
    pub fn when(&self, text: &str) -> Result<When, Problem> {
        when::read(text, self.deps.world.clock.now(), &self.zone)
    }

    async fn book(&self, with_log: bool) -> Result<TaskBook, Problem> {
        self.deps.world.store.tasks(with_log).await.map_err(store_problem)
    }

    /// All tasks by number.
    pub async fn all(&self) -> Result<tasks::TaskMap, Problem> {
        Ok(self.book(false).await?.tasks)
    }

    pub async fn get(&self, id: TaskId) -> Result<Option<Task>, Problem> {
        self.deps.world.store.task(id).await.map_err(store_problem)
    }

    /// The tasks of a view, in the order in which they are due.
    pub async fn items(&self, view: View) -> Result<Vec<Item>, Problem> {
        Ok(tasks::items(&self.all().await?, view, self.moment().today))
    }

    /// The tasks of a view that a filter fits, how many there are of each sort, and which day it is. Without a
    /// view, and with a range that has both ends, it is what is on those days; without either, everything.
    pub async fn listed(&self, view: Option<View>, wanted: &Where) -> Result<(Vec<Item>, Aggregates, Date), Problem> {
        let (tasks, today) = (self.all().await?, self.moment().today);
        let range = wanted.scheduled_range.and_then(|range| Some((range.from?, range.to?)));
        let (mut items, wanted) = match (view, range) {
            (None, Some((from, to))) => {
                let rest = Where { scheduled_range: None, ..wanted.clone() };
                (tasks::items_between(&tasks, from, to, today), rest)
            }
            (view, _) => (tasks::items(&tasks, view.unwrap_or(View::All), today), wanted.clone()),
        };
        items.retain(|item| tasks::matches(&item.task, &wanted));
        Ok((items, tasks::aggregates(&tasks, today), today))
    }

    /// The tasks that a filter fits, by number.
    pub async fn filtered(&self, wanted: &Where) -> Result<Vec<Task>, Problem> {
        Ok(tasks::filtered(&self.all().await?, wanted).into_iter().cloned().collect())
    }

    /// The tasks that have all these words, the best first.
    pub async fn search(&self, words: &str, limit: u32) -> Result<Vec<Task>, Problem> {
        self.deps.world.store.search_tasks(words, limit).await.map_err(store_problem)
    }

    /// How many tasks there are of each sort.
    pub async fn aggregates(&self) -> Result<Aggregates, Problem> {
        Ok(tasks::aggregates(&self.all().await?, self.moment().today))
    }

    async fn trial(&self, operations: Vec<Value>) -> Result<Trial, Problem> {
        let book = self.book(false).await?;
        Ok(try_out(&book, operations, self.moment()))
    }

    /// The operations in their normal form, each with what is wrong about it.
    pub async fn check(&self, operations: Vec<Value>) -> Result<Vec<Annotated>, Problem> {
        Ok(self.trial(operations).await?.annotated())
    }

    /// What operations would do. Nothing is written.
    pub async fn dry_run(&self, operations: Vec<Value>) -> Result<DryRun, Problem> {
        Ok(self.trial(operations).await?.dry_run(self.settings.limits))
    }

    /// Applies operations, all of them in one transaction.
    pub async fn apply(&self, order: ApplyOperations) -> Result<Applied, NotApplied> {
        let ApplyOperations { operations, by, key, confirmed } = order;
        let key = key.map(|name| self.key(name, &operations, confirmed)).transpose()?;
        let (at, limits) = (self.moment(), self.settings.limits);
        let change_set = self.change_set();
        let work = move |book: TaskBook| {
            let trial = try_out(&book, operations.clone(), at);
            let validation = trial.validation();
            if !validation.errors.is_empty() {
                return refused(&TaskReceipt::Invalid(validation));
            }
            if !confirmed && !trial.warnings(limits).is_empty() {
                return refused(&TaskReceipt::Unconfirmed(trial.dry_run(limits)));
            }
            let (applied, writes) = trial.applied(change_set.clone());
            let summary = applied.summary;
            let change_set = change_set.clone();
            let fact = TasksFact::Applied { change_set, by, summary, writes: writes.clone(), undoes: None };
            let facts = if writes.is_empty() { Vec::new() } else { vec![fact] };
            let audit = applied.results.iter().map(audited).collect();
            done(&book, writes, facts, audit, at, &TaskReceipt::Applied(applied))
        };
        match self.change(at, key, false, work).await? {
            Some(TaskReceipt::Applied(applied)) => Ok(applied),
            Some(TaskReceipt::Invalid(validation)) => Err(NotApplied::Invalid(validation)),
            Some(TaskReceipt::Unconfirmed(dry_run)) => Err(NotApplied::Unconfirmed(dry_run)),
            Some(TaskReceipt::Moved(_) | TaskReceipt::NotMoved(_)) => Err(unreadable().into()),
            None => Err(NotApplied::KeyReused),
        }
    }

    /// Applies operations that the user wants by hand.
    pub async fn apply_by_hand(&self, operations: &[Operation], confirmed: bool) -> Result<Applied, NotApplied> {
        let operations = operations.iter().map(|operation| serde_json::to_value(operation).unwrap_or_default());
        let operations = operations.collect();
        self.apply(ApplyOperations { operations, by: TaskAuthor::Person, key: None, confirmed }).await
    }

    /// The day of a task that repeats that the user most likely means: today, else the last one that was
    /// missed, else the next to come; of those that are done, the last one.
    pub fn due(&self, task: &Task, is_done: bool) -> Option<Date> {
        let today = self.moment().today;
        if is_done {
            return task.completed_dates.last().copied();
        }
        let is_open = |date: &Date| !task.completed_dates.contains(date);
        let now = tasks::is_occurrence(task, today).then_some(today).filter(is_open);
        let missed = || tasks::last_before(task, today).filter(is_open);
        let next = || tasks::occurrences(task, today, Date::MAX).take(task.completed_dates.len() + 1).find(is_open);
        now.or_else(missed).or_else(next)
    }

    /// The change history.
    pub async fn history(&self) -> Result<TaskHistory, Problem> {
        Ok(folded(&self.book(true).await?))
    }

    /// Moves the history. Gives back the sets that moved, in the order in which they did.
    pub async fn move_history(&self, way: TaskMove, on_conflict: OnConflict) -> Result<Vec<TaskSet>, NotMoved> {
        let at = self.moment();
        let change_set = self.change_set();
        let work = move |book: TaskBook| match moved(&book, &way, on_conflict, at, change_set.clone()) {
            Ok((writes, facts, sets)) => {
                let audit = facts.iter().map(audited_move).collect();
                done(&book, writes, facts, audit, at, &TaskReceipt::Moved(sets))
            }
            Err(why) => refused(&TaskReceipt::NotMoved(why)),
        };
        match self.change(at, None, true, work).await.map_err(NotMoved::Problem)? {
            Some(TaskReceipt::Moved(ids)) => {
                let history = self.history().await.map_err(NotMoved::Problem)?;
                let set = |id: &ChangeSetId| history.sets().iter().find(|set| set.id == *id).cloned();
                Ok(ids.iter().filter_map(set).collect())
            }
            Some(TaskReceipt::NotMoved(why)) => Err(why.into()),
            _ => Err(NotMoved::Problem(unreadable())),
        }
    }

    /// Makes a change durable and notifies watchers.
    async fn change(
        &self,
        at: Moment,
        key: Option<TaskKey>,
        with_log: bool,
        work: impl Fn(TaskBook) -> TaskWork + Send + Sync + 'static,
    ) -> Result<Option<TaskReceipt>, Problem> {
        let change = TaskChange { now: at.now, key, with_log, work: Box::new(work) };
        let (answer, events) = match self.deps.world.store.change_tasks(change).await.map_err(store_problem)? {
            TaskChanged::Done { answer, events } => (answer, events),
            TaskChanged::Known { answer } => (answer, Vec::new()),
            TaskChanged::Reused => return Ok(None),
        };
        for event in events {
            self.deps.hub.publish(&event.session.clone(), Update::Event(Arc::new(event)));
        }
        serde_json::from_str(&answer).map(Some).map_err(|_| unreadable())
    }

    fn key(&self, name: String, operations: &[Value], confirmed: bool) -> Result<TaskKey, Problem> {
        if name.is_empty() || name.len() > LONGEST_KEY {
            let message = format!("An idempotency key has 1 to {LONGEST_KEY} characters.");
            return Err(Problem::new(ProblemKind::Usage, message).hint("Send a UUID."));
        }
        let print = hash(format!("{confirmed} {}", Value::from(operations.to_vec())).as_bytes());
        Ok(TaskKey { name, print, life_ms: KEY_LIFE_MS, most: self.settings.keys })
    }

    fn change_set(&self) -> ChangeSetId {
        let id = clock::request_id(self.deps.world.clock.as_ref());
        let name = id.as_str().replacen('r', "t", 1);
        name.parse().expect("letters and digits make an id")
    }
}

/// The session that holds the history of tasks.
pub fn task_session() -> SessionId {
    tasks_session()
}

fn try_out(book: &TaskBook, operations: Vec<Value>, at: Moment) -> Trial {
    let read = operations.into_iter().map(|operation| tasks::read(operation, at.today)).collect();
    tasks::try_out(&book.tasks, book.next, read, at)
}

fn folded(book: &TaskBook) -> TaskHistory {
    let mut history = TaskHistory::default();
    for event in &book.log {
        history.fold(event.time, &event.fact);
    }
    history
}

type TaskMoves = (Vec<TaskWrite>, Vec<TasksFact>, Vec<ChangeSetId>);

fn moved(
    book: &TaskBook,
    way: &TaskMove,
    on_conflict: OnConflict,
    at: Moment,
    change_set: ChangeSetId,
) -> Result<TaskMoves, Unmoved> {
    let history = folded(book);
    let (sets, in_force) = (history.sets(), history.in_force());
    let mut tasks = book.tasks.clone();
    let mut step = |writes: &[TaskWrite]| -> Result<Vec<TaskWrite>, Unmoved> {
        let writes = tasks::moved(&tasks, writes, on_conflict, at.now).map_err(Unmoved::Conflicts)?;
        for TaskWrite { id, after, .. } in &writes {
            match after {
                Some(task) => drop(tasks.insert(*id, task.clone())),
                None => drop(tasks.remove(id)),
            }
        }
        Ok(writes)
    };
    let (mut all, mut facts, mut ids) = (Vec::new(), Vec::new(), Vec::new());
    match way {
        TaskMove::Back(count) => {
            for set in sets[..in_force].iter().rev().take(*count) {
                let writes = step(&tasks::reversed(&set.writes))?;
                all.extend(writes.clone());
                facts.push(TasksFact::Reverted { change_set: set.id.clone(), writes });
                ids.push(set.id.clone());
            }
        }
        TaskMove::Forward(count) => {
            for set in sets[in_force..].iter().take(*count) {
                let writes = step(&set.writes)?;
                all.extend(writes.clone());
                facts.push(TasksFact::Reapplied { change_set: set.id.clone(), writes });
                ids.push(set.id.clone());
            }
        }
        TaskMove::Undo(id) => {
            let set = sets[..in_force].iter().find(|set| set.id == *id).ok_or(Unmoved::Unknown)?;
            let writes = step(&tasks::reversed(&set.writes))?;
            if !writes.is_empty() {
                let summary = counts(&writes);
                all.extend(writes.clone());
                let (by, undoes) = (TaskAuthor::Person, Some(id.clone()));
                facts.push(TasksFact::Applied { change_set: change_set.clone(), by, summary, writes, undoes });
                ids.push(change_set);
            }
        }
    }
    if facts.is_empty() { Err(Unmoved::Nothing) } else { Ok((all, facts, ids)) }
}

fn counts(writes: &[TaskWrite]) -> TaskCounts {
    let mut counts = TaskCounts::default();
    for write in writes {
        match (&write.before, &write.after) {
            (None, _) => counts.created += 1,
            (_, None) => counts.deleted += 1,
            _ => counts.updated += 1,
        }
    }
    counts
}

/// The audit entry for an operation.
fn audited(result: &OperationResult) -> AuditEntry {
    let name = result.op.operation().map_or("invalid", Operation::name);
    let outcome = match (&result.error, result.op.operation()) {
        (None, _) => "ok",
        (Some(_), Some(_)) => "error",
        (Some(_), None) => "invalid",
    };
    let id = result.op.operation().and_then(Operation::id).or_else(|| result.todo.as_ref().map(|task| task.id));
    let mut fields = json!({ "op": result.op, "result": outcome });
    let more = [("id", json!(id)), ("expandedIds", json!(result.expanded_ids)), ("error", json!(result.error))];
    for (name, value) in more.into_iter().filter(|(_, value)| !value.is_null()) {
        fields[name] = value;
    }
    AuditEntry::new(name, fields).about(Some(tasks_session()), None)
}

/// The audit entry for a move of the history.
fn audited_move(fact: &TasksFact) -> AuditEntry {
    let (action, change_set, writes) = match fact {
        TasksFact::Applied { undoes, change_set, writes, .. } => {
            ("undo", undoes.as_ref().unwrap_or(change_set), writes)
        }
        TasksFact::Reverted { change_set, writes } => ("rewind", change_set, writes),
        TasksFact::Reapplied { change_set, writes } => ("forward", change_set, writes),
    };
    let ids: Vec<TaskId> = writes.iter().map(|write| write.id).collect();
    let fields = json!({ "op": "tasks", "result": "ok", "changeSet": change_set, "ids": ids });
    AuditEntry::new(action, fields).about(Some(tasks_session()), None)
}

/// The result of a transaction; stored as text under its idempotency key.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
enum TaskReceipt {
    Applied(Applied),
    Invalid(Validation),
    Unconfirmed(DryRun),
    Moved(Vec<ChangeSetId>),
    NotMoved(Unmoved),
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
enum Unmoved {
    Nothing,
    Unknown,
    Conflicts(Vec<TaskConflict>),
}

impl From<Unmoved> for NotMoved {
    fn from(why: Unmoved) -> Self {
        match why {
            Unmoved::Nothing => Self::Nothing,
            Unmoved::Unknown => Self::Unknown,
            Unmoved::Conflicts(conflicts) => Self::Conflicts(conflicts),
        }
    }
}

fn written(said: &TaskReceipt) -> String {
    serde_json::to_string(said).unwrap_or_default()
}

fn unreadable() -> Problem {
    Problem::new(ProblemKind::Internal, "The store's answer about tasks cannot be read.")
        .hint("`trimtab doctor` checks the database.")
}

fn refused(said: &TaskReceipt) -> TaskWork {
    TaskWork { answer: written(said), ..TaskWork::default() }
}

fn done(
    book: &TaskBook,
    writes: Vec<TaskWrite>,
    facts: Vec<TasksFact>,
    audit: Vec<AuditEntry>,
    at: Moment,
    said: &TaskReceipt,
) -> TaskWork {
    let mut said_facts: Vec<Fact> = Vec::new();
    if book.seq == 0 && !facts.is_empty() {
        said_facts.push(SessionFact::Opened { folder: String::new(), parent_session_id: None, imported: None }.into());
        said_facts.push(SessionFact::Titled { title: "Tasks".into(), by: None }.into());
    }
    said_facts.extend(facts.into_iter().map(Fact::from));
    let event = |(n, fact): (u64, Fact)| Event {
        seq: Some(book.seq + n),
        time: at.now,
        session: tasks_session(),
        request: None,
        fact,
    };
    let events = (1..).zip(said_facts).map(event).collect();
    TaskWork { writes, events, audit, keep: true, answer: written(said) }
}
