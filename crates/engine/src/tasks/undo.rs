//! Undo and redo of task changes, merged with the user's later changes.

use trimtab_vocab::{Date, OnConflict, Task, TaskConflict, TaskWrite, Time};

use super::TaskMap;

/// A change set the other way round.
pub fn reversed(writes: &[TaskWrite]) -> Vec<TaskWrite> {
    let turned =
        |write: &TaskWrite| TaskWrite { id: write.id, before: write.after.clone(), after: write.before.clone() };
    writes.iter().map(turned).collect()
}

/// The result of a move by these writes on the current tasks. Only fields that the writes change are touched; a field
/// that the user has changed since is a conflict.
pub fn moved(
    tasks: &TaskMap,
    writes: &[TaskWrite],
    on_conflict: OnConflict,
    now: Time,
) -> Result<Vec<TaskWrite>, Vec<TaskConflict>> {
    let (mut done, mut conflicts) = (Vec::new(), Vec::new());
    for TaskWrite { id, before, after } in writes {
        let mut merge = Merge { on_conflict, clashes: Vec::new() };
        let here = tasks.get(id);
        let left = match (before, here, after) {
            (Some(before), Some(here), Some(after)) => Some(merge.task(before, here, after, now)),
            // It comes back as it was. One of its number is there already: it came back some other way.
            (None, None, Some(after)) => Some(after.clone()),
            (None, Some(here), Some(after)) => Some(merge.whole(here, after)),
            // It goes, unless the user has made something of it.
            (Some(before), Some(here), None) if is_same(before, here) => None,
            (Some(_), Some(here), None) => merge.gone(here),
            // What is gone already cannot be changed, but stays gone.
            (Some(_), None, Some(after)) => merge.returned(after),
            (_, None, None) | (None, Some(_), None) => here.cloned(),
        };
        if !merge.clashes.is_empty() {
            let title = here.or(after.as_ref()).or(before.as_ref()).map_or_else(String::new, |task| task.title.clone());
            conflicts.push(TaskConflict { id: *id, title, fields: merge.clashes });
        }
        if here != left.as_ref() {
            done.push(TaskWrite { id: *id, before: here.cloned(), after: left });
        }
    }
    if on_conflict.is_refuse() && !conflicts.is_empty() { Err(conflicts) } else { Ok(done) }
}

/// Whether two states of a task differ in nothing but the time of the last change.
fn is_same(one: &Task, other: &Task) -> bool {
    Task { updated_at: other.updated_at, ..one.clone() } == *other
}

struct Merge {
    on_conflict: OnConflict,
    clashes: Vec<String>,
}

impl Merge {
    fn clash(&mut self, what: &str) -> bool {
        self.clashes.push(what.to_owned());
        self.on_conflict == OnConflict::DiscardMine
    }

    fn task(&mut self, from: &Task, here: &Task, to: &Task, now: Time) -> Task {
        let mut merged = Task {
            id: here.id,
            title: self.field("title", &from.title, &here.title, &to.title),
            notes: self.field("notes", &from.notes, &here.notes, &to.notes),
            category: self.field("category", &from.category, &here.category, &to.category),
            priority: self.field("priority", &from.priority, &here.priority, &to.priority),
            scheduled_for: self.field("scheduledFor", &from.scheduled_for, &here.scheduled_for, &to.scheduled_for),
            time_of_day: self.field("timeOfDay", &from.time_of_day, &here.time_of_day, &to.time_of_day),
            completed: self.field("completed", &from.completed, &here.completed, &to.completed),
            recurrence: self.field("recurrence", &from.recurrence, &here.recurrence, &to.recurrence),
            completed_dates: days(&from.completed_dates, &here.completed_dates, &to.completed_dates),
            tags: self.field("tags", &from.tags, &here.tags, &to.tags),
            created_at: here.created_at,
            updated_at: here.updated_at,
        };
        if merged == *to || is_same(&merged, to) {
            merged.updated_at = to.updated_at;
        } else if merged != *here {
            merged.updated_at = now;
        }
        merged
    }

    fn field<T: PartialEq + Clone>(&mut self, name: &str, from: &T, here: &T, to: &T) -> T {
        // A field that the set left alone, or that stands where it leads already, stays.
        if from == to || here == to {
            return here.clone();
        }
        if here == from || self.clash(name) { to.clone() } else { here.clone() }
    }

    fn whole(&mut self, here: &Task, to: &Task) -> Task {
        if is_same(here, to) || !self.clash("the task itself") { here.clone() } else { to.clone() }
    }

    fn gone(&mut self, here: &Task) -> Option<Task> {
        (!self.clash("edited since")).then(|| here.clone())
    }

    fn returned(&mut self, to: &Task) -> Option<Task> {
        self.clash("deleted since").then(|| to.clone())
    }
}

/// Days are taken out and put in one by one: those of others stay.
fn days(from: &[Date], here: &[Date], to: &[Date]) -> Vec<Date> {
    let kept = here.iter().filter(|day| to.contains(day) || !from.contains(day));
    let added = to.iter().filter(|day| !from.contains(day));
    let mut days: Vec<Date> = kept.chain(added).copied().collect();
    days.sort_unstable();
    days.dedup();
    days
}
