//! Commands that begin with a slash and are for the program itself: one table for the terminal UI, for plain lines, for
//! editors, and for the browser, which has its rows as `web/src/lib/commands.json`. A row is listed only where it does something.

use trimtab_host::config::nearest_of;
use trimtab_vocab::{Control, Mode};

/// What a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SlashCommand {
    Help,
    Sessions,
    New,
    Changes,
    /// Go back to an earlier message.
    Rewind,
    Transcript,
    Trace,
    Steps,
    /// Another mode. With text, for that request alone.
    Mode(Mode, String),
    /// Start the work that was discussed.
    Implement,
    /// Break a request down; without words, show the sub-tasks.
    Subtasks(String),
    /// Turn auto-continue on or off.
    AutoContinue,
    Control(Control),
    /// Continue a paused request, or choose an earlier session.
    Resume,
    Model(String),
    /// How much the model thinks.
    Effort(String),
    Thinking,
    Fork,
    Rename(String),
    /// Export the session, as Markdown or JSON.
    Export(String),
    /// The MCP servers; in an editor with what to do with one of them.
    Servers(String),
    /// Undo so many changes.
    UndoChanges(String),
    /// Redo so many changes.
    RedoChanges(String),
    /// How much is done without asking; empty: show the levels.
    Autonomy(String),
    /// Everything that is loaded, pending, or ignored.
    Extensions,
    /// The background commands.
    Background,
    /// End one of them.
    StopCommand(String),
    /// What the session has used so far.
    Status,
    /// Copy the last answer, or one of its code blocks.
    Copy(String),
    Theme(String),
    /// Ask the model for a first instruction file.
    Init,
    /// Have changes reviewed.
    Review(String),
    /// Edit the latest queued message.
    EditQueued,
    /// Hide or show the question.
    Questions,
    /// Put a suggested next step into the input.
    NextStep(String),
    /// Show what a command of the command line prints.
    Program(&'static [&'static str]),
    /// A defect, made on purpose: what it leaves behind has to be seen.
    #[cfg(debug_assertions)]
    Panic,
    /// Another model, provider or key.
    SetUp,
    Quit,
}

/// Where a command can be typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlashSurface {
    Terminal,
    Plain,
    Browser,
    Editor,
}

/// A command that people see.
pub(crate) struct SlashRow {
    pub(crate) name: &'static str,
    /// Names that other programs have taught people.
    pub(crate) aliases: &'static [&'static str],
    pub(crate) help: &'static str,
    surfaces: &'static [SlashSurface],
    meaning: SlashMeaning,
}

enum SlashMeaning {
    /// It takes no text.
    Plain(SlashCommand),
    WithText(fn(String) -> SlashCommand),
}

use SlashMeaning::{Plain, WithText};

const EVERYWHERE: &[SlashSurface] = &[SlashSurface::Terminal, SlashSurface::Plain, SlashSurface::Browser];
const IN_TERMINAL: &[SlashSurface] = &[SlashSurface::Terminal];
const IN_LINES: &[SlashSurface] = &[SlashSurface::Terminal, SlashSurface::Plain];
const ON_SCREENS: &[SlashSurface] = &[SlashSurface::Terminal, SlashSurface::Browser];
const IN_BROWSER: &[SlashSurface] = &[SlashSurface::Browser];
const IN_EDITORS: &[SlashSurface] = &[SlashSurface::Editor];
const IN_TERMINAL_AND_EDITORS: &[SlashSurface] = &[SlashSurface::Terminal, SlashSurface::Editor];
const ON_SCREENS_AND_EDITORS: &[SlashSurface] = &[SlashSurface::Terminal, SlashSurface::Browser, SlashSurface::Editor];
const ANYWHERE: &[SlashSurface] =
    &[SlashSurface::Terminal, SlashSurface::Plain, SlashSurface::Browser, SlashSurface::Editor];

