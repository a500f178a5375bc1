//! Sub-tasks with the real binary: several processes, a real database, real copies of the folder, a provider that
//! answers when the test lets it.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::editor::Editor;
use trimtab_testkit::program::{Ended, Program, Running};
use trimtab_testkit::provider::{Answer, Gate, Reply, Request};
use trimtab_testkit::served::Served;
use trimtab_testkit::terminal::Terminal;

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn asks(number: usize, name: &str, input: &Value) -> Answer {
    Answer::anthropic(Reply::new().tool(format!("toolu_{number}"), name, [input.to_string()]))
}

fn writes(path: &str, content: &str) -> Answer {
    asks(1, "write_file", &json!({"path": path, "content": content}))
}

fn task(title: &str, files: &[&str], depends_on: &[u32]) -> Value {
    json!({"title": title, "instruction": format!("TASK {title}: do it"), "files": files, "depends_on": depends_on,
        "kind": "reasoning", "each": false})
}

/// Who is called: the planner, the merger, a worker by the name in its instruction, or the model itself.
fn called(request: &Request) -> String {
    let body = request.body.to_string();
    let of_worker = || Some(body.split("TASK ").nth(1)?.split([':', ' ', '\\']).next()?.to_owned());
    match () {
        () if body.contains("You break a request about") => "plan".to_owned(),
        () if body.contains("Two people changed the same file") => "merge".to_owned(),
        () => of_worker().unwrap_or_else(|| "main".to_owned()),
    }
}

/// Which call of its conversation it is, from 1.
fn number(request: &Request) -> usize {
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    1 + messages.iter().filter(|message| message["role"] == "assistant").count()
}

/// The program, a plan, and workers that answer by their names.
struct Crew {
    program: Program,
    calls: Arc<Mutex<Vec<(String, usize)>>>,
    gates: BTreeMap<String, Gate>,
}

impl Crew {
    /// Workers of these names wait before their first call until their gates are opened.
    fn new(plan: &[Value], gated: &[&str], script: impl Fn(&str, usize) -> Answer + Send + Sync + 'static) -> Self {
        let crew = Self::in_untrusted_folder(plan, gated, script);
        assert_eq!(crew.run(&["trust"]).code, Some(0));
        crew
    }

    fn in_untrusted_folder(
        plan: &[Value],
        gated: &[&str],
        script: impl Fn(&str, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
        let calls: Arc<Mutex<Vec<(String, usize)>>> = Arc::default();
        let gates: BTreeMap<String, Gate> =
            gated.iter().map(|name| ((*name).to_owned(), program.provider.gate())).collect();
        let (noted, held) = (Arc::clone(&calls), gates.clone());
        let plan = json!({"thought": "", "tasks": plan}).to_string();
        program.provider.answer_with(move |request| {
            let (name, number) = (called(request), number(request));
            noted.lock().unwrap_or_else(PoisonError::into_inner).push((name.clone(), number));
            let answer = if name == "plan" { says(&plan) } else { script(&name, number) };
            match held.get(&name).filter(|_| number == 1) {
                Some(gate) => answer.gated(gate),
                None => answer,
            }
        });
        Self { program, calls, gates }
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::write(self.program.project().join(path), text).expect("written");
    }

    fn file(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.program.project().join(path)).ok()
    }

    fn open(&self, name: &str) {
        self.gates[name].open();
    }

