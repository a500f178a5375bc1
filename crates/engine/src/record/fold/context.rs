//! The conversation is made to fit.

use std::sync::Arc;

use trimtab_vocab::Message;
use trimtab_vocab::event::{ContextFact, PromptNote};

use crate::fragment;
use crate::record::{Compressing, Phase, Session, Squeezed, legacy, weight_of};

impl Session {
    pub(super) fn fold_context(&mut self, fact: &ContextFact) {
        let unseen = self.is_unseen();
        match fact {
            ContextFact::Loaded { files, instructions, headings, .. } => {
                if instructions.is_some() {
                    self.instructions.clone_from(instructions);
                }
                for file in files {
                    if let Some(hash) = &file.hash {
                        self.marks.insert(file.path.clone(), hash.clone());
                    }
                }
                if let Some(active) = &mut self.active {
                    for (at, file) in files.iter().enumerate() {
                        let heading = headings.get(at).cloned().unwrap_or_else(|| legacy::heading(&file.path));
                        active.steers.push(format!("{heading}\n{}", file.text));
                    }
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
                self.keep_told();
                self.rewritten(unseen);
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
                    self.rewritten(unseen);
                }
            }
        }
    }

    /// Whether no model has seen the words of the request that is worked on.
    fn is_unseen(&self) -> bool {
        self.active.as_ref().is_some_and(|active| active.flow.from >= self.sent)
    }

    /// Messages at the beginning have made room for others. What comes next still stands at the end, or before the
    /// words of a request that is `unseen`.
    fn rewritten(&mut self, unseen: bool) {
        self.measured = None;
        let from = self.active.as_ref().filter(|_| unseen).map(|active| active.flow.from);
        self.sent = from.unwrap_or(self.conversation.len());
    }

    /// What was told and is summed up now is told again, where it still holds.
    fn keep_told(&mut self) {
        let stands = |name: &String, text: &mut String| {
            let note = fragment::part(&PromptNote { name: name.clone(), text: text.clone() });
            self.conversation.iter().any(|message| message.parts.contains(&note))
        };
        self.told.retain(stands);
    }
}
