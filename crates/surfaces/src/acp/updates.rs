//! The shared conversation as updates of the protocol: entries as they stand, for a session that is loaded, and what
//! changes of them while it is watched.

use std::collections::{BTreeSet, HashMap, HashSet};

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, MessageId, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate,
    TextContent, ToolCall, ToolCallContent, ToolCallUpdate,
};
use trimtab_vocab::event::{Status, ToolStatus};
use trimtab_vocab::{CallId, FileWrite, StepStatus};

use super::tool_calls::{SHOWN_OUTPUT, content, is_shown, subtask_call, tail, tool_call, tool_update};
use crate::conversation::{
    Conversation, Entry, EntryChange, EntryUpdate, MessageVia, ModelReply, ReplyState, RequestSummary, SessionNotice,
    SubtaskBoard, ToolRun,
};
use crate::structured_answer;
use crate::words::{self, conversation as entry_words};

/// Prints a conversation as updates.
#[derive(Debug, Default)]
pub(super) struct UpdatePrinter {
    folder: String,
    /// The message whose words came last, if nothing else came since.
    message: Option<String>,
    /// Calls whose thinking was streamed.
    thought: HashSet<CallId>,
    /// The end of what running commands have written.
    outputs: HashMap<CallId, String>,
    /// Calls whose output has grown since it was sent.
    grown: BTreeSet<CallId>,
    /// Sub-tasks as they were sent.
    subtasks: HashMap<String, ToolCall>,
    notes: u64,
}

impl UpdatePrinter {
    pub(super) fn new(folder: String) -> Self {
        Self { folder, ..Self::default() }
    }

    /// The changes of files that the update of an entry shows, to be loaded first.
    pub(super) fn wanted_diffs(conversation: &Conversation, at: usize, change: Option<&EntryChange>) -> Vec<FileWrite> {
        let Entry::Tool(tool) = conversation.entry(at) else { return Vec::new() };
        let is_wanted = match change {
            None | Some(EntryChange::Added | EntryChange::Proposed) => true,
            Some(EntryChange::Ended | EntryChange::Abandoned) => tool.status != Some(ToolStatus::Ok),
            // The question stood beside the diff.
            Some(EntryChange::Waiting) => !tool.is_waiting,
            Some(_) => false,
        };
        if is_wanted && is_shown(tool) { tool.writes.clone() } else { Vec::new() }
    }

    /// An entry as it stands.
    pub(super) fn entry(
        &mut self,
        conversation: &Conversation,
        at: usize,
        diffs: Vec<ToolCallContent>,
    ) -> Vec<SessionUpdate> {
        match conversation.entry(at) {
            Entry::Reply(reply) => self.whole_reply(reply),
            Entry::Tool(tool) if is_shown(tool) => {
                let call = tool_call(tool, &self.folder, content(tool, diffs, None));
                vec![self.plain(SessionUpdate::ToolCall(call))]
            }
            Entry::Subtasks(board) => self.board(at, board),
            Entry::Question(asked) => self.optional_note(entry_words::answered(asked)),
            entry => self.added(entry),
        }
    }

    /// What has changed of an entry. `is_own` says that the client sent it and shows it already.
    pub(super) fn update(
        &mut self,
        conversation: &Conversation,
        update: &EntryUpdate,
        diffs: Vec<ToolCallContent>,
        is_own: bool,
    ) -> Vec<SessionUpdate> {
        let change = &update.change;
        match conversation.entry(update.at) {
            Entry::UserMessage(_) if is_own => Vec::new(),
            Entry::Reply(reply) => self.reply(reply, change),
            Entry::Tool(tool) if is_shown(tool) => self.tool(tool, change, diffs),
            Entry::Tool(_) => Vec::new(),
            Entry::Subtasks(board) => self.board(update.at, board),
            Entry::Plan(_) | Entry::Todos(_) => self.added(conversation.entry(update.at)),
            Entry::Question(asked) if *change == EntryChange::Ended => self.optional_note(entry_words::answered(asked)),
            Entry::Question(_) => Vec::new(),
            entry if *change == EntryChange::Added => self.added(entry),
            _ => Vec::new(),
        }
    }

