//! Calls of models: which of them speak to the person, in which form, and where each round of the work began.

use std::collections::BTreeSet;

use trimtab_vocab::event::{ModelFact, ReplyFact, RequestFact};
use trimtab_vocab::{CallId, Event, Fact, RequestId};

use crate::structured_answer::{self, StructuredAnswer};

#[derive(Debug, Default)]
pub(crate) struct ModelCalls {
    aside: BTreeSet<CallId>,
    /// Requests whose model answers in one JSON text.
    structured: BTreeSet<RequestId>,
    rounds: Vec<u64>,
    /// The model has not answered the last round yet.
    is_open: bool,
}

impl ModelCalls {
    pub(crate) fn observe(&mut self, event: &Event) {
        match &event.fact {
            Fact::Request(RequestFact::Received { images, settings, .. }) => {
                if let Some(request) = &event.request
                    && structured_answer::is_used(settings, !images.is_empty())
                {
                    self.structured.insert(request.clone());
                }
            }
            Fact::Model(ModelFact::Called { call, purpose, .. }) if !purpose.is_turn() => {
                self.aside.insert(call.clone());
            }
            // A call that came to nothing and is made again is the same round.
            Fact::Model(ModelFact::Called { .. }) if !self.is_open => {
                self.rounds.extend(event.seq);
                self.is_open = true;
            }
            Fact::Reply(ReplyFact::Saved { call, partial: false, .. }) if !self.is_aside(call) => self.is_open = false,
            _ => {}
        }
    }

    /// Whether a call is made behind the scenes: what the model says is not for the person.
    pub(crate) fn is_aside(&self, call: &CallId) -> bool {
        self.aside.contains(call)
    }

    /// Whether the model of a request answers in one JSON text.
    pub(crate) fn is_structured(&self, request: Option<&RequestId>) -> bool {
        request.is_some_and(|request| self.structured.contains(request))
    }

    /// What tells the words of a reply from its form.
    pub(super) fn reader(&self, request: Option<&RequestId>) -> StructuredAnswer {
        StructuredAnswer::new(self.is_structured(request))
    }

    /// Where each round began: what a model was asked once, and all that followed from it.
    pub(crate) fn rounds(&self) -> &[u64] {
        &self.rounds
    }
}
