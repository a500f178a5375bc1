//! Work that is agreed on before it is done: what was understood, and the steps of a plan.

use serde::{Deserialize, Serialize};

/// A plan: the work, step by step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Plan {
    /// What it comes to, in a sentence or two.
    pub summary: String,
    /// The steps, in the order in which they are listed.
    pub steps: Vec<PlanStep>,
    /// Assumptions of the plan.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
}

/// One step of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct PlanStep {
    /// Names it within its plan, through all its versions.
    pub id: String,
    /// The step in one line.
    pub title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub details: String,
    /// Files it touches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Commands it runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Steps that must end first, by their ids.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The model's estimate of the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<String>,
}

/// The state of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// It is worked on.
    Running,
    Done,
    /// A person left it out.
    Skipped,
    /// The model could not do it.
    Failed,
}

/// The summary of a discussion, before the work starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Requirements {
    /// The requirements in a few sentences.
    pub summary: String,
    /// What it must do, a line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
    /// What the person decided on the way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<String>,
    /// Open questions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
}
