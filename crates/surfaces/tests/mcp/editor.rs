//! Servers that an editor passes: they are used in its session only, with the same questions.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use trimtab_testkit::editor::Editor;

use crate::checks;
use crate::scene::{Scene, processes_with, wait_until};

checks![
    servers_of_an_editor_ask_and_end_with_their_session,
    servers_of_an_editor_start_only_in_a_trusted_folder,
    servers_of_an_editor_end_when_the_agent_is_killed,
];

fn opened(editor: &mut Editor, scene: &Scene, behaviors: &[&str]) -> String {
    let cwd = scene.program.project().canonicalize().expect("a folder");
    let argv = scene.argv(behaviors);
    let server =
        json!({"name": "My helper", "command": argv[0], "args": argv[1..], "env": [{"name": "A", "value": "1"}]});
    let answer = editor.call("session/new", json!({"cwd": cwd, "mcpServers": [server]}));
    answer["sessionId"].as_str().expect("an ID").to_owned()
}

/// Approves the server in the editor's conversation, once it was shown there.
fn approve(editor: &mut Editor, session: &str) {
    editor.wait_for("the server", |message| {
        message.to_string().contains("`/mcp enable My_helper` approves it as shown.")
    });
    assert_eq!(editor.say(session, "/mcp enable My_helper"), "end_turn");
    assert!(editor.text("agent_message_chunk").contains("Approved My_helper as shown"), "{:?}", editor.messages());
}

fn servers(scene: &Scene) -> Vec<String> {
    processes_with(&format!("--mcp-server {}", scene.folder().display()))
}

/// Lets the model find the tool and call it.
fn find_and_call(scene: &Scene, tool: &str) {
    let input = json!({"name": format!("mcp__My_helper__{tool}"), "input": {"text": "hi"}});
    scene.asks(&[("find_tool", json!({"query": "repeat a text"}))]);
    scene.asks(&[("use_tool", input)]);
}

fn permission(editor: &mut Editor) -> Value {
    let asked = editor.asked("session/request_permission");
    assert!(
        asked["params"]["toolCall"]["title"].as_str().is_some_and(|title| title.contains("My_helper: ")),
        "{asked}"
    );
    asked
}

fn servers_of_an_editor_ask_and_end_with_their_session() {
    let scene = Scene::new();
    let mut editor = Editor::start(&scene.program);
    editor.initialize(json!({}));
    let session = opened(&mut editor, &scene, &[]);
    editor.wait_for("the command line", |message| message.to_string().contains("--mcp-server"));
    scene.says("Hello.");
    editor.say(&session, "What do the notes say?");
    assert!(scene.lines("started").is_empty(), "nothing starts before the approval");
    assert!(!editor.text("agent_message_chunk").contains("A=1"), "editors fill in secrets");
    approve(&mut editor, &session);
    // A rule that holds everywhere is not meant for a server that any editor can name.
    scene.program.run(&["rules", "add", "allow", "mcp", "My_helper:*"]);
    find_and_call(&scene, "echo");
    scene.says("Done.");
    let prompt = editor.prompt(&session, "What do the notes say?");
    let asked = permission(&mut editor);
    assert!(scene.lines("calls").is_empty(), "nothing is called before the answer");
    editor.choose(&asked, "allow");
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    assert_eq!(scene.lines("calls"), [r#"echo {"text":"hi"}"#]);
    // Another session of the same editor has no such server.
    let other = editor.open(&scene.program.project().canonicalize().expect("a folder"));
    scene.says("Hello.");
    editor.say(&other, "What do the notes say?");
    let last = scene.program.provider.requests().len() - 1;
    assert!(!scene.offered(last).iter().any(|name| name == "find_tool" || name.starts_with("mcp__")));
    assert!(!servers(&scene).is_empty());
    editor.call("session/close", json!({"sessionId": session}));
    wait_until("no process of the server", || servers(&scene).is_empty());
}

fn servers_of_an_editor_start_only_in_a_trusted_folder() {
    let scene = Scene::untrusted();
    let mut editor = Editor::start(&scene.program);
    editor.initialize(json!({}));
    let session = opened(&mut editor, &scene, &[]);
    scene.says("Hello.");
    assert_eq!(editor.say(&session, "What do the notes say?"), "end_turn");
    assert!(scene.lines("started").is_empty());
    assert_eq!(scene.program.run(&["trust"]).code, Some(0));
    assert_eq!(editor.say(&session, "/mcp enable My_helper"), "end_turn");
    assert!(!editor.text("agent_message_chunk").contains("Approved"), "it was not shown before");
    approve(&mut editor, &session);
    assert!(scene.lines("started").is_empty());
    scene.asks(&[("find_tool", json!({"query": "repeat a text"}))]);
    scene.says("Hello.");
    assert_eq!(editor.say(&session, "What do the notes say?"), "end_turn");
    assert_eq!(scene.lines("started").len(), 1);
}

fn servers_of_an_editor_end_when_the_agent_is_killed() {
    let scene = Scene::new();
    let mut editor = Editor::start(&scene.program);
    editor.initialize(json!({}));
    let session = opened(&mut editor, &scene, &["stubborn", "family"]);
    approve(&mut editor, &session);
    find_and_call(&scene, "slow");
    editor.prompt(&session, "What do the notes say?");
    let asked = permission(&mut editor);
    editor.choose(&asked, "allow");
    wait_until("the call", || !scene.lines("calls").is_empty());
    let agent = i32::try_from(editor.id()).ok().and_then(Pid::from_raw).expect("an ID");
    kill_process(agent, Signal::KILL).expect("killed");
    wait_until("no process of the server", || servers(&scene).is_empty());
}
