//! The file's own style wins: line ends, white space at line ends, tabs, indentation.

use super::*;
use RefusalKind::*;

#[test]
fn line_ends_are_the_files() {
    check(&[
        ("LF diff, CRLF file", Some(b"a\r\nb\r\nc\r\n"), diff("@@\n a\n-b\n+x\n+y\n c\n"), Is(b"a\r\nx\r\ny\r\nc\r\n")),
        (
            "CRLF diff, LF file",
            Some(b"a\nb\nc\n"),
            diff("@@ -1,3 +1,3 @@\r\n a\r\n-b\r\n+x\r\n c\r\n"),
            Is(b"a\nx\nc\n"),
        ),
        ("mixed, replaced", Some(b"a\r\nb\nc\r\nd\n"), diff("@@\n-b\n+x\n"), Is(b"a\r\nx\nc\r\nd\n")),
        ("mixed, replaced CRLF", Some(b"a\r\nb\nc\r\nd\n"), diff("@@\n-c\n+x\n"), Is(b"a\r\nb\nx\r\nd\n")),
        (
            "mixed, between CRLF",
            Some(b"a\nb\r\nc\r\nd\ne\n"),
            diff("@@\n b\n+x\n c\n"),
            Is(b"a\nb\r\nx\r\nc\r\nd\ne\n"),
        ),
        ("mixed, at the border", Some(b"a\nb\r\nc\nd\n"), diff("@@\n b\n+x\n c\n"), Is(b"a\nb\r\nx\nc\nd\n")),
        ("CRLF without final newline", Some(b"a\r\nb"), diff("@@\n b\n+c\n"), Is(b"a\r\nb\r\nc")),
        ("blocks", Some(b"a\r\nb\r\n"), blocks(&[("a\nb\n", "a\nx\ny\n")]), Is(b"a\r\nx\r\ny\r\n")),
        ("CRLF block, LF file", Some(b"a\nb\n"), blocks(&[("a\r\nb\r\n", "a\r\nx\r\n")]), Is(b"a\nx\n")),
        (
            "new file of a git diff with CRLF",
            None,
            diff("--- /dev/null\n+++ b/src/x.rs\n@@ -0,0 +1,2 @@\n+a\r\n+b\r\n"),
            Is(b"a\r\nb\r\n"),
        ),
        (
            "new file of a converted diff",
            None,
            diff("--- /dev/null\r\n+++ b/src/x.rs\r\n@@ -0,0 +1,2 @@\r\n+a\r\n+b\r\n"),
            Is(b"a\nb\n"),
        ),
    ]);
}

#[test]
fn white_space_at_line_ends_may_differ_and_is_not_rewritten() {
    check(&[
        ("in the file", Some(b"a  \nb\nc\t\n"), diff("@@\n a\n-b\n+x\n c\n"), Is(b"a  \nx\nc\t\n")),
        ("in the diff", Some(b"a\nb\nc\n"), diff("@@\n a  \n-b \n+x\n c\n"), Is(b"a\nx\nc\n")),
        ("exact before loose", Some(b"a \na\n"), diff("@@\n-a\n+x\n"), Is(b"a \nx\n")),
        ("two loose places", Some(b"a \na  \n"), diff("@@\n-a\n+x\n"), Refused(Ambiguous)),
        ("two loose places, one named", Some(b"a \na  \n"), diff("@@ -2 +2 @@\n-a\n+x\n"), Is(b"a \nx\n")),
        ("removing it", Some(b"a  \n"), diff("@@\n-a  \n+a\n"), Is(b"a\n")),
        ("removed already", Some(b"a\n"), diff("@@\n-a  \n+a\n"), Refused(AlreadyApplied)),
        ("in blocks", Some(b"a  \nb\nc  \n"), blocks(&[("a\nb\nc", "a\nx\nc")]), Is(b"a  \nx\nc  \n")),
        ("in the middle of a line it counts", Some(b"a  b\n"), diff("@@\n-a b\n+x\n"), Refused(NotFound)),
    ]);
}

