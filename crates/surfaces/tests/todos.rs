//! Tasks over HTTP, as the assistant's page and programs meet them.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::dice::Dice;
use trimtab_testkit::program::Program;
use trimtab_testkit::served::{Answer, Served};

fn program() -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    program.set("TRIMTAB_TASKS_TIMEZONE", "Europe/Berlin");
    program
}

fn apply(served: &Served, operations: &Value, key: Option<&str>) -> Answer {
    let ask = served.ask("POST", "/api/llm/apply").json(&json!({ "operations": operations }));
    match key {
        Some(key) => ask.header("Idempotency-Key", key).send(),
        None => ask.send(),
    }
}

fn titles(served: &Served) -> Vec<String> {
    let mut todos: Vec<(u64, String)> = served.get("/api/todos")["todos"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|todo| (todo["id"].as_u64().expect("a number"), todo["title"].as_str().expect("a title").to_owned()))
        .collect();
    todos.sort();
    todos.into_iter().map(|(_, title)| title).collect()
}

fn many(count: u64) -> Value {
    (0..count).map(|n| json!({"op": "create", "title": format!("task {n}")})).collect::<Vec<_>>().into()
}

#[test]
fn a_day_and_a_rhythm_are_understood_as_people_say_them() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let today = served.get("/api/todos")["today"].as_str().expect("a day").to_owned();
    let made = |body: Value| {
        let made = served.post("/api/todos", &body);
        assert_eq!(made.status, 201, "{}", made.text());
        made.json()["todo"].clone()
    };
    let tomorrow = made(json!({"title": "Call Bob", "when": "tomorrow 9am"}));
    assert_eq!(tomorrow["timeOfDay"], "09:00");
    assert!(tomorrow["scheduledFor"].as_str() > Some(today.as_str()), "{tomorrow}");
    let weekly = made(json!({"title": "Bins", "when": "every Monday", "timeOfDay": "07:30"}));
    assert_eq!((&weekly["recurrence"]["type"], &weekly["timeOfDay"]), (&json!("weekly"), &json!("07:30")));
    assert_eq!(weekly["recurrence"]["weekdays"], json!(["mon"]));
    let moved = served.ask("PATCH", "/api/todos/1").json(&json!({"when": "none"})).send();
    assert_eq!(moved.json()["todo"]["scheduledFor"], Value::Null, "{}", moved.text());
    for when in [json!("blue moon"), json!(7)] {
        let wrong = served.post("/api/todos", &json!({"title": "x", "when": when}));
        assert_eq!((wrong.status, wrong.code().as_str()), (422, "usage"), "{}", wrong.text());
    }
}

#[test]
fn a_calendar_goes_out_and_comes_in_once() {
    let (first, second) = (program(), program());
    let served = Served::start(&first, "test", &[]);
    for title in ["Call Bob", "Pay rent"] {
        assert_eq!(served.post("/api/todos", &json!({"title": title, "when": "2030-01-02 9am"})).status, 201);
    }
    let calendar = served.ask("GET", "/api/todos/export?text=rent").send();
    assert_eq!(calendar.header("content-type").as_deref(), Some("text/calendar; charset=utf-8"));
    assert!(calendar.text().contains("SUMMARY:Pay rent") && !calendar.text().contains("Bob"), "{}", calendar.text());
    let all = served.ask("GET", "/api/todos/export").send().text();
    let other = Served::start(&second, "test", &[]);
    let read = other.post("/api/todos/import", &json!({"calendar": all}));
    assert_eq!(read.status, 200, "{}", read.text());
    assert_eq!(read.json()["applied"]["summary"]["created"], 2, "{}", read.text());
    assert_eq!(titles(&other), ["Call Bob", "Pay rent"]);
    let again = other.post("/api/todos/import", &json!({"calendar": all})).json();
    assert_eq!((&again["applied"], &again["known"]), (&Value::Null, &json!(2)), "{again}");
    assert_eq!(other.post("/api/todos/import", &json!({"calendar": "no"})).status, 422);
}

