//! How facts become state. Nothing else changes a session.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use trimtab_vocab::event::{
    AnswerFact, BugFact, Change, ChangeFact, CheckpointFact, CheckpointKind, CommandFact, CommandsFact, ContextFact,
    Inherited, ModelFact, ProposalFact, ReflectionFact, ReplyFact, RequestFact, RequirementsFact, RuleFact,
    SessionFact, Status, StepsFact, ToolFact, ToolStatus,
};
use trimtab_vocab::{
    CallId, ChangeSetId, Fact, FileWrite, INTERRUPT_TOOL, INTERRUPT_USER, MemoryFact, MergedWrite, Message, Part,
    ProblemKind, Request, RequestId, Role, RunSettings, SeriesState, SessionId, StopReason, TimerId, ToolResult,
    WhileRunning,
};

use super::{
    About, Active, Batch, ChangeSet, Checkpoint, Chosen, Compressing, Done, Given, Move, Phase, Progress, Repairing,
    Repeat, Session, Squeezed, weight_of,
};
use crate::assistant;
use crate::flow::{execute, pace, plan};
use crate::route;
use crate::turn::{answers, budget, context, ending, outside, reflection, series, structured};

/// Entries of the ledger that are kept.
const LEDGER: usize = 24;
/// Findings that are kept for the synthesis.
const FINDINGS: usize = 100;

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
            Fact::Checkpoint(fact) => self.fold_checkpoint(request, fact),
            Fact::Memory(MemoryFact::Recalled { entries }) => self.recalled.clone_from(entries),
            Fact::Rule(fact) => self.fold_rule(fact),
            Fact::Tool(fact) => self.fold_tool(fact),
            Fact::Command(CommandFact::Started { call: Some(call), .. }) => {
                self.set_progress(call, Progress::Acting);
                self.acted();
            }
            Fact::Commands(fact) => self.fold_commands(request, fact),
            Fact::Proposal(fact) => {
                if let ProposalFact::Opened { proposal, kind, operations, version, .. } = fact {
                    self.fold_task_proposal(request, proposal, *kind, operations, *version);
                }
                self.fold_proposal(request, fact);
            }
            Fact::Change(fact) => self.fold_change(request, fact),
            Fact::Steps(StepsFact { todos }) => self.todos.clone_from(todos),
            Fact::Reflection(fact) => self.close_batch(fact),
            Fact::Context(fact) => self.fold_context(fact),
            Fact::Answer(AnswerFact { answer }) => {
                let call = CallId::nth(self.calls);
                let Some(active) = &mut self.active else { return };
                if active.assist.is_some() || crate::pictures::applies(active) {
                    return self.push(Message::assistant(answer.summary.clone()));
                }
                if answer.truncated || answer.blocked {
                    if structured::applies(active) {
                        active.recovered.clone_from(&answer.file_changes);
                    }
                    return;
                }
                if structured::applies(active) {
                    active.batch = Batch::of(&call, structured::wishes(answer)).map(Batch::in_words);
                }
                // One that is under way goes on; one that never began has had its time.
                let is_fresh = |series: &trimtab_vocab::Series| series.state == SeriesState::Offered;
                if active.series.as_ref().is_none_or(is_fresh) && series::applies(active) {
                    active.series = series::of(answer);
                }
            }
            Fact::Bug(BugFact { kind, .. }) if kind == plan::UNREADABLE => {
                if let Some(active) = &mut self.active {
                    active.flow.complaints += 1;
                }
            }
            Fact::Bug(BugFact { kind, .. }) if kind == ending::HOLLOW => {
                if let Some(active) = &mut self.active {
                    active.hollow += 1;
                }
            }
            _ => {}
        }
    }

    fn fold_session(&mut self, fact: &SessionFact) {
        self.lineage.fold(fact);
        match fact {
            SessionFact::Opened { folder, .. } => self.folder = Some(folder.clone()),
            SessionFact::Titled { title, .. } => self.title = Some(title.clone()),
            SessionFact::Inherited { text, raised_usd, .. } => {
                self.budget = *raised_usd;
                self.push(Message::user(text.clone()));
            }
            SessionFact::Forked { from, .. } => self.fork(from),
            _ => {}
        }
    }

    /// What was changed before it was forked stays the other session's to move: two must not move the same.
    fn fork(&mut self, from: &SessionId) {
        self.moving = None;
        self.lineage.lent = self.history.iter().map(|set| (set.id.clone(), from.clone())).collect();
        if !self.conversation.is_empty() {
            self.push(Message::user(FORKED));
        }
    }

    fn fold_request(&mut self, id: Option<&RequestId>, fact: &RequestFact) {
        let Some(id) = id else { return };
        match fact {
            RequestFact::Received { text, refs, images, mode, tags, pill, ask, picture, while_running, settings } => {
                let request = Request {
                    id: id.clone(),
                    text: text.clone(),
                    refs: refs.clone(),
                    images: images.clone(),
                    mode: *mode,
                    tags: tags.clone(),
                    pill: pill.clone(),
                    ask: ask.clone(),
                    picture: picture.clone(),
                    while_running: *while_running,
                    settings: RunSettings::clone(settings),
                };
                self.known.insert(id.clone());
                self.lineage.prefill = None;
                match while_running {
                    // It takes the place of what runs, before whatever waits behind that.
                    Some(WhileRunning::Replace) => self.waiting.push_front(Active::new(request)),
                    _ => self.waiting.push_back(Active::new(request)),
                }
                self.start_next();
            }
            RequestFact::Joined { .. } => {
                self.known.insert(id.clone());
            }
            RequestFact::Stopping {} => {
                if let Some(active) = self.active_mut(id) {
                    let call = match &active.phase {
                        Phase::Calling { call } => Some(call.clone()),
                        _ => None,
                    };
                    active.phase = Phase::Stopping { call };
                }
            }
            RequestFact::Steered { text, by } => {
                let done = (by == pace::BY).then(|| super::completed(&self.todos));
                if let Some(active) = self.unfinished_mut(id) {
                    match by.as_str() {
                        "user" => active.hear(Some(text)),
                        _ => active.steers.push(text.clone()),
                    }
                    if let Some(done) = done {
                        active.flow.done_before = done;
                    }
                }
            }
            RequestFact::Pausing {} => {
                if let Some(active) = self.active_mut(id) {
                    active.pausing = true;
                }
            }
            RequestFact::Resumed { wish: true } => {
                if let Some(active) = self.unfinished_mut(id) {
                    active.pausing = false;
                }
            }
            RequestFact::Resumed { wish: false } => {
                if let Some(active) = self.unfinished_mut(id) {
                    active.phase = if active.batch.is_some() { Phase::Tools } else { Phase::Loading };
                }
            }
            RequestFact::Adjusted { approve, attended, max_steps, trusted } => {
                if let Some(active) = self.unfinished_mut(id) {
                    let settings = &mut active.request.settings;
                    settings.approve = approve.unwrap_or(settings.approve);
                    settings.attended = attended.unwrap_or(settings.attended);
                    settings.max_steps = max_steps.unwrap_or(settings.max_steps);
                    settings.trusted = trusted.unwrap_or(settings.trusted);
                }
            }
            RequestFact::Relisted { lists } => {
                if let Some(active) = self.unfinished_mut(id) {
                    active.request.settings.relist(lists.clone());
                }
            }
            RequestFact::Assessing {} => {
                if let Some(active) = self.active_mut(id) {
                    active.assessing = true;
                    active.steers.push(ending::assessment(active.step_limit()));
                }
            }
            RequestFact::Reopened {} => {
                if let Some(at) = self.parked.iter().position(|parked| parked.request.id == *id) {
                    let mut active = self.parked.remove(at);
                    active.phase = Phase::Admitting;
                    self.waiting.push_front(active);
                    self.start_next();
                }
            }
            RequestFact::Finished { status, .. } => self.finish(id, *status),
        }
    }

    fn finish(&mut self, id: &RequestId, status: Status) {
        let Some(ended) = self.active.take_if(|active| active.request.id == *id) else {
            let at = self.waiting.iter().position(|waiting| waiting.request.id == *id);
            let waited = at.and_then(|at| self.waiting.remove(at));
            // One that was answered while the history moved has begun, and ends in its place. Where another one
            // has begun since, it was passed over then.
            if let Some(ended) = waited.filter(|waiting| waiting.begun && self.active.is_none()) {
                self.close(ended, status);
            }
            self.checkpoints.retain(|_, checkpoint| checkpoint.request != *id);
            return self.start_next();
        };
        // Somebody who answered that it is to stop here will not be asked again.
        let is_asked = self.checkpoints.values().any(|open| open.request == *id);
        let parks = matches!(status, Status::NeedsUser | Status::Limit) && is_asked && ended.waits_for_a_person();
        if parks {
            self.parked.push(ended);
        } else {
            self.checkpoints.retain(|_, checkpoint| checkpoint.request != *id);
            self.close(ended, status);
        }
        self.start_next();
    }

    /// What a request that ends leaves in the conversation.
    fn close(&mut self, mut ended: Active, status: Status) {
        // A tool use without its result would make the conversation invalid for every provider.
        // One that was passed over has results already.
        if let Some(batch) = ended.batch.take().filter(|batch| !batch.passed_over) {
            self.push(results(&batch, INTERRUPTED, None, Vec::new()));
        }
        // What a person said and no model has heard is heard with the next request.
        if !ended.untold.is_empty() {
            self.push(Message::user(ended.untold.join("\n\n")));
        }
        if status == Status::Cancelled {
            self.push(Message::user(INTERRUPT_USER));
        }
    }

    fn fold_model(&mut self, fact: &ModelFact) {
        match fact {
            ModelFact::Called { call, purpose, .. } => {
                self.calls += 1;
                let said = self.conversation.last().filter(|last| last.role == Role::Assistant);
                let words = said.map(|said| said.text()).unwrap_or_default();
                let Some(active) = &mut self.active else { return };
                active.phase = Phase::Calling { call: call.clone() };
                if active.assist.is_some() {
                    active.loaded = true;
                    return;
                }
                active.routing = purpose.as_deref() == Some(route::PURPOSE);
                if active.routing {
                    return;
                }
                active.loaded = true;
                active.prompting = purpose.as_deref() == Some(crate::pictures::PURPOSE);
                if active.prompting {
                    return;
                }
                if purpose.as_deref() == Some(structured::REPAIR) {
                    let stop = active.stop.clone();
                    active.repairing.get_or_insert(Repairing { words, stop });
                } else if active.compressing.is_none() {
                    active.fits = false;
                    if let Some(words) = active.unsent() {
                        active.steers.clear();
                        active.untold.clear();
                        self.push(words);
                    }
                }
            }
            ModelFact::Failed { call, error, retry_in_ms } => {
                let timer = TimerId::before_call(self.next_call());
                if let Some(active) = self.calling_mut(call) {
                    active.phase = Phase::BackingOff { timer, millis: retry_in_ms.unwrap_or(0) };
                    if retry_in_ms.is_none() && active.repairing.take().is_some() {
                        // Whoever could not repair it says nothing about the call that comes next.
                        active.repairs += 1;
                        active.phase = Phase::Replied;
                        return;
                    }
                    if error.kind != ProblemKind::Interrupted {
                        active.failures += 1;
                    }
                }
            }
        }
    }

    fn fold_reply(&mut self, fact: &ReplyFact) {
        let ReplyFact::Saved { call, usage, message, partial, stop_reason, .. } = fact else { return };
        self.usage += *usage;
        let stopping = matches!(self.active, Some(Active { phase: Phase::Stopping { .. }, .. }));
        if let Some(active) = &mut self.active {
            active.usage += *usage;
        }
        // What is said about tasks is no part of the conversation until it is an answer.
        if self.fold_task_reply(&message.text(), *partial, stopping) {
            return;
        }
        if let Some(active) = &mut self.active {
            if active.routing {
                // A look at the request is not part of the conversation.
                if !partial && !stopping {
                    active.phase = Phase::Replied;
                }
                return;
            }
            if active.prompting {
                // Neither are prompts of pictures.
                if !partial && !stopping {
                    active.prompting = false;
                    active.failures = 0;
                    active.phase = Phase::Replied;
                }
                return;
            }
            if active.repairing.is_some() {
                // Neither is a repaired answer: the damaged one is what the model said.
                if !partial {
                    active.repairing = None;
                    active.repairs += 1;
                    active.failures = 0;
                    if !stopping {
                        active.phase = Phase::Replied;
                    }
                }
                return;
            }
            if let Some(compressing) = &mut active.compressing {
                // A summary is not part of the conversation that it is made of.
                if !partial {
                    compressing.parts.push(message.text());
                    active.failures = 0;
                    if !stopping {
                        active.phase = Phase::Replied;
                    }
                }
                return;
            }
            if !partial {
                active.steps += u32::from(!active.assessing);
                active.failures = 0;
                active.repairs = 0;
                active.cuts = if stop_reason == &Some(StopReason::MaxTokens) { active.cuts + 1 } else { 0 };
                active.stop.clone_from(stop_reason);
                if !stopping {
                    active.phase = Phase::Replied;
                }
                let wishes = message.parts.iter().filter_map(|part| match part {
                    Part::ToolUse(wish) => Some(wish.clone()),
                    _ => None,
                });
                active.batch = Batch::of(call, wishes);
            }
        }
        // A reply that will be asked for again is kept in the log for the person, not in the
        // conversation: the model would answer its own torso.
        if !partial || stopping {
            let message = if *partial { words_only(message) } else { message.clone() };
            if !message.parts.is_empty() {
                self.push(message);
            }
        }
        if !partial && !usage.estimated && usage.input_tokens > 0 {
            self.measured = Some((self.conversation.len(), usage.input_tokens + usage.output_tokens));
        }
    }

    fn fold_checkpoint(&mut self, request: Option<&RequestId>, fact: &CheckpointFact) {
        match fact {
            CheckpointFact::Opened { checkpoint, kind, choices, body, .. } => {
                let Some(request) = request else { return };
                let choices = choices.iter().map(|choice| choice.id.clone()).collect();
                let about = About::read(body);
                let goes_on = matches!(about, About::Overtime { .. });
                let asks_about = about.call().cloned();
                let rule = body.get("rule").and_then(|rule| serde_json::from_value(rule.clone()).ok());
                let fingerprint = body.get("fingerprint").and_then(|hash| hash.as_str()).map(str::to_owned);
                let opened = Checkpoint { request: request.clone(), kind: *kind, about, rule, fingerprint, choices };
                self.checkpoints.insert(checkpoint.clone(), opened);
                if let (Some(call), Some(result)) = (&asks_about, body.get("result")) {
                    let held = serde_json::from_value(result.clone()).ok();
                    self.item_mut(call).into_iter().for_each(|item| item.held.clone_from(&held));
                }
                if let About::Clarify { questions } = &self.checkpoints[checkpoint].about
                    && let Some(question) = questions.first().map(|question| question.text.clone())
                {
                    self.fold_task_question(request, &question);
                }
                let Some(active) = self.active_mut(request) else { return };
                active.checkpoints += 1;
                active.loaded |= matches!(kind, CheckpointKind::Confirm | CheckpointKind::Handoff);
                match asks_about {
                    Some(_) if goes_on => {}
                    Some(call) => self.set_progress(&call, Progress::Asking { checkpoint: checkpoint.clone() }),
                    None => active.phase = Phase::Waiting { checkpoint: checkpoint.clone() },
                }
            }
            CheckpointFact::Resolved { checkpoint, choice, text, by } => {
                let Some(answered) = self.checkpoints.remove(checkpoint) else { return };
                if answered.about == About::Plan && choice == plan::APPROVE {
                    self.fold_approval(&answered.request, by);
                }
                self.fold_answer(&answered, choice, text.as_deref());
            }
        }
    }

    fn fold_answer(&mut self, answered: &Checkpoint, choice: &str, text: Option<&str>) {
        if answered.about == About::Budget && choice == budget::RAISE {
            self.budget = text.and_then(|text| text.parse().ok()).or(self.budget);
        }
        // Whoever edits a command has not allowed the one that was asked about.
        let edits = answered.fingerprint.is_some() && text.is_some();
        if let (answers::ALLOW, Some(rule), false) = (choice, &answered.rule, edits) {
            *self.allowed.entry(rule.to_string()).or_default() += 1;
        }
        let call = CallId::nth(self.calls);
        self.fold_agreement(answered, choice, text);
        let Some(active) = self.unfinished_mut(&answered.request) else { return };
        match &answered.about {
            About::Budget
            | About::Clarify { .. }
            | About::Begin
            | About::Understanding
            | About::Plan
            | About::StepBefore { .. }
            | About::StepAfter { .. }
            | About::StepFailed { .. }
            | About::Satisfaction => {}
            About::Recovery => {
                active.steers.extend((choice == answers::RETRY).then(|| structured::AGAIN.to_owned()));
                active.hear(text);
                if choice == answers::APPLY {
                    let wishes = structured::changes(&active.recovered);
                    active.batch = Batch::of(&call, wishes.into_iter()).map(Batch::in_words).map(Batch::recovered);
                }
            }
            About::Series => {
                active.hear(text);
                if let Some(series) = &mut active.series {
                    series.agreed |= choice == answers::RUN;
                    series.each |= choice == answers::EACH;
                    series.state = match choice {
                        answers::TELL => SeriesState::Judging,
                        answers::SKIP => series.state,
                        _ => SeriesState::Running,
                    };
                }
            }
            About::Trust => active.trust = Some(choice == answers::TRUST),
            About::Outside { call } => {
                let Some(item) = active.batch.as_mut().and_then(|batch| batch.item_mut(call)) else { return };
                item.progress = Progress::Started;
                item.outside = choice == answers::OUTSIDE;
                if !item.outside {
                    active.left_inside.extend(outside::command_of(item).map(str::to_owned));
                }
                item.given = Some(Given {
                    choice: choice.to_owned(),
                    text: None,
                    fingerprint: answered.fingerprint.clone(),
                    of_outcome: false,
                });
            }
            About::Tool { call } | About::Question { call } | About::Outcome { call } => {
                if let Some(item) = active.batch.as_mut().and_then(|batch| batch.item_mut(call)) {
                    item.progress = Progress::Started;
                    let edited = text.filter(|_| choice == answers::ALLOW && answered.fingerprint.is_some());
                    // What a person wrote in its place is judged anew, as if nothing had been answered yet.
                    if edited.is_some_and(|edited| item.edit(edited)) {
                        return;
                    }
                    item.given = Some(Given {
                        choice: choice.to_owned(),
                        text: text.map(str::to_owned),
                        fingerprint: answered.fingerprint.clone(),
                        of_outcome: matches!(answered.about, About::Outcome { .. }),
                    });
                }
            }
            About::Overtime { call } => {
                if let Some(item) = active.batch.as_mut().and_then(|batch| batch.item_mut(call)) {
                    item.stopping |= choice == answers::END;
                }
            }
            About::Handoff => active.hear(text),
            About::Tell | About::Steps | About::Repeat | About::Pause => {
                active.hear(text);
                match answered.about {
                    About::Steps => {
                        if text.is_none() {
                            active.steers.push("Go on.".into());
                        }
                        active.more_steps = active.more_steps.saturating_add(active.request.settings.max_steps);
                        active.assessing = false;
                    }
                    About::Repeat => {
                        active.repeat = None;
                        active.diverted = choice == answers::TELL;
                    }
                    About::Pause => active.pausing = false,
                    _ => {}
                }
            }
        }
    }

    fn fold_rule(&mut self, fact: &RuleFact) {
        match fact {
            RuleFact::Known { rules } => self.rules.clone_from(rules),
            RuleFact::Added { rule } if !self.rules.contains(rule) => self.rules.push(rule.clone()),
            RuleFact::Added { .. } => {}
            RuleFact::Removed { rule } => self.rules.retain(|known| known != rule),
        }
    }

    fn fold_tool(&mut self, fact: &ToolFact) {
        match fact {
            ToolFact::Started { call, .. } => {
                if let Some(active) = &mut self.active {
                    active.tools_used += 1;
                    active.hollow = 0;
                    if active.phase == Phase::Replied {
                        active.phase = Phase::Tools;
                    }
                }
                self.set_progress(call, Progress::Started);
            }
            ToolFact::Stopping { call } => {
                if let Some(item) = self.item_mut(call) {
                    item.stopping = true;
                }
            }
            ToolFact::Finished { call, status, preview, images, files, .. } => {
                for file in files {
                    self.marks.insert(file.path.clone(), file.hash.clone());
                }
                let done = Done { status: *status, content: preview.clone(), images: images.clone() };
                self.set_progress(call, Progress::Done(done));
            }
        }
    }

    fn fold_proposal(&mut self, request: Option<&RequestId>, fact: &ProposalFact) {
        match fact {
            ProposalFact::Opened { call: Some(call), operations, .. } => {
                let writes: Option<Vec<FileWrite>> =
                    operations.iter().map(|operation| serde_json::from_value(operation.clone()).ok()).collect();
                let hunks = |operation: &Value| operation.get("hunks").and_then(Value::as_u64).unwrap_or(0);
                let left = |operation: &Value| operation.get("left").and_then(Value::as_str).map(str::to_owned);
                if let Some(item) = self.item_mut(call) {
                    item.writes = writes;
                    item.hunks = operations.iter().map(|one| u32::try_from(hunks(one)).unwrap_or(0)).collect();
                    if let Some(chosen) = &mut item.chosen {
                        chosen.left_out = Some(operations.iter().filter_map(left).collect());
                    }
                }
            }
            ProposalFact::Chosen { call, parts, left, .. } => {
                let Some(active) = request.and_then(|request| self.unfinished_mut(request)) else { return };
                if let Some(item) = active.batch.as_mut().and_then(|batch| batch.item_mut(call)) {
                    item.chosen = Some(Chosen { parts: parts.clone(), left: left.clone(), left_out: None });
                }
            }
            ProposalFact::Resolved { proposal, verdict } if verdict == answers::APPROVED => {
                let Some(active) = &self.active else { return };
                let of = |call: &CallId| trimtab_vocab::ProposalId::of(&active.request.id, call) == *proposal;
                let item = active.batch.iter().flat_map(|batch| &batch.items).find(|item| of(&item.call));
                // A command acts from its own `command.started` on.
                if let Some(call) = item.filter(|item| item.writes.is_some()).map(|item| item.call.clone()) {
                    self.set_progress(&call, Progress::Acting);
                }
            }
            ProposalFact::Resolved { proposal, verdict } => {
                self.close_task_proposal(proposal, verdict == assistant::APPLIED);
            }
            ProposalFact::Opened { .. } => {}
        }
    }

    fn fold_change(&mut self, request: Option<&RequestId>, fact: &ChangeFact) {
        match fact {
            ChangeFact::Applied(change) if self.is_undoing(&change.change_set) => self.fold_undo(change),
            ChangeFact::Applied(change) => {
                let mut items = self.active.iter().flat_map(|active| &active.batch).flat_map(|batch| &batch.items);
                let mine = |item: &&super::Item| {
                    request.is_some_and(|request| ChangeSetId::of(request, &item.call) == change.change_set)
                };
                let writes = match &change.by {
                    Some(by) => Some(by.writes.clone()),
                    None => items.find(mine).and_then(|item| item.writes.clone()),
                };
                let Some(writes) = writes else { return };
                // What was taken back and is now built over cannot be brought forward any more.
                self.history.truncate(self.in_force);
                self.history.push(ChangeSet { id: change.change_set.clone(), writes, expired: false });
                self.in_force = self.history.len();
                self.acted();
            }
            ChangeFact::Moving { position, on_conflict, undo, merged } => {
                self.undos += u64::from(undo.is_some() && merged.is_none());
                let (to, on_conflict) = (in_force(*position), *on_conflict);
                self.moving = Some(Move { to, on_conflict, undo: undo.clone(), merged: merged.clone() });
            }
            ChangeFact::Inherited(inherited) => {
                let Inherited { change, writes, expired, .. } = &**inherited;
                // The names of sets that take back parts go on from where they were.
                self.undos = self.undos.max(change.change_set.undo_number().unwrap_or(0));
                let (id, writes, expired) = (change.change_set.clone(), writes.clone(), *expired);
                self.history.push(ChangeSet { id, writes, expired });
                self.in_force = in_force(change.position).min(self.history.len());
            }
            ChangeFact::Expired { change_sets, .. } => {
                let sets = self.history.iter_mut().filter(|set| change_sets.contains(&set.id));
                sets.for_each(|set| set.expired = true);
            }
            ChangeFact::Refused { .. } => {
                self.moving = None;
                self.start_next();
            }
            ChangeFact::Reverted(change) | ChangeFact::Reapplied(change) => {
                self.rework(&change.change_set);
                self.in_force = in_force(change.position).min(self.history.len());
                let back = matches!(fact, ChangeFact::Reverted(_));
                let files: Vec<&str> = change.files.iter().map(|file| file.path.as_str()).collect();
                let what = if back { "took back" } else { "brought forward again" };
                // The model must not believe that its change still stands; of one without files it was never told.
                if !files.is_empty() {
                    self.pass_over_the_parked();
                    self.push(Message::user(format!("[The user {what} the change of {}.]", files.join(", "))));
                }
                if self.moving.as_ref().is_some_and(|moving| moving.to == self.in_force) {
                    self.moving = None;
                    self.start_next();
                }
            }
        }
    }

    /// A set was moved over edits of a person. From now on it stands between what was found and what was
    /// left, so that the way back leads to exactly what was there.
    fn rework(&mut self, id: &ChangeSetId) {
        let Some(merged) = self.moving.as_ref().and_then(|moving| moving.merged.as_ref()) else { return };
        let Some(set) = self.history.iter_mut().find(|set| set.id == *id) else { return };
        let of_set = merged.iter().filter(|merged| merged.change_set == *id);
        let found: HashMap<&str, &FileWrite> =
            of_set.map(|MergedWrite { write, .. }| (write.path.as_str(), write)).collect();
        for known in &mut set.writes {
            if let Some(write) = found.get(known.path.as_str()) {
                known.clone_from(write);
            }
        }
    }

    fn is_undoing(&self, id: &ChangeSetId) -> bool {
        let undo = self.moving.as_ref().and_then(|moving| moving.undo.as_ref());
        undo.is_some_and(|undo| undo.change_set == *id)
    }

    /// A part of a set was taken back, by a set of its own.
    fn fold_undo(&mut self, change: &Change) {
        let merged = self.moving.take().and_then(|moving| moving.merged).unwrap_or_default();
        let writes = merged.into_iter().map(|merged| merged.write).collect();
        self.history.truncate(self.in_force);
        self.history.push(ChangeSet { id: change.change_set.clone(), writes, expired: false });
        self.in_force = self.history.len();
        let files: Vec<&str> = change.files.iter().map(|file| file.path.as_str()).collect();
        self.pass_over_the_parked();
        self.push(Message::user(format!("[The user took back a part of an earlier change, in {}.]", files.join(", "))));
        self.start_next();
    }

    /// The tools of a reply have all ended: their results go back to the model, as one message.
    fn close_batch(&mut self, fact: &ReflectionFact) {
        let Some(active) = &mut self.active else { return };
        let Some(batch) = active.take_batch() else { return };
        for entry in &fact.entries {
            active.ledger.push_back(reflection::line(entry));
        }
        let surplus = active.ledger.len().saturating_sub(LEDGER);
        active.ledger.drain(..surplus);
        let interrupted = batch.items.iter().filter_map(super::Item::done).any(|done| is_interrupt(&done.content));
        let note = (!interrupted).then(|| reflection::note(&fact.entries));
        let steers = std::mem::take(&mut active.steers);
        if batch.of_pictures {
            return;
        }
        let message = results(&batch, INTERRUPTED, note, steers);
        self.push(if batch.passed_over { in_words(message) } else { message });
    }

    /// Several commands of an answer moved on: one begins, or its end is told to the model, or the rest is left.
    fn fold_commands(&mut self, request: Option<&RequestId>, fact: &CommandsFact) {
        let Some(request) = request else { return };
        let CommandsFact { series, .. } = fact;
        let is_over = matches!(series.state, SeriesState::Done | SeriesState::Left | SeriesState::Unknown);
        let Some(active) = self.unfinished_mut(request) else { return };
        active.series = (!is_over).then(|| series.clone());
        let Some(active) = self.active_mut(request) else { return };
        if let Some(current) = &series.current {
            active.batch = Some(Batch::of_series(&current.call, series::wish(&current.command)));
            active.phase = Phase::Replied;
            return;
        }
        let note = match (series.state, active.batch.as_ref().is_some_and(|batch| batch.of_series)) {
            (SeriesState::Left, _) => series::note_of_rest(series),
            (SeriesState::Judging | SeriesState::Done, true) => {
                let batch = active.take_batch();
                let done = batch.as_ref().and_then(|batch| batch.items.first()?.done());
                done.map(|done| series::report(series, done))
            }
            _ => None,
        };
        if let Some(text) = note {
            self.push(Message::user(text));
        }
    }

    fn fold_context(&mut self, fact: &ContextFact) {
        match fact {
            ContextFact::Loaded { files, instructions, .. } => {
                if instructions.is_some() {
                    self.instructions.clone_from(instructions);
                }
                for file in files {
                    if let Some(hash) = &file.hash {
                        self.marks.insert(file.path.clone(), hash.clone());
                    }
                }
                if let Some(active) = &mut self.active {
                    active.steers.extend(files.iter().map(context::loaded));
                    active.loaded = true;
                }
            }
            ContextFact::Full { .. } => {
                if let Some(active) = &mut self.active {
                    active.told_full = true;
                }
            }
            ContextFact::Compressing { messages, before, source } => {
                if let Some(active) = &mut self.active {
                    active.compressions += 1;
                    active.compressing = Some(Compressing {
                        source: source.clone(),
                        messages: *messages as usize,
                        before: *before,
                        parts: Vec::new(),
                    });
                }
            }
            ContextFact::Compressed { source, summary, .. } => {
                let Some(active) = &mut self.active else { return };
                let Some(Compressing { messages, .. }) = active.compressing.take() else { return };
                active.fits = true;
                // Whoever could not sum it up says nothing about the call that comes next.
                active.failures = 0;
                active.phase = Phase::Replied;
                let from = self.summaries;
                let to = (from + messages).min(self.conversation.len());
                let summary = Message::user(summary.clone());
                let weight = weight_of(&summary);
                let originals = self.conversation.splice(from..to, [Arc::new(summary)]).collect();
                self.weights.splice(from..to, [weight]);
                self.move_beginnings(from, to - from, 1);
                self.summaries += 1;
                self.squeezed = Some(Squeezed { source: source.clone(), originals });
                self.measured = None;
            }
            ContextFact::Edited { summary, .. } => {
                if let Some(at) = self.summaries.checked_sub(1) {
                    let summary = Message::user(summary.clone());
                    self.weights[at] = weight_of(&summary);
                    self.conversation[at] = Arc::new(summary);
                    self.measured = None;
                }
            }
            ContextFact::Restored { .. } => {
                if let (Some(at), Some(squeezed)) = (self.summaries.checked_sub(1), self.squeezed.take()) {
                    let weights: Vec<u64> = squeezed.originals.iter().map(|message| weight_of(message)).collect();
                    let count = squeezed.originals.len();
                    self.conversation.splice(at..=at, squeezed.originals);
                    self.weights.splice(at..=at, weights);
                    self.move_beginnings(at, 1, count);
                    self.summaries = at;
                    self.measured = None;
                }
            }
        }
    }

    fn start_next(&mut self) {
        if self.active.is_some() || self.moving.is_some() {
            return;
        }
        let Some(mut active) = self.waiting.pop_front() else { return };
        // What goes on after others have spoken says its words again: a model answers the last ones.
        if !active.begun || active.overtaken {
            self.pass_over_the_parked();
            active.flow.from = self.conversation.len();
            self.push(active.request.message());
            // In the middle of a plan, that is not what is to be done now.
            let step = active.flow.running().and_then(|step| execute::told(&active.flow, step));
            if let Some(step) = step {
                self.push(Message::user(step));
            }
        }
        active.begun = true;
        active.overtaken = false;
        self.active = Some(active);
        self.begin_assist();
    }

    /// Before anybody else speaks, tool uses that still wait for a person get a result that says so. So do
    /// those of a request that was answered and waits until the history has moved.
    fn pass_over_the_parked(&mut self) {
        let mut told = Vec::new();
        let answered = self.waiting.iter_mut().filter(|waiting| waiting.begun);
        for parked in self.parked.iter_mut().chain(answered) {
            parked.overtaken = true;
            if let Some(batch) = parked.batch.as_mut().filter(|batch| !batch.passed_over) {
                told.push(results(batch, PASSED_OVER, None, Vec::new()));
                batch.passed_over = true;
            }
        }
        told.into_iter().for_each(|message| self.push(message));
    }

    pub(super) fn push(&mut self, message: Message) {
        self.weights.push(weight_of(&message));
        self.conversation.push(Arc::new(message));
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

    fn item_mut(&mut self, call: &CallId) -> Option<&mut super::Item> {
        self.active.as_mut()?.batch.as_mut()?.item_mut(call)
    }

    fn active_mut(&mut self, id: &RequestId) -> Option<&mut Active> {
        self.active.as_mut().filter(|active| active.request.id == *id)
    }

    pub(super) fn unfinished_mut(&mut self, id: &RequestId) -> Option<&mut Active> {
        let all = self.active.iter_mut().chain(&mut self.waiting).chain(&mut self.parked);
        all.into_iter().find(|active| active.request.id == *id)
    }

    fn calling_mut(&mut self, wanted: &CallId) -> Option<&mut Active> {
        self.active.as_mut().filter(|active| matches!(&active.phase, Phase::Calling { call } if call == wanted))
    }
}

