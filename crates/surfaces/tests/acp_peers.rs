//! Clients that others wrote drive `trimtab acp`: the official TypeScript and Python libraries, and acpx.
//!
//! They come from npm and PyPI (`acp_peers/`); `scripts/test` installs them.

#![allow(clippy::disallowed_methods, reason = "the clients run in processes of their own")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trimtab_testkit::program::{Ended, Program, Running};
use trimtab_testkit::provider::{Answer, Reply, Request};

fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp_peers")
}

fn uses(name: &str, input: &Value) -> Answer {
    Answer::anthropic(Reply::new().tool("toolu_1", name, [input.to_string()]))
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

/// The last text of the user, and whether a tool has answered since.
fn last_text(request: &Request) -> (String, bool) {
    let mut answered = false;
    for message in request.body["messages"].as_array().into_iter().flatten().rev() {
        if message["role"] != "user" {
            continue;
        }
        let parts = match &message["content"] {
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            other => other.as_array().cloned().unwrap_or_default(),
        };
        if parts.iter().any(|part| part["type"] == "tool_result") {
            answered = true;
            continue;
        }
        let known = ["say hello", "run it", "remove it", "edit it", "ask me", "be slow"];
        let text: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        if let Some(found) = known.iter().find(|words| text.contains(**words)) {
            return ((*found).to_owned(), answered);
        }
    }
    (String::new(), answered)
}

/// A model that does what the last text of the user says.
fn program() -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    std::fs::write(program.project().join("hello.txt"), "hello world\n").expect("writes");
    let folder = program.project().canonicalize().expect("a folder");
    program.set("TRIMTAB_FOLDERS_TRUSTED", folder.to_str().expect("a path"));
    program.set("TRIMTAB_MODEL", "anthropic/claude-sonnet-4-5");
    program.set("TRIMTAB_MODELS_FAST", "anthropic/claude-haiku-4-5");
    program.provider.answer_with(|request| {
        let (text, answered) = last_text(request);
        match (text.as_str(), answered) {
            ("run it", false) => uses("run_command", &json!({"command": "touch made"})),
            ("remove it", false) => uses("run_command", &json!({"command": "rm made"})),
            ("edit it", false) => uses(
                "edit_file",
                &json!({"path": "hello.txt", "blocks": [{"search": "hello world", "replace": "hello there"}]}),
            ),
            ("ask me", false) => uses("ask_user", &json!({"question": "Which one?", "options": ["Left", "Right"]})),
            ("be slow", false) => Answer::silent(),
            ("say hello", _) => says("Hello."),
            (other, _) => says(&format!("Finished: {other}.")),
        }
    });
    program
}

fn run(program: &Program, command: &Path, arguments: &[&str]) -> Ended {
    assert!(
        command.exists() || command.components().count() == 1,
        "run scripts/test, which installs {}",
        command.display()
    );
    let child = program.command(command, arguments).spawn().expect("it starts");
    Running::new(child).wait()
}

fn summary(ended: &Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.is_empty(), "the library has something to report: {}", ended.stderr);
    serde_json::from_str(ended.stdout.lines().last().expect("a line")).expect("JSON")
}

