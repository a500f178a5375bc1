//! Autonomy as people set it: the real binary with options, settings, another terminal, HTTP, and the key of the terminal UI.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::time::Duration;

use serde_json::{Value, json};
use trimtab_testkit::program::{Ended, Program};
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::Served;
use trimtab_testkit::terminal::Terminal;

const SHIFT_TAB: &str = "\x1b[Z";
const ENTER: &str = "\r";

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

fn trusted() -> Program {
    let mut program = program();
    let folder = program.project().canonicalize().expect("a folder");
    program.set("TRIMTAB_FOLDERS_TRUSTED", folder.to_str().expect("a path"));
    program
}

fn asks(tool: &str, input: &Value) -> Answer {
    Answer::anthropic(Reply::new().text(["I work on it."]).tool("toolu_0", tool, [input.to_string()]))
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// Runs one command of the model with these options.
fn run(program: &Program, command: &str, options: &[&str]) -> Ended {
    program.provider.push(asks("run_command", &json!({ "command": command })));
    program.provider.always(says("Done."));
    let all: Vec<&str> = ["run", "--json", "--trust"].iter().chain(options).chain(&["go"]).copied().collect();
    program.run(&all)
}

#[test]
fn trusting_runs_a_script_of_the_folder_in_the_fence_and_undo_covers_it() {
    let program = program();
    std::fs::write(program.project().join("kept.txt"), "before\n").expect("writes");
    std::fs::write(program.project().join(".env"), "KEY=PRIVATE\n").expect("writes");
    std::fs::write(program.project().join("do.sh"), "cat .env; echo after > kept.txt; echo x > ../outside\n")
        .expect("writes");
    let asked = run(&program, "sh do.sh", &[]);
    assert_eq!(asked.code, Some(3), "standard asks: {}", asked.stderr);
    let ran = run(&program, "sh do.sh", &["--autonomy", "trusting"]);
    let events = ran.events();
    assert!(of(&events, "checkpoint.opened").is_empty(), "{}", ran.stdout);
    assert_eq!(events[0]["type"], "session.autonomy", "the level comes with the request: {}", ran.stdout);
    assert_eq!(events[1]["type"], "request.received", "{}", ran.stdout);
    assert!(of(&asked.events(), "session.autonomy").is_empty(), "{}", asked.stdout);
    assert_eq!(of(&events, "command.started")[0]["automatic"], "check");
    assert_eq!(std::fs::read_to_string(program.project().join("kept.txt")).expect("reads"), "after\n");
    assert!(!program.project().join("../outside").exists(), "it left the folder");
    let sent: String = program.provider.requests().iter().map(|request| request.body.to_string()).collect();
    assert!(!sent.contains("PRIVATE"), "a secret was sent");
    let undone = program.run(&["rewind"]);
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert_eq!(std::fs::read_to_string(program.project().join("kept.txt")).expect("reads"), "before\n");
    let audit = program.run(&["audit", "--export"]);
    assert!(
        audit.stdout.contains("autonomy_changed") && audit.stdout.contains(r#""surface":"run""#),
        "{}",
        audit.stdout
    );
}

#[test]
fn what_no_level_may_do_waits_for_a_person_in_a_script() {
    for command in ["curl https://example.org", "rm kept.txt", "cat .env", "git commit -m x", "cat ../other"] {
        let ended = run(&program(), command, &["--autonomy", "trusting"]);
        assert_eq!(ended.code, Some(3), "{command}: {}", ended.stderr);
        assert!(of(&ended.events(), "command.started").is_empty(), "{command}");
    }
    let careful = run(&program(), "ls", &["--autonomy", "careful"]);
    assert_eq!(careful.code, Some(3), "{}", careful.stderr);
    let approved = run(&program(), "ls", &["--autonomy", "careful", "--approve", "auto"]);
    assert_eq!(approved.code, Some(0), "--approve keeps its meaning: {}", approved.stderr);
    let denied = run(&program(), "ls", &["--autonomy", "careful", "--approve", "deny"]);
    assert!(of(&denied.events(), "command.started").is_empty(), "{}", denied.stdout);
}

#[test]
fn a_repository_and_a_model_cannot_raise_the_level() {
    let program = program();
    std::fs::create_dir_all(program.project().join(".trimtab/pills")).expect("a folder");
    let file = program.project().join(".trimtab/config.toml");
    std::fs::write(&file, "autonomy = \"trusting\"\n").expect("writes");
    let asked = run(&program, "./build/app", &[]);
    assert_eq!(asked.code, Some(3), "a project's level is a limit and no choice: {}", asked.stderr);
    std::fs::write(&file, "autonomy = \"careful\"\n").expect("writes");
    let limited = run(&program, "ls", &["--autonomy", "trusting"]);
    assert_eq!(limited.code, Some(3), "a project limits what an option chooses: {}", limited.stderr);
    std::fs::remove_file(&file).expect("removes");
    for command in [
        "trimtab control autonomy trusting",
        "trimtab run --autonomy trusting x",
        "echo 'autonomy = \"trusting\"' > .trimtab/config.toml",
    ] {
        let ended = run(&program, command, &["--autonomy", "trusting", "--approve", "auto"]);
        assert!(of(&ended.events(), "command.started").is_empty(), "{command}: {}", ended.stdout);
    }
    let hidden = run(&program, "TRIMTAB_AUTONOMY=trusting trimtab run x", &["--autonomy", "trusting"]);
    assert_eq!(hidden.code, Some(3), "Trimtab does not start itself: {}", hidden.stderr);
    program
        .provider
        .push(asks("write_file", &json!({"path": ".trimtab/config.toml", "content": "autonomy = \"trusting\"\n"})));
    program.provider.push(says("Done."));
    let written = program.run(&["run", "--trust", "--autonomy", "trusting", "--approve", "auto", "go"]);
    assert!(!file.exists(), "{}", written.stderr);
}

#[test]
fn the_setting_the_variable_and_another_terminal_choose_a_level() {
    let mut program = program();
    program.set("TRIMTAB_AUTONOMY", "careful");
    let shown = program.run(&["config", "autonomy"]);
    assert!(shown.stdout.contains("careful") && shown.stdout.contains("TRIMTAB_AUTONOMY"), "{}", shown.stdout);
    let doctor = program.run(&["doctor"]);
    assert!(doctor.stdout.contains("autonomy: careful."), "{}", doctor.stdout);
    let asked = run(&program, "ls", &[]);
    assert_eq!(asked.code, Some(3), "{}", asked.stderr);
    // A session without an open question, which a new message would go to.
    assert_eq!(program.run(&["run", "--trust", "hello"]).code, Some(0));
    let raised = program.run(&["control", "autonomy", "standard"]);
    assert_eq!(raised.code, Some(0), "{}", raised.stderr);
    assert!(raised.stderr.contains("Autonomy: standard."), "{}", raised.stderr);
    let goes = run(&program, "ls", &["--continue"]);
    assert_eq!(goes.code, Some(0), "the session's level comes before the setting: {}", goes.stderr);
    let wrong = program.run(&["control", "autonomy", "yolo"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("Expected careful, standard, or trusting"), "{}", wrong.stderr);
    let checked = program.run(&["check-command", "--autonomy", "trusting", "./build/app"]);
    assert!(checked.stdout.contains(r#""decision":"auto""#), "{}", checked.stdout);
}

#[test]
fn over_http_a_message_and_a_control_choose_a_level_and_the_document_has_it() {
    let program = trusted();
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    assert_eq!(served.get(&format!("/api/sessions/{session}"))["autonomy"], "standard");
    program.provider.push(says("Hello."));
    let sent = served.post(&format!("/api/sessions/{session}/messages"), &json!({"text": "hi", "autonomy": "careful"}));
    assert_eq!(sent.status, 202, "{}", sent.text());
    served.watch(&session, None).until("request.finished");
    assert_eq!(served.get(&format!("/api/sessions/{session}"))["autonomy"], "careful");
    let control = format!("/api/sessions/{session}/control");
    let raised = served.post(&control, &json!({"action": "autonomy", "level": "trusting"}));
    assert_eq!(raised.status, 202, "{}", raised.text());
    assert_eq!(served.get(&format!("/api/sessions/{session}"))["autonomy"], "trusting");
    for wrong in [json!({"action": "autonomy"}), json!({"action": "autonomy", "level": "yolo"})] {
        assert_eq!(served.post(&control, &wrong).status, 422, "{wrong}");
    }
    let audit = program.run(&["audit", "--export"]);
    assert!(audit.stdout.contains(r#""surface":"http""#), "{}", audit.stdout);
}

#[test]
fn shift_tab_goes_through_the_levels_and_the_status_line_shows_them() {
    let program = trusted();
    let terminal = Terminal::start(&program, &[], 120, 30);
    terminal.wait_for("standard");
    terminal.press(SHIFT_TAB);
    terminal.wait_for("trusting");
    terminal.press(SHIFT_TAB);
    terminal.wait_for("plan: reads and plans");
    terminal.press(SHIFT_TAB);
    terminal.wait_for("careful");
    // It goes with the first message, and asks about a read-only command.
    program.provider.push(asks("run_command", &json!({"command": "ls"})));
    program.provider.push(says("It is listed."));
    terminal.press("list the files");
    terminal.wait_for("list the files");
    terminal.press(ENTER);
    terminal.wait_for("Run this command?");
    // A raise counts from the next decision on: the question stays.
    terminal.press(SHIFT_TAB);
    terminal.wait_for("standard");
    let changes = || program.run(&["audit", "--export"]).stdout.matches("autonomy_changed").count();
    let began = std::time::Instant::now();
    while changes() < 2 {
        assert!(began.elapsed() < Duration::from_secs(60), "the level is not recorded: {}", terminal.screen());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(terminal.settled().contains("Run this command?"), "{}", terminal.screen());
    terminal.answer("Run this command?", "1");
    terminal.wait_for("It is listed.");
    let audit = program.run(&["audit", "--export"]);
    assert_eq!(audit.stdout.matches("autonomy_changed").count(), 2, "{}", audit.stdout);
    assert!(!audit.stdout.contains("trusting"), "a level that was only passed was recorded: {}", audit.stdout);
}

#[test]
fn slash_autonomy_shows_and_sets_the_level_and_a_kill_keeps_it() {
    let program = trusted();
    program.provider.push(says("Hello there."));
    let mut terminal = Terminal::start(&program, &["--autonomy", "careful"], 120, 30);
    terminal.wait_for("careful");
    terminal.press("hello");
    terminal.wait_for("hello");
    terminal.press(ENTER);
    terminal.wait_for("Hello there.");
    for key in ["/autonomy trusting", ENTER] {
        terminal.press(key);
        terminal.settled();
    }
    terminal.wait_for("Autonomy: trusting.");
    terminal.signal(rustix::process::Signal::KILL);
    terminal.wait();
    let again = Terminal::start(&program, &[], 120, 30);
    again.wait_for("Hello there.");
    again.wait_for("trusting");
}
