//! Hostile lines and kills: the real binary behind the Agent Client Protocol, and editors that break off.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trimtab_testkit::dice::Dice;
use trimtab_testkit::editor::Editor;
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply, Request};

fn program() -> Program {
    let mut program = Program::new(env!("CARGO_BIN_EXE_trimtab"));
    std::fs::write(program.project().join("hello.txt"), "hello world\n").expect("writes");
    program.set("TRIMTAB_FOLDERS_TRUSTED", folder(&program).to_str().expect("a path"));
    program
}

fn folder(program: &Program) -> PathBuf {
    program.project().canonicalize().expect("a folder")
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

fn uses(name: &str, input: &Value) -> Answer {
    Answer::anthropic(Reply::new().tool("toolu_1", name, [input.to_string()]))
}

/// What the process of an agent holds: kilobytes of memory, and open files.
fn held(editor: &Editor) -> (u64, usize) {
    let process = PathBuf::from(format!("/proc/{}", editor.id()));
    let status = std::fs::read_to_string(process.join("status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("memory");
    let kilobytes = line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number");
    (kilobytes, std::fs::read_dir(process.join("fd")).expect("files").count())
}

/// Messages that a real editor sends.
fn usual(session: &str, folder: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("session/new", json!({"cwd": folder, "mcpServers": []})),
        ("session/load", json!({"sessionId": session, "cwd": folder, "mcpServers": []})),
        ("session/resume", json!({"sessionId": session, "cwd": folder})),
        ("session/list", json!({"cwd": folder})),
        ("session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]})),
        ("session/set_mode", json!({"sessionId": session, "modeId": "plan"})),
        ("session/set_config_option", json!({"sessionId": session, "configId": "mode", "value": "auto"})),
        ("session/close", json!({"sessionId": session})),
        ("session/delete", json!({"sessionId": session})),
        ("authenticate", json!({"methodId": "setup"})),
    ]
}

/// A value of another type than any field of these messages has.
fn other_type(dice: &mut Dice, value: &Value) -> Value {
    let others = [json!(7), json!(-1.5), json!(true), json!({"a": [1]}), json!([[["x"]]]), json!("\u{0}"), json!(null)];
    loop {
        let other = dice.pick(&others).cloned().unwrap_or_default();
        if std::mem::discriminant(&other) != std::mem::discriminant(value) {
            return other;
        }
    }
}

/// How a hostile line must be answered.
enum Expected {
    /// By an error without an ID.
    Null,
    /// By an error with this ID.
    Id(i64),
    /// Not at all.
    Nothing,
}

fn hostile(dice: &mut Dice, id: i64, usual: &[(&'static str, Value)]) -> (Vec<u8>, Expected) {
    let (method, params) = dice.pick(usual).cloned().expect("a message");
    let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
    match dice.below(8) {
        // Truncated.
        0 => {
            let end = 1 + dice.below(line.len() as u64 - 1) as usize;
            (line.as_bytes()[..end].to_vec(), Expected::Null)
        }
        // Interleaved: the beginning of one message, then another one.
        1 => {
            let end = 1 + dice.below(line.len() as u64 - 1) as usize;
            ([&line.as_bytes()[..end], line.as_bytes()].concat(), Expected::Null)
        }
        // Not UTF-8, or not JSON at all.
        2 => match dice.once_in(2) {
            true => ([b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}".as_slice()].concat(), Expected::Null),
            false => (format!("Error: {method} failed").into_bytes(), Expected::Null),
        },
        // A field of another type.
        3 | 4 => {
            let mut params = params;
            let names: Vec<String> = params.as_object().expect("an object").keys().cloned().collect();
            let name = dice.pick(&names).cloned().expect("a field");
            // Without `cwd`, a list is a list of all sessions.
            if method == "session/list" {
                params["cwd"] = json!({});
            } else {
                params[&name] = other_type(dice, &params[&name]);
            }
            if name == "mcpServers" {
                params[&name] = json!([7]);
            }
            let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            (line.to_string().into_bytes(), Expected::Id(id))
        }
        // Parameters that are none.
        5 => {
            let params = dice.pick(&[json!([]), json!("x"), json!(3)]).cloned();
            let line = json!({"jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params});
            (line.to_string().into_bytes(), Expected::Id(id))
        }
        // An unknown method.
        6 => {
            let line = json!({"jsonrpc": "2.0", "id": id, "method": format!("{method}/x"), "params": params});
            (line.to_string().into_bytes(), Expected::Id(id))
        }
        // Answers to what was never asked, and notifications of other protocols.
        _ => match dice.once_in(2) {
            true => (
                json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": 7}}).to_string().into_bytes(),
                Expected::Nothing,
            ),
            false => {
                (json!({"jsonrpc": "2.0", "method": "x/y", "params": 7}).to_string().into_bytes(), Expected::Nothing)
            }
        },
    }
}

#[test]
fn each_hostile_line_gets_its_error_and_nothing_is_left_behind() {
    let program = program();
    program.provider.always(says("Hello."));
    let mut editor = Editor::start(&program);
    editor.initialize(json!({}));
    let session = editor.open(&folder(&program));
    let (seed, lines) = Dice::seed_and_lines(2_000);
    let mut dice = Dice::new(seed);
    let usual = usual(&session, folder(&program).to_str().expect("a path"));
    let (mut nulls, mut ids) = (0, Vec::new());
    let mut before = None;
    for number in 0..lines {
        let id = 1_000 + i64::try_from(number).expect("a small number");
        let (mut line, expected) = hostile(&mut dice, id, &usual);
        line.push(b'\n');
        editor.write(&line);
        match expected {
            Expected::Null => nulls += 1,
            Expected::Id(id) => ids.push(id),
            Expected::Nothing => {}
        }
        if number == lines / 4 {
            editor.call("session/list", json!({}));
            before = Some(held(&editor));
        }
    }
    editor.call("session/list", json!({}));
    let (memory, files) = held(&editor);
    let (memory_before, files_before) = before.expect("measured");
    let messages = editor.messages();
    let errors =
        |id: &Value| messages.iter().filter(|message| message["id"] == *id && message.get("error").is_some()).count();
    assert_eq!(errors(&Value::Null), nulls, "seed {seed:#x}");
    for id in &ids {
        assert_eq!(errors(&json!(id)), 1, "seed {seed:#x}, request {id}");
    }
    assert!(files <= files_before + 8, "{files_before} files, then {files}");
    assert!(memory < memory_before + 40_000, "{memory_before} kB, then {memory} kB");
    let (status, stderr) = editor.close();
    assert!(status.success() && stderr.is_empty(), "{status} {stderr}");
}

#[test]
fn a_line_beyond_the_limit_is_refused_and_the_next_one_is_served() {
    let program = program();
    let mut editor = Editor::start(&program);
    editor.initialize(json!({}));
    let piece = vec![b'x'; 1024 * 1024];
    editor.write(br#"{"jsonrpc":"2.0","id":77,"method":""#);
    (0..66).for_each(|_| editor.write(&piece));
    editor.write(b"\"}\n");
    let refused = editor.wait_for("an error", |message| message["id"].is_null() && message.get("error").is_some());
    assert!(
        refused["error"]["message"].as_str().expect("words").contains("larger than the limit of 64 MB"),
        "{refused}"
    );
    editor.call("session/list", json!({}));
    let (memory, _) = held(&editor);
    assert!(memory < 200_000, "{memory} kB after a line of 66 MB");
}

#[test]
fn an_id_that_is_pending_is_refused_and_the_first_request_is_answered() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(says("Hello.").gated(&gate));
    let mut editor = Editor::start(&program);
    editor.initialize(json!({}));
    let session = editor.open(&folder(&program));
    let prompt = json!({"jsonrpc": "2.0", "id": 500, "method": "session/prompt",
        "params": {"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]}});
    editor.send(&prompt);
    editor.send(&prompt);
    let refused = editor.wait_for("an error", |message| message["id"] == 500 && message.get("error").is_some());
    assert_eq!(refused["error"]["code"], -32600);
    gate.open();
    editor.wait_for("the answer", |message| message["id"] == 500 && message["result"]["stopReason"] == "end_turn");
    assert_eq!(program.provider.requests().len(), 1);
}

/// A call of an editor that keeps no order; none: it only notifies.
fn any_call(dice: &mut Dice, editor: &mut Editor, session: &str, folder: &str) -> Option<i64> {
    let place = json!({"sessionId": session, "cwd": folder, "mcpServers": []});
    Some(match dice.below(13) {
        0..=4 => editor.prompt(session, "Do something"),
        5 => editor.request("session/load", place),
        6 => editor.request("session/resume", place),
        7 => editor.request("session/close", json!({"sessionId": session})),
        8 => editor.request("session/set_mode", json!({"sessionId": session, "modeId": "auto"})),
        9 => editor.request("session/list", json!({})),
        10 => editor.prompt(session, "/changes"),
        11 if dice.once_in(8) => editor.request("session/delete", json!({"sessionId": session})),
        _ => {
            editor.notify("session/cancel", json!({"sessionId": session}));
            return None;
        }
    })
}

/// Answers some of the questions that the agent has asked, in one way or another.
fn answer_some(dice: &mut Dice, editor: &mut Editor, answered: &mut usize) {
    let asked: Vec<Value> =
        editor.messages().into_iter().filter(|message| message["method"] == "session/request_permission").collect();
    for request in asked.iter().skip(*answered) {
        match dice.below(4) {
            0 => {}
            1 => editor.answer(request, json!({"outcome": {"outcome": "cancelled"}})),
            2 => editor.choose(request, "never"),
            _ => editor.choose(request, "allow"),
        }
    }
    *answered = asked.len();
}

#[test]
fn calls_in_any_order_are_each_answered_once() {
    let program = program();
    program.provider.answer_with(|request: &Request| {
        let messages = request.body["messages"].as_array().map_or(0, Vec::len);
        if messages % 3 == 1 { uses("run_command", &json!({"command": "touch made"})) } else { says("Done.") }
    });
    let mut editor = Editor::start(&program);
    editor.initialize(json!({}));
    let folder = folder(&program);
    let sessions: Vec<String> = (0..3).map(|_| editor.open(&folder)).collect();
    let folder = folder.to_str().expect("a path");
    let (seed, calls) = Dice::seed_and_lines(250);
    let (mut dice, mut ids, mut answered) = (Dice::new(seed), Vec::new(), 0);
    for _ in 0..calls {
        let session = dice.pick(&sessions).cloned().expect("a session");
        ids.extend(any_call(&mut dice, &mut editor, &session, folder));
        if dice.once_in(3) {
            std::thread::sleep(Duration::from_millis(dice.below(15)));
        }
        if dice.once_in(4) {
            answer_some(&mut dice, &mut editor, &mut answered);
        }
    }
    // What still waits for an answer ends when its session is closed, and nothing else is left.
    for session in &sessions {
        // It may be deleted.
        ids.push(editor.request("session/resume", json!({"sessionId": session, "cwd": folder, "mcpServers": []})));
        ids.push(editor.request("session/close", json!({"sessionId": session})));
    }
    for id in &ids {
        editor.answer_to(*id);
    }
    let messages = editor.messages();
    let answers =
        |id: i64| messages.iter().filter(|message| message["id"] == id && message.get("method").is_none()).count();
    assert!(ids.iter().all(|id| answers(*id) == 1), "seed {seed:#x}");
    let (status, stderr) = editor.close();
    assert!(status.success() && stderr.is_empty(), "seed {seed:#x}: {status} {stderr}");
}

/// Who is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Editor,
    Agent,
    Both,
}

const REQUEST: &str = "Change hello.txt to say hello there, then run it";

/// A conversation: an edit that asks, a command that asks, and an answer. Which call it is, the messages say.
fn script(program: &Program) {
    program.provider.answer_with(|request: &Request| {
        let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
        match messages.iter().filter(|message| message["role"] == "assistant").count() {
            0 => uses(
                "edit_file",
                &json!({"path": "hello.txt", "blocks": [{"search": "hello world", "replace": "hello there"}]}),
            ),
            1 => uses("run_command", &json!({"command": "echo ran >> ran.txt"})),
            _ => says("All done."),
        }
    });
}

fn matrix_program() -> Program {
    let mut program = program();
    program.set("TRIMTAB_APPLY_FILES", "ask");
    script(&program);
    program
}

/// Allows whatever is asked, until the model is done or the agent has sent so many messages.
fn converse(editor: &mut Editor, until: usize) -> bool {
    let (mut answered, began) = (0, Instant::now());
    loop {
        assert!(began.elapsed() < Duration::from_secs(60), "{:#?}", editor.messages());
        let messages = editor.messages();
        if messages.len() >= until {
            return false;
        }
        let asked: Vec<Value> =
            messages.iter().filter(|message| message["method"] == "session/request_permission").cloned().collect();
        for request in asked.iter().skip(answered) {
            let options = request["params"]["options"].as_array().cloned().unwrap_or_default();
            let offers = |id: &str| options.iter().any(|option| option["optionId"] == id);
            // A command whose end nobody saw is not run again.
            editor.choose(request, if offers("allow") { "allow" } else { "skip" });
        }
        answered = asked.len();
        let is_last = |message: &Value| {
            message["params"]["update"]["content"]["text"].as_str().is_some_and(|text| text.contains("All done."))
        };
        if messages.iter().any(is_last) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Plays the conversation and kills at the message with this number. The session, if the editor knows it.
fn play(program: &Program, victim: Victim, at: usize) -> Option<String> {
    let mut editor = Editor::start(program);
    editor.request("initialize", json!({"protocolVersion": 1, "clientCapabilities": {}}));
    let new = editor.request("session/new", json!({"cwd": folder(program), "mcpServers": []}));
    let mut session = None;
    let began = Instant::now();
    while editor.messages().len() < at && session.is_none() {
        assert!(began.elapsed() < Duration::from_secs(60));
        if editor.is_answered(new) {
            let id = editor.result(new)["sessionId"].as_str().expect("an ID").to_owned();
            editor.prompt(&id, REQUEST);
            session = Some(id);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    if session.is_some() {
        converse(&mut editor, at);
    }
    match victim {
        // Its pipes close, and the agent has to notice.
        Victim::Editor => drop(editor.close()),
        Victim::Agent => editor.kill(),
        Victim::Both => drop(editor),
    }
    session
}

/// What a loaded session shows: each update in short.
fn shown(editor: &Editor) -> Vec<String> {
    let update = |message: &Value| {
        let update = &message["params"]["update"];
        match update["sessionUpdate"].as_str()? {
            kind @ ("user_message_chunk" | "agent_message_chunk") => {
                Some(format!("{kind} {}", update["content"]["text"].as_str().unwrap_or_default().trim()))
            }
            "tool_call" => Some(format!("tool_call {} {}", update["kind"], update["status"])),
            _ => None,
        }
    };
    editor.messages().iter().filter_map(update).collect()
}

/// What the log has of the same: the requests and the tool calls, in their order.
fn logged(program: &Program, session: &str) -> Vec<String> {
    let exported = program.run(&["sessions", "export", session]);
    assert_eq!(exported.code, Some(0), "{}", exported.stderr);
    let exported: Value = serde_json::from_str(&exported.stdout).expect("JSON");
    let events = exported["events"].as_array().expect("events");
    let status = |call: &Value| {
        let ended = events.iter().rfind(|event| event["type"] == "tool.finished" && event["call"] == *call);
        match ended.map(|event| &event["status"]) {
            Some(status) if status == "ok" || status == "partial" => "completed",
            Some(_) => "failed",
            None => "in_progress",
        }
    };
    let mut calls = Vec::new();
    let mut line = |event: &Value| match event["type"].as_str()? {
        "request.received" => Some(format!("user_message_chunk {}", event["text"].as_str()?)),
        "tool.started" if !calls.contains(&event["call"]) => {
            calls.push(event["call"].clone());
            let kind = if event["name"] == "edit_file" { "edit" } else { "execute" };
            Some(format!("tool_call \"{kind}\" \"{}\"", status(&event["call"])))
        }
        _ => None,
    };
    events.iter().filter_map(&mut line).collect()
}

fn check_recovery(program: &Program, session: &str, what: &str) {
    let mut editor = Editor::start(program);
    editor.initialize(json!({}));
    let load = json!({"sessionId": session, "cwd": folder(program), "mcpServers": []});
    editor.call("session/load", load.clone());
    let text = || std::fs::read_to_string(program.project().join("hello.txt")).expect("reads");
    let is_taken = shown(&editor).iter().any(|line| line.starts_with("user_message_chunk"));
    if !is_taken {
        // The prompt never reached the agent: nothing was promised, and nothing happened.
        assert_eq!(text(), "hello world\n", "{what}");
        return;
    }
    assert!(converse(&mut editor, usize::MAX), "{what}");
    // Words are live before they are stored.
    let began = Instant::now();
    while !program.run(&["jobs", "--json"]).stdout.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what}: the request does not end");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(editor);
    assert_eq!(text(), "hello there\n", "{what}");
    let ran = std::fs::read_to_string(program.project().join("ran.txt")).unwrap_or_default();
    assert!(ran.len() <= "ran\n".len(), "{what}: the command ran twice");
    // The finished conversation is the same for every editor that loads it.
    let mut seen = Vec::new();
    for _ in 0..2 {
        let mut editor = Editor::start(program);
        editor.initialize(json!({}));
        editor.call("session/load", load.clone());
        seen.push(shown(&editor));
    }
    assert_eq!(seen[0], seen[1], "{what}");
    let (recorded, is_recorded) = (logged(program, session), |line: &&String| !line.starts_with("agent_message_chunk"));
    assert_eq!(seen[0].iter().filter(is_recorded).cloned().collect::<Vec<_>>(), recorded, "{what}");
    let count = |line: &str| seen[0].iter().filter(|known| known.as_str() == line).count();
    assert_eq!(count(&format!("user_message_chunk {REQUEST}")), 1, "{what}: {:?}", seen[0]);
    assert_eq!(count("tool_call \"edit\" \"completed\""), 1, "{what}: {:?}", seen[0]);
    assert_eq!(count("agent_message_chunk All done."), 1, "{what}: {:?}", seen[0]);
}

/// How many messages the agent sends in the whole conversation.
fn whole_length() -> usize {
    let program = matrix_program();
    let mut editor = Editor::start(&program);
    editor.initialize(json!({}));
    let session = editor.open(&folder(&program));
    editor.prompt(&session, REQUEST);
    assert!(converse(&mut editor, usize::MAX));
    editor.messages().len()
}

fn kill_at_each_message(victim: Victim) {
    for at in 1..=whole_length() {
        let program = matrix_program();
        if let Some(session) = play(&program, victim, at) {
            check_recovery(&program, &session, &format!("{victim:?} killed at message {at}"));
        }
    }
}

#[test]
fn a_killed_agent_loses_nothing() {
    kill_at_each_message(Victim::Agent);
}

#[test]
fn a_killed_editor_loses_nothing() {
    kill_at_each_message(Victim::Editor);
}

#[test]
fn an_editor_and_an_agent_that_are_killed_together_lose_nothing() {
    kill_at_each_message(Victim::Both);
}
