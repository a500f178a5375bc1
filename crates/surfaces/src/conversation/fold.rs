//! What each event adds to a conversation. Every match names all its cases: an event that is added to the vocabulary
//! does not compile before somebody has decided here whether a person reads of it.

use std::time::Duration;

use serde_json::{Value, json};
use trimtab_vocab::event::{
    AnswerFact, BannerFact, Change, ChangeFact, ChangedFile, CheckpointFact, CheckpointKind, CommandFact, CommandsFact,
    ContextFact, IntentFact, ModelFact, PlanFact, ProposalFact, ReplyFact, RequestFact, RuleFact, SessionFact, Status,
    StepsFact, SubtaskFact, ToolFact, ToolStatus,
};
use trimtab_vocab::wording::Notice;
use trimtab_vocab::{
    Answer, BackgroundEnd, CallId, ChangeSetId, Event, Fact, Message, Part, ProblemKind, RequestId, SubtasksFact,
};

use super::entry::GivenAnswer;
use super::{
    AppliedChange, AskedQuestion, BackgroundNotice, CallRetry, CommandProgress, Conversation, Entry, EntryChange,
    EntryUpdate, MessageVia, ModelReply, PlacedEntry, PlanProgress, ProposedPlan, ReplyState, RequestProgress,
    RequestSummary, SessionNotice, SubtaskBoard, ToolRun, UserMessage,
};
use crate::diff::written;

pub(super) fn fold_event(conversation: &mut Conversation, event: &Event) -> Vec<EntryUpdate> {
    let mut fold = EventFold { conversation, event, updates: Vec::new() };
    fold.fact();
    fold.updates
}

struct EventFold<'a> {
    conversation: &'a mut Conversation,
    event: &'a Event,
    updates: Vec<EntryUpdate>,
}

