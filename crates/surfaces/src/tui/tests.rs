//! Screens as text, without a terminal: facts and keys go in, rows come out.

mod changed;
mod looks;
mod scrollback;
mod subtasks;

use ratatui::buffer::Buffer;
use ratatui::layout::Size;
use serde_json::{Value, json};
use trimtab_host::Sent;
use trimtab_vocab::{Autonomy, Control, Event, Mode, RequestId, Time, WhileRunning};

use super::app::{App, AppOptions};
use super::composer::{ComposerDraft, SavedComposer};
use super::keys::{KeyMap, TerminalInput};
use super::message::{Cmd, Msg, OutgoingMessage, UpdateContext};
use super::pane::status::{PARTS, StatusLine};
use super::theme::Theme;
use crate::palette::Palette;

/// A screen and what was printed above it.
struct Stage {
    app: App,
    printed: Vec<String>,
    now: i64,
    seq: u64,
    messages: u64,
}

impl Stage {
    fn new(width: u16, height: u16) -> Self {
        let status = StatusLine {
            model: "test/model".into(),
            folder: "~/boat".into(),
            branch: Some("main".into()),
            parts: PARTS.iter().map(|part| (*part).to_owned()).collect(),
            ..StatusLine::default()
        };
        let mut app = App::new(AppOptions {
            theme: Theme::new(Palette::Plain),
            keys: KeyMap::default(),
            size: Size { width, height },
            now: Time::from_millis(0),
            folder: "/boat".into(),
            status,
            while_running: WhileRunning::Steer,
            pills: Vec::new(),
        });
        app.session = Some("s1".parse().expect("a name"));
        Self { app, printed: Vec::new(), now: 1_000, seq: 0, messages: 0 }
    }

    fn tell(&mut self, message: Msg) -> Vec<Cmd> {
        self.messages += 1;
        let request = format!("r-new{}", self.messages).parse().expect("a name");
        self.app.update(message, UpdateContext { now: Time::from_millis(self.now), request })
    }

    /// A fact of the request r1.
    fn fact(&mut self, fact: Value) -> Vec<Cmd> {
        self.fact_of("r1", fact)
    }

    fn fact_of(&mut self, request: &str, fact: Value) -> Vec<Cmd> {
        self.seq += 1;
        let mut whole =
            json!({"seq": self.seq, "time": Time::from_millis(self.now), "session": "s1", "request": request});
        whole.as_object_mut().expect("an object").extend(fact.as_object().expect("an object").clone());
        if whole["seq"].is_null() {
            whole.as_object_mut().expect("an object").remove("seq");
        }
        let event: Event = serde_json::from_value(whole).expect("an event");
        self.tell(Msg::Events(vec![event]))
    }

    /// A question that has been there for a while.
    fn asked(&mut self, fact: Value) -> Vec<Cmd> {
        let cmds = self.fact(fact);
        self.now += 1_000;
        self.tell(Msg::Tick);
        cmds
    }

    fn said(&mut self, text: &str) {
        self.fact(
            json!({"type": "request.received", "text": text, "settings": {"model": "test/model", "maxSteps": 25}}),
        );
    }

    fn key(&mut self, key: &str) -> Vec<Cmd> {
        // A person presses a key at what they see.
        self.app.live();
        self.tell(Msg::Input(TerminalInput::Key(key.parse().expect("a key"))))
    }

    fn write(&mut self, words: &str) {
        for c in words.chars() {
            let key = if c == ' ' { "space".to_owned() } else { c.to_string() };
            self.key(&key);
        }
    }

