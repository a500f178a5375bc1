//! What a hunk says about its place.

use super::*;
use RefusalKind::*;

const CLASSES: Option<&[u8]> = Some(b"class A:\n    x = 10\n\nclass B:\n    x = 11\n");
const TWINS: Option<&[u8]> = Some(
    b"class A:\n    def run(self):\n        go(1)\n\n    def stop(self):\n        go(1)\n\nclass B:\n    def run(self):\n        go(1)\n\n    def stop(self):\n        go(1)\n",
);

fn codex(body: &str) -> Edit {
    diff(&format!("*** Begin Patch\n*** Update File: src/x.rs\n{body}*** End Patch\n"))
}

#[test]
fn an_anchor_binds() {
    let wrong = "-    x = 10\n+    x = 12\n";
    let right = "-    x = 11\n+    x = 12\n";
    let done = || Is(b"class A:\n    x = 10\n\nclass B:\n    x = 12\n");
    check(&[
        ("codex", CLASSES, codex(&format!("@@ class B:\n{wrong}")), Refused(Contradiction)),
        (
            "names",
            CLASSES,
            diff(&format!("--- a/src/x.rs\n+++ b/src/x.rs\n@@ class B:\n{wrong}")),
            Refused(Contradiction),
        ),
        ("numbers", CLASSES, diff(&format!("@@ -5,1 +5,1 @@ class B:\n{wrong}")), Refused(Contradiction)),
        ("right", CLASSES, codex(&format!("@@ class B:\n{right}")), done()),
        ("right with numbers", CLASSES, diff(&format!("@@ -5,1 +5,1 @@ class B:\n{right}")), done()),
        ("closed", CLASSES, diff(&format!("@@ class B: @@\n{right}")), done()),
        ("without its colon", CLASSES, codex(&format!("@@ class B\n{right}")), done()),
        ("not a beginning of a word", CLASSES, codex(&format!("@@ clas\n{right}")), Refused(NotFound)),
        ("not there", CLASSES, codex(&format!("@@ class C:\n{right}")), Refused(NotFound)),
        (
            "a heading that is not there says nothing",
            CLASSES,
            diff(&format!("@@ -5,1 +5,1 @@ class C:\n{right}")),
            done(),
        ),
        ("a heading above", CLASSES, diff(&format!("@@ -5,1 +5,1 @@ class A:\n{right}")), done()),
        ("the hunk begins with its anchor", CLASSES, codex(&format!("@@ class B:\n class B:\n{right}")), done()),
        (
            "a heading within the hunk",
            CLASSES,
            diff(&format!("@@ -3,3 +3,3 @@ class B:\n \n class B:\n{right}")),
            done(),
        ),
        ("numbers that went wrong are no anchor", CLASSES, diff(&format!("@@ -X,Y +X,Y @@\n{right}")), done()),
        ("dots are no anchor", CLASSES, diff(&format!("@@ ... @@\n{right}")), done()),
        ("a list item is one", Some(b"- a\nx\n- b\nx\n"), codex("@@ - b\n-x\n+y\n"), Is(b"- a\nx\n- b\ny\n")),
    ]);
}

#[test]
fn an_anchor_chooses_between_places() {
    let change = "-        go(1)\n+        go(2)\n";
    let text = String::from_utf8_lossy(TWINS.unwrap_or_default()).into_owned();
    let nth = |n: usize| {
        let at = text.match_indices("go(1)").nth(n).unwrap().0;
        format!("{}go(2){}", &text[..at], &text[at + 5..]).into_bytes()
    };
    let (first, third, fourth) = (nth(0), nth(2), nth(3));
    check(&[
        ("one anchor of two", TWINS, codex(&format!("@@ def run(self):\n{change}")), Refused(Ambiguous)),
        ("stacked", TWINS, codex(&format!("@@ class B:\n@@ def run(self):\n{change}")), Is(&third)),
        ("stacked, the last", TWINS, codex(&format!("@@ class B:\n@@     def stop(self):\n{change}")), Is(&fourth)),
        ("stacked, the first block", TWINS, codex(&format!("@@ class A:\n@@ def run(self):\n{change}")), Is(&first)),
        (
            "stacked in the wrong order",
            TWINS,
            codex(&format!("@@ def stop(self):\n@@ class A:\n{change}")),
            Refused(NotFound),
        ),
        ("two in the block", TWINS, codex(&format!("@@ class B:\n{change}")), Refused(Ambiguous)),
        ("the number decides", TWINS, diff(&format!("@@ -10 +10 @@ class B:\n{change}")), Is(&third)),
        ("the number is against it", TWINS, diff(&format!("@@ -3 +3 @@ class B:\n{change}")), Refused(Contradiction)),
        (
            "flat, directly after",
            Some(b"fn a\nx\nfn b\nx\nfn c\nx\n"),
            codex("@@ fn b\n-x\n+y\n"),
            Is(b"fn a\nx\nfn b\ny\nfn c\nx\n"),
        ),
        (
            "flat, not directly after",
            Some(b"fn a\nx\nfn b\nq\nx\nfn c\nx\n"),
            codex("@@ fn b\n-x\n+y\n"),
            Refused(Ambiguous),
        ),
        (
            "parameters on their own lines",
            Some(b"def f(\n    a,\n):\n    x\n\ndef g(\n    a,\n):\n    x\n"),
            codex("@@ def f(\n-    x\n+    y\n"),
            Is(b"def f(\n    a,\n):\n    y\n\ndef g(\n    a,\n):\n    x\n"),
        ),
        (
            "a brace on its own line",
            Some(b"f()\n{\n  x;\n}\ng()\n{\n  x;\n}\n"),
            codex("@@ f()\n-  x;\n+  y;\n"),
            Is(b"f()\n{\n  y;\n}\ng()\n{\n  x;\n}\n"),
        ),
    ]);
}