#[test]
fn tabs_may_stand_for_blanks_and_added_lines_follow_the_file() {
    let go: Option<&[u8]> = Some(b"func f() {\n\tif x {\n\t\ta()\n\t}\n}\n");
    check(&[
        (
            "four",
            go,
            diff(
                "@@\n func f() {\n     if x {\n-        a()\n+        b()\n+        if y {\n+            c()\n+        }\n     }\n",
            ),
            Is(b"func f() {\n\tif x {\n\t\tb()\n\t\tif y {\n\t\t\tc()\n\t\t}\n\t}\n}\n"),
        ),
        ("two", go, diff("@@\n   if x {\n-    a()\n+    b()\n   }\n"), Is(b"func f() {\n\tif x {\n\t\tb()\n\t}\n}\n")),
        (
            "one level seen",
            go,
            diff("@@\n-        a()\n+        b()\n"),
            Is(b"func f() {\n\tif x {\n\t\tb()\n\t}\n}\n"),
        ),
        (
            "one level seen, deeper added",
            Some(b"\ta()\n"),
            diff("@@\n-    a()\n+    if x {\n+        a()\n+    }\n"),
            Is(b"\tif x {\n\t\ta()\n\t}\n"),
        ),
        (
            "unit in doubt",
            Some(b"\t\ta()\n"),
            diff("@@\n-    a()\n+    if x {\n+        a()\n+    }\n"),
            Refused(Indentation),
        ),
        (
            "tabs in the diff",
            Some(b"def f():\n    a\n"),
            diff_of("x.py", "@@\n def f():\n-\ta\n+\tb\n+\tif c:\n+\t\td\n"),
            Is(b"def f():\n    b\n    if c:\n        d\n"),
        ),
        ("no width for it", Some(b"a {\n\tb\n}\n"), diff("@@\n-    b\n+    c\n+      d\n"), Refused(Indentation)),
        (
            "inside lines",
            Some(b"A\tint\nB\tint\n"),
            diff("@@\n A    int\n-B    int\n+B    str\n"),
            Is(b"A\tint\nB\tstr\n"),
        ),
        (
            "inside lines, unknown run",
            Some(b"A\tint\nB\tint\n"),
            diff("@@\n A    int\n-B    int\n+BB   str\n"),
            Refused(Indentation),
        ),
    ]);
}

#[test]
fn one_uniform_offset_is_allowed_and_applies_to_added_lines() {
    let py: Option<&[u8]> =
        Some(b"class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n");
    check(&[
        (
            "dedented",
            py,
            blocks(&[("def f(self):\n    return 1\n", "def f(self):\n    x = 1\n    return x\n")]),
            Is(b"class A:\n    def f(self):\n        x = 1\n        return x\n\n    def g(self):\n        return 2\n"),
        ),
        (
            "too deep",
            py,
            blocks(&[("        def f(self):\n            return 1\n", "        def f(self):\n            return 3\n")]),
            Is(b"class A:\n    def f(self):\n        return 3\n\n    def g(self):\n        return 2\n"),
        ),
        ("not uniform", py, blocks(&[("def f(self):\n  return 1\n", "def f(self):\n  return 3\n")]), Refused(NotFound)),
        (
            "first line only",
            py,
            blocks(&[("def f(self):\n        return 1\n", "def f(self):\n        return 3\n")]),
            Refused(NotFound),
        ),
        (
            "blank lines do not count",
            py,
            blocks(&[("    return 1\n\ndef g(self):", "    return 7\n\ndef g(self):")]),
            Is(b"class A:\n    def f(self):\n        return 7\n\n    def g(self):\n        return 2\n"),
        ),
        (
            "less than the offset",
            py,
            blocks(&[("        def f(self):\n            return 1\n", "    def f(self):\n        return 3\n")]),
            Refused(Indentation),
        ),
        ("dedented on one side only", py, blocks(&[("return 1", "        return 5")]), Refused(Indentation)),
        ("blanks below tabs", Some(b"\ta()\n"), blocks(&[("a()", "if x {\n    a()\n}")]), Refused(Indentation)),
        ("tabs below tabs", Some(b"\ta()\n"), blocks(&[("a()", "if x {\n\ta()\n}")]), Is(b"\tif x {\n\t\ta()\n\t}\n")),
        (
            "diff",
            py,
            diff_of("a.py", "@@\n def f(self):\n-    return 1\n+    return 4\n"),
            Is(b"class A:\n    def f(self):\n        return 4\n\n    def g(self):\n        return 2\n"),
        ),
        ("marker in doubt", Some(b"  a\n  b\n"), diff("@@\n    a\n+   x\n    b\n"), Refused(NotFound)),
        ("two places", Some(b"  a\n    a\n"), blocks(&[("a", "b")]), Refused(Ambiguous)),
    ]);
}
