//! Forks and names of sessions as a person meets them: the real binary, its server, and a fake provider.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::Served;

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn sessions(program: &Program) -> Vec<Value> {
    program.run(&["sessions", "list", "--json"]).events()
}

fn last_prompt(program: &Program) -> String {
    program.provider.requests().last().expect("a request").body["messages"].to_string()
}

/// A session that has changed a file and said more since.
fn talked(program: &Program) -> String {
    std::fs::write(program.project().join("a.txt"), "alpha\n").expect("a file");
    let edit = json!({"path": "a.txt", "blocks": [{"search": "alpha", "replace": "beta"}]});
    program.provider.push(Answer::anthropic(Reply::new().text(["Now."]).tool("t1", "edit_file", [edit.to_string()])));
    program.provider.push(says("Changed."));
    assert_eq!(program.run(&["run", "--trust", "the first wish about @a.txt"]).code, Some(0));
    let session = sessions(program)[0]["id"].as_str().expect("an id").to_owned();
    program.provider.push(says("The second answer."));
    assert_eq!(program.run(&["run", "--continue", "the second wish"]).code, Some(0));
    session
}

#[test]
fn a_fork_goes_on_from_a_message_and_leaves_the_session_as_it_was() {
    let program = program();
    let parent = talked(&program);
    let before = program.run(&["sessions", "export", &parent]).stdout;
    let shown = program.run(&["sessions", "show", &parent, "--numbers"]).stdout;
    let lines: Vec<&str> = shown.lines().collect();
    let at = lines.iter().position(|line| *line == "Changed.").expect("the first answer");
    let number = lines[at - 1].strip_prefix('#').expect("its number").to_owned();

    let forked = program.run(&["sessions", "fork", &parent, "--at", &number, "--json"]);
    assert_eq!(forked.code, Some(0), "{}", forked.stderr);
    let forked = forked.events().remove(0);
    let fork = forked["session"].as_str().expect("an id").to_owned();
    assert_eq!(forked["parentSessionId"], json!(parent));
    let row = sessions(&program).into_iter().find(|row| row["id"] == json!(fork)).expect("listed");
    assert_eq!((&row["parentSessionId"], &row["forkedAt"]), (&json!(parent), &forked["at"]));
    assert_eq!(program.run(&["sessions", "export", &parent]).stdout, before, "the parent is as it was");

    program.provider.push(says("Another answer."));
    let ran = program.run(&["run", "--session", &fork, "another second wish"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Another answer.\n"), "{}", ran.stderr);
    let prompt = last_prompt(&program);
    assert!(prompt.contains("the first wish") && prompt.contains("Changed."), "{prompt}");
    assert!(!prompt.contains("the second wish") && !prompt.contains("The second answer."), "{prompt}");

    let refused = program.run(&["rewind", "--session", &fork]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("was made before this session was forked"), "{}", refused.stderr);
    assert!(program.run(&["changes", "--session", &fork]).stdout.contains(&format!("(of session {parent})")));
    assert!(program.run(&["diff", "--session", &fork, "1"]).stdout.contains("beta"), "it can be seen");
    let usage = program.run(&["stats", "--json"]).events().remove(0);
    assert_eq!((&usage["requests"], &usage["modelCalls"]), (&json!(3), &json!(4)), "nothing is counted twice");

    // Whoever used the parent last goes on there, and so does what it changed.
    program.provider.push(says("Third."));
    assert_eq!(program.run(&["run", "--session", &parent, "the third wish"]).code, Some(0));
    program.provider.push(says("Fourth."));
    assert_eq!(program.run(&["run", "--continue", "the fourth wish"]).code, Some(0));
    assert!(last_prompt(&program).contains("the third wish"));
    assert_eq!(program.run(&["rewind", "--session", &parent]).code, Some(0));
    assert_eq!(std::fs::read_to_string(program.project().join("a.txt")).expect("a file"), "alpha\n");

    // A fork needs nobody.
    assert_eq!(program.run(&["sessions", "delete", &parent]).code, Some(0));
    assert!(program.run(&["diff", "--session", &fork, "1"]).stdout.contains("beta"), "what it has, it keeps");
    assert_eq!(program.run(&["doctor"]).stdout.matches("does not match").count(), 0);
    let nothing = program.run(&["sessions", "fork", &fork, "--at", "999"]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.stderr);
    assert!(nothing.stderr.contains("has no event 999") && nothing.stderr.contains("--numbers"), "{}", nothing.stderr);
}

#[test]
fn a_session_keeps_the_name_that_a_person_gave_it() {
    let program = program();
    let session = talked(&program);
    let renamed = program.run(&["sessions", "rename", &session, "Trim tabs"]);
    assert_eq!((renamed.code, renamed.stdout), (Some(0), format!("Renamed session {session} to \"Trim tabs\".\n")));
    program.provider.push(says("Third."));
    assert_eq!(program.run(&["run", "--continue", "the third wish"]).code, Some(0));
    assert_eq!(sessions(&program)[0]["title"], "Trim tabs");
    assert_eq!(program.run(&["sessions", "rename", &session, "  "]).code, Some(2));
    assert_eq!(program.run(&["sessions", "rename", "nothing", "x"]).code, Some(1));
}

#[test]
fn sessions_are_renamed_forked_and_exported_over_http() {
    let program = program();
    program.provider.push(says("The answer."));
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let path = format!("/api/sessions/{session}");
    let named = |title: &str| served.ask("PATCH", &path).json(&json!({"title": title})).send();
    let early = named("Before a word");
    assert_eq!((early.status, &early.json()["title"]), (200, &json!("Before a word")), "{}", early.text());
    assert_eq!(served.post(&format!("{path}/messages"), &json!({"text": "the wish"})).status, 202);
    let events = served.watch(&session, None).until("request.finished");
    assert_eq!(served.get(&path)["title"], "Before a word", "its first words do not take the place of a name");
    assert_eq!(named(" ").status, 422);
    assert_eq!(named(&"x".repeat(121)).status, 422);

    let answered = events.iter().find(|(_, event)| event["type"] == "answer").expect("an answer");
    let fork =
        |body: Value| served.ask("POST", &format!("{path}/fork")).header("Idempotency-Key", "one").json(&body).send();
    let made = fork(json!({"at": answered.0}));
    assert_eq!(made.status, 201, "{}", made.text());
    let forked = made.json();
    assert_eq!(
        (&forked["parentSessionId"], &forked["at"]),
        (&json!(session), &json!(events.iter().filter_map(|(id, _)| *id).max()))
    );
    assert_eq!(fork(json!({"at": answered.0})).json(), forked, "asked again, it is the same");
    assert_eq!(served.get("/api/sessions")["sessions"].as_array().map(Vec::len), Some(2));
    assert_eq!(served.post(&format!("{path}/fork"), &json!({"at": 999})).status, 422);
    assert_eq!(served.post("/api/sessions/nothing/fork", &json!({})).status, 404);

    let id = forked["session"].as_str().expect("an id");
    let document = served.get(&format!("/api/sessions/{id}"));
    assert_eq!(
        (&document["messages"][0]["text"], &document["messages"][0]["status"]),
        (&json!("the wish"), &json!("completed"))
    );
    assert_eq!((&document["parentSessionId"], &document["forkedAt"]), (&json!(session), &forked["at"]));
    program.provider.push(says("Another answer."));
    assert_eq!(served.post(&format!("/api/sessions/{id}/messages"), &json!({"text": "more"})).status, 202);
    served.watch(id, forked["at"].as_u64()).until("answer");
    assert!(last_prompt(&program).contains("The answer."));

    let export = served.ask("GET", &format!("{path}/export")).send();
    assert_eq!(export.status, 200);
    assert!(export.header("content-disposition").is_some_and(|value| value.contains(&session)));
    let printed: Value = serde_json::from_str(&program.run(&["sessions", "export", &session]).stdout).expect("JSON");
    assert_eq!(export.json(), printed);
    assert_eq!(served.get("/api/usage")["calls"], 2, "what a fork has of its parent is counted once");
}
