//! A question is a type, and its record is the one that version 0.1 wrote.
//!
//! `old_questions/` holds what versions recorded beside the titles and the choices of their questions, at least one of
//! every kind. Its README says where each file comes from.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};
use trimtab_vocab::checkpoint::{Ask, Choice, ChoiceRole, ChoiceText};
use trimtab_vocab::event::{CheckpointFact, CheckpointKind};

fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old_questions");
    let files = std::fs::read_dir(folder).expect("the corpus").map(|entry| entry.expect("an entry").path());
    let records = files.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let texts = records.map(|path| std::fs::read_to_string(path).expect("a file"));
    texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn read(text: &str) -> Ask {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn written(ask: &Ask) -> String {
    serde_json::to_string(ask).expect("any question is written")
}

#[test]
fn an_old_question_is_read_as_a_type_and_written_byte_for_byte() {
    for line in corpus() {
        let ask = read(&line);
        assert!(!matches!(ask, Ask::Other(_)), "not known: {line}");
        assert_eq!(written(&ask), line);
    }
}

#[test]
fn the_record_of_a_question_is_the_same_within_its_event() {
    for line in corpus() {
        let head = r#"{"type":"checkpoint.opened","checkpoint":"r1-k1","kind":"confirm","title":"?","choices":[],"#;
        let event = format!("{head}{}", &line[1..]);
        let fact: CheckpointFact = serde_json::from_str(&event).unwrap_or_else(|error| panic!("{event}: {error}"));
        let CheckpointFact::Opened { ask, .. } = &fact else { panic!("{event}") };
        assert_eq!(*ask, read(&line), "{event}");
        assert_eq!(serde_json::to_string(&fact).expect("writes"), event);
    }
}

/// Every kind there is, by the names of its variants.
#[test]
fn the_corpus_has_every_kind_of_question() {
    let seen: BTreeSet<String> = corpus()
        .iter()
        .map(|line| format!("{:?}", read(line)).split([' ', '(', '{']).next().unwrap_or_default().to_owned())
        .collect();
    let source = include_str!("../src/checkpoint.rs");
    let body = source.split("pub enum Ask {").nth(1).and_then(|rest| rest.split("\n}\n").next()).expect("the type");
    let variants = body.lines().filter_map(|line| {
        let line = line.strip_prefix("    ").filter(|line| line.starts_with(char::is_uppercase))?;
        line.split([' ', '(', ',']).next()
    });
    let mut variants: BTreeSet<String> = variants.map(str::to_owned).collect();
    assert!(variants.remove("Other") && variants.len() > 20, "{variants:?}");
    assert_eq!(seen, variants);
}

#[test]
fn a_question_that_is_not_known_is_kept_as_it_came() {
    for line in [
        r#"{"about":"somethingNew","call":"c1-1","x":[1,{"y":null}]}"#,
        r#"{"about":"plan","version":"two"}"#,
        r#"{"about":7}"#,
        r#"{"command":"ls"}"#,
        "{}",
    ] {
        let ask = read(line);
        assert!(matches!(ask, Ask::Other(_)), "{line}: {ask:?}");
        assert_eq!(written(&ask), line);
    }
}

#[test]
fn the_first_questions_were_about_money_and_did_not_say_so() {
    assert!(read(r#"{"budgetUsd":1.0,"spentUsd":0.5,"nextCallUsd":0.6}"#).is_budget());
    assert!(!read(r#"{"about":"somethingNew"}"#).is_budget());
}

#[test]
fn what_is_missing_in_an_early_record_has_a_default() {
    let plan = read(r#"{"about":"plan","version":1}"#);
    assert!(matches!(&plan, Ask::Plan { version: 1, steps, .. } if steps.is_empty()), "{plan:?}");
    let asked = read(r#"{"about":"tool","call":"c1-1","input":{"command":"make"}}"#);
    assert_eq!((asked.command(), asked.class(), asked.kind()), (Some("make"), None, CheckpointKind::Permission));
}

fn opened(choices: Value) -> Vec<Choice> {
    let event = json!({"type": "checkpoint.opened", "checkpoint": "k1", "kind": "permission", "title": "?",
        "choices": choices, "about": "tell"});
    match serde_json::from_value(event).expect("a question") {
        CheckpointFact::Opened { choices, .. } => choices,
        CheckpointFact::Resolved { .. } => panic!("it is open"),
    }
}

#[test]
fn an_answer_of_an_old_log_gets_its_role_and_its_need_for_text_from_its_id() {
    let choices = opened(json!([
        {"id": "allow", "label": "Allow this time"}, {"id": "always", "label": "Always allow"},
        {"id": "wait", "label": "Wait"}, {"id": "never", "label": "Never allow"}
    ]));
    let roles: Vec<ChoiceRole> = choices.iter().map(|choice| choice.role).collect();
    use ChoiceRole::{AllowAlways, AllowOnce, Primary, RejectAlways, RejectOnce, Secondary};
    assert_eq!(roles, [AllowOnce, AllowAlways, RejectOnce, RejectAlways]);
    let keys: Vec<_> = choices.iter().map(|choice| (choice.number, choice.key, choice.confirm)).collect();
    let (y, a, n) = (Some('y'), Some('a'), Some('n'));
    assert_eq!(keys, [(Some(1), y, false), (Some(2), a, true), (Some(3), n, false), (Some(4), None, true)]);
    // The number belongs to the answer: it does not move when another answer is missing.
    let some = opened(json!([{"id": "allow", "label": ""}, {"id": "skip", "label": ""}]));
    assert_eq!(some.iter().map(|choice| choice.number).collect::<Vec<_>>(), [Some(1), Some(3)]);
    let words = opened(json!([{"id": "o1", "label": "SQLite"}, {"id": "other", "label": "Answer in text"}]));
    let words: Vec<_> = words.iter().map(|choice| (choice.role, choice.text)).collect();
    assert_eq!(words, [(Primary, ChoiceText::Optional), (Secondary, ChoiceText::Required)]);
}

#[test]
fn a_role_of_a_newer_version_does_not_lose_the_question() {
    let choices = opened(json!([{"id": "stop", "label": "Stop", "number": 1, "role": "escalate", "text": "spoken"},
        {"id": "skip", "label": "Skip", "number": 2, "role": "dismiss", "text": "no"}]));
    let read: Vec<_> = choices.iter().map(|choice| (choice.role, choice.text)).collect();
    assert_eq!(read, [(ChoiceRole::Dismiss, ChoiceText::No), (ChoiceRole::Dismiss, ChoiceText::No)]);
}

#[test]
fn an_answer_is_written_with_its_role_and_its_need_for_text() {
    let choice = Choice { number: Some(1), ..Choice::new("tell", "Tell the model what to do instead") };
    let text = serde_json::to_string(&choice).expect("writes");
    assert_eq!(
        text,
        r#"{"id":"tell","label":"Tell the model what to do instead","number":1,"text":"required","role":"secondary"}"#
    );
    assert_eq!(serde_json::from_str::<Choice>(&text).expect("reads"), choice);
}

#[test]
fn a_form_of_an_answer_names_its_rule_and_an_older_reader_still_sees_an_answer() {
    let choices = opened(json!([
        {"id": "always", "label": "Always allow", "number": 2, "rule": {"verdict": "allow", "tool": "run_command", "pattern": "cargo test -q"}},
        {"id": "always_prefix", "label": "Always allow cargo test *", "number": 5, "key": "p", "confirm": true,
            "rule": {"verdict": "allow", "tool": "run_command", "pattern": "cargo test *", "folder": "/p"},
            "covers": "Safe uses.", "variantOf": "always"},
        {"id": "x", "label": "X", "rule": "of a newer version"}
    ]));
    let form = &choices[1];
    let rule = form.rule.as_ref().map(ToString::to_string);
    assert_eq!(rule.as_deref(), Some("allow run_command: cargo test * (in /p)"));
    assert_eq!(
        (form.variant_of.as_deref(), form.role, form.text),
        (Some("always"), ChoiceRole::AllowAlways, ChoiceText::No)
    );
    let written = serde_json::to_value(form).expect("writes");
    assert_eq!(serde_json::from_value::<Choice>(written).expect("reads"), *form);
    assert_eq!((&choices[2].rule, &choices[2].variant_of), (&None, &None));
}