    /// Thinking as it comes.
    pub(super) fn thinking(&mut self, call: &CallId, text: &str) -> SessionUpdate {
        self.thought.insert(call.clone());
        self.thought_chunk(&format!("{call}-thinking"), text)
    }

    /// A message of the program itself.
    pub(super) fn note(&mut self, text: &str) -> SessionUpdate {
        self.notes += 1;
        let id = format!("note-{}", self.notes);
        let note = self.chunk(&id, &format!("{}\n\n", text.trim_end()));
        // It ends with a blank line, so the next message needs none before it.
        self.message = None;
        note
    }

    /// Whether commands have written something that was not sent yet.
    pub(super) fn has_output(&self) -> bool {
        !self.grown.is_empty()
    }

    /// The output of running commands that has grown. Updates carry all of it, so they are sent at intervals.
    pub(super) fn grown_output(&mut self, conversation: &Conversation) -> Vec<SessionUpdate> {
        let mut updates = Vec::new();
        for call in std::mem::take(&mut self.grown) {
            let tool = conversation.entries().iter().rev().find_map(|placed| match &placed.entry {
                Entry::Tool(tool) if tool.call == call => Some(tool),
                _ => None,
            });
            if let (Some(tool), Some(output)) = (tool, self.outputs.get(&call)) {
                let shown = content(tool, Vec::new(), Some(output));
                updates.push(SessionUpdate::ToolCallUpdate(tool_update(tool, &self.folder, Some(shown))));
            }
        }
        updates.into_iter().map(|update| self.plain(update)).collect()
    }

    /// An update that is not a message of the agent. Those that clients show in their own places, such as the plan and
    /// changes of a tool call, do not stand between two messages.
    fn plain(&mut self, update: SessionUpdate) -> SessionUpdate {
        if !matches!(update, SessionUpdate::Plan(_) | SessionUpdate::ToolCallUpdate(_)) {
            self.message = None;
        }
        update
    }

    /// Words of a message. Clients that do not know message IDs would join two messages into one line.
    fn chunk(&mut self, id: &str, text: &str) -> SessionUpdate {
        let follows_another = self.message.as_deref().is_some_and(|last| last != id);
        self.message = Some(id.to_owned());
        let gap = if follows_another { "\n\n" } else { "" };
        SessionUpdate::AgentMessageChunk(text_chunk(&format!("{gap}{text}"), id))
    }

    fn thought_chunk(&mut self, id: &str, text: &str) -> SessionUpdate {
        self.plain(SessionUpdate::AgentThoughtChunk(text_chunk(text, id)))
    }

    fn optional_note(&mut self, line: Option<String>) -> Vec<SessionUpdate> {
        line.map(|line| self.note(&words::sanitize(&line))).into_iter().collect()
    }

    fn whole_reply(&mut self, reply: &ModelReply) -> Vec<SessionUpdate> {
        let mut updates = self.late_thinking(reply);
        if !reply.text.is_empty() {
            updates.push(self.chunk(reply.call.as_str(), &reply.text));
        }
        if reply.state == ReplyState::Partial && !reply.text.trim().is_empty() {
            updates.push(self.note(entry_words::REPLY_BROKE_OFF));
        }
        updates
    }

    /// Thinking that was not streamed.
    fn late_thinking(&mut self, reply: &ModelReply) -> Vec<SessionUpdate> {
        if reply.thinking.trim().is_empty() || !self.thought.insert(reply.call.clone()) {
            return Vec::new();
        }
        vec![self.thought_chunk(&format!("{}-thinking", reply.call), &reply.thinking)]
    }

