//! Records the fixtures of `tests/conversation/`: events of the real binary, which the conversation fold of this crate
//! and the browser's fold are held to. Not a test: it runs by hand, where an event was added.
//!
//! ```console
//! $ cargo test -p trimtab-surfaces --test conversation -- --ignored
//! $ TRIMTAB_WRITE_FIXTURES=1 cargo test -p trimtab-surfaces --lib golden
//! ```

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::program::{Ended, Program};
use trimtab_testkit::provider::anthropic::error_body;
use trimtab_testkit::provider::{Answer, Reply};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

fn says(words: &[&str]) -> Answer {
    Answer::anthropic(Reply::new().text(words.to_vec()))
}

fn uses(words: &str, calls: &[(&str, Value)]) -> Answer {
    let mut reply = Reply::new().thinking(["Let me see."], "signed").text([words]);
    for (at, (name, input)) in calls.iter().enumerate() {
        reply = reply.tool(format!("toolu_{at}"), *name, [input.to_string()]);
    }
    Answer::anthropic(reply)
}

fn run(program: &Program, more: &[&str]) -> Ended {
    program.run(&[&["run", "--json", "--trust", "--approve", "auto"], more].concat())
}

fn answer(program: &Program, asked: &Ended, more: &[&str]) -> Ended {
    let events = asked.events();
    let opened = events.iter().rfind(|event| event["type"] == "checkpoint.opened").expect("a question");
    let id = opened["checkpoint"].as_str().expect("a name");
    program.run(&[&["answer", id], more, &["--json"]].concat())
}

/// Writes down all that the log has, and what was live after each event of it.
fn record(name: &str, program: &Program, watched: &[&Ended]) {
    let mut live: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    let mut session = String::new();
    for ended in watched {
        let mut last = 0;
        for event in ended.stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            session = event["session"].as_str().expect("a session").to_owned();
            match event["seq"].as_u64() {
                Some(seq) => last = seq,
                None => live.entry(last).or_default().push(event),
            }
        }
    }
    let export = program.run(&["sessions", "export", &session]).stdout;
    let export: Value = serde_json::from_str(&export).expect("JSON");
    let mut events = Vec::new();
    for event in export["events"].as_array().expect("a list") {
        events.push(event.clone());
        events.extend(live.remove(&event["seq"].as_u64().expect("a number")).unwrap_or_default());
    }
    for event in &mut events {
        // Of the settings, only the form of the answers matters to what is shown.
        if let Some(settings) = event.get_mut("settings") {
            *settings = json!({"facts": settings["facts"]});
        }
    }
    let place = program.project().display().to_string();
    let lines: Vec<String> = events.iter().map(|event| format!("    {event}").replace(&place, "/project")).collect();
    let text = format!("{{\n  \"events\": [\n{}\n  ],\n  \"entries\": []\n}}\n", lines.join(",\n"));
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/conversation").join(format!("{name}.json"));
    std::fs::write(file, text).expect("written");
}