macro_rules! commands {
    ($($name:literal $([$($alias:literal),*])? $on:ident, $meaning:expr, $help:literal;)*) => {
        /// Every command, in the order of the help. A new one is one line.
        pub(crate) const COMMANDS: &[SlashRow] = &[$(SlashRow {
            name: $name, aliases: &[$($($alias),*)?], help: $help, surfaces: $on, meaning: $meaning,
        },)*];
    };
}

commands! {
    "help" ["keys", "commands"] IN_LINES, Plain(SlashCommand::Help), "all keys and commands";
    "new" ["clear", "reset"] EVERYWHERE, Plain(SlashCommand::New), "start a new session";
    "sessions" IN_TERMINAL, Plain(SlashCommand::Sessions), "search and continue earlier sessions";
    "resume" ["continue"] IN_TERMINAL_AND_EDITORS, Plain(SlashCommand::Resume), "continue a paused request, or an earlier session";
    "fork" ["branch"] IN_TERMINAL, Plain(SlashCommand::Fork), "continue from any message in a new session";
    "rename" IN_TERMINAL, WithText(SlashCommand::Rename), "rename this session: /rename NAME";
    "export" IN_TERMINAL, WithText(SlashCommand::Export), "export this session to a file: /export, or /export json";
    "copy" IN_TERMINAL, WithText(SlashCommand::Copy), "copy the last answer, or its nth code block: /copy, /copy 2";
    "rewind" ["checkpoint"] IN_TERMINAL, Plain(SlashCommand::Rewind), "go back to an earlier message, with the files, the conversation, or both";
    "changes" ["diff", "undo"] ON_SCREENS_AND_EDITORS, Plain(SlashCommand::Changes), "show changes, undo, and redo";
    "rewind" IN_BROWSER, Plain(SlashCommand::Changes), "undo changes (to go back to a message, edit it)";
    "rewind" IN_EDITORS, WithText(SlashCommand::UndoChanges), "undo changes: /rewind, or /rewind 3";
    "forward" IN_EDITORS, WithText(SlashCommand::RedoChanges), "redo undone changes: /forward, or /forward 3";
    "init" EVERYWHERE, Plain(SlashCommand::Init), "write a first AGENTS.md for this folder";
    "review" EVERYWHERE, WithText(SlashCommand::Review), "review the uncommitted changes, a branch, or a commit: /review, /review --base main";
    "status" ["cost", "context", "usage"] ON_SCREENS, Plain(SlashCommand::Status), "show the model, context, tokens, and cost";
    "transcript" IN_TERMINAL, Plain(SlashCommand::Transcript), "the complete transcript";
    "trace" ON_SCREENS, Plain(SlashCommand::Trace), "how long each call took";
    "ps" IN_LINES, Plain(SlashCommand::Background), "list background commands, read their output, and stop them";
    "stop" IN_LINES, WithText(SlashCommand::StopCommand), "stop a background command: /stop ID";
    "steps" ["todos"] IN_TERMINAL, Plain(SlashCommand::Steps), "show or hide the steps";
    "auto" ANYWHERE, WithText(|text| SlashCommand::Mode(Mode::Auto, text)), "do what the request needs";
    "chat" ["ask"] ANYWHERE, WithText(|text| SlashCommand::Mode(Mode::Chat, text)), "answer only, without tools: /chat, or /chat QUESTION";
    "plan" ANYWHERE, WithText(|text| SlashCommand::Mode(Mode::Plan, text)), "read and plan, without changes: /plan, or /plan REQUEST";
    "implement" IN_TERMINAL_AND_EDITORS, Plain(SlashCommand::Implement), "start the work that you discussed";
    "subtasks" IN_TERMINAL_AND_EDITORS, WithText(SlashCommand::Subtasks), "break a request down for several workers: /subtasks REQUEST; without one, show the sub-tasks";
    "autocontinue" IN_TERMINAL, Plain(SlashCommand::AutoContinue), "continue automatically while steps are open, or stop doing so";
    "pause" IN_TERMINAL_AND_EDITORS, Plain(SlashCommand::Control(Control::Pause)), "pause after this step";
    "skip" IN_TERMINAL_AND_EDITORS, Plain(SlashCommand::Control(Control::Skip)), "skip the current step";
    "edit" ["edit-pending"] IN_TERMINAL, Plain(SlashCommand::EditQueued), "edit the latest queued message";
    "questions" IN_TERMINAL, Plain(SlashCommand::Questions), "hide or show the question";
    "next" IN_TERMINAL, WithText(SlashCommand::NextStep), "put a suggested next step into the input: /next 1";
    "model" ["models"] ANYWHERE, WithText(SlashCommand::Model), "choose another model for the next request: /model, or /model PROVIDER/NAME";
    "effort" ANYWHERE, WithText(SlashCommand::Effort), "set how much the model thinks: /effort auto, off, minimal, low, medium, high, or max";
    "autonomy" ["approvals"] ANYWHERE, WithText(SlashCommand::Autonomy), "set how much it does without asking: /autonomy careful, standard, or trusting";
    "thinking" IN_TERMINAL, Plain(SlashCommand::Thinking), "show or fold the model's thinking";
    "theme" IN_TERMINAL, WithText(SlashCommand::Theme), "change the colors until you quit: /theme auto, dark, light, ansi, or plain";
    "permissions" ["rules", "allowed-tools"] IN_LINES, Plain(SlashCommand::Program(&["rules", "list"])), "list the permission rules";
    "memory" EVERYWHERE, Plain(SlashCommand::Program(&["memory", "list"])), "list what Trimtab remembers";
    "tasks" EVERYWHERE, Plain(SlashCommand::Program(&["tasks", "list"])), "list your tasks";
    "config" ["settings"] EVERYWHERE, Plain(SlashCommand::Program(&["config"])), "show the settings and where each comes from";
    "doctor" IN_LINES, Plain(SlashCommand::Program(&["doctor"])), "check the setup";
    "extensions" IN_TERMINAL, Plain(SlashCommand::Extensions), "list MCP servers, skills, agents, commands, hooks, and instructions";
    "agents" EVERYWHERE, Plain(SlashCommand::Program(&["extensions", "--kind", "agent"])), "list the agents, which you call with @agent-NAME";
    "mcp" IN_TERMINAL_AND_EDITORS, WithText(SlashCommand::Servers), "list the MCP servers and whether they are on";
    "hooks" IN_LINES, Plain(SlashCommand::Program(&["hooks"])), "list the hooks and whether they are on";
    "checks" IN_LINES, Plain(SlashCommand::Program(&["checks"])), "list the checks after edits and whether they run";
    "setup" ["login"] IN_TERMINAL, Plain(SlashCommand::SetUp), "add an API key, or choose a model on this machine";
    "handoff" ["compact"] IN_TERMINAL_AND_EDITORS, Plain(SlashCommand::Control(Control::Handoff)), "continue in a new session with a summary and the open to-dos";
    "extend" IN_TERMINAL_AND_EDITORS, Plain(SlashCommand::Control(Control::Extend)), "keep the complete conversation of this session";
    "quit" ["exit"] IN_LINES, Plain(SlashCommand::Quit), "quit; a running request can be resumed";
}

