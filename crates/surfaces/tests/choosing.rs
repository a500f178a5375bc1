//! Parts of a proposed change, as a person chooses them: the real binary, its server, and a fake provider.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::Served;
use trimtab_testkit::terminal::Terminal;

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

/// Two hunks, Windows line ends, and no end of the last line.
const BEFORE: &str = "one\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\nten";

/// A program whose model wants to change the first and the last line of a file.
fn program() -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    program.set("TRIMTAB_APPLY_FILES", "ask");
    std::fs::write(program.project().join("a.txt"), BEFORE).expect("a file");
    let blocks = json!([{"search": "one", "replace": "ONE"}, {"search": "ten", "replace": "TEN"}]);
    let edit = json!({"path": "a.txt", "blocks": blocks}).to_string();
    program.provider.push(Answer::anthropic(Reply::new().text(["Now."]).tool("t1", "edit_file", [edit])));
    program
}

fn content(program: &Program) -> String {
    std::fs::read_to_string(program.project().join("a.txt")).expect("a file")
}

fn open(program: &Program) -> Value {
    program.run(&["checkpoints", "--json"]).events().remove(0)
}

fn last_result(program: &Program) -> String {
    let body = program.provider.requests().last().expect("a request").body.clone();
    body["messages"].as_array().and_then(|messages| messages.last()).expect("a message").to_string()
}

#[test]
fn a_hunk_is_chosen_at_the_command_line_and_the_rest_is_left() {
    let program = program();
    assert_eq!(program.run(&["run", "--trust", "change @a.txt"]).code, Some(3));
    let opened = open(&program);
    let checkpoint = opened["checkpoint"].as_str().expect("an id");
    assert_eq!(opened["hunks"], 2);
    let listed = program.run(&["checkpoints"]).stdout;
    assert!(listed.contains(&format!("trimtab answer {checkpoint} allow --only PATH:HUNK")), "{listed}");
    let shown = program.run(&["diff", checkpoint]).stdout;
    assert_eq!(shown.matches("@@ -").count(), 2, "hunks count in the order of the patch: {shown}");

    for (choice, only, wrong) in [
        ("allow", "b.txt", "b.txt is not in this proposal: it changes a.txt."),
        ("allow", "a.txt:3", "There is no hunk 3 in a.txt: the proposal has 2."),
        ("allow", "a.txt:0", "There is no hunk 0 in a.txt"),
        ("never", "a.txt:1", "--only goes with the choice `allow`"),
    ] {
        let refused = program.run(&["answer", checkpoint, choice, "--only", only]);
        assert_eq!(refused.code, Some(2), "{only}: {}", refused.stderr);
        assert!(refused.stderr.contains(wrong), "{only}: {}", refused.stderr);
    }
    assert_eq!(open(&program)["checkpoint"], opened["checkpoint"], "the question is still open");
    assert_eq!(content(&program), BEFORE);

    program.provider.push(says("The last line stays, then."));
    let answered = program.run(&["answer", checkpoint, "apply", "--only", "a.txt:1"]);
    assert_eq!(answered.code, Some(0), "{}", answered.stderr);
    assert_eq!(content(&program), BEFORE.replace("one", "ONE"));
    let told = last_result(&program);
    assert!(told.contains("Left out: hunk 2 of a.txt") && told.contains("+TEN"), "{told}");
    assert_eq!(program.run(&["rewind"]).code, Some(0));
    assert_eq!(content(&program), BEFORE, "what was applied is what is taken back");
    let trail = program.run(&["audit", "--export"]).stdout;
    assert!(trail.contains("\"parts\":[{\"path\":\"a.txt\",\"hunks\":[1]}]"), "{trail}");
}

