//! Commands that begin with a slash and are for the program itself.

use trimtab_vocab::{Control, Mode};

/// What such a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Help,
    Sessions,
    New,
    Changes,
    Transcript,
    Trace,
    Steps,
    Mode(Mode),
    /// Carry out what was talked about.
    Implement,
    /// Go on by itself while steps are open, or no longer.
    AutoContinue,
    Control(Control),
    Model(String),
    Fork,
    Rename(String),
    Export,
    /// A defect, made on purpose: what it leaves behind has to be seen.
    #[cfg(debug_assertions)]
    Panic,
    /// Another model, provider or key.
    SetUp,
    Quit,
}

/// A command that people see: its name, what it does, and how it is read.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    /// What the words after the name mean; a command that takes none is one only without any.
    meaning: Meaning,
}

enum Meaning {
    Plain(Command),
    WithWords(fn(String) -> Command),
}

const fn row(name: &'static str, command: Command, help: &'static str) -> Row {
    Row { name, help, meaning: Meaning::Plain(command) }
}

const fn with_words(name: &'static str, command: fn(String) -> Command, help: &'static str) -> Row {
    Row { name, help, meaning: Meaning::WithWords(command) }
}

/// Every command, in the order of the help.
pub(super) const COMMANDS: &[Row] = &[
    row("help", Command::Help, "all keys and commands"),
    row("sessions", Command::Sessions, "earlier sessions: search, go on"),
    row("new", Command::New, "begin a new session"),
    row("fork", Command::Fork, "go on from any message in a session of its own"),
    with_words("rename", Command::Rename, "give this session a name: /rename NAME"),
    row("export", Command::Export, "write this session into a file"),
    row("changes", Command::Changes, "what was changed; take it back, or bring it forward"),
    row("transcript", Command::Transcript, "everything that was said and done"),
    row("trace", Command::Trace, "what took how long"),
    row("steps", Command::Steps, "show or hide the steps"),
    row("auto", Command::Mode(Mode::Auto), "the model decides what a request needs"),
    row("chat", Command::Mode(Mode::Chat), "talk only, nothing is done"),
    row("plan", Command::Mode(Mode::Plan), "look and plan, nothing is changed"),
    row("implement", Command::Implement, "carry out what was talked about"),
    row("autocontinue", Command::AutoContinue, "go on by itself while steps are open; again: no longer"),
    row("pause", Command::Control(Control::Pause), "rest after this step"),
    row("resume", Command::Control(Control::Resume), "go on after a rest"),
    row("skip", Command::Control(Control::Skip), "leave what runs now, and go on with the next"),
    with_words("model", Command::Model, "choose another model for the next request: /model, or /model PROVIDER/NAME"),
    row("setup", Command::SetUp, "give a provider's key, or choose a model on this machine"),
    row("handoff", Command::Control(Control::Handoff), "go on in a new session with a summary and the open tasks"),
    row("extend", Command::Control(Control::Extend), "go on here with the whole conversation"),
    row("quit", Command::Quit, "leave; what runs can be resumed"),
];

/// The command that a text is, if it is one.
pub(super) fn read(text: &str) -> Option<Command> {
    let rest = text.trim().strip_prefix('/')?;
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let words = words.trim();
    #[cfg(debug_assertions)]
    if rest == "panic" {
        return Some(Command::Panic);
    }
    let name = if name == "exit" { "quit" } else { name };
    match &COMMANDS.iter().find(|row| row.name == name)?.meaning {
        Meaning::Plain(command) => words.is_empty().then(|| command.clone()),
        Meaning::WithWords(command) => Some(command(words.to_owned())),
    }
}

/// Whether a text is a command that takes no words.
pub(super) fn is_plain(text: &str) -> bool {
    let name = text.trim().strip_prefix('/').unwrap_or_default();
    COMMANDS.iter().any(|row| row.name == name && matches!(row.meaning, Meaning::Plain(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_by_its_name_and_others_are_words() {
        let mut names: Vec<&str> = COMMANDS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COMMANDS.len(), "no two have the same name");
        assert_eq!(read(" /plan "), Some(Command::Mode(Mode::Plan)));
        assert_eq!(read("/exit"), Some(Command::Quit));
        assert_eq!(read("/plan a trip to Rome"), None, "words after it make it a request");
        assert_eq!(read("/model ollama/qwen3"), Some(Command::Model("ollama/qwen3".into())));
        assert_eq!(read("/etc/passwd"), None);
        assert_eq!(read("what is /help"), None);
    }
}
