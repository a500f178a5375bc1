//! How far what came back is what was meant: all of it, less, or something else.

use serde_json::{Map, Value};

/// Fields of an answer that are lists.
const LISTS: [&str; 5] = ["sections", "todos", "fileChanges", "commands", "nextSteps"];

/// What became of one answer.
#[derive(Debug, Default, Clone)]
pub(super) struct Score {
    /// Texts and elements that should have come back, and those that did.
    pub(super) due: usize,
    pub(super) kept: usize,
    /// What came back and was never said.
    pub(super) wrong: Vec<String>,
}

/// Compares what came back with what had to (`due`) and with all that was ever said (`full`).
pub(super) fn score(full: &Value, due: &Value, said: &Map<String, Value>) -> Score {
    let mut score = Score::default();
    if let Some(summary) = due.get("summary").and_then(Value::as_str).filter(|text| !text.is_empty()) {
        score.due += 1;
        score.kept += usize::from(said.get("summary").and_then(Value::as_str) == Some(summary));
    }
    for list in LISTS {
        let mut here = items(said.get(list)).to_vec();
        for item in items(due.get(list)) {
            score.due += 1;
            if let Some(at) = here.iter().position(|other| same(other, item)) {
                here.remove(at);
                score.kept += 1;
            }
        }
        let mut from = 0;
        for item in items(said.get(list)) {
            let all = items(full.get(list));
            match all[from.min(all.len())..].iter().position(|one| part_of(item, one, list == "fileChanges")) {
                Some(at) => from += at + 1,
                None => score.wrong.push(format!("{list}: {item}")),
            }
        }
    }
    for (name, value) in said {
        let known = match value {
            Value::Array(_) => LISTS.contains(&name.as_str()),
            Value::Null => true,
            value => full.get(name) == Some(value),
        };
        if !known {
            score.wrong.push(format!("{name}: {value}"));
        }
    }
    score
}

fn items(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Equal, apart from what is `null` or an empty list on one side and absent on the other.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let covers = |a: &Map<String, Value>, b: &Map<String, Value>| {
                a.iter().all(|(name, value)| is_nothing(value) || b.get(name).is_some_and(|there| same(value, there)))
            };
            covers(one, other) && covers(other, one)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| same(a, b))
        }
        _ => one == other,
    }
}

fn is_nothing(value: &Value) -> bool {
    matches!(value, Value::Null) || value.as_array().is_some_and(Vec::is_empty)
}

/// Whether an element is one that was said, perhaps with less in it; a change of a file may not have less.
fn part_of(item: &Value, whole: &Value, exact: bool) -> bool {
    match (item, whole) {
        _ if exact => same(item, whole),
        (Value::Object(item), Value::Object(whole)) => item.iter().all(|(name, value)| {
            is_nothing(value) || whole.get(name).is_some_and(|there| part_of(value, there, false))
        }),
        (Value::Array(item), Value::Array(whole)) => {
            let mut rest = whole.iter();
            item.iter().all(|one| rest.any(|other| part_of(one, other, false)))
        }
        (item, whole) => item == whole,
    }
}
