//! What the corpus in `bench/` found: each row was once read wrongly, or lost without need.

use serde_json::json;

use super::super::{ReplyStop, recover};
use super::{mended, table};

#[test]
fn commas_and_colons_of_full_width_between_tokens_are_understood() {
    mended(&[
        (
            "comma",
            "{\"summary\": \"Ok.\"， \"todos\": [{\"text\": \"a\"， \"completed\": true}]}",
            json!({"summary": "Ok.", "todos": [{"text": "a", "completed": true}]}),
        ),
        (
            "colon",
            "{\"summary\"： \"Ok.\", \"commands\"：[{\"command\"：\"ls\"}]}",
            json!({"summary": "Ok.", "commands": [{"command": "ls"}]}),
        ),
        ("in a text they stay", "{\"summary\"：\"好，的：\"}", json!({"summary": "好，的："})),
    ]);
}

#[test]
fn dots_without_a_comma_do_not_cost_the_element_before_them() {
    let input = "{\"nextSteps\": [{\"html\": \"a\", \"inputText\": \"b\"}\n  ...\n]}";
    let got = recover(input.as_bytes(), ReplyStop::Unknown);
    assert_eq!(got.said.get("nextSteps"), Some(&json!([{"html": "a", "inputText": "b"}])));
    assert!(got.blocked);
}

#[test]
fn an_apostrophe_in_its_own_marks_says_nothing_about_paths() {
    mended(&[(
        "with a drive",
        r#"{'summary': 'it\'s in C:\\temp\\new\n'}"#,
        json!({"summary": "it's in C:\\temp\\new\n"}),
    )]);
}

#[test]
fn marks_too_many_are_not_made_part_of_a_text() {
    let todo = |text: &str| json!({"todos": [{"text": text, "completed": true}]});
    table(
        &[
            ("between name and colon", r#"{"todos":[{"text"": "a b","completed":true}]}"#, todo("a b")),
            ("two of them", r#"{"todos":[{"text""": "a b","completed":true}]}"#, todo("a b")),
        ],
        |got| !got.truncated,
    );
    for input in [
        r#"{"todos":[{"text":""a b","completed":true}]}"#,
        r#"{"todos":[{"text":"a b"","completed":true}]}"#,
        r#"{"todos":[{"text":"a b""","completed":true}]}"#,
        r#"{"todos":[{"text":"a b","" "completed":true}]}"#,
        "{\"todos\":[{\"text\":\"a b\",\"\n\"completed\":true}]}",
        r#"{"todos":[{"text":\"a b","completed":true}]}"#,
        r#"{"todos":"" [{"text":"a b","completed":true}]}"#,
        r#"{"commands":[{"command":"""rm -rf x","description":"d"}]}"#,
    ] {
        let got = recover(input.as_bytes(), ReplyStop::Unknown);
        let shown = serde_json::to_string(&got.said).expect("prints");
        assert!(!shown.contains("\\\""), "{input} gives {shown}");
    }
}

#[test]
fn a_text_that_got_out_of_a_command_is_no_command() {
    let input = r#"{"commands":[{"command":"ls","description":} "Try it"},{"command":"pwd","description":"d"}]}"#;
    let got = recover(input.as_bytes(), ReplyStop::Unknown);
    let shown = serde_json::to_string(&got.said).expect("prints");
    assert!(!shown.contains(r#""command":"Try it""#), "{shown}");
}

#[test]
fn what_follows_a_whole_change_is_not_made_part_of_it() {
    let input = r#"{"summary":"s","fileChanges":[{"path":"a","content":"x"}, "diff":"@@ -1 +1 @@\n-a\n+b\n"}]}"#;
    let got = recover(input.as_bytes(), ReplyStop::Unknown);
    assert!(got.blocked);
    let both = got.answer.file_changes.iter().any(|change| change.content.is_some() && change.diff.is_some());
    assert!(!both, "{:?}", got.said);
}

#[test]
fn json_in_a_file_is_never_the_answer_however_the_answer_is_damaged() {
    let file = r#""{\n  \"summary\": \"decoy\",\n  \"commands\": [{\"command\": \"rm -rf /\"}]\n}\n""#;
    for input in [
        format!(r#"{{["summary":"Ok.","fileChanges":[{{"path":"p.json","content":{file}}}]}}"#),
        format!(r#"{{"summary":"Ok.","fileChanges":[{{"path":"p.json","content":}}}} {file}}}]}}"#),
        format!(r#"{{"path":"p.json","content":{file}}}"#),
    ] {
        let got = recover(input.as_bytes(), ReplyStop::Unknown);
        assert!(got.answer.commands.is_empty(), "{input} gives {:?}", got.said);
    }
}

#[test]
fn another_try_in_the_middle_of_a_text_is_not_part_of_it() {
    let input = r#"{"fileChanges":[{"path":"a.py","content":"\"doc\" x {"summary":"Ok.","fileChanges":[]}"#;
    let got = recover(input.as_bytes(), ReplyStop::Unknown);
    assert!(got.answer.file_changes.is_empty(), "{:?}", got.said);
}

#[test]
fn three_marks_around_json_with_our_names_are_doubtful_and_not_kept_as_marks() {
    let input = "{\"fileChanges\":[{\"path\":\"p\",\"content\":\"\"\"{\n  \"a\": 1,\n  \"commands\": []\n}\n\"\"\"}]}";
    let got = recover(input.as_bytes(), ReplyStop::Unknown);
    let content = got.answer.file_changes.first().and_then(|change| change.content.clone());
    assert!(content.is_none_or(|content| content.starts_with('{')), "{:?}", got.said);
}

#[test]
fn a_bracket_that_opens_at_the_end_of_a_fence_is_a_cut() {
    let got = recover(b"```json\n{", ReplyStop::Unknown);
    assert!(got.truncated && got.blocked && !got.found);
}
