//! Taking back what was done to tasks, beside what a person has changed since.

use proptest::prelude::*;
use trimtab_engine::tasks::{TaskHistory, TaskMap, moved, reversed};
use trimtab_vocab::{
    Date, Fact, OnConflict, Priority, Recurrence, Repeat, Task, TaskAuthor, TaskCounts, TaskWrite, TasksFact, Time,
};

fn at(seconds: i64) -> Time {
    Time::from_millis(seconds * 1000)
}

fn task(title: &str) -> Task {
    Task::new(1, title, at(0))
}

fn tasks(list: &[&Task]) -> TaskMap {
    list.iter().map(|task| (task.id, (*task).clone())).collect()
}

fn write(before: Option<&Task>, after: Option<&Task>) -> TaskWrite {
    let id = before.or(after).map_or(1, |task| task.id);
    TaskWrite { id, before: before.cloned(), after: after.cloned() }
}

fn put(tasks: &mut TaskMap, writes: &[TaskWrite]) {
    for write in writes {
        match &write.after {
            Some(task) => drop(tasks.insert(write.id, task.clone())),
            None => drop(tasks.remove(&write.id)),
        }
    }
}

#[test]
fn what_a_person_changed_since_stays_if_it_is_another_field() {
    let before = task("a");
    let set = Task { priority: Priority::High, updated_at: at(1), ..before.clone() };
    let mine = Task { title: "my own words".into(), updated_at: at(2), ..set.clone() };
    let undo = reversed(&[write(Some(&before), Some(&set))]);
    let done = moved(&tasks(&[&mine]), &undo, OnConflict::Refuse, at(3)).expect("merges");
    let expected = Task { title: "my own words".into(), updated_at: at(3), ..before };
    assert_eq!(done, [write(Some(&mine), Some(&expected))]);
}

#[test]
fn the_same_field_is_a_conflict_and_the_person_says_what_becomes_of_it() {
    let before = task("a");
    let set = Task { title: "b".into(), notes: "n".into(), ..before.clone() };
    let mine = Task { title: "c".into(), ..set.clone() };
    let (here, undo) = (tasks(&[&mine]), reversed(&[write(Some(&before), Some(&set))]));
    let conflicts = moved(&here, &undo, OnConflict::Refuse, at(3)).expect_err("conflicts");
    assert_eq!((conflicts[0].id, conflicts[0].fields.clone()), (1, vec!["title".to_owned()]));
    let after = |how: OnConflict| moved(&here, &undo, how, at(3)).expect("moves")[0].after.clone().expect("is there");
    let kept = after(OnConflict::KeepMine);
    assert_eq!((kept.title.as_str(), kept.notes.as_str()), ("c", ""));
    let lost = after(OnConflict::DiscardMine);
    assert_eq!((lost.title.as_str(), lost.notes.as_str()), ("a", ""));
}

#[test]
fn days_that_are_done_are_taken_back_one_by_one() {
    let day = |n: i64| Date::from_days(20_000 + n);
    let recurrence = Recurrence { kind: Repeat::Daily, ..Recurrence::default() };
    let before = Task { recurrence, completed_dates: vec![day(1)], ..task("a") };
    let set = Task { completed_dates: vec![day(1), day(2)], ..before.clone() };
    let mine = Task { completed_dates: vec![day(2), day(3)], ..before.clone() };
    let undo = reversed(&[write(Some(&before), Some(&set))]);
    let done = moved(&tasks(&[&mine]), &undo, OnConflict::Refuse, at(3)).expect("merges");
    assert_eq!(done[0].after.as_ref().expect("is there").completed_dates, [day(3)]);
}

#[test]
fn what_was_made_goes_unless_somebody_worked_on_it_and_what_was_deleted_comes_back() {
    let made = task("made");
    let undo = reversed(&[write(None, Some(&made))]);
    let gone = moved(&tasks(&[&made]), &undo, OnConflict::Refuse, at(3)).expect("moves");
    assert_eq!(gone, [write(Some(&made), None)]);
    let edited = Task { notes: "mine".into(), ..made.clone() };
    let conflicts = moved(&tasks(&[&edited]), &undo, OnConflict::Refuse, at(3)).expect_err("conflicts");
    assert_eq!(conflicts[0].fields, ["edited since"]);
    assert_eq!(moved(&tasks(&[&edited]), &undo, OnConflict::KeepMine, at(3)), Ok(vec![]), "it stays");
    assert_eq!(moved(&TaskMap::new(), &undo, OnConflict::Refuse, at(3)), Ok(vec![]), "it is gone already");
    let back = moved(&TaskMap::new(), &reversed(&[write(Some(&made), None)]), OnConflict::Refuse, at(3));
    assert_eq!(back, Ok(vec![write(None, Some(&made))]));
}