/// What a typed text is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SlashReading {
    Run(SlashCommand),
    /// A message, which may call a workflow.
    Message,
    /// It looks like a command and is none. This is what is wrong.
    Refused(String),
}

impl SlashRow {
    pub(crate) fn is_on(&self, surface: SlashSurface) -> bool {
        self.surfaces.contains(&surface)
    }

    /// What it does, without how it is typed.
    pub(crate) fn summary(&self) -> &'static str {
        self.help.split_once(": /").map_or(self.help, |(summary, _)| summary)
    }

    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// The command with this name, where it can be typed if it can be typed there.
fn find(name: &str, surface: SlashSurface) -> Option<&'static SlashRow> {
    let called = || COMMANDS.iter().filter(|row| row.is_called(name));
    called().find(|row| row.is_on(surface)).or_else(|| called().next())
}

/// Whether a word after a slash could be the name of a command. Paths could not.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// What a text is that begins with a typed slash. Workflows are called by their names.
pub(crate) fn read(text: &str, surface: SlashSurface, is_workflow: impl Fn(&str) -> bool) -> SlashReading {
    let Some(rest) = text.trim().strip_prefix('/') else { return SlashReading::Message };
    let (typed, words) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if !is_name(typed) || is_workflow(typed) {
        return SlashReading::Message;
    }
    #[cfg(debug_assertions)]
    if rest == "panic" {
        return SlashReading::Run(SlashCommand::Panic);
    }
    let name = typed.to_ascii_lowercase();
    let Some(row) = find(&name, surface).filter(|row| row.is_on(surface)) else {
        let here = COMMANDS.iter().filter(|row| row.is_on(surface));
        let names: Vec<&str> = here.flat_map(|row| std::iter::once(&row.name).chain(row.aliases)).copied().collect();
        let what = match find(&name, surface) {
            Some(row) => format!("/{} is not available here.", row.name),
            None => format!("Unknown command /{typed}."),
        };
        let meant = nearest_of(&name, &names).filter(|meant| *meant != name);
        let meant = meant.map(|meant| format!(" Did you mean /{meant}?")).unwrap_or_default();
        return SlashReading::Refused(format!("{what}{meant}"));
    };
    match (&row.meaning, words.trim()) {
        (Plain(command), "") => SlashReading::Run(command.clone()),
        (Plain(_), _) => SlashReading::Refused(format!("/{} takes no text.", row.name)),
        (WithText(command), words) => SlashReading::Run(command(words.to_owned())),
    }
}

