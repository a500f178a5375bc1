//! The recorded usage of model calls.

use trimtab_vocab::event::{ReplyFact, UsageFact};
use trimtab_vocab::{Event, Fact, StopReason, Usage};

/// A model call that came to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCall {
    pub model: String,
    pub usage: Usage,
    /// The reply was cut off at the output limit.
    pub truncated: bool,
}

impl RecordedCall {
    /// The calls in a part of a log: a reply is saved first, and its usage follows.
    pub fn all_in<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Self> {
        let (mut calls, mut truncated) = (Vec::new(), false);
        for event in events {
            match &event.fact {
                Fact::Reply(ReplyFact::Saved { stop_reason, partial: false, .. }) => {
                    truncated = *stop_reason == Some(StopReason::MaxTokens);
                }
                Fact::Usage(UsageFact { model, usage, unfinished: false, .. }) => {
                    let truncated = std::mem::take(&mut truncated);
                    calls.push(Self { model: model.clone(), usage: *usage, truncated });
                }
                _ => {}
            }
        }
        calls
    }
}