#[test]
fn todos_are_made_found_changed_and_removed() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let made =
        served.post("/api/todos", &json!({"title": " Buy milk ", "scheduledFor": "2099-01-01", "priority": "HIGH"}));
    assert_eq!(made.status, 201, "{}", made.text());
    let todo = made.json()["todo"].clone();
    let mut plain = todo.clone();
    for time in ["createdAt", "updatedAt"] {
        plain[time] = json!("…");
    }
    assert_eq!(
        plain,
        json!({
            "id": 1, "title": "Buy milk", "notes": "", "category": "task", "priority": "high", "scheduledFor": "2099-01-01",
            "timeOfDay": null, "completed": false, "recurrence": {"type": "none", "until": null}, "completedDates": [],
            "tags": [], "createdAt": "…", "updatedAt": "…",
        })
    );
    assert_eq!(served.get("/api/todos/1")["todo"], todo);
    assert_eq!(served.get("/api/todos/search?q=mil")["todos"], json!([todo]), "found at once");
    assert_eq!(served.get("/api/todos/search?query=cheese")["todos"], json!([]));
    let changed = served.ask("PATCH", "/api/todos/1").json(&json!({"scheduledFor": null, "notes": "oat"})).send();
    assert_eq!((changed.status, &changed.json()["todo"]["scheduledFor"]), (200, &Value::Null));
    assert_eq!(changed.json()["todo"]["title"], "Buy milk");
    let listed = served.get("/api/todos?view=backlog");
    assert_eq!((&listed["todos"][0]["id"], &listed["aggregates"]["backlog"]), (&json!(1), &json!(1)));
    assert_eq!(served.ask("DELETE", "/api/todos/1").send().status, 204);
    for (method, path) in [("GET", "/api/todos/1"), ("DELETE", "/api/todos/1"), ("GET", "/api/todos/x")] {
        let answer = served.ask(method, path).send();
        assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"), "{method} {path}");
    }
    let wrong = served.post("/api/todos", &json!({"title": "a", "priority": "urgent"}));
    assert_eq!(wrong.status, 422);
    insta::assert_snapshot!(wrong.json()["error"]["message"].as_str().expect("words"), @"Invalid task: invalid_priority: use low, medium or high.");
    let back = served.post("/api/todos/undo", &json!({"steps": 2}));
    assert_eq!((back.status, back.json()["changes"].as_array().map(Vec::len)), (200, Some(2)));
    assert_eq!(served.get("/api/todos/1")["todo"], todo);
    assert_eq!(served.post("/api/todos/redo", &json!({})).status, 200);
    assert_eq!(served.get("/api/todos/1")["todo"]["notes"], "oat");
    assert_eq!(served.get("/api/todos/changes")["changes"][0]["inForce"], false);
}

#[test]
fn days_of_a_calendar_show_each_occurrence() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let daily = json!({"title": "daily", "scheduledFor": "2099-01-01", "recurrence": {"type": "daily", "until": null}});
    assert_eq!(served.post("/api/todos", &daily).status, 201);
    let days = served.get("/api/todos?from=2099-03-01&to=2099-03-07");
    assert_eq!(days["todos"].as_array().map(Vec::len), Some(7));
    assert_eq!(served.get("/api/todos?repeating=false")["todos"], json!([]));
    assert_eq!(served.ask("GET", "/api/todos?from=yesterday").send().status, 400);
    assert_eq!(served.ask("GET", "/api/todos?colour=red").send().status, 400);
}

#[test]
fn wrong_operations_are_refused_whole_in_the_documented_words() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let refused = apply(&served, &json!([{"op": "create", "title": "a"}, {"op": "fly"}]), None);
    assert_eq!(refused.status, 400);
    let body = refused.json();
    assert_eq!(body["error"], "invalid_operations");
    assert_eq!(
        body["message"],
        "Some operations were invalid. The assistant may be attempting unsupported or inconsistent changes."
    );
    assert_eq!(body["detail"]["errors"], json!(["invalid_operations"]));
    assert_eq!(body["detail"]["results"][0], json!({"op": {"op": "create", "title": "a"}, "errors": []}));
    assert_eq!(titles(&served), Vec::<String>::new());
    for (body, error) in [
        (json!([]), "invalid_body"),
        (json!({}), "missing_operations"),
        (json!({"operations": []}), "missing_operations"),
    ] {
        for path in ["/api/llm/apply", "/api/llm/dryrun"] {
            let answer = served.post(path, &body);
            assert_eq!((answer.status, &answer.json()["detail"]["errors"]), (400, &json!([error])), "{path} {body}");
        }
    }
}

