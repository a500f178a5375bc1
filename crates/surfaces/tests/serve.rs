//! `trimtab serve`, as programs and browsers meet it: the real binary, and clients that send exactly
//! the bytes they are told to.

#![allow(clippy::disallowed_methods, reason = "tests make their own files and processes")]

use rustix::process::Signal;
use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};
use trimtab_testkit::served::{Sent, Served};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

fn hello() -> Answer {
    Answer::anthropic(Reply::new().text(["Hel", "lo, ", "wörld 🦀."]))
}

fn types(events: &[(Option<u64>, Value)]) -> Vec<&str> {
    events.iter().map(|(_, event)| event["type"].as_str().expect("a type")).collect()
}

#[test]
fn a_message_is_taken_in_and_its_events_are_those_of_the_command_line() {
    let program = program();
    program.provider.push(hello());
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let mut stream = served.watch(&session, None);
    assert_eq!(stream.head.status, 200);
    assert_eq!(stream.head.header("content-type").as_deref(), Some("text/event-stream"));
    let said = served.post(
        &format!("/api/sessions/{session}/messages"),
        &json!({"type": "sendMessage", "text": "Say hello", "images": []}),
    );
    assert_eq!(said.status, 202, "{}", said.text());
    let request = said.json()["request"].clone();
    let events = stream.until("request.finished");
    insta::assert_snapshot!(types(&events).join("\n"), @"
    session.opened
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
    let recorded: Vec<u64> = events.iter().filter_map(|(id, _)| *id).collect();
    assert_eq!(recorded, (1..=recorded.len() as u64).collect::<Vec<_>>());
    for (id, event) in &events {
        assert_eq!(event["seq"].as_u64(), *id, "{event}");
        assert_eq!(event["session"], json!(session));
    }
    let document = served.get(&format!("/api/sessions/{session}"));
    assert_eq!(document["messages"][0]["request"], request);
    assert_eq!(document["messages"][0]["text"], "Say hello");
    assert_eq!(document["messages"][0]["answer"]["summary"], "Hello, wörld 🦀.");
    assert_eq!(document["messages"][0]["status"], "completed");
    assert_eq!(document["lastSeq"].as_u64(), recorded.last().copied());
    assert!(!document.to_string().contains("model.called"), "traces are loaded on demand: {document}");
    let trace = served.get(&format!("/api/sessions/{session}/trace"));
    assert_eq!(trace["events"].as_array().map(Vec::len), Some(recorded.len()));
}

#[test]
fn open_steps_are_gone_on_with_by_themselves_where_a_message_wants_it() {
    let mut program = program();
    program.set("TRIMTAB_ANSWER_PROTOCOL", "structured_json");
    let todos = |done: usize| (0..3).map(|at| json!({"text": format!("step {at}"), "completed": at < done})).collect();
    let form = |done: usize| {
        let answer = json!({"summary": format!("{done} done."), "todos": Value::Array(todos(done))});
        Answer::anthropic(Reply::new().text([answer.to_string()]))
    };
    [1, 2, 3, 1, 2, 3].into_iter().for_each(|done| program.provider.push(form(done)));
    let served = Served::start(&program, "test", &[]);
    let wanted = served.session();
    let mut stream = served.watch(&wanted, None);
    let message = json!({"text": "Do three things", "autoContinue": true});
    assert_eq!(served.post(&format!("/api/sessions/{wanted}/messages"), &message).status, 202);
    stream.until("request.finished");
    assert_eq!(program.provider.requests().len(), 3, "one message was enough");
    // By itself, one turn is one turn; the same wish can be said later.
    let plain = served.session();
    let mut stream = served.watch(&plain, None);
    served.post(&format!("/api/sessions/{plain}/messages"), &json!({"text": "Do three things"}));
    stream.until("request.finished");
    assert_eq!(program.provider.requests().len(), 4);
    let said = served.post(&format!("/api/sessions/{plain}/control"), &json!({"action": "autoContinue"}));
    assert_eq!(said.status, 202, "{}", said.text());
    stream.until("request.finished");
    assert_eq!(program.provider.requests().len(), 6);
}

#[test]
fn what_is_to_be_done_may_be_called_a_task() {
    let program = program();
    program.provider.push(hello());
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let mut stream = served.watch(&session, None);
    let address = format!("/api/sessions/{session}/messages");
    let said = served.post(&address, &json!({"task": "Say hello"}));
    assert_eq!(said.status, 202, "{}", said.text());
    let events = stream.until("request.finished");
    let received = events.iter().find(|(_, event)| event["type"] == "request.received").expect("taken in");
    assert_eq!(received.1["text"], "Say hello");
    let both = served.post(&address, &json!({"task": "Say hello", "text": "Say goodbye"}));
    assert_eq!(both.status, 422, "two names for one thing: {}", both.text());
}

#[test]
fn a_stream_goes_on_after_the_last_event_that_was_seen_even_after_a_kill() {
    let program = program();
    program.provider.push(hello());
    let served = Served::start(&program, "first", &[]);
    let session = served.session();
    let messages = format!("/api/sessions/{session}/messages");
    assert_eq!(served.post(&messages, &json!({"text": "Say hello"})).status, 202);
    let mut all = served.watch(&session, None).until("request.finished");
    all.retain(|(id, _)| id.is_some());
    served.running.signal(Signal::KILL);
    drop(served);
    let served = Served::start(&program, "second", &[]);
    for after in [0, 1, 5, all.len() as u64 - 1] {
        let replayed = served.watch(&session, Some(after)).until("request.finished");
        assert_eq!(replayed, all[after as usize..], "after {after}");
    }
    let asked =
        served.ask("GET", &format!("/api/sessions/{session}/events?after=3")).stream().until("request.finished");
    assert_eq!(asked, all[3..]);
    // Whoever has seen everything sees what comes.
    let mut stream = served.watch(&session, Some(all.len() as u64));
    program.provider.push(hello());
    assert_eq!(served.post(&messages, &json!({"text": "Again"})).status, 202);
    let (first, event) = stream.next_event();
    assert_eq!((first, &event["type"]), (Some(all.len() as u64 + 1), &json!("request.received")));
}

#[test]
fn a_run_beside_the_server_is_seen_live_by_who_watches_there() {
    let program = program();
    program.provider.push(hello());
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let mut stream = served.watch(&session, None);
    let ended = program.run(&["run", "--session", &session, "Say hello"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Hello, wörld 🦀.\n"));
    let events = stream.until("request.finished");
    assert!(types(&events).contains(&"answer"), "{events:?}");
}

#[test]
fn a_message_with_a_key_is_said_once_even_across_a_restart() {
    let program = program();
    program.provider.push(hello());
    let served = Served::start(&program, "first", &[]);
    let session = served.session();
    let say = |served: &Served, key: &str| {
        let ask = served.ask("POST", &format!("/api/sessions/{session}/messages"));
        let said = ask.header("Idempotency-Key", key).json(&json!({"text": "Say hello"})).send();
        assert_eq!(said.status, 202, "{}", said.text());
        said.json()["request"].as_str().expect("a request").to_owned()
    };
    let first = say(&served, "one");
    assert_eq!(say(&served, "one"), first);
    served.watch(&session, None).until("request.finished");
    served.running.signal(Signal::KILL);
    drop(served);
    let served = Served::start(&program, "second", &[]);
    assert_eq!(say(&served, "one"), first);
    assert_eq!(program.provider.requests().len(), 1);
    let other = served.ask("POST", &format!("/api/sessions/{session}/messages"));
    let refused = other.header("Idempotency-Key", "one").json(&json!({"text": "Say goodbye"})).send();
    assert_eq!((refused.status, refused.code().as_str()), (422, "usage"), "{}", refused.text());
    program.provider.push(hello());
    assert_ne!(say(&served, "two"), first);
}

#[test]
fn what_the_server_was_running_goes_on_when_it_is_started_again_and_nothing_else_does() {
    let program = program();
    let gate = program.provider.gate();
    for _ in 0..3 {
        program.provider.push(hello().gated(&gate));
    }
    let served = Served::start(&program, "first", &[]);
    let session = served.session();
    let mut stream = served.watch(&session, None);
    assert_eq!(served.post(&format!("/api/sessions/{session}/messages"), &json!({"text": "Say hello"})).status, 202);
    stream.until("model.called");
    // A run of somebody's own is cut off, and another one lives.
    let cut = program.spawn(&["run", "--json", "Say hello, cut off"]);
    cut.wait_for_line("model.called");
    let lives = program.spawn(&["run", "--json", "Say hello, alive"]);
    lives.wait_for_line("model.called");
    cut.signal(Signal::KILL);
    served.running.signal(Signal::KILL);
    drop((cut, stream, served));
    let served = Served::start(&program, "second", &[]);
    program.provider.push(hello());
    gate.open();
    let events = served.watch(&session, None).until("request.finished");
    assert_eq!(events.last().expect("an end").1["status"], "completed");
    assert_eq!(types(&events).iter().filter(|kind| **kind == "answer").count(), 1);
    let ended = lives.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    // The run that was cut off waits for its person.
    let asked = |words: &str| {
        program.provider.requests().iter().filter(|call| call.body["messages"].to_string().contains(words)).count()
    };
    assert!(asked("cut off") <= 1);
    assert_eq!(asked("alive"), 1);
    let jobs = served.get("/api/jobs");
    let left: Vec<&str> =
        jobs["jobs"].as_array().expect("a list").iter().filter_map(|job| job["text"].as_str()).collect();
    assert_eq!(left, ["Say hello, cut off"], "{jobs}");
}

#[test]
fn a_server_that_ends_in_peace_goes_on_where_it_was() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(hello().gated(&gate));
    let served = Served::start(&program, "first", &[]);
    let session = served.session();
    let mut stream = served.watch(&session, None);
    assert_eq!(served.post(&format!("/api/sessions/{session}/messages"), &json!({"text": "Say hello"})).status, 202);
    stream.until("model.called");
    served.running.signal(Signal::TERM);
    drop(stream);
    assert_eq!(served.running.wait().code, Some(0));
    program.provider.push(hello());
    gate.open();
    let served = Served::start(&program, "second", &[]);
    let events = served.watch(&session, None).until("request.finished");
    assert_eq!(events.last().expect("an end").1["status"], "completed");
}

#[test]
fn a_stream_of_events_says_that_it_lives() {
    let mut program = program();
    program.set("TRIMTAB_SERVER_HEARTBEAT_S", "1");
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let mut stream = served.watch(&session, None);
    let mut beats = 0;
    while beats < 2 {
        if stream.next_sent().expect("something") == Sent::Comment("heartbeat".into()) {
            beats += 1;
        }
    }
}

#[test]
fn a_question_is_answered_and_the_work_goes_on() {
    let program = program();
    let write = json!({"path": "a.txt", "content": "hi\n"});
    program.provider.push(Answer::anthropic(Reply::new().tool("t1", "write_file", [write.to_string()])));
    program.provider.push(hello());
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let path = |what: &str| format!("/api/sessions/{session}/{what}");
    assert_eq!(served.post(&path("messages"), &json!({"text": "Write a.txt"})).status, 202);
    let mut stream = served.watch(&session, None);
    let asked = stream.until("checkpoint.opened");
    let checkpoint = asked.last().expect("a question").1["checkpoint"].clone();
    assert_eq!(served.get("/api/checkpoints")["checkpoints"][0]["checkpoint"], checkpoint);
    let wrong = served.post(&path("answers"), &json!({"checkpoint": checkpoint, "choice": "maybe"}));
    assert_eq!((wrong.status, wrong.code().as_str()), (422, "usage"));
    let edited = served.post(&path("answers"), &json!({"checkpoint": checkpoint, "choice": "trust", "edits": ["x"]}));
    assert_eq!((edited.status, edited.code().as_str()), (422, "usage"), "only a plan has steps to edit");
    let unknown = served.post(&path("answers"), &json!({"checkpoint": "nothing", "choice": "trust"}));
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "not_found"));
    let answered = served.post(&path("answers"), &json!({"checkpoint": checkpoint, "choice": "trust"}));
    assert_eq!(answered.status, 202, "{}", answered.text());
    stream.until("request.finished");
    let again = served.post(&path("answers"), &json!({"checkpoint": checkpoint, "choice": "trust"}));
    assert_eq!(again.status, 404);
    assert_eq!(std::fs::read_to_string(program.project().join("a.txt")).expect("is written"), "hi\n");
}

