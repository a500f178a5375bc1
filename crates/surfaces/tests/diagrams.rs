//! The three flows of a copilot, branch by branch: the real binary, every answer given with `trimtab answer` in a
//! process of its own, so that each question has outlived the process that asked it.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::io::Read;
use std::process::{Child, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};
use trimtab_testkit::program::{Ended, Program};
use trimtab_testkit::provider::{Answer, Reply};

/// What happens in a branch, in order.
enum Move {
    /// The model says this at its next call.
    Says(&'static str),
    /// The model proposes a plan of these steps.
    Plans(&'static [&'static str]),
    /// The model writes a file, and says that it has.
    Writes(&'static str),
    /// A person says this.
    Run(&'static [&'static str]),
    /// Now this is asked: the kind, and the beginning of the title.
    Asked(&'static str, &'static str),
    /// A person answers, in a new process.
    Answers(&'static [&'static str]),
    /// The model was last sent this.
    Sent(&'static str),
    /// So many calls were made.
    Calls(usize),
    /// A file is not there.
    Lacks(&'static str),
    /// The last process ended with this code.
    Ends(i32),
}
use Move::*;

struct Branch {
    name: &'static str,
    settings: &'static [(&'static str, &'static str)],
    moves: &'static [Move],
    /// Files that are there in the end.
    files: &'static [&'static str],
}

/// A look that finds a task unclear.
const UNCLEAR: &str = r#"{"decision":"clarify","confidence":0.9,"complexity":70,"steps":4,"toolNeed":0.9,"questions":[{"text":"For whom?"}]}"#;
/// A look that finds a task clear, and much work.
const MUCH: &str = r#"{"decision":"plan","confidence":0.9,"complexity":70,"steps":4,"toolNeed":0.9}"#;
/// A look that finds a task simple.
const SIMPLE: &str = r#"{"decision":"direct","confidence":0.9,"complexity":29,"steps":2,"toolNeed":0.9}"#;
/// What a conversation came to.
const AGREED: &str = r#"{"summary":"A log-in with OAuth.","decisions":["OAuth with Google and GitHub","JWT tokens"]}"#;

const COMPLEX: &[(&str, &str)] = &[("FLOW", "complex")];
const WITHOUT_STEPS: &[(&str, &str)] = &[("FLOW", "complex"), ("APPROVAL_MODE", "none")];
const TALK: &[(&str, &str)] = &[("FLOW", "conversation")];
const TASK: &[&str] = &["run", "--json", "--trust", "Make the service ready for customers"];

