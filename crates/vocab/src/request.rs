//! What a person asks for.

use serde::{Deserialize, Serialize};

use crate::{RefKey, RequestId};

/// One thing a person asked for, as the engine takes it in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Names it for good.
    pub id: RequestId,
    /// The person's words; a preview when they were too large to send and `refs` holds them whole.
    pub text: String,
    /// Texts stored beside the conversation that belong to it.
    #[serde(default)]
    pub refs: Vec<RefKey>,
    /// Which path the person chose.
    #[serde(default)]
    pub mode: Mode,
    /// What was in force when it was asked. Part of the record, so that a replay decides alike.
    pub settings: RunSettings,
}

/// Which path a person chose for a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The router decides.
    #[default]
    Auto,
    /// Words only.
    Chat,
    /// Look and plan; no effects.
    Plan,
}

/// The settings that steer a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunSettings {
    /// `provider/name`.
    pub model: String,
    /// Model calls at most.
    pub max_steps: u32,
    /// Tokens of one reply at most.
    pub max_output_tokens: u32,
    /// How often a failed call is tried again.
    pub retries: u32,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self { model: String::new(), max_steps: 25, max_output_tokens: 16_384, retries: 5 }
    }
}

/// What a person may say to a running request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Control {
    /// Stop now; keep what is there.
    Cancel,
}
