//! Diffs: headers, numbers, places, hunks, creation and deletion, the final newline.

use super::*;
use RefusalKind::*;

const ABC: Option<&[u8]> = Some(b"a1\nb2\nc3\nd4\ne5\n");
/// The same three lines twice, at 1 and at 5.
const TWICE: Option<&[u8]> = Some(b"x\nfoo()\ny\n--\nx\nfoo()\ny\n");

#[test]
fn numbers_are_hints_and_the_old_side_decides() {
    let done = || Is(b"a1\nb2\nC\nd4\ne5\n");
    check(&[
        ("right", ABC, diff("--- a/src/x.rs\n+++ b/src/x.rs\n@@ -2,3 +2,3 @@\n b2\n-c3\n+C\n d4\n"), done()),
        ("wrong", ABC, diff("--- a/src/x.rs\n+++ b/src/x.rs\n@@ -90,7 +3,1 @@\n b2\n-c3\n+C\n d4\n"), done()),
        ("bare", ABC, diff("@@\n b2\n-c3\n+C\n"), done()),
        ("dots", ABC, diff("@@ ... @@\n-c3\n+C\n"), done()),
        ("section only", ABC, diff("@@ fn foo() @@\n-c3\n+C\n"), Refused(NotFound)),
        ("open section", ABC, diff("@@ fn foo() {\n-c3\n+C\n"), Refused(NotFound)),
        ("section behind", ABC, diff("@@ -3 +3 @@ fn foo() {\n-c3\n+C\n"), done()),
        ("no end of @@", ABC, diff("@@ -3,1 +3,1\n-c3\n+C\n"), done()),
        ("huge", ABC, diff("@@ -99999999999999999999,1 +3,1 @@\n-c3\n+C\n"), done()),
        ("no @@ at all", ABC, diff("--- a/src/x.rs\n+++ b/src/x.rs\n b2\n-c3\n+C\n"), done()),
        ("no header either", ABC, diff(" b2\n-c3\n+C\n d4\n"), done()),
        ("no newline at the diff's end", ABC, diff("@@\n b2\n-c3\n+C"), done()),
        ("blank lines around", ABC, diff("\n\n@@ -2,2 +2,2 @@\n b2\n-c3\n+C\n\n\n"), done()),
    ]);
}

#[test]
fn a_line_number_chooses_between_places_that_fit_and_nothing_else_does() {
    let body = " x\n-foo()\n+bar()\n y\n";
    check(&[
        ("second", TWICE, diff(&format!("@@ -5,3 +5,3 @@\n{body}")), Is(b"x\nfoo()\ny\n--\nx\nbar()\ny\n")),
        ("first", TWICE, diff(&format!("@@ -1,3 +1,3 @@\n{body}")), Is(b"x\nbar()\ny\n--\nx\nfoo()\ny\n")),
        ("near is not exact", TWICE, diff(&format!("@@ -4,3 +4,3 @@\n{body}")), Refused(Ambiguous)),
        ("none", TWICE, diff(&format!("@@\n{body}")), Refused(Ambiguous)),
        ("not found", TWICE, diff("@@ -1,3 +1,3 @@\n x\n-foo( )\n+bar()\n"), Refused(NotFound)),
    ]);
}