    /// The calls that a worker has made, by their number in its conversation.
    fn calls_of(&self, name: &str) -> Vec<usize> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.iter().filter(|(known, _)| known == name).map(|(_, number)| *number).collect()
    }

    /// The place of a call among all calls, from 0.
    fn place_of(&self, name: &str, number: usize) -> usize {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let at = calls.iter().position(|(known, n)| known == name && *n == number);
        at.unwrap_or_else(|| panic!("{name} {number} is not in {calls:?}"))
    }

    #[track_caller]
    fn wait_for_calls(&self, names: &[&str]) {
        wait_until(&format!("calls of {names:?}"), || names.iter().all(|name| !self.calls_of(name).is_empty()));
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        self.program.run(arguments)
    }

    fn documents(&self) -> Vec<Value> {
        let listed = self.run(&["subtasks", "--json"]);
        assert_eq!(listed.code, Some(0), "{}", listed.stderr);
        listed.events().into_iter().filter(|document| document["docType"] == "subtask").collect()
    }

    /// Folders that workers left behind.
    fn copies(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![self.program.home().parent().expect("a folder").to_path_buf()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if entry.path().is_dir() {
                    if name.starts_with("s-w") {
                        found.push(name);
                    } else {
                        open.push(entry.path());
                    }
                }
            }
        }
        found
    }
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(120), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a line of the standard output has all of these.
#[track_caller]
fn wait_for_line(running: &Running, parts: &[&str]) {
    let has = |line: &str| parts.iter().all(|part| line.contains(part));
    wait_until(&format!("{parts:?}"), || running.stdout().lines().any(has));
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// The documented example: three that need nothing of each other, one after all of them, one after that.
fn auth(gated: &[&str]) -> Crew {
    let plan = [
        task("user", &[], &[]),
        task("token", &[], &[]),
        task("hash", &[], &[]),
        task("middleware", &[], &[1, 2, 3]),
        task("review", &[], &[4]),
    ];
    let crew = Crew::new(&plan, gated, |name, number| match (name, number) {
        ("user", 1) => writes("user.rs", "struct User;\n"),
        ("token", 1) => writes("token.rs", "struct Token;\n"),
        ("hash", 1) => writes("hash.rs", "fn hash() {}\n"),
        ("middleware", 1) => writes(
            "main.rs",
            "fn main() {\n    check();\n}\n\n// one\n// two\n// three\n// four\n// five\n// six\n// seven\n// eight\n\nfn check() {}\n",
        ),
        (name, _) => says(&format!("The part {name} is done.")),
    });
    crew.write("main.rs", "fn main() {}\n\n// one\n// two\n// three\n// four\n// five\n// six\n// seven\n// eight\n");
    crew
}

const AUTH: [&str; 6] = ["run", "--trust", "--subtasks", "parallel", "--json", "Create authentication"];

#[test]
fn three_run_together_the_fourth_follows_them_and_the_fifth_the_fourth() {
    let crew = auth(&["user", "token", "hash"]);
    let running = crew.program.spawn(&AUTH);
    // All three are at work before any of them has an answer.
    crew.wait_for_calls(&["user", "token", "hash"]);
    assert_eq!(crew.file("user.rs"), None, "nothing is written before it is merged");
    for name in ["hash", "token", "user"] {
        crew.open(name);
    }
    let ended = running.wait();
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stderr, ended.stdout);
    for name in ["user", "token", "hash"] {
        assert!(crew.place_of(name, 2) < crew.place_of("middleware", 1), "{name} ends before the fourth begins");
        assert_eq!(crew.calls_of(name), [1, 2]);
    }
    assert!(crew.place_of("middleware", 2) < crew.place_of("review", 1));
    assert_eq!(crew.file("user.rs").as_deref(), Some("struct User;\n"));
    assert_eq!(crew.copies(), Vec::<String>::new(), "the copies are gone");

    let events = ended.events();
    assert_eq!(of(&events, "change.applied").iter().filter(|event| event["subtask"].is_null()).count(), 1);
    let parent = events[0]["session"].clone();
    for event in &events {
        let is_worker = event["session"] != parent;
        assert_eq!(
            is_worker || event["type"] == "subtask" || event["type"] == "subtasks.shared",
            !event["subtask"].is_null(),
            "{event}"
        );
    }
    for id in ["1", "2", "3", "4", "5"] {
        let of_worker: Vec<&Value> =
            events.iter().filter(|event| event["session"] != parent && event["subtask"] == id).collect();
        assert!(of_worker.iter().any(|event| event["type"] == "request.finished"), "all of worker {id} is told");
        let numbers: Vec<u64> = of_worker.iter().filter_map(|event| event["seq"].as_u64()).collect();
        assert!(numbers.iter().zip(&numbers[1..]).all(|(one, next)| one < next), "in order and once: {numbers:?}");
    }
    // What all cost is the sum of what each cost.
    let finished = of(&events, "request.finished");
    let tokens = |event: &Value| event["usage"]["inputTokens"].as_u64().unwrap_or(0);
    let whole = finished.iter().find(|event| event["session"] == parent).expect("the end");
    let parts: u64 = finished.iter().filter(|event| event["session"] != parent).map(|event| tokens(event)).sum();
    let own: u64 = of(&events, "usage")
        .iter()
        .filter(|event| event["session"] == parent)
        .map(|event| event["inputTokens"].as_u64().or_else(|| event["usage"]["inputTokens"].as_u64()).unwrap_or(0))
        .sum();
    assert_eq!(tokens(whole), parts + own, "{whole}");
}

#[test]
fn trust_is_asked_before_anybody_is_paid_for_a_plan() {
    for (choice, becomes) in [("trust", Some("one\n")), ("no", None)] {
        let plan = [task("one", &[], &[]), task("two", &[], &[])];
        let crew = Crew::in_untrusted_folder(&plan, &[], |name, number| match (name, number) {
            ("one", 1) => writes("one.txt", "one\n"),
            (name, _) => says(&format!("The part {name} is done.")),
        });
        let ended = crew.run(&["run", "--subtasks", "parallel", "--json", "Do two things"]);
        assert_eq!(ended.code, Some(3), "{}\n{}", ended.stderr, ended.stdout);
        let events = ended.events();
        let opened = of(&events, "checkpoint.opened");
        assert_eq!(opened.iter().map(|event| &event["about"]).collect::<Vec<_>>(), ["trust"], "{opened:?}");
        assert!(crew.calls.lock().unwrap_or_else(PoisonError::into_inner).is_empty(), "no model is called before");
        let answered = crew.run(&["answer", choice]);
        let calls = [crew.calls_of("plan").len(), crew.calls_of("one").len()];
        assert_eq!(calls, if becomes.is_some() { [1, 2] } else { [0, 0] }, "{}\n{}", answered.stderr, answered.stdout);
        assert_eq!(crew.file("one.txt").as_deref(), becomes);
    }
}

