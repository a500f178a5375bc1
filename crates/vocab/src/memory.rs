//! What outlives a session: a person's own lasting words.

use serde::{Deserialize, Serialize};

use crate::{MemoryId, RequestId, SessionId, Time};

/// A memory, as the log and the model have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Remembered {
    pub id: MemoryId,
    /// What, in the person's words.
    pub text: String,
    /// The folder that it applies to. Absent: everywhere, because it is about the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// A memory, with its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MemoryEntry {
    pub id: MemoryId,
    /// What, in the person's words.
    pub text: String,
    /// The folder that it applies to. Absent: everywhere, because it is about the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The session that it comes from. Absent: it was added by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The request that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// When it was stored.
    pub made: Time,
    /// When it was last edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<Time>,
}

impl MemoryEntry {
    /// Without where it came from.
    pub fn remembered(&self) -> Remembered {
        Remembered { id: self.id.clone(), text: self.text.clone(), folder: self.folder.clone() }
    }
}

/// Which of the user's statements later sessions remember.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ingest {
    /// None.
    #[default]
    Off,
    /// Only messages with lasting facts.
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

/// A memory was stored or used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum MemoryFact {
    /// The memories that the model sees from now on, if they changed.
    #[serde(rename = "memory.recalled")]
    Recalled { entries: Vec<Remembered> },
    /// The user stated a lasting fact for later sessions.
    #[serde(rename = "memory.noted")]
    Noted { entries: Vec<Remembered> },
}
