//! Several objects: drafts, decoys, doubles.

use serde_json::json;

use super::{table, whole};

#[test]
fn of_several_the_last_whole_one_that_fits_best_is_the_answer() {
    let real = json!({"summary": "real", "todos": [{"text": "a", "completed": true}]});
    let text = real.to_string();
    let rows: Vec<(&str, String)> = vec![
        ("a draft before", format!(r#"{{"summary":"draft","todos":["x"]}} Better: {text}"#)),
        (
            "a bigger draft before",
            format!(r#"{{"summary":"draft","todos":["x"],"commands":["rm"],"sections":["y"]}}{text}"#),
        ),
        (
            "a draft with dots",
            format!(
                r#"Format: {{"summary": "...", "todos": [...], "fileChanges": [{{"path": "...", ...}}]}}
{text}"#
            ),
        ),
        (
            "a template after",
            format!(
                r#"{text}
The format was {{"summary": "...", "sections": [{{"heading": "...", "content": "..."}}], "todos": [{{"text": "..."}}]}}"#
            ),
        ),
        (
            "a small decoy after",
            format!(
                r#"{text}
For example {{"summary": "x"}}"#
            ),
        ),
        (
            "other JSON after",
            format!(
                r#"{text}
{{"name":"app","version":"1"}}"#
            ),
        ),
        ("other JSON before", format!(r#"{{"name":"app","files":["a"]}} and {text}"#)),
        ("doubled", format!("{text}{text}")),
        ("doubled in fences", format!("```json\n{text}\n```\n```json\n{text}\n```")),
        (
            "a draft that breaks off",
            format!(
                r#"{{"summary":"draft
Wait, again:
{text}"#
            ),
        ),
        (
            "a draft that breaks off in a list",
            format!(
                r#"{{"summary":"draft","todos":[{{"text":"x"}},
Let me start over.
{text}"#
            ),
        ),
        (
            "a draft that breaks off in an object",
            format!(
                r#"{{"summary":"draft","todos":[{{"text":"x",
{text}"#
            ),
        ),
        ("a draft in a wrapper", format!(r#"{{"draft":{{"summary":"draft","todos":["x"]}},"final":{text}}}"#)),
        ("broken other JSON before", format!(r#"{{"name": app, "x": [1,}} then {text}"#)),
        ("a list of answers", format!(r#"[{{"summary":"first","todos":["x"]}},{text}]"#)),
        ("lines of JSON", format!("{{\"summary\":\"first\",\"todos\":[\"x\"]}}\n{text}\n")),
    ];
    let rows: Vec<_> = rows.iter().map(|(name, input)| (*name, input.as_str(), real.clone())).collect();
    whole(&rows);
}

#[test]
fn the_words_before_an_object_may_say_what_it_is() {
    let small = json!({"summary": "Final"});
    whole(&[
        (
            "a bigger draft that is taken back",
            "{\"summary\":\"Draft\",\"fileChanges\":[{\"path\":\"a\",\"content\":\"bad\"}]}\n\nWait, that is wrong. Final:\n\n{\"summary\":\"Final\"}",
            small.clone(),
        ),
        (
            "an example as big as the answer",
            "{\"summary\":\"Final\"}\n\nFor example: {\"summary\":\"Other\",\"todos\":[\"x\"]}",
            small.clone(),
        ),
        (
            "a schema before",
            "The format is {\"summary\":\"string\",\"todos\":[{\"text\":\"string\"}]}.\n{\"summary\":\"Final\"}",
            small,
        ),
    ]);
}

#[test]
fn an_answer_inside_a_text_of_the_answer_is_text() {
    let odd =
        json!({"summary": "{\"summary\":\"inner\",\"todos\":[{\"text\":\"x\"}],\"commands\":[{\"command\":\"rm\"}]}"});
    whole(&[("inner", &odd.to_string(), odd.clone())]);
}

#[test]
fn what_its_author_left_out_is_left_out() {
    table(
        &[
            (
                "dots in a change",
                r#"{"summary":"s","fileChanges":[{"path":"a.json", ...}],"todos":["x"]}"#,
                json!({"summary": "s", "todos": [{"text": "x"}]}),
            ),
            (
                "dots in a list",
                r#"{"summary":"s","todos":["x", ...]}"#,
                json!({"summary": "s", "todos": [{"text": "x"}]}),
            ),
            ("dots for a list", r#"{"summary":"s","todos":[...]}"#, json!({"summary": "s"})),
            (
                "a sign for dots",
                r#"{"summary":"s","fileChanges":[{"path":"a","content":"x"}, …]}"#,
                json!({"summary": "s", "fileChanges": [{"path": "a", "content": "x"}]}),
            ),
        ],
        |got| got.blocked && !got.truncated,
    );
}
