//! A request about the user's tasks: how it was put, what the model was shown of the tasks, what came of it.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{Date, Priority, Repeat, TaskId, TaskLimits, Time, TimeOfDay};

/// Options of a request about the tasks. With them, the task assistant answers the request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Ask"))]
#[serde(rename_all = "camelCase", default)]
pub struct AssistantRequest {
    /// The surface it came from.
    pub via: Via,
    /// The earlier conversation according to the client. Absent: according to the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<Vec<Said>>,
    /// The question that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clarify: Option<Prior>,
}

/// The surface that a request about the tasks came from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Via {
    /// The command line.
    #[default]
    Cli,
    /// `POST /api/assistant/message`.
    Post,
    /// `GET /api/assistant/message/stream`.
    Sse,
    /// A door of a newer version.
    #[serde(other)]
    Unknown,
}

impl Via {
    /// Its name in the audit.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Post => "post",
            Self::Sse => "sse",
            Self::Unknown => "unknown",
        }
    }
}

/// One turn of a conversation, as a client tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Said {
    /// Who spoke: `user` or `assistant`.
    #[serde(default, skip_serializing_if = "String::is_empty", deserialize_with = "or_default")]
    pub role: String,
    /// The message as plain text.
    #[serde(default, skip_serializing_if = "String::is_empty", deserialize_with = "or_default")]
    pub text: String,
}

/// A question of the assistant that a message answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prior {
    /// What was asked.
    #[serde(default, skip_serializing_if = "String::is_empty", deserialize_with = "or_default")]
    pub question: String,
    /// The selected options, if the answer was not only text.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
}

/// The options that the user selected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Selection {
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<TaskId>,
    /// This day.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub date: Option<Date>,
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
}

impl Selection {
    /// Whether nothing was chosen.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.date.is_none() && self.priority.is_none()
    }
}

/// What words name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Entities {
    /// A day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<Date>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<TaskId>,
    /// What a task is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Entities {
    /// Whether nothing is named.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The tasks as a model is shown them, on a day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TasksView {
    /// When they were looked at.
    pub now: Time,
    /// Which day that is where the person is.
    pub today: Date,
    pub timezone: String,
    /// As much of them as the model is shown.
    pub shown: TasksShown,
}

/// The part of the tasks that a model sees. An absent part was not requested.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct TasksShown {
    /// The tasks of this week, Monday to Sunday.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub week: Option<WeekShown>,
    /// Open tasks of earlier weeks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overdue: Option<Vec<TaskShown>>,
    /// What a request is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focused: Option<Vec<TaskShown>>,
    /// The most important tasks, if the request does not name any.
    #[serde(rename = "topK", skip_serializing_if = "Option::is_none")]
    pub top: Option<Vec<TaskShown>>,
    /// Some of the tasks without a date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlog: Option<Vec<TaskShown>>,
    /// How many there are of each sort.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregates: Option<Value>,
}

/// The days that a view of the tasks shows, from a Monday to a Sunday.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WeekShown {
    /// Its Monday.
    pub from: Date,
    /// Its Sunday.
    pub to: Date,
    /// The tasks of the week.
    pub items: Vec<TaskShown>,
}

/// A task as a model is shown it: short, and without what it does not need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TaskShown {
    /// Its number.
    pub id: TaskId,
    /// The title of the task.
    pub title: String,
    /// The day it is planned for.
    #[serde(default)]
    pub scheduled_for: Option<Date>,
    /// The time of that day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_of_day: Option<TimeOfDay>,
    /// How urgent it is.
    pub priority: Priority,
    /// It is done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub completed: bool,
    /// How it repeats, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Repeat>,
}

/// How the assistant over the tasks works: the settings under `assistant`, and what it needs of those of the tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AutoMode {
    /// Whether the mode `auto` asks the router; otherwise it plans.
    pub auto_mode: bool,
    /// Below this confidence a question is asked.
    pub clarify_below: f64,
    /// Above it changes are planned; between the two the answer is in words.
    pub plan_above: f64,
    /// Whether keywords such as "delete" and "why" influence the decision.
    pub keyword_rules: bool,
    /// Whether an answer in words offers to make the changes that it is about.
    pub suggest_changes: bool,
    /// Maximum number of operations in a plan.
    pub max_operations: u32,
    /// Tasks to choose from that a question offers.
    pub max_options: u32,
    /// Whether the text of a question also lists the options, for clients that show only the text.
    pub inline_options: bool,
    /// Whether a provider is held to the schema, where it can be; otherwise to JSON alone.
    pub strict_schema: bool,
    /// For how many minutes a confirmed scope also applies to short requests.
    pub remember_scope_min: u32,
    /// How much of a model's text the audit trail keeps.
    pub audit_raw: Raw,
    /// The name of the person's time zone; empty: the machine's.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub timezone: String,
    /// Above these numbers, the user gets a warning.
    pub limits: TaskLimits,
}

impl Default for AutoMode {
    fn default() -> Self {
        Self {
            auto_mode: true,
            clarify_below: 0.45,
            plan_above: 0.70,
            keyword_rules: true,
            suggest_changes: true,
            max_operations: 8,
            max_options: 7,
            inline_options: false,
            strict_schema: true,
            remember_scope_min: 10,
            audit_raw: Raw::Truncated,
            timezone: String::new(),
            limits: TaskLimits::default(),
        }
    }
}

impl AutoMode {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A request about the tasks moved on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum AskFact {
    /// The tasks were looked at; this is what the model is shown of them.
    #[serde(rename = "ask.viewed")]
    Viewed {
        #[serde(flatten)]
        view: Box<TasksView>,
    },
    /// Operations that were wrong were to be repaired, once.
    #[serde(rename = "ask.repaired")]
    Repaired {
        /// Its result.
        outcome: RepairOutcome,
        /// How many operations there are after it.
        operations: u32,
        /// How many of them are still wrong.
        invalid: u32,
    },
}

/// The result of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RepairOutcome {
    /// All are right now.
    Success,
    /// Some are still invalid; the valid ones are used.
    Failed,
    /// The repair call failed.
    Error,
}

/// How much of a model's text the audit trail keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Raw {
    /// Nothing.
    Off,
    /// The first of them.
    #[default]
    Truncated,
    /// All, within reason.
    Full,
}

/// What a client sends that is not of the kind that is wanted counts as nothing: a wrong field of a continuation
/// must not cost the person their message.
fn or_default<'de, D: Deserializer<'de>, T: Default + for<'v> Deserialize<'v>>(deserializer: D) -> Result<T, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(T::deserialize(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_continuation_is_read_with_and_without_what_may_be_null() {
        let read = |text: &str| serde_json::from_str::<Prior>(text).expect("reads");
        let prior = read(r#"{"question":"Which items?","selection":{"ids":[123,456],"date":null,"priority":"high"}}"#);
        let selection = prior.selection.expect("one");
        assert_eq!((selection.ids, selection.date, selection.priority), (vec![123, 456], None, Some(Priority::High)));
        assert_eq!(read(r#"{"question":"Which?"}"#), Prior { question: "Which?".into(), selection: None });
        assert_eq!(read(r#"{"question":7,"selection":"all"}"#), Prior::default());
        let odd = read(r#"{"question":"W","selection":{"ids":"1","date":"2026-13-01","priority":"urgent"}}"#);
        assert!(odd.selection.is_some_and(|selection| selection.is_empty()));
    }
}
