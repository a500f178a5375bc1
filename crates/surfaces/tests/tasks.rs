//! `trimtab tasks`, as people and scripts use it.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::path::Path;

use serde_json::{Value, json};
use trimtab_testkit::dice::Dice;
use trimtab_testkit::program::{Ended, Program, Running};

fn program() -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    program.set("TRIMTAB_TASKS_TIMEZONE", "Europe/Berlin");
    program
}

/// Runs `trimtab tasks …` and expects it to succeed.
fn tasks(program: &Program, arguments: &[&str]) -> String {
    let ended = run(program, arguments);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    ended.stdout
}

fn run(program: &Program, arguments: &[&str]) -> Ended {
    program.run(&[&["tasks"], arguments].concat())
}

fn json(program: &Program, arguments: &[&str]) -> Vec<Value> {
    let ended = run(program, &[arguments, &["--json"]].concat());
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    ended.events()
}

fn apply(program: &Program, operations: &Value, more: &[&str]) -> Ended {
    let body = json!({ "operations": operations }).to_string();
    program.run_with_input(&[&["tasks", "apply", "-", "--json"], more].concat(), body.as_bytes())
}

fn titles(program: &Program) -> Vec<String> {
    let mut items: Vec<(u64, String)> = json(program, &["list", "--all"])
        .iter()
        .map(|item| (item["id"].as_u64().expect("a number"), item["title"].as_str().expect("a title").to_owned()))
        .collect();
    items.sort();
    items.into_iter().map(|(_, title)| title).collect()
}

