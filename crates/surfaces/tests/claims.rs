//! What was done is told from the log, and what was only said is not done: the real binary, as a script meets it.

#![allow(clippy::disallowed_methods, reason = "tests look into the folder")]

use serde_json::json;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

const CALL: &str = "```json\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"hello.py\", \"content\": \"print('hi')\\n\"}}\n```";

#[test]
fn a_call_in_text_is_carried_out_and_the_end_says_what_was_done() {
    let program = program();
    program.provider.push(says(CALL));
    program.provider.push(says("It is there."));
    let ended = program.run(&["run", "--trust", "--json", "Create hello.py that prints hi"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(std::fs::read_to_string(program.project().join("hello.py")).expect("a file"), "print('hi')\n");
    let events = ended.events();
    let finished = events.last().expect("an end");
    assert_eq!(finished["status"], "completed");
    let file = &finished["done"]["files"][0];
    assert_eq!((&file["path"], &file["added"], &file["isNew"]), (&json!("hello.py"), &json!(1), &json!(true)));
    // The model gets its call back as one, with its result.
    let body = &program.provider.requests()[1].body["messages"];
    let messages = body.as_array().expect("messages");
    let call = messages.iter().position(|message| message["role"] == "assistant").expect("a reply");
    assert_eq!(messages[call]["content"][0]["type"], "tool_use", "{messages:#?}");
    assert_eq!(messages[call]["content"][0]["id"], messages[call + 1]["content"][0]["tool_use_id"]);

    program.provider.push(says("```python hello.py\nprint('hello')\n```"));
    program.provider.push(says("Changed."));
    let ended = program.run(&["run", "--trust", "Change hello.py so that it prints hello"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Changed.\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("Changed hello.py (+1 −1)"), "{}", ended.stderr);
}

#[test]
fn a_change_that_was_only_described_is_not_done_on_every_surface() {
    let program = program();
    program.provider.always(says("I have created hello.py."));
    let ended = program.run(&["run", "--trust", "Create hello.py"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("Not done: the model described a change but made none."), "{}", ended.stderr);
    assert!(ended.stderr.contains("Ask again and name the file"), "{}", ended.stderr);
    assert_eq!(program.provider.requests().len(), 2, "it was asked for the call once");
    let jobs = program.run(&["jobs", "--all", "--json"]);
    assert!(jobs.stdout.contains("not_done"), "{}", jobs.stdout);
    let session = serde_json::from_str::<serde_json::Value>(jobs.stdout.trim()).expect("one job")["session"].clone();
    let shown = program.run(&["sessions", "show", session.as_str().expect("an id")]);
    assert!(
        shown.stdout.contains("[Not done: the model described a change but made none.]"),
        "{} {}",
        shown.stdout,
        shown.stderr
    );
    let stats = program.run(&["stats", "--json"]);
    assert!(stats.stdout.contains("\"notDone\":1") || stats.stdout.contains("\"notDone\": 1"), "{}", stats.stdout);
    let json = program.run(&["run", "--trust", "--json", "Create hello.py"]);
    let events = json.events();
    let finished = events.last().expect("an end");
    assert_eq!((json.code, finished["status"].as_str()), (Some(1), Some("not_done")));
    assert_eq!(finished["error"]["kind"], "not_done");
}

#[test]
fn a_request_for_two_files_is_not_done_with_one() {
    let program = program();
    let write = |content: &str| {
        let input = json!({"path": "a.txt", "content": content}).to_string();
        Answer::anthropic(Reply::new().tool("t1", "write_file", [input]))
    };
    program.provider.push(write("alpha\n"));
    program.provider.always(says("Both files are done."));
    let words = "Create two files: a.txt with the text alpha and b.txt with the text beta";
    let ended = program.run(&["run", "--trust", words]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("Not done: b.txt was neither created nor changed."), "{}", ended.stderr);
    let asked = program.provider.requests().last().expect("a request").body.to_string();
    assert!(asked.contains("b.txt is still missing."), "{asked}");

    program.provider.push(write("gamma\n"));
    let ended = program.run(&["run", "--trust", "Update a.txt and c.txt to say gamma"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("c.txt was neither created nor changed."), "{}", ended.stderr);
}

#[test]
fn a_plan_without_steps_is_an_answer_to_a_question_and_not_done_for_work() {
    let mut program = program();
    program.set("TRIMTAB_ANSWER_PROTOCOL", "structured_json");
    let empty =
        |summary: &str| says(&json!({"thought": "", "summary": summary, "steps": [], "assumptions": []}).to_string());
    program.provider.push(empty("It sets 8080."));
    let ended = program.run(&["run", "--trust", "--mode", "plan", "Which port does config.json set?"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "It sets 8080.\n"), "{}", ended.stderr);
    assert_eq!(program.provider.requests().len(), 1, "nobody complains about an answer");

    program.provider.always(empty("No steps to execute."));
    let ended = program.run(&["run", "--trust", "--mode", "plan", "Rename the function add to sum in calc.py"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), "No steps to execute.\n"), "{}", ended.stderr);
    assert_eq!(program.provider.requests().len(), 3, "it was asked for the plan once");
}
