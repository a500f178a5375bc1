//! One session in an editor, in a terminal, and in a real browser at once: what is asked in one is seen in all, and an
//! answer in one closes the question in the others.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};
use trimtab_testkit::editor::Editor;
use trimtab_testkit::provider::Request;
use trimtab_testkit::served::Served;
use trimtab_testkit::terminal::Terminal;

use super::flows::trusting;
use super::{asks, node, says};

/// A model that runs a command for each request of the session.
fn answer(request: &Request) -> trimtab_testkit::provider::Answer {
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    let is_done = messages.last().is_some_and(|last| last.to_string().contains("tool_result"));
    let text = request.body["messages"].to_string();
    let last = ["third", "second", "first"].into_iter().find(|which| text.contains(&format!("Run the {which} one")));
    match last {
        Some(which) if is_done => says(&format!("The {which} one ran.")),
        Some(which) => asks("run_command", &json!({"command": format!("touch {which}.txt")})),
        None => says("Hello from the model."),
    }
}

#[test]
fn one_session_is_open_in_terminal_browser_and_editor_at_once() {
    let program = trusting();
    program.provider.answer_with(answer);
    let folder = program.project().canonicalize().expect("a folder");
    let mut editor = Editor::start(&program);
    editor.initialize(json!({}));
    let session = editor.open(&folder);
    assert_eq!(editor.say(&session, "Say hello"), "end_turn");

    let terminal = Terminal::start(&program, &["--session", &session], 120, 40);
    terminal.wait_for("Hello from the model.");
    let served = Served::start(&program, "test", &[]);
    let mut page = node("editor.mjs", &[&served.login, &session]);
    let mut page = page.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("starts");
    let mut said = BufReader::new(page.stdout.take().expect("a pipe"));
    let mut hear = |word: &str| {
        let mut line = String::new();
        said.read_line(&mut line).expect("a line");
        assert_eq!(line.trim(), word);
    };
    let is_withdrawn = |editor: &Editor, asked: &Value| {
        editor.wait_for("the question is withdrawn", |message| {
            message["method"] == "$/cancel_request" && message["params"]["requestId"] == asked["id"]
        });
    };
    hear("open");

    // Asked by the editor, answered in the terminal.
    let prompt = editor.prompt(&session, "Run the first one");
    let asked = editor.asked("session/request_permission");
    hear("asked");
    terminal.answer("touch first.txt", "1");
    is_withdrawn(&editor, &asked);
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    hear("answered");
    terminal.wait_for("The first one ran.");

    // Asked by the terminal, answered in the browser.
    terminal.press("Run the second one");
    terminal.wait_for("Run the second one");
    terminal.press("\r");
    let asked = editor.asked("session/request_permission");
    terminal.wait_for("touch second.txt");
    hear("asked");
    let mut input = page.stdin.take().expect("a pipe");
    writeln!(input, "seen").expect("writes");
    is_withdrawn(&editor, &asked);
    hear("answered");
    terminal.wait_for("The second one ran.");

    // Asked by the browser, answered in the editor.
    let asked = editor.asked("session/request_permission");
    terminal.wait_for("touch third.txt");
    hear("asked");
    editor.choose(&asked, "allow");
    hear("answered");
    terminal.wait_for("The third one ran.");
    assert!(page.wait().expect("ends").success());

    for which in ["first", "second", "third"] {
        assert!(program.project().join(format!("{which}.txt")).exists(), "{which}");
    }
    let text = editor.text("agent_message_chunk");
    assert!(text.contains("The second one ran.") && text.contains("The third one ran."), "{text}");
    let typed = editor.text("user_message_chunk");
    assert!(typed.contains("Run the second one") && typed.contains("Run the third one"), "{typed}");
}
