//! Clients that others wrote drive `trimtab acp`: the official TypeScript and Python libraries with their example clients,
//! and acpx, as a library and as a command.
//!
//! They come from npm and PyPI (`acp_peers/`); `scripts/test` installs them. Each plays the same scenes, and the same
//! checks hold for each.

#![allow(clippy::disallowed_methods, reason = "the clients run in processes of their own")]

#[path = "acp_peers/scenes.rs"]
mod scenes;

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use scenes::{IMAGE, Shown, check_scenes, play};
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

/// Requests that the model knows what to do about.
const KNOWN: &[&str] = &[
    "say hello",
    "run it",
    "keep it",
    "remove it",
    "drop it",
    "edit it",
    "ask me",
    "plan it",
    "use the helper",
    "be slow",
    "Hello, agent!",
];

/// The last text of the user that the model knows, and how many tools have answered since.
fn last_text(request: &Request) -> (String, usize) {
    let mut answered = 0;
    for message in request.body["messages"].as_array().into_iter().flatten().rev() {
        if message["role"] != "user" {
            continue;
        }
        let parts = match &message["content"] {
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            other => other.as_array().cloned().unwrap_or_default(),
        };
        let text: String = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        if let Some(found) = KNOWN.iter().find(|words| text.contains(**words)) {
            return ((*found).to_owned(), answered);
        }
        answered += parts.iter().filter(|part| part["type"] == "tool_result").count();
    }
    (String::new(), answered)
}

/// What a sub-task does, and the plan of them.
fn subtask_answer(request: &Request) -> Option<Answer> {
    let body = request.body.to_string();
    if body.contains("You break a request about") {
        let task = |title: &str| {
            json!({"title": title, "instruction": format!("TASK {title}: do it"), "files": [format!("{title}.txt")],
                "depends_on": [], "kind": "reasoning", "each": false})
        };
        return Some(says(&json!({"thought": "", "tasks": [task("left"), task("right")]}).to_string()));
    }
    let name = ["left", "right"].into_iter().find(|name| body.contains(&format!("TASK {name}:")))?;
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    Some(match messages.iter().any(|message| message["role"] == "assistant") {
        true => says("Done."),
        false => uses("write_file", &json!({"path": format!("{name}.txt"), "content": format!("{name}\n")})),
    })
}

/// What the model was sent.
type Sent = Arc<Mutex<Vec<Value>>>;

/// A model that does what the last text of the user says.
fn program() -> (Program, Sent) {
    let sent = Sent::default();
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    std::fs::write(program.project().join("hello.txt"), "hello world\n").expect("writes");
    let folder = program.project().canonicalize().expect("a folder");
    program.set("TRIMTAB_FOLDERS_TRUSTED", folder.to_str().expect("a path"));
    program.set("TRIMTAB_MODEL", "anthropic/claude-sonnet-4-5");
    program.set("TRIMTAB_MODELS_FAST", "anthropic/claude-haiku-4-5");
    let sending = Arc::clone(&sent);
    program.provider.answer_with(move |request| {
        sending.lock().expect("no panic").push(request.body.clone());
        if let Some(answer) = subtask_answer(request) {
            return answer;
        }
        let (text, answered) = last_text(request);
        let runs = |command: &str| uses("run_command", &json!({"command": command}));
        match (text.as_str(), answered) {
            ("run it", 0) => runs("touch made"),
            ("keep it", 0) => runs("touch kept"),
            ("remove it", 0) => runs("rm made"),
            ("drop it", 0) => runs("rm kept"),
            ("edit it", 0) => uses(
                "edit_file",
                &json!({"path": "hello.txt", "blocks": [{"search": "hello world", "replace": "hello there"}]}),
            ),
            ("ask me", 0) => uses("ask_user", &json!({"question": "Which one?", "options": ["Left", "Right"]})),
            ("plan it", 0) => uses("propose_plan", &json!({"summary": "Two steps.", "steps": ["Look", "Think"]})),
            ("use the helper", 0) => uses("find_tool", &json!({"query": "look up a word"})),
            ("use the helper", 1) => {
                uses("use_tool", &json!({"name": "mcp__helper__look_up", "input": {"word": "trimtab"}}))
            }
            ("be slow", 0) => Answer::silent(),
            ("Hello, agent!", 0) => runs("touch made"),
            ("say hello" | "Hello, agent!", _) => says("Hello."),
            (other, _) => says(&format!("Finished: {other}.")),
        }
    });
    (program, sent)
}

/// The last thing that the model was sent.
fn last_sent(sent: &Sent) -> Value {
    sent.lock().expect("no panic").last().cloned().expect("a request")
}

fn folder(program: &Program) -> PathBuf {
    program.project().canonicalize().expect("a folder")
}

/// Where a client has its own files.
fn scratch(program: &Program) -> PathBuf {
    let place = program.home().with_file_name("client");
    std::fs::create_dir_all(&place).expect("makes");
    place
}

