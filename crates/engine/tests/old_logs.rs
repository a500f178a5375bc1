//! Logs that 0.1.0 wrote fold to the conversation that 0.1.0 made of them, byte for byte, and can be continued.
//!
//! The logs were written by the 0.1.0 binary while the tests of its surfaces drove it with a fake provider, among them
//! those that kill it, and by its engine and host in the scenarios of its testkit (`scenario-…`). Of all logs, those are
//! kept that have something the others have not: an event, a neighbor of it, an answer, an end, a sentence.
//!
//! Each file of `old_records/logs-0.1.0` has the events of a session as they were stored, one per line, then an empty
//! line, then what the fold of 0.1.0 made of them: the state after the last event, and for each event that changed
//! it the number of the event and the beginning of the state's hash. They are never edited: a test that fails here
//! has found a change of `record` that gives old sessions another conversation.

#![allow(clippy::disallowed_methods, reason = "tests read their own files")]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use trimtab_engine::{Effect, Input, Interrupted, Output, RunningRequest, Session, step};
use trimtab_vocab::event::{RequestFact, Status};
use trimtab_vocab::{Event, Fact, Part, Request, RequestId, Role, RunSettings};

struct OldLog {
    name: String,
    events: Vec<Event>,
    /// What 0.1.0 made of all of them.
    last: String,
    /// The number of an event that changed the state, and the hash of what it became.
    hashes: Vec<(usize, String)>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old_records/logs-0.1.0")
}

fn logs() -> Vec<OldLog> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder()).expect("the logs").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> OldLog {
    let text = std::fs::read_to_string(path).expect("a text");
    let name = path.file_name().expect("a name").to_string_lossy().into_owned();
    let (events, folded) = text.split_once("\n\n").expect("events, then what they came to");
    let event = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}: {line}"));
    let (last, hashes) = folded.split_once('\n').expect("a state, then hashes");
    let hash = |line: &str| {
        let (number, hash) = line.split_once(' ').expect("a number and a hash");
        (number.parse().expect("a number"), hash.to_owned())
    };
    OldLog {
        events: events.lines().map(event).collect(),
        last: last.to_owned(),
        hashes: hashes.lines().map(hash).collect(),
        name,
    }
}

/// Everything of a session that a model is sent, or is sent soon.
fn sent(session: &Session) -> Value {
    let running = |active: &RunningRequest| {
        let items = active.batch.iter().flat_map(|batch| &batch.items);
        json!({
            "text": active.request.text,
            "steers": active.steering.steers,
            "untold": active.steering.untold,
            "findings": active.tools.findings,
            "decisions": active.flow.decisions,
            "calls": items.map(|item| json!([item.call_id, *item.call])).collect::<Vec<_>>(),
            "series": active.series,
        })
    };
    let conversation: Vec<_> = session.conversation().iter().map(|message| &**message).collect();
    json!({"conversation": conversation, "running": session.active().map(running)})
}

fn hash(session: &Session) -> String {
    blake3::hash(sent(session).to_string().as_bytes()).to_hex()[..16].to_owned()
}

#[test]
fn logs_of_0_1_0_never_fold_to_another_conversation() {
    let logs = logs();
    assert!(logs.len() > 150, "only {} logs", logs.len());
    for log in logs {
        let mut session = Session::default();
        let mut known = log.hashes.iter().peekable();
        let mut expected = String::new();
        for (number, event) in (1..).zip(&log.events) {
            session.fold(event.request.as_ref(), &event.fact);
            if let Some((_, hash)) = known.next_if(|(at, _)| *at == number) {
                expected.clone_from(hash);
            }
            let now = hash(&session);
            assert_eq!(
                now,
                expected,
                "{}: event {number} ({}) now gives\n{}",
                log.name,
                event.fact.kind(),
                sent(&session)
            );
        }
        assert_eq!(sent(&session).to_string(), log.last, "{}", log.name);
    }
}

/// The facts that a step said, each folded into a second session, as a restart would.
fn act(session: &mut Session, twin: &mut Session, input: Input) -> Vec<Output> {
    let outputs = step(session, input);
    for output in &outputs {
        if let Output::Event { request, fact } = output {
            twin.fold(request.as_ref(), fact);
        }
    }
    outputs
}

fn is_taken_in(output: &Output) -> bool {
    matches!(
        output,
        Output::Event { fact: Fact::Request(RequestFact::Received { .. } | RequestFact::Joined { .. }), .. }
    )
}

