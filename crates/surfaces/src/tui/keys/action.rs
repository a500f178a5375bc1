//! What can be done with a key: names for settings, words for help, and the keys that mean it at first.

/// Something that a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the table below says in words what each does")]
pub enum Action {
    Send,
    Queue,
    Newline,
    Interrupt,
    Quit,
    Leave,
    CycleMode,
    History,
    Editor,
    Transcript,
    Trace,
    Steps,
    Help,
    Stash,
    Paste,
    Open,
    EditPending,
    Redraw,
    Suspend,
    Questions,
    Changes,
    Sessions,
    Pause,
    Implement,
    PageUp,
    PageDown,
    Left,
    Right,
    WordLeft,
    WordRight,
    Up,
    Down,
    LineStart,
    LineEnd,
    TextStart,
    TextEnd,
    Backspace,
    Delete,
    DeleteWordLeft,
    DeleteWordRight,
    KillToEnd,
    KillToStart,
    Yank,
    YankOlder,
    Undo,
    Redo,
}

/// Where help lists an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// What a person says, and when.
    Talk,
    /// What the screen shows.
    Look,
    /// How a text is written.
    Write,
}

impl Group {
    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Talk => "Talk",
            Self::Look => "Look",
            Self::Write => "Write",
        }
    }
}

/// An action with its name in settings, its keys and its words.
pub(super) struct Row {
    pub(super) action: Action,
    pub(super) name: &'static str,
    pub(super) keys: &'static [&'static str],
    pub(super) help: &'static str,
    pub(super) group: Group,
}

const fn row(
    action: Action,
    group: Group,
    name: &'static str,
    keys: &'static [&'static str],
    help: &'static str,
) -> Row {
    Row { action, name, keys, help, group }
}

use Action as A;
use Group::{Look, Talk, Write};

/// Every action, in the order of the help.
pub(super) const ROWS: &[Row] = &[
    row(A::Send, Talk, "send", &["enter"], "send, or steer what runs"),
    row(A::Queue, Talk, "queue", &["tab"], "send when what runs has ended"),
    row(A::Newline, Talk, "newline", &["shift-enter", "alt-enter", "ctrl-j"], "begin a new line (also \\ and Enter)"),
    row(A::Interrupt, Talk, "interrupt", &["esc"], "stop what runs, or close what is open"),
    row(A::EditPending, Talk, "edit-pending", &["alt-up"], "take the latest waiting message back to edit it"),
    row(A::CycleMode, Talk, "mode", &["shift-tab"], "go to the next mode"),
    row(A::History, Talk, "history", &["ctrl-r"], "search what you said before"),
    row(A::Stash, Talk, "stash", &["ctrl-s"], "put the draft away, or bring it back"),
    row(A::Paste, Talk, "paste", &["ctrl-v"], "put what is in the clipboard, a picture too"),
    row(A::Editor, Talk, "editor", &["ctrl-g"], "write in your editor"),
    row(A::Open, Talk, "open", &["alt-o"], "open the paste at the cursor"),
    row(A::Quit, Talk, "quit", &["ctrl-c"], "clear the draft; twice: leave"),
    row(A::Leave, Talk, "leave", &["ctrl-d"], "leave, if nothing is written"),
    row(A::Pause, Talk, "pause", &["alt-p"], "rest after this step, or go on"),
    row(A::Implement, Talk, "implement", &["alt-i"], "carry out what was talked about"),
    row(A::Questions, Look, "questions", &["alt-q"], "put what is asked aside, or bring it back"),
    row(A::Changes, Look, "changes", &["alt-c"], "show what was changed, to take it back (also esc esc)"),
    row(A::Sessions, Look, "sessions", &["alt-s"], "show earlier sessions"),
    row(A::Transcript, Look, "transcript", &["ctrl-o"], "show everything that was said and done"),
    row(A::Trace, Look, "trace", &["alt-t"], "show what took how long"),
    row(A::Steps, Look, "steps", &["ctrl-t"], "show or hide the steps"),
    row(A::Help, Look, "help", &["?"], "show the keys, if nothing is written"),
    row(A::PageUp, Look, "page-up", &["pageup"], "go up a page"),
    row(A::PageDown, Look, "page-down", &["pagedown"], "go down a page"),
    row(A::Redraw, Look, "redraw", &["ctrl-l"], "draw the screen anew"),
    row(A::Suspend, Look, "suspend", &["ctrl-z"], "back to the shell; `fg` returns"),
    row(A::Left, Write, "left", &["left", "ctrl-b"], "go left"),
    row(A::Right, Write, "right", &["right", "ctrl-f"], "go right"),
    row(A::WordLeft, Write, "word-left", &["alt-left", "ctrl-left", "alt-b"], "go left by a word"),
    row(A::WordRight, Write, "word-right", &["alt-right", "ctrl-right", "alt-f"], "go right by a word"),
    row(A::Up, Write, "up", &["up", "ctrl-p"], "go up; on the first line: what you said before"),
    row(A::Down, Write, "down", &["down", "ctrl-n"], "go down; on the last line: what you said after it"),
    row(A::LineStart, Write, "line-start", &["home", "ctrl-a"], "go to the start of the line"),
    row(A::LineEnd, Write, "line-end", &["end", "ctrl-e"], "go to the end of the line"),
    row(A::TextStart, Write, "text-start", &["ctrl-home", "alt-<"], "go to the start of the text"),
    row(A::TextEnd, Write, "text-end", &["ctrl-end", "alt->"], "go to the end of the text"),
    row(A::Backspace, Write, "backspace", &["backspace", "ctrl-h"], "delete to the left"),
    row(A::Delete, Write, "delete", &["delete"], "delete to the right"),
    row(
        A::DeleteWordLeft,
        Write,
        "delete-word-left",
        &["ctrl-w", "alt-backspace", "ctrl-backspace"],
        "cut the word to the left",
    ),
    row(
        A::DeleteWordRight,
        Write,
        "delete-word-right",
        &["alt-d", "alt-delete", "ctrl-delete"],
        "cut the word to the right",
    ),
    row(A::KillToEnd, Write, "cut-to-end", &["ctrl-k"], "cut to the end of the line"),
    row(A::KillToStart, Write, "cut-to-start", &["ctrl-u"], "cut to the start of the line"),
    row(A::Yank, Write, "put", &["ctrl-y"], "put what was cut"),
    row(A::YankOlder, Write, "put-older", &["alt-y"], "put what was cut before that instead"),
    row(A::Undo, Write, "undo", &["ctrl-_", "ctrl-/"], "undo"),
    row(A::Redo, Write, "redo", &["alt-/"], "redo"),
];

impl Action {
    pub(super) fn row(self) -> &'static Row {
        ROWS.iter().find(|row| row.action == self).expect("every action has a row; a test counts them")
    }

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        self.row().name
    }
}