#[test]
fn tasks_are_added_listed_done_and_searched() {
    let program = program();
    insta::assert_snapshot!(tasks(&program, &[]), @r#"There are no open tasks. `trimtab tasks add "…" --on tomorrow` adds one."#);
    insta::assert_snapshot!(tasks(&program, &["add", "Pay", "rent", "--on", "2099-01-31", "--repeat", "monthly", "--until", "never", "--priority", "high", "--tag", "home"]), @"Added #1: Pay rent (on Sat, Jan 31, 2099, monthly)");
    insta::assert_snapshot!(tasks(&program, &["add", "Team meeting", "--on", "2099-03-02 14:30", "--days", "mon,thu", "--every", "2", "--category", "event"]), @"Added #2: Team meeting (on Mon, Mar 2, 2099 at 14:30, every 2 weeks on Mon and Thu)");
    insta::assert_snapshot!(tasks(&program, &["add", "Learn to sail", "--category", "goal", "--notes", "A small boat first"]), @"Added #3: Learn to sail");
    insta::assert_snapshot!(tasks(&program, &["list"]), @"
    Later
      ○  #1  Sat, Jan 31, 2099         Pay rent       high  monthly  #home
      ○  #2  Mon, Mar 2, 2099   14:30  Team meeting   event  every 2 weeks on Mon and Thu

    Someday
      ○  #3                            Learn to sail  goal
    ");
    insta::assert_snapshot!(tasks(&program, &["done", "1", "3"]), @"
    Done #1: Pay rent (Sat, Jan 31, 2099)
    Done #3: Learn to sail
    ");
    insta::assert_snapshot!(tasks(&program, &["list", "--all"]), @"
    Later
      ○  #1  Sat, Feb 28, 2099         Pay rent       high  monthly  #home
      ○  #2  Mon, Mar 2, 2099   14:30  Team meeting   event  every 2 weeks on Mon and Thu

    Done
      ✓  #3                            Learn to sail  goal
    ");
    insta::assert_snapshot!(tasks(&program, &["show", "1"]), @"
    #1  Pay rent
      begins      Sat, Jan 31, 2099
      repeats     monthly, without an end
      priority    high
      category    task
      tags        home
      done        no
      done on     1 day: Sat, Jan 31, 2099
    ");
    insta::assert_snapshot!(tasks(&program, &["search", "sma", "boat"]), @"  ✓  #3  Learn to sail  goal");
    insta::assert_snapshot!(tasks(&program, &["edit", "2", "--on", "2099-03-03", "--at", "none", "--repeat", "none"]), @"Changed #2: Team meeting (on Tue, Mar 3, 2099)");
}

#[test]
fn today_is_the_day_where_the_person_is() {
    let mut program = program();
    tasks(&program, &["add", "now", "--on", "today"]);
    tasks(&program, &["add", "late", "--on", "yesterday"]);
    let day = |program: &Program| json(program, &["list", "--today"])[0]["date"].as_str().map(str::to_owned);
    assert_eq!(json(&program, &["list", "--today"]).len(), 1);
    assert_eq!(json(&program, &["list", "--overdue"])[0]["title"], "late");
    // Between these two lie 26 hours: it is never the same day in both.
    let mut days = Vec::new();
    for zone in ["Pacific/Kiritimati", "Etc/GMT+12"] {
        program.set("TRIMTAB_TASKS_TIMEZONE", zone);
        tasks(&program, &["add", zone, "--on", "today"]);
        days.push(day(&program));
    }
    assert_ne!(days[0], days[1]);
    program.set("TRIMTAB_TASKS_TIMEZONE", "Mars/Olympus");
    let ended = run(&program, &["list"]);
    assert_eq!(ended.code, Some(2));
    insta::assert_snapshot!(ended.stderr, @r#"
    error: Unknown time zone "Mars/Olympus" (tasks.timezone).
      Use a name such as Europe/Berlin, or leave it empty for the system's time zone.
    "#);
}

#[test]
fn whatever_is_done_can_be_taken_back_and_brought_forward() {
    let program = program();
    for title in ["a", "b", "c"] {
        tasks(&program, &["add", title]);
    }
    tasks(&program, &["delete", "2"]);
    tasks(&program, &["edit", "1", "--title", "A"]);
    assert_eq!(titles(&program), ["A", "c"]);
    insta::assert_snapshot!(tasks(&program, &["undo", "2"]).lines().filter(|line| line.starts_with(' ')).collect::<Vec<_>>().join("\n"), @"
    ~ #1 a  (title: A → a)
    + #2 b
    ");
    assert_eq!(titles(&program), ["a", "b", "c"]);
    tasks(&program, &["redo"]);
    assert_eq!(titles(&program), ["a", "c"]);
    tasks(&program, &["undo", "99"]);
    assert_eq!(titles(&program), Vec::<String>::new());
    tasks(&program, &["redo", "99"]);
    assert_eq!(titles(&program), ["A", "c"]);
    insta::assert_snapshot!(run(&program, &["redo"]).stderr, @"
    error: There is no task change to redo.
      `trimtab tasks changes` lists all changes.
    ");
    // A number is not given again, not even to what came back.
    tasks(&program, &["add", "d"]);
    assert_eq!(json(&program, &["list", "--all"]).iter().filter_map(|item| item["id"].as_u64()).max(), Some(4));
}

#[test]
fn one_change_is_taken_back_beside_what_the_person_did_since() {
    let program = program();
    tasks(&program, &["add", "a"]);
    let set = json!([{"op": "update", "id": 1, "priority": "high", "notes": "from the assistant"}]);
    let applied: Value = serde_json::from_str(&apply(&program, &set, &[]).stdout).expect("JSON");
    let change = applied["changeSet"].as_str().expect("a name").to_owned();
    tasks(&program, &["edit", "1", "--title", "my own words"]);
    tasks(&program, &["undo", "--change", &change]);
    let task = &json(&program, &["show", "1"])[0];
    assert_eq!(
        (&task["title"], &task["priority"], &task["notes"]),
        (&json!("my own words"), &json!("medium"), &json!(""))
    );
    tasks(&program, &["undo"]);
    assert_eq!(json(&program, &["show", "1"])[0]["priority"], "high", "that was a change like any other");
    tasks(&program, &["edit", "1", "--priority", "low"]);
    let refused = run(&program, &["undo", "--change", &change]);
    assert_eq!(refused.code, Some(2));
    insta::assert_snapshot!(refused.stderr, @"
    error: Tasks were changed since: #1 my own words (priority).
      Nothing was changed. --keep-mine keeps them, --discard-mine overwrites them.
    ");
    tasks(&program, &["undo", "--change", &change, "--keep-mine"]);
    let task = &json(&program, &["show", "1"])[0];
    assert_eq!((&task["priority"], &task["notes"]), (&json!("low"), &json!("")));
}

#[test]
fn what_cannot_be_meant_is_refused_and_changes_nothing() {
    let program = program();
    tasks(&program, &["add", "a", "--on", "2099-01-01", "--repeat", "daily"]);
    let refused = |arguments: &[&str]| {
        let ended = run(&program, arguments);
        assert_ne!(ended.code, Some(0), "{arguments:?}");
        ended.stderr
    };
    insta::assert_snapshot!([
        refused(&["add", " "]),
        refused(&["add", "x", "--on", "the day after"]),
        refused(&["add", "x", "--at", "25:00"]),
        refused(&["add", "x", "--repeat", "daily"]),
        refused(&["edit", "1", "--on", "none"]),
        refused(&["edit", "1"]),
        refused(&["edit", "7", "--title", "x"]),
        refused(&["delete", "1", "7"]),
        refused(&["done", "1", "--on", "2098-12-31"]),
        refused(&["search", "!"]),
        refused(&["undo", "--change", "nope"]),
    ].concat(), @r#"
    error: Not possible: the task needs a title.
      Nothing was changed.
    error: Invalid day "the day after".
      Use a day such as 2026-11-20, tomorrow, friday, "next friday 9am", "in 3 days", "20 nov 14:30", "every monday 9am", or none.
    error: "25:00" is not a time of day.
      Use a time such as 9:30, 14:00, or 5pm, or none.
    error: Not possible: a repeating task needs a first day (--on).
      Nothing was changed.
    error: Not possible: a repeating task needs a first day (--on).
      Nothing was changed.
    error: There is nothing to change.
      Name a field, as in `trimtab tasks edit 3 --on friday --priority high`.
    error: There is no task #7.
      `trimtab tasks list --all` shows them all with their numbers.
    error: There is no task #7.
      `trimtab tasks list --all` shows them all with their numbers.
    error: Not possible: #1 does not occur on 2098-12-31; it does on 2099-01-01.
      Nothing was changed.
    error: There is nothing to search for.
      Give one or more words or their beginnings.
    error: There is no such applied change.
      `trimtab tasks changes` lists their names.
    "#);
    assert_eq!(titles(&program), ["a"]);
    // The history is the log of a session, but nobody talks there, and it is nobody's latest one.
    assert_ne!(program.run(&["run", "--session", "tasks", "hello"]).code, Some(0));
    assert_eq!(program.provider.requests().len(), 0);
    assert!(!program.run(&["sessions", "list", "--all"]).stdout.contains("tasks"));
    assert!(program.run(&["sessions", "show", "tasks"]).stdout.contains("[Tasks changed: #1.]"));
}

#[test]
fn a_dry_run_shows_what_would_happen_and_many_deletes_need_a_second_word() {
    let program = program();
    let many: Vec<Value> = (0..21).map(|n| json!({"op": "create", "title": format!("task {n}")})).collect();
    assert_eq!(apply(&program, &json!(many), &[]).code, Some(0));
    let delete = json!([{"op": "bulk_delete", "where": {"completed": false}}]);
    let body = json!({ "operations": delete }).to_string();
    let shown = program.run_with_input(&["tasks", "apply", "-", "--dry-run"], body.as_bytes());
    insta::assert_snapshot!(shown.stdout, @"
      1. Delete tasks      21 tasks: #1 #2 #3 #4 #5 #6 #7 #8 #9 #10 …
    Warning: This will delete 21 tasks.
    Nothing was changed.
    ");
    let refused = apply(&program, &delete, &[]);
    assert_eq!((refused.code, titles(&program).len()), (Some(2), 21));
    insta::assert_snapshot!(refused.stderr, @"
    error: This will delete 21 tasks.
      Nothing was changed. Repeat it with --yes to confirm. `trimtab tasks undo` undoes it.
    ");
    assert_eq!(apply(&program, &delete, &["--yes"]).code, Some(0));
    assert_eq!(titles(&program).len(), 0);
    tasks(&program, &["undo"]);
    assert_eq!(titles(&program).len(), 21);
}

#[test]
fn the_same_key_gives_the_same_answer_and_changes_nothing_more() {
    let program = program();
    let operations = json!([{"op": "create", "title": "once"}]);
    let first = apply(&program, &operations, &["--key", "k1"]);
    let again = apply(&program, &operations, &["--key", "k1"]);
    assert_eq!((first.code, &first.stdout), (Some(0), &again.stdout));
    assert_eq!(titles(&program), ["once"]);
    let other = apply(&program, &json!([{"op": "create", "title": "other"}]), &["--key", "k1"]);
    assert_eq!(other.code, Some(2));
    insta::assert_snapshot!(other.stderr, @"
    error: This key was used for other operations in the last ten minutes.
      Nothing was changed. Use a new key for new operations.
    ");
    assert_eq!(titles(&program), ["once"]);
}

#[test]
fn calendars_come_in_and_go_out() {
    let program = program();
    let calendar = "BEGIN:VCALENDAR\r\nBEGIN:VTODO\r\nSUMMARY:From UTC\r\nDUE:20990701T080000Z\r\nEND:VTODO\r\n\
        BEGIN:VEVENT\r\nSUMMARY:Fair\\, in town\r\nDTSTART;VALUE=DATE:20990815\r\nRRULE:FREQ=YEARLY\r\nEND:VEVENT\r\n\
        BEGIN:VTODO\r\nSUMMARY:Odd\r\nDTSTART;VALUE=DATE:20990815\r\nRRULE:FREQ=MONTHLY;BYDAY=2MO\r\nEND:VTODO\r\n\
        BEGIN:VTODO\r\nDESCRIPTION:nameless\r\nEND:VTODO\r\nEND:VCALENDAR\r\n";
    let import = |text: &str| program.run_with_input(&["tasks", "import", "-"], text.as_bytes());
    let came = import(calendar);
    assert_eq!(came.code, Some(0));
    insta::assert_snapshot!(came.stdout + &came.stderr, @"
    Added 3 tasks.
    Entry without a title: it has no SUMMARY.
    Odd: its repetition is not supported, so only its first day was imported: FREQ=MONTHLY;BYDAY=2MO.
    ");
    insta::assert_snapshot!(tasks(&program, &["list"]), @"
    Later
      ○  #1  Wed, Jul 1, 2099   10:00  From UTC
      ○  #2  Sat, Aug 15, 2099         Fair, in town  event  yearly
      ○  #3  Sat, Aug 15, 2099         Odd
    ");
    insta::assert_snapshot!(import(calendar).stdout, @"Added 0 tasks (3 already existed).");
    let out = tasks(&program, &["export"]);
    assert_eq!(import(&out).stdout, "Added 0 tasks (3 already existed).\n");
    insta::assert_snapshot!(import("hello").stderr, @"
    error: This is not an iCalendar file: BEGIN:VCALENDAR is missing.
      Export it as iCalendar (.ics). Nothing was changed.
    ");
    tasks(&program, &["undo"]);
    assert_eq!(titles(&program).len(), 0, "a calendar is one change");
    assert_eq!(import(&out).stdout, "Added 3 tasks.\n");
}

/// Starts the program so that it is killed as it enters its `nth` system call of those that write.
fn killed_at(program: &Program, nth: u64, arguments: &[&str]) -> Running {
    const CALLS: &str = "write,pwrite64,fsync,fdatasync,ftruncate,unlink,fcntl,openat";
    let inject = format!("inject={CALLS}:signal=SIGKILL:when={nth}");
    let trace = format!("trace={CALLS}");
    let binary = program.binary().display().to_string();
    let mut all = vec!["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject, &binary];
    all.extend(arguments);
    Running::new(program.command(Path::new("strace"), &all).spawn().expect("strace is installed by scripts/test"))
}

#[test]
fn killed_in_the_middle_of_an_apply_of_a_hundred_operations_all_or_none_of_them_are_done() {
    let operations: Vec<Value> = (0..100)
        .map(|n| match n % 4 {
            0 => json!({"op": "update", "id": n / 4 + 1, "notes": format!("changed {n}")}),
            1 => json!({"op": "delete", "id": 30 + n / 4}),
            _ => json!({"op": "create", "title": format!("new {n}")}),
        })
        .collect();
    let mut dice = Dice::new(23);
    let (mut kills, mut done, mut undone) = (0, 0, 0);
    let rounds = std::env::var("TRIMTAB_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(30);
    for round in 0..rounds {
        let program = program();
        let before: Vec<Value> = (0..60).map(|n| json!({"op": "create", "title": format!("old {n}")})).collect();
        assert_eq!(apply(&program, &json!(before), &[]).code, Some(0));
        let file = program.project().join("operations.json");
        std::fs::write(&file, json!({ "operations": operations }).to_string()).expect("a file");
        let arguments = ["tasks", "apply", "operations.json", "--yes", "--json", "--key", "k"];
        let nth = 1 + dice.below(140);
        let place = format!("round {round}: killed at call {nth}");
        let ended = killed_at(&program, nth, &arguments).wait();
        kills += u64::from(ended.code.is_none_or(|code| code == 137));
        let there = titles(&program);
        let (new, old) = (
            there.iter().filter(|t| t.starts_with("new")).count(),
            there.iter().filter(|t| t.starts_with("old")).count(),
        );
        let changed = json(&program, &["list", "--all"]).iter().filter(|task| task["notes"] != "").count();
        match (new, old, changed) {
            (50, 35, 25) => done += 1,
            (0, 60, 0) => undone += 1,
            other => panic!("{place}: half of it is done: {other:?}"),
        }
        // The same wish again comes to the same end, once.
        let again = program.run(&arguments);
        assert_eq!(again.code, Some(0), "{place}: {}", again.stderr);
        assert_eq!(titles(&program).len(), 85, "{place}");
        assert_eq!(program.run(&arguments).stdout, again.stdout, "{place}");
        assert_eq!(json(&program, &["changes"]).len(), 2, "{place}: one change set, and the one before");
        let doctor = program.run(&["doctor"]);
        assert!(doctor.stdout.contains("intact"), "{place}: {}", doctor.stdout);
    }
    assert!(kills > rounds / 2 && done > 0 && undone > 0, "{kills} kills, {done} done, {undone} not: it meets nothing");
}
