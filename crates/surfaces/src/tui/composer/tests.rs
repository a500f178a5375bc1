use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::*;
use crate::palette::Palette;
use crate::tui::theme::Theme;

fn composer() -> Composer {
    let mut composer = Composer::new("/home/u");
    composer.is_file = |path| path.starts_with("/pics");
    composer
}

fn press(composer: &mut Composer, keys: &[&str]) -> ComposerOutcome {
    let map = KeyMap::default();
    let mut outcome = ComposerOutcome::Passed(None);
    for key in keys {
        outcome = composer.input(&TerminalInput::Key(key.parse().expect("a key")), &map);
    }
    outcome
}

fn write(composer: &mut Composer, text: &str) {
    let map = KeyMap::default();
    for c in text.chars() {
        let key =
            if c == '\n' { "ctrl-j".parse().expect("a key") } else { Chord::plain(crate::tui::keys::Key::Char(c)) };
        composer.input(&TerminalInput::Key(key), &map);
    }
}

fn shown(composer: &Composer) -> String {
    composer.chips.labelled(composer.editor.text())
}

/// The screen as text, with a bar where the cursor is.
fn drawn(composer: &mut Composer, width: u16, height: u16) -> String {
    let area = Rect::new(0, 0, width, height);
    let mut buf = Buffer::empty(area);
    let cursor = composer.draw(area, &mut buf, &Theme::new(Palette::Plain));
    let cell = |x, y| match cursor == Some(Position { x, y }) {
        true => format!("|{}", buf[(x, y)].symbol()),
        false => buf[(x, y)].symbol().to_owned(),
    };
    let row = |y| (0..width).map(|x| cell(x, y)).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}

fn files(composer: &mut Composer) {
    let items = ["src/main.rs", "src/tui/", "src/tui/mod.rs", "README.md"].map(PickerItem::new);
    composer.offer(CompletionSource::Files, Arc::new(items.to_vec()));
}

