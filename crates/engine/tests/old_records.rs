//! Inputs that an older version left in an inbox, and logs that it wrote, still mean what they meant.

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
