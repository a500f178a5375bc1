//! Going back to an earlier message with the files: the real binary, its server, and a fake provider.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::Served;

fn program() -> Program {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    std::fs::write(program.project().join("a.txt"), "alpha\nmiddle\nend\n").expect("a file");
    program
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn text(program: &Program) -> String {
    std::fs::read_to_string(program.project().join("a.txt")).expect("a file")
}

/// A request that replaces a word of the file.
fn replace(program: &Program, session: Option<&str>, from: &str, to: &str) -> String {
    let read = json!({"path": "a.txt"});
    let edit = json!({"path": "a.txt", "blocks": [{"search": from, "replace": to}]});
    program.provider.push(Answer::anthropic(Reply::new().tool("t0", "read_file", [read.to_string()])));
    program.provider.push(Answer::anthropic(Reply::new().tool("t1", "edit_file", [edit.to_string()])));
    program.provider.push(says(&format!("It is {to} now.")));
    let request = format!("make it {to}");
    let mut args = vec!["run", "--trust", &request];
    args.extend(session.into_iter().flat_map(|session| ["--session", session]));
    let ran = program.run(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    match session {
        Some(session) => session.to_owned(),
        None => sessions(program)[0]["id"].as_str().expect("an id").to_owned(),
    }
}

fn sessions(program: &Program) -> Vec<Value> {
    program.run(&["sessions", "list", "--json"]).events()
}

fn rewind(program: &Program, session: &str, more: &[&str]) -> Value {
    let args = [&["rewind", "--session", session, "--json"], more].concat();
    let ran = program.run(&args);
    ran.events().into_iter().next().unwrap_or_else(|| panic!("{args:?}: {}", ran.stderr))
}

fn id(value: &Value) -> String {
    value["session"].as_str().expect("an id").to_owned()
}

#[test]
fn going_back_restores_files_and_conversation_and_can_be_undone() {
    let program = program();
    let first = replace(&program, None, "alpha", "beta");
    replace(&program, Some(&first), "beta", "gamma");
    let before = program.run(&["sessions", "export", &first]).stdout;

    let listed = program.run(&["rewind", "--session", &first, "--messages"]).stdout;
    assert!(listed.starts_with("  1  make it beta  (") && listed.contains("  2  make it gamma  ("), "{listed}");
    let patch = program.run(&["rewind", "--session", &first, "--to", "2", "--preview"]).stdout;
    assert!(patch.contains("-gamma") && patch.contains("+beta"), "{patch}");
    assert_eq!(text(&program), "gamma\nmiddle\nend\n", "a preview changes nothing");
    assert_eq!(program.run(&["sessions", "export", &first]).stdout, before);

    let done = rewind(&program, &first, &["--to", "2"]);
    assert_eq!((&done["text"], &done["refused"]), (&json!("make it gamma"), &Value::Null), "{done}");
    assert_eq!(done["files"][0]["path"], "a.txt");
    assert_eq!(text(&program), "beta\nmiddle\nend\n");
    let second = id(&done);
    assert_ne!(second, first);
    // The words that it went back behind are in the first session still.
    assert!(program.run(&["sessions", "show", &first]).stdout.contains("It is gamma now."));
    assert!(!program.run(&["sessions", "show", &second]).stdout.contains("gamma now"));

    replace(&program, Some(&second), "beta", "delta");
    let prompt = program.provider.requests().last().expect("a request").body["messages"].to_string();
    assert!(prompt.contains("went back to this point") && !prompt.contains("gamma now"), "{prompt}");

    // Farther back than the fork: the first session owns that change.
    let third = id(&rewind(&program, &second, &["--to", "1"]));
    assert_eq!(text(&program), "alpha\nmiddle\nend\n");
    let none = program.run(&["rewind", "--session", &third, "--messages"]).stdout;
    assert_eq!(none, "This session has no messages yet.\n");

    let undone = rewind(&program, &third, &["--undo"]);
    assert_eq!((id(&undone), text(&program)), (second.clone(), "delta\nmiddle\nend\n".to_owned()), "{undone}");
    let undone = rewind(&program, &second, &["--undo"]);
    assert_eq!((id(&undone), text(&program)), (first.clone(), "gamma\nmiddle\nend\n".to_owned()), "{undone}");
    let refused = program.run(&["rewind", "--session", &first, "--undo"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
}

#[test]
fn only_the_files_or_only_the_conversation_go_back() {
    let program = program();
    let session = replace(&program, None, "alpha", "beta");
    let talk = rewind(&program, &session, &["--to", "1", "--only", "conversation"]);
    assert_ne!(id(&talk), session);
    assert_eq!((text(&program), &talk["files"]), ("beta\nmiddle\nend\n".to_owned(), &json!([])));
    // In the fork, the change is the first session's, and goes back there.
    let files = rewind(&program, &session, &["--to", "1", "--only", "files"]);
    assert_eq!((id(&files), text(&program)), (session.clone(), "alpha\nmiddle\nend\n".to_owned()));
    assert!(program.run(&["sessions", "show", &session]).stdout.contains("It is beta now."));
    let again = rewind(&program, &session, &["--to", "1", "--only", "files"]);
    assert_eq!((&again["files"], &again["refused"]), (&json!([]), &Value::Null), "they are there already");
    assert_eq!(program.run(&["forward", "--session", &session]).code, Some(0));
    assert_eq!(text(&program), "beta\nmiddle\nend\n");
    let none = program.run(&["rewind", "--session", &session, "--to", "7"]);
    assert_eq!(none.code, Some(1), "{}", none.stderr);
    assert!(none.stderr.contains("Unknown message 7. The session has 1 message."), "{}", none.stderr);
}

#[test]
fn edits_of_a_person_are_merged_or_refuse_the_rewind() {
    let program = program();
    let session = replace(&program, None, "alpha", "beta");
    std::fs::write(program.project().join("a.txt"), "beta, and mine\nmiddle\nend\n").expect("a file");
    let refused = rewind(&program, &session, &["--to", "1"]);
    assert_eq!(id(&refused), session, "no session is made");
    assert!(refused["refused"].is_string() && refused["conflicts"].as_array().is_some_and(|all| !all.is_empty()));
    assert_eq!((text(&program).as_str(), sessions(&program).len()), ("beta, and mine\nmiddle\nend\n", 1));
    let kept = rewind(&program, &session, &["--to", "1", "--keep-mine"]);
    assert_eq!((&kept["refused"], text(&program).as_str()), (&Value::Null, "beta, and mine\nmiddle\nend\n"));

    std::fs::write(program.project().join("a.txt"), "alpha\nmiddle\nend\n").expect("a file");
    let session = replace(&program, None, "alpha", "omega");
    std::fs::write(program.project().join("a.txt"), "omega\nmiddle\nmy end\n").expect("a file");
    let merged = rewind(&program, &session, &["--to", "1"]);
    assert_eq!((&merged["refused"], text(&program).as_str()), (&Value::Null, "alpha\nmiddle\nmy end\n"));
}

#[test]
fn a_session_goes_back_over_http() {
    let program = program();
    let session = replace(&program, None, "alpha", "beta");
    let served = Served::start(&program, "test", &[]);
    let path = format!("/api/sessions/{session}");
    let points = served.get(&format!("{path}/rewind-points"));
    assert_eq!((&points["messages"][0]["text"], &points["canUndo"]), (&json!("make it beta"), &json!(false)));
    let seq = points["messages"][0]["seq"].as_u64().expect("a number");
    let ask = |session: &str, body: Value| served.post(&format!("/api/sessions/{session}/rewind-to"), &body);
    let plan = ask(&session, json!({"before": seq, "preview": true})).json();
    assert_eq!((&plan["files"][0]["path"], text(&program).as_str()), (&json!("a.txt"), "beta\nmiddle\nend\n"));
    let done = ask(&session, json!({"before": seq})).json();
    assert_eq!((&done["text"], text(&program).as_str()), (&json!("make it beta"), "alpha\nmiddle\nend\n"), "{done}");
    let fork = id(&done);
    assert_eq!(served.get(&format!("/api/sessions/{fork}/rewind-points"))["canUndo"], json!(true));
    let undone = ask(&fork, json!({})).json();
    assert_eq!((id(&undone), text(&program).as_str()), (session.clone(), "beta\nmiddle\nend\n"), "{undone}");
    assert_eq!(ask(&session, json!({"before": 9_999})).status, 404);
    assert_eq!(ask("s00000000000000000", json!({"before": 1})).status, 404);
}