impl Active {
    /// Its tools have all ended: what they came to is remembered.
    fn take_batch(&mut self) -> Option<Batch> {
        let batch = self.batch.take()?;
        for done in batch.items.iter().filter_map(super::Item::done) {
            if matches!(done.status, ToolStatus::Ok | ToolStatus::Partial) && self.findings.len() < FINDINGS {
                self.findings.push(reflection::finding(&done.content));
            }
        }
        let (signature, outcome) = (batch.signature(), batch.outcome());
        let times = match self.repeat.take() {
            Some(repeat) if repeat.signature == signature && repeat.outcome == outcome => repeat.times + 1,
            _ => 1,
        };
        self.repeat = Some(Repeat { signature, outcome, times });
        self.diverted = false;
        self.phase = Phase::Replied;
        Some(batch)
    }
}

/// How many sets are in force when this one is current.
fn in_force(position: i32) -> usize {
    usize::try_from(position.saturating_add(1)).unwrap_or(0)
}

/// What the model is told of a fork.
const FORKED: &str = "[The user forked this conversation here: it goes on without what came after this point. Files of \
the folder may have been changed since by the session that it was forked from; read them before you rely on them.]";
/// What stands for a result that never came.
const INTERRUPTED: fn(&str) -> ToolResult = |id| ToolResult::interrupt(id);
/// What stands for a result that is still to come.
const PASSED_OVER: fn(&str) -> ToolResult =
    |id| ToolResult::error(id, "[This tool use waits for the user's answer. It was not run.]");

