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
    Control(Control),
    Model(String),
    Fork,
    Rename(String),
    Export,
    /// A defect, made on purpose: what it leaves behind has to be seen.
    #[cfg(debug_assertions)]
    Panic,
    Quit,
}

/// Name, what it takes, what it does.
pub(super) const COMMANDS: &[(&str, &str)] = &[
    ("help", "all keys and commands"),
    ("sessions", "earlier sessions: search, go on"),
    ("new", "begin a new session"),
    ("fork", "go on from any message in a session of its own"),
    ("rename", "give this session a name: /rename NAME"),
    ("export", "write this session into a file"),
    ("changes", "what was changed; take it back, or bring it forward"),
    ("transcript", "everything that was said and done"),
    ("trace", "what took how long"),
    ("steps", "show or hide the steps"),
    ("auto", "the model decides what a request needs"),
    ("chat", "talk only, nothing is done"),
    ("plan", "look and plan, nothing is changed"),
    ("implement", "carry out what was talked about"),
    ("pause", "rest after this step"),
    ("resume", "go on after a rest"),
    ("skip", "leave what runs now, and go on with the next"),
    ("model", "choose another model for the next request: /model, or /model PROVIDER/NAME"),
    ("handoff", "go on in a new session with a summary and the open tasks"),
    ("extend", "go on here with the whole conversation"),
    ("quit", "leave; what runs can be resumed"),
];

/// The command that a text is, if it is one.
pub(super) fn read(text: &str) -> Option<Command> {
    let rest = text.trim().strip_prefix('/')?;
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let argument = argument.trim();
    let takes_words = matches!(name, "model" | "rename");
    if !argument.is_empty() && !takes_words {
        return None;
    }
    Some(match name {
        "help" => Command::Help,
        "sessions" => Command::Sessions,
        "new" => Command::New,
        "changes" => Command::Changes,
        "transcript" => Command::Transcript,
        "trace" => Command::Trace,
        "steps" => Command::Steps,
        "auto" => Command::Mode(Mode::Auto),
        "chat" => Command::Mode(Mode::Chat),
        "plan" => Command::Mode(Mode::Plan),
        "implement" => Command::Implement,
        "pause" => Command::Control(Control::Pause),
        "resume" => Command::Control(Control::Resume),
        "skip" => Command::Control(Control::Skip),
        "handoff" => Command::Control(Control::Handoff),
        "extend" => Command::Control(Control::Extend),
        "fork" => Command::Fork,
        "rename" => Command::Rename(argument.to_owned()),
        "export" => Command::Export,
        "model" => Command::Model(argument.to_owned()),
        #[cfg(debug_assertions)]
        "panic" => Command::Panic,
        "quit" | "exit" => Command::Quit,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_command_is_read_and_others_are_words() {
        for (name, _) in COMMANDS {
            assert!(read(&format!("/{name}")).is_some(), "/{name}");
        }
        assert_eq!(read("/plan a trip to Rome"), None, "words after it make it a request");
        assert_eq!(read("/model ollama/qwen3"), Some(Command::Model("ollama/qwen3".into())));
        assert_eq!(read("/etc/passwd"), None);
        assert_eq!(read("what is /help"), None);
    }
}