#[test]
fn a_person_follows_it_in_lines_and_undoes_it_by_file_and_by_hunk() {
    let crew = auth(&[]);
    let ended = crew.run(&["run", "--trust", "--subtasks", "sequential", "Create authentication"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let told: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| line.starts_with(['▶', '✓', '🔄']) || line.starts_with("Waiting:"))
        .collect();
    let names = ["user", "token", "hash", "middleware", "review"];
    assert_eq!(told[0], "🔄 Running 5 sub-tasks one after the other...");
    assert_eq!(told[1..3], ["Waiting: 4. middleware (depends on 1, 2, 3)", "Waiting: 5. review (depends on 4)"]);
    for (at, (name, pair)) in names.iter().zip(told[3..].chunks(2)).enumerate() {
        assert!(pair[0].starts_with(&format!("▶ {}. {name} (", at + 1)), "{pair:?}");
        assert!(pair[1].starts_with(&format!("✓ {}. {name} · ", at + 1)), "{pair:?}");
    }
    assert_eq!(told.len(), 13, "a line for each change: {told:?}");

    let listed = crew.run(&["subtasks"]);
    assert!(listed.stdout.starts_with("5 of 5 sub-tasks completed.\n"), "{}", listed.stdout);
    let shown = crew.run(&["subtasks", "show", "4"]).stdout;
    assert!(shown.contains("depends on: 1, 2, 3") && shown.contains("changed: main.rs"), "{shown}");
    let session = crew.documents()[0]["parentSessionId"].as_str().expect("an id").to_owned();
    let exported: Value = serde_json::from_str(&crew.run(&["sessions", "export", &session]).stdout).expect("JSON");
    assert_eq!(exported["subtasks"].as_array().map(Vec::len), Some(5));
    assert_eq!(exported["subtaskContext"]["docType"], "subtask-context");
    let workers = exported["workers"].as_array().expect("workers");
    assert_eq!(
        workers.iter().map(|worker| worker["subtaskId"].as_str()).collect::<Vec<_>>(),
        ["1", "2", "3", "4", "5"].map(Some)
    );
    assert!(workers.iter().all(|worker| worker["events"].as_array().is_some_and(|events| !events.is_empty())));
    let shown = crew.run(&["sessions", "show", &session]).stdout;
    let worker = workers[0]["session"].as_str().expect("an id");
    assert!(shown.contains(&format!("(session {worker})")), "{shown}");
    let of_worker = crew.run(&["sessions", "show", worker]).stdout;
    assert!(of_worker.contains(&format!("Worker of session {session}.")), "{of_worker}");
    assert!(of_worker.contains("The part user is done."), "{of_worker}");
    let list = ["sessions", "list", "--all", "--json"];
    for search in [&list[..], &["sessions", "list", "--all", "--json", "--search", "part user"]] {
        let listed = crew.run(search).events();
        assert!(listed.iter().all(|row| row["id"] == session.as_str()), "workers are not listed: {listed:?}");
    }

    let stats = crew.run(&["stats"]).stdout;
    let figures = stats.lines().find(|line| line.starts_with("sub-tasks  5 sub-tasks: estimated $")).expect(&stats);
    assert!(figures.contains(", from typical usage; actual $"), "{figures}");

    let undone = crew.run(&["rewind", "--file", "user.rs"]);
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert_eq!((crew.file("user.rs"), crew.file("token.rs").as_deref()), (None, Some("struct Token;\n")));
    let undone = crew.run(&["rewind", "--change", "1", "--hunk", "main.rs:2"]);
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    let main = crew.file("main.rs").expect("is there");
    assert!(main.contains("    check();\n") && !main.contains("fn check() {}"), "{main}");
}

fn two_greetings(name: &str, number: usize) -> Answer {
    match (name, number) {
        ("loud", 1) => writes("a.py", "def greet():\n    print('HELLO')\n"),
        ("polite", 1) => writes("a.py", "def greet():\n    print('Good morning')\n"),
        ("merge", _) => says("```\ndef greet():\n    print('GOOD MORNING')\n```"),
        (name, _) => says(&format!("The part {name} is done.")),
    }
}

/// Two workers rewrite one function.
fn clashing(gated: &[&str]) -> Crew {
    let plan = [task("loud", &[], &[]), task("polite", &[], &[])];
    let crew = Crew::new(&plan, gated, two_greetings);
    crew.write("a.py", "def greet():\n    print('hello')\n");
    crew
}

#[test]
fn a_conflict_is_shown_in_the_terminal_and_settled_each_way() {
    let ways: [(&str, &str); 4] = [
        ("1", "    print('HELLO')\n"),
        ("2", "    print('Good morning')\n"),
        ("3", "    print('Good morning')\n# ok\n"),
        ("4", "    print('GOOD MORNING')\n"),
    ];
    for (key, becomes) in ways {
        let crew = clashing(&[]);
        let terminal = Terminal::start(&crew.program, &[], 90, 32);
        terminal.wait_for("help");
        terminal.press("/subtasks Change the greeting\r");
        terminal.answer("Choose execution strategy:", "4");
        let asked = terminal.answer("has conflicting changes", key);
        for part in [
            "Before:",
            "| def greet():",
            "print('hello')",
            "A, sub-task 1:",
            "print('HELLO')",
            "B, sub-task 2:",
            "print('Good morning')",
        ] {
            assert!(asked.contains(part), "{part} is not in\n{asked}");
        }
        if key == "3" {
            terminal.wait_for("enter");
            terminal.press("# ok\r");
        }
        if key == "4" {
            terminal.answer("print('GOOD MORNING')", "y");
        }
        wait_until(becomes, || crew.file("a.py").is_some_and(|text| text.ends_with(becomes)));
        terminal.wait_for("Done");
        // The board of a run that has ended says so.
        terminal.press("\x1bw");
        terminal.wait_for("2 of 2 sub-tasks completed");
    }
}

#[test]
fn a_run_in_a_terminal_asks_about_trust_a_conflict_and_what_a_model_has_merged() {
    let plan = [task("loud", &[], &[]), task("polite", &[], &[])];
    let crew = Crew::in_untrusted_folder(&plan, &[], two_greetings);
    crew.write("a.py", "def greet():\n    print('hello')\n");
    let mut terminal = Terminal::start(&crew.program, &["run", "--subtasks", "loose", "Change the greeting"], 100, 150);
    // The last question shows a difference in color, so the terminal is asked about its colors while keys are read.
    for (number, question, answer) in [
        (1, "Do you trust the files", "trust\r"),
        (2, "has conflicting changes", "merge\r"),
        (3, "print('GOOD MORNING')", "allow\r"),
    ] {
        terminal.wait_for(question);
        terminal.wait_until("the prompt", |screen| screen.matches("in parentheses:").count() == number);
        terminal.press(answer);
    }
    assert_eq!(terminal.wait(), Some(0));
    assert_eq!(crew.file("a.py").as_deref(), Some("def greet():\n    print('GOOD MORNING')\n"));
}

#[test]
fn a_worker_is_opened_steered_and_stopped_from_the_board_in_the_terminal() {
    let crew = clashing(&["loud", "polite"]);
    let terminal = Terminal::start(&crew.program, &[], 100, 30);
    terminal.wait_for("help");
    terminal.press("/subtasks Change the greeting\r");
    terminal.answer("Choose execution strategy:", "2");
    crew.wait_for_calls(&["loud", "polite"]);
    terminal.wait_for("🔄 Running 2 sub-tasks in parallel...");
    terminal.press("\x1bw");
    terminal.wait_for("enter open");
    terminal.press("\r");
    terminal.wait_for("TASK loud: do it");
    terminal.press("t");
    terminal.wait_for("enter send to the worker");
    terminal.press("shout louder\r");
    terminal.wait_for("The worker sees it at its next step.");
    crew.open("loud");
    // Its conversation goes on while it is watched.
    terminal.wait_for("The part loud is done.");
    terminal.press("q");
    let board = terminal.wait_for("› ✓ 1. loud");
    assert!(board.contains("▶ 2. polite"), "{board}");
    terminal.press("j");
    terminal.wait_for("› ▶ 2. polite");
    terminal.press("s");
    terminal.wait_for("– 2. polite");
    wait_until("the change", || crew.file("a.py").as_deref() == Some("def greet():\n    print('HELLO')\n"));
    terminal.press("q");
    terminal.wait_for("1 of 2 sub-tasks completed");
    let sent = crew.run(&["subtasks", "--json"]).stdout;
    assert!(sent.contains("\"stopped\""), "{sent}");
}

#[test]
fn a_worker_that_repeats_itself_is_asked_about_and_the_others_finish() {
    let plan = [task("stuck", &[], &[]), task("quick", &[], &[])];
    let crew = Crew::new(&plan, &[], |name, number| match (name, number) {
        ("stuck", number) => asks(number, "read_file", &json!({"path": "a.txt"})),
        ("quick", 1) => writes("b.txt", "quick\n"),
        (name, _) => says(&format!("The part {name} is done.")),
    });
    crew.write("a.txt", "a\n");
    let ended = crew.run(&["run", "--trust", "--subtasks", "parallel", "--json", "Do two things"]);
    assert_eq!(ended.code, Some(3), "{}\n{}", ended.stderr, ended.stdout);
    assert!(crew.calls_of("stuck").len() < 30, "it was not let loose: {:?}", crew.calls_of("stuck"));
    let events = ended.events();
    let opened = of(&events, "checkpoint.opened");
    let about: Vec<&Value> = opened.iter().map(|event| &event["about"]).collect();
    assert_eq!(about, ["subtaskFailed"], "it was tried twice: {opened:?}");
    let listed = crew.run(&["checkpoints"]);
    assert!(listed.stdout.contains("Sub-task 1 failed: stuck."), "{}", listed.stdout);
    let documents = crew.documents();
    assert_eq!((&documents[0]["detail"], &documents[1]["detail"]), (&json!("failed"), &json!("completed")));
    let refused = crew.run(&["subtasks", "retry", "1", "--model", "nope"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    let told = "error: The model nope (option --model) is not set up for sub-tasks.\n  The models of this request are ";
    assert!(refused.stderr.starts_with(told), "{}", refused.stderr);
    // Left out, it does not keep the work of the other one.
    let answered = crew.run(&["answer", "skip"]);
    assert_eq!(answered.code, Some(0), "{}\n{}", answered.stderr, answered.stdout);
    assert_eq!(crew.file("b.txt").as_deref(), Some("quick\n"));
}

/// Ways in which a provider fails.
fn refuses() -> Answer {
    Answer::json(400, json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no more"}}))
}

fn dies() -> Answer {
    says("I begin with the first file, and then I").cut_after(300)
}

#[test]
fn a_worker_whose_provider_dies_is_tried_again_then_asked_about_and_the_others_are_kept() {
    for failing in [refuses, dies] {
        let plan = [task("dead", &[], &[]), task("alive", &[], &[])];
        let mut crew = Crew::new(&plan, &[], move |name, number| match (name, number) {
            ("dead", _) => failing(),
            ("alive", 1) => writes("b.txt", "alive\n"),
            (name, _) => says(&format!("The part {name} is done.")),
        });
        crew.program.set("TRIMTAB_LIMITS_RETRIES", "0");
        let ended = crew.run(&["run", "--trust", "--subtasks", "parallel", "--json", "Do two things"]);
        assert_eq!(ended.code, Some(3), "{}\n{}", ended.stderr, ended.stdout);
        assert_eq!(crew.calls_of("dead"), [1, 1], "once, and once again");
        let events = ended.events();
        let opened = of(&events, "checkpoint.opened");
        let opened = opened.iter().find(|event| event["about"] == "subtaskFailed").expect("a question");
        assert_eq!(opened["subtask"], "1");
        assert_eq!(crew.file("b.txt"), None);
        let answered = crew.run(&["answer", "skip"]);
        assert_eq!(answered.code, Some(0), "{}\n{}", answered.stderr, answered.stdout);
        assert_eq!(crew.file("b.txt").as_deref(), Some("alive\n"));
        assert_eq!(crew.calls_of("alive"), [1, 2], "what was done is not done again");
    }
}

#[test]
fn a_question_of_a_worker_is_answered_by_another_process_while_the_others_work() {
    let plan = [task("asker", &[], &[]), task("slow", &[], &[])];
    let crew = Crew::new(&plan, &["slow"], |name, number| match (name, number) {
        ("asker", 1) => asks(1, "run_command", &json!({"command": "touch asked.txt"})),
        ("slow", 1) => writes("b.txt", "slow\n"),
        (name, _) => says(&format!("The part {name} is done.")),
    });
    let running = crew.program.spawn(&["run", "--trust", "--subtasks", "parallel", "--json", "Do two things"]);
    crew.wait_for_calls(&["asker", "slow"]);
    wait_for_line(&running, &["checkpoint.opened", "\"worker\":"]);
    let listed = crew.run(&["checkpoints"]);
    assert!(listed.stdout.contains("Sub-task 1: asker asks"), "{}\n{}", listed.stdout, listed.stderr);
    // It follows the request to its end.
    let answering = crew.program.spawn(&["answer", "allow"]);
    wait_until("the worker continues", || crew.calls_of("asker").len() == 2);
    crew.open("slow");
    let ended = running.wait();
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stderr, ended.stdout);
    let answered = answering.wait();
    assert_eq!(answered.code, Some(0), "{}\n{}", answered.stderr, answered.stdout);
    assert_eq!(crew.file("b.txt").as_deref(), Some("slow\n"));
    assert!(crew.file("asked.txt").is_some(), "what its command made is a part of the change");
}

#[test]
fn a_killed_parent_continues_and_finished_work_is_not_done_or_paid_again() {
    let names = ["one", "two", "three", "four", "five"];
    let plan = names.map(|name| task(name, &[], &[]));
    let mut crew = Crew::new(&plan, &["three", "four", "five"], |name, number| match number {
        1 => writes(&format!("{name}.txt"), &format!("{name}\n")),
        _ => says(&format!("The part {name} is done.")),
    });
    crew.program.set("TRIMTAB_SUBTASKS_PARALLEL", "5");
    let running = crew.program.spawn(&["run", "--trust", "--subtasks", "parallel", "--json", "Make five files"]);
    for id in ["1", "2"] {
        let subtask = format!("\"subtask\":\"{id}\"");
        wait_for_line(&running, &["\"type\":\"subtask\"", &subtask, "\"completed\""]);
    }
    crew.wait_for_calls(&["three", "four", "five"]);
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None);
    let before = crew.documents();
    let details: Vec<&Value> = before.iter().map(|document| &document["detail"]).collect();
    assert_eq!(details, ["completed", "completed", "running", "running", "running"]);
    assert_eq!(crew.file("one.txt"), None, "nothing reached the folder");

    let resumed = crew.program.spawn(&["resume", "--json"]);
    wait_until("three calls again", || ["three", "four", "five"].iter().all(|name| crew.calls_of(name).len() == 2));
    let mut now = crew.documents();
    // What the calls that were cut off have cost is counted; nothing else has changed.
    for (now, before) in now[2..].iter_mut().zip(&before[2..]) {
        now["output"]["tokensUsed"] = before["output"]["tokensUsed"].clone();
    }
    assert_eq!(now, before, "the board is as it was");
    ["three", "four", "five"].iter().for_each(|name| crew.open(name));
    let ended = resumed.wait();
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stderr, ended.stdout);
    for name in names {
        assert_eq!(crew.file(&format!("{name}.txt")), Some(format!("{name}\n")));
    }
    for name in ["one", "two"] {
        assert_eq!(crew.calls_of(name), [1, 2], "{name} is not called again");
    }
    assert_eq!(crew.calls_of("plan"), [1]);
    let after = crew.documents();
    assert_eq!(after[..2], before[..2], "what was done stands as it stood");
    wait_until("the copies are gone", || crew.copies().is_empty());
}

#[test]
fn one_instruction_for_each_file_is_one_change() {
    let files = ["a.txt", "b.txt", "c.txt", "d.txt"];
    let each = json!({"title": "Shout", "instruction": "TASK shout: shout", "files": files, "depends_on": [], "kind": "simple", "each": true});
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    assert_eq!(program.run(&["trust"]).code, Some(0));
    for file in files {
        std::fs::write(program.project().join(file), "hello\n").expect("written");
    }
    let seen: Arc<Mutex<Vec<Vec<&str>>>> = Arc::default();
    let (noted, plan) = (Arc::clone(&seen), json!({"thought": "", "tasks": [each]}).to_string());
    program.provider.answer_with(move |request| {
        if called(request) == "plan" {
            return says(&plan);
        }
        let body = request.body.to_string();
        let named: Vec<&str> = files.into_iter().filter(|file| body.contains(&format!("[Loaded {file}]"))).collect();
        match number(request) {
            1 => {
                noted.lock().unwrap_or_else(PoisonError::into_inner).push(named.clone());
                writes(named.first().copied().unwrap_or("none.txt"), "HELLO\n")
            }
            _ => says("Done."),
        }
    });
    let ended = program.run(&["run", "--trust", "--subtasks", "parallel", "--json", "Shout in every file"]);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stderr, ended.stdout);
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    seen.sort_unstable();
    assert_eq!(seen, files.map(|file| vec![file]), "a call for each file, with that file alone");
    for file in files {
        assert_eq!(std::fs::read_to_string(program.project().join(file)).expect("is there"), "HELLO\n");
    }
    let changes = program.run(&["changes", "--json"]);
    assert_eq!(changes.events().len(), 1, "one change: {}", changes.stdout);
}

