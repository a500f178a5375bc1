//! Messages that wait for their turn. They stand below the conversation, so that what is printed stays in its order: a
//! queued message comes when its request begins, and one that steers comes before the call in which the model sees it.

use trimtab_vocab::event::{BannerFact, ModelFact, RequestFact, Status};
use trimtab_vocab::wording::Notice;
use trimtab_vocab::{Event, Fact, RequestId};

use crate::conversation::is_under_way;
use crate::tui::shell_output::SentOutputs;

/// A message that was sent and is not a part of the conversation yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tui) struct HeldMessage {
    pub(in crate::tui) text: String,
    /// What stands below it once it is printed.
    pub(super) note: Option<String>,
    /// The outputs that were sent with it.
    pub(super) outputs: Option<SentOutputs>,
    /// Why it waits, unless that is plain.
    pub(in crate::tui) reason: Option<String>,
    pub(in crate::tui) turn: MessageTurn,
}

/// When the turn of a message comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tui) enum MessageTurn {
    /// When this request, which is its own, begins.
    Queued(RequestId),
    /// When this request, which is running, calls its model again.
    Steers(RequestId),
}

#[derive(Debug, Default)]
pub(super) struct HeldMessages {
    messages: Vec<HeldMessage>,
    /// The request that is under way.
    running: Option<RequestId>,
}

impl HeldMessages {
    pub(super) fn messages(&self) -> &[HeldMessage] {
        &self.messages
    }

    pub(super) fn hold(&mut self, message: HeldMessage) {
        self.messages.push(message);
    }

    /// Whether a new request would wait for another one.
    pub(super) fn is_busy(&self, request: Option<&RequestId>) -> bool {
        self.running.is_some() && self.running.as_ref() != request
    }

    fn queued(&mut self, event: &Event) -> Option<usize> {
        let request = event.request.as_ref()?;
        self.messages.iter().position(|held| held.turn == MessageTurn::Queued(request.clone()))
    }

    /// Whether an event is about a request that waits, and leaves it waiting or takes it back.
    pub(super) fn waits(&mut self, event: &Event) -> bool {
        let Some(at) = self.queued(event) else { return false };
        match &event.fact {
            Fact::Request(RequestFact::Finished { status: Status::Cancelled, .. }) => {
                self.messages.remove(at);
                true
            }
            Fact::Request(RequestFact::Finished { .. }) => false,
            Fact::Banner(BannerFact { text, .. }) => {
                self.messages[at].reason = Some(text.clone()).filter(|text| *text != Notice::Queued.to_string());
                true
            }
            fact => !is_under_way(fact),
        }
    }

    /// The messages whose turn comes with an event; they stand before what it adds.
    pub(super) fn due(&mut self, event: &Event) -> Vec<HeldMessage> {
        let is_end = matches!(event.fact, Fact::Request(RequestFact::Finished { .. }));
        let is_call = matches!(&event.fact, Fact::Model(ModelFact::Called { purpose, .. }) if purpose.is_turn());
        let begins = is_end || is_under_way(&event.fact);
        let is_due = |held: &mut HeldMessage| match &held.turn {
            MessageTurn::Queued(request) => begins && event.request.as_ref() == Some(request),
            MessageTurn::Steers(request) => (is_call || is_end) && event.request.as_ref() == Some(request),
        };
        self.messages.extract_if(.., is_due).collect()
    }

    /// Follows which request is under way.
    pub(super) fn observe(&mut self, event: &Event) {
        match &event.fact {
            Fact::Request(RequestFact::Finished { .. }) if self.running == event.request => self.running = None,
            Fact::Request(RequestFact::Received { .. }) if self.running.is_none() => {
                self.running.clone_from(&event.request);
            }
            fact if is_under_way(fact) && event.request.is_some() => self.running.clone_from(&event.request),
            _ => {}
        }
    }
}
