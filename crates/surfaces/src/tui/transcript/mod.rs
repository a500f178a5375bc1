//! The entries of a conversation, in order, as the terminal draws them.
//!
//! An entry is printed once it is finished, and everything before it is; from then on it belongs to the
//! terminal. Until then it is drawn in the live region. A reply is printed row by row as far as its rows are
//! settled.

mod entry;
mod held;
mod reply;
mod show;
mod thought;
mod tool;

use std::collections::HashMap;

use ratatui::text::Line;
use trimtab_vocab::event::{ModelFact, ReplyFact, RequestFact};
use trimtab_vocab::{CallId, Event, Fact, RequestId};

pub(super) use entry::{LineMark, TranscriptEntry};
pub(super) use held::{HeldMessage, MessageTurn};
pub(super) use reply::ReplyEntry;
pub(super) use thought::ThoughtEntry;
pub(super) use tool::ToolEntry;

/// What a running tool does, in words: what, and with what.
pub(super) fn tool_words(name: &str, input: &serde_json::Value) -> (String, String) {
    tool::words(name, input, tool::Tense::Present)
}

use super::shell_output::SentOutputs;
use super::theme::Theme;
use crate::conversation::{Conversation, SubtaskBoard};
use held::HeldMessages;

/// Rows that are printed of an earlier conversation when it is opened again.
const TAIL: usize = 200;

/// Entries among which the thought of the current call is looked for.
const RECENT: usize = 64;

/// What was said and done.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    entries: Vec<TranscriptEntry>,
    /// How many of them are printed.
    printed: usize,
    /// Rows that were printed since the last reply began, its own among them.
    since_reply: usize,
    /// The log is still being read: nothing is printed until its end is known.
    is_reading: bool,
    /// What models think is printed whole from here on.
    shows_thinking: bool,
    conversation: Conversation,
    /// Messages that wait for their turn, the oldest first.
    held: HeldMessages,
    /// A person has stopped the request: its end says so, and nothing else has to.
    is_stopping: bool,
    /// How often a call was made again without success since something was heard, and why.
    retries: Option<(u32, String)>,
    /// The outputs that were sent with messages that are not in the conversation yet.
    sent_outputs: HashMap<RequestId, SentOutputs>,
}

impl Transcript {
    /// Prints what models think whole from here on, or in one line.
    pub(super) fn show_thinking(&mut self, on: bool) {
        self.shows_thinking = on;
        for entry in self.entries.iter_mut().skip(self.printed) {
            if let TranscriptEntry::Thought(thought) = entry {
                thought.is_whole = on;
            }
        }
    }

    pub(super) fn shows_thinking(&self) -> bool {
        self.shows_thinking
    }

    /// A transcript whose log is about to be read.
    pub(super) fn reading() -> Self {
        Self { is_reading: true, ..Self::default() }
    }

    /// Whether the log is still being read.
    pub(super) fn is_reading(&self) -> bool {
        self.is_reading
    }

    /// All entries, the oldest first.
    pub(super) fn entries(&self) -> &[TranscriptEntry] {
        &self.entries
    }

    /// The outputs that are sent with a message take a line each in it.
    pub(super) fn fold_outputs(&mut self, request: RequestId, outputs: SentOutputs) {
        self.sent_outputs.insert(request, outputs);
    }

    /// Adds something that no fact tells.
    pub(super) fn note(&mut self, mark: LineMark, text: impl Into<String>) {
        self.entries.push(TranscriptEntry::Note { mark, text: text.into() });
    }

    /// Adds lines that belong together and that no fact tells.
    pub(super) fn block(&mut self, lines: Vec<String>) {
        self.entries.push(TranscriptEntry::Block { lines });
    }

    /// Takes a fact in.
    pub(super) fn observe(&mut self, event: &Event) {
        let mut conversation = std::mem::take(&mut self.conversation);
        let is_waiting = self.held.waits(event);
        for message in self.held.due(event) {
            self.entries.push(TranscriptEntry::Said {
                text: message.text,
                note: message.note,
                outputs: message.outputs,
            });
        }
        self.think(&conversation, event);
        for update in conversation.observe(event) {
            // What is told of a request that waits stands with its message below, and not in the conversation.
            if !is_waiting {
                show::show_update(self, &conversation, event, &update);
            }
        }
        self.held.observe(event);
        self.conversation = conversation;
    }

