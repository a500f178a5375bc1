//! Files: lines, ranges, encodings, pictures.

use std::io::Write;

use super::*;

#[tokio::test]
async fn a_file_is_read_with_numbers_and_marked_as_seen() {
    let scene = Scene::new(&[("src/a.rs", "one\n\ttwo\n\nfour")]);
    let seen = scene.read("src/a.rs", None, None).await;
    assert_eq!(seen.status, Fine);
    assert_eq!(seen.text, "1\tone\n2\t\ttwo\n3\t\n4\tfour");
    assert_eq!(seen.files, [FileMark { path: "src/a.rs".into(), hash: hash("one\n\ttwo\n\nfour") }]);
    let absolute = scene.path("src/../src/./a.rs");
    assert_eq!(scene.read(absolute.to_str().expect("a path"), None, None).await, seen);
    scene.write("empty", "");
    let seen = scene.read("empty", None, None).await;
    assert_eq!((seen.status, seen.text.as_str()), (Fine, "The file is empty."));
    assert_eq!(seen.files[0].hash, hash(""));
}

#[tokio::test]
async fn a_range_says_what_it_is_part_of_and_how_to_go_on() {
    let scene = Scene::new(&[("a", &numbered(1..=10))]);
    let seen = scene.read("a", Some(3), Some(2)).await;
    assert_eq!(seen.status, Partial);
    assert_eq!(seen.files, [FileMark { path: "a".into(), hash: hash(numbered(1..=10)) }]);
    insta::assert_snapshot!(seen.text, @"
    3	line 3
    4	line 4
    [Lines 3 to 4 of 10 lines. Read on with offset 5.]
    ");
    let seen = scene.read("a", Some(9), Some(5)).await;
    assert_eq!(seen.status, Fine);
    insta::assert_snapshot!(seen.text, @"
    9	line 9
    10	line 10
    [Lines 9 to 10 of 10 lines: the end.]
    ");
    let seen = scene.read("a", Some(11), None).await;
    assert_eq!((seen.status, seen.files.len()), (Error, 0));
    insta::assert_snapshot!(seen.text, @"`a` has 10 lines; there is no line 11. Read it with a smaller offset.");
}

#[tokio::test]
async fn a_long_file_is_shown_in_parts_and_a_long_line_cut() {
    let scene = Scene::new(&[("many", &numbered(1..=5_000)), ("wide", &"x".repeat(3_000_000))]);
    let seen = scene.read("many", None, None).await;
    assert_eq!(seen.status, Partial);
    assert_eq!(seen.text.lines().count(), 2_001);
    assert!(seen.text.ends_with("2000\tline 2000\n[Lines 1 to 2000 of 5,000 lines. Read on with offset 2001.]"));
    let seen = scene.read("wide", None, None).await;
    assert_eq!((seen.status, seen.files.len()), (Partial, 1));
    assert!(seen.text.starts_with(&format!("1\t{}… [cut]\n[Lines are cut", "x".repeat(2_000))));
    assert!(seen.text.len() < 2_500);
}

#[tokio::test]
async fn of_a_giant_file_only_the_part_that_is_shown_is_kept() {
    let scene = Scene::new(&[]);
    let line = format!("{}\n", "y".repeat(99));
    let mut file = fs::File::create(scene.path("giant")).expect("a file");
    for _ in 0..30 {
        file.write_all(line.repeat(10_000).as_bytes()).expect("room");
    }
    let long = "z".repeat(20_000_000);
    file.write_all(format!("{long}\nlast").as_bytes()).expect("room");
    drop(file);
    let seen = scene.read("giant", Some(299_999), Some(2)).await;
    assert_eq!((seen.status, seen.files.len()), (Partial, 0));
    assert!(seen.text.starts_with(&format!("299999\t{line}300000\t{line}[Lines 299999 to 300000 of a file of 48 MB.")));
    let seen = scene.read("giant", Some(300_001), None).await;
    assert_eq!(seen.status, Partial);
    assert!(seen.text.starts_with(&format!("300001\t{}… [cut]\n300002\tlast\n", "z".repeat(2_000))));
    assert!(seen.text.ends_with("[Lines 300001 to 300002 of a file of 48 MB: the end.]"), "{}", seen.text);
    let seen = scene.read("giant", Some(300_003), None).await;
    assert_eq!(seen.status, Error);
    assert!(seen.text.contains("has 300002 lines"), "{}", seen.text);
    let seen = scene.read("giant", None, None).await;
    assert!(seen.text.contains("of a file of 48 MB. Read on with offset "), "{}", seen.text);
}

#[tokio::test]
async fn other_encodings_are_shown_as_what_they_are() {
    let scene = Scene::new(&[("bom", "\u{feff}text\r\nmore\r\n")]);
    scene.write("latin", b"caf\xe9 \x80\n");
    let wide = |bytes: [u8; 2], text: &str, big: bool| {
        let units = text.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() });
        bytes.into_iter().chain(units).collect::<Vec<u8>>()
    };
    scene.write("little", wide([0xff, 0xfe], "wide ü\n", false));
    scene.write("big", wide([0xfe, 0xff], "wide ü\n", true));
    let mut all = String::new();
    for name in ["bom", "latin", "little", "big"] {
        let seen = scene.read(name, None, None).await;
        assert_eq!(seen.status, Fine);
        assert_eq!(seen.files[0].hash, hash(fs::read(scene.path(name)).expect("a file")));
        all.push_str(&format!("{name}:\n{}\n", seen.text));
    }
    insta::assert_snapshot!(all, @"
    bom:
    1	text
    2	more
    [The file begins with a byte order mark.]
    [Lines end with CR LF.]
    latin:
    1	café €
    [The file is not UTF-8. It is shown as Latin-1; some characters may be wrong.]
    little:
    1	wide ü
    [The file is UTF-16, little end first.]
    big:
    1	wide ü
    [The file is UTF-16, big end first.]
    ");
}

#[tokio::test]
async fn what_is_no_text_is_named_with_its_size() {
    let scene = Scene::new(&[("script", "#!/bin/sh\n"), ("note", "BZh is how bzip2 files begin\n")]);
    scene.write("program", [b"\x7fELF\x02\x01\x01\0".as_slice(), &[7; 2_000]].concat());
    scene.write("paper.pdf", "%PDF-1.7\n%âãÏÓ\n");
    scene.write("blob", b"abc\0def");
    let mut all = String::new();
    for name in ["program", "paper.pdf", "blob"] {
        let seen = scene.read(name, None, None).await;
        assert_eq!((seen.status, seen.files.len()), (Error, 0));
        all.push_str(&format!("{}\n", seen.text));
    }
    insta::assert_snapshot!(all, @"
    `program` is a program (ELF) of 2.0 KB and cannot be shown as text.
    `paper.pdf` is a PDF document of 19 B and cannot be shown as text.
    `blob` is a binary file of 7 B and cannot be shown as text.
    ");
    assert_eq!(scene.read("script", None, None).await.status, Fine);
    assert_eq!(scene.read("note", None, None).await.status, Fine);
}

#[tokio::test]
async fn a_picture_is_shown_as_one() {
    let scene = Scene::new(&[]);
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x20\0\0\0\x10\x08\x06\0\0\0rest";
    scene.write("shots/a.txt", png);
    let seen = scene.read("shots/a.txt", None, None).await;
    assert_eq!((seen.status, seen.text.as_str()), (Fine, "Image: shots/a.txt, 32x16, 33 B"));
    assert_eq!(seen.images, [("image/png".into(), "iVBORw0KGgoAAAANSUhEUgAAACAAAAAQCAYAAAByZXN0".into())]);
    assert_eq!(seen.files, [FileMark { path: "shots/a.txt".into(), hash: hash(png) }]);
    scene.write("large.png", [png.as_slice(), &vec![0; 6_000_000]].concat());
    let seen = scene.read("large.png", None, None).await;
    assert_eq!((seen.status, seen.images.len(), seen.files.len()), (Error, 0, 0));
    assert!(seen.text.contains("5.7 MB"), "{}", seen.text);
}
