//! Search blocks that are not whole lines, that have line numbers, or whose blank lines differ.

use super::*;
use RefusalKind::*;

#[test]
fn a_part_of_a_line_is_replaced_if_it_occurs_once() {
    let file: Option<&[u8]> = Some(b"say hello world\nlet x = compute(1);\n");
    check(&[
        ("inside", file, blocks(&[("hello world", "bye")]), Is(b"say bye\nlet x = compute(1);\n")),
        ("the beginning", file, blocks(&[("let x = c", "let y = c")]), Is(b"say hello world\nlet y = compute(1);\n")),
        ("removed", file, blocks(&[(" = compute(1)", "")]), Is(b"say hello world\nlet x;\n")),
        (
            "two lines instead",
            file,
            blocks(&[("compute(1);", "a();\nb();")]),
            Is(b"say hello world\nlet x = a();\nb();\n"),
        ),
        ("a line end too many", file, blocks(&[("compute(1);", "b();\n")]), Is(b"say hello world\nlet x = b();\n")),
        (
            "what looks like a number",
            Some(b"at 10: meeting\n"),
            blocks(&[("10: meeting", "11: lunch")]),
            Is(b"at 11: lunch\n"),
        ),
        ("too short", file, blocks(&[("hello", "bye")]), Refused(NotFound)),
        ("eight", file, blocks(&[("hello wo", "bye wo")]), Is(b"say bye world\nlet x = compute(1);\n")),
        ("twice", Some(b"a compute(1)\nb compute(1)\n"), blocks(&[("compute(1)", "c")]), Refused(Ambiguous)),
        ("twice in one line", Some(b"a compute(1), compute(1)\n"), blocks(&[("compute(1)", "c")]), Refused(Ambiguous)),
        ("overlapping", Some(b"xababababab\n"), blocks(&[("abababab", "c")]), Refused(Ambiguous)),
        ("across a line end", file, blocks(&[("hello world\nlet x", "y")]), Refused(NotFound)),
        ("with its line end", file, blocks(&[("compute(1);\n", "y\n")]), Refused(NotFound)),
        ("done", Some(b"f(compute(1, 2));\n"), blocks(&[("compute(1", "compute(1, 2")]), Refused(AlreadyApplied)),
        ("CRLF", Some(b"ab compute(1)\r\nc\r\n"), blocks(&[("compute(1)", "x\ny")]), Is(b"ab x\r\ny\r\nc\r\n")),
        ("no newline at the end", Some(b"a\nab compute(1)"), blocks(&[("compute(1)", "x")]), Is(b"a\nab x")),
        (
            "a whole line comes first",
            Some(b"compute(1)\nx compute(1)\n"),
            blocks(&[("compute(1)", "c")]),
            Is(b"c\nx compute(1)\n"),
        ),
        ("elided", file, blocks(&[("compute(1);", "// ... existing code ...\n")]), Refused(Placeholder)),
    ]);
}

#[test]
fn copied_line_numbers_are_taken_off() {
    let file: Option<&[u8]> = Some(b"fn a() {\n    one();\n}\n\nfn b() {\n    two();\n}\n");
    let done = || Is(b"fn a() {\n    one();\n}\n\nfn b() {\n    three();\n}\n");
    for separator in ["\t", " | ", "→", ": "] {
        let numbered = |first: usize, lines: &[&str]| -> String {
            let lines = lines.iter().enumerate().map(|(n, line)| format!("{}{separator}{line}\n", first + n));
            lines.collect()
        };
        let old = numbered(5, &["fn b() {", "    two();", "}"]);
        let new = numbered(5, &["fn b() {", "    three();", "}"]);
        let gap = numbered(3, &["}", "", "fn b() {", "    two();"]);
        let gap_new = numbered(3, &["}", "", "fn b() {", "    three();"]);
        check(&[
            ("both", file, blocks(&[(&old, &new)]), done()),
            ("the search only", file, blocks(&[(&old, "fn b() {\n    three();\n}\n")]), done()),
            ("a blank line", file, blocks(&[(&gap, &gap_new)]), done()),
            (
                "the number chooses",
                file,
                blocks(&[(&numbered(7, &["}"]), "};\n")]),
                Is(b"fn a() {\n    one();\n}\n\nfn b() {\n    two();\n};\n"),
            ),
            ("not consecutive", file, blocks(&[(&old.replace('6', "9"), &new)]), Refused(NotFound)),
            ("some of the replacement", file, blocks(&[(&old, &format!("{new}fn c() {{}}\n"))]), Refused(Malformed)),
            ("not there", file, blocks(&[(&numbered(2, &["    zero();"]), "    q();\n")]), Refused(NotFound)),
        ]);
        let own = numbered(1, &["red", "green"]);
        let text = format!("{}red\ngreen\n", numbered(7, &["blue"]));
        check(&[("the file's own numbers", Some(text.as_bytes()), blocks(&[(&own, "x\n")]), Refused(NotFound))]);
    }
    let padded = "   5 | fn b() {\n   6 |     two();\n";
    check(&[("padded", file, blocks(&[(padded, "fn b() {\n    three();\n")]), done())]);
}

