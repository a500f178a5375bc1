//! Going back to an earlier message of a conversation.

use serde::{Deserialize, Serialize};

use crate::SessionId;

/// What is restored when the user goes back to an earlier message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum RewindScope {
    /// The conversation and the files.
    #[default]
    Both,
    /// The conversation. The files stay as they are.
    Conversation,
    /// The files. The conversation stays as it is.
    Files,
}

impl RewindScope {
    pub fn has_files(self) -> bool {
        self != Self::Conversation
    }

    pub fn has_conversation(self) -> bool {
        self != Self::Files
    }
}

/// Change sets of a session that were undone or redone together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileRewind {
    /// The session whose change history moved.
    pub session: SessionId,
    /// How many change sets. Below 0: undone. Above 0: redone.
    pub by: i64,
}

impl FileRewind {
    /// The move that takes it back.
    pub fn reversed(&self) -> Self {
        Self { session: self.session.clone(), by: -self.by }
    }
}
