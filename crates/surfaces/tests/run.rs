//! `trimtab run` and its kin, as a script meets them: the real binary against a provider that
//! speaks Anthropic's dialect.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;
use trimtab_testkit::program::{KEY, Program, Running};
use trimtab_testkit::provider::anthropic::{self, error_body};
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_vocab::Usage;

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

fn hello() -> Answer {
    Answer::anthropic(Reply::new().text(["Hel", "lo, ", "wörld 🦀."]))
}

#[test]
fn json_prints_the_events_of_the_contract_in_order_and_nothing_else() {
    let program = program();
    program.provider.push(hello());
    let ended = program.run(&["run", "--json", "Say hello"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let events = ended.events();
    let types: Vec<&str> = events.iter().map(|event| event["type"].as_str().expect("a type")).collect();
    insta::assert_snapshot!(types.join("\n"), @"
    request.received
    stage
    route
    stage
    stage
    model.called
    reply.delta
    reply.delta
    reply.delta
    reply.saved
    usage
    stage
    answer
    request.finished
    ");
    let recorded: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
    assert!(recorded.windows(2).all(|pair| pair[1] == pair[0] + 1), "{recorded:?}");
    for event in &events {
        assert_eq!(event.get("seq").is_none(), event["type"] == "reply.delta", "{event}");
        assert_eq!(event["session"], events[0]["session"]);
        assert_eq!(event["request"], events[0]["request"]);
        assert!(event["time"].as_str().expect("a time").ends_with('Z'));
    }
    let of = |kind: &str| events.iter().find(|event| event["type"] == kind).expect(kind).clone();
    assert_eq!(of("request.received")["text"], "Say hello");
    assert_eq!(of("answer")["summary"], "Hello, wörld 🦀.");
    assert_eq!(of("reply.saved")["stopReason"], "end_turn");
    assert_eq!(of("usage")["inputTokens"], 25);
    assert_eq!(of("request.finished")["status"], "completed");
    assert_eq!(of("request.finished")["usage"]["outputTokens"], 15);
    let deltas: String = events
        .iter()
        .filter(|event| event["type"] == "reply.delta")
        .map(|event| event["text"].as_str().expect("text"))
        .collect();
    assert_eq!(deltas, "Hello, wörld 🦀.");
}

#[test]
fn text_prints_just_the_answer() {
    let program = program();
    program.provider.push(hello());
    let ended = program.run(&["run", "Say hello"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Hello, wörld 🦀.\n"));
}

#[test]
fn the_request_is_what_was_said_and_the_key_is_seen_by_nobody_else() {
    let program = program();
    program.provider.push(hello());
    let ended = program.run_with_input(&["run", "--json", "-"], "from a pipe\n".as_bytes());
    assert_eq!(ended.code, Some(0));
    let request = &program.provider.requests()[0];
    assert_eq!(request.body["messages"][0]["content"][0]["text"], "from a pipe\n");
    assert!(!ended.stdout.contains(KEY) && !ended.stderr.contains(KEY));
    for entry in std::fs::read_dir(program.home()).expect("the data folder").flatten() {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()), "{:?}", entry.path());
    }
}

#[test]
fn a_large_request_is_kept_whole_and_sent_as_head_and_tail() {
    let program = program();
    program.provider.push(hello());
    let words = format!("begin {} end", "ä ".repeat(300_000));
    let ended = program.run_with_input(&["run", "--json", "-"], words.as_bytes());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let received = &ended.events()[0];
    let key = received["refs"][0].as_str().expect("a ref").to_owned();
    let sent = program.provider.requests()[0].body["messages"][0]["content"][0]["text"].clone();
    let sent = sent.as_str().expect("text");
    assert_eq!(received["text"], sent);
    assert!(sent.len() < 40_000 && sent.starts_with("begin ") && sent.contains(" end\n[Full input saved as ref:"));
    let shown = program.run(&["ref", &key]);
    assert_eq!((shown.code, shown.stdout == words), (Some(0), true));
    let unknown = program.run(&["ref", "nothing"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("Nothing is stored as ref:nothing."), "{}", unknown.stderr);
}

#[test]
fn how_much_of_a_message_is_sent_as_it_is_can_be_set() {
    let mut program = program();
    program.set("TRIMTAB_CONTEXT_INPUT_TOKENS", "50");
    program.provider.push(hello());
    let words = format!("Sum this up: {}", "one two three ".repeat(30));
    let ended = program.run(&["run", "--json", &words]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let sent = program.provider.requests()[0].body["messages"][0]["content"][0]["text"].clone();
    let sent = sent.as_str().expect("text");
    assert!(sent.starts_with("Sum this up: ") && sent.len() < words.trim().len(), "{sent}");
    let key = ended.events()[0]["refs"][0].as_str().expect("a ref").to_owned();
    assert!(sent.ends_with(&format!("[Full input saved as ref:{key}]")), "{sent}");
    assert_eq!(program.run(&["ref", &key]).stdout.trim(), words.trim());
}

#[test]
fn a_session_goes_on_by_id_and_by_folder() {
    let program = program();
    for text in ["one", "two", "three"] {
        program.provider.push(Answer::anthropic(Reply::new().text([text])));
    }
    let first = program.run(&["run", "--json", "first"]).events();
    let session = first[0]["session"].as_str().expect("an id").to_owned();
    assert_eq!(program.run(&["run", "--session", &session, "second"]).stdout, "two\n");
    assert_eq!(program.run(&["run", "--continue", "third"]).stdout, "three\n");
    let talk = program.provider.requests()[2].body["messages"].clone();
    let roles: Vec<_> = talk.as_array().expect("messages").iter().map(|message| message["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    let listed = program.run(&["sessions", "list"]).stdout;
    assert!(listed.ends_with("  first\n"), "a session keeps its name: {listed}");
}

#[test]
fn words_without_quotation_marks_are_one_request() {
    let program = program();
    program.provider.push(Answer::anthropic("Yes."));
    let ended = program.run(&["run", "is", "this", "--mode", "chat", "one", "request?"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Yes.\n"), "{}", ended.stderr);
    let sent = program.provider.requests()[0].body["messages"][0]["content"][0]["text"].clone();
    assert_eq!(sent, "is this one request?");
}

#[test]
fn a_mistyped_variable_is_told_and_a_setting_explains_itself() {
    let mut program = program();
    program.provider.push(Answer::anthropic("Yes."));
    program.set("TRIMTAB_LIMTS_STEPS", "3");
    let ended = program.run(&["run", "hi"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("Ignored unknown setting TRIMTAB_LIMTS_STEPS. Did you mean TRIMTAB_LIMITS_STEPS?"),
        "{}",
        ended.stderr
    );
    let explained = program.run(&["config", "commands.sandbox"]);
    insta::assert_snapshot!(explained.stdout, @r#"
    commands.sandbox = "workspace"  # default
        Where commands can write: only in the folder (workspace), nowhere (read-only), or anywhere (off). Expected workspace, read-only, or off.
        In the environment: TRIMTAB_COMMANDS_SANDBOX
    "#);
}

#[test]
fn bad_input_is_a_problem_with_a_hint_and_its_own_exit_code() {
    let mut program = program();
    let mut report = String::new();
    let mut note = |name: &str, ended: &trimtab_testkit::program::Ended| {
        assert_eq!(ended.stdout, "", "{name}");
        let stderr = ended.stderr.replace(program_folder(&ended.stderr).as_str(), "FOLDER");
        report.push_str(&format!("{name}: exit {}\n{stderr}\n", ended.code.expect("a code")));
    };
    note("empty", &program.run(&["run", ""]));
    note("nothing", &program.run(&["run"]));
    note("blank", &program.run(&["run", " \n\t "]));
    note("empty stdin", &program.run_with_input(&["run", "-"], b""));
    note("100 MB", &program.run_with_input(&["run", "-"], &vec![b'x'; 100_000_000]));
    note("100 MB of multi-byte characters", &program.run_with_input(&["run", "-"], "ää".repeat(25_000_000).as_bytes()));
    note("not UTF-8", &program.run_with_input(&["run", "-"], b"caf\xe9"));
    note("missing folder", &program.run(&["run", "--dir", "/nowhere/at/all", "hi"]));
    note("a file as folder", &program.run(&["run", "--dir", "/etc/passwd", "hi"]));
    note("unknown provider", &program.run(&["run", "--model", "nobody/model", "hi"]));
    note("no provider", &program.run(&["run", "--model", "model", "hi"]));
    note("a model without its provider", &program.run(&["run", "--model", "gpt-5", "hi"]));
    note("a budget in words", &program.run(&["run", "--budget", "much", "hi"]));
    note("a budget below nothing", &program.run(&["run", "--budget", "-1", "hi"]));
    note("words in place of a command", &program.run(&["What is Trimtab?"]));
    note("a mistyped command", &program.run(&["rnu", "hi"]));
    note("a mistyped command of a command", &program.run(&["tasks", "ad"]));
    note("settings with a word that none has", &program.run(&["config", "sandbx"]));
    note("missing recording", &program.run(&["run", "--model", "replay/nowhere.jsonl", "hi"]));
    note("unknown session", &program.run(&["run", "--session", "s-nobody", "hi"]));
    note("changes of an unknown session", &program.run(&["changes", "--session", "s-nobody"]));
    note("no steps back", &program.run(&["rewind", "0"]));
    note("steps in words", &program.run(&["run", "--max-steps", "many", "hi"]));
    note("nothing to go on with", &program.run(&["run", "--continue", "hi"]));
    note("nothing to resume", &program.run(&["resume"]));
    std::fs::write(program.home().join("config.toml"), "[limits]\nretrys = 1\n").expect("written");
    note("unknown setting", &program.run(&["run", "hi"]));
    let listed = program.run(&["config"]);
    assert!(listed.stdout.contains("limits.retries = 5"), "whoever looks for its right name finds it");
    assert!(listed.stderr.contains("Unknown setting limits.retrys"), "{}", listed.stderr);
    std::fs::write(program.home().join("config.toml"), "limits = 3\n").expect("written");
    note("a value for a group", &program.run(&["run", "hi"]));
    std::fs::write(program.home().join("config.toml"), "[limits]\nretries = \"many\"\n").expect("written");
    note("bad setting", &program.run(&["run", "hi"]));
    std::fs::remove_file(program.home().join("config.toml")).expect("removed");
    program.unset("ANTHROPIC_API_KEY");
    note("no model", &program.run(&["run", "hi"]));
    note("no key", &program.run(&["run", "--model", "anthropic/claude-x", "hi"]));
    assert!(program.provider.requests().is_empty(), "nothing was sent");
    for list in [&["sessions", "list"][..], &["sessions"]] {
        assert_eq!(program.run(list).stdout, "There are no sessions yet in this folder (--all lists every folder).\n");
    }
    insta::assert_snapshot!(report, @r#"
    empty: exit 2
    error: The request is empty.
      Give a request, for example: trimtab run "Why does the build fail?"

    nothing: exit 2
    error: The request is empty.
      Give a request, for example: trimtab run "Why does the build fail?"

    blank: exit 2
    error: The request is empty.
      Give a request, for example: trimtab run "Why does the build fail?"

    empty stdin: exit 2
    error: The request is empty.
      Give a request, for example: trimtab run "Why does the build fail?"

    100 MB: exit 2
    error: The request is too large: the limit is 16 MB.
      Put the text into a file of the folder and name the file in the request. Nothing was sent or stored.

    100 MB of multi-byte characters: exit 2
    error: The request is too large: the limit is 16 MB.
      Put the text into a file of the folder and name the file in the request.

    not UTF-8: exit 2
    error: The request is not valid UTF-8 (byte 3).
      Convert it first, for example with `iconv -f latin1 -t utf-8`.

    missing folder: exit 2
    error: The folder /nowhere/at/all does not exist.
      Name an existing folder, or change into it first.

    a file as folder: exit 2
    error: /etc/passwd is not a folder.
      Name an existing folder, or change into it first.

    unknown provider: exit 2
    error: Unknown provider `nobody` in the model name `nobody/model` (option --model).
      The providers are anthropic, gemini, llamacpp, lmstudio, ollama, openai, openrouter, replay, vllm, xai. Add others under [providers] in the settings.

    no provider: exit 2
    error: Invalid model name `model` (option --model).
      A model is named PROVIDER/NAME, for example anthropic/claude-sonnet-5-5. `trimtab models` lists the available models.

    a model without its provider: exit 2
    error: Invalid model name `gpt-5` (option --model).
      A model is named PROVIDER/NAME, for example openai/gpt-5. `trimtab models` lists the available models.

    a budget in words: exit 2
    error: invalid value 'much' for '--budget <USD>': expected dollars, such as 0.50

    For more information, try '--help'.

    a budget below nothing: exit 2
    error: Invalid value -1.0 for limits.budget_usd (option --budget).
      Expected a number from 0 to 1000000000.

    words in place of a command: exit 2
    error: Trimtab needs a terminal.
      `trimtab run "…"` runs one request without a terminal. `trimtab --help` lists all commands.

    a mistyped command: exit 2
    error: unrecognized subcommand 'rnu'

    Usage: trimtab [OPTIONS] [PROMPT]
           trimtab <COMMAND>

    For more information, try '--help'.

    To run a request: trimtab run "rnu hi"

    a mistyped command of a command: exit 2
    error: unrecognized subcommand 'ad'

      tip: a similar subcommand exists: 'add'

    Usage: trimtab tasks [COMMAND]

    For more information, try '--help'.

    settings with a word that none has: exit 1
    error: No setting has `sandbx` in its name.
      `trimtab config` lists them all.

    missing recording: exit 1
    error: The recording nowhere.jsonl cannot be read: No such file or directory (os error 2).
      Name a recording as replay/PATH, or use replay/demo.

    unknown session: exit 1
    error: Unknown session s-nobody.
      `trimtab sessions list --all` lists all sessions.

    changes of an unknown session: exit 1
    error: Unknown session s-nobody.
      `trimtab sessions list --all` lists all sessions.

    no steps back: exit 2
    error: invalid value '0' for '[N]': expected a whole number of at least 1

    For more information, try '--help'.

    steps in words: exit 2
    error: invalid value 'many' for '--max-steps <N>': expected a whole number

    For more information, try '--help'.

    nothing to go on with: exit 2
    error: There is no session in this folder to continue.
      Omit --continue to start one.

    nothing to resume: exit 1
    error: There is nothing to resume in this folder.
      `trimtab jobs` lists unfinished requests of every folder, and `trimtab sessions list --all` lists all sessions.

    unknown setting: exit 2
    error: Unknown setting limits.retrys (FOLDER/home/config.toml, line 2).
      Did you mean limits.retries? `trimtab config` lists them all.

    a value for a group: exit 2
    error: limits (FOLDER/home/config.toml, line 1) is a group of settings and takes no value.
      Set one of its settings, for example [limits] and below it steps = …. `trimtab config limits` lists them.

    bad setting: exit 2
    error: Invalid value "many" for limits.retries (FOLDER/home/config.toml, line 2).
      Expected a whole number from 0 to 100.

    no model: exit 1
    error: No model is set up.
      Set a key (ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, XAI_API_KEY, or OPENROUTER_API_KEY), start a model server on this machine (llama.cpp, Ollama, LM Studio, or vLLM), or set `model = "PROVIDER/NAME"` in the settings. `trimtab demo` needs no model.

    no key: exit 1
    error: No API key is set for anthropic.
      Set ANTHROPIC_API_KEY, choose another model with --model, or try `trimtab demo`.
    "#);
}

/// The temporary folder that a message names, if it names one.
fn program_folder(text: &str) -> String {
    let start = text.find("/tmp/").or_else(|| text.find("/var/"));
    let found = start.and_then(|start| text[start..].split("/home").next());
    found.filter(|found| found.len() < 80).unwrap_or("\u{0}").to_owned()
}

#[test]
fn a_damaged_a_locked_and_a_newer_database_are_told_and_left_alone() {
    let program = program();
    program.provider.always(hello());
    assert_eq!(program.run(&["run", "hi"]).code, Some(0));
    let file = program.home().join("trimtab.db");

    let other = rusqlite::Connection::open(&file).expect("opens");
    other.execute_batch("BEGIN EXCLUSIVE").expect("locks");
    let locked = program.run(&["run", "hi"]);
    assert_eq!(locked.code, Some(1));
    assert!(locked.stderr.contains("Another process keeps the database locked."), "{}", locked.stderr);
    other.execute_batch("ROLLBACK; PRAGMA user_version = 77;").expect("unlocks");
    drop(other);

    let newer = program.run(&["run", "hi"]);
    assert_eq!(newer.code, Some(1));
    assert!(newer.stderr.contains("written by a newer version (format 77"), "{}", newer.stderr);

    let garbage = b"garbage".repeat(1_000);
    std::fs::write(&file, &garbage).expect("written");
    let damaged = program.run(&["run", "hi"]);
    assert_eq!(damaged.code, Some(1));
    assert!(damaged.stderr.contains("The database is damaged"), "{}", damaged.stderr);
    let doctor = program.run(&["doctor"]);
    assert_eq!(doctor.code, Some(1));
    assert!(doctor.stdout.contains("problem  The database is damaged"), "{}", doctor.stdout);
    assert_eq!(std::fs::read(&file).expect("there"), garbage);
}

#[test]
fn a_folder_that_cannot_be_written_is_told() {
    let mut program = program();
    // Nobody writes below a file, not even root.
    program.set("TRIMTAB_HOME", "/etc/passwd/trimtab");
    let ended = program.run(&["run", "hi"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("The data folder cannot be used"), "{}", ended.stderr);
    program.set("TRIMTAB_HOME", "/proc/trimtab");
    let ended = program.run(&["run", "hi"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("  Check /proc/trimtab"), "{}", ended.stderr);
}

#[test]
fn a_refused_key_fails_at_once_and_an_overload_is_tried_again() {
    let program = program();
    program.provider.push(Answer::json(401, error_body("authentication_error", "invalid x-api-key")));
    let refused = program.run(&["run", "hi"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    assert!(refused.stderr.contains("refused the key (HTTP 401): invalid x-api-key"), "{}", refused.stderr);
    assert_eq!(program.provider.requests().len(), 1);

    program.provider.push(Answer::json(529, error_body("overloaded_error", "Overloaded")));
    program.provider.push(hello());
    let again = program.run(&["run", "hi"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), "Hello, wörld 🦀.\n"));
    assert!(again.stderr.contains("Trying again in"), "{}", again.stderr);
}

/// Runs the program in a terminal of its own, and gives back what stood on the screen.
fn in_a_terminal(program: &Program, command: &str) -> String {
    let line = format!("{} {command}", program.binary().display());
    let output = program.command(std::path::Path::new("script"), &["-qec", &line, "/dev/null"]).output().expect("runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn in_a_terminal_words_appear_as_they_come_and_a_retry_says_nothing_twice() {
    let program = program();
    let whole = hello();
    let cut = whole.body_bytes().len() * 6 / 10;
    program.provider.push(whole.clone().cut_after(cut));
    program.provider.push(whole);
    let screen = in_a_terminal(&program, "run hi");
    assert_eq!(screen.matches("Hel").count(), 1, "{screen}");
    assert!(screen.contains("Trying again in"), "{screen}");
    assert!(screen.contains("wörld 🦀."), "{screen}");
    program.provider.push(Answer::anthropic(Reply::new().text(["\u{1b}]0;title\u{7}", "\u{1b}[2J", "sanitize"])));
    let screen = in_a_terminal(&program, "run hi");
    assert!(
        !screen.contains("\u{1b}]0;") && !screen.contains("\u{1b}[2J") && screen.contains("sanitize"),
        "{screen:?}"
    );
}

#[test]
fn a_model_that_always_fails_is_given_up_after_the_retries() {
    let mut program = program();
    program.set("TRIMTAB_LIMITS_RETRIES", "2");
    let busy = Answer::json(429, error_body("rate_limit_error", "slow down")).header("retry-after", "0");
    program.provider.always(busy);
    let ended = program.run(&["run", "hi"]);
    assert_eq!(ended.code, Some(1));
    assert_eq!(program.provider.requests().len(), 3);
}

#[test]
fn one_interrupt_cancels_and_keeps_what_was_said() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(hello().gated(&gate));
    let running = program.spawn(&["run", "--json", "hi"]);
    gate.release(5);
    running.wait_for_line("reply.delta");
    running.signal(Signal::INT);
    let ended = running.wait();
    assert_eq!(ended.code, Some(130));
    let events = ended.events();
    let last = events.last().expect("an end");
    assert_eq!((last["type"].as_str(), last["status"].as_str()), (Some("request.finished"), Some("cancelled")));
    let kept = events.iter().find(|event| event["type"] == "reply.saved").expect("kept");
    assert_eq!((kept["partial"].as_bool(), kept["message"]["parts"][0]["text"].as_str().is_some()), (Some(true), true));
    program.provider.block_on(program.provider.closed(0));
    assert_eq!(
        program.run(&["jobs"]).stdout,
        "No requests are running or queued. `trimtab checkpoints` lists pending questions.\n"
    );
    let session = events[0]["session"].as_str().expect("an id");
    let shown = program.run(&["sessions", "show", session]).stdout;
    assert!(shown.contains("> hi") && shown.contains("Hel") && shown.contains("[Cancelled.]"), "{shown}");
}

#[test]
fn an_interrupt_ends_a_silent_a_slow_an_endless_and_a_failing_stream_and_nothing_comes_after_it() {
    let word = anthropic::text_delta(0, "on and ");
    let begun =
        || Answer::events([anthropic::message_start(&Usage::default()), anthropic::text_start(0), word.clone()]);
    let body = begun().body_bytes().len();
    let busy = || Answer::json(529, error_body("overloaded_error", "busy")).header("retry-after", "30");
    let streams: [(&str, Answer, &str); 4] = [
        ("silent", Answer::silent(), "model.called"),
        ("slow", begun().stall_after(body), "reply.delta"),
        ("endless", begun().then_forever(word.clone()), "reply.delta"),
        ("failing", busy(), "model.failed"),
    ];
    for (name, answer, seen) in streams {
        let program = program();
        program.provider.push(answer);
        let running = program.spawn(&["run", "--json", "hi"]);
        running.wait_for_line(seen);
        // That it is called is recorded before it is.
        program.provider.block_on(program.provider.wait_for_requests(1));
        running.signal(Signal::INT);
        let ended = running.wait();
        assert_eq!(ended.code, Some(130), "{name}: {}", ended.stderr);
        let events = ended.events();
        let last = events.last().expect("an end");
        assert_eq!(
            (last["type"].as_str(), last["status"].as_str()),
            (Some("request.finished"), Some("cancelled")),
            "{name}"
        );
        assert!(!events.iter().any(|event| event["type"] == "answer"), "{name}: what was cut off is no answer");
        assert_eq!(program.provider.requests().len(), 1, "{name}: it is not tried again");
        let recorded = program.run(&["sessions", "export", events[0]["session"].as_str().expect("an id")]);
        let document: Value = serde_json::from_str(&recorded.stdout).expect("JSON");
        let kept = document["events"].as_array().expect("events");
        assert_eq!(kept.last().expect("facts")["type"], "request.finished", "{name}: nothing comes after the end");
    }
}

#[test]
fn being_told_to_go_leaves_the_request_to_be_resumed() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(hello().gated(&gate));
    let running = program.spawn(&["run", "hi"]);
    program.provider.block_on(program.provider.wait_for_requests(1));
    running.signal(Signal::TERM);
    let ended = running.wait();
    assert_eq!(ended.code, Some(143));
    assert!(ended.stderr.contains("trimtab resume"), "{}", ended.stderr);
    assert!(program.run(&["jobs"]).stdout.contains("interrupted"), "it is listed as interrupted");
    program.provider.push(hello());
    let resumed = program.run(&["resume"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "Hello, wörld 🦀.\n"));
}

#[test]
fn a_key_that_is_missing_at_resume_ends_nothing() {
    let mut program = program();
    let gate = program.provider.gate();
    program.provider.push(hello().gated(&gate));
    let running = program.spawn(&["run", "hi"]);
    program.provider.block_on(program.provider.wait_for_requests(1));
    running.signal(Signal::KILL);
    running.wait();
    program.unset("ANTHROPIC_API_KEY");
    let without = program.run(&["resume"]);
    assert_eq!(without.code, Some(1));
    assert!(without.stderr.contains("No API key is set for anthropic."), "{}", without.stderr);
    program.set("ANTHROPIC_API_KEY", KEY);
    program.provider.push(hello());
    assert_eq!(program.run(&["resume"]).stdout, "Hello, wörld 🦀.\n");
}

#[test]
fn a_reader_that_goes_away_loses_nothing() {
    let program = program();
    let mut command = program.command(program.binary(), &["run", "--json", "hi"]);
    let mut child = command.spawn().expect("starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("ends").code(), Some(1));
    program.provider.always(hello());
    assert_eq!(program.run(&["resume"]).stdout, "Hello, wörld 🦀.\n");
}

#[test]
fn two_programs_at_once_share_the_sessions() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(hello().gated(&gate));
    let running = program.spawn(&["run", "hi"]);
    program.provider.block_on(program.provider.wait_for_requests(1));
    let jobs = program.run(&["jobs"]).stdout;
    assert!(jobs.contains("running"), "{jobs}");
    let [watching, waiting] = [&["resume", "--json"][..], &["resume"]].map(|arguments| program.spawn(arguments));
    // It watches once it tells what has happened so far.
    watching.wait_for_line("model.called");
    gate.open();
    assert_eq!(running.wait().stdout, "Hello, wörld 🦀.\n");
    let watched = watching.wait();
    let events = watched.events();
    let last = events.last().expect("an end");
    assert_eq!((watched.code, last["status"].as_str()), (Some(0), Some("completed")));
    let waited = waiting.wait();
    assert_eq!((waited.code, waited.stdout.as_str()), (Some(0), "Hello, wörld 🦀.\n"));
    assert_eq!(program.provider.requests().len(), 1, "the call was made once");
}

#[test]
fn another_program_can_cancel_by_killing_nothing() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(hello().gated(&gate));
    let running = program.spawn(&["run", "hi"]);
    program.provider.block_on(program.provider.wait_for_requests(1));
    let watching = program.spawn(&["resume", "--json"]);
    watching.wait_for_line("model.called");
    watching.signal(Signal::INT);
    assert_eq!(watching.wait().code, Some(130));
    assert_eq!(running.wait().code, Some(130));
    program.provider.block_on(program.provider.closed(0));
}

#[test]
fn only_so_many_requests_run_at_once_and_the_rest_wait_in_order() {
    let mut program = program();
    program.set("TRIMTAB_LIMITS_JOBS", "2");
    let gates: Vec<_> = (0..3).map(|_| program.provider.gate()).collect();
    for gate in &gates {
        program.provider.push(hello().gated(gate));
    }
    let first = program.spawn(&["run", "one"]);
    program.provider.block_on(program.provider.wait_for_requests(1));
    let second = program.spawn(&["run", "two"]);
    program.provider.block_on(program.provider.wait_for_requests(2));
    let third = program.spawn(&["run", "--json", "three"]);
    third.wait_for_line("Waiting for a free slot behind 2 other requests");
    assert_eq!(program.provider.requests().len(), 2);
    gates[0].open();
    assert_eq!(first.wait().code, Some(0));
    program.provider.block_on(program.provider.wait_for_requests(3));
    gates[1].open();
    gates[2].open();
    assert_eq!((second.wait().code, third.wait().code), (Some(0), Some(0)));
}

#[test]
fn replies_are_bounded_as_documented_and_as_the_model_allows() {
    let mut program = program();
    for (model, setting, bound) in [
        ("anthropic/claude-sonnet-4-5", None, 16_384),
        ("anthropic/claude-of-tomorrow", None, 4_096),
        ("anthropic/claude-sonnet-4-5", Some("500"), 500),
    ] {
        program.unset("TRIMTAB_LIMITS_MAX_OUTPUT_TOKENS");
        if let Some(setting) = setting {
            program.set("TRIMTAB_LIMITS_MAX_OUTPUT_TOKENS", setting);
        }
        program.provider.push(hello());
        assert_eq!(program.run(&["run", "--model", model, "hi"]).code, Some(0));
        assert_eq!(program.provider.requests().last().expect("one").body["max_tokens"], bound, "{model}");
    }
}

#[test]
fn a_provider_that_never_answers_is_given_up_at_the_configured_time() {
    let mut program = program();
    program.set("TRIMTAB_LIMITS_API_TIMEOUT_S", "1");
    program.set("TRIMTAB_LIMITS_RETRIES", "0");
    program.provider.push(Answer::silent());
    let ended = program.run(&["run", "hi"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("The provider sent nothing for 1 second."), "{}", ended.stderr);
}

#[test]
fn a_provider_that_tells_no_figures_gets_estimated_ones() {
    let program = program();
    let nothing = trimtab_vocab::Usage::default();
    program.provider.push(Answer::anthropic(
        Reply::new().text(["Ten little words stand here to be counted, don't they?"]).usage(nothing),
    ));
    let events = program.run(&["run", "--json", "hi"]).events();
    let usage = events.iter().find(|event| event["type"] == "usage").expect("usage");
    assert_eq!(usage["estimated"], true);
    let (input, output) = (usage["inputTokens"].as_u64().expect("n"), usage["outputTokens"].as_u64().expect("n"));
    assert!((20..400).contains(&input) && (8..20).contains(&output), "{usage}");
    assert!(usage["costUsd"].as_f64().is_some_and(|cost| cost > 0.0));
}

#[test]
fn without_any_key_a_running_ollama_answers() {
    let mut program = program();
    program.unset("ANTHROPIC_API_KEY");
    let url = program.provider.url().to_owned();
    program.set("OLLAMA_HOST", &url);
    program.provider.on_path("/api/tags", Answer::json(200, serde_json::json!({"models": [{"name": "qwen3:8b"}]})));
    program.provider.on_path("/api/version", Answer::json(200, serde_json::json!({"version": "0.12.3"})));
    let shown = serde_json::json!({"model_info": {"qwen3.context_length": 40_960}});
    program.provider.on_path("/api/show", Answer::json(200, shown));
    program.provider.push(Answer::ollama(Reply::new().text(["Hel", "lo, ", "wörld 🦀."])));
    let ended = program.run(&["run", "hi"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Hello, wörld 🦀.\n"), "{}", ended.stderr);
    let listed = program.run(&["models", "ollama"]).stdout;
    assert!(listed.starts_with("ollama/qwen3:8b  ") && listed.contains("free"), "{listed}");
}

/// The program with a model whose prices no catalog changes.
fn priced() -> Program {
    let mut program = program();
    program.set("TRIMTAB_MODEL", "anthropic/priced");
    std::fs::create_dir_all(program.home()).expect("a folder");
    let own = "[\"anthropic/priced\"]\nprices = { input = 3, output = 15 }\n";
    std::fs::write(program.home().join("models.toml"), own).expect("written");
    program
}

/// A reply that costs 0.018 dollars at these prices.
fn dear() -> Answer {
    let usage = trimtab_vocab::Usage { input_tokens: 1_000, output_tokens: 1_000, ..Default::default() };
    Answer::anthropic(Reply::new().text(["Dear."]).usage(usage))
}

#[test]
fn what_a_request_costs_is_told_in_tokens_and_dollars() {
    let program = priced();
    program.provider.push(dear());
    let events = program.run(&["run", "--json", "hi"]).events();
    let of = |kind: &str| events.iter().find(|event| event["type"] == kind).expect(kind).clone();
    assert_eq!(of("usage")["costUsd"], 0.018);
    assert_eq!(of("request.finished")["usage"]["costUsd"], 0.018);
    assert!(of("usage").get("estimated").is_none());
}

#[test]
fn a_budget_stops_before_the_call_that_would_pass_it_and_can_be_raised() {
    let program = priced();
    program.provider.push(dear());
    assert_eq!(program.run(&["run", "--budget", "0.02", "hi"]).code, Some(0));
    let bounded = program.provider.requests()[0].body["max_tokens"].as_u64().expect("a bound");
    assert!((256..1_334).contains(&bounded), "the reply may cost no more than there is: {bounded}");

    let stopped = program.run(&["run", "--json", "--continue", "--budget", "0.02", "more"]);
    assert_eq!(stopped.code, Some(4), "{}", stopped.stderr);
    let events = stopped.events();
    let opened = events.iter().find(|event| event["type"] == "checkpoint.opened").expect("asks");
    assert_eq!((opened["kind"].as_str(), opened["spentUsd"].as_f64()), (Some("confirm"), Some(0.018)));
    assert_eq!(events.last().expect("an end")["status"], "limit");
    assert_eq!(program.provider.requests().len(), 1, "the call was not made");

    let id = opened["checkpoint"].as_str().expect("an id");
    let listed = program.run(&["checkpoints"]).stdout;
    assert!(listed.contains(id) && listed.contains("raise") && listed.contains("stop"), "{listed}");
    for (choice, text, code) in [("dance", None, 2), ("raise", Some("0.01"), 2), ("raise", Some("much"), 2)] {
        let mut arguments = vec!["answer", id, choice];
        arguments.extend(text.iter().flat_map(|text| ["--text", *text]));
        assert_eq!(program.run(&arguments).code, Some(code), "{choice} {text:?}");
    }
    program.provider.push(hello());
    let raised = program.run(&["answer", id, "raise", "--text", "1"]);
    assert_eq!((raised.code, raised.stdout.as_str()), (Some(0), "Hello, wörld 🦀.\n"), "{}", raised.stderr);
    assert_eq!(program.run(&["checkpoints"]).stdout, "There are no pending questions.\n");
    let last = program.provider.requests()[1].body["messages"].clone();
    assert_eq!(last.as_array().expect("messages").last().expect("one")["content"][0]["text"], "more");
    assert_eq!(program.run(&["answer", id, "raise"]).code, Some(1), "it was answered already");
}

#[test]
fn a_budget_that_is_not_raised_ends_the_request() {
    let program = program();
    let stopped = program.run(&["run", "--json", "--budget", "0.0001", "hi"]);
    assert_eq!(stopped.code, Some(4));
    let events = stopped.events();
    let id = events.iter().find_map(|event| event["checkpoint"].as_str()).expect("an id").to_owned();
    assert_eq!(program.run(&["answer", &id, "stop"]).code, Some(4));
    assert_eq!(program.run(&["checkpoints"]).stdout, "There are no pending questions.\n");
    assert_eq!(
        program.run(&["jobs"]).stdout,
        "No requests are running or queued. `trimtab checkpoints` lists pending questions.\n"
    );
    assert_eq!(program.run(&["run", "--approve", "deny", "--budget", "0.0001", "hi"]).code, Some(4));
    assert!(program.provider.requests().is_empty());
}

#[test]
fn a_budget_without_known_prices_is_refused() {
    let mut program = program();
    let refused = program.run(&["run", "--model", "anthropic/brand-new", "--budget", "1", "hi"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("the prices of anthropic/brand-new are not known"), "{}", refused.stderr);
    std::fs::create_dir_all(program.home()).expect("a folder");
    let own = "[\"anthropic/brand-new\"]\nprices = { input = 1, output = 1 }\n";
    std::fs::write(program.home().join("models.toml"), own).expect("written");
    program.provider.push(hello());
    assert_eq!(program.run(&["run", "--model", "anthropic/brand-new", "--budget", "1", "hi"]).code, Some(0));
    program.set("TRIMTAB_LIMITS_BUDGET_USD", "0.000001");
    assert_eq!(program.run(&["run", "--model", "anthropic/brand-new", "hi"]).code, Some(4));
}

#[test]
fn a_picture_goes_to_the_model_that_can_see() {
    let mut program = program();
    program.set("TRIMTAB_MODELS_VISION", "anthropic/claude-opus-4-5");
    let picture = program.project().join("dot.png");
    std::fs::write(&picture, b"\x89PNG\r\n\x1a\nand so on").expect("written");
    program.provider.push(hello());
    let ended = program.run(&["run", "--json", "--image", "dot.png", "What is this?"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.events()[0]["images"][0]["mediaType"], "image/png");
    let body = &program.provider.requests()[0].body;
    assert_eq!(body["model"], "claude-opus-4-5");
    let content = &body["messages"][0]["content"];
    assert_eq!(content[0]["source"]["media_type"], "image/png");
    assert_eq!(content[0]["source"]["data"], "iVBORw0KGgphbmQgc28gb24=");
    assert_eq!(content[1]["text"], "What is this?");
    let wrong = program.run(&["run", "--image", "/etc/passwd", "What is this?"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("is not an image that models can read"), "{}", wrong.stderr);
    let missing = program.run(&["run", "--image", "nowhere.png", "What is this?"]);
    let told = "error: The image nowhere.png does not exist.\n  Check the path. Quote it if it contains spaces.\n";
    assert_eq!((missing.code, missing.stderr.as_str()), (Some(2), told));
}

#[test]
fn a_key_may_stand_in_a_file_that_only_the_user_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let mut program = program();
    program.unset("ANTHROPIC_API_KEY");
    std::fs::create_dir_all(program.home()).expect("a folder");
    let file = program.home().join("keys.toml");
    std::fs::write(&file, format!("anthropic = \"{KEY}\"\n")).expect("written");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).expect("set");
    let refused = program.run(&["run", "hi"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("chmod 600"), "{}", refused.stderr);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("set");
    program.provider.push(hello());
    assert_eq!(program.run(&["run", "hi"]).code, Some(0));
    assert_eq!(program.provider.requests()[0].header("x-api-key"), Some(KEY));
}

#[test]
fn sessions_are_listed_shown_exported_and_deleted() {
    let program = program();
    program.provider.push(hello());
    let events = program.run(&["run", "--json", "Say hello\nplease"]).events();
    let id = events[0]["session"].as_str().expect("an id").to_owned();
    let listed = program.run(&["sessions", "list"]).stdout;
    assert!(listed.starts_with(&id) && listed.ends_with("  Say hello\n"), "{listed}");
    let row: serde_json::Value =
        serde_json::from_str(&program.run(&["sessions", "list", "--json", "--all"]).stdout).expect("JSON");
    assert_eq!(row["title"], "Say hello");
    let shown = program.run(&["sessions", "show", &id]).stdout;
    assert!(shown.contains("> Say hello\n> please\n\nHello, wörld 🦀.\n"), "{shown}");
    let export: serde_json::Value =
        serde_json::from_str(&program.run(&["sessions", "export", &id]).stdout).expect("JSON");
    let recorded = events.iter().filter(|event| event.get("seq").is_some()).count();
    assert_eq!(export["events"].as_array().expect("events").len(), recorded + 1, "and the opening of the session");
    assert_eq!(program.run(&["sessions", "delete", &id]).code, Some(0));
    let gone = program.run(&["sessions", "show", &id]);
    assert_eq!(gone.code, Some(1));
    assert!(gone.stderr.contains("Unknown session"), "{}", gone.stderr);
}

#[test]
fn config_shows_every_setting_with_its_origin() {
    let mut program = program();
    std::fs::create_dir_all(program.home()).expect("a folder");
    std::fs::write(program.home().join("config.toml"), "model = \"replay/demo\"\n").expect("written");
    program.set("TRIMTAB_LIMITS_JOBS", "3");
    let shown = program.run(&["config"]);
    assert_eq!(shown.code, Some(0));
    let line = |name: &str| shown.stdout.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(line("model ").contains("config.toml"), "{}", line("model"));
    assert!(line("limits.jobs = 3").ends_with("# environment TRIMTAB_LIMITS_JOBS"), "{}", line("limits.jobs"));
    assert!(line("limits.retries = 5").ends_with("# default"));
    assert!(line("providers.anthropic.base_url").ends_with("# environment ANTHROPIC_BASE_URL"));
    assert!(!shown.stdout.contains(KEY));
    assert_eq!(
        program.run(&["config", "--json"]).events().len(),
        shown.stdout.lines().filter(|l| l.contains("  # ")).count()
    );
}

#[test]
fn doctor_says_what_is_set_up() {
    let mut program = program();
    let listed = serde_json::json!({"data": [{"id": "claude-sonnet-4-5", "type": "model"}], "has_more": false});
    program.provider.always(Answer::json(200, listed));
    let fine = program.run(&["doctor"]);
    assert_eq!(fine.code, Some(0), "{}", fine.stdout);
    let limits = "command limits: timeout 120 s; per process: memory no limit";
    let group = "total memory: no limit (the";
    let set_up = [
        "key from ANTHROPIC_API_KEY, reachable, 1 model\n",
        "no key (OPENAI_API_KEY is not set)",
        "1000k tokens",
        "intact",
        "ok       sandbox: read-only commands cannot write in the folder",
        "ok       sandbox: builds and tests cannot leave processes running",
    ];
    for part in set_up.into_iter().chain([limits, group]) {
        assert!(fine.stdout.contains(part), "{part}: {}", fine.stdout);
    }
    assert!(!fine.stdout.contains(KEY));
    program.unset("ANTHROPIC_API_KEY");
    let bare = program.run(&["doctor"]);
    assert_eq!(bare.code, Some(1));
    assert!(bare.stdout.contains("problem  No model is set up."), "{}", bare.stdout);
}

#[test]
fn a_recording_of_a_run_can_be_played() {
    let mut program = program();
    program.set("TRIMTAB_RECORD", "tape.jsonl");
    program.provider.push(hello());
    assert_eq!(program.run(&["run", "Say hello"]).code, Some(0));
    program.unset("TRIMTAB_RECORD");
    let played = program.run(&["run", "--model", "replay/tape.jsonl", "Say hello"]);
    assert_eq!((played.code, played.stdout.as_str()), (Some(0), "Hello, wörld 🦀.\n"));
    assert_eq!(program.provider.requests().len(), 1);
}

#[test]
fn the_demo_needs_nothing_and_leaves_nothing() {
    let mut program = program();
    program.unset("ANTHROPIC_API_KEY");
    program.unset("ANTHROPIC_BASE_URL");
    let temporary = program.project().join("tmp");
    std::fs::create_dir(&temporary).expect("a folder");
    program.set("TMPDIR", &temporary.display().to_string());
    let ended = program.run(&["demo"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for shown in [
        "$ trimtab answer approve",
        "  changed greet.sh (+1 −1)",
        "🖥 CLI Execution  ✓ 2  ✗ 1  3/3 (100%)",
        "- Support several names in greet.sh",
        "To start one of them: trimtab run --continue \"…\"",
        "Undid greet.sh (+1 −1)",
        "Redid README.md (+2 −1)",
        "Waiting: 3. Document both (depends on 1, 2)",
        "✓ 3. Document both · ",
        "3 of 3 sub-tasks completed.",
        "Before the interruption, the model wrote:",
        "`trimtab resume` would continue from here.",
        "0 created, 1 updated, 1 completed, 0 deleted.",
        "~ #1 Write the release notes  (done: yes → no)",
    ] {
        let is_there = ended.stdout.contains(shown) || ended.stderr.contains(shown);
        assert!(is_there, "{shown}\n{}\n{}", ended.stdout, ended.stderr);
    }
    let everything = format!("{}{}", ended.stdout, ended.stderr);
    for once in ["ok: Hello, stranger!", "Support several names in greet.sh", "🖥 CLI Execution"] {
        assert_eq!(everything.matches(once).count(), 1, "{once} is shown once:\n{everything}");
    }
    assert!(!program.home().exists(), "the user's own data is not touched");
    assert_eq!(std::fs::read_dir(&temporary).expect("a folder").count(), 0);
    assert!(program.provider.requests().is_empty());
}

#[test]
fn what_was_told_to_outlive_its_terminal_does() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(Answer::anthropic("Here it is.").gated(&gate));
    let line = format!("trap '' HUP; exec '{}' run 'Say it'", env!("CARGO_BIN_EXE_trimtab"));
    let running = Running::new(program.command(Path::new("/bin/sh"), &["-c", &line]).spawn().expect("starts"));
    program.provider.block_on(program.provider.wait_for_requests(1));
    running.signal(Signal::HUP);
    gate.open();
    let ended = running.wait();
    assert_eq!((ended.code, ended.stdout.trim()), (Some(0), "Here it is."), "{}", ended.stderr);
}

#[test]
fn the_demo_in_a_browser_ends_when_it_alone_is_told_to() {
    for (signal, code) in [(Signal::INT, 0), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let mut program = program();
        // No browser is opened by a test.
        program.set("PATH", "/nowhere");
        // Whoever runs the tests may ignore a signal, and what they start would ignore it, too.
        let demo = ["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_trimtab"), "demo", "--web"];
        let running = Running::new(program.command(Path::new("/usr/bin/env"), &demo).spawn().expect("starts"));
        let line = running.line_with("Trimtab is running at");
        let address = line.split("http://").nth(1).expect("an address").trim().to_owned();
        assert!(std::net::TcpStream::connect(&address).is_ok(), "{address}");
        running.signal(signal);
        let ended = running.wait();
        assert_eq!(ended.code, Some(code), "{signal:?}: {}", ended.stderr);
        assert!(ended.stderr.contains("The server stopped."), "{signal:?}: {}", ended.stderr);
        assert!(std::net::TcpStream::connect(&address).is_err(), "{signal:?}: nobody listens any more");
    }
}

#[test]
fn the_demo_in_a_browser_outlives_its_terminal_where_that_was_asked_for() {
    let mut program = program();
    program.set("PATH", "/nowhere");
    let line = format!("trap '' HUP; exec '{}' demo --web", env!("CARGO_BIN_EXE_trimtab"));
    let running = Running::new(program.command(Path::new("/bin/sh"), &["-c", &line]).spawn().expect("starts"));
    running.line_with("Trimtab is running at");
    running.signal(Signal::HUP);
    // Ended by the first signal, it would say so, or take this one for a second.
    running.signal(Signal::INT);
    let ended = running.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

/// A request that has changed a file and was told to go in the middle of its next reply.
fn interrupted() -> Program {
    let program = program();
    let write = serde_json::json!({"path": "a.txt", "content": "new\n"});
    let reply = Reply::new().text(["I write."]).tool("toolu_1", "write_file", [write.to_string()]);
    program.provider.push(Answer::anthropic(reply));
    let gate = program.provider.gate();
    program.provider.push(hello().gated(&gate));
    let running = program.spawn(&["run", "--trust", "Create a.txt"]);
    program.provider.block_on(program.provider.wait_for_requests(2));
    running.signal(Signal::TERM);
    assert_eq!(running.wait().code, Some(143));
    assert!(program.project().join("a.txt").exists());
    program
}

#[test]
fn a_rewind_after_the_program_was_told_to_go_ends_the_request_and_undoes_it() {
    let program = interrupted();
    let back = program.run(&["rewind"]);
    assert_eq!(back.code, Some(0), "{}", back.stderr);
    assert!(back.stderr.contains("Cancelled the request that was interrupted"), "{}", back.stderr);
    assert!(!program.project().join("a.txt").exists(), "{}", back.stdout);
    assert_eq!(program.provider.requests().len(), 2, "no model is called for it");
    assert!(!program.run(&["jobs"]).stdout.contains("interrupted"));
}

#[test]
fn what_was_interrupted_can_be_cancelled_and_then_rewound() {
    let program = interrupted();
    let steered = program.run(&["control", "steer", "only the tests"]);
    assert_eq!(steered.code, Some(1), "{}", steered.stderr);
    assert!(steered.stderr.contains("`trimtab resume` continues it"), "{}", steered.stderr);
    let cancelled = program.run(&["control", "cancel"]);
    assert_eq!(cancelled.code, Some(0), "{}", cancelled.stderr);
    assert!(cancelled.stderr.contains("Cancelled the interrupted request"), "{}", cancelled.stderr);
    let back = program.run(&["rewind"]);
    assert_eq!(back.code, Some(0), "{}", back.stderr);
    assert!(!program.project().join("a.txt").exists());
    assert_eq!(program.provider.requests().len(), 2, "no model is called for it");
}

#[test]
fn words_that_came_before_the_program_is_told_to_go_are_printed() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(Answer::anthropic(Reply::new().text(["Once ", "upon ", "a time."])).gated(&gate));
    let running = program.spawn(&["run", "Tell me a story"]);
    program.provider.block_on(program.provider.wait_for_requests(1));
    // The headers, the beginning of the message and of its text, and two pieces of it.
    gate.release(5);
    program.provider.block_on(gate.sent(5));
    // Until it is saved, it has not been read.
    let database = program.home().join("trimtab.db");
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    loop {
        let database = rusqlite::Connection::open(&database).expect("opens");
        let saved = database.query_row("SELECT count(*) FROM partials", [], |row| row.get::<_, i64>(0)).unwrap_or(0);
        if saved > 0 {
            break;
        }
        assert!(std::time::Instant::now() < until, "the words were never saved");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    running.signal(Signal::TERM);
    let ended = running.wait();
    assert_eq!(ended.code, Some(143));
    assert!(ended.stdout.starts_with("Once "), "{:?}", ended.stdout);
}

#[test]
fn a_queued_request_begins_in_its_own_process_and_no_call_is_cut_off() {
    for _ in 0..3 {
        let program = program();
        let gate = program.provider.gate();
        program.provider.push(hello().gated(&gate));
        program.provider.always(hello());
        let first = program.spawn(&["run", "--json", "hi"]);
        program.provider.block_on(program.provider.wait_for_requests(1));
        let queue = || program.spawn(&["run", "--json", "--continue", "--queue", "and you?"]);
        let (second, third) = (queue(), queue());
        second.wait_for_line("request.received");
        third.wait_for_line("request.received");
        gate.open();
        for ended in [first.wait(), second.wait(), third.wait()] {
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
            assert!(!ended.stdout.contains("model.failed"), "{}", ended.stdout);
        }
        assert_eq!(program.provider.requests().len(), 3, "each call is made once");
    }
}

#[test]
fn a_server_that_loads_its_model_is_waited_for() {
    let program = program();
    let loading = serde_json::json!({"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}});
    program.provider.push(Answer::json(503, loading.clone()));
    program.provider.push(Answer::json(503, loading));
    program.provider.push(hello());
    let ended = program.run(&["run", "hi"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Hello, wörld 🦀.\n"), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("Waiting for the server to load the model").count(), 1, "{}", ended.stderr);
    assert!(!ended.stderr.contains("Trying again"), "{}", ended.stderr);
}

#[test]
fn figures_of_a_cancelled_call_are_counted_and_marked() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(hello().gated(&gate));
    let running = program.spawn(&["run", "--json", "hi"]);
    program.provider.block_on(program.provider.wait_for_requests(1));
    gate.release(2);
    program.provider.block_on(gate.sent(2));
    running.signal(Signal::INT);
    let ended = running.wait();
    let events = ended.events();
    let usage: Vec<_> = events.iter().filter(|event| event["type"] == "usage").collect();
    assert_eq!(usage.len(), 1, "{}", ended.stdout);
    assert_eq!((&usage[0]["estimated"], &usage[0]["unfinished"]), (&true.into(), &true.into()), "{}", usage[0]);
    assert!(usage[0]["inputTokens"].as_u64() > Some(0), "{}", usage[0]);
    let stats = program.run(&["stats"]);
    assert!(stats.stdout.contains("(partly estimated)"), "{}", stats.stdout);
}

#[test]
fn a_reply_that_repeats_itself_is_stopped_and_its_words_are_printed_once() {
    let program = program();
    let endless = || {
        let sentence = "She loved Stories, a creature who loved Stories. ";
        Answer::anthropic(Reply::new().text(["A beginning. "].into_iter().chain([sentence; 200])))
    };
    program.provider.push(endless());
    program.provider.push(hello());
    let ended = program.run(&["run", "--mode", "chat", "Tell a story"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout.matches("wörld").count(), 1, "{}", ended.stdout);
    assert!(ended.stdout.matches("A beginning.").count() <= 1, "{}", ended.stdout);
    let told = ended.stderr.matches("The model repeated itself. Its reply was stopped.").count();
    assert_eq!(told, 1, "{}", ended.stderr);
    program.provider.push(endless());
    program.provider.push(endless());
    let ended = program.run(&["run", "--mode", "chat", "Tell a story"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("Rephrase the request, or use another model."), "{}", ended.stderr);
}

#[test]
fn standard_input_joins_the_request() {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    for answer in ["One.", "Two.", "Three."] {
        program.provider.push(Answer::anthropic(Reply::new().text([answer])));
    }
    let last = || program.provider.requests().pop().expect("a request").body["messages"].to_string();
    let ended = program.run_with_input(&["run", "Review this"], b"-old\n+new\n");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "One.\n"), "{ended:?}");
    assert!(last().contains(r"Review this\n\nStandard input:\n```\n-old\n+new\n```"), "{}", last());
    let ended = program.run_with_input(&["run", "Review this", "-"], b"+more\n");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(last().contains(r"Review this\n\nStandard input:\n```\n+more\n```"), "{}", last());
    let ended = program.run_with_input(&["run", "Nothing piped"], b"");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!last().contains("Standard input"), "{}", last());
}

#[test]
fn output_json_is_one_object() {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    program.provider.push(Answer::anthropic(Reply::new().text(["It is done."])));
    let ended = program.run(&["run", "--output", "json", "Do it"]);
    let object: serde_json::Value = serde_json::from_str(&ended.stdout).expect("one object");
    assert_eq!(ended.stdout.lines().count(), 1);
    assert_eq!(
        (object["status"].as_str(), object["answer"].as_str()),
        (Some("completed"), Some("It is done.")),
        "{object}"
    );
    assert!(object["session"].is_string() && object["request"].is_string() && object["changes"].is_array(), "{object}");
    assert!(object["usage"]["outputTokens"].is_u64() && object.get("costUsd").is_some(), "{object}");
    let both = program.run(&["run", "--json", "--output", "json", "Do it"]);
    assert_eq!(both.code, Some(2), "{both:?}");
    program.provider.push(Answer::anthropic(Reply::new().text(["Again."])));
    let events = program.run(&["run", "--output", "events", "Do it"]);
    assert_eq!(events.events().last().expect("events")["type"], "request.finished");
}

#[test]
fn config_set_changes_the_settings_file_and_names_what_overrides_it() {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    let set = program.run(&["config", "set", "commands.sandbox", "read-only"]);
    assert_eq!(set.code, Some(0), "{}", set.stderr);
    assert!(set.stdout.starts_with("Set commands.sandbox = \"read-only\" in "), "{}", set.stdout);
    let shown = program.run(&["config", "sandbox"]);
    assert!(
        shown.stdout.contains("commands.sandbox = \"read-only\"  # ") && shown.stdout.contains("config.toml, line")
    );
    assert_eq!(program.run(&["config", "get", "commands.sandbox"]).stdout, "read-only\n");
    let invalid = program.run(&["config", "set", "commands.sandbox", "none"]);
    assert_eq!(invalid.code, Some(2), "{}", invalid.stderr);
    let unknown = program.run(&["config", "set", "commands.sandbx", "off"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);
    assert!(unknown.stderr.contains("Did you mean commands.sandbox?"), "{}", unknown.stderr);
    assert_eq!(program.run(&["config", "get", "commands.sandbox"]).stdout, "read-only\n", "nothing else was written");
    program.set("TRIMTAB_COMMANDS_SANDBOX", "workspace");
    let overridden = program.run(&["config", "set", "commands.sandbox", "off"]);
    let note = "note: TRIMTAB_COMMANDS_SANDBOX in the environment overrides it with \"workspace\".";
    assert!(overridden.stderr.contains(note), "{}", overridden.stderr);
    program.unset("TRIMTAB_COMMANDS_SANDBOX");
    let unset = program.run(&["config", "unset", "commands.sandbox"]);
    assert!(unset.stdout.starts_with("Removed commands.sandbox from "), "{}", unset.stdout);
    assert_eq!(program.run(&["config", "get", "commands.sandbox"]).stdout, "workspace\n");
}

#[test]
fn a_command_of_the_model_cannot_change_settings() {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    let checked = program.run(&["check-command", "--autonomy", "trusting", "trimtab config set autonomy trusting"]);
    assert!(checked.stdout.contains(r#""decision":"deny""#), "{}", checked.stdout);
}
