use proptest::prelude::*;
use ratatui::style::Modifier;
use unicode_width::UnicodeWidthStr;

use super::*;
use crate::palette::{Background, Palette};

fn plain(lines: &[Line<'_>]) -> String {
    let line = |line: &Line<'_>| line.spans.iter().map(|span| span.content.as_ref()).collect::<String>();
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn drawn(text: &str, width: u16) -> String {
    plain(&render(text, width, Theme::new(Palette::Plain)))
}

/// All that is on the screen after some of a text has come.
fn so_far(text: &str, width: u16) -> String {
    let mut stream = MarkdownStream::new(width, Theme::new(Palette::Plain));
    stream.push(text);
    let mut lines = stream.take_finished();
    lines.extend(stream.open_lines());
    plain(&lines)
}

#[test]
fn blocks_are_drawn_as_people_know_them() {
    insta::assert_snapshot!(drawn("\
# A heading

Some *text* with `code`
that goes on.

- one
- two, which is long enough to wrap
  1. inner
  2. inner again
- [ ] open
- [x] done

> quoted **words**
> and more
>
> second

---

3. three
3. four

    indented program
", 24), @"
    A heading

    Some text with code
    that goes on.

    • one
    • two, which is long
      enough to wrap
      1. inner
      2. inner again
    • ☐ open
    • ☑ done

    ▏ quoted words
    ▏ and more
    ▏
    ▏ second

    ────────────────────────

    3. three
    4. four

       indented program
    ");
}

#[test]
fn programs_keep_their_blanks_and_are_cut_anywhere() {
    insta::assert_snapshot!(drawn("Look:\n```rust\nfn main() {\n\n    let x = 1;\n}\n```\nAnd\n1. see\n   ```\n   in the item\n   ```\n2. next", 14), @"
    Look:
      fn main() {

          let x = 
      1;
      }
    And
    1. see
         in the it
         em
    2. next
    ");
}

#[test]
fn tables_fit_their_columns_and_wrap_their_cells() {
    let table = "| Name | What it does | N |\n|:--|---|--:|\n| `a` | Something **long** that wraps | 1 |\n| b \\| c | x | 20 |\n";
    insta::assert_snapshot!(drawn(table, 60), @"
    Name  │ What it does              │  N
    ──────┼───────────────────────────┼───
    a     │ Something long that wraps │  1
    b | c │ x                         │ 20
    ");
    insta::assert_snapshot!(drawn(table, 26), @"
    Name  │ What it does  │  N
    ──────┼───────────────┼───
    a     │ Something     │  1
          │ long that     │   
          │ wraps         │   
    b | c │ x             │ 20
    ");
    insta::assert_snapshot!(drawn(table, 12), @"
    Name: a
    What it
    does:
    Something
    long that
    wraps
    N: 1
    Name: b | c
    What it
    does: x
    N: 20
    ");
}

#[test]
fn a_table_right_after_a_list_is_a_table() {
    let listed = drawn("- one\n- two\n| a | b |\n|---|---|\n| 1 | 2 |\n", 40);
    let apart = drawn("- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", 40);
    assert!(!listed.contains('|'), "{listed}");
    let rows = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(rows(&listed), rows(&apart));
}

#[test]
fn no_cell_of_a_table_is_lost() {
    assert_eq!(
        drawn("| a | b |\n|---|---|\n| 1 |\n| 1 | 2 | 3 | 4 |", 40),
        "a │ b\n──┼──────────\n1 │ \n1 │ 2 | 3 | 4"
    );
    assert_eq!(drawn("| wide | head |\n|---|---|\n", 6), "wide\nhead");
}

#[test]
fn an_endless_table_is_drawn_as_it_comes_with_settled_columns() {
    let mut stream = MarkdownStream::new(40, Theme::new(Palette::Plain));
    stream.push("| a | b |\n|---|---|\n");
    for number in 0..64 {
        stream.push(&format!("| {number} | x |\n"));
    }
    assert_eq!(stream.take_finished().len(), 66);
    stream.push("| much wider than before | y |\n");
    assert_eq!(plain(&stream.take_finished()).lines().next(), Some("mu │ y"));
}

#[test]
fn signs_of_what_is_coming_are_not_shown_first() {
    for (text, shown) in [
        ("Hello\n\n##", "Hello"),
        ("Hello\n\n## He", "Hello\n\nHe"),
        ("Hello\n\n- ", "Hello"),
        ("Hello\n\n``", "Hello"),
        ("```sh\nls\n``", "  ls"),
        ("a **bo", "a bo"),
        ("| a | b |", "a │ b\n──┼──"),
        ("| a | b |\n|--", "a │ b\n──┼──"),
        ("1.", ""),
        ("42", "42"),
    ] {
        assert_eq!(so_far(text, 40), shown, "{text:?}");
    }
}

#[test]
fn lists_count_on_and_quotes_hold_anything() {
    assert_eq!(drawn("1. a\n\n   more\n\n2. b\n\ntext\n\n1. anew", 40), "1. a\n\n   more\n\n2. b\n\ntext\n\n1. anew");
    assert_eq!(drawn("1. a\n1. b\n1. c", 40), "1. a\n2. b\n3. c");
    assert_eq!(drawn("> - a\n>   ```\n>   code\n>   ```\n> > deep\n\nout", 40), "▏ • a\n▏     code\n▏ ▏ deep\n\nout");
    assert_eq!(drawn("- a\n    - b\n        - c\n- d", 40), "• a\n  ◦ b\n    ▪ c\n• d");
    assert_eq!(drawn("-\n- b", 40), "• \n• b");
    assert_eq!(drawn("lazy\n> quote\ngoes on", 40), "lazy\n▏ quote\n▏ goes on");
}

#[test]
fn headings_and_breaks_of_all_spellings() {
    assert_eq!(drawn("Title\n=====\nSub\n---\nx  \ny\\\nz", 40), "Title\nSub\nx\ny\nz");
}

#[test]
fn styles_are_named_ones() {
    let lines =
        render("# H\n\n**b** `c`\n```rust\nlet x = \"s\";\n```\n", 40, Theme::new(Palette::Full(Background::Dark)));
    let theme = Theme::new(Palette::Full(Background::Dark));
    use crate::diff::SyntaxToken;
    use crate::tui::theme::StyleName;
    assert_eq!(lines[0].spans[0].style, theme.style(StyleName::Heading));
    assert!(lines[2].spans[0].style.add_modifier.contains(Modifier::BOLD));
    assert_eq!(lines[2].spans[2].style, theme.style(StyleName::Code));
    let word = |text: &str| lines[3].spans.iter().find(|span| span.content == text).map(|span| span.style);
    assert_eq!(word("\"s\""), Some(theme.token(SyntaxToken::String)));
}

#[test]
fn hostile_text_is_only_text() {
    insta::assert_snapshot!(drawn("a\u{1b}[2J\u{1b}]0;x\u{7}b\n`\u{1b}[31m`\n```\u{1b}[31m\n\u{9b}31m\u{202e}code\n```\n[\u{202e}x](http://\u{1b}[0me)", 40), @"
    ab
    ``
      code
    x (http://e)
    ");
}

#[test]
fn long_lines_and_deep_quotes_are_bounded() {
    let long = "word ".repeat(10_000);
    let lines = render(&long, 80, Theme::new(Palette::Plain));
    assert_eq!(plain(&lines).split_whitespace().count(), 10_000);
    let long = "word **bold** ".repeat(1_000);
    for size in [3, 1_000, 4_001] {
        let mut stream = MarkdownStream::new(80, Theme::new(Palette::Plain));
        long.as_bytes().chunks(size).for_each(|piece| stream.push(std::str::from_utf8(piece).expect("ASCII")));
        stream.finish();
        assert_eq!(stream.take_finished(), render(&long, 80, Theme::new(Palette::Plain)));
    }
    let deep = format!("{} x", ">".repeat(5_000));
    assert!(render(&deep, 80, Theme::new(Palette::Plain)).iter().all(|line| line.width() <= 80));
    assert!(render(&"- ".repeat(5_000), 10, Theme::new(Palette::Plain)).iter().all(|line| line.width() <= 10));
}

const PIECES: &str = "(a|b |日|👩|\\*\\*|_|`|```|~~~|```rs\n|\n|\n\n|- |  - |1\\. |2\\) |> |# |## |\\||---|\\|---\\||===|\t|    |<b>|\\[x\\]\\(|\\)|https://e|\\\\|\u{1b}\\[31m|  \n|\\[ \\] |&#27;){0,60}";

proptest! {
    #[test]
    fn pieces_of_any_size_give_the_same_lines(text in PIECES, cuts in proptest::collection::vec(0_usize..300, 0..8), width in 1_u16..40) {
        let theme = Theme::new(Palette::Plain);
        let mut stream = MarkdownStream::new(width, theme);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(text.len())).filter(|at| text.is_char_boundary(*at)).collect();
        cuts.sort_unstable();
        cuts.push(text.len());
        let (mut from, mut lines) = (0, Vec::new());
        for to in cuts {
            stream.push(&text[from..to]);
            stream.open_lines();
            lines.extend(stream.take_finished());
            from = to;
        }
        stream.finish();
        lines.extend(stream.take_finished());
        prop_assert_eq!(lines, render(&text, width, theme));
    }

    #[test]
    fn no_line_is_too_wide_and_none_steers(text in PIECES, width in 4_u16..40) {
        for line in render(&text, width, Theme::new(Palette::Plain)) {
            let text = plain(&[line]);
            prop_assert!(text.width() <= usize::from(width), "{text:?}");
            prop_assert!(!text.contains(char::is_control), "{text:?}");
        }
    }

    #[test]
    fn any_text_is_drawn(text in "(.|\n){0,200}", width in 1_u16..40) {
        render(&text, width, Theme::new(Palette::Sixteen));
        so_far(&text, width);
    }

    #[test]
    fn words_are_not_lost(words in proptest::collection::vec("[a-z]{1,8}", 1..20), joins in proptest::collection::vec("( |\n|\n\n|\n- |\n1\\. |\n> |\n# |\n```\n)", 20), width in 12_u16..40) {
        let text: String = words.iter().zip(&joins).map(|(word, join)| format!("{word}{join}")).collect();
        let fence = text.contains("```");
        let drawn = drawn(&text, width);
        for word in words {
            // What stands behind a fence is the name of a language.
            prop_assert!(fence || drawn.contains(&word), "{word} is not in {drawn:?} of {text:?}");
        }
    }
}
