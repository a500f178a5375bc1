//! Work with tools, as a script meets it: the real binary, the real sandbox, a provider that speaks
//! Anthropic's dialect.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::program::{Ended, Program, Running};
use trimtab_testkit::provider::{Answer, FakeProvider, Reply};
use trimtab_testkit::terminal::Terminal;

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

/// A reply that asks for these tools.
fn asks(tools: &[(&str, Value)]) -> Answer {
    let mut reply = Reply::new().text(["I work on it."]);
    for (number, (name, input)) in tools.iter().enumerate() {
        reply = reply.tool(format!("toolu_{number}"), *name, [input.to_string()]);
    }
    Answer::anthropic(reply)
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
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

fn checkpoint(ended: &Ended) -> String {
    let events = ended.events();
    let opened = of(&events, "checkpoint.opened");
    opened.last().expect("a question")["checkpoint"].as_str().expect("an id").to_owned()
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

/// A command that sleeps for as long as no other on this machine: other runs of the tests may be under way.
fn own_sleep() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("sleep {}.{}", 1_000_000 + std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

#[track_caller]
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn without_a_person_a_permission_ends_the_run_with_code_3_and_an_answer_goes_on() {
    let program = program();
    program.provider.push(asks(&[("run_command", json!({"command": "echo made > made.txt"}))]));
    program.provider.push(says("It is made."));
    let asked = program.run(&["run", "--json", "--trust", "make it"]);
    assert_eq!(asked.code, Some(3), "{}", asked.stderr);
    assert!(!program.project().join("made.txt").exists());
    let events = asked.events();
    let opened = of(&events, "checkpoint.opened")[0];
    assert_eq!(opened["kind"], "permission");
    let labels: Vec<&str> = opened["choices"]
        .as_array()
        .expect("choices")
        .iter()
        .map(|choice| choice["label"].as_str().expect("a label"))
        .collect();
    let documented = ["Allow this time", "Always allow", "Wait and tell Trimtab what to do differently", "Never allow"];
    assert_eq!(labels, documented);
    assert_eq!(of(&events, "request.finished")[0]["status"], "needs_user");
    let listed = program.run(&["checkpoints"]);
    assert!(listed.stdout.contains("Run this command? echo made > made.txt"), "{}", listed.stdout);
    let answered = program.run(&["answer", &checkpoint(&asked), "allow"]);
    assert_eq!((answered.code, answered.stdout.as_str()), (Some(0), "It is made.\n"), "{}", answered.stderr);
    assert_eq!(std::fs::read_to_string(program.project().join("made.txt")).expect("is there"), "made\n");
    assert!(last_message(&program).contains("Exit code 0."));
}

#[test]
fn a_command_that_the_sandbox_kept_from_its_work_runs_outside_once_when_a_person_says_so() {
    let program = program();
    let outside = program.project().parent().expect("a folder").join("outside.txt");
    let command = "echo made > ../outside.txt";
    program.provider.push(asks(&[("run_command", json!({"command": command}))]));
    let asked = program.run(&["run", "--json", "--trust", "make it"]);
    assert_eq!(asked.code, Some(3), "{}", asked.stderr);
    let offered = program.run(&["answer", "--json", &checkpoint(&asked), "allow"]);
    assert_eq!(offered.code, Some(3), "{}", offered.stderr);
    assert!(!outside.exists());
    let events = offered.events();
    let opened = *of(&events, "checkpoint.opened").last().expect("a question");
    assert_eq!((&opened["about"], &opened["plan"]["sandbox"]), (&json!("outside"), &json!("off")), "{opened}");
    let listed = program.run(&["checkpoints"]);
    assert!(listed.stdout.contains("This command failed, possibly because of the sandbox"), "{}", listed.stdout);
    // Nothing but a person's own word takes it outside.
    let resumed = program.run(&["resume", "--approve", "auto"]);
    assert_eq!((resumed.code, outside.exists()), (Some(3), false), "{}", resumed.stderr);
    program.provider.push(says("It is made."));
    let answered = program.run(&["answer", "--json", &checkpoint(&offered), "outside"]);
    assert_eq!(answered.code, Some(0), "{}", answered.stderr);
    assert_eq!(std::fs::read_to_string(&outside).expect("is there"), "made\n");
    let events = answered.events();
    assert_eq!(
        of(&events, "command.started")[0]["fingerprint"],
        opened["fingerprint"],
        "what was approved is what ran"
    );
    assert!(last_message(&program).contains("ran it once outside the sandbox"));
    assert!(
        program.run(&["rules"]).stdout.lines().all(|line| !line.contains("run_outside")),
        "once, and no rule of it"
    );
}

#[test]
fn what_waits_for_a_person_ends_with_code_3_however_often_it_is_resumed() {
    let program = program();
    program.provider.push(asks(&[("ask_user", json!({"question": "Which one?", "options": ["a", "b"]}))]));
    // A pipe that stays open is nobody either.
    let silent = |arguments: &[&str]| {
        let mut command = program.command(program.binary(), arguments);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().expect("the program starts");
        let open = child.stdin.take();
        let ended = Running::new(child).wait();
        drop(open);
        ended
    };
    let asked = silent(&["run", "--json", "--approve", "ask", "--trust", "choose"]);
    assert_eq!(asked.code, Some(3), "{}", asked.stderr);
    for approve in ["ask", "auto", "deny", "ask"] {
        for form in [&["--json"][..], &[]] {
            let arguments = [&["resume", "--approve", approve], form].concat();
            assert_eq!(program.run(&arguments).code, Some(3), "{arguments:?}, without input");
            assert_eq!(silent(&arguments).code, Some(3), "{arguments:?}, with a pipe");
        }
    }
    let events = silent(&["resume", "--json"]).events();
    let finished = of(&events, "request.finished");
    assert_eq!((finished.len(), &finished[0]["status"]), (1, &json!("needs_user")));
    program.provider.push(says("a it is."));
    let answered = program.run(&["answer", &checkpoint(&asked), "o1"]);
    assert_eq!((answered.code, answered.stdout.as_str()), (Some(0), "a it is.\n"), "{}", answered.stderr);
    let again = program.run(&["resume", "--json"]);
    assert_eq!((again.code, of(&again.events(), "request.finished").len()), (Some(0), 2), "both ends are shown");
}

#[test]
fn an_edited_list_of_commands_counts_for_the_next_command_of_the_same_request() {
    let program = program();
    std::fs::create_dir_all(program.home()).expect("a folder");
    let file = program.home().join("config.toml");
    std::fs::write(&file, "[apply]\ncommands = \"auto\"\n[commands]\nallow = [\"touch\", \"seq\"]\n").expect("writes");
    let run = |command: &str| asks(&[("run_command", json!({"command": command}))]);
    program.provider.push(run("touch one"));
    program.provider.push(run("date -u"));
    program.provider.push(says("Done."));
    let edit = |text: &str| std::fs::write(&file, text).expect("writes");
    let asked = program.run(&["run", "--json", "--trust", "work"]);
    assert_eq!(asked.code, Some(3), "date is on no list: {}", asked.stderr);
    assert!(program.project().join("one").exists());
    // The list is edited while the question is open; the one who answers has to say no more than that.
    edit("[apply]\ncommands = \"auto\"\n[commands]\nallow = [\"touch\", \"seq\", \"date\"]\n");
    let resumed = program.run(&["resume", "--json"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stdout);
    let events = resumed.events();
    assert_eq!(of(&events, "request.relisted")[0]["lists"]["allow"], json!(["touch", "seq", "date"]));
    // While a request runs: what is taken off the list is asked about from the next command on.
    program.provider.push(run("seq 3"));
    let gate = program.provider.gate();
    program.provider.push(run("seq 4").gated(&gate));
    let running = program.spawn(&["run", "--json", "--trust", "count"]);
    running.wait_for_line("command.finished");
    edit("[apply]\ncommands = \"auto\"\n[commands]\nallow = [\"touch\"]\n");
    gate.open();
    let ended = running.wait();
    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    let events = ended.events();
    assert_eq!(of(&events, "command.started").len(), 1);
    assert!(of(&events, "checkpoint.opened")[0]["title"].as_str().is_some_and(|title| title.contains("seq 4")));
    // A file that is being written counts for nothing until it can be read.
    edit("[commands\nallow = [");
    assert_ne!(program.run(&["resume", "--json"]).code, Some(0), "settings that cannot be read are refused as ever");
}

#[test]
fn the_model_is_told_of_terminals_and_what_it_is_told_is_so() {
    let program = program();
    let script = "test -t 0 && test -t 1 && cat && echo a terminal || echo none";
    program.provider.push(asks(&[("run_command", json!({"command": script, "terminal": true}))]));
    program.provider.push(asks(&[("run_command", json!({"command": script}))]));
    program.provider.push(says("Seen."));
    assert_eq!(program.run(&["run", "--trust", "--approve", "auto", "look"]).code, Some(0));
    let requests = program.provider.requests();
    let tools = requests[0].body["tools"].as_array().expect("tools").clone();
    let run = tools.iter().find(|tool| tool["name"] == "run_command").expect("it may run commands");
    let told = run["description"].as_str().expect("words");
    assert!(told.contains("`terminal` gives it a terminal without input"), "{told}");
    let results: Vec<String> = requests[1..].iter().map(|request| request.body["messages"].to_string()).collect();
    assert!(results[0].contains("a terminal") && !results[0].contains("none\\n"), "{}", results[0]);
    assert!(results[1].contains("none\\n"), "{}", results[1]);
}

#[test]
fn a_rule_made_elsewhere_answers_what_waits_once_somebody_resumes_it() {
    let program = program();
    program.provider.push(asks(&[("run_command", json!({"command": "touch made"}))]));
    let asked = program.run(&["run", "--json", "--trust", "make it"]);
    assert_eq!(asked.code, Some(3));
    assert_eq!(program.run(&["rules", "add", "allow", "run_command", "touch other"]).code, Some(0));
    assert_eq!(program.run(&["resume", "--json"]).code, Some(3), "a rule about something else answers nothing");
    assert_eq!(program.run(&["rules", "add", "allow", "run_command", "touch *"]).code, Some(0));
    // Whoever makes a rule does not start anything by it.
    assert!(!program.project().join("made").exists());
    assert!(program.run(&["checkpoints"]).stdout.contains("touch made"));
    program.provider.push(says("It is made."));
    let resumed = program.run(&["resume", "--json"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stdout);
    let events = resumed.events();
    assert_eq!(of(&events, "checkpoint.resolved")[0]["by"], "rule");
    assert!(program.project().join("made").exists());
}

#[test]
fn a_rule_made_elsewhere_answers_the_question_that_somebody_sits_before() {
    let program = program();
    program.provider.push(asks(&[("run_command", json!({"command": "touch made"}))]));
    program.provider.push(says("It is made."));
    let mut terminal = Terminal::start(&program, &["run", "--trust", "make it"], 100, 30);
    terminal.wait_for("always)");
    assert!(!program.project().join("made").exists());
    assert_eq!(program.run(&["rules", "add", "allow", "run_command", "touch other"]).code, Some(0));
    assert!(program.run(&["checkpoints"]).stdout.contains("touch made"), "a rule about something else answers nothing");
    assert_eq!(program.run(&["rules", "add", "allow", "run_command", "touch *"]).code, Some(0));
    terminal.wait_for("It is made.");
    assert_eq!(terminal.wait(), Some(0));
    assert!(program.project().join("made").exists());
}

#[test]
fn always_makes_a_rule_that_is_listed_and_can_be_removed() {
    let program = program();
    let asks = || asks(&[("run_command", json!({"command": "date +%s%N$X"}))]);
    program.provider.push(asks());
    program.provider.push(says("Done."));
    let asked = program.run(&["run", "--json", "--trust", "what time is it"]);
    assert_eq!(asked.code, Some(3));
    assert_eq!(program.run(&["answer", &checkpoint(&asked), "always"]).code, Some(0));
    let rules = program.run(&["rules"]);
    assert!(rules.stdout.contains("allow run_command: date +%s%N$X (in "), "{}", rules.stdout);
    program.provider.push(asks());
    program.provider.push(says("Done."));
    assert_eq!(program.run(&["run", "--trust", "and now"]).code, Some(0), "the rule holds in another session");
    assert_eq!(program.run(&["rules", "remove", "1"]).code, Some(0));
    program.provider.push(asks());
    assert_eq!(program.run(&["run", "--trust", "and now"]).code, Some(3), "the rule is gone");
    let missing = program.run(&["rules", "remove", "7"]);
    assert!(missing.stderr.contains("There is no rule number 7."), "{}", missing.stderr);
}

#[test]
fn words_that_come_with_a_yes_reach_the_model() {
    let mut program = program();
    program.set("TRIMTAB_APPLY_FILES", "ask");
    program.provider.push(asks(&[("write_file", json!({"path": "a.txt", "content": "hi\n"}))]));
    let asked = program.run(&["run", "--json", "--trust", "write it"]);
    assert_eq!(asked.code, Some(3), "{}", asked.stderr);
    program.provider.push(says("I will."));
    let answered = program.run(&["answer", &checkpoint(&asked), "allow", "--text", "call the next one b.txt"]);
    assert_eq!(answered.code, Some(0), "{}", answered.stderr);
    assert_eq!(std::fs::read_to_string(program.project().join("a.txt")).expect("written"), "hi\n");
    let told = last_message(&program);
    assert!(told.contains("The user allowed this, and says: call the next one b.txt"), "{told}");
}

#[test]
fn however_many_answer_the_same_question_each_of_them_comes_to_an_end() {
    let mut program = program();
    program.set("TRIMTAB_APPLY_FILES", "ask");
    for round in 0..12 {
        program.provider.push(asks(&[("write_file", json!({"path": format!("{round}.txt"), "content": "hi\n"}))]));
        let asked = program.run(&["run", "--json", "--trust", "write it"]);
        assert_eq!(asked.code, Some(3), "{}", asked.stderr);
        program.provider.push(says("I did."));
        let checkpoint = checkpoint(&asked);
        let answers = ["answer", &checkpoint, "allow", "--json"];
        let all: Vec<Running> = (0..8).map(|_| program.spawn(&answers)).collect();
        let ended: Vec<Ended> = all.into_iter().map(Running::wait).collect();
        assert!(ended.iter().any(|one| one.code == Some(0)), "{ended:?}");
        for one in ended.iter().filter(|one| one.code != Some(0)) {
            assert!(one.stderr.contains("answered elsewhere"), "{one:?}");
        }
        assert!(program.project().join(format!("{round}.txt")).exists());
    }
}

#[test]
fn nothing_of_a_folder_is_sent_before_it_is_trusted() {
    let program = program();
    std::fs::write(program.project().join("AGENTS.md"), "Speak like a pirate.").expect("a file");
    std::fs::write(program.project().join("CLAUDE.md"), "Mind the parrot.").expect("a file");
    std::fs::write(program.project().join("secret.txt"), "swordfish").expect("a file");
    let asks = || asks(&[("read_file", json!({"path": "secret.txt"}))]);
    program.provider.push(asks());
    let asked = program.run(&["run", "--json", "look at secret.txt"]);
    assert_eq!(asked.code, Some(3));
    let sent: String =
        program.provider.requests().iter().map(|request| String::from_utf8_lossy(&request.raw).into_owned()).collect();
    assert!(!sent.contains("swordfish") && !sent.contains("pirate") && !sent.contains("parrot"), "{sent}");
    let folder = program.project().canonicalize().expect("a folder").display().to_string();
    assert!(!sent.contains(&folder), "not even its name");
    program.provider.push(says("Seen."));
    let answered = program.run(&["answer", &checkpoint(&asked), "trust"]);
    assert_eq!(answered.code, Some(0), "{}", answered.stderr);
    let sent = program.provider.requests().last().expect("a request").body["messages"].to_string();
    assert!(sent.contains("swordfish"), "{sent}");
    program.provider.push(says("Arr."));
    assert_eq!(program.run(&["run", "and now"]).code, Some(0), "trusted once, trusted from then on");
    let sent = program.provider.requests().last().expect("a request").body.to_string();
    assert!(sent.contains("Speak like a pirate.") && sent.contains("Mind the parrot."), "{sent}");
    program.run(&["trust", "--remove"]);
    program.provider.push(asks());
    assert_eq!(program.run(&["run", "once more"]).code, Some(3));
}

#[test]
fn files_that_the_settings_name_are_instructions_and_no_setting_sends_a_secret_or_leaves_the_folder() {
    let mut program = program();
    program.set("TRIMTAB_CONTEXT_FILES", "house.md");
    let project = program.project().to_owned();
    let write = |path: &str, text: &str| std::fs::write(project.join(path), text).expect("a file");
    for folder in ["docs", ".trimtab"] {
        std::fs::create_dir_all(project.join(folder)).expect("a folder");
    }
    write("house.md", "Shoes stay outside.");
    write("docs/style.md", "Short sentences.");
    write(".env", "KEY=swordfish");
    write("../outside.txt", "a neighbour's letter");
    std::os::unix::fs::symlink(".env", project.join("innocent.md")).expect("a link");
    let files = "[\"docs/style.md\", \".env\", \"innocent.md\", \"../outside.txt\", \"house.md\"]";
    write(".trimtab/config.toml", &format!("[context]\nfiles = {files}\n"));
    program.provider.push(says("I see."));
    let first = program.run(&["run", "--json", "--trust", "Look at main.rs"]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let request = program.provider.requests().last().expect("a request").clone();
    let told = request.body["messages"].to_string();
    assert!(told.contains(r"house.md:\nShoes stay outside.\n\ndocs/style.md:\nShort sentences."), "{told}");
    let sent = String::from_utf8_lossy(&request.raw).into_owned();
    assert!(!sent.contains("swordfish") && !sent.contains("neighbour"), "{sent}");
    let told: Vec<Value> = first.events().into_iter().filter(|event| event["type"] == "banner").collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(
        told[0]["text"],
        "context.files names .env, which may hold secrets. It is not sent automatically.\n\
         context.files names innocent.md, which cannot be read in this folder.\n\
         context.files names ../outside.txt, which cannot be read in this folder."
    );
    program.provider.push(says("Still."));
    let second = program.run(&["run", "--json", "--trust", "--continue", "tidy up the rest"]);
    assert!(!second.stdout.contains("context.files"), "once is enough: {}", second.stdout);
    write(".trimtab/config.toml", "[context]\nfiles = \"docs/style.md\"\n");
    let refused = program.run(&["run", "--trust", "Look at main.rs"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains(".trimtab/config.toml, line 2"), "{}", refused.stderr);
    assert!(refused.stderr.contains("context.files takes a list of strings"), "{}", refused.stderr);
}

#[test]
fn what_a_folder_forbids_counts_from_the_moment_it_is_trusted() {
    let mut program = program();
    program.set("TRIMTAB_APPLY_COMMANDS", "auto");
    std::fs::create_dir(program.project().join(".trimtab")).expect("a folder");
    std::fs::write(program.project().join(".trimtab/config.toml"), "[commands]\ndeny = [\"git status\"]\n")
        .expect("a file");
    std::fs::write(program.project().join("a.txt"), "a").expect("a file");
    let both = [("read_file", json!({"path": "a.txt"})), ("run_command", json!({"command": "git status"}))];
    program.provider.push(asks(&both));
    program.provider.push(says("Seen."));
    let asked = program.run(&["run", "--json", "look at a.txt"]);
    assert_eq!(asked.code, Some(3), "{}", asked.stderr);
    let answered = program.run(&["answer", &checkpoint(&asked), "trust", "--json"]);
    let events = answered.events();
    assert_eq!(of(&events, "command.started"), Vec::<&Value>::new(), "{}", answered.stdout);
}

#[test]
fn first_requests_are_small() {
    let program = program();
    program.provider.always(says("Yes."));
    program.run(&["run", "--trust", "Rename the function parse to read in src/lib.rs and run the tests"]);
    program.run(&["run", "--mode", "chat", "What is Trimtab?"]);
    let sizes: Vec<usize> = program.provider.requests().iter().map(|request| request.raw.len()).collect();
    assert!(sizes[0] <= 10_000, "{} bytes for a task", sizes[0]);
    let last = sizes.len() - 1;
    assert!(sizes[last] < 2_000, "{} bytes for a conversation", sizes[last]);
    let requests = program.provider.requests();
    assert!(requests[0].body["tools"].as_array().is_some_and(|tools| tools.len() > 10));
    assert!(requests[last].body.get("tools").is_none(), "a conversation has no tools");
}

#[test]
fn an_interrupt_ends_a_command_with_all_its_processes() {
    let program = program();
    let sleep = own_sleep();
    let command = format!("sh -c 'setsid {sleep} & {sleep}' & {sleep}");
    program.provider.push(asks(&[
        ("run_command", json!({"command": command, "timeout_s": 3000})),
        ("write_file", json!({"path": "after.txt", "content": "x"})),
    ]));
    let running = program.spawn(&["run", "--json", "--trust", "--approve", "auto", "wait"]);
    running.wait_for_line("command.started");
    wait_until("all of it runs", || processes_with(&sleep).len() >= 3);
    running.signal(Signal::INT);
    let ended = running.wait();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(processes_with(&sleep), Vec::<String>::new());
    assert!(!program.project().join("after.txt").exists(), "nothing begins after a stop");
    let events = ended.events();
    assert!(of(&events, "tool.finished").iter().all(|event| event["status"] == "interrupted"));
    program.provider.push(says("Yes."));
    assert_eq!(program.run(&["run", "--continue", "go on"]).code, Some(0), "the conversation is still valid");
}

#[test]
fn an_interrupt_ends_five_looks_at_once() {
    let program = program();
    program.provider.on_path("/slow", Answer::silent());
    let host = program.provider.url().trim_start_matches("http://").to_owned();
    assert_eq!(program.run(&["rules", "add", "allow", "fetch_url", &host]).code, Some(0));
    let fetch = |number: usize| ("fetch_url", json!({"url": format!("http://{host}/slow?{number}")}));
    program.provider.push(asks(&[fetch(1), fetch(2), fetch(3), fetch(4), fetch(5)]));
    let running = program.spawn(&["run", "--json", "--trust", "fetch"]);
    program.provider.block_on(program.provider.wait_for_requests(6));
    running.signal(Signal::INT);
    let ended = running.wait();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    let events = ended.events();
    assert_eq!(of(&events, "tool.finished").len(), 5);
}

#[test]
fn a_command_that_was_running_when_the_program_was_killed_is_asked_about_even_under_auto() {
    let program = program();
    let sleep = own_sleep();
    let command = format!("echo x >> log.txt; {sleep}");
    program.provider.push(asks(&[("run_command", json!({"command": command, "timeout_s": 3000}))]));
    let running = program.spawn(&["run", "--json", "--trust", "--approve", "auto", "work"]);
    running.wait_for_line("command.started");
    let has_written = || std::fs::read(program.project().join("log.txt")).is_ok_and(|text| !text.is_empty());
    wait_until("it has written", has_written);
    running.signal(Signal::KILL);
    running.wait();
    wait_until("it dies with the program", || processes_with(&sleep).is_empty());
    let resumed = program.run(&["resume", "--json", "--approve", "auto"]);
    assert_eq!(resumed.code, Some(3), "{}", resumed.stderr);
    let events = resumed.events();
    assert_eq!(of(&events, "checkpoint.opened").last().expect("a question")["kind"], "unknown");
    assert_eq!(std::fs::read_to_string(program.project().join("log.txt")).expect("is there"), "x\n", "it ran once");
    program.provider.push(says("I see."));
    assert_eq!(program.run(&["answer", &checkpoint(&resumed), "skip"]).code, Some(0));
    assert!(last_message(&program).contains("The result is unknown"));
}

#[test]
fn the_step_limit_ends_with_code_4_and_resume_goes_on_with_more() {
    let program = program();
    std::fs::write(program.project().join("a.txt"), "alpha").expect("a file");
    program.provider.push(asks(&[("read_file", json!({"path": "a.txt"}))]));
    program.provider.push(asks(&[("list_files", json!({}))]));
    program.provider.push(says("⚠ GOAL PARTIALLY ACHIEVED\nHalf is done."));
    let limited = program.run(&["run", "--json", "--trust", "--max-steps", "2", "work"]);
    assert_eq!(limited.code, Some(4), "{}", limited.stderr);
    let events = limited.events();
    let banners: Vec<&str> =
        of(&events, "banner").iter().map(|banner| banner["text"].as_str().expect("text")).collect();
    assert_eq!(banners, ["⚠ GOAL PARTIALLY ACHIEVED"]);
    assert_eq!(of(&events, "answer")[0]["summary"], "Half is done.");
    assert_eq!(program.provider.requests().len(), 3, "two steps and the assessment");
    program.provider.push(says("All is done."));
    let resumed = program.run(&["resume", "--max-steps", "5"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "All is done.\n"), "{}", resumed.stderr);
}

#[test]
fn what_is_resumed_is_shown_from_its_last_step_on_with_a_word_of_the_rest() {
    let program = program();
    for name in ["a", "b", "c"] {
        std::fs::write(program.project().join(format!("{name}.txt")), name).expect("a file");
        program.provider.push(asks(&[("read_file", json!({"path": format!("{name}.txt")}))]));
    }
    program.provider.push(asks(&[("write_file", json!({"path": "d.txt", "content": "d\n"}))]));
    program.provider.push(asks(&[("read_file", json!({"path": "d.txt"}))]));
    let gate = program.provider.gate();
    program.provider.push(says("never").gated(&gate));
    let running = program.spawn(&["run", "--trust", "--approve", "auto", "Read all of it, then write"]);
    program.provider.block_on(program.provider.wait_for_requests(6));
    running.signal(Signal::KILL);
    running.wait();
    let session = program.run(&["sessions", "list"]).stdout[..].split(' ').next().expect("an id").to_owned();
    program.provider.push(says("All is read."));
    let resumed = program.run(&["resume"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "All is read.\n"), "{}", resumed.stderr);
    insta::assert_snapshot!(resumed.stderr.replace(&session, "SESSION"), @"
    > Read all of it, then write
    … 5 earlier steps: `trimtab sessions export SESSION` shows everything.
    … 1 file change: `trimtab changes --session SESSION` lists all.
    Trimtab was interrupted while the model was answering. Trying again now.
    Changed d.txt (+1) · 4 reads
    ");
    // What has ended is told in the same way, and a program is given all of it.
    let again = program.run(&["resume"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), "All is read.\n"), "{}", again.stderr);
    assert!(!again.stderr.contains("a.txt"), "{}", again.stderr);
    let events = program.run(&["resume", "--json"]).events();
    assert_eq!(of(&events, "tool.started").len(), 5);
}

#[test]
fn a_reply_that_was_cut_runs_none_of_its_tools() {
    let program = program();
    let input = json!({"path": "a.txt", "content": "half"}).to_string();
    let cut = Reply::new().text(["I write."]).tool("toolu_1", "write_file", [input]).stop("max_tokens");
    program.provider.push(Answer::anthropic(cut));
    let ended = program.run(&["run", "--json", "--trust", "--approve", "auto", "write"]);
    assert!(!program.project().join("a.txt").exists());
    let events = ended.events();
    assert_eq!(of(&events, "answer")[0]["truncated"], true);
    program.provider.push(says("Yes."));
    assert_eq!(program.run(&["run", "--continue", "go on"]).code, Some(0), "the conversation is still valid");
    assert!(program.provider.requests()[1].body["messages"].to_string().contains("the reply was cut off"));
}

#[test]
fn a_running_request_is_steered_and_paused_from_elsewhere() {
    let program = program();
    program.provider.push(asks(&[("run_command", json!({"command": "while [ ! -e go ]; do sleep 0.05; done"}))]));
    let running = program.spawn(&["run", "--json", "--trust", "--approve", "auto", "work"]);
    running.wait_for_line("command.started");
    assert_eq!(program.run(&["control", "steer", "only the tests"]).code, Some(0));
    assert_eq!(program.run(&["control", "pause"]).code, Some(0));
    running.wait_for_line("request.pausing");
    std::fs::write(program.project().join("go"), "").expect("a file");
    let ended = running.wait();
    assert_eq!(ended.code, Some(3), "a pause waits for a person");
    program.provider.push(says("Only the tests."));
    let resumed = program.run(&["resume"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "Only the tests.\n"), "{}", resumed.stderr);
    assert!(last_message(&program).contains("only the tests"));
    let nothing = program.run(&["control", "cancel"]);
    assert!(nothing.stderr.contains("No request is running in this folder."), "{}", nothing.stderr);
}

#[test]
fn commands_are_fenced_in() {
    let program = program();
    let outside = program.home().with_file_name("outside.txt");
    let command = format!("echo x > {}; echo y > inside.txt; env", outside.display());
    program.provider.push(asks(&[("run_command", json!({"command": command}))]));
    program.provider.push(says("Done."));
    let ended = program.run(&["run", "--trust", "--approve", "auto", "try"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!outside.exists(), "the fence holds");
    assert!(program.project().join("inside.txt").exists());
    assert!(!last_message(&program).contains(trimtab_testkit::program::KEY), "the key stays out of commands");
}

#[test]
fn stats_count_what_happened() {
    let program = program();
    std::fs::write(program.project().join("a.txt"), "alpha").expect("a file");
    program.provider.push(asks(&[("read_file", json!({"path": "a.txt"}))]));
    program.provider.push(asks(&[("delete_file", json!({"path": "a.txt"}))]));
    program.provider.push(says("Done."));
    program.run(&["run", "--trust", "--approve", "deny", "work"]);
    program.provider.push(says("Hi."));
    program.run(&["run", "hello"]);
    let stats: Value = serde_json::from_str(&program.run(&["stats", "--json"]).stdout).expect("JSON");
    assert_eq!(stats["requests"], 2);
    assert_eq!(stats["completionRate"], 1.0);
    assert_eq!(stats["averageSteps"], 2.0);
    assert_eq!(stats["permissions"]["delete_file"]["denied"], 1);
    assert_eq!(stats["tools"]["read_file"]["uses"], 1);
    assert_eq!(stats["stoppedWhileRunning"], 0);
    let router: Value = serde_json::from_str(&program.run(&["stats", "router", "--json"]).stdout).expect("JSON");
    let rows = json!([
        {"decision": "chat", "confidence": "by rules", "requests": 1, "completed": 1, "applied": 0},
        {"decision": "direct", "confidence": "by rules", "requests": 1, "completed": 1, "applied": 0}
    ]);
    assert_eq!(router["decisions"], rows);
    assert!(program.run(&["stats", "router"]).stdout.contains("0 of 2 requests were routed by a model."));
}

#[test]
fn a_session_gets_a_name_from_the_fast_model_beside_the_work() {
    let mut program = program();
    let other = FakeProvider::start();
    other.always(says("\"A name for it.\"\nAnd more."));
    program.set("TRIMTAB_MODELS_FAST", "other/quick");
    program.set("TRIMTAB_PROVIDERS_OTHER_KIND", "anthropic");
    program.set("TRIMTAB_PROVIDERS_OTHER_BASE_URL", other.url());
    let gate = program.provider.gate();
    program.provider.push(says("It is small.").gated(&gate));
    let running = program.spawn(&["run", "What is a trim tab on a ship?"]);
    wait_until("it has a name", || program.run(&["sessions", "list"]).stdout.contains("A name for it\n"));
    gate.open();
    assert_eq!(running.wait().code, Some(0));
}

#[test]
fn the_same_prompt_is_answered_again_without_a_call_only_where_that_is_wanted() {
    let mut program = program();
    program.provider.always(says("Once."));
    for _ in 0..2 {
        assert_eq!(program.run(&["run", "--mode", "chat", "What is it?"]).code, Some(0));
    }
    assert_eq!(program.provider.requests().len(), 2, "nothing is kept by itself");
    program.set("TRIMTAB_LIMITS_CACHE_S", "600");
    for _ in 0..2 {
        let ended = program.run(&["run", "--mode", "chat", "What is it?"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Once.\n"));
    }
    assert_eq!(program.provider.requests().len(), 3);
    program.run(&["run", "--mode", "chat", "What is that?"]);
    assert_eq!(program.provider.requests().len(), 4, "another prompt is another call");
}

#[test]
fn what_the_steps_came_to_is_kept_beside_the_conversation() {
    let program = program();
    std::fs::write(program.project().join("a.txt"), "alpha").expect("a file");
    program.provider.push(asks(&[("read_file", json!({"path": "a.txt"}))]));
    program.provider.push(asks(&[("read_file", json!({"path": "b.txt"}))]));
    program.provider.push(says("Done."));
    let ended = program.run(&["run", "--json", "--trust", "work"]);
    let events = ended.events();
    let request = events[0]["request"].as_str().expect("an id");
    let ledger = program.run(&["ref", &format!("run_step_ledger-{request}")]);
    assert_eq!(ledger.code, Some(0), "{}", ledger.stderr);
    assert!(ledger.stdout.contains("read_file ok") && ledger.stdout.contains("read_file error"), "{}", ledger.stdout);
    assert_eq!(ledger.stdout.lines().count(), 2);
}

#[test]
fn the_log_shows_the_loop() {
    let mut program = program();
    program.set("RUST_LOG", "debug");
    std::fs::write(program.project().join("a.txt"), "alpha").expect("a file");
    program.provider.push(asks(&[("read_file", json!({"path": "a.txt"}))]));
    program.provider.push(says("Done."));
    let ended = program.run(&["run", "--trust", "work"]);
    for kind in ["model.called", "tool.started", "tool.finished", "reply.saved"] {
        assert!(ended.stderr.contains(kind), "{kind}: {}", ended.stderr);
    }
}

#[test]
fn the_log_names_who_says_what_in_a_prompt_and_none_of_the_words() {
    let mut program = program();
    program.set("RUST_LOG", "debug");
    std::fs::write(program.project().join("a.txt"), "the secret of alpha").expect("a file");
    program.provider.push(asks(&[("read_file", json!({"path": "a.txt"}))]));
    program.provider.push(says("Done."));
    let ended = program.run(&["run", "--trust", "a question about alpha"]);
    let roles: Vec<&str> = ended
        .stderr
        .lines()
        .filter(|line| line.contains("message") && line.contains("call=c2"))
        .filter_map(|line| line.split("role=").nth(1)?.split(' ').next())
        .collect();
    assert_eq!(
        roles,
        ["User", "User", "Assistant", "User"],
        "notes, the words, the reply, the results: {}",
        ended.stderr
    );
    assert!(!ended.stderr.contains("alpha"), "{}", ended.stderr);
}

#[test]
fn an_export_holds_what_each_request_came_to_in_its_structure() {
    let mut program = program();
    program.set("TRIMTAB_MODEL", "anthropic/plain");
    std::fs::create_dir_all(program.home()).expect("a folder");
    std::fs::write(program.home().join("models.toml"), "[\"anthropic/plain\"]\ntools = false\n").expect("written");
    let answer = json!({
        "summary": "Made.",
        "sections": [{"heading": "Why", "content": "It was missing.", "codeBlocks": []}],
        "todos": [{"text": "Make it", "completed": true}],
        "fileChanges": [{"path": "a.txt", "content": "a\n"}],
        "nextSteps": [{"html": "Look at it", "inputText": "show a.txt"}]
    });
    program.provider.push(says(&answer.to_string()));
    let ended = program.run(&["run", "--json", "--trust", "make a.txt"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    program.provider.push(says(r#"{"summary":"It is there."}"#));
    assert_eq!(program.run(&["run", "--trust", "--continue", "look"]).code, Some(0));
    let events = ended.events();
    let told = of(&events, "answer")[0];
    let session = events[0]["session"].as_str().expect("an id");
    let document: Value =
        serde_json::from_str(&program.run(&["sessions", "export", session]).stdout).expect("one JSON object");
    let pairs = document["pairs"].as_array().expect("pairs");
    assert_eq!(pairs.len(), 2);
    assert_eq!((&pairs[0]["docType"], &pairs[0]["request"]), (&json!("chat-pair"), &told["request"]));
    for (field, value) in answer.as_object().expect("fields") {
        assert_eq!(&pairs[0]["structured"][field], value, "{field}");
        assert_eq!(&told[field], value, "{field} as it was shown");
    }
    assert_eq!(pairs[1]["structured"]["summary"], "It is there.");
    assert_eq!((&pairs[0]["text"], &pairs[0]["status"]), (&json!("make a.txt"), &json!("completed")));
    let received = of(&events, "request.received")[0];
    assert_eq!(pairs[0]["timestamp"], received["time"]);
    assert_eq!(pairs[0]["usage"], of(&events, "request.finished")[0]["usage"]);
}

/// A program whose model answers with one JSON object, as is set.
fn with_answers_in_a_form() -> Program {
    let mut program = program();
    program.set("TRIMTAB_ANSWER_PROTOCOL", "structured_json");
    let section = json!({"heading": "Why", "content": "It was *wrong*.", "codeBlocks": [{"language": "rust", "code": "fn main() {}"}]});
    let answer = json!({"summary": "Mended \"it\".\nAll is well.", "sections": [section], "fileChanges": []});
    let pieces: Vec<String> = answer.to_string().chars().map(String::from).collect();
    program.provider.push(Answer::anthropic(Reply::new().text(pieces)));
    program
}

const IN_WORDS: &str = "Mended \"it\".\nAll is well.\n\n## Why\n\nIt was *wrong*.\n\n```rust\nfn main() {}\n```\n";

#[test]
fn an_answer_in_parts_is_printed_whole_and_shown_whole_later() {
    let program = with_answers_in_a_form();
    let ended = program.run(&["run", "mend it"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), IN_WORDS), "{}", ended.stderr);
    let tools = program.provider.requests().last().expect("a request").body["tools"].clone();
    assert!(tools.is_null(), "none were offered: {tools}");
    let list = program.run(&["sessions", "list"]).stdout;
    let session = list.split_whitespace().next().expect("a session");
    let shown = program.run(&["sessions", "show", session]).stdout;
    assert!(shown.contains(IN_WORDS.trim_end()), "{shown}");
}

#[test]
fn at_a_terminal_an_answer_in_a_form_is_words_as_they_come_and_no_json() {
    let program = with_answers_in_a_form();
    let mut terminal = Terminal::start(&program, &["run", "mend it"], 80, 24);
    terminal.wait_for("fn main() {}");
    assert_eq!(terminal.wait(), Some(0));
    let screen = terminal.screen();
    assert!(!screen.contains("{\"") && !screen.contains("summary"), "{screen}");
    assert_eq!(screen.matches("All is well.").count(), 1, "{screen}");
}

#[test]
fn a_request_is_pending_in_its_document_until_it_ends() {
    let program = program();
    program.provider.push(Answer::silent());
    let running = program.spawn(&["run", "--trust", "look around"]);
    program.provider.block_on(program.provider.wait_for_requests(1));
    let session = program.run(&["sessions", "list"]).stdout.split_whitespace().next().expect("a session").to_owned();
    let pair = || -> Value {
        let document = program.run(&["sessions", "export", &session]).stdout;
        serde_json::from_str::<Value>(&document).expect("one JSON object")["pairs"][0].clone()
    };
    assert_eq!(pair()["status"], "pending");
    running.signal(Signal::KILL);
    running.wait();
    assert_eq!((&pair()["status"], &pair()["text"]), (&json!("pending"), &json!("look around")));
    assert_eq!(pair()["structured"], Value::Null);
    program.provider.push(says("Seen."));
    assert_eq!(program.run(&["resume"]).code, Some(0));
    assert_eq!((&pair()["status"], &pair()["structured"]["summary"]), (&json!("completed"), &json!("Seen.")));
}

/// A program whose model changed a.txt twice and made b.txt.
fn with_three_changes() -> Program {
    let program = program();
    std::fs::write(program.project().join("a.txt"), "one\n").expect("a file");
    let edit =
        |from: &str, to: &str| ("edit_file", json!({"path": "a.txt", "blocks": [{"search": from, "replace": to}]}));
    program.provider.push(asks(&[edit("one", "two")]));
    program.provider.push(asks(&[("write_file", json!({"path": "b/new.txt", "content": "new\n"}))]));
    program.provider.push(asks(&[edit("two", "three")]));
    program.provider.push(says("Done."));
    assert_eq!(program.run(&["run", "--trust", "change things"]).code, Some(0));
    program
}

fn text_of(program: &Program, name: &str) -> Option<String> {
    std::fs::read_to_string(program.project().join(name)).ok()
}

#[test]
fn whoever_asked_something_since_is_told_which_session_has_the_changes() {
    let program = with_three_changes();
    let session = program.run(&["sessions", "list", "--json"]).events()[0]["id"].as_str().expect("a name").to_owned();
    program.provider.push(Answer::anthropic("A question, and no change."));
    assert_eq!(program.run(&["run", "What is Trimtab?"]).code, Some(0));
    let pointer = format!("Session {session} has changes (change things): trimtab changes --session {session}\n");
    let listed = program.run(&["changes"]);
    assert_eq!(listed.stdout, "No files were changed in this session.\n");
    assert_eq!(listed.stderr, pointer);
    let back = program.run(&["rewind"]);
    assert_eq!((back.code, back.stdout.as_str()), (Some(1), ""));
    assert!(back.stderr.ends_with(&pointer), "{}", back.stderr);
    assert_eq!(text_of(&program, "a.txt").as_deref(), Some("three\n"), "nothing is guessed");
    let named = program.run(&["rewind", "--session", &session]);
    assert_eq!((named.code, named.stdout.as_str()), (Some(0), "Undid a.txt (+1 −1)\n"), "{}", named.stderr);
}

#[test]
fn changes_are_listed_taken_back_and_brought_forward() {
    let program = with_three_changes();
    let listed = program.run(&["changes"]).stdout;
    let first = listed.lines().next().expect("a line");
    let (change, age) = first.rsplit_once(" - ").expect("an age");
    assert!(change.starts_with("● Change #3 - 1 file (+1 -1) - $0.0"), "{listed}");
    assert!(age.ends_with("s ago") || age == "just now", "{listed}");
    assert!(listed.contains("○ Change #1 - 1 file (+1 -1)"), "{listed}");
    let back = program.run(&["rewind"]);
    assert_eq!((back.code, back.stdout.as_str()), (Some(0), "Undid a.txt (+1 −1)\n"), "{}", back.stderr);
    assert_eq!(text_of(&program, "a.txt").as_deref(), Some("two\n"));
    assert_eq!(program.run(&["rewind", "2"]).code, Some(0));
    assert_eq!(text_of(&program, "a.txt").as_deref(), Some("one\n"));
    assert_eq!(text_of(&program, "b/new.txt"), None, "what was new is gone");
    assert!(!program.project().join("b").exists(), "and its folder too");
    let nothing = program.run(&["rewind"]);
    assert_eq!(nothing.code, Some(1));
    assert!(nothing.stderr.contains("There is no change to undo.\n`trimtab forward 3` redoes"), "{}", nothing.stderr);
    let listed = program.run(&["changes", "--json"]);
    let sets: Vec<Value> = listed.events();
    assert!(sets.iter().all(|set| set["applied"] == false), "{listed:?}");
    let forward = program.run(&["forward", "5"]);
    assert_eq!((forward.code, forward.stderr.as_str()), (Some(0), "There are only 3 changes to redo.\n"));
    assert_eq!(text_of(&program, "a.txt").as_deref(), Some("three\n"));
    assert_eq!(text_of(&program, "b/new.txt").as_deref(), Some("new\n"));
    let shown = program.run(&["changes", "3"]).stdout;
    assert!(shown.contains("-two\n+three\n"), "{shown}");
    program.provider.push(says("I know."));
    program.run(&["run", "--continue", "and now"]);
    let sent = program.provider.requests().last().expect("a request").body["messages"].to_string();
    assert!(sent.contains("[The user undid the change of a.txt.]"), "the model is told: {sent}");
}

#[test]
fn a_rewind_over_a_later_edit_is_refused_and_touches_nothing() {
    let program = with_three_changes();
    std::fs::write(program.project().join("a.txt"), "mine\n").expect("a file");
    let refused = program.run(&["rewind", "3"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("a.txt"), "{}", refused.stderr);
    assert_eq!(text_of(&program, "a.txt").as_deref(), Some("mine\n"));
    assert_eq!(text_of(&program, "b/new.txt").as_deref(), Some("new\n"), "all or nothing");
    std::fs::write(program.project().join("a.txt"), "three\n").expect("a file");
    assert_eq!(program.run(&["rewind", "3"]).code, Some(0), "put right, it goes");
}

/// A program whose model has changed the second and the last of thirty lines of a file, and another file.
fn with_a_long_change() -> Program {
    let program = program();
    let lines: String = (1..=30).map(|n| format!("line {n}\r\n")).collect();
    std::fs::write(program.project().join("long.txt"), &lines).expect("a file");
    std::fs::write(program.project().join("other.txt"), "one\n").expect("a file");
    program
        .provider
        .push(asks(&[("read_file", json!({"path": "long.txt"})), ("read_file", json!({"path": "other.txt"}))]));
    let blocks = json!([{"search": "line 2\n", "replace": "second\n"}, {"search": "line 30\n", "replace": "last\n"}]);
    program.provider.push(asks(&[("edit_file", json!({"path": "long.txt", "blocks": blocks}))]));
    program.provider.push(says("Done."));
    assert_eq!(program.run(&["run", "--trust", "change it"]).code, Some(0));
    let text = text_of(&program, "long.txt").expect("a text");
    assert!(text.contains("\r\nsecond\r\n") && text.ends_with("last\r\n"), "{text}");
    program
}

#[test]
fn a_rewind_keeps_a_later_edit_and_a_forward_brings_back_exactly_what_was_there() {
    let program = with_a_long_change();
    let changed = text_of(&program, "long.txt").expect("a text");
    let mine = changed.replace("line 15\r\n", "my own line\r\nand another");
    std::fs::write(program.project().join("long.txt"), &mine).expect("a file");
    let back = program.run(&["rewind"]);
    assert_eq!(back.code, Some(0), "{}", back.stderr);
    let kept = mine.replace("second\r\n", "line 2\r\n").replace("last\r\n", "line 30\r\n");
    assert_eq!(text_of(&program, "long.txt").as_deref(), Some(kept.as_str()), "the edit stays, its neighbours go back");
    assert_eq!(program.run(&["forward"]).code, Some(0));
    assert_eq!(text_of(&program, "long.txt").as_deref(), Some(mine.as_str()), "every byte is back");
}

#[test]
fn a_conflict_is_shown_with_its_three_sides_and_a_person_says_whose_lines_count() {
    let program = with_a_long_change();
    let changed = text_of(&program, "long.txt").expect("a text");
    let mine = changed.replace("second\r\n", "mine\r\n");
    std::fs::write(program.project().join("long.txt"), &mine).expect("a file");
    let refused = program.run(&["rewind"]);
    assert_eq!(refused.code, Some(1));
    let said = refused.stderr.replace('\r', "");
    assert!(said.contains("long.txt, line 2: your later edit conflicts"), "{said}");
    let sides = "<<<<<<< yours\nmine\n||||||| after the change\nsecond\n=======\nline 2\n>>>>>>> after the undo\n";
    assert!(said.contains(sides), "{said}");
    assert!(said.contains("--keep-mine") && said.contains("--discard-mine"), "{said}");
    assert_eq!(text_of(&program, "long.txt").as_deref(), Some(mine.as_str()), "nothing is touched");

    assert_eq!(program.run(&["rewind", "--keep-mine"]).code, Some(0));
    let kept = mine.replace("last\r\n", "line 30\r\n");
    assert_eq!(text_of(&program, "long.txt").as_deref(), Some(kept.as_str()));
    assert_eq!(program.run(&["forward"]).code, Some(0));
    assert_eq!(text_of(&program, "long.txt").as_deref(), Some(mine.as_str()));

    let again = mine.replace("last\r\n", "my last\r\n");
    std::fs::write(program.project().join("long.txt"), &again).expect("a file");
    assert_eq!(program.run(&["rewind"]).code, Some(1));
    assert_eq!(program.run(&["rewind", "--discard-mine"]).code, Some(0));
    assert!(text_of(&program, "long.txt").expect("a text").ends_with("line 30\r\n"));
    assert_eq!(program.run(&["forward"]).code, Some(0));
    assert_eq!(text_of(&program, "long.txt"), Some(again), "not lost either");
}

#[test]
fn a_single_hunk_or_file_of_a_change_is_taken_back_and_that_can_be_undone() {
    let program = with_a_long_change();
    let shown = program.run(&["changes", "1"]).stdout;
    assert_eq!(shown.matches("\n@@ ").count(), 2, "{shown}");
    let changed = text_of(&program, "long.txt").expect("a text");
    let back = program.run(&["rewind", "--change", "1", "--hunk", "long.txt:2"]);
    assert_eq!(back.code, Some(0), "{}", back.stderr);
    assert_eq!(
        back.stdout,
        "Undid a part of the change: long.txt (+1 −1)\nThis is now change #2. `trimtab rewind` undoes it.\n"
    );
    let half = changed.replace("last\r\n", "line 30\r\n");
    assert_eq!(text_of(&program, "long.txt").as_deref(), Some(half.as_str()));
    let listed = program.run(&["changes"]).stdout;
    assert!(listed.starts_with("● Change #2 - 1 file (+1 -1) - "), "{listed}");
    assert!(listed.contains(" (undoes a part of #1)\n"), "{listed}");
    assert_eq!(program.run(&["rewind"]).code, Some(0));
    assert_eq!(text_of(&program, "long.txt").as_deref(), Some(changed.as_str()));
    assert_eq!(program.run(&["forward"]).code, Some(0));
    assert_eq!(program.run(&["rewind", "--change", "1", "--file", "long.txt"]).code, Some(0));
    assert!(text_of(&program, "long.txt").expect("a text").contains("line 2\r\n"));
    for (arguments, reason) in [
        (["--hunk", "long.txt:3"], "There is no hunk 3 in long.txt: the change has 2."),
        (["--file", "other.txt"], "This change did not touch other.txt."),
        (["--file", "long.txt"], "There is nothing left to undo."),
    ] {
        let refused = program.run(&["rewind", "--change", "1", arguments[0], arguments[1]]);
        assert_eq!(refused.code, Some(1));
        assert!(refused.stderr.contains(reason), "{}", refused.stderr);
    }
    assert_eq!(program.run(&["rewind"]).code, Some(0));
    let refused = program.run(&["rewind", "--change", "1", "--file", "long.txt"]);
    assert!(refused.stderr.contains("This would discard 1 undone change."), "{}", refused.stderr);
}

#[test]
fn a_number_beside_a_file_or_a_hunk_names_a_change_as_it_always_did() {
    let program = with_a_long_change();
    let changed = text_of(&program, "long.txt");
    for part in [["--hunk", "long.txt:2"], ["--file", "long.txt"]] {
        let back = program.run(&["rewind", "1", part[0], part[1]]);
        assert_eq!(back.code, Some(0), "{}", back.stderr);
        assert!(back.stdout.starts_with("Undid a part of the change: long.txt"), "{}", back.stdout);
        assert!(back.stderr.contains("note: 1 names change #1 here, as in --change 1."), "{}", back.stderr);
    }
    assert_eq!(program.run(&["rewind", "2"]).code, Some(0));
    assert_eq!(text_of(&program, "long.txt"), changed, "each made one new change");
    for (arguments, hint) in [
        (&["rewind", "9", "--file", "long.txt"][..], "Unknown change 9."),
        (&["rewind", "--change", "1"][..], "--change needs --file or --hunk."),
        (&["rewind", "1", "--change", "1"][..], "cannot be used with"),
    ] {
        let refused = program.run(arguments);
        assert_ne!(refused.code, Some(0), "{}", refused.stderr);
        assert!(refused.stderr.contains(hint), "{}", refused.stderr);
    }
    assert_eq!(text_of(&program, "long.txt"), changed, "nothing was undone");
}

#[test]
fn an_export_has_the_change_history_in_the_documented_shape() {
    let program = with_three_changes();
    std::fs::write(program.project().join("bytes"), [0, 159, 146, 150]).expect("a file");
    program.provider.push(asks(&[("read_file", json!({"path": "a.txt"}))]));
    program.provider.push(asks(&[("delete_file", json!({"path": "bytes"}))]));
    program.provider.push(says("Done."));
    // The model has not read it, so only a person can allow that.
    assert_eq!(program.run(&["rules", "add", "allow", "delete_file", "bytes"]).code, Some(0));
    assert_eq!(program.run(&["run", "--trust", "--continue", "--approve", "auto", "more"]).code, Some(0));
    let session = program.run(&["sessions", "list", "--json"]).events()[0]["id"].as_str().expect("an id").to_owned();
    let exported = || program.run(&["sessions", "export", &session]).events()[0]["changeHistory"].clone();
    let history = exported();
    assert_eq!(history["position"], 3);
    let sets = history["history"].as_array().expect("a list").clone();
    assert_eq!(sets.len(), 4);
    for set in &sets {
        let millis = set["id"].as_str().and_then(|id| id.strip_prefix("cs-")).expect("an id");
        assert!(millis.parse::<u64>().is_ok_and(|millis| millis > 1_700_000_000_000), "{set}");
        let time = set["timestamp"].as_str().expect("a time");
        assert!(time.len() == 24 && time.ends_with('Z') && &time[19..20] == ".", "{time}");
        assert_eq!((&set["sessionId"], &set["applied"]), (&json!(session), &json!(true)));
        for field in ["added", "removed", "modified"] {
            let files = set["files"].as_array().expect("files");
            let sum: u64 = files.iter().map(|file| file["stats"][field].as_u64().expect("a number")).sum();
            assert_eq!(set["totalStats"][field], sum, "{field} of {set}");
        }
    }
    let last = &sets[2]["files"][0];
    let path = program.project().join("a.txt").display().to_string();
    assert_eq!((&last["filePath"], &last["fileName"]), (&json!(path), &json!("a.txt")));
    assert_eq!((&last["oldContent"], &last["newContent"]), (&json!("two\n"), &json!("three\n")));
    assert_eq!(last["stats"], json!({"added": 1, "removed": 1, "modified": 1}));
    let new: Vec<&Value> = sets.iter().flat_map(|set| set["files"].as_array()).flatten().collect();
    assert!(new.iter().any(|file| file["isNewFile"] == true && file["oldContent"] == ""), "{new:?}");
    let bytes = &sets[3]["files"][0];
    assert_eq!((&bytes["isText"], &bytes["oldContent"]), (&json!(false), &Value::Null), "it would be damaged");
    assert_eq!((&bytes["oldBase64"], &bytes["newContent"]), (&json!("AJ+Slg=="), &json!("")));
    assert_eq!(program.run(&["rewind", "4"]).code, Some(0));
    let history = exported();
    assert_eq!(history["position"], -1);
    assert!(history["history"].as_array().expect("a list").iter().all(|set| set["applied"] == false));
}

#[test]
fn old_contents_go_when_they_take_too_much_room_and_a_person_is_told() {
    let mut program = program();
    let mut seed = 1_u64;
    let mut line = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        format!("{seed:016x}\n")
    };
    let large: String = (0..150_000).map(|_| line()).collect();
    let change = |program: &Program, path: &str, arguments: &[&str]| {
        std::fs::write(program.project().join(path), format!("first\n{large}")).expect("a file");
        let blocks = json!([{"search": "first\n", "replace": "second\n"}]);
        program.provider.push(asks(&[("edit_file", json!({"path": path, "blocks": blocks}))]));
        program.provider.push(says("Done."));
        let run = program.run(&[&["run", "--trust"], arguments, &["change it"]].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.stderr
    };
    let told = change(&program, "old.txt", &[]);
    assert!(!told.contains("can no longer be undone"), "{told}");
    let old = program.run(&["sessions", "list", "--json"]).events()[0]["id"].as_str().expect("an id").to_owned();
    let held = program.run(&["stats", "--json"]).events()[0]["history"].clone();
    assert!(held["contents"] == 2 && held["bytes"].as_u64() > Some(5_000_000), "{held}");
    program.set("TRIMTAB_HISTORY_MAX_MB", "1");
    let told = change(&program, "new.txt", &[]);
    let line = format!("1 change of session {old} can no longer be undone: more than 1 MB of old contents");
    assert!(told.contains(&line), "{told}");
    let listed = program.run(&["changes", "--session", &old]).stdout;
    assert!(listed.contains("(expired: cannot be undone)"), "{listed}");
    let refused = program.run(&["rewind", "--session", &old]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("Change #1 has expired"), "{}", refused.stderr);
    assert!(text_of(&program, "old.txt").expect("a text").starts_with("second\n"), "nothing is touched");
    let held = program.run(&["stats", "--json"]).events()[0]["history"].clone();
    assert_eq!((&held["contents"], &held["sessions"]), (&json!(2), &json!(1)), "the store is smaller");
    let rows = program.run(&["sessions", "list", "--json"]).events();
    let new = rows.iter().filter_map(|row| row["id"].as_str()).find(|id| *id != old).expect("another session");
    assert_eq!(program.run(&["rewind", "--session", new]).code, Some(0), "the newest change of all is kept");
    assert!(text_of(&program, "new.txt").expect("a text").starts_with("first\n"));
    assert_eq!(program.run(&["doctor"]).stdout.matches("missing").count(), 0, "no name stands for nothing");
}

#[test]
fn a_new_change_after_a_rewind_takes_the_place_of_what_was_taken_back() {
    let program = with_three_changes();
    assert_eq!(program.run(&["rewind"]).code, Some(0));
    program.provider.push(asks(&[("read_file", json!({"path": "a.txt"}))]));
    program
        .provider
        .push(asks(&[("edit_file", json!({"path": "a.txt", "blocks": [{"search": "two", "replace": "other"}]}))]));
    program.provider.push(says("Done."));
    assert_eq!(program.run(&["run", "--trust", "--continue", "again"]).code, Some(0));
    assert_eq!(program.run(&["forward"]).code, Some(1));
    assert_eq!(program.run(&["rewind", "3"]).code, Some(0));
    assert_eq!(text_of(&program, "a.txt").as_deref(), Some("one\n"));
}

#[test]
fn damaged_answers_edits_and_commands_are_judged_from_the_command_line() {
    let program = program();
    std::fs::write(program.project().join("a.txt"), "one\r\ntwo\r\n").expect("a file");
    let edit = json!({"kind": "search_replace", "path": "a.txt", "blocks": [{"search": "two", "replace": "2"}]});
    let dry = program.run_with_input(&["apply-edit", "-", "--dry-run"], edit.to_string().as_bytes());
    assert_eq!(dry.code, Some(0), "{}", dry.stdout);
    assert_eq!(text_of(&program, "a.txt").as_deref(), Some("one\r\ntwo\r\n"));
    let done = program.run_with_input(&["apply-edit", "-"], format!("\u{feff}{edit}").as_bytes());
    assert_eq!(done.events()[0]["applied"], true);
    assert_eq!(text_of(&program, "a.txt").as_deref(), Some("one\r\n2\r\n"), "the file's own line ends stay");
    for wrong in [
        edit.to_string(),
        json!({"kind": "whole_file", "path": "../x", "content": "x"}).to_string(),
        json!({"kind": "whole_file", "path": ".trimtab/config.toml", "content": "x"}).to_string(),
        "{".into(),
    ] {
        let refused = program.run_with_input(&["apply-edit", "-"], wrong.as_bytes());
        assert_eq!((refused.code, &refused.events()[0]["applied"]), (Some(1), &json!(false)), "{wrong}");
    }
    let answer = b"```json\n{\"summary\": \"He said \"hi\"\", }\n```";
    let recovered = program.run_with_input(&["recover", "-"], answer);
    assert_eq!(recovered.events()[0]["answer"]["summary"], "He said \"hi\"");
    let nothing = program.run_with_input(&["recover", "-"], b"no");
    assert_eq!((nothing.code, &nothing.events()[0]["answer"]), (Some(1), &json!({})));
    for (line, decision) in [("git status", "auto"), ("make install", "ask"), ("rm -rf /", "deny")] {
        assert_eq!(program.run(&["check-command", line]).events()[0]["decision"], decision, "{line}");
    }
    assert_eq!(program.run(&["check-command", "--allow", "make", "--", "make", "all"]).events()[0]["decision"], "auto");
    program.run(&["rules", "add", "allow", "run_command", "make"]);
    program.run(&["rules", "add", "deny", "run_command", "git status"]);
    for (line, decision) in
        [("make", "auto"), ("make deploy", "ask"), ("git status", "deny"), ("git status -s", "auto")]
    {
        assert_eq!(program.run(&["check-command", line]).events()[0]["decision"], decision, "{line}");
    }
}

#[test]
fn a_collector_that_is_named_hears_how_a_request_went_and_nobody_else_does() {
    let mut program = program();
    let collector = FakeProvider::start();
    collector.always(Answer::json(200, json!({})));
    std::fs::write(program.project().join("a.txt"), "alpha").expect("a file");
    let work = |program: &Program| {
        program.provider.push(asks(&[("read_file", json!({"path": "a.txt"}))]));
        program.provider.push(asks(&[("delete_file", json!({"path": "a.txt"}))]));
        program.provider.push(says("Done."));
        assert_eq!(program.run(&["run", "--trust", "--approve", "deny", "work"]).code, Some(0));
    };
    work(&program);
    assert!(collector.requests().is_empty(), "nothing is sent unasked");
    program.set("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url());
    program.set("OTEL_EXPORTER_OTLP_HEADERS", "x-team=one");
    work(&program);
    let requests = collector.requests();
    assert_eq!((requests.len(), requests[0].path.as_str()), (1, "/v1/metrics"));
    assert_eq!(requests[0].header("x-team"), Some("one"));
    let metrics = requests[0].body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"].clone();
    let find = |name: &str, attribute: &str| {
        let fits = |metric: &&Value| metric["name"] == name && metric.to_string().contains(attribute);
        metrics.as_array().expect("metrics").iter().find(fits).expect(name)["sum"]["dataPoints"][0]["asInt"].clone()
    };
    assert_eq!(find("trimtab.requests", "completed"), "1");
    assert_eq!(find("trimtab.steps", ""), "3");
    assert_eq!(find("trimtab.permissions", "denied"), "1");
    assert_eq!(find("trimtab.tools", "read_file"), "1");
    program.set("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    work(&program);
}

#[test]
fn without_a_person_a_command_is_ended_at_its_limit_and_leaves_nothing_running() {
    let mut program = program();
    program.set("TRIMTAB_COMMANDS_TIMEOUT_S", "2");
    let sleep = own_sleep();
    let command = format!("setsid {sleep} & trap '' TERM; {sleep}; {sleep}");
    program.provider.push(asks(&[("run_command", json!({"command": command}))]));
    program.provider.push(says("I see."));
    let ended = program.run(&["run", "--json", "--trust", "--approve", "auto", "work"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let events = ended.events();
    let finished = of(&events, "command.finished")[0];
    assert_eq!((&finished["timedOut"], &finished["signal"]), (&json!(true), &json!("SIGKILL")));
    assert!(finished["durationMs"].as_u64().is_some_and(|took| took >= 2_000));
    assert!(of(&events, "checkpoint.opened").iter().all(|event| event["kind"] != "confirm"), "nobody is asked");
    assert!(last_message(&program).contains("Timed out after 2 s and was stopped."));
    assert_eq!(processes_with(&sleep), Vec::<String>::new());
}

#[test]
fn a_command_may_take_what_is_set_for_its_beginning_and_what_the_model_asks_for_within_bounds() {
    let mut program = program();
    program.set("TRIMTAB_COMMANDS_TIMEOUT_S", "1");
    program.set("TRIMTAB_COMMANDS_TIMEOUTS", "sleep 1.2=20");
    program.set("TRIMTAB_COMMANDS_LONGEST_S", "5");
    program.provider.push(asks(&[
        ("run_command", json!({"command": "sleep 1.2"})),
        ("run_command", json!({"command": "sleep 1.3", "timeout_s": 20})),
        ("run_command", json!({"command": own_sleep(), "timeout_s": 20})),
    ]));
    program.provider.push(says("I see."));
    let ended = program.run(&["run", "--json", "--trust", "--approve", "auto", "work"]);
    let events = ended.events();
    let timed_out: Vec<&Value> = of(&events, "command.finished").iter().map(|event| &event["timedOut"]).collect();
    assert_eq!(timed_out, [false, false, true]);
    let asked: Vec<&Value> = of(&events, "checkpoint.opened").iter().map(|event| &event["timeoutS"]).collect();
    assert_eq!(asked, [&Value::Null, &json!(5), &json!(5)], "a person sees what is asked for");
    assert!(last_message(&program).contains("Timed out after 5 s"));
}

#[test]
fn what_a_command_wrote_is_kept_as_it_came_and_shown_as_a_terminal_would() {
    let program = program();
    let script = "printf '10%%\\r100%%\\n\\033[31mred\\033[0m\\n'; seq 1 3000";
    program.provider.push(asks(&[("run_command", json!({"command": "head -c 20 /dev/zero >&2"}))]));
    program.provider.push(says("I see."));
    let text = program.run(&["run", "--trust", "--approve", "auto", "work"]);
    assert_eq!(text.code, Some(0), "{}", text.stderr);
    assert!(text.stderr.contains("  | [Binary output, 20 bytes."), "{}", text.stderr);
    assert!(last_message(&program).contains("The bytes are saved as ref:output-"));
    program.provider.push(asks(&[("run_command", json!({"command": script}))]));
    program.provider.push(says("I see."));
    let ended = program.run(&["run", "--json", "--trust", "--approve", "auto", "work"]);
    let told = last_message(&program);
    assert!(told.contains("100%\\nred\\n1\\n2") && !told.contains("10%") && told.contains(" bytes left out"), "{told}");
    let events = ended.events();
    let finished = of(&events, "command.finished")[0];
    let key = finished["ref"].as_str().expect("it is archived").to_owned();
    program.provider.push(asks(&[("read_ref", json!({"key": key, "offset": 5000}))]));
    program.provider.push(says("I see."));
    assert_eq!(program.run(&["run", "--continue", "--trust", "read on"]).code, Some(0));
    assert!(last_message(&program).contains("1230\\n"), "{}", last_message(&program));
    let mut plain = program;
    plain.set("TRIMTAB_OUTPUT_ARCHIVE", "false");
    plain.provider.push(asks(&[("run_command", json!({"command": script}))]));
    plain.provider.push(says("I see."));
    let ended = plain.run(&["run", "--json", "--trust", "--approve", "auto", "work"]);
    let events = ended.events();
    let finished = of(&events, "command.finished")[0];
    assert!(finished.get("ref").is_none() && finished["preview"].as_str().expect("text").len() <= 5 * 1024);
    assert!(last_message(&plain).contains(" bytes left out"));
}

#[test]
fn what_was_wrong_with_an_answer_is_in_the_sessions_document() {
    let mut program = program();
    let other = FakeProvider::start();
    // The first call to the fast model may be for a name; both get the repair.
    other.always(says(r#"{"summary":"Made.","fileChanges":[{"path":"a.txt","content":"5\" long"}]}"#));
    program.set("TRIMTAB_MODELS_FAST", "other/quick");
    program.set("TRIMTAB_PROVIDERS_OTHER_KIND", "anthropic");
    program.set("TRIMTAB_PROVIDERS_OTHER_BASE_URL", other.url());
    program.set("TRIMTAB_MODEL", "anthropic/plain");
    std::fs::create_dir_all(program.home()).expect("a folder");
    std::fs::write(program.home().join("models.toml"), "[\"anthropic/plain\"]\ntools = false\n").expect("written");
    program.provider.push(says(r#"{"summary":"Made.","fileChanges":[{"path":"a.txt","content":"5" long"}]}"#));
    let ended = program.run(&["run", "--json", "--trust", "make a.txt"]);
    assert_eq!(ended.code, Some(3), "what a model has repaired is asked about: {}", ended.stderr);
    let events = ended.events();
    let asked = of(&events, "checkpoint.opened")[0]["checkpoint"].as_str().expect("an id").to_owned();
    assert_eq!(program.run(&["answer", &asked, "allow"]).code, Some(0));
    assert_eq!(std::fs::read_to_string(program.project().join("a.txt")).expect("made"), "5\" long");
    let session = events[0]["session"].as_str().expect("an id").to_owned();
    let document: Value =
        serde_json::from_str(&program.run(&["sessions", "export", &session]).stdout).expect("one JSON object");
    let bug = &document["bugs"][0];
    assert_eq!(
        (bug["type"].as_str(), bug["by"].as_str(), bug["message"].as_str()),
        (Some("JSON"), Some("script"), Some("Auto-detected: Response required JSON cleanup"))
    );
    assert!(bug["request"].is_string() && bug["time"].is_string(), "{bug}");
    // Off, the same reply makes no call and changes nothing.
    let calls = other.requests().len();
    program.set("TRIMTAB_REPAIR_MAX_ATTEMPTS", "0");
    program.provider.push(says(r#"{"summary":"Made.","fileChanges":[{"path":"b.txt","content":"5" long"}]}"#));
    let ended = program.run(&["run", "--json", "--trust", "--continue", "make b.txt"]);
    assert_eq!(of(&ended.events(), "checkpoint.opened").len(), 1, "{}", ended.stdout);
    assert_eq!(other.requests().len(), calls);
    assert!(!program.project().join("b.txt").exists());
}
