//! Changes that cover the screen: those that were made, and the one that is asked about.

use std::sync::Arc;

use serde_json::{Value, json};
use trimtab_host::{History, RewindRefusal, Set};
use trimtab_vocab::event::Conflict;
use trimtab_vocab::{ChangePart, ChangeSetId, Control, FileState, FileWrite, OnConflict, Time};
use unicode_width::UnicodeWidthStr;

use super::Stage;
use crate::diff::LoadedDiff;
use crate::tui::message::{Cmd, Msg};

fn id(name: &str) -> ChangeSetId {
    name.parse().expect("a name")
}

/// A set that changed these files by a line each.
fn set(name: &str, paths: &[&str]) -> Set {
    let state = |text: &str| Some(FileState { hash: text.into(), mode: 0o644 });
    let write = |path: &&str| FileWrite {
        path: (*path).to_owned(),
        before: state("before"),
        after: state("after"),
        added: 1,
        removed: 1,
        modified: 1,
    };
    Set {
        id: id(name),
        writes: paths.iter().map(write).collect(),
        time: Time::from_millis(0),
        cost: None,
        expired: false,
        undoes: None,
        by: None,
        inherited: false,
        lent: None,
    }
}

fn history(sets: Vec<Set>, in_force: usize, last: u64) -> Msg {
    Msg::History(Box::new(History { sets, in_force, last, ..History::default() }))
}

/// Thirty lines of which the second and the last but one are other ones: two hunks.
fn two_hunks() -> LoadedDiff {
    let lines: Vec<String> = (1..=30).map(|n| format!("line {n}")).collect();
    let before = lines.join("\n") + "\n";
    let after = before.replace("line 2\n", "second\n").replace("line 29\n", "last but one\n");
    LoadedDiff::made_up("notes.txt", Some(before.as_bytes()), Some(after.as_bytes()))
}

/// Opens the history with a set whose files these are.
fn opened(width: u16, height: u16, files: Vec<LoadedDiff>) -> Stage {
    let mut stage = Stage::new(width, height);
    assert!(stage.key("alt-c").contains(&Cmd::LoadHistory));
    let cmds = stage.tell(history(vec![set("a", &["notes.txt"])], 1, 9));
    assert!(matches!(&cmds[..], [Cmd::LoadSet { set, .. }] if *set == id("a")), "{cmds:?}");
    stage.tell(Msg::SetDiff { set: id("a"), files: Arc::new(files) });
    stage
}

fn control(cmds: &[Cmd]) -> Option<&Control> {
    cmds.iter().find_map(|cmd| match cmd {
        Cmd::Control(control) => Some(control),
        _ => None,
    })
}

/// No row is wider than the screen, and none was cut in the middle of a wide character.
fn fits(view: &str, width: usize) {
    for row in view.lines() {
        assert!(row.width() <= width, "{row:?} is wider than {width}");
    }
}