#[test]
fn a_cancelled_run_leaves_no_copy_and_no_worker_at_work() {
    let crew = auth(&["user", "token", "hash"]);
    let running = crew.program.spawn(&["run", "--trust", "--subtasks", "parallel", "--json", "Create authentication"]);
    crew.wait_for_calls(&["user", "token", "hash"]);
    assert_eq!(crew.copies().len(), 3, "each worker has its own");
    running.signal(Signal::INT);
    let ended = running.wait();
    assert_eq!(ended.code, Some(130), "{}\n{}", ended.stderr, ended.stdout);
    assert_eq!(crew.copies(), Vec::<String>::new(), "no copy is left for the next run");
    let session = crew.documents()[0]["parentSessionId"].as_str().expect("an ID").to_owned();
    let exported: Value = serde_json::from_str(&crew.run(&["sessions", "export", &session]).stdout).expect("JSON");
    let tokens = |event: &Value| event["usage"]["inputTokens"].as_u64().unwrap_or(0);
    let log: Vec<Value> = exported["events"].as_array().expect("events").clone();
    let workers = exported["workers"].as_array().expect("workers");
    assert_eq!(workers.len(), 3);
    for worker in workers {
        let events: Vec<Value> = worker["events"].as_array().expect("events").clone();
        let end = *of(&events, "request.finished").last().unwrap_or_else(|| panic!("it has not ended: {worker}"));
        // What its call cost until it was cut off is known to the session that had started it.
        let of_it = |event: &&&Value| event["worker"] == worker["session"];
        let last = of(&log, "subtask").iter().rfind(of_it).map_or(0, |event| tokens(event));
        let late: u64 = of(&log, "usage").iter().filter(of_it).filter_map(|event| event["inputTokens"].as_u64()).sum();
        assert!(tokens(end) > 0, "{end}");
        assert_eq!(last + late, tokens(end), "the sum is that of the parts");
    }
}