#[test]
fn applied_operations_are_told_one_by_one_and_written_to_the_trail() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let applied = apply(
        &served,
        &json!([
            {"title": "Pay rent", "scheduledFor": "2099-01-31", "recurrence": {"type": "monthly", "until": null}},
            {"op": "complete", "id": 99},
            {"op": "complete_occurrence", "id": 1, "occurrenceDate": "2099-02-28"},
            {"op": "bulk_update", "where": {"repeating": true}, "set": {"priority": "high"}},
        ]),
        None,
    );
    assert_eq!(applied.status, 200, "{}", applied.text());
    let body = applied.json();
    assert_eq!(body["summary"], json!({"created": 1, "updated": 1, "deleted": 0, "completed": 1}));
    assert_eq!(body["results"][1], json!({"ok": false, "op": {"op": "complete", "id": 99}, "error": "not_found"}));
    assert_eq!(body["results"][2]["todo"]["completedDates"], json!(["2099-02-28"]));
    assert_eq!((&body["results"][3]["count"], &body["results"][3]["expandedIds"]), (&json!(1), &json!([1])));
    assert_eq!(served.get("/api/todos/1")["todo"]["priority"], "high");
    let trail = program.run(&["audit", "--export"]).stdout;
    let lines: Vec<Value> = trail.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |action: &str| lines.iter().find(|line| line["action"] == action).cloned().unwrap_or_default();
    assert_eq!((&of("create")["result"], &of("create")["id"]), (&json!("ok"), &json!(1)));
    assert_eq!((&of("complete")["result"], &of("complete")["error"]), (&json!("error"), &json!("not_found")));
    assert_eq!(of("bulk_update")["expandedIds"], json!([1]));
    // The history of tasks is the log of a session, and watched like any other.
    let event = served.get("/api/sessions/tasks/trace")["events"].as_array().and_then(|events| events.last().cloned());
    assert_eq!(event.expect("an event")["type"], "tasks.applied");
    let talk = served.post("/api/sessions/tasks/messages", &json!({"text": "hello"}));
    assert_ne!(talk.status, 202, "nobody talks there");
}

#[test]
fn a_dry_run_writes_nothing_and_warns_from_the_documented_numbers_on() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    assert_eq!(apply(&served, &many(21), None).status, 200);
    let dry = |operations: Value| served.post("/api/llm/dryrun", &json!({ "operations": operations })).json();
    let ids: Vec<u64> = (1..=20).collect();
    let twenty = json!([{"op": "bulk_delete", "where": {"ids": ids}}]);
    assert_eq!(dry(twenty.clone()).get("warnings"), None);
    let all = json!([{"op": "bulk_delete", "where": {"completed": false}}]);
    let shown = dry(all.clone());
    assert_eq!(shown["warnings"], json!(["This will delete 21 tasks."]));
    assert_eq!(shown["results"][0]["preview"], json!({"count": 21, "sampleIds": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}));
    assert_eq!(shown["summary"]["deleted"], 21);
    let one = dry(json!([{"op": "update", "id": 1, "title": "new"}]));
    assert_eq!(one["results"][0]["preview"]["before"]["title"], "task 0");
    assert_eq!(one["results"][0]["preview"]["after"]["title"], "new");
    assert_eq!(titles(&served).len(), 21);
    let refused = apply(&served, &all, None);
    assert_eq!((refused.status, &refused.json()["error"]), (409, &json!("confirmation_required")));
    assert_eq!(refused.json()["warnings"], json!(["This will delete 21 tasks."]));
    assert_eq!(titles(&served).len(), 21);
    let confirmed = served.post("/api/llm/apply", &json!({"operations": all, "confirm": true}));
    assert_eq!((confirmed.status, titles(&served).len()), (200, 0));
}

#[test]
fn a_key_is_answered_once_in_header_or_body_also_after_a_restart() {
    let program = program();
    let served = Served::start(&program, "first", &[]);
    let operations = json!([{"op": "create", "title": "once"}]);
    let first = apply(&served, &operations, Some("k1"));
    assert_eq!(first.status, 200);
    let field = served.post("/api/llm/apply", &json!({"operations": operations, "idempotencyKey": "k1"}));
    assert_eq!((field.status, field.json()), (200, first.json()));
    served.running.signal(Signal::KILL);
    drop(served);
    let served = Served::start(&program, "second", &[]);
    assert_eq!(apply(&served, &operations, Some("k1")).json(), first.json());
    assert_eq!(titles(&served), ["once"]);
    let other = apply(&served, &json!([{"op": "create", "title": "other"}]), Some("k1"));
    assert_eq!(other.status, 422);
    // The header counts where both are said.
    let both = served.ask("POST", "/api/llm/apply").json(&json!({"operations": operations, "idempotencyKey": "k1"}));
    assert_eq!(both.header("Idempotency-Key", "k2").send().status, 200);
    assert_eq!(titles(&served), ["once", "once"]);
}

