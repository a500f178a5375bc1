//! What can happen to a session.

use serde::{Deserialize, Serialize};
use trimtab_vocab::{CallId, CheckpointId, Control, Fault, Message, RefKey, Reply, Request, RequestId, TimerId};

/// Something that happened. Inputs wait in a durable inbox, so they are written down; the rule for
/// them is the log's: additions only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Input {
    /// The session was made.
    Opened {
        /// The folder it works in.
        folder: String,
    },
    /// A person said something.
    Said {
        /// What.
        request: Request,
    },
    /// A person wants something of a request.
    Controlled {
        /// Which one; absent: whichever is running.
        #[serde(default)]
        request: Option<RequestId>,
        /// What.
        action: Control,
    },
    /// A person answered.
    Answered {
        /// What was asked.
        checkpoint: CheckpointId,
        /// The answer.
        choice: String,
        /// Words that came with it.
        #[serde(default)]
        text: Option<String>,
        /// Who answered.
        by: String,
    },
    /// There is room for the request to run.
    Admitted {
        /// Which one.
        request: RequestId,
    },
    /// There is no room yet.
    Held {
        /// Which one.
        request: RequestId,
        /// How many run or wait before it.
        ahead: u32,
    },
    /// A model call reached its end.
    Replied {
        /// Which one.
        call: CallId,
        /// What came of it.
        reply: Reply,
        /// Where the raw text is stored.
        #[serde(default)]
        raw: Option<RefKey>,
        /// What a person should know about the call.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
    },
    /// A model call did not reach its end.
    CallFailed {
        /// Which one.
        call: CallId,
        /// Why.
        fault: Fault,
        /// What had come by then.
        #[serde(default)]
        partial: Option<Partial>,
    },
    /// A model call was ended as asked.
    CallAborted {
        /// Which one.
        call: CallId,
        /// What had come by then.
        #[serde(default)]
        partial: Option<Partial>,
    },
    /// A wait is over.
    TimerFired {
        /// Which one.
        timer: TimerId,
    },
    /// The session has a new owner: what ran under the old one is no longer running.
    Woke {
        /// What can be told of it.
        #[serde(default)]
        interrupted: Vec<Interrupted>,
    },
}

/// As much of a reply as came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Partial {
    /// What the model had said.
    pub message: Message,
    /// Where the raw text is stored.
    #[serde(default)]
    pub raw: Option<RefKey>,
}

/// A call that was under way when its owner went away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interrupted {
    /// Which one.
    pub call: CallId,
    /// What had been saved of it.
    #[serde(default)]
    pub partial: Option<Partial>,
}
