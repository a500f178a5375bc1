//! Text that steers the terminal, or hides what is asked about.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::time::Duration;

use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::terminal::Terminal;

/// Writes the clipboard, sets the title, clears the screen, asks the terminal to type; turns and hides text.
const EVIL: &str = "x\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}]0;PWNTITLE\u{7}D\u{1b}[2J\u{1b}[6n\u{9b}31m\u{202e}e\u{200b}f\u{e0041}\u{feff}\u{61c}";
/// Any of these in what a terminal was sent is an attack that worked.
const RAW: [&str; 10] = [
    "\u{1b}]52",
    "\u{1b}]0;PWN",
    "D\u{1b}[2J",
    "\u{1b}[2J\u{1b}[6n",
    "\u{9b}31m",
    "\u{202e}",
    "\u{200b}",
    "\u{e0041}",
    "\u{feff}",
    "\u{61c}",
];

fn trusted() -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    let folder = program.project().canonicalize().expect("a folder");
    program.set("TRIMTAB_FOLDERS_TRUSTED", folder.to_str().expect("a path"));
    program
}

fn says(text: &str) -> Answer {
    Answer::anthropic(Reply::new().text([text]))
}

fn tool(name: &str, input: &Value) -> Answer {
    Answer::anthropic(Reply::new().tool("t1", name, [input.to_string()]))
}

fn assert_calm(terminal: &Terminal, what: &str) {
    let bytes = terminal.bytes();
    for raw in RAW {
        let is_there = bytes.windows(raw.len()).any(|part| part == raw.as_bytes());
        assert!(!is_there, "{what}: {raw:?} reached the terminal:\n{}", terminal.all());
    }
}

#[test]
fn tool_arguments_never_steer_the_terminal() {
    let calls = [
        ("read_file", json!({ "path": EVIL })),
        ("search", json!({ "pattern": EVIL })),
        ("write_file", json!({ "path": EVIL, "content": EVIL })),
        (EVIL, json!({ "path": EVIL })),
        ("ask_user", json!({ "question": EVIL, "options": [EVIL, "b"] })),
        ("run_command", json!({ "command": format!("echo {EVIL}") })),
    ];
    for arguments in [&["run", "--trust", "go"][..], &["--plain"][..], &[][..]] {
        for (name, input) in &calls {
            let program = trusted();
            let gate = program.provider.gate();
            program.provider.push(tool(name, input));
            program.provider.always(says(&format!("The end of {EVIL}")).gated(&gate));
            let terminal = Terminal::start(&program, arguments, 100, 30);
            match arguments {
                ["--plain"] => {
                    terminal.wait_for(">");
                    terminal.press("go\r");
                }
                [] => {
                    terminal.wait_for("? help");
                    terminal.press("go");
                    terminal.wait_for("› go");
                    terminal.press("\r");
                }
                _ => {}
            }
            terminal.wait_for("⟨U+001B⟩]52");
            // The line of what runs is drawn over and over meanwhile.
            std::thread::sleep(Duration::from_millis(400));
            gate.release(1_000);
            if !matches!(*name, "ask_user" | "run_command") {
                terminal.wait_for("The end of");
            }
            assert_calm(&terminal, &format!("{arguments:?} {name:?}"));
        }
    }
}

#[test]
fn an_answer_never_steers_the_terminal_and_stays_exact_in_a_pipe() {
    let program = trusted();
    program.provider.always(says(EVIL));
    let mut terminal = Terminal::start(&program, &["run", "go"], 100, 30);
    terminal.wait();
    terminal.wait_for("⟨U+202E⟩");
    assert_calm(&terminal, "run");
    let piped = program.run(&["run", "go"]);
    assert_eq!(piped.stdout, format!("{EVIL}\n"));
}

