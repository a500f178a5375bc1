use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::*;
use crate::tui::composer::text::is_position;

fn editor(text: &str) -> Editor {
    let mut editor = Editor::default();
    editor.reset(text.to_owned());
    editor
}

fn all(editor: &mut Editor, actions: &[KeyAction]) {
    for action in actions {
        editor.act(*action);
    }
}

/// The same in the plainest way: graphemes in a list, found anew after each step.
#[derive(Debug, Clone)]
struct Model {
    before: String,
    after: String,
    cut: String,
}

impl Model {
    fn clusters(text: &str) -> Vec<&str> {
        text.graphemes(true).collect()
    }

    /// Characters that come together at the cursor may be one: the cursor goes behind it.
    fn join(&mut self) {
        let whole = format!("{}{}", self.before, self.after);
        let mut end = 0;
        for cluster in whole.graphemes(true) {
            if end >= self.before.len() {
                break;
            }
            end += cluster.len();
        }
        self.before = whole[..end].to_owned();
        self.after = whole[end..].to_owned();
    }

    fn act(&mut self, step: &Step) {
        let (before, after) = (self.before.clone(), self.after.clone());
        let (left, right) = (Self::clusters(&before), Self::clusters(&after));
        match step {
            Step::Write(text) => self.before += text,
            Step::Do(KeyAction::Left) if !left.is_empty() => {
                let (last, rest) = left.split_last().expect("some");
                (self.before, self.after) = (rest.concat(), format!("{last}{after}"));
            }
            Step::Do(KeyAction::Right) if !right.is_empty() => {
                (self.before, self.after) = (format!("{before}{}", right[0]), right[1..].concat());
            }
            Step::Do(KeyAction::Backspace) => self.before = left[..left.len().saturating_sub(1)].concat(),
            Step::Do(KeyAction::Delete) => self.after = right[right.len().min(1)..].concat(),
            Step::Do(KeyAction::LineStart) => {
                let at = before.rfind('\n').map_or(0, |at| at + 1);
                (self.before, self.after) = (before[..at].to_owned(), format!("{}{after}", &before[at..]));
            }
            Step::Do(KeyAction::LineEnd) => {
                let at = after.find('\n').unwrap_or(after.len());
                (self.before, self.after) = (format!("{before}{}", &after[..at]), after[at..].to_owned());
            }
            Step::Do(KeyAction::KillToEnd) if !after.is_empty() => {
                let at = after.find('\n').map_or(after.len(), |at| at.max(1));
                (self.cut, self.after) = (after[..at].to_owned(), after[at..].to_owned());
            }
            Step::Do(KeyAction::Yank) => self.before += &self.cut,
            Step::Do(_) => {}
        }
        self.join();
    }
}

#[derive(Debug, Clone)]
enum Step {
    Write(String),
    Do(KeyAction),
}

fn steps(actions: &'static [KeyAction]) -> impl Strategy<Value = Vec<Step>> {
    let text = "[a-c \n]|日|👩|\u{301}|\u{200d}|🇩|\u{10f000}|\u{5d0}|\u{0600}|[a-z \n]{2,5}";
    let step = prop_oneof![text.prop_map(Step::Write), proptest::sample::select(actions).prop_map(Step::Do),];
    proptest::collection::vec(step, 0..40)
}

const SIMPLE: &[KeyAction] = &[
    KeyAction::Left,
    KeyAction::Right,
    KeyAction::Backspace,
    KeyAction::Delete,
    KeyAction::LineStart,
    KeyAction::LineEnd,
];

const EVERY: &[KeyAction] = &[
    KeyAction::Left,
    KeyAction::Right,
    KeyAction::WordLeft,
    KeyAction::WordRight,
    KeyAction::LineStart,
    KeyAction::LineEnd,
    KeyAction::TextStart,
    KeyAction::TextEnd,
    KeyAction::Backspace,
    KeyAction::Delete,
    KeyAction::DeleteWordLeft,
    KeyAction::DeleteWordRight,
    KeyAction::KillToEnd,
    KeyAction::KillToStart,
    KeyAction::Yank,
    KeyAction::YankOlder,
    KeyAction::Newline,
    KeyAction::Undo,
    KeyAction::Redo,
];

fn take(editor: &mut Editor, step: &Step) {
    match step {
        Step::Write(text) => editor.write(text),
        Step::Do(action) => {
            editor.act(*action);
        }
    }
}

