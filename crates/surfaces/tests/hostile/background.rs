//! Background commands: what a model, its commands, and other sessions must not get out of them.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::{Served, Stream};
use trimtab_testkit::terminal::Terminal;

fn program(settings: &str) -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    std::fs::create_dir_all(program.home()).expect("a folder");
    std::fs::write(program.home().join("config.toml"), settings).expect("writes");
    let folder = program.project().canonicalize().expect("a folder");
    program.set("TRIMTAB_FOLDERS_TRUSTED", folder.to_str().expect("a path"));
    program
}

fn asks(name: &str, input: Value) -> Answer {
    Answer::anthropic(Reply::new().text(["I work on it."]).tool("toolu_1", name, [input.to_string()]))
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

fn processes_with(words: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(words) {
            found.push(format!("{} {line}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

/// A command that sleeps for as long as no other on this machine.
fn own_sleep() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("sleep {}.{}", 3_000_000 + std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a message and answers the question about its command.
fn start_in_background(served: &Served, stream: &mut Stream, session: &str, text: &str) {
    let path = format!("/api/sessions/{session}");
    assert_eq!(served.post(&format!("{path}/messages"), &json!({"text": text})).status, 202);
    let opened = stream.until("checkpoint.opened").pop().expect("a question").1;
    let answer = json!({"checkpoint": opened["checkpoint"], "choice": "allow"});
    assert_eq!(served.post(&format!("{path}/answers"), &answer).status, 202, "{opened}");
    stream.until("command.background");
}

#[test]
fn a_setting_or_a_level_alone_never_lets_a_command_write_in_the_background() {
    let lines = ["make test", "./server.sh", "cargo test", "sh -c 'echo x > made.txt; sleep 100'"];
    for settings in ["[apply]\ncommands = \"auto\"\n", "autonomy = \"trusting\"\n"] {
        for line in lines {
            let program = program(settings);
            program.provider.push(asks("run_command", json!({"command": line, "background": true})));
            let ended = program.run(&["run", "--json", "go"]);
            assert_eq!(ended.code, Some(3), "{settings}{line}: {}", ended.stdout);
            assert_eq!(of(&ended.events(), "command.started").len(), 0, "{settings}{line}");
            assert!(!program.project().join("made.txt").exists());
        }
    }
}

#[test]
fn an_answer_to_a_command_in_the_foreground_never_starts_it_in_the_background() {
    let program = program("");
    let sleep = own_sleep();
    let line = format!("echo up; {sleep}");
    program.provider.push(asks("run_command", json!({"command": "touch made; false"})));
    program.provider.push(asks("run_command", json!({"command": line, "background": true})));
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let mut stream = served.watch(&session, None);
    let path = format!("/api/sessions/{session}");
    served.post(&format!("{path}/messages"), &json!({"text": "go"}));
    let first = stream.until("checkpoint.opened").pop().expect("a question").1;
    assert_ne!(first["plan"]["background"], json!(true), "{first}");
    served.post(&format!("{path}/answers"), &json!({"checkpoint": first["checkpoint"], "choice": "allow"}));
    let second = stream.until("checkpoint.opened").pop().expect("another question").1;
    assert_eq!(second["plan"]["background"], json!(true), "the question says so: {second}");
    assert_ne!(first["fingerprint"], second["fingerprint"]);
    assert_eq!(processes_with(&sleep), Vec::<String>::new());
}

#[test]
fn no_more_than_eight_run_however_they_are_asked_for() {
    let program = program("");
    let sleep = own_sleep();
    let mut reply = Reply::new().text(["I start them."]);
    for number in 0..12 {
        let input = json!({"command": format!("echo up; {sleep}"), "background": true, "ready": "up"});
        reply = reply.tool(format!("toolu_{number}"), "run_command", [input.to_string()]);
    }
    program.provider.push(Answer::anthropic(reply));
    program.provider.push(says("They run."));
    let ended = program.run(&["run", "--json", "--approve", "auto", "go"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let events = ended.events();
    assert_eq!(of(&events, "command.background").len(), 8, "{}", ended.stdout);
    let refused = of(&events, "tool.finished");
    let is_refused =
        |event: &&&Value| event["preview"].as_str().is_some_and(|text| text.contains("8 commands already run"));
    assert_eq!(refused.iter().filter(is_refused).count(), 4, "{}", ended.stdout);
    assert_eq!(processes_with(&sleep), Vec::<String>::new(), "the run ends all of them");
}

#[test]
fn the_end_of_a_server_ends_its_commands_and_records_why() {
    let program = program("");
    let sleep = own_sleep();
    let line = format!("echo up; setsid {sleep} & {sleep}");
    program.provider.push(asks("run_command", json!({"command": line, "background": true, "ready": "up"})));
    program.provider.push(says("It runs."));
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let mut stream = served.watch(&session, None);
    start_in_background(&served, &mut stream, &session, "go");
    served.running.signal(Signal::TERM);
    wait_until("nothing is left", || processes_with(&sleep).is_empty());
    served.running.wait();
    let shown = program.run(&["sessions", "show", "--json", &session]);
    let exported = program.run(&["audit", "--export"]);
    assert!(exported.stdout.contains(r#""why":"session""#), "{} {}", shown.stdout, exported.stdout);
}

#[test]
fn other_sessions_and_strangers_neither_read_nor_stop_a_command() {
    let program = program("");
    let sleep = own_sleep();
    let line = format!("printf 'up \\033]52;c;ZXZpbA==\\007 \\342\\200\\256 now\\n'; {sleep}");
    program
        .provider
        .push(asks("run_command", json!({"command": line, "background": true, "ready": "up", "name": "web"})));
    program.provider.push(says("It runs."));
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let mut stream = served.watch(&session, None);
    start_in_background(&served, &mut stream, &session, "go");
    stream.until("request.finished");
    let listed = served.get(&format!("/api/sessions/{session}/commands"));
    assert_eq!(listed["commands"][0]["id"], "b1", "{listed}");
    assert_eq!((&listed["commands"][0]["name"], &listed["commands"][0]["ready"]), (&json!("web"), &json!(true)));
    let read = |since: &str| served.get(&format!("/api/sessions/{session}/commands/b1{since}"));
    let whole = read("");
    let text = whole["text"].as_str().expect("a text");
    assert!(text.starts_with("up ") && text.ends_with("now\n") && !text.contains('\u{1b}'), "{whole}");
    let next = whole["next"].as_u64().expect("a position");
    assert_eq!(read(&format!("?since={next}"))["text"], "");
    assert_eq!(read("?since=18446744073709551615")["text"], "");
    for wrong in ["?since=-1", "?since=x", "?since=18446744073709551616", "?until=1"] {
        let answer = served.ask("GET", &format!("/api/sessions/{session}/commands/b1{wrong}")).send();
        assert_eq!(answer.status, 400, "{wrong}: {}", answer.text());
    }
    // Another session has no such command, nor has one that does not exist, and a stranger is told nothing.
    let other = served.session();
    assert_eq!(served.get(&format!("/api/sessions/{other}/commands"))["commands"], json!([]));
    for (method, path) in [
        ("GET", format!("/api/sessions/{other}/commands/b1")),
        ("POST", format!("/api/sessions/{other}/commands/b1/stop")),
        ("GET", format!("/api/sessions/{session}/commands/b2")),
        ("POST", format!("/api/sessions/{session}/commands/b2/stop")),
        ("GET", format!("/api/sessions/{session}/commands/..%2f..%2fb1")),
        ("POST", format!("/api/sessions/{session}/commands/b1%0a/stop")),
        ("GET", "/api/sessions/s00000000000000000/commands".to_owned()),
    ] {
        let answer = served.ask(method, &path).send();
        assert_eq!(answer.status, 404, "{method} {path}: {}", answer.text());
        let stranger = served.ask_without_token(method, &path).send();
        assert_eq!(stranger.status, 401, "{method} {path}: {}", stranger.text());
    }
    let stop = format!("/api/sessions/{session}/commands/b1/stop");
    assert_eq!(served.ask_without_token("POST", &stop).send().status, 401);
    assert_eq!(served.ask("GET", &stop).send().status, 405);
    assert!(!processes_with(&sleep).is_empty(), "it still runs");
    let stopped = served.ask("POST", &stop).send();
    assert_eq!(stopped.status, 202, "{}", stopped.text());
    let finished = stream.until("command.finished").pop().expect("its end").1;
    assert_eq!(finished["background"], json!({"id": "b1", "why": "user"}));
    assert_eq!(processes_with(&sleep), Vec::<String>::new());
    // Once more: it has ended, and nothing happens. Its output stays.
    assert_eq!(served.ask("POST", &stop).send().json()["why"], "user");
    assert!(read("")["text"].as_str().is_some_and(|text| text.ends_with("now\n")));
}

#[test]
fn a_fork_has_none_of_the_commands_of_the_session_that_it_was_made_of() {
    let program = program("");
    let sleep = own_sleep();
    program
        .provider
        .push(asks("run_command", json!({"command": format!("echo up; {sleep}"), "background": true, "ready": "up"})));
    program.provider.push(says("It runs."));
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let mut stream = served.watch(&session, None);
    start_in_background(&served, &mut stream, &session, "go");
    stream.until("request.finished");
    let forked = served.post(&format!("/api/sessions/{session}/fork"), &json!({}));
    assert!(forked.status < 300, "{}", forked.text());
    let fork = forked.json()["session"].as_str().expect("a session").to_owned();
    // Somebody works in the fork, so that its own process could have commands.
    let gate = program.provider.gate();
    program.provider.push(says("Working.").gated(&gate));
    served.post(&format!("/api/sessions/{fork}/messages"), &json!({"text": "more"}));
    wait_until("the fork works", || program.provider.requests().len() > 2);
    let rows = served.get(&format!("/api/sessions/{fork}/commands"));
    assert_eq!(rows["commands"][0]["why"], "session", "{rows}");
    let listed = program.run(&["ps", "--json"]);
    assert_eq!(listed.stdout.lines().count(), 1, "{}", listed.stdout);
    assert!(listed.stdout.contains(&session), "{}", listed.stdout);
    let stopped = served.ask("POST", &format!("/api/sessions/{fork}/commands/b1/stop")).send();
    assert_eq!(stopped.json()["why"], "session", "{}", stopped.text());
    assert!(!processes_with(&sleep).is_empty());
    gate.open();
}

#[test]
fn a_pattern_that_takes_long_never_keeps_a_command_from_being_stopped() {
    let program = program("");
    let line = "head -c 100000000 /dev/urandom | tr -dc ab; sleep 1000";
    let ready = "[ab]*a[ab]{900}c";
    program.provider.push(asks("run_command", json!({"command": line, "background": true, "ready": ready})));
    program.provider.push(asks("stop_command", json!({"id": "b1"})));
    program.provider.push(says("Done."));
    let began = Instant::now();
    let ended = program.run(&["run", "--json", "--approve", "auto", "go"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(of(&ended.events(), "command.finished").len(), 1);
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
}

#[test]
fn nothing_of_a_command_outside_the_sandbox_outlives_a_kill() {
    let program = program("");
    let sleep = own_sleep();
    let line = format!("(setsid sh -c '{sleep} & exec setsid {sleep}' &) ; setsid {sleep} & echo up; {sleep}");
    let input = json!({"command": line, "background": true, "ready": "up", "outside": "it needs the network"});
    program.provider.push(asks("run_command", input));
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let mut stream = served.watch(&session, None);
    start_in_background(&served, &mut stream, &session, "go");
    wait_until("all run", || processes_with(&sleep).len() >= 4);
    served.running.signal(Signal::KILL);
    let began = Instant::now();
    while !processes_with(&sleep).is_empty() && began.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let left = processes_with(&sleep);
    for process in &left {
        let id = process.split(' ').next().and_then(|id| id.parse().ok()).and_then(rustix::process::Pid::from_raw);
        let _ = rustix::process::kill_process(id.expect("a process"), Signal::KILL);
    }
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn a_stop_at_any_moment_of_the_start_leaves_no_process() {
    for wait in [0, 3, 10, 30, 60, 100, 150, 250] {
        let program = program("");
        let sleep = own_sleep();
        program.provider.push(asks(
            "run_command",
            json!({"command": format!("echo up; {sleep}"), "background": true, "ready": "up"}),
        ));
        program.provider.push(says("Done."));
        let running = program.spawn(&["run", "--json", "--approve", "auto", "go"]);
        running.wait_for_line("command.started");
        std::thread::sleep(Duration::from_millis(wait));
        running.signal(if wait % 20 == 0 { Signal::KILL } else { Signal::INT });
        running.wait();
        wait_until("nothing is left", || processes_with(&sleep).is_empty());
    }
}

#[test]
fn what_a_background_command_is_called_and_writes_never_reaches_the_terminal_raw() {
    let program = program("");
    let sleep = own_sleep();
    let line = format!("printf 'busy \\033]52;c;ZXZpbA==\\007\\033[2J\\n'; {sleep}; echo \u{202e}");
    let input = json!({"command": line, "background": true, "ready": "busy", "name": "a\u{1b}[2J\u{202e}b\u{7}"});
    program.provider.push(asks("run_command", input));
    program.provider.push(says("It runs."));
    let mut terminal = Terminal::start(&program, &[], 120, 30);
    terminal.wait_for("?");
    terminal.press("Start it");
    terminal.wait_for("Start it");
    terminal.press("\r");
    terminal.answer("Run this command?", "1");
    terminal.wait_for("It runs.");
    let listed = program.run(&["ps"]);
    assert!(!listed.stdout.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{:?}", listed.stdout);
    terminal.press("/ps");
    terminal.press("\r");
    terminal.wait_for("started ");
    terminal.press("\r");
    terminal.wait_for("busy");
    terminal.press("s");
    wait_until("it is stopped", || processes_with(&sleep).is_empty());
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(!bytes.contains("\u{1b}]52;c;ZXZpbA==") && !bytes.contains('\u{202e}'), "raw");
    terminal.press("\x1b");
    terminal.wait_for("enter output");
    terminal.press("\x1b");
    terminal.wait_until_gone("enter output");
    terminal.press("\x04");
    terminal.wait();
}

#[test]
fn the_trail_tells_what_ran_in_the_background_and_who_stopped_it() {
    let program = program("");
    let sleep = own_sleep();
    program
        .provider
        .push(asks("run_command", json!({"command": format!("echo up; {sleep}"), "background": true, "ready": "up"})));
    program.provider.push(asks("stop_command", json!({"id": "b1"})));
    program.provider.push(says("Done."));
    assert_eq!(program.run(&["run", "--approve", "auto", "go"]).code, Some(0));
    let exported = program.run(&["audit", "--export"]);
    let lines: Vec<Value> = exported.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let line = |action: &str| {
        lines.iter().find(|line| line["action"] == action).unwrap_or_else(|| panic!("{action}: {}", exported.stdout))
    };
    assert_eq!(line("command_started")["background"], true);
    assert_eq!(line("command_background")["background"], "b1");
    assert_eq!(line("command_stopping")["by"], "model");
    assert_eq!(line("command_finished")["background"], json!({"id": "b1", "why": "model"}));
}
