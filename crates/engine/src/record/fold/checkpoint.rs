//! Questions open, and what people answer takes effect.

use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{CheckpointFact, CheckpointKind, RuleFact};
use trimtab_vocab::{CallId, RequestId, SeriesState};

use crate::flow::plan;
use crate::record::{Batch, Checkpoint, Phase, Progress, Session, UserDecision};
use crate::turn::{answers, budget, outside, series, structured};

impl Session {
    pub(super) fn fold_checkpoint(&mut self, request: Option<&RequestId>, fact: &CheckpointFact) {
        match fact {
            CheckpointFact::Opened { checkpoint, kind, choices, ask, .. } => {
                let Some(request) = request else { return };
                let goes_on = matches!(ask, Ask::Overtime { .. });
                let asks_about = ask.call().cloned();
                let opened =
                    Checkpoint { request: request.clone(), kind: *kind, ask: ask.clone(), choices: choices.clone() };
                self.checkpoints.insert(checkpoint.clone(), opened);
                match ask {
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
            CheckpointFact::Resolved { checkpoint, choice, text, by, .. } => {
                let Some(answered) = self.checkpoints.remove(checkpoint) else { return };
                if matches!(answered.ask, Ask::Plan { .. }) && choice == plan::APPROVE {
                    self.fold_approval(&answered.request, by);
                }
                self.fold_answer(&answered, choice, text.as_deref(), by == CheckpointFact::PERSON);
            }
        }
    }

    pub(super) fn fold_answer(&mut self, answered: &Checkpoint, choice: &str, text: Option<&str>, by_person: bool) {
        if answered.ask.is_budget() && choice == budget::RAISE {
            self.budget = text.and_then(|text| text.parse().ok()).or(self.budget);
        }
        // Whoever edits a command has not allowed the one that was asked about.
        let edits = answered.ask.fingerprint().is_some() && text.is_some();
        if let (answers::ALLOW, Some(rule), false) = (choice, answered.ask.rule(), edits) {
            *self.allowed.entry(rule.to_string()).or_default() += 1;
        }
        let call = CallId::nth(self.calls);
        self.fold_agreement(answered, choice, text);
        let Some(active) = self.unfinished_mut(&answered.request) else { return };
        match &answered.ask {
            Ask::Budget { .. }
            | Ask::Clarification { .. }
            | Ask::Begin
            | Ask::Understanding { .. }
            | Ask::Plan { .. }
            | Ask::StepBefore(_)
            | Ask::StepAfter(_)
            | Ask::StepFailed(_)
            | Ask::Satisfaction { .. }
            | Ask::Other(_) => {}
            Ask::Recovery { .. } => {
                active.steers.extend((choice == answers::RETRY).then(|| structured::AGAIN.to_owned()));
                active.hear(text);
                if choice == answers::APPLY {
                    let wishes = structured::changes(&active.recovered);
                    active.batch = Batch::new(&call, wishes.into_iter()).map(Batch::in_words).map(Batch::recovered);
                }
            }
            Ask::Commands(_) => {
                let numbers = series::numbers(choice, text);
                active.hear(text.filter(|_| numbers.is_none()));
                if let (Some(numbers), Some(series)) = (numbers, &mut active.series) {
                    let (kept, left) = std::mem::take(series).only(&numbers);
                    *series = kept;
                    active.steers.extend(series::left_out(&left));
                }
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
            Ask::Trust { .. } => active.trust = Some(choice == answers::TRUST),
            Ask::TrustBroad { .. } if choice == answers::TRUST => active.warned = true,
            Ask::TrustBroad { .. } => active.trust = Some(false),
            Ask::Instructions { rule, .. } if choice == answers::SKIP => {
                active.declined = rule.as_ref().map(|rule| rule.pattern.clone());
            }
            Ask::Instructions { .. } => {}
            Ask::Outside(ask) => {
                let Some(item) = active.batch.as_mut().and_then(|batch| batch.item_mut(&ask.call)) else { return };
                item.progress = Progress::Started;
                item.outside = choice == answers::OUTSIDE;
                item.widened = choice == answers::WIDEN;
                if !item.outside && !item.widened {
                    active.left_inside.extend(outside::command_of(item).map(str::to_owned));
                }
                item.given = Some(UserDecision {
                    choice: choice.to_owned(),
                    text: None,
                    fingerprint: answered.ask.fingerprint().map(str::to_owned),
                    of_outcome: false,
                    by_person,
                });
            }
            Ask::Permission(_) | Ask::Question { .. } | Ask::UnknownOutcome { .. } => {
                let call = answered.ask.call();
                if let Some(item) = call.and_then(|call| active.batch.as_mut()?.item_mut(call)) {
                    item.progress = Progress::Started;
                    let edited = text.filter(|_| choice == answers::ALLOW && answered.ask.fingerprint().is_some());
                    // What a person wrote in its place is judged anew, as if nothing had been answered yet.
                    if edited.is_some_and(|edited| item.edit(edited)) {
                        return;
                    }
                    item.given = Some(UserDecision {
                        choice: choice.to_owned(),
                        text: text.map(str::to_owned),
                        fingerprint: answered.ask.fingerprint().map(str::to_owned),
                        of_outcome: matches!(answered.ask, Ask::UnknownOutcome { .. }),
                        by_person,
                    });
                }
            }
            Ask::Overtime { call, .. } => {
                if let Some(item) = active.batch.as_mut().and_then(|batch| batch.item_mut(call)) {
                    item.stopping |= choice == answers::END;
                }
            }
            Ask::Handoff { .. } => active.hear(text),
            Ask::Tell | Ask::StepLimit | Ask::Repeat | Ask::Pause => {
                active.hear(text);
                match answered.ask {
                    Ask::StepLimit => {
                        if text.is_none() {
                            active.steers.push("Go on.".into());
                        }
                        active.more_steps = active.more_steps.saturating_add(active.request.settings.max_steps);
                        active.assessing = false;
                    }
                    Ask::Repeat => {
                        active.repeat = None;
                        active.diverted = choice == answers::TELL;
                    }
                    Ask::Pause => active.pausing = false,
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