    /// Shows what a model thinks before it speaks. The conversation has it only once it is stored.
    fn think(&mut self, conversation: &Conversation, event: &Event) {
        match &event.fact {
            Fact::Request(RequestFact::Stopping {}) => self.is_stopping = true,
            Fact::Request(RequestFact::Received { .. } | RequestFact::Reopened {}) => self.is_stopping = false,
            Fact::Reply(ReplyFact::Delta { call, .. } | ReplyFact::Saved { call, .. })
                if conversation.calls().is_aside(call) => {}
            Fact::Reply(ReplyFact::Delta { call, text, thinking, .. }) => {
                if !thinking.is_empty() && self.thought(call).is_none() && self.reply(call).is_none() {
                    let thought = ThoughtEntry::new(call.clone(), self.shows_thinking);
                    self.entries.push(TranscriptEntry::Thought(thought));
                }
                if let Some(thought) = self.thought(call).filter(|thought| !thought.is_done) {
                    thought.push(thinking, event.time);
                    if !text.is_empty() {
                        thought.end(Some(event.time));
                    }
                }
            }
            Fact::Reply(ReplyFact::Saved { call, .. }) | Fact::Model(ModelFact::Failed { call, .. }) => {
                self.thought(call).into_iter().for_each(|thought| thought.end(Some(event.time)));
            }
            Fact::Request(RequestFact::Finished { .. }) => {
                for entry in &mut self.entries[self.printed..] {
                    if let TranscriptEntry::Thought(thought) = entry {
                        thought.end(None);
                    }
                }
            }
            _ => {}
        }
    }

    /// What the model thought in a call that is under way or has just ended. Every piece of a reply asks for it, and most
    /// calls have none, so that only the latest entries are looked at.
    fn thought(&mut self, call: &CallId) -> Option<&mut ThoughtEntry> {
        self.entries.iter_mut().rev().take(RECENT).find_map(|entry| match entry {
            TranscriptEntry::Thought(thought) if thought.call == *call => Some(thought),
            _ => None,
        })
    }

    /// Messages that were sent and whose turn has not come, the oldest first.
    pub(super) fn held(&self) -> &[HeldMessage] {
        self.held.messages()
    }

    /// The sub-tasks that are under way.
    pub(super) fn running_board(&self) -> Option<&SubtaskBoard> {
        self.conversation.running_board()
    }

    /// The sub-tasks that were planned last.
    pub(super) fn last_board(&self) -> Option<&SubtaskBoard> {
        self.conversation.last_board()
    }

    /// The log is read. Of a long one only the end is printed; the rest can be looked at.
    pub(super) fn caught_up(&mut self, width: usize, theme: &Theme) {
        if !std::mem::take(&mut self.is_reading) {
            return;
        }
        // It begins with something that the person said, if that is near enough.
        let (mut rows, mut from, mut said) = (0, self.entries.len(), None);
        while from > 0 && (rows < TAIL || from == self.entries.len()) {
            from -= 1;
            rows += self.entries[from].lines(width, theme).len() + 1;
            if matches!(self.entries[from], TranscriptEntry::Said { .. }) {
                said = Some(from);
            }
        }
        let from = if from == 0 { 0 } else { said.unwrap_or(from) };
        if from > 0 {
            let hint = TranscriptEntry::Note {
                mark: LineMark::Quiet,
                text: "ctrl-o shows the earlier part of this session.".into(),
            };
            self.entries.insert(from, hint);
        }
        self.printed = from;
    }

