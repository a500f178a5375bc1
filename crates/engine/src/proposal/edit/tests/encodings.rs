//! Files that are not plain UTF-8.

use super::*;
use RefusalKind::*;

#[test]
fn bytes_that_are_not_utf8_stay_and_take_ascii_only() {
    let latin: Option<&[u8]> = Some(b"caf\xe9\nb\nc\xff\n");
    check(&[
        ("diff", latin, diff("@@\n-b\n+x\n"), Is(b"caf\xe9\nx\nc\xff\n")),
        ("block", latin, blocks(&[("b", "x")]), Is(b"caf\xe9\nx\nc\xff\n")),
        ("added beyond ASCII", latin, diff("@@\n-b\n+é\n"), Refused(Encoding)),
        ("block beyond ASCII", latin, blocks(&[("b", "é")]), Refused(Encoding)),
        ("whole beyond ASCII", latin, whole("é\n"), Refused(Encoding)),
        ("context beyond ASCII", latin, diff("@@\n café\n-b\n+x\n"), Refused(NotFound)),
        ("replacement characters", latin, diff("@@\n caf\u{fffd}\n-b\n+x\n"), Refused(NotFound)),
        ("UTF-8", Some("é\nb\n".as_bytes()), diff("@@\n é\n-b\n+ü\n"), Is("é\nü\n".as_bytes())),
    ]);
}

#[test]
fn binary_files_and_utf16_are_refused() {
    check(&[
        ("binary, diff", Some(b"a\0b\nc\n"), diff("@@\n-c\n+d\n"), Refused(Encoding)),
        ("binary, block", Some(b"a\0b\nc\n"), blocks(&[("c", "d")]), Refused(Encoding)),
        ("binary, whole", Some(b"a\0b\nc\n"), whole("d\n"), Is(b"d\n")),
        ("UTF-16 LE", Some(b"\xff\xfea\0\n\0"), diff("@@\n-a\n+b\n"), Refused(Encoding)),
        ("UTF-16 BE", Some(b"\xfe\xff\0a\0\n"), blocks(&[("a", "b")]), Refused(Encoding)),
        ("UTF-16, whole", Some(b"\xff\xfea\0\n\0"), whole("b\n"), Refused(Encoding)),
    ]);
}

#[test]
fn a_byte_order_mark_stays_where_it_is() {
    let file: Option<&[u8]> = Some(b"\xEF\xBB\xBFa\nb\n");
    check(&[
        ("not in the diff", file, diff("@@\n-a\n+x\n b\n"), Is(b"\xEF\xBB\xBFx\nb\n")),
        ("in the diff", file, diff("@@\n-\u{feff}a\n+\u{feff}x\n b\n"), Is(b"\xEF\xBB\xBFx\nb\n")),
        ("inserted in front", file, diff("@@\n+x\n a\n"), Is(b"\xEF\xBB\xBFx\na\nb\n")),
        ("in front of the diff", file, diff("\u{feff}@@\n-a\n+x\n"), Is(b"\xEF\xBB\xBFx\nb\n")),
        ("in the block", file, blocks(&[("\u{feff}a", "\u{feff}x")]), Is(b"\xEF\xBB\xBFx\nb\n")),
        ("only in the diff", Some(b"a\n"), diff("@@\n-\u{feff}a\n+\u{feff}x\n"), Is(b"x\n")),
        ("added alone", Some(b"a\n"), diff("@@\n-a\n+\u{feff}a\n"), Refused(NoChange)),
    ]);
}
