//! Requests are composed in one place: no way to start work may leave out what the folder's own settings demand.

#![allow(clippy::disallowed_methods, reason = "tests make their own files")]

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::Served;
use trimtab_testkit::terminal::Terminal;

const WORDS: &str = "Say hello to the build";
/// What a surface says itself: whether somebody is there to be asked.
const OWN: &[&str] = &["attended"];
/// What the project below makes stricter. The task assistant works in no folder, so it has these as the person set them.
const STRICTER: &[&str] = &["applyFiles", "commandsDenied", "sandbox"];

fn trusted_strict_project() -> Program {
    let program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    fs::create_dir_all(program.home()).expect("a folder");
    let own = "[limits]\nsteps = 7\n[commands]\nask = [\"make deploy\"]\n[commands.timeouts]\nmake = 33\n";
    fs::write(program.home().join("config.toml"), own).expect("writes");
    fs::create_dir_all(program.project().join(".trimtab")).expect("a folder");
    let strict = "[commands]\nsandbox = \"read-only\"\ndeny = [\"git status\"]\n[apply]\nfiles = \"ask\"\n";
    fs::write(program.project().join(".trimtab/config.toml"), strict).expect("writes");
    let trust = program.run(&["trust"]);
    assert_eq!(trust.code, Some(0), "{}", trust.stderr);
    program.provider.always(Answer::anthropic(Reply::new().text(["Hello."])));
    program
}

/// The settings of the requests that were recorded after the first `known` ones, and how many there are now.
fn recorded(program: &Program, known: &mut usize) -> Vec<Value> {
    let database = rusqlite::Connection::open(program.home().join("trimtab.db")).expect("the database");
    let mut read = database
        .prepare(
            "SELECT event FROM events WHERE instr(event, '\"type\":\"request.received\"') ORDER BY event ->> 'time'",
        )
        .expect("a query");
    let lines = read.query_map([], |row| row.get::<_, String>(0)).expect("rows");
    let all: Vec<Value> = lines.map(|line| serde_json::from_str(&line.expect("a row")).expect("JSON")).collect();
    let new = all[*known..].iter().map(|event| event["settings"].clone()).collect();
    *known = all.len();
    new
}

/// The fields in which two settings differ, by name.
fn differences(one: &Value, other: &Value) -> BTreeMap<String, (Value, Value)> {
    let (one, other) = (one.as_object().expect("settings"), other.as_object().expect("settings"));
    let names = one.keys().chain(other.keys());
    let both = |name: &String| {
        let side = |settings: &serde_json::Map<String, Value>| settings.get(name).cloned().unwrap_or_default();
        (name.clone(), (side(one), side(other)))
    };
    names.map(both).filter(|(_, (one, other))| one != other).collect()
}

