//! Names and kinds that are not quite the schema's.

use serde_json::json;

use super::super::{ReplyStop, recover};
use super::{mended, table, whole};

#[test]
fn a_kind_with_one_sensible_reading_is_converted() {
    mended(&[
        (
            "truth as a text",
            r#"{"todos":[{"text":"a","completed":"true"},{"text":"b","completed":"False"}]}"#,
            json!({"todos": [{"text": "a", "completed": true}, {"text": "b", "completed": false}]}),
        ),
        (
            "truth as a number",
            r#"{"todos":[{"text":"a","completed":1},{"text":"b","completed":0}]}"#,
            json!({"todos": [{"text": "a", "completed": true}, {"text": "b", "completed": false}]}),
        ),
        (
            "truth of Python",
            r#"{"todos":[{"text":"a","completed":True}],"fileChanges":None}"#,
            json!({"todos": [{"text": "a", "completed": true}]}),
        ),
        ("undefined", r#"{"summary":"s","todos":undefined,"commands":NaN}"#, json!({"summary": "s"})),
        (
            "a number as a text",
            r#"{"summary":42,"todos":[{"text":7}]}"#,
            json!({"summary": "42", "todos": [{"text": "7"}]}),
        ),
        ("todos as texts", r#"{"todos":["a","b"]}"#, json!({"todos": [{"text": "a"}, {"text": "b"}]})),
        ("commands as texts", r#"{"commands":["cargo test"]}"#, json!({"commands": [{"command": "cargo test"}]})),
        (
            "one todo",
            r#"{"todos":{"text":"a","completed":true}}"#,
            json!({"todos": [{"text": "a", "completed": true}]}),
        ),
        ("one command as a text", r#"{"commands":"ls"}"#, json!({"commands": [{"command": "ls"}]})),
        (
            "one change",
            r#"{"fileChanges":{"path":"a","content":"x"}}"#,
            json!({"fileChanges": [{"path": "a", "content": "x"}]}),
        ),
        ("sections as texts", r#"{"sections":["x"]}"#, json!({"sections": [{"content": "x"}]})),
        (
            "code as texts",
            r#"{"sections":[{"heading":"h","codeBlocks":["x"]}]}"#,
            json!({"sections": [{"heading": "h", "codeBlocks": [{"code": "x"}]}]}),
        ),
        (
            "one block of code",
            r#"{"sections":[{"heading":"h","codeBlocks":{"language":"rs","code":"x"}}]}"#,
            json!({"sections": [{"heading": "h", "codeBlocks": [{"language": "rs", "code": "x"}]}]}),
        ),
        (
            "a list as a text",
            r#"{"summary":"s","todos":"[{\"text\":\"a\"}]"}"#,
            json!({"summary": "s", "todos": [{"text": "a"}]}),
        ),
        (
            "deletion as a text",
            r#"{"fileChanges":[{"path":"a","delete":"true"}]}"#,
            json!({"fileChanges": [{"path": "a", "delete": true}]}),
        ),
        (
            "texts and objects",
            r#"{"todos":["a",{"text":"b","completed":true}]}"#,
            json!({"todos": [{"text": "a"}, {"text": "b", "completed": true}]}),
        ),
    ]);
}

#[test]
fn a_next_step_as_a_text_is_accepted_and_told() {
    let got = recover(br#"{"nextSteps":["continue"]}"#, ReplyStop::Complete);
    assert_eq!(got.report()["answer"], json!({"nextSteps": [{"html": "continue", "inputText": "continue"}]}));
    assert_eq!(got.repairs, ["nextSteps: plain text in place of an object"]);
}

#[test]
fn a_name_in_another_spelling_is_the_name() {
    mended(&[
        (
            "snake",
            r#"{"next_steps":[{"html":"a","input_text":"b"}],"file_changes":[{"path":"p","content":"c"}]}"#,
            json!({"nextSteps": [{"html": "a", "inputText": "b"}], "fileChanges": [{"path": "p", "content": "c"}]}),
        ),
        (
            "case",
            r#"{"Summary":"s","TODOS":["a"],"FileChanges":[{"Path":"p","Content":"c"}]}"#,
            json!({"summary": "s", "todos": [{"text": "a"}], "fileChanges": [{"path": "p", "content": "c"}]}),
        ),
        (
            "kebab",
            r#"{"next-steps":["a"],"summary":"s"}"#,
            json!({"nextSteps": [{"html": "a", "inputText": "a"}], "summary": "s"}),
        ),
        (
            "blanks",
            r#"{" summary ":"s","File Changes":[{"path":"p","content":"c"}]}"#,
            json!({"summary": "s", "fileChanges": [{"path": "p", "content": "c"}]}),
        ),
        (
            "code blocks",
            r#"{"sections":[{"heading":"h","code_blocks":[{"language":"a","code":"b"}]}]}"#,
            json!({"sections": [{"heading": "h", "codeBlocks": [{"language": "a", "code": "b"}]}]}),
        ),
    ]);
    let got = recover(br#"{"next_steps":[{"html":"a","inputText":"b"}]}"#, ReplyStop::Complete);
    assert_eq!(got.repairs, ["nextSteps: was spelt next_steps"]);
}

#[test]
fn null_and_absent_are_the_same_and_unknown_fields_are_not_shown() {
    whole(&[
        (
            "null",
            r#"{"summary":"s","todos":null,"fileChanges":[{"path":"a","content":"x","diff":null,"delete":null}]}"#,
            json!({"summary": "s", "fileChanges": [{"path": "a", "content": "x"}]}),
        ),
        (
            "unknown",
            r#"{"summary":"s","confidence":0.9,"weird key!":[{"a":1}],"todos":[{"text":"a","priority":1}]}"#,
            json!({"summary": "s", "todos": [{"text": "a"}]}),
        ),
        ("empty", r#"{"summary":"","todos":[]}"#, json!({"summary": "", "todos": []})),
        (
            "nothing invented",
            r#"{"todos":[{"text":"a"}],"commands":[{"command":"ls"}],"nextSteps":[{"html":"x"}]}"#,
            json!({"todos": [{"text": "a"}], "commands": [{"command": "ls"}], "nextSteps": [{"html": "x"}]}),
        ),
    ]);
}

#[test]
fn what_has_no_sensible_reading_is_left_out() {
    table(
        &[
            ("a summary that is an object", r#"{"summary":{"a":1},"todos":["x"]}"#, json!({"todos": [{"text": "x"}]})),
            ("a summary that is a list", r#"{"summary":["a","b"],"todos":["x"]}"#, json!({"todos": [{"text": "x"}]})),
            (
                "a command without one",
                r#"{"commands":[{"description":"run"},{"command":"ls"}],"summary":"s"}"#,
                json!({"commands": [{"command": "ls"}], "summary": "s"}),
            ),
            ("a change without a path", r#"{"fileChanges":[{"content":"x"}],"summary":"s"}"#, json!({"summary": "s"})),
            ("a change without a change", r#"{"fileChanges":[{"path":"x"}],"summary":"s"}"#, json!({"summary": "s"})),
            (
                "a change with an object for content",
                r#"{"fileChanges":[{"path":"p.json","content":{"name":"x"}}],"summary":"s"}"#,
                json!({"summary": "s"}),
            ),
            ("a todo without text", r#"{"todos":[{"completed":true}],"summary":"s"}"#, json!({"summary": "s"})),
            (
                "a truth that is none",
                r#"{"todos":[{"text":"a","completed":"perhaps"}],"summary":"s"}"#,
                json!({"todos": [{"text": "a"}], "summary": "s"}),
            ),
            ("lines for a list", r#"{"todos":"1. a\n2. b","summary":"s"}"#, json!({"summary": "s"})),
            ("files by name", r#"{"fileChanges":{"a.txt":"x"},"summary":"s"}"#, json!({"summary": "s"})),
            ("numbers for todos", r#"{"todos":[1,2],"summary":"s"}"#, json!({"summary": "s"})),
        ],
        |got| !got.truncated && got.repairs.iter().any(|repair| repair.contains("left out")),
    );
}
