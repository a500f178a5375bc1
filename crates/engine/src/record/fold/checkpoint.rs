//! Folds questions and their answers.

use trimtab_vocab::checkpoint::{Ask, SandboxAsk};
use trimtab_vocab::event::{CheckpointFact, CheckpointKind, RuleFact};
use trimtab_vocab::{Autonomy, CallId, RequestId, Selection, SeriesState};

use super::carried;
use crate::record::names::choice;
use crate::record::{
    Batch, BatchItem, Checkpoint, Phase, Progress, RunningRequest, Session, UserDecision, legacy, series,
};

/// An answer as it is recorded.
#[derive(Clone, Copy)]
pub(in crate::record) struct RecordedAnswer<'a> {
    pub(in crate::record) choice: &'a str,
    pub(in crate::record) text: Option<&'a str>,
    /// What the model is sent because of it.
    pub(in crate::record) message: Option<&'a str>,
    pub(in crate::record) selection: Option<&'a Selection>,
    by_person: bool,
}

impl Session {
    pub(super) fn fold_checkpoint(&mut self, request: Option<&RequestId>, fact: &CheckpointFact) {
        match fact {
            CheckpointFact::Opened { checkpoint, kind, title, choices, ask, worker } => {
                let Some(request) = request else { return };
                let goes_on = matches!(ask, Ask::Overtime { .. } | Ask::Elicitation(_) | Ask::SubtaskFailed { .. });
                let asks_about = ask.call().cloned();
                let opened = Checkpoint {
                    request: request.clone(),
                    kind: *kind,
                    ask: ask.clone(),
                    title: title.clone(),
                    choices: choices.clone(),
                    worker: worker.as_deref().cloned(),
                };
                self.checkpoints.insert(checkpoint.clone(), opened);
                // A worker's question stops only the worker.
                if worker.is_some() {
                    self.unfinished_mut(request).into_iter().for_each(|active| active.checkpoints += 1);
                    return;
                }
                match ask {
                    // A model may have failed to merge before; the call continues from the answer anyway.
                    Ask::MergeConflict { .. } => {
                        if let Some(active) = &mut self.active {
                            (active.phase, active.calls.failures) = (Phase::Tools, 0);
                        }
                    }
                    // What was prepared and answered before is over.
                    Ask::MergeBlocked { call, .. } => {
                        self.item_mut(call).into_iter().for_each(BatchItem::forget_preparation);
                    }
                    Ask::Outside(ask) => {
                        let held = ask.result.as_ref();
                        self.item_mut(&ask.call).into_iter().for_each(|item| item.held = held.cloned());
                    }
                    Ask::Permission(ask) if ask.blocked.is_some() => {
                        self.item_mut(&ask.call).into_iter().for_each(|item| item.blocked.clone_from(&ask.blocked));
                    }
                    Ask::Clarification { questions, .. } => {
                        questions.first().into_iter().for_each(|first| self.fold_task_question(request, &first.text));
                    }
                    _ => {}
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
            CheckpointFact::Resolved { checkpoint, choice, text, by, message, selection, .. } => {
                let Some(answered) = self.checkpoints.remove(checkpoint) else { return };
                if answered.worker.is_some() {
                    return;
                }
                if matches!(answered.ask, Ask::Plan { .. })
                    && matches!(choice.as_str(), choice::APPROVE | choice::SUBTASKS)
                {
                    self.fold_approval(&answered.request, by, choice == choice::SUBTASKS);
                }
                let given = RecordedAnswer {
                    choice,
                    text: text.as_deref(),
                    message: message.as_deref(),
                    selection: selection.as_ref(),
                    by_person: by == CheckpointFact::PERSON,
                };
                self.fold_answer(&answered, given);
            }
        }
    }

    pub(super) fn fold_answer(&mut self, answered: &Checkpoint, given: RecordedAnswer<'_>) {
        let RecordedAnswer { choice, text, message, .. } = given;
        if answered.ask.is_budget() && choice == choice::RAISE {
            self.spending.budget = text.and_then(|text| text.parse().ok()).or(self.spending.budget);
        }
        // An edited command was not allowed as asked.
        let edits = answered.ask.fingerprint().is_some() && text.is_some();
        if let (choice::ALLOW, Some(rule), false) = (choice, answered.ask.rule(), edits) {
            *self.permissions.allowed.entry(rule.to_string()).or_default() += 1;
        }
        let call = CallId::nth(self.spending.calls);
        self.fold_agreement(answered, given);
        if answered.ask.is_about_subtasks() {
            return self.fold_subtask_answer(&answered.request, &answered.ask, given);
        }
        let autonomy = self.permissions.autonomy;
        let Some(active) = self.unfinished_mut(&answered.request) else { return };
        match &answered.ask {
            Ask::Budget { .. }
            | Ask::ModelGone { .. }
            | Ask::Clarification { .. }
            | Ask::Begin
            | Ask::Understanding { .. }
            | Ask::Plan { .. }
            | Ask::StepBefore(_)
            | Ask::StepAfter(_)
            | Ask::StepFailed(_)
            | Ask::Satisfaction { .. }
            | Ask::Breakdown { .. }
            | Ask::SubtaskPlan { .. }
            | Ask::SubtaskFailed { .. }
            | Ask::MergeConflict { .. }
            | Ask::MergeBlocked { .. }
            | Ask::Elicitation(_)
            | Ask::Other(_) => {}
            Ask::Recovery { .. } => {
                let again = || (choice == choice::RETRY).then(|| legacy::AGAIN.to_owned());
                active.steering.steers.extend(carried(message, again));
                active.hear(text);
                if choice == choice::APPLY {
                    let tool_calls = series::changes(&active.calls.recovered);
                    active.batch = Batch::new(&call, tool_calls.into_iter(), crate::tools::registry())
                        .map(Batch::in_words)
                        .map(Batch::recovered);
                }
            }
            Ask::Commands(_) => answer_series(active, given),
            Ask::Trust { .. } => {
                active.trust.answer = Some(choice == choice::TRUST);
                active.trust.is_uninstructed = choice == choice::TRUST && active.batch.is_some();
            }
            Ask::TrustBroad { .. } if choice == choice::TRUST => active.trust.warned = true,
            Ask::TrustBroad { .. } => active.trust.answer = Some(false),
            Ask::Instructions { rule, .. } if choice == choice::SKIP => {
                active.trust.declined.extend(rule.as_ref().map(|rule| rule.pattern.clone()));
            }
            Ask::Instructions { .. } => {}
            Ask::Outside(ask) => decide_outside(active, ask, answered, given),
            Ask::Permission(_) | Ask::Question { .. } | Ask::UnknownOutcome { .. } => decide(active, answered, given),
            Ask::Overtime { call, .. } => {
                if let Some(item) = active.batch.as_mut().and_then(|batch| batch.item_mut(call)) {
                    item.stopping |= choice == choice::END;
                }
            }
            Ask::Handoff { .. } => active.hear(text),
            Ask::Tell | Ask::StepLimit | Ask::Repeat | Ask::Pause => {
                active.hear(text);
                match answered.ask {
                    Ask::StepLimit => {
                        let go_on = || text.is_none().then(|| legacy::GO_ON.to_owned());
                        active.steering.steers.extend(carried(message, go_on));
                        give_more_steps(active, autonomy);
                        active.calls.assessing = false;
                    }
                    Ask::Repeat => {
                        active.tools.rounds.restart();
                        active.steering.diverted = choice == choice::TELL;
                    }
                    Ask::Pause => active.steering.pausing = false,
                    _ => {}
                }
            }
        }
    }

    pub(super) fn fold_rule(&mut self, fact: &RuleFact) {
        match fact {
            RuleFact::Known { rules } => self.permissions.rules.clone_from(rules),
            RuleFact::Added { rule } if !self.permissions.rules.contains(rule) => {
                self.permissions.rules.push(rule.clone())
            }
            RuleFact::Added { .. } => {}
            RuleFact::Removed { rule } => self.permissions.rules.retain(|known| known != rule),
        }
    }
}

/// Lets a request make as many model calls more as its usual limit.
fn give_more_steps(active: &mut RunningRequest, autonomy: Option<Autonomy>) {
    let settings = &active.request.settings;
    let (base, more) = (settings.steps_at(settings.autonomy_under(autonomy)), settings.models.max_steps);
    active.calls.more_steps = active.calls.more_steps.saturating_add(more);
    // A level that allowed more was lowered since: one answer gives as many calls as it says.
    if base.saturating_add(active.calls.more_steps) < active.calls.steps {
        active.calls.more_steps = (active.calls.steps - base).saturating_add(more);
    }
}

/// Which commands of a series run.
fn answer_series(active: &mut RunningRequest, given: RecordedAnswer<'_>) {
    let RecordedAnswer { choice, text, message, .. } = given;
    let numbers = series::numbers(choice, text);
    active.hear(text.filter(|_| numbers.is_none()));
    if let (Some(numbers), Some(series)) = (numbers, &mut active.series) {
        let (kept, left) = std::mem::take(series).only(&numbers);
        *series = kept;
        active.steering.steers.extend(carried(message, || legacy::left_out(&left)));
    }
    if let Some(series) = &mut active.series {
        series.agreed |= choice == choice::RUN;
        series.each |= choice == choice::EACH;
        series.state = match choice {
            choice::TELL => SeriesState::Judging,
            choice::SKIP => series.state,
            _ => SeriesState::Running,
        };
    }
}

/// Whether a command that the sandbox stopped runs again with fewer fences.
fn decide_outside(active: &mut RunningRequest, ask: &SandboxAsk, answered: &Checkpoint, given: RecordedAnswer<'_>) {
    let Some(item) = active.batch.as_mut().and_then(|batch| batch.item_mut(&ask.call)) else { return };
    item.progress = Progress::Started;
    item.outside = given.choice == choice::OUTSIDE;
    item.again.widened = given.choice == choice::WIDEN;
    item.again.reaches = matches!(given.choice, choice::ALLOW | choice::ALWAYS).then(|| ask.granted.clone());
    if !item.outside && !item.again.widened && item.again.reaches.is_none() {
        active.tools.left_inside.extend(item.command().map(str::to_owned));
    }
    item.given = Some(UserDecision { text: None, ..decision(answered, given) });
}

/// Whether one tool call runs, or what a tool is answered.
fn decide(active: &mut RunningRequest, answered: &Checkpoint, given: RecordedAnswer<'_>) {
    let call = answered.ask.call();
    let Some(item) = call.and_then(|call| active.batch.as_mut()?.item_mut(call)) else { return };
    item.progress = Progress::Started;
    let edited = given.text.filter(|_| given.choice == choice::ALLOW && answered.ask.fingerprint().is_some());
    // An edited command is checked again, as if nothing had been answered yet.
    if !edited.is_some_and(|edited| item.edit(edited)) {
        item.given = Some(decision(answered, given));
    }
}

fn decision(answered: &Checkpoint, given: RecordedAnswer<'_>) -> UserDecision {
    UserDecision {
        choice: given.choice.to_owned(),
        text: given.text.map(str::to_owned),
        fingerprint: answered.ask.fingerprint().map(str::to_owned),
        of_outcome: matches!(answered.ask, Ask::UnknownOutcome { .. }),
        by_person: given.by_person,
    }
}
