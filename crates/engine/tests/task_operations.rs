//! What operations on tasks mean: read in any shape, checked with advice, tried out, counted.

use serde_json::{Value, json};
use trimtab_engine::tasks::{
    Moment, TaskMap, Trial, aggregates, filtered, items, items_between, operations_in, read, try_out,
};
use trimtab_vocab::{Date, Task, TaskLimits, Time, View, Where};

fn date(text: &str) -> Date {
    text.parse().expect("a day")
}

/// Sunday, 15 November 2026, noon.
fn moment() -> Moment {
    let now: Time = "2026-11-15T12:00:00.000Z".parse().expect("a time");
    Moment { now, today: date("2026-11-15") }
}

fn attempt(tasks: &TaskMap, operations: Vec<Value>) -> Trial {
    let read = operations.into_iter().map(|operation| read(operation, moment().today)).collect();
    try_out(tasks, tasks.keys().max().map_or(1, |id| id + 1), read, moment())
}

/// Tasks made by these operations.
fn made(operations: Vec<Value>) -> TaskMap {
    let trial = attempt(&TaskMap::new(), operations);
    assert_eq!(trial.validation().errors, Vec::<String>::new(), "{:?}", trial.validation());
    trial.writes().iter().filter_map(|write| write.after.clone()).map(|task| (task.id, task)).collect()
}

/// Tasks after these operations, and what came of each.
fn after(tasks: &TaskMap, operations: Vec<Value>) -> (TaskMap, Value) {
    let trial = attempt(tasks, operations);
    let mut tasks = tasks.clone();
    for write in trial.writes() {
        match &write.after {
            Some(task) => drop(tasks.insert(write.id, task.clone())),
            None => drop(tasks.remove(&write.id)),
        }
    }
    let (applied, _) = trial.applied("x1".parse().expect("an id"));
    (tasks, serde_json::to_value(applied).expect("is JSON"))
}

fn normal(operation: Value) -> Value {
    serde_json::to_value(read(operation, moment().today).op).expect("is JSON")
}

/// The words for programs of what is wrong.
fn errors(operation: Value) -> Vec<String> {
    let names = |error: &String| error.split(':').next().unwrap_or_default().to_owned();
    read(operation, moment().today).errors.iter().map(names).collect()
}

#[test]
fn an_operation_without_a_name_is_inferred_from_its_fields() {
    assert_eq!(normal(json!({"title": "a", "id": null})), json!({"op": "create", "title": "a"}));
    assert_eq!(normal(json!({"scheduledFor": null, "title": "x"}))["op"], "create");
    assert_eq!(normal(json!({"id": 3, "completed": true})), json!({"op": "complete", "id": 3, "completed": true}));
    assert_eq!(normal(json!({"id": 3, "priority": "HIGH"})), json!({"op": "update", "id": 3, "priority": "high"}));
    assert_eq!(normal(json!({"id": 3, "completed": false, "title": "b"}))["op"], "update");
    assert_eq!(normal(json!({"action": "delete", "id": "3"})), json!({"op": "delete", "id": 3}));
    assert_eq!(
        normal(json!({"type": "Bulk-Delete", "where": {"ids": ["1", 2.0]}})),
        json!({"op": "bulk_delete", "where": {"ids": [1, 2]}})
    );
    assert_eq!(normal(json!({"op": "create", "id": 99, "title": " a "})), json!({"op": "create", "title": "a"}));
}