#[test]
fn a_request_that_is_cancelled_in_the_terminal_leaves_no_copy_when_the_terminal_is_closed_at_once() {
    let crew = clashing(&["loud", "polite"]);
    let mut terminal = Terminal::start(&crew.program, &[], 100, 30);
    terminal.wait_for("help");
    terminal.press("/subtasks Change the greeting\r");
    terminal.answer("Choose execution strategy:", "2");
    crew.wait_for_calls(&["loud", "polite"]);
    assert_eq!(crew.copies().len(), 2);
    terminal.press("\x1b");
    terminal.wait_for("Stopped after");
    terminal.signal(Signal::TERM);
    terminal.wait();
    assert_eq!(crew.copies(), Vec::<String>::new());
}

#[test]
fn a_request_that_is_cancelled_over_http_leaves_no_copy_when_the_server_is_stopped_at_once() {
    let crew = clashing(&["loud", "polite"]);
    let served = Served::start(&crew.program, "test", &[]);
    let session = served.session();
    let mut watched = served.watch(&session, None);
    let message = json!({"text": "Change the greeting", "subtasks": "parallel"});
    let sent = served.post(&format!("/api/sessions/{session}/messages"), &message);
    assert!(sent.status < 300, "{}", sent.text());
    crew.wait_for_calls(&["loud", "polite"]);
    assert_eq!(crew.copies().len(), 2);
    let listed = served.get(&format!("/api/sessions/{session}/subtasks"));
    let statuses: Vec<&Value> = listed["subtasks"].as_array().into_iter().flatten().map(|one| &one["detail"]).collect();
    assert_eq!(statuses, ["running", "running"], "{listed}");
    assert_eq!(listed["context"]["docType"], "subtask-context");
    assert_eq!(served.ask("GET", "/api/sessions/s1nf8a2c00aaaaaaa/subtasks").send().status, 404);
    let told = served.post(&format!("/api/sessions/{session}/control"), &json!({"action": "cancel"}));
    assert!(told.status < 300, "{}", told.text());
    watched.until("request.finished");
    served.running.signal(Signal::TERM);
    let ended = served.running.wait();
    assert_eq!((ended.code, crew.copies()), (Some(0), Vec::new()), "{}", ended.stderr);
}

