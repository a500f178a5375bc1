//! What happened to tasks. These facts stand in the log of one session, which holds the tasks' change history.

use serde::{Deserialize, Serialize};

use super::{TaskCounts, TaskId, TaskWrite};
use crate::ChangeSetId;

/// Tasks changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum TasksFact {
    /// Operations were applied, all of them in one step.
    #[serde(rename = "tasks.applied")]
    Applied {
        /// The name by which it can be undone.
        change_set: ChangeSetId,
        /// Who wanted it.
        by: TaskAuthor,
        /// How much changed.
        summary: TaskCounts,
        /// Each task before and after the change.
        writes: Vec<TaskWrite>,
        /// The change set that it undoes, independent of later ones.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        undoes: Option<ChangeSetId>,
    },
    /// The last applied change set was undone.
    #[serde(rename = "tasks.reverted")]
    Reverted {
        change_set: ChangeSetId,
        /// Each task before and after the change.
        writes: Vec<TaskWrite>,
    },
    /// An undone change set was redone.
    #[serde(rename = "tasks.reapplied")]
    Reapplied {
        change_set: ChangeSetId,
        /// Each task before and after the change.
        writes: Vec<TaskWrite>,
    },
}

/// Who wanted tasks to change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TaskAuthor {
    /// A person, by hand.
    #[default]
    Person,
    /// The assistant, with the user's approval.
    Assistant,
    /// A calendar that was read in.
    Import,
    /// Somebody whom this version does not know.
    #[serde(other)]
    Other,
}

/// A task that stands in the way of a move of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskConflict {
    /// Its number.
    pub id: TaskId,
    /// Its title, as it is now.
    pub title: String,
    /// What has changed since.
    pub fields: Vec<String>,
}
