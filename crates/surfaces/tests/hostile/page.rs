//! Attacks on the person at a browser and on the server behind it: keys that answer by accident, commands that are
//! shown other than they are, text that becomes a command, connections that shut others out.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::Served;

fn program() -> Program {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    assert_eq!(program.run(&["trust"]).code, Some(0));
    program
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn asks(name: &str, input: &Value) -> Answer {
    Answer::anthropic(Reply::new().text(["I work on it."]).tool("toolu_0", name, [input.to_string()]))
}

fn runs(command: &str) -> Answer {
    asks("run_command", &json!({"command": command}))
}

/// Its model knows no tools: it answers in one JSON text.
fn plain() -> Program {
    let mut program = program();
    program.set("TRIMTAB_MODEL", "anthropic/plain");
    program.set("TRIMTAB_REPAIR_MAX_ATTEMPTS", "0");
    std::fs::write(program.home().join("models.toml"), "[\"anthropic/plain\"]\ntools = false\n").expect("written");
    program
}

/// Walks one attack in a real browser, and does something when the walk asks for more.
#[track_caller]
fn attack(program: &Program, name: &str, more: impl Fn()) -> Served {
    let served = Served::start(program, "test", &[]);
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../web/tests/accidents.mjs");
    let mut page = Command::new("node");
    page.arg(script).args([&served.login, name]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut page = page.spawn().expect("node starts");
    for line in BufReader::new(page.stdout.take().expect("a pipe")).lines() {
        assert_eq!(line.expect("a line"), "more");
        more();
    }
    assert!(page.wait().expect("ends").success(), "the walk {name} fails");
    served
}

/// Nothing has run, and no rule was made.
#[track_caller]
fn nothing_was_answered(program: &Program) {
    assert!(!program.project().join("made.txt").exists(), "the command ran");
    assert_eq!(rules(program), Vec::<String>::new());
}

/// The rules for tools.
fn rules(program: &Program) -> Vec<String> {
    let listed = program.run(&["rules"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    listed
        .stdout
        .lines()
        .filter(|line| line.contains("run_command") || line.contains("_file"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn words_for_wait_and_tell_never_answer_the_question() {
    let program = program();
    program.provider.push(runs("echo made > made.txt"));
    let _served = attack(&program, "tell", || ());
    nothing_was_answered(&program);
}

#[test]
fn a_question_never_takes_the_keyboard_from_the_message_box() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(runs("echo made > made.txt").gated(&gate));
    let _served = attack(&program, "focus", || gate.open());
    nothing_was_answered(&program);
}

#[test]
fn the_key_of_a_disabled_answer_never_applies_the_whole_change() {
    let mut program = plain();
    program.set("TRIMTAB_APPLY_FILES", "ask");
    let poem = program.project().join("poem.txt");
    let lines: Vec<String> = (1..=40).map(|n| format!("line {n}\n")).collect();
    std::fs::write(&poem, lines.concat()).expect("writes");
    let diff = "--- a/poem.txt\n+++ b/poem.txt\n@@ -1,2 +1,2 @@\n-line 1\n+LINE 1\n line 2\n\
                @@ -39,2 +39,2 @@\n line 39\n-line 40\n+LINE 40\n";
    let changes = json!([{"path": "poem.txt", "diff": diff}]);
    program.provider.push(says(&json!({"summary": "One file.", "fileChanges": changes}).to_string()));
    program.provider.push(says(&json!({"summary": "Done."}).to_string()));
    let _served = attack(&program, "part", || ());
    let expected = lines.concat().replacen("line 1\n", "LINE 1\n", 1);
    assert_eq!(std::fs::read_to_string(&poem).expect("is there"), expected);
    assert_eq!(rules(&program), Vec::<String>::new());
}

#[test]
fn an_edited_plan_is_never_answered_with_the_original() {
    let program = program();
    let steps = json!([{"title": "Write a"}, {"title": "Write b"}]);
    program.provider.push(asks("propose_plan", &json!({"summary": "Two files.", "steps": steps})));
    program.provider.push(says("a is written."));
    program.provider.push(says("b is written."));
    let _served = attack(&program, "plan", || ());
    let sent = program.provider.requests().iter().map(|request| request.body.to_string()).collect::<String>();
    assert!(sent.contains("Write a 1 2"), "{sent}");
}

#[test]
fn letters_never_lead_away_from_a_session() {
    let program = program();
    program.provider.push(runs("echo made > made.txt"));
    let served = attack(&program, "letters", || ());
    nothing_was_answered(&program);
    assert_eq!(
        served.get("/api/sessions")["sessions"].as_array().expect("sessions").len(),
        1,
        "no words became a request"
    );
}

#[test]
fn a_missing_answer_never_moves_the_keys_of_the_others() {
    let program = program();
    std::fs::write(program.project().join("made.log"), "").expect("writes");
    program.provider.push(runs("rm made.log"));
    let _served = attack(&program, "numbers", || ());
    assert!(program.project().join("made.log").exists());
    assert_eq!(rules(&program), Vec::<String>::new());
}

#[test]
fn a_rule_is_never_made_before_it_was_shown() {
    let program = program();
    program.provider.push(runs("echo made > made.txt"));
    program.provider.push(says("Made."));
    let _served = attack(&program, "rule", || ());
    assert_eq!(rules(&program).len(), 1);
    assert!(program.project().join("made.txt").exists());
}

#[test]
fn a_command_is_never_shown_other_than_it_is() {
    let program = program();
    let escapes = "sh -c \"printf 'red \\033[31m'\"";
    program.provider.push(runs("echo a \u{202e}gnp.exe\u{2066} \u{200b}x c\u{430}t; rm -f x"));
    program.provider.push(runs(escapes));
    program.provider.push(says("Done."));
    let _served = attack(&program, "spelled", || ());
}

#[test]
fn a_long_command_is_never_allowed_before_its_end_was_shown() {
    let program = program();
    let lines: String = (1..=60).map(|n| format!("echo line number {n} of a long command\n")).collect();
    let command = format!("{lines}{}rm -rf hidden{}; echo the end", "\n".repeat(39), " ".repeat(200));
    program.provider.push(runs(&command));
    program.provider.push(says("Done."));
    let _served = attack(&program, "long", || ());
}

#[test]
fn text_of_a_model_or_a_paste_is_never_a_command() {
    let program = plain();
    let pills = program.home().join("pills");
    std::fs::create_dir_all(&pills).expect("a folder");
    let review = "---\ndescription: Review a file\narguments: <file>\n---\nReview $1 with care.\n";
    std::fs::write(pills.join("review.md"), review).expect("a pill");
    let blank = "\n".repeat(25);
    let hostile = "<img src=x onerror=alert(1)><base href=//evil.example><b>Run the tests</b>";
    program.provider.push(says(
        &json!({"summary": "All fixed.", "nextSteps": [
            {"html": hostile, "inputText": format!("!touch ../PWNED #{blank}Run the tests")},
            {"html": "Add a test", "inputText": "Add a test"},
            {"html": "Review it", "inputText": "/review a.rs"},
        ]})
        .to_string(),
    ));
    for _ in 0..3 {
        program.provider.push(says(r#"{"summary":"Well."}"#));
    }
    let _served = attack(&program, "next", || ());
    let sent: Vec<String> = program.provider.requests().iter().map(|request| request.body.to_string()).collect();
    let sent = sent.last().expect("a request");
    for (words, is_sent) in [
        ("/review a.rs", true),
        ("Review a.rs with care.", false),
        ("/review b.rs", true),
        ("Review b.rs with care.", false),
        ("Review c.rs with care.", true),
    ] {
        assert_eq!(sent.contains(words), is_sent, "{words}: {sent}");
    }
}

#[test]
fn a_look_at_a_login_link_never_uses_it_up() {
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let path = served.login.split(served.host()).nth(1).expect("a path").to_owned();
    for method in ["HEAD", "POST", "OPTIONS"] {
        let looked = served.ask_without_token(method, &path).send();
        assert!(looked.status >= 400 && looked.header("set-cookie").is_none(), "{method}: {}", looked.status);
    }
    assert_eq!(served.ask_without_token("GET", &path).send().status, 303);
}

#[test]
fn two_servers_on_one_machine_never_log_each_other_out() {
    let (one, other) = (program(), program());
    let servers = [Served::start(&one, "test", &[]), Served::start(&other, "test", &[])];
    let mut jar: Vec<(String, String)> = Vec::new();
    for served in &servers {
        let path = served.login.split(served.host()).nth(1).expect("a path").to_owned();
        let set = served.ask_without_token("GET", &path).send().header("set-cookie").expect("a cookie");
        let (name, value) = set.split(';').next().expect("a pair").split_once('=').expect("a pair");
        // As browsers do: one value for a name, whatever the port.
        jar.retain(|(known, _)| known != name);
        jar.push((name.to_owned(), value.to_owned()));
    }
    let cookies = jar.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ");
    for served in &servers {
        let listed = served.ask_without_token("GET", "/api/sessions").header("Cookie", &cookies).send();
        assert_eq!(listed.status, 200, "{}", listed.text());
    }
}

#[test]
fn silent_connections_never_shut_out_who_has_a_token() {
    const SILENT: usize = 2_200;
    let most = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: most.maximum, ..most }).expect("more files");
    let program = program();
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let mut watching = served.watch(&session, None);
    assert_eq!(watching.head.status, 200);
    let silent: Vec<TcpStream> = (0..SILENT).map(|_| TcpStream::connect(served.host()).expect("connects")).collect();
    let begun = Instant::now();
    for _ in 0..20 {
        assert_eq!(served.get("/api/jobs"), json!({"jobs": []}));
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "it took {:?}", begun.elapsed());
    drop(silent);
    // Who has shown a token was not given up for the silent ones.
    let said = served.post(&format!("/api/sessions/{session}/messages"), &json!({"text": "Hello"}));
    assert_eq!(said.status, 202, "{}", said.text());
    watching.until("request.received");
}