#[test]
fn a_request_that_is_cancelled_in_an_editor_leaves_no_copy_when_the_editor_is_closed_at_once() {
    let crew = clashing(&["loud", "polite"]);
    let mut editor = Editor::start(&crew.program);
    editor.initialize(json!({"elicitation": {"form": {}}}));
    let session = editor.open(&crew.program.project());
    let prompt = editor.prompt(&session, "/subtasks Change the greeting");
    // How finely it is broken down, if that is asked, and how it runs.
    let mut is_started = false;
    while !is_started {
        let question = editor.asked("elicitation/create");
        is_started = question.to_string().contains("start_a");
        let choice = if is_started { "start_a" } else { "decide" };
        editor.answer(&question, json!({"action": "accept", "content": {"choice": choice}}));
    }
    crew.wait_for_calls(&["loud", "polite"]);
    assert_eq!(crew.copies().len(), 2);
    editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(editor.result(prompt)["stopReason"], "cancelled");
    let (status, errors) = editor.close();
    assert!(status.success(), "{errors}");
    assert_eq!(crew.copies(), Vec::<String>::new());
}

#[test]
fn a_killed_run_keeps_its_copies_until_it_is_cancelled() {
    let crew = auth(&["user", "token", "hash"]);
    let running = crew.program.spawn(&["run", "--trust", "--subtasks", "parallel", "--json", "Create authentication"]);
    crew.wait_for_calls(&["user", "token", "hash"]);
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None);
    assert_eq!(crew.copies().len(), 3, "it can continue");
    let cancelled = crew.run(&["control", "cancel"]);
    assert_eq!(cancelled.code, Some(0), "{}", cancelled.stderr);
    assert_eq!(crew.copies(), Vec::<String>::new());
}