const BRANCHES: &[Branch] = &[
    // The complex task.
    Branch {
        name: "complex: clarification, update, plan, approve, step by step, complete",
        settings: WITHOUT_STEPS,
        moves: &[
            Says(UNCLEAR),
            Run(TASK),
            Asked("clarification", "For whom?"),
            Calls(1),
            Plans(&["Write a", "Write b"]),
            Answers(&["submit", "--text", "the team"]),
            Sent(r"Question: For whom?\nAnswer: the team"),
            Asked("plan", "Approve this plan of 2 steps?"),
            Lacks("a.txt"),
            Writes("a.txt"),
            Writes("b.txt"),
            Answers(&["approve"]),
            Sent("[PLAN STEP 2 of 2] Write b"),
            Ends(0),
        ],
        files: &["a.txt", "b.txt"],
    },
    Branch {
        name: "complex: clarification skipped",
        settings: WITHOUT_STEPS,
        moves: &[
            Says(UNCLEAR),
            Run(TASK),
            Asked("clarification", "For whom?"),
            Plans(&["Write a"]),
            Answers(&["skip"]),
            Sent("does not want to answer"),
            Asked("plan", "Approve this plan of 1 step?"),
            Writes("a.txt"),
            Answers(&["approve"]),
            Ends(0),
        ],
        files: &["a.txt"],
    },
    Branch {
        name: "complex: no clarification, modify in words and as a list, loop, approve",
        settings: WITHOUT_STEPS,
        moves: &[
            Says(MUCH),
            Plans(&["Write a", "Write b", "Write c"]),
            Run(TASK),
            Asked("plan", "Approve this plan of 3 steps?"),
            Plans(&["Write a", "Write b"]),
            Answers(&["modify", "--text", "leave c out"]),
            Sent("leave c out"),
            Asked("plan", "Approve this plan of 2 steps? (version 2)"),
            Answers(&["modify", "--text", r#"[{"op":"remove","step":1}]"#]),
            Asked("plan", "Approve this plan of 1 step? (version 3)"),
            Calls(3),
            Writes("b.txt"),
            Answers(&["approve"]),
            Sent("[PLAN STEP 1 of 1] Write b"),
            Ends(0),
        ],
        files: &["b.txt"],
    },
    Branch {
        name: "complex: re-plan, then reject with another plan, then approve",
        settings: WITHOUT_STEPS,
        moves: &[
            Says(MUCH),
            Plans(&["Write a"]),
            Run(TASK),
            Plans(&["Write b"]),
            Answers(&["replan", "--text", "too simple"]),
            Sent("They say: too simple"),
            Asked("plan", "Approve this plan of 1 step? (version 2)"),
            Plans(&["Write c"]),
            Answers(&["reject", "--next", "replan"]),
            Asked("plan", "Approve this plan of 1 step? (version 3)"),
            Writes("c.txt"),
            Answers(&["approve"]),
            Ends(0),
        ],
        files: &["c.txt"],
    },
    Branch {
        name: "complex: cancel, and a new task",
        settings: WITHOUT_STEPS,
        moves: &[
            Says(MUCH),
            Plans(&["Write a"]),
            Run(TASK),
            Answers(&["reject", "--next", "cancel"]),
            Ends(130),
            Says(MUCH),
            Plans(&["Write b"]),
            Run(&["run", "--json", "--trust", "--continue", "Then rename everything"]),
            Asked("plan", "Approve this plan of 1 step?"),
            Answers(&["cancel"]),
            Ends(130),
            Calls(4),
        ],
        files: &[],
    },
    Branch {
        name: "complex: checkpoints before and after each step; going on, guiding, leaving out",
        settings: COMPLEX,
        moves: &[
            Says(MUCH),
            Plans(&["Write a", "Write b", "Write c"]),
            Run(TASK),
            Answers(&["approve"]),
            Asked("step", "Step 1 of 3 comes next: Write a"),
            Writes("a.txt"),
            Answers(&["tell", "--text", "with care"]),
            Sent("with care"),
            Asked("step", "Step 1 of 3 is done: Write a"),
            Answers(&["continue"]),
            Asked("step", "Step 2 of 3 comes next: Write b"),
            Answers(&["skip"]),
            Asked("step", "Step 3 of 3 comes next: Write c"),
            Says("STEP FAILED There is no room."),
            Answers(&["continue"]),
            Sent("2. Write b (left out by the user)"),
            Asked("step", "Step 3 of 3 could not be done: Write c"),
            Writes("c.txt"),
            Answers(&["retry"]),
            Asked("step", "Step 3 of 3 is done: Write c"),
            Answers(&["continue"]),
            Ends(0),
        ],
        files: &["a.txt", "c.txt"],
    },
    Branch {
        name: "complex: stopped at a step",
        settings: COMPLEX,
        moves: &[
            Says(MUCH),
            Plans(&["Write a", "Write b"]),
            Run(TASK),
            Answers(&["approve"]),
            Writes("a.txt"),
            Answers(&["continue"]),
            Asked("step", "Step 1 of 2 is done: Write a"),
            Answers(&["stop"]),
            Ends(130),
        ],
        files: &["a.txt"],
    },
    // The conversation.
    Branch {
        name: "conversation: talk, transition, understanding corrected, plan, steps without a stop",
        settings: TALK,
        moves: &[
            Says("What method do you prefer?"),
            Run(&["run", "--json", "--trust", "Help me design a new authentication system"]),
            Ends(0),
            Says("Good choice. Session storage?"),
            Run(&["run", "--json", "--trust", "--continue", "OAuth with Google and GitHub"]),
            Says("Here's what I understand: OAuth, JWT."),
            Run(&["run", "--json", "--trust", "--continue", "JWT tokens"]),
            Calls(3),
            Says(AGREED),
            Run(&["run", "--json", "--trust", "--continue", "Yes, implement it"]),
            Sent("JWT tokens"),
            Asked("confirm", "Here's what I understand: A log-in with OAuth."),
            Says(AGREED),
            Answers(&["tell", "--text", "and a log-out"]),
            Sent("and a log-out"),
            Asked("confirm", "Here's what I understand:"),
            Plans(&["Write a", "Write b"]),
            Answers(&["continue"]),
            Sent("Decided by the user"),
            Asked("plan", "Approve this plan of 2 steps?"),
            Writes("a.txt"),
            Writes("b.txt"),
            Answers(&["approve"]),
            Sent("- JWT tokens"),
            Ends(0),
        ],
        files: &["a.txt", "b.txt"],
    },
    Branch {
        name: "conversation: talk goes on after the understanding was shown",
        settings: TALK,
        moves: &[
            Says("What method do you prefer?"),
            Run(&["run", "--json", "--trust", "Help me design a new authentication system"]),
            Says(AGREED),
            Run(&["run", "--json", "--trust", "--continue", "Go ahead"]),
            Answers(&["talk"]),
            Ends(0),
            Says("Of course. What else?"),
            Run(&["run", "--json", "--trust", "--continue", "Let us think about sessions first"]),
            Ends(0),
            Calls(3),
        ],
        files: &[],
    },
];

fn uses(name: &str, input: Value) -> Answer {
    Answer::anthropic(Reply::new().tool("toolu_1", name, [input.to_string()]))
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn plans(program: &Program, steps: &[&str]) {
    program.provider.push(uses("propose_plan", json!({"steps": steps})));
}

fn writes(program: &Program, file: &str) {
    program.provider.push(uses("write_file", json!({"path": file, "content": "x\n"})));
    program.provider.push(says(&format!("{file} is written.")));
}

fn program(settings: &[(&str, &str)]) -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    for (name, value) in settings {
        program.set(&format!("TRIMTAB_COPILOT_{name}"), value);
    }
    program
}

/// All that the model was last sent. JSON in it is escaped, as it is on the wire.
fn sent(program: &Program) -> String {
    program.provider.requests().last().expect("a request").body.to_string()
}

/// The one question that is open: its id, its kind and its title.
fn open(program: &Program) -> (String, String, String) {
    let events = program.run(&["checkpoints", "--json"]).events();
    let [event] = events.as_slice() else { panic!("not one question is open: {events:?}") };
    let text = |name: &str| event[name].as_str().expect("a text").to_owned();
    (text("checkpoint"), text("kind"), text("title"))
}

fn answer(program: &Program, arguments: &[&str]) -> Ended {
    let id = open(program).0;
    program.run(&[&["answer", &id], arguments, &["--json"]].concat())
}

fn walk(program: &Program, moves: &[Move], name: &str) {
    let mut last: Option<Ended> = None;
    for step in moves {
        match step {
            Says(words) => program.provider.push(says(words)),
            Plans(steps) => plans(program, steps),
            Writes(file) => writes(program, file),
            Run(arguments) => last = Some(program.run(arguments)),
            Answers(arguments) => last = Some(answer(program, arguments)),
            Asked(kind, title) => {
                let ended = last.as_ref().expect("something ran");
                assert_eq!(ended.code, Some(3), "{name}: {}{}", ended.stdout, ended.stderr);
                let (_, asked, about) = open(program);
                assert!(asked == *kind && about.starts_with(title), "{name}: {asked} {about:?}, not {kind} {title:?}");
            }
            Sent(words) => assert!(sent(program).contains(words), "{name}: {words:?} is not in {}", sent(program)),
            Calls(count) => assert_eq!(program.provider.requests().len(), *count, "{name}"),
            Lacks(file) => assert!(!program.project().join(file).exists(), "{name}: {file}"),
            Ends(code) => {
                let ended = last.as_ref().expect("something ran");
                assert_eq!(ended.code, Some(*code), "{name}: {}{}", ended.stdout, ended.stderr);
            }
        }
    }
}

#[test]
fn every_branch_of_the_flows_goes_on_in_a_new_process_at_every_question() {
    for Branch { name, settings, moves, files } in BRANCHES {
        let program = program(settings);
        walk(&program, moves, name);
        for file in *files {
            assert!(program.project().join(file).exists(), "{name}: {file} is not there");
        }
        let written = std::fs::read_dir(program.project()).expect("a folder").count();
        assert_eq!(written, files.len(), "{name}: nothing else was written");
        assert_eq!(program.run(&["checkpoints", "--json"]).stdout, "", "{name}: nothing is open in the end");
    }
}

/// A terminal with a person at it. Whether they are content is asked nowhere else.
struct Terminal {
    screen: std::fs::File,
    child: Child,
}

impl Terminal {
    fn run(program: &Program, arguments: &[&str]) -> Self {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&terminal).expect("is ours");
        unlockpt(&terminal).expect("is open");
        let name = ptsname(&terminal, Vec::new()).expect("a name").into_string().expect("a path");
        let other_end = || std::fs::OpenOptions::new().read(true).write(true).open(&name).expect("its other end");
        let mut command = program.command(program.binary(), arguments);
        command.stdin(other_end()).stderr(other_end()).stdout(Stdio::null());
        let child = command.spawn().expect("the program starts");
        drop(command);
        Self { screen: terminal.into(), child }
    }

    /// Reads until this is shown, and kills the process without a word.
    fn kill_at(mut self, shown: &str) {
        let mut all = String::new();
        let mut piece = [0; 4_096];
        while !all.contains(shown) {
            match self.screen.read(&mut piece) {
                Ok(read @ 1..) => all.push_str(&String::from_utf8_lossy(&piece[..read])),
                _ => panic!("{shown:?} was never shown: {all}"),
            }
        }
        self.child.kill().expect("is killed");
        self.child.wait().expect("ends");
    }
}

/// A simple task that was done directly, at the question whether it will do; whoever asked it is dead.
fn done_directly() -> Program {
    let program = program(&[("FLOW", "simple")]);
    program.provider.push(says(SIMPLE));
    writes(&program, "a.txt");
    let terminal = Terminal::run(&program, &["run", "--trust", "Write a file with an x"]);
    terminal.kill_at("Does this result meet your needs?");
    assert!(program.project().join("a.txt").exists());
    let (_, kind, title) = open(&program);
    assert_eq!((kind.as_str(), title.as_str()), ("satisfaction", "Does this result meet your needs?"));
    let events = program.run(&["checkpoints", "--json"]).events();
    let ids: Vec<&str> = events[0]["choices"]
        .as_array()
        .expect("choices")
        .iter()
        .map(|choice| choice["id"].as_str().expect("one"))
        .collect();
    assert_eq!(ids, ["satisfied", "needs_changes", "start_over"]);
    assert_eq!(program.provider.requests().len(), 3, "a look, and the work: no plan");
    program
}

#[test]
fn a_simple_task_is_done_directly_and_a_content_person_completes_it() {
    let program = done_directly();
    assert_eq!(answer(&program, &["satisfied"]).code, Some(0));
    assert_eq!(program.provider.requests().len(), 3, "nothing more is asked of the model");
}

#[test]
fn a_simple_task_that_needs_changes_is_done_again_with_the_feedback() {
    let program = done_directly();
    assert_eq!(answer(&program, &["needs_changes"]).code, Some(3), "what should be different must be said");
    writes(&program, "b.txt");
    let done = answer(&program, &["needs_changes", "--text", "b as well"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let prompt = sent(&program);
    assert!(prompt.contains(r"Write a file with an x\n\nUser Feedback: b as well"), "{prompt}");
    assert!(prompt.contains("a.txt is written."), "the attempt before is kept: {prompt}");
    assert!(program.project().join("b.txt").exists());
}

#[test]
fn a_simple_task_that_is_started_over_forgets_the_attempt() {
    let program = done_directly();
    writes(&program, "c.txt");
    let done = answer(&program, &["start_over"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let prompt = sent(&program);
    assert!(!prompt.contains("a.txt is written."), "{prompt}");
    assert!(prompt.contains("The user wants a fresh start"), "{prompt}");
}

#[test]
fn work_that_is_paused_rests_after_its_step_takes_in_what_is_said_and_goes_on_or_stops() {
    for (choice, code, there) in
        [(&["tell", "--text", "in English"][..], 0, true), (&["continue"][..], 0, true), (&["stop"][..], 130, false)]
    {
        let program = program(TALK);
        program.provider.push(says("What is it for?"));
        assert_eq!(program.run(&["run", "--trust", "Help me design a new log-in"]).code, Some(0));
        program.provider.push(says(AGREED));
        program.run(&["run", "--json", "--trust", "--continue", "Go ahead"]);
        plans(&program, &["Write a", "Write b"]);
        assert_eq!(answer(&program, &["continue"]).code, Some(3));
        // The first step takes a while, and a person pauses meanwhile.
        let gate = program.provider.gate();
        program.provider.push(uses("write_file", json!({"path": "a.txt", "content": "x\n"})).gated(&gate));
        program.provider.push(says("a is written."));
        let id = open(&program).0;
        let running = program.spawn(&["answer", &id, "approve", "--json"]);
        running.wait_for_line(r#""step":"s1","number":1"#);
        assert_eq!(program.run(&["control", "pause"]).code, Some(0));
        running.wait_for_line("request.pausing");
        gate.open();
        let ended = running.wait();
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        assert!(program.project().join("a.txt").exists(), "the step is completed first");
        assert_eq!(open(&program).2, "Paused after this step.");
        if there {
            writes(&program, "b.txt");
        }
        let done = answer(&program, choice);
        assert_eq!(done.code, Some(code), "{choice:?}: {}", done.stderr);
        assert_eq!(program.project().join("b.txt").exists(), there, "{choice:?}");
        assert_eq!(sent(&program).contains("in English"), choice.len() > 1, "{choice:?}");
        let finished = done.events().into_iter().rfind(|event| event["type"] == "request.finished").expect("an end");
        assert_eq!(finished.get("reason").and_then(Value::as_str), (code == 130).then_some("stopped_by_user"));
    }
}
