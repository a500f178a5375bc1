//! What a person and the program agree on, one way after the other, in a real browser.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::Served;
use trimtab_vocab::Usage;

use super::{asks, node, program, restarted, says, walks};

/// A program that trusts its project.
pub(super) fn trusting() -> Program {
    let program = program();
    assert_eq!(program.run(&["trust"]).code, Some(0));
    program
}

/// Its model knows no tools: it answers in one JSON text.
fn plain() -> Program {
    let mut program = trusting();
    program.set("TRIMTAB_MODEL", "anthropic/plain");
    program.set("TRIMTAB_REPAIR_MAX_ATTEMPTS", "0");
    std::fs::write(program.home().join("models.toml"), "[\"anthropic/plain\"]\ntools = false\n").expect("written");
    program
}

fn answers(answer: &Value) -> Answer {
    says(&answer.to_string())
}

#[test]
fn an_answer_in_parts_keeps_its_summary_at_hand_and_its_commands_in_one_panel() {
    let program = plain();
    let paragraph = |n: u32| format!("Paragraph {n} takes its time and some room on the screen as well.\n\n");
    let long: String = (1..=30).map(paragraph).collect();
    let steps = ["one", "two", "three", "four", "five"];
    program.provider.push(answers(&json!({
        "summary": "A summary that is long enough to be cut short in a bar, since it goes on and on about what was \
                    done, and why, and what that means for everybody who was not there when it happened.",
        "sections": [
            {"heading": "The first part", "content": long, "codeBlocks": [{"language": "rust", "code": "fn main() {}"}]},
            {"heading": "The second part", "content": "Short.", "codeBlocks": []},
        ],
        "nextSteps": steps.map(|step| json!({"html": format!("Step {step}"), "inputText": format!("do step {step}")})),
    })));
    let commands =
        ["echo one", "ls missing", "echo three"].map(|command| json!({"command": command, "description": "x"}));
    program.provider.push(answers(&json!({"summary": "Three commands.", "commands": commands})));
    for _ in 0..3 {
        program.provider.push(says(r#"{"verdict":"continue","command":"","reason":""}"#));
    }
    program.provider.push(says(
        r#"{"summary":"Half of it.","todos":[{"text":"One","completed":false}],"fileChanges":[{"path":"x.txt","content":"5" long"}]}"#,
    ));
    let cut = r#"{"summary":"Cut.","fileChanges":[{"path":"a.txt","content":"a\n"},{"path":"b.txt","content":"b\n"},{"path":"c.txt","content":"c"#;
    program.provider.push(Answer::anthropic(Reply::new().text([cut]).stop("max_tokens")));
    let whole = json!([{"path": "d.txt", "content": "whole\n"}]);
    program.provider.push(answers(&json!({"summary": "Whole now.", "fileChanges": whole, "nextSteps": ["run tests"]})));
    program.provider.push(says(r#"{"summary": "a" "b"}"#));
    program.provider.push(answers(&json!({"summary": "Better."})));
    let served = Served::start(&program, "test", &[]);
    walks(node("answers.mjs", &[&served.login]));
    assert!(!program.project().join("a.txt").exists(), "nothing of a cut answer is applied");
    assert!(program.project().join("d.txt").exists(), "and the changes came with another try");
    let session = served.get("/api/sessions")["sessions"][0]["id"].as_str().expect("an id").to_owned();
    let kept = served.get(&format!("/api/sessions/{session}/export")).to_string();
    assert!(kept.contains("Response was truncated!"), "what happened is in the store: {kept}");
}

#[test]
fn a_part_of_a_proposed_change_is_chosen() {
    let mut program = plain();
    program.set("TRIMTAB_APPLY_FILES", "ask");
    let poem = program.project().join("poem.txt");
    let lines: Vec<String> = (1..=40).map(|n| format!("line {n}\n")).collect();
    std::fs::write(&poem, lines.concat()).expect("writes");
    let diff = "--- a/poem.txt\n+++ b/poem.txt\n@@ -1,2 +1,2 @@\n-line 1\n+LINE 1\n line 2\n\
                @@ -20,2 +20,2 @@\n-line 20\n+LINE 20\n line 21\n\
                @@ -39,2 +39,2 @@\n line 39\n-line 40\n+LINE 40\n";
    let changes = json!([{"path": "poem.txt", "diff": diff}, {"path": "new.txt", "content": "new\n"}]);
    program.provider.push(answers(&json!({"summary": "Two files.", "fileChanges": changes})));
    program.provider.push(answers(&json!({"summary": "Done with a part of it."})));
    let served = Served::start(&program, "test", &[]);
    walks(node("choose.mjs", &[&served.login]));
    assert_eq!(std::fs::read_to_string(&poem).expect("is there"), lines.concat().replacen("line 1\n", "LINE 1\n", 1));
    assert_eq!(std::fs::read_to_string(program.project().join("new.txt")).expect("is there"), "new\n");
}

#[test]
fn what_is_remembered_is_seen_edited_and_forgotten() {
    let program = trusting();
    program.provider.push(says("Hello Ada."));
    program.provider.push(says("Your name, and when you deploy."));
    program.provider.push(says("The same."));
    let served = Served::start(&program, "test", &[]);
    walks(node("memory.mjs", &[&served.login]));
    let sent = program.provider.requests();
    let told = sent.last().expect("a request").body.to_string();
    assert!(told.contains("My name is Ada") && told.contains("We deploy on Mondays"), "{told}");
}

#[test]
fn the_first_page_teaches_and_sends_nothing_by_itself() {
    let program = trusting();
    program.provider.push(says("A small surface on a rudder."));
    let served = Served::start(&program, "test", &[]);
    walks(node("start.mjs", &[&served.login]));
    assert_eq!(program.provider.requests().len(), 1, "what was only put into the box is not sent");
}

#[test]
fn the_demo_offers_the_requests_that_its_recording_knows_and_one_runs_as_sub_tasks() {
    let mut program = trusting();
    program.set("TRIMTAB_MODEL", "replay/demo");
    let served = Served::start(&program, "test", &[]);
    let sample = program.project().join("greet");
    let sample = sample.to_str().expect("text");
    assert_eq!(program.run(&["demo", "--sample", sample]).code, Some(0));
    walks(node("start.mjs", &[&served.login, "demo", sample]));
    let license = std::fs::read_to_string(program.project().join("greet/LICENSE")).expect("is there");
    assert!(license.contains("MIT"), "{license}");
}

#[test]
fn questions_plans_and_steps_are_agreed_on() {
    let mut program = trusting();
    program.set("TRIMTAB_COPILOT_FLOW", "complex");
    program.set("TRIMTAB_COPILOT_APPROVAL_MODE", "before_step");
    let databases: Vec<Value> =
        (1..=3).map(|n| json!({"id": format!("d{n}"), "title": format!("Database {n}")})).collect();
    program.provider.push(answers(&json!({
        "decision": "clarify", "confidence": 0.9, "complexity": 70, "steps": 4, "files": 3, "toolNeed": 0.9,
        "reason": "it is not said for whom",
        "questions": [{"id": "who", "text": "For whom?"},
                      {"id": "db", "text": "Which databases?", "options": databases, "several": true}],
    })));
    program.provider.push(asks("propose_plan", &json!({"summary": "Two files.", "steps": ["Write a", "Write b"]})));
    program.provider.push(says("a is written."));
    program.provider.push(says("All of it is done."));
    let served = Served::start(&program, "test", &[]);
    walks(node("agree.mjs", &[&served.login]));
    let sent = program.provider.requests().iter().map(|request| request.body.to_string()).collect::<String>();
    assert!(sent.contains("Database 1") && sent.contains("Database 3"), "both that were chosen are told");
}

#[test]
fn two_pages_show_the_same_through_a_slow_stream_and_a_lost_network() {
    let program = program();
    let gate = program.provider.gate();
    let many = "Words that fill the screen.\n\n".repeat(40);
    let slow = Reply::new().text(["The first words.\n\n", &many, "And the last words."]);
    program.provider.push(Answer::anthropic(slow).gated(&gate));
    gate.release(5);
    program.provider.push(says("Heard you."));
    program.provider.push(asks("list_files", &json!({})));
    program.provider.push(says("Asked and done."));
    let served = Served::start(&program, "test", &[]);
    let mut page = node("tabs.mjs", &[&served.login]);
    let mut page = page.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("starts");
    let mut said = BufReader::new(page.stdout.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("a line");
    gate.open();
    assert!(page.wait().expect("ends").success());
    assert_eq!(line.trim(), "more");
}

#[test]
fn work_that_changed_something_ends_with_whether_it_is_what_was_meant() {
    let mut program = trusting();
    program.set("TRIMTAB_COPILOT_APPROVAL_MODE", "after_step");
    let write = |text: &str| asks("write_file", &json!({"path": "a.txt", "content": text}));
    program.provider.push(write("one\n"));
    program.provider.push(says("It is one."));
    program.provider.push(write("two\n"));
    program.provider.push(says("It is two."));
    let served = Served::start(&program, "test", &[]);
    walks(node("content.mjs", &[&served.login]));
    assert_eq!(std::fs::read_to_string(program.project().join("a.txt")).expect("is there"), "two\n");
}

#[test]
fn where_the_program_stops_the_person_decides() {
    let mut program = trusting();
    program.set("TRIMTAB_LIMITS_BUDGET_USD", "0.1");
    program.provider.push(asks("run_command", &json!({"command": "echo began; sleep 300"})));
    let dear = Usage { input_tokens: 1_000, output_tokens: 20_000, ..Usage::default() };
    program.provider.push(Answer::anthropic(Reply::new().text(["I know now that it was cut off."]).usage(dear)));
    let served = Served::start(&program, "test", &[]);
    restarted(&program, served, "limits.mjs", || ());
}

#[test]
fn a_full_session_goes_on_in_a_new_one_with_what_was_open() {
    let mut program = trusting();
    program.set("TRIMTAB_CONTEXT_HANDOFF_AT", "0.1");
    program.set("TRIMTAB_MODEL", "anthropic/plain");
    std::fs::write(program.home().join("models.toml"), "[\"anthropic/plain\"]\nwindow = 200000\n").expect("written");
    program.set("TRIMTAB_CONTEXT_STRATEGY", "ask");
    let todos = json!({"todos": [{"text": "Open task", "completed": false}]});
    program.provider.push(asks("set_steps", &todos));
    program.provider.push(says(&(1..=25_000).map(|n| format!("{n} words. ")).collect::<String>()));
    let served = Served::start(&program, "test", &[]);
    walks(node("full.mjs", &[&served.login]));
}

#[test]
fn a_session_is_named_copied_and_taken_along() {
    let program = program();
    program.provider.push(says("A small surface on a rudder."));
    let served = Served::start(&program, "test", &[]);
    walks(node("sessions.mjs", &[&served.login]));
}

/// Listens, and counts whoever comes.
fn listener() -> (String, Arc<AtomicUsize>) {
    let socket = TcpListener::bind("127.0.0.1:0").expect("binds");
    let address = socket.local_addr().expect("an address").to_string();
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    std::thread::spawn(move || socket.incoming().for_each(|_| _ = count.fetch_add(1, Ordering::SeqCst)));
    (address, heard)
}

#[test]
fn what_a_model_writes_runs_and_loads_nothing() {
    let program = program();
    let (address, heard) = listener();
    let corpus = include_str!("../../../../web/tests/hostile.md").replace("LISTENER", &address);
    program.provider.push(says(&corpus));
    let served = Served::start(&program, "test", &[]);
    walks(node("hostile.mjs", &[&served.login]));
    assert_eq!(heard.load(Ordering::SeqCst), 0, "nobody was called");
    // The listener hears: what is silent above would not be by itself.
    drop(std::net::TcpStream::connect(&address).expect("connects"));
    let waiting = Instant::now();
    while heard.load(Ordering::SeqCst) == 0 {
        assert!(waiting.elapsed() < Duration::from_secs(60), "the listener hears nobody");
        std::thread::yield_now();
    }
}
