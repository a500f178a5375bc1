//! Quotation marks, escapes and what texts hold.

use serde_json::json;

use super::super::{ReplyStop, recover};
use super::{mended, table, whole};

#[test]
fn unescaped_marks_in_a_text_are_kept_where_the_names_tell_its_end() {
    mended(&[
        (
            "in words",
            r#"{"summary": "He said "hi" to me", "todos": ["a"]}"#,
            json!({"summary": "He said \"hi\" to me", "todos": [{"text": "a"}]}),
        ),
        (
            "at the end",
            r#"{"summary": "He said "hi"", "todos": ["a"]}"#,
            json!({"summary": "He said \"hi\"", "todos": [{"text": "a"}]}),
        ),
        (
            "at the start",
            r#"{"summary": ""Hi" he said", "todos": ["a"]}"#,
            json!({"summary": "\"Hi\" he said", "todos": [{"text": "a"}]}),
        ),
        ("all of it", r#"{"summary": ""Hi"", "todos": ["a"]}"#, json!({"summary": "\"Hi\"", "todos": [{"text": "a"}]})),
        (
            "with commas",
            r#"{"summary": "Use "a", "b" and "c", not "d"", "todos": ["a"]}"#,
            json!({"summary": "Use \"a\", \"b\" and \"c\", not \"d\"", "todos": [{"text": "a"}]}),
        ),
        ("in the last field", r#"{"summary": "He said "hi" to me"}"#, json!({"summary": "He said \"hi\" to me"})),
        (
            "one inch",
            r#"{"summary": "The pipe is 5" long", "todos": ["a"]}"#,
            json!({"summary": "The pipe is 5\" long", "todos": [{"text": "a"}]}),
        ),
        (
            "in a command",
            r#"{"commands":[{"command":"git commit -m "fix: it"","description":"Commit"}]}"#,
            json!({"commands": [{"command": "git commit -m \"fix: it\"", "description": "Commit"}]}),
        ),
        (
            "in the middle of a command",
            r#"{"commands":[{"command":"grep -rn "foo" src | sort","description":"Look"}]}"#,
            json!({"commands": [{"command": "grep -rn \"foo\" src | sort", "description": "Look"}]}),
        ),
        (
            "in a command before a bracket",
            r#"{"commands":[{"command":"echo "a" "}]}"#,
            json!({"commands": [{"command": "echo \"a\" "}]}),
        ),
        (
            "in code",
            r#"{"fileChanges":[{"path":"a.py","content":"print("hello")\nx = {"a": "b", "c": ["d"]}\n"}],"summary":"x"}"#,
            json!({"fileChanges": [{"path": "a.py", "content": "print(\"hello\")\nx = {\"a\": \"b\", \"c\": [\"d\"]}\n"}], "summary": "x"}),
        ),
        (
            "in JSON",
            r#"{"fileChanges":[{"path":"package.json","content":"{\n  "name": "demo",\n  "version": "1.0.0"\n}\n"}],"commands":[{"command":"npm i","description":"d"}]}"#,
            json!({"fileChanges": [{"path": "package.json", "content": "{\n  \"name\": \"demo\",\n  \"version\": \"1.0.0\"\n}\n"}], "commands": [{"command": "npm i", "description": "d"}]}),
        ),
        (
            "in JSON with our own names",
            r#"{"fileChanges":[{"path":"a.json","content":"{"path": "src", "content": "x"}"}],"summary":"s"}"#,
            json!({"fileChanges": [{"path": "a.json", "content": "{\"path\": \"src\", \"content\": \"x\"}"}], "summary": "s"}),
        ),
        (
            "in JSON with our own names, the other way round",
            r#"{"fileChanges":[{"content":"{"a": "b", "path": "c"}","path":"real"}],"summary":"s"}"#,
            json!({"fileChanges": [{"content": "{\"a\": \"b\", \"path\": \"c\"}", "path": "real"}], "summary": "s"}),
        ),
        (
            "a whole answer in a summary",
            r#"{"summary":"He wrote {"summary":"inner","todos":[]} in the file","todos":["real"]}"#,
            json!({"summary": "He wrote {\"summary\":\"inner\",\"todos\":[]} in the file", "todos": [{"text": "real"}]}),
        ),
        (
            "in a diff",
            "{\"fileChanges\":[{\"path\":\"a.rs\",\"diff\":\"@@ -1,2 +1,2 @@\\n-  if x == \"a\" {\\n+  if x == \"b\" {\\n\"}],\"summary\":\"s\"}",
            json!({"fileChanges": [{"path": "a.rs", "diff": "@@ -1,2 +1,2 @@\n-  if x == \"a\" {\n+  if x == \"b\" {\n"}], "summary": "s"}),
        ),
        (
            "in a list of texts",
            r#"{"todos": ["say "hi", "bye" to him", "x"], "summary": "s"}"#,
            json!({"todos": [{"text": "say \"hi\", \"bye\" to him"}, {"text": "x"}], "summary": "s"}),
        ),
        (
            "an empty text in code",
            r#"{"fileChanges":[{"path":"a.py","content":"x = ""\nprint(x)\n"}],"summary":"s"}"#,
            json!({"fileChanges": [{"path": "a.py", "content": "x = \"\"\nprint(x)\n"}], "summary": "s"}),
        ),
        (
            "in HTML",
            r#"{"nextSteps":[{"html":"<b class="x">Go</b>","inputText":"go"}],"summary":"s"}"#,
            json!({"nextSteps": [{"html": "<b class=\"x\">Go</b>", "inputText": "go"}], "summary": "s"}),
        ),
        (
            "in two texts",
            r#"{"summary": "a "b" c", "todos": [{"text": "d "e" f", "completed": true}]}"#,
            json!({"summary": "a \"b\" c", "todos": [{"text": "d \"e\" f", "completed": true}]}),
        ),
        (
            "with a joining comma",
            r#"{"fileChanges":[{"path":"a.js","content":"x.join(", ") + y["k"]"}],"summary":"s"}"#,
            json!({"fileChanges": [{"path": "a.js", "content": "x.join(\", \") + y[\"k\"]"}], "summary": "s"}),
        ),
    ]);
}

#[test]
fn a_text_whose_end_is_not_certain_is_left_out() {
    let blocked = |got: &super::Recovered| !got.truncated;
    table(
        &[
            (
                "an odd mark in a command",
                r#"{"commands":[{"command":"echo "hi","description":"d"},{"command":"ls","description":"l"}],"summary":"s"}"#,
                json!({"commands": [{"command": "ls", "description": "l"}], "summary": "s"}),
            ),
            (
                "an odd mark in a file",
                r#"{"fileChanges":[{"path":"a","content":"5" long"},{"path":"b","content":"x"}],"summary":"s"}"#,
                json!({"fileChanges": [{"path": "b", "content": "x"}], "summary": "s"}),
            ),
            ("two texts side by side", r#"{"summary": "a" "b", "todos": ["x"]}"#, json!({"todos": [{"text": "x"}]})),
            ("an escaped closing mark", r#"{"summary": "abc\", "todos": ["x"]}"#, json!({"todos": [{"text": "x"}]})),
            (
                "a closing mark missing before a bracket",
                r#"{"todos":[{"text":"abc}, {"text":"def"}],"summary":"s"}"#,
                json!({"todos": [{"text": "def"}], "summary": "s"}),
            ),
            (
                "a name twice, differently",
                r#"{"summary":"a","summary":"b","todos":["x"]}"#,
                json!({"todos": [{"text": "x"}]}),
            ),
            (
                "marks escaped twice",
                r#"{"summary":"He said \\"hi\\" to me","todos":["x"]}"#,
                json!({"todos": [{"text": "x"}]}),
            ),
            ("half a pair", r#"{"summary":"a \ud83d b","todos":["x"]}"#, json!({"todos": [{"text": "x"}]})),
            (
                "a drive that was not escaped",
                r#"{"commands":["cd C:\Users\new"],"summary":"s"}"#,
                json!({"summary": "s"}),
            ),
        ],
        blocked,
    );
}

#[test]
fn a_change_that_could_not_be_read_blocks_the_others() {
    let text = r#"{"fileChanges":[{"path":"a","content":"5" long"},{"path":"b","content":"x"}],"summary":"s"}"#;
    let got = recover(text.as_bytes(), ReplyStop::Complete);
    assert_eq!(got.answer.file_changes.len(), 1);
    assert!(got.blocked && !got.truncated);
    assert!(got.repairs.iter().any(|repair| repair.starts_with("fileChanges: left out")), "{:?}", got.repairs);
}

#[test]
fn a_missing_mark_is_read_where_one_place_is_sensible() {
    mended(&[
        (
            "closing a text",
            r#"{"summary": "done, "todos": ["x"]}"#,
            json!({"summary": "done", "todos": [{"text": "x"}]}),
        ),
        (
            "closing a command",
            r#"{"commands":[{"command": "cargo test, "description": "Test"}]}"#,
            json!({"commands": [{"command": "cargo test", "description": "Test"}]}),
        ),
        (
            "opening a text",
            r#"{"summary": done", "todos": ["x"]}"#,
            json!({"summary": "done", "todos": [{"text": "x"}]}),
        ),
        ("both", r#"{"summary": All done, "todos": ["x"]}"#, json!({"summary": "All done", "todos": [{"text": "x"}]})),
        (
            "both, at a line end",
            "{\"summary\": All done\n, \"todos\": [\"x\"]}",
            json!({"summary": "All done", "todos": [{"text": "x"}]}),
        ),
        (
            "opening a name",
            r#"{summary": "done", "todos": ["x"]}"#,
            json!({"summary": "done", "todos": [{"text": "x"}]}),
        ),
        (
            "closing a name",
            r#"{"summary: "done", "todos": ["x"]}"#,
            json!({"summary": "done", "todos": [{"text": "x"}]}),
        ),
        (
            "closing a later name",
            r#"{"summary": "done", "todos: ["x"]}"#,
            json!({"summary": "done", "todos": [{"text": "x"}]}),
        ),
        (
            "opening a later name",
            r#"{"summary": "done", todos": ["x"]}"#,
            json!({"summary": "done", "todos": [{"text": "x"}]}),
        ),
        ("a colon", r#"{"summary" "done", "todos": ["x"]}"#, json!({"summary": "done", "todos": [{"text": "x"}]})),
        (
            "a colon of a list",
            r#"{"summary": "done", "todos" ["x"]}"#,
            json!({"summary": "done", "todos": [{"text": "x"}]}),
        ),
        (
            "all around names",
            r#"{summary: "done", todos: [{text: "x", completed: true}]}"#,
            json!({"summary": "done", "todos": [{"text": "x", "completed": true}]}),
        ),
        ("nothing but words", "{summary: All done, todos: []}", json!({"summary": "All done", "todos": []})),
    ]);
}

#[test]
fn other_marks_are_read_as_marks() {
    mended(&[
        (
            "single",
            r#"{'summary': 'done', 'todos': [{'text': 'a', 'completed': True}]}"#,
            json!({"summary": "done", "todos": [{"text": "a", "completed": true}]}),
        ),
        (
            "single with an apostrophe",
            r#"{'summary': 'It's done, isn't it', 'todos': ['a']}"#,
            json!({"summary": "It's done, isn't it", "todos": [{"text": "a"}]}),
        ),
        (
            "single with an escaped one",
            r#"{'summary': 'It\'s done', 'todos': ['a']}"#,
            json!({"summary": "It's done", "todos": [{"text": "a"}]}),
        ),
        (
            "single with double inside",
            r#"{'summary': 'He said "hi"', 'todos': ['a']}"#,
            json!({"summary": "He said \"hi\"", "todos": [{"text": "a"}]}),
        ),
        ("as Python prints", r#"{'summary': "It's done", 'todos': []}"#, json!({"summary": "It's done", "todos": []})),
        (
            "a plural",
            r#"{'summary': 'The dogs' owner', 'todos': ['a']}"#,
            json!({"summary": "The dogs' owner", "todos": [{"text": "a"}]}),
        ),
        ("curly", "{“summary”: “done”, “todos”: [“a”]}", json!({"summary": "done", "todos": [{"text": "a"}]})),
        (
            "curly with plain inside",
            "{“summary”: “say \"hi\" now”, “todos”: []}",
            json!({"summary": "say \"hi\" now", "todos": []}),
        ),
        (
            "curly with curly inside",
            "{“summary”: “say “hi” now”, “todos”: []}",
            json!({"summary": "say “hi” now", "todos": []}),
        ),
        ("curly single", "{‘summary’: ‘done’, ‘todos’: []}", json!({"summary": "done", "todos": []})),
        (
            "curly names only",
            "{“summary”: \"done\", “todos”: [\"a\"]}",
            json!({"summary": "done", "todos": [{"text": "a"}]}),
        ),
        ("back", "{\"summary\": `done`, \"todos\": []}", json!({"summary": "done", "todos": []})),
        (
            "back with lines",
            "{\"fileChanges\": [{\"path\": \"a.js\", \"content\": `let a = \"x\";\nlet b = 'y';\n`}]}",
            json!({"fileChanges": [{"path": "a.js", "content": "let a = \"x\";\nlet b = 'y';\n"}]}),
        ),
        (
            "three",
            "{\"fileChanges\": [{\"path\": \"a.py\", \"content\": \"\"\"print(\"a\", \"b\")\nx = {\"path\": \"y\"}\n\"\"\"}]}",
            json!({"fileChanges": [{"path": "a.py", "content": "print(\"a\", \"b\")\nx = {\"path\": \"y\"}\n"}]}),
        ),
        (
            "three single",
            "{\"summary\": '''It's \"done\"''', \"todos\": []}",
            json!({"summary": "It's \"done\"", "todos": []}),
        ),
        ("joined", r#"{"summary": "a" + "b" + 'c', "todos": []}"#, json!({"summary": "abc", "todos": []})),
        (
            "joined over lines",
            "{\"summary\": \"a\\n\" +\n  \"b\", \"todos\": []}",
            json!({"summary": "a\nb", "todos": []}),
        ),
    ]);
}

#[test]
fn curly_marks_inside_a_text_are_text() {
    whole(&[("curly", r#"{"summary": "Say “hi”, ‘ho’ and ’tis"}"#, json!({"summary": "Say “hi”, ‘ho’ and ’tis"}))]);
}

#[test]
fn raw_signs_in_a_text_are_kept() {
    mended(&[
        ("line break", "{\"summary\": \"a\nb\", \"todos\": []}", json!({"summary": "a\nb", "todos": []})),
        ("tab", "{\"summary\": \"a\tb\"}", json!({"summary": "a\tb"})),
        ("carriage return", "{\"summary\": \"a\r\nb\"}", json!({"summary": "a\r\nb"})),
        ("escape", "{\"summary\": \"a\u{1b}[1mb\"}", json!({"summary": "a\u{1b}[1mb"})),
        ("zero", "{\"summary\": \"a\u{0}b\"}", json!({"summary": "a\u{0}b"})),
        (
            "a file",
            "{\"fileChanges\": [{\"path\": \"a.py\", \"content\": \"def f():\n\treturn 1\n\"}]}",
            json!({"fileChanges": [{"path": "a.py", "content": "def f():\n\treturn 1\n"}]}),
        ),
        (
            "a file with marks",
            "{\"fileChanges\": [{\"path\": \"a.py\", \"content\": \"def f():\n\treturn \"x\"\n\"}]}",
            json!({"fileChanges": [{"path": "a.py", "content": "def f():\n\treturn \"x\"\n"}]}),
        ),
    ]);
}

#[test]
fn a_backslash_that_json_does_not_know_stays() {
    mended(&[
        ("digit class", r#"{"summary": "\d+\.\d"}"#, json!({"summary": "\\d+\\.\\d"})),
        ("apostrophe", r#"{"summary": "it\'s"}"#, json!({"summary": "it's"})),
        (
            "with a line break",
            r#"{"fileChanges":[{"path":"a.py","content":"re.compile('\d+')\nx\n"}]}"#,
            json!({"fileChanges": [{"path": "a.py", "content": "re.compile('\\d+')\nx\n"}]}),
        ),
        ("half a code", r#"{"summary": "\u12"}"#, json!({"summary": "\\u12"})),
        ("no code", r#"{"summary": "\user"}"#, json!({"summary": "\\user"})),
        ("hexadecimal", r#"{"summary": "\x41"}"#, json!({"summary": "\\x41"})),
        (
            "dollar",
            r#"{"commands": [{"command": "echo \$HOME", "description": "d"}]}"#,
            json!({"commands": [{"command": "echo \\$HOME", "description": "d"}]}),
        ),
        ("before a letter of another script", "{\"summary\": \"\\é\"}", json!({"summary": "\\é"})),
        ("before a line break", "{\"summary\": \"a\\\nb\"}", json!({"summary": "a\\\nb"})),
        (
            "a path without known escapes",
            r#"{"commands":["cd C:\Users\Public"]}"#,
            json!({"commands": [{"command": "cd C:\\Users\\Public"}]}),
        ),
    ]);
}

#[test]
fn escapes_and_entities_of_a_valid_text_are_read_as_json_has_them() {
    whole(&[
        ("codes", r#"{"summary": "\u0041\u00e9\ud83d\ude00\u0000\/\b\f"}"#, json!({"summary": "Aé😀\u{0}/\u{8}\u{c}"})),
        (
            "entities",
            r#"{"summary": "&lt;a&gt; &quot;b&quot; &#39;"}"#,
            json!({"summary": "&lt;a&gt; &quot;b&quot; &#39;"}),
        ),
        ("backslashes", r#"{"summary": "C:\\new\\table \\\" \\\\"}"#, json!({"summary": "C:\\new\\table \\\" \\\\"})),
        (
            "a web address",
            r#"{"summary": "see http://a.b//c /* d */ # e"}"#,
            json!({"summary": "see http://a.b//c /* d */ # e"}),
        ),
        (
            "structure",
            r#"{"summary": "}, {\"x\": [}]", "todos": [{"text": "],", "completed": false}]}"#,
            json!({"summary": "}, {\"x\": [}]", "todos": [{"text": "],", "completed": false}]}),
        ),
    ]);
}

#[test]
fn bytes_that_are_no_text_take_their_field_with_them() {
    let text = b"{\"summary\":\"caf\xe9\",\"todos\":[\"a\",\"b\xff\"],\"fileChanges\":[{\"path\":\"a\",\"content\":\"\xc3\x28\"}],\"commands\":[{\"command\":\"ls\",\"description\":\"\xe9\"}]}";
    let got = recover(text, ReplyStop::Unknown);
    assert_eq!(serde_json::Value::Object(got.said), json!({"todos": [{"text": "a"}], "commands": [{"command": "ls"}]}));
    assert!(!got.truncated && got.blocked);
}

#[test]
fn two_damages_side_by_side_make_no_text_and_no_element_that_nobody_wrote() {
    for (damaged, whole) in [
        (
            r#"{"summary":"s","sections":[{"heading":"Part 1,"content:"It works."}]}"#,
            json!({"summary": "s", "sections": [{"heading": "Part 1", "content": "It works."}]}),
        ),
        (
            r#"{"summary":"s","sections":[{"heading":"Part 1""content""It works."}]}"#,
            json!({"summary": "s", "sections": [{"heading": "Part 1", "content": "It works."}]}),
        ),
        (
            r#"{"summary":"s","sections":[{"heading":"Part 1", }}"content":"It works."}]}"#,
            json!({"summary": "s", "sections": [{"heading": "Part 1", "content": "It works."}]}),
        ),
    ] {
        let got = recover(damaged.as_bytes(), ReplyStop::Complete);
        for (name, value) in &got.said {
            let due = &whole[name];
            let kept = match (value.as_array(), due.as_array()) {
                (Some(items), Some(due)) => items.iter().all(|item| due.contains(item)),
                _ => value == due,
            };
            assert!(kept, "{damaged}: {name} is {value}");
        }
    }
}
