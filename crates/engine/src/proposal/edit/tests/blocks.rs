//! Search blocks.

use super::*;
use RefusalKind::*;

const ABC: Option<&[u8]> = Some(b"a1\nb2\nc3\n");

#[test]
fn blocks_are_whole_lines_applied_in_order() {
    check(&[
        ("one", ABC, blocks(&[("b2", "B")]), Is(b"a1\nB\nc3\n")),
        ("newlines at the ends do not matter", ABC, blocks(&[("b2\n", "B")]), Is(b"a1\nB\nc3\n")),
        ("part of a line", ABC, blocks(&[("b", "B")]), Refused(NotFound)),
        ("the end of a line", Some(b"let x = 1;\n"), blocks(&[("x = 1;", "x = 2;")]), Refused(NotFound)),
        ("removed", ABC, blocks(&[("b2\n", "")]), Is(b"a1\nc3\n")),
        ("emptied line", ABC, blocks(&[("b2\n", "\n")]), Is(b"a1\n\nc3\n")),
        ("on the result of the first", ABC, blocks(&[("b2", "B\nC"), ("C\nc3", "D")]), Is(b"a1\nB\nD\n")),
        ("second does not fit any more", ABC, blocks(&[("b2", "B"), ("b2", "C")]), Refused(NotFound)),
        ("twice there", Some(b"x\ny\nx\n"), blocks(&[("x", "z")]), Refused(Ambiguous)),
        ("twice there, one after the other", Some(b"x\ny\nx\n"), blocks(&[("x\ny", "z"), ("x", "w")]), Is(b"z\nw\n")),
        ("all of it", ABC, blocks(&[("a1\nb2\nc3\n", "")]), Is(b"")),
        ("last line, no newline", Some(b"a\nb"), blocks(&[("b\n", "c\n")]), Is(b"a\nc")),
        ("longer than the file", Some(b"a\n"), blocks(&[("a\nb", "c")]), Refused(NotFound)),
    ]);
}

/// A file that has been corrected already.
const SUM: Option<&[u8]> = Some(b"def add(a, b):\n    return a + b\n");

#[test]
fn blocks_that_say_nothing_are_refused() {
    check(&[
        ("empty", ABC, blocks(&[("", "x")]), Refused(EmptySearch)),
        ("blank", ABC, blocks(&[("  \n\n", "x")]), Refused(EmptySearch)),
        ("none", ABC, blocks(&[]), Refused(NoChange)),
        ("same", ABC, blocks(&[("b2", "b2")]), Refused(NoChange)),
        ("there and back", ABC, blocks(&[("b2", "B"), ("B", "b2")]), Refused(NoChange)),
        ("same among others", ABC, blocks(&[("a1", "a1"), ("b2", "B")]), Is(b"a1\nB\nc3\n")),
        ("no file", None, blocks(&[("b2", "B")]), Refused(Missing)),
        ("empty search, no file", None, blocks(&[("", "B")]), Refused(Missing)),
        ("done", ABC, blocks(&[("a1", "a1\nb2")]), Refused(AlreadyApplied)),
        ("replaced", SUM, blocks(&[("    return a - b", "    return a + b")]), Refused(AlreadyApplied)),
        ("removed, which nobody can tell", SUM, blocks(&[("    print(a)", "")]), Refused(NotFound)),
        ("too little to tell", SUM, blocks(&[("x = 1", "a, b")]), Refused(NotFound)),
        (
            "one is replaced, the other is not",
            SUM,
            blocks(&[("    return a - b", "    return a + b"), ("def add", "def total")]),
            Refused(PartlyApplied),
        ),
        (
            "the other way round",
            SUM,
            blocks(&[("def add(a, b):", "def total(a, b):"), ("    return a - b", "    return a + b")]),
            Refused(PartlyApplied),
        ),
    ]);
}
