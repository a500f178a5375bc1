//! Defects that a daily user met in the first version, each through a real terminal.

use super::*;

const TAB: &str = "\t";
const ALT_UP: &str = "\x1b[1;3A";

fn lines(from: u32, upto: u32) -> Vec<String> {
    (from..=upto).map(|number| format!("LINE{number:02} some words of an answer\n\n")).collect()
}

/// The numbers of the lines that were printed, in the order of the screen.
fn numbers(all: &str) -> Vec<u32> {
    all.lines().filter_map(|line| line.strip_prefix("LINE")?.get(..2)?.parse().ok()).collect()
}

fn type_text(terminal: &Terminal, words: &str) {
    terminal.press(words);
    let last: String = words.chars().rev().take(6).collect::<Vec<_>>().into_iter().rev().collect();
    terminal.wait_for(&last);
}

/// D1, D12: whatever is queued, steered, and taken back during a reply, each line is printed once.
#[test]
fn the_scrollback_is_the_conversation() {
    for keys in ["queue", "queue and take back", "steer", "steer, queue, and take back"] {
        let program = program();
        let gate = program.provider.gate();
        program.provider.push(Answer::anthropic(Reply::new().text(lines(1, 40))).gated(&gate));
        program.provider.push(says("SECOND end."));
        program.provider.push(says("THIRD end."));
        let terminal = Terminal::start(&program, &[], 100, 30);
        say(&terminal, "Count");
        gate.release(20);
        terminal.wait_for("LINE10");
        if keys.contains("steer") {
            type_text(&terminal, "steer words");
            terminal.press(ENTER);
            terminal.wait_for("steers: steer words");
        }
        if keys.contains("queue") {
            type_text(&terminal, "queue words");
            terminal.press(TAB);
            terminal.wait_for("queued: queue words");
        }
        if keys.contains("take back") {
            terminal.press(ALT_UP);
            terminal.wait_until_gone("queued: queue words");
        }
        gate.open();
        terminal.wait_for(if keys == "queue and take back" { "LINE40" } else { "SECOND end." });
        terminal.wait_until("the end", |screen| screen.contains("Done") && !screen.contains("esc stops"));
        terminal.settled();
        let all = terminal.all();
        assert_eq!(numbers(&all), (1..=40).collect::<Vec<_>>(), "{keys}\n{all}");
        // What was taken back stands in the input, and nowhere else.
        assert_eq!(all.matches("› queue words").count(), usize::from(keys.contains("queue")), "{keys}\n{all}");
        assert_eq!(all.matches("› steer words").count(), usize::from(keys.contains("steer")), "{keys}\n{all}");
    }
}

/// Writes and then waits in one process. A shell that is about to start its next command can lose a Ctrl-C.
const WAITING: &str = "!echo begun > b; exec tail -f b";

/// D2: Ctrl-C goes to the command, and its number is shown. Its output is part of the next message.
#[test]
fn ctrl_c_stops_a_command_of_ones_own_and_its_output_joins_the_next_message() {
    let program = program();
    program.provider.push(says("I see."));
    let terminal = Terminal::start(&program, &[], 100, 30);
    terminal.wait_for("? help");
    type_text(&terminal, WAITING);
    terminal.press(ENTER);
    terminal.wait_for("\nbegun");
    terminal.press(CTRL_C);
    terminal.wait_for("(exit code 130)");
    terminal.wait_for("with your next message: output of `echo begun");
    say(&terminal, "What happened?");
    terminal.wait_for("I see.");
    let sent = program.provider.requests().pop().expect("a request").body["messages"].to_string();
    assert!(sent.contains("exit code 130") && sent.contains("begun"), "{sent}");
    assert!(!terminal.screen().contains("with your next message"), "it joins one message");
    type_text(&terminal, "!test -t 1 && echo terminal; exit 3");
    terminal.press(ENTER);
    terminal.wait_for("(exit code 3)");
    assert!(terminal.all().contains("\nterminal"), "a command has a terminal: {}", terminal.all());
    terminal.wait_for("with your next message");
    terminal.press("\x18");
    terminal.wait_until_gone("with your next message");
}

/// Ctrl-C is for the command, also where whoever started the program ignores it.
#[test]
fn ctrl_c_stops_a_command_of_ones_own_although_a_script_ignores_it() {
    let program = program();
    let terminal = Terminal::start_from_script(&program, 80, 24);
    terminal.wait_for("? help");
    type_text(&terminal, WAITING);
    terminal.press(ENTER);
    terminal.wait_for("\nbegun");
    terminal.press(CTRL_C);
    terminal.wait_for("(exit code 130)");
}

/// D3: an unknown command costs nothing. Sent again, it is a message.
#[test]
fn an_unknown_slash_command_is_refused_with_the_nearest() {
    let program = program();
    program.provider.push(says("As you say."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("? help");
    type_text(&terminal, "/zzchanges");
    terminal.press(ENTER);
    terminal.wait_for("Unknown command /zzchanges. Did you mean /changes?");
    assert_eq!(program.provider.requests().len(), 0);
    terminal.press(ENTER);
    terminal.wait_for("As you say.");
    type_text(&terminal, "/clear");
    terminal.press(ENTER);
    terminal.wait_for("Your next message starts a new session.");
    assert_eq!(program.provider.requests().len(), 1);
}

/// D9: a command is not in the input at the next start.
#[test]
fn quit_leaves_no_draft() {
    let program = program();
    let mut terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("? help");
    type_text(&terminal, "/quit");
    terminal.press(ENTER);
    assert_eq!(terminal.wait(), Some(0));
    let again = Terminal::start(&program, &[], 80, 24);
    again.wait_for("Ask Trimtab to do something…");
    assert!(!again.screen().contains("/quit"), "{}", again.screen());
}

/// D15: a model that cannot be is refused at once.
#[test]
fn a_model_that_is_none_is_refused() {
    let program = program();
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("? help");
    type_text(&terminal, "/model nonsense");
    terminal.press(ENTER);
    terminal.wait_for("nonsense");
    terminal.wait_until("a refusal", |screen| screen.contains('✗'));
    assert!(!terminal.screen().contains("is used from"), "{}", terminal.screen());
}

/// A request on the command line opens the terminal UI with it.
#[test]
fn a_request_in_place_of_a_command_is_sent() {
    let program = program();
    program.provider.push(says("It is fixed."));
    let terminal = Terminal::start(&program, &["fix it please"], 80, 24);
    terminal.wait_for("It is fixed.");
    assert!(terminal.all().contains("› fix it please"), "{}", terminal.all());
}

/// `/copy` writes to the clipboard of the terminal.
#[test]
fn copy_puts_an_answer_or_a_code_block_into_the_clipboard() {
    let program = program();
    program.provider.push(says("Do this:\n\n```sh\ncargo test\n```\n"));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "How?");
    terminal.wait_for("Done");
    type_text(&terminal, "/copy 1");
    terminal.press(ENTER);
    terminal.wait_for("Copied code block 1.");
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(bytes.contains("\x1b]52;c;Y2FyZ28gdGVzdA==\x07"), "`cargo test` in base64");
    assert!(bytes.contains("\x1b]2;"), "the window has a title");
}
