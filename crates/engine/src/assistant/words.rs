//! Parses operations that a model wrote, and describes operations in words.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::{Map, Value};
use trimtab_vocab::wording::OwnWords;
use trimtab_vocab::{Annotated, Previewed};

use super::clean;
use super::prompt::operation_line;
use crate::proposal::recover::json::{self as reader, Object, Schema};

pub(crate) use crate::record::names::verdict::APPLIED;
/// The verdict on rejected operations.
pub(super) const LEFT: &str = "left";

/// Fields that identify an object as an operation.
const TELLING: &[&str] =
    &["op", "action", "type", "id", "title", "notes", "scheduledFor", "priority", "completed", "where", "set"];

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let list = || Schema::List(Box::new(operation()));
    Schema::Object(Object::new().field("operations", list()).field("actions", list()).needs(&["operations", "actions"]))
});

/// Operations without anything around them. Such a list may stand anywhere, so that each has to say more of itself.
static LIST: LazyLock<Schema> =
    LazyLock::new(|| Schema::List(Box::new(Schema::Object(fields().needs(&["op", "title", "id"])))));

fn operation() -> Schema {
    Schema::Object(fields().needs(TELLING))
}

fn fields() -> Object {
    let texts = || Schema::List(Box::new(Schema::words()));
    let task = |object: Object| {
        object
            .field("title", Schema::words())
            .field("notes", Schema::words())
            .field("scheduledFor", Schema::Any)
            .field("timeOfDay", Schema::Any)
            .field("priority", Schema::words())
            .field("category", Schema::words())
            .field("completed", Schema::Any)
            .field("recurrence", Schema::Any)
            .field("tags", texts())
    };
    task(Object::new())
        .field("op", Schema::words())
        .field("action", Schema::words())
        .field("type", Schema::words())
        .field("id", Schema::Any)
        .field("occurrenceDate", Schema::words())
        .field("where", Schema::Any)
        .field("set", Schema::Any)
}

/// What a model wrote: exactly, where it is JSON with nothing but a fence or words around it; else what can be read
/// for certain of it. Exactly comes first, because there `null` says something: a day that is to be emptied.
pub(super) fn body(words: &str) -> Value {
    let words = without_open_thought(words);
    if let Some(value) = exactly(words) {
        return value;
    }
    let read = reader::read(words, &SCHEMA).or_else(|_| reader::read(words, &LIST));
    read.map(|reading| reading.value).unwrap_or(Value::Null)
}

/// Removes reasoning that is never closed, because it is not an answer.
fn without_open_thought(words: &str) -> &str {
    match words.rfind("<think>") {
        Some(at) if is_tagged(words) && !words[at..].contains("</think>") => &words[..at],
        _ => words,
    }
}

/// Whether there are tags around the answer; a tag in a title is text.
fn is_tagged(words: &str) -> bool {
    let first = words.find(['{', '[']).unwrap_or(words.len());
    ["<think>", "<response>"].iter().any(|tag| words[..first].contains(tag))
}

/// The only JSON value with operations in a text. None if there are several, because the choice is not made here.
fn exactly(words: &str) -> Option<Value> {
    let said = if is_tagged(words) { Cow::Owned(clean::without_tags(words)) } else { Cow::Borrowed(words) };
    let (first, last) = (said.find(['{', '['])?, said.rfind(['}', ']'])?);
    let text = said.get(first..=last)?;
    let mut values =
        serde_json::Deserializer::from_str(text).into_iter::<Value>().collect::<Result<Vec<_>, _>>().ok()?;
    match values.len() {
        1 => values.pop().filter(has_operations),
        // One to a line.
        _ => values.iter().all(is_operation).then_some(Value::Array(values)),
    }
}

fn has_operations(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.iter().any(is_operation),
        Value::Object(fields) => {
            ["operations", "actions"].iter().any(|name| fields.get(*name).is_some_and(Value::is_array))
                || is_operation(value)
        }
        _ => false,
    }
}

/// Whether an object says anything that an operation could.
pub(super) fn is_operation(value: &Value) -> bool {
    value.as_object().is_some_and(|fields| TELLING.iter().any(|name| fields.contains_key(*name)))
}

/// More operations than a plan may have are wrong: there is a better way to say it.
pub(super) fn within(most: usize, at: usize, mut one: Previewed) -> Previewed {
    if at >= most {
        one.errors.push(format!("over_budget: propose at most {most} operations; use bulk_* for many targets"));
        one.valid = false;
        one.preview = None;
    }
    one
}