#[test]
fn what_a_browser_is_asked_does_not_hold_up_a_script_that_resumes() {
    let program = program();
    let run = json!({"command": "echo x > made.txt"}).to_string();
    program.provider.push(Answer::anthropic(Reply::new().tool("t1", "run_command", [run])));
    program.provider.push(hello());
    assert_eq!(program.run(&["trust"]).code, Some(0));
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    assert_eq!(served.post(&format!("/api/sessions/{session}/messages"), &json!({"text": "Make it"})).status, 202);
    let mut stream = served.watch(&session, None);
    stream.until("checkpoint.opened");
    // Nobody is there to answer, and the question is not this one's to end.
    let left = program.run(&["resume", &session]);
    assert_eq!(left.code, Some(3), "{}", left.stderr);
    assert!(left.stderr.contains("Another window shows the question"), "{}", left.stderr);
    assert_eq!(served.get("/api/checkpoints")["checkpoints"].as_array().map(Vec::len), Some(1));
    // Who may answer by the terms of the call does.
    let resumed = program.run(&["resume", &session, "--approve", "auto"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "Hello, wörld 🦀.\n"), "{}", resumed.stderr);
    assert!(program.project().join("made.txt").exists());
    stream.until("request.finished");
}

#[test]
fn what_a_browser_is_asked_does_not_hold_up_a_script_that_says_something() {
    let program = program();
    let run = json!({"command": "echo x > made.txt"}).to_string();
    program.provider.push(Answer::anthropic(Reply::new().tool("t1", "run_command", [run])));
    assert_eq!(program.run(&["trust"]).code, Some(0));
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let path = |rest: &str| format!("/api/sessions/{session}/{rest}");
    assert_eq!(served.post(&path("messages"), &json!({"text": "Make it"})).status, 202);
    let mut stream = served.watch(&session, None);
    let asked = stream.until("checkpoint.opened").pop().expect("a question").1;
    let said = |how: &str| program.run(&["run", "--session", &session, how, "And then tell me"]);
    for how in ["--queue", "--steer"] {
        let left = said(how);
        assert_eq!(left.code, Some(3), "{how}: {}", left.stderr);
        let told = "The request needs an answer first:";
        assert_eq!(left.stderr.matches(told).count(), 1, "{how}: {}", left.stderr);
        assert!(left.stderr.contains("Run this command? echo x > made.txt"), "{how}: {}", left.stderr);
        assert!(left.stderr.contains("`trimtab answer`"), "{how}: {}", left.stderr);
    }
    // A program reads the same in the last line.
    let left = program.run(&["run", "--session", &session, "--queue", "--json", "And then tell me"]);
    assert_eq!(left.code, Some(3), "{}", left.stderr);
    assert_eq!(left.events().last().expect("an event")["type"], "checkpoint.opened", "{}", left.stdout);
    // Nothing that was said is lost: all of it has its turn after the answer.
    for _ in 0..3 {
        program.provider.push(hello());
    }
    let checkpoint = asked["checkpoint"].as_str().expect("an id");
    assert_eq!(served.post(&path("answers"), &json!({"checkpoint": checkpoint, "choice": "allow"})).status, 202);
    for _ in 0..3 {
        assert_eq!(stream.until("request.finished").pop().expect("an end").1["status"], "completed");
    }
    let requests = program.provider.requests();
    assert!(requests[1].body["messages"].to_string().contains("And then tell me"), "the words that were passed on");
    assert_eq!(requests.len(), 4);
}

