//! A session as a person reads it: events in, entries out.
//!
//! This is the only place that decides what of the log belongs to the conversation, which words of a model are for
//! the person, what was said already and when a retry is over. The command line, the terminal UI and the recap draw
//! its entries; the browser has the same fold in `web/src/lib/fold.ts`, and both are held to the fixtures in
//! `tests/conversation/`. It reads no clock and holds no sentences; those are in `crate::words`.

mod board;
mod calls;
mod elapsed;
mod entry;
mod fold;
#[cfg(test)]
mod golden;
mod work_done;

use std::collections::{BTreeMap, BTreeSet};

use trimtab_vocab::event::RequestFact;
use trimtab_vocab::{CallId, Event, Fact, FileWrite, ProposalId, RequestId};

pub(crate) use board::{BoardTask, SubtaskBoard};
pub(crate) use calls::ModelCalls;
pub(crate) use elapsed::Elapsed;
pub(crate) use entry::{
    AppliedChange, AskedQuestion, BackgroundNotice, CallRetry, CommandProgress, Entry, MessageVia, ModelReply,
    PlanProgress, ProposedPlan, ReplyState, RequestSummary, SessionNotice, ToolRun, UserMessage,
};
pub(crate) use work_done::WorkDone;

/// The conversation of a session, or of the part of its log that was folded.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    entries: Vec<PlacedEntry>,
    calls: ModelCalls,
    requests: BTreeMap<RequestId, RequestProgress>,
    tools: BTreeMap<CallId, usize>,
    replies: BTreeMap<CallId, usize>,
    /// Entries of tools and replies that have not ended.
    open: BTreeSet<usize>,
    /// The message that was passed on last, and where to: the running request tells it once more.
    joined: Option<(RequestId, String)>,
    /// How the last call failed, if nothing was heard since.
    failure: String,
    /// It was said that what commands do to files is not seen.
    unobserved: bool,
    /// Calls whose commands continue in the background.
    in_background: BTreeSet<CallId>,
    proposed: BTreeMap<ProposalId, Vec<FileWrite>>,
    /// The board of sub-tasks that came last.
    board: Option<usize>,
}

/// An entry and where it came from.
#[derive(Debug)]
pub(crate) struct PlacedEntry {
    /// The event that added it; live-only events have no number.
    pub(crate) seq: Option<u64>,
    /// The request that it is a part of.
    pub(crate) request: Option<RequestId>,
    pub(crate) entry: Entry,
}

/// What an event did to an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntryUpdate {
    /// The entry's place in [`Conversation::entries`].
    pub(crate) at: usize,
    pub(crate) change: EntryChange,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntryChange {
    Added,
    /// A reply grew by these words as they came.
    Said(String),
    /// A reply grew by words that had not come live, when it was stored.
    Completed(String),
    /// What was stored of a reply is not what came live.
    Replaced,
    /// A reply, a tool, a question or a retry ended.
    Ended,
    /// The call failed or the request ended while a reply or a tool was under way.
    Abandoned,
    /// The files that a tool would write are known.
    Proposed,
    /// A tool waits for a permission, or no longer.
    Waiting,
    Stopping,
    CommandStarted,
    Output(String),
    CommandEnded,
    /// The files that a tool changed are known.
    FilesChanged,
    /// A series of commands has these further lines to tell.
    Progress(String),
    /// The sub-tasks start.
    SubtasksStarted,
    /// This sub-task started, ended, or waits for the user.
    SubtaskMoved(String),
    /// Todos, a plan or a change stand otherwise than before.
    Changed,
}

/// Whether a request has begun once this is known of it. Before, it waits for its turn: it is received, analyzed, and told
/// that it waits.
pub(crate) fn is_under_way(fact: &Fact) -> bool {
    match fact {
        Fact::Request(fact) => matches!(fact, RequestFact::Reopened {} | RequestFact::Assessing { .. }),
        Fact::Route(_)
        | Fact::Intent(_)
        | Fact::Requirements(_)
        | Fact::Plan(_)
        | Fact::Checkpoint(_)
        | Fact::Model(_)
        | Fact::Reply(_)
        | Fact::Tool(_)
        | Fact::Answer(_)
        | Fact::Subtasks(_)
        | Fact::Image(_)
        | Fact::Ask(_) => true,
        _ => false,
    }
}

#[derive(Debug, Default)]
struct RequestProgress {
    elapsed: Elapsed,
    work: WorkDone,
    /// Steps of a plan tell how far it is; its list of todos is not told as well.
    in_plan: bool,
    series: Option<usize>,
    todos: Option<usize>,
    board: Option<usize>,
    plan: Option<usize>,
}

impl Conversation {
    /// Takes an event in, and says which entries it added or changed, in order.
    pub(crate) fn observe(&mut self, event: &Event) -> Vec<EntryUpdate> {
        self.calls.observe(event);
        if let Some(request) = &event.request {
            let progress = self.requests.entry(request.clone()).or_default();
            progress.elapsed.observe(event);
            progress.work.observe(&event.fact);
        }
        if matches!(event.fact, Fact::Reply(_) | Fact::Request(_)) {
            self.failure.clear();
        }
        fold::fold_event(self, event)
    }

    /// Whether this call is the current one of several commands. The block after it has its output.
    pub(crate) fn is_in_series(&self, call: &CallId) -> bool {
        self.entries.iter().rev().any(|placed| match &placed.entry {
            Entry::Commands(series) => series.total > 1 && series.current.as_ref().is_some_and(|one| one.call == *call),
            _ => false,
        })
    }

    /// All entries, the oldest first.
    pub(crate) fn entries(&self) -> &[PlacedEntry] {
        &self.entries
    }

    pub(crate) fn entry(&self, at: usize) -> &Entry {
        &self.entries[at].entry
    }

    /// The sub-tasks that are under way.
    pub(crate) fn running_board(&self) -> Option<&SubtaskBoard> {
        self.last_board().filter(|board| board.is_under_way())
    }

    /// The sub-tasks that were planned last.
    pub(crate) fn last_board(&self) -> Option<&SubtaskBoard> {
        let Entry::Subtasks(board) = self.entry(self.board?) else { return None };
        Some(board)
    }

    /// Which calls of models speak to the person.
    pub(crate) fn calls(&self) -> &ModelCalls {
        &self.calls
    }

    /// Takes a proposed change, unless it is decided: it is shown with one question only.
    pub(crate) fn take_proposed(&mut self, proposal: &ProposalId) -> Vec<FileWrite> {
        self.proposed.remove(proposal).unwrap_or_default()
    }

    /// Forgets the proposed changes: they were shown with earlier questions.
    pub(crate) fn forget_proposed(&mut self) {
        self.proposed.clear();
    }

    /// All questions that wait for an answer: workers ask beside each other.
    pub(crate) fn open_questions(&self) -> impl Iterator<Item = &AskedQuestion> {
        let asked = self.entries.iter().filter_map(|placed| match &placed.entry {
            Entry::Question(asked) => Some(asked),
            _ => None,
        });
        asked.filter(|asked| asked.answer.is_none())
    }

    /// The choices of the question that is open.
    pub(crate) fn open_question(&self) -> Option<&AskedQuestion> {
        let asked = self.entries.iter().rev().find_map(|placed| match &placed.entry {
            Entry::Question(asked) => Some(asked),
            _ => None,
        });
        asked.filter(|asked| asked.answer.is_none())
    }
}
