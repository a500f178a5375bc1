//! The reader knows nothing of answers: other schemas are read the same way.

use serde_json::json;

use super::super::json::{NotFound, Object, Repair, Schema, read};

fn operation() -> Object {
    Object::new()
        .field_or("op", &["action", "type"], Schema::words())
        .field("id", Schema::Number)
        .field("title", Schema::words())
        .field("completed", Schema::Truth)
        .field("scheduledFor", Schema::words())
        .field("priority", Schema::words())
}

fn operations() -> Schema {
    Schema::Object(Object::new().field_or("operations", &["actions"], Schema::list(operation())))
}

#[test]
fn operations_are_read_by_their_names_and_their_ids_become_numbers() {
    let want = json!({"operations": [{"op": "complete", "id": 12, "completed": true}]});
    for text in [
        r#"{"operations":[{"op":"complete","id":12,"completed":true}]}"#,
        r#"{"operations":[{"op":"complete","id":"12","completed":"true"}]}"#,
        "```json\n{'operations': [{'op': 'complete', 'id': 12, 'completed': True,}]}\n```",
        "<think>{\"operations\":[]}</think><response>{operations: [{op: \"complete\", id: 12, completed: true}]}</response>",
        r#"{"actions":[{"action":"complete","id":12,"completed":true}]}"#,
        r#"{"operations":{"op":"complete","id":12,"completed":true}}"#,
    ] {
        let got = read(text, &operations()).expect(text);
        assert_eq!(got.value, want, "{text}");
        assert!(!got.truncated, "{text}");
    }
}

#[test]
fn a_bare_list_or_a_single_operation_is_read_as_a_list() {
    let list = Schema::list(operation());
    let want = json!([{"op": "create", "title": "Milk"}]);
    for text in [
        r#"[{"op":"create","title":"Milk"}]"#,
        r#"Sure: {"op":"create","title":"Milk"}"#,
        "[{'op':'create','title':'Milk'},]",
    ] {
        assert_eq!(read(text, &list).expect(text).value, want, "{text}");
    }
    let cut = read(r#"[{"op":"create","title":"Milk"},{"op":"delete","id":1"#, &list).expect("has one");
    assert_eq!(cut.value, want);
    assert!(cut.truncated, "and the operation that was cut is not shown");
    let one = read(r#"{"op":"delete","id":1"#, &list);
    assert_eq!(one, Err(NotFound { truncated: true }), "nor is a single one");
}

#[test]
fn the_last_of_several_operations_is_read() {
    let text =
        r#"First {"operations":[{"op":"create","title":"a"}]} then {"operations":[{"op":"create","title":"b"}]}"#;
    assert_eq!(read(text, &operations()).expect("reads").value["operations"][0]["title"], "b");
}

#[test]
fn the_answer_of_a_router_is_read() {
    let router = Schema::Object(
        Object::new()
            .field("decision", Schema::words())
            .field("confidence", Schema::Number)
            .field("question", Schema::words())
            .field("missing", Schema::List(Box::new(Schema::words())))
            .field("entities", Schema::Any),
    );
    let text = "{\"decision\": \"clarify\", \"confidence\": \"0.4\", \"question\": \"Which \"milk\"?\", \"missing\": [\"date\",], \"entities\": {\"title\": \"milk\", \"n\": [1, null]}}";
    let got = read(text, &router).expect("reads");
    assert_eq!(
        got.value,
        json!({"decision": "clarify", "confidence": 0.4, "question": "Which \"milk\"?", "missing": ["date"], "entities": {"title": "milk", "n": [1, null]}})
    );
    assert!(got.repairs.contains(&Repair::InnerQuote));
}

#[test]
fn the_arguments_of_a_tool_are_read() {
    let arguments = Schema::Object(
        Object::new()
            .field("path", Schema::verbatim())
            .field("content", Schema::verbatim())
            .field("lines", Schema::Number),
    );
    let got = read("{\"path\": \"a.py\", \"content\": \"print(\"hi\")\n\", lines: 3", &arguments).expect("reads");
    assert_eq!(got.value, json!({"path": "a.py", "content": "print(\"hi\")\n"}));
    assert!(got.truncated);
    assert_eq!(read("no JSON", &arguments), Err(NotFound { truncated: false }));
}
