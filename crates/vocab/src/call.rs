//! One call of a model: what is asked, and the two ways it can end.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Message, Problem, StopReason, Usage};

/// Everything a model is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// `provider/name`.
    pub model: String,
    /// What the model is told about itself and its task.
    pub system: String,
    /// The conversation. Shared, not copied: it grows with every round and is sent with each.
    pub messages: Vec<Arc<Message>>,
    /// Tokens of the reply at most.
    pub max_output_tokens: u32,
}

/// A reply that reached its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reply {
    /// What the model said.
    pub message: Message,
    /// Why it stopped; absent when the provider does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// What it cost.
    #[serde(default)]
    pub usage: Usage,
}

/// A call that did not reach its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// Why.
    pub problem: Problem,
    /// Whether the same call may do better later.
    pub retry: Retry,
}

/// Whether a failed call may do better later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "retry")]
pub enum Retry {
    /// The same call would fail the same way.
    Never,
    /// It may.
    Later {
        /// How long the provider asks to wait.
        #[serde(default, rename = "afterMs")]
        after_ms: Option<u64>,
    },
}
