//! Going back to an earlier message, through a real terminal.

use super::*;

/// A session of two requests, the second of which changed the file.
fn worked(terminal: &Terminal, program: &Program) {
    program.provider.push(says("First answer."));
    program.provider.push(Answer::anthropic(tool("read_file", json!({"path": "hello.txt"}))));
    program.provider.push(Answer::anthropic(tool(
        "edit_file",
        json!({"path": "hello.txt", "blocks": [{"search": "hello world", "replace": "hello there"}]}),
    )));
    program.provider.push(says("Second answer."));
    say(terminal, "Say something");
    terminal.wait_for("First answer.");
    terminal.wait_for("Done");
    terminal.settled();
    say(terminal, "Change the greeting");
    terminal.wait_for("Second answer.");
    terminal.settled();
}

fn greeting(program: &Program) -> String {
    std::fs::read_to_string(program.project().join("hello.txt")).expect("a file")
}

#[test]
fn esc_esc_goes_back_to_a_message_with_the_files_and_back_again() {
    for (width, height) in SIZES {
        let program = trusted();
        let terminal = Terminal::start(&program, &[], width, height);
        worked(&terminal, &program);
        assert_eq!(greeting(&program), "hello there\n");
        terminal.press("a draft");
        terminal.wait_for("a draft");
        terminal.press(ESC);
        terminal.settled();
        terminal.press(ESC);
        let list = terminal.wait_for("Go back to before:");
        assert!(list.contains("› Change the greeting") && list.contains("1 chan"), "{list}");
        terminal.press(ENTER);
        // What changes back is shown before anything happens.
        let asked = terminal.wait_for("Conversation and files");
        assert!(asked.contains("Files only"), "{asked}");
        terminal.wait_for("hello world");
        assert_eq!(greeting(&program), "hello there\n");
        terminal.press(ENTER);
        terminal.wait_until_gone("Conversation and files");
        terminal.wait_for("You went back to this point.");
        terminal.wait_for("Change the greeting");
        assert_eq!(greeting(&program), "hello world\n");

        // The words stand in the input, and the draft that stood there is kept.
        program.provider.push(says("Third answer."));
        terminal.press(", please");
        terminal.wait_for("Change the greeting, please");
        terminal.press(ENTER);
        terminal.wait_for("Third answer.");
        terminal.settled();
        let prompt = program.provider.requests().pop().expect("a request").body["messages"].to_string();
        assert!(prompt.contains("First answer.") && !prompt.contains("Second answer."), "{prompt}");

        // It is undone as it was done.
        terminal.press("/rewind");
        terminal.wait_for("/rewind");
        terminal.press(ENTER);
        terminal.wait_for("Undo the rewind");
        terminal.press("undo");
        terminal.wait_until("the search", |screen| !screen.contains("Say something\n"));
        terminal.press(ENTER);
        terminal.wait_for("Conversation and files");
        terminal.press(ENTER);
        terminal.wait_until_gone("Conversation and files");
        terminal.wait_for("Second answer.");
        assert_eq!(greeting(&program), "hello there\n");
    }
}

#[test]
fn edits_of_a_person_stand_in_the_way_until_they_decide() {
    let program = trusted();
    let terminal = Terminal::start(&program, &[], 80, 24);
    worked(&terminal, &program);
    std::fs::write(program.project().join("hello.txt"), "hello there, you\n").expect("writes");
    terminal.press("/rewind");
    terminal.wait_for("/rewind");
    terminal.press(ENTER);
    terminal.wait_for("1 change");
    terminal.press(ENTER);
    terminal.wait_for("Conversation and files");
    terminal.press("3");
    terminal.wait_for("› 3. Files only");
    terminal.press(ENTER);
    terminal.wait_for("m keep your lines");
    assert_eq!(greeting(&program), "hello there, you\n");
    terminal.press("o");
    terminal.wait_for("Restored hello.txt.");
    assert_eq!(greeting(&program), "hello world\n");
    assert!(terminal.all().contains("Second answer."), "the conversation stays");
}
