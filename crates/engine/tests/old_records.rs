//! Inputs that an older version left in an inbox, and logs that it wrote, still mean what they meant.

use std::collections::BTreeSet;

use serde_json::Value;
use trimtab_engine::{Input, Output, Session, step};
use trimtab_vocab::Event;
use trimtab_vocab::event::{Fact, RequestFact, Status};

#[test]
fn inputs_of_0_1_0_lead_to_the_same_end() {
    let mut session = Session::default();
    let mut ends = Vec::new();
    for line in include_str!("old_records/inputs-0.1.0.jsonl").lines() {
        let input: Input = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        for output in step(&mut session, input) {
            if let Output::Event { request, fact: Fact::Request(RequestFact::Finished { status, .. }) } = output {
                ends.push((request.expect("an id").to_string(), status));
            }
        }
    }
    let cancelled = ["r2", "r9", "r10"].map(|request| (request, Status::Cancelled));
    let expected = [&[("r1", Status::Completed)][..], &cancelled[..]].concat();
    let expected: Vec<_> = expected.into_iter().map(|(request, status)| (request.to_owned(), status)).collect();
    assert_eq!(ends, expected);
    assert!(session.is_idle());
}

#[test]
fn a_log_of_0_1_0_gives_the_state_it_gave() {
    let log = include_str!("../../vocab/tests/old_records/0.1.0.jsonl");
    let events: Vec<Event> = log.lines().map(|line| serde_json::from_str(line).expect("an event")).collect();
    let session = Session::replay(events.iter().map(|event| (event.request.as_ref(), &event.fact)));
    assert_eq!(session.folder(), Some("/home/u/project"));
    assert_eq!(session.title(), Some("A trim tab"));
    assert!(session.is_idle());
    assert_eq!(session.usage().input_tokens, 118);
    let talk: Vec<String> = session.conversation().iter().map(|message| message.text()).collect();
    let expected = [
        "What is a trim tab?",
        "A small surface on a rudder.",
        "",
        "More",
        "[Request interrupted by user]",
        "## HANDOFF CONTEXT",
    ];
    assert_eq!(talk[..expected.len()], expected);
    assert!(talk[expected.len()].starts_with("[The user forked"), "{talk:?}");
    assert_eq!(talk[expected.len() + 1..], ["Save 1 of the generated images in art"]);
    assert_eq!(session.recalled().iter().map(|entry| entry.text.as_str()).collect::<Vec<_>>(), ["My name is Ada"]);
    let lineage = session.lineage();
    // What a fork has of its parent is the parent's to move, and so are those that it was handed off to.
    assert_eq!(
        (lineage.handoffs, lineage.children.len(), lineage.lent.len(), lineage.extensions),
        (1, 0, session.history().len(), 1)
    );
    assert!(lineage.is_fork && lineage.lent.values().all(|other| Some(other) == lineage.parent.as_ref()));
}

/// Every file of the corpus of inputs; the coming version adds its own.
const INPUTS: [&str; 2] =
    [include_str!("old_records/inputs-0.1.0.jsonl"), include_str!("old_records/inputs-0.2.0.jsonl")];

/// The names on the wire of an enum's variants, from its source.
fn variants(name: &str) -> BTreeSet<String> {
    let source = include_str!("../src/input.rs");
    let head = format!("pub enum {name} {{");
    let body = source.split(&head).nth(1).and_then(|rest| rest.split("\n}\n").next()).expect("the type");
    let names = body.lines().filter_map(|line| {
        let line = line.strip_prefix("    ").filter(|line| line.starts_with(char::is_uppercase))?;
        line.split([' ', '(', ',']).next()
    });
    names.map(|name| format!("{}{}", name[..1].to_lowercase(), &name[1..])).collect()
}

/// Everything that was written is written again; a field that is absent now may have been null.
fn is_kept(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            old.iter().all(|(name, value)| new.get(name).map_or(value.is_null(), |now| is_kept(value, now)))
        }
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| is_kept(old, new))
        }
        (old, new) => old == new,
    }
}

#[test]
fn the_corpus_has_every_input_and_inputs_of_0_2_0_are_read_without_loss() {
    let lines = || INPUTS.iter().flat_map(|file| file.lines());
    let named = |line: &str, pointer: &str| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        line.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
    };
    let inputs: BTreeSet<String> = lines().filter_map(|line| named(line, "/input")).collect();
    assert_eq!(inputs, variants("Input"));
    let reports: BTreeSet<String> = lines().filter_map(|line| named(line, "/report/report")).collect();
    assert_eq!(reports, variants("WorkerReport"));
    for line in INPUTS[1].lines() {
        let input: Input = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let new = serde_json::to_value(&input).expect("writes");
        assert!(is_kept(&serde_json::from_str(line).expect("JSON"), &new), "{line} became {new}");
        // Nothing waits for it in a new session, and to be late is not an error.
        step(&mut Session::default(), input);
    }
}