#[test]
fn operations_and_hunks_are_chosen_over_http() {
    for by_name in [true, false] {
        let program = program();
        let served = Served::start(&program, "test", &[]);
        assert_eq!(program.run(&["trust"]).code, Some(0));
        let session = served.session();
        let path = format!("/api/sessions/{session}");
        assert_eq!(served.post(&format!("{path}/messages"), &json!({"text": "change @a.txt"})).status, 202);
        let events = served.watch(&session, None).until("checkpoint.opened");
        let (last, opened) = events.last().expect("a question").clone();
        let proposal = opened["proposal"].as_str().expect("a proposal").to_owned();
        let diff = served.get(&format!("{path}/diff?proposal={proposal}"));
        assert_eq!((&diff["files"][0]["path"], &diff["files"][0]["hunks"]), (&json!("a.txt"), &json!(2)));
        let give = |parts: Value| match by_name {
            true => served.post(&format!("{path}/proposals/{proposal}/apply"), &json!({"operations": parts})),
            false => served.post(
                &format!("{path}/answers"),
                &json!({"checkpoint": opened["checkpoint"], "choice": "allow", "selection": parts}),
            ),
        };
        for wrong in [json!([]), json!([1]), json!(["b.txt"]), json!([{"path": "a.txt", "hunks": [9]}])] {
            let refused = give(wrong.clone());
            assert_eq!(refused.status, 422, "{wrong}: {}", refused.text());
        }
        let reject = json!({"operations": [0]});
        assert_eq!(served.post(&format!("{path}/proposals/{proposal}/reject"), &reject).status, 422);
        assert_eq!(content(&program), BEFORE);
        program.provider.push(says("Fine."));
        let given = give(json!([{"path": "a.txt", "hunks": [2]}]));
        assert_eq!(given.status, 202, "{}", given.text());
        let events = served.watch(&session, last).until("request.finished");
        let kinds: Vec<&str> = events.iter().filter_map(|(_, event)| event["type"].as_str()).collect();
        assert!(kinds.contains(&"proposal.chosen") && kinds.contains(&"change.applied"), "{kinds:?}");
        assert_eq!(content(&program), BEFORE.replace("ten", "TEN"));
        let set = events.iter().find(|(_, event)| event["type"] == "change.applied").expect("a change").1.clone();
        let parts = json!({"changeSet": set["changeSet"], "parts": [{"path": "a.txt", "hunks": [1]}]});
        assert_eq!(served.post(&format!("{path}/rewind"), &parts).status, 200);
        assert_eq!(content(&program), BEFORE);
    }
}

#[test]
fn hunks_are_chosen_at_the_prompt_of_a_run() {
    let program = program();
    let terminal = Terminal::start(&program, &["run", "--trust", "change @a.txt"], 120, 60);
    terminal.wait_for("applies only these hunks");
    terminal.wait_for("in parentheses:");
    terminal.press("allow a.txt:7\r");
    terminal.wait_for("There is no hunk 7 in a.txt");
    terminal.wait_until("the question again", |screen| screen.matches("in parentheses:").count() == 2);
    assert_eq!(content(&program), BEFORE);
    program.provider.push(says("The first line stays, then."));
    terminal.press("allow a.txt:2\r");
    terminal.wait_for("The first line stays, then.");
    assert_eq!(content(&program), BEFORE.replace("ten", "TEN"));
}

#[test]
fn a_file_that_is_made_is_one_hunk() {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    program.set("TRIMTAB_APPLY_FILES", "ask");
    let write = json!({"path": "new.txt", "content": "a\nb"}).to_string();
    program.provider.push(Answer::anthropic(Reply::new().text(["Now."]).tool("t1", "write_file", [write])));
    assert_eq!(program.run(&["run", "--trust", "make it"]).code, Some(3));
    let opened = open(&program);
    assert!(opened["hunks"].is_null(), "there is nothing to choose from");
    program.provider.push(says("Made."));
    let checkpoint = opened["checkpoint"].as_str().expect("an id");
    assert_eq!(program.run(&["answer", checkpoint, "allow", "--only", "new.txt:1"]).code, Some(0));
    assert_eq!(std::fs::read_to_string(program.project().join("new.txt")).expect("a file"), "a\nb");
}