#[test]
fn the_same_wish_at_once_is_done_once_and_different_ones_are_all_done() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let answers: Vec<String> = std::thread::scope(|scope| {
        let ask = || apply(&served, &json!([{"op": "create", "title": "same"}]), Some("k")).text();
        let asking: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        asking.into_iter().map(|one| one.join().expect("answers")).collect()
    });
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(titles(&served), ["same"]);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let served = &served;
            scope.spawn(move || {
                let operations = json!([{"op": "create", "title": format!("own {n}")}, {"op": "update", "id": 1, "notes": format!("{n}")}]);
                assert_eq!(apply(served, &operations, None).status, 200);
            });
        }
    });
    assert_eq!(titles(&served).len(), 9, "no update is lost");
}

#[test]
fn the_server_killed_in_the_middle_of_an_apply_has_done_all_of_it_or_nothing() {
    // The binary, or the binary under strace when it is to be a server that dies at its n-th write. The tracer is
    // no parent of the server (-D): whoever ends the one ends the other.
    let script = |n: Option<u64>, log: &str| {
        let trace = match n {
            Some(n) => {
                format!("-o /dev/null -e trace=pwrite64,fdatasync -e inject=pwrite64,fdatasync:signal=SIGKILL:when={n}")
            }
            None => format!("-o {log} -e trace=pwrite64,fdatasync"),
        };
        let binary = env!("CARGO_BIN_EXE_trimtab");
        format!(
            "#!/bin/sh\nif [ \"$1\" = serve ]; then exec strace -D -f -qq {trace} {binary} \"$@\"; fi\nexec {binary} \"$@\"\n"
        )
    };
    let folder = tempfile::tempdir().expect("a folder");
    let (wrapper, log) = (folder.path().join("trimtab"), folder.path().join("writes"));
    let write = |n: Option<u64>| {
        std::fs::write(&wrapper, script(n, &log.display().to_string())).expect("a file");
        std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).expect("may run");
    };
    let fresh = || {
        let mut program = Program::new(&wrapper);
        program.set("TRIMTAB_TASKS_TIMEZONE", "Europe/Berlin");
        let before = json!({ "operations": many(60) }).to_string();
        assert_eq!(program.run_with_input(&["tasks", "apply", "-"], before.as_bytes()).code, Some(0));
        program
    };
    let operations: Vec<Value> = (0..100)
        .map(|n| match n % 2 {
            0 => json!({"op": "create", "title": format!("new {n}")}),
            _ => json!({"op": "update", "id": n / 2 + 1, "title": format!("changed {n}")}),
        })
        .collect();
    let operations = json!(operations);
    // How many writes there are until it listens, and with it until it has answered.
    let writes = || std::fs::read_to_string(&log).expect("a log").lines().count() as u64;
    write(None);
    let program = fresh();
    let counted = Served::start(&program, "count", &[]);
    let start = writes();
    assert_eq!(apply(&counted, &operations, None).status, 200);
    drop(counted);
    let all = writes() - start;
    let mut dice = Dice::new(5);
    let (mut met, mut done, mut undone) = (0, 0, 0);
    for round in 0..14 {
        let nth = start + 1 + dice.below(all + all / 4);
        let place = format!("round {round}: killed at write {nth} after {start}");
        let program = fresh();
        write(Some(nth));
        let Ok(served) = catch_unwind(AssertUnwindSafe(|| Served::start(&program, "first", &[]))) else { continue };
        let answer = apply(&served, &operations, Some("k"));
        // Who is gone does not answer.
        let met_it = answer.status == 0;
        met += u64::from(met_it);
        drop(served);
        // No server makes so many writes here, and strace counts no further.
        write(Some(60_000));
        let served = Served::start(&program, "second", &[]);
        let there = titles(&served);
        let (new, changed) = (
            there.iter().filter(|title| title.starts_with("new")).count(),
            there.iter().filter(|title| title.starts_with("changed")).count(),
        );
        match (there.len(), new, changed) {
            (110, 50, 50) => done += 1,
            (60, 0, 0) => undone += 1,
            other => panic!("{place}: half of it is done: {other:?}"),
        }
        let again = apply(&served, &operations, Some("k"));
        assert_eq!(again.status, 200, "{place}");
        if !met_it {
            assert_eq!(answer.json(), again.json(), "{place}");
        }
        assert_eq!(apply(&served, &operations, Some("k")).text(), again.text(), "{place}");
        assert_eq!(titles(&served).len(), 110, "{place}");
    }
    assert!(met > 2 && done > 0 && undone > 0, "{met} kills met it, {done} done, {undone} not: it meets nothing");
}
