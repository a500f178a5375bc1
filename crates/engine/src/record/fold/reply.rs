//! Folds model calls and their replies.

use std::sync::Arc;

use trimtab_vocab::event::{ModelFact, PromptNote, ReflectionFact, ReplyFact, ToolStatus};
use trimtab_vocab::{CallId, Message, Part, ProblemKind, Purpose, StopReason, TimerId};

use super::carried;
use super::results::{INTERRUPTED, in_words, is_interrupt, results};
use crate::record::excerpt::finding;
use crate::record::{Batch, BatchItem, Phase, RunningRequest, Session, legacy, weight_of};
use crate::tools;

/// Entries of the ledger that are kept.
const LEDGER: usize = 24;
/// Findings that are kept for the synthesis.
const FINDINGS: usize = 100;

impl Session {
    pub(super) fn fold_model(&mut self, fact: &ModelFact) {
        match fact {
            ModelFact::Called { call, purpose, tools, notes, .. } => {
                self.spending.calls += 1;
                tools.iter().for_each(|tools| self.models.offered_tools.clone_from(tools));
                let Some(active) = &mut self.active else { return };
                active.phase = Phase::Calling { call: call.clone(), purpose: purpose.clone() };
                active.loaded |= *purpose != Purpose::Route;
                if *purpose == Purpose::Summary {
                    self.conversation.summed_up_at = Some(self.conversation.rounds);
                }
                if purpose.is_conversation() {
                    active.compression.fits = false;
                    self.send(notes);
                }
            }
            ModelFact::Failed { call, error, retry_in_ms } => {
                let timer = TimerId::before_call(self.next_call());
                let Some((active, purpose)) = self.calling_mut(call) else { return };
                if purpose == Purpose::Repair && retry_in_ms.is_none() {
                    // A failed repair says nothing about the next call.
                    active.calls.repairs += 1;
                    active.phase = Phase::Replied;
                    return;
                }
                active.phase = Phase::BackingOff { timer, millis: retry_in_ms.unwrap_or(0), purpose };
                active.calls.runaways += u32::from(error.kind == ProblemKind::Repetition);
                match (error.kind, retry_in_ms) {
                    (ProblemKind::Interrupted, _) => {}
                    (ProblemKind::Loading, Some(millis)) => active.calls.loading_ms += millis,
                    _ => active.calls.failures += 1,
                }
            }
        }
    }

    /// A turn is sent: its additions become part of the conversation.
    fn send(&mut self, notes: &[PromptNote]) {
        for (at, message) in self.additions(notes) {
            self.conversation.weights.insert(at, weight_of(&message));
            self.conversation.messages.insert(at, Arc::new(message));
            self.move_beginnings(at, 0, 1);
        }
        self.conversation.sent = self.conversation.messages.len();
        self.context.told.extend(notes.iter().map(|note| (note.name.clone(), note.text.clone())));
        if let Some(active) = self.active.as_mut().filter(|active| !active.steering.steers.is_empty()) {
            active.steering.steers.clear();
            active.steering.untold.clear();
        }
    }

    pub(super) fn fold_reply(&mut self, fact: &ReplyFact) {
        let ReplyFact::Saved { usage, message, partial, .. } = fact else { return };
        self.spending.usage += *usage;
        let mut purpose = Purpose::Turn;
        if let Some(active) = &mut self.active {
            active.usage += *usage;
            purpose = active.phase.purpose().cloned().unwrap_or_default();
        }
        let stopping = matches!(self.active, Some(RunningRequest { phase: Phase::Stopping { .. }, .. }));
        if purpose.is_conversation() {
            return self.fold_turn_reply(fact, stopping);
        }
        // Any other reply is used and not stored, because its result is a separate fact. A partial one is useless.
        let Some(active) = self.active.as_mut().filter(|_| !partial) else { return };
        active.calls.start_over();
        if !stopping {
            active.phase = Phase::Replied;
        }
        match purpose {
            Purpose::Repair => active.calls.repairs += 1,
            Purpose::Summary => {
                active.compression.current.iter_mut().for_each(|compressing| compressing.parts.push(message.text()));
            }
            Purpose::Ask(ask) => self.fold_task_reply(ask, message.text(), stopping),
            Purpose::Route | Purpose::ImagePrompts | Purpose::Subtasks | Purpose::Merge => {}
            Purpose::Turn | Purpose::Requirements | Purpose::Other(_) => {}
        }
    }

