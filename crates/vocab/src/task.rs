//! A person's own tasks, and what can be done to them.
//!
//! On the wire they are `todos`; in code, in the guide and on the screen they are tasks, because the `todos`
//! of an answer are the steps of a request ([`crate::Todo`]). The shapes are the documented ones: camelCase,
//! numeric ids, `null` for a day that is not set.

mod fact;
mod operation;
mod outcome;

use serde::{Deserialize, Serialize};

use crate::{Date, Time, TimeOfDay, Weekday};

pub use fact::{TaskAuthor, TaskConflict, TasksFact};
pub use operation::{Operation, RecurrenceFields, ScheduledRange, TaskFields, Where};
pub use outcome::{
    Annotated, Applied, DryRun, OperationResult, Preview, Previewed, Proposed, TaskCounts, TaskLimits, TaskWrite,
    Validation,
};

/// The number of a task. It is never given to another one, even when the task is deleted.
pub type TaskId = u64;

/// A task of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its number.
    pub id: TaskId,
    /// What it is, in a line.
    pub title: String,
    /// What else there is to say.
    #[serde(default)]
    pub notes: String,
    /// What kind of task it is.
    #[serde(default)]
    pub category: Category,
    /// How urgent it is.
    #[serde(default)]
    pub priority: Priority,
    /// The day of the task. For a repeating task, its first day.
    #[serde(default)]
    pub scheduled_for: Option<Date>,
    /// The time of day, in the user's time zone.
    #[serde(default)]
    pub time_of_day: Option<TimeOfDay>,
    /// Whether it is done. A repeating task is done when the whole series is.
    #[serde(default)]
    pub completed: bool,
    /// How it repeats.
    #[serde(default)]
    pub recurrence: Recurrence,
    /// The occurrences that are done, in order.
    #[serde(default)]
    pub completed_dates: Vec<Date>,
    /// Words to find it by.
    #[serde(default)]
    pub tags: Vec<String>,
    /// When it was made.
    pub created_at: Time,
    /// When it last changed.
    pub updated_at: Time,
}

impl Task {
    /// A task with a title, and all else as it is when nothing is said.
    pub fn new(id: TaskId, title: impl Into<String>, now: Time) -> Self {
        Self {
            id,
            title: title.into(),
            notes: String::new(),
            category: Category::default(),
            priority: Priority::default(),
            scheduled_for: None,
            time_of_day: None,
            completed: false,
            recurrence: Recurrence::default(),
            completed_dates: Vec::new(),
            tags: Vec::new(),
            created_at: now,
            updated_at: now,
        }
    }

    /// Whether it repeats.
    pub fn is_repeating(&self) -> bool {
        self.recurrence.kind != Repeat::None
    }
}

/// The category of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// A habit: a missed day is missed, not overdue.
    Habit,
    /// Worked towards.
    Goal,
    /// Done once, or on each of its days.
    #[default]
    Task,
    /// An event, such as a meeting.
    Event,
}

impl Category {
    pub const ALL: [Self; 4] = [Self::Habit, Self::Goal, Self::Task, Self::Event];

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Habit => "habit",
            Self::Goal => "goal",
            Self::Task => "task",
            Self::Event => "event",
        }
    }
}

/// How much a task matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// When there is time.
    Low,
    /// Normal priority.
    #[default]
    Medium,
    /// Before the others.
    High,
}

impl Priority {
    /// All of them, the least first.
    pub const ALL: [Self; 3] = [Self::Low, Self::Medium, Self::High];

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// How a task repeats. Occurrences are counted from the day the task is scheduled for, never from one to the
/// next: what begins on the 31st comes on the last day of a short month and on the 31st again after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recurrence {
    /// The rhythm.
    #[serde(rename = "type", default)]
    pub kind: Repeat,
    /// Interval in days, weeks, months, or years.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub interval: u32,
    /// The weekdays of a weekly recurrence. Empty: the weekday of the first occurrence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weekdays: Vec<Weekday>,
    /// The last possible date. Absent: no end.
    #[serde(default)]
    pub until: Option<Date>,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_one(interval: &u32) -> bool {
    *interval == 1
}

impl Default for Recurrence {
    fn default() -> Self {
        Self { kind: Repeat::None, interval: 1, weekdays: Vec::new(), until: None }
    }
}

/// The rhythm of a task that repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Repeat {
    /// It does not.
    #[default]
    None,
    /// By days.
    Daily,
    /// Monday to Friday.
    Weekdays,
    /// By weeks.
    Weekly,
    /// By months.
    Monthly,
    /// By years.
    Yearly,
}

impl Repeat {
    pub const ALL: [Self; 6] = [Self::None, Self::Daily, Self::Weekdays, Self::Weekly, Self::Monthly, Self::Yearly];

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Daily => "daily",
            Self::Weekdays => "weekdays",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
            Self::Yearly => "yearly",
        }
    }
}

/// Which tasks to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// The tasks of today.
    Today,
    /// The tasks of this week, Monday to Sunday.
    Week,
    /// Open tasks of earlier days.
    Overdue,
    /// Open tasks without a date.
    Backlog,
    /// All that is not done.
    #[default]
    Open,
    /// Everything.
    All,
}

/// A task in a view. A repeating task appears once for each of its days.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Item {
    #[serde(flatten)]
    pub task: Task,
    /// The day of this occurrence, or the day that the task is scheduled for.
    pub date: Option<Date>,
    /// Whether it is done on that day.
    pub done: bool,
    /// Whether that day has passed without it.
    pub overdue: bool,
}

/// How many tasks there are of each sort.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Aggregates {
    /// Number of all tasks.
    pub total: u64,
    /// Number of open tasks.
    pub open: u64,
    /// Number of completed tasks.
    pub completed: u64,
    /// Occurrences today that are not done.
    pub today: u64,
    /// Occurrences this week, Monday to Sunday, that are not done.
    pub this_week: u64,
    /// Number of open tasks whose date has passed.
    pub overdue: u64,
    /// Open ones without a day.
    pub backlog: u64,
    /// Open ones that repeat.
    pub repeating: u64,
    /// Open ones of each priority.
    pub by_priority: PriorityCounts,
    /// Open ones of each category.
    pub by_category: CategoryCounts,
}

/// Open tasks of each priority.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PriorityCounts {
    pub low: u64,
    pub medium: u64,
    pub high: u64,
}

/// Open tasks of each category.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CategoryCounts {
    pub habit: u64,
    pub goal: u64,
    pub task: u64,
    pub event: u64,
}
