//! Commands that begin with a slash: those of the program itself, and the user's workflows.

use agent_client_protocol_schema::v1::{AvailableCommand, AvailableCommandInput, UnstructuredCommandInput};
use trimtab_host::Client;
use trimtab_host::config::Profile;
use trimtab_vocab::{Control, Mode, OnConflict, Problem, SessionId, format};

use crate::slash::{self, COMMANDS, SlashCommand, SlashReading, SlashSurface};
use crate::words;

/// A command of the program itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EditorCommand {
    Changes,
    Rewind(u32),
    Forward(u32),
    Handoff,
    Extend,
    /// Another model; empty: show the current one.
    Model(String),
    /// Another effort; empty: the provider's default.
    Effort(String),
    /// Another level of autonomy; empty: show the levels.
    Autonomy(String),
    Mode(Mode),
    /// Start the work that was discussed.
    Implement,
    /// Break this request down.
    Subtasks(String),
    Control(Control),
    /// List the editor's MCP servers, or decide about one.
    Servers(String),
}

/// What an editor shows where the text of a command is typed.
fn input_hint(name: &str) -> &'static str {
    match name {
        "rewind" | "forward" => "how many changes",
        "model" => "PROVIDER/NAME",
        "effort" => "auto, off, minimal, low, medium, high, or max",
        "autonomy" => "careful, standard, or trusting",
        "subtasks" => "the request",
        "mcp" => "enable NAME or disable NAME",
        _ => "",
    }
}

/// The command that a text is, if it is one. Other texts are requests, also those that name a command and say more.
pub(super) fn read(text: &str) -> Option<EditorCommand> {
    let SlashReading::Run(command) = slash::read(text, SlashSurface::Editor, |_| false) else { return None };
    let steps = |words: String| match words.is_empty() {
        true => Some(1),
        false => words.parse().ok().filter(|steps| *steps > 0),
    };
    Some(match command {
        SlashCommand::Changes => EditorCommand::Changes,
        SlashCommand::UndoChanges(words) => EditorCommand::Rewind(steps(words)?),
        SlashCommand::RedoChanges(words) => EditorCommand::Forward(steps(words)?),
        SlashCommand::Model(name) => EditorCommand::Model(name),
        SlashCommand::Effort(level) => EditorCommand::Effort(level),
        SlashCommand::Autonomy(level) => EditorCommand::Autonomy(level),
        SlashCommand::Mode(mode, words) if words.is_empty() => EditorCommand::Mode(mode),
        SlashCommand::Implement => EditorCommand::Implement,
        SlashCommand::Subtasks(words) if !words.is_empty() => EditorCommand::Subtasks(words),
        SlashCommand::Control(Control::Handoff) => EditorCommand::Handoff,
        SlashCommand::Control(Control::Extend) => EditorCommand::Extend,
        SlashCommand::Control(control) => EditorCommand::Control(control),
        SlashCommand::Resume => EditorCommand::Control(Control::Resume),
        SlashCommand::Servers(words) => EditorCommand::Servers(words),
        _ => return None,
    })
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The commands that the client offers: these, and the workflows that can be called in the folder.
pub(super) async fn available(client: &Client, profile: &Profile, folder: &str) -> Vec<AvailableCommand> {
    let pills = client.pills(profile, folder).await.unwrap_or_default();
    let hint = |text: &str| {
        (!text.is_empty()).then(|| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(text)))
    };
    let rows = || COMMANDS.iter().filter(|row| row.is_on(SlashSurface::Editor));
    let own =
        rows().map(|row| AvailableCommand::new(row.name, capitalized(row.summary())).input(hint(input_hint(row.name))));
    let is_other = |name: &String| rows().all(|row| row.name != name);
    let called = pills.list().filter(|(name, _)| is_other(name));
    let called = called.map(|(name, pill)| {
        let about = words::sanitize(&pill.definition.description).into_owned();
        AvailableCommand::new(name, about).input(hint(&pill.definition.arguments))
    });
    own.chain(called).collect()
}

/// The changes of a session in lines, newest first.
pub(super) async fn changes(client: &Client, session: &SessionId) -> Result<String, Problem> {
    let (history, _) = client.changes().settled_history(session).await?;
    if history.sets.is_empty() {
        return Ok("There are no changes in this session.".to_owned());
    }
    let line = |(at, set): (usize, &trimtab_host::Set)| {
        let files = set.files();
        let (added, removed) = files.iter().fold((0, 0), |(a, r), file| (a + file.added, r + file.removed));
        let state = if at < history.in_force { "" } else { " (undone)" };
        let names = words::conversation::file_names(&files);
        format!("- #{} {} (+{added} −{removed}){state}: {names}", at + 1, format::plural(files.len(), "file"))
    };
    let lines: Vec<String> = history.sets.iter().enumerate().rev().map(line).collect();
    Ok(words::sanitize(&lines.join("\n")).into_owned())
}

/// Undoes or redoes changes. The session's events report what was moved; this is what they do not say.
pub(super) async fn move_history(
    client: &Client,
    session: &SessionId,
    steps: u32,
    is_undo: bool,
) -> Result<Option<String>, Problem> {
    let (history, _) = client.changes().settled_history(session).await?;
    let there = if is_undo { history.in_force } else { history.sets.len() - history.in_force };
    if there == 0 {
        let word = if is_undo { "undo" } else { "redo" };
        return Ok(Some(format!("There is nothing to {word}.")));
    }
    let on_conflict = OnConflict::Refuse;
    let control = match is_undo {
        true => Control::Rewind { steps, on_conflict },
        false => Control::Forward { steps, on_conflict },
    };
    let moved = client.changes().move_history(session, history.last, control).await?;
    let Some((_, conflicts)) = moved.refused else { return Ok(None) };
    let mut lines: Vec<String> = conflicts.into_iter().map(|conflict| format!("- {}", conflict.reason)).collect();
    lines.push("`trimtab rewind` and `trimtab forward` offer --keep-mine and --discard-mine.".to_owned());
    Ok(Some(words::sanitize(&lines.join("\n")).into_owned()))
}

/// Hands a session off or extends it. The session's events report the result.
pub(super) async fn settle(client: &Client, session: &SessionId, control: Control) -> Result<(), Problem> {
    let (history, _) = client.changes().settled_history(session).await?;
    client.sessions().settle(session, history.last, control).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_by_its_name_and_other_texts_are_requests() {
        assert_eq!(read("/rewind"), Some(EditorCommand::Rewind(1)));
        assert_eq!(read(" /rewind 3 "), Some(EditorCommand::Rewind(3)));
        assert_eq!(read("/rewind 0"), None);
        assert_eq!(read("/rewind the last edit"), None);
        assert_eq!(read("/plan a release"), None);
        assert_eq!(read("/model ollama/qwen3"), Some(EditorCommand::Model("ollama/qwen3".into())));
        assert_eq!(read("/subtasks"), None);
        assert_eq!(read("/etc/passwd"), None);
        assert_eq!(read("use /rewind"), None);
    }

    #[test]
    fn every_command_that_is_offered_is_read() {
        for row in COMMANDS.iter().filter(|row| row.is_on(SlashSurface::Editor)) {
            let text =
                if input_hint(row.name).is_empty() { format!("/{}", row.name) } else { format!("/{} 1", row.name) };
            assert!(read(&text).is_some(), "{text}");
        }
    }
}
