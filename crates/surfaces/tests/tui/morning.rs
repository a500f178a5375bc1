//! What a morning of work showed to be unclear, each through a real terminal.

use super::*;

const CTRL_O: &str = "\x0f";
const FOCUS_LOST: &str = "\x1b[O";

fn type_text(terminal: &Terminal, words: &str) {
    terminal.press(words);
    let last: String = words.chars().rev().take(6).collect::<Vec<_>>().into_iter().rev().collect();
    terminal.wait_for(&last);
}

/// D28: a connection that breaks in the middle of an answer leaves one plain line, and none of the parser's words.
#[test]
fn a_connection_that_breaks_leaves_one_plain_line() {
    let mut program = program();
    program.set("TRIMTAB_LIMITS_RETRIES", "2");
    let reply = || Reply::new().text(["This answer begins ", "and ends well."]);
    let begun = trimtab_testkit::provider::anthropic::stream(&reply())[..4].concat().len();
    program.provider.push(Answer::anthropic(reply()).close_after(begun));
    program.provider.push(Answer::anthropic(reply()));
    let terminal = Terminal::start(&program, &[], 100, 30);
    say(&terminal, "Ask");
    terminal.wait_for("Done");
    let all = terminal.all();
    assert_eq!(all.matches("Retried").count(), 1, "{all}");
    for part in ["chunk", "body", "EOF", "error reading"] {
        assert!(!all.contains(part), "{part} is in\n{all}");
    }
}

/// The countdown to a retry is in sight where the reason has no room.
#[test]
fn the_countdown_of_a_retry_is_in_sight_on_every_screen() {
    for (width, height) in SIZES {
        let program = program();
        let message = "This request would exceed the rate limit of your organization for this model";
        let error = json!({"type": "error", "error": {"type": "rate_limit_error", "message": message}});
        program.provider.push(Answer::json(429, error).header("retry-after", "3"));
        program.provider.push(says("Here I am."));
        let terminal = Terminal::start(&program, &[], width, height);
        say(&terminal, "Ask");
        terminal.wait_for("Retrying in ");
        terminal.wait_for("Here I am.");
        assert!(!terminal.screen().contains("Retrying in "), "{}", terminal.screen());
    }
}

/// D5: a handoff shows what a person wants to know, and none of the instructions for the model.
#[test]
fn a_handoff_shows_no_words_for_the_model() {
    let program = trusted();
    program.provider.push(says("The greeting is in hello.txt."));
    let terminal = Terminal::start(&program, &[], 100, 30);
    say(&terminal, "Where is the greeting?");
    terminal.wait_for("Done");
    terminal.settled();
    program.provider.always(says("It was asked where the greeting is."));
    type_text(&terminal, "/handoff");
    terminal.press(ENTER);
    terminal.wait_for("Continues session");
    let all = terminal.all();
    for part in ["HANDOFF", "IMPORTANT", "###", "(none)"] {
        assert!(!all.contains(part), "{part} is in\n{all}");
    }
}

/// D19: the key that ends an edit is among the hints of every width.
#[test]
fn the_plan_editor_says_how_it_is_left() {
    for (width, height) in SIZES {
        let program = trusted();
        program.provider.push(Answer::anthropic(tool("propose_plan", json!({"steps": ["Write a", "Write b"]}))));
        let terminal = Terminal::start(&program, &[], width, height);
        say(&terminal, "/plan Do both");
        terminal.answer("Approve this plan of 2 steps?", "e");
        let editor = terminal.wait_for("Edit the plan");
        assert!(editor.contains("enter save") && editor.contains("esc cancel"), "{editor}");
    }
}

/// The transcript copies the answer on its page, and one of its code blocks.
#[test]
fn the_transcript_copies_the_answer_on_its_page() {
    let program = program();
    program.provider.push(says("Do this:\n\n```sh\ncargo test\n```\n"));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "How?");
    terminal.wait_for("Done");
    terminal.press(CTRL_O);
    terminal.wait_until("the transcript", |screen| terminal.is_covered() && screen.contains("c copy answer"));
    let has = |text: &str| String::from_utf8_lossy(&terminal.bytes()).contains(text);
    terminal.press("1");
    terminal.wait_for("Copied code block 1.");
    assert!(has("\x1b]52;c;Y2FyZ28gdGVzdA==\x07"), "`cargo test` in base64");
    terminal.press("2");
    terminal.wait_for("The answer has 1 code block.");
    terminal.press("c");
    terminal.wait_for("Copied the answer.");
    assert!(has("\x1b]52;c;RG8gdGhpczoK"), "`Do this:` in base64");
}

/// Somebody who looks elsewhere is told in the way that the setting says, and nobody else is.
#[test]
fn a_notification_comes_in_the_way_that_was_chosen_and_only_without_focus() {
    for (setting, told) in [("auto", "\x1b]9;trimtab: Done"), ("osc777", "\x1b]777;notify;trimtab;Done"), ("off", "")] {
        let mut program = program();
        program.set("TRIMTAB_TUI_NOTIFY", setting);
        let gate = program.provider.gate();
        program.provider.push(says("At first."));
        program.provider.push(says("And later.").gated(&gate));
        let terminal = Terminal::start(&program, &[], 80, 24);
        let notified = || {
            let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
            bytes.contains("\x1b]9;trimtab") || bytes.contains("\x1b]777;")
        };
        say(&terminal, "Ask");
        terminal.wait_for("Done");
        terminal.settled();
        assert!(!notified(), "{setting}: the window had the focus");
        say(&terminal, "Ask again");
        terminal.press(FOCUS_LOST);
        terminal.settled();
        gate.open();
        terminal.wait_for("And later.");
        terminal.wait_until("the end", |screen| screen.matches("Done").count() == 2);
        terminal.settled();
        match told {
            "" => assert!(!notified(), "{setting}"),
            told => assert!(String::from_utf8_lossy(&terminal.bytes()).contains(told), "{setting}"),
        }
    }
}

/// What a command that is asked about would do stands in the question, and not a second time above it.
#[test]
fn a_question_is_on_the_screen_once() {
    let program = trusted();
    program.provider.push(Answer::anthropic(tool("run_command", json!({"command": "touch made"}))));
    program.provider.push(says("It is made."));
    let terminal = Terminal::start(&program, &[], 100, 30);
    say(&terminal, "Make it");
    let asked = terminal.wait_for("enter to answer");
    assert_eq!(asked.matches("touch made").count(), 1, "{asked}");
    terminal.settled();
    terminal.press("3");
    terminal.wait_for("What should be done differently?");
    terminal.press("Leave it");
    terminal.wait_for("Leave it");
    terminal.press(ENTER);
    terminal.wait_for("Done");
    assert!(terminal.all().contains("Not run: touch made"), "{}", terminal.all());
}