#[test]
fn the_end_of_the_file_is_the_end() {
    check(&[
        ("not the end", Some(b"x\ny\nz\n"), codex("@@\n-x\n+X\n*** End of File\n"), Refused(Contradiction)),
        ("the end", Some(b"x\ny\nz\n"), codex("@@\n-z\n+Z\n*** End of File\n"), Is(b"x\ny\nZ\n")),
        ("the last of two", Some(b"m\nq\nm\n"), codex("@@\n-m\n+M\n*** End of File\n"), Is(b"m\nq\nM\n")),
        ("blank lines behind", Some(b"m\nq\nm\n\n"), codex("@@\n-m\n+M\n*** End of File\n"), Is(b"m\nq\nM\n\n")),
        ("appended", Some(b"x\n"), codex("@@\n+y\n*** End of File\n"), Is(b"x\ny\n")),
    ]);
}

#[test]
fn lines_that_are_only_added_go_where_there_is_no_doubt() {
    check(&[
        ("the end", Some(b"x\ny\n"), codex("@@\n+z\n"), Is(b"x\ny\nz\n")),
        ("the end, and a change", Some(b"a\nb\nc\n"), codex("@@\n+d\n@@\n a\n-b\n+B\n"), Is(b"a\nB\nc\nd\n")),
        (
            "after a plain line",
            Some(b"use a;\nfn f() {}\n"),
            codex("@@ use a;\n+use b;\n"),
            Is(b"use a;\nuse b;\nfn f() {}\n"),
        ),
        ("into a block or behind it", CLASSES, codex("@@ class A:\n+    y = 1\n"), Refused(EmptySearch)),
        ("an anchor that is there twice", Some(b"x\nx\n"), codex("@@ x\n+y\n"), Refused(EmptySearch)),
        ("an anchor that is not there", CLASSES, codex("@@ class C:\n+    y = 1\n"), Refused(NotFound)),
        ("no codex patch", CLASSES, diff("@@\n+y\n"), Refused(EmptySearch)),
    ]);
}

#[test]
fn a_hunk_that_contradicts_itself_and_is_damaged_is_refused() {
    let file: Option<&[u8]> = Some(b"a\nb\nreturn n\n");
    check(&[
        ("an added line", file, diff("@@ -1,2 +1,4 @@\n a\n+xn+y\n b\n"), Refused(RunTogether)),
        ("both", file, diff("@@ -1,3 +1,3 @@\n a\n+xn-bn+y\n"), Refused(RunTogether)),
        ("the counts are right", file, diff("@@ -3,1 +3,1 @@\n-return n\n+return n+1\n"), Is(b"a\nb\nreturn n+1\n")),
        ("one count is wrong", file, diff("@@ -3,1 +3,7 @@\n-return n\n+return n+1\n"), Is(b"a\nb\nreturn n+1\n")),
        ("no sign of damage", file, diff("@@ -1,9 +1,9 @@\n a\n+x\n b\n"), Is(b"a\nx\nb\nreturn n\n")),
    ]);
}

#[test]
fn a_refusal_says_what_is_wrong_with_the_place() {
    let reason = |edit: Edit| apply(&edit, CLASSES).unwrap_err().reason;
    insta::assert_snapshot!(reason(codex("@@ class X\n-    x = 10\n+    x = 12\n")), @"The hunk has the anchor `class X`, which is not in src/x.rs. Give a whole line of the file behind @@, or none.");
    insta::assert_snapshot!(reason(codex("@@ class B:\n-    x = 10\n+    x = 12\n")), @"The hunk is for the lines after `class B:` (line 4), but fits at line 2 of src/x.rs. Give lines from the place that is meant.");
    insta::assert_snapshot!(reason(codex("@@\n-    x = 10\n+    x = 12\n*** End of File\n")), @"The hunk says `*** End of File`, but its lines are at line 2, before the end of src/x.rs. Give lines from the place that is meant.");
}
