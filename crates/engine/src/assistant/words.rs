//! What a model wrote as operations, and operations in words of our own.

use std::sync::LazyLock;

use serde_json::{Map, Value};
use trimtab_vocab::{Annotated, Previewed};

use super::prompt::operation_line;
use crate::proposal::recover::json::{self as reader, Object, Schema};

/// The verdict on operations that a person has applied, all or some.
pub(crate) const APPLIED: &str = "applied";
/// The verdict on those that nobody wanted.
pub(super) const LEFT: &str = "left";

/// Fields by which an object can be told to be an operation.
const TELLING: &[&str] =
    &["op", "action", "type", "id", "title", "notes", "scheduledFor", "priority", "completed", "where", "set"];

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let list = || Schema::List(Box::new(operation()));
    Schema::Object(Object::new().field("operations", list()).field("actions", list()).needs(&["operations", "actions"]))
});

static ONE: LazyLock<Schema> = LazyLock::new(|| Schema::Object(fields().needs(&["op", "title", "id"])));

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

/// What a model wrote: exactly, where it is JSON; else what can be read for certain of it.
pub(super) fn body(words: &str) -> Value {
    let plain = words.trim();
    if let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(plain) {
        return value;
    }
    let read = reader::read(words, &SCHEMA).or_else(|_| reader::read(words, &ONE));
    read.map(|reading| reading.value).unwrap_or(Value::Null)
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

/// What operations come to, without a model.
pub(super) fn summary(operations: &[Annotated]) -> String {
    let valid: Vec<String> = operations.iter().filter(|one| one.valid().is_some()).map(operation_line).collect();
    match valid.len() {
        0 => "I found no change that could be made. Say which tasks you mean, and what should change.".into(),
        1 => format!("I propose 1 change: {}.", valid.join("; ")),
        count => format!("I propose {count} changes: {}.", valid.join("; ")),
    }
}

/// Two objects in one; what is no object adds nothing.
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
    fn what_says_nothing_is_no_operation() {
        assert!(is_operation(&json!({"title": "x"})) && is_operation(&json!({"op": "fly"})));
        assert!(!is_operation(&json!({})) && !is_operation(&json!({"decision": "clarify", "question": "Which?"})));
    }
}
