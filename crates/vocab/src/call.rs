//! One call of a model: what is asked, and the two ways it can end.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Effort, Message, Problem, RefKey, StopReason, Usage};

/// Everything a model is sent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prompt {
    /// `provider/name`.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// The conversation. Shared, not copied: it grows with every round and is sent with each.
    pub messages: Vec<Arc<Message>>,
    /// The images that messages name, in base64.
    pub images: BTreeMap<RefKey, Arc<str>>,
    /// The tools it may ask for; none: it is not told that there are tools.
    pub tools: Vec<Arc<ToolSpec>>,
    /// Tokens of the reply at most.
    pub max_output_tokens: u32,
    /// How freely it may choose its words; absent: as the provider sees fit.
    pub temperature: Option<f64>,
    /// How much a server that takes such a figure holds repeated words against the model; absent: its default. 1 is none.
    pub repeat_penalty: Option<f64>,
    /// Tokens it may think before it speaks; 0: as the provider sees fit, which often is not at all.
    pub thinking_tokens: u32,
    /// How much the model thinks. Absent: `thinking_tokens`, or the provider's default.
    pub effort: Option<Effort>,
    /// Names the conversation to a provider that keeps prompts by name; empty: it has none.
    pub cache_key: String,
    /// A person waits long between requests: what the provider caches should live longer than usual.
    pub long_cache: bool,
    /// The form its words must have; absent: any.
    pub format: Option<Format>,
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: String,
    /// What it is for, and when to use it.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input_schema: Value,
}

/// A form that a reply must have.
#[derive(Debug, Clone, PartialEq)]
pub enum Format {
    /// One JSON value.
    Json,
    /// One JSON value that fits a schema.
    Schema {
        /// What the schema is called.
        name: String,
        schema: Value,
    },
}

/// A reply that reached its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Reply {
    /// What the model said.
    pub message: Message,
    /// Why it stopped; absent when the provider does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// Its usage and cost.
    #[serde(default)]
    pub usage: Usage,
}

/// A call that did not reach its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    pub problem: Problem,
    /// Whether the same call may do better later.
    pub retry: Retry,
}

/// Whether a failed call may do better later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// A shorter prompt may do better: this one does not fit the model's window.
    Shorter {
        /// Tokens that the window holds, where the provider says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<u64>,
        /// Tokens that the prompt had, where the provider says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<u64>,
    },
    /// A prompt without pictures may do better: the model cannot see.
    WithoutImages,
}