fn utf8(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn run(program: &Program, command: &Path, arguments: &[&str]) -> Ended {
    assert!(
        command.exists() || command.components().count() == 1,
        "run scripts/test, which installs {}",
        command.display()
    );
    let child = program.command(command, arguments).spawn().expect("it starts");
    let (mut running, began) = (Running::new(child), Instant::now());
    // acpx waits for a second after each turn.
    while !running.has_ended() && began.elapsed() < Duration::from_secs(240) {
        std::thread::sleep(Duration::from_millis(20));
    }
    running.wait()
}

/// Lets a client play all scenes, and checks what it was shown.
fn drive(client: &str, command: &Path, agent: &dyn Fn(&Program) -> String, has_forms: bool) {
    let (program, sent) = program();
    assert!(peers().join("node_modules").exists(), "run scripts/test, which installs the clients");
    let calls = scratch(&program).join("helper-calls");
    let file = scratch(&program).join("play.json");
    let played = play(&folder(&program), has_forms, &peers().join("server.mjs"), &calls);
    std::fs::write(&file, played.to_string()).expect("writes");
    let script = peers().join(client);
    let ended = run(&program, command, &[utf8(&script), &agent(&program), utf8(&folder(&program)), utf8(&file)]);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.is_empty(), "the library has something to report: {}", ended.stderr);
    let shown = Shown::read(ended.stdout.lines().last().expect("a line"));
    check_scenes(&program, &shown, has_forms);
    assert_eq!(std::fs::read_to_string(calls).expect("the helper was called"), "{\"word\":\"trimtab\"}\n");
    let sent: String = sent.lock().expect("no panic").iter().map(ToString::to_string).collect();
    assert!(sent.contains(IMAGE) && sent.contains("image/png"), "{sent}");
    if shown.has("list") {
        assert!(sent.contains("Content of notes.md") && sent.contains("embedded words"), "{sent}");
        assert_eq!(shown.scene("list")["result"], json!([true]));
    }
}

fn binary(program: &Program) -> String {
    utf8(program.binary()).to_owned()
}

#[test]
fn the_typescript_library_drives_it_with_forms() {
    drive("client.mjs", Path::new("node"), &binary, true);
}

#[test]
fn the_typescript_library_drives_it_without_forms() {
    drive("client.mjs", Path::new("node"), &binary, false);
}

#[test]
fn the_python_library_drives_it_with_forms() {
    drive("client.py", &peers().join("venv/bin/python"), &binary, true);
}

#[test]
fn the_python_library_drives_it_without_forms() {
    drive("client.py", &peers().join("venv/bin/python"), &binary, false);
}

/// A program that starts the agent, and keeps what the client sends in a file.
fn recorded(program: &Program) -> String {
    let script = scratch(program).join("agent.sh");
    let sent = scratch(program).join("sent");
    let text = format!("#!/bin/sh\ntee -a '{}' | '{}' acp\n", sent.display(), program.binary().display());
    std::fs::write(&script, text).expect("writes");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("sets");
    utf8(&script).to_owned()
}

#[test]
fn acpx_drives_it_as_a_library_with_forms() {
    drive("acpx.mjs", Path::new("node"), &recorded, true);
}

#[test]
fn acpx_drives_it_as_a_library_without_forms() {
    drive("acpx.mjs", Path::new("node"), &recorded, false);
}

/// The command acpx in the folder of a program.
struct Acpx<'a> {
    program: &'a Program,
    agent: String,
}

impl Acpx<'_> {
    #[track_caller]
    fn run(&self, arguments: &[&str]) -> String {
        let ended = self.end(&["--approve-all"], arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}\n{}", ended.stdout, ended.stderr);
        ended.stdout
    }

    fn end(&self, options: &[&str], arguments: &[&str]) -> Ended {
        let (acpx, folder) = (peers().join("node_modules/acpx/dist/cli.js"), folder(self.program));
        let start = [utf8(&acpx), "--agent", &self.agent, "--cwd", utf8(&folder), "--format", "json"];
        run(self.program, Path::new("node"), &[&start, options, arguments].concat())
    }

    /// The methods that acpx has sent to the agent.
    fn sent(&self) -> Vec<String> {
        let sent = std::fs::read_to_string(scratch(self.program).join("sent")).expect("reads");
        let messages = sent.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        messages.filter_map(|message| message["method"].as_str().map(str::to_owned)).collect()
    }
}