#[test]
fn the_history_stands_above_the_change_on_a_narrow_screen_and_beside_it_on_a_wide_one() {
    let mut narrow = opened(60, 16, vec![two_hunks()]);
    insta::assert_snapshot!(narrow.view(), @"
    Change History
    ● #1 notes.txt  +1 −1  1s ago

      notes.txt  +2 −2
    › hunk 1 of 2 · line 2
       1  1   line 1
       2    - line 2
          2 + second
       3  3   line 3
       4  4   line 4
       5  5   line 5
        … 20 unchanged lines …
      hunk 2 of 2 · line 29
      26 26   line 26
      27 27   line 27
    r undo · f redo · u undo marked · space mark … esc close
    ");
    let mut wide = opened(130, 12, vec![two_hunks()]);
    insta::assert_snapshot!(wide.view(), @"
    Change History
    ● #1 notes.txt  +1 −1  1s ago              notes.txt  +2 −2
                                             › hunk 1 of 2 · line 2
                                                1  1   line 1
                                                2    - line 2
                                                   2 + second
                                                3  3   line 3
                                                4  4   line 4
                                                5  5   line 5
                                                 … 20 unchanged lines …
                                               hunk 2 of 2 · line 29
    r undo · f redo · u undo marked · space mark · enter scroll · n p hunks · ↑ ↓ select · esc close
    ");
}

#[test]
fn every_sort_of_content_is_drawn_within_every_screen() {
    let long = format!("{}\n", "wörd 漢字 ".repeat(150));
    let longer = long.replace("漢字 wörd", "漢字 word");
    let binary: Vec<u8> = (0..=255).collect();
    let sorts: Vec<(&str, Vec<LoadedDiff>)> = vec![
        (
            "wide characters",
            vec![LoadedDiff::made_up("漢字.txt", Some("一二三\n".as_bytes()), Some("一二三四🦀\n".as_bytes()))],
        ),
        ("tabs", vec![LoadedDiff::made_up("Makefile", Some(b"all:\n\tcc a.c\n"), Some(b"all:\n\tcc\ta.c\tb.c\n"))]),
        ("carriage returns", vec![LoadedDiff::made_up("dos.txt", Some(b"one\r\ntwo\r\n"), Some(b"one\r\nthree\r\n"))]),
        ("control characters", vec![LoadedDiff::made_up("wild", Some(b"a\x1b[2Jb\n"), Some(b"a\x1b]0;x\x07b\n"))]),
        ("a long line", vec![LoadedDiff::made_up("long.txt", Some(long.as_bytes()), Some(longer.as_bytes()))]),
        ("bytes that are no text", vec![LoadedDiff::made_up("a.bin", Some(&binary), Some(&binary[1..]))]),
        ("a new file without an end", vec![LoadedDiff::made_up("new.txt", None, Some(b"no end"))]),
        ("an empty file", vec![LoadedDiff::made_up("empty", None, Some(b""))]),
        ("a file that went away", vec![LoadedDiff::made_up("gone.txt", Some(b"one\n"), None)]),
        ("nothing", vec![LoadedDiff::made_up("same.txt", Some(b"one\n"), Some(b"one\n"))]),
        ("no file", Vec::new()),
    ];
    for (sort, files) in sorts {
        let files = Arc::new(files);
        for (width, height) in [(1, 1), (7, 4), (40, 14), (112, 30), (200, 40)] {
            let mut stage = opened(width, height, Vec::new());
            stage.tell(Msg::SetDiff { set: id("a"), files: Arc::clone(&files) });
            for key in ["n", "space", "G", "k", "p", "g"] {
                stage.key(key);
                let view = stage.view();
                fits(&view, usize::from(width));
                assert!(!view.contains(['\u{1b}', '\u{7}', '\r', '\t']), "{sort}: {view:?}");
            }
        }
    }
}

#[test]
fn a_session_without_changes_says_so() {
    let mut stage = Stage::new(60, 8);
    stage.key("alt-c");
    stage.tell(history(Vec::new(), 0, 1));
    assert!(stage.view().contains("No files were changed in this session."), "{}", stage.view());
    for key in ["r", "f", "u", "n", "space", "enter", "j"] {
        assert_eq!(control(&stage.key(key)), None, "{key}");
    }
}

#[test]
fn a_move_is_previewed_made_once_and_told() {
    let mut stage = opened(80, 14, vec![two_hunks()]);
    stage.key("r");
    assert!(stage.view().contains("Undo 1 change?"), "{}", stage.view());
    for key in ["m", "o", "space"] {
        assert_eq!(control(&stage.key(key)), None, "{key} was not named");
    }
    let wanted = Control::Rewind { steps: 1, on_conflict: OnConflict::Refuse };
    assert_eq!(control(&stage.key("y")), Some(&wanted));
    for key in ["y", "m", "o"] {
        assert_eq!(control(&stage.key(key)), None, "it is on its way already");
    }
    assert!(stage.view().contains("Moving…"), "{}", stage.view());
    stage.tell(history(vec![set("a", &["notes.txt"])], 0, 12));
    assert!(stage.view().contains("(undone)") && !stage.view().contains("Moving…"), "{}", stage.view());
    assert_eq!(control(&stage.key("r")), None);
    assert!(!stage.view().contains("Undo 1"), "there is nothing more to take back: {}", stage.view());
    stage.key("f");
    stage.key("y");
    stage.key("esc");
    assert!(!stage.view().contains("Moving…"), "whoever does not want to wait sees the list again");
}

/// Tells that a wish was refused.
fn refused(stage: &mut Stage, conflicts: Vec<Conflict>) {
    let reason = "You have edited this file since.".to_owned();
    let refused = Some(RewindRefusal { at: 11, reason, conflicts });
    let sets = vec![set("a", &["notes.txt"])];
    stage.tell(Msg::History(Box::new(History { sets, in_force: 1, last: 11, refused, ..History::default() })));
}

#[test]
fn edits_that_stand_in_the_way_are_shown_before_anything_is_given_up() {
    let conflict: Conflict =
        serde_json::from_value(json!({"path": "漢字/notes.txt", "reason": "line 3 is not as it was", "firstLine": 3}))
            .expect("a conflict");
    for (key, on_conflict) in [("m", OnConflict::KeepMine), ("o", OnConflict::DiscardMine)] {
        let mut stage = opened(80, 14, vec![two_hunks()]);
        stage.key("r");
        stage.key("y");
        refused(&mut stage, vec![conflict.clone()]);
        let view = stage.view();
        assert!(view.contains("漢字/notes.txt:3  line 3 is not as it was"), "{view}");
        assert_eq!(control(&stage.key("y")), None, "the same again would be refused again");
        assert_eq!(control(&stage.key(key)), Some(&Control::Rewind { steps: 1, on_conflict }));
    }
    // Where no key could help, none is offered.
    let mut stage = opened(30, 14, vec![two_hunks()]);
    stage.key("r");
    stage.key("y");
    refused(&mut stage, Vec::new());
    let view = stage.view();
    assert!(view.contains("You have edited this file") && view.contains("Nothing was changed"), "{view}");
    assert_eq!(control(&stage.key("o")), None);
    stage.key("esc");
    assert!(stage.view().contains("notes.txt"), "{}", stage.view());
}

#[test]
fn marked_hunks_are_taken_back_and_nothing_else() {
    let mut stage = opened(80, 20, vec![two_hunks()]);
    stage.view();
    stage.key("n");
    stage.key("space");
    stage.key("p");
    stage.key("u");
    assert!(stage.view().contains("Undo 1 hunk of change #1?"), "{}", stage.view());
    let cmds = stage.key("y");
    let parts = vec![ChangePart { path: "notes.txt".into(), hunks: vec![2] }];
    let wanted = Control::UndoPart { change_set: id("a"), parts, on_conflict: OnConflict::Refuse };
    assert_eq!(control(&cmds), Some(&wanted));
}

#[test]
fn a_set_that_took_the_place_of_another_is_shown_as_it_is() {
    let mut stage = opened(80, 14, vec![LoadedDiff::made_up("notes.txt", Some(b"a\n"), Some(b"the old set\n"))]);
    assert!(stage.view().contains("the old set"));
    // It was taken back, and something else was changed.
    let cmds = stage.tell(history(vec![set("b", &["other.txt"])], 1, 20));
    assert!(matches!(&cmds[..], [Cmd::LoadSet { set, .. }] if *set == id("b")), "{cmds:?}");
    assert!(!stage.view().contains("the old set"), "{}", stage.view());
    // What was loaded for the old one comes too late.
    let late = LoadedDiff::made_up("notes.txt", Some(b"a\n"), Some(b"the old set\n"));
    stage.tell(Msg::SetDiff { set: id("a"), files: Arc::new(vec![late]) });
    assert!(!stage.view().contains("the old set"), "{}", stage.view());
    let new = LoadedDiff::made_up("other.txt", Some(b"a\n"), Some(b"the new set\n"));
    stage.tell(Msg::SetDiff { set: id("b"), files: Arc::new(vec![new]) });
    assert!(stage.view().contains("the new set"), "{}", stage.view());
}

#[test]
fn many_sets_scroll_and_the_chosen_one_stays_in_sight() {
    let mut stage = Stage::new(50, 12);
    stage.key("alt-c");
    let names: Vec<String> = (1..=40).map(|n| format!("c{n}")).collect();
    let sets = || names.iter().map(|name| set(name, &["a.txt", "b.txt"])).collect();
    stage.tell(history(sets(), 40, 99));
    for place in (1..40).rev() {
        let cmds = stage.key("down");
        assert!(matches!(&cmds[..], [Cmd::LoadSet { set, .. }] if *set == id(&format!("c{place}"))), "{cmds:?}");
        assert!(stage.view().contains(&format!("#{place} 2 files")), "{}", stage.view());
    }
    assert_eq!(stage.key("down"), [], "there is none before the first");
    stage.key("r");
    let view = stage.view();
    assert!(view.contains("Undo 40 changes?") && view.contains("#40  a.txt, b.txt"), "{view}");
}

/// A question about a change of these files.
fn asked(stage: &mut Stage, files: Vec<LoadedDiff>, hunks: Option<u32>) {
    let mut question: Value = json!({"type": "checkpoint.opened", "checkpoint": "k1", "kind": "permission",
        "title": "Change notes.txt?", "choices": [{"id": "allow", "label": "Allow this time"},
        {"id": "never", "label": "Never allow"}], "about": "tool", "call": "c1", "tool": "edit_file",
        "input": {"path": "notes.txt"}, "reason": "files are asked about", "proposal": "p1"});
    if let Some(hunks) = hunks {
        question["hunks"] = json!(hunks);
    }
    stage.said("x");
    stage.asked(question);
    stage.tell(Msg::Diff { call: "c1".parse().expect("a name"), files: Arc::new(files) });
    stage.key("d");
}

#[test]
fn hunks_of_a_question_can_be_left_out() {
    let mut stage = Stage::new(70, 24);
    asked(&mut stage, vec![two_hunks()], Some(2));
    insta::assert_snapshot!(stage.view(), @"
    The proposed change
      notes.txt  +2 −2
    › hunk 1 of 2 · line 2
       1  1   line 1
       2    - line 2
          2 + second
       3  3   line 3
       4  4   line 4
       5  5   line 5
        … 20 unchanged lines …
    ✓ hunk 2 of 2 · line 29
      26 26   line 26
      27 27   line 27
      28 28   line 28
      29    - line 29
         29 + last but one
      30 30   line 30






    n p hunks · space deselect · esc back to the question
    ");
    stage.key("space");
    let view = stage.view();
    assert!(view.contains("1 of 2 hunks · enter allow only these") && view.contains("✗ "), "{view}");
    let cmds = stage.key("enter");
    let [Cmd::AllowParts { checkpoint, parts }] = &cmds[..] else { panic!("{cmds:?}") };
    assert_eq!(checkpoint.as_str(), "k1");
    assert_eq!(parts, &[ChangePart { path: "notes.txt".into(), hunks: vec![2] }]);
    assert!(stage.app.view.is_none());
}

#[test]
fn leaving_everything_out_or_nothing_answers_no_question() {
    let mut stage = Stage::new(70, 24);
    asked(&mut stage, vec![two_hunks()], Some(2));
    stage.view();
    stage.key("space");
    stage.key("n");
    stage.key("space");
    assert_eq!(stage.key("enter"), [], "to leave everything out is another answer");
    assert!(stage.screen().contains("Change notes.txt?"), "{}", stage.screen());
    stage.key("d");
    stage.view();
    assert_eq!(stage.key("enter"), [], "what is allowed whole is allowed at the question");
    assert!(stage.screen().contains("Change notes.txt?"), "{}", stage.screen());
}

#[test]
fn a_question_that_takes_no_part_offers_none() {
    let one_hunk = || vec![LoadedDiff::made_up("a", Some(b"a\n"), Some(b"b\n"))];
    let no_text = || vec![LoadedDiff::made_up("a.bin", Some(b"\0a"), Some(b"\0b"))];
    for width in [24, 70, 140] {
        let sorts = [
            ("no parts are offered", vec![two_hunks()], None),
            ("one hunk", one_hunk(), Some(1)),
            ("bytes that are no text", no_text(), Some(1)),
        ];
        for (sort, files, hunks) in sorts {
            let mut stage = Stage::new(width, 20);
            asked(&mut stage, files, hunks);
            let view = stage.view();
            fits(&view, usize::from(width));
            assert!(!view.contains("leaves one out"), "{sort}: {view}");
            stage.key("space");
            assert_eq!(stage.key("enter"), [], "{sort}");
        }
    }
}
