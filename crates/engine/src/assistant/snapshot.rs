//! The part of the tasks that a model sees. The caller passes the tasks, and only this module selects them.

use std::collections::BTreeSet;

use trimtab_vocab::{Date, ScheduledRange, Task, TaskId, TaskShown, TasksShown, TasksView, View, WeekShown, Where};

use super::candidates;
use super::prompt::line;
use crate::tasks::{self, Moment, TaskMap, aggregates, filtered, occurrences};

/// Tasks of this week that the router sees.
const WEEK: usize = 60;
/// Tasks of earlier weeks that are late.
const OVERDUE: usize = 10;
/// Tasks without a day that are shown beside others.
const BACKLOG: usize = 20;
/// The same, where the request is about a day.
const LITTLE_BACKLOG: usize = 8;
/// Tasks that are shown without a selection.
const TOP: usize = 40;
/// Tasks that are shown with a selection.
const FOCUSED: usize = 50;
/// Tasks among them that only their titles name.
const NAMED: usize = 10;
/// Characters of a title.
const TITLE: usize = 120;

pub use crate::output::TaskSelection;

/// Looks at the tasks.
pub fn view(tasks: &TaskMap, moment: Moment, timezone: &str, wanted: &TaskSelection) -> TasksView {
    let Moment { now, today } = moment;
    let shown = match wanted {
        TaskSelection::Overview { words } => overview(tasks, moment, words),
        TaskSelection::Foremost { words } => TasksShown {
            top: Some(top(tasks, today, words)),
            aggregates: counted(tasks, moment),
            ..TasksShown::default()
        },
        TaskSelection::Focused { filter, words } => focused(tasks, moment, filter, words),
    };
    TasksView { now, today, timezone: timezone.to_owned(), shown }
}

fn counted(tasks: &TaskMap, moment: Moment) -> Option<serde_json::Value> {
    serde_json::to_value(aggregates(tasks, moment.today)).ok()
}

/// This week, Monday to Sunday, each task once; overdue tasks, and a sample of unscheduled ones. A task that is named
/// is always shown.
fn overview(tasks: &TaskMap, moment: Moment, words: &str) -> TasksShown {
    let today = moment.today;
    let (from, to) = (today.monday(), today.monday().plus(6));
    let open = || tasks.values().filter(|task| !task.completed);
    let mut week: Vec<(Date, &Task)> =
        open().filter_map(|task| Some((occurrences(task, from, to).next()?, task))).collect();
    week.sort_by_key(|(date, task)| (*date, std::cmp::Reverse(task.priority), task.id));
    let items: Vec<TaskShown> = week.into_iter().take(WEEK).map(|(_, task)| shown(task)).collect();
    let mut seen: BTreeSet<TaskId> = items.iter().map(|task| task.id).collect();
    let backlog = backlog(tasks, &BTreeSet::new(), BACKLOG);
    seen.extend(backlog.iter().map(|task| task.id));
    // The latest first: what is late for a year was not missed yet.
    let late = tasks::items(tasks, View::Overdue, today).into_iter().rev().map(|item| item.task);
    let overdue: Vec<TaskShown> =
        late.filter(|task| seen.insert(task.id)).take(OVERDUE).map(|task| shown(&task)).collect();
    seen.extend(overdue.iter().map(|task| task.id));
    let focused = named(tasks, words, &seen, NAMED);
    let some = |list: Vec<TaskShown>| (!list.is_empty()).then_some(list);
    TasksShown {
        week: Some(WeekShown { from, to, items }),
        overdue: some(overdue),
        focused: some(focused.into_iter().map(shown).collect()),
        backlog: Some(backlog),
        aggregates: counted(tasks, moment),
        ..TasksShown::default()
    }
}

/// The foremost, and in the place of the last of them what is named by its title.
fn top(tasks: &TaskMap, today: Date, words: &str) -> Vec<TaskShown> {
    let mut top: Vec<&Task> = foremost(tasks.values().collect(), today).into_iter().take(TOP).collect();
    let named = named(tasks, words, &top.iter().map(|task| task.id).collect(), NAMED);
    top.truncate(TOP - named.len());
    top.into_iter().chain(named).map(shown).collect()
}

/// What is open and named by its title, but for what is shown already.
fn named<'a>(tasks: &'a TaskMap, words: &str, but: &BTreeSet<TaskId>, most: usize) -> Vec<&'a Task> {
    let open = tasks.values().filter(|task| !task.completed && !but.contains(&task.id));
    candidates::titled(words, open).into_iter().take(most).collect()
}

fn backlog(tasks: &TaskMap, but: &BTreeSet<TaskId>, most: usize) -> Vec<TaskShown> {
    let without_a_day = |task: &&Task| !task.completed && task.scheduled_for.is_none() && !but.contains(&task.id);
    let mut backlog: Vec<&Task> = tasks.values().filter(without_a_day).collect();
    backlog.sort_by_key(|task| (std::cmp::Reverse(task.priority), std::cmp::Reverse(task.id)));
    backlog.into_iter().take(most).map(shown).collect()
}

/// Open before done, soon before late, what is overdue first; what has no day comes after.
fn foremost(mut tasks: Vec<&Task>, today: Date) -> Vec<&Task> {
    tasks.sort_by_key(|task| {
        let date = task.scheduled_for.map(|date| if task.is_repeating() { date.max(today) } else { date });
        (task.completed, date.is_none(), date, std::cmp::Reverse(task.priority), task.id)
    });
    tasks
}

/// What a filter fits, and what is named by its title. Of one that repeats, every day counts on which it occurs;
/// about a day, a little of the backlog stands beside it, which may have to take its place.
fn focused(tasks: &TaskMap, moment: Moment, filter: &Where, words: &str) -> TasksShown {
    let range = filter.scheduled_range;
    let whenever = Where { scheduled_range: None, ..filter.clone() };
    let in_range = |task: &&Task| {
        let ends =
            |range: ScheduledRange| (range.from.unwrap_or(Date::from_days(i64::MIN)), range.to.unwrap_or(Date::MAX));
        range.map(ends).is_none_or(|(from, to)| occurrences(task, from, to).next().is_some())
    };
    let fits: Vec<&Task> = filtered(tasks, &whenever).into_iter().filter(in_range).collect();
    let mut ids: BTreeSet<TaskId> = fits.iter().map(|task| task.id).collect();
    let mut focused = foremost(fits, moment.today);
    focused.truncate(FOCUSED);
    let by_title = named(tasks, words, &ids, NAMED.min(FOCUSED - focused.len()));
    ids.extend(by_title.iter().map(|task| task.id));
    focused.extend(by_title);
    TasksShown {
        focused: Some(focused.into_iter().map(shown).collect()),
        backlog: range.is_some().then(|| backlog(tasks, &ids, LITTLE_BACKLOG)),
        aggregates: counted(tasks, moment),
        ..TasksShown::default()
    }
}

fn shown(task: &Task) -> TaskShown {
    TaskShown {
        id: task.id,
        title: line(&task.title, TITLE),
        scheduled_for: task.scheduled_for,
        time_of_day: task.time_of_day,
        priority: task.priority,
        completed: task.completed,
        repeats: task.is_repeating().then_some(task.recurrence.kind),
    }
}