    /// The last rows that were printed, and the live region below them.
    fn screen(&mut self) -> String {
        let height = usize::from(self.app.size.height);
        self.printed.extend(self.app.finished(usize::MAX).iter().map(ToString::to_string));
        let live = rows(&self.app.live().cells);
        assert!(live.len() <= height, "the live region fits the screen");
        let room = height - live.len();
        let from = self.printed.len().saturating_sub(room);
        let all = self.printed[from..].iter().cloned().chain(live);
        all.map(|row| row.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    fn view(&mut self) -> String {
        let cells = self.app.cover().expect("a view").cells;
        let rows = rows(&cells).into_iter().map(|row| row.trim_end().to_owned());
        rows.collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }
}

fn rows(cells: &Buffer) -> Vec<String> {
    let row = |y: u16| {
        let mut text = String::new();
        let mut x = 0;
        while x < cells.area.width {
            let symbol = cells[(x, y)].symbol();
            text.push_str(symbol);
            x += u16::try_from(unicode_width::UnicodeWidthStr::width(symbol)).expect("narrow").max(1);
        }
        text
    };
    (0..cells.area.height).map(row).collect()
}

fn permission() -> Value {
    json!({"type": "checkpoint.opened", "checkpoint": "k1", "kind": "permission",
        "title": "Run this command? rm -rf build",
        "choices": [{"id": "allow", "label": "Allow this time"}, {"id": "always", "label": "Always allow"},
            {"id": "wait", "label": "Wait and tell Trimtab what to do differently"}, {"id": "never", "label": "Never allow"}],
        "about": "tool", "call": "c1", "tool": "run_command", "input": {"command": "rm -rf build"},
        "reason": "`rm` deletes files", "ruleText": "allow run_command: rm -rf build (in /boat)",
        "rule": {"verdict": "allow", "tool": "run_command", "pattern": "rm -rf build", "folder": "/boat"},
        "plan": {"argv": ["rm", "-rf", "build"], "cwd": "/boat", "sandbox": "workspace", "timeoutS": 30},
        "fingerprint": "f"})
}

fn at_work(stage: &mut Stage) {
    stage.said("Tidy up");
    stage.fact(json!({"type": "stage", "stage": "running", "label": "Waiting for the model..."}));
    stage.fact(json!({"type": "model.called", "call": "c0", "model": "test/model", "attempt": 1}));
    stage.fact(json!({"type": "tool.started", "call": "c9", "name": "read_file", "input": {"path": "a.txt"}}));
    stage.fact(json!({"type": "tool.finished", "call": "c9", "status": "ok", "preview": "one\ntwo"}));
    stage.fact(
        json!({"type": "tool.started", "call": "c1", "name": "run_command", "input": {"command": "rm -rf build"}}),
    );
}

#[test]
fn what_was_printed_is_not_rendered_again() {
    let mut stage = Stage::new(60, 20);
    stage.said("hello");
    stage.fact(json!({"type": "reply.saved", "call": "c1", "stopReason": "end_turn", "usage": {},
        "message": {"role": "assistant", "parts": [{"type": "text", "text": "One.\n\nTwo."}]}}));
    stage.fact(json!({"type": "answer", "summary": "One.\n\nTwo."}));
    stage.fact(json!({"type": "request.finished", "status": "completed", "usage": {}}));
    assert!(!stage.app.finished(usize::MAX).is_empty());
    for _ in 0..3 {
        assert_eq!(stage.app.finished(usize::MAX).len(), 0, "finished rows belong to the terminal");
        let live = rows(&stage.app.live().cells).join("\n");
        assert!(!live.contains("One.") && !live.contains("hello"), "{live}");
    }
}

#[test]
fn a_permission_says_why_it_is_asked_and_shows_the_rule_before_it_is_saved() {
    let mut stage = Stage::new(80, 24);
    at_work(&mut stage);
    stage.asked(permission());
    insta::assert_snapshot!(stage.screen(), @"
    › Tidy up

    ● Read a.txt  2 lines
    ────────────────────────────────────────────────────────────────────────────────
    Permission
    Run this command?
      $ rm -rf build
    Reason: `rm` deletes files.
    Runs in /boat. Can write only there, and reach only allowed hosts.
    › 1. Allow this time (y)
      2. Always allow (a)
      3. Wait and tell Trimtab what to do differently (n)
      4. Never allow
    number or enter to answer · e edits the command · tab adds a note … esc stops
    auto · standard · model · ~/boat · ⎇ main                                 ? help
    ");
}

#[test]
fn a_permission_fits_the_smallest_and_a_very_wide_screen() {
    let mut small = Stage::new(20, 6);
    at_work(&mut small);
    small.asked(permission());
    insta::assert_snapshot!(small.screen(), @"
      $ rm -rf build
    Reason: `rm` delete…
    › 1. Allow this time
         (y)
      2. Always allow
    auto          ? help
    ");
    let mut wide = Stage::new(160, 50);
    at_work(&mut wide);
    wide.asked(permission());
    insta::assert_snapshot!(wide.screen(), @"
    › Tidy up

    ● Read a.txt  2 lines
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
    Permission
    Run this command?
      $ rm -rf build
    Reason: `rm` deletes files.
    Runs in /boat. Can write only there, and reach only allowed hosts.
    › 1. Allow this time (y)
      2. Always allow (a)
      3. Wait and tell Trimtab what to do differently (n)
      4. Never allow
    number or enter to answer · e edits the command · tab adds a note · alt-q later · esc stops
    auto · standard · model · ~/boat · ⎇ main                                                                                                                 ? help
    ");
}

#[test]
fn the_four_answers_have_numbers() {
    for (key, choice) in [("1", "allow"), ("2", "always"), ("3", "wait"), ("4", "never")] {
        let mut stage = Stage::new(80, 24);
        stage.said("x");
        stage.asked(permission());
        let mut cmds = stage.key(key);
        if matches!(choice, "always" | "never") {
            assert!(cmds.is_empty() && stage.key(key).is_empty(), "the same key again does not confirm it");
            assert!(stage.key("enter").is_empty(), "and Enter goes back");
            stage.key(key);
            let verdict = if choice == "always" { "allow" } else { "deny" };
            let screen = stage.screen();
            assert!(screen.contains(&format!("{verdict} run_command: rm -rf build (in /boat)")), "{screen}");
            cmds = stage.key("y");
        }
        let [Cmd::Answer(answer)] = cmds.as_slice() else { panic!("{cmds:?}") };
        assert_eq!((answer.choice.as_str(), answer.text.as_deref()), (choice, None));
        assert!(!stage.screen().contains("Run this command?"), "it is closed at once");
    }
}

/// A permission whose answer *always* has forms.
fn permission_with_forms() -> Value {
    let mut asked = permission();
    let rule = |pattern: &str, folder: Option<&str>| json!({"verdict": "allow", "tool": "run_command", "pattern": pattern, "folder": folder});
    let form = |id: &str, number: u8, rule: Value| json!({"id": id, "label": id, "number": number, "confirm": true, "rule": rule, "covers": format!("Covers {id}."), "variantOf": "always"});
    let choices = asked["choices"].as_array_mut().expect("a list");
    choices.push(form("always_prefix", 5, rule("cargo test *", Some("/boat"))));
    choices.push(form("always_everywhere", 6, rule("cargo test -q", None)));
    asked
}

#[test]
fn forms_of_always_are_offered_in_its_second_step_with_what_they_cover() {
    let mut stage = Stage::new(80, 30);
    stage.said("x");
    stage.asked(permission_with_forms());
    assert!(!stage.screen().contains("always_prefix"), "{}", stage.screen());
    assert!(stage.key("5").is_empty(), "a form is no answer of the first step");
    stage.key("2");
    let screen = stage.screen();
    for text in [
        "Which rule do you want to add?",
        "y. allow run_command: rm -rf build (in /boat)",
        "5. allow run_command: cargo test * (in /boat)",
        "Covers always_prefix.",
        "6. allow run_command: cargo test -q (everywhere)",
        "› n. Go back",
    ] {
        assert!(screen.contains(text), "{text}\n{screen}");
    }
    assert!(stage.key("2").is_empty() && stage.key("a").is_empty(), "the keys of the first step add nothing");
    assert!(stage.key("enter").is_empty() && stage.screen().contains("1. Allow this time"), "Enter goes back");
    stage.key("2");
    let cmds = stage.key("5");
    let [Cmd::Answer(answer)] = cmds.as_slice() else { panic!("{cmds:?}") };
    assert_eq!((answer.choice.as_str(), answer.text.as_deref()), ("always_prefix", None));
    // By the arrows: down from *Go back* is the first rule.
    let mut stage = Stage::new(80, 30);
    stage.said("x");
    stage.asked(permission_with_forms());
    stage.key("2");
    ["down", "down", "down"].iter().for_each(|key| drop(stage.key(key)));
    let cmds = stage.key("enter");
    let [Cmd::Answer(answer)] = cmds.as_slice() else { panic!("{cmds:?}") };
    assert_eq!(answer.choice, "always_everywhere");
}

#[test]
fn arrows_choose_and_an_answer_can_have_words() {
    let mut stage = Stage::new(80, 24);
    stage.said("x");
    stage.asked(permission());
    stage.key("down");
    stage.key("down");
    stage.key("tab");
    stage.write("use git clean");
    let cmds = stage.key("enter");
    let [Cmd::Answer(answer)] = cmds.as_slice() else { panic!("{cmds:?}") };
    assert_eq!((answer.choice.as_str(), answer.text.as_deref()), ("wait", Some("use git clean")));
}

#[test]
fn a_command_can_be_edited_before_it_runs_and_a_rule_before_it_is_made() {
    let mut stage = Stage::new(80, 24);
    stage.said("x");
    stage.asked(permission());
    stage.key("e");
    stage.write("/old");
    let cmds = stage.key("enter");
    let [Cmd::Answer(answer)] = cmds.as_slice() else { panic!("{cmds:?}") };
    assert_eq!((answer.choice.as_str(), answer.text.as_deref()), ("allow", Some("rm -rf build/old")));

    let mut stage = Stage::new(80, 24);
    stage.said("x");
    stage.asked(permission());
    stage.key("down");
    stage.key("e");
    stage.write("*");
    stage.key("enter");
    assert!(stage.screen().contains("allow run_command: rm -rf build* (in /boat)"), "{}", stage.screen());
    let cmds = stage.key("y");
    let [Cmd::Answer(answer)] = cmds.as_slice() else { panic!("{cmds:?}") };
    assert_eq!((answer.choice.as_str(), answer.text.as_deref()), ("always", Some("rm -rf build*")));
}

#[test]
fn a_note_goes_to_the_model_after_the_answer_and_is_no_other_command() {
    let mut stage = Stage::new(80, 24);
    stage.said("x");
    stage.asked(permission());
    stage.key("tab");
    stage.write("use a branch");
    let cmds = stage.key("enter");
    let [Cmd::Answer(answer)] = cmds.as_slice() else { panic!("{cmds:?}") };
    assert_eq!((answer.choice.as_str(), answer.text.as_deref()), ("allow", None));
    let resolved = json!({"type": "checkpoint.resolved", "checkpoint": "k1", "choice": "allow", "by": "user"});
    let cmds = stage.fact(resolved);
    let sent = cmds.iter().find_map(|cmd| if let Cmd::Send(outgoing) = cmd { Some(outgoing) } else { None });
    let sent = sent.expect("the note is sent");
    assert_eq!((sent.draft.text().as_str(), sent.while_running), ("use a branch", Some(WhileRunning::Steer)));
}

#[test]
fn a_number_does_not_move_to_another_answer() {
    let mut stage = Stage::new(80, 24);
    stage.said("x");
    let mut asked = permission();
    asked["choices"].as_array_mut().expect("a list").remove(1);
    stage.asked(asked);
    assert!(stage.key("2").is_empty(), "the number of a missing answer does nothing");
    let cmds = stage.key("3");
    assert!(matches!(&cmds[..], [Cmd::Answer(answer)] if answer.choice == "wait"), "{cmds:?}");
}

/// A command whose end does not fit.
fn long_permission(command: &str) -> Value {
    let mut asked = permission();
    asked["title"] = json!(format!("Run this command? {command}"));
    asked["input"]["command"] = json!(command);
    asked
}

#[test]
fn a_command_is_read_to_its_end_before_it_can_be_allowed() {
    let command =
        (0..60).map(|n| format!("echo {n}")).chain(["rm -rf victim".to_owned()]).collect::<Vec<_>>().join("\n");
    for (width, height) in [(80, 24), (40, 12)] {
        let mut stage = Stage::new(width, height);
        stage.said("x");
        stage.asked(long_permission(&command));
        for key in ["1", "y", "a"] {
            assert!(!answers(&stage.key(key)), "{key} at {width}x{height}");
        }
        let mut pages = 0;
        while !stage.screen().contains("rm -rf victim") {
            let screen = stage.screen();
            assert!(screen.contains("Reason: `rm` deletes") && screen.contains("more rows"), "{screen}");
            assert!(!screen.contains("› 1."), "what cannot be chosen is not preselected: {screen}");
            assert!(!answers(&stage.key("1")), "{screen}");
            stage.key("pagedown");
            pages += 1;
            assert!(pages < 200, "{screen}");
        }
        assert!(answers(&stage.key("1")), "{}", stage.screen());
    }
}

#[test]
fn blank_lines_hide_nothing() {
    let mut stage = Stage::new(80, 24);
    stage.said("x");
    stage.asked(long_permission(&format!("echo harmless{}rm -rf victim", "\n".repeat(80))));
    let screen = stage.screen();
    for part in ["$ echo harmless", "… 79 blank lines", "> rm -rf victim", "Reason:", "Can write only there"] {
        assert!(screen.contains(part), "{part} is missing in {screen}");
    }
}

#[test]
fn what_never_ran_is_not_called_stopped() {
    let mut stage = Stage::new(80, 24);
    at_work(&mut stage);
    stage.asked(permission());
    let text = "[Request interrupted by user for tool use]\n\nThe user doesn't want to proceed with this tool use.";
    stage.fact(json!({"type": "tool.finished", "call": "c1", "status": "interrupted", "preview": text}));
    stage.fact(json!({"type": "tool.started", "call": "c2", "name": "run_command", "input": {"command": "cat .env"}}));
    let text = "The user does not allow this. Do not try it again; choose another way or ask. They say: no keys";
    stage.fact(json!({"type": "tool.finished", "call": "c2", "status": "blocked", "preview": text}));
    let all = stage.screen();
    assert!(all.contains("Not run: rm -rf build") && all.contains("Denied: cat .env"), "{all}");
    assert!(all.contains("You said: no keys"), "{all}");
    for part in ["Running", "stopped", "refused", "[Request", "Do not try"] {
        assert!(!all.contains(part), "{part} is in {all}");
    }
}

/// Whether one of these is an answer.
fn answers(cmds: &[Cmd]) -> bool {
    cmds.iter().any(|cmd| matches!(cmd, Cmd::Answer(_)))
}

#[test]
fn words_on_their_way_to_the_input_answer_no_question() {
    for before in ["version ", ""] {
        let mut stage = Stage::new(80, 24);
        stage.said("x");
        stage.write(before);
        // Somebody who has written nothing yet may be just about to.
        stage.fact(permission());
        stage.now += 200;
        assert!(!answers(&stage.key("1")));
        stage.now += 400;
        assert!(!answers(&stage.key("y")), "whoever goes on is still writing");
        assert!(!answers(&stage.key("enter")), "nor is it sent from there");
        assert_eq!(stage.app.composer.draft().text(), format!("{before}1y"));
        let screen = stage.screen();
        assert!(screen.contains(&format!("Your keys still go to the input: {before}1y")), "{screen}");
        assert!(stage.app.moves(), "the screen tells when that is over");
        stage.now += 500;
        stage.tell(Msg::Tick);
        assert!(stage.screen().contains("number or enter to answer"), "{}", stage.screen());
        assert!(answers(&stage.key("1")), "after a rest, keys answer");
    }
}

#[test]
fn text_for_the_model_at_a_question_does_not_allow_anything() {
    let mut stage = Stage::new(80, 24);
    stage.said("x");
    stage.asked(permission());
    for key in ["s", "t", "o", "p"] {
        assert!(!answers(&stage.key(key)), "{key} is not an answer");
        stage.now += 100;
    }
    assert!(!answers(&stage.key("enter")), "Enter ends the text, and allows nothing");
    assert_eq!(stage.app.composer.draft().text(), "stop", "the text is kept");
    stage.now += 5_000;
    assert!(!answers(&stage.key("enter")), "nor does it after a rest");
    assert!(stage.screen().contains("To answer, press a number."), "{}", stage.screen());
    stage.key("down");
    stage.key("up");
    assert!(answers(&stage.key("enter")), "an answer that was chosen is given");
}

#[test]
fn a_key_for_one_question_does_not_answer_the_next() {
    let mut stage = Stage::new(80, 24);
    stage.said("x");
    let mut second = permission();
    second["checkpoint"] = json!("k2");
    stage.asked(permission());
    stage.asked(second);
    assert!(answers(&stage.key("1")));
    stage.now += 100;
    assert!(!answers(&stage.key("1")) && !answers(&stage.key("enter")), "the next one has only just come up");
    assert!(stage.app.composer.is_empty(), "and what was meant for a question is no draft");
    stage.now += 500;
    assert!(answers(&stage.key("1")));
}

#[test]
fn a_short_question_says_which_keys_answer_it() {
    let mut stage = Stage::new(80, 24);
    stage.said("x");
    stage.asked(json!({"type": "checkpoint.opened", "checkpoint": "k1", "kind": "clarification", "title": "Why?",
        "choices": [{"id": "other", "label": "Answer in text"}, {"id": "stop", "label": "Stop here"}], "about": "question"}));
    assert!(stage.screen().contains("number or enter to answer"), "{}", stage.screen());
}

#[test]
fn a_question_that_asks_for_words_takes_them_at_once() {
    let mut stage = Stage::new(80, 24);
    stage.said("x");
    stage.fact(json!({"type": "checkpoint.opened", "checkpoint": "k1", "kind": "clarification",
        "title": "What should be done differently?", "choices": [{"id": "tell", "label": "Tell"}], "about": "tell"}));
    stage.write("less");
    let cmds = stage.key("enter");
    assert!(matches!(&cmds[..], [Cmd::Answer(answer)] if answer.text.as_deref() == Some("less")), "{cmds:?}");
}

#[test]
fn an_answer_from_elsewhere_closes_a_question_and_the_next_one_comes() {
    let mut stage = Stage::new(80, 24);
    stage.said("x");
    stage.asked(permission());
    let mut second = permission();
    (second["checkpoint"], second["title"]) = (json!("k2"), json!("Run this command? ls"));
    stage.fact(second);
    assert!(stage.screen().contains("1 of 2"));
    stage.fact(json!({"type": "checkpoint.resolved", "checkpoint": "k1", "choice": "allow", "by": "alice"}));
    let screen = stage.screen();
    assert!(screen.contains("Run this command? ls") && !screen.contains("1 of 2"), "{screen}");
    assert!(screen.contains("(by alice)"), "{screen}");
}

#[test]
fn several_questions_are_asked_one_by_one() {
    let mut stage = Stage::new(60, 20);
    stage.said("Build it");
    stage.asked(
        json!({"type": "checkpoint.opened", "checkpoint": "k1", "kind": "clarification", "title": "2 questions",
        "choices": [{"id": "submit", "label": "Submit"}, {"id": "skip", "label": "Skip"}], "about": "clarify",
        "questions": [{"id": "db", "text": "Which database?", "options": [{"id": "lite", "title": "SQLite"},
            {"id": "pg", "title": "PostgreSQL"}]}, {"id": "who", "text": "Who may log in?"}]}),
    );
    insta::assert_snapshot!(stage.screen(), @"
    › Build it
    ────────────────────────────────────────────────────────────
    Question
    1 of 2: Which database?
    › 1. SQLite
      2. PostgreSQL
      3. Answer in text
      4. Skip
    number or enter to answer · ← → other questions … esc stops
    auto · standard · model · ~/boat · ⎇ main             ? help
    ");
    assert!(stage.key("2").is_empty());
    assert!(stage.screen().contains("2 of 2: Who may log in?"));
    stage.key("1");
    stage.write("everybody");
    let cmds = stage.key("enter");
    let [Cmd::Answer(answer)] = cmds.as_slice() else { panic!("{cmds:?}") };
    assert_eq!((answer.choice.as_str(), answer.text.as_deref()), ("submit", Some(r#"{"db":"pg","who":"everybody"}"#)));
}

fn plan() -> Value {
    json!({"type": "checkpoint.opened", "checkpoint": "k1", "kind": "plan", "title": "Approve this plan of 2 steps?",
        "choices": [{"id": "approve", "label": "Approve"}, {"id": "modify", "label": "Modify"},
            {"id": "replan", "label": "Re-plan"}, {"id": "cancel", "label": "Cancel"}],
        "about": "plan", "version": 1, "summary": "A log-in.", "assumptions": ["SQLite"], "steps": [
            {"id": "s1", "title": "Write it", "files": ["a.rs"], "estimate": "5 min"},
            {"id": "s2", "title": "Test it", "commands": ["cargo test"], "dependsOn": ["s1"]}]})
}

#[test]
fn a_plan_is_shown_and_can_be_edited() {
    let mut stage = Stage::new(60, 24);
    stage.said("Build it");
    stage.asked(plan());
    insta::assert_snapshot!(stage.screen(), @"
    › Build it
    ────────────────────────────────────────────────────────────
    Plan
    Approve this plan of 2 steps?
    A log-in.
    1. Write it (5 min)
         files: a.rs
    2. Test it
         commands: cargo test
         after step 1
    Assumed: SQLite
    › 1. Approve
      2. Modify
      3. Re-plan
      4. Cancel
    number or enter to answer · e edits the plan … esc stops
    auto · standard · model · ~/boat · ⎇ main             ? help
    ");
    stage.key("2");
    insta::assert_snapshot!(stage.view(), @"
    Edit the plan
    ›  1. Write it
          files: a.rs
       2. Test it
          commands: cargo test


















    enter save · e edit · a add · d remove … esc cancel
    ");
    stage.key("J");
    stage.key("e");
    stage.write(" well");
    stage.key("enter");
    stage.key("a");
    stage.write("Ship it");
    stage.key("enter");
    let cmds = stage.key("enter");
    let [Cmd::Answer(answer)] = cmds.as_slice() else { panic!("{cmds:?}") };
    assert_eq!(answer.choice, "modify");
    let edited: Value = serde_json::from_str(answer.text.as_deref().expect("words")).expect("JSON");
    let titles: Vec<&str> =
        edited["steps"].as_array().expect("steps").iter().filter_map(|step| step["title"].as_str()).collect();
    assert_eq!(titles, ["Test it", "Write it well", "Ship it"]);
    assert_eq!(edited["steps"][1]["id"], "s1", "a step stays the same step");
}

#[test]
fn a_request_from_its_first_word_to_its_end() {
    let mut stage = Stage::new(80, 24);
    stage.said("What is Trimtab?");
    stage.fact(json!({"type": "stage", "stage": "intake", "label": "Analyzing request & architecting strategy..."}));
    stage.now += 1_234;
    stage.tell(Msg::Tick);
    assert!(stage.screen().contains("Analyzing request & architecting strategy... 1.2 s"), "{}", stage.screen());
    stage.fact(json!({"type": "model.called", "call": "c1", "model": "test/model", "attempt": 1}));
    stage.fact(json!({"type": "reply.delta", "call": "c1", "text": "A *small* surf"}));
    let screen = stage.screen();
    assert!(screen.contains("~3 tokens") && screen.contains("A small surf"), "{screen}");
    stage.fact(json!({"type": "reply.delta", "call": "c1", "text": "ace.\n"}));
    stage.fact(json!({"type": "reply.saved", "call": "c1", "stopReason": "end_turn", "message":
        {"role": "assistant", "parts": [{"type": "text", "text": "A *small* surface.\n"}]}}));
    stage.fact(
        json!({"type": "usage", "model": "test/model", "inputTokens": 1200, "cachedTokens": 0, "outputTokens": 34,
        "costUsd": 0.02, "contextTokens": 1200, "contextWindow": 10000}),
    );
    stage.fact(
        json!({"type": "answer", "summary": "A *small* surface.\n", "sections": [], "todos": [], "fileChanges": [],
        "commands": [], "nextSteps": [{"html": "Show one", "inputText": "Show me one"}]}),
    );
    stage.now += 1_000;
    stage.fact(
        json!({"type": "request.finished", "status": "completed", "usage": {"inputTokens": 1200, "outputTokens": 34,
        "costUsd": 0.02}}),
    );
    insta::assert_snapshot!(stage.screen(), @"
    › What is Trimtab?

    A small surface.

    → alt-1 Show one: “Show me one”

    ✓ Done · 2.2 s · 1,234 tokens · $0.02
    ────────────────────────────────────────────────────────────────────────────────
    › Ask Trimtab to do something…
    auto · standard · model · ~/boat · ⎇ main · context 12% · $0.02           ? help
    ");
    stage.key("alt-1");
    assert_eq!(stage.app.composer.draft().text(), "Show me one", "a next step fills the input and is not sent");
}

#[test]
fn next_steps_that_the_words_have_listed_are_not_listed_again() {
    let mut stage = Stage::new(60, 20);
    stage.said("Go on");
    stage.fact(json!({"type": "model.called", "call": "c1", "model": "test/model", "attempt": 1}));
    let words = "Done.\n\nNext steps:\n- Show me one\n- Draw it\n";
    stage.fact(json!({"type": "reply.delta", "call": "c1", "text": words}));
    stage.fact(json!({"type": "reply.saved", "call": "c1", "stopReason": "end_turn", "message":
        {"role": "assistant", "parts": [{"type": "text", "text": words}]}}));
    let step = |text: &str| json!({"html": text, "inputText": text});
    stage.fact(json!({"type": "answer", "summary": words, "sections": [], "todos": [], "fileChanges": [],
        "commands": [], "nextSteps": [step("Show me one"), step("Draw it")]}));
    let screen = stage.screen();
    assert_eq!(screen.matches("Show me one").count(), 1, "{screen}");
    assert!(screen.contains("→ alt-1 or alt-2 starts one of these next steps"), "{screen}");
    stage.fact(
        json!({"type": "request.finished", "status": "completed", "usage": {"inputTokens": 1, "outputTokens": 1}}),
    );
    stage.key("alt-2");
    assert_eq!(stage.app.composer.draft().text(), "Draw it");
}

#[test]
fn a_command_shows_its_last_lines_while_it_runs_and_less_when_it_has_ended() {
    let mut stage = Stage::new(60, 20);
    at_work(&mut stage);
    stage.fact(json!({"type": "command.started", "call": "c1", "command": "make", "argv": ["make"], "cwd": "/boat"}));
    for number in 1..=9 {
        stage.fact(json!({"type": "command.output", "call": "c1", "text": format!("line {number}\n")}));
    }
    insta::assert_snapshot!(stage.screen(), @"
    › Tidy up

    ● Read a.txt  2 lines
    ○ Running rm -rf build
      │ … 4 lines above
      │ line 5
      │ line 6
      │ line 7
      │ line 8
      │ line 9

    ⠋ Working... 0.0 s  esc stops
    ────────────────────────────────────────────────────────────
    › Steer the running request…
    auto · standard · model · ~/boat · ⎇ main             ? help
    ");
    let output: String = (1..=9).map(|number| format!("line {number}\n")).collect();
    stage.fact(json!({"type": "command.finished", "call": "c1", "command": "make", "exitCode": 2, "timedOut": false,
        "durationMs": 1500, "preview": output}));
    stage.fact(json!({"type": "tool.finished", "call": "c1", "status": "ok", "preview": output}));
    insta::assert_snapshot!(stage.screen(), @"
    › Tidy up

    ● Read a.txt  2 lines
    ✗ Ran rm -rf build  exit code 2 · 1.5 s
      │ … 5 lines above
      │ line 6
      │ line 7
      │ line 8
      │ line 9

    ⠋ Working... 0.0 s  esc stops
    ────────────────────────────────────────────────────────────
    › Steer the running request…
    auto · standard · model · ~/boat · ⎇ main             ? help
    ");
}

#[test]
fn steps_and_several_commands_have_panels() {
    let mut stage = Stage::new(70, 30);
    stage.said("Do it");
    stage.fact(
        json!({"type": "steps", "todos": [{"text": "Look", "completed": true}, {"text": "Change", "completed": false},
        {"text": "Test", "completed": false}]}),
    );
    stage.fact(json!({"type": "commands", "state": "running", "total": 8, "done": 4, "ok": 3, "failed": 1, "percent": 50,
        "results": [{"command": "curl -I a", "ok": true, "preview": "HTTP 200 OK"}, {"command": "mkdir x", "ok": true, "preview": ""},
            {"command": "ls", "ok": true, "preview": "x"}, {"command": "curl -I b", "ok": false, "preview": "404 Not Found"}],
        "current": {"call": "c5", "command": "make"}, "remaining": ["make test", "make install", "make clean"]}));
    insta::assert_snapshot!(stage.screen(), @"
    › Do it

    ⠋ Starting... 0.0 s  esc stops
    🖥 CLI Execution  ✓ 3  ✗ 1  4/8
    ████████████████████░░░░░░░░░░░░░░░░░░░░ 50%
    ✓ curl -I a  HTTP 200 OK
    ✓ mkdir x
    ✓ ls  x
    ✗ curl -I b  404 Not Found
    ▸ make
    Next: `make test`, `make install`, `make clean`
    Steps 1/3  ctrl-t hides them
     ✓ Look
     ▸ Change
     · Test
    ──────────────────────────────────────────────────────────────────────
    › Steer the running request…
    auto · standard · model · ~/boat · ⎇ main                       ? help
    ");
    stage.key("ctrl-t");
    assert!(stage.screen().contains("ctrl-t shows them"));
}

#[test]
fn esc_stops_what_runs_and_twice_goes_back_to_a_message() {
    let mut stage = Stage::new(80, 24);
    at_work(&mut stage);
    assert_eq!(stage.key("esc"), [Cmd::Control(Control::Cancel)]);
    assert!(stage.screen().contains("Stopping..."));
    assert_eq!(stage.key("esc"), [], "it is asked for once");
    stage.fact(json!({"type": "request.finished", "status": "cancelled", "usage": {}}));
    assert!(stage.screen().contains("Stopped"));
    stage.now += 5_000;
    stage.key("esc");
    assert_eq!(stage.key("esc"), [Cmd::LoadRewindPoints]);
    assert!(stage.view().contains("Go back to an earlier message"));
}

#[test]
fn ctrl_c_clears_then_asks_then_leaves() {
    let mut stage = Stage::new(80, 24);
    stage.write("half a thought");
    stage.key("ctrl-c");
    assert!(stage.app.composer.is_empty());
    assert_eq!(stage.key("ctrl-c"), []);
    assert!(stage.screen().contains("ctrl-c again quits"));
    stage.now += 3_000;
    assert_eq!(stage.key("ctrl-c"), [], "too late: it is asked again");
    assert_eq!(stage.key("ctrl-c"), [Cmd::Quit]);
}

#[test]
fn modes_go_in_a_circle_and_hold_for_what_is_said_next() {
    let mut stage = Stage::new(80, 24);
    stage.key("alt-m");
    stage.write("hello");
    let cmds = stage.key("enter");
    assert!(cmds.iter().any(|cmd| matches!(cmd, Cmd::Send(outgoing) if outgoing.mode == Mode::Chat)), "{cmds:?}");
    stage.key("alt-m");
    assert!(stage.screen().lines().last().expect("a line").starts_with("plan"));
}

/// The levels of autonomy that were sent.
fn sent_levels(cmds: &[Cmd]) -> Vec<Autonomy> {
    let level = |cmd: &Cmd| match cmd {
        Cmd::Control(Control::Autonomy(choice)) => Some(choice.level),
        _ => None,
    };
    cmds.iter().filter_map(level).collect()
}

#[test]
fn the_key_for_autonomy_sends_where_it_stops_and_what_asks_more_at_once() {
    let mut stage = Stage::new(80, 24);
    let status = |stage: &mut Stage| stage.screen().lines().last().expect("a line").to_owned();
    assert_eq!(sent_levels(&stage.key("shift-tab")), [], "a raise waits for the next key");
    assert!(status(&mut stage).starts_with("auto · trusting"), "{}", status(&mut stage));
    assert_eq!(sent_levels(&stage.key("shift-tab")), [], "the session never heard of it");
    assert!(status(&mut stage).starts_with("plan · model"), "{}", status(&mut stage));
    assert_eq!(sent_levels(&stage.key("shift-tab")), [Autonomy::Careful]);
    stage.fact(json!({"type": "session.autonomy", "level": "careful", "by": "user"}));
    stage.key("shift-tab");
    stage.now += 1_000;
    assert_eq!(sent_levels(&stage.tell(Msg::Tick)), [Autonomy::Standard]);
    stage.fact(json!({"type": "session.autonomy", "level": "trusting", "by": "user", "surface": "http"}));
    stage.fact(json!({"type": "session.autonomy", "level": "standard", "by": "user", "surface": "tui"}));
    assert!(status(&mut stage).starts_with("auto · standard"), "what others choose is shown: {}", status(&mut stage));
    stage.write("/autonomy trusting");
    assert_eq!(sent_levels(&stage.key("enter")), [Autonomy::Trusting], "a command is meant");
}

#[test]
fn a_level_that_was_chosen_before_there_is_a_session_goes_with_the_first_message() {
    let mut stage = Stage::new(80, 24);
    stage.app.session = None;
    stage.key("shift-tab");
    stage.now += 5_000;
    assert_eq!(sent_levels(&stage.tell(Msg::Tick)), []);
    stage.write("hello");
    let cmds = stage.key("enter");
    assert_eq!(sent_messages(&cmds)[0].autonomy, Some(Autonomy::Trusting), "{cmds:?}");
}

fn sent_messages(cmds: &[Cmd]) -> Vec<&OutgoingMessage> {
    cmds.iter().filter_map(|cmd| if let Cmd::Send(outgoing) = cmd { Some(&**outgoing) } else { None }).collect()
}

/// What a kill would leave, if it came after these wishes.
fn kept(cmds: &[Cmd]) -> SavedComposer {
    let last = cmds.iter().rev().find_map(|cmd| if let Cmd::Keep(kept) = cmd { Some(&**kept) } else { None });
    last.expect("something is kept").clone()
}

#[test]
fn a_message_is_noted_as_sent_before_it_is_and_until_it_has_arrived() {
    let mut stage = Stage::new(80, 24);
    stage.write("one");
    let cmds = stage.key("enter");
    let at = cmds.iter().position(|cmd| matches!(cmd, Cmd::Send(_))).expect("it is sent");
    let one = kept(&cmds[..at]);
    assert_eq!((&one.draft, &one.sending[0].draft), (&ComposerDraft::default(), &ComposerDraft::new("one")));
    assert_eq!(
        one.sending[0].request,
        sent_messages(&cmds)[0].request,
        "what it is called tells whether it has arrived"
    );
    stage.write("two");
    let cmds = stage.key("enter");
    let both = kept(&cmds);
    assert_eq!(both.sending.len(), 2);
    // Pictures of the first are still read when the second has arrived.
    let sent = |request: &RequestId| Sent { session: "s1".parse().expect("a name"), request: request.clone() };
    let cmds = stage.tell(Msg::Sent(sent(&both.sending[1].request)));
    assert_eq!(kept(&cmds), one);
    let cmds = stage.tell(Msg::Sent(sent(&both.sending[0].request)));
    assert_eq!(kept(&cmds), SavedComposer::default());
    // After a kill, those that have not arrived are the person's again, each of them.
    let mut next = Stage::new(80, 24);
    next.app.restore(both);
    assert_eq!(next.app.composer.draft(), ComposerDraft::new("one"));
    assert_eq!(kept(&next.key("!")).stash, [ComposerDraft::new("two")]);
}

#[test]
fn going_on_by_itself_is_switched_on_and_off() {
    let mut stage = Stage::new(80, 24);
    for on in [true, false] {
        stage.write("/autoc");
        let cmds = stage.key("enter");
        assert!(cmds.contains(&Cmd::AutoContinue(on)), "{cmds:?}");
        let told = if on { "continues automatically" } else { "waits for" };
        assert!(stage.screen().contains(told), "{}", stage.screen());
    }
}

#[test]
fn what_is_said_while_something_runs_steers_it_or_waits() {
    let mut stage = Stage::new(80, 24);
    at_work(&mut stage);
    stage.write("and the docs");
    let cmds = stage.key("enter");
    assert_eq!(sent_messages(&cmds)[0].while_running, Some(WhileRunning::Steer));
    stage.write("then rest");
    let cmds = stage.key("tab");
    assert_eq!(sent_messages(&cmds)[0].while_running, Some(WhileRunning::Queue));
    stage.fact_of("r2", json!({"type": "request.received", "text": "then rest", "settings": {}}));
    assert!(stage.screen().contains("queued: then rest"), "{}", stage.screen());
    let cmds = stage.key("alt-up");
    assert!(matches!(&cmds[0], Cmd::Withdraw(request) if request.as_str() == "r2"), "{cmds:?}");
    assert_eq!(stage.app.composer.draft().text(), "then rest");
}

#[test]
fn a_person_who_looks_elsewhere_is_told() {
    let mut stage = Stage::new(80, 24);
    stage.said("x");
    assert_eq!(stage.fact(permission()), [], "they are looking");
    stage.tell(Msg::Input(TerminalInput::Focus(false)));
    let mut second = permission();
    second["checkpoint"] = json!("k2");
    assert!(matches!(stage.fact(second).as_slice(), [Cmd::Notify(_)]));
}

#[test]
fn a_long_answer_that_scrolled_away_stays_within_reach() {
    let mut stage = Stage::new(80, 12);
    stage.said("Explain");
    let summary: String = (0..30).map(|number| format!("Line {number}.\n\n")).collect();
    let next: Vec<Value> =
        (1..=5).map(|n| json!({"html": format!("Step {n}"), "inputText": format!("Do step {n}")})).collect();
    stage.fact(
        json!({"type": "answer", "summary": summary, "sections": [], "todos": [], "fileChanges": [], "commands": [],
        "nextSteps": next}),
    );
    stage.fact(json!({"type": "request.finished", "status": "completed", "usage": {}}));
    stage.screen();
    let screen = stage.screen();
    let bar: Vec<&str> = screen.lines().filter(|line| line.contains("See details") || line.contains("alt-1")).collect();
    assert!(bar.iter().any(|line| line.starts_with("✓ Line 0. …")), "{screen}");
    assert!(screen.contains("alt-3 Step 3") && !screen.contains("alt-4"), "{screen}");
    stage.key("esc");
    assert!(!stage.screen().contains("See details"), "it is dismissed for this answer");
    stage.fact_of("r2", json!({"type": "request.received", "text": "next", "settings": {}}));
    assert!(!stage.screen().contains("See details"));
}

#[test]
fn foreign_words_cannot_steer_the_terminal() {
    let mut stage = Stage::new(60, 16);
    let wild = "a\u{1b}[2Jb\u{7}\u{202e}c";
    stage.said(wild);
    stage.fact(json!({"type": "tool.started", "call": "c1", "name": "read_file", "input": {"path": wild}}));
    stage.fact(json!({"type": "stage", "stage": "running", "label": wild}));
    stage.fact(json!({"type": "banner", "level": "warning", "text": wild}));
    stage.fact(json!({"type": "reply.delta", "call": "c2", "text": format!("{wild}\n\n{wild}")}));
    let mut asked = permission();
    asked["title"] = json!(wild);
    stage.fact(asked);
    let screen = stage.screen();
    assert!(!screen.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{screen:?}");
}

#[test]
fn every_fact_is_drawn_at_every_size() {
    let corpus = include_str!("../../../vocab/tests/old_records/0.1.0.jsonl");
    for (width, height) in [(1, 1), (2, 2), (5, 3), (20, 6), (80, 24), (300, 100)] {
        let mut stage = Stage::new(width, height);
        for line in corpus.lines() {
            let mut event: Event = serde_json::from_str(line).expect("an event");
            event.session = "s1".parse().expect("a name");
            stage.tell(Msg::Events(vec![event]));
            stage.screen();
        }
        for key in ["?", "down", "esc", "ctrl-o", "up", "esc", "alt-s", "x", "esc", "alt-c", "r", "esc"] {
            stage.key(key);
            stage.app.cover();
            stage.screen();
        }
    }
}

#[test]
fn a_question_can_be_put_aside_and_brought_back() {
    let mut stage = Stage::new(80, 24);
    stage.said("x");
    stage.asked(permission());
    stage.key("alt-q");
    let screen = stage.screen();
    assert!(screen.contains("1 pending question") && !screen.contains("Run this command?"), "{screen}");
    stage.write("a thought");
    assert_eq!(stage.app.composer.draft().text(), "a thought");
    stage.key("alt-q");
    stage.now += 5_000;
    assert!(stage.screen().contains("Run this command?"));
    assert!(matches!(stage.key("1").as_slice(), [Cmd::Answer(_)]));
}

#[test]
fn a_paste_into_a_question_is_kept_in_the_draft() {
    let mut stage = Stage::new(80, 24);
    stage.said("x");
    stage.asked(permission());
    stage.tell(Msg::Input(TerminalInput::Paste("some words".into())));
    assert_eq!(stage.app.composer.draft().text(), "some words");
}

#[test]
fn a_change_that_is_asked_for_before_it_is_read_is_shown_as_soon_as_it_is() {
    let mut stage = Stage::new(80, 24);
    at_work(&mut stage);
    let mut asked = permission();
    asked["proposal"] = json!("p1");
    stage.fact(asked);
    stage.now += 10_000;
    stage.key("d");
    assert!(stage.app.cover().is_none(), "there is nothing to show yet");
    let read = || Msg::Diff { call: "c1".parse().expect("a call"), files: std::sync::Arc::default() };
    stage.tell(read());
    assert!(stage.view().contains("The proposed change"));
    stage.key("esc");
    assert!(stage.app.cover().is_none());
    stage.tell(read());
    assert!(stage.app.cover().is_none(), "once");
}