    fn reply(&mut self, reply: &ModelReply, change: &EntryChange) -> Vec<SessionUpdate> {
        match change {
            EntryChange::Added => self.late_thinking(reply),
            EntryChange::Said(words) | EntryChange::Completed(words) => vec![self.chunk(reply.call.as_str(), words)],
            // Words that were sent cannot be withdrawn; the stored ones count.
            EntryChange::Replaced => vec![self.chunk(&format!("{}-saved", reply.call), &reply.text)],
            EntryChange::Ended if reply.state == ReplyState::Partial && !reply.text.trim().is_empty() => {
                let mut updates = self.late_thinking(reply);
                updates.push(self.note(entry_words::REPLY_BROKE_OFF));
                updates
            }
            EntryChange::Ended => self.late_thinking(reply),
            _ => Vec::new(),
        }
    }

    fn tool(&mut self, tool: &ToolRun, change: &EntryChange, diffs: Vec<ToolCallContent>) -> Vec<SessionUpdate> {
        let shown = match change {
            EntryChange::Added => {
                let call = tool_call(tool, &self.folder, content(tool, diffs, None));
                return vec![self.plain(SessionUpdate::ToolCall(call))];
            }
            EntryChange::Output(text) => {
                let output = self.outputs.entry(tool.call.clone()).or_default();
                output.push_str(text);
                if output.len() > 2 * SHOWN_OUTPUT {
                    *output = tail(output).to_owned();
                }
                self.grown.insert(tool.call.clone());
                return Vec::new();
            }
            EntryChange::Proposed => Some(content(tool, diffs, None)),
            EntryChange::Ended | EntryChange::Abandoned => {
                self.outputs.remove(&tool.call);
                self.grown.remove(&tool.call);
                // The diff of a change that was made is shown already.
                let is_shown = tool.status == Some(ToolStatus::Ok) && !tool.writes.is_empty();
                (!is_shown).then(|| content(tool, diffs, None))
            }
            EntryChange::Waiting if !tool.is_waiting => Some(content(tool, diffs, None)),
            EntryChange::Waiting | EntryChange::CommandStarted | EntryChange::FilesChanged => None,
            _ => return Vec::new(),
        };
        vec![self.plain(SessionUpdate::ToolCallUpdate(tool_update(tool, &self.folder, shown)))]
    }

    /// The sub-tasks that are not as they were sent.
    fn board(&mut self, at: usize, board: &SubtaskBoard) -> Vec<SessionUpdate> {
        if board.order.is_none() {
            return Vec::new();
        }
        let mut updates = Vec::new();
        for task in &board.tasks {
            let call = subtask_call(at, task);
            let before = self.subtasks.insert(call.tool_call_id.to_string(), call.clone());
            match before {
                Some(before) if before == call => {}
                Some(_) => updates.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate::from(call))),
                None => updates.push(SessionUpdate::ToolCall(call)),
            }
        }
        updates.into_iter().map(|update| self.plain(update)).collect()
    }

    /// An entry that is shown once, when it is added, or whole whenever it changes.
    fn added(&mut self, entry: &Entry) -> Vec<SessionUpdate> {
        match entry {
            Entry::UserMessage(message) => {
                if matches!(message.via, MessageVia::Steered) && message.by != "user" {
                    return Vec::new();
                }
                self.notes += 1;
                let id = format!("user-{}", self.notes);
                vec![self.plain(SessionUpdate::UserMessageChunk(text_chunk(&message.text, &id)))]
            }
            Entry::Plan(plan) => {
                let entries = plan.steps.iter().map(|(step, status)| plan_entry(&step.title, *status)).collect();
                vec![self.plain(SessionUpdate::Plan(Plan::new(entries)))]
            }
            Entry::Todos(todos) => {
                let status = |completed| if completed { PlanEntryStatus::Completed } else { PlanEntryStatus::Pending };
                let entry = |todo: &trimtab_vocab::Todo| {
                    PlanEntry::new(todo.text.clone(), PlanEntryPriority::Medium, status(todo.completed))
                };
                vec![self.plain(SessionUpdate::Plan(Plan::new(todos.iter().map(entry).collect())))]
            }
            Entry::Retry(retry) => {
                self.notes += 1;
                vec![self.thought_chunk(&format!("note-{}", self.notes), &format!("{}\n\n", entry_words::retry(retry)))]
            }
            Entry::Banner { text, .. } => vec![self.note(text)],
            Entry::Image(fact) => self.optional_note(words::of_picture(fact).map(|line| line.trim().to_owned())),
            Entry::Notice(notice) => self.optional_note(notice_text(notice)),
            Entry::Answer { answer, said_by } => {
                let mut parts = Vec::new();
                if said_by.is_none() && !answer.summary.trim().is_empty() {
                    parts.push(answer.summary.clone());
                }
                let sections = structured_answer::sections(&answer.sections);
                if !sections.trim().is_empty() {
                    parts.push(sections);
                }
                if parts.is_empty() { Vec::new() } else { vec![self.note(&parts.join("\n\n"))] }
            }
            Entry::Summary(summary) => self.optional_note(summary_text(summary)),
            Entry::Change(change) => {
                let lines = change
                    .by
                    .as_ref()
                    .map(|by| words::effects::after(&change.files, by, words::effects::UNDO_IN_SHELL))
                    .unwrap_or_default();
                let text = words::one_line(&lines.join(" ")).replace("`trimtab rewind`", "`/rewind`");
                self.optional_note((!lines.is_empty()).then_some(text))
            }
            Entry::Reply(_)
            | Entry::Tool(_)
            | Entry::Commands(_)
            | Entry::Question(_)
            | Entry::PlanStep(_)
            | Entry::Subtasks(_) => Vec::new(),
        }
    }
}

