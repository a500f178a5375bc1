//! What servers ask the user during calls: answered from any surface, cancelled where nobody can answer, and never lost in a
//! way that repeats a call.

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::editor::Editor;
use trimtab_testkit::terminal::Terminal;

use crate::checks;
use crate::scene::{Scene, wait_until};

checks![
    a_form_is_filled_in_at_a_terminal,
    a_form_is_answered_from_another_process,
    an_editor_gets_the_form,
    an_address_is_shown_whole_and_not_opened,
    an_unattended_run_cancels_the_question,
    a_kill_during_a_question_asks_about_the_call,
    stopping_the_request_ends_the_question,
];

fn scene(tool: &str) -> Scene {
    let scene = Scene::new().with_server("helper", &[]).listed();
    scene.program.run(&["rules", "add", "allow", "mcp", "helper:*"]);
    scene.asks(&[(&format!("mcp__helper__{tool}"), json!({}))]);
    scene
}

fn terminal(scene: &Scene) -> Terminal {
    typed(scene, "Do it")
}

/// A terminal in which somebody has sent this.
pub(crate) fn typed(scene: &Scene, text: &str) -> Terminal {
    let terminal = Terminal::start(&scene.program, &[], 100, 40);
    terminal.wait_for("?");
    terminal.press(text);
    terminal.wait_for(text);
    terminal.press("\r");
    terminal
}

/// The question that is open, as `trimtab checkpoints` lists it.
pub(crate) fn open_question(scene: &Scene) -> Value {
    let list = || -> Vec<Value> {
        let listed = scene.program.run(&["checkpoints", "--json"]).stdout;
        listed.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    wait_until("a question", || !list().is_empty());
    list().remove(0)
}

fn replies(scene: &Scene) -> Vec<Value> {
    scene.lines("replies").iter().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn a_form_is_filled_in_at_a_terminal() {
    let scene = scene("ask");
    scene.says("Put it there.");
    let mut terminal = terminal(&scene);
    let screen = terminal.wait_for("The MCP server helper asks for input");
    assert!(screen.contains("Where should it go?[2J"), "{screen}");
    // The first field: in words.
    std::thread::sleep(std::time::Duration::from_millis(700));
    terminal.press("1");
    terminal.press("Oslo");
    terminal.wait_for("Oslo");
    terminal.press("\r");
    terminal.wait_for("Large");
    terminal.press("2");
    terminal.wait_for("Put it there.");
    assert_eq!(replies(&scene), [json!({"action": "accept", "content": {"place": "Oslo", "size": "l"}})]);
    assert!(scene.last_message().contains("The user said"), "{}", scene.last_message());
    terminal.press("\x04");
    terminal.wait();
}

fn a_form_is_answered_from_another_process() {
    let scene = scene("ask");
    scene.says("Done.");
    let mut terminal = terminal(&scene);
    let open = open_question(&scene);
    let id = open["checkpoint"].as_str().expect("an ID").to_owned();
    let shown = scene.program.run(&["checkpoints"]).stdout;
    assert!(shown.contains("  | Where should it go?[2J") && shown.contains("1. Place"), "{shown}");
    // The form has its own rules.
    let refused = scene.program.run(&["answer", &id, "submit", "--text", r#"{"place": "a"}"#]);
    assert!(refused.stderr.contains("The form does not accept this answer"), "{} {}", refused.stdout, refused.stderr);
    assert!(replies(&scene).is_empty());
    scene.program.run(&["answer", &id, "submit", "--text", r#"{"place": "Oslo"}"#]);
    terminal.wait_for("Done.");
    assert_eq!(replies(&scene), [json!({"action": "accept", "content": {"place": "Oslo"}})]);
    terminal.press("\x04");
    terminal.wait();
}

fn an_editor_gets_the_form() {
    let scene = scene("ask");
    scene.says("Done.");
    let mut editor = Editor::start(&scene.program);
    editor.initialize(json!({"elicitation": {"form": {}}}));
    let session = editor.open(&scene.program.project());
    let prompt = editor.prompt(&session, "Do it");
    let asked = editor.asked("elicitation/create");
    let shown = asked["params"].to_string();
    assert!(shown.contains("The MCP server helper asks for input") && shown.contains("Where should it go?"), "{shown}");
    assert!(asked["params"]["requestedSchema"]["properties"]["place"].is_object(), "{shown}");
    editor.answer(&asked, json!({"action": "accept", "content": {"choice": "submit", "place": "Oslo", "size": "s"}}));
    editor.result(prompt);
    assert_eq!(replies(&scene), [json!({"action": "accept", "content": {"place": "Oslo", "size": "s"}})]);
}

fn an_address_is_shown_whole_and_not_opened() {
    let scene = scene("ask_url");
    scene.says("Done.");
    let mut terminal = terminal(&scene);
    terminal.wait_for("https://example.org/sign-in?state=a%20b");
    let open = open_question(&scene);
    assert_eq!(open["url"], "https://example.org/sign-in?state=a%20b");
    let id = open["checkpoint"].as_str().expect("an ID").to_owned();
    scene.program.run(&["answer", &id, "decline"]);
    terminal.wait_for("Done.");
    assert_eq!(replies(&scene), [json!({"action": "decline"})]);
    terminal.press("\x04");
    terminal.wait();
}

fn an_unattended_run_cancels_the_question() {
    let scene = scene("ask");
    scene.says("I could not ask.");
    let ran = scene.program.run(&["run", "Do it"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(replies(&scene), [json!({"action": "cancel"})]);
    assert!(ran.stderr.contains("The question was cancelled: Where should it go?"), "{}", ran.stderr);
}

fn a_kill_during_a_question_asks_about_the_call() {
    let scene = scene("ask");
    let mut terminal = terminal(&scene);
    terminal.wait_for("The MCP server helper asks for input");
    let before = open_question(&scene);
    terminal.signal(Signal::KILL);
    terminal.wait();
    let resumed = scene.program.run(&["resume", "--json"]);
    assert_eq!(resumed.code, Some(3), "{} {}", resumed.stdout, resumed.stderr);
    let after = open_question(&scene);
    assert_eq!(after["about"], "outcome", "{after}");
    assert_ne!(after["checkpoint"], before["checkpoint"]);
    assert_eq!(scene.lines("calls").len(), 1, "nothing is called again");
    scene.says("I leave it.");
    let id = after["checkpoint"].as_str().expect("an ID").to_owned();
    assert_eq!(scene.program.run(&["answer", &id, "skip"]).code, Some(0));
    assert_eq!(scene.lines("calls").len(), 1);
}

fn stopping_the_request_ends_the_question() {
    let scene = scene("ask");
    let mut terminal = terminal(&scene);
    terminal.wait_for("The MCP server helper asks for input");
    open_question(&scene);
    scene.program.run(&["control", "cancel"]);
    wait_until("the question is gone", || scene.program.run(&["checkpoints", "--json"]).stdout.trim().is_empty());
    wait_until("the server is told", || !scene.lines("cancelled").is_empty());
    terminal.press("\x04");
    terminal.wait();
}
