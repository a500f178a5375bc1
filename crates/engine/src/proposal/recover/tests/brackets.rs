//! Commas, comments and brackets.

use serde_json::json;

use super::super::{ReplyStop, recover};
use super::mended;

#[test]
fn commas_and_comments_are_mended() {
    mended(&[
        ("a comma too many in an object", r#"{"summary": "x", "todos": [],}"#, json!({"summary": "x", "todos": []})),
        (
            "a comma too many in a list",
            r#"{"todos": ["x",], "summary": "x"}"#,
            json!({"todos": [{"text": "x"}], "summary": "x"}),
        ),
        (
            "commas too many everywhere",
            r#"{"todos": [{"text": "x", "completed": true,},],}"#,
            json!({"todos": [{"text": "x", "completed": true}]}),
        ),
        (
            "two commas",
            r#"{"summary": "x",, "todos": ["a",,"b"]}"#,
            json!({"summary": "x", "todos": [{"text": "a"}, {"text": "b"}]}),
        ),
        ("a comma first", r#"{,"summary": "x", "todos": ["a"]}"#, json!({"summary": "x", "todos": [{"text": "a"}]})),
        ("a comma missing", r#"{"summary": "x" "todos": ["a"]}"#, json!({"summary": "x", "todos": [{"text": "a"}]})),
        (
            "a comma missing at a line end",
            "{\"summary\": \"x\"\n\"todos\": [\"a\"]\n\"commands\": [\"ls\"]}",
            json!({"summary": "x", "todos": [{"text": "a"}], "commands": [{"command": "ls"}]}),
        ),
        (
            "a comma missing between objects",
            r#"{"todos": [{"text": "a"} {"text": "b"}]}"#,
            json!({"todos": [{"text": "a"}, {"text": "b"}]}),
        ),
        (
            "a comma missing in an object",
            r#"{"todos": [{"text": "a" "completed": true}]}"#,
            json!({"todos": [{"text": "a", "completed": true}]}),
        ),
        (
            "a comma missing after a literal",
            r#"{"todos": [{"completed": true "text": "a"}]}"#,
            json!({"todos": [{"completed": true, "text": "a"}]}),
        ),
        ("a semicolon", r#"{"summary": "x"; "todos": ["a"]}"#, json!({"summary": "x", "todos": [{"text": "a"}]})),
        (
            "a line comment",
            "{\n  // what I did\n  \"summary\": \"x\", // it's \"done\"\n  \"todos\": []\n}",
            json!({"summary": "x", "todos": []}),
        ),
        (
            "a block comment",
            r#"{"summary": /* the "text" */ "x", "todos": [/* none */]}"#,
            json!({"summary": "x", "todos": []}),
        ),
        (
            "a comment of Python",
            "{\n  # note\n  \"summary\": \"x\",  # end\n  \"todos\": [\"a\"]\n}",
            json!({"summary": "x", "todos": [{"text": "a"}]}),
        ),
        (
            "a comment and an address",
            "{\"summary\": \"http://a.b/c\", // see http://d\n\"todos\": [\"ftp://e//f\"]}",
            json!({"summary": "http://a.b/c", "todos": [{"text": "ftp://e//f"}]}),
        ),
        ("a comment with a comma too many", "{\"summary\": \"x\", // end\n}", json!({"summary": "x"})),
        (
            "a comment after a text with marks",
            "{\"summary\": \"a \"b\" c\", // note\n \"todos\": [\"x\"]}",
            json!({"summary": "a \"b\" c", "todos": [{"text": "x"}]}),
        ),
        ("arrows", r#"{"summary" => "x", "todos" => ["a"]}"#, json!({"summary": "x", "todos": [{"text": "a"}]})),
    ]);
}

#[test]
fn brackets_in_the_middle_are_mended() {
    let two = json!({"todos": [{"text": "a", "completed": true}, {"text": "b", "completed": false}], "summary": "s"});
    mended(&[
        (
            "a list not closed",
            r#"{"todos":[{"text":"a","completed":true},{"text":"b","completed":false},"summary":"s"}"#,
            two.clone(),
        ),
        (
            "a list not closed, no comma",
            r#"{"todos":[{"text":"a","completed":true},{"text":"b","completed":false} "summary":"s"}"#,
            two.clone(),
        ),
        (
            "an object not closed",
            r#"{"todos":[{"text":"a","completed":true,{"text":"b","completed":false}],"summary":"s"}"#,
            two.clone(),
        ),
        (
            "an object not closed, no comma",
            r#"{"todos":[{"text":"a","completed":true {"text":"b","completed":false}],"summary":"s"}"#,
            two.clone(),
        ),
        (
            "the last object not closed",
            r#"{"todos":[{"text":"a","completed":true},{"text":"b","completed":false],"summary":"s"}"#,
            two.clone(),
        ),
        (
            "object and list not closed",
            r#"{"todos":[{"text":"a","completed":true},{"text":"b","completed":false,"summary":"s"}"#,
            two.clone(),
        ),
        (
            "an object too much closed",
            r#"{"todos":[{"text":"a","completed":true}},{"text":"b","completed":false}],"summary":"s"}"#,
            two.clone(),
        ),
        (
            "a list too much closed",
            r#"{"todos":[{"text":"a","completed":true},{"text":"b","completed":false}]],"summary":"s"}"#,
            two.clone(),
        ),
        (
            "a list closed too early",
            r#"{"todos":[{"text":"a","completed":true}],{"text":"b","completed":false}],"summary":"s"}"#,
            two.clone(),
        ),
        (
            "an object closed too early",
            r#"{"todos":[{"text":"a"},"completed":true},{"text":"b","completed":false}],"summary":"s"}"#,
            two.clone(),
        ),
        (
            "all closed too early",
            r#"{"todos":[{"text":"a","completed":true},{"text":"b","completed":false}]},"summary":"s"}"#,
            two.clone(),
        ),
        (
            "a wrong bracket for an object",
            r#"{"todos":[{"text":"a","completed":true],{"text":"b","completed":false}],"summary":"s"}"#,
            two.clone(),
        ),
        (
            "a wrong bracket for a list",
            r#"{"todos":[{"text":"a","completed":true},{"text":"b","completed":false}},"summary":"s"}"#,
            two.clone(),
        ),
        (
            "an object not opened",
            r#"{"todos":["text":"a","completed":true},{"text":"b","completed":false}],"summary":"s"}"#,
            two.clone(),
        ),
        (
            "a later object not opened",
            r#"{"todos":[{"text":"a","completed":true},"text":"b","completed":false}],"summary":"s"}"#,
            two.clone(),
        ),
        (
            "a list not opened",
            r#"{"todos":{"text":"a","completed":true},{"text":"b","completed":false}],"summary":"s"}"#,
            two.clone(),
        ),
        (
            "nothing opened",
            r#""todos":[{"text":"a","completed":true},{"text":"b","completed":false}],"summary":"s"}"#,
            two.clone(),
        ),
        (
            "a list not closed before the end",
            r#"{"summary":"s","todos":[{"text":"a","completed":true},{"text":"b","completed":false}}"#,
            two.clone(),
        ),
        (
            "stray words",
            r#"{"todos":[{"text":"a","completed":true},{"text":"b","completed":false}], and "summary":"s"}"#,
            two.clone(),
        ),
        (
            "brackets inside texts",
            r#"{"todos":[{"text":"a","completed":true},{"text":"b","completed":false},"summary":"s"}"#,
            two.clone(),
        ),
    ]);
    mended(&[
        (
            "a section not closed",
            r#"{"sections":[{"heading":"h","content":"c","codeBlocks":[{"language":"rs","code":"{"}],"todos":["a"],"summary":"s"}"#,
            json!({"sections": [{"heading": "h", "content": "c", "codeBlocks": [{"language": "rs", "code": "{"}]}], "todos": [{"text": "a"}], "summary": "s"}),
        ),
        (
            "a code block not closed",
            r#"{"sections":[{"heading":"h","codeBlocks":[{"language":"rs","code":"x"]}],"summary":"s"}"#,
            json!({"sections": [{"heading": "h", "codeBlocks": [{"language": "rs", "code": "x"}]}], "summary": "s"}),
        ),
        (
            "a change not closed",
            r#"{"fileChanges":[{"path":"a","content":"x","commands":[{"command":"ls","description":"d"}]}"#,
            json!({"fileChanges": [{"path": "a", "content": "x"}], "commands": [{"command": "ls", "description": "d"}]}),
        ),
    ]);
}

#[test]
fn an_extra_bracket_at_the_end_is_no_matter() {
    for text in [r#"{"summary":"s"}}"#, r#"{"summary":"s"}]"#, "{\"summary\":\"s\"}\n}}]"] {
        let got = recover(text.as_bytes(), ReplyStop::Unknown);
        assert_eq!(got.answer.summary, "s");
        assert!(!got.truncated, "{text}");
    }
}
