//! Models are called, and what they say becomes part of the conversation.

use std::sync::Arc;

use trimtab_vocab::event::{ModelFact, PromptNote, ReflectionFact, ReplyFact, ToolStatus};
use trimtab_vocab::{CallId, Message, Part, ProblemKind, Role, StopReason, TimerId};

use super::results::{INTERRUPTED, in_words, is_interrupt, results};
use crate::record::{Batch, BatchItem, Phase, Repairing, RepeatedCall, RunningRequest, Session, weight_of};
use crate::route;
use crate::turn::{reflection, structured};

/// Entries of the ledger that are kept.
const LEDGER: usize = 24;
/// Findings that are kept for the synthesis.
const FINDINGS: usize = 100;

impl Session {
    pub(super) fn fold_model(&mut self, fact: &ModelFact) {
        match fact {
            ModelFact::Called { call, purpose, notes, .. } => {
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
                    self.send(notes);
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

    /// A turn is sent: what it adds to the conversation stands in it from now on.
    fn send(&mut self, notes: &[PromptNote]) {
        for (at, message) in self.additions(notes) {
            self.weights.insert(at, weight_of(&message));
            self.conversation.insert(at, Arc::new(message));
            self.move_beginnings(at, 0, 1);
        }
        self.sent = self.conversation.len();
        self.told.extend(notes.iter().map(|note| (note.name.clone(), note.text.clone())));
        if let Some(active) = &mut self.active {
            active.steers.clear();
            active.untold.clear();
        }
    }

    pub(super) fn fold_reply(&mut self, fact: &ReplyFact) {
        let ReplyFact::Saved { call, usage, message, partial, stop_reason, .. } = fact else { return };
        self.usage += *usage;
        let stopping = matches!(self.active, Some(RunningRequest { phase: Phase::Stopping { .. }, .. }));
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
                active.batch = Batch::new(call, wishes);
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

    /// The tools of a reply have all ended: their results go back to the model, as one message.
    pub(super) fn close_batch(&mut self, fact: &ReflectionFact) {
        let Some(active) = &mut self.active else { return };
        let Some(batch) = active.take_batch() else { return };
        for entry in &fact.entries {
            active.ledger.push_back(reflection::line(entry));
        }
        let surplus = active.ledger.len().saturating_sub(LEDGER);
        active.ledger.drain(..surplus);
        let interrupted = batch.items.iter().filter_map(BatchItem::done).any(|done| is_interrupt(&done.content));
        let note = (!interrupted).then(|| reflection::note(&fact.entries));
        let steers = std::mem::take(&mut active.steers);
        if batch.of_pictures {
            return;
        }
        let message = results(&batch, INTERRUPTED, note, steers);
        self.push(if batch.passed_over { in_words(message) } else { message });
    }

    pub(super) fn calling_mut(&mut self, wanted: &CallId) -> Option<&mut RunningRequest> {
        self.active.as_mut().filter(|active| matches!(&active.phase, Phase::Calling { call } if call == wanted))
    }
}

impl RunningRequest {
    /// Its tools have all ended: what they came to is remembered.
    pub(super) fn take_batch(&mut self) -> Option<Batch> {
        let batch = self.batch.take()?;
        for done in batch.items.iter().filter_map(BatchItem::done) {
            if matches!(done.status, ToolStatus::Ok | ToolStatus::Partial) && self.findings.len() < FINDINGS {
                self.findings.push(reflection::finding(&done.content));
            }
        }
        let (signature, outcome) = (batch.signature(), batch.outcome());
        let times = match self.repeat.take() {
            Some(repeat) if repeat.signature == signature && repeat.outcome == outcome => repeat.times + 1,
            _ => 1,
        };
        self.repeat = Some(RepeatedCall { signature, outcome, times });
        self.diverted = false;
        self.phase = Phase::Replied;
        Some(batch)
    }
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