    /// Takes the rows that are finished and were not printed yet, at most about `most`.
    pub(super) fn finished(&mut self, width: usize, theme: &Theme, most: usize) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        if self.is_reading {
            return rows;
        }
        let mut begun = None;
        while rows.len() < most && self.printed < self.entries.len() {
            let gap = self.gap_before(self.printed);
            let entry = &mut self.entries[self.printed];
            if let TranscriptEntry::Reply(reply) = entry {
                let settled = reply.settle(width, theme);
                if !settled.is_empty() && !std::mem::replace(&mut reply.is_begun, true) {
                    rows.extend(gap.then(Line::default));
                    begun = Some(rows.len());
                }
                rows.extend(settled);
                if !reply.is_done {
                    break;
                }
            } else if entry.is_done() {
                let lines = entry.lines(width, theme);
                if gap && !lines.is_empty() {
                    rows.push(Line::default());
                }
                rows.extend(lines);
            } else {
                break;
            }
            self.printed += 1;
        }
        self.since_reply = match begun {
            Some(at) => rows.len() - at,
            None => self.since_reply.saturating_add(rows.len()),
        };
        rows
    }

    /// How many rows above the live region the last reply begins.
    pub(super) fn since_reply(&self) -> usize {
        self.since_reply
    }

    /// The rows of what is not finished, as far as they were not printed: the last `most` of them. What is asked about
    /// stands in its question, if one is on the screen.
    pub(super) fn unfinished(
        &mut self,
        width: usize,
        theme: &Theme,
        most: usize,
        is_asking: bool,
    ) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        if self.is_reading {
            return rows;
        }
        for at in self.printed..self.entries.len() {
            let gap = self.gap_before(at);
            let entry = &mut self.entries[at];
            let (lines, begun) = match entry {
                TranscriptEntry::Tool(tool) if is_asking && tool.is_asked_about() => continue,
                TranscriptEntry::Reply(reply) => (reply.tail(width, theme), reply.is_begun),
                entry => (entry.lines(width, theme), false),
            };
            if gap && !begun && !lines.is_empty() {
                rows.push(Line::default());
            }
            rows.extend(lines);
        }
        let cut = rows.len().saturating_sub(most);
        rows.drain(..cut);
        rows
    }

    /// Whether the rows of what is not finished end with a tool at work.
    pub(super) fn shows_running_tool(&self) -> bool {
        let last = self.entries[self.printed.min(self.entries.len())..].last();
        matches!(last, Some(TranscriptEntry::Tool(tool)) if tool.status.is_none() && !tool.is_asked_about())
    }

    /// An entry with nothing folded, and the blank row before it.
    pub(super) fn whole(&mut self, at: usize, width: usize, theme: &Theme) -> Vec<Line<'static>> {
        let gap = self.gap_before(at);
        let Some(entry) = self.entries.get_mut(at) else { return Vec::new() };
        let lines = entry.whole(width, theme);
        gap.then(Line::default).into_iter().chain(lines).collect()
    }

    /// Whether a blank row stands before an entry: tools stand close together, other things do not.
    fn gap_before(&self, at: usize) -> bool {
        at > 0 && !(self.entries[at].is_close() && self.entries[at - 1].is_close())
    }

    fn tool(&mut self, call: &CallId) -> Option<&mut ToolEntry> {
        self.entries.iter_mut().rev().find_map(|entry| match entry {
            TranscriptEntry::Tool(tool) if tool.call == *call => Some(&mut **tool),
            _ => None,
        })
    }

    /// The changes of a tool call, as they can be drawn.
    pub(super) fn set_diff(&mut self, call: &CallId, files: std::sync::Arc<Vec<crate::diff::LoadedDiff>>) {
        if let Some(tool) = self.tool(call) {
            tool.diff = Some(files);
        }
    }

    /// Changes whose bytes are wanted: each is named once.
    pub(super) fn wanted_diffs(&mut self) -> Vec<(CallId, Vec<trimtab_vocab::FileWrite>)> {
        let mut wanted = Vec::new();
        for entry in &mut self.entries[self.printed..] {
            if let TranscriptEntry::Tool(tool) = entry
                && !tool.writes.is_empty()
                && !std::mem::replace(&mut tool.is_asked, true)
            {
                wanted.push((tool.call.clone(), tool.writes.clone()));
            }
        }
        wanted
    }

    fn reply(&mut self, call: &CallId) -> Option<&mut ReplyEntry> {
        self.entries.iter_mut().rev().find_map(|entry| match entry {
            TranscriptEntry::Reply(reply) if reply.call == *call => Some(reply),
            _ => None,
        })
    }
}
