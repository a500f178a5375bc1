//! Both views of many changes, as a person sees them.

use std::fmt::Write as _;

use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::*;

fn file<'a>(path: &'a str, before: Option<&'a [u8]>, after: Option<&'a [u8]>) -> DiffFile<'a> {
    let state = |bytes: &'a [u8]| DiffState { bytes, mode: 0o644 };
    DiffFile { path, from: None, before: before.map(state), after: after.map(state) }
}

fn view(layout: Layout, width: usize) -> DiffView {
    DiffView {
        width,
        layout,
        syntax: false,
        most_lines: usize::MAX,
        rest: "Ask for more.".into(),
        heads: HunkHeads::Names,
        fills: false,
    }
}

/// What is drawn, with words that changed in brackets of their own.
fn shown(change: &DiffFile<'_>, view: &DiffView) -> String {
    let mut text = String::new();
    for line in draw(change, view) {
        let mut row = String::new();
        for span in &line.spans {
            match span.style.role {
                DiffRole::AddedWord | DiffRole::RemovedWord => {
                    write!(row, "⟦{}⟧", span.text).expect("a string takes text")
                }
                _ => row += &span.text,
            }
        }
        text += row.trim_end();
        text.push('\n');
    }
    text
}

fn both(before: &str, after: &str) -> String {
    let change = file("src/a.rs", Some(before.as_bytes()), Some(after.as_bytes()));
    shown(&change, &view(Layout::Inline, 60)) + "\n" + &shown(&change, &view(Layout::SideBySide, 80))
}

