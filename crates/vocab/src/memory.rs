//! What outlives a session: a person's own lasting words.

use serde::{Deserialize, Serialize};

use crate::{MemoryId, RequestId, SessionId, Time};

/// One thing that is remembered, as the record and the model have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Remembered {
    pub id: MemoryId,
    /// What, in the person's words.
    pub text: String,
    /// The folder that it holds in; absent: everywhere, because it is about the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// One thing that is remembered, with where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MemoryEntry {
    pub id: MemoryId,
    /// What, in the person's words.
    pub text: String,
    /// The folder that it holds in; absent: everywhere, because it is about the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The session in which it was said; absent: it was added by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The request with which it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// When it was said or added.
    pub made: Time,
    /// When somebody last edited it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<Time>,
}

impl MemoryEntry {
    /// Without where it came from.
    pub fn remembered(&self) -> Remembered {
        Remembered { id: self.id.clone(), text: self.text.clone(), folder: self.folder.clone() }
    }
}

/// Which of a person's words are remembered beyond their session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ingest {
    /// None.
    #[default]
    Off,
    /// Those that say something lasting.
    Durable,
    /// All that they say.
    All,
}

/// How long-term memory is kept and used. Every field is a setting under `memory`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MemorySettings {
    /// Which words are remembered.
    pub ingest: Ingest,
    /// The most bytes of memory in a prompt; 0: none.
    pub recall_bytes: u32,
}

impl MemorySettings {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Something was remembered, or recalled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum MemoryFact {
    /// What the model sees of earlier sessions from here on, if it changed.
    #[serde(rename = "memory.recalled")]
    Recalled { entries: Vec<Remembered> },
    /// The user stated a lasting fact for later sessions.
    #[serde(rename = "memory.noted")]
    Noted { entries: Vec<Remembered> },
}
