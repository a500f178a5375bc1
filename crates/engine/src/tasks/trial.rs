//! Applies operations to copies. The result is a dry run, a check of a proposal, or the writes and results of
//! applying them: three views of one [`Trial`].

use std::collections::{BTreeMap, BTreeSet};

use trimtab_vocab::format;
use trimtab_vocab::{
    Annotated, Applied, ChangeSetId, Date, DryRun, Operation, OperationResult, Preview, Previewed, Proposed,
    Recurrence, RecurrenceFields, Repeat, Task, TaskCounts, TaskFields, TaskId, TaskLimits, TaskWrite, Validation,
    Where,
};

use super::{Moment, TaskMap, check, filter, occur};

/// Sets of more operations are refused whole.
const MOST_OPERATIONS: usize = 10_000;
/// Each of these looks at every task.
const MOST_BULK: usize = 100;
/// Tasks that a preview of a bulk operation names.
const SAMPLES: usize = 10;
/// Days of a task that one bulk operation marks as done at most: ten years of them.
const MOST_DAYS: usize = 3_660;

/// The result of operations, one after the other.
#[derive(Debug, Clone)]
pub struct Trial {
    tried: Vec<Tried>,
    summary: TaskCounts,
    writes: Vec<TaskWrite>,
}

#[derive(Debug, Clone)]
struct Tried {
    op: Proposed,
    /// Why it must not be applied.
    errors: Vec<String>,
    /// Why it cannot be: a word for programs, and for people.
    failure: Option<(&'static str, String)>,
    effect: TaskEffect,
}

#[derive(Debug, Clone)]
enum TaskEffect {
    None,
    One { before: Option<Box<Task>>, after: Option<Box<Task>> },
    Many { ids: Vec<TaskId> },
}

/// Tries operations out, each on what the ones before it left. `next` is the number of the next new task.
pub fn try_out(tasks: &TaskMap, next: TaskId, operations: Vec<Annotated>, at: Moment) -> Trial {
    let mut workbench = Workbench { tasks, changed: BTreeMap::new(), next, at, summary: TaskCounts::default() };
    let is_bulk = |one: &Annotated| one.op.operation().is_some_and(|op| op.name().starts_with("bulk_"));
    let too_many =
        operations.len() > MOST_OPERATIONS || operations.iter().filter(|one| is_bulk(one)).count() > MOST_BULK;
    let mut attempt = |Annotated { op, mut errors }: Annotated| {
        if too_many {
            errors.push(format!(
                "too_many_operations: send at most {MOST_OPERATIONS} at once, {MOST_BULK} of them bulk operations"
            ));
        }
        let mut tried = Tried { op, errors, failure: None, effect: TaskEffect::None };
        if let (true, Proposed::Read(operation)) = (tried.errors.is_empty(), &tried.op) {
            match workbench.apply(operation) {
                Ok(effect) => tried.effect = effect,
                Err(TaskRefusal::Invalid(errors)) => tried.errors = errors,
                Err(TaskRefusal::Failed(name, text)) => tried.failure = Some((name, text)),
            }
        }
        tried
    };
    let tried = operations.into_iter().map(&mut attempt).collect();
    let Workbench { changed, summary, .. } = workbench;
    let writes = changed.into_iter().map(|(id, after)| TaskWrite { id, before: tasks.get(&id).cloned(), after });
    let writes = writes.filter(|write| write.before != write.after).collect();
    Trial { tried, summary, writes }
}

impl Trial {
    /// The operations with their errors, for the model or user that proposed them.
    pub fn annotated(&self) -> Vec<Annotated> {
        let annotated = |tried: &Tried| {
            let mut errors = tried.errors.clone();
            errors.extend(tried.failure.as_ref().map(|(name, text)| format!("{name}: {text}")));
            Annotated { op: tried.op.clone(), errors }
        };
        self.tried.iter().map(annotated).collect()
    }