/// A summary of operations, without a model.
pub(super) fn summary(operations: &[Annotated]) -> String {
    let valid: Vec<String> = operations.iter().filter(|one| one.valid().is_some()).map(operation_line).collect();
    match valid.len() {
        0 => OwnWords::NoOperations.into(),
        1 => OwnWords::OneOperation(valid.join("; ")).into(),
        count => OwnWords::Operations(count, valid.join("; ")).into(),
    }
}

/// Merges two objects; other values add nothing.
pub(super) fn joined(one: Value, other: Value) -> Value {
    let fields = |value: Value| match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let mut all = fields(one);
    all.extend(fields(other));
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operations_are_read_out_of_whatever_surrounds_them() {
        let wanted = json!({"operations": [{"op": "create", "title": "Milk"}]});
        for words in [
            r#"{"operations":[{"op":"create","title":"Milk"}]}"#,
            "```json\n{\"operations\":[{\"op\":\"create\",\"title\":\"Milk\"}]}\n```",
            "Sure! {\"operations\":[{\"op\":\"create\",\"title\":\"Milk\"}]} Anything else?",
            "<think>{\"operations\":[]}</think><response>{\"operations\":[{\"op\":\"create\",\"title\":\"Milk\"}]}</response>",
            "{'operations': [{'op': 'create', 'title': 'Milk',}],}",
            "{operations: [{op: \"create\", title: \"Milk\"}]}",
        ] {
            assert_eq!(body(words), wanted, "{words}");
        }
        assert_eq!(body("Nothing to do."), Value::Null);
        assert_eq!(body(""), Value::Null);
        assert_eq!(body("Here: {\"op\":\"delete\",\"id\":3}"), json!({"op": "delete", "id": 3}));
    }

    #[test]
    fn a_list_is_read_whole_whatever_surrounds_it() {
        let wanted = json!([{"op": "create", "title": "Milk"}, {"op": "update", "id": 3, "scheduledFor": null}]);
        let list = wanted.to_string();
        for words in [
            list.clone(),
            format!("```json\n{list}\n```"),
            format!("Sure:\r\n{list}\r\nAnything else?"),
            format!("<think>[{{\"op\":\"fly\"}}]</think>{list}"),
            list[1..list.len() - 1].replace("},{", "}\n{"),
        ] {
            assert_eq!(body(&words), wanted, "{words}");
        }
        let damaged = "[{op: 'create', title: 'Milk'}, {op: 'create', title: 'Bread'},]";
        assert_eq!(body(damaged), json!([{"op": "create", "title": "Milk"}, {"op": "create", "title": "Bread"}]));
        let cut = r#"[{"op":"create","title":"Milk"},{"op":"delete","id":1"#;
        assert_eq!(body(cut), json!([{"op": "create", "title": "Milk"}]), "what was cut is not believed");
    }

    #[test]
    fn an_object_around_the_answer_is_opened() {
        let wanted = json!({"operations": [{"op": "create", "title": "Milk"}]});
        for words in [format!(r#"{{"result":{wanted}}}"#), json!(wanted.to_string()).to_string()] {
            assert_eq!(body(&words), wanted, "{words}");
        }
    }

    #[test]
    fn what_is_only_thought_or_one_of_several_is_not_taken_as_it_stands() {
        assert_eq!(body(r#"<think>{"operations":[{"op":"delete","id":1}]}"#), Value::Null);
        assert_eq!(body(r#"<think>No.</think><think>{"operations":[{"op":"delete","id":1}]}"#), Value::Null);
        let title = json!({"operations": [{"op": "create", "title": "Read <think> and <response>x</response>"}]});
        assert_eq!(body(&title.to_string()), title, "a tag in a title is a word");
        let two =
            r#"First {"operations":[{"op":"delete","id":1}]}, or rather {"operations":[{"op":"delete","id":2}]}."#;
        assert_eq!(body(two), json!({"operations": [{"op": "delete", "id": 2}]}));
    }

    #[test]
    fn what_says_nothing_is_no_operation() {
        assert!(is_operation(&json!({"title": "x"})) && is_operation(&json!({"op": "fly"})));
        assert!(!is_operation(&json!({})) && !is_operation(&json!({"decision": "clarify", "question": "Which?"})));
    }
}
