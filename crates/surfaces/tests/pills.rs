//! Pills, tags, elapsed time, and a new message while a request runs, with the real binary.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use serde_json::{Value, json};
use trimtab_testkit::program::{Ended, Program};
use trimtab_testkit::provider::{Answer, Reply};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

fn asks(name: &str, input: Value) -> Answer {
    Answer::anthropic(Reply::new().text(["I work on it."]).tool("toolu_1", name, [input.to_string()]))
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn of<'a>(events: &'a [Value], kind: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["type"] == kind).collect()
}

/// Every message of the last prompt, as text.
fn last_prompt(program: &Program) -> String {
    program.provider.requests().last().expect("a request").body["messages"].to_string()
}

fn session(ended: &Ended) -> String {
    ended.events()[0]["session"].as_str().expect("a session").to_owned()
}

fn user_pill(program: &Program, name: &str, text: &str) {
    let folder = program.home().join("pills");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(name), text).expect("a pill");
}

fn project_pill(program: &Program, name: &str, text: &str) {
    let folder = program.project().join(".trimtab/pills");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(name), text).expect("a pill");
}

const REVIEW: &str =
    "---\ndescription: Review a file\narguments: <file> [focus]\ntools: [read_file]\n---\nReview $1 with care.\n";

#[test]
fn a_pill_runs_by_its_name_and_the_record_says_what_was_sent() {
    let program = program();
    user_pill(&program, "review.md", REVIEW);
    program.provider.push(says("It is fine."));
    let ended = program.run(&["run", "--json", "/review a.rs speed"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let events = ended.events();
    let received = of(&events, "request.received")[0];
    assert_eq!(received["text"], "/review a.rs speed");
    assert_eq!(received["pill"]["text"], "Review a.rs with care.\n\nspeed");
    assert_eq!(received["pill"]["name"], "review");
    assert!(last_prompt(&program).contains(r"Review a.rs with care.\n\nspeed"));
    let tools = program.provider.requests()[0].body["tools"].as_array().expect("tools").clone();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["read_file", "set_steps", "ask_user", "read_ref"]);
    let shown = program.run(&["sessions", "show", &session(&ended)]).stdout;
    assert!(
        shown.contains("> /review a.rs speed\n") && shown.contains("| Review a.rs with care.\n| \n| speed\n"),
        "{shown}"
    );
    // The file may change: what was sent stays in the record.
    user_pill(&program, "review.md", "---\n---\nOther words.\n");
    assert_eq!(program.run(&["sessions", "show", &session(&ended)]).stdout, shown);
}

#[test]
fn a_pill_that_needs_words_says_so_and_sends_nothing() {
    let program = program();
    user_pill(&program, "review.md", REVIEW);
    let ended = program.run(&["run", "/review"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("It needs more arguments: /review <file> [focus]"), "{}", ended.stderr);
    assert!(program.provider.requests().is_empty());
    let ended = program.run_with_input(&["run", "/review a.rs"], "x".repeat(300 * 1024).as_bytes());
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("larger than 256 KB"), "{}", ended.stderr);
}

#[test]
fn words_that_call_no_pill_are_words() {
    let program = program();
    user_pill(&program, "review.md", REVIEW);
    for (words, note) in [
        ("/etc/hosts is a file", ""),
        ("/reveiw a.rs", "Did you mean /review?"),
        ("/elsewhere entirely", "Pills of an untrusted folder are not read"),
    ] {
        program.provider.push(says("Yes."));
        let ended = program.run(&["run", "--mode", "chat", words]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Yes.\n"), "{words}: {}", ended.stderr);
        assert!(last_prompt(&program).contains(words), "{words}");
        assert!(ended.stderr.contains(note), "{words}: {}", ended.stderr);
        assert!(!note.is_empty() || ended.stderr.is_empty(), "{words}: {}", ended.stderr);
    }
}

#[test]
fn the_pills_of_a_folder_are_read_once_it_is_trusted_and_never_take_the_place_of_ones_own() {
    let program = program();
    user_pill(&program, "review.md", REVIEW);
    project_pill(&program, "review.md", "---\n---\nThe project's review.\n");
    project_pill(&program, "ship.md", "---\ndescription: Ship it\n---\nShip $ARGUMENTS.\n");
    let listed = program.run(&["pills"]);
    assert!(listed.stdout.contains("/review <file> [focus]  Review a file\n"), "{}", listed.stdout);
    assert!(!listed.stdout.contains("ship") && listed.stderr.contains("not trusted"), "{listed:?}");
    assert_eq!(program.run(&["trust"]).code, Some(0));
    let listed = program.run(&["pills", "--json"]);
    let lines = listed.events();
    let told: Vec<(&str, &str)> = lines
        .iter()
        .map(|line| (line["name"].as_str().expect("a name"), line["source"].as_str().expect("a source")))
        .collect();
    assert_eq!(told, [("review", "user"), ("project:review", "project"), ("ship", "project")]);
    assert!(listed.stderr.is_empty(), "{}", listed.stderr);
    for (words, sent) in [
        ("/review a.rs", "Review a.rs with care."),
        ("/user:review a.rs", "Review a.rs with care."),
        ("/project:review", "The project's review."),
        ("/ship it", "Ship it."),
    ] {
        program.provider.push(says("Done."));
        assert_eq!(program.run(&["run", words]).code, Some(0));
        assert!(last_prompt(&program).contains(sent), "{words}: {}", last_prompt(&program));
    }
}

#[test]
fn a_bad_file_is_named_and_the_others_work() {
    let program = program();
    user_pill(&program, "good.md", "---\n---\nGood.\n");
    user_pill(&program, "plain.md", "Just words.\n");
    user_pill(&program, "odd.md", "---\nmodel: x\n---\nOdd.\n");
    user_pill(&program, "again.md", "---\nname: good\n---\nAgain.\n");
    std::fs::write(program.home().join("pills/bytes.md"), [0xff, 0xfe]).expect("a file");
    let listed = program.run(&["pills"]);
    assert_eq!(listed.code, Some(0));
    for wanted in [
        "plain.md: It does not begin with a header between two lines `---`",
        "odd.md: Line 2: unknown key `model`",
        "bytes.md: It is not valid UTF-8.",
        "already uses the name good",
    ] {
        assert!(listed.stderr.contains(wanted), "{wanted}: {}", listed.stderr);
    }
    let ended = program.run(&["run", "/odd"]);
    assert_eq!(ended.code, Some(2), "a pill that is broken is not sent as words");
    assert!(ended.stderr.contains("The pill odd cannot be used"), "{}", ended.stderr);
}

#[test]
fn sessions_are_found_by_tag_and_by_words() {
    let program = program();
    for (words, answer) in [("Compare formats #research", "Zebra stripes"), ("Say hello", "Hello, ÄRGER")] {
        program.provider.push(says(answer));
        assert_eq!(program.run(&["run", "--mode", "chat", words]).code, Some(0));
    }
    let titles = |arguments: &[&str]| {
        let mut all = vec!["sessions", "list", "--json"];
        all.extend(arguments);
        let lines = program.run(&all).events();
        lines.iter().map(|line| line["title"].as_str().expect("a title").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(titles(&["--tag", "research"]), ["Compare formats #research"]);
    assert_eq!(titles(&["--tag", "#Research"]), ["Compare formats #research"]);
    assert_eq!(titles(&["--tag", "research", "--tag", "other"]), Vec::<String>::new());
    assert_eq!(titles(&["--search", "stripes compare"]), ["Compare formats #research"]);
    assert_eq!(titles(&["--search", "ärger"]), ["Say hello"]);
    assert_eq!(titles(&["--tag", "research", "--search", "hello"]), Vec::<String>::new());
    assert_eq!(titles(&[]).len(), 2);
    let none = program.run(&["sessions", "list", "--tag", "nothing"]);
    assert!(none.stdout.starts_with("No session matches"), "{}", none.stdout);
}

#[test]
fn the_elapsed_time_is_the_time_between_the_events() {
    let program = program();
    program.provider.push(says("Done."));
    let ended = program.run(&["run", "--json", "--mode", "chat", "hi"]);
    let events = ended.events();
    let time = |kind: &str| {
        let time: trimtab_vocab::Time = serde_json::from_value(of(&events, kind)[0]["time"].clone()).expect("a time");
        time.millis()
    };
    let millis = time("request.finished") - time("request.received");
    let shown = program.run(&["sessions", "show", &session(&ended)]).stdout;
    let took = trimtab_vocab::format::duration(std::time::Duration::from_millis(millis.unsigned_abs()));
    let wanted = format!("[Took {took}.]");
    assert!(shown.contains(&wanted), "{wanted}: {shown}");
}

#[test]
fn on_a_terminal_the_time_ticks_and_ends_at_the_measured_one() {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(says("Done.").gated(&gate));
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&terminal).expect("is ours");
    unlockpt(&terminal).expect("is open");
    let name = ptsname(&terminal, Vec::new()).expect("a name").into_string().expect("a path");
    let other_end = std::fs::OpenOptions::new().read(true).write(true).open(name).expect("its other end");
    let mut command = program.command(program.binary(), &["run", "--mode", "chat", "hi"]);
    command.stderr(other_end).stdout(std::process::Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    // The command holds the other end too: without this, the screen would never end.
    drop(command);
    let mut screen = std::fs::File::from(terminal);
    let mut shown = String::new();
    let mut values: Vec<String> = Vec::new();
    let mut piece = [0; 4_096];
    while let Ok(read) = std::io::Read::read(&mut screen, &mut piece) {
        if read == 0 {
            break;
        }
        shown.push_str(&String::from_utf8_lossy(&piece[..read]));
        let words: Vec<&str> = shown.split([' ', '\x1b', '\r', '\n']).collect();
        let is_time = |two: &&[&str]| two[1] == "s" && two[0].contains('.') && two[0].parse::<f64>().is_ok();
        values = words.windows(2).filter(is_time).map(|two| two[0].to_owned()).collect();
        values.dedup();
        if values.len() >= 3 {
            gate.open();
        }
    }
    assert!(child.wait().expect("ends").success(), "{shown}");
    let mut sorted = values.clone();
    sorted.sort_by(|a, b| a.parse::<f64>().ok().partial_cmp(&b.parse().ok()).expect("numbers"));
    assert!(values.len() >= 3 && values == sorted, "it counts upwards: {values:?}");
    let listed = program.run(&["sessions", "list", "--json"]).events();
    let told = program.run(&["sessions", "show", listed[0]["id"].as_str().expect("an id")]).stdout;
    let took = told.lines().find_map(|line| line.strip_prefix("[Took ")?.strip_suffix(".]")).expect("a time");
    assert!(shown.contains(&format!("Took {took} (first token after ")), "{took}: {shown}");
}

/// A request that runs until the file `go` is there.
fn busy(program: &Program) -> trimtab_testkit::program::Running {
    program.provider.push(asks("run_command", json!({"command": "while [ ! -e go ]; do sleep 0.05; done"})));
    let running = program.spawn(&["run", "--json", "--trust", "--approve", "auto", "work"]);
    running.wait_for_line("command.started");
    running
}

fn go(program: &Program) {
    std::fs::write(program.project().join("go"), "").expect("a file");
}

#[test]
fn a_message_while_one_runs_is_passed_on_and_both_see_the_end() {
    let program = program();
    let running = busy(&program);
    program.provider.push(says("Only the tests."));
    let steering = program.spawn(&["run", "--json", "--continue", "only the tests"]);
    steering.wait_for_line("request.joined");
    running.wait_for_line("request.steered");
    go(&program);
    let (first, second) = (running.wait(), steering.wait());
    assert_eq!((first.code, second.code), (Some(0), Some(0)), "{} {}", first.stderr, second.stderr);
    assert!(last_prompt(&program).contains("only the tests"));
    assert_eq!(program.provider.requests().len(), 2, "no request of its own");
    assert_eq!(of(&second.events(), "answer")[0]["summary"], "Only the tests.");
    let jobs = program.run(&["jobs"]).stdout;
    assert_eq!(jobs, "No requests are running or queued. `trimtab checkpoints` lists pending questions.\n");
}

#[test]
fn in_words_it_is_said_what_became_of_the_message() {
    let program = program();
    let running = busy(&program);
    program.provider.push(says("Only the tests."));
    let steering = program.spawn(&["run", "--continue", "only the tests"]);
    running.wait_for_line("request.steered");
    go(&program);
    assert_eq!(running.wait().code, Some(0));
    let ended = steering.wait();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Only the tests.\n"));
    assert!(ended.stderr.contains("Sent to the running request"), "{}", ended.stderr);
}

#[test]
fn a_message_may_wait_for_its_turn_or_take_the_place_of_what_runs() {
    let mut program = program();
    let running = busy(&program);
    let queued = program.spawn(&["run", "--json", "--continue", "--queue", "second"]);
    queued.wait_for_line("Queued until the request before it ends.");
    program.provider.push(says("The new one."));
    program.provider.push(says("The second."));
    program.set("TRIMTAB_MESSAGE_WHILE_RUNNING", "replace");
    let replacing = program.spawn(&["run", "--json", "--continue", "new"]);
    let cancelled = running.wait();
    assert_eq!(cancelled.code, Some(130), "{}", cancelled.stderr);
    let ended = replacing.wait();
    assert_eq!(of(&ended.events(), "answer")[0]["summary"], "The new one.", "{}", ended.stderr);
    let ended = queued.wait();
    assert_eq!(of(&ended.events(), "answer")[0]["summary"], "The second.", "{}", ended.stderr);
}

#[test]
fn words_answer_an_open_question_and_never_a_permission() {
    let program = program();
    program.provider.push(asks("ask_user", json!({"question": "Which colour?", "options": ["Red", "Blue"]})));
    assert_eq!(program.run(&["run", "--trust", "paint it"]).code, Some(3));
    program.provider.push(says("Painted green."));
    let answered = program.run(&["run", "--continue", "green"]);
    assert_eq!((answered.code, answered.stdout.as_str()), (Some(0), "Painted green.\n"), "{}", answered.stderr);
    assert!(answered.stderr.contains("Used as the answer to the pending question"), "{}", answered.stderr);
    assert!(last_prompt(&program).contains("The user answers: green"));

    program.provider.push(asks("run_command", json!({"command": "echo made > made.txt"})));
    assert_eq!(program.run(&["run", "--trust", "--continue", "make it"]).code, Some(3));
    let said = program.run(&["run", "--continue", "yes, allow"]);
    assert_eq!(said.code, Some(3), "{}", said.stderr);
    assert!(said.stderr.contains("Run this command? echo made > made.txt"), "{}", said.stderr);
    assert!(!program.project().join("made.txt").exists(), "words give no permission");
    // What does not concern it is a request of its own.
    program.provider.push(says("Something else."));
    let other = program.run(&["run", "--continue", "--replace", "something else"]);
    assert_eq!((other.code, other.stdout.as_str()), (Some(0), "Something else.\n"), "{}", other.stderr);
    assert_eq!(program.run(&["checkpoints"]).stdout.lines().count(), 1, "nothing is open any more");
    assert!(!program.project().join("made.txt").exists());
}
