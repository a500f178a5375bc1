//! Whole files.

use super::*;
use RefusalKind::*;

#[test]
fn a_whole_file_keeps_the_style_of_the_one_it_replaces() {
    check(&[
        ("new", None, whole("a\r\nb"), Is(b"a\r\nb")),
        ("new and empty", None, whole(""), Is(b"")),
        ("LF", Some(b"a\n"), whole("b\n"), Is(b"b\n")),
        ("CRLF", Some(b"a\r\nb\r\n"), whole("a\nc\n"), Is(b"a\r\nc\r\n")),
        ("CRLF content", Some(b"a\nb\n"), whole("a\r\nc\r\n"), Is(b"a\nc\n")),
        ("mark kept", Some(b"\xEF\xBB\xBFa\n"), whole("b\n"), Is(b"\xEF\xBB\xBFb\n")),
        ("mark not added", Some(b"a\n"), whole("\u{feff}b\n"), Is(b"b\n")),
        ("mixed", Some(b"a\r\nb\nc\r\nd\r\n"), whole("a\nq\nb\nc\nd\n"), Is(b"a\r\nq\r\nb\nc\r\nd\r\n")),
        ("final newline as given", Some(b"a\n"), whole("b"), Is(b"b")),
        ("final newline added", Some(b"a"), whole("a\n"), Is(b"a\n")),
        ("same", Some(b"a\r\n"), whole("a\n"), Refused(NoChange)),
        ("same and empty", Some(b""), whole(""), Refused(NoChange)),
        ("emptied", Some(b"a\n"), whole(""), Is(b"")),
        ("left out", Some(b"a\nb\n"), whole("a\n// ... existing code ...\n"), Refused(Placeholder)),
        ("left out of a new one", None, whole("a\n# rest unchanged\n"), Refused(Placeholder)),
        ("was so before", Some(b"a\n// ...\n"), whole("b\n// ...\n"), Is(b"b\n// ...\n")),
    ]);
}
