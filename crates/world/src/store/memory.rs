//! Changes of the memories that later sessions get.

use trimtab_vocab::{MemoryEntry, MemoryId, Time};

use super::AuditEntry;

/// A change that the user makes to a memory.
#[derive(Debug, Clone, PartialEq)]
pub enum MemoryChange {
    /// Remember this.
    Add(MemoryEntry),
    /// It is meant otherwise.
    Edit {
        id: MemoryId,
        /// Its new words; absent: as they are.
        text: Option<String>,
        /// Where it holds from now on: a folder, or everywhere; absent: where it did.
        folder: Option<Option<String>>,
        at: Time,
    },
    /// Forget it.
    Delete(MemoryId),
}

impl MemoryChange {
    /// The entry after the change, and whether it is deleted.
    #[must_use]
    pub fn apply(self, known: Option<MemoryEntry>) -> Option<(MemoryEntry, bool)> {
        match (self, known) {
            (Self::Add(entry), _) => Some((entry, false)),
            (Self::Delete(_), Some(entry)) => Some((entry, true)),
            (Self::Edit { text, folder, at, .. }, Some(known)) => {
                let entry = MemoryEntry {
                    text: text.unwrap_or(known.text),
                    folder: folder.unwrap_or(known.folder),
                    edited: Some(at),
                    ..known
                };
                Some((entry, false))
            }
            (_, None) => None,
        }
    }

    /// The entry that it is about.
    pub fn id(&self) -> &MemoryId {
        match self {
            Self::Add(entry) => &entry.id,
            Self::Edit { id, .. } | Self::Delete(id) => id,
        }
    }

    /// The audit entry. Without the text, because the trail is permanent, and what is deleted must be gone.
    #[must_use]
    pub fn audit(&self) -> AuditEntry {
        let action = match self {
            Self::Add(_) => "memory_added",
            Self::Edit { .. } => "memory_edited",
            Self::Delete(_) => "memory_deleted",
        };
        AuditEntry::new(action, serde_json::json!({"memory": self.id(), "result": "ok"}))
    }
}

/// Texts that say the same are remembered once.
pub(super) fn same(text: &str) -> String {
    text.trim().to_lowercase()
}
