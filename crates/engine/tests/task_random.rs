//! Any operations on any tasks: nothing panics, what is written can be taken back to the last field, and no
//! task is left in a state that nobody can mean.

use proptest::prelude::*;
use serde_json::{Value, json};
use trimtab_engine::tasks::{Moment, TaskMap, Trial, aggregates, items, moved, read, reversed, try_out};
use trimtab_vocab::{Date, OnConflict, TaskLimits, TaskWrite, Time, View};

fn moment(second: i64) -> Moment {
    Moment { now: Time::from_millis(second * 1000), today: Date::from_days(20_772) }
}

fn put(tasks: &mut TaskMap, writes: &[TaskWrite]) {
    for write in writes {
        match &write.after {
            Some(task) => drop(tasks.insert(write.id, task.clone())),
            None => drop(tasks.remove(&write.id)),
        }
    }
}

fn attempt(tasks: &TaskMap, next: u64, operations: &[Value], at: Moment) -> Trial {
    try_out(tasks, next, operations.iter().map(|operation| read(operation.clone(), at.today)).collect(), at)
}

/// Values that are right, nearly right, and wrong.
fn a_value() -> impl Strategy<Value = Value> {
    let texts = prop::sample::select(vec![
        "",
        "a",
        "x y",
        "high",
        "LOW",
        "habit",
        "today",
        "tomorrow",
        "2026-11-15",
        "2026-02-30",
        "9999-12-31",
        "9:00",
        "25:00",
        "daily",
        "weekly",
        "monthly",
        "none",
        "mon,thu",
        "#3",
        "12",
        "true",
        "\u{0}",
        "é\n",
    ]);
    prop_oneof![
        texts.prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec![
            json!(null),
            json!(-1),
            json!(1.5),
            json!(u64::MAX),
            json!([]),
            json!({}),
            json!([1, "2"])
        ]),
        (0_u64..6).prop_map(Value::from),
    ]
}

fn fields() -> impl Strategy<Value = serde_json::Map<String, Value>> {
    let names = prop::sample::select(vec![
        "title",
        "notes",
        "category",
        "priority",
        "scheduledFor",
        "timeOfDay",
        "completed",
        "tags",
        "completedDates",
        "occurrenceDate",
        "id",
    ]);
    let recurrence = prop::option::of((
        prop::sample::select(vec!["none", "daily", "weekdays", "weekly", "monthly", "yearly", "hourly"]),
        prop::option::of(a_value()),
        prop::option::of(0_u32..5),
    ));
    (prop::collection::vec((names, a_value()), 0..4), recurrence).prop_map(|(pairs, recurrence)| {
        let mut fields: serde_json::Map<String, Value> =
            pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        if let Some((kind, until, interval)) = recurrence {
            let mut rule = json!({ "type": kind });
            if let Some(until) = until {
                rule["until"] = until;
            }
            if let Some(interval) = interval {
                rule["interval"] = interval.into();
            }
            fields.insert("recurrence".into(), rule);
        }
        fields
    })
}

fn an_operation() -> impl Strategy<Value = Value> {
    let ops = prop::sample::select(vec![
        "create",
        "create",
        "update",
        "delete",
        "complete",
        "complete_occurrence",
        "bulk_update",
        "bulk_complete",
        "bulk_delete",
        "fly",
    ]);
    (ops, 0_u64..6, fields(), fields(), a_value()).prop_map(|(op, id, fields, set, odd)| {
        let mut operation = json!({ "op": op, "id": id, "set": set });
        operation["where"] = match id {
            0 => json!({}),
            1 => json!({"ids": [1, 2, 3]}),
            2 => json!({"repeating": true}),
            3 => json!({"scheduled_range": {"from": "2026-11-01", "to": "2026-12-01"}}),
            4 => json!({"completed": false, "text": "a"}),
            _ => odd,
        };
        for (name, value) in fields {
            operation[name] = value;
        }
        operation
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_operations_leave_tasks_that_can_be_meant_and_can_be_taken_back(
        rounds in prop::collection::vec(prop::collection::vec(an_operation(), 1..6), 1..4)
    ) {
        let (mut tasks, mut next, mut sets) = (TaskMap::new(), 1, Vec::new());
        let mut begin = vec![json!({"op": "create", "title": "a", "scheduledFor": "today", "recurrence": "daily"})];
        for (n, round) in (1..).zip(rounds) {
            begin.extend(round);
            let trial = attempt(&tasks, next, &begin, moment(n));
            begin.clear();
            let dry = trial.dry_run(TaskLimits::default());
            prop_assert_eq!(dry.summary, trial.summary());
            let (applied, writes) = trial.applied("x".parse().expect("an id"));
            prop_assert_eq!(applied.summary, dry.summary, "what is shown is what is done");
            for (shown, done) in dry.results.iter().zip(&applied.results) {
                prop_assert_eq!(shown.valid, done.ok, "{:?}", shown);
            }
            prop_assert!(writes.iter().all(|write| write.before.as_ref() == tasks.get(&write.id)));
            prop_assert!(writes.iter().all(|write| write.before.is_some() || write.id >= next), "no number comes again");
            put(&mut tasks, &writes);
            next = next.max(tasks.keys().max().map_or(1, |id| id + 1));
            for task in tasks.values() {
                prop_assert!(!task.is_repeating() || task.scheduled_for.is_some(), "{task:?}");
                prop_assert!(task.completed_dates.windows(2).all(|two| two[0] < two[1]), "{task:?}");
                prop_assert!(!task.title.is_empty() && !task.title.contains('\n'), "{task:?}");
                let text = serde_json::to_string(task).expect("is written");
                prop_assert_eq!(&serde_json::from_str::<trimtab_vocab::Task>(&text).expect("is read"), task);
            }
            for view in [View::Today, View::Week, View::Overdue, View::Backlog, View::Open, View::All] {
                let _ = items(&tasks, view, moment(n).today);
            }
            prop_assert_eq!(aggregates(&tasks, moment(n).today).total, tasks.len() as u64);
            sets.push(writes);
        }
        let whole = tasks.clone();
        let mut undone = Vec::new();
        for writes in sets.iter().rev() {
            let back = moved(&tasks, &reversed(writes), OnConflict::Refuse, moment(99).now);
            let back = back.expect("nobody stands in the way");
            put(&mut tasks, &back);
            undone.push(back);
        }
        prop_assert_eq!(tasks.len(), 0, "everything is taken back");
        for back in undone.iter().rev() {
            let again = moved(&tasks, &reversed(back), OnConflict::Refuse, moment(100).now);
            put(&mut tasks, &again.expect("nobody stands in the way"));
        }
        prop_assert_eq!(tasks, whole, "and brought forward");
    }
}