#[test]
fn acpx_drives_it_as_a_command() {
    let (program, sent) = program();
    let acpx = Acpx { program: &program, agent: recorded(&program) };
    let once = acpx.run(&["exec", "say hello"]);
    assert!(once.contains("Hello.") && once.contains("end_turn"), "{once}");
    acpx.run(&["sessions", "new"]);
    let blocks = scratch(&program).join("blocks.json");
    let note = json!({"uri": format!("file://{}/notes.md", folder(&program).display()), "text": "embedded words"});
    let prompt = json!([
        {"type": "text", "text": "say hello to"},
        {"type": "image", "data": IMAGE, "mimeType": "image/png"},
        {"type": "resource", "resource": note},
    ]);
    std::fs::write(&blocks, prompt.to_string()).expect("writes");
    acpx.run(&["prompt", "--file", utf8(&blocks)]);
    let content = last_sent(&sent).to_string();
    assert!(content.contains(IMAGE) && content.contains("Content of notes.md"), "{content}");
    let ran = acpx.run(&["prompt", "run it"]);
    assert!(ran.contains("Finished: run it.") && ran.contains("tool_call"), "{ran}");
    assert!(program.project().join("made").exists());
    acpx.end(&["--deny-all"], &["prompt", "remove it"]);
    assert!(program.project().join("made").exists(), "a command that was denied did not run");
    // Who denies is asked what to do instead.
    acpx.run(&["prompt", "stop"]);
    acpx.run(&["set-mode", "plan"]);
    acpx.run(&["set", "mode", "auto"]);
    acpx.run(&["set", "model", "anthropic/claude-haiku-4-5"]);
    let edited = acpx.run(&["prompt", "edit it"]);
    assert!(edited.contains("Finished: edit it."), "{edited}");
    assert_eq!(last_sent(&sent)["model"], "claude-haiku-4-5");
    let undone = acpx.run(&["prompt", "/rewind"]);
    assert!(undone.contains("Undid hello.txt."), "{undone}");
    let asked = acpx.run(&["prompt", "ask me"]);
    assert!(asked.contains("Which one?") && asked.contains("1. Left"), "{asked}");
    let answered = acpx.run(&["prompt", "1"]);
    assert!(answered.contains("Finished: ask me."), "{answered}");
    acpx.run(&["sessions", "close"]);
    let listed = acpx.run(&["sessions", "list"]);
    let session = program.run(&["sessions", "list", "--json"]).events();
    let session = session[0]["session"].as_str().or(session[0]["id"].as_str()).expect("an ID").to_owned();
    assert!(listed.contains(&session), "{listed}");
    acpx.run(&["sessions", "new", "--resume-session", &session]);
    let again = acpx.run(&["prompt", "say hello"]);
    assert!(again.contains("Hello."), "{again}");
    acpx.run(&["sessions", "close"]);
    let methods = acpx.sent();
    let expected = ["new", "resume", "list", "prompt", "set_mode", "set_config_option", "close"];
    for method in expected.map(|name| format!("session/{name}")) {
        assert!(methods.contains(&method), "{method}: {methods:?}");
    }
}

/// The example client of the TypeScript library, unchanged. It starts `npx tsx agent.ts`, so `npx` is the agent here.
#[test]
fn the_example_client_of_the_typescript_library_drives_it() {
    let (mut program, _) = program();
    let shims = scratch(&program).join("shims");
    std::fs::create_dir_all(&shims).expect("makes");
    std::fs::copy(recorded(&program), shims.join("npx")).expect("copies");
    let path = std::env::var("PATH").expect("a path");
    program.set("PATH", &format!("{}:{path}", shims.display()));
    let example = peers().join("node_modules/acpx/node_modules/@agentclientprotocol/sdk/dist/examples/client.js");
    let mut command = program.command(Path::new("node"), &[utf8(&example)]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let running = Running::new(child);
    running.wait_for_line("4. Never allow");
    assert!(!program.project().join("made").exists());
    input.write_all(b"1\n").expect("writes");
    let ended = running.wait();
    assert!(ended.stdout.contains("Agent completed with: end_turn"), "{}\n{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("Hello.") && ended.stdout.contains("🔧 touch made"), "{}", ended.stdout);
    assert!(program.project().join("made").exists());
}

/// The example client of the Python library, unchanged: a line of its input is a prompt. It refuses every permission
/// as a method that it does not know.
#[test]
fn the_example_client_of_the_python_library_drives_it() {
    let (program, _) = program();
    let example = peers().join("venv/examples/client.py");
    assert!(example.exists(), "run scripts/test, which gets the example client");
    let python = peers().join("venv/bin/python");
    let mut command = program.command(&python, &["-u", utf8(&example), utf8(program.binary()), "acp"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it starts");
    let mut input = child.stdin.take().expect("a pipe");
    let running = Running::new(child);
    for (line, answer) in [
        ("say hello", "Hello."),
        ("edit it", "Finished: edit it."),
        ("/rewind", "Undid hello.txt."),
        ("ask me", "Which one?"),
        ("1", "Finished: ask me."),
    ] {
        input.write_all(format!("{line}\n").as_bytes()).expect("writes");
        running.wait_for_line(answer);
    }
    input.write_all(b"run it\n").expect("writes");
    drop(input);
    let ended = running.wait();
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert!(!program.project().join("made").exists(), "nobody has allowed it");
}