#[test]
fn a_stored_text_never_steers_the_terminal_and_stays_exact_in_a_pipe() {
    let program = trusted();
    let command = "seq 1 30000; printf '\\033]52;c;ZXZpbA==\\007\\342\\200\\256'";
    program.provider.push(tool("run_command", &json!({ "command": command })));
    program.provider.always(says("Done."));
    let ran = program.run(&["run", "--approve", "auto", "--json", "go"]);
    let (_, named) = ran.stdout.split_once("ref:output-").unwrap_or_else(|| panic!("no text is stored: {ran:?}"));
    let key = named.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().expect("a name");
    let key = format!("output-{key}");
    let key = key.as_str();
    let piped = program.run(&["ref", key]).stdout;
    assert!(piped.contains("\u{1b}]52;c;ZXZpbA==\u{7}\u{202e}"), "a pipe has it unchanged");
    let mut terminal = Terminal::start(&program, &["ref", key], 100, 30);
    terminal.wait_for("⟨U+001B⟩]52;c;ZXZpbA==⟨U+0007⟩⟨U+202E⟩");
    terminal.wait();
    assert_calm(&terminal, "ref");
    let mut raw = Terminal::start(&program, &["ref", "--raw", key], 100, 30);
    raw.wait();
    assert!(raw.bytes().windows(5).any(|part| part == b"\x1b]52;"), "unless it is asked for");
}

#[test]
fn a_command_is_never_allowed_before_its_end_was_on_the_screen() {
    let lines: Vec<String> = (0..60).map(|number| format!("echo harmless {number}")).collect();
    let command = format!("{}\nrm -rf victim", lines.join("\n"));
    for (width, height) in [(80, 24), (40, 12)] {
        let program = trusted();
        std::fs::create_dir(program.project().join("victim")).expect("a folder");
        program.provider.push(tool("run_command", &json!({ "command": command })));
        program.provider.always(says("It ran."));
        let terminal = Terminal::start(&program, &[], width, height);
        terminal.wait_for("help");
        terminal.press("go");
        terminal.wait_for("› go");
        terminal.press("\r");
        let asked = terminal.wait_until("the question", |screen| screen.contains("next page"));
        assert!(asked.contains("Reason:"), "the reason stays: {asked}");
        assert!(!asked.contains("› 1."), "what cannot be chosen is not preselected: {asked}");
        terminal.press("1");
        terminal.press("y");
        std::thread::sleep(Duration::from_millis(300));
        assert!(program.project().join("victim").exists(), "{}", terminal.screen());
        // On a small screen, what follows the command may fill the last page.
        let mut was_shown = false;
        for _ in 0..100 {
            let screen = terminal.settled();
            was_shown |= screen.contains("> rm -rf victim");
            assert!(screen.contains("Reason:"), "{screen}");
            if screen.contains("… end of") {
                break;
            }
            terminal.press(" ");
        }
        assert!(was_shown, "{}", terminal.screen());
        terminal.press("1");
        terminal.wait_for("It ran.");
    }
}

#[test]
fn blank_lines_never_push_a_command_out_of_sight() {
    let program = trusted();
    let command = format!("echo harmless{}rm -rf victim", "\n".repeat(80));
    program.provider.push(tool("run_command", &json!({ "command": command })));
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("help");
    terminal.press("go");
    terminal.wait_for("› go");
    terminal.press("\r");
    let asked = terminal.wait_for("number or enter to answer");
    for part in ["$ echo harmless", "… 79 blank lines", "> rm -rf victim", "Reason:", "Can write only there"] {
        assert!(asked.contains(part), "{part} is missing in {asked}");
    }
    let terminal = Terminal::start(&program, &["checkpoints"], 80, 24);
    terminal.wait_for("rm -rf victim");
}

#[test]
fn a_denied_command_is_never_reported_as_stopped() {
    let program = trusted();
    program.provider.push(tool("run_command", &json!({ "command": "touch made" })));
    let terminal = Terminal::start(&program, &[], 100, 30);
    terminal.wait_for("? help");
    terminal.press("go");
    terminal.wait_for("› go");
    terminal.press("\r");
    terminal.answer("Run this command?", "3");
    terminal.wait_for("What should be done differently?");
    let all = terminal.all();
    assert!(all.contains("Not run: touch made"), "{all}");
    assert!(
        !all.contains("Running touch made") && !all.contains("[Request interrupted by user for tool use]"),
        "{all}"
    );
}
