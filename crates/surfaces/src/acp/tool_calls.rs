//! Tools and sub-tasks as tool calls of the protocol: kind, places, status, and content.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{
    Content, Diff, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
    ToolKind,
};
use trimtab_vocab::event::ToolStatus;
use trimtab_vocab::{CheckpointId, SubtaskStatus, Visible};

use super::prompt::fence;
use crate::conversation::{BoardTask, ToolRun};
use crate::diff::LoadedDiff;
use crate::words;

/// Characters of output that a tool call carries at most; each update carries all of it again.
pub(super) const SHOWN_OUTPUT: usize = 16 * 1024;
/// Bytes of files that a tool call carries as diffs at most.
const SHOWN_DIFFS: usize = 2 * 1024 * 1024;

/// Tools that are shown in another form: as the plan, or as a question.
pub(super) fn is_shown(tool: &ToolRun) -> bool {
    !matches!(tool.name.as_str(), "set_steps" | "propose_plan" | "ask_user" | "")
}

fn kind(name: &str) -> ToolKind {
    match name {
        "read_file" | "read_ref" | "use_skill" | "list_files" => ToolKind::Read,
        "find_files" | "search" => ToolKind::Search,
        "edit_file" | "apply_diff" | "write_file" => ToolKind::Edit,
        "delete_file" => ToolKind::Delete,
        "move_file" => ToolKind::Move,
        "run_command" | trimtab_vocab::CHECK_TOOL => ToolKind::Execute,
        "fetch_url" | "web_search" => ToolKind::Fetch,
        _ => ToolKind::Other,
    }
}

fn status(tool: &ToolRun) -> ToolCallStatus {
    match tool.status {
        None if tool.is_waiting => ToolCallStatus::Pending,
        None => ToolCallStatus::InProgress,
        Some(ToolStatus::Ok | ToolStatus::Partial) => ToolCallStatus::Completed,
        Some(ToolStatus::Error | ToolStatus::Blocked | ToolStatus::Interrupted) => ToolCallStatus::Failed,
    }
}

/// The line of a tool call. A command stands alone, because the kind already says that it runs.
fn title(tool: &ToolRun) -> String {
    let line = match (tool.name.as_str(), tool.input.get("command").and_then(serde_json::Value::as_str)) {
        ("run_command", Some(command)) => words::fold_blank_lines(command),
        _ => words::tool_line(&tool.name, &tool.input),
    };
    words::sanitize(&line).into_owned()
}

/// The files that a call names, or has changed, with absolute paths.
fn locations(tool: &ToolRun, folder: &str) -> Vec<ToolCallLocation> {
    let mut paths: Vec<String> = tool.changed.iter().map(|file| file.path.clone()).collect();
    if paths.is_empty() {
        paths = tool.writes.iter().map(|write| write.path.clone()).collect();
    }
    if paths.is_empty() {
        let named = ["path", "from", "to"].iter().filter_map(|field| tool.input.get(*field)?.as_str());
        paths = named.map(str::to_owned).collect();
    }
    paths.iter().map(|path| ToolCallLocation::new(absolute(folder, path))).collect()
}

fn absolute(folder: &str, path: &str) -> PathBuf {
    Path::new(folder).join(path)
}

/// The end of a program's text, so that no client takes it for Markdown.
pub(super) fn plain_text(text: &str) -> ToolCallContent {
    whole_text(tail(text))
}

/// A text that somebody has to see whole, so that no client takes it for Markdown.
pub(super) fn whole_text(text: &str) -> ToolCallContent {
    let fence = fence(text);
    ToolCallContent::Content(Content::new(format!("{fence}\n{}\n{fence}", text.trim_end_matches('\n'))))
}

/// The end of a text, as much of it as is shown.
pub(super) fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(SHOWN_OUTPUT);
    &text[text.ceil_char_boundary(from)..]
}

