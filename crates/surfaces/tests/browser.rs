//! The browser's program in a real browser, against the real server and a provider that speaks Anthropic's
//! dialect. What is done in the page stands in `web/tests`; who plays the model stands here.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

#[path = "browser/editor.rs"]
mod editor;
#[path = "browser/flows.rs"]
mod flows;
#[path = "browser/people.rs"]
mod people;
#[path = "browser/servers.rs"]
mod servers;
#[path = "browser/shown.rs"]
mod shown;
#[path = "browser/subtasks.rs"]
mod subtasks;

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply, images};
use trimtab_testkit::served::Served;

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn asks(name: &str, input: &Value) -> Answer {
    Answer::anthropic(Reply::new().text(["I work on it."]).tool("toolu_0", name, [input.to_string()]))
}

fn node(script: &str, arguments: &[&str]) -> Command {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../web/tests");
    let mut command = Command::new("node");
    command.arg(tests.join(script)).args(arguments).stdin(Stdio::null());
    command
}

#[track_caller]
fn walks(mut command: Command) {
    let ended = command.output().expect("node starts");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{}{said}", String::from_utf8_lossy(&ended.stdout));
}

/// The browser of a walk, as `web/tests/browse.mjs` knows it.
const CHROMIUM: &str = "chromium";
const FIREFOX: &str = "firefox";

/// Where Debian's Firefox is. It is not on every machine; who has none is told that these walks were skipped.
fn has_firefox() -> bool {
    let place = std::env::var_os("TRIMTAB_FIREFOX").unwrap_or_else(|| "/usr/bin/firefox-esr".into());
    let is_there = PathBuf::from(&place).exists();
    if !is_there {
        eprintln!("skipped: there is no Firefox at {}", place.display());
    }
    is_there
}

fn walks_in(browser: &str, mut command: Command) {
    command.env("TRIMTAB_BROWSER", browser);
    walks(command);
}

#[test]
fn a_request_is_followed_asked_about_and_done() {
    follow_a_request(CHROMIUM);
}

#[test]
fn the_main_walks_pass_in_firefox() {
    if has_firefox() {
        follow_a_request(FIREFOX);
        undo_a_change(FIREFOX);
        edit_a_plan(FIREFOX);
    }
}

fn follow_a_request(browser: &str) {
    let program = program();
    program.provider.push(asks("run_command", &json!({"command": "echo made > made.txt"})));
    program.provider.push(says("It is made, with **bold words** in it.\n\n```rust\nfn main() {}\n```\n"));
    let served = Served::start(&program, "test", &[]);
    walks_in(browser, node("chat.mjs", &[&served.login]));
    assert_eq!(std::fs::read_to_string(program.project().join("made.txt")).expect("is there"), "made\n");
}

#[test]
fn a_change_is_seen_undone_and_brought_back() {
    undo_a_change(CHROMIUM);
}

fn undo_a_change(browser: &str) {
    let program = program();
    let poem = program.project().join("poem.txt");
    std::fs::write(&poem, "The cat sat\non the blue mat\n").expect("writes");
    program.provider.push(asks("read_file", &json!({"path": "poem.txt"})));
    let blocks = json!([{"search": "on the blue mat", "replace": "on the red mat"}]);
    program.provider.push(asks("edit_file", &json!({"path": "poem.txt", "blocks": blocks})));
    program.provider.push(says("Changed."));
    let served = Served::start(&program, "test", &[]);
    walks_in(browser, node("changes.mjs", &[&served.login, program.project().to_str().expect("text")]));
}

#[test]
fn a_plan_is_edited_and_carried_out_as_edited() {
    edit_a_plan(CHROMIUM);
}

fn edit_a_plan(browser: &str) {
    let program = program();
    let steps = json!([{"title": "Write a"}, {"title": "Write b"}]);
    program.provider.push(asks("propose_plan", &json!({"summary": "Two files.", "steps": steps})));
    program.provider.push(says("b is written."));
    program.provider.push(says("a is written."));
    let served = Served::start(&program, "test", &[]);
    walks_in(browser, node("plan.mjs", &[&served.login]));
    let sent = program.provider.requests();
    assert!(sent.iter().any(|request| request.body.to_string().contains("Write a, edited")));
}

