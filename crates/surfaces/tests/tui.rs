//! The terminal UI: the real binary in a real pseudo-terminal whose other end understands what is written to it.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use rustix::process::Signal;
use serde_json::json;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::terminal::Terminal;

#[path = "tui/defects.rs"]
mod defects;
#[path = "tui/morning.rs"]
mod morning;
#[path = "tui/random_keys.rs"]
mod random_keys;
#[path = "tui/rewind.rs"]
mod rewind;
#[path = "tui/screen_defects.rs"]
mod screen_defects;

const SIZES: [(u16, u16); 3] = [(40, 14), (80, 24), (160, 50)];
const ENTER: &str = "\r";
const ESC: &str = "\x1b";
const CTRL_C: &str = "\x03";

fn program() -> Program {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    std::fs::write(program.project().join("hello.txt"), "hello world\n").expect("writes");
    program
}

/// A program that trusts its folder.
fn trusted() -> Program {
    let mut program = program();
    program
        .set("TRIMTAB_FOLDERS_TRUSTED", program.project().canonicalize().expect("a folder").to_str().expect("a path"));
    program
}

fn tool(name: &str, input: serde_json::Value) -> Reply {
    Reply::new().tool(format!("t-{name}"), name, [input.to_string()])
}

fn says(text: &str) -> Answer {
    Answer::anthropic(Reply::new().text([text]))
}

/// Types words and sends them.
fn say(terminal: &Terminal, words: &str) {
    terminal.wait_for("?");
    terminal.press(words);
    // What is typed at once is taken for a paste by no one, but must be there before it is sent.
    let last: String = words.chars().rev().take(6).collect::<Vec<_>>().into_iter().rev().collect();
    terminal.wait_for(&last);
    terminal.press(ENTER);
}

#[test]
fn a_typed_line_becomes_a_request_and_its_answer_stands_above_the_input() {
    for (width, height) in SIZES {
        let program = program();
        program.provider.push(says("A trim tab steers the rudder."));
        let terminal = Terminal::start(&program, &[], width, height);
        say(&terminal, "What is Trimtab?");
        terminal.wait_for("Done");
        let all = terminal.all();
        assert!(all.contains("› What is Trimtab?") && all.contains("A trim tab steers the rudder."), "{all}");
        assert_eq!(program.provider.requests().len(), 1);
    }
}

/// The manual checklist of the design documents, as a test: a complex task, tools by themselves, the wait,
/// the interrupt message, new instructions, nothing that runs after the abort.
#[test]
fn the_manual_checklist_holds_at_three_sizes() {
    for (width, height) in SIZES {
        let program = trusted();
        let provider = &program.provider;
        provider.push(Answer::anthropic(Reply::new().text(["I look first."]).tool(
            "a",
            "read_file",
            [json!({"path": "hello.txt"}).to_string()],
        )));
        provider.push(Answer::anthropic(tool(
            "edit_file",
            json!({"path": "hello.txt", "blocks": [
            {"search": "hello world", "replace": "hello there"}]}),
        )));
        let run = |id: &str, command: &str| (id.to_owned(), json!({ "command": command }).to_string());
        let mut three = Reply::new();
        for (id, input) in [run("x", "touch one"), run("y", "touch two"), run("z", "touch three")] {
            three = three.tool(id, "run_command", [input]);
        }
        provider.push(Answer::anthropic(three));
        provider.push(says("I leave the files alone."));
        let terminal = Terminal::start(&program, &[], width, height);
        say(&terminal, "Do it all");

        // Tools ran by themselves up to the first command, which asks.
        let asked = terminal.wait_for("Run this command?");
        assert!(asked.contains("touch one"), "{asked}");
        let changed = std::fs::read_to_string(program.project().join("hello.txt")).expect("reads");
        assert_eq!(changed, "hello there\n");

        // Wait: everything stops at once, and the message appears.
        terminal.answer("Run this command?", "3");
        terminal.wait_for("What should be done differently?");
        let all = terminal.all();
        let flat = all.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("[Tool execution interrupted - waiting for user feedback]"), "{all}");
        assert!(!program.project().join("one").exists(), "nothing runs after the wait");

        // New instructions, and the conversation goes on with a valid request.
        terminal.press("Leave the files alone");
        terminal.wait_for("alone");
        terminal.press(ENTER);
        terminal.wait_for("Done");
        let all = terminal.all();
        assert!(all.contains("I leave the files alone."), "{all}");
        for name in ["one", "two", "three"] {
            assert!(!program.project().join(name).exists(), "{name} must not run");
        }
        for line in ["› Do it all", "I look first.", "● Read hello.txt", "● Changed hello.txt"] {
            assert!(all.contains(line), "{line} is missing in\n{all}");
        }
        let last = provider.requests().pop().expect("a request").body;
        let answered = last["messages"].to_string();
        assert!(answered.matches("\"tool_result\"").count() >= 5, "every tool use has its result: {answered}");
    }
}