#[test]
fn lines_around_a_diff_are_not_of_it() {
    let done = || Is(b"a1\nB\nc3\nd4\ne5\n");
    let git = "diff --git a/src/x.rs b/src/x.rs\nindex 12ab..34cd 100644\n--- a/src/x.rs\n+++ b/src/x.rs\n@@ -1,2 +1,2 @@\n a1\n-b2\n+B\n";
    check(&[
        ("git", ABC, diff(git), done()),
        ("fence", ABC, diff(&format!("```diff\n{git}```\n")), done()),
        ("words and fence", ABC, diff(&format!("Here it is:\n\n```diff\n{git}```\nThat is all.\n")), done()),
        ("fence left open", ABC, diff(&format!("```\n{git}")), done()),
        ("fence only closed", ABC, diff(&format!("{git}```\n")), done()),
        ("two fences", ABC, diff(&format!("```diff\n{git}```\n```diff\n{git}```\n")), Refused(Malformed)),
        (
            "time",
            ABC,
            diff(
                "--- src/x.rs\t2024-01-01 10:00:00\n+++ src/x.rs\t2024-01-02 10:00:00.5 +0100\n@@ -2 +2 @@\n-b2\n+B\n",
            ),
            done(),
        ),
        (
            "time behind blanks",
            ABC,
            diff("--- src/x.rs 2024-01-01 10:00:00\n+++ src/x.rs 2024-01-02\n@@ -2 +2 @@\n-b2\n+B\n"),
            done(),
        ),
        (
            "mail",
            ABC,
            diff(&format!("From 1234\nSubject: x\n\n- why\n---\n src/x.rs | 2 +-\n\n{git}-- \n2.39.2\n\n")),
            done(),
        ),
        ("modes", ABC, diff(&git.replace("index", "old mode 100644\nnew mode 100755\nindex")), done()),
        (
            "svn",
            ABC,
            diff(
                "Index: src/x.rs\n=======\n--- src/x.rs\t(revision 1)\n+++ src/x.rs\t(working copy)\n@@ -2 +2 @@\n-b2\n+B\n",
            ),
            done(),
        ),
        ("svn of another", ABC, diff("Index: src/y.rs\n=======\n@@ -2 +2 @@\n-b2\n+B\n"), Refused(OtherPath)),
        (
            "other notation",
            ABC,
            diff("*** Begin Patch\n*** Update File: src/x.rs\n@@\n a1\n-b2\n+B\n*** End Patch\n"),
            done(),
        ),
        ("lone new name", ABC, diff("+++ b/src/x.rs\n@@ -2 +2 @@\n-b2\n+B\n"), done()),
        ("words only", ABC, diff("Please change b2 to B."), Refused(Malformed)),
        ("nothing", ABC, diff(""), Refused(Malformed)),
        ("a change that would get lost", ABC, diff("-a1\n+A\n@@ -2 +2 @@\n-b2\n+B\n"), Refused(Malformed)),
        ("merge", ABC, diff("@@@ -1,2 -1,2 +1,2 @@@\n  a1\n- b2\n++B\n"), Refused(Malformed)),
    ]);
}

#[test]
fn a_diff_of_another_file_is_refused() {
    let of = |old: &str, new: &str| diff(&format!("--- {old}\n+++ {new}\n@@ -2 +2 @@\n-b2\n+B\n"));
    let done = || Is(b"a1\nB\nc3\nd4\ne5\n");
    check(&[
        ("prefixes", ABC, of("a/src/x.rs", "b/src/x.rs"), done()),
        ("no prefixes", ABC, of("src/x.rs", "src/x.rs"), done()),
        ("dot", ABC, of("./src/x.rs", "./src/x.rs"), done()),
        ("quotes", ABC, of("\"a/src/x.rs\"", "\"b/src/x.rs\""), done()),
        ("absolute", ABC, of("/home/me/p/src/x.rs", "/home/me/p/src/x.rs"), done()),
        ("windows", ABC, of("a\\src\\x.rs", "b\\src\\x.rs"), done()),
        ("copy", ABC, of("src/x.rs.orig", "src/x.rs"), done()),
        ("no names", ABC, of("original", "modified"), done()),
        ("other", ABC, of("a/src/y.rs", "b/src/y.rs"), Refused(OtherPath)),
        ("other folder", ABC, of("a/lib/src/x.rs", "b/lib/src/x.rs"), Refused(OtherPath)),
        ("base name", ABC, of("a/x.rs", "b/x.rs"), Refused(OtherPath)),
        ("moved", ABC, of("a/src/y.rs", "b/src/x.rs"), Refused(OtherPath)),
        (
            "renamed",
            ABC,
            diff("diff --git a/src/y.rs b/src/x.rs\nrename from src/y.rs\nrename to src/x.rs\n"),
            Refused(SeveralFiles),
        ),
        (
            "several",
            ABC,
            diff(
                "--- a/src/x.rs\n+++ b/src/x.rs\n@@ -2 +2 @@\n-b2\n+B\n--- a/src/y.rs\n+++ b/src/y.rs\n@@ -1 +1 @@\n-q\n+r\n",
            ),
            Refused(SeveralFiles),
        ),
        (
            "the same twice",
            ABC,
            diff(
                "--- a/src/x.rs\n+++ b/src/x.rs\n@@ -2 +2 @@\n-b2\n+B\n--- a/src/x.rs\n+++ b/src/x.rs\n@@ -4 +4 @@\n-d4\n+D\n",
            ),
            Is(b"a1\nB\nc3\nD\ne5\n"),
        ),
    ]);
}