#[test]
fn changed_words_stand_out_and_unchanged_parts_are_folded() {
    let body: String = (1..30).map(|n| format!("    step_{n}();\n")).collect();
    let before = format!("fn go() {{\n{body}    let a = 1;\n    end();\n}}\n");
    let after = before.replace("let a = 1;", "let a = 2;").replace("    step_3();\n", "");
    insta::assert_snapshot!(both(&before, &after), @"
    src/a.rs  +1 −2  +--
    @@ src/a.rs:1 @@
     1  1   fn go() {
     2  2       step_1();
     3  3       step_2();
     4    -     step_3();
     5  4       step_4();
     6  5       step_5();
     7  6       step_6();
      … 20 unchanged lines …
    @@ src/a.rs:2 @@ fn go() {
    28 27       step_27();
    29 28       step_28();
    30 29       step_29();
    31    -     let a = ⟦1⟧;
       30 +     let a = ⟦2⟧;
    32 31       end();
    33 32   }

    src/a.rs  +1 −2  +--
    @@ src/a.rs:1 @@
     1   fn go() {                         │  1   fn go() {
     2       step_1();                     │  2       step_1();
     3       step_2();                     │  3       step_2();
     4 -     step_3();                     │
     5       step_4();                     │  4       step_4();
     6       step_5();                     │  5       step_5();
     7       step_6();                     │  6       step_6();
      … 20 unchanged lines …
    @@ src/a.rs:2 @@ fn go() {
    28       step_27();                    │ 27       step_27();
    29       step_28();                    │ 28       step_28();
    30       step_29();                    │ 29       step_29();
    31 -     let a = ⟦1⟧;                    │ 30 +     let a = ⟦2⟧;
    32       end();                        │ 31       end();
    33   }                                 │ 32   }
    ");
}

#[test]
fn uneven_blocks_are_matched_line_by_line() {
    insta::assert_snapshot!(both(
        "let a = first(1);\nlet b = second(2);\n",
        "// both are needed\nlet a = first(10);\nlet b = second(2, 3);\nnew();\n",
    ), @"
    src/a.rs  +4 −2  ++++--
    @@ src/a.rs:1 @@
    1   - let a = first(⟦1⟧);
    2   - let b = second(2);
      1 + // both are needed
      2 + let a = first(⟦10⟧);
      3 + let b = second(2⟦, 3⟧);
      4 + new();

    src/a.rs  +4 −2  ++++--
    @@ src/a.rs:1 @@
                                           │ 1 + // both are needed
    1 - let a = first(⟦1⟧);                  │ 2 + let a = first(⟦10⟧);
    2 - let b = second(2);                 │ 3 + let b = second(2⟦, 3⟧);
                                           │ 4 + new();
    ");
}

#[test]
fn a_line_that_became_another_is_shown_whole() {
    insta::assert_snapshot!(both("alpha beta gamma\n", "something(else)\n"), @"
    src/a.rs  +1 −1  +-
    @@ src/a.rs:1 @@
    1   - alpha beta gamma
      1 + something(else)

    src/a.rs  +1 −1  +-
    @@ src/a.rs:1 @@
    1 - alpha beta gamma                   │ 1 + something(else)
    ");
}

#[test]
fn long_lines_are_wrapped_by_what_they_take_on_the_screen() {
    insta::assert_snapshot!(both("x\n", "日本語のテキストは幅が二倍です。日本語のテキストは幅が二倍です。👩‍👩‍👧 e\u{301}\n"), @"
    src/a.rs  +1 −1  +-
    @@ src/a.rs:1 @@
    1   - x
      1 + 日本語のテキストは幅が二倍です。日本語のテキストは幅が
        + 二倍です。👩‍👩‍👧 é

    src/a.rs  +1 −1  +-
    @@ src/a.rs:1 @@
    1 - x                                  │ 1 + 日本語のテキストは幅が二倍です。日
                                           │   + 本語のテキストは幅が二倍です。👩‍👩‍👧 é
    ");
}

#[test]
fn what_would_steer_the_terminal_or_hide_is_seen() {
    insta::assert_snapshot!(both("if admin {\n", "if ad\u{200b}min\u{202e} { \u{1b}]0;owned\u{7}\n\ttab\u{8}\n"), @"
    src/a.rs  +2 −1  ++-
    @@ src/a.rs:1 @@
    1   - if admin {
      1 + if ad<U+200B>min<U+202E> { ^[]0;owned^G
      2 +     tab^H

    src/a.rs  +2 −1  ++-
    @@ src/a.rs:1 @@
    1 - if admin {                         │ 1 + if ad<U+200B>min<U+202E> { ^[]0;ow
                                           │   + ned^G
                                           │ 2 +     tab^H
    ");
}

#[test]
fn line_ends_and_a_missing_last_one_are_seen() {
    insta::assert_snapshot!(both("a\r\nb\r\n", "a\nb"), @r"
    src/a.rs  +2 −2  ++--
      line endings CRLF → LF
    @@ src/a.rs:1 @@
    1   - a^M
    2   - b^M
      1 + a
      2 + b
        \ No newline at end of file

    src/a.rs  +2 −2  ++--
      line endings CRLF → LF
    @@ src/a.rs:1 @@
    1 - a^M                                │ 1 + a
    2 - b^M                                │ 2 + b
                                           │ \ No newline at end of file
    ");
    insta::assert_snapshot!(both("a\r\nb\r\n", "a\r\nc\r\n"), @"
    src/a.rs  +1 −1  +-
    @@ src/a.rs:1 @@
    1 1   a
    2   - b
      2 + c

    src/a.rs  +1 −1  +-
    @@ src/a.rs:1 @@
    1   a                                  │ 1   a
    2 - b                                  │ 2 + c
    ");
}

#[test]
fn what_has_no_lines_is_said_in_words() {
    let inline = view(Layout::Inline, 60);
    let mut told = String::new();
    let mut tell = |change: DiffFile<'_>| told += &shown(&change, &inline);
    tell(file("new.txt", None, Some(b"")));
    tell(file("gone.txt", Some(b"a\n"), None));
    tell(file("logo.png", Some(b"\x89PNG\0"), Some(&[0; 12_345])));
    let run = |mode: u32| Some(DiffState { bytes: b"#!/bin/sh\n".as_slice(), mode });
    tell(DiffFile { path: "run.sh", from: None, before: run(0o644), after: run(0o755) });
    tell(DiffFile { path: "bin/run", from: Some("run.sh"), before: run(0o755), after: run(0o755) });
    let link = |bytes: &'static [u8]| Some(DiffState { bytes, mode: 0o120_777 });
    tell(DiffFile { path: "latest", from: None, before: link(b"v1"), after: link(b"v2") });
    insta::assert_snapshot!(told, @r"
    new.txt
      new file, empty
    gone.txt  +0 −1  -
      deleted
    @@ gone.txt:1 @@
    1   - a
    logo.png
      binary, 5 → 12,345 bytes
    run.sh
      mode 644 → 755
    run.sh → bin/run
      moved, content unchanged
    latest  +1 −1  +-
      was a symbolic link to v1
      is a symbolic link to v2
    @@ latest:1 @@
    1   - v1
        \ No newline at end of file
      1 + v2
        \ No newline at end of file
    ");
}

#[test]
fn the_function_around_a_hunk_is_named() {
    let body: String = (1..20).map(|n| format!("        step_{n}();\n")).collect();
    let before = format!(
        "impl Boat {{\n    /// Goes.\n    pub fn go(&self) {{\n        if ready {{\n{body}        }}\n    }}\n}}\n"
    );
    let after = before.replace("step_15", "step_fifteen");
    let text = shown(&file("boat.rs", Some(before.as_bytes()), Some(after.as_bytes())), &view(Layout::Inline, 80));
    assert!(text.contains("@@ boat.rs:1 @@ pub fn go(&self) {\n"), "{text}");
    let guide = format!("# Guide\n\n## Setting up\n\n{}", "words\n\n".repeat(9));
    let after = format!("{guide}more\n");
    let text = shown(&file("guide.md", Some(guide.as_bytes()), Some(after.as_bytes())), &view(Layout::Inline, 80));
    assert!(text.contains("@@ guide.md:1 @@ ## Setting up\n"), "{text}");
}

#[test]
fn a_very_large_change_says_what_it_leaves_out() {
    let before: String = (0..400).map(|n| format!("{n}\n")).collect();
    let after = before.replace("0\n", "zero\n");
    let few = DiffView { most_lines: 12, ..view(Layout::Inline, 60) };
    insta::assert_snapshot!(shown(&file("n", Some(before.as_bytes()), Some(after.as_bytes())), &few), @"
    n  +40 −40  +++++-----
    @@ n:1 @@
      1     - 0
          1 + zero
      2   2   1
      3   3   2
      4   4   3
      … 3 unchanged lines …
    @@ n:2 @@ zero
      8   8   7
      9   9   8
     10  10   9
      … 78 more changed lines. Ask for more.
    ");
}

#[test]
fn of_a_very_long_line_the_part_that_changed_is_shown() {
    let before = format!("{}let x = 1;{}", "a ".repeat(50_000), " b".repeat(50_000));
    let after = before.replace("let x = 1;", "let x = 2;");
    let text = shown(&file("min.js", Some(before.as_bytes()), Some(after.as_bytes())), &view(Layout::Inline, 200));
    assert!(text.contains("let x = ⟦1⟧;") && text.contains("let x = ⟦2⟧;"), "{text}");
    assert!(text.contains("… 99,888 bytes …") && text.len() < 10_000, "{text}");
}

#[test]
fn kinds_of_words_are_known_on_both_sides() {
    let change = file("a.rs", Some(b"fn a() {} // old\n"), Some(b"fn b() {} // new\n"));
    let lines = draw(&change, &DiffView { syntax: true, ..view(Layout::Inline, 80) });
    let is = |role: DiffRole, token: SyntaxToken| {
        lines.iter().flat_map(|line| &line.spans).any(|span| span.style == DiffStyle { role, token })
    };
    assert!(is(DiffRole::Removed, SyntaxToken::Keyword) && is(DiffRole::Added, SyntaxToken::Keyword));
    assert!(is(DiffRole::RemovedWord, SyntaxToken::Comment) && is(DiffRole::AddedWord, SyntaxToken::Name));
}

#[test]
fn counts_have_a_bar_and_a_sum() {
    use trimtab_host::compare::LineStats;
    let of = |added, removed, modified| LineStats { added, removed, modified };
    let files = [("src/a.rs".into(), of(45, 12, 3)), ("README.md".into(), of(1, 0, 0)), ("b".into(), of(0, 0, 0))];
    let text: Vec<String> = stat(&files).iter().map(|line| line.plain().trim_end().to_owned()).collect();
    insta::assert_snapshot!(text.join("\n"), @"
    src/a.rs   +45 −12  ++++++++--
    README.md  +1 −0    +
    b          +0 −0
    3 files  +46 −12
    ");
}

/// The two states that an inline view of a whole file shows.
fn read_back(lines: &[DiffLine], digits: usize) -> [String; 2] {
    let mut sides = [String::new(), String::new()];
    let mut last = [false; 2];
    for line in lines {
        let text = line.plain();
        if text.trim_start() == "\\ No newline at end of file" {
            for (side, is_last) in sides.iter_mut().zip(last) {
                if is_last {
                    side.pop();
                }
            }
            continue;
        }
        let is_row =
            text.len() > 2 * digits + 3 && text[..2 * digits + 2].chars().all(|c| c == ' ' || c.is_ascii_digit());
        if !is_row {
            continue;
        }
        let sign = &text[2 * digits + 2..=2 * digits + 2];
        let numbers = &text[..2 * digits + 2];
        last = [sign != "+", sign != "-"];
        for (side, is_on) in sides.iter_mut().zip(last) {
            if is_on {
                // A row without a number goes on where the one above it ended.
                if numbers.trim().is_empty() {
                    side.pop();
                }
                *side += &text[2 * digits + 4..];
                side.push('\n');
            }
        }
    }
    sides
}

proptest! {
    #[test]
    fn the_inline_view_gives_back_both_sides(
        before in proptest::collection::vec("[a-c日é \t\u{1b}\u{202e}]{0,30}", 1..12),
        after in proptest::collection::vec("[a-c日é \t\u{1b}\u{202e}]{0,30}", 1..12),
        ends in any::<[bool; 2]>(),
        width in 10_usize..50,
    ) {
        // Lines that nobody changed hold the hunks together, so that nothing is folded.
        let text = |lines: &[String], end: bool| lines.join("\n") + if end { "\n" } else { "" };
        let (before, after) = (text(&before, ends[0]), text(&after, ends[1]));
        prop_assume!(before != after && !before.is_empty() && !after.is_empty());
        let lines = draw(&file("x", Some(before.as_bytes()), Some(after.as_bytes())), &view(Layout::Inline, width));
        prop_assume!(!lines.iter().any(|line| line.plain().starts_with("  … ")));
        let digits = before.lines().count().max(after.lines().count()).to_string().len();
        let seen = |text: &str| -> String {
            let lines = text.split_inclusive('\n');
            lines.map(|line| visible(line.trim_end_matches('\n').as_bytes()) + if line.ends_with('\n') { "\n" } else { "" }).collect()
        };
        prop_assert_eq!(read_back(&lines, digits), [seen(&before), seen(&after)]);
    }

    #[test]
    fn any_bytes_are_drawn_within_the_width_and_without_control_characters(
        before in proptest::collection::vec(any::<u8>(), 0..300),
        after in proptest::collection::vec(any::<u8>(), 0..300),
        width in 60_usize..160,
        side in any::<bool>(),
    ) {
        let layout = if side { Layout::SideBySide } else { Layout::Inline };
        let change = file("x.rs", Some(&before), Some(&after));
        for line in draw(&change, &DiffView { syntax: true, ..view(layout, width) }) {
            let text = line.plain();
            prop_assert!(!text.contains(char::is_control), "{:?}", text);
            let is_row = text.starts_with(|c: char| c == ' ' || c.is_ascii_digit());
            prop_assert!(!is_row || text.width() <= width, "{} columns: {:?}", text.width(), text);
        }
    }
}