/// Two workers, one of which writes a file where the other needs a folder.
fn file_and_folder() -> Crew {
    Crew::new(&[task("file", &[], &[]), task("folder", &[], &[])], &[], |name, number| match (name, number) {
        ("file", 1) => writes("a", "a file\n"),
        ("folder", 1) => writes("a/b", "in a folder\n"),
        (name, _) => says(&format!("The part {name} is done.")),
    })
}

#[test]
fn a_merge_that_cannot_go_through_waits_for_an_answer_from_the_shell() {
    let crew = file_and_folder();
    let ended = crew.run(&["run", "--trust", "--subtasks", "loose", "Create a and a/b"]);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    let listed = crew.run(&["subtasks"]).stdout;
    for part in [
        "2 of 2 sub-tasks completed.",
        "a cannot be a file and a folder at the same time.",
        "Cannot be merged:",
        "leave_other Merge without a",
        "Answer with: trimtab answer CHECKPOINT CHOICE",
    ] {
        assert!(listed.contains(part), "{part} is not in\n{listed}");
    }
    let answered = crew.run(&["answer", "leave_other"]);
    assert_eq!(answered.code, Some(0), "{}", answered.stderr);
    assert_eq!(crew.file("a/b").as_deref(), Some("in a folder\n"));
    assert!(answered.stdout.contains("Not merged: a."), "{}\n{}", answered.stdout, answered.stderr);
}