fn a_task() -> impl Strategy<Value = Task> {
    let title = prop::sample::select(vec!["a", "b", "c"]);
    let priority = prop::sample::select(Priority::ALL.to_vec());
    let days = prop::collection::btree_set(0_i64..5, 0..4);
    (title, priority, any::<bool>(), days, 0_i64..9).prop_map(|(title, priority, completed, days, updated)| Task {
        priority,
        completed,
        completed_dates: days.into_iter().map(Date::from_days).collect(),
        updated_at: at(updated),
        ..task(title)
    })
}

proptest! {
    /// Back and forth leads to exactly what was there, whatever stood in between.
    #[test]
    fn the_way_back_leads_to_what_was_there(
        before in prop::option::of(a_task()), set in prop::option::of(a_task()), mine in prop::option::of(a_task()),
        how in prop::sample::select(vec![OnConflict::KeepMine, OnConflict::DiscardMine]),
    ) {
        let start: TaskMap = mine.iter().map(|task| (1, task.clone())).collect();
        let undo = reversed(&[write(before.as_ref(), set.as_ref())]);
        let mut here = start.clone();
        let done = moved(&here, &undo, how, at(50)).expect("moves");
        put(&mut here, &done);
        let back = moved(&here, &reversed(&done), OnConflict::Refuse, at(60)).expect("nobody stands in the way");
        put(&mut here, &back);
        prop_assert_eq!(here, start);
    }

    /// With nobody in between, taking back is exact.
    #[test]
    fn taking_back_at_once_is_exact(before in prop::option::of(a_task()), set in prop::option::of(a_task())) {
        let mut here: TaskMap = set.iter().map(|task| (1, task.clone())).collect();
        let done = moved(&here, &reversed(&[write(before.as_ref(), set.as_ref())]), OnConflict::Refuse, at(50));
        put(&mut here, &done.expect("nobody stands in the way"));
        prop_assert_eq!(here, before.iter().map(|task| (1, task.clone())).collect::<TaskMap>());
    }
}

#[test]
fn the_history_is_a_fold_of_the_log() {
    let (a, b) = (task("a"), Task { title: "b".into(), ..task("a") });
    let set = |name: &str| name.parse().expect("an id");
    let applied = |name: &str, writes: Vec<TaskWrite>| {
        let (by, summary) = (TaskAuthor::Person, TaskCounts::default());
        Fact::Tasks(TasksFact::Applied { change_set: set(name), by, summary, writes, undoes: None })
    };
    let mut history = TaskHistory::default();
    let names = |history: &TaskHistory| {
        let names: Vec<String> = history.sets().iter().map(|set| set.id.to_string()).collect();
        (names.join(" "), history.in_force())
    };
    history.fold(at(1), &applied("one", vec![write(None, Some(&a))]));
    history.fold(at(2), &applied("two", vec![write(Some(&a), Some(&b))]));
    let back = vec![write(Some(&b), Some(&a))];
    history.fold(at(3), &Fact::Tasks(TasksFact::Reverted { change_set: set("two"), writes: back }));
    assert_eq!(names(&history), ("one two".into(), 1));
    assert_eq!(history.sets()[1].writes, [write(Some(&a), Some(&b))], "it is kept the way it leads forward");
    let again = vec![write(Some(&a), Some(&b))];
    history.fold(at(4), &Fact::Tasks(TasksFact::Reapplied { change_set: set("two"), writes: again }));
    assert_eq!(names(&history), ("one two".into(), 2));
    history.fold(at(5), &Fact::Tasks(TasksFact::Reverted { change_set: set("two"), writes: vec![] }));
    history.fold(at(6), &applied("three", vec![]));
    assert_eq!(names(&history), ("one three".into(), 2), "what was taken back is built over");
}