#[test]
fn hunks_may_come_in_any_order_but_not_overlap() {
    check(&[
        ("in order", ABC, diff("@@ -1 +1 @@\n-a1\n+A\n@@ -5 +5 @@\n-e5\n+E\n"), Is(b"A\nb2\nc3\nd4\nE\n")),
        ("out of order", ABC, diff("@@ -5 +5 @@\n-e5\n+E\n@@ -1 +1 @@\n-a1\n+A\n"), Is(b"A\nb2\nc3\nd4\nE\n")),
        ("touching", ABC, diff("@@\n a1\n-b2\n+B\n@@\n-c3\n+C\n d4\n"), Is(b"a1\nB\nC\nd4\ne5\n")),
        ("overlapping", ABC, diff("@@\n-b2\n+B\n c3\n@@\n c3\n-d4\n+D\n"), Refused(Overlap)),
        ("contradicting", ABC, diff("@@\n-b2\n+B\n@@\n-b2\n+Q\n"), Refused(Overlap)),
        ("repeated", ABC, diff("@@\n-b2\n+B\n@@\n-b2\n+B\n"), Refused(Overlap)),
        ("one does not fit", ABC, diff("@@\n-b2\n+B\n@@\n-zz\n+Z\n"), Refused(NotFound)),
        ("one changes nothing", ABC, diff("@@\n a1\n b2\n@@\n-b2\n+B\n"), Is(b"a1\nB\nc3\nd4\ne5\n")),
        ("one changes nothing and does not fit", ABC, diff("@@\n zz\n@@\n-b2\n+B\n"), Refused(NotFound)),
        ("the second was made after the first", ABC, diff("@@\n-b2\n+B\n@@\n B\n-c3\n+C\n"), Refused(NotFound)),
    ]);
}

#[test]
fn an_insertion_without_context_needs_an_exact_number() {
    let header = "--- a/src/x.rs\n+++ b/src/x.rs\n";
    check(&[
        ("number", ABC, diff("@@ -2,0 +3,1 @@\n+new\n"), Is(b"a1\nb2\nnew\nc3\nd4\ne5\n")),
        ("end", ABC, diff("@@ -5,0 +6 @@\n+new\n"), Is(b"a1\nb2\nc3\nd4\ne5\nnew\n")),
        ("top", ABC, diff(&format!("{header}@@ -0,0 +1,1 @@\n+new\n")), Is(b"new\na1\nb2\nc3\nd4\ne5\n")),
        ("top or a new file", ABC, diff("@@ -0,0 +1,1 @@\n+new\n"), Refused(EmptySearch)),
        ("numbers at odds", ABC, diff("@@ -2,0 +9,1 @@\n+new\n"), Refused(EmptySearch)),
        ("count that is not there", ABC, diff("@@ -2,3 +2,4 @@\n+new\n"), Refused(EmptySearch)),
        ("behind the end", ABC, diff("@@ -9,0 +10,1 @@\n+new\n"), Refused(EmptySearch)),
        ("no number", ABC, diff("@@\n+new\n"), Refused(EmptySearch)),
        ("empty file", Some(b""), diff("@@\n+new\n"), Is(b"new\n")),
        ("empty file, any number", Some(b""), diff("@@ -3,4 +3,5 @@\n+new\n"), Is(b"new\n")),
        ("-U0 of two", ABC, diff("@@ -1,0 +2,2 @@\n+p\n+q\n@@ -3,0 +6 @@\n+r\n"), Is(b"a1\np\nq\nb2\nc3\nr\nd4\ne5\n")),
    ]);
}