    /// A reply that is part of the conversation.
    fn fold_turn_reply(&mut self, fact: &ReplyFact, stopping: bool) {
        let ReplyFact::Saved { call, usage, message, partial, stop_reason, text_calls, unasked_text, .. } = fact else {
            return;
        };
        let registry = self.extensions.servers.registry();
        if let Some(active) = self.active.as_mut().filter(|_| !partial) {
            active.calls.steps += u32::from(!active.calls.assessing);
            active.calls.start_over();
            active.calls.repairs = 0;
            active.forget_stop_hooks();
            active.calls.cuts = if stop_reason == &Some(StopReason::MaxTokens) { active.calls.cuts + 1 } else { 0 };
            active.calls.stop.clone_from(stop_reason);
            active.calls.text_calls += text_calls;
            active.calls.text_replies += u32::from(*text_calls > 0);
            if !stopping {
                active.phase = Phase::Replied;
            }
            let tool_calls = message.parts.iter().filter_map(|part| match part {
                Part::ToolUse(tool_call) => Some(tool_call.clone()),
                _ => None,
            });
            let batch = Batch::new(call, tool_calls, registry.as_deref().unwrap_or(tools::registry()));
            active.batch = batch.map(|batch| Batch { unasked_text: *unasked_text, ..batch });
            active.tools.rounds.replied(&message.text(), active.batch.is_some());
        }
        self.conversation.rounds += u64::from(!partial);
        // A reply that will be asked for again is kept in the log for the user, not in the
        // conversation: the model would answer its own torso.
        if !partial || stopping {
            let message = if *partial { words_only(message) } else { message.clone() };
            if !message.parts.is_empty() {
                self.push(message);
            }
        }
        if !partial && !usage.estimated && usage.input_tokens > 0 {
            self.conversation.measured =
                Some((self.conversation.messages.len(), usage.input_tokens + usage.output_tokens));
        }
    }

    /// The tools of a reply have all ended: their results go back to the model, as one message.
    pub(super) fn close_batch(&mut self, fact: &ReflectionFact) {
        let Some(active) = &mut self.active else { return };
        let Some(batch) = active.take_batch() else { return };
        for entry in &fact.entries {
            active.tools.ledger.push_back(entry.clone());
        }
        let surplus = active.tools.ledger.len().saturating_sub(LEDGER);
        active.tools.ledger.drain(..surplus);
        let interrupted = batch.items.iter().filter_map(BatchItem::done).any(|done| is_interrupt(&done.content));
        let note = carried(fact.message.as_deref(), || Some(legacy::note(&fact.entries))).filter(|_| !interrupted);
        let steers = std::mem::take(&mut active.steering.steers);
        if batch.of_pictures {
            return;
        }
        let message = results(&batch, INTERRUPTED, note, steers);
        // An answer in a form made no calls whose names the model would know. 0.1 named them, with a note.
        let named = !batch.of_answer || fact.message.as_deref() != Some("");
        self.push(if batch.passed_over { in_words(message, named) } else { message });
    }

    /// The request that waits for this call, and what the call is for.
    fn calling_mut(&mut self, wanted: &CallId) -> Option<(&mut RunningRequest, Purpose)> {
        let active = self.active.as_mut()?;
        match &active.phase {
            Phase::Calling { call, purpose } if call == wanted => {
                let purpose = purpose.clone();
                Some((active, purpose))
            }
            _ => None,
        }
    }
}

impl RunningRequest {
    /// Its tools have all ended: what they came to is remembered.
    pub(super) fn take_batch(&mut self) -> Option<Batch> {
        let batch = self.batch.take()?;
        self.note_refused_checks(&batch);
        for done in batch.calls().filter_map(BatchItem::done) {
            if matches!(done.status, ToolStatus::Ok | ToolStatus::Partial) && self.tools.findings.len() < FINDINGS {
                self.tools.findings.push(finding(&done.content));
            }
        }
        if !batch.of_series && !batch.of_pictures {
            self.tools.rounds.close(&batch);
        }
        self.steering.diverted = false;
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
