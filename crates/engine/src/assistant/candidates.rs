//! The tasks that a request may mean: those whose titles share words with it, then those that are near in time.

use std::collections::BTreeSet;

use trimtab_vocab::{Task, TaskId, TaskShown, TasksShown};

/// Words that name no task.
const COMMON: &[&str] = &[
    "the",
    "and",
    "for",
    "with",
    "that",
    "this",
    "these",
    "those",
    "them",
    "all",
    "one",
    "from",
    "into",
    "move",
    "add",
    "set",
    "mark",
    "make",
    "done",
    "delete",
    "remove",
    "complete",
    "change",
    "task",
    "tasks",
    "todo",
    "todos",
    "item",
    "items",
    "please",
    "can",
    "you",
    "could",
    "would",
    "today",
    "tomorrow",
    "week",
    "next",
    "day",
    "date",
    "priority",
    "high",
    "low",
    "medium",
    "push",
    "back",
    "reschedule",
    "finish",
    "update",
    "edit",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "back",
    "out",
    "off",
    "its",
    "his",
    "her",
    "our",
    "mine",
];
/// Bytes of an instruction that are looked at.
const MOST_SCANNED: usize = 4_000;

/// The likeliest tasks first, up to a limit, and how many more there are.
pub(super) fn candidates<'a>(instruction: &str, shown: &'a TasksShown, named: &[TaskId]) -> Vec<&'a TaskShown> {
    let instruction = &instruction[..instruction.floor_char_boundary(MOST_SCANNED)];
    let wanted = telling(instruction);
    let ids: BTreeSet<TaskId> = mentioned(instruction).chain(named.iter().copied()).collect();
    let mut seen = BTreeSet::new();
    let all = all(shown).filter(|task| seen.insert(task.id));
    let mut scored: Vec<(u32, usize, &TaskShown)> = all
        .enumerate()
        .map(|(at, task)| {
            let shared = shared(&task.title, &wanted);
            (shared.saturating_add(if ids.contains(&task.id) { 1_000 } else { 0 }), at, task)
        })
        .collect();
    // A request that names something means that; one that names nothing may mean anything near.
    if scored.iter().any(|(score, ..)| *score > 0) {
        scored.retain(|(score, ..)| *score > 0);
    }
    scored.sort_by(|(a, at, _), (b, bt, _)| b.cmp(a).then(at.cmp(bt)));
    scored.into_iter().map(|(.., task)| task).collect()
}

/// The tasks whose titles share words with an instruction, the likeliest first.
pub(super) fn titled<'a>(instruction: &str, tasks: impl Iterator<Item = &'a Task>) -> Vec<&'a Task> {
    let wanted = telling(&instruction[..instruction.floor_char_boundary(MOST_SCANNED)]);
    let mut scored: Vec<(u32, &Task)> =
        tasks.map(|task| (shared(&task.title, &wanted), task)).filter(|(score, _)| *score > 0).collect();
    scored.sort_by_key(|(score, task)| (std::cmp::Reverse(*score), task.id));
    scored.into_iter().map(|(_, task)| task).collect()
}

/// How many telling words a title has.
fn shared(title: &str, wanted: &BTreeSet<String>) -> u32 {
    let title: Vec<String> = words(title).collect();
    let fits = |word: &&String| title.iter().any(|other| other.starts_with(word.as_str()) || is_stem(word, other));
    u32::try_from(wanted.iter().filter(fits).count()).unwrap_or(u32::MAX)
}

/// The words of an instruction that may name a task. More than these name nothing.
fn telling(instruction: &str) -> BTreeSet<String> {
    words(instruction).filter(|word| is_telling(word)).take(60).collect()
}

/// Everything that is shown: what is planned first.
pub(super) fn all(shown: &TasksShown) -> impl Iterator<Item = &TaskShown> {
    let week = shown.week.iter().flat_map(|week| &week.items);
    let rest = [&shown.overdue, &shown.focused, &shown.top, &shown.backlog].into_iter().flatten().flatten();
    week.chain(rest)
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

fn is_telling(word: &str) -> bool {
    word.chars().count() >= 3 && !COMMON.contains(&word)
}

/// "reports" names the report.
fn is_stem(word: &str, other: &str) -> bool {
    other.chars().count() >= 4 && word.starts_with(other)
}

/// The tasks that are named by their numbers: `#12`.
fn mentioned(text: &str) -> impl Iterator<Item = TaskId> + '_ {
    text.split('#').skip(1).filter_map(|after| {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        after[..digits].parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::Priority;

    use super::*;

    fn shown(titles: &[(TaskId, &str)]) -> TasksShown {
        let task = |(id, title): &(TaskId, &str)| TaskShown {
            id: *id,
            title: (*title).into(),
            scheduled_for: None,
            time_of_day: None,
            priority: Priority::Medium,
            completed: false,
            repeats: None,
        };
        TasksShown { backlog: Some(titles.iter().map(task).collect()), ..TasksShown::default() }
    }

    fn ids(instruction: &str, named: &[TaskId]) -> Vec<TaskId> {
        let shown = shown(&[
            (1, "Write the quarterly report"),
            (2, "Call Bob"),
            (3, "Report to Bob"),
            (4, "Buy milk"),
            (5, "Review reports"),
        ]);
        candidates(instruction, &shown, named).iter().map(|task| task.id).collect()
    }

    #[test]
    fn the_best_match_comes_first() {
        assert_eq!(ids("Move the report for Bob to Friday", &[]), [3, 1, 2, 5]);
        assert_eq!(ids("delete the reports", &[]), [1, 3, 5]);
        assert_eq!(ids("finish #4 please", &[]), [4]);
        assert_eq!(ids("call", &[5]), [5, 2]);
    }

    #[test]
    fn who_names_nothing_may_mean_anything() {
        assert_eq!(ids("Move it to Friday", &[]), [1, 2, 3, 4, 5]);
        assert_eq!(ids("", &[]), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn the_same_task_is_offered_once() {
        let mut shown = shown(&[(1, "A thing")]);
        shown.top.clone_from(&shown.backlog);
        assert_eq!(candidates("thing", &shown, &[]).len(), 1);
    }
}