#[test]
fn simple_values_are_brought_into_their_normal_form() {
    let shaped = normal(json!({
        "op": "update", "id": "#12", "scheduledFor": "tomorrow", "timeOfDay": "9:05 PM", "completed": "yes",
        "tags": "#home, garden home", "recurrence": "Weekly", "category": "Habit",
    }));
    assert_eq!(
        shaped,
        json!({
            "op": "update", "id": 12, "category": "habit", "scheduledFor": "2026-11-16", "timeOfDay": "21:05",
            "completed": true, "recurrence": {"type": "weekly"}, "tags": ["home", "garden"],
        })
    );
    assert_eq!(
        normal(json!({"op": "update", "id": 1, "scheduledFor": "", "timeOfDay": ""})),
        json!({"op": "update", "id": 1, "scheduledFor": null, "timeOfDay": null})
    );
    let every = normal(json!({"op": "update", "id": 1, "recurrence":
        {"type": "every_n_days", "intervalDays": "3", "until": "2026-12-01T00:00:00Z"}}));
    assert_eq!(every["recurrence"], json!({"type": "daily", "interval": 3, "until": "2026-12-01"}));
    let ranged = normal(json!({"op": "bulk_complete", "where": {"scheduledRange": {"from": "today", "to": null}}}));
    assert_eq!(ranged["where"], json!({"scheduled_range": {"from": "2026-11-15"}}));
}

#[test]
fn days_and_moments_are_read_as_models_write_them_and_never_guessed() {
    let planned = |scheduled: Value| {
        let op = normal(json!({"op": "update", "id": 1, "scheduledFor": scheduled}));
        (op["scheduledFor"].clone(), op["timeOfDay"].clone())
    };
    // 2026-11-15 is a Sunday.
    for (said, day, time) in [
        ("friday", json!("2026-11-20"), Value::Null),
        (" On Sun ", json!("2026-11-22"), Value::Null),
        ("tonight", json!("2026-11-15"), Value::Null),
        ("2026-11-20T09:30", json!("2026-11-20"), json!("09:30")),
        ("2026-11-20 9:30 pm", json!("2026-11-20"), json!("21:30")),
        ("2026-11-20T00:00:00Z", json!("2026-11-20"), Value::Null),
    ] {
        assert_eq!(planned(json!(said)), (day, time), "{said}");
    }
    let kept = normal(json!({"op": "update", "id": 1, "scheduledFor": "2026-11-20", "timeOfDay": "08:00"}));
    assert_eq!(kept["timeOfDay"], "08:00");
    for unclear in ["2026-11-20T09:30:00Z", "2026-11-20T09:30+02:00", "2026-02-30T09:30", "next friday", "fr", "soon"] {
        let wrong = errors(json!({"op": "update", "id": 1, "scheduledFor": unclear}));
        assert_eq!(wrong, ["invalid_scheduledFor"], "{unclear}");
    }
}