#[test]
fn no_surface_composes_a_request_with_looser_settings_than_another() {
    let program = trusted_strict_project();
    // Its port is among the settings of all that is sent while it runs.
    let served = Served::start(&program, "test", &[]);
    let mut known = 0;
    let mut seen: Vec<(&str, Value)> = Vec::new();
    let mut took = |name: &'static str, known: &mut usize| {
        let new = recorded(&program, known);
        assert_eq!(new.len(), 1, "{name} makes one request");
        seen.extend(new.into_iter().map(|settings| (name, settings)));
    };

    let ran = program.run(&["run", "--json", WORDS]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    took("run", &mut known);
    let talked = ran.events()[0]["session"].as_str().expect("a session").to_owned();

    program.run_with_input(&["run", "-"], WORDS.as_bytes());
    took("run from a pipe", &mut known);

    let mut terminal = Terminal::start(&program, &[], 100, 30);
    terminal.wait_for("?");
    terminal.press(WORDS);
    terminal.wait_for("the build");
    terminal.press("\r");
    terminal.wait_for("Hello.");
    terminal.wait_for("Done");
    terminal.press("\x03\x03");
    terminal.wait();
    took("the terminal", &mut known);

    let mut terminal = Terminal::start(&program, &["--plain"], 100, 30);
    terminal.wait_for("Trimtab in plain lines.");
    terminal.press(&format!("{WORDS}\n"));
    terminal.wait_for("Hello.");
    terminal.wait_until("the next prompt", |screen| screen.lines().last().is_some_and(|line| line.starts_with('>')));
    terminal.press("/quit\n");
    assert_eq!(terminal.wait(), Some(0));
    took("plain lines", &mut known);

    let session = served.session();
    let mut stream = served.watch(&session, None);
    let said = served.post(&format!("/api/sessions/{session}/messages"), &json!({"text": WORDS}));
    assert_eq!(said.status, 202, "{}", said.text());
    stream.until("request.finished");
    took("the server", &mut known);

    // What is asked about its plan is not answered here, so it gets a session of its own.
    let session = served.session();
    let mut stream = served.watch(&session, None);
    let body = json!({"action": "implement", "text": WORDS});
    let said = served.post(&format!("/api/sessions/{session}/control"), &body);
    assert_eq!(said.status, 202, "{}", said.text());
    stream.until("request.received");
    took("the server, implement", &mut known);

    program.run(&["control", "implement", WORDS, "--session", &talked]);
    took("control implement", &mut known);

    program.run(&["images", "make", WORDS]);
    took("images make", &mut known);

    program.run(&["ask", WORDS]);
    took("ask", &mut known);

    served.post("/api/assistant/message", &json!({"message": WORDS}));
    took("the server's assistant", &mut known);

    let (_, first) = seen[0].clone();
    assert_eq!(first["sandbox"], "read-only");
    assert_eq!(first["commandsDenied"], json!(["git status"]));
    assert_eq!(first["applyFiles"], "ask");
    assert_eq!((&first["maxSteps"], &first["commandsAsked"]), (&json!(7), &json!(["make deploy"])));
    for (name, settings) in &seen {
        let mut differ = differences(&first, settings);
        differ.retain(|field, _| !OWN.contains(&field.as_str()));
        let allowed: &[&str] = match *name {
            // Nobody may have said of themselves what comes from a pipe.
            "run from a pipe" => &["memory"],
            "ask" | "the server's assistant" => STRICTER,
            _ => &[],
        };
        differ.retain(|field, _| !allowed.contains(&field.as_str()));
        assert!(differ.is_empty(), "{name} differs from run: {differ:?}");
    }
    assert!(differences(&first, &seen[1].1)["memory"].1["ingest"] == "off", "a pipe is nobody's own words");
}

#[test]
fn resume_never_loosens_what_a_request_was_composed_with() {
    let program = trusted_strict_project();
    let edit = json!({"path": "a.txt", "content": "a\n"}).to_string();
    program.provider.push(Answer::anthropic(Reply::new().tool("t1", "write_file", [edit])));
    let mut known = 0;
    let ran = program.run(&["run", "--json", WORDS]);
    assert_eq!(ran.code, Some(3), "the project asks about files: {}", ran.stdout);
    let first = recorded(&program, &mut known).remove(0);
    assert_eq!(first["applyFiles"], "ask");
    let resumed = program.run(&["resume", "--json"]);
    assert_eq!(resumed.code, Some(3), "nobody has answered: {}", resumed.stdout);
    assert!(recorded(&program, &mut known).is_empty(), "the request is the one that was composed");
    assert!(!program.project().join("a.txt").exists());
    let database = rusqlite::Connection::open(program.home().join("trimtab.db")).expect("the database");
    let mut read = database
        .prepare("SELECT event FROM events WHERE instr(event, '\"type\":\"request.adjusted\"')")
        .expect("a query");
    let lines = read.query_map([], |row| row.get::<_, String>(0)).expect("rows");
    for line in lines {
        let event: Value = serde_json::from_str(&line.expect("a row")).expect("JSON");
        assert_eq!((&event["trusted"], &event["maxSteps"]), (&Value::Null, &Value::Null), "{event}");
    }
}