#[track_caller]
fn check(program: &Program, seen: &Value) {
    assert_eq!(seen["agent"], "trimtab");
    let stops = &seen["stops"];
    for name in ["allowed", "rejected", "edited", "undone", "asked"] {
        assert_eq!(stops[name], "end_turn", "{name}: {seen}");
    }
    assert_eq!(stops["cancelled"], "cancelled", "{seen}");
    assert!(program.project().join("made").exists(), "the allowed command ran, and the rejected one did not");
    let text = std::fs::read_to_string(program.project().join("hello.txt")).expect("reads");
    assert_eq!(text, "hello world\n", "the edit was made and undone");
    for kind in ["agent_message_chunk", "available_commands_update", "tool_call", "tool_call_update", "usage_update"] {
        assert!(seen["kinds"].as_array().expect("kinds").contains(&json!(kind)), "{kind}: {seen}");
    }
    let text = seen["text"].as_str().expect("text");
    for part in [
        "Hello.",
        "Finished: run it.",
        "Finished: remove it.",
        "Finished: edit it.",
        "Undid hello.txt.",
        "Finished: ask me.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(seen["sessions"], json!([true]));
    let loaded = &seen["loaded"];
    assert!(loaded["user"].as_str().expect("text").contains("run it"), "{loaded}");
    assert!(loaded["text"].as_str().expect("text").contains("Finished: ask me."), "{loaded}");
}

fn with_typescript(kind: &str) -> Value {
    let program = program();
    let folder = program.project().canonicalize().expect("a folder");
    let script = peers().join("client.mjs");
    assert!(peers().join("node_modules").exists(), "run scripts/test, which installs the clients");
    let arguments =
        [script.to_str(), program.binary().to_str(), folder.to_str(), Some(kind)].map(|part| part.expect("UTF-8"));
    let seen = summary(&run(&program, Path::new("node"), &arguments));
    check(&program, &seen);
    assert_eq!(seen["model"], "anthropic/claude-haiku-4-5");
    assert!(seen["refused"].as_str().expect("words").contains("additional directories are not supported"), "{seen}");
    assert_eq!(seen["permissions"][0]["kinds"], json!(["allow_once", "allow_always", "reject_once", "reject_always"]));
    seen
}

#[test]
fn the_typescript_library_drives_it_with_forms() {
    let seen = with_typescript("forms");
    assert_eq!(seen["forms"].as_array().map(Vec::len), Some(1), "{seen}");
}

#[test]
fn the_typescript_library_drives_it_without_forms() {
    let seen = with_typescript("text");
    assert_eq!(seen["forms"], json!([]));
    assert_eq!(seen["stops"]["answered"], "end_turn");
    assert!(seen["text"].as_str().expect("text").contains("Which one?"));
}

#[test]
fn the_python_library_drives_it() {
    let program = program();
    let folder = program.project().canonicalize().expect("a folder");
    let script = peers().join("client.py");
    let arguments = [script.to_str(), program.binary().to_str(), folder.to_str()].map(|part| part.expect("UTF-8"));
    let seen = summary(&run(&program, &peers().join("venv/bin/python"), &arguments));
    check(&program, &seen);
}

#[test]
fn acpx_drives_it() {
    let program = program();
    let folder = program.project().canonicalize().expect("a folder");
    let acpx = peers().join("node_modules/acpx/dist/cli.js");
    let agent = format!("{} acp", program.binary().display());
    let start = ["--agent", &agent, "--cwd", folder.to_str().expect("UTF-8"), "--format", "json", "--approve-all"];
    let acpx_run = |more: &[&str]| {
        let arguments = [&[acpx.to_str().expect("UTF-8")], start.as_slice(), more].concat();
        let ended = run(&program, Path::new("node"), &arguments);
        assert_eq!(ended.code, Some(0), "{more:?}: {}\n{}", ended.stdout, ended.stderr);
        ended.stdout
    };
    let once = acpx_run(&["exec", "say hello"]);
    assert!(once.contains("Hello.") && once.contains("end_turn"), "{once}");
    acpx_run(&["sessions", "new"]);
    let ran = acpx_run(&["prompt", "run it"]);
    assert!(ran.contains("Finished: run it.") && ran.contains("tool_call"), "{ran}");
    assert!(program.project().join("made").exists());
    acpx_run(&["set-mode", "plan"]);
    acpx_run(&["set", "mode", "auto"]);
    // A later process loads the session again.
    let edited = acpx_run(&["prompt", "edit it"]);
    assert!(edited.contains("Finished: edit it."), "{edited}");
    let undone = acpx_run(&["prompt", "/rewind"]);
    assert!(undone.contains("Undid hello.txt."), "{undone}");
    acpx_run(&["sessions", "close"]);
}