/// What was open is taken up as after a kill, and cancelled if it still runs; then somebody says something more.
#[test]
fn logs_of_0_1_0_can_always_be_continued() {
    for log in logs() {
        let mut session = Session::default();
        log.events.iter().for_each(|event| session.fold(event.request.as_ref(), &event.fact));
        let mut twin = session.clone();
        let interrupted = session.under_way().into_iter().map(|call| Interrupted { call, partial: None }).collect();
        act(&mut session, &mut twin, Input::Woke { interrupted });
        let last = |event: &Event| match &event.fact {
            Fact::Request(RequestFact::Received { settings, .. }) => Some(RunSettings::clone(settings)),
            _ => None,
        };
        let settings = log.events.iter().rev().find_map(last).unwrap_or_default();
        let id: RequestId = "continued".parse().expect("an id");
        let request = Request::new(id.clone(), "And now?", settings);
        let outputs = act(&mut session, &mut twin, Input::Said { request: Box::new(request) });
        assert!(outputs.iter().any(is_taken_in), "{}: {outputs:?}", log.name);
        if session.active().is_some_and(|active| active.request.id == id) {
            let admitted = act(&mut session, &mut twin, Input::Admitted { request: id });
            let begins = |output: &Output| {
                matches!(
                    output,
                    Output::Effect(Effect::CallModel { .. } | Effect::Load { .. } | Effect::ViewTasks { .. })
                ) || matches!(output, Output::Event { fact: Fact::Checkpoint(_), .. })
                    || matches!(
                        output,
                        Output::Event { fact: Fact::Request(RequestFact::Finished { status: Status::Failed, .. }), .. }
                    )
            };
            assert!(admitted.iter().any(begins), "{}: {admitted:?}", log.name);
        }
        assert!(session == twin, "{}: folded again, it is another session", log.name);
    }
}

/// Texts that the fold of 0.1 composed, by their beginnings.
const COMPOSED: &[&str] = &[
    "[PLAN STEP ",
    "[Compile this conversation",
    "[STEP LIMIT]",
    "[TOOL REFLECTION]",
    "[Loaded ",
    "[The user agrees.",
    "[That is not quite",
    "[The user wants version",
    "[The user does not want version",
    "[The user was asked",
    "[The user wants a fresh start",
    "[The user runs only a part",
    "[The user took back",
    "[The user brought forward",
    "[The user forked",
    "[Your last reply was cut off, and nothing",
    "Clarification:",
    "Go on.",
    "I ran the command",
];

/// The same fact as a version would have written it whose sentences are others.
fn with_another_text(mut event: Value, number: usize) -> Value {
    let text = format!("<text {number}>");
    let kind = event["type"].as_str().unwrap_or_default().to_owned();
    let begins = event["status"] == "running" || event["accepted"] == true;
    let carries = match kind.as_str() {
        "plan.step" | "intent" => begins,
        "commands" => event.get("current").is_none() && event["state"] != "offered",
        "request.assessing" | "reflection" | "session.forked" => true,
        "change.applied" | "change.reverted" | "change.reapplied" => true,
        "checkpoint.resolved" => !matches!(event["choice"].as_str(), Some("approve")),
        // It always carried its text.
        "request.steered" => {
            event["text"] = json!(text);
            false
        }
        "context.loaded" => {
            let files = event["files"].as_array().map_or(0, Vec::len);
            event["headings"] = json!(vec![text.clone(); files]);
            false
        }
        _ => false,
    };
    if carries {
        event["message"] = json!(text);
    }
    event
}

/// Whoever changes a sentence changes what is said from then on, and nothing that was said.
#[test]
fn what_a_fact_carries_is_never_composed_again() {
    let mut carried = std::collections::BTreeSet::new();
    for log in logs() {
        let mut session = Session::default();
        for (number, event) in log.events.iter().enumerate() {
            let event = with_another_text(json!(event), number);
            let event: Event = serde_json::from_value(event).expect("an event");
            let marks = sent(&session).to_string().matches("<text ").count();
            session.fold(event.request.as_ref(), &event.fact);
            let now = sent(&session);
            if now.to_string().matches("<text ").count() > marks {
                carried.insert(event.fact.kind().to_owned());
            }
            let steers = session.active().map(|active| active.steering.steers.clone()).unwrap_or_default();
            let words =
                session.conversation().iter().filter(|message| message.role == Role::User).flat_map(|message| {
                    message.parts.iter().filter_map(|part| match part {
                        Part::Text { text } => Some(text.clone()),
                        _ => None,
                    })
                });
            for text in words.chain(steers) {
                let composed = COMPOSED.iter().find(|begin| text.starts_with(**begin));
                assert_eq!(composed, None, "{}: event {} ({}): {text}", log.name, number + 1, event.fact.kind());
            }
        }
    }
    for kind in ["plan.step", "intent", "commands", "request.assessing", "reflection", "change.reverted"] {
        assert!(carried.contains(kind), "no {kind} put its text into a conversation: {carried:?}");
    }
    for kind in ["change.reapplied", "change.applied", "session.forked", "checkpoint.resolved", "context.loaded"] {
        assert!(carried.contains(kind), "no {kind} put its text into a conversation: {carried:?}");
    }
}
