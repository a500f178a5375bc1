//! Lines by content.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[tokio::test]
async fn lines_are_found_by_content_with_their_surroundings() {
    let scene = Scene::new(&[
        (".gitignore", "out/\n"),
        ("b.txt", "Needle one\nplain\nneedle two\r\n"),
        ("a/x.rs", "1\n2\n3 needle\n4\n5\n6\n7\n8 needle\n"),
        ("out/y.rs", "needle\n"),
        (".hidden", "needle at the top\n"),
        ("a/sub/.hidden", "needle\n"),
    ]);
    scene.write("binary", b"needle\n\0needle\n");
    scene.write("late", [b"needle\n".as_slice(), &b"fill\n".repeat(50_000), b"\0"].concat());
    scene.write("wide", "\u{feff}needle wide\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    let (status, text) = scene.search("needle", "").await;
    assert_eq!(status, Fine);
    insta::assert_snapshot!(text, @"
    .hidden:1:needle at the top
    a/x.rs:3:3 needle
    a/x.rs:8:8 needle
    b.txt:3:needle two
    wide:1:needle wide
    ");
    insta::assert_snapshot!(scene.search_with("needle", "a", Some("*.rs"), false, 1).await.1, @"
    a/x.rs-2-2
    a/x.rs:3:3 needle
    a/x.rs-4-4
    --
    a/x.rs-7-7
    a/x.rs:8:8 needle
    ");
    insta::assert_snapshot!(scene.search_with("^needle \\w+$", "b.txt", None, true, 0).await.1, @"
    b.txt:1:Needle one
    b.txt:3:needle two
    ");
    insta::assert_snapshot!(scene.search("nothing like it", "a").await.1, @"No line matches in `a`. Ignored, hidden and binary files are left out.");
}

#[tokio::test]
async fn a_pattern_that_is_no_regex_is_searched_as_it_stands() {
    let scene = Scene::new(&[("a.rs", "call(foo(1))\n")]);
    let (status, text) = scene.search("foo(", "").await;
    assert_eq!(status, Fine);
    insta::assert_snapshot!(text, @"
    a.rs:1:call(foo(1))
    [The pattern is not a valid regular expression, so it was searched as plain text.]
    ");
    let (status, text) = scene.search("bar(", "").await;
    assert_eq!(status, Error);
    insta::assert_snapshot!(text, @"The pattern cannot be used as a regular expression: unclosed group. Put a backslash before each of ( ) [ ] { } . * + ? | ^ $ that is meant literally.");
    assert_eq!(scene.search("", "").await.0, Error);
    assert_eq!(scene.search("a\\nb", "").await.0, Error);
    let (status, text) = scene.search_with("x", "", Some("[z"), false, 0).await;
    assert_eq!(status, Error);
    insta::assert_snapshot!(text, @"`[z` is not a pattern for names: unclosed character class; missing ']'. Write `[[]` for a bracket.");
}

#[tokio::test]
async fn a_full_search_counts_what_it_does_not_show() {
    let scene = Scene::new(&[("c.txt", "hit\n"), ("d.txt", &"hit\n".repeat(5)), ("large", "hit\n")]);
    scene.write("a.txt", "hit\n".repeat(150));
    scene.write("b.txt", "hit\n".repeat(100));
    fs::File::options().write(true).open(scene.path("large")).expect("a file").set_len(17_000_000).expect("room");
    let (status, text) = scene.search("hit", "").await;
    assert_eq!(status, Partial);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[199]), (202, "a.txt:1:hit", "b.txt:50:hit"));
    insta::assert_snapshot!(lines[200..].join("\n"), @"
    [1 file larger than 16 MB left out.]
    [56 more matches in 3 files not shown. Narrow the pattern, the folder or the names of files.]
    ");
    assert_eq!(scene.search("hit", "").await.1, text);
    scene.write("a.txt", format!("{}hit\n", "é".repeat(1_000)).repeat(250));
    let (status, text) = scene.search("hit", "a.txt").await;
    assert_eq!(status, Partial);
    assert!(text.len() < 33_000 && text.lines().all(|line| line.starts_with('[') || line.ends_with("éhit")), "{text}");
}

#[tokio::test]
async fn what_may_not_be_read_is_said_and_does_not_end_a_search() {
    let scene = Scene::new(&[("a.txt", "hit\n"), ("b.txt", "hit\n")]);
    fs::set_permissions(scene.path("a.txt"), fs::Permissions::from_mode(0o000)).expect("permissions");
    if fs::File::open(scene.path("a.txt")).is_ok() {
        return; // Root may read everything.
    }
    assert_eq!(scene.read("a.txt", None, None).await.text, "`a.txt` cannot be read: permission denied.");
    assert_eq!(scene.search("hit", "").await, (Fine, "b.txt:1:hit\n[1 entry could not be read.]".into()));
}
