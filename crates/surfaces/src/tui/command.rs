//! Commands that begin with a slash and are for the program itself.

use trimtab_vocab::{Control, Mode};

/// What such a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SlashCommand {
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
    /// Break a request down; without words, show the sub-tasks.
    Subtasks(String),
    /// Go on by itself while steps are open, or no longer.
    AutoContinue,
    Control(Control),
    Model(String),
    /// How much the model thinks.
    Effort(String),
    Thinking,
    Fork,
    Rename(String),
    Export,
    /// The MCP servers.
    Servers,
    /// A defect, made on purpose: what it leaves behind has to be seen.
    #[cfg(debug_assertions)]
    Panic,
    /// Another model, provider or key.
    SetUp,
    Quit,
}

/// A command that people see: its name, what it does, and how it is read.
pub(super) struct SlashCommandRow {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    /// What the words after the name mean; a command that takes none is one only without any.
    meaning: CommandReader,
}

enum CommandReader {
    Plain(SlashCommand),
    WithWords(fn(String) -> SlashCommand),
}

const fn row(name: &'static str, command: SlashCommand, help: &'static str) -> SlashCommandRow {
    SlashCommandRow { name, help, meaning: CommandReader::Plain(command) }
}

const fn with_words(name: &'static str, command: fn(String) -> SlashCommand, help: &'static str) -> SlashCommandRow {
    SlashCommandRow { name, help, meaning: CommandReader::WithWords(command) }
}

/// Every command, in the order of the help.
pub(super) const COMMANDS: &[SlashCommandRow] = &[
    row("help", SlashCommand::Help, "all keys and commands"),
    row("sessions", SlashCommand::Sessions, "search and continue earlier sessions"),
    row("new", SlashCommand::New, "start a new session"),
    row("fork", SlashCommand::Fork, "continue from any message in a new session"),
    with_words("rename", SlashCommand::Rename, "rename this session: /rename NAME"),
    row("export", SlashCommand::Export, "export this session to a file"),
    row("changes", SlashCommand::Changes, "show changes, undo, and redo"),
    row("transcript", SlashCommand::Transcript, "the complete transcript"),
    row("trace", SlashCommand::Trace, "how long each call took"),
    row("steps", SlashCommand::Steps, "show or hide the steps"),
    row("auto", SlashCommand::Mode(Mode::Auto), "do what the request needs"),
    row("chat", SlashCommand::Mode(Mode::Chat), "answer only, without tools"),
    row("plan", SlashCommand::Mode(Mode::Plan), "read and plan, without changes"),
    row("implement", SlashCommand::Implement, "start the work that you discussed"),
    with_words(
        "subtasks",
        SlashCommand::Subtasks,
        "break a request down for several workers: /subtasks REQUEST; without one, show the sub-tasks",
    ),
    row("autocontinue", SlashCommand::AutoContinue, "toggle auto-continue while steps are open"),
    row("pause", SlashCommand::Control(Control::Pause), "pause after this step"),
    row("resume", SlashCommand::Control(Control::Resume), "continue after a pause"),
    row("skip", SlashCommand::Control(Control::Skip), "skip the current step"),
    with_words(
        "model",
        SlashCommand::Model,
        "choose another model for the next request: /model, or /model PROVIDER/NAME",
    ),
    with_words(
        "effort",
        SlashCommand::Effort,
        "set how much the model thinks: /effort auto, off, minimal, low, medium, high, or max",
    ),
    row("thinking", SlashCommand::Thinking, "show or fold the model's thinking"),
    row("mcp", SlashCommand::Servers, "list the MCP servers and whether they are on"),
    row("setup", SlashCommand::SetUp, "add an API key, or choose a model on this machine"),
    row(
        "handoff",
        SlashCommand::Control(Control::Handoff),
        "continue in a new session with a summary and the open tasks",
    ),
    row("extend", SlashCommand::Control(Control::Extend), "continue here with the whole conversation"),
    row("quit", SlashCommand::Quit, "quit; a running request can be resumed"),
];

/// The command that a text is, if it is one.
pub(super) fn read(text: &str) -> Option<SlashCommand> {
    let rest = text.trim().strip_prefix('/')?;
    let (name, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let words = words.trim();
    #[cfg(debug_assertions)]
    if rest == "panic" {
        return Some(SlashCommand::Panic);
    }
    let name = if name == "exit" { "quit" } else { name };
    match &COMMANDS.iter().find(|row| row.name == name)?.meaning {
        CommandReader::Plain(command) => words.is_empty().then(|| command.clone()),
        CommandReader::WithWords(command) => Some(command(words.to_owned())),
    }
}

/// Whether a text is a command that takes no words.
pub(super) fn is_plain(text: &str) -> bool {
    let name = text.trim().strip_prefix('/').unwrap_or_default();
    COMMANDS.iter().any(|row| row.name == name && matches!(row.meaning, CommandReader::Plain(_)))
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
        assert_eq!(read(" /plan "), Some(SlashCommand::Mode(Mode::Plan)));
        assert_eq!(read("/exit"), Some(SlashCommand::Quit));
        assert_eq!(read("/plan a trip to Rome"), None, "words after it make it a request");
        assert_eq!(read("/model ollama/qwen3"), Some(SlashCommand::Model("ollama/qwen3".into())));
        assert_eq!(read("/etc/passwd"), None);
        assert_eq!(read("what is /help"), None);
    }
}
