//! Handing a session off and extending it, as a person meets it: the real binary and a fake provider.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

/// A reply that asks for these tools.
fn asks(tools: &[(&str, Value)]) -> Answer {
    let mut reply = Reply::new().text(["I work on it."]);
    for (number, (name, input)) in tools.iter().enumerate() {
        reply = reply.tool(format!("toolu_{number}"), *name, [input.to_string()]);
    }
    Answer::anthropic(reply)
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

/// A session that has changed a file twice and has a task left.
fn worked() -> (Program, String) {
    let program = program();
    std::fs::write(program.project().join("a.txt"), "alpha\n").expect("a file");
    let edit =
        |from: &str, to: &str| ("edit_file", json!({"path": "a.txt", "blocks": [{"search": from, "replace": to}]}));
    let steps = json!({"steps": [{"text": "mend it", "completed": true}, {"text": "run the tests"}]});
    program.provider.push(asks(&[edit("alpha", "beta"), edit("beta", "gamma"), ("set_steps", steps)]));
    program.provider.push(says("Mended."));
    let ran = program.run(&["run", "--trust", "an unmistakable wish about @a.txt"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let session = sessions(&program)[0]["id"].as_str().expect("an id").to_owned();
    (program, session)
}

fn sessions(program: &Program) -> Vec<Value> {
    program.run(&["sessions", "list", "--json"]).events()
}

fn content(program: &Program) -> String {
    std::fs::read_to_string(program.project().join("a.txt")).expect("a file")
}

fn last_prompt(program: &Program) -> String {
    program.provider.requests().last().expect("a request").body["messages"].to_string()
}

#[test]
fn a_handoff_goes_on_in_a_child_which_alone_can_take_back_the_changes() {
    let (program, parent) = worked();
    let handed = program.run(&["handoff"]);
    assert_eq!(handed.code, Some(0), "{}", handed.stderr);
    let rows = sessions(&program);
    assert_eq!(rows.len(), 2);
    let child = rows[0]["id"].as_str().expect("an id").to_owned();
    assert_eq!((&rows[0]["parentSessionId"], &rows[0]["docType"]), (&json!(parent), &json!("chat")));
    insta::assert_snapshot!(handed.stdout.replace(&child, "CHILD"), @r#"
    Handed off to session CHILD. It includes 2 changes, which you can undo there.
    Its input is:
      Continue with the open to-dos:
      1. run the tests
    Send it: trimtab run --session CHILD
    Or send another request: trimtab run --session CHILD "…"
    "#);
    let shown = program.run(&["sessions", "show", &child]).stdout;
    assert!(shown.contains(&format!("Continues session {parent}.")), "{shown}");
    assert!(shown.contains("The input is:\n  Continue with the open to-dos:\n  1. run the tests"), "{shown}");
    assert!(program.run(&["sessions", "show", &parent]).stdout.contains(&format!("Continued in session {child}.")));

    let refused = program.run(&["rewind", "--session", &parent]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains(&format!("Change #2 was handed off to session {child}")), "{}", refused.stderr);
    assert_eq!(content(&program), "gamma\n");

    program.provider.push(says("I cannot run them here."));
    let ran = program.run(&["run", "--trust", "--continue"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "I cannot run them here.\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("Continue with the open to-dos:\n  1. run the tests"), "{}", ran.stderr);
    let prompt = last_prompt(&program);
    assert!(prompt.contains("## HANDOFF CONTEXT") && prompt.contains("run the tests"), "{prompt}");
    assert!(!prompt.contains("toolu_"), "the conversation itself stays behind: {prompt}");
    assert_eq!(program.run(&["run", "--continue"]).code, Some(2), "what was prefilled is taken once");

    let listed = program.run(&["changes"]).stdout;
    assert!(listed.contains("(from an earlier session)"), "{listed}");
    assert_eq!(program.run(&["rewind", "2"]).code, Some(0));
    assert_eq!(content(&program), "alpha\n");
}

#[test]
fn a_child_is_exported_in_the_documented_shape() {
    let (program, parent) = worked();
    let handed = program.run(&["handoff", "--json"]).events().remove(0);
    let child = handed["session"].as_str().expect("an id");
    let export = |session: &str| program.run(&["sessions", "export", session]).events().remove(0);
    let (old, new) = (export(&parent), export(child));
    assert_eq!((&new["docType"], &new["parentSessionId"]), (&json!("chat"), &json!(parent)));
    assert_eq!((&old["parentSessionId"], &old["changeHistory"]["position"]), (&Value::Null, &json!(1)));
    assert_eq!(new["changeHistory"]["position"], 1);
    let sets = |export: &Value| export["changeHistory"]["history"].as_array().expect("sets").clone();
    assert_eq!(sets(&new).len(), 2);
    for (old, new) in sets(&old).iter().zip(sets(&new)) {
        assert_eq!((&new["sessionId"], &new["parentChangeSetId"]), (&json!(child), &old["id"]));
        assert_eq!((&new["files"], &new["applied"]), (&old["files"], &json!(true)));
        assert_eq!((&new["timestamp"], &new["costUsd"]), (&old["timestamp"], &old["costUsd"]));
        assert_eq!(old["parentChangeSetId"], Value::Null);
    }
}

#[test]
fn a_deleted_child_gives_its_changes_back_and_a_deleted_parent_takes_none_away() {
    let (program, parent) = worked();
    let hand_off = || program.run(&["handoff", "--session", &parent, "--json"]).events().remove(0);
    let child = hand_off()["session"].as_str().expect("an id").to_owned();
    assert_eq!(program.run(&["sessions", "delete", &child]).code, Some(0));
    assert_eq!(program.run(&["rewind", "--session", &parent]).code, Some(0));
    assert_eq!(content(&program), "beta\n");
    assert_eq!(program.run(&["forward", "--session", &parent]).code, Some(0));

    let second = hand_off();
    assert_eq!(second["changeSets"].as_array().map(Vec::len), Some(2), "they can be handed off again");
    let child = second["session"].as_str().expect("an id").to_owned();
    assert_eq!(program.run(&["sessions", "delete", &parent]).code, Some(0));
    assert_eq!(program.run(&["rewind", "2", "--session", &child]).code, Some(0));
    assert_eq!(content(&program), "alpha\n");
    assert_eq!(program.run(&["doctor"]).stdout.matches("missing").count(), 0);
}

#[test]
fn what_a_deleted_child_had_handed_on_stays_where_it_is() {
    let (program, first) = worked();
    let hand_off = |from: &str| {
        let told = program.run(&["handoff", "--session", from, "--json"]).events().remove(0);
        told["session"].as_str().expect("an id").to_owned()
    };
    let second = hand_off(&first);
    program.provider.push(says("Fine."));
    assert_eq!(program.run(&["run", "--session", &second, "go on"]).code, Some(0));
    let third = hand_off(&second);
    assert_eq!(program.run(&["sessions", "delete", &second]).code, Some(0));
    let refused = program.run(&["rewind", "--session", &first]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains(&format!("--session {third}")), "{}", refused.stderr);
    assert_eq!(program.run(&["rewind", "2", "--session", &third]).code, Some(0));
    assert_eq!(content(&program), "alpha\n");
    assert_eq!(program.run(&["forward", "2", "--session", &third]).code, Some(0));
    assert_eq!(program.run(&["sessions", "delete", &third]).code, Some(0));
    assert_eq!(program.run(&["rewind", "--session", &first]).code, Some(0), "the last one gives back to the first");
    assert_eq!(content(&program), "beta\n");
}

#[test]
fn what_is_handed_off_later_takes_only_what_came_later() {
    let (program, parent) = worked();
    assert_eq!(program.run(&["handoff"]).code, Some(0));
    program.provider.push(asks(&[("write_file", json!({"path": "b.txt", "content": "new\n"}))]));
    program.provider.push(says("Made."));
    assert_eq!(program.run(&["run", "--trust", "--session", &parent, "make b.txt"]).code, Some(0));
    let second = program.run(&["handoff", "--session", &parent, "--json"]).events().remove(0);
    assert_eq!(second["changeSets"].as_array().map(Vec::len), Some(1));
    let child = second["session"].as_str().expect("an id");
    assert_eq!(program.run(&["rewind", "9", "--session", child]).code, Some(0));
    assert!(!program.project().join("b.txt").exists());
    assert_eq!(content(&program), "gamma\n", "what another session has is not touched");
}

#[test]
fn an_extension_is_a_document_of_the_same_session() {
    let (program, session) = worked();
    let extended = program.run(&["extend"]);
    assert_eq!(extended.code, Some(0), "{}", extended.stderr);
    insta::assert_snapshot!(extended.stdout, @"The session is extended. It keeps its complete conversation as long as it fits into the context window. Summarized text stays readable with `trimtab ref`.");
    assert_eq!(sessions(&program).len(), 1);
    let export = program.run(&["sessions", "export", &session]).events().remove(0);
    let extensions = export["extensions"].as_array().expect("documents");
    assert_eq!(extensions.len(), 1);
    assert_eq!((&extensions[0]["docType"], &extensions[0]["sessionId"]), (&json!("extension"), &json!(session)));
    program.provider.push(says("All of it."));
    assert_eq!(program.run(&["run", "--trust", "--continue", "go on"]).code, Some(0));
    let prompt = last_prompt(&program);
    assert!(prompt.contains("an unmistakable wish") && !prompt.contains("HANDOFF CONTEXT"), "{prompt}");
    assert_eq!(program.run(&["rewind", "2"]).code, Some(0));
    assert_eq!(content(&program), "alpha\n");
}

#[test]
fn what_cannot_be_handed_off_says_why() {
    let program = program();
    let none = program.run(&["handoff"]);
    assert_eq!(none.code, Some(1));
    assert!(none.stderr.contains("There is no session in this folder."), "{}", none.stderr);
    let (program, _) = worked();
    assert_eq!(program.run(&["handoff"]).code, Some(0));
    let empty = program.run(&["handoff"]);
    assert_eq!(empty.code, Some(1));
    assert!(empty.stderr.contains("This session is empty"), "{}", empty.stderr);
    assert_eq!(program.run(&["run"]).code, Some(2));
}