impl EventFold<'_> {
    fn fact(&mut self) {
        match &self.event.fact {
            Fact::Session(fact) => self.session(fact),
            Fact::Request(fact) => self.request(fact),
            Fact::Intent(IntentFact { phrase, accepted: true, .. }) if !phrase.is_empty() => {
                self.notice(SessionNotice::Intent { phrase: phrase.clone() });
            }
            Fact::Plan(fact) => self.plan(fact),
            Fact::Checkpoint(fact) => self.checkpoint(fact),
            Fact::Rule(RuleFact::Added { rule }) => self.notice(SessionNotice::Rule(rule.clone())),
            Fact::Memory(fact) => self.notice(SessionNotice::Memory(fact.clone())),
            Fact::Model(fact) => self.model(fact),
            Fact::Reply(fact) => self.reply(fact),
            Fact::Tool(fact) => self.tool(fact),
            Fact::Command(fact) => self.command(fact),
            Fact::Commands(fact) => self.commands(fact),
            Fact::Proposal(fact) => self.proposal(fact),
            Fact::Change(fact) => self.change(fact),
            Fact::Steps(StepsFact { todos }) => self.todos(todos),
            Fact::Subtasks(fact) => self.subtasks(fact),
            Fact::Subtask(fact) => self.subtask(fact),
            Fact::Context(fact) => self.context(fact),
            Fact::Answer(AnswerFact { answer }) => self.answer(answer),
            // The end of the request says that it was stopped.
            Fact::Banner(BannerFact { text, .. }) if *text == Notice::Interrupted.to_string() => {}
            Fact::Banner(BannerFact { level, text }) => {
                self.add(Entry::Banner { level: *level, text: text.clone() });
            }
            Fact::Tasks(fact) => self.notice(SessionNotice::Tasks(fact.clone())),
            Fact::Image(fact) => {
                self.add(Entry::Image(Box::new(fact.clone())));
            }
            // How the work is done, which other parts of a screen show, and what only the model reads.
            Fact::Stage(_)
            | Fact::Route(_)
            | Fact::Intent(_)
            | Fact::Requirements(_)
            | Fact::Rule(RuleFact::Known { .. } | RuleFact::Removed { .. })
            | Fact::Mcp(_)
            | Fact::Skill(_)
            | Fact::Agent(_)
            | Fact::Hook(_)
            // Each of them is a tool, too.
            | Fact::Checks(_)
            | Fact::Reflection(_)
            | Fact::Usage(_)
            | Fact::Bug(_)
            | Fact::Ask(_)
            // A type of a newer version.
            | Fact::Other(_) => {}
        }
    }

    fn add(&mut self, entry: Entry) -> usize {
        let at = self.conversation.entries.len();
        let (seq, request) = (self.event.seq, self.event.request.clone());
        self.conversation.entries.push(PlacedEntry { seq, request, entry });
        self.update(at, EntryChange::Added);
        at
    }

    fn notice(&mut self, notice: SessionNotice) {
        self.add(Entry::Notice(Box::new(notice)));
    }

    fn update(&mut self, at: usize, change: EntryChange) {
        self.updates.push(EntryUpdate { at, change });
    }

    fn progress(&mut self) -> Option<&mut RequestProgress> {
        self.conversation.requests.get_mut(self.event.request.as_ref()?)
    }

    fn tool_mut(&mut self, at: usize) -> Option<&mut ToolRun> {
        match &mut self.conversation.entries[at].entry {
            Entry::Tool(tool) => Some(tool),
            _ => None,
        }
    }

    fn reply_mut(&mut self, at: usize) -> Option<&mut ModelReply> {
        match &mut self.conversation.entries[at].entry {
            Entry::Reply(reply) => Some(reply),
            _ => None,
        }
    }

    fn session(&mut self, fact: &SessionFact) {
        self.notice(match fact {
            SessionFact::Handoff { child, change_sets, prefill } => {
                SessionNotice::Handoff { child: child.clone(), changes: change_sets.len(), prefill: prefill.clone() }
            }
            SessionFact::Inherited { text, prefill, .. } => {
                SessionNotice::Inherited { text: text.clone(), prefill: prefill.clone() }
            }
            SessionFact::Forked { from, rewound, .. } => {
                SessionNotice::Forked { from: from.clone(), is_rewind: rewound.is_some() }
            }
            SessionFact::Extended { .. } => SessionNotice::Extended,
            SessionFact::Refused { reason } => SessionNotice::Refused { reason: reason.clone() },
            SessionFact::Opened { .. }
            | SessionFact::Worker { .. }
            | SessionFact::Dismissed {}
            | SessionFact::Titled { .. }
            | SessionFact::Autonomy { .. }
            | SessionFact::Reclaimed { .. } => return,
        });
    }

    fn request(&mut self, fact: &RequestFact) {
        match fact {
            RequestFact::Received { text, pill, images, .. } => {
                self.user_message(text, images.len(), MessageVia::Request(pill.clone()), "user");
            }
            RequestFact::Joined { text, into, checkpoint: Some(checkpoint), .. } => {
                self.user_message(text, 0, MessageVia::Answer(checkpoint.clone()), "user");
                self.place_in(into);
            }
            RequestFact::Joined { text, into, checkpoint: None, .. } => {
                self.conversation.joined = Some((into.clone(), text.trim().to_owned()));
                self.user_message(text, 0, MessageVia::Joined, "user");
                self.place_in(into);
            }
            // The engine's own words to the model.
            RequestFact::Steered { by, .. } if by == "engine" => {}
            RequestFact::Steered { text, by } => {
                let joined = self.conversation.joined.take();
                let is_said = joined.is_some_and(|(into, said)| self.event.request == Some(into) && said == *text);
                if !is_said {
                    self.user_message(text, 0, MessageVia::Steered, by);
                }
            }
            RequestFact::Finished { status, error, usage, .. } => {
                self.abandon();
                let time = self.event.time;
                // A request that waits for the user goes on where it stands.
                if *status != Status::NeedsUser
                    && let Some((_, board)) = self.board()
                {
                    board.ended = Some(time);
                }
                let progress = self.progress();
                let took = progress.as_ref().map(|progress| progress.elapsed).filter(|elapsed| elapsed.is_known());
                let work = progress.map(|progress| progress.work.clone()).unwrap_or_default();
                let took = took.map(|elapsed| elapsed.at(time));
                let summary = RequestSummary { status: *status, error: error.clone(), took, usage: *usage, work };
                self.add(Entry::Summary(Box::new(summary)));
            }
            RequestFact::Stopping {}
            | RequestFact::Pausing {}
            | RequestFact::Adjusted { .. }
            | RequestFact::Relisted { .. }
            | RequestFact::Resumed { .. }
            | RequestFact::Assessing { .. } => {}
            RequestFact::Reopened {} => {
                if let Some((_, board)) = self.board() {
                    board.ended = None;
                }
            }
        }
    }

    fn user_message(&mut self, text: &str, images: usize, via: MessageVia, by: &str) {
        let (text, by) = (text.to_owned(), by.to_owned());
        self.add(Entry::UserMessage(UserMessage { text, images, via, by }));
    }

    /// The entry that was added last belongs to another request than its event.
    fn place_in(&mut self, request: &RequestId) {
        self.conversation.entries.last_mut().into_iter().for_each(|placed| placed.request = Some(request.clone()));
    }

    /// Ends what was under way in a request that has ended.
    fn abandon(&mut self) {
        let request = self.event.request.clone();
        let of_request = |at: &usize| self.conversation.entries[*at].request == request;
        let open: Vec<usize> = self.conversation.open.iter().copied().filter(of_request).collect();
        for at in open {
            self.conversation.open.remove(&at);
            match &mut self.conversation.entries[at].entry {
                Entry::Reply(reply) => reply.state = ReplyState::Done,
                Entry::Tool(tool) => tool.status = Some(ToolStatus::Interrupted),
                _ => continue,
            }
            self.update(at, EntryChange::Abandoned);
        }
    }

    fn plan(&mut self, fact: &PlanFact) {
        match fact {
            PlanFact::Proposed { version, plan, .. } => {
                let steps = plan.steps.iter().map(|step| (step.clone(), None)).collect();
                let at = self.add(Entry::Plan(ProposedPlan { version: *version, steps }));
                if let Some(progress) = self.progress() {
                    progress.plan = Some(at);
                }
            }
            PlanFact::Started { .. } => {}
            PlanFact::Step { step, number, of, title, status, note, .. } => {
                let plan = self.progress().and_then(|progress| {
                    progress.in_plan = true;
                    progress.plan
                });
                if let Some(at) = plan
                    && let Entry::Plan(plan) = &mut self.conversation.entries[at].entry
                    && let Some((_, known)) = plan.steps.iter_mut().find(|(known, _)| known.id == *step)
                {
                    *known = Some(*status);
                    self.update(at, EntryChange::Changed);
                }
                let (title, note) = (title.clone(), note.clone());
                let step = PlanProgress { number: *number, of: *of, title, status: *status, note };
                self.add(Entry::PlanStep(step));
            }
        }
    }

    fn checkpoint(&mut self, fact: &CheckpointFact) {
        match fact {
            CheckpointFact::Opened { checkpoint, kind, title, choices, ask, .. } => {
                if *kind == CheckpointKind::Permission {
                    self.wait(ask.call());
                }
                let (checkpoint, title, choices) = (checkpoint.clone(), title.clone(), choices.clone());
                self.add(Entry::Question(AskedQuestion { checkpoint, kind: *kind, title, choices, answer: None }));
            }
            CheckpointFact::Resolved { checkpoint, choice, text, by, .. } => {
                let waiting: Vec<usize> = self.conversation.open.iter().copied().collect();
                for at in waiting {
                    self.set_waiting(at, false);
                }
                let asked = self.conversation.entries.iter_mut().enumerate().rev().find_map(|(at, placed)| {
                    match &mut placed.entry {
                        Entry::Question(asked) if asked.checkpoint == *checkpoint => Some((at, asked)),
                        _ => None,
                    }
                });
                let Some((at, asked)) = asked else { return };
                asked.answer = Some(GivenAnswer { choice: choice.clone(), text: text.clone(), by: by.clone() });
                self.update(at, EntryChange::Ended);
            }
        }
    }

    /// Trust in the folder is asked for by whatever is next; another permission names its tool.
    fn wait(&mut self, call: Option<&CallId>) {
        let open: Vec<usize> = self.conversation.open.iter().copied().collect();
        for at in open {
            let waits = self.tool_mut(at).is_some_and(|tool| call.is_none_or(|call| *call == tool.call));
            self.set_waiting(at, waits);
        }
    }

    fn set_waiting(&mut self, at: usize, waits: bool) {
        if let Some(tool) = self.tool_mut(at).filter(|tool| tool.is_waiting != waits) {
            tool.is_waiting = waits;
            self.update(at, EntryChange::Waiting);
        }
    }

    fn model(&mut self, fact: &ModelFact) {
        match fact {
            ModelFact::Called { .. } => self.end_retries(),
            ModelFact::Failed { call, error, retry_in_ms } => {
                if let Some(at) = self.conversation.replies.get(call).copied()
                    && self.conversation.open.remove(&at)
                {
                    self.reply_mut(at).into_iter().for_each(|reply| reply.state = ReplyState::Partial);
                    self.update(at, EntryChange::Abandoned);
                }
                if let Some(in_ms) = *retry_in_ms {
                    let is_repeated = self.conversation.failure == error.message;
                    self.conversation.failure.clone_from(&error.message);
                    // That a model is still being loaded is nothing new.
                    if is_repeated && error.kind == ProblemKind::Loading {
                        return;
                    }
                    let error = error.clone();
                    self.add(Entry::Retry(CallRetry { error, in_ms, is_repeated, is_over: false }));
                }
            }
        }
    }

    /// A retry is over when the next call is made.
    fn end_retries(&mut self) {
        let request = &self.event.request;
        let places = self.conversation.entries.iter_mut().enumerate().rev();
        let since = places.take_while(|(_, placed)| !matches!(placed.entry, Entry::UserMessage(_)));
        let mut over = Vec::new();
        for (at, placed) in since.filter(|(_, placed)| placed.request == *request) {
            match &mut placed.entry {
                Entry::Retry(retry) if !retry.is_over => {
                    retry.is_over = true;
                    over.push(at);
                }
                Entry::Retry(_) => break,
                _ => {}
            }
        }
        over.into_iter().for_each(|at| self.update(at, EntryChange::Ended));
    }

    fn reply(&mut self, fact: &ReplyFact) {
        match fact {
            ReplyFact::Delta { call, .. } | ReplyFact::Saved { call, .. } if self.conversation.calls.is_aside(call) => {
            }
            // Reading a prompt and thinking get no entry yet.
            ReplyFact::Delta { text, .. } if text.is_empty() => {}
            ReplyFact::Delta { call, text, .. } => {
                let at = self.reply_at(call);
                let said = self.reply_mut(at).map(|reply| {
                    let words = reply.reader.take(text).into_owned();
                    reply.text.push_str(&words);
                    words
                });
                if let Some(words) = said.filter(|words| !words.is_empty()) {
                    self.update(at, EntryChange::Said(words));
                }
            }
            ReplyFact::Saved { call, message, partial, .. } => self.saved(call, message, *partial),
        }
    }

    fn reply_at(&mut self, call: &CallId) -> usize {
        if let Some(at) = self.conversation.replies.get(call) {
            return *at;
        }
        let reader = self.conversation.calls.reader(self.event.request.as_ref());
        let at = self.add(Entry::Reply(ModelReply {
            call: call.clone(),
            text: String::new(),
            thinking: String::new(),
            state: ReplyState::Live,
            before_tools: false,
            reader,
        }));
        self.conversation.replies.insert(call.clone(), at);
        self.conversation.open.insert(at);
        at
    }

    fn saved(&mut self, call: &CallId, message: &Message, partial: bool) {
        let (whole, thinking) = (message.text(), thoughts(message));
        let mut reader = self.conversation.calls.reader(self.event.request.as_ref());
        let words = reader.take(&whole).into_owned();
        let is_known = self.conversation.replies.contains_key(call);
        if !is_known && words.trim().is_empty() && thinking.trim().is_empty() {
            return;
        }
        let at = self.reply_at(call);
        let Some(reply) = self.reply_mut(at) else { return };
        let change = match reply.reader.rest(&whole, &reply.text) {
            Some(rest) if rest.is_empty() => None,
            Some(rest) => {
                reply.text.push_str(&rest);
                Some(EntryChange::Completed(rest))
            }
            // What is on the screen may be ahead of what was stored of a reply that broke off.
            None if partial => None,
            None => {
                (reply.text, reply.reader) = (words, reader);
                Some(EntryChange::Replaced)
            }
        };
        reply.thinking = thinking;
        reply.before_tools = message.parts.iter().any(|part| matches!(part, Part::ToolUse(_)));
        reply.state = if partial { ReplyState::Partial } else { ReplyState::Done };
        self.conversation.open.remove(&at);
        self.updates.extend(change.map(|change| EntryUpdate { at, change }));
        self.update(at, EntryChange::Ended);
    }

    fn tool(&mut self, fact: &ToolFact) {
        match fact {
            // A tool that waited for its permission is told once.
            ToolFact::Started { call, .. } if self.conversation.tools.contains_key(call) => {}
            ToolFact::Started { call, name, input, title } => {
                self.add_tool(call, title.as_ref().unwrap_or(name), input.clone());
            }
            ToolFact::Stopping { call } => {
                if let Some(at) = self.conversation.tools.get(call) {
                    self.update(*at, EntryChange::Stopping);
                }
            }
            ToolFact::Finished { call, status, preview, .. } => {
                let at = self.tool_at(call);
                let Some(tool) = self.tool_mut(at) else { return };
                tool.status = Some(*status);
                tool.result.clone_from(preview);
                if tool.command.is_none() || tool.preview.is_empty() {
                    tool.preview.clone_from(preview);
                }
                self.conversation.open.remove(&at);
                self.update(at, EntryChange::Ended);
            }
        }
    }

    fn add_tool(&mut self, call: &CallId, name: &str, input: Value) -> usize {
        let at = self.add(Entry::Tool(Box::new(ToolRun {
            call: call.clone(),
            name: name.to_owned(),
            input,
            status: None,
            preview: String::new(),
            result: String::new(),
            is_waiting: false,
            command: None,
            writes: Vec::new(),
            changed: Vec::new(),
        })));
        self.conversation.tools.insert(call.clone(), at);
        self.conversation.open.insert(at);
        at
    }

    /// A call whose beginning is not in the part of the log that was folded has no name.
    fn tool_at(&mut self, call: &CallId) -> usize {
        match self.conversation.tools.get(call) {
            Some(at) => *at,
            None => self.add_tool(call, "", Value::Null),
        }
    }

    fn command(&mut self, fact: &CommandFact) {
        if self.background(fact) {
            return;
        }
        // Every command has been one of a tool call since before the first release.
        let (CommandFact::Started { call: Some(call), .. }
        | CommandFact::Output { call: Some(call), .. }
        | CommandFact::Finished { call: Some(call), .. }) = fact
        else {
            return;
        };
        let at = self.tool_at(call);
        let is_told = self.conversation.unobserved;
        let Some(tool) = self.tool_mut(at) else { return };
        match fact {
            CommandFact::Started { command, edited_from, .. } => {
                let is_edited = edited_from.is_some();
                match tool.input.as_object_mut() {
                    Some(input) if is_edited => drop(input.insert("command".into(), command.as_str().into())),
                    Some(_) => {}
                    None => tool.input = json!({"command": command}),
                }
                tool.command = Some(CommandProgress { is_edited, ..CommandProgress::default() });
                self.update(at, EntryChange::CommandStarted);
            }
            CommandFact::Output { text, .. } => self.update(at, EntryChange::Output(text.clone())),
            CommandFact::Finished { exit_code, signal, timed_out, duration_ms, preview, unobserved, .. } => {
                let command = tool.command.get_or_insert_default();
                (command.exit_code, command.timed_out, command.is_over) = (*exit_code, *timed_out, true);
                command.signal.clone_from(signal);
                command.took = duration_ms.map(Duration::from_millis);
                command.unobserved = unobserved.filter(|_| !is_told);
                tool.preview.clone_from(preview);
                self.conversation.unobserved |= unobserved.is_some();
                self.update(at, EntryChange::CommandEnded);
            }
            CommandFact::Background { .. }
            | CommandFact::Ready { .. }
            | CommandFact::Port { .. }
            | CommandFact::Stopping { .. } => {}
        }
    }

    /// Whether a fact is about a command in the background: its call is over, and its output is not part of the
    /// conversation.
    fn background(&mut self, fact: &CommandFact) -> bool {
        let notice = match fact {
            CommandFact::Background { call, id, command, why, .. } => {
                self.conversation.in_background.insert(call.clone());
                BackgroundNotice::Started { id: id.clone(), command: command.clone(), why: *why }
            }
            CommandFact::Port { id, port, .. } => BackgroundNotice::Port { id: id.clone(), port: *port },
            CommandFact::Finished {
                background: Some(BackgroundEnd { id, why }), command, exit_code, signal, ..
            } => BackgroundNotice::Ended {
                id: id.clone(),
                command: command.clone(),
                why: *why,
                exit_code: *exit_code,
                signal: signal.clone(),
            },
            CommandFact::Ready { .. } | CommandFact::Stopping { .. } => return true,
            CommandFact::Output { call: Some(call), .. } => return self.conversation.in_background.contains(call),
            CommandFact::Started { .. } | CommandFact::Output { .. } | CommandFact::Finished { .. } => return false,
        };
        self.notice(SessionNotice::Background(notice));
        true
    }

    fn commands(&mut self, fact: &CommandsFact) {
        let CommandsFact { series, progress, .. } = fact;
        let known = self.progress().and_then(|request| request.series);
        let at = match known {
            Some(at) => {
                self.conversation.entries[at].entry = Entry::Commands(Box::new(series.clone()));
                at
            }
            None => {
                let at = self.add(Entry::Commands(Box::new(series.clone())));
                self.progress().into_iter().for_each(|request| request.series = Some(at));
                at
            }
        };
        self.update(at, EntryChange::Progress(progress.clone()));
    }

    fn proposal(&mut self, fact: &ProposalFact) {
        match fact {
            ProposalFact::Opened { proposal, call, operations, .. } => {
                let writes = written(operations);
                self.conversation.proposed.insert(proposal.clone(), writes.clone());
                let Some(at) = call.as_ref().and_then(|call| self.conversation.tools.get(call).copied()) else {
                    return;
                };
                self.tool_mut(at).into_iter().for_each(|tool| tool.writes.clone_from(&writes));
                self.update(at, EntryChange::Proposed);
            }
            ProposalFact::Chosen { .. } => self.notice(SessionNotice::Chosen),
            ProposalFact::Resolved { proposal, .. } => drop(self.conversation.proposed.remove(proposal)),
        }
    }

    fn change(&mut self, fact: &ChangeFact) {
        match fact {
            ChangeFact::Applied(change) => self.applied(change),
            ChangeFact::Reverted(change) => self.moved(&change.change_set, &change.files, true),
            ChangeFact::Reapplied(change) => self.moved(&change.change_set, &change.files, false),
            ChangeFact::Refused { reason, .. } => self.notice(SessionNotice::MoveRefused { reason: reason.clone() }),
            ChangeFact::Moving { .. } | ChangeFact::Inherited(_) | ChangeFact::Expired { .. } => {}
        }
    }

    fn applied(&mut self, change: &Change) {
        let call = match &change.by {
            Some(by) => Some(by.call.clone()),
            None => self.made_by(&change.files),
        };
        let (change_set, files, by) = (change.change_set.clone(), change.files.clone(), change.by.clone());
        self.add(Entry::Change(Box::new(AppliedChange { change_set, files, call, by, undone: false })));
    }

    /// The last tool that proposed a change and has not made one.
    fn made_by(&mut self, files: &[ChangedFile]) -> Option<CallId> {
        let mut places = self.conversation.entries.iter_mut().enumerate().rev();
        let (at, tool) = places.find_map(|(at, placed)| match &mut placed.entry {
            Entry::Tool(tool) if !tool.writes.is_empty() && tool.changed.is_empty() => Some((at, tool)),
            _ => None,
        })?;
        tool.changed = files.to_vec();
        let call = tool.call.clone();
        self.update(at, EntryChange::FilesChanged);
        Some(call)
    }

    fn moved(&mut self, set: &ChangeSetId, files: &[ChangedFile], undone: bool) {
        let mut moved = Vec::new();
        for (at, placed) in self.conversation.entries.iter_mut().enumerate() {
            if let Entry::Change(change) = &mut placed.entry
                && change.change_set == *set
            {
                change.undone = undone;
                moved.push(at);
            }
        }
        moved.into_iter().for_each(|at| self.update(at, EntryChange::Changed));
        self.notice(SessionNotice::Moved { undone, files: files.to_vec() });
    }

    fn todos(&mut self, todos: &[trimtab_vocab::Todo]) {
        let progress = self.progress();
        // A plan is listed once, and then each of its steps is told as it begins and ends.
        if progress.as_ref().is_some_and(|progress| progress.in_plan) {
            return;
        }
        match progress.and_then(|progress| progress.todos) {
            Some(at) => {
                self.conversation.entries[at].entry = Entry::Todos(todos.to_vec());
                self.update(at, EntryChange::Changed);
            }
            None => {
                let at = self.add(Entry::Todos(todos.to_vec()));
                self.progress().into_iter().for_each(|progress| progress.todos = Some(at));
            }
        }
    }

    fn board(&mut self) -> Option<(usize, &mut SubtaskBoard)> {
        let at = self.progress()?.board?;
        match &mut self.conversation.entries[at].entry {
            Entry::Subtasks(board) => Some((at, board)),
            _ => None,
        }
    }

    fn subtasks(&mut self, fact: &SubtasksFact) {
        match fact {
            // A plan without a call replaces the last one, or changes a task of it. A call that delegates starts another.
            SubtasksFact::Planned { plan, call, .. } => match self.board() {
                Some((at, board)) if call.is_none() => {
                    board.plan(plan);
                    self.update(at, EntryChange::Changed);
                }
                _ => {
                    let mut board = SubtaskBoard::default();
                    board.plan(plan);
                    let at = self.add(Entry::Subtasks(board));
                    self.progress().into_iter().for_each(|progress| progress.board = Some(at));
                    self.conversation.board = Some(at);
                }
            },
            SubtasksFact::Started { execution_order, .. } => {
                if let Some((at, board)) = self.board() {
                    board.order = Some(*execution_order);
                    self.update(at, EntryChange::SubtasksStarted);
                }
            }
            // A notice says so.
            SubtasksFact::Unplanned { .. }
            | SubtasksFact::Resized { .. }
            | SubtasksFact::Cancelled {}
            | SubtasksFact::Merging { .. }
            | SubtasksFact::Resolved { .. }
            | SubtasksFact::Shared { .. } => {}
        }
    }

    fn subtask(&mut self, fact: &SubtaskFact) {
        let time = self.event.time;
        let Some((at, board)) = self.board() else { return };
        let change = match board.moved(fact, time) {
            true => EntryChange::SubtaskMoved(fact.subtask.clone()),
            false => EntryChange::Changed,
        };
        self.update(at, change);
    }

    fn context(&mut self, fact: &ContextFact) {
        match fact {
            ContextFact::Loaded { files, .. } if !files.is_empty() => self.notice(SessionNotice::Loaded),
            ContextFact::Compressed { before, after, .. } => {
                self.notice(SessionNotice::Compressed { before: *before, after: *after });
            }
            ContextFact::Loaded { .. }
            | ContextFact::Nested { .. }
            | ContextFact::Compressing { .. }
            | ContextFact::Edited { .. }
            | ContextFact::Restored { .. }
            | ContextFact::Full { .. } => {}
        }
    }

    /// The last words of a model in this request are the answer, or have banners around it. A message that was queued or
    /// steered meanwhile does not come between them.
    fn answer(&mut self, answer: &Answer) {
        let summary = answer.summary.trim();
        let request = &self.event.request;
        let of_request = self.conversation.entries.iter().rev().filter(|placed| placed.request == *request);
        let is_start = |entry: &Entry| matches!(entry, Entry::UserMessage(UserMessage { via, .. }) if matches!(via, MessageVia::Request(_) | MessageVia::Answer(_)));
        let mut since = of_request.take_while(|placed| !is_start(&placed.entry));
        let last = since.find_map(|placed| match &placed.entry {
            Entry::Reply(reply) if !reply.text.trim().is_empty() => Some(reply),
            _ => None,
        });
        let said_by = last.filter(|reply| !summary.is_empty() && reply.text.contains(summary));
        let said_by = said_by.map(|reply| reply.call.clone());
        self.add(Entry::Answer { answer: Box::new(answer.clone()), said_by });
    }
}

fn thoughts(message: &Message) -> String {
    let thought = |part: &Part| if let Part::Thinking { text, .. } = part { Some(text.clone()) } else { None };
    message.parts.iter().filter_map(thought).collect::<Vec<_>>().join("\n")
}