#[test]
fn what_is_wrong_is_named_with_advice() {
    let cases = [
        (json!({"op": "fly"}), vec!["invalid_op"]),
        (json!({}), vec!["invalid_op"]),
        (json!("create"), vec!["invalid_op"]),
        (json!({"op": "create"}), vec!["missing_title"]),
        (json!({"op": "create", "title": "  "}), vec!["missing_title"]),
        (json!({"op": "create", "title": 5}), vec!["missing_title", "invalid_title"]),
        (json!({"op": "create", "title": "a", "priority": "urgent"}), vec!["invalid_priority"]),
        (json!({"op": "create", "title": "a", "scheduledFor": "2026-02-30"}), vec!["invalid_scheduledFor"]),
        (json!({"op": "create", "title": "a", "timeOfDay": "25:00"}), vec!["invalid_timeOfDay"]),
        (json!({"op": "create", "title": "a", "recurrence": {"type": "daily"}}), vec!["missing_anchor"]),
        (
            json!({"op": "create", "title": "a", "recurrence": {"type": "hourly"}, "scheduledFor": "today"}),
            vec!["invalid_recurrence"],
        ),
        (
            json!({"op": "create", "title": "a", "recurrence": {"type": "daily", "interval": 0}, "scheduledFor": "today"}),
            vec!["invalid_recurrence"],
        ),
        (json!({"op": "create", "title": "a\nb"}), vec!["invalid_title"]),
        (json!({"op": "create", "title": "x".repeat(501)}), vec!["invalid_title"]),
        (json!({"op": "update", "title": "a"}), vec!["missing_id"]),
        (json!({"op": "update", "id": "x", "title": "a"}), vec!["invalid_id"]),
        (json!({"op": "update", "id": -1, "title": "a"}), vec!["invalid_id"]),
        (json!({"op": "update", "id": 1, "dueDate": "2026-01-01"}), vec!["nothing_to_change"]),
        (json!({"op": "complete", "id": 1, "completed": "perhaps"}), vec!["invalid_completed"]),
        (json!({"op": "complete_occurrence", "id": 1}), vec!["invalid_occurrenceDate"]),
        (json!({"op": "bulk_update", "where": {}}), vec!["missing_set"]),
        (json!({"op": "bulk_delete"}), vec!["missing_where"]),
        (json!({"op": "bulk_delete", "where": {"tagged": "x"}}), vec!["invalid_where"]),
        (
            json!({"op": "bulk_delete", "where": {"scheduled_range": {"from": "2026-02-01", "to": "2026-01-01"}}}),
            vec!["invalid_where"],
        ),
        (json!({"op": "bulk_delete", "where": {"ids": "all"}}), vec!["invalid_where"]),
    ];
    for (operation, wrong) in cases {
        assert_eq!(errors(operation.clone()), wrong, "{operation}");
    }
    let advice = read(json!({"op": "create", "title": "a", "priority": "urgent"}), moment().today).errors;
    assert_eq!(advice, ["invalid_priority: use low, medium or high"]);
}

#[test]
fn operations_are_found_in_every_form_of_an_answer() {
    let one = json!({"op": "delete", "id": 1});
    for answer in [json!([one, 5]), json!({"operations": [one, null]}), json!({"actions": [one]}), one.clone()] {
        assert_eq!(operations_in(answer), vec![one.clone()]);
    }
    for answer in [json!({}), json!(null), json!("words"), json!({"operations": []})] {
        assert_eq!(operations_in(answer), Vec::<Value>::new());
    }
}

