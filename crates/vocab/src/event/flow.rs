//! Facts about what a request is to be: the path it takes, its plan, what waits for a person and what a person has
//! decided.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checkpoint::{Ask, Choice, read_choices};
use crate::{
    Analysis, Category, CheckpointId, CopyStats, FileWrite, LeftBehind, Plan, Problem, Requirements, Rule, Selection,
    SessionId, StepStatus, SubtaskStatus, Todo, Usage, WorkerQuestion,
};

single! {
    /// Which path a request takes, and why.
    RouteFact = "route" {
        /// The path.
        pub decision: RouteDecision,
        /// How sure the router is, 0 to 1.
        pub confidence: f64,
        /// How much work it looks like, 0 to 100.
        pub complexity: u8,
        /// The groups of tools that it might need.
        #[serde(default)]
        pub categories: Vec<String>,
        pub reason: String,
        /// What the words name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub entities: Option<Value>,
        /// Which tasks they are about.
        #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
        pub filter: Option<Value>,
        /// What kind of task they are about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub category: Option<Category>,
        /// What the task looks like, if it was looked at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub analysis: Option<Analysis>,
    }
}

/// The paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RouteDecision {
    /// Words only.
    Chat,
    /// Straight to work.
    Direct,
    /// A plan first.
    Plan,
    /// A question first.
    Clarify,
    /// Generate an image.
    Image,
}

single! {
    /// A message asks to start the work.
    IntentFact = "intent" {
        /// What they want: `implement`.
        pub intent: String,
        /// The phrase that asks for it. Empty: it was not asked for in words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub phrase: String,
        /// Whether it is acted upon.
        pub accepted: bool,
        /// What the model is sent because of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub message: Option<String>,
    }
}

single! {
    /// The summary of a discussion, before the work starts.
    RequirementsFact = "requirements" {
        /// What was understood.
        #[serde(flatten)]
        pub requirements: Requirements,
    }
}

/// The plan or the to-dos of a request, with the progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum PlanFact {
    /// A plan, or another version of it.
    #[serde(rename = "plan.proposed")]
    Proposed {
        /// From 1; earlier versions stay in the log.
        version: u32,
        #[serde(flatten)]
        plan: Plan,
        /// Whose it is: `model` or `user`.
        by: String,
    },
    /// The work on the plan begins.
    #[serde(rename = "plan.started")]
    Started {
        version: u32,
        /// Who or what let it: `user`, `approve auto`, `setting`.
        by: String,
    },
    /// A step began or ended.
    #[serde(rename = "plan.step")]
    Step {
        step: String,
        /// Its place in the order of work, from 1.
        number: u32,
        /// How many there are.
        of: u32,
        /// What it is about.
        title: String,
        /// The current state.
        status: StepStatus,
        /// The model's note.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
        /// What the model is sent when it begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
}

/// A question, an approval prompt, or a plan was opened or answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum CheckpointFact {
    /// It waits.
    #[serde(rename = "checkpoint.opened")]
    Opened {
        /// Its permanent name.
        checkpoint: CheckpointId,
        /// What sort of answer it waits for.
        kind: CheckpointKind,
        /// The question.
        title: String,
        /// The answers to choose from.
        #[serde(deserialize_with = "read_choices")]
        choices: Vec<Choice>,
        /// The worker that asks it, where it is not the session itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worker: Option<Box<WorkerQuestion>>,
        /// What it asks about.
        #[serde(flatten)]
        ask: Ask,
    },
    /// It was answered.
    #[serde(rename = "checkpoint.resolved")]
    Resolved {
        checkpoint: CheckpointId,
        /// The answer.
        choice: String,
        /// Words that came with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Who gave it: [`CheckpointFact::PERSON`], or what answered in their place.
        by: String,
        /// Where the user gave it: `run`, `tui`, `http`, …
        #[serde(default, skip_serializing_if = "Option::is_none")]
        surface: Option<String>,
        /// The message to the model, if it differs from `text`. Empty: no message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The tasks that it chooses, in a request about tasks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        selection: Option<Selection>,
    },
}

impl CheckpointFact {
    /// Who gave an answer that a person gave.
    pub const PERSON: &str = "user";
}

/// The sorts of checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckpointKind {
    Permission,
    Clarification,
    Plan,
    Step,
    Satisfaction,
    Confirm,
    Recovery,
    Handoff,
    Unknown,
}

/// The user added or removed a rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum RuleFact {
    /// The rules as they are, when they are not as the session knew them.
    #[serde(rename = "rule.known")]
    Known { rules: Vec<Rule> },
    /// A new one.
    #[serde(rename = "rule.added")]
    Added { rule: Rule },
    /// A rule that was removed.
    #[serde(rename = "rule.removed")]
    Removed { rule: Rule },
}

single! {
    /// The current list of steps.
    StepsFact = "steps" {
        /// All of them, in order.
        pub todos: Vec<Todo>,
    }
}

single! {
    /// A part of the work moved on.
    SubtaskFact = "subtask" {
        /// Which part.
        pub subtask: String,
        /// The current state.
        pub status: SubtaskStatus,
        /// 0 to 1.
        pub progress: f64,
        /// Parts that must end first.
        #[serde(default)]
        pub depends_on: Vec<String>,
        /// Who works on it.
        pub model: String,
        /// The cost of all attempts.
        #[serde(default)]
        pub usage: Usage,
        /// The session of its worker.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub worker: Option<SessionId>,
        /// Which try it is, from 1.
        #[serde(default, skip_serializing_if = "is_none_yet")]
        pub attempt: u32,
        /// The worker's final summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub summary: Option<String>,
        /// What it makes of the files, once it is completed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub writes: Vec<FileWrite>,
        /// Why it could not be done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub error: Option<Problem>,
        /// Dollars of the budget that are set aside for its worker.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub reserved_usd: Option<f64>,
        /// What its worker's copy of the folder took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub copy: Option<CopyStats>,
        /// What its worker made that is not merged, once it is completed.
        #[serde(default, skip_serializing_if = "LeftBehind::is_empty")]
        pub left_behind: LeftBehind,
    }
}

fn is_none_yet(attempt: &u32) -> bool {
    *attempt == 0
}