#[test]
#[ignore = "writes the fixtures"]
fn edits_and_their_undoing() {
    let program = program();
    let file = json!({"path": "notes.txt", "content": "one\n"});
    program.provider.push(uses("I write the file.", &[("write_file", file)]));
    program.provider.push(uses("", &[("read_file", json!({"path": "missing.txt"}))]));
    program.provider.push(says(&["It is", " written."]));
    let ended = run(&program, &["Write notes.txt"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(program.run(&["rewind"]).code, Some(0));
    record("edits", &program, &[&ended]);
}

#[test]
#[ignore = "writes the fixtures"]
fn commands_that_run_fail_and_are_denied() {
    let program = program();
    let run_command = |command: &str| ("run_command", json!({"command": command}));
    program.provider.push(uses("I look.", &[run_command("ls"), run_command("cat missing.txt")]));
    program.provider.push(uses("", &[run_command("touch made.txt")]));
    program.provider.push(says(&["Done."]));
    let ended = program.run(&["run", "--json", "--trust", "--approve", "ask", "List the files"]);
    let ended_again = answer(&program, &ended, &["wait"]);
    record("commands", &program, &[&ended, &ended_again]);
}

#[test]
#[ignore = "writes the fixtures"]
fn a_plan_with_its_steps() {
    let program = program();
    program.provider.push(uses("", &[("propose_plan", json!({"steps": ["Write a", "Write b"]}))]));
    let asked = program.run(&["run", "--json", "--mode", "plan", "--trust", "Two files"]);
    program.provider.push(uses("", &[("write_file", json!({"path": "a.txt", "content": "x\n"}))]));
    program.provider.push(says(&["a is written."]));
    program.provider.push(says(&["b is not needed."]));
    program.provider.push(says(&["Both are dealt with."]));
    let ended = answer(&program, &asked, &["approve"]);
    record("plan", &program, &[&asked, &ended]);
}

#[test]
#[ignore = "writes the fixtures"]
fn a_question_and_its_answer() {
    let program = program();
    let question = json!({"question": "Which one?", "options": ["the red", "the blue"]});
    program.provider.push(uses("I have to ask.", &[("ask_user", question)]));
    let asked = program.run(&["run", "--json", "--trust", "Choose"]);
    program.provider.push(says(&["The red", " one."]));
    let ended = answer(&program, &asked, &["o1"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    record("question", &program, &[&asked, &ended]);
}

#[test]
#[ignore = "writes the fixtures"]
fn calls_that_fail_and_are_made_again() {
    let program = program();
    program.provider.push(Answer::json(529, error_body("overloaded_error", "Overloaded")));
    let words = says(&["Half of the answer ", "is here, and the rest follows."]);
    let bytes = words.body_bytes();
    let half = String::from_utf8_lossy(&bytes).find("and the rest").expect("the words");
    program.provider.push(words.cut_after(half));
    program.provider.push(says(&["Half of the answer ", "and all the rest."]));
    let ended = run(&program, &["Answer"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    record("retries", &program, &[&ended]);
}

#[test]
#[ignore = "writes the fixtures"]
fn messages_while_a_request_runs() {
    let program = program();
    let command = json!({"command": "while [ ! -e go ]; do sleep 0.05; done"});
    program.provider.push(uses("", &[("run_command", command)]));
    let running = program.spawn(&["run", "--json", "--trust", "--approve", "auto", "Work"]);
    running.wait_for_line("command.started");
    program.provider.push(says(&["Only the tests."]));
    let joining = program.spawn(&["run", "--json", "--continue", "only the tests"]);
    joining.wait_for_line("request.joined");
    assert_eq!(program.run(&["control", "steer", "and no docs"]).code, Some(0));
    program.provider.push(says(&["The next answer."]));
    let queued = program.spawn(&["run", "--json", "--continue", "--queue", "Then this"]);
    queued.wait_for_line("request.received");
    std::fs::write(program.project().join("go"), "").expect("a file");
    let (first, second) = (running.wait(), joining.wait());
    assert_eq!((first.code, second.code), (Some(0), Some(0)), "{} {}", first.stderr, second.stderr);
    assert_eq!(queued.wait().code, Some(0));
    record("steering", &program, &[&first]);
}

#[test]
#[ignore = "writes the fixtures"]
fn an_image_with_a_request() {
    let mut program = program();
    program.set("TRIMTAB_MODELS_VISION", "anthropic/claude-opus-4-5");
    std::fs::write(program.project().join("dot.png"), b"\x89PNG\r\n\x1a\nand so on").expect("written");
    program.provider.push(says(&["A dot."]));
    let ended = run(&program, &["--image", "dot.png", "What is this?"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    record("image", &program, &[&ended]);
}

#[test]
#[ignore = "writes the fixtures"]
fn answers_of_a_model_without_tools() {
    let program = program();
    std::fs::create_dir_all(program.home()).expect("a folder");
    std::fs::write(program.home().join("models.toml"), "[\"anthropic/plain\"]\ntools = false\n").expect("written");
    let answer = json!({"summary": "It is a rudder \"on\" a rudder.\nSmall.", "sections": []}).to_string();
    program.provider.push(says(&[&answer[..20], &answer[20..]]));
    let ended = run(&program, &["--model", "anthropic/plain", "make a.txt"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    record("structured", &program, &[&ended]);
}

#[test]
#[ignore = "writes the fixtures"]
fn a_kill_in_the_middle_of_a_reply() {
    let program = program();
    let words = says(&["Half of the answer ", "is here, and the rest follows."]);
    let bytes = words.body_bytes();
    let half = String::from_utf8_lossy(&bytes).find("and the rest").expect("the words");
    program.provider.push(words.stall_after(half));
    let running = program.spawn(&["run", "--json", "--trust", "Answer"]);
    running.wait_for_line("reply.delta");
    // Words on their way are saved every 250 ms.
    std::thread::sleep(std::time::Duration::from_millis(600));
    running.signal(Signal::KILL);
    let killed = running.wait();
    program.provider.push(says(&["All of it."]));
    let resumed = program.run(&["resume", "--json"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    record("kill", &program, &[&killed, &resumed]);
}

#[test]
#[ignore = "writes the fixtures"]
fn a_request_that_fails_and_one_that_is_cancelled() {
    let program = program();
    program.provider.push(Answer::json(400, error_body("invalid_request_error", "No such thing")));
    let failed = run(&program, &["Fail"]);
    assert_ne!(failed.code, Some(0));
    program.provider.push(Answer::silent());
    let running = program.spawn(&["run", "--json", "--continue", "Never mind"]);
    running.wait_for_line("model.called");
    running.signal(Signal::INT);
    assert_eq!(running.wait().code, Some(130));
    record("ends", &program, &[&failed]);
}
