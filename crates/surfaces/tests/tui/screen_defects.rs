//! More of the defects that a daily user met in the first version, each through a real terminal.

use super::*;

const CTRL_O: &str = "\x0f";
const PAGE_DOWN: &str = "\x1b[6~";

fn type_text(terminal: &Terminal, words: &str) {
    terminal.press(words);
    let last: String = words.chars().rev().take(6).collect::<Vec<_>>().into_iter().rev().collect();
    terminal.wait_for(&last);
}

fn command(program: &Program, line: &str) {
    program.provider.push(Answer::anthropic(tool("run_command", json!({"command": line}))));
}

/// No row is wider than the screen, and what is said of cut text is true.
fn flat(screen: &str) -> String {
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// D4, D5: what never ran is not called running or stopped, and no words for the model are shown. One line tells of
/// the stop.
#[test]
fn esc_at_a_permission_leaves_one_line_and_no_words_for_the_model() {
    let program = trusted();
    command(&program, "touch one");
    let terminal = Terminal::start(&program, &[], 100, 30);
    say(&terminal, "Do it");
    terminal.wait_for("Run this command?");
    terminal.settled();
    terminal.press(ESC);
    terminal.wait_for("Stopped");
    terminal.settled();
    let all = terminal.all();
    assert!(all.contains("Not run: touch one"), "{all}");
    for part in ["Running touch", "[Request interrupted", "[Conversation", "doesn't want", "STOP what"] {
        assert!(!all.contains(part), "{part} is in\n{all}");
    }
    assert_eq!(all.matches("Stopped").count(), 1, "{all}");
    terminal.press(CTRL_O);
    terminal.wait_for("touch one");
    let whole = terminal.settled();
    assert!(!whole.contains("doesn't want") && !whole.contains("STOP what"), "{whole}");
    assert!(!program.project().join("one").exists());
}

/// D6: a long change is shown up to 60 rows, then one line says how much is missing; nothing overlaps.
#[test]
fn a_long_change_is_cut_once_with_a_true_count() {
    for (width, height) in [(100, 30), (80, 24)] {
        let program = trusted();
        let text: String = (1..=124).map(|line| format!("line {line}\n")).collect();
        program.provider.push(Answer::anthropic(tool("write_file", json!({"path": "long.txt", "content": text}))));
        program.provider.push(says("It is written."));
        let terminal = Terminal::start(&program, &[], width, height);
        say(&terminal, "Write it");
        terminal.wait_for("Done");
        terminal.settled();
        let all = terminal.all();
        let shown = (1..=124).filter(|line| all.contains(&format!("+ line {line}\n"))).count();
        assert!((40..=60).contains(&shown), "{shown} lines are shown\n{all}");
        let hidden = format!("… {} more changed lines. ctrl-o", 124 - shown);
        assert!(all.contains(&hidden), "{hidden} is missing in\n{all}");
        assert!(!all.contains("hunk with") && !all.contains("are cut"), "{all}");
    }
}

/// The status line can be the line that a program of the user's own prints.
#[test]
fn the_status_line_can_be_a_program_of_the_user() {
    let mut program = trusted();
    let script = r#"printf '\033[32m%s\033[0m' "$(sed -E 's/.*"display_name":"([^"]*)".*/my line: \1/')""#;
    program.set("TRIMTAB_TUI_STATUS_COMMAND", script);
    program.provider.push(says("Hello."));
    let terminal = Terminal::start(&program, &[], 100, 30);
    terminal.wait_for("my line: claude-sonnet");
    say(&terminal, "Hi");
    terminal.wait_for("Hello.");
    let screen = terminal.settled();
    assert!(screen.contains("my line:") && screen.contains("help") && !screen.contains("context"), "{screen}");
}

/// D7: Tab on an answer adds a note for the model, and changes no command.
#[test]
fn tab_adds_a_note_and_leaves_the_command_alone() {
    let program = trusted();
    command(&program, "touch one");
    program.provider.push(says("I have read your note."));
    let terminal = Terminal::start(&program, &[], 100, 30);
    say(&terminal, "Do it");
    terminal.answer("Run this command?", "\t");
    terminal.settled();
    type_text(&terminal, "use a branch");
    terminal.press(ENTER);
    terminal.wait_for("I have read your note.");
    assert!(program.project().join("one").exists(), "the command ran as it was");
    let sent = program.provider.requests().pop().expect("a request").body["messages"].to_string();
    assert!(sent.contains("use a branch") && !sent.contains("touch oneuse"), "{sent}");
}

/// D10: the clock beside a command is the command's, not the request's.
#[test]
fn the_clock_of_a_command_begins_with_the_command() {
    let program = trusted();
    command(&program, "touch one && sleep 2");
    program.provider.push(says("It slept."));
    let terminal = Terminal::start(&program, &[], 100, 30);
    let asked = std::time::Instant::now();
    say(&terminal, "Do it");
    terminal.wait_for("Run this command?");
    let waits = std::time::Duration::from_secs(4);
    std::thread::sleep(waits);
    let answered = std::time::Instant::now();
    terminal.answer("Run this command?", "1");
    let shown = |screen: &str| screen.contains("Running touch one") && screen.contains("esc stops");
    let running = terminal.wait_until("a running command with a clock", shown);
    let line = running.lines().find(|line| line.contains("esc stops")).expect("a line").to_owned();
    // No clock may show more than has passed since the answer, however slow the machine is.
    let most = answered.elapsed().as_secs_f64() + 0.1;
    let clocks: Vec<f64> =
        line.split([' ', '(', ')']).filter_map(|word| word.trim_end_matches('s').parse().ok()).collect();
    assert!(!clocks.is_empty() && clocks.iter().all(|clock| *clock <= most.max(2.0)), "{line}");
    terminal.wait_for("It slept.");
    terminal.wait_for("Done");
    let all = terminal.all();
    let done = all.lines().find(|line| line.contains("✓ Done")).expect("an end").to_owned();
    let seconds: f64 = done.split(" · ").nth(1).and_then(|part| part.strip_suffix(" s")?.parse().ok()).unwrap_or(0.0);
    let most = (asked.elapsed() - waits).as_secs_f64() + 0.1;
    assert!(seconds > 0.0 && seconds <= most, "the question's time does not count: {done}");
}

/// D11: thinking shows as it comes, and stands above the answer.
#[test]
fn thinking_is_shown_while_it_comes_and_stands_above_the_answer() {
    let program = program();
    let gate = program.provider.gate();
    let reply =
        Reply::new().thinking(["First I look at the numbers. ", "Then I add them. "], "sig").text(["It is four."]);
    program.provider.push(Answer::anthropic(reply).gated(&gate));
    let mut program = program;
    program.set("TRIMTAB_LIMITS_THINKING_TOKENS", "2000");
    let terminal = Terminal::start(&program, &[], 100, 30);
    say(&terminal, "Two and two?");
    gate.release(4);
    let thinking = terminal.wait_for("I look at the numbers");
    assert!(!thinking.contains("Waiting for the model"), "{thinking}");
    gate.open();
    terminal.wait_for("It is four.");
    terminal.wait_for("Done");
    let all = terminal.all();
    let (thought, answer) = (all.find("Thought").expect("a line"), all.find("It is four.").expect("an answer"));
    assert!(thought < answer, "{all}");
}

/// D13: a question that was stopped is gone, also at the next start.
#[test]
fn a_stopped_question_leaves_no_ghost() {
    let program = trusted();
    command(&program, "touch one");
    let mut terminal = Terminal::start(&program, &[], 100, 30);
    say(&terminal, "Do it");
    terminal.wait_for("Run this command?");
    terminal.settled();
    terminal.press(ESC);
    terminal.wait_for("Stopped");
    terminal.wait_until_gone("Run this command?");
    terminal.press(CTRL_C);
    terminal.wait_for("again quits");
    terminal.press(CTRL_C);
    assert_eq!(terminal.wait(), Some(0));
    let again = Terminal::start(&program, &["--continue"], 100, 30);
    again.wait_for("Not run: touch one");
    assert!(!again.settled().contains("Run this command?"), "{}", again.screen());
    assert_eq!(program.run(&["checkpoints", "--json"]).events().len(), 0);
}

/// D14: a named theme holds where the terminal does not say what its background is.
#[test]
fn a_named_theme_needs_no_answer_of_the_terminal() {
    let mut program = program();
    program.set("TRIMTAB_TUI_THEME", "dark");
    program.set("COLORTERM", "truecolor");
    program.set("TERM", "xterm-256color");
    program.provider.push(says("# A heading\n\nand `code`."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Ask");
    terminal.wait_for("Done");
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(bytes.contains("38;2;"), "colors of the theme");
}

/// D15: the list of models says nothing about servers that nobody set up.
#[test]
fn the_list_of_models_is_quiet_about_what_nobody_set_up() {
    let program = program();
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("? help");
    type_text(&terminal, "/model");
    terminal.press(ENTER);
    terminal.wait_for("Search:");
    std::thread::sleep(std::time::Duration::from_millis(500));
    terminal.press(ESC);
    terminal.wait_for("? help");
    assert!(!terminal.settled().contains('✗'), "{}", terminal.screen());
}

/// D16: the reason stays in sight at 80x24 and at 40x12.
#[test]
fn a_permission_always_shows_its_reason() {
    for (width, height) in [(80, 24), (40, 14)] {
        let program = trusted();
        let text: String = (1..=60).map(|line| format!("line {line}\n")).collect();
        std::fs::write(program.project().join("long.txt"), text).expect("writes");
        program.provider.push(Answer::anthropic(tool("delete_file", json!({"path": "long.txt"}))));
        let terminal = Terminal::start(&program, &[], width, height);
        say(&terminal, "Delete it");
        let asked = terminal.wait_until("the reason and the change", |screen| {
            screen.contains("Reason:") && (width < 80 || screen.contains("- line 1"))
        });
        assert!(flat(&asked).contains("Reason: it would delete a file"), "{asked}");
        assert!(width < 80 || (asked.contains("- line 1\n") && asked.contains("4. Never allow")), "{asked}");
    }
}

/// D17: each number means the same answer at every command.
#[test]
fn three_is_always_no() {
    for line in ["touch one", "rm -rf gone"] {
        let program = trusted();
        command(&program, line);
        let terminal = Terminal::start(&program, &[], 100, 40);
        say(&terminal, "Do it");
        let asked = terminal.wait_for("enter to answer");
        let three = asked.lines().find(|row| row.contains("3. ")).unwrap_or_else(|| panic!("{asked}"));
        assert!(three.contains("instead") || three.contains("differently"), "{line}: {three}");
        let four = asked.lines().find(|row| row.contains("4. ")).unwrap_or_else(|| panic!("{asked}"));
        assert!(four.contains("ever"), "{line}: {four}");
    }
}

/// D18: the transcript has whole commands.
#[test]
fn the_transcript_cuts_no_command() {
    let program = trusted();
    let line = format!("echo {}\necho second-line\necho the-very-end", "word ".repeat(40));
    command(&program, &line);
    program.provider.push(says("It ran."));
    let terminal = Terminal::start(&program, &[], 80, 40);
    say(&terminal, "Do it");
    let asked = terminal
        .wait_until("a question or an end", |screen| screen.contains("It ran.") || screen.contains("enter to answer"));
    if asked.contains("enter to answer") {
        terminal.settled();
        terminal.press("1");
        terminal.wait_for("It ran.");
    }
    terminal.wait_for("Done");
    terminal.press(CTRL_O);
    terminal.wait_until("the view", |_| terminal.is_covered());
    let whole = terminal.wait_for("echo second-line");
    assert!(whole.contains("echo the-very-end"), "{whole}");
    assert!(whole.lines().all(|row| row.chars().count() <= 80), "{whole}");
}

/// D20: an empty reply is not a green success.
#[test]
fn an_empty_reply_is_not_called_done() {
    let program = program();
    for _ in 0..6 {
        program.provider.push(Answer::anthropic(Reply::new()));
    }
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Say nothing");
    terminal.wait_for("empty reply");
    let all = terminal.settled();
    assert!(!all.contains("✓ Done"), "{all}");
}

/// D21: the count of folded output is the count.
#[test]
fn folded_output_is_counted_right() {
    let program = trusted();
    command(&program, "seq 300");
    program.provider.push(says("Counted."));
    let terminal = Terminal::start(&program, &[], 100, 40);
    say(&terminal, "Count");
    let asked = terminal
        .wait_until("a question or an end", |screen| screen.contains("Counted.") || screen.contains("enter to answer"));
    if asked.contains("enter to answer") {
        terminal.settled();
        terminal.press("1");
        terminal.wait_for("Counted.");
    }
    terminal.wait_for("Done");
    let all = terminal.all();
    let number = |line: &str| line.trim().parse::<u32>().ok();
    let shown = all.lines().filter_map(number).filter(|number| *number <= 300).count();
    let line = all.lines().find(|line| line.contains("300 lines") || line.contains(&format!("{} ", 300 - shown)));
    assert!(line.is_some(), "{shown} lines are shown\n{all}");
}

/// D22: whoever opens Trimtab right after the terminal was lost has the session and the draft.
#[test]
fn a_lost_terminal_is_taken_over_at_once() {
    let program = program();
    program.provider.push(says("An answer."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Ask");
    terminal.wait_for("Done");
    terminal.settled();
    type_text(&terminal, "half a thought");
    terminal.signal(Signal::HUP);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let again = Terminal::start(&program, &[], 80, 24);
    again.wait_for("half a thought");
    assert!(again.settled().contains("An answer."), "{}", again.screen());
}

/// D23: no hole is left where a dialog stood.
#[test]
fn a_closed_dialog_leaves_no_hole() {
    let program = trusted();
    command(&program, "touch one");
    let terminal = Terminal::start(&program, &[], 100, 30);
    say(&terminal, "Do it");
    terminal.wait_for("Run this command?");
    terminal.settled();
    terminal.press(ESC);
    terminal.wait_for("Stopped");
    let screen = terminal.settled();
    let rows: Vec<&str> = screen.lines().collect();
    let input = rows.iter().rposition(|row| row.starts_with('›')).expect("the input");
    let blank =
        rows[..input].iter().rev().skip_while(|row| row.starts_with('─')).take_while(|row| row.is_empty()).count();
    assert!(blank <= 3, "{blank} blank rows\n{screen}");
    assert_eq!(terminal.all().matches("Run this command?").count(), 0, "{}", terminal.all());
}

/// D24: Enter goes into the change and Esc back to the list; Enter confirms an undo. D19: the hints name these keys.
#[test]
fn the_list_of_changes_does_what_its_hints_say() {
    let program = trusted();
    program.provider.push(Answer::anthropic(tool("read_file", json!({"path": "hello.txt"}))));
    program.provider.push(Answer::anthropic(tool(
        "edit_file",
        json!({"path": "hello.txt", "blocks": [{"search": "hello world", "replace": "hello there"}]}),
    )));
    program.provider.push(says("Changed."));
    let terminal = Terminal::start(&program, &[], 100, 30);
    say(&terminal, "Change it");
    terminal.wait_for("Done");
    terminal.press("\x1bc");
    // The title is there before the changes are.
    let list = terminal.wait_for("#1 hello.txt");
    assert!(list.contains("u undo") && list.contains("esc close"), "{list}");
    terminal.press(ENTER);
    terminal.wait_for("esc back to the list");
    terminal.press(ESC);
    terminal.wait_for("esc close");
    terminal.press("r");
    terminal.wait_for("Undo 1 change?");
    terminal.press(ENTER);
    terminal.wait_for("(undone)");
    assert_eq!(std::fs::read_to_string(program.project().join("hello.txt")).expect("reads"), "hello world\n");
}

/// D25: a problem on the screen names commands of the screen.
#[test]
fn a_problem_on_the_screen_speaks_of_the_screen() {
    let mut program = program();
    program.set("TRIMTAB_LIMITS_RETRIES", "0");
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    program.provider.always(Answer::json(529, error));
    let terminal = Terminal::start(&program, &[], 100, 30);
    say(&terminal, "Ask");
    let failed = flat(&terminal.wait_for("Failed"));
    assert!(failed.contains("/model"), "{failed}");
    assert!(!failed.contains("--model") && !failed.contains("trimtab run"), "{failed}");
}

/// D26: a wrong key is refused before anything is called ready, and is asked for again.
#[test]
fn a_key_is_checked_before_the_first_start_says_that_it_is_ready() {
    let mut program = program();
    program.unset("ANTHROPIC_API_KEY");
    let refused = json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}});
    program.provider.on_path("/v1/models", Answer::json(401, refused));
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("Welcome to Trimtab.");
    terminal.press("1");
    terminal.wait_for("Paste your API key");
    terminal.press("sk-ant-bogus");
    terminal.wait_for("••••••••••••");
    terminal.press(ENTER);
    let asked = flat(&terminal.wait_for("does not accept this key"));
    assert!(asked.contains("It was not saved.") && asked.contains("Paste your API key"), "{asked}");
    assert!(!asked.contains("•••"), "the key is typed again: {asked}");
    assert!(!program.home().join("keys.toml").exists());
    program.provider.on_path("/v1/models", Answer::json(200, json!({"data": []})));
    terminal.press("sk-ant-right");
    terminal.wait_for("••••••••••••");
    terminal.press(ENTER);
    terminal.wait_for("Ready: anthropic/");
}

/// D27: Ctrl-C says what a second one does, and the request can be resumed.
#[test]
fn ctrl_c_says_what_it_does() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(Answer::anthropic(Reply::new().text(["One ", "two."])).gated(&gate));
    let terminal = Terminal::start(&program, &[], 100, 30);
    say(&terminal, "Count");
    gate.release(4);
    terminal.wait_for("One");
    terminal.press(CTRL_C);
    terminal.wait_for("again quits; a running request can be resumed");
    terminal.press(ESC);
    terminal.wait_for("Stopped");
}

/// D28: small things that said nothing, or said it twice.
#[test]
fn small_keys_say_what_they_do() {
    let program = program();
    for _ in 0..3 {
        program.provider.push(says("An answer."));
    }
    let terminal = Terminal::start(&program, &[], 80, 24);
    for _ in 0..3 {
        say(&terminal, "The same request");
        terminal.wait_for("Done");
        terminal.settled();
    }
    terminal.press("\x12");
    let history = terminal.wait_for("History:");
    assert!(history.contains("1/1"), "the same request is listed once:\n{history}");
    terminal.press(ESC);
    terminal.wait_until_gone("History:");
    for (keys, words) in [("\x13", "No draft is stashed."), ("\x1bo", "The cursor is not on pasted text.")] {
        terminal.press(keys);
        terminal.wait_for(words);
    }
    for name in ["/pause", "/skip"] {
        type_text(&terminal, name);
        terminal.press(ENTER);
        terminal.wait_for("No request is running.");
        terminal.wait_until_gone("No request is running.");
    }
    type_text(&terminal, "/export");
    terminal.press(ENTER);
    terminal.wait_for("Exported the session to");
    let names: Vec<String> = std::fs::read_dir(program.project())
        .expect("a folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    assert!(names.iter().any(|name| name.ends_with(".md")), "{names:?}");
    drop(terminal);
    let again = Terminal::start(&program, &["--continue"], 80, 40);
    again.wait_for("An answer.");
    let shown = again.settled();
    assert!(!shown.contains("Earlier") && !shown.contains("earlier part"), "{shown}");
}

/// The keys of Vim edit a message, and the mode is shown.
#[test]
fn vim_keys_edit_a_message() {
    let mut program = program();
    program.set("TRIMTAB_TUI_VIM", "true");
    program.provider.push(says("As you wish."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("INSERT · ");
    type_text(&terminal, "fix the red test");
    terminal.press(ESC);
    terminal.wait_for("NORMAL · ");
    terminal.press("bbcw");
    terminal.wait_for("INSERT · ");
    type_text(&terminal, "failing");
    terminal.press(ENTER);
    terminal.wait_for("As you wish.");
    assert!(terminal.all().contains("› fix the failing test"), "{}", terminal.all());
    terminal.wait_for("INSERT · ");
}

/// A keymap file assigns keys; what is wrong in it is said and loses nothing.
#[test]
fn a_keymap_file_and_a_theme_file_are_read_beside_the_settings() {
    let mut program = program();
    program.set("COLORTERM", "truecolor");
    program.set("TRIMTAB_TUI_THEME", "dark");
    std::fs::create_dir_all(program.home()).expect("a folder");
    std::fs::write(program.home().join("keymap.toml"), "transcript = [\"f2\"]\ntrnscript = \"f3\"\n").expect("writes");
    std::fs::write(program.home().join("theme.toml"), "accent = \"#0a141e\"\n").expect("writes");
    program.provider.push(says("An answer."));
    let terminal = Terminal::start(&program, &[], 80, 24);
    terminal.wait_for("keymap.toml: Unknown action trnscript");
    terminal.wait_for("Did you mean transcript?");
    say(&terminal, "Ask");
    terminal.wait_for("Done");
    terminal.press("\x1bOQ");
    terminal.wait_until("the transcript", |_| terminal.is_covered());
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(bytes.contains("38;2;10;20;30"), "the color of the theme file");
}

/// With the setting, the wheel scrolls a view, and below it the mouse is the terminal's.
#[test]
fn the_wheel_scrolls_a_view() {
    let mut program = program();
    program.set("TRIMTAB_TUI_MOUSE", "true");
    let text: String = (1..=80).map(|line| format!("row {line}\n\n")).collect();
    program.provider.push(says(&text));
    let terminal = Terminal::start(&program, &[], 80, 24);
    say(&terminal, "Ask");
    terminal.wait_for("Done");
    assert!(!String::from_utf8_lossy(&terminal.bytes()).contains("\x1b[?1000h"));
    terminal.press(CTRL_O);
    let end = terminal.wait_until("the transcript", |screen| terminal.is_covered() && screen.contains("row 80"));
    assert!(String::from_utf8_lossy(&terminal.bytes()).contains("\x1b[?1000h"));
    terminal.press("\x1b[<64;10;10M");
    terminal.wait_until("another page", |screen| screen != end);
    terminal.press(PAGE_DOWN);
    terminal.press(ESC);
    terminal.wait_until("the end of the view", |_| !terminal.is_covered());
    assert!(String::from_utf8_lossy(&terminal.bytes()).contains("\x1b[?1000l"));
}
