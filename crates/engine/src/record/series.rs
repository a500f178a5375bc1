//! The changes and commands of a structured answer, as tool calls and as a series of commands.

use serde_json::{Value, json};
use trimtab_vocab::{Answer, FileChange, Series, ToolCall};

use super::names::choice::{EACH, RUN};

/// Commands of one answer that are run at most, and the bytes of them all. Every event about a series contains all of
/// it, and no user reads more before approving.
pub(crate) const MOST: usize = 100;
pub(crate) const LONGEST: usize = 64 * 1024;

/// The commands of an answer as a series, if there are any.
pub(crate) fn series_in(answer: &Answer) -> Option<Series> {
    let commands: Vec<String> = answer.commands.iter().map(|proposal| proposal.command.trim().to_owned()).collect();
    let commands: Vec<String> = commands.into_iter().filter(|command| !command.is_empty()).collect();
    (!commands.is_empty() && !is_too_much(&commands)).then(|| Series { mended: answer.mended, ..Series::new(commands) })
}

pub(crate) fn is_too_much(commands: &[String]) -> bool {
    commands.len() > MOST || commands.iter().map(String::len).sum::<usize>() > LONGEST
}

/// The tool call that runs the current command.
pub(crate) fn run_command_call(command: &str) -> ToolCall {
    ToolCall { id: "command".into(), name: "run_command".into(), input: json!({"command": command}), broken: None }
}

/// The commands that the user wants of those that are offered, by their numbers from 1: `2`, `1,3`, `[1,3]`. None: all of
/// them, and the words are for the model.
pub(crate) fn numbers(choice: &str, text: Option<&str>) -> Option<Vec<usize>> {
    let text = text.filter(|_| matches!(choice, RUN | EACH))?.trim();
    let list = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    list.split(',').map(|number| number.trim().parse().ok()).collect()
}

/// What an answer wants changed, as the tools that would do it. Its commands are a series.
pub(crate) fn change_calls(answer: &Answer) -> impl Iterator<Item = ToolCall> + use<> {
    changes(&answer.file_changes)
}

/// The changes alone.
pub(crate) fn changes(changes: &[FileChange]) -> impl Iterator<Item = ToolCall> + use<> {
    let all: Vec<_> = changes.iter().filter_map(change).collect();
    all.into_iter().enumerate().map(|(number, (name, input))| ToolCall {
        id: format!("wish{}", number + 1),
        name: name.into(),
        input,
        broken: None,
    })
}

fn change(change: &FileChange) -> Option<(&'static str, Value)> {
    let path = &change.path;
    match (&change.delete, &change.diff, &change.content) {
        (Some(true), ..) => Some(("delete_file", json!({"path": path}))),
        (_, Some(diff), _) => Some(("apply_diff", json!({"path": path, "diff": diff}))),
        (_, _, Some(content)) => Some(("write_file", json!({"path": path, "content": content}))),
        _ => change.blocks.as_ref().map(|blocks| ("edit_file", json!({"path": path, "blocks": blocks}))),
    }
}
