//! Text that poses as a command, and keys that answer by accident.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::terminal::Terminal;

const ENTER: &str = "\r";

fn trusted() -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    let folder = program.project().canonicalize().expect("a folder");
    program.set("TRIMTAB_FOLDERS_TRUSTED", folder.to_str().expect("a path"));
    program
}

fn says(text: &str) -> Answer {
    Answer::anthropic(Reply::new().text([text]))
}

fn runs(command: &str) -> Answer {
    let input = json!({ "command": command }).to_string();
    Answer::anthropic(Reply::new().tool("t1", "run_command", [input]))
}

/// A file beside the project, where no request may write.
fn outside(program: &Program, name: &str) -> PathBuf {
    program.project().parent().expect("a folder").join(name)
}

fn say(terminal: &Terminal, words: &str) {
    terminal.wait_for("? help");
    terminal.press(words);
    terminal.wait_for(words);
    terminal.press(ENTER);
}

/// The words of the person in the last request to the model.
fn last_said(program: &Program) -> String {
    let body = program.provider.requests().pop().expect("a request").body;
    let messages = body["messages"].as_array().expect("messages").clone();
    messages.iter().rev().find(|message| message["role"] == "user").map(Value::to_string).unwrap_or_default()
}

fn wait_for_requests(program: &Program, count: usize) {
    for _ in 0..300 {
        if program.provider.requests().len() >= count {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("only {} requests came", program.provider.requests().len());
}

#[test]
fn a_next_step_never_runs_as_a_shell_command() {
    let mut program = trusted();
    program.set("TRIMTAB_ANSWER_PROTOCOL", "structured_json");
    let text = format!("!touch ../PWNED-next #{}Run the tests", "\n".repeat(25));
    let answer =
        json!({"summary": "All fixed.", "sections": [], "nextSteps": [{"html": "Run the tests", "inputText": text}]});
    program.provider.push(says(&answer.to_string()));
    program.provider.always(says(&json!({"summary": "I cannot run them.", "sections": []}).to_string()));
    let terminal = Terminal::start(&program, &[], 100, 30);
    say(&terminal, "go");
    let offered = terminal.wait_for("alt-1");
    assert!(
        offered.contains("Run the tests: “!touch ../PWNED-next # Run the tests”"),
        "it shows what it sends: {offered}"
    );
    terminal.wait_for("Done");
    terminal.press("\x1b1");
    terminal.wait_for("› !touch ../PWNED-next # Run the tests");
    terminal.press(ENTER);
    wait_for_requests(&program, 2);
    let sent = program.provider.requests().pop().expect("a request").body["messages"].to_string();
    assert!(sent.contains("!touch ../PWNED-next"), "it is a message");
    assert!(!outside(&program, "PWNED-next").exists());
}

#[test]
fn a_next_step_in_plain_words_never_runs_as_a_shell_command() {
    let program = trusted();
    program.provider.push(says("Done.\n\nNext steps:\n- !touch ../PWNED-plain"));
    program.provider.always(says("Well."));
    let terminal = Terminal::start(&program, &[], 100, 30);
    say(&terminal, "go");
    terminal.wait_for("Done ·");
    terminal.press("\x1b1");
    terminal.wait_for("› !touch ../PWNED-plain");
    terminal.press(ENTER);
    wait_for_requests(&program, 2);
    assert!(!outside(&program, "PWNED-plain").exists());
}

#[test]
fn pasted_text_never_runs_as_a_command() {
    let lines = "lorem ipsum\n".repeat(12);
    let long = format!("!doctype note from issue 12\ncd ..; touch PWNED-paste\n{lines}");
    for (paste, part) in [(long.as_str(), "doctype"), ("!touch ../PWNED-paste", "PWNED-paste"), ("/quit", "/quit")] {
        let program = trusted();
        program.provider.always(says("I read it."));
        let terminal = Terminal::start(&program, &[], 80, 24);
        terminal.wait_for("? help");
        terminal.press(&format!("\x1b[200~{paste}\x1b[201~"));
        terminal.wait_until("the paste", |screen| screen.contains("[Pasted 14 lines") || screen.contains(paste));
        terminal.press(ENTER);
        terminal.wait_for("I read it.");
        assert!(last_said(&program).contains(part), "{paste:?} is a message");
        assert!(!outside(&program, "PWNED-paste").exists(), "{paste:?}");
    }
}

#[test]
fn a_long_paste_is_never_sent_unread_for_want_of_a_key() {
    let program = trusted();
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("? help");
    terminal.press(&format!("\x1b[200~{}\x1b[201~", "one line\n".repeat(14)));
    terminal.wait_for("alt-o opens the paste");
    terminal.press("\x1bo");
    terminal.wait_until("the text", |screen| screen.contains("one line") && !screen.contains("[Pasted"));
}

#[test]
fn only_a_typed_mark_begins_a_shell_command() {
    let program = trusted();
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("? help");
    terminal.press("!touch typed");
    terminal.wait_for("! touch typed");
    terminal.press(ENTER);
    terminal.wait_for("$ touch typed");
    terminal.wait_for("? help");
    assert!(program.project().join("typed").exists());
    assert!(program.provider.requests().is_empty());
}

#[test]
fn what_a_typed_command_leaves_in_the_terminal_changes_neither_keys_nor_questions() {
    let program = trusted();
    // The other screen, the mouse, no marks around pastes, another character set, and a scroll region.
    let evil = "\x1b[?1049h\x1b[?1003h\x1b[?1006h\x1b[?2004l\x1b(0\x0e\x1b[3;4r\x1b[4h\x1b[?7l\x1b[8m";
    std::fs::write(program.project().join("evil.txt"), evil).expect("writes");
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("? help");
    terminal.press("!cat evil.txt; touch shown");
    terminal.wait_for("! cat evil.txt");
    terminal.press(ENTER);
    terminal.wait_until("the command has ended", |_| program.project().join("shown").exists());
    terminal.wait_for("? help");
    let (covered, mouse, pastes) = terminal
        .with_screen(|screen| (screen.alternate_screen(), screen.mouse_protocol_mode(), screen.bracketed_paste()));
    assert!(!covered && pastes, "{covered} {pastes}");
    assert_eq!(format!("{mouse:?}"), "None");
    let bytes = terminal.bytes();
    let after = bytes.windows(4).rposition(|part| part == b"\x1b[8m").expect("it was shown");
    assert!(bytes[after..].windows(4).any(|part| part == b"\x1b[!p"), "margins, character sets, and modes are reset");
    program.provider.push(says("I read it."));
    terminal.press("\x1b[200~!touch ../PWNED-mode\n\x1b[201~");
    terminal.wait_for("PWNED-mode");
    terminal.press(ENTER);
    terminal.wait_for("I read it.");
    assert!(!outside(&program, "PWNED-mode").exists());
}

#[test]
fn keys_typed_before_a_question_never_answer_it() {
    for arguments in [&["run", "--trust", "go"][..], &["--plain"][..]] {
        let program = trusted();
        let gate = program.provider.gate();
        program.provider.push(runs("touch RAN; rm -f x").gated(&gate));
        program.provider.always(says("It ran."));
        let terminal = Terminal::start(&program, arguments, 100, 30);
        if arguments == ["--plain"] {
            terminal.wait_for(">");
            terminal.press("go\r");
        }
        wait_for_requests(&program, 1);
        terminal.press("1\r1\r");
        std::thread::sleep(Duration::from_millis(300));
        gate.release(1_000);
        terminal.wait_for("in parentheses:");
        std::thread::sleep(Duration::from_millis(700));
        assert!(!program.project().join("RAN").exists(), "{arguments:?}: {}", terminal.all());
        terminal.press("1\r");
        terminal.wait_for("It ran.");
        assert!(program.project().join("RAN").exists(), "{arguments:?}");
    }
}

#[test]
fn a_key_in_the_moment_a_question_comes_up_never_answers_it() {
    let program = trusted();
    program.provider.push(runs("touch RAN; rm -f x"));
    program.provider.always(says("It ran."));
    let terminal = Terminal::start(&program, &["run", "--trust", "go"], 100, 30);
    terminal.wait_for("Allow this time");
    terminal.press("1\r");
    terminal.wait_for("in parentheses:");
    std::thread::sleep(Duration::from_millis(500));
    assert!(!program.project().join("RAN").exists(), "{}", terminal.all());
}

/// The rules that there are.
fn rules(program: &Program) -> String {
    program.run(&["rules"]).stdout
}

#[test]
fn always_and_never_take_no_effect_before_the_rule_was_seen_and_confirmed() {
    for (key, verdict) in [("2", "allow run_command: touch made"), ("4", "deny run_command: touch made")] {
        let program = trusted();
        program.provider.push(runs("touch made"));
        program.provider.always(says("Well."));
        let terminal = Terminal::start(&program, &[], 100, 30);
        say(&terminal, "go");
        terminal.answer("Run this command?", key);
        terminal.wait_for(verdict);
        terminal.press(key);
        terminal.press(ENTER);
        terminal.wait_for("number or enter to answer");
        assert!(!rules(&program).contains("touch made"), "nothing is made by the same key twice");
        terminal.press(key);
        terminal.wait_for("y add the rule");
        terminal.press("y");
        terminal.wait_for("Well.");
        assert!(rules(&program).contains(verdict), "{}", rules(&program));
        assert_eq!(program.project().join("made").exists(), key == "2");
    }
}

#[test]
fn a_rule_is_never_made_by_one_line_at_a_prompt() {
    for arguments in [&["run", "--trust", "go"][..], &["--plain"][..]] {
        let program = trusted();
        program.provider.push(runs("touch made"));
        program.provider.always(says("Well."));
        let terminal = Terminal::start(&program, arguments, 100, 30);
        if arguments == ["--plain"] {
            terminal.wait_for(">");
            terminal.press("go\r");
        }
        terminal.wait_for("in parentheses:");
        terminal.press("4\r");
        terminal.wait_for("This adds a rule: deny run_command: touch made");
        terminal.press("4\r");
        terminal.wait_for("No rule added.");
        assert!(!rules(&program).contains("touch made"));
        terminal.press("never\r");
        terminal.wait_until("the rule again", |screen| screen.matches("This adds a rule").count() == 2);
        terminal.press("yes\r");
        terminal.wait_for("Well.");
        assert!(rules(&program).contains("deny run_command: touch made"), "{arguments:?}");
    }
}

#[test]
fn a_script_that_answers_always_is_told_the_rule() {
    let program = trusted();
    program.provider.push(runs("touch made"));
    program.provider.always(says("Well."));
    let asked = program.run(&["run", "--json", "go"]);
    assert_eq!(asked.code, Some(3), "{asked:?}");
    let answered = program.run(&["answer", "always"]);
    assert!(answered.stderr.contains("new rule: allow run_command: touch made"), "{answered:?}");
}

#[test]
fn the_number_of_an_answer_never_moves() {
    let program = trusted();
    std::fs::create_dir(program.project().join("victim")).expect("a folder");
    program.provider.push(runs("rm -rf victim"));
    let terminal = Terminal::start(&program, &[], 100, 30);
    say(&terminal, "go");
    terminal.wait_for("number or enter to answer");
    let asked = terminal.screen();
    assert!(asked.contains("1. Allow this time (y)") && asked.contains("3. Wait and tell"), "{asked}");
    assert!(asked.contains("4. Never allow"), "{asked}");
    terminal.press("3");
    terminal.wait_for("What should be done differently?");
    assert!(!rules(&program).contains("victim") && program.project().join("victim").exists());
}

#[test]
fn a_note_never_becomes_a_part_of_the_command() {
    let program = trusted();
    program.provider.push(runs("touch made"));
    program.provider.always(says("Well."));
    let terminal = Terminal::start(&program, &[], 100, 30);
    say(&terminal, "go");
    terminal.answer("Run this command?", "\t");
    terminal.wait_for("A note to the model");
    terminal.press("1 then use a branch");
    terminal.wait_for("use a branch");
    assert!(!program.project().join("made").exists(), "no digit answers while words are written");
    terminal.press(ENTER);
    terminal.wait_for("Well.");
    assert!(program.project().join("made").exists());
    let heard = || program.provider.requests().iter().any(|request| request.body.to_string().contains("use a branch"));
    for _ in 0..100 {
        if heard() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(heard(), "the model reads the note");
    let names: Vec<_> =
        std::fs::read_dir(program.project()).expect("a folder").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["made"], "and nothing else ran");
}
