//! The conversation is made to fit.

use std::sync::Arc;

use trimtab_vocab::Message;
use trimtab_vocab::event::ContextFact;

use crate::record::{Compressing, Phase, Session, Squeezed, weight_of};
use crate::turn::context;

impl Session {
    pub(super) fn fold_context(&mut self, fact: &ContextFact) {
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
                // What the model was told may be in what was summed up.
                self.told.clear();
                self.forget_sent();
            }
            ContextFact::Edited { summary, .. } => {
                if let Some(at) = self.summaries.checked_sub(1) {
                    let summary = Message::user(summary.clone());
                    self.weights[at] = weight_of(&summary);
                    self.conversation[at] = Arc::new(summary);
                    self.forget_sent();
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
                    self.forget_sent();
                }
            }
        }
    }

    /// The conversation begins otherwise than any call before has begun.
    fn forget_sent(&mut self) {
        self.measured = None;
        self.sent = 0;
    }
}
