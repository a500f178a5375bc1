//! Background commands with the real binary and the real sandbox: they return early, are read and stopped, report their
//! crash, and end with the program, however it ends.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::terminal::Terminal;

fn program() -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    let folder = program.project().canonicalize().expect("a folder");
    program.set("TRIMTAB_FOLDERS_TRUSTED", folder.to_str().expect("a path"));
    program
}

fn asks(name: &str, input: Value) -> Answer {
    Answer::anthropic(Reply::new().text(["I work on it."]).tool("toolu_1", name, [input.to_string()]))
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

/// The answer once a command has written so much of a file.
fn once_written(program: &Program, (name, bytes): (&str, u64), answer: Answer) -> Answer {
    let (gate, path) = (program.provider.gate(), program.project().join(name));
    let opened = gate.clone();
    std::thread::spawn(move || {
        while !std::fs::metadata(&path).is_ok_and(|file| file.len() >= bytes) {
            std::thread::sleep(Duration::from_millis(10));
        }
        opened.open();
    });
    answer.gated(&gate)
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// What the model was last told, as text.
fn last_message(program: &Program) -> String {
    let requests = program.provider.requests();
    let messages = requests.last().expect("a request").body["messages"].clone();
    messages.as_array().expect("messages").last().expect("one").to_string()
}

/// Processes whose command line holds these words.
fn processes_with(words: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(words) {
            found.push(format!("{} {line}", entry.file_name().to_string_lossy()));
        }
    }
    found
}

/// A command that sleeps for as long as no other on this machine.
fn own_sleep() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("sleep {}.{}", 2_000_000 + std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

const AUTO: [&str; 5] = ["run", "--json", "--trust", "--approve", "auto"];

fn run(program: &Program, words: &str) -> trimtab_testkit::program::Ended {
    let arguments: Vec<&str> = AUTO.iter().copied().chain([words]).collect();
    program.run(&arguments)
}

#[test]
fn a_server_starts_is_read_and_stopped_and_what_it_wrote_can_be_undone() {
    let program = program();
    let sleep = own_sleep();
    let command = format!("echo made > made.txt; echo up and running; setsid {sleep} & {sleep}");
    program.provider.push(asks("run_command", json!({"command": command, "background": true, "ready": "up and"})));
    program.provider.push(asks("read_output", json!({"id": "b1"})));
    program.provider.push(asks("stop_command", json!({"id": "b1"})));
    program.provider.push(says("Done."));
    let began = Instant::now();
    let ended = run(&program, "start it");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(began.elapsed() < Duration::from_secs(60), "it did not wait for the command");
    let events = ended.events();
    assert_eq!(of(&events, "command.started")[0]["background"], true);
    let background = of(&events, "command.background")[0];
    assert_eq!((&background["id"], &background["why"]), (&json!("b1"), &json!("started")));
    assert_eq!(of(&events, "command.ready").len(), 1);
    let results: Vec<&str> =
        of(&events, "tool.finished").iter().map(|event| event["preview"].as_str().expect("a text")).collect();
    assert!(results[0].starts_with("Running in the background as b1. It is ready."), "{}", results[0]);
    assert!(results[1].contains("b1 is running") && results[1].contains("up and running"), "{}", results[1]);
    assert_eq!(results[2], "b1 was stopped.");
    let finished = of(&events, "command.finished")[0];
    assert_eq!(finished["background"], json!({"id": "b1", "why": "model"}));
    assert_eq!(processes_with(&sleep), Vec::<String>::new(), "with everything that it started");
    let change = of(&events, "change.applied")[0];
    assert_eq!(change["files"][0]["path"], "made.txt");
    let undone = program.run(&["rewind"]);
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(!program.project().join("made.txt").exists());
}

#[test]
fn a_crash_reaches_the_model_at_its_next_step() {
    let program = program();
    let command = "echo going down; sleep 0.5; exit 3";
    program.provider.push(asks("run_command", json!({"command": command, "background": true, "ready": "going"})));
    program.provider.push(asks("run_command", json!({"command": "sleep 3"})));
    program.provider.push(says("It crashed."));
    let ended = run(&program, "start it");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let events = ended.events();
    let finished = of(&events, "command.finished").into_iter().find(|event| event["exitCode"] == 3);
    assert_eq!(finished.expect("its end")["background"], json!({"id": "b1", "why": "exited"}));
    let told = last_message(&program);
    assert!(told.contains("exited with code 3"), "{told}");
}

#[test]
fn a_run_ends_its_background_commands_and_says_which() {
    let program = program();
    let sleep = own_sleep();
    program
        .provider
        .push(asks("run_command", json!({"command": format!("echo up; {sleep}"), "background": true, "ready": "up"})));
    program.provider.push(says("It runs."));
    let ended = run(&program, "start it");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("Ended background commands: b1 (echo up"), "{}", ended.stderr);
    assert_eq!(processes_with(&sleep), Vec::<String>::new());
    program.provider.push(says("Yes."));
    let again = program.run(&["run", "--json", "--trust", "--continue", "is it running?"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    let told = program.provider.requests().last().expect("a request").body.to_string();
    assert!(told.contains("ended with its session. It was not started again"), "{told}");
}

#[test]
fn a_kill_of_trimtab_leaves_no_process_and_the_next_run_tells() {
    let program = program();
    let sleep = own_sleep();
    let command = format!("echo made > made.txt; echo up; setsid {sleep} & {sleep}");
    program.provider.push(asks("run_command", json!({"command": command, "background": true, "ready": "up"})));
    let gate = program.provider.gate();
    program.provider.push(says("It runs.").gated(&gate));
    let arguments: Vec<&str> = AUTO.iter().copied().chain(["start it"]).collect();
    let running = program.spawn(&arguments);
    running.wait_for_line("command.background");
    assert!(!processes_with(&sleep).is_empty());
    let listed = program.run(&["ps", "--json"]);
    let row: Value = serde_json::from_str(listed.stdout.trim()).unwrap_or_else(|_| panic!("{}", listed.stdout));
    assert_eq!((&row["id"], &row["command"]), (&json!("b1"), &json!(command)));
    running.signal(Signal::KILL);
    running.wait();
    wait_until("nothing is left", || processes_with(&sleep).is_empty());
    assert_eq!(program.run(&["ps"]).stdout, "No background commands are running.\n");
    gate.open();
    program.provider.push(says("It ended."));
    let resumed = program.run(&["resume", "--json", "--approve", "auto"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let events = resumed.events();
    assert_eq!(of(&events, "command.stopping").last().expect("an end")["by"], "program");
    assert_eq!(of(&events, "command.started").len(), 1, "it is never started again");
    let told = program.provider.requests().last().expect("a request").body.to_string();
    assert!(told.contains("ended with Trimtab, which was interrupted"), "{told}");
    program.provider.push(says("Nothing."));
    program.run(&["run", "--trust", "--continue", "what else?"]);
    let changes = program.run(&["changes"]);
    assert!(changes.stdout.contains("made.txt"), "undo covers it all the same: {}", changes.stdout);
}

#[test]
fn another_process_stops_a_command_and_ids_of_other_sessions_are_refused() {
    let program = program();
    let sleep = own_sleep();
    program
        .provider
        .push(asks("run_command", json!({"command": format!("echo up; {sleep}"), "background": true, "ready": "up"})));
    let gate = program.provider.gate();
    program.provider.push(says("It was stopped.").gated(&gate));
    let arguments: Vec<&str> = AUTO.iter().copied().chain(["start it"]).collect();
    let running = program.spawn(&arguments);
    running.wait_for_line("command.background");
    let wrong = program.run(&["stop-command", "b2"]);
    assert_eq!(wrong.code, Some(1), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("No background command b2 is running here."), "{}", wrong.stderr);
    let stopped = program.run(&["stop-command", "b1"]);
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    assert!(stopped.stdout.starts_with("Stopped b1: echo up"), "{}", stopped.stdout);
    assert_eq!(processes_with(&sleep), Vec::<String>::new());
    gate.open();
    let ended = running.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    // A new session has no b1, whatever another one had.
    program.provider.push(asks("read_output", json!({"id": "b1"})));
    program.provider.push(asks("stop_command", json!({"id": "b1"})));
    program.provider.push(says("There is none."));
    let other = run(&program, "read it");
    let events = other.events();
    for event in of(&events, "tool.finished") {
        assert_eq!(event["status"], "error");
        assert!(event["preview"].as_str().expect("a text").contains("This session has no background command b1."));
    }
}

#[test]
fn a_flood_of_output_is_bounded() {
    let program = program();
    program
        .provider
        .push(asks("run_command", json!({"command": "yes 0123456789abcdef", "background": true, "ready": "abcdef"})));
    program.provider.push(asks("run_command", json!({"command": "sleep 2"})));
    program.provider.push(asks("read_output", json!({"id": "b1", "since": 0})));
    program.provider.push(asks("stop_command", json!({"id": "b1"})));
    program.provider.push(says("Done."));
    let ended = run(&program, "start it");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let events = ended.events();
    for event in of(&events, "tool.finished") {
        assert!(event["preview"].as_str().expect("a text").len() < 40_000);
    }
    let key = of(&events, "command.finished").last().expect("an end")["ref"].as_str().expect("a key").to_owned();
    let stored = program.run(&["ref", &key]);
    assert!(stored.stdout.len() <= 3 << 20, "{}", stored.stdout.len());
}

#[test]
fn a_port_in_the_sandbox_is_shown_without_a_link() {
    let program = program();
    let python = "import http.server; http.server.ThreadingHTTPServer(('127.0.0.1', 38917), http.server.SimpleHTTPRequestHandler).serve_forever()";
    let command = format!("python3 -c \"{python}\"");
    program
        .provider
        .push(asks("run_command", json!({"command": command, "background": true, "ready": "38917", "name": "web"})));
    program.provider.push(asks("stop_command", json!({"id": "b1"})));
    program.provider.push(says("Done."));
    let ended = run(&program, "serve it");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let events = ended.events();
    let ports = of(&events, "command.port");
    assert_eq!((&ports[0]["port"], &ports[0]["reachable"]), (&json!(38917), &json!(false)), "{ports:?}");
    let result = of(&events, "tool.finished")[0]["preview"].as_str().expect("a text").to_owned();
    assert!(result.contains("port 38917 in the session's sandbox") && !result.contains("http://localhost"), "{result}");
}

/// What a server on this machine answers, if anything does, to a client that names no host.
fn page_at(address: &str) -> Option<String> {
    answer_to(address, "GET /page.txt HTTP/1.0\r\n\r\n")
}

/// What it answers to a browser that has this name in its address bar.
fn page_as(address: &str, host: &str) -> Option<String> {
    answer_to(address, &format!("GET /page.txt HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
}

fn answer_to(address: &str, request: &str) -> Option<String> {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut read = String::new();
    stream.read_to_string(&mut read).ok()?;
    Some(read).filter(|read| !read.is_empty())
}

#[test]
fn a_port_is_opened_for_a_browser_on_wish_and_closes_with_its_command() {
    let program = program();
    std::fs::write(program.project().join("page.txt"), "from the sandbox\n").expect("a file");
    // The port is taken on this machine, so the address has another one.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let serve = format!("python3 -m http.server --bind 127.0.0.1 {port}");
    let start = json!({"command": serve, "background": true, "ready": port.to_string()});
    program.provider.push(asks("run_command", start));
    program.provider.push(says("It is up."));
    let mut terminal = Terminal::start(&program, &[], 120, 30);
    terminal.wait_for("?");
    terminal.press("Serve it");
    terminal.wait_for("Serve it");
    terminal.press("\r");
    terminal.answer("Run this command?", "1");
    terminal.wait_for("To open it in your browser, press");
    terminal.wait_for("It is up.");
    terminal.press("/ps");
    terminal.press("\r");
    terminal.wait_for("o open port");
    terminal.wait_for(&format!("port {port} in its sandbox"));
    terminal.press("o");
    let screen = terminal.wait_for("http://localhost:");
    let rest = screen.split_once("http://localhost:").expect("an address").1;
    let local: String = rest.chars().take_while(char::is_ascii_digit).collect();
    assert_ne!(local, port.to_string(), "{screen}");
    let address = format!("127.0.0.1:{local}");
    let page = page_at(&address).expect("the server answers");
    assert!(page.contains("from the sandbox"), "{page}");
    // The server may be hostile: it must not be reached under the name that Trimtab's own page and its cookies have, nor
    // under a foreign one.
    let page = page_as(&address, &format!("localhost:{local}")).expect("the server answers");
    assert!(page.contains("from the sandbox"), "{page}");
    for host in [address.as_str(), "127.0.0.1", "evil.example", "[::1]"] {
        let page = page_as(&address, host).expect("an answer");
        assert!(
            page.starts_with("HTTP/1.1 421 ") && page.contains(&format!("http://localhost:{local}")),
            "{host}: {page}"
        );
        assert!(!page.contains("from the sandbox"), "{host}: {page}");
    }
    let trail = program.run(&["audit"]).stdout;
    assert!(trail.contains("port_opened"), "{trail}");
    terminal.press("s");
    terminal.wait_for("was stopped");
    wait_until("the port is closed", || std::net::TcpStream::connect(&address).is_err());
    terminal.press("\x1b");
    terminal.wait_until_gone("enter output");
    terminal.press("\x04");
    terminal.wait();
}

#[test]
fn ctrl_b_moves_a_command_to_the_background_and_ps_lists_and_stops_it() {
    let program = program();
    let sleep = own_sleep();
    program.provider.push(asks("run_command", json!({"command": format!("echo busy; {sleep}")})));
    program.provider.push(says("It continues there."));
    let mut terminal = Terminal::start(&program, &[], 100, 30);
    terminal.wait_for("?");
    terminal.press("Build it");
    terminal.wait_for("Build it");
    terminal.press("\r");
    terminal.answer("Run this command?", "1");
    wait_until("the command runs", || !processes_with(&sleep).is_empty());
    terminal.press("\x02");
    terminal.wait_for("Moved to the background as b1");
    terminal.wait_for("It continues there.");
    assert!(!processes_with(&sleep).is_empty(), "the end of the request does not end it");
    terminal.press("/ps");
    terminal.press("\r");
    terminal.wait_for("Background commands");
    terminal.wait_for("b1  ");
    terminal.wait_for("started ");
    terminal.press("\r");
    terminal.wait_for("busy");
    terminal.press("s");
    wait_until("it is stopped", || processes_with(&sleep).is_empty());
    terminal.wait_for("was stopped");
    terminal.press("\x1b");
    terminal.wait_for("enter output");
    terminal.press("\x1b");
    terminal.wait_until_gone("enter output");
    terminal.press("\x04");
    terminal.wait();
}

#[test]
fn each_change_is_undone_once_however_edits_and_the_command_took_turns() {
    let program = program();
    let (file, project) = (|name: &str| std::fs::read_to_string(program.project().join(name)).ok(), program.project());
    std::fs::write(project.join("a.txt"), "zero\n").expect("writes");
    std::fs::write(project.join("same.txt"), "zero\n").expect("writes");
    let command = "echo one > b.txt; echo up; until [ -e go ]; do sleep 0.05; done; \
        echo three > a.txt; echo done > c.txt; echo zero > same.txt; echo finished; sleep 1000";
    program.provider.push(asks("run_command", json!({"command": command, "background": true, "ready": "up"})));
    program.provider.push(asks("read_file", json!({"path": "a.txt"})));
    program
        .provider
        .push(asks("edit_file", json!({"path": "a.txt", "blocks": [{"search": "zero", "replace": "two"}]})));
    program.provider.push(asks("write_file", json!({"path": "d.txt", "content": "d\n"})));
    program.provider.push(asks("write_file", json!({"path": "go", "content": "go\n"})));
    program.provider.push(once_written(&program, ("c.txt", 5), asks("stop_command", json!({"id": "b1"}))));
    program.provider.push(says("Done."));
    let ended = run(&program, "work on it");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let events = ended.events();
    let sets = of(&events, "change.applied");
    let last = sets.last().expect("the command's own");
    let paths: Vec<&str> =
        last["files"].as_array().expect("files").iter().filter_map(|file| file["path"].as_str()).collect();
    assert_eq!(paths, ["a.txt", "b.txt", "c.txt"], "neither what an edit made nor what is as it was: {last}");
    assert_eq!(file("a.txt").as_deref(), Some("three\n"));
    let undo = |expected: [Option<&str>; 5]| {
        let undone = program.run(&["rewind"]);
        assert_eq!(undone.code, Some(0), "{} {}", undone.stdout, undone.stderr);
        let now = ["a.txt", "b.txt", "c.txt", "d.txt", "go"].map(file);
        assert_eq!(now.each_ref().map(Option::as_deref), expected, "{}", undone.stdout);
    };
    undo([Some("two\n"), None, None, Some("d\n"), Some("go\n")]);
    undo([Some("two\n"), None, None, Some("d\n"), None]);
    undo([Some("two\n"), None, None, None, None]);
    undo([Some("zero\n"), None, None, None, None]);
    for _ in 0..4 {
        assert_eq!(program.run(&["forward"]).code, Some(0));
    }
    assert_eq!(file("a.txt").as_deref(), Some("three\n"));
    assert_eq!(file("c.txt").as_deref(), Some("done\n"));
}

#[test]
fn a_file_that_the_command_changed_before_an_edit_can_be_undone_to_its_first_state() {
    let program = program();
    let (file, project) = (|name: &str| std::fs::read_to_string(program.project().join(name)).ok(), program.project());
    std::fs::write(project.join("a.txt"), "zero\n").expect("writes");
    let command = "echo one > a.txt; echo up; sleep 1000";
    program.provider.push(asks("run_command", json!({"command": command, "background": true, "ready": "up"})));
    program.provider.push(asks("read_file", json!({"path": "a.txt"})));
    program.provider.push(asks("edit_file", json!({"path": "a.txt", "blocks": [{"search": "one", "replace": "two"}]})));
    program.provider.push(asks("stop_command", json!({"id": "b1"})));
    program.provider.push(says("Done."));
    let ended = run(&program, "work on it");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(file("a.txt").as_deref(), Some("two\n"));
    assert_eq!(of(&ended.events(), "change.applied").len(), 2, "{}", ended.stdout);
    for expected in ["one\n", "zero\n"] {
        let undone = program.run(&["rewind"]);
        assert_eq!(file("a.txt").as_deref(), Some(expected), "{} {}", undone.stdout, undone.stderr);
    }
    for expected in ["one\n", "two\n"] {
        assert_eq!(program.run(&["forward"]).code, Some(0));
        assert_eq!(file("a.txt").as_deref(), Some(expected));
    }
}

#[test]
fn edits_commands_and_a_background_command_in_turns_are_undone_in_their_order() {
    let program = program();
    let (file, project) = (|name: &str| std::fs::read_to_string(program.project().join(name)).ok(), program.project());
    std::fs::write(project.join("a.txt"), "0\n").expect("writes");
    // It waits for a file of each number, and writes the next number.
    let command =
        "echo 1 > a.txt; echo up; until [ -e go ]; do sleep 0.05; done; echo 4 > a.txt; touch new; sleep 1000";
    program.provider.push(asks("run_command", json!({"command": command, "background": true, "ready": "up"})));
    program.provider.push(asks("run_command", json!({"command": "echo 2 > a.txt"})));
    program.provider.push(asks("read_file", json!({"path": "a.txt"})));
    program.provider.push(asks("edit_file", json!({"path": "a.txt", "blocks": [{"search": "2", "replace": "3"}]})));
    program.provider.push(asks("write_file", json!({"path": "go", "content": "go\n"})));
    program.provider.push(once_written(&program, ("new", 0), asks("read_file", json!({"path": "a.txt"}))));
    program.provider.push(asks("edit_file", json!({"path": "a.txt", "blocks": [{"search": "4", "replace": "5"}]})));
    program.provider.push(asks("stop_command", json!({"id": "b1"})));
    program.provider.push(says("Done."));
    let ended = run(&program, "work on it");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(file("a.txt").as_deref(), Some("5\n"), "{}", ended.stdout);
    let mut seen = Vec::new();
    while program.run(&["rewind"]).code == Some(0) && seen.len() < 12 {
        seen.push(file("a.txt").unwrap_or_default().trim().to_owned());
    }
    seen.dedup();
    assert_eq!(seen, ["5", "4", "3", "2", "1", "0"], "{}", ended.stdout);
    assert!(!project.join("new").exists() && !project.join("go").exists());
}
