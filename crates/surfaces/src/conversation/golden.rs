//! The fixtures that the browser's fold is held to as well: events of real runs, and the entries that come of them.

use std::path::PathBuf;

use serde_json::{Value, json};
use trimtab_vocab::Event;

use super::{BoardTask, Conversation, Entry, MessageVia, PlacedEntry, ReplyState};

/// What any surface has to agree on: kind, text, ids, order and state. Notices are left to each surface.
fn shape(entry: &Entry) -> Option<Value> {
    Some(match entry {
        Entry::UserMessage(message) => {
            let via = match message.via {
                MessageVia::Request(_) => "request",
                MessageVia::Joined => "joined",
                MessageVia::Answer(_) => "answer",
                MessageVia::Steered => "steered",
            };
            json!({"is": "userMessage", "text": message.text, "via": via, "by": message.by, "images": message.images})
        }
        Entry::Reply(reply) => {
            let state = match reply.state {
                ReplyState::Live => "live",
                ReplyState::Partial => "partial",
                ReplyState::Done => "done",
            };
            json!({"is": "reply", "call": reply.call, "text": reply.text, "thinking": reply.thinking, "state": state})
        }
        Entry::Tool(tool) => {
            let state = tool.status.map_or(json!("running"), |status| json!(status));
            let command = tool.command.as_ref().map(|command| {
                json!({"command": tool.input["command"], "exitCode": command.exit_code, "finished": command.is_over})
            });
            json!({"is": "tool", "call": tool.call, "name": tool.name, "state": state, "command": command})
        }
        Entry::Commands(series) => {
            json!({"is": "commands", "state": series.state, "ok": series.ok, "failed": series.failed,
                "done": series.done, "total": series.total})
        }
        Entry::Change(change) => {
            let files: Vec<&str> = change.files.iter().map(|file| file.path.as_str()).collect();
            let command = change.by.as_ref().map(|by| &by.command);
            json!({"is": "change", "changeSet": change.change_set, "files": files, "command": command,
                "undone": change.undone})
        }
        Entry::Question(asked) => {
            let answer = asked
                .answer
                .as_ref()
                .map(|answer| json!({"choice": answer.choice, "text": answer.text, "by": answer.by}));
            json!({"is": "question", "checkpoint": asked.checkpoint, "kind": asked.kind, "title": asked.title,
                "answer": answer})
        }
        Entry::Plan(plan) => {
            let steps: Vec<Value> =
                plan.steps.iter().map(|(step, status)| json!([step.id, step.title, status])).collect();
            json!({"is": "plan", "version": plan.version, "steps": steps})
        }
        Entry::Retry(retry) if !retry.is_over => json!({"is": "retry", "message": retry.error.message}),
        Entry::Banner { level, text } => json!({"is": "banner", "level": level, "text": text}),
        Entry::Answer { answer, said_by } => {
            json!({"is": "answer", "summary": answer.summary, "saidBy": said_by})
        }
        Entry::Summary(summary) => {
            let error = summary.error.as_ref().map(|error| &error.message);
            json!({"is": "summary", "status": summary.status, "error": error})
        }
        Entry::Subtasks(board) => {
            let task = |task: &BoardTask| json!({"id": task.id, "name": task.name, "status": task.status});
            json!({"is": "subtasks", "tasks": board.tasks.iter().map(task).collect::<Vec<_>>()})
        }
        Entry::Retry(_) | Entry::PlanStep(_) | Entry::Todos(_) | Entry::Image(_) | Entry::Notice(_) => return None,
    })
}