#[test]
fn told_to_end_it_says_goodbye_and_what_ran_can_be_resumed() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(hello().gated(&gate));
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let mut stream = served.watch(&session, None);
    assert_eq!(served.post(&format!("/api/sessions/{session}/messages"), &json!({"text": "Say hello"})).status, 202);
    stream.until("model.called");
    served.running.signal(Signal::TERM);
    let mut last = None;
    while let Some(sent) = stream.next_sent() {
        last = Some(sent);
    }
    assert_eq!(last, Some(Sent::Comment("the server is ending".into())));
    let ended = served.running.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    program.provider.push(hello());
    let resumed = program.run(&["resume"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "Hello, wörld 🦀.\n"), "{}", resumed.stderr);
}

#[test]
fn a_slow_reader_loses_live_words_and_no_fact() {
    let program = program();
    let pieces = 1000;
    let piece = |n: usize| (0..1024).map(|word| format!("{:07} ", n * 1024 + word)).collect::<String>();
    program.provider.push(Answer::anthropic(Reply::new().text((0..pieces).map(piece).collect::<Vec<_>>())));
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let mut slow = served.watch(&session, None);
    let mut quick = served.watch(&session, None);
    assert_eq!(served.post(&format!("/api/sessions/{session}/messages"), &json!({"text": "Talk"})).status, 202);
    let seen = quick.until("request.finished");
    let facts = |events: &[(Option<u64>, Value)]| -> Vec<u64> { events.iter().filter_map(|(id, _)| *id).collect() };
    let words = |events: &[(Option<u64>, Value)]| types(events).iter().filter(|kind| **kind == "reply.delta").count();
    // The slow one has taken nothing so far; what did not fit into the queues is not kept for it. If that took too
    // long, its connection is gone, and it comes back as a browser would.
    let mut late = Vec::new();
    while late.last().is_none_or(|(_, event): &(_, Value)| event["type"] != "request.finished") {
        match slow.next_sent() {
            Some(Sent::Event(id, event)) => late.push((id, event)),
            Some(_) => {}
            None => slow = served.watch(&session, late.iter().rev().find_map(|(id, _)| *id)),
        }
    }
    assert_eq!(facts(&late), facts(&seen));
    assert_eq!(facts(&late), (1..=facts(&late).len() as u64).collect::<Vec<_>>());
    assert_eq!(words(&seen), pieces);
    assert!(words(&late) < pieces, "{} of {pieces} pieces waited for a reader", words(&late));
}

