//! Changes as people and scripts see them, from the real binary.

#![allow(clippy::disallowed_methods, reason = "tests make their own files")]

use serde_json::{Value, json};
use trimtab_testkit::program::Program;
use trimtab_testkit::provider::{Answer, Reply};

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_trimtab"))
}

fn asks(name: &str, input: Value) -> Answer {
    Answer::anthropic(Reply::new().text(["I work on it."]).tool("toolu_0", name, [input.to_string()]))
}

fn says(words: &str) -> Answer {
    Answer::anthropic(Reply::new().text([words]))
}

/// A program whose model replaced a line, added one, moved a file and made another.
fn with_changes() -> Program {
    let program = program();
    let before: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    std::fs::write(program.project().join("a.txt"), before).expect("a file");
    std::fs::write(program.project().join("old.txt"), "moved\n").expect("a file");
    let edit = |from: &str, to: &str| json!({"path": "a.txt", "blocks": [{"search": from, "replace": to}]});
    program.provider.push(asks("edit_file", edit("line 2", "line two")));
    program.provider.push(asks("edit_file", edit("line 19", "line 19\nline 19 and a half")));
    program.provider.push(asks("move_file", json!({"from": "old.txt", "to": "new.txt"})));
    program.provider.push(asks("write_file", json!({"path": "b.txt", "content": "1\n2\n"})));
    program.provider.push(says("Done."));
    let ended = program.run(&["run", "--trust", "change things"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    program
}

#[test]
fn all_changes_of_a_session_are_one_patch_that_others_can_read() {
    let program = with_changes();
    insta::assert_snapshot!(program.run(&["diff"]).stdout, @"
    --- a/a.txt
    +++ b/a.txt
    @@ -1,5 +1,5 @@
     line 1
    -line 2
    +line two
     line 3
     line 4
     line 5
    @@ -17,4 +17,5 @@
     line 17
     line 18
     line 19
    +line 19 and a half
     line 20
    --- /dev/null
    +++ b/b.txt
    @@ -0,0 +1,2 @@
    +1
    +2
    diff --git a/old.txt b/new.txt
    rename from old.txt
    rename to new.txt
    ");
}

#[test]
fn lines_are_counted_per_file_and_in_total() {
    let program = with_changes();
    insta::assert_snapshot!(program.run(&["diff", "--stat"]).stdout, @"
    a.txt              +2 −1  ++-
    b.txt              +2 −0  ++
    old.txt → new.txt  +0 −0
    3 files  +4 −1
    ");
    let listed = program.run(&["changes", "--json"]).events();
    let first = listed.last().expect("a change");
    assert_eq!(first["totalStats"], json!({"added": 1, "removed": 1, "modified": 1}));
    assert_eq!(first["files"][0]["modified"], 1);
    let words = program.run(&["changes"]).stdout;
    assert!(words.contains("Change #1 - 1 file (+1 -1)") && words.contains("    a.txt  +1 \u{2212}1\n"), "{words}");
}

#[test]
fn a_change_is_drawn_in_both_layouts_where_that_is_asked_for() {
    let program = with_changes();
    insta::assert_snapshot!(program.run(&["diff", "--inline"]).stdout, @"
    a.txt  +2 −1  ++-
    @@ a.txt:1 @@
     1  1   line 1
     2    - line 2
        2 + line two
     3  3   line 3
     4  4   line 4
     5  5   line 5
      … 11 unchanged lines …
    @@ a.txt:2 @@
    17 17   line 17
    18 18   line 18
    19 19   line 19
       20 + line 19 and a half
    20 21   line 20

    b.txt  +2 −0  ++
      new file
    @@ b.txt:1 @@
      1 + 1
      2 + 2

    old.txt → new.txt
      moved, content unchanged
    ");
    insta::assert_snapshot!(program.run(&["changes", "1", "--side-by-side"]).stdout, @"
    a.txt  +1 −1  +-
    @@ a.txt:1 @@
     1   line 1                                      │  1   line 1
     2 - line 2                                      │  2 + line two
     3   line 3                                      │  3   line 3
     4   line 4                                      │  4   line 4
     5   line 5                                      │  5   line 5
      … 15 unchanged lines …
    ");
    let missing = program.run(&["diff", "99"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.stderr.contains("Unknown change 99."), "{}", missing.stderr);
}

#[test]
fn what_a_checkpoint_would_change_can_be_seen_whole() {
    let program = program();
    let content: String = (1..=500).map(|n| format!("line {n}\n")).collect();
    std::fs::write(program.project().join("a.txt"), content).expect("a file");
    program.provider.push(asks("delete_file", json!({"path": "a.txt"})));
    let asked = program.run(&["run", "--trust", "change things"]);
    assert_eq!(asked.code, Some(3), "{}", asked.stderr);
    let hint = asked.stderr.lines().find(|line| line.contains("more changed lines")).expect("a hint");
    let words: Vec<&str> = hint.split('`').nth(1).expect("a command").split(' ').skip(1).collect();
    let shown = program.run(&words).stdout;
    assert_eq!(shown.lines().filter(|line| line.starts_with("-line")).count(), 500, "{shown}");
    let drawn = program.run(&[words[0], words[1], "--inline"]).stdout;
    assert!(drawn.contains("500     - line 500\n"), "{drawn}");
}