#[test]
fn files_are_created_and_deleted_only_if_that_is_what_the_diff_knows() {
    let new = "--- /dev/null\n+++ b/src/x.rs\n@@ -0,0 +1,2 @@\n+a\n+b\n";
    let gone = "diff --git a/src/x.rs b/src/x.rs\ndeleted file mode 100644\n--- a/src/x.rs\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n";
    check(&[
        ("new", None, diff(new), Is(b"a\nb\n")),
        ("new without newline", None, diff(&format!("{new}\\ No newline at end of file\n")), Is(b"a\nb")),
        (
            "new, a blank line without its plus",
            None,
            diff("--- /dev/null\n+++ b/src/x.rs\n@@ -0,0 +1,3 @@\n+a\n\n+b\n"),
            Is(b"a\n\nb\n"),
        ),
        (
            "new, with context",
            None,
            diff("--- /dev/null\n+++ b/src/x.rs\n@@ -0,0 +1,3 @@\n+a\n c\n+b\n"),
            Refused(Missing),
        ),
        ("new without header", None, diff("@@ -0,0 +1 @@\n+a\n"), Is(b"a\n")),
        ("new and empty", None, diff("diff --git a/src/x.rs b/src/x.rs\nnew file mode 100644\nindex 0..0\n"), Is(b"")),
        ("new but there", Some(b"q\n"), diff(new), Refused(Exists)),
        ("new but there and empty", Some(b""), diff(new), Refused(Exists)),
        ("change of none", None, diff("@@\n a\n+b\n"), Refused(Missing)),
        ("gone", Some(b"a\nb\n"), diff(gone), Gone),
        ("gone without newline", Some(b"a\nb"), diff(gone), Gone),
        ("gone with CRLF", Some(b"a\r\nb\r\n"), diff(gone), Gone),
        ("gone but longer", Some(b"a\nb\nc\n"), diff(gone), Refused(Differs)),
        ("gone but other", Some(b"a\nx\n"), diff(gone), Refused(Differs)),
        ("gone but never there", None, diff(gone), Refused(Missing)),
        ("gone and empty", Some(b""), diff("diff --git a/src/x.rs b/src/x.rs\ndeleted file mode 100644\n"), Gone),
        ("emptied", Some(b"a\nb\n"), diff("@@ -1,2 +0,0 @@\n-a\n-b\n"), Is(b"")),
    ]);
}

#[test]
fn the_final_newline_stays_unless_the_diff_says_otherwise() {
    const NO: &str = "\\ No newline at end of file\n";
    check(&[
        ("kept", Some(b"a\nb\n"), diff("@@\n a\n-b\n+c\n"), Is(b"a\nc\n")),
        ("kept away", Some(b"a\nb"), diff("@@\n a\n-b\n+c\n"), Is(b"a\nc")),
        ("appended, kept away", Some(b"a\nb"), diff("@@\n a\n b\n+c\n"), Is(b"a\nb\nc")),
        ("added", Some(b"a\nb"), diff(&format!("@@\n a\n-b\n{NO}+c\n")), Is(b"a\nc\n")),
        ("only added", Some(b"a\nb"), diff(&format!("@@\n a\n-b\n{NO}+b\n")), Is(b"a\nb\n")),
        ("removed", Some(b"a\nb\n"), diff(&format!("@@\n a\n-b\n+c\n{NO}")), Is(b"a\nc")),
        ("both without", Some(b"a\nb"), diff(&format!("@@\n a\n-b\n{NO}+c\n{NO}")), Is(b"a\nc")),
        ("context without", Some(b"a\nb"), diff(&format!("@@\n-a\n+c\n b\n{NO}")), Is(b"c\nb")),
        ("not the end", Some(b"a\nb\nc\n"), diff(&format!("@@\n a\n-b\n+q\n{NO}")), Is(b"a\nq\nc\n")),
        ("tail removed", Some(b"a\nb"), diff(&format!("@@\n a\n-b\n{NO}")), Is(b"a\n")),
        ("the end is named", Some(b"b\na\nb"), diff(&format!("@@\n-b\n{NO}+c\n{NO}")), Is(b"b\na\nc")),
    ]);
}

