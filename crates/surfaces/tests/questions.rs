//! Every kind of question in the terminal UI: the real binary in a real pseudo-terminal, at a small, a usual and a
//! wide size. Each question is answered in another process, and must go away here.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::terminal::Terminal;

/// A look that finds a task unclear.
const UNCLEAR: &str = r#"{"decision":"clarify","confidence":0.9,"complexity":70,"steps":4,"toolNeed":0.9,"questions":[{"text":"For whom?"}]}"#;
/// A look that finds a task clear, and much work.
const MUCH: &str = r#"{"decision":"plan","confidence":0.9,"complexity":70,"steps":4,"toolNeed":0.9}"#;
/// A look that finds a task simple.
const SIMPLE: &str = r#"{"decision":"direct","confidence":0.9,"complexity":29,"steps":2,"toolNeed":0.9}"#;

fn program(settings: &[(&str, &str)]) -> Program {
    let mut program = untrusted(settings);
    let folder = program.project().canonicalize().expect("a folder");
    program.set("TRIMTAB_FOLDERS_TRUSTED", folder.to_str().expect("a path"));
    program
}

fn untrusted(settings: &[(&str, &str)]) -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    std::fs::write(program.project().join("hello.txt"), "hello world\n").expect("writes");
    for (name, value) in settings {
        program.set(&format!("TRIMTAB_{name}"), value);
    }
    program
}

/// A model of this name, about which this is known.
fn model(program: &mut Program, facts: &str) {
    std::fs::create_dir_all(program.home()).expect("a folder");
    std::fs::write(program.home().join("models.toml"), format!("[\"anthropic/plain\"]\n{facts}\n")).expect("written");
    program.set("TRIMTAB_MODEL", "anthropic/plain");
}

