//! Folds compressions of the conversation.

use std::sync::Arc;

use trimtab_vocab::event::ContextFact;
use trimtab_vocab::{Message, Role};

use crate::fragment;
use crate::record::{Compressing, Phase, Session, Squeezed, legacy, weight_of};

impl Session {
    pub(super) fn fold_context(&mut self, fact: &ContextFact) {
        let unseen = self.is_unseen();
        match fact {
            ContextFact::Loaded { files, instructions, headings, .. } => {
                if instructions.is_some() {
                    self.context.instructions.clone_from(instructions);
                }
                for file in files {
                    if let Some(hash) = &file.hash {
                        self.context.marks.insert(file.path.clone(), hash.clone());
                    }
                }
                if let Some(active) = &mut self.active {
                    for (at, file) in files.iter().enumerate() {
                        let heading = headings.get(at).cloned().unwrap_or_else(|| legacy::heading(&file.path));
                        active.steering.steers.push(format!("{heading}\n{}", file.text));
                    }
                    active.loaded = true;
                }
            }
            ContextFact::Nested { path, hash, text } => {
                self.context.nested.insert(path.clone(), (hash.clone(), text.clone()));
            }
            ContextFact::Full { .. } => {
                if let Some(active) = &mut self.active {
                    active.compression.told_full = true;
                }
            }
            ContextFact::Compressing { messages, before, source } => {
                if let Some(active) = &mut self.active {
                    active.compression.count += 1;
                    active.compression.current = Some(Compressing {
                        source: source.clone(),
                        messages: *messages as usize,
                        before: *before,
                        parts: Vec::new(),
                    });
                }
            }
            ContextFact::Compressed { source, summary, replaces, .. } => {
                self.forget_compact_hooks();
                let Some(active) = &mut self.active else { return };
                let Some(Compressing { messages, .. }) = active.compression.current.take() else { return };
                active.compression.fits = true;
                // It has what it read no longer before its eyes, so it may read it again.
                active.tools.rounds.restart();
                // A failed summary says nothing about the next call.
                (active.calls.failures, active.calls.runaways) = (0, 0);
                active.phase = Phase::Replied;
                let replaced = (*replaces as usize).min(self.conversation.summaries);
                let from = self.conversation.summaries - replaced;
                let to = (from + replaced + messages).min(self.conversation.messages.len());
                let summary = Message::user(summary.clone());
                let weight = weight_of(&summary);
                let originals = self.conversation.messages.splice(from..to, [Arc::new(summary)]).collect();
                self.conversation.weights.splice(from..to, [weight]);
                self.move_beginnings(from, to - from, 1);
                self.conversation.summaries = from + 1;
                self.conversation.squeezed = Some(Squeezed { source: source.clone(), originals, summaries: replaced });
                self.read_told();
                self.rewritten(unseen);
            }
            ContextFact::Edited { summary, .. } => {
                if let Some(at) = self.conversation.summaries.checked_sub(1) {
                    let summary = Message::user(summary.clone());
                    self.conversation.weights[at] = weight_of(&summary);
                    self.conversation.messages[at] = Arc::new(summary);
                    self.conversation.measured = None;
                }
            }
            ContextFact::Restored { .. } => {
                if let (Some(at), Some(squeezed)) =
                    (self.conversation.summaries.checked_sub(1), self.conversation.squeezed.take())
                {
                    let weights: Vec<u64> = squeezed.originals.iter().map(|message| weight_of(message)).collect();
                    let count = squeezed.originals.len();
                    self.conversation.messages.splice(at..=at, squeezed.originals);
                    self.conversation.weights.splice(at..=at, weights);
                    self.move_beginnings(at, 1, count);
                    self.conversation.summaries = at + squeezed.summaries;
                    self.read_told();
                    self.rewritten(unseen);
                }
            }
        }
    }

    /// Whether no model has seen the running request.
    fn is_unseen(&self) -> bool {
        self.active.as_ref().is_some_and(|active| active.flow.from >= self.conversation.sent)
    }

    /// Messages at the beginning were replaced. New ones still go to the end, or before a request that is `unseen`.
    fn rewritten(&mut self, unseen: bool) {
        self.conversation.measured = None;
        let from = self.active.as_ref().filter(|_| unseen).map(|active| active.flow.from);
        self.conversation.sent = from.unwrap_or(self.conversation.messages.len());
    }

    /// Recomputes the sent notes from the conversation, after parts of it were removed or restored: the last note of
    /// each name. Missing notes are sent again if they still apply.
    pub(in crate::record) fn read_told(&mut self) {
        let told = self.conversation.messages.iter().filter(|message| message.role == Role::User);
        let notes = told.flat_map(|message| &message.parts).filter_map(fragment::note_in);
        self.context.told = notes.map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    }
}
