//! Questions, plans, steps and conversations as a script meets them: the real binary, each answer in a process of
//! its own, and a kill in the middle of a step.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::program::{Ended, Program};
use trimtab_testkit::provider::{Answer, Reply};

fn program(settings: &[(&str, &str)]) -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    for (name, value) in settings {
        program.set(&format!("TRIMTAB_COPILOT_{name}"), value);
    }
    program
}

fn uses(name: &str, input: Value) -> Answer {
    Answer::anthropic(Reply::new().tool("toolu_1", name, [input.to_string()]))
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn write(path: &str) -> Answer {
    uses("write_file", json!({"path": path, "content": "x\n"}))
}

/// What is asked last: its id, its kind and its title.
fn asked(ended: &Ended) -> (String, String, String) {
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    let events = ended.events();
    let opened = events.iter().rfind(|event| event["type"] == "checkpoint.opened").expect("a question");
    let text = |name: &str| opened[name].as_str().expect("a text").to_owned();
    (text("checkpoint"), text("kind"), text("title"))
}

/// All that the model was last sent.
fn sent(program: &Program) -> String {
    program.provider.requests().last().expect("a request").body.to_string()
}

fn exists(program: &Program, file: &str) -> bool {
    program.project().join(file).exists()
}

/// Answers in a process of its own.
fn answer(program: &Program, asked: &Ended, arguments: &[&str]) -> Ended {
    let id = self::asked(asked).0;
    program.run(&[&["answer", &id], arguments, &["--json"]].concat())
}

const LOOK: &str = r#"{"decision":"clarify","confidence":0.9,"complexity":70,"steps":4,"files":3,"toolNeed":0.9,
    "reason":"it is not said for whom","questions":[{"id":"who","text":"For whom?"},{"id":"db","text":"Which database?",
    "options":[{"id":"pg","title":"PostgreSQL"},{"id":"lite","title":"SQLite"}]}]}"#;