/// The entries by request, as the browser groups them. Banners that follow each other are one, and a request has the
/// last answer and the last end that it came to.
fn grouped(entries: &[PlacedEntry]) -> Vec<Value> {
    let mut groups: Vec<(&str, Vec<Value>)> = Vec::new();
    for placed in entries {
        let (Some(request), Some(shape)) = (&placed.request, shape(&placed.entry)) else { continue };
        let request = request.as_str();
        if !groups.iter().any(|(known, _)| *known == request) {
            groups.push((request, Vec::new()));
        }
        let (_, group) = groups.iter_mut().find(|(known, _)| *known == request).expect("it is there");
        match (&placed.entry, group.last_mut()) {
            (Entry::Banner { level, text }, Some(last)) if last["is"] == "banner" && last["level"] == json!(level) => {
                last["text"] = json!(format!("{}\n{text}", last["text"].as_str().unwrap_or_default()));
            }
            (Entry::Answer { .. } | Entry::Summary(_), _) => {
                group.retain(|known| known["is"] != shape["is"]);
                group.push(shape);
            }
            _ => group.push(shape),
        }
    }
    for (_, group) in &mut groups {
        group.sort_by_key(|shape| match shape["is"].as_str() {
            Some("answer") => 1,
            Some("summary") => 2,
            _ => 0,
        });
    }
    groups.into_iter().flat_map(|(_, group)| group).collect()
}

fn folded(events: &[Value], is_meant: impl Fn(&Event) -> bool) -> Vec<Value> {
    let mut conversation = Conversation::default();
    for event in events {
        let event: Event = serde_json::from_value(event.clone()).expect("an event");
        if is_meant(&event) {
            for update in conversation.observe(&event) {
                assert!(update.at < conversation.entries().len(), "an update names an entry");
            }
        }
    }
    grouped(conversation.entries())
}

fn fixtures() -> Vec<(PathBuf, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/conversation");
    let files = std::fs::read_dir(&folder).expect("the fixtures").map(|file| file.expect("a file").path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("readable");
        (path, serde_json::from_str(&text).expect("JSON"))
    };
    files.into_iter().map(read).collect()
}

/// One event or entry per line, so that a difference can be read.
fn written(events: &[Value], entries: &[Value]) -> String {
    let lines = |all: &[Value]| all.iter().map(|one| format!("    {one}")).collect::<Vec<_>>().join(",\n");
    format!("{{\n  \"events\": [\n{}\n  ],\n  \"entries\": [\n{}\n  ]\n}}\n", lines(events), lines(entries))
}

/// `TRIMTAB_WRITE_FIXTURES=1` writes down what comes out, to be read before it is committed.
#[test]
fn events_of_real_runs_become_these_entries() {
    let all = fixtures();
    assert!(all.len() >= 9, "there are fixtures");
    for (path, fixture) in all {
        let events = fixture["events"].as_array().expect("a list");
        let entries = folded(events, |_| true);
        if std::env::var_os("TRIMTAB_WRITE_FIXTURES").is_some() {
            std::fs::write(&path, written(events, &entries)).expect("written");
            continue;
        }
        assert_eq!(json!(entries), fixture["entries"], "{}", path.display());
    }
}

#[test]
fn a_conversation_reads_the_same_live_and_later() {
    for (path, fixture) in fixtures() {
        let events = fixture["events"].as_array().expect("a list");
        let later = folded(events, |event| event.seq.is_some());
        assert_eq!(folded(events, |_| true), later, "{}", path.display());
    }
}

#[test]
fn a_message_that_joins_a_request_is_said_once() {
    let event = |seq: u64, request: &str, fact: Value| {
        let mut whole = json!({"seq": seq, "time": "2026-01-01T00:00:00.000Z", "session": "s1", "request": request});
        whole.as_object_mut().expect("an object").extend(fact.as_object().expect("an object").clone());
        whole
    };
    let steered = |seq, text: &str| event(seq, "r1", json!({"type": "request.steered", "text": text, "by": "user"}));
    let events = [
        event(1, "r1", json!({"type": "request.received", "text": "Fix the test"})),
        event(2, "r2", json!({"type": "request.joined", "text": "only the parser ", "into": "r1"})),
        steered(3, "only the parser"),
        steered(4, "only the parser"),
    ];
    let texts: Vec<Value> = folded(&events, |_| true).iter().map(|entry| entry["via"].clone()).collect();
    assert_eq!(texts, ["request", "joined", "steered"]);
}
