//! What commands do to files is part of the change history: the real binary and the real sandbox.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::program::{Ended, Program, Running};
use trimtab_testkit::provider::{Answer, Reply};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

fn runs(command: &str) -> Answer {
    let input = json!({"command": command}).to_string();
    Answer::anthropic(Reply::new().text(["I work on it."]).tool("toolu_1", "run_command", [input]))
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

fn ask(program: &Program, options: &[&str]) -> Ended {
    let mut arguments = vec!["run", "--trust", "--approve", "auto"];
    arguments.extend(options);
    arguments.push("work");
    let ended = program.run(&arguments);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended
}

/// What the model was told last.
fn told(program: &Program) -> String {
    let requests = program.provider.requests();
    requests.last().expect("a request").body["messages"].as_array().expect("messages").last().expect("one").to_string()
}

fn text(program: &Program, path: &str) -> Option<String> {
    fs::read_to_string(program.project().join(path)).ok()
}

/// Three files, one of them in a folder that a build makes again.
fn three_files(program: &Program) {
    for (path, text) in
        [("a.txt", "alpha\nbeta\n"), ("sub/b.txt", "gone\n"), (".gitignore", ".cache/\n"), (".cache/o", "1\n")]
    {
        let path = program.project().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("is made");
        fs::write(path, text).expect("a file");
    }
}

const WORK: &str = "sed -i s/alpha/ALPHA/ a.txt && rm sub/b.txt && echo new > c.txt && echo 2 > .cache/o";

/// What a person allows by name runs also where undo does not cover it.
fn person_allows(program: &Program, command: &str) {
    assert_eq!(program.run(&["rules", "add", "allow", "run_command", command]).code, Some(0));
}

#[test]
fn what_a_command_did_is_shown_undone_and_done_again() {
    let program = program();
    three_files(&program);
    program.provider.push(runs(WORK));
    program.provider.push(says("Done."));
    let ended = ask(&program, &[]);
    let line = "3 files changed by this command (a.txt, c.txt, sub/b.txt); `trimtab rewind` undoes the changes";
    assert!(ended.stderr.contains(line), "{}", ended.stderr);
    let told = told(&program);
    assert!(told.contains("Files changed: a.txt (+1 -1); new: c.txt; deleted: sub/b.txt."), "{told}");

    let listed = program.run(&["changes"]).stdout;
    assert!(listed.contains("● Change #1 - 3 files (+2 -2)"), "{listed}");
    assert!(listed.contains("by the command sed -i"), "{listed}");
    let shown = program.run(&["changes", "1"]).stdout;
    assert!(shown.contains("-alpha\n+ALPHA\n") && shown.contains("+new"), "{shown}");
    let set: Value = serde_json::from_str(&program.run(&["changes", "--json"]).stdout).expect("JSON");
    assert_eq!(set["command"], WORK);

    let back = program.run(&["rewind"]);
    assert_eq!(back.code, Some(0), "{}", back.stderr);
    assert_eq!(text(&program, "a.txt").as_deref(), Some("alpha\nbeta\n"));
    assert_eq!(text(&program, "sub/b.txt").as_deref(), Some("gone\n"));
    assert_eq!(text(&program, "c.txt"), None);
    assert_eq!(text(&program, ".cache/o").as_deref(), Some("2\n"), "what a build makes again is not touched");

    assert_eq!(program.run(&["forward"]).code, Some(0));
    assert_eq!(text(&program, "a.txt").as_deref(), Some("ALPHA\nbeta\n"));
    assert_eq!(text(&program, "sub/b.txt"), None);
    assert_eq!(text(&program, "c.txt").as_deref(), Some("new\n"));
}

#[test]
fn edits_and_commands_are_one_history() {
    let program = program();
    three_files(&program);
    let edit = json!({"path": "a.txt", "blocks": [{"search": "beta", "replace": "BETA"}]});
    let edit = Answer::anthropic(Reply::new().text(["."]).tool("toolu_1", "edit_file", [edit.to_string()]));
    for answer in [edit, runs("sed -i s/BETA/gamma/ a.txt"), says("Done.")] {
        program.provider.push(answer);
    }
    ask(&program, &[]);
    assert_eq!(text(&program, "a.txt").as_deref(), Some("alpha\ngamma\n"));
    // The model had seen the file as its edit left it, and is shown what the command made of it.
    assert!(told(&program).contains("-BETA") && told(&program).contains("+gamma"), "{}", told(&program));
    assert_eq!(program.run(&["rewind"]).code, Some(0));
    assert_eq!(text(&program, "a.txt").as_deref(), Some("alpha\nBETA\n"));
    assert_eq!(program.run(&["rewind"]).code, Some(0));
    assert_eq!(text(&program, "a.txt").as_deref(), Some("alpha\nbeta\n"));
    assert_eq!(program.run(&["forward", "2"]).code, Some(0));
    assert_eq!(text(&program, "a.txt").as_deref(), Some("alpha\ngamma\n"));
}

#[test]
fn a_file_that_the_model_was_shown_anew_can_be_edited_and_another_one_must_be_read() {
    let program = program();
    three_files(&program);
    let read = |path: &str| {
        let input = json!({"path": path}).to_string();
        Answer::anthropic(Reply::new().text(["."]).tool("toolu_1", "read_file", [input]))
    };
    let edit = |old: &str, new: &str| {
        let input = json!({"path": "a.txt", "blocks": [{"search": old, "replace": new}]}).to_string();
        Answer::anthropic(Reply::new().text(["."]).tool("toolu_1", "edit_file", [input]))
    };
    let long = "for i in $(seq 2000); do echo line $i; done > a.txt";
    for answer in
        [read("a.txt"), runs("sed -i s/beta/gamma/ a.txt"), edit("gamma", "delta"), runs(long), edit("line 7", "l")]
    {
        program.provider.push(answer);
    }
    program.provider.push(says("Done."));
    ask(&program, &[]);
    assert!(told(&program).contains("it has changed since you last read it"), "{}", told(&program));
    assert_eq!(text(&program, "a.txt").expect("is there").lines().count(), 2000);
    let sets = program.run(&["changes", "--json"]).stdout.lines().count();
    assert_eq!(sets, 3, "the first edit was made without reading the file again");
}

#[test]
fn what_cannot_be_undone_is_said() {
    let program = program();
    three_files(&program);
    let large = fs::File::create(program.project().join("big.bin")).expect("a file");
    large.set_len(65 << 20).expect("as large as that");
    let command = "echo more >> big.bin; echo K=1 > .env; echo x >> a.txt";
    person_allows(&program, command);
    program.provider.push(runs(command));
    program.provider.push(says("Done."));
    let ended = ask(&program, &["--json"]);
    let events = ended.events();
    let by = &of(&events, "change.applied")[0]["by"];
    assert_eq!(by["unkept"], json!([{"path": ".env", "why": "secret"}, {"path": "big.bin", "why": "large"}]), "{by}");
    let line =
        "also changed 2 files that cannot be undone: .env (secrets are not copied), big.bin (too large to store)";
    assert!(program.run(&["changes"]).stdout.contains(line));
    let back = program.run(&["rewind"]);
    assert!(back.stderr.contains(line), "{}", back.stderr);
    assert_eq!(text(&program, "a.txt").as_deref(), Some("alpha\nbeta\n"));
}

#[test]
fn a_folder_with_too_many_files_is_not_watched_and_that_is_said() {
    let mut program = program();
    program.set("TRIMTAB_HISTORY_SNAPSHOT_FILES", "2");
    three_files(&program);
    person_allows(&program, "echo x >> a.txt");
    program.provider.push(runs("echo x >> a.txt"));
    program.provider.push(says("Done."));
    let ended = ask(&program, &[]);
    let why = "the folder has more files than history.snapshot_files";
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
    assert!(told(&program).contains(why));
    let listed = program.run(&["changes"]);
    assert!(listed.stderr.contains("File changes of 1 command were not recorded"), "{}", listed.stderr);
}

#[test]
fn commands_that_only_look_and_a_person_who_does_not_want_it_cost_nothing() {
    let mut program = program();
    three_files(&program);
    program.provider.push(runs("cat a.txt | grep beta"));
    program.provider.push(says("Done."));
    ask(&program, &[]);
    let stored = |program: &Program| {
        let database = rusqlite::Connection::open(program.home().join("trimtab.db")).expect("opens");
        let sql = "SELECT count(*) FROM refs WHERE key LIKE 'snapshot-%'";
        database.query_row(sql, [], |row| row.get::<_, i64>(0)).expect("a number")
    };
    assert_eq!(stored(&program), 0);
    program.set("TRIMTAB_HISTORY_SNAPSHOT_MB", "0");
    person_allows(&program, "echo x >> a.txt");
    program.provider.push(runs("echo x >> a.txt"));
    program.provider.push(says("Done."));
    let ended = ask(&program, &["--json"]);
    assert_eq!(of(&ended.events(), "change.applied").len(), 0);
    assert_eq!(stored(&program), 0);
}

#[test]
fn a_command_that_is_ended_for_taking_too_long_is_recorded_too() {
    let mut program = program();
    program.set("TRIMTAB_COMMANDS_TIMEOUT_S", "1");
    three_files(&program);
    program.provider.push(runs("echo x >> a.txt; sleep 60"));
    program.provider.push(says("Done."));
    let ended = ask(&program, &["--json"]);
    let events = ended.events();
    assert_eq!(of(&events, "command.finished")[0]["timedOut"], true);
    assert_eq!(of(&events, "change.applied")[0]["files"][0]["path"], "a.txt");
}

/// Waits until a file has this text.
fn wait_for(program: &Program, path: &str, wanted: &str) {
    let until = Instant::now() + Duration::from_secs(60);
    while text(program, path).as_deref() != Some(wanted) {
        assert!(Instant::now() < until, "{path} never became {wanted:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn killed_while_a_command_runs_the_next_owner_records_what_it_had_done_once() {
    let program = program();
    three_files(&program);
    program.provider.push(runs("echo half >> a.txt; sleep 600"));
    program.provider.push(says("Done."));
    let running = program.spawn(&["run", "--json", "--trust", "--approve", "auto", "work"]);
    wait_for(&program, "a.txt", "alpha\nbeta\nhalf\n");
    running.signal(Signal::KILL);
    running.wait();

    let first = program.run(&["resume", "--json"]);
    assert_eq!(first.code, Some(3), "how it ended is asked: {}", first.stderr);
    let events = first.events();
    let applied = of(&events, "change.applied");
    assert_eq!(applied.len(), 1, "it is recorded once");
    assert_eq!(program.run(&["changes", "--json"]).stdout.lines().count(), 1);
    assert_eq!((&applied[0]["by"]["late"], &applied[0]["files"][0]["path"]), (&json!(true), &json!("a.txt")));
    let opened = of(&events, "checkpoint.opened");
    let question = opened.last().expect("a question")["checkpoint"].as_str().expect("an id").to_owned();
    let answered = program.run(&["answer", &question, "skip"]);
    assert_eq!(answered.code, Some(0), "{}", answered.stderr);
    assert!(told(&program).contains("Files changed: a.txt (+1 -0)."), "{}", told(&program));
    assert_eq!(program.run(&["rewind"]).code, Some(0));
    assert_eq!(text(&program, "a.txt").as_deref(), Some("alpha\nbeta\n"));
}

#[test]
fn run_again_after_a_kill_both_runs_are_in_the_history() {
    let program = program();
    three_files(&program);
    program.provider.push(runs("echo half >> a.txt; test -e stop || sleep 600"));
    program.provider.push(says("Done."));
    let running = program.spawn(&["run", "--trust", "--approve", "auto", "work"]);
    wait_for(&program, "a.txt", "alpha\nbeta\nhalf\n");
    running.signal(Signal::KILL);
    running.wait();
    let events = program.run(&["resume", "--json"]).events();
    let opened = of(&events, "checkpoint.opened");
    let question = opened.last().expect("a question")["checkpoint"].as_str().expect("an id").to_owned();
    fs::write(program.project().join("stop"), "").expect("a file");
    assert_eq!(program.run(&["answer", &question, "again"]).code, Some(0));
    assert_eq!(text(&program, "a.txt").as_deref(), Some("alpha\nbeta\nhalf\nhalf\n"));
    assert_eq!(program.run(&["rewind"]).code, Some(0));
    assert_eq!(text(&program, "a.txt").as_deref(), Some("alpha\nbeta\nhalf\n"));
    assert_eq!(program.run(&["rewind"]).code, Some(0));
    assert_eq!(text(&program, "a.txt").as_deref(), Some("alpha\nbeta\n"));
}

fn makes(path: &str, content: &str) -> Answer {
    let input = json!({"path": path, "content": content}).to_string();
    Answer::anthropic(Reply::new().text(["."]).tool("toolu_1", "write_file", [input]))
}

/// A command runs; meanwhile another session edits one file and makes one, and a third takes back that it had made one.
/// Says which session the command is of.
fn work_beside_a_command(program: &Program, command: &str, meanwhile: impl FnOnce(Running)) -> String {
    three_files(program);
    for answer in [makes("made.txt", "earlier\n"), says("Done.")] {
        program.provider.push(answer);
    }
    let session = |ended: &Ended| ended.events()[0]["session"].as_str().expect("a session").to_owned();
    let earlier = session(&ask(program, &["--json"]));
    program.provider.push(runs(command));
    let running = program.spawn(&["run", "--json", "--trust", "--approve", "auto", "work"]);
    let until = Instant::now() + Duration::from_secs(60);
    while text(program, ".cache/begun").is_none_or(|text| text.is_empty()) {
        assert!(Instant::now() < until, "the command does not begin: {} {}", running.stdout(), running.stderr());
        std::thread::sleep(Duration::from_millis(10));
    }
    let of_it = running.stdout().lines().next().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let edit = json!({"path": "a.txt", "blocks": [{"search": "beta", "replace": "BETA"}]}).to_string();
    let edit = Answer::anthropic(Reply::new().text(["."]).tool("toolu_1", "edit_file", [edit]));
    for answer in [edit, makes("theirs.txt", "theirs\n"), says("Done.")] {
        program.provider.push(answer);
    }
    ask(program, &[]);
    let back = program.run(&["rewind", "--session", &earlier]);
    assert_eq!(back.code, Some(0), "{}", back.stderr);
    meanwhile(running);
    of_it.expect("a line")["session"].as_str().expect("a session").to_owned()
}

const PATIENT: &str = "echo mine > mine.txt; echo 1 > .cache/begun; while ! test -e .cache/go; do sleep 0.05; done";

#[test]
fn what_other_sessions_do_to_the_files_meanwhile_is_not_taken_for_the_commands_doing() {
    let program = program();
    let session = work_beside_a_command(&program, PATIENT, |running| {
        program.provider.push(says("Done."));
        fs::write(program.project().join(".cache/go"), "").expect("a file");
        let ended = running.wait();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    });
    let told = told(&program);
    assert!(told.contains("Exit code 0.") && told.contains(r#"\nNew: mine.txt.""#), "{told}");
    let back = program.run(&["rewind", "--session", &session]);
    assert_eq!(back.code, Some(0), "{}", back.stderr);
    assert_eq!(text(&program, "mine.txt"), None);
    assert_eq!(text(&program, "a.txt").as_deref(), Some("alpha\nBETA\n"), "the other session's edit stays");
    assert_eq!(text(&program, "theirs.txt").as_deref(), Some("theirs\n"));
    assert_eq!(text(&program, "made.txt"), None, "what was taken back does not come again");
}

#[test]
fn nor_is_it_when_nobody_saw_the_end_of_the_command() {
    let program = program();
    let session = work_beside_a_command(&program, PATIENT, |running| {
        running.signal(Signal::KILL);
        running.wait();
    });
    let resumed = program.run(&["resume", &session, "--json"]);
    assert_eq!(resumed.code, Some(3), "how it ended is asked: {}", resumed.stderr);
    let events = resumed.events();
    let applied = of(&events, "change.applied");
    let files: Vec<&Value> = applied
        .iter()
        .flat_map(|event| event["files"].as_array().into_iter().flatten())
        .map(|it| &it["path"])
        .collect();
    assert_eq!(files, [&json!("mine.txt")]);
}