#[test]
fn changes_are_listed_taken_back_and_brought_forward() {
    let program = program();
    let write = json!({"path": "a.txt", "content": "hi\n"});
    program.provider.push(Answer::anthropic(Reply::new().tool("t1", "write_file", [write.to_string()])));
    program.provider.push(hello());
    assert_eq!(program.run(&["trust"]).code, Some(0));
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let path = |what: &str| format!("/api/sessions/{session}/{what}");
    let file = program.project().join("a.txt");
    assert_eq!(served.post(&path("messages"), &json!({"text": "Write a.txt"})).status, 202);
    served.watch(&session, None).until("request.finished");
    let changes = served.get(&path("changes"));
    assert_eq!((&changes["position"], &changes["changes"][0]["files"][0]["path"]), (&json!(0), &json!("a.txt")));
    for way in ["rewind", "forward"] {
        let nowhere = served.post(&path(way), &json!({"steps": 0}));
        assert_eq!((nowhere.status, nowhere.code().as_str()), (422, "usage"), "{way}: {}", nowhere.text());
    }
    let back = served.post(&path("rewind"), &json!({"steps": 1}));
    assert_eq!((back.status, &back.json()["position"]), (200, &json!(-1)), "{}", back.text());
    assert!(!file.exists());
    let forward = served.post(&path("forward"), &json!({}));
    assert_eq!((forward.status, &forward.json()["changes"][0]["type"]), (200, &json!("change.reapplied")));
    assert_eq!(std::fs::read_to_string(&file).expect("is there again"), "hi\n");
    std::fs::write(&file, "mine\n").expect("an edit");
    let refused = served.post(&path("rewind"), &json!({}));
    assert_eq!(refused.status, 200, "{}", refused.text());
    assert!(refused.json()["refused"].is_string(), "{}", refused.text());
    assert_eq!(refused.json()["conflicts"][0]["path"], "a.txt");
    assert_eq!(std::fs::read_to_string(&file).expect("is as it was"), "mine\n");
    let audit = served.get("/api/audit?limit=1000");
    let actions: Vec<&str> = audit["entries"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| entry["action"].as_str().expect("an action"))
        .collect();
    for action in ["request", "router_decision", "apply", "request_finished", "rewind", "forward", "move_refused"] {
        assert!(actions.contains(&action), "{action} is not among {actions:?}");
    }
    assert_eq!(served.post(&path("handoff"), &json!({})).status, 200);
    let document = served.get(&format!("/api/sessions/{session}"));
    assert!(document["handedOffTo"].is_string(), "{document}");
}