#[test]
fn a_complex_task_is_asked_about_planned_changed_and_done_each_answer_in_its_own_process() {
    let program = program(&[("FLOW", "complex")]);
    program.provider.push(says(LOOK));
    let run = program.run(&["run", "--json", "--trust", "Make the service ready for customers"]);
    let (_, kind, title) = asked(&run);
    assert_eq!((kind.as_str(), title.as_str()), ("clarification", "2 questions before we start."));
    assert_eq!(program.provider.requests().len(), 1, "nothing is planned before the answer");
    let listed = program.run(&["checkpoints"]).stdout;
    assert!(listed.contains("1. For whom?") && listed.contains("o2  SQLite"), "{listed}");

    program.provider.push(uses("propose_plan", json!({"steps": ["Write a", "Write b"]})));
    let run = answer(&program, &run, &["submit", "--text", "1: the team; 2: o2"]);
    assert!(sent(&program).contains(r"Question: Which database?\nAnswer: SQLite"), "{}", sent(&program));
    assert_eq!(asked(&run).1, "plan");
    let listed = program.run(&["checkpoints"]).stdout;
    assert!(listed.contains("1. Write a\n") && listed.contains("2. Write b\n"), "{listed}");

    // Effects are for later, also if the model does not think so.
    program.provider.push(write("early.txt"));
    program.provider.push(uses("propose_plan", json!({"steps": ["Write a", "Write b", "Write c"]})));
    let run = answer(&program, &run, &["replan", "--text", "and c"]);
    assert!(!exists(&program, "early.txt"));
    let edits = program.project().join("edits.json");
    std::fs::write(&edits, r#"[{"op":"remove","step":"s2"}]"#).expect("a file");
    let run = answer(&program, &run, &["modify", "--edits", &edits.display().to_string()]);
    let events = run.events();
    let plan = events.iter().rfind(|event| event["type"] == "plan.proposed").expect("a plan");
    assert_eq!(
        (&plan["version"], &plan["by"], plan["steps"].as_array().map(Vec::len)),
        (&json!(3), &json!("user"), Some(2))
    );

    let run = answer(&program, &run, &["approve"]);
    assert_eq!(asked(&run).2, "Step 1 of 2 comes next: Write a");
    program.provider.push(write("a.txt"));
    program.provider.push(says("a is written."));
    let run = answer(&program, &run, &["continue"]);
    assert_eq!(asked(&run).2, "Step 1 of 2 is done: Write a");
    assert!(exists(&program, "a.txt"));
    let run = answer(&program, &run, &["tell", "--text", "with care"]);
    program.provider.push(write("c.txt"));
    program.provider.push(says("All is there."));
    let run = answer(&program, &run, &["continue"]);
    assert!(
        sent(&program).contains("with care") && sent(&program).contains("For whom? Answer: the team"),
        "{}",
        sent(&program)
    );
    let id = asked(&run).0;
    let done = program.run(&["answer", &id, "continue"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "All is there.\n"), "{}", done.stderr);
}

#[test]
fn edits_that_cannot_be_made_are_refused_and_the_plan_stays_open() {
    let program = program(&[]);
    program.provider.push(uses("propose_plan", json!({"summary": "Two files.", "steps": ["Write a", "Write b"]})));
    let run = program.run(&["run", "--mode", "plan", "--trust", "--approve", "auto", "two files"]);
    assert_eq!(run.code, Some(3), "a plan that a person asked for is approved by a person: {}", run.stderr);
    assert!(
        run.stderr.contains("Approve this plan of 2 steps?\nTwo files.\n1. Write a\n2. Write b\n"),
        "{}",
        run.stderr
    );
    let id = program.run(&["checkpoints", "--json"]).events()[0]["checkpoint"].as_str().expect("an id").to_owned();
    let wrong = program.run_with_input(&["answer", &id, "modify", "--edits", "-"], br#"[{"op":"remove","step":7}]"#);
    assert_eq!(wrong.code, Some(3), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("There is no step \"7\" in this plan."), "{}", wrong.stderr);
    let wrong = program.run_with_input(&["answer", &id, "modify", "--edits", "-"], b"none");
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    let wrong = program.run(&["answer", &id, "modify"]);
    assert_eq!(wrong.code, Some(3), "{}", wrong.stderr);
    let cancelled = program.run(&["answer", &id, "cancel"]);
    assert_eq!(cancelled.code, Some(130), "{}", cancelled.stderr);
    assert_eq!(program.provider.requests().len(), 1);
}

#[test]
fn a_plan_that_is_killed_in_a_step_goes_on_with_that_step() {
    let program = program(&[]);
    program.provider.push(uses("propose_plan", json!({"steps": ["Write a", "Write b"]})));
    let run = program.run(&["run", "--json", "--mode", "plan", "--trust", "two files"]);
    let id = asked(&run).0;
    program.provider.push(write("a.txt"));
    program.provider.push(says("a is written."));
    program.provider.push(Answer::silent());
    let running = program.spawn(&["answer", &id, "approve", "--json"]);
    running.wait_for_line(r#""step":"s2","number":2"#);
    // Killed while the model is silent about it, and not before it was asked.
    program.provider.block_on(program.provider.wait_for_requests(4));
    running.signal(Signal::KILL);
    running.wait();
    program.provider.push(write("b.txt"));
    program.provider.push(says("Both are there."));
    let resumed = program.run(&["resume", "--json"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let events = resumed.events();
    let steps: Vec<String> = events
        .iter()
        .filter(|event| event["type"] == "plan.step")
        .map(|event| {
            format!("{} {}", event["title"].as_str().expect("a title"), event["status"].as_str().expect("one"))
        })
        .collect();
    assert_eq!(steps, ["Write a running", "Write a done", "Write b running", "Write b done"]);
    assert!(exists(&program, "a.txt") && exists(&program, "b.txt"));
    assert!(sent(&program).contains("1. Write a (done)"), "{}", sent(&program));
}

#[test]
fn a_conversation_is_carried_out_when_a_person_says_so_or_by_a_control() {
    let program = program(&[("FLOW", "conversation"), ("ENABLE_PLANNING", "false")]);
    program.provider.push(says("What method do you prefer?"));
    assert_eq!(program.run(&["run", "--trust", "Help me design a log-in"]).code, Some(0));
    program.provider.push(says("Here's what I understand: OAuth."));
    let talked = program.run(&["run", "--trust", "--continue", "OAuth. How would you build it?"]);
    assert_eq!(talked.code, Some(0), "{}", talked.stderr);
    assert!(program.provider.requests().iter().all(|request| request.body.get("tools").is_none()), "no tools in talk");

    program.provider.push(says(r#"{"summary":"A log-in with OAuth.","decisions":["OAuth"]}"#));
    let run = program.run(&["run", "--json", "--trust", "--continue", "Yes, implement it"]);
    let (id, kind, title) = asked(&run);
    assert_eq!((kind.as_str(), title.as_str()), ("confirm", "Here's what I understand: A log-in with OAuth."));
    assert_eq!(program.run(&["answer", &id, "talk"]).code, Some(0));
    assert!(!exists(&program, "login.txt"));

    assert_eq!(program.run(&["trust"]).code, Some(0));
    program.provider.push(says(r#"{"summary":"A log-in with OAuth.","decisions":["OAuth"]}"#));
    let run = program.run(&["control", "implement"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("Decided:\n  - OAuth"), "{}", run.stderr);
    let id = program.run(&["checkpoints", "--json"]).events()[0]["checkpoint"].as_str().expect("an id").to_owned();
    program.provider.push(write("login.txt"));
    program.provider.push(says("It is there."));
    let done = program.run(&["answer", &id, "continue"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "It is there.\n"), "{}", done.stderr);
    assert!(exists(&program, "login.txt"));
}

#[test]
fn the_incremental_pace_says_how_to_go_on() {
    let program = program(&[("PACE", "incremental")]);
    program.provider.push(uses("set_steps", json!({"steps": [{"text": "A", "completed": true}, "B", "C"]})));
    program.provider.push(says("A is done."));
    let run = program.run(&["run", "--trust", "three things"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "A is done.\n"));
    assert!(run.stderr.contains("next: Continue to next step: trimtab run --continue 'continue'"), "{}", run.stderr);
    assert!(sent(&program).contains("complete only 1-2 of them"), "{}", sent(&program));
}
