//! A part of a proposed change: what is chosen is applied, what is left out is not, and the model knows both.

use trimtab_testkit::scenario::{only, play};

/// A file whose two changes are far enough apart to be two hunks, with line ends that must stay as they are.
const FILES: &str = "
        --- a.txt
        one
        2
        3
        4
        5
        6
        7
        8
        9
        ten
        --- dialogue
        % files=ask
        > change @a.txt
        <@ edit_file {\"path\":\"a.txt\",\"blocks\":[{\"search\":\"one\",\"replace\":\"ONE\"},{\"search\":\"ten\",\"replace\":\"TEN\"}]}
        #
";

const KINDS: [&str; 7] = [
    "proposal.opened",
    "proposal.chosen",
    "proposal.resolved",
    "checkpoint.resolved",
    "change.applied",
    "change.reverted",
    "tool.finished",
];

fn played(then: &str) -> String {
    play(&format!("{FILES}{then}"))
}

#[test]
fn only_the_chosen_hunk_is_applied_and_the_model_is_told_what_is_not() {
    let log = played(
        "
        !# a.txt:2
        ?~ The user accepted only a part of this change. Left out: hunk 1 of a.txt. This is NOT in the files:
        ?~ -one\\n+ONE
        < I see.
        ^B 1
        @ change.reverted
    ",
    );
    insta::assert_snapshot!(only(&log, &KINDS), @r#"
    r1 proposal.opened {"proposal":"r1-p-c1t1","call":"c1t1","kind":"files","operations":[{"path":"a.txt","before":{"mode":420},"after":{"mode":420},"added":2,"removed":2,"modified":2,"diff":"--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n-one\n+ONE\n 2\n 3\n 4\n@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-ten\n+TEN\n","hunks":2,"errors":[]}],"version":1}
    r1 proposal.chosen {"proposal":"r1-p-c1t1","call":"c1t1","parts":[{"path":"a.txt","hunks":[2]}],"left":[{"path":"a.txt","hunks":[1]}]}
    r1 checkpoint.resolved {"checkpoint":"r1-k1","choice":"allow","by":"user"}
    r1 proposal.opened {"proposal":"r1-p-c1t1","call":"c1t1","kind":"files","operations":[{"path":"a.txt","before":{"mode":420},"after":{"mode":420},"added":1,"removed":1,"modified":1,"diff":"--- a/a.txt\n+++ b/a.txt\n@@ -7,4 +7,4 @@\n 7\n 8\n 9\n-ten\n+TEN\n","hunks":1,"errors":[],"left":"--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n-one\n+ONE\n 2\n 3\n 4\n"}],"version":2}
    r1 proposal.resolved {"proposal":"r1-p-c1t1","verdict":"approved"}
    r1 change.applied {"changeSet":"r1-x-c1t1","position":0,"files":[{"path":"a.txt","added":1,"removed":1,"modified":1,"isNew":false,"isDeleted":false}]}
    r1 tool.finished {"call":"c1t1","status":"partial","preview":"Changed a.txt: +1 -1 lines.\nThe user accepted only a part of this change. Left out: hunk 1 of a.txt. This is NOT in the files:\n--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n-one\n+ONE\n 2\n 3\n 4\n[Do not treat the part that was left out as done, and do not propose it again unless the user asks for it. Read a file again before you change it.]"}
    - change.reverted {"changeSet":"r1-x-c1t1","position":-1}
    --- a.txt
    one
    2
    3
    4
    5
    6
    7
    8
    9
    ten
    "#);
}

#[test]
fn all_hunks_one_by_one_are_the_whole_change() {
    let log = played(
        "        !# a.txt:2 a.txt:1\n        ?~ Changed a.txt: +2 -2 lines.\n        ?- Left out\n        < Done.\n",
    );
    assert!(!log.contains("proposal.chosen"), "{log}");
    assert!(log.ends_with("--- a.txt\nONE\n2\n3\n4\n5\n6\n7\n8\n9\nTEN\n"), "{log}");
}

#[test]
fn a_file_that_was_changed_in_part_is_read_again_before_it_is_changed_again() {
    let log = played(
        r#"
        !# a.txt:1
        <@ edit_file {"path":"a.txt","blocks":[{"search":"ten","replace":"x"}]}
        #
        ?~ it has changed since you last read it. Read it again first.
        < I will.
    "#,
    );
    assert!(log.contains("--- a.txt\nONE\n2\n"), "{log}");
}

#[test]
fn a_kill_after_the_choice_loses_nothing_of_it() {
    let log = played(
        "
        @ checkpoint.opened
        ^K
        !# a.txt:1
        ?~ Left out: hunk 2 of a.txt
        < Good.
    ",
    );
    assert_eq!(log.matches("change.applied").count(), 1, "{log}");
    assert!(log.ends_with("--- a.txt\nONE\n2\n3\n4\n5\n6\n7\n8\n9\nten\n"), "{log}");
}
