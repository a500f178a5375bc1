//! Views of tasks: today, this week, overdue, and unscheduled, with their counts.

use std::cmp::Reverse;

use trimtab_vocab::{Aggregates, Category, Date, Item, Priority, Task, View};

use super::{TaskMap, occur};

/// The tasks of a view, in the order in which they are due.
pub fn items(tasks: &TaskMap, view: View, today: Date) -> Vec<Item> {
    let monday = today.monday();
    let mut items: Vec<Item> = Vec::new();
    for task in tasks.values() {
        match view {
            View::Today => items.extend(between(task, today, today, today)),
            View::Week => items.extend(between(task, monday, monday.plus(6), today)),
            View::Overdue => items.extend(overdue(task, today)),
            View::Backlog if task.scheduled_for.is_none() && !task.completed => items.push(item(task, None, today)),
            View::Open if !task.completed => {
                // Of one that repeats, the day that was missed and the next one.
                let next = open(task, today);
                let missed = overdue(task, today).filter(|missed| next.as_ref() != Some(missed));
                items.extend(missed.into_iter().chain(next));
            }
            View::All => items.push(open(task, today).unwrap_or_else(|| item(task, task.scheduled_for, today))),
            View::Backlog | View::Open => (),
        }
    }
    sort(&mut items, view != View::Week);
    items
}

/// The items of some days, both ends included, in order. At most a year.
pub fn items_between(tasks: &TaskMap, from: Date, to: Date, today: Date) -> Vec<Item> {
    let to = to.min(from.plus(LONGEST));
    let mut items: Vec<Item> = tasks.values().flat_map(|task| between(task, from, to, today)).collect();
    sort(&mut items, false);
    items
}

/// A look at more days at once would be long for what repeats daily.
const LONGEST: i64 = 366;

fn sort(items: &mut [Item], done_last: bool) {
    items.sort_by_cached_key(|Item { task, date, done, .. }| {
        let (day, time) = ((date.is_none(), *date), (task.time_of_day.is_none(), task.time_of_day));
        (*done && done_last, day, time, Reverse(task.priority), task.id)
    });
}

/// How many tasks there are of each sort.
pub fn aggregates(tasks: &TaskMap, today: Date) -> Aggregates {
    let mut counts = Aggregates::default();
    let monday = today.monday();
    let open_days =
        |task: &Task, from: Date, to: Date| between(task, from, to, today).filter(|item| !item.done).count() as u64;
    for task in tasks.values() {
        counts.total += 1;
        counts.today += open_days(task, today, today);
        counts.this_week += open_days(task, monday, monday.plus(6));
        if task.completed {
            counts.completed += 1;
            continue;
        }
        counts.open += 1;
        counts.overdue += u64::from(overdue(task, today).is_some());
        counts.backlog += u64::from(task.scheduled_for.is_none());
        counts.repeating += u64::from(task.is_repeating());
        *match task.priority {
            Priority::Low => &mut counts.by_priority.low,
            Priority::Medium => &mut counts.by_priority.medium,
            Priority::High => &mut counts.by_priority.high,
        } += 1;
        *match task.category {
            Category::Habit => &mut counts.by_category.habit,
            Category::Goal => &mut counts.by_category.goal,
            Category::Task => &mut counts.by_category.task,
            Category::Event => &mut counts.by_category.event,
        } += 1;
    }
    counts
}

fn is_done(task: &Task, date: Option<Date>) -> bool {
    task.completed || date.is_some_and(|date| task.is_repeating() && task.completed_dates.contains(&date))
}

fn item(task: &Task, date: Option<Date>, today: Date) -> Item {
    let done = is_done(task, date);
    let overdue = !done && task.category != Category::Habit && date.is_some_and(|date| date < today);
    Item { task: task.clone(), date, done, overdue }
}

/// The occurrences of a task on some days; once the series is over, those that were done.
fn between(task: &Task, from: Date, to: Date, today: Date) -> impl Iterator<Item = Item> {
    let is_shown = |date: &Date| !task.is_repeating() || !task.completed || task.completed_dates.contains(date);
    occur::occurrences(task, from, to).filter(is_shown).map(move |date| item(task, Some(date), today))
}

/// The day of a task that has passed without it. Of one that repeats it is the last one, unless it was done
/// on a later day; and a habit that was missed is not late, but missed.
fn overdue(task: &Task, today: Date) -> Option<Item> {
    if task.completed || task.category == Category::Habit {
        return None;
    }
    let date = occur::last_before(task, today)?;
    let done_since = task.is_repeating() && task.completed_dates.last().is_some_and(|last| *last >= date);
    (!done_since).then(|| item(task, Some(date), today))
}

/// A task with its next due day: today or later, and not done; else the missed day.
fn open(task: &Task, today: Date) -> Option<Item> {
    if !task.is_repeating() {
        return Some(item(task, task.scheduled_for, today));
    }
    let to_come = occur::occurrences(task, today, Date::MAX);
    let next = to_come.take(task.completed_dates.len() + 1).find(|date| !task.completed_dates.contains(date));
    next.map(|date| item(task, Some(date), today)).or_else(|| overdue(task, today))
}