#[test]
fn context_lines_may_lack_their_blank_if_only_one_place_fits() {
    let file: Option<&[u8]> = Some(b"def f():\n    a = 1\n    b = 2\n    c = 3\n");
    check(&[
        (
            "all",
            file,
            diff("@@\ndef f():\n    a = 1\n-    b = 2\n+    b = 9\n    c = 3\n"),
            Is(b"def f():\n    a = 1\n    b = 9\n    c = 3\n"),
        ),
        (
            "indented ones",
            file,
            diff("@@\n    a = 1\n-    b = 2\n+    b = 9\n    c = 3\n"),
            Is(b"def f():\n    a = 1\n    b = 9\n    c = 3\n"),
        ),
        (
            "one",
            file,
            diff("@@\n     a = 1\n-    b = 2\n+    b = 9\n    c = 3\n"),
            Is(b"def f():\n    a = 1\n    b = 9\n    c = 3\n"),
        ),
        (
            "an insertion keeps its own",
            file,
            diff("@@\n    a = 1\n+    x = 0\n    b = 2\n"),
            Is(b"def f():\n    a = 1\n    x = 0\n    b = 2\n    c = 3\n"),
        ),
        (
            "a plus that is missing",
            file,
            diff("@@ -1,2 +1,3 @@\ndef f():\n+    x = 0\n    a = 1\n    y = 0\n"),
            Refused(NotFound),
        ),
        ("counts against it", Some(b"p {\n}\n}\n"), diff("@@ -1,2 +1,4 @@\n p {\n+  q {\n}\n }\n"), Refused(Malformed)),
        ("empty context", Some(b"a\n\nb\n"), diff("@@\n a\n\n-b\n+c\n"), Is(b"a\n\nc\n")),
        ("empty context, blank file line", Some(b"a\n  \nb\n"), diff("@@\n a\n\n-b\n+c\n"), Is(b"a\n  \nc\n")),
    ]);
}

#[test]
fn what_changes_nothing_or_is_there_already_is_refused() {
    check(&[
        ("context only", ABC, diff("@@\n a1\n b2\n"), Refused(NoChange)),
        ("the same line", ABC, diff("@@\n-b2\n+b2\n"), Refused(NoChange)),
        ("line ends only", Some(b"a\r\nb\r\n"), diff("@@\n-a\r\n+a\n b\r\n"), Refused(NoChange)),
        ("applied", ABC, diff("@@\n a1\n-old\n+b2\n c3\n"), Refused(AlreadyApplied)),
        ("inserted", ABC, diff("@@\n a1\n+b2\n c3\n"), Refused(AlreadyApplied)),
        ("appended", ABC, diff("@@\n d4\n+e5\n"), Refused(AlreadyApplied)),
        ("put in front", ABC, diff("@@\n+a1\n b2\n"), Refused(AlreadyApplied)),
        ("a brace more is fine", Some(b"x {\n}\n"), diff("@@\n x {\n+}\n }\n"), Is(b"x {\n}\n}\n")),
    ]);
}

#[test]
fn lines_run_together_are_refused() {
    check(&[
        ("removed and added", ABC, diff("@@\n a1\n-b2+B\n c3\n"), Refused(RunTogether)),
        ("context and removed", ABC, diff("@@\n a1-b2\n+B\n c3\n"), Refused(RunTogether)),
        ("added and removed", Some(b"f(1);\ng();\n"), diff("@@\n f(1);\n+f(2);-g();\n"), Refused(RunTogether)),
        ("on the header", ABC, diff("@@ -2 +2 @@-b2\n+B\n"), Refused(RunTogether)),
        ("commented out", Some(b"  x = 1\ny\n"), diff("@@\n-  x = 1\n+--  x = 1\n y\n"), Is(b"--  x = 1\ny\n")),
        ("a sum is a sum", Some(b"a+b\nc\n"), diff("@@\n-a+b\n+a-b\n c\n"), Is(b"a-b\nc\n")),
    ]);
}

