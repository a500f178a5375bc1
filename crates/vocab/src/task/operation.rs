//! What can be done to tasks: eight operations, for people and assistants alike.

use serde::{Deserialize, Deserializer, Serialize};

use super::{Category, Priority, Repeat, TaskId};
use crate::{Date, TimeOfDay, Weekday};

/// One operation on a task, or on all tasks that match a filter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Operation {
    /// Create a task.
    Create {
        /// What it is to be.
        #[serde(flatten)]
        fields: TaskFields,
    },
    /// Update a task.
    Update {
        id: TaskId,
        /// What changes; the rest stays.
        #[serde(flatten)]
        fields: TaskFields,
    },
    /// Removes a task.
    Delete { id: TaskId },
    /// Says that a task is done, or not.
    Complete {
        id: TaskId,
        /// Whether the task is done. The default is true.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        completed: Option<bool>,
    },
    /// Says that one occurrence of a task that repeats is done, or not.
    CompleteOccurrence {
        id: TaskId,
        /// Date of the occurrence.
        occurrence_date: Date,
        /// Whether the task is done. The default is true.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        completed: Option<bool>,
    },
    /// Changes all tasks that fit.
    BulkUpdate {
        r#where: Where,
        /// What changes; the rest stays.
        set: TaskFields,
    },
    /// Mark all matching tasks as done or not done. With a range of dates, recurring tasks are marked only on these
    /// dates.
    BulkComplete {
        r#where: Where,
        /// Whether the tasks are done. The default is true.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        completed: Option<bool>,
    },
    /// Removes all tasks that fit.
    BulkDelete { r#where: Where },
}

impl Operation {
    /// Its name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Create { .. } => "create",
            Self::Update { .. } => "update",
            Self::Delete { .. } => "delete",
            Self::Complete { .. } => "complete",
            Self::CompleteOccurrence { .. } => "complete_occurrence",
            Self::BulkUpdate { .. } => "bulk_update",
            Self::BulkComplete { .. } => "bulk_complete",
            Self::BulkDelete { .. } => "bulk_delete",
        }
    }

    /// The one task that it is about, if it is about one that exists already.
    pub fn id(&self) -> Option<TaskId> {
        match self {
            Self::Update { id, .. }
            | Self::Delete { id }
            | Self::Complete { id, .. }
            | Self::CompleteOccurrence { id, .. } => Some(*id),
            Self::Create { .. } | Self::BulkUpdate { .. } | Self::BulkComplete { .. } | Self::BulkDelete { .. } => None,
        }
    }

    /// Whether it removes tasks.
    pub fn is_delete(&self) -> bool {
        matches!(self, Self::Delete { .. } | Self::BulkDelete { .. })
    }
}

/// Fields of a task to set. Absent fields do not change. `null` clears a date or a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskFields {
    /// The new title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The new notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// The new category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// The priority: low, medium, or high.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The date. `null` removes it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub scheduled_for: Option<Option<Date>>,
    /// The time of day, in the user's time zone. `null` removes it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub time_of_day: Option<Option<TimeOfDay>>,
    /// Whether the task is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<bool>,
    /// How the task repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recurrence: Option<RecurrenceFields>,
    /// The dates on which a recurring task is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_dates: Option<Vec<Date>>,
    /// The new tags. They replace all tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

impl TaskFields {
    /// Whether nothing is to be set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Fields of a recurrence to set. They are merged into the current one. Without an end, it ends with the
/// current year. `null` removes the end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecurrenceFields {
    /// How often it repeats: daily, weekly, monthly, or yearly.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Repeat>,
    /// Interval in days, weeks, months, or years.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<u32>,
    /// The weekdays of a weekly recurrence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weekdays: Option<Vec<Weekday>>,
    /// The last possible date. `null` removes the end.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub until: Option<Option<Date>>,
}

/// Tells a field that is `null` from one that is absent.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// A filter for tasks. All conditions must match. An empty filter matches every task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Where {
    /// IDs of the tasks. An empty list matches no task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<TaskId>>,
    /// Words that its title, notes, or tags contain, each complete or as the beginning of a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// It is scheduled for one of these days. For a repeating task, the first day counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduled_range: Option<ScheduledRange>,
    /// Tasks with this priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Tasks of this category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// It has this tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Whether it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed: Option<bool>,
    /// Whether it repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeating: Option<bool>,
}

impl Where {
    /// Whether it fits every task: it says nothing, or only what holds for all of them, such as a range without ends
    /// or a text without words.
    pub fn is_everything(&self) -> bool {
        let is_blank = self.text.as_deref().is_none_or(|text| !text.contains(char::is_alphanumeric));
        let is_open = self.scheduled_range.is_none_or(|range| range == ScheduledRange::default());
        is_blank && is_open && Self { text: None, scheduled_range: None, ..self.clone() } == Self::default()
    }
}

/// Days from one to another, both included; an end that is not there is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScheduledRange {
    /// The first day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Date>,
    /// The last day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Date>,
}

impl ScheduledRange {
    /// Whether a day lies in it.
    pub fn contains(&self, date: Date) -> bool {
        self.from.is_none_or(|from| from <= date) && self.to.is_none_or(|to| date <= to)
    }
}