proptest! {
    #[test]
    fn editing_does_what_the_plainest_model_does(steps in steps(SIMPLE)) {
        let mut editor = Editor::default();
        let mut model = Model { before: String::new(), after: String::new(), cut: String::new() };
        for step in &steps {
            take(&mut editor, step);
            model.act(step);
            let (before, after) = editor.text().split_at(editor.cursor());
            prop_assert_eq!((before, after), (model.before.as_str(), model.after.as_str()), "{:?}", step);
        }
    }

    #[test]
    fn the_cursor_never_stands_inside_a_character(steps in steps(EVERY)) {
        let mut editor = Editor::default();
        for step in &steps {
            take(&mut editor, step);
            prop_assert!(is_position(editor.text(), editor.cursor()), "{:?} {:?}", step, editor);
        }
    }

    #[test]
    fn undoing_everything_and_redoing_it_comes_back(start in ".{0,10}", steps in steps(&EVERY[..17])) {
        let mut editor = editor(&start);
        for step in &steps {
            take(&mut editor, step);
        }
        let (text, cursor) = (editor.text().to_owned(), editor.cursor());
        let mut count = 0;
        while editor.act(KeyAction::Undo) == Some(true) {
            count += 1;
        }
        prop_assert_eq!(editor.text(), &start);
        for _ in 0..count {
            prop_assert_eq!(editor.act(KeyAction::Redo), Some(true));
        }
        prop_assert_eq!(editor.act(KeyAction::Redo), Some(false));
        prop_assert_eq!(editor.text(), &text);
        prop_assert!(count == 0 || editor.cursor() == cursor || is_position(&text, editor.cursor()));
    }
}

#[test]
fn a_word_is_undone_at_a_time() {
    let mut editor = editor("");
    for c in "one two".chars() {
        editor.write(&c.to_string());
    }
    editor.act(KeyAction::Undo);
    assert_eq!(editor.text(), "one");
    editor.act(KeyAction::Undo);
    assert_eq!(editor.text(), "");
    all(&mut editor, &[KeyAction::Redo, KeyAction::Redo]);
    assert_eq!((editor.text(), editor.cursor()), ("one two", 7));
    editor.write("!");
    assert_eq!(editor.act(KeyAction::Redo), Some(false), "what was undone is gone once something else is written");
}

#[test]
fn what_was_cut_in_one_go_is_put_in_one_go_and_older_cuts_come_after_it() {
    let mut editor = editor("one two\nthree");
    all(&mut editor, &[KeyAction::DeleteWordLeft, KeyAction::KillToStart, KeyAction::DeleteWordLeft]);
    assert_eq!(editor.text(), "one ");
    all(&mut editor, &[KeyAction::TextStart, KeyAction::KillToEnd, KeyAction::Yank]);
    assert_eq!(editor.text(), "one ");
    editor.act(KeyAction::YankOlder);
    assert_eq!((editor.text(), editor.cursor()), ("two\nthree", 9));
    editor.act(KeyAction::YankOlder);
    assert_eq!(editor.text(), "one ", "then it begins anew");
    editor.act(KeyAction::Left);
    assert_eq!(editor.act(KeyAction::YankOlder), Some(false), "only right after it was put");
}

#[test]
fn cutting_at_an_end_of_line_joins_the_lines() {
    let mut editor = editor("a\nb");
    all(&mut editor, &[KeyAction::TextStart, KeyAction::LineEnd, KeyAction::KillToEnd]);
    assert_eq!(editor.text(), "ab");
    editor.act(KeyAction::Undo);
    all(&mut editor, &[KeyAction::TextEnd, KeyAction::LineStart, KeyAction::KillToStart]);
    assert_eq!(editor.text(), "ab");
    all(&mut editor, &[KeyAction::TextEnd, KeyAction::KillToEnd]);
    assert_eq!(editor.text(), "ab");
}

#[test]
fn what_can_be_undone_is_bounded() {
    let mut editor = editor("");
    for _ in 0..40 {
        editor.replace(0..0, &"x".repeat(200_000));
    }
    let held: usize = editor.done.iter().map(|edit| edit.added.len() + edit.removed.len()).sum();
    assert!(held <= MOST_BYTES, "{held}");
    for number in 0..5_000 {
        editor.replace(0..1, if number % 2 == 0 { "a" } else { "b" });
    }
    assert_eq!(editor.done.len(), MOST_EDITS);
}