#[test]
fn a_proposal_without_operations_or_with_wrong_ones_is_refused_whole() {
    let none = attempt(&TaskMap::new(), vec![]).validation();
    assert_eq!((none.errors, none.results.len()), (vec!["missing_operations".to_owned()], 0));
    let trial = attempt(&TaskMap::new(), vec![json!({"op": "create", "title": "a"}), json!({"op": "fly"})]);
    let validation = trial.validation();
    assert_eq!(validation.errors, ["invalid_operations"]);
    assert_eq!(validation.results.iter().map(|one| one.errors.len()).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_new_task_has_the_documented_defaults() {
    let tasks = made(vec![json!({"op": "create", "title": " Buy milk ", "timeOfDay": ""})]);
    assert_eq!(
        serde_json::to_value(&tasks[&1]).expect("JSON"),
        json!({
            "id": 1, "title": "Buy milk", "notes": "", "category": "task", "priority": "medium", "scheduledFor": null,
            "timeOfDay": null, "completed": false, "recurrence": {"type": "none", "until": null}, "completedDates": [],
            "tags": [], "createdAt": "2026-11-15T12:00:00.000Z", "updatedAt": "2026-11-15T12:00:00.000Z",
        })
    );
}

#[test]
fn an_update_changes_what_it_names_and_nothing_else() {
    let tasks =
        made(vec![json!({"op": "create", "title": "a", "notes": "n", "priority": "high", "scheduledFor": "today"})]);
    let (changed, _) = after(&tasks, vec![json!({"op": "update", "id": 1, "scheduledFor": null, "notes": "m"})]);
    let expected = Task { scheduled_for: None, notes: "m".into(), ..tasks[&1].clone() };
    assert_eq!(changed[&1], expected);
}

#[test]
fn a_recurrence_is_merged_and_ends_with_the_year_unless_it_says_otherwise() {
    let tasks = made(vec![json!({"op": "create", "title": "a", "scheduledFor": "2026-03-01"})]);
    let recurrence = |tasks: &TaskMap| serde_json::to_value(&tasks[&1].recurrence).expect("JSON");
    let change =
        |tasks: &TaskMap, fields: Value| after(tasks, vec![json!({"op": "update", "id": 1, "recurrence": fields})]).0;
    let daily = change(&tasks, json!({"type": "daily", "interval": 3}));
    assert_eq!(recurrence(&daily), json!({"type": "daily", "interval": 3, "until": "2026-12-31"}));
    let endless = change(&daily, json!({"until": null}));
    assert_eq!(recurrence(&endless), json!({"type": "daily", "interval": 3, "until": null}));
    assert_eq!(recurrence(&change(&endless, json!({"interval": 2})))["until"], json!(null), "stays without an end");
    let weekly = change(&daily, json!({"type": "weekly", "weekdays": ["Thu", "mon"]}));
    assert_eq!(recurrence(&weekly), json!({"type": "weekly", "weekdays": ["mon", "thu"], "until": "2026-12-31"}));
    let (done, _) = after(&daily, vec![json!({"op": "complete_occurrence", "id": 1, "occurrenceDate": "2026-03-04"})]);
    assert_eq!(done[&1].completed_dates, [date("2026-03-04")]);
    let over = change(&done, json!({"type": "none"}));
    assert_eq!((recurrence(&over), over[&1].completed_dates.len()), (json!({"type": "none", "until": null}), 0));
    let later = made(vec![json!({"op": "create", "title": "a", "scheduledFor": "2027-05-01", "recurrence": "daily"})]);
    assert_eq!(later[&1].recurrence.until, Some(date("2027-12-31")), "a series is not over before it begins");
}

#[test]
fn one_that_repeats_is_done_day_by_day() {
    let tasks = made(vec![
        json!({"op": "create", "title": "once"}),
        json!({"op": "create", "title": "weekly", "scheduledFor": "2026-11-02", "recurrence": {"type": "weekly"}}),
    ]);
    let day = |date: &str, completed: Value| json!({"op": "complete_occurrence", "id": 2, "occurrenceDate": date, "completed": completed});
    let (twice, applied) = after(&tasks, vec![day("2026-11-09", json!(true)), day("2026-11-09", Value::Null)]);
    assert_eq!(twice[&2].completed_dates, [date("2026-11-09")], "no day is there twice");
    assert_eq!(applied["summary"]["completed"], 2);
    let (back, _) = after(&twice, vec![day("2026-11-09", json!(false))]);
    assert_eq!(back[&2].completed_dates, []);
    let (_, wrong) = after(&tasks, vec![json!({"op": "complete_occurrence", "id": 1, "occurrenceDate": "2026-11-09"})]);
    assert_eq!((&wrong["results"][0]["ok"], &wrong["results"][0]["error"]), (&json!(false), &json!("not_repeating")));
    let refused =
        attempt(&tasks, vec![day("2026-11-10", Value::Null), json!({"op": "complete", "id": 2})]).validation();
    assert_eq!(
        refused.results[0].errors,
        ["not_an_occurrence: #2 does not occur on 2026-11-10; it does on 2026-11-16"]
    );
    assert_eq!(
        refused.results[1].errors,
        ["repeating: #2 repeats; use complete_occurrence with occurrenceDate, the completed day"]
    );
}

#[test]
fn a_task_that_is_not_there_fails_alone() {
    let tasks = made(vec![json!({"op": "create", "title": "a"})]);
    let (left, applied) = after(
        &tasks,
        vec![
            json!({"op": "delete", "id": 7}),
            json!({"op": "complete", "id": 1}),
            json!({"op": "create", "title": "b"}),
            json!({"op": "update", "id": 2, "title": "c"}),
        ],
    );
    assert_eq!(applied["results"][0], json!({"ok": false, "op": {"op": "delete", "id": 7}, "error": "not_found"}));
    assert_eq!(applied["results"][1]["todo"]["completed"], true);
    assert_eq!(left[&2].title, "c", "an operation sees what those before it made");
    assert_eq!(applied["summary"], json!({"created": 1, "updated": 1, "deleted": 0, "completed": 1}));
    let unknown = attempt(&tasks, vec![json!({"op": "fly"})]).applied("x".parse().expect("an id")).0;
    assert_eq!(unknown.results[0].error.as_deref(), Some("invalid_op"));
}

fn many(count: u64) -> TaskMap {
    made((0..count).map(|n| json!({"op": "create", "title": format!("task {n}"), "scheduledFor": "today"})).collect())
}

#[test]
fn bulk_operations_name_the_tasks_that_they_touch() {
    let tasks = made(vec![
        json!({"op": "create", "title": "a", "priority": "high"}),
        json!({"op": "create", "title": "b"}),
        json!({"op": "create", "title": "c", "priority": "high"}),
    ]);
    let high = json!({"priority": "high"});
    let (left, applied) = after(
        &tasks,
        vec![
            json!({"op": "bulk_update", "where": high, "set": {"scheduledFor": "tomorrow", "priority": "low"}}),
            json!({"op": "bulk_complete", "where": {"priority": "low"}}),
            json!({"op": "bulk_delete", "where": {"ids": [2, 9]}}),
        ],
    );
    assert_eq!(left.values().map(|task| (task.id, task.completed)).collect::<Vec<_>>(), [(1, true), (3, true)]);
    let expanded: Vec<&Value> =
        applied["results"].as_array().expect("list").iter().map(|one| &one["expandedIds"]).collect();
    assert_eq!(expanded, [&json!([1, 3]), &json!([1, 3]), &json!([2])]);
    assert_eq!(applied["results"][0]["count"], 2);
    assert_eq!(applied["summary"], json!({"created": 0, "updated": 2, "deleted": 1, "completed": 2}));
}

#[test]
fn in_bulk_those_that_repeat_are_done_on_their_days_and_never_as_a_whole() {
    let tasks = made(vec![
        json!({"op": "create", "title": "once", "scheduledFor": "today"}),
        json!({"op": "create", "title": "daily", "scheduledFor": "2026-11-01", "recurrence": "daily"}),
        json!({"op": "create", "title": "weekly", "scheduledFor": "2026-11-02", "recurrence": "weekly"}),
    ]);
    let range = json!({"scheduled_range": {"from": "2026-11-14", "to": "2026-11-15"}});
    let (done, applied) = after(&tasks, vec![json!({"op": "bulk_complete", "where": range})]);
    assert_eq!(applied["results"][0]["expandedIds"], json!([1, 2]));
    assert!(done[&1].completed && !done[&2].completed);
    assert_eq!(done[&2].completed_dates, [date("2026-11-14"), date("2026-11-15")]);
    let (today, _) = after(&tasks, vec![json!({"op": "bulk_complete", "where": {}})]);
    assert_eq!(today[&2].completed_dates, [date("2026-11-15")]);
    assert_eq!(today[&3].completed_dates, [], "it is not on today");
    // What is moved or deleted is the series; it is meant only where it begins.
    let (moved, _) = after(&tasks, vec![json!({"op": "bulk_delete", "where": range})]);
    assert_eq!(moved.keys().copied().collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn a_filter_combines_all_that_it_says() {
    let tasks = made(vec![
        json!({"op": "create", "title": "Call the plumber", "scheduledFor": "2026-11-15", "priority": "high", "tags": ["Home"]}),
        json!({"op": "create", "title": "Call mum", "scheduledFor": "2026-11-20"}),
        json!({"op": "create", "title": "Read", "category": "habit", "scheduledFor": "2026-11-01", "recurrence": "daily"}),
        json!({"op": "create", "title": "Sail", "completed": true}),
    ]);
    let fits = |wanted: Value| -> Vec<u64> {
        let wanted: Where = serde_json::from_value(wanted).expect("a filter");
        filtered(&tasks, &wanted).iter().map(|task| task.id).collect()
    };
    assert_eq!(fits(json!({})), [1, 2, 3, 4]);
    assert_eq!(fits(json!({"ids": []})), [0_u64; 0], "to name none is not to name all");
    assert_eq!(fits(json!({"text": "CAL"})), [1, 2]);
    assert_eq!(fits(json!({"text": "call home"})), [1]);
    assert_eq!(fits(json!({"text": "all"})), [0_u64; 0], "words begin so");
    assert_eq!(fits(json!({"scheduled_range": {"from": "2026-11-15", "to": "2026-11-20"}})), [1, 2], "both ends count");
    assert_eq!(fits(json!({"scheduled_range": {"to": "2026-11-15"}})), [1, 3]);
    assert_eq!(fits(json!({"completed": true})), [4]);
    assert_eq!(fits(json!({"repeating": true})), [3]);
    assert_eq!(fits(json!({"category": "habit"})), [3]);
    assert_eq!(fits(json!({"tag": "home", "priority": "high"})), [1]);
    assert_eq!(fits(json!({"tag": "home", "priority": "low"})), [0_u64; 0]);
}

#[test]
fn a_dry_run_shows_before_and_after_and_changes_nothing() {
    let tasks = many(30);
    let trial = attempt(
        &tasks,
        vec![
            json!({"op": "update", "id": 1, "title": "new"}),
            json!({"op": "bulk_complete", "where": {"completed": false}}),
            json!({"op": "delete", "id": 99}),
        ],
    );
    let shown = serde_json::to_value(trial.dry_run(TaskLimits::default())).expect("JSON");
    assert_eq!(shown["results"][0]["preview"]["before"]["title"], "task 0");
    assert_eq!(shown["results"][0]["preview"]["after"]["title"], "new");
    assert_eq!(shown["results"][1]["preview"], json!({"count": 30, "sampleIds": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}));
    assert_eq!(shown["results"][2]["valid"], false);
    assert_eq!(shown["results"][2]["errors"], json!(["not_found: there is no task #99"]));
    assert_eq!(shown["summary"], json!({"created": 0, "updated": 1, "deleted": 0, "completed": 30}));
    assert_eq!(shown.get("warnings"), None);
    assert_eq!(tasks, many(30));
}

#[test]
fn many_deletes_and_many_changes_are_warned_about_from_the_documented_numbers_on() {
    let warnings =
        |count: u64, operation: Value| attempt(&many(count), vec![operation]).warnings(TaskLimits::default());
    let delete = json!({"op": "bulk_delete", "where": {"completed": false}});
    assert_eq!(warnings(20, delete.clone()), Vec::<String>::new());
    assert_eq!(warnings(21, delete), ["This will delete 21 tasks."]);
    let update = json!({"op": "bulk_update", "where": {"completed": false}, "set": {"priority": "low"}});
    assert_eq!(warnings(50, update.clone()), Vec::<String>::new());
    assert_eq!(warnings(51, update), ["This will change 51 tasks at once."]);
    assert_eq!(
        warnings(2, json!({"op": "bulk_delete", "where": {}})),
        ["bulk_delete has no condition: it deletes every task, 2 in all."]
    );
    for all in [json!({"scheduled_range": {}}), json!({"scheduled_range": {"from": null}}), json!({"text": " … "})] {
        assert_eq!(
            warnings(2, json!({"op": "bulk_complete", "where": all})),
            ["bulk_complete has no condition: it completes every task, 2 in all."],
            "what holds for every task is no condition"
        );
    }
    let one_by_one = (1..=21).map(|id| json!({"op": "delete", "id": id})).collect();
    assert_eq!(attempt(&many(21), one_by_one).warnings(TaskLimits::default()), ["This will delete 21 tasks."]);
    let strict = TaskLimits { deletes: 0, updates: 0 };
    assert_eq!(
        attempt(&many(1), vec![json!({"op": "delete", "id": 1})]).warnings(strict),
        ["This will delete 1 task."]
    );
}

#[test]
fn views_and_counts_go_by_the_day_where_the_person_is() {
    let tasks = made(vec![
        json!({"op": "create", "title": "late", "scheduledFor": "2026-11-10"}),
        json!({"op": "create", "title": "today", "scheduledFor": "2026-11-15", "timeOfDay": "09:00"}),
        json!({"op": "create", "title": "daily", "category": "habit", "scheduledFor": "2026-11-01", "recurrence": "daily"}),
        json!({"op": "create", "title": "rent", "scheduledFor": "2026-10-31", "recurrence": "monthly", "priority": "high"}),
        json!({"op": "create", "title": "some day"}),
        json!({"op": "create", "title": "next week", "scheduledFor": "2026-11-16"}),
        json!({"op": "create", "title": "done", "scheduledFor": "2026-11-14", "completed": true}),
    ]);
    let view = |view: View, today: &str| -> Vec<String> {
        let item = |item: trimtab_vocab::Item| {
            let date = item.date.map_or_else(|| "-".to_owned(), |date| date.to_string()[5..].to_owned());
            format!("{} {date}{}", item.task.title, if item.done { " done" } else { "" })
        };
        items(&tasks, view, date(today)).into_iter().map(item).collect()
    };
    assert_eq!(view(View::Today, "2026-11-15"), ["today 11-15", "daily 11-15"]);
    assert_eq!(view(View::Today, "2026-11-16"), ["daily 11-16", "next week 11-16"], "one zone is a day ahead");
    assert_eq!(view(View::Overdue, "2026-11-15"), ["rent 10-31", "late 11-10"], "a missed habit is not late");
    assert_eq!(view(View::Backlog, "2026-11-15"), ["some day -"]);
    let week = view(View::Week, "2026-11-15");
    assert_eq!(week.iter().filter(|item| item.starts_with("daily")).count(), 7, "Monday to Sunday: {week:?}");
    assert!(week.contains(&"done 11-14 done".to_owned()) && !week.iter().any(|item| item.starts_with("next week")));
    assert_eq!(
        view(View::Open, "2026-11-15"),
        ["rent 10-31", "late 11-10", "today 11-15", "daily 11-15", "next week 11-16", "rent 11-30", "some day -"]
    );
    let counts = serde_json::to_value(aggregates(&tasks, date("2026-11-15"))).expect("JSON");
    assert_eq!(
        counts,
        json!({
            "total": 7, "open": 6, "completed": 1, "today": 2, "thisWeek": 9, "overdue": 2, "backlog": 1, "repeating": 2,
            "byPriority": {"low": 0, "medium": 5, "high": 1}, "byCategory": {"habit": 1, "goal": 0, "task": 5, "event": 0},
        })
    );
}

#[test]
fn what_is_on_some_days_is_there_once_for_each_day() {
    let tasks = made(vec![
        json!({"op": "create", "title": "daily", "scheduledFor": "2026-11-14", "recurrence": "daily"}),
        json!({"op": "create", "title": "once", "scheduledFor": "2026-11-16", "timeOfDay": "08:00"}),
    ]);
    let shown = items_between(&tasks, date("2026-11-15"), date("2026-11-16"), date("2026-11-15"));
    let shown: Vec<String> = shown.iter().map(|i| format!("{} {}", i.task.title, i.date.expect("a day"))).collect();
    assert_eq!(shown, ["daily 2026-11-15", "once 2026-11-16", "daily 2026-11-16"]);
    assert_eq!(
        items_between(&tasks, date("2026-11-15"), Date::MAX, date("2026-11-15")).len(),
        47 + 1,
        "until the year's end"
    );
}
