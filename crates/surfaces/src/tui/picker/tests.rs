use std::sync::Arc;

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::*;
use crate::palette::Palette;
use crate::tui::theme::Theme;

fn picker(texts: &[&str]) -> Picker {
    let mut picker = Picker::new("Files", "There are no files.");
    picker.set_items(Arc::new(texts.iter().map(|text| PickerItem::new(*text)).collect()));
    picker
}

fn found(picker: &Picker) -> Vec<&str> {
    picker.search.found().iter().map(|at| picker.items()[*at as usize].text.as_str()).collect()
}

fn drawn(picker: &mut Picker, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buf = Buffer::empty(area);
    picker.draw_whole(area, &mut buf, &Theme::new(Palette::Plain));
    let row = |y| (0..width).map(|x| buf[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}

#[test]
fn some_letters_find_the_best_first() {
    let mut picker = picker(&["docs/composer.md", "src/main.rs", "src/tui/composer/mod.rs", "README.md"]);
    picker.set_query("comp mod");
    assert_eq!(found(&picker), ["src/tui/composer/mod.rs", "docs/composer.md"]);
    picker.set_query("main");
    assert_eq!(found(&picker), ["src/main.rs"]);
    picker.set_query("");
    assert_eq!(picker.found(), 4);
    picker.set_query("^!'$");
    assert_eq!(picker.found(), 0, "no letter is an operator");
}

#[test]
fn equally_good_finds_keep_their_order() {
    let mut picker = picker(&["b/x.rs", "a/x.rs", "c/x.rs"]);
    picker.set_query("x.rs");
    assert_eq!(found(&picker), ["b/x.rs", "a/x.rs", "c/x.rs"]);
}

#[test]
fn the_chosen_item_stays_chosen_when_more_items_come() {
    let mut picker = picker(&["a", "b"]);
    picker.act(KeyAction::Down);
    picker.set_items(Arc::new(["x", "y", "b", "a"].iter().map(|text| PickerItem::new(*text)).collect()));
    assert_eq!(picker.item().map(|item| item.text.as_str()), Some("b"));
}

#[test]
fn keys_move_in_a_circle_pick_and_close() {
    let mut picker = picker(&["a", "b", "c"]);
    assert_eq!(picker.act(KeyAction::Up), PickerOutcome::Moved);
    assert_eq!(picker.act(KeyAction::Send), PickerOutcome::Picked(2));
    picker.act(KeyAction::Down);
    assert_eq!(picker.act(KeyAction::Queue), PickerOutcome::Picked(0));
    assert_eq!(picker.act(KeyAction::Interrupt), PickerOutcome::Closed);
    assert_eq!(picker.act(KeyAction::Steps), PickerOutcome::Passed);
    let keys = KeyMap::default();
    for key in ["c", "?"] {
        picker.input(&TerminalInput::Key(key.parse().expect("a key")), &keys);
    }
    assert_eq!((picker.query(), picker.found()), ("c?", 0), "letters are written, whatever they mean elsewhere");
    assert_eq!(picker.act(KeyAction::Send), PickerOutcome::Moved, "there is nothing to pick");
    picker.input(&TerminalInput::Key("backspace".parse().expect("a key")), &keys);
    assert_eq!((picker.query(), picker.chosen()), ("c", Some(2)));
}

#[test]
fn the_list_follows_what_is_chosen() {
    let texts: Vec<String> = (0..20).map(|number| format!("file{number:02}.rs")).collect();
    let mut picker = picker(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    drawn(&mut picker, 24, 4);
    picker.act(KeyAction::PageDown);
    picker.act(KeyAction::PageDown);
    insta::assert_snapshot!(drawn(&mut picker, 24, 4), @"
    Files              20/20
      file04.rs
      file05.rs
    › file06.rs
    ");
    picker.set_query("nope");
    insta::assert_snapshot!(drawn(&mut picker, 24, 3), @"
    Files nope          0/20
      No match.
    ");
}

#[test]
fn names_that_steer_a_terminal_are_drawn_as_marks() {
    let mut picker = picker(&["a\u{1b}[31m\u{202e}.rs", "two\nlines", "日本語.txt"]);
    insta::assert_snapshot!(drawn(&mut picker, 24, 4), @"
    Files                3/3
    › a^[[31m<U+202E>.rs
      two …
      日 本 語 .txt
    ");
}

#[test]
fn found_letters_stand_out() {
    let mut picker = picker(&["größe/main.rs"]);
    picker.set_query("öman");
    let area = Rect::new(0, 0, 30, 1);
    let mut buf = Buffer::empty(area);
    let theme = Theme::new(Palette::Plain);
    picker.draw(area, &mut buf, &theme);
    let has = ratatui::style::Modifier::UNDERLINED;
    let marked: String =
        buf.content.iter().filter(|cell| cell.modifier.contains(has)).map(|cell| cell.symbol()).collect();
    assert_eq!(marked, "öman");
}

proptest! {
    #[test]
    fn it_is_drawn_at_any_size(
        width in 0_u16..40, height in 0_u16..8, query in ".{0,5}",
        texts in proptest::collection::vec(".{0,30}", 0..10), down in 0..12,
    ) {
        let mut picker = picker(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        picker.set_query(&query);
        for _ in 0..down {
            picker.act(KeyAction::Down);
        }
        let area = Rect::new(0, 0, width, height);
        let mut buf = Buffer::empty(area);
        let cursor = picker.draw_whole(area, &mut buf, &Theme::new(Palette::Sixteen));
        prop_assert!(cursor.is_none_or(|cursor| area.contains(cursor)));
    }

    #[test]
    fn searching_letter_by_letter_finds_the_same(query in "[ab\\\\ c]{0,6}", texts in proptest::collection::vec("[abcABC ]{0,8}", 0..12)) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let (mut typed, mut at_once) = (picker(&texts), picker(&texts));
        for end in 1..=query.len() {
            typed.set_query(&query[..end]);
        }
        at_once.set_query(&query);
        prop_assert_eq!(found(&typed), found(&at_once));
    }
}
