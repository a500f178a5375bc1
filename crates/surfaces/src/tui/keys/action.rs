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
            Self::Talk => "Requests",
            Self::Views => "View",
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
    Send: Talk, "send", ["enter"], "send, or steer the running request";
    Queue: Talk, "queue", ["tab"], "send after the running request";
    Newline: Talk, "newline", ["shift-enter", "alt-enter", "ctrl-j"], "start a new line (also \\ and Enter)";
    Interrupt: Talk, "interrupt", ["esc"], "stop the running request, or close the view";
    EditPending: Talk, "edit-pending", ["alt-up"], "edit the latest queued message";
    CycleAutonomy: Talk, "autonomy", ["shift-tab"], "switch the autonomy: careful, standard, trusting, plan";
    CycleMode: Talk, "mode", ["alt-m"], "switch the mode";
    CycleEffort: Talk, "effort", ["alt-e"], "switch the effort";
    History: Talk, "history", ["ctrl-r"], "search your earlier messages";
    Stash: Talk, "stash", ["ctrl-s"], "stash or restore the draft";
    Paste: Talk, "paste", ["ctrl-v"], "paste text or an image from the clipboard";
    Editor: Talk, "editor", ["ctrl-g"], "write in your editor";
    Open: Talk, "open", ["alt-o", "ctrl-]"], "expand the pasted text at the cursor";
    DropOutput: Talk, "drop-output", ["ctrl-x"], "drop the command output from the next message";
    Quit: Talk, "quit", ["ctrl-c"], "clear the draft; twice: quit";
    Leave: Talk, "leave", ["ctrl-d"], "quit, if the input is empty";
    Pause: Talk, "pause", ["alt-p"], "pause after this step, or continue";
    Background: Talk, "background", ["ctrl-b"], "let the running command continue in the background, or go left";
    Implement: Talk, "implement", ["alt-i"], "start the work that you discussed";
    Questions: Views, "questions", ["alt-q"], "hide or show the question";
    Rewind: Views, "rewind", ["alt-r"], "go back to an earlier message, with the files (also esc esc)";
    Changes: Views, "changes", ["alt-c"], "review and undo changes";
    Sessions: Views, "sessions", ["alt-s"], "show earlier sessions";
    Transcript: Views, "transcript", ["ctrl-o"], "show the complete transcript";
    Trace: Views, "trace", ["alt-t"], "show how long each call took";
    Steps: Views, "steps", ["ctrl-t"], "show or hide the steps";
    Subtasks: Views, "subtasks", ["alt-w"], "show the sub-tasks, to open, steer, stop, or retry one";
    Thinking: Views, "thinking", ["alt-h"], "show or fold the model's thinking";
    Help: Views, "help", ["?"], "show the keys, if the input is empty";
    PageUp: Views, "page-up", ["pageup"], "go up a page";
    PageDown: Views, "page-down", ["pagedown"], "go down a page";
    Redraw: Views, "redraw", ["ctrl-l"], "redraw the screen";
    Suspend: Views, "suspend", ["ctrl-z"], "suspend; `fg` returns";
    Left: Write, "left", ["left"], "go left";
    Right: Write, "right", ["right", "ctrl-f"], "go right";
    WordLeft: Write, "word-left", ["alt-left", "ctrl-left", "alt-b"], "go left by a word";
    WordRight: Write, "word-right", ["alt-right", "ctrl-right", "alt-f"], "go right by a word";
    Up: Write, "up", ["up", "ctrl-p"], "go up; on the first line: the previous message";
    Down: Write, "down", ["down", "ctrl-n"], "go down; on the last line: the next message";
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
    Yank: Write, "put", ["ctrl-y"], "paste the text that was cut";
    YankOlder: Write, "put-older", ["alt-y", "ctrl-^"], "paste the text that was cut before";
    Undo: Write, "undo", ["ctrl-_", "ctrl-/"], "undo";
    Redo: Write, "redo", ["alt-/", "ctrl-\\"], "redo";
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_lists_every_name_with_its_keys() {
        let guide = include_str!("../../../../../docs/guide/terminal.md");
        for row in ROWS {
            let keys: Vec<String> = row.keys.iter().map(|key| format!("`{key}`")).collect();
            let line = format!("| `{}` | {} | {} |", row.name, keys.join(", "), row.help);
            assert!(guide.contains(&line), "docs/guide/terminal.md lacks this line:\n{line}");
        }
    }
}
