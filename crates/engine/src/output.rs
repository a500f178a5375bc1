//! What a step asks for.

use trimtab_vocab::{CallId, Fact, Prompt, RefKey, RequestId, TimerId};

/// One consequence of an input. Facts and texts are durable before any effect starts.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "most outputs are events, and each is moved once")]
pub enum Output {
    /// A fact to record.
    Event {
        /// The request it is about.
        request: Option<RequestId>,
        /// What happened.
        fact: Fact,
    },
    /// A text to store under a name, together with the facts that mention it.
    Keep {
        /// The name.
        key: RefKey,
        /// The text.
        text: String,
    },
    /// Work for the world. Its result comes back as an input.
    Effect(Effect),
}

/// Work for the world.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Find room for a request among the running ones; answered by `Admitted`, perhaps after `Held`.
    Admit {
        /// Which one.
        request: RequestId,
    },
    /// Call a model; answered by `Replied`, `CallFailed` or `CallAborted`.
    CallModel {
        /// Names the call.
        call: CallId,
        /// What to send.
        prompt: Box<Prompt>,
    },
    /// End a call now; its answer is `CallAborted`, unless it was quicker.
    Abort {
        /// Which one.
        call: CallId,
    },
    /// Wait; answered by `TimerFired`.
    Wait {
        /// Names the wait.
        timer: TimerId,
        /// How long.
        millis: u64,
    },
}