#[test]
fn esc_stops_the_stream_and_the_session_goes_on() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(Answer::anthropic(Reply::new().text(["One ", "two ", "three ", "four."])).gated(&gate));
    program.provider.push(says("Here again."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Count");
    gate.release(4);
    terminal.wait_for("One");
    terminal.press(ESC);
    terminal.wait_for("Stopped");
    say(&terminal, "Go on then");
    terminal.wait_for("Here again.");
}

#[test]
fn ctrl_c_twice_leaves_and_the_terminal_is_as_it_was() {
    let program = program();
    let mut terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("? help");
    terminal.press(CTRL_C);
    terminal.wait_for("again quits");
    terminal.press(CTRL_C);
    assert_eq!(terminal.wait(), Some(0));
    terminal.with_screen(|screen| {
        assert!(!screen.hide_cursor() && !screen.bracketed_paste() && !screen.alternate_screen());
    });
    assert!(!terminal.screen().contains("? help"), "nothing of the live region is left");
}

#[test]
fn a_kill_in_mid_stream_loses_nothing_and_starting_again_goes_on() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(Answer::anthropic(Reply::new().text(["One ", "two ", "three."])).gated(&gate));
    program.provider.push(says("One two three four."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Count to four");
    gate.release(4);
    terminal.wait_for("One");
    terminal.signal(Signal::KILL);
    drop(terminal);
    let again = Terminal::start(&program, &[], 80, 24);
    again.wait_for("One two three four.");
    again.wait_for("Done");
    assert!(again.all().contains("› Count to four"), "{}", again.all());
}

#[test]
fn a_kill_in_front_of_a_question_asks_it_again_and_its_answer_counts() {
    let program = trusted();
    program.provider.push(Answer::anthropic(tool("run_command", json!({"command": "touch made"}))));
    program.provider.push(says("It is made."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Make it");
    terminal.wait_for("Run this command?");
    let before = terminal.wait_for("enter to answer");
    terminal.signal(Signal::KILL);
    drop(terminal);
    let again = Terminal::start(&program, &[], 80, 24);
    let after = again.wait_for("Run this command?");
    let dialog =
        |screen: &str| screen.lines().skip_while(|line| !line.starts_with('─')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(dialog(&before), dialog(&after), "the same question");
    again.answer("Run this command?", "1");
    again.wait_for("It is made.");
    assert!(program.project().join("made").exists());
}

#[test]
fn a_question_that_is_answered_elsewhere_closes() {
    let program = trusted();
    program.provider.push(Answer::anthropic(tool("run_command", json!({"command": "touch made"}))));
    program.provider.push(says("It is made."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Make it");
    terminal.wait_for("Run this command?");
    let listed = program.run(&["checkpoints", "--json"]);
    let checkpoint = listed.events()[0]["checkpoint"].as_str().expect("a checkpoint").to_owned();
    program.spawn(&["answer", &checkpoint, "allow"]).wait();
    terminal.wait_for("It is made.");
    assert!(!terminal.screen().contains("Run this command?"));
}

#[test]
fn a_lost_terminal_leaves_the_request_resumable() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(Answer::anthropic(Reply::new().text(["One ", "two."])).gated(&gate));
    program.provider.push(says("Said after all."));
    let mut terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Say it");
    gate.release(4);
    terminal.wait_for("One");
    terminal.signal(Signal::HUP);
    assert_eq!(terminal.wait(), Some(129));
    let resumed = program.run(&["resume"]);
    assert!(resumed.stdout.contains("Said after all."), "{resumed:?}");
}

/// A debug build has a command that is a defect.
#[cfg(debug_assertions)]
#[test]
fn a_panic_gives_the_terminal_back_says_what_happened_and_loses_nothing() {
    let program = trusted();
    program.provider.push(Answer::anthropic(tool("run_command", json!({"command": "touch made"}))));
    program.provider.push(says("It is made."));
    let mut terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Make it");
    terminal.wait_for("Run this command?");
    terminal.press("\x1bq");
    terminal.wait_for("1 pending question");
    terminal.press("/panic");
    terminal.wait_for("› /panic");
    terminal.press(ENTER);
    assert_eq!(terminal.wait(), Some(101));
    terminal.wait_for("a defect, made on purpose");
    terminal.with_screen(|screen| {
        assert!(!screen.hide_cursor() && !screen.bracketed_paste() && !screen.alternate_screen());
    });
    assert!(terminal.is_plain(), "what is typed is shown again, and Ctrl-C ends programs again");
    drop(terminal);
    let again = Terminal::start(&program, &[], 80, 24);
    again.answer("Run this command?", "1");
    again.wait_for("It is made.");
}

#[test]
fn a_new_size_at_any_time_loses_no_line() {
    let program = program();
    let lines: String = (1..=40).map(|number| format!("line {number}\n\n")).collect();
    program.provider.push(says(&lines));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Count");
    terminal.wait_for("Done");
    for (width, height) in [(60, 20), (100, 30), (30, 10), (20, 6), (80, 24)] {
        terminal.resize(width, height);
        terminal.settled();
    }
    let all = terminal.all();
    for number in 1..=40 {
        assert_eq!(all.matches(&format!("line {number}\n")).count(), 1, "line {number} of\n{all}");
    }
}

#[test]
fn the_screen_is_never_cleared_and_views_restore_it() {
    let program = program();
    program.provider.push(says("An answer."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Ask");
    terminal.wait_for("Done");
    let before = terminal.settled();
    for key in ["?", "\x0f"] {
        terminal.press(key);
        terminal.wait_until("a view", |_| terminal.is_covered());
        terminal.settled();
        terminal.press(ESC);
        terminal.wait_until("the view is closed", |_| !terminal.is_covered());
        assert_eq!(terminal.settled(), before);
    }
    let bytes = terminal.bytes();
    for clear in [&b"\x1b[2J"[..], b"\x1b[3J", b"\x1bc", b"\x1b[J", b"\x1b[0J"] {
        assert!(!bytes.windows(clear.len()).any(|window| window == clear), "{clear:?}");
    }
}

/// Whether words are in a file by now, so that they outlive anything.
fn is_kept(drawer: &std::path::Path, words: &str) -> bool {
    let files = std::fs::read_dir(drawer).into_iter().flatten().flatten();
    // A file whose name begins with a dot is still being written.
    let whole = files.filter(|file| !file.file_name().to_string_lossy().starts_with('.'));
    whole.filter_map(|file| std::fs::read_to_string(file.path()).ok()).any(|text| text.contains(words))
}

#[test]
fn a_draft_outlives_a_kill() {
    let program = program();
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("? help");
    terminal.press("half a thought");
    terminal.wait_for("half a thought");
    let drawer = program.home().join("drawer");
    terminal.wait_until("the draft in its file", |_| is_kept(&drawer, "half a thought"));
    terminal.signal(Signal::KILL);
    drop(terminal);
    let again = Terminal::start(&program, &[], 80, 24);
    again.wait_for("› half a thought");
}

#[test]
fn words_that_were_sent_just_before_a_kill_are_said_once_and_do_not_stand_in_the_input() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(says("Here it is.").gated(&gate));
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("? help");
    terminal.press("Tell me everything");
    let drawer = program.home().join("drawer");
    terminal.wait_until("the draft in its file", |_| is_kept(&drawer, "Tell me everything"));
    terminal.press(ENTER);
    program.provider.block_on(program.provider.wait_for_requests(1));
    // A draft is written down a few times a second at most; that it was sent is in its file before it is.
    terminal.signal(Signal::KILL);
    drop(terminal);
    program.provider.push(says("Here it is."));
    gate.open();
    let again = Terminal::start(&program, &[], 80, 24);
    // Somebody is quick, and presses it again before the conversation is on the screen.
    again.press(ENTER);
    again.wait_for("Done");
    let screen = again.settled();
    let input = screen.lines().rev().find(|line| line.starts_with('›')).expect("an input");
    assert!(!input.contains("Tell me everything"), "{screen}");
    assert_eq!(again.all().matches("› Tell me everything").count(), 1, "{}", again.all());
    let database = rusqlite::Connection::open(program.home().join("trimtab.db")).expect("opens");
    let said = "SELECT count(*) FROM events WHERE event LIKE '%\"request.received\"%'";
    assert_eq!(database.query_row(said, [], |row| row.get::<_, i64>(0)).expect("a number"), 1);
}

#[test]
fn of_what_was_on_its_way_only_what_never_arrived_stands_in_the_input_again() {
    let program = program();
    program.provider.push(says("One."));
    let mut terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("? help");
    terminal.press("Say one thing");
    let drawer = program.home().join("drawer");
    terminal.wait_until("the draft in its file", |_| is_kept(&drawer, "Say one thing"));
    let files = std::fs::read_dir(&drawer).expect("a folder").flatten();
    let file = files.map(|file| file.path()).find(|path| path.to_string_lossy().contains("/draft-")).expect("a draft");
    let kept = std::fs::read_to_string(&file).expect("a draft");
    let message = serde_json::from_str::<serde_json::Value>(&kept).expect("a draft")["draft"].take();
    terminal.press(ENTER);
    terminal.wait_for("One.");
    terminal.press(CTRL_C);
    terminal.press(CTRL_C);
    terminal.wait();
    let database = rusqlite::Connection::open(program.home().join("trimtab.db")).expect("opens");
    let known: String = database.query_row("SELECT request FROM jobs", [], |row| row.get(0)).expect("a request");
    let unknown = format!("{known}x");
    // As a kill leaves it between the two notes: that a message is on its way, and that it has arrived. The session
    // that it went to is not the one that is opened next.
    for (request, is_lost) in [(&known, false), (&unknown, true)] {
        let kept = json!({"draft": [], "sending": [{"request": request, "draft": message}]});
        std::fs::write(&file, kept.to_string()).expect("writes");
        let mut again = Terminal::start(&program, &[], 80, 24);
        again.wait_for("Type a request, or press");
        if is_lost {
            again.wait_for("› Say one thing");
        }
        let screen = again.settled();
        let line = screen.lines().rev().find(|line| line.starts_with('›')).expect("an input");
        assert_eq!(line.contains("Say one thing"), is_lost, "{screen}");
        for _ in 0..3 {
            again.press(CTRL_C);
        }
        again.wait();
    }
}

#[test]
fn a_key_writes_no_more_than_what_it_changed() {
    let program = program();
    program.provider.push(says(&"A line of an answer.\n\n".repeat(30)));
    let terminal = Terminal::start(&program, &[], 160, 50);
    say(&terminal, "Fill the screen");
    terminal.wait_for("Done");
    terminal.settled();
    let before = terminal.bytes().len();
    terminal.press("x");
    terminal.wait_for("› x");
    terminal.settled();
    let written = terminal.bytes().len() - before;
    // The hint of the empty input goes, the letter comes; a screen of this size has eight thousand cells.
    assert!(written < 600, "{written} bytes for one key");
    terminal.press("y");
    terminal.wait_for("› xy");
    terminal.settled();
    let second = terminal.bytes().len() - before - written;
    assert!(second < 100, "{second} bytes for one more");
}

#[test]
fn the_demonstration_lets_one_try_a_piece_of_work() {
    let program = program();
    let mut terminal = Terminal::start(&program, &["demo", "--tui"], 100, 40);
    terminal.wait_for("Make greet.sh work without a name");
    terminal.press(ENTER);
    for (asked, answer) in [
        // What can be chosen; the question itself stays in the conversation.
        ("1. Yes, I trust this folder", "1"),
        ("1. Hello, stranger!", "1"),
        ("1. Approve", "1"),
    ] {
        terminal.answer(asked, answer);
        terminal.wait_until_gone(asked);
    }
    terminal.wait_for("Changed greet.sh");
    terminal.press(CTRL_C);
    terminal.wait_for("again quits");
    terminal.press(CTRL_C);
    assert_eq!(terminal.wait(), Some(0));
}

#[test]
fn half_an_answer_outlives_a_kill() {
    let program = trusted();
    program.provider.push(Answer::anthropic(tool("run_command", json!({"command": "touch made"}))));
    program.provider.push(says("It is made."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Make it");
    terminal.answer("Run this command?", "e");
    terminal.wait_for("Run this instead");
    terminal.press(" too");
    terminal.wait_for("› touch made too");
    let drawer = program.home().join("drawer");
    terminal.wait_until("the answer in its file", |_| is_kept(&drawer, "touch made too"));
    terminal.signal(Signal::KILL);
    drop(terminal);
    let again = Terminal::start(&program, &[], 80, 24);
    again.wait_for("› touch made too");
    again.press(ENTER);
    // What a person has edited is judged and asked about like anything else.
    again.answer("You edited the command.", "1");
    again.wait_for("It is made.");
    assert!(program.project().join("too").exists());
}

#[test]
fn a_second_terminal_begins_a_session_of_its_own_and_can_join_the_first() {
    let program = trusted();
    let gate = program.provider.gate();
    program.provider.push(Answer::anthropic(tool("run_command", json!({"command": "touch made"}))));
    program.provider.push(Answer::anthropic(Reply::new().text(["It is ", "made."])).gated(&gate));
    program.provider.push(says("Said to both."));
    let first = Terminal::start(&program, &[], 80, 24);
    say(&first, "Make it");
    first.wait_for("Run this command?");
    let second = Terminal::start(&program, &[], 80, 24);
    second.wait_for("Type a request, or press");
    assert!(!second.screen().contains("Run this command?"));
    // It joins, and answers; the first goes on with the answer.
    second.press("\x1bs");
    second.wait_for("Make it");
    second.press(ENTER);
    second.answer("Run this command?", "1");
    first.wait_until_gone("Run this command?");
    gate.open();
    first.wait_for("It is made.");
    second.wait_for("It is made.");
    // What is said in one is seen in both.
    say(&second, "And now?");
    second.wait_for("Said to both.");
    first.wait_for("Said to both.");
}

#[test]
fn without_a_model_the_first_start_asks_for_one() {
    let mut program = program();
    program.unset("ANTHROPIC_API_KEY");
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("Welcome to Trimtab.");
    terminal.press("8");
    terminal.wait_for("Ready: replay/demo");
    terminal.press(ESC);
    terminal.settled();
    terminal.press("\x1bm");
    terminal.wait_for("chat:");
    say(&terminal, "What is Trimtab?");
    terminal.wait_for("It saves");
}

#[test]
fn whoever_put_the_choice_of_a_model_off_is_asked_again_once_it_matters() {
    let mut program = program();
    program.unset("ANTHROPIC_API_KEY");
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("Welcome to Trimtab.");
    terminal.press(ESC);
    terminal.wait_for("Ask Trimtab to do something…");
    say(&terminal, "What is Trimtab?");
    terminal.wait_for("Welcome to Trimtab.");
    terminal.press("8");
    terminal.wait_for("Ready: replay/demo");
    // What was said stands in the input again.
    terminal.wait_for("› What is Trimtab?");
}

#[test]
fn a_key_that_was_refused_is_replaced_without_a_new_start() {
    let mut program = program();
    program.unset("ANTHROPIC_API_KEY");
    let refused = json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}});
    program.provider.push(Answer::json(401, refused));
    program.provider.push(says("Here I am."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("Welcome to Trimtab.");
    let give = |key: &str| {
        terminal.press("1");
        terminal.wait_for("Paste your API key");
        terminal.press(key);
        terminal.wait_for(&"•".repeat(key.len()));
        terminal.press(ENTER);
        terminal.wait_until_gone("Paste your API key");
    };
    give("key-of-yesterday");
    say(&terminal, "Are you there?");
    terminal.wait_for("/setup changes the key.");
    say(&terminal, "/setup");
    terminal.wait_for("Which model do you want to use?");
    give("key-of-today");
    say(&terminal, "And now?");
    terminal.wait_for("Here I am.");
    let requests = program.provider.requests();
    let keys: Vec<_> = requests.iter().map(|request| request.header("x-api-key")).collect();
    assert_eq!(keys, [Some("key-of-yesterday"), Some("key-of-today")], "in the same session");
}

#[test]
fn plain_lines_are_enough_to_work_with() {
    let program = trusted();
    program.provider.push(Answer::anthropic(tool("run_command", json!({"command": "touch made"}))));
    program.provider.push(says("It is made."));
    program.provider.push(says("It was."));
    let mut terminal = Terminal::start(&program, &["--plain"], 80, 24);
    terminal.wait_for("Trimtab in plain lines.");
    terminal.press("Make it\n");
    terminal.wait_for("in parentheses:");
    terminal.press("1\n");
    terminal.wait_for("It is made.");
    assert!(program.project().join("made").exists());
    terminal.wait_until("the next prompt", |screen| screen.lines().last().is_some_and(|line| line.starts_with('>')));
    terminal.press("Was it?\n");
    terminal.wait_for("It was.");
    terminal.press("/quit\n");
    assert_eq!(terminal.wait(), Some(0));
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(!bytes.contains("\x1b[?2026h") && !bytes.contains("\x1b[?1049h"), "nothing is drawn over");
}

#[test]
fn a_session_is_forked_named_and_written_into_a_file() {
    let program = program();
    for answer in ["The first answer.", "The second answer.", "Another second answer."] {
        program.provider.push(says(answer));
    }
    let terminal = Terminal::start(&program, &[], 100, 30);
    say(&terminal, "First question");
    terminal.wait_for("The first answer.");
    terminal.wait_for("Done");
    say(&terminal, "Second question");
    terminal.wait_for("The second answer.");
    terminal.press("/fork ");
    terminal.wait_for("› /fork");
    terminal.press(ENTER);
    terminal.wait_for("Before: Second question");
    terminal.press("\x1b[B");
    terminal.settled();
    terminal.press(ENTER);
    terminal.wait_for("Forked from session");
    terminal.wait_until("its words in the input", |screen| {
        screen.trim_end().lines().rev().nth(1) == Some("› Second question")
    });
    terminal.press(" again");
    terminal.wait_for("› Second question again");
    terminal.press(ENTER);
    terminal.wait_for("Another second answer.");
    let sent = program.provider.requests().pop().expect("a request").body["messages"].to_string();
    assert!(sent.contains("The first answer.") && !sent.contains("The second answer."), "{sent}");
    say(&terminal, "/rename Another way");
    terminal.wait_for("Renamed the session to “Another way”");
    let exported = |form: &str, file: &str| {
        terminal.press(&format!("/export {form}"));
        terminal.wait_for(&format!("› /export {form}"));
        terminal.press(ENTER);
        terminal
            .wait_until(file, |screen| screen.contains("Exported the session to trimtab-") && screen.contains(file));
    };
    exported("json", ".json");
    exported("md", ".md");
    let listed = program.run(&["sessions", "list", "--json"]).events();
    assert_eq!(listed.len(), 2);
    let fork = listed.iter().find(|row| row["title"] == "Another way").expect("it has its name");
    let file = program.project().join(format!("trimtab-{}.json", fork["id"].as_str().expect("a name")));
    let text = std::fs::read_to_string(file).expect("a file");
    let written: serde_json::Value = serde_json::from_str(&text).expect("one JSON object");
    assert_eq!(written["title"], "Another way");
    let file = program.project().join(format!("trimtab-{}.md", fork["id"].as_str().expect("a name")));
    let text = std::fs::read_to_string(file).expect("a file");
    assert!(text.contains("> Second question again") && text.contains("\nAnother second answer."), "{text}");
}