fn is_interrupt(content: &str) -> bool {
    content.starts_with(INTERRUPT_TOOL)
}

/// One user message with a result for every tool use, in the model's order, and what goes with them.
fn results(batch: &Batch, missing: fn(&str) -> ToolResult, note: Option<String>, words: Vec<String>) -> Message {
    let mut parts = Vec::with_capacity(batch.items.len() + 1);
    let mut pictures = Vec::new();
    for item in &batch.items {
        let id = item.wish.id.as_str();
        parts.push(Part::ToolResult(match item.done() {
            None => missing(id),
            Some(Done { status: ToolStatus::Ok | ToolStatus::Partial, content, images }) => {
                pictures.extend(
                    images
                        .iter()
                        .map(|image| Part::Image { image: image.key.clone(), media_type: image.media_type.clone() }),
                );
                ToolResult::success(id, content)
            }
            Some(Done { content, .. }) => ToolResult::error(id, content),
        }));
    }
    parts.append(&mut pictures);
    parts.extend(note.into_iter().chain(words).map(|text| Part::Text { text }));
    Message { role: Role::User, parts }
}

/// The results of tools that have no place of their own in the conversation.
fn in_words(message: Message) -> Message {
    let parts = message.parts.into_iter().map(|part| match part {
        Part::ToolResult(result) => Part::Text {
            text: format!("[Result of the tool use {} that waited]\n{}", result.tool_use_id, result.content),
        },
        other => other,
    });
    Message { role: message.role, parts: parts.collect() }
}

/// A reply that was stopped keeps its words. Thinking without its signature and half-written tool
/// calls would make the whole conversation invalid for every provider.
fn words_only(message: &Message) -> Message {
    let parts = message
        .parts
        .iter()
        .filter(|part| matches!(part, Part::Text { text } if !text.trim().is_empty()))
        .cloned()
        .collect();
    Message { role: message.role, parts }
}