#[test]
fn a_merge_that_is_to_wait_is_made_later_in_the_terminal() {
    let plan = [task("one", &[], &[]), task("two", &[], &[])];
    let mut crew = Crew::new(&plan, &[], |name, number| match (name, number) {
        ("one", 1) => writes("one.txt", "one\n"),
        ("two", 1) => writes("two.txt", "two\n"),
        (name, _) => says(&format!("The part {name} is done.")),
    });
    crew.program.set("TRIMTAB_APPLY_FILES", "ask");
    let terminal = Terminal::start(&crew.program, &[], 90, 40);
    terminal.wait_for("help");
    terminal.press("/subtasks Create one.txt and two.txt\r");
    terminal.answer("Choose execution strategy:", "2");
    terminal.answer("Create one.txt and 1 more file?", "3");
    let asked = terminal.answer("You chose to wait.", "1");
    assert!(asked.contains("Not merged") && asked.contains("Discard the changes"), "{asked}");
    assert_eq!(crew.file("one.txt"), None);
    terminal.answer("Create one.txt and 1 more file?", "1");
    wait_until("the merge", || crew.file("one.txt").is_some() && crew.file("two.txt").is_some());
}

#[test]
fn what_a_worker_does_and_is_not_merged_is_named_everywhere() {
    let plan = [task("build", &[], &[]), task("other", &[], &[])];
    let command =
        "mkdir out && echo 1 > out/x && echo 2 > b.log && echo 3 > new.txt && rm old.txt lib/a lib/b && rmdir lib";
    let mut crew = Crew::new(&plan, &[], move |name, number| match (name, number) {
        ("build", 1) => writes("a.txt", "a\n"),
        ("build", 2) => asks(2, "run_command", &json!({"command": command})),
        ("other", 1) => asks(1, "run_command", &json!({"command": "mkdir out && echo 1 > out/x"})),
        (name, _) => says(&format!("The part {name} is done.")),
    });
    crew.program.set("TRIMTAB_APPLY_COMMANDS", "auto");
    crew.program.set("TRIMTAB_HISTORY_SNAPSHOT_FILES", "0");
    crew.write(".gitignore", "out\n*.log\n");
    std::fs::create_dir(crew.program.project().join("lib")).expect("made");
    ["old.txt", "lib/a", "lib/b"].iter().for_each(|path| crew.write(path, "1\n"));
    let mut ended = crew.run(&["run", "--trust", "--approve", "auto", "--subtasks", "parallel", "Build it"]);
    let mut told = ended.stderr;
    // Each of them asks, because undo cannot cover its command.
    for status in [3, 0] {
        assert!(told.contains("Undo cannot cover this command"), "{told}");
        let open = crew.run(&["checkpoints", "--json"]).events();
        let checkpoint = open[0]["checkpoint"].as_str().expect("an ID").to_owned();
        ended = crew.run(&["answer", &checkpoint, "allow"]);
        assert_eq!(ended.code, Some(status), "{}\n{}", ended.stderr, ended.stdout);
        told.push_str(&ended.stderr);
    }
    assert_eq!((crew.file("a.txt").as_deref(), crew.file("b.log"), crew.file("new.txt")), (Some("a\n"), None, None));
    assert!(crew.file("old.txt").is_some(), "what is not recorded is not deleted either");
    let left = "wrote new.txt; deleted lib/ and old.txt; 2 ignored paths";
    let notice = format!("Unrecorded changes from sub-task 1 were not merged: {left}.");
    assert!(told.contains(&notice), "{told}");
    assert!(!told.contains("Changes of sub-task 2"), "output of builds is not worth a notice");
    assert!(ended.stdout.contains(&format!("Not merged from sub-task 1: {left}.")), "{}", ended.stdout);
    assert!(ended.stdout.contains("Not merged from sub-task 2: 1 ignored path."), "{}", ended.stdout);
    let shown = crew.run(&["subtasks", "show", "1"]).stdout;
    assert!(shown.contains(&format!("  not merged: {left}\n")), "{shown}");
    let documents = crew.documents();
    assert_eq!(
        documents[0]["output"]["notMerged"],
        json!({"files": ["new.txt"], "more": 0, "deleted": ["lib/", "old.txt"], "ignored": 2})
    );
    assert_eq!(documents[1]["output"]["notMerged"], json!({"files": [], "more": 0, "ignored": 1}));
}