fn text_chunk(text: &str, id: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text))).message_id(MessageId::new(id))
}

fn plan_entry(title: &str, status: Option<StepStatus>) -> PlanEntry {
    let (status, note) = match status {
        None => (PlanEntryStatus::Pending, ""),
        Some(StepStatus::Running) => (PlanEntryStatus::InProgress, ""),
        Some(StepStatus::Done) => (PlanEntryStatus::Completed, ""),
        Some(StepStatus::Skipped) => (PlanEntryStatus::Completed, " (skipped)"),
        Some(StepStatus::Failed) => (PlanEntryStatus::Pending, " (failed)"),
    };
    PlanEntry::new(format!("{title}{note}"), PlanEntryPriority::Medium, status)
}

/// What is said at the end of a request. A prompt that failed has its own error.
fn summary_text(summary: &RequestSummary) -> Option<String> {
    let error = summary.error.as_ref()?;
    if !matches!(summary.status, Status::NotDone | Status::Limit | Status::Failed) {
        return None;
    }
    let hint = error.hint.as_deref().map(|hint| format!("\n{}", words::hint_in_editor(hint))).unwrap_or_default();
    Some(format!("{}{hint}", error.message))
}

fn notice_text(notice: &SessionNotice) -> Option<String> {
    match notice {
        SessionNotice::Handoff { child, .. } => {
            Some(format!("Handed off to session {child}. Open it to continue there."))
        }
        SessionNotice::Inherited { text, .. } => Some(words::handoff_summary(text).join("\n")),
        SessionNotice::Forked { from, .. } => Some(format!("Forked from session {from}.")),
        SessionNotice::Extended => Some(words::EXTENDED.to_owned()),
        SessionNotice::Refused { reason } | SessionNotice::MoveRefused { reason } => Some(reason.clone()),
        SessionNotice::Intent { phrase } => Some(entry_words::intent(phrase)),
        SessionNotice::Rule(rule) => Some(format!("Added a rule: {rule}")),
        SessionNotice::Compressed { before, after } => Some(words::compressed(*before, *after)),
        SessionNotice::Chosen => Some("Only a part of the change was allowed.".to_owned()),
        SessionNotice::Moved { undone, files } => {
            let word = if *undone { "Undid" } else { "Redid" };
            Some(format!("{word} {}.", entry_words::file_names(files)))
        }
        SessionNotice::Background(notice) => Some(words::background_notice(notice)),
        SessionNotice::Memory(_) | SessionNotice::Loaded | SessionNotice::Tasks(_) => None,
    }
}
