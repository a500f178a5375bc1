//! Checks after edits with the real binary and the real sandbox: they pass, fail, ask, hang, change files, and are killed.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::program::{Ended, Program};
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::Served;
use trimtab_testkit::terminal::Terminal;

/// A check that fails as long as a file has a certain word in it.
const SCRIPT: &str = "echo run >> .runs\nif grep -q broken a.txt; then echo 'a.txt:1: error: it is broken'; exit 1; fi\necho 'all is well'\n";
const CHECK: &str = "sh ./check.sh";

/// A trusted folder whose check is a setting of the user.
fn program(mode: &str) -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    let folder = program.project().canonicalize().expect("a folder");
    program.set("TRIMTAB_FOLDERS_TRUSTED", folder.to_str().expect("a path"));
    program.set("TRIMTAB_CHECKS_MODE", mode);
    program.set("TRIMTAB_CHECKS_COMMANDS", CHECK);
    put(&program.project().join("check.sh"), SCRIPT);
    program
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
    std::fs::write(path, text).expect("writes");
}

fn writes(content: &str) -> Answer {
    writes_to("a.txt", content)
}

fn writes_to(path: &str, content: &str) -> Answer {
    let input = json!({"path": path, "content": content}).to_string();
    Answer::anthropic(Reply::new().text(["I change it."]).tool("toolu_1", "write_file", [input]))
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// What the model was told with the call of this number.
fn told(program: &Program, call: usize) -> String {
    let requests = program.provider.requests();
    let messages = requests[call].body["messages"].clone();
    messages.as_array().expect("messages").last().expect("one").to_string()
}

/// How often the check has run.
fn runs(program: &Program) -> usize {
    std::fs::read_to_string(program.project().join(".runs")).unwrap_or_default().lines().count()
}

fn work(program: &Program) -> Ended {
    let ended = program.run(&["run", "--json", "change the file a.txt"]);
    assert_eq!(ended.code, Some(0), "{} {}", ended.stdout, ended.stderr);
    ended
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn several_edits_of_a_reply_are_checked_once_and_a_passed_check_costs_the_model_a_line() {
    let program = program("on");
    let write = |path: &str| json!({"path": path, "content": "fine\n"}).to_string();
    let reply = Reply::new().text(["Three files."]);
    let reply = reply.tool("toolu_1", "write_file", [write("a.txt")]).tool("toolu_2", "write_file", [write("b.txt")]);
    program.provider.push(Answer::anthropic(reply.tool("toolu_3", "write_file", [write("c.txt")])));
    program.provider.push(says("Done."));
    let events = work(&program).events();
    let due = of(&events, "checks");
    assert_eq!(due.len(), 1, "{events:?}");
    assert_eq!(due[0]["checks"], json!([{"call": "c1t4", "command": CHECK, "source": "user"}]));
    let started = of(&events, "command.started");
    assert_eq!((started.len(), runs(&program)), (1, 1));
    assert_eq!((&started[0]["automatic"], &started[0]["call"]), (&json!("check"), &json!("c1t4")));
    let told = told(&program, 1);
    assert!(told.contains("Check passed: `sh ./check.sh`"), "{told}");
    assert!(!told.contains("all is well") && !told.contains("Exit code"), "what it prints is for people: {told}");
    assert_eq!(told.matches("tool_result\"").count(), 3, "the model has not called it: {told}");
    let finished = of(&events, "command.finished");
    assert!(finished[0]["preview"].as_str().expect("a text").contains("all is well"));
    // The text output names it, and shows what it printed.
    program.provider.push(writes("fine again\n"));
    program.provider.push(says("Done."));
    let text = program.run(&["run", "change the file a.txt"]);
    assert!(
        text.stderr.contains("· check sh ./check.sh") && text.stderr.contains("  | all is well"),
        "{}",
        text.stderr
    );
}

#[test]
fn a_failed_check_reaches_the_model_until_it_has_fixed_the_file() {
    let program = program("on");
    program.provider.push(writes("broken\n"));
    program.provider.push(writes("mended\n"));
    program.provider.push(says("Fixed."));
    let ended = work(&program);
    let failed = told(&program, 1);
    for part in ["Check failed: `sh ./check.sh`", "Exit code 1.", "a.txt:1: error: it is broken"] {
        assert!(failed.contains(part), "{part}: {failed}");
    }
    assert!(told(&program, 2).contains("Check passed"), "{}", told(&program, 2));
    assert_eq!((runs(&program), of(&ended.events(), "checks").len()), (2, 2));
    // What is long is cut for the model, and stored.
    put(&program.project().join("check.sh"), "for n in $(seq 9000); do echo \"error $n\"; done\nexit 1\n");
    program.provider.push(writes("other\n"));
    program.provider.push(says("It still fails."));
    work(&program);
    let calls = program.provider.requests().len();
    let long = told(&program, calls - 1);
    assert!(long.len() < 8 * 1024 && long.contains("error 9000") && long.contains("ref:output-"), "{}", long.len());
}

#[test]
fn nothing_is_checked_without_edits_or_when_checks_are_off() {
    let program = program("on");
    put(&program.project().join("a.txt"), "one\n");
    let input = json!({"path": "a.txt"}).to_string();
    program.provider.push(Answer::anthropic(Reply::new().text(["I look."]).tool("toolu_1", "read_file", [input])));
    program.provider.push(says("It says one."));
    let ended = program.run(&["run", "--json", "what does a.txt say?"]);
    assert_eq!((ended.code, of(&ended.events(), "checks").len(), runs(&program)), (Some(0), 0, 0));
    let mut off = program;
    off.set("TRIMTAB_CHECKS_MODE", "off");
    off.provider.push(writes("two\n"));
    off.provider.push(says("Done."));
    let ended = work(&off);
    assert_eq!((of(&ended.events(), "checks").len(), runs(&off)), (0, 0));
    assert!(!ended.stdout.contains("Check "), "{}", ended.stdout);
}

#[test]
fn a_check_that_asks_runs_after_a_yes_and_is_left_out_for_the_request_after_a_no() {
    let program = program("ask");
    let served = Served::start(&program, "test", &[]);
    for (choice, status) in [("allow", "ok"), ("deny", "blocked")] {
        let before = runs(&program);
        let session = served.session();
        let mut stream = served.watch(&session, None);
        program.provider.push(writes(&format!("first {choice}\n")));
        program.provider.push(writes(&format!("second {choice}\n")));
        program.provider.push(says("Done."));
        served.post(&format!("/api/sessions/{session}/messages"), &json!({"text": "change the file a.txt twice"}));
        let mut events: Vec<Value> = stream.until("checkpoint.opened").into_iter().map(|(_, event)| event).collect();
        let opened = events.last().expect("a question").clone();
        assert_eq!(opened["title"], format!("Run this check after the edits? {CHECK}"), "{opened}");
        let choices = opened["choices"].as_array().expect("choices").clone();
        let wanted = if choice == "allow" { "allow" } else { "never" };
        assert!(choices.iter().any(|one| one["id"] == wanted), "{opened}");
        // The question survives; nothing runs before it is answered.
        assert_eq!(runs(&program), before);
        let answer = json!({"checkpoint": opened["checkpoint"], "choice": wanted});
        served.post(&format!("/api/sessions/{session}/answers"), &answer);
        if choice == "allow" {
            // An approval is for this time: the next batch asks again.
            let more: Vec<Value> = stream.until("checkpoint.opened").into_iter().map(|(_, event)| event).collect();
            let again = more.last().expect("a question").clone();
            events.extend(more);
            let answer = json!({"checkpoint": again["checkpoint"], "choice": "allow"});
            served.post(&format!("/api/sessions/{session}/answers"), &answer);
        }
        events.extend(stream.until("request.finished").into_iter().map(|(_, event)| event));
        let due = of(&events, "checks");
        let call = &due[0]["checks"][0]["call"];
        let finished = of(&events, "tool.finished").into_iter().find(|event| event["call"] == *call).expect("an end");
        assert_eq!(finished["status"], status, "{finished}");
        match choice {
            "allow" => {
                assert_eq!((runs(&program) - before, due.len()), (2, 2));
                let started = of(&events, "command.started");
                assert!(started.iter().all(|event| event["automatic"] == "check"), "a yes is not a yes to more files");
            }
            _ => {
                assert_eq!((runs(&program) - before, due.len()), (0, 1), "it is not proposed again: {events:?}");
                let preview = finished["preview"].as_str().expect("a text");
                assert!(preview.starts_with("Check not run: `sh ./check.sh`\n"), "{preview}");
            }
        }
    }
}

#[test]
fn in_a_script_a_check_that_asks_stays_open_and_an_answer_continues() {
    let program = program("ask");
    program.provider.push(writes("one\n"));
    let ended = program.run(&["run", "--json", "change the file a.txt"]);
    assert_eq!((ended.code, runs(&program)), (Some(3), 0), "{}", ended.stderr);
    let events = ended.events();
    let checkpoint = of(&events, "checkpoint.opened")[0]["checkpoint"].as_str().expect("an id").to_owned();
    program.provider.push(says("Done."));
    let answered = program.run(&["answer", &checkpoint, "allow"]);
    assert_eq!((answered.code, runs(&program)), (Some(0), 1), "{}", answered.stderr);
    assert!(told(&program, 1).contains("Check passed"), "{}", told(&program, 1));
    // Without anybody to ask, it is left out.
    program.provider.push(writes("two\n"));
    program.provider.push(says("Done."));
    let denied = program.run(&["run", "--json", "--approve", "deny", "change the file a.txt"]);
    assert_eq!((denied.code, runs(&program)), (Some(0), 1), "{}", denied.stderr);
}

#[test]
fn a_check_that_hangs_ends_at_its_timeout_or_when_the_user_stops() {
    let mut program = program("on");
    put(&program.project().join("check.sh"), "echo run >> .runs\necho waiting\nsleep 987654\n");
    program.set("TRIMTAB_COMMANDS_TIMEOUT_S", "2");
    program.provider.push(writes("one\n"));
    program.provider.push(says("It hangs."));
    work(&program);
    let late = told(&program, 1);
    assert!(late.contains("Check failed: `sh ./check.sh`\\nTimed out after 2 s and was stopped."), "{late}");
    assert!(!late.contains("timeout_s"), "the model cannot ask for more time: {late}");
    program.set("TRIMTAB_COMMANDS_TIMEOUT_S", "500");
    let before = runs(&program);
    program.provider.push(writes("two\n"));
    let running = program.spawn(&["run", "--json", "change the file a.txt"]);
    wait_until("it runs", || runs(&program) > before);
    let began = Instant::now();
    running.signal(Signal::INT);
    let ended = running.wait();
    assert!(began.elapsed() < Duration::from_secs(30));
    let events = ended.events();
    assert_eq!(of(&events, "request.finished")[0]["status"], "cancelled", "{}", ended.stdout);
    let calls = program.provider.requests().len();
    assert_eq!(calls, 3, "the model is not asked again");
    // The conversation is still one that a provider takes.
    program.provider.push(says("Hello."));
    let next = program.run(&["run", "--json", "--continue", "say hello"]);
    assert_eq!(next.code, Some(0), "{}", next.stderr);
}

#[test]
fn a_check_that_was_killed_is_asked_about_and_never_run_again_without_a_yes() {
    let program = program("on");
    put(&program.project().join("check.sh"), "echo run >> .runs\ntest -e go || sleep 987655\n");
    program.provider.push(writes("one\n"));
    let running = program.spawn(&["run", "--json", "change the file a.txt"]);
    wait_until("it runs", || runs(&program) == 1);
    running.signal(Signal::KILL);
    running.wait();
    put(&program.project().join("go"), "");
    let resumed = program.run(&["resume", "--json"]);
    assert_eq!((resumed.code, runs(&program)), (Some(3), 1), "{} {}", resumed.stdout, resumed.stderr);
    let events = resumed.events();
    let opened = of(&events, "checkpoint.opened").last().copied().cloned().expect("a question");
    program.provider.push(says("Done."));
    let answered = program.run(&["answer", opened["checkpoint"].as_str().expect("an id"), "again"]);
    assert_eq!((answered.code, runs(&program)), (Some(0), 2), "{} {}", answered.stdout, answered.stderr);
    let told = told(&program, program.provider.requests().len() - 1);
    assert!(told.contains("Check passed: `sh ./check.sh`"), "{told}");
}

#[test]
fn undo_covers_what_a_check_changed_and_the_model_is_told() {
    let program = program("on");
    put(&program.project().join("check.sh"), "tr a-z A-Z < a.txt > b.txt && mv b.txt a.txt\n");
    put(&program.project().join("a.txt"), "old\n");
    let read = json!({"path": "a.txt"}).to_string();
    program.provider.push(Answer::anthropic(Reply::new().text(["I look."]).tool("toolu_1", "read_file", [read])));
    program.provider.push(writes("new\n"));
    program.provider.push(says("Done."));
    let events = work(&program).events();
    let file = || std::fs::read_to_string(program.project().join("a.txt")).expect("a file");
    assert_eq!(file(), "NEW\n");
    assert_eq!((of(&events, "change.applied").len(), of(&events, "checks").len()), (2, 1), "it is not checked again");
    let told = told(&program, 2);
    assert!(told.contains("Check passed") && told.contains("a.txt"), "{told}");
    let undone = program.run(&["rewind"]);
    assert_eq!((undone.code, file().as_str()), (Some(0), "new\n"), "{}", undone.stderr);
    let undone = program.run(&["rewind"]);
    assert_eq!((undone.code, file().as_str()), (Some(0), "old\n"), "{}", undone.stderr);
}

#[test]
fn a_check_stays_in_its_fence() {
    let program = program("on");
    let outside = program.home().join("touched");
    let script = format!("touch {0} && echo escaped\ncat .env; echo leaked > AGENTS.md\nexit 0\n", outside.display());
    put(&program.project().join("check.sh"), &script);
    put(&program.project().join(".env"), "TOKEN=tokenvalue\n");
    program.provider.push(writes("one\n"));
    program.provider.push(says("Done."));
    let ended = work(&program);
    assert!(!outside.exists() && !ended.stdout.contains("escaped\\n"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("tokenvalue"), "a secret is covered: {}", ended.stdout);
    assert!(!program.project().join("AGENTS.md").exists(), "it writes no control file");
}

#[test]
fn a_check_of_a_project_runs_only_as_it_was_approved() {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    program.set("TRIMTAB_CHECKS_MODE", "on");
    let config = program.project().join(".trimtab/config.toml");
    put(&config, "[checks]\ncommands = [\"make lint\"]\n");
    put(&program.project().join("Makefile"), "lint:\n\t@sh ./check.sh\n");
    put(&program.project().join("check.sh"), SCRIPT);
    // Nothing of a folder that is not trusted is read.
    let listed = program.run(&["checks"]).stdout;
    assert!(!listed.contains("make lint") && listed.contains("not trusted"), "{listed}");
    program.provider.push(writes("zero\n"));
    let ended = program.run(&["run", "--json", "change the file a.txt"]);
    assert_eq!((ended.code, runs(&program)), (Some(3), 0), "{}", ended.stdout);
    assert_eq!(program.run(&["trust"]).code, Some(0));
    let mut batch = 0;
    let mut run = |program: &Program| {
        batch += 1;
        program.provider.push(writes(&format!("{batch}\n")));
        program.provider.push(says("Done."));
        work(program)
    };
    let ended = run(&program);
    assert_eq!(runs(&program), 0, "it is pending");
    assert!(ended.stdout.contains("Checks of this folder that you have not approved"), "{}", ended.stdout);
    let listed = program.run(&["checks", "list", "--json"]);
    let row: Value = serde_json::from_str(listed.stdout.trim()).unwrap_or_else(|_| panic!("{}", listed.stdout));
    assert_eq!(
        (&row["name"], &row["status"], &row["source"]),
        (&json!("project-1"), &json!("pending"), &json!("project"))
    );
    // An approval without a person is none.
    let refused = program.run(&["checks", "enable", "project-1"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stdout.contains("make lint"), "{}", refused.stdout);
    let enable = || assert_eq!(program.run(&["checks", "enable", "project-1", "--yes"]).code, Some(0));
    enable();
    let listed = program.run(&["checks"]).stdout;
    assert!(listed.contains("runs") && listed.contains("make lint"), "{listed}");
    let ended = run(&program);
    assert_eq!(runs(&program), 1, "{}", ended.stdout);
    assert!(!ended.stdout.contains("have not approved"), "{}", ended.stdout);
    // Another command is another check.
    put(&config, "[checks]\ncommands = [\"make lint -k\"]\n");
    run(&program);
    assert_eq!(runs(&program), 1, "a changed entry is pending again");
    enable();
    run(&program);
    assert_eq!(runs(&program), 2);
    assert_eq!(program.run(&["checks", "disable", "project-1"]).code, Some(0));
    run(&program);
    assert_eq!(runs(&program), 2, "the user does not want it");
    // A project cannot switch checks on, and says nothing that is no command.
    put(&config, "[checks]\nmode = \"on\"\n");
    let wrong = program.run(&["run", "hello"]);
    assert!(wrong.code == Some(2) && wrong.stderr.contains("a project cannot set checks.mode"), "{}", wrong.stderr);
}

#[test]
fn a_check_is_found_by_the_files_of_the_folder_and_runs_after_edits_of_its_language() {
    let mut program = program("on");
    program.unset("TRIMTAB_CHECKS_COMMANDS");
    put(&program.project().join("package.json"), r#"{"scripts": {"lint": "sh ./check.sh"}}"#);
    std::fs::create_dir_all(program.project().join("node_modules")).expect("a folder");
    let listed = program.run(&["checks"]).stdout;
    if !listed.contains("npm run lint") {
        eprintln!("skipped: there is no npm here");
        return;
    }
    program.provider.push(writes_to("notes.md", "one\n"));
    program.provider.push(writes_to("a.js", "let a = 1;\n"));
    program.provider.push(says("Done."));
    put(&program.project().join("a.txt"), "fine\n");
    let ended = program.run(&["run", "--json", "write notes.md and a.js"]);
    assert_eq!(ended.code, Some(0), "{} {}", ended.stdout, ended.stderr);
    let events = ended.events();
    let due = of(&events, "checks");
    assert_eq!((due.len(), runs(&program)), (1, 1), "{events:?}");
    assert_eq!(due[0]["checks"][0]["source"], "found");
    assert!(told(&program, 2).contains("Check passed: `npm run lint`"), "{}", told(&program, 2));
    // The user's level of autonomy counts: at careful, every command asks.
    program.set("TRIMTAB_AUTONOMY", "careful");
    let listed = program.run(&["checks"]).stdout;
    assert!(listed.contains("asks") && listed.contains("careful"), "{listed}");
}

#[test]
fn an_answer_in_a_form_is_checked_and_corrected() {
    let mut program = program("on");
    program.set("TRIMTAB_ANSWER_PROTOCOL", "structured_json");
    let answer = |content: &str| {
        let change = json!({"path": "a.txt", "content": content});
        says(
            &json!({"summary": "Changed it.", "fileChanges": [change, {"path": "b.txt", "content": content}]})
                .to_string(),
        )
    };
    program.provider.push(answer("broken\n"));
    program.provider.push(answer("mended\n"));
    let ended = work(&program);
    assert_eq!(runs(&program), 2, "once for each answer: {}", ended.stdout);
    assert_eq!(program.provider.requests().len(), 2, "a passed check needs no further call");
    let failed = told(&program, 1);
    assert!(failed.contains("Check failed") && failed.contains("it is broken"), "{failed}");
}

#[test]
fn a_terminal_shows_a_check_and_its_question() {
    let program = program("ask");
    let terminal = Terminal::start(&program, &[], 100, 30);
    terminal.wait_for("Ask Trimtab");
    program.provider.push(writes("broken\n"));
    program.provider.push(says("It fails."));
    terminal.press("change the file a.txt\r");
    terminal.answer("Run this check after the edits?", "1");
    let screen = terminal.wait_for("It fails.");
    assert!(screen.contains("Checked: sh ./check.sh"), "{screen}");
    assert!(screen.contains("a.txt:1: error: it is broken"), "{screen}");
}