#[test]
fn a_proposal_is_decided_by_its_name() {
    let mut program = program();
    program.set("TRIMTAB_APPLY_FILES", "ask");
    let propose = |name: &str| {
        let write = json!({"path": name, "content": "hi\n"});
        program.provider.push(Answer::anthropic(Reply::new().tool("t1", "write_file", [write.to_string()])));
    };
    assert_eq!(program.run(&["trust"]).code, Some(0));
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let path = |what: &str| format!("/api/sessions/{session}/{what}");
    for (name, verb) in [("a.txt", "apply"), ("b.txt", "reject")] {
        propose(name);
        program.provider.push(hello());
        let last = served.get(&format!("/api/sessions/{session}"))["lastSeq"].as_u64();
        let mut stream = served.watch(&session, last);
        assert_eq!(served.post(&path("messages"), &json!({"text": format!("Write {name}")})).status, 202);
        let opened = stream.until("checkpoint.opened");
        let proposal = opened.last().expect("a question").1["proposal"].as_str().expect("a proposal").to_owned();
        let wrong = served.post(&path(&format!("proposals/{proposal}/run")), &json!({}));
        assert_eq!(wrong.status, 422, "{}", wrong.text());
        let decided = served.post(&path(&format!("proposals/{proposal}/{verb}")), &json!({"text": "as I said"}));
        assert_eq!(decided.status, 202, "{}", decided.text());
        let resolved = stream.until("checkpoint.resolved");
        let choice = &resolved.last().expect("an answer").1["choice"];
        assert_eq!(choice, if verb == "apply" { "allow" } else { "denied" });
        assert_eq!(served.post(&path(&format!("proposals/{proposal}/{verb}")), &json!({})).status, 404);
        // The request goes on either way.
        let rest = stream.until("request.finished");
        let verdict = rest.iter().find(|(_, event)| event["type"] == "proposal.resolved").expect("a verdict");
        assert_eq!(verdict.1["verdict"], if verb == "apply" { "approved" } else { "rejected" });
        let told = program.provider.requests().last().expect("a call").body.clone();
        let last = told["messages"].as_array().and_then(|messages| messages.last()).map(Value::to_string);
        assert!(last.is_some_and(|last| last.contains("as I said")), "{told}");
    }
    assert!(program.project().join("a.txt").exists() && !program.project().join("b.txt").exists());
}