#[test]
fn the_assistants_panel_sends_and_shows_what_is_documented() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    walks(node("assistant.mjs", &[&served.login]));
}

#[test]
fn pictures_hang_in_the_conversation_and_are_made_anew_and_saved() {
    let mut program = program();
    let url = format!("{}/v1", program.provider.url());
    program.set("TRIMTAB_PROVIDERS_EASEL_KIND", "openai");
    program.set("TRIMTAB_PROVIDERS_EASEL_BASE_URL", &url);
    program.set("TRIMTAB_MODELS_IMAGE", "easel/grok-2-image");
    program.provider.push(says(r#"["a wave","a moon","a clock"]"#));
    let picture = images::body(&[images::bytes("in oil")]);
    program.provider.on_path("/v1/images/generations", Answer::json(200, picture));
    let served = Served::start(&program, "test", &[]);
    walks(node("pictures.mjs", &[&served.login, program.project().to_str().expect("text")]));
    let sent = program.provider.requests();
    let prompt = &sent.last().expect("an order").body["prompt"];
    assert_eq!(*prompt, "a wave at night, make it darker");
}

#[test]
fn tasks_change_when_a_person_says_so_and_are_undone() {
    let program = program();
    program.provider.push(says(r#"{"operations":[{"op":"create","title":"Call Ann","priority":"high"}]}"#));
    program.provider.push(says("I would add a call to Ann."));
    let served = Served::start(&program, "test", &[]);
    walks(node("tasks.mjs", &[&served.login]));
}

#[test]
fn a_restarted_server_loses_nothing_on_the_page() {
    let program = program();
    let gate = program.provider.gate();
    let half = Answer::anthropic(Reply::new().text(["The first half ", "and the second half."]));
    program.provider.push(half.clone().gated(&gate));
    gate.release(4);
    program.provider.push(half);
    let served = Served::start(&program, "test", &[]);
    restarted(&program, served, "again.mjs", || gate.open());
}

/// Walks, kills the server where the walk says so, and starts it again when the walk has seen that it is gone.
fn restarted(program: &Program, served: Served, script: &str, meanwhile: impl FnOnce()) {
    let address = served.host().to_owned();
    let mut page = node(script, &[&served.login]);
    let mut page = page.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("starts");
    let mut said = BufReader::new(page.stdout.take().expect("a pipe"));
    let mut hear = |word: &str| {
        let mut line = String::new();
        said.read_line(&mut line).expect("a line");
        assert_eq!(line.trim(), word);
    };
    hear("end");
    served.running.signal(Signal::KILL);
    served.running.wait();
    hear("lost");
    meanwhile();
    let again = program.spawn(&["serve", "--addr", &address]);
    again.line_with("/login?token=");
    writeln!(page.stdin.take().expect("a pipe"), "back").expect("writes");
    assert!(page.wait().expect("ends").success());
}

#[test]
fn pages_of_strangers_read_nothing_and_write_nothing_in_a_real_browser() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let output = node("origins.mjs", &[&served.url, &served.login, &session]).output().expect("node starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(found["address"], "/", "the secret of the link is gone from the address");
    let port = served.host().split(':').nth(1).expect("a port");
    let name = format!("trimtab_{port}");
    assert_eq!(found["cookie"], json!([{"name": name, "httpOnly": true, "sameSite": "Strict"}]));
    assert_eq!(found["visible"], "", "no script sees the cookie");
    // The server's own page can do what it should, and cannot be framed even by itself.
    let own = &found["own"];
    assert!(own["get"].as_str().expect("a text").starts_with("200 "), "{found}");
    assert!(own["post"].as_str().expect("a text").starts_with("201 "), "{found}");
    assert!(own["events"].as_str().expect("a text").starts_with("event "), "{found}");
    assert!(own["plain"].as_str().expect("a text").starts_with("415 "), "{found}");
    assert_eq!(own["frame"], "nothing");
    for (host, tried) in found["strangers"].as_object().expect("strangers") {
        for (way, read) in tried.as_object().expect("attempts") {
            let expected = if way == "form" { "origin" } else { "nothing" };
            assert_eq!(read, expected, "{way} from {host}: {found}");
        }
    }
    assert_eq!(found["rebound"], 421);
    assert_eq!(found["sessions"], 2, "the test's and the own page's; no stranger has made one");
}