#[test]
fn lines_are_wrapped_at_words_and_the_cursor_follows() {
    let mut composer = composer();
    composer.set_hint("Ask anything");
    insta::assert_snapshot!(drawn(&mut composer, 20, 1), @"› |Ask anything");
    write(&mut composer, "the quick brown fox jumps\nover 日本語の犬");
    assert_eq!(composer.height(20, 10), 3);
    insta::assert_snapshot!(drawn(&mut composer, 20, 3), @"
    › the quick brown
      fox jumps
      over 日 本 語 の 犬 |
    ");
    press(&mut composer, &["up", "up", "home"]);
    insta::assert_snapshot!(drawn(&mut composer, 20, 2), @"
    › |the quick brown
      fox jumps
    ");
}

#[test]
fn going_up_and_down_keeps_the_column_it_came_from() {
    let mut composer = composer();
    write(&mut composer, "a long first line\nx\nanother line");
    drawn(&mut composer, 40, 3);
    press(&mut composer, &["up", "up"]);
    assert_eq!(composer.editor.cursor(), 12);
    press(&mut composer, &["down", "down"]);
    assert_eq!(composer.editor.cursor(), composer.editor.text().len());
}

#[test]
fn enter_sends_tab_queues_and_a_backslash_or_another_enter_begins_a_line() {
    let mut composer = composer();
    assert_eq!(press(&mut composer, &["enter"]), ComposerOutcome::Moved, "there is nothing to send");
    write(&mut composer, "a");
    press(&mut composer, &["\\", "enter", "b", "shift-enter", "c", "alt-enter", "d", "ctrl-j", "e"]);
    assert_eq!(press(&mut composer, &["enter"]), ComposerOutcome::Send(ComposerDraft::new("a\nb\nc\nd\ne")));
    assert!(composer.is_empty());
    write(&mut composer, "later");
    assert_eq!(press(&mut composer, &["tab"]), ComposerOutcome::Queue(ComposerDraft::new("later")));
}

#[test]
fn a_key_that_types_acts_only_while_nothing_is_written() {
    let mut composer = composer();
    assert_eq!(press(&mut composer, &["?"]), ComposerOutcome::Passed(Some(KeyAction::Help)));
    assert_eq!(press(&mut composer, &["w", "?"]), ComposerOutcome::Changed);
    assert_eq!(shown(&composer), "w?");
}

#[test]
fn keys_of_others_are_passed_on() {
    let mut composer = composer();
    assert_eq!(press(&mut composer, &["esc"]), ComposerOutcome::Passed(Some(KeyAction::Interrupt)));
    assert_eq!(press(&mut composer, &["ctrl-c"]), ComposerOutcome::Passed(Some(KeyAction::Quit)));
    assert_eq!(press(&mut composer, &["ctrl-d"]), ComposerOutcome::Passed(Some(KeyAction::Leave)));
    assert_eq!(press(&mut composer, &["f9"]), ComposerOutcome::Passed(None));
    write(&mut composer, "draft");
    assert_eq!(press(&mut composer, &["ctrl-c"]), ComposerOutcome::Changed, "the first one clears");
    assert_eq!(press(&mut composer, &["ctrl-c"]), ComposerOutcome::Passed(Some(KeyAction::Quit)));
    press(&mut composer, &["ctrl-_"]);
    assert_eq!(shown(&composer), "draft", "and can be undone");
    assert_eq!(press(&mut composer, &["home", "ctrl-d"]), ComposerOutcome::Changed);
    assert_eq!(shown(&composer), "raft");
}

#[test]
fn a_long_paste_is_a_chip_that_is_sent_whole() {
    let mut composer = composer();
    let long = "line\r\n".repeat(120);
    write(&mut composer, "see ");
    composer.paste(&long);
    write(&mut composer, " please");
    insta::assert_snapshot!(drawn(&mut composer, 40, 1), @"› see [Pasted 120 lines #1] please|");
    press(&mut composer, &["home", "alt-right", "right", "right", "backspace"]);
    assert_eq!(shown(&composer), "see  please", "one key deletes it whole");
    press(&mut composer, &["ctrl-_"]);
    let ComposerOutcome::Send(draft) = press(&mut composer, &["enter"]) else { panic!("not sent") };
    assert_eq!(draft.text(), format!("see {} please", long.replace('\r', "")));
}

#[test]
fn a_paste_is_opened_in_place_or_in_an_editor_if_it_is_too_long_for_that() {
    let mut composer = composer();
    composer.paste(&"a\n".repeat(20));
    assert_eq!(press(&mut composer, &["alt-o"]), ComposerOutcome::Changed);
    assert_eq!(shown(&composer), "a\n".repeat(20));
    press(&mut composer, &["ctrl-c"]);
    let huge = "b".repeat(100_000);
    composer.paste(&huge);
    assert_eq!(press(&mut composer, &["alt-o"]), ComposerOutcome::Editor(huge));
    composer.edited(Some("one\ntwo\n".into()));
    assert_eq!(shown(&composer), "[Pasted 2 lines #2]");
    assert_eq!(composer.draft().text(), "one\ntwo\n");
}

#[test]
fn the_editor_gets_the_text_and_gives_it_back_with_its_chips() {
    let mut composer = composer();
    write(&mut composer, "fix ");
    composer.paste(&"x\n".repeat(50));
    let ComposerOutcome::Editor(text) = press(&mut composer, &["ctrl-g"]) else { panic!("no editor") };
    assert_eq!(text, "fix [Pasted 50 lines #1]");
    composer.edited(Some("please fix [Pasted 50 lines #1] now\n".into()));
    assert_eq!(composer.draft().text(), format!("please fix {} now", "x\n".repeat(50)));
    assert_eq!(composer.edited(None), ComposerOutcome::Moved, "an editor that failed changes nothing");
    composer.edited(Some("y".repeat(200_000)));
    assert_eq!(shown(&composer), "[Pasted 200000 characters #2]", "too much for the composer");
}

#[test]
fn pictures_become_chips() {
    let mut composer = composer();
    composer.paste("'/pics/a shot.png' /pics/b.jpg");
    assert_eq!(shown(&composer), "[Image #1 a shot.png] [Image #2 b.jpg] ");
    write(&mut composer, "what is this?");
    let ComposerOutcome::Send(draft) = press(&mut composer, &["enter"]) else { panic!("not sent") };
    assert_eq!(draft.images(), [Path::new("/pics/a shot.png"), Path::new("/pics/b.jpg")]);
    assert_eq!(draft.text(), "[Image #1 a shot.png] [Image #2 b.jpg] what is this?");
    composer.paste("/nowhere/c.png");
    assert_eq!(shown(&composer), "/nowhere/c.png");
}

#[test]
fn files_are_found_while_their_name_is_written() {
    let mut composer = composer();
    write(&mut composer, "look at @mo");
    assert_eq!(composer.take_wish(), Some(CompletionSource::Files));
    assert_eq!(composer.take_wish(), None);
    insta::assert_snapshot!(drawn(&mut composer, 30, 2), @"
      Looking in trusted folders…
    › look at @mo|
    ");
    files(&mut composer);
    assert_eq!(composer.height(30, 20), 2);
    insta::assert_snapshot!(drawn(&mut composer, 30, 2), @"
    › src/tui/mod.rs
    › look at @mo|
    ");
    assert_eq!(press(&mut composer, &["enter"]), ComposerOutcome::Changed, "Enter picks, it does not send");
    assert_eq!(shown(&composer), "look at @src/tui/mod.rs ");
    press(&mut composer, &["ctrl-_"]);
    assert_eq!(shown(&composer), "look at @mo", "a pick is undone at once");
}

#[test]
fn a_folder_is_opened_and_a_name_that_is_written_out_is_sent() {
    let mut composer = composer();
    files(&mut composer);
    write(&mut composer, "@src/tui/");
    press(&mut composer, &["tab"]);
    assert_eq!(shown(&composer), "@src/tui/");
    write(&mut composer, "mod.rs");
    assert_eq!(press(&mut composer, &["enter"]), ComposerOutcome::Send(ComposerDraft::new("@src/tui/mod.rs")));
}

#[test]
fn a_name_with_blanks_is_put_in_quotes() {
    let mut composer = composer();
    composer.offer(CompletionSource::Files, Arc::new(vec![PickerItem::new("my notes.md")]));
    write(&mut composer, "see @\"no");
    press(&mut composer, &["enter"]);
    assert_eq!(shown(&composer), "see @\"my notes.md\" ");
}

#[test]
fn a_closed_list_stays_closed_for_its_word() {
    let mut composer = composer();
    files(&mut composer);
    write(&mut composer, "@s");
    assert!(composer.is_open());
    assert_eq!(press(&mut composer, &["esc"]), ComposerOutcome::Moved);
    write(&mut composer, "r");
    assert!(!composer.is_open());
    assert_eq!(press(&mut composer, &["enter"]), ComposerOutcome::Send(ComposerDraft::new("@sr")));
    write(&mut composer, "@s");
    assert_eq!(composer.open_list(), Some(CompletionSource::Files));
}

#[test]
fn commands_and_tags_are_offered() {
    let mut composer = composer();
    composer.offer(
        CompletionSource::Commands,
        Arc::new(vec![PickerItem::noted("review", "Look at the changes"), PickerItem::new("undo")]),
    );
    composer.offer(CompletionSource::Tags, Arc::new(vec![PickerItem::new("bug")]));
    write(&mut composer, "/r");
    insta::assert_snapshot!(drawn(&mut composer, 40, 2), @"
    › review  Look at the changes
    › /r|
    ");
    press(&mut composer, &["tab"]);
    write(&mut composer, "the parser #b");
    press(&mut composer, &["enter"]);
    assert_eq!(press(&mut composer, &["enter"]), ComposerOutcome::Send(slash("/review the parser #bug ")));
}

#[test]
fn enter_in_the_list_runs_a_command_that_takes_no_words_and_writes_others_out() {
    let mut composer = composer();
    let names = ["review", "changes", "model"].map(PickerItem::new);
    composer.offer(CompletionSource::Commands, Arc::new(names.into()));
    write(&mut composer, "/cha");
    assert_eq!(press(&mut composer, &["enter"]), ComposerOutcome::Send(slash("/changes ")));
    write(&mut composer, "/cha");
    assert_eq!(press(&mut composer, &["tab"]), ComposerOutcome::Changed);
    assert_eq!(composer.draft(), slash("/changes "));
    press(&mut composer, &["ctrl-c"]);
    for (typed, written) in [("/mod", "/model "), ("/rev", "/review ")] {
        write(&mut composer, typed);
        assert_eq!(press(&mut composer, &["enter"]), ComposerOutcome::Changed, "words may follow {written}");
        assert_eq!(composer.draft(), slash(written));
        press(&mut composer, &["ctrl-c"]);
    }
}

fn slash(text: &str) -> ComposerDraft {
    ComposerDraft { kind: DraftKind::Slash, ..ComposerDraft::new(text) }
}

#[test]
fn a_command_of_the_persons_own_looks_like_one() {
    let mut composer = composer();
    write(&mut composer, "!ls");
    insta::assert_snapshot!(drawn(&mut composer, 20, 1), @"! ls|");
    assert_eq!(
        press(&mut composer, &["enter"]),
        ComposerOutcome::Send(ComposerDraft { kind: DraftKind::Shell, ..ComposerDraft::new("ls") })
    );
    press(&mut composer, &["up"]);
    insta::assert_snapshot!(drawn(&mut composer, 20, 1), @"! ls|");
    press(&mut composer, &["backspace", "backspace", "backspace"]);
    write(&mut composer, "x");
    assert_eq!(composer.draft(), ComposerDraft::new("x"), "one more backspace leaves the shell");
}

#[test]
fn only_a_first_key_makes_a_command() {
    for text in ["!ls", "/quit", "! id\nsecond"] {
        let mut composer = composer();
        composer.paste(text);
        assert_eq!(composer.draft(), ComposerDraft::new(text), "a paste is a message");
        press(&mut composer, &["ctrl-c"]);
        composer.set_draft(&ComposerDraft::new(text));
        assert_eq!(composer.draft().kind, DraftKind::Message, "what a model proposes is a message");
        press(&mut composer, &["home", "!"]);
        assert_eq!(composer.draft().kind, DraftKind::Message, "a key before a text does not change what it is");
        assert!(composer.open_list().is_none(), "no list of commands opens over it");
    }
}

#[test]
fn a_paste_in_a_command_is_read_before_it_runs() {
    let mut composer = composer();
    write(&mut composer, "!");
    composer.paste(&"echo 1\n".repeat(14));
    assert!(shown(&composer).starts_with("[Pasted"), "{}", shown(&composer));
    assert_eq!(press(&mut composer, &["enter"]), ComposerOutcome::Changed, "the first time only shows it");
    assert!(shown(&composer).starts_with("echo 1\n"), "{}", shown(&composer));
    assert!(matches!(press(&mut composer, &["enter"]), ComposerOutcome::Send(draft) if draft.kind == DraftKind::Shell));
}

#[test]
fn what_was_said_before_comes_back_and_the_draft_is_not_lost() {
    let mut composer = composer();
    composer.set_history(vec![ComposerDraft::new("first"), ComposerDraft::new("second\nline")]);
    write(&mut composer, "draft");
    press(&mut composer, &["up"]);
    assert_eq!(shown(&composer), "second\nline");
    press(&mut composer, &["up", "up"]);
    assert_eq!(shown(&composer), "first");
    press(&mut composer, &["down", "down"]);
    assert_eq!(shown(&composer), "draft");
    press(&mut composer, &["up", "!"]);
    press(&mut composer, &["down"]);
    assert_eq!(shown(&composer), "second\nline!", "what was changed is a draft of its own");
}

#[test]
fn history_is_searched_by_some_letters() {
    let mut composer = composer();
    let said = ["run the tests", "fix the parser", "commit"].map(ComposerDraft::new);
    composer.set_history(said.to_vec());
    write(&mut composer, "x");
    press(&mut composer, &["ctrl-r", "t", "h", "e"]);
    insta::assert_snapshot!(drawn(&mut composer, 30, 4), @"
    History: the|               2/3
    › fix the parser
      run the tests
    › x
    ");
    press(&mut composer, &["ctrl-r", "enter"]);
    assert_eq!(shown(&composer), "run the tests");
    press(&mut composer, &["ctrl-r", "q", "esc"]);
    assert_eq!(shown(&composer), "run the tests", "a closed search changes nothing");
    press(&mut composer, &["ctrl-_"]);
    assert_eq!(shown(&composer), "x");
}

#[test]
fn a_draft_is_put_away_and_brought_back_with_its_chips() {
    let mut composer = composer();
    composer.paste(&"x".repeat(2_000));
    write(&mut composer, "y");
    press(&mut composer, &["ctrl-s"]);
    assert_eq!((composer.is_empty(), composer.stashed()), (true, 1));
    write(&mut composer, "quick question");
    press(&mut composer, &["enter", "ctrl-s"]);
    assert_eq!(composer.draft().text(), format!("{}y", "x".repeat(2_000)));
    assert_eq!(composer.stashed(), 0);
}

#[test]
fn a_draft_outlives_the_process() {
    let mut composer = composer();
    composer.paste(&"x\n".repeat(30));
    write(&mut composer, "put away");
    press(&mut composer, &["ctrl-s"]);
    write(&mut composer, "half a thou");
    let kept = serde_json::to_string(&composer.kept()).expect("written");
    let mut next = self::composer();
    next.restore(serde_json::from_str(&kept).expect("read"));
    assert_eq!(shown(&next), "half a thou");
    press(&mut next, &["ctrl-c", "ctrl-s"]);
    assert_eq!(shown(&next), "[Pasted 30 lines #1]put away");
}

#[test]
fn chips_of_what_was_cut_are_still_there_after_sending() {
    let mut composer = composer();
    composer.paste(&"x\n".repeat(30));
    press(&mut composer, &["ctrl-u"]);
    write(&mut composer, "hello");
    press(&mut composer, &["enter", "ctrl-y"]);
    assert_eq!(composer.draft().text(), "x\n".repeat(30));
}

fn any_input() -> impl Strategy<Value = TerminalInput> {
    let keys: Vec<Chord> = KeyMap::default()
        .help()
        .iter()
        .flat_map(|row| row.keys.split(", ").filter_map(|key| key.parse().ok()).collect::<Vec<Chord>>())
        .collect();
    prop_oneof![
        4 => any::<char>().prop_map(|c| TerminalInput::Key(Chord::plain(crate::tui::keys::Key::Char(c)))),
        4 => "[a-c@/#! \\\\日👩\u{301}]".prop_map(|c| {
            TerminalInput::Key(Chord::plain(crate::tui::keys::Key::Char(c.chars().next().unwrap_or('a'))))
        }),
        6 => proptest::sample::select(keys).prop_map(TerminalInput::Key),
        1 => "(.|\n){0,40}".prop_map(TerminalInput::Paste),
        1 => Just(TerminalInput::Paste("long ".repeat(300))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_that_is_done_panics_and_it_is_drawn_at_any_size(
        inputs in proptest::collection::vec(any_input(), 0..50), width in 0_u16..30, height in 0_u16..6,
    ) {
        let mut composer = composer();
        files(&mut composer);
        let (keys, theme) = (KeyMap::default(), Theme::new(Palette::Sixteen));
        for input in &inputs {
            composer.input(input, &keys);
            let area = Rect::new(0, 0, width, height);
            let cursor = composer.draw(area, &mut Buffer::empty(area), &theme);
            prop_assert_eq!(cursor.is_some(), !area.is_empty());
            prop_assert!(cursor.is_none_or(|cursor| area.contains(cursor)));
            prop_assert!(text::is_position(composer.editor.text(), composer.editor.cursor()));
            prop_assert!(composer.editor.text().chars().filter(|c| chip::is_chip(*c)).all(|c| composer.chips.get(c).is_some()));
        }
    }
}