    /// Whether the operations may be applied. A missing task does not block the others.
    pub fn validation(&self) -> Validation {
        let annotated = |tried: &Tried| Annotated { op: tried.op.clone(), errors: tried.errors.clone() };
        let results: Vec<Annotated> = self.tried.iter().map(annotated).collect();
        let error = if results.is_empty() {
            Some("missing_operations")
        } else {
            results.iter().any(|result| !result.errors.is_empty()).then_some("invalid_operations")
        };
        Validation { errors: error.into_iter().map(str::to_owned).collect(), results }
    }

    /// What would change.
    pub fn writes(&self) -> &[TaskWrite] {
        &self.writes
    }

    /// How much would change.
    pub fn summary(&self) -> TaskCounts {
        self.summary
    }

    /// Warnings that the user must confirm.
    pub fn warnings(&self, limits: TaskLimits) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.summary.deleted > limits.deletes {
            let deleted = self.summary.deleted;
            warnings.push(format!("This will delete {}.", format::plural(deleted, "task")));
        }
        let mut changed = 0;
        for Tried { op, effect, .. } in &self.tried {
            let (Some(operation), TaskEffect::Many { ids }) = (op.operation(), effect) else { continue };
            let (wanted, verb) = match operation {
                Operation::BulkUpdate { r#where, .. } => (r#where, "changes"),
                Operation::BulkComplete { r#where, .. } => (r#where, "completes"),
                Operation::BulkDelete { r#where } => (r#where, "deletes"),
                _ => continue,
            };
            if wanted.is_everything() && !ids.is_empty() {
                let name = operation.name();
                warnings.push(format!("{name} has no condition: it {verb} every task, {} in all.", ids.len()));
            }
            if !operation.is_delete() {
                changed += ids.len() as u64;
            }
        }
        if changed > limits.updates {
            warnings.push(format!("This will change {changed} tasks at once."));
        }
        warnings
    }

    /// What each operation would do, and all of them.
    pub fn dry_run(&self, limits: TaskLimits) -> DryRun {
        let previewed = |tried: &Tried, Annotated { op, errors }: Annotated| {
            let preview = match &tried.effect {
                TaskEffect::None => None,
                TaskEffect::One { before, after } => {
                    let (before, after) = (before.as_deref().cloned(), after.as_deref().cloned());
                    Some(Preview { before, after, ..Preview::default() })
                }
                TaskEffect::Many { ids } => {
                    let sample_ids = Some(ids.iter().take(SAMPLES).copied().collect());
                    Some(Preview { count: Some(ids.len() as u64), sample_ids, ..Preview::default() })
                }
            };
            Previewed { op, valid: errors.is_empty(), errors, preview }
        };
        let results = self.tried.iter().zip(self.annotated()).map(|(tried, op)| previewed(tried, op)).collect();
        DryRun { results, summary: self.summary, warnings: self.warnings(limits) }
    }

    /// The result of each operation, as change set `change_set`, and what to write.
    pub fn applied(self, change_set: ChangeSetId) -> (Applied, Vec<TaskWrite>) {
        let result = |Tried { op, errors, failure, effect }: Tried| {
            let error = match failure {
                Some((name, _)) => Some(name.to_owned()),
                None => (!errors.is_empty()).then(|| "invalid_op".to_owned()),
            };
            let (todo, ids) = match effect {
                TaskEffect::None => (None, None),
                TaskEffect::One { after, .. } => (after.map(|task| *task), None),
                TaskEffect::Many { ids } => (None, Some(ids)),
            };
            let count = ids.as_ref().map(|ids| ids.len() as u64);
            OperationResult { ok: error.is_none(), op, todo, count, expanded_ids: ids, error }
        };
        let results = self.tried.into_iter().map(result).collect();
        let change_set = (!self.writes.is_empty()).then_some(change_set);
        (Applied { results, summary: self.summary, change_set }, self.writes)
    }
}

enum TaskRefusal {
    Invalid(Vec<String>),
    Failed(&'static str, String),
}

/// The tasks with what was done to them so far.
struct Workbench<'a> {
    tasks: &'a TaskMap,
    changed: BTreeMap<TaskId, Option<Task>>,
    next: TaskId,
    at: Moment,
    summary: TaskCounts,
}

impl Workbench<'_> {
    fn task(&self, id: TaskId) -> Option<&Task> {
        self.changed.get(&id).map_or_else(|| self.tasks.get(&id), Option::as_ref)
    }

    /// The tasks as they stand, by number.
    fn all(&self) -> impl Iterator<Item = &Task> {
        let untouched = self.tasks.values().filter(|task| !self.changed.contains_key(&task.id));
        untouched.chain(self.changed.values().flatten())
    }

    fn ids(&self, fits: impl Fn(&Task) -> bool) -> Vec<TaskId> {
        let mut ids: Vec<TaskId> = self.all().filter(|task| fits(task)).map(|task| task.id).collect();
        ids.sort_unstable();
        ids
    }

    fn put(&mut self, mut task: Task) {
        task.updated_at = self.at.now;
        self.changed.insert(task.id, Some(task));
    }

    fn change(&mut self, id: TaskId, work: impl FnOnce(&mut Task, Moment)) {
        if let Some(mut task) = self.task(id).cloned() {
            work(&mut task, self.at);
            self.put(task);
        }
    }

    fn apply(&mut self, operation: &Operation) -> Result<TaskEffect, TaskRefusal> {
        let before = match operation.id() {
            Some(id) => {
                let missing = || TaskRefusal::Failed("not_found", format!("there is no task #{id}"));
                Some(self.task(id).ok_or_else(missing)?.clone())
            }
            None => None,
        };
        if let Some(error) = before.as_ref().and_then(|task| check::fit(operation, task)) {
            return Err(TaskRefusal::Invalid(vec![error]));
        }
        let done = |completed: &Option<bool>| completed.unwrap_or(true);
        let id = match operation {
            Operation::Create { fields } => {
                let task = self.create(fields);
                self.summary.created += 1;
                task
            }
            Operation::Update { id, fields } => {
                self.change(*id, |task, at| set(task, fields, at));
                self.summary.updated += 1;
                *id
            }
            Operation::Delete { id } => {
                self.changed.insert(*id, None);
                self.summary.deleted += 1;
                *id
            }
            Operation::Complete { id, completed } => {
                self.change(*id, |task, _| task.completed = done(completed));
                self.summary.completed += 1;
                *id
            }
            Operation::CompleteOccurrence { id, occurrence_date, completed } => {
                if !before.as_ref().is_some_and(Task::is_repeating) {
                    return Err(TaskRefusal::Failed("not_repeating", format!("#{id} does not repeat; use complete")));
                }
                self.change(*id, |task, _| mark(task, &[*occurrence_date], done(completed)));
                self.summary.completed += 1;
                *id
            }
            Operation::BulkUpdate { r#where, set: fields } => return self.bulk_update(r#where, fields),
            Operation::BulkComplete { r#where, completed } => return Ok(self.bulk_complete(r#where, done(completed))),
            Operation::BulkDelete { r#where } => {
                let ids = self.ids(|task| filter::matches(task, r#where));
                self.changed.extend(ids.iter().map(|id| (*id, None)));
                self.summary.deleted += ids.len() as u64;
                return Ok(TaskEffect::Many { ids });
            }
        };
        let after = self.task(id).cloned().map(Box::new);
        Ok(TaskEffect::One { before: before.map(Box::new), after })
    }

    fn create(&mut self, fields: &TaskFields) -> TaskId {
        let id = self.next;
        self.next += 1;
        let mut task = Task::new(id, "", self.at.now);
        set(&mut task, fields, self.at);
        self.put(task);
        id
    }

    fn bulk_update(&mut self, wanted: &Where, fields: &TaskFields) -> Result<TaskEffect, TaskRefusal> {
        let ids = self.ids(|task| filter::matches(task, wanted));
        let wrong = |id: &TaskId| check::anchored(self.task(*id)?, fields).map(|error| (*id, error));
        if let Some((id, error)) = ids.iter().find_map(wrong) {
            return Err(TaskRefusal::Invalid(vec![format!("{error} (#{id} has none)")]));
        }
        for id in &ids {
            self.change(*id, |task, at| set(task, fields, at));
        }
        self.summary.updated += ids.len() as u64;
        Ok(TaskEffect::Many { ids })
    }

    /// One that repeats is done on the days of the range, or today; never as a whole.
    fn bulk_complete(&mut self, wanted: &Where, done: bool) -> TaskEffect {
        let today = self.at.today;
        let range = wanted.scheduled_range;
        let whenever = Where { scheduled_range: None, ..wanted.clone() };
        let days = |task: &Task| -> Vec<Date> {
            let from = range.map_or(Some(today), |range| range.from).or(task.scheduled_for).unwrap_or(today);
            let to = range.and_then(|range| range.to).unwrap_or(today);
            occur::occurrences(task, from, to).take(MOST_DAYS).collect()
        };
        let fits = |task: &Task| match task.is_repeating() {
            true => filter::matches(task, &whenever) && !days(task).is_empty(),
            false => filter::matches(task, wanted),
        };
        let ids = self.ids(fits);
        for id in &ids {
            self.change(*id, |task, _| match task.is_repeating() {
                true => {
                    let days = days(task);
                    mark(task, &days, done);
                    task.completed &= done;
                }
                false => task.completed = done,
            });
        }
        self.summary.completed += ids.len() as u64;
        TaskEffect::Many { ids }
    }
}

/// Marks days of a task that repeats as done, or not.
fn mark(task: &mut Task, days: &[Date], done: bool) {
    let days: BTreeSet<Date> = days.iter().copied().collect();
    let mut all: BTreeSet<Date> = task.completed_dates.iter().copied().filter(|date| !days.contains(date)).collect();
    if done {
        all.extend(days);
    }
    task.completed_dates = all.into_iter().collect();
}

fn set(task: &mut Task, fields: &TaskFields, at: Moment) {
    let TaskFields {
        title,
        notes,
        category,
        priority,
        scheduled_for,
        time_of_day,
        completed,
        recurrence,
        completed_dates,
        tags,
    } = fields;
    if let Some(title) = title {
        title.trim().clone_into(&mut task.title);
    }
    if let Some(notes) = notes {
        task.notes.clone_from(notes);
    }
    if let Some(tags) = tags {
        task.tags.clone_from(tags);
    }
    task.category = category.unwrap_or(task.category);
    task.priority = priority.unwrap_or(task.priority);
    task.scheduled_for = scheduled_for.unwrap_or(task.scheduled_for);
    task.time_of_day = time_of_day.unwrap_or(task.time_of_day);
    task.completed = completed.unwrap_or(task.completed);
    if let Some(recurrence) = recurrence {
        repeat(task, recurrence, at);
    }
    if let Some(dates) = completed_dates.as_ref().filter(|_| task.is_repeating()) {
        task.completed_dates.clear();
        mark(task, dates, true);
    }
}

/// Merges a recurrence into the one that is there.
fn repeat(task: &mut Task, fields: &RecurrenceFields, at: Moment) {
    let before = std::mem::take(&mut task.recurrence);
    let kind = fields.kind.unwrap_or(before.kind);
    if kind == Repeat::None {
        if before.kind != Repeat::None {
            task.completed_dates.clear();
        }
        return;
    }
    // "Every 3 days" that becomes weekly is every week, unless it says otherwise.
    let is_same = kind == before.kind;
    let weekdays = fields.weekdays.clone().or_else(|| is_same.then_some(before.weekdays)).unwrap_or_default();
    let ends = || task.scheduled_for.map_or(at.today, |anchor| anchor.max(at.today)).year_end();
    task.recurrence = Recurrence {
        kind,
        interval: fields.interval.or_else(|| is_same.then_some(before.interval)).unwrap_or(1),
        weekdays: if kind == Repeat::Weekly { weekdays } else { Vec::new() },
        until: match fields.until {
            Some(until) => until,
            None if before.kind != Repeat::None => before.until,
            None => Some(ends()),
        },
    };
}