#[test]
fn blank_lines_of_the_context_may_differ() {
    let file: Option<&[u8]> = Some(b"a\n\nb\nc\n");
    check(&[
        ("lacking", file, diff("@@\n a\n b\n-c\n+C\n"), Is(b"a\n\nb\nC\n")),
        ("lacking before the change", file, diff("@@\n a\n-b\n+B\n c\n"), Is(b"a\n\nB\nc\n")),
        ("lacking behind the change", file, diff("@@\n-a\n+A\n b\n"), Is(b"A\n\nb\nc\n")),
        ("additional", file, diff("@@\n \n a\n \n \n b\n \n-c\n+C\n"), Is(b"a\n\nb\nC\n")),
        ("behind the end", Some(b"a\nb\n"), diff("@@\n a\n-b\n+B\n \n \n"), Is(b"a\nB\n")),
        ("an addition on either side", file, diff("@@\n a\n+x\n b\n"), Refused(NotFound)),
        ("an addition where the file has none", Some(b"a\nb\n"), diff("@@\n a\n \n+x\n b\n"), Is(b"a\nx\nb\n")),
        ("between removed lines", file, diff("@@\n-a\n-b\n+x\n"), Refused(NotFound)),
        ("a removed blank line", Some(b"a\nb\n"), diff("@@\n a\n-\n-b\n"), Refused(AlreadyApplied)),
        ("two places", Some(b"a\n\nb\na\n\n\nb\n"), diff("@@\n a\n-b\n+B\n"), Refused(NotFound)),
        ("exactly one, loosely two", Some(b"a\n\nb\na\nb\n"), diff("@@\n a\n-b\n+B\n"), Is(b"a\n\nb\na\nB\n")),
        ("a block", file, blocks(&[("a\nb\nc", "a\nb\nC")]), Is(b"a\n\nb\nC\n")),
        ("a block that replaces all", file, blocks(&[("a\nb\nc", "x\ny")]), Refused(NotFound)),
        ("a block, additional", Some(b"a\nb\nc\n"), blocks(&[("a\n\nb\nc", "a\n\nb\nC")]), Is(b"a\nb\nC\n")),
    ]);
}

#[test]
fn a_refusal_says_how_to_give_the_lines() {
    let file: &[u8] = b"let x = compute(1);\nlet y = compute(1);\n";
    let reason = |edit: Edit| apply(&edit, Some(file)).unwrap_err().reason;
    insta::assert_snapshot!(reason(blocks(&[("x = ", "z = ")])), @"The search text is only a part of line 1 of src/x.rs. Give whole lines, or at least 8 characters of one.");
    insta::assert_snapshot!(reason(blocks(&[("compute(1)", "z")])), @"The search text is only a part of a line, and occurs 2 times in src/x.rs (lines 1, 2). Give whole lines.");
    insta::assert_snapshot!(reason(blocks(&[("7\tlet z = 1;\n8\tlet q;", "z")])), @"The search text does not fit: none of its lines is in src/x.rs, which has 2 lines. Read the file again. Give the lines without the line numbers.");
}
