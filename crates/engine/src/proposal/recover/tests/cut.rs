//! Answers that end too early.

use serde_json::{Value, json};

use super::super::{ReplyStop, recover, suspiciously_short};
use super::{cut, table, whole};

#[test]
fn what_was_whole_before_the_cut_is_kept() {
    cut(&[
        ("the last bracket", r#"{"summary":"s","todos":["a"]"#, json!({"summary": "s", "todos": [{"text": "a"}]})),
        ("the last brackets", r#"{"summary":"s","todos":["a""#, json!({"summary": "s", "todos": [{"text": "a"}]})),
        ("in a text", r#"{"todos":["a"],"summary":"So far so g"#, json!({"todos": [{"text": "a"}]})),
        (
            "in a command",
            r#"{"summary":"s","commands":[{"command":"ls","description":"d"},{"command":"rm -rf /"#,
            json!({"summary": "s", "commands": [{"command": "ls", "description": "d"}]}),
        ),
        ("after a command's text", r#"{"summary":"s","commands":[{"command":"rm -rf /""#, json!({"summary": "s"})),
        ("after a command's comma", r#"{"summary":"s","commands":[{"command":"rm -rf /","#, json!({"summary": "s"})),
        (
            "in a command as a text",
            r#"{"summary":"s","commands":["ls","rm -rf /"#,
            json!({"summary": "s", "commands": [{"command": "ls"}]}),
        ),
        (
            "in a change",
            r#"{"summary":"s","fileChanges":[{"path":"a","content":"x"},{"path":"b","content":"y"},{"path":"c","content":"z"#,
            json!({"summary": "s", "fileChanges": [{"path": "a", "content": "x"}, {"path": "b", "content": "y"}]}),
        ),
        (
            "after a change's text",
            r#"{"summary":"s","fileChanges":[{"path":"a","content":"x"},{"path":"c","content":"z""#,
            json!({"summary": "s", "fileChanges": [{"path": "a", "content": "x"}]}),
        ),
        (
            "in a section",
            r#"{"summary":"s","sections":[{"heading":"a","content":"x"},{"heading":"b","codeBlocks":[{"language":"rs","code":"z"}"#,
            json!({"summary": "s", "sections": [{"heading": "a", "content": "x"}]}),
        ),
        (
            "in a next step",
            r#"{"summary":"s","nextSteps":[{"html":"Continue","inputText":"continue"},{"html":"Stop","inputText":"st"#,
            json!({"summary": "s", "nextSteps": [{"html": "Continue", "inputText": "continue"}]}),
        ),
        ("in a name", r#"{"summary":"s","tod"#, json!({"summary": "s"})),
        ("after a name", r#"{"summary":"s","todos""#, json!({"summary": "s"})),
        ("after a colon", r#"{"summary":"s","todos":"#, json!({"summary": "s"})),
        ("in a literal", r#"{"summary":"s","todos":[{"text":"a","completed":fal"#, json!({"summary": "s"})),
        ("in an escape", r#"{"todos":["a"],"summary":"s\"#, json!({"todos": [{"text": "a"}]})),
        ("in a code", r#"{"todos":["a"],"summary":"s\u00"#, json!({"todos": [{"text": "a"}]})),
        (
            "with a fence",
            "```json\n{\"summary\":\"s\",\"todos\":[\"a\"]\n```",
            json!({"summary": "s", "todos": [{"text": "a"}]}),
        ),
        (
            "with an open fence",
            "```json\n{\"summary\":\"s\",\"todos\":[\"a\"],",
            json!({"summary": "s", "todos": [{"text": "a"}]}),
        ),
        (
            "with a reply's tag",
            "<response>{\"summary\":\"s\",\"todos\":[\"a\"]</response>",
            json!({"summary": "s", "todos": [{"text": "a"}]}),
        ),
        (
            "after a thought",
            "<think>{\"summary\":\"no\"}</think>{\"summary\":\"s\",\"todos\":[{\"text\":\"a\"",
            json!({"summary": "s"}),
        ),
        (
            "in a wrapper",
            r#"{"answer":{"summary":"s","todos":["a"]}"#,
            json!({"summary": "s", "todos": [{"text": "a"}]}),
        ),
        (
            "in a wrapper after others",
            r#"{"id":1,"answer":{"summary":"s","todos":["a"]}"#,
            json!({"summary": "s", "todos": [{"text": "a"}]}),
        ),
        (
            "in a damaged wrapper",
            r#"{"id":1,"answer":{"summary":"a "b" c","todos":["a"]}"#,
            json!({"summary": "a \"b\" c", "todos": [{"text": "a"}]}),
        ),
        ("in a list", r#"[{"summary":"s","todos":["a"]}"#, json!({"summary": "s", "todos": [{"text": "a"}]})),
        ("in a text", r#""{\"summary\":\"s\",\"todos\":[\"a\""#, json!({"summary": "s", "todos": [{"text": "a"}]})),
        (
            "in a text in a wrapper",
            r#"{"response":"{\"summary\":\"s\",\"todos\":[\"a\","}"#,
            json!({"summary": "s", "todos": [{"text": "a"}]}),
        ),
        (
            "without its first bracket",
            r#""summary":"s","todos":["a"],"commands":[{"com"#,
            json!({"summary": "s", "todos": [{"text": "a"}]}),
        ),
        (
            "with damage before",
            r#"{'summary':'It's so','todos':['a',],'commands':[{'command':'rm -rf /"#,
            json!({"summary": "It's so", "todos": [{"text": "a"}]}),
        ),
        (
            "with marks before",
            r#"{"summary":"a "b" c","todos":[{"text":"x","completed":true},{"text":"y"#,
            json!({"summary": "a \"b\" c", "todos": [{"text": "x", "completed": true}]}),
        ),
        (
            "at a mark that may be inside",
            r#"{"todos":["a "b" c"],"summary":"He said ""#,
            json!({"todos": [{"text": "a \"b\" c"}]}),
        ),
        (
            "a doubled answer",
            r#"{"summary":"s","todos":["a"]}{"summary":"s","todos":["#,
            json!({"summary": "s", "todos": [{"text": "a"}]}),
        ),
        (
            "a decoy before",
            r#"Like {"summary":"x"}: {"summary":"s","todos":["a"],"commands":["#,
            json!({"summary": "s", "todos": [{"text": "a"}]}),
        ),
        (
            "with words after",
            "{\"summary\":\"s\",\"todos\":[\"a\",\"b\"]\n\nLet me know!",
            json!({"summary": "s", "todos": [{"text": "a"}, {"text": "b"}]}),
        ),
        (
            "with words after an object",
            "{\"summary\":\"s\",\"commands\":[{\"command\":\"ls\",\"description\":\"d\"}\n\nIs that what you're after?",
            json!({"summary": "s", "commands": [{"command": "ls", "description": "d"}]}),
        ),
        ("nothing whole", r#"{"summary":"So f"#, json!({})),
        ("only a bracket and a name", r#"{"summary"#, json!({})),
        ("in a thought", "<think>Let me", json!({})),
    ]);
}

#[test]
fn a_list_that_was_cut_before_its_first_item_is_not_said_to_be_empty() {
    let got = recover(br#"{"summary":"s","todos":["#, ReplyStop::Unknown);
    assert_eq!(Value::Object(got.said), json!({"summary": "s"}));
}

#[test]
fn a_stop_reason_or_the_answer_itself_may_say_that_it_was_cut() {
    let answer = br#"{"summary":"s","fileChanges":[{"path":"a","content":"x"}]}"#;
    for stop in [ReplyStop::MaxTokens, ReplyStop::Cut] {
        let got = recover(answer, stop);
        assert!(got.truncated && got.blocked);
        assert_eq!(got.answer.file_changes.len(), 1, "shown, but blocked");
    }
    for stop in [ReplyStop::Complete, ReplyStop::Unknown] {
        let got = recover(answer, stop);
        assert!(!got.truncated && !got.blocked);
    }
    let change = r#""fileChanges":[{"path":"a","content":"x"}]"#;
    for text in [
        format!(r#"{{"summary":"The response was truncated.",{change}}}"#),
        format!(r#"{{"summary":"Truncated: more to come",{change}}}"#),
        format!(r#"{{"summary":"s",{change},"truncated":true}}"#),
        format!("{{\"summary\":\"s\",{change}}}\n... [truncated]"),
        format!("{{\"summary\":\"s\",{change}}}\n(Output was truncated due to length.)"),
        format!(r#"{{"choices":[{{"finish_reason":"length","message":{{"summary":"s",{change}}}}}]}}"#),
        format!(r#"{{"stop_reason":"max_tokens","content":{{"summary":"s",{change}}}}}"#),
        format!(r#"{{"response":{{"summary":"s",{change}}},"done_reason":"length"}}"#),
    ] {
        let got = recover(text.as_bytes(), ReplyStop::Complete);
        assert!(got.truncated && got.blocked, "{text}");
        assert_eq!(got.answer.file_changes.len(), 1, "{text}");
    }
}

#[test]
fn a_whole_answer_is_not_called_cut() {
    let bare = json!({"summary": "s", "fileChanges": [{"path": "a", "content": "x"}]});
    let text = bare.to_string();
    let rows = [
        ("short", text.clone()),
        ("words after", format!("{text}\nI truncated no table. The logs were cut.")),
        ("words with a bracket after", format!("{text}\nRun it with {{ or [ in mind")),
        ("an open fence", format!("```json\n{text}")),
        ("an open tag", format!("<response>{text}")),
        ("an odd mark after", format!("{text}\n5\" pipe")),
        ("a reason", format!(r#"{{"finish_reason":"stop","message":{text}}}"#)),
    ];
    let rows: Vec<_> = rows.iter().map(|(name, input)| (*name, input.as_str(), bare.clone())).collect();
    whole(&rows);
}

#[test]
fn a_short_reply_with_changes_is_suspect_only_to_who_asks() {
    let pad = |len: usize| {
        let frame = json!({"summary": "", "fileChanges": [{"path": "a", "content": "x"}]}).to_string();
        frame.replacen("\"\"", &format!("\"{}\"", "y".repeat(len - frame.len())), 1)
    };
    for (len, short) in [(199, true), (200, false)] {
        let text = pad(len);
        let got = recover(text.as_bytes(), ReplyStop::Unknown);
        assert_eq!(text.len(), len);
        assert!(!got.truncated);
        assert_eq!(suspiciously_short(text.as_bytes(), &got.answer), short);
    }
    let words = recover(br#"{"summary":"s"}"#, ReplyStop::Unknown);
    assert!(!suspiciously_short(br#"{"summary":"s"}"#, &words.answer), "without changes nothing is suspect");
}

#[test]
fn a_draft_that_is_whole_does_not_hide_that_the_answer_is_cut() {
    table(
        &[(
            "draft",
            r#"{"summary":"draft","todos":["x"]} Now: {"summary":"s","todos":["a"],"fileChanges":[{"path":"a""#,
            json!({"summary": "draft", "todos": [{"text": "x"}]}),
        )],
        |got| got.truncated && got.blocked,
    );
}
