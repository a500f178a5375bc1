//! What a question is about, beyond its kind.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trimtab_vocab::{CallId, Question};

/// What a checkpoint is about. Part of its body in the log, so that a replay knows it again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "about", rename_all = "camelCase")]
pub enum CheckpointSubject {
    /// Money.
    #[default]
    Budget,
    /// Whether the folder is trusted.
    Trust,
    /// Whether a folder that holds more than a project is meant to be trusted; asked before that is.
    TrustBroad,
    /// Whether instructions that have changed are used.
    Instructions,
    /// Whether a tool may be used.
    Tool {
        /// Which call.
        call: CallId,
    },
    /// What the model asks.
    Question {
        /// By which call.
        call: CallId,
    },
    /// A command whose end is not known.
    Outcome {
        /// Which call.
        call: CallId,
    },
    /// A command that is overdue. It goes on while it is asked about.
    Overtime {
        /// Which call.
        call: CallId,
    },
    /// A command that failed in the sandbox, perhaps because of it.
    Outside {
        /// Which call.
        call: CallId,
    },
    /// What to do instead.
    Tell,
    /// The limit of steps.
    Steps,
    /// The same tools again and again.
    Repeat,
    /// A rest that a person asked for.
    Pause,
    /// A reply that was cut off.
    Recovery,
    /// Several commands of one answer.
    Series,
    /// What is not clear.
    Clarify {
        /// What was asked.
        questions: Vec<Question>,
    },
    /// Whether work without a plan may begin.
    Begin,
    /// Whether a conversation was understood.
    Understanding,
    /// Whether a plan may be carried out.
    Plan,
    /// Whether a step of a plan may begin.
    StepBefore {
        /// Which one.
        step: String,
    },
    /// What a step of a plan came to.
    StepAfter {
        /// Which one.
        step: String,
    },
    /// A step of a plan that could not be done.
    StepFailed {
        /// Which one.
        step: String,
    },
    /// Whether the person is content.
    Satisfaction,
    /// How to go on when the conversation fills its limit.
    Handoff,
}

impl CheckpointSubject {
    /// The fields that a checkpoint's body begins with.
    pub(crate) fn body(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }

    /// Reads it from a checkpoint's body; the first checkpoints were all about money and did not say so.
    pub(crate) fn read(body: &Map<String, Value>) -> Self {
        serde_json::from_value(Value::Object(body.clone())).unwrap_or_default()
    }

    /// The tool call it is about.
    pub(crate) fn call(&self) -> Option<&CallId> {
        match self {
            Self::Tool { call }
            | Self::Question { call }
            | Self::Outcome { call }
            | Self::Overtime { call }
            | Self::Outside { call } => Some(call),
            _ => None,
        }
    }
}