#[test]
fn a_request_is_stopped_and_made_again() {
    let program = program();
    let gate = program.provider.gate();
    program.provider.push(hello().gated(&gate));
    let served = Served::start(&program, "test", &[]);
    let session = served.session();
    let control = |action: &str| {
        let told = served.post(&format!("/api/sessions/{session}/control"), &json!({"action": action}));
        assert_eq!(told.status, 202, "{}", told.text());
        told.json()
    };
    let mut stream = served.watch(&session, None);
    assert_eq!(served.post(&format!("/api/sessions/{session}/messages"), &json!({"text": "Say hello"})).status, 202);
    stream.until("model.called");
    let document = served.get(&format!("/api/sessions/{session}"));
    assert_eq!(document["messages"][0]["status"], "pending");
    control("cancel");
    let ended = stream.until("request.finished");
    assert_eq!(ended.last().expect("an end").1["status"], "cancelled");
    program.provider.push(hello());
    let again = control("retry");
    assert!(again["request"].is_string(), "{again}");
    let ended = stream.until("request.finished");
    assert_eq!(ended.last().expect("an end").1["status"], "completed");
    let document = served.get(&format!("/api/sessions/{session}"));
    assert_eq!(document["messages"][1]["text"], "Say hello");
    let usage = served.get("/api/usage");
    assert!(usage["total"]["inputTokens"].as_u64().expect("a number") > 0, "{usage}");
    let jobs = served.get("/api/jobs?all=true");
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(2), "{jobs}");
}

