//! Questions open, and what people answer takes effect.

use trimtab_vocab::event::{CheckpointFact, CheckpointKind, RuleFact};
use trimtab_vocab::{CallId, RequestId, Selection, SeriesState};

use super::carried;
use crate::record::names::choice;
use crate::record::{Batch, Checkpoint, CheckpointSubject, Phase, Progress, Session, UserDecision, legacy, series};

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
            CheckpointFact::Opened { checkpoint, kind, choices, body, .. } => {
                let Some(request) = request else { return };
                let choices = choices.iter().map(|choice| choice.id.clone()).collect();
                let about = CheckpointSubject::read(body);
                let goes_on = matches!(about, CheckpointSubject::Overtime { .. });
                let asks_about = about.call().cloned();
                let rule = body.get("rule").and_then(|rule| serde_json::from_value(rule.clone()).ok());
                let fingerprint = body.get("fingerprint").and_then(|hash| hash.as_str()).map(str::to_owned);
                let opened = Checkpoint { request: request.clone(), kind: *kind, about, rule, fingerprint, choices };
                self.checkpoints.insert(checkpoint.clone(), opened);
                if let (Some(call), Some(result)) = (&asks_about, body.get("result")) {
                    let held = serde_json::from_value(result.clone()).ok();
                    self.item_mut(call).into_iter().for_each(|item| item.held.clone_from(&held));
                }
                let blocked = body.get("blocked").and_then(|reason| reason.as_str()).map(str::to_owned);
                if let (Some(call), Some(reason)) = (&asks_about, blocked) {
                    self.item_mut(call).into_iter().for_each(|item| item.blocked = Some(reason.clone()));
                }
                if let CheckpointSubject::Clarify { questions } = &self.checkpoints[checkpoint].about
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
            CheckpointFact::Resolved { checkpoint, choice, text, by, message, selection, .. } => {
                let Some(answered) = self.checkpoints.remove(checkpoint) else { return };
                if answered.about == CheckpointSubject::Plan && choice == choice::APPROVE {
                    self.fold_approval(&answered.request, by);
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
        let RecordedAnswer { choice, text, message, by_person, .. } = given;
        if answered.about == CheckpointSubject::Budget && choice == choice::RAISE {
            self.budget = text.and_then(|text| text.parse().ok()).or(self.budget);
        }
        // Whoever edits a command has not allowed the one that was asked about.
        let edits = answered.fingerprint.is_some() && text.is_some();
        if let (choice::ALLOW, Some(rule), false) = (choice, &answered.rule, edits) {
            *self.allowed.entry(rule.to_string()).or_default() += 1;
        }
        let call = CallId::nth(self.calls);
        self.fold_agreement(answered, given);
        let Some(active) = self.unfinished_mut(&answered.request) else { return };
        match &answered.about {
            CheckpointSubject::Budget
            | CheckpointSubject::Clarify { .. }
            | CheckpointSubject::Begin
            | CheckpointSubject::Understanding
            | CheckpointSubject::Plan
            | CheckpointSubject::StepBefore { .. }
            | CheckpointSubject::StepAfter { .. }
            | CheckpointSubject::StepFailed { .. }
            | CheckpointSubject::Satisfaction => {}
            CheckpointSubject::Recovery => {
                let again = || (choice == choice::RETRY).then(|| legacy::AGAIN.to_owned());
                active.steers.extend(carried(message, again));
                active.hear(text);
                if choice == choice::APPLY {
                    let wishes = series::changes(&active.recovered);
                    active.batch = Batch::new(&call, wishes.into_iter()).map(Batch::in_words).map(Batch::recovered);
                }
            }
            CheckpointSubject::Series => {
                let numbers = series::numbers(choice, text);
                active.hear(text.filter(|_| numbers.is_none()));
                if let (Some(numbers), Some(series)) = (numbers, &mut active.series) {
                    let (kept, left) = std::mem::take(series).only(&numbers);
                    *series = kept;
                    active.steers.extend(carried(message, || legacy::left_out(&left)));
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
            CheckpointSubject::Trust => {
                active.trust = Some(choice == choice::TRUST);
                active.is_uninstructed = choice == choice::TRUST && active.batch.is_some();
            }
            CheckpointSubject::TrustBroad if choice == choice::TRUST => active.warned = true,
            CheckpointSubject::TrustBroad => active.trust = Some(false),
            CheckpointSubject::Instructions if choice == choice::SKIP => {
                active.declined = answered.rule.as_ref().map(|rule| rule.pattern.clone());
            }
            CheckpointSubject::Instructions => {}
            CheckpointSubject::Outside { call } => {
                let Some(item) = active.batch.as_mut().and_then(|batch| batch.item_mut(call)) else { return };
                item.progress = Progress::Started;
                item.outside = choice == choice::OUTSIDE;
                item.widened = choice == choice::WIDEN;
                if !item.outside && !item.widened {
                    active.left_inside.extend(item.command().map(str::to_owned));
                }
                item.given = Some(UserDecision {
                    choice: choice.to_owned(),
                    text: None,
                    fingerprint: answered.fingerprint.clone(),
                    of_outcome: false,
                    by_person,
                });
            }
            CheckpointSubject::Tool { call }
            | CheckpointSubject::Question { call }
            | CheckpointSubject::Outcome { call } => {
                if let Some(item) = active.batch.as_mut().and_then(|batch| batch.item_mut(call)) {
                    item.progress = Progress::Started;
                    let edited = text.filter(|_| choice == choice::ALLOW && answered.fingerprint.is_some());
                    // What a person wrote in its place is judged anew, as if nothing had been answered yet.
                    if edited.is_some_and(|edited| item.edit(edited)) {
                        return;
                    }
                    item.given = Some(UserDecision {
                        choice: choice.to_owned(),
                        text: text.map(str::to_owned),
                        fingerprint: answered.fingerprint.clone(),
                        of_outcome: matches!(answered.about, CheckpointSubject::Outcome { .. }),
                        by_person,
                    });
                }
            }
            CheckpointSubject::Overtime { call } => {
                if let Some(item) = active.batch.as_mut().and_then(|batch| batch.item_mut(call)) {
                    item.stopping |= choice == choice::END;
                }
            }
            CheckpointSubject::Handoff => active.hear(text),
            CheckpointSubject::Tell
            | CheckpointSubject::Steps
            | CheckpointSubject::Repeat
            | CheckpointSubject::Pause => {
                active.hear(text);
                match answered.about {
                    CheckpointSubject::Steps => {
                        let go_on = || text.is_none().then(|| legacy::GO_ON.to_owned());
                        active.steers.extend(carried(message, go_on));
                        active.more_steps = active.more_steps.saturating_add(active.request.settings.max_steps);
                        active.assessing = false;
                    }
                    CheckpointSubject::Repeat => {
                        active.repeat = None;
                        active.diverted = choice == choice::TELL;
                    }
                    CheckpointSubject::Pause => active.pausing = false,
                    _ => {}
                }
            }
        }
    }

    pub(super) fn fold_rule(&mut self, fact: &RuleFact) {
        match fact {
            RuleFact::Known { rules } => self.rules.clone_from(rules),
            RuleFact::Added { rule } if !self.rules.contains(rule) => self.rules.push(rule.clone()),
            RuleFact::Added { .. } => {}
            RuleFact::Removed { rule } => self.rules.retain(|known| known != rule),
        }
    }
}
