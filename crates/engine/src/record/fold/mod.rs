//! Folds facts into state. Nothing else changes a session.

mod change;
mod checkpoint;
mod context;
mod reply;
mod request;
mod results;

pub(super) use checkpoint::RecordedAnswer;
pub(crate) use request::received;

use std::sync::Arc;

use trimtab_vocab::event::{
    AnswerFact, BugFact, ChecksFact, CommandFact, McpFact, ProposalFact, RequirementsFact, SessionFact, StepsFact,
    UsageFact,
};
use trimtab_vocab::{Answer, CallId, Fact, MemoryFact, Message, RequestId, SeriesState, SessionId};

use crate::tools;

use super::{Batch, BatchItem, Progress, RunningRequest, Session, legacy, names, series, weight_of};

impl Session {
    /// Folds a whole log.
    pub fn replay<'a>(facts: impl IntoIterator<Item = (Option<&'a RequestId>, &'a Fact)>) -> Self {
        let mut session = Self::default();
        for (request, fact) in facts {
            session.fold(request, fact);
        }
        session
    }

    /// Makes a fact true. Facts of other versions and facts that only inform change nothing.
    pub fn fold(&mut self, request: Option<&RequestId>, fact: &Fact) {
        self.memory.fold(request, fact);
        self.fold_done(request, fact);
        self.fold_fact(request, fact);
        // The history has moved by then.
        self.fold_background(request, fact);
    }

    fn fold_fact(&mut self, request: Option<&RequestId>, fact: &Fact) {
        match fact {
            Fact::Session(fact) => self.fold_session(fact),
            Fact::Request(fact) => self.fold_request(request, fact),
            Fact::Route(fact) => {
                self.fold_route(fact);
                self.fold_task_route(fact);
            }
            Fact::Ask(fact) => self.fold_ask(fact),
            Fact::Image(fact) => self.fold_image(request, fact),
            Fact::Stage(fact) => self.fold_task_stage(fact.stage),
            Fact::Intent(fact) => self.fold_intent(fact),
            Fact::Requirements(RequirementsFact { requirements }) => self.fold_requirements(requirements),
            Fact::Plan(fact) => self.fold_plan(request, fact),
            Fact::Model(fact) => self.fold_model(fact),
            Fact::Reply(fact) => self.fold_reply(fact),
            // What a whole reply cost is recorded with it.
            Fact::Usage(UsageFact { usage, unfinished: true, worker, .. }) => {
                worker.iter().for_each(|worker| self.lineage.count_cost(worker, *usage));
                self.spending.usage += *usage;
                // What a worker spent after its request had ended belongs to no request.
                self.active.iter_mut().filter(|_| request.is_some()).for_each(|active| active.usage += *usage);
            }
            Fact::Checkpoint(fact) => self.fold_checkpoint(request, fact),
            Fact::Memory(MemoryFact::Recalled { entries }) => self.context.recalled.clone_from(entries),
            Fact::Rule(fact) => self.fold_rule(fact),
            Fact::Tool(fact) => self.fold_tool(fact),
            Fact::Command(CommandFact::Started { call: Some(call), automatic, .. }) => {
                self.set_progress(call, Progress::Acting);
                self.item_mut(call).into_iter().for_each(|item| item.automatic = *automatic);
                self.acted();
            }
            Fact::Command(CommandFact::Finished { call: Some(call), preview, background: None, .. }) => {
                if let Some(item) = self.item_mut(call) {
                    item.output = Some(preview.clone());
                }
            }
            Fact::Mcp(McpFact::Listed { servers, gone, deferred }) => {
                self.extensions.servers = self.extensions.servers.changed(servers, gone, *deferred);
            }
            Fact::Mcp(McpFact::Called { call, .. }) => {
                self.set_progress(call, Progress::Acting);
                self.acted();
            }
            Fact::Skill(fact) => self.fold_skill(fact),
            Fact::Agent(fact) => self.fold_agent(fact),
            Fact::Hook(fact) => self.fold_hook(request, fact),
            Fact::Commands(fact) => self.fold_commands(request, fact),
            Fact::Checks(ChecksFact { checks }) => self.fold_checks(checks),
            Fact::Proposal(fact) => {
                if let ProposalFact::Opened { proposal, kind, operations, version, .. } = fact {
                    self.fold_task_proposal(request, proposal, *kind, operations, *version);
                }
                self.fold_proposal(request, fact);
            }
            Fact::Change(fact) => self.fold_change(request, fact),
            Fact::Steps(StepsFact { todos }) => self.todos.clone_from(todos),
            Fact::Subtask(fact) => self.fold_subtask(request, fact),
            Fact::Subtasks(fact) => self.fold_subtasks(request, fact),
            Fact::Reflection(fact) => self.close_batch(fact),
            Fact::Context(fact) => self.fold_context(fact),
            Fact::Answer(AnswerFact { answer }) => self.fold_final_answer(answer),
            Fact::Bug(BugFact { kind, .. }) => self.fold_bug(kind),
            _ => {}
        }
    }

    /// What the request came to, and the work that such an answer can hold.
    fn fold_final_answer(&mut self, answer: &Answer) {
        let call = CallId::nth(self.spending.calls);
        let Some(active) = &mut self.active else { return };
        if active.assist.is_some() || active.makes_pictures() {
            return self.push(Message::assistant(answer.summary.clone()));
        }
        if answer.truncated || answer.blocked {
            if active.answers_in_form() {
                active.calls.recovered.clone_from(&answer.file_changes);
            }
            return;
        }
        if active.answers_in_form() {
            let batch = Batch::new(&call, series::change_calls(answer), tools::registry()).map(Batch::in_words);
            active.batch = batch.map(|batch| Batch { mended: answer.mended, ..batch });
        }
        // A series in progress continues; one that never began is dropped.
        let is_fresh = |series: &trimtab_vocab::Series| series.state == SeriesState::Offered;
        if active.series.as_ref().is_none_or(is_fresh) && active.proposes_commands() {
            active.series = series::series_in(answer);
        }
    }

    /// Counts the mistakes of a model that are only forgiven a few times.
    fn fold_bug(&mut self, kind: &str) {
        let Some(active) = &mut self.active else { return };
        match kind {
            names::bug::UNREADABLE => active.flow.complaints += 1,
            names::bug::HOLLOW => active.calls.hollow += 1,
            names::bug::MISFIT => active.calls.misfits += 1,
            _ => {}
        }
    }

    fn fold_session(&mut self, fact: &SessionFact) {
        self.lineage.fold(fact);
        match fact {
            SessionFact::Opened { folder, .. } => self.folder = Some(folder.clone()),
            SessionFact::Titled { title, .. } => self.title = Some(title.clone()),
            SessionFact::Autonomy { level, .. } => self.permissions.autonomy = Some(*level),
            SessionFact::Inherited { text, raised_usd, .. } => {
                self.spending.budget = *raised_usd;
                self.push(Message::user(text.clone()));
            }
            SessionFact::Forked { from, message, .. } => self.fork(from, message.as_deref()),
            _ => {}
        }
    }

    /// What was changed before it was forked stays the other session's to move: two must not move the same.
    fn fork(&mut self, from: &SessionId, message: Option<&str>) {
        self.changes.moving = None;
        self.leave_background();
        self.lineage.lent = self.changes.sets.iter().map(|set| (set.id.clone(), from.clone())).collect();
        let message =
            carried(message, || Some(legacy::FORKED.to_owned())).filter(|_| !self.conversation.messages.is_empty());
        self.push_words(message);
    }

    pub(super) fn push(&mut self, message: Message) {
        self.conversation.weights.push(weight_of(&message));
        self.conversation.messages.push(Arc::new(message));
    }

    /// Words of the user's side, if there are any.
    fn push_words(&mut self, text: Option<String>) {
        if let Some(text) = text {
            self.push(Message::user(text));
        }
    }

    /// The request has changed something, or tried to.
    fn acted(&mut self) {
        if let Some(active) = &mut self.active {
            active.flow.acted = true;
        }
    }

    fn set_progress(&mut self, call: &CallId, progress: Progress) {
        if let Some(item) = self.item_mut(call) {
            item.progress = progress;
        }
    }

    pub(in crate::record) fn item_mut(&mut self, call: &CallId) -> Option<&mut BatchItem> {
        self.active.as_mut()?.batch.as_mut()?.item_mut(call)
    }

    fn active_mut(&mut self, id: &RequestId) -> Option<&mut RunningRequest> {
        self.active.as_mut().filter(|active| active.request.id == *id)
    }

    pub(super) fn unfinished_mut(&mut self, id: &RequestId) -> Option<&mut RunningRequest> {
        let all = self.active.iter_mut().chain(&mut self.queue.waiting).chain(&mut self.queue.parked);
        all.into_iter().find(|active| active.request.id == *id)
    }
}

/// What a fact puts into the conversation: the text that it carries, which is nothing if it is empty, or, where it
/// carries none, what 0.1 composed.
pub(super) fn carried(message: Option<&str>, composed: impl FnOnce() -> Option<String>) -> Option<String> {
    match message {
        Some(message) => (!message.is_empty()).then(|| message.to_owned()),
        None => composed(),
    }
}