#[test]
fn the_trail_is_exported_checked_and_tells_when_it_was_touched() {
    let program = program();
    program.provider.push(hello());
    assert_eq!(program.run(&["run", "Say hello"]).code, Some(0));
    let exported = program.run(&["audit", "--export"]);
    assert_eq!(exported.code, Some(0), "{}", exported.stderr);
    let lines = exported.events();
    assert!(
        lines.iter().any(|line| line["action"] == "router_decision" && line["confidence"].is_number()),
        "{lines:?}"
    );
    assert!(lines.iter().enumerate().all(|(at, line)| line["n"] == json!(at + 1)));
    let database = rusqlite::Connection::open(program.home().join("trimtab.db")).expect("opens");
    database
        .execute("UPDATE audit SET line = replace(line, 'router', 'roulette') WHERE n = 2", [])
        .expect("is changed");
    let touched = program.run(&["audit"]);
    assert_eq!(touched.code, Some(1));
    assert!(touched.stderr.contains("line 2 was changed"), "{}", touched.stderr);
    database.execute("DELETE FROM audit WHERE n = (SELECT max(n) FROM audit)", []).expect("is removed");
    let cut = program.run(&["audit", "--json"]);
    assert_eq!(cut.code, Some(1));
    assert!(cut.stdout.contains("lines were written"), "{}", cut.stdout);
}

#[test]
fn files_are_listed_and_shown_only_in_a_trusted_folder_and_without_secrets() {
    let program = program();
    let project = program.project();
    std::fs::create_dir(project.join("src")).expect("made");
    std::fs::write(project.join("src/main.rs"), "fn main() {}\n").expect("written");
    std::fs::write(project.join(".env"), "KEY=1\n").expect("written");
    std::fs::write(program.home().parent().expect("one").join("outside.txt"), "not yours\n").expect("written");
    std::os::unix::fs::symlink("../outside.txt", project.join("away.txt")).expect("linked");
    std::os::unix::fs::symlink(".env", project.join("harmless.txt")).expect("linked");
    std::fs::write(project.join("large.txt"), vec![b'a'; 5 << 20]).expect("written");
    std::fs::write(project.join("dot.gif"), b"GIF89a...").expect("written");
    let served = Served::start(&program, "test", &[]);
    for path in ["/api/files", "/api/files/content?path=src/main.rs"] {
        let refused = served.ask("GET", path).send();
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (409, &json!("untrusted")), "{path}");
    }
    assert_eq!(program.run(&["trust"]).code, Some(0));
    let listed = served.get("/api/files");
    let all = [".env", "away.txt", "dot.gif", "harmless.txt", "large.txt", "src/", "src/main.rs"];
    let mut names: Vec<&str> = listed["files"].as_array().expect("names").iter().filter_map(Value::as_str).collect();
    names.sort_unstable();
    assert_eq!((names, &listed["more"]), (all.to_vec(), &json!(false)));
    let shown = |path: &str| served.ask("GET", &format!("/api/files/content?path={path}")).send();
    let main = shown("src/main.rs");
    assert_eq!((main.status, main.text().as_str()), (200, "fn main() {}\n"));
    assert_eq!(main.header("content-type").as_deref(), Some("text/plain; charset=utf-8"));
    assert_eq!(shown("dot.gif").header("content-type").as_deref(), Some("image/gif"));
    for (path, status) in [
        (".env", 409),
        ("harmless.txt", 409),
        ("away.txt", 404),
        ("../outside.txt", 404),
        ("/etc/passwd", 404),
        ("src", 404),
        ("none.txt", 404),
        ("large.txt", 413),
    ] {
        let refused = shown(path);
        assert_eq!(refused.status, status, "{path}: {}", refused.text());
        assert!(!refused.text().contains("not yours") && !refused.text().contains("KEY"), "{path}");
    }
}

#[test]
fn the_model_of_the_settings_is_among_the_models_and_settings_say_what_they_are_for() {
    let mut program = program();
    program.set("TRIMTAB_MODEL", "anthropic/claude-of-mine");
    let served = Served::start(&program, "test", &[]);
    let listed = served.get("/api/models");
    assert_eq!(listed["model"], "anthropic/claude-of-mine");
    let models = listed["models"].as_array().expect("models");
    assert!(models.iter().any(|one| one["model"] == "anthropic/claude-of-mine"), "{listed}");
    let settings = served.get("/api/settings");
    let all = settings["settings"].as_array().expect("settings");
    let steps = all.iter().find(|one| one["setting"] == "limits.steps").expect("it is there");
    assert_eq!(steps["help"], "Maximum number of model calls per request.");
    assert_eq!(steps["expected"], "a whole number from 1 to 10000");
    assert_eq!(steps["variable"], "TRIMTAB_LIMITS_STEPS");
}
