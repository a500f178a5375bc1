//! What can be done with a key: names for settings, words for help, and the keys that mean it at first.

/// Where help lists an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyGroup {
    /// What a person says, and when.
    Talk,
    /// What the screen shows.
    Views,
    /// How a text is written.
    Write,
}

impl KeyGroup {
    /// Its heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Talk => "Talk",
            Self::Views => "Look",
            Self::Write => "Write",
        }
    }
}

/// An action with its name in settings, its keys and its words.
pub(super) struct KeyRow {
    pub(super) action: KeyAction,
    pub(super) name: &'static str,
    pub(super) keys: &'static [&'static str],
    pub(super) help: &'static str,
    pub(super) group: KeyGroup,
}

/// Declares [`KeyAction`] from one line for each: what it is called, where the help lists it, the name it has in settings,
/// its keys, and what it does.
macro_rules! actions {
    ($($action:ident: $group:ident, $name:literal, [$($key:literal),*], $help:literal;)*) => {
        /// Something that a key does.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum KeyAction {
            $(#[doc = $help] $action,)*
        }

        /// Every action, in the order of the help.
        pub(super) const ROWS: &[KeyRow] =
            &[$(KeyRow { action: KeyAction::$action, group: KeyGroup::$group, name: $name, keys: &[$($key),*], help: $help },)*];
    };
}

actions! {
    Send: Talk, "send", ["enter"], "send, or steer what runs";
    Queue: Talk, "queue", ["tab"], "send when what runs has ended";
    Newline: Talk, "newline", ["shift-enter", "alt-enter", "ctrl-j"], "begin a new line (also \\ and Enter)";
    Interrupt: Talk, "interrupt", ["esc"], "stop what runs, or close what is open";
    EditPending: Talk, "edit-pending", ["alt-up"], "take the latest waiting message back to edit it";
    CycleMode: Talk, "mode", ["shift-tab"], "go to the next mode";
    CycleEffort: Talk, "effort", ["alt-e"], "go to the next effort";
    History: Talk, "history", ["ctrl-r"], "search what you said before";
    Stash: Talk, "stash", ["ctrl-s"], "put the draft away, or bring it back";
    Paste: Talk, "paste", ["ctrl-v"], "put what is in the clipboard, a picture too";
    Editor: Talk, "editor", ["ctrl-g"], "write in your editor";
    Open: Talk, "open", ["alt-o"], "open the paste at the cursor";
    Quit: Talk, "quit", ["ctrl-c"], "clear the draft; twice: leave";
    Leave: Talk, "leave", ["ctrl-d"], "leave, if nothing is written";
    Pause: Talk, "pause", ["alt-p"], "rest after this step, or go on";
    Implement: Talk, "implement", ["alt-i"], "carry out what was talked about";
    Questions: Views, "questions", ["alt-q"], "put what is asked aside, or bring it back";
    Changes: Views, "changes", ["alt-c"], "show what was changed, to take it back (also esc esc)";
    Sessions: Views, "sessions", ["alt-s"], "show earlier sessions";
    Transcript: Views, "transcript", ["ctrl-o"], "show everything that was said and done";
    Trace: Views, "trace", ["alt-t"], "show what took how long";
    Steps: Views, "steps", ["ctrl-t"], "show or hide the steps";
    Thinking: Views, "thinking", ["alt-h"], "show what models think, or fold it";
    Help: Views, "help", ["?"], "show the keys, if nothing is written";
    PageUp: Views, "page-up", ["pageup"], "go up a page";
    PageDown: Views, "page-down", ["pagedown"], "go down a page";
    Redraw: Views, "redraw", ["ctrl-l"], "draw the screen anew";
    Suspend: Views, "suspend", ["ctrl-z"], "back to the shell; `fg` returns";
    Left: Write, "left", ["left", "ctrl-b"], "go left";
    Right: Write, "right", ["right", "ctrl-f"], "go right";
    WordLeft: Write, "word-left", ["alt-left", "ctrl-left", "alt-b"], "go left by a word";
    WordRight: Write, "word-right", ["alt-right", "ctrl-right", "alt-f"], "go right by a word";
    Up: Write, "up", ["up", "ctrl-p"], "go up; on the first line: what you said before";
    Down: Write, "down", ["down", "ctrl-n"], "go down; on the last line: what you said after it";
    LineStart: Write, "line-start", ["home", "ctrl-a"], "go to the start of the line";
    LineEnd: Write, "line-end", ["end", "ctrl-e"], "go to the end of the line";
    TextStart: Write, "text-start", ["ctrl-home", "alt-<"], "go to the start of the text";
    TextEnd: Write, "text-end", ["ctrl-end", "alt->"], "go to the end of the text";
    Backspace: Write, "backspace", ["backspace", "ctrl-h"], "delete to the left";
    Delete: Write, "delete", ["delete"], "delete to the right";
    DeleteWordLeft: Write, "delete-word-left", ["ctrl-w", "alt-backspace", "ctrl-backspace"], "cut the word to the left";
    DeleteWordRight: Write, "delete-word-right", ["alt-d", "alt-delete", "ctrl-delete"], "cut the word to the right";
    KillToEnd: Write, "cut-to-end", ["ctrl-k"], "cut to the end of the line";
    KillToStart: Write, "cut-to-start", ["ctrl-u"], "cut to the start of the line";
    Yank: Write, "put", ["ctrl-y"], "put what was cut";
    YankOlder: Write, "put-older", ["alt-y"], "put what was cut before that instead";
    Undo: Write, "undo", ["ctrl-_", "ctrl-/"], "undo";
    Redo: Write, "redo", ["alt-/"], "redo";
}

impl KeyAction {
    pub(super) fn row(self) -> &'static KeyRow {
        &ROWS[self as usize]
    }

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        self.row().name
    }
}