#[test]
fn lines_that_look_like_headers_are_content_within_a_hunk() {
    let sql: Option<&[u8]> = Some(b"-- old\nselect 1;\n");
    check(&[
        ("comment", sql, diff("@@ -1,2 +1,2 @@\n--- old\n+-- new\n select 1;\n"), Is(b"-- new\nselect 1;\n")),
        ("comment without @@", sql, diff("--- old\n+-- new\n select 1;\n"), Is(b"-- new\nselect 1;\n")),
        ("pair", sql, diff("@@ -1,2 +1,2 @@\n--- old\n+++ new\n select 1;\n"), Is(b"++ new\nselect 1;\n")),
    ]);
}

#[test]
fn a_refusal_says_what_to_do() {
    let reason =
        |edit: Edit| apply(&edit, Some(b"fn a() {\n    one();\n}\nfn b() {\n    two();\n}\n")).unwrap_err().reason;
    insta::assert_snapshot!(reason(diff("@@\n fn b() {\n-    tow();\n+    three();\n }\n")), @"The hunk does not occur in src/x.rs. The nearest place is line 4, where 2 of 3 lines agree: line 5 is `    two();` and not `    tow();`.");
    insta::assert_snapshot!(reason(diff("@@\n-}\n+};\n")), @"The hunk fits at lines 3 and 6 of src/x.rs: add more context, or the right line number.");
    insta::assert_snapshot!(reason(blocks(&[("    one(1);", "    one(2);")])), @"The search text does not occur in src/x.rs. The nearest place is line 2, where 0 of 1 lines agree: line 2 is `    one();` and not `    one(1);`.");
    insta::assert_snapshot!(reason(blocks(&[("nothing of it", "q")])), @"The search text does not fit: none of its lines is in src/x.rs, which has 6 lines. Read the file again.");
}

#[test]
fn realistic_diffs_of_models_apply() {
    let py: Option<&[u8]> = Some(b"import os\n\n\ndef load(path):\n    with open(path) as f:\n        return f.read()\n\n\ndef save(path, text):\n    with open(path, 'w') as f:\n        f.write(text)\n");
    let done = || {
        Is(b"import os\n\n\ndef load(path):\n    with open(path) as f:\n        return f.read()\n\n\ndef save(path, text):\n    with open(path, 'w', encoding='utf-8') as f:\n        f.write(text)\n")
    };
    let of = |text: &str| diff_of("src/io.py", text);
    check(&[
        ("numbers off, counts wrong", py, of("--- a/src/io.py\n+++ b/src/io.py\n@@ -12,9 +12,4 @@ def save\n def save(path, text):\n-    with open(path, 'w') as f:\n+    with open(path, 'w', encoding='utf-8') as f:\n         f.write(text)\n"), done()),
        ("blank context given as empty", py, of("@@ -7,5 +7,5 @@\n\n\n def save(path, text):\n-    with open(path, 'w') as f:\n+    with open(path, 'w', encoding='utf-8') as f:\n"), done()),
        ("dedented", py, of("@@\n-with open(path, 'w') as f:\n+with open(path, 'w', encoding='utf-8') as f:\n     f.write(text)\n"), done()),
        ("a stub", py, of("@@\n def save(path, text):\n-    with open(path, 'w') as f:\n-        f.write(text)\n+    ...\n"), Is(b"import os\n\n\ndef load(path):\n    with open(path) as f:\n        return f.read()\n\n\ndef save(path, text):\n    ...\n")),
        ("context left out in the middle", py, of("@@\n import os\n def load(path):\n         return f.read()\n+\n"), Refused(NotFound)),
        ("context of another version", py, of("@@\n def save(path, data):\n-    with open(path, 'w') as f:\n+    pass\n"), Refused(NotFound)),
    ]);
}
