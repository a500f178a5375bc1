//! Damage of every kind that has one plain reading, and of those that do not.

use super::*;

const COMMANDS: &str = r#""commands": [{"command": "ls", "description": "list"}]"#;

fn full() -> Value {
    json!({"summary": "value", "commands": [{"command": "ls", "description": "list"}]})
}

#[test]
fn white_space_of_every_script_stands_between_tokens() {
    let spaces = ('\u{2000}'..='\u{200f}')
        .chain("\u{85}\u{a0}\u{ad}\u{1680}\u{180e}\u{2028}\u{2029}\u{202f}\u{205f}\u{2060}\u{3000}\u{feff}".chars());
    for space in spaces {
        let text = format!(r#"{{{space}"summary"{space}:{space}"value"{space},{space}{COMMANDS}{space}}}{space}"#);
        let got = recover(text.as_bytes(), ReplyStop::Unknown);
        assert_eq!((Value::Object(got.said), got.blocked), (full(), false), "U+{:04X}", u32::from(space));
        let inside = format!(r#"{{"summary": "a{space}b"}}"#);
        let got = recover(inside.as_bytes(), ReplyStop::Unknown);
        assert_eq!(got.said["summary"], format!("a{space}b"), "U+{:04X} in a text stays", u32::from(space));
    }
}

#[test]
fn an_empty_object_behind_the_answer_says_nothing() {
    let summary = || json!({"summary": "value"});
    whole(&[
        ("after a comma", r#"{"summary": "value"}, {}"#, summary()),
        ("two", r#"{"summary": "value"},{},{}"#, summary()),
        ("with blanks", "{\"summary\": \"value\"},\n{ }\n", summary()),
        ("after commands", &format!(r#"{{"summary": "value", {COMMANDS}}}, {{}}"#), full()),
        ("a list", &format!(r#"{{"summary": "value", {COMMANDS}}}, []"#), full()),
    ]);
}

#[test]
fn texts_on_lines_of_their_own_need_no_comma() {
    let steps = |texts: &[&str]| {
        let steps: Vec<Value> = texts.iter().map(|text| json!({"html": text, "inputText": text})).collect();
        json!({"summary": "value", "nextSteps": steps})
    };
    let of = |list: &str| format!(r#"{{"summary": "value", "nextSteps": {list}}}"#);
    mended(&[
        ("two", &of("[\"a\"\n\"b\"]"), steps(&["a", "b"])),
        (
            "three",
            &of("[\n  \"run the tests\"\n  \"fix them\"\n  \"commit\"\n]"),
            steps(&["run the tests", "fix them", "commit"]),
        ),
        ("one of three", &of("[\"a\",\n\"b\"\n\"c\"]"), steps(&["a", "b", "c"])),
    ]);
    table(&[("on one line it may be one text", &of(r#"["a" "b"]"#), json!({"summary": "value"}))], |_| true);
}

#[test]
fn a_command_without_marks_ends_before_the_next_field() {
    mended(&[("both", "{summary: value, commands: [{command: ls, description: list}]}", full())]);
    let got = recover(b"{commands: [{command: rm -rf build, description: clean up}]}", ReplyStop::Unknown);
    let command = got.answer.commands.first().map(|command| command.command.as_str());
    assert!(matches!(command, None | Some("rm -rf build")), "{command:?}");
}

#[test]
fn damage_with_one_plain_reading_is_mended() {
    let with = |before: &str, after: &str| format!("{before}{{\"summary\": \"value\", {COMMANDS}}}{after}");
    let rows: Vec<(&str, String)> = vec![
        ("single quotes", "{'summary': 'value', 'commands': [{'command': 'ls', 'description': 'list'}]}".into()),
        ("comments", format!("{{ // hi\n\"summary\": \"value\", /* x */ {COMMANDS} # end\n}}")),
        ("joined texts", format!("{{\"summary\": \"val\" +\n \"ue\", {COMMANDS}}}")),
        ("bare names", r#"{summary: "value", commands: [{command: "ls", description: "list"}]}"#.into()),
        ("no colon", format!("{{\"summary\" \"value\", {COMMANDS}}}")),
        ("an arrow", format!("{{\"summary\" => \"value\", {COMMANDS}}}")),
        ("no comma", format!("{{\"summary\": \"value\" {COMMANDS}}}")),
        ("a semicolon", format!("{{\"summary\": \"value\"; {COMMANDS}}}")),
        ("a comma first", format!("{{,\"summary\": \"value\", {COMMANDS}}}")),
        ("two commas", format!("{{\"summary\": \"value\",, {COMMANDS}}}")),
        ("a comma last", format!("{{\"summary\": \"value\", {COMMANDS},}}")),
        ("escaped", with("", "").replace('"', "\\\"")),
        ("a string", Value::from(with("", "")).to_string()),
        ("a fence", with("```javascript\n", "\n```\nDone!")),
        ("a call", with("callback(", ");")),
        ("an assignment", with("const answer = ", ";")),
        ("a tag", with("<answer>", "</answer>")),
        ("a list around it", with("[", "]")),
        ("doubled braces", with("{", "}")),
        ("curly quotes", "{“summary”: “value”, “commands”: [{“command”: “ls”, “description”: “list”}]}".into()),
        ("three marks", format!("{{\"summary\": \"\"\"value\"\"\", {COMMANDS}}}")),
        ("a name without its last mark", format!("{{\"summary: \"value\", {COMMANDS}}}")),
        ("a text without its last mark", format!("{{\"summary\": \"value, {COMMANDS}}}")),
        ("a bracket too few", r#"{"summary": "value", "commands": [{"command": "ls", "description": "list"}}"#.into()),
        ("a brace too few", r#"{"summary": "value", "commands": [{"command": "ls", "description": "list"]}"#.into()),
        ("an unknown field that is undefined", format!("{{\"summary\": \"value\", {COMMANDS}, \"x\": undefined}}")),
        ("a number of another language", format!("{{\"summary\": \"value\", {COMMANDS}, \"x\": .5}}")),
        ("a call as a value", format!("{{\"summary\": \"value\", {COMMANDS}, \"x\": ObjectId(\"y\")}}")),
        ("escapes of a terminal", with("\u{1b}[32m", "\u{1b}[0m")),
        ("an end token", with("", "<|im_end|>")),
    ];
    let rows: Vec<(&str, &str, Value)> = rows.iter().map(|(name, text)| (*name, text.as_str(), full())).collect();
    whole(&rows);
}