fn uses(name: &str, input: Value) -> Answer {
    Answer::anthropic(Reply::new().tool("toolu_1", name, [input.to_string()]))
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn say(terminal: &Terminal, words: &str) {
    terminal.wait_for("?");
    terminal.press(words);
    terminal.wait_for(words);
    terminal.press("\r");
}

/// Starts the program, says something, and looks at what is asked.
fn asked(program: &Program, words: &str, title: &str, choices: &[&str], answer: &[&str]) {
    let terminal = Terminal::start(program, &[], 80, 24);
    say(&terminal, words);
    looked_at(program, &terminal, title, choices, answer);
}

/// The question stands there with all its answers; on a screen of 20 by 6 its answers can still be reached with the
/// arrows; and an answer from elsewhere closes it.
fn looked_at(program: &Program, terminal: &Terminal, title: &str, choices: &[&str], answer: &[&str]) {
    // The answers to a permission keep their numbers where one of them is missing.
    let number = |at: usize| FOUR.iter().position(|label| *label == choices[at]).unwrap_or(at) + 1;
    let numbered: Vec<String> =
        choices.iter().enumerate().map(|(at, label)| format!("{}. {label}", number(at))).collect();
    let has_all = |screen: &str| {
        let flat = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        flat.contains(title) && numbered.iter().all(|choice| flat.contains(choice.as_str()))
    };
    terminal.wait_until(title, has_all);
    terminal.resize(160, 50);
    terminal.settled();
    terminal.wait_until("everything on a wide screen", has_all);
    terminal.resize(20, 6);
    terminal.settled();
    for at in 0..choices.len() {
        let chosen = format!("› {}.", number(at));
        terminal.wait_until(&chosen, |screen| screen.contains(&chosen));
        terminal.press("\x1b[B");
    }
    terminal.resize(80, 24);
    terminal.settled();
    terminal.wait_until("everything again", has_all);

    let listed = program.run(&["checkpoints", "--json"]).events();
    let id = listed.last().expect("a question")["checkpoint"].as_str().expect("an id").to_owned();
    let answering = program.spawn(&[&["answer", &id], answer].concat());
    terminal.wait_until("the question is gone", |screen| !screen.contains(numbered[0].as_str()));
    drop(answering.wait());
}

const FOUR: [&str; 4] =
    ["Allow this time", "Always allow", "Wait and tell Trimtab what to do differently", "Never allow"];

#[test]
fn a_permission_has_four_answers() {
    let program = program(&[]);
    program.provider.push(uses("run_command", json!({"command": "touch made"})));
    program.provider.push(says("It is made."));
    asked(&program, "Make it", "Run this command?", &FOUR, &["allow"]);
    assert!(program.project().join("made").exists());
}

#[test]
fn what_destroys_is_asked_about_even_where_commands_run_by_themselves() {
    let program = program(&[("APPLY_COMMANDS", "auto")]);
    program.provider.push(uses("run_command", json!({"command": "rm -rf hello.txt"})));
    program.provider.push(says("I leave it."));
    // That such a thing is always allowed is not offered.
    let choices = [FOUR[0], FOUR[2], FOUR[3]];
    asked(&program, "Tidy up", "Run this command?", &choices, &["never"]);
    assert!(program.project().join("hello.txt").exists());
}

#[test]
fn a_folder_that_is_not_trusted_yet_is_asked_about() {
    let program = untrusted(&[]);
    program.provider.push(uses("read_file", json!({"path": "hello.txt"})));
    program.provider.push(says("I do without."));
    let choices = ["Yes, I trust this folder", "No, continue without it"];
    asked(&program, "Read it", "Do you trust the files in", &choices, &["no"]);
}

#[test]
fn a_question_of_the_model_has_its_options_and_room_for_words() {
    let program = program(&[]);
    program.provider.push(uses("ask_user", json!({"question": "Which one?", "options": ["the red", "the blue"]})));
    program.provider.push(says("The blue one."));
    let choices = ["the red", "the blue", "Answer in text", "Stop here"];
    asked(&program, "Take one", "Which one?", &choices, &["o2"]);
}

#[test]
fn a_clarification_can_be_answered_or_skipped() {
    let program = program(&[("COPILOT_FLOW", "complex")]);
    program.provider.push(says(UNCLEAR));
    program.provider.push(uses("propose_plan", json!({"steps": ["Write a"]})));
    asked(&program, "Make the service ready", "For whom?", &["Answer in text", "Skip"], &["skip"]);
}

#[test]
fn a_plan_is_asked_about_and_so_is_each_of_its_steps() {
    let program = program(&[("COPILOT_FLOW", "complex")]);
    program.provider.push(says(MUCH));
    program.provider.push(uses("propose_plan", json!({"steps": ["Write a", "Write b"]})));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Make the service ready");
    let plan = ["Approve", "Modify", "Re-plan", "Cancel"];
    looked_at(&program, &terminal, "Approve this plan of 2 steps?", &plan, &["approve"]);
    let step = ["Do it", "Do it differently", "Skip this step", "Stop here"];
    looked_at(&program, &terminal, "Step 1 of 2 comes next: Write a", &step, &["stop"]);
}

#[test]
fn whether_the_person_is_content_is_asked() {
    let program = program(&[("COPILOT_FLOW", "simple")]);
    program.provider.push(says(SIMPLE));
    program.provider.push(uses("write_file", json!({"path": "a.txt", "content": "x\n"})));
    program.provider.push(says("a.txt is written."));
    let choices = ["Yes, done", "Needs changes", "Start over"];
    asked(&program, "Write a file", "Does this result meet your needs?", &choices, &["satisfied"]);
}

#[test]
fn a_budget_that_could_be_passed_is_asked_about() {
    let program = program(&[("LIMITS_BUDGET_USD", "0.0001")]);
    let choices = ["Raise budget", "Stop here"];
    asked(&program, "Do much", "or more and exceed the budget of", &choices, &["stop"]);
}

#[test]
fn the_limit_of_steps_is_asked_about() {
    let program = program(&[("LIMITS_STEPS", "2")]);
    program.provider.push(uses("read_file", json!({"path": "hello.txt"})));
    program.provider.push(uses("list_files", json!({})));
    program.provider.push(says("Half is done."));
    let choices = ["Continue for 2 more model calls", "Stop here"];
    asked(&program, "Read it", "The limit of 2 model calls was reached.", &choices, &["stop"]);
}

#[test]
fn a_damaged_answer_is_asked_about_before_anything_of_it_is_done() {
    let mut program = program(&[("REPAIR_MAX_ATTEMPTS", "0")]);
    model(&mut program, "tools = false");
    let damaged =
        r#"{"summary":"Two.","fileChanges":[{"path":"a.txt","content":"5" long"},{"path":"b.txt","content":"x"}]}"#;
    program.provider.push(says(damaged));
    asked(&program, "Make two files", "AI response had errors", &["🔄 Retry", "✓ Continue"], &["continue"]);
    assert!(!program.project().join("b.txt").exists());
}

#[test]
fn a_conversation_that_fills_its_window_is_asked_about() {
    let mut program = program(&[("CONTEXT_STRATEGY", "ask"), ("CONTEXT_HANDOFF_AT", "0.2")]);
    model(&mut program, "window = 10000\nmax_output = 1000");
    program.provider.push(says(&(1..=4_000).map(|n| format!("word {n} ")).collect::<String>()));
    program.provider.push(says("Here again."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Say much");
    terminal.wait_for("Done");
    say(&terminal, "Go on");
    let choices = ["Continue in a new session", "Continue here with", "Continue here unchanged"];
    looked_at(&program, &terminal, "How do you want to continue?", &choices, &["cancel"]);
}

#[test]
fn a_command_whose_end_nobody_saw_is_asked_about() {
    let program = program(&[]);
    program.provider.push(uses("run_command", json!({"command": "echo x > begun; sleep 98743", "timeout_s": 3000})));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Work");
    terminal.answer("Run this command?", "1");
    terminal.wait_until("the command runs", |_| program.project().join("begun").exists());
    terminal.signal(Signal::KILL);
    drop(terminal);
    program.provider.push(says("I see."));
    let again = Terminal::start(&program, &[], 80, 24);
    let choices = ["Continue without it", "Run it again", "Stop here"];
    looked_at(&program, &again, "so its result is", &choices, &["skip"]);
}

#[test]
fn a_command_that_the_sandbox_stopped_is_offered_outside_of_it() {
    let program = program(&[]);
    program.provider.push(uses("run_command", json!({"command": "echo made > ../outside.txt"})));
    program.provider.push(says("So be it."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Make it");
    terminal.answer("Run this command?", "1");
    looked_at(&program, &terminal, "possibly because of the sandbox", &["Run unsandboxed", "Skip"], &["skip"]);
}

#[test]
fn a_command_beyond_its_time_is_asked_about_while_it_runs() {
    let program = program(&[]);
    program.provider.push(uses("run_command", json!({"command": "sleep 98744", "timeout_s": 1})));
    program.provider.push(says("It timed out."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Work");
    terminal.answer("Run this command?", "1");
    let choices =
        ["Give it another 1 s", "Let it run without a limit", "Continue in the background", "Stop the command"];
    looked_at(&program, &terminal, "still running after 1 s", &choices, &["end"]);
}

#[test]
fn several_commands_of_one_answer_are_offered_together() {
    let program = program(&[]);
    program.provider.push(says("Two steps.\n\n🖥 mkdir -p app/assets\n🖥 ls app"));
    asked(
        &program,
        "Set it up",
        "The reply suggests 2 commands. Run them?",
        &["Run 2 cmds", "One by one", "Skip"],
        &["skip"],
    );
    assert!(!program.project().join("app").exists());
}

#[test]
fn a_rest_that_was_asked_for_waits_for_a_person() {
    let program = program(&[]);
    let gate = program.provider.gate();
    program.provider.push(uses("read_file", json!({"path": "hello.txt"})).gated(&gate));
    program.provider.push(says("Read."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Read it");
    terminal.wait_for("esc stops");
    // Before the model is called, there is no step to wait for.
    program.provider.block_on(program.provider.wait_for_requests(1));
    terminal.press("\x1bp");
    terminal.wait_for("pauses after this step");
    gate.open();
    let choices = ["Continue", "Continue differently", "Stop here"];
    looked_at(&program, &terminal, "Paused after this step.", &choices, &["continue"]);
}

#[test]
fn questions_come_one_after_the_other() {
    let program = program(&[]);
    let ask = |id: &str, question: &str| (id.to_owned(), json!({"question": question, "options": []}).to_string());
    let mut three = Reply::new();
    for (id, input) in [ask("x", "First thing?"), ask("y", "Second thing?"), ask("z", "Third thing?")] {
        three = three.tool(id, "ask_user", [input]);
    }
    program.provider.push(Answer::anthropic(three));
    program.provider.push(says("Thank you."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Ask me");
    for question in ["First thing?", "Second thing?", "Third thing?"] {
        terminal.answer(question, "1");
        terminal.wait_for("Your answer:");
        terminal.press("yes");
        terminal.wait_for("› yes");
        terminal.press("\r");
        terminal.wait_until_gone(question);
    }
    terminal.wait_for("Thank you.");
}

#[test]
fn single_hunks_of_a_change_can_be_left_out() {
    let program = program(&[("APPLY_FILES", "ask")]);
    let lines: String = (10..50).map(|number| format!("line {number}\n")).collect();
    std::fs::write(program.project().join("long.txt"), &lines).expect("writes");
    let blocks =
        json!([{"search": "line 12", "replace": "line twelve"}, {"search": "line 45", "replace": "forty-five"}]);
    program.provider.push(uses("edit_file", json!({"path": "long.txt", "blocks": blocks})));
    program.provider.push(says("One of them, then."));
    let terminal = Terminal::start(&program, &[], 100, 40);
    say(&terminal, "Change two lines");
    terminal.answer("1. Allow this time", "d");
    terminal.wait_for("The proposed change");
    terminal.press("n");
    terminal.settled();
    terminal.press(" ");
    terminal.wait_for("1 of 2 hunks");
    terminal.press("\r");
    terminal.wait_for("One of them, then.");
    let left = std::fs::read_to_string(program.project().join("long.txt")).expect("reads");
    assert_eq!(left, lines.replace("line 12\n", "line twelve\n"));
}

#[test]
fn a_script_whose_request_is_taken_up_at_a_terminal_does_not_wait_for_the_answer_there() {
    let program = program(&[]);
    for json in [true, false] {
        let gate = program.provider.gate();
        program.provider.push(uses("run_command", json!({"command": "echo x > made.txt"})).gated(&gate));
        let mut arguments = vec!["run", "--approve", "auto", "Make it"];
        if json {
            arguments.insert(1, "--json");
        }
        let calls = program.provider.requests().len();
        let script = program.spawn(&arguments);
        program.provider.block_on(program.provider.wait_for_requests(calls + 1));
        let listed = program.run(&["sessions", "list", "--json"]).events();
        let session = listed[0]["id"].as_str().expect("an id").to_owned();
        let terminal = Terminal::start(&program, &["--session", &session], 80, 24);
        terminal.wait_for("Make it");
        // It is there once the request goes on under its terms.
        let is_taken_up = || program.run(&["sessions", "export", &session]).stdout.contains("request.adjusted");
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !is_taken_up() {
            assert!(std::time::Instant::now() < until, "{}", terminal.screen());
        }
        gate.open();
        let ended = script.wait();
        assert_eq!(ended.code, Some(3), "{} {}", ended.stdout, ended.stderr);
        match json {
            true => assert_eq!(ended.events().last().expect("an event")["type"], "checkpoint.opened"),
            false => assert!(ended.stderr.contains("Another window shows the question"), "{}", ended.stderr),
        }
        // The person at the terminal answers, and the work goes on there.
        program.provider.push(says("It is made."));
        terminal.answer("Run this command?", "1");
        terminal.wait_for("It is made.");
    }
}