/// Changed files in full: the client draws the diff. A file that is too large or not text is named instead, with the
/// checkpoint that asks about it.
pub(super) fn diffs(files: &[LoadedDiff], folder: &str, asked: Option<&CheckpointId>) -> Vec<ToolCallContent> {
    let mut left = SHOWN_DIFFS;
    let mut content = Vec::new();
    for file in files {
        let change = file.change();
        let text = |bytes: Option<&[u8]>| bytes.map(|bytes| String::from_utf8(bytes.to_vec())).transpose();
        let sides = (text(change.before.map(|state| state.bytes)), text(change.after.map(|state| state.bytes)));
        let size =
            change.before.map_or(0, |state| state.bytes.len()) + change.after.map_or(0, |state| state.bytes.len());
        match sides {
            (Ok(before), Ok(after)) if size <= left => {
                left -= size;
                let diff = Diff::new(absolute(folder, change.path), after.unwrap_or_default()).old_text(before);
                content.push(ToolCallContent::Diff(diff));
            }
            _ => {
                let name = words::sanitize(&file.name()).into_owned();
                let command = asked.map_or("trimtab diff".to_owned(), |asked| format!("trimtab diff {asked} --all"));
                content.push(ToolCallContent::Content(Content::new(format!(
                    "{name} is too large to show here, or is not text. `{command}` shows it."
                ))));
            }
        }
    }
    content
}

/// The content of a call that has ended, or of a change that is proposed.
pub(super) fn content(tool: &ToolRun, diffs: Vec<ToolCallContent>, output: Option<&str>) -> Vec<ToolCallContent> {
    let mut content = diffs;
    let has_diffs = !content.is_empty();
    let text = match (output, tool.status) {
        (Some(output), None) => output.to_owned(),
        (_, None) => String::new(),
        // The diff says it all.
        (_, Some(ToolStatus::Ok)) if has_diffs => String::new(),
        (_, Some(_)) if tool.command.is_some() => tool.preview.clone(),
        (_, Some(_)) => words::whole_result_for_person(&tool.preview),
    };
    if !text.trim().is_empty() {
        content.push(plain_text(&text));
    }
    content
}

/// A call as it is first shown.
pub(super) fn tool_call(tool: &ToolRun, folder: &str, content: Vec<ToolCallContent>) -> ToolCall {
    ToolCall::new(tool.call.to_string(), title(tool))
        .kind(kind(&tool.name))
        .status(status(tool))
        .locations(locations(tool, folder))
        .content(content)
        .raw_input(tool.input.clone())
}

/// What has changed of a call that is shown.
pub(super) fn tool_update(tool: &ToolRun, folder: &str, content: Option<Vec<ToolCallContent>>) -> ToolCallUpdate {
    let fields = ToolCallUpdateFields::new()
        .status(status(tool))
        .title(title(tool))
        .locations(locations(tool, folder))
        .content(content);
    ToolCallUpdate::new(tool.call.to_string(), fields)
}

/// The ID of a sub-task's tool call: its board is the entry at this place.
pub(super) fn subtask_id(board: usize, task: &str) -> String {
    format!("subtask-{board}-{task}")
}

/// A sub-task as a tool call.
pub(super) fn subtask_call(board: usize, task: &BoardTask) -> ToolCall {
    let title = format!("Sub-task {}: {}", task.id, Visible::line(&task.name));
    let status = match task.status {
        SubtaskStatus::Pending | SubtaskStatus::NeedsUser => ToolCallStatus::Pending,
        SubtaskStatus::Running => ToolCallStatus::InProgress,
        SubtaskStatus::Completed => ToolCallStatus::Completed,
        SubtaskStatus::Failed | SubtaskStatus::Skipped | SubtaskStatus::Stopped => ToolCallStatus::Failed,
    };
    let lines = words::subtasks::task_details(task);
    ToolCall::new(subtask_id(board, &task.id), title)
        .kind(ToolKind::Other)
        .status(status)
        .content(vec![plain_text(&lines.join("\n"))])
}