/// Whether a text is a command that takes no text.
pub(crate) fn is_plain(text: &str) -> bool {
    let name = text.trim().strip_prefix('/').unwrap_or_default();
    find(name, SlashSurface::Terminal).is_some_and(|row| matches!(row.meaning, Plain(_)))
}

/// What can be completed on a surface: names with their help, then the aliases.
pub(crate) fn offered(surface: SlashSurface) -> Vec<(&'static str, String)> {
    let here = || COMMANDS.iter().filter(move |row| row.is_on(surface));
    let names = here().map(|row| (row.name, row.help.to_owned()));
    let aliases = here().flat_map(|row| row.aliases.iter().map(|alias| (*alias, format!("same as /{}", row.name))));
    names.chain(aliases).collect()
}

/// The request that `/init` sends.
pub(crate) const INIT: &str = "\
Write a first AGENTS.md at the root of this folder, for coding agents that work here later. Read the README, the manifest \
and build files, the CI configuration, and the layout of the source first. Cover in at most 60 lines \
what the project is, how the source is organized, and the conventions that a newcomer would get wrong. Name the commands to \
build, test, and lint it, but only commands that you found in the files. Leave out what is obvious and what you did not find. If there is an AGENTS.md \
already, improve it instead of replacing it.";

/// The message that calls a review.
pub(crate) fn review(what: &str) -> String {
    format!("/review {what}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> SlashReading {
        read(text, SlashSurface::Terminal, |name| name == "ship")
    }

    fn refused(text: &str) -> String {
        match typed(text) {
            SlashReading::Refused(why) => why,
            other => panic!("{text} is {other:?}"),
        }
    }

    #[test]
    fn no_two_commands_of_a_surface_have_the_same_name() {
        for surface in ANYWHERE {
            let here = COMMANDS.iter().filter(|row| row.is_on(*surface));
            let mut names: Vec<&str> = here.flat_map(|row| [&[row.name], row.aliases].concat()).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{surface:?}");
        }
    }

    #[test]
    fn no_pill_of_a_folder_takes_the_name_of_a_command() {
        // People have pills with this name, which come before the command.
        let names = COMMANDS.iter().flat_map(|row| [&[row.name], row.aliases].concat());
        for name in names.filter(|name| *name != "review") {
            assert!(trimtab_host::RESERVED.contains(&name), "{name} belongs into RESERVED of pills.rs");
        }
    }

    #[test]
    fn a_command_is_read_by_its_name_or_an_alias() {
        assert_eq!(typed(" /plan "), SlashReading::Run(SlashCommand::Mode(Mode::Plan, String::new())));
        assert_eq!(typed("/plan a trip"), SlashReading::Run(SlashCommand::Mode(Mode::Plan, "a trip".into())));
        assert_eq!(typed("/exit"), SlashReading::Run(SlashCommand::Quit));
        assert_eq!(typed("/Clear"), SlashReading::Run(SlashCommand::New));
        assert_eq!(typed("/model ollama/qwen3"), SlashReading::Run(SlashCommand::Model("ollama/qwen3".into())));
        assert_eq!(typed("what is /help"), SlashReading::Message);
    }

    #[test]
    fn names_that_people_bring_are_known() {
        let brought = "clear compact cost context status permissions memory resume init review copy theme config effort mcp doctor \
                       export tasks ps autonomy extensions";
        for name in brought.split_whitespace() {
            assert!(matches!(typed(&format!("/{name}")), SlashReading::Run(_)), "/{name}");
        }
    }

    #[test]
    fn what_looks_like_a_command_and_is_none_is_refused_with_the_nearest_one() {
        assert_eq!(refused("/forl"), "Unknown command /forl. Did you mean /fork?");
        assert_eq!(refused("/xyzzyx"), "Unknown command /xyzzyx.");
        assert_eq!(refused("/help me"), "/help takes no text.");
        let lines = read("/trace", SlashSurface::Plain, |_| false);
        assert_eq!(lines, SlashReading::Refused("/trace is not available here.".into()));
    }

    #[test]
    fn paths_and_workflows_are_messages() {
        for text in ["/etc/passwd is open", "/", "/ship it", "/usr", "/1"] {
            let expected = if text == "/usr" { typed("/usr") } else { SlashReading::Message };
            assert_eq!(typed(text), expected, "{text}");
        }
    }

    /// The browser has its rows from this file.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test keeps a file of the repository in step")]
    fn the_browsers_commands_are_those_of_the_table() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/src/lib/commands.json");
        let mut rows = Vec::new();
        for row in COMMANDS {
            let is_here = row.is_on(SlashSurface::Browser);
            // Of a name that means something else on each surface, the browser has its own.
            let is_other = |other: &&SlashRow| other.name == row.name && !std::ptr::eq(*other, row);
            let own = COMMANDS.iter().filter(is_other).any(|other| other.is_on(SlashSurface::Browser));
            if !is_here && (own || row.surfaces == IN_EDITORS) {
                continue;
            }
            let mut shown = serde_json::json!({"name": row.name, "aliases": row.aliases});
            if is_here {
                let mut help = row.help.chars();
                let first = help.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
                shown["description"] = (first + help.as_str()).into();
                shown["takesText"] = matches!(row.meaning, WithText(_)).into();
            }
            rows.push(shown);
        }
        let requests = serde_json::json!({"init": INIT});
        let file = serde_json::json!({"commands": rows, "requests": requests});
        let text = serde_json::to_string_pretty(&file).expect("JSON") + "\n";
        if std::env::var_os("TRIMTAB_UPDATE_DOCS").is_some() {
            std::fs::write(&path, &text).expect("writes");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(kept, text, "run once with TRIMTAB_UPDATE_DOCS=1");
    }
}
