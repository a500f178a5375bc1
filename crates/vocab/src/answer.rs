//! The structured answer: what a turn comes to.

use serde::{Deserialize, Serialize};

/// What a person gets. A plain reply has a summary and nothing else.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Answer {
    /// The reply in words.
    pub summary: String,
    /// Further parts under headings.
    pub sections: Vec<Section>,
    /// Steps of the work.
    pub todos: Vec<Todo>,
    /// Changes the model would like to make to files.
    pub file_changes: Vec<FileChange>,
    /// Commands the model would like to run.
    pub commands: Vec<CommandProposal>,
    /// What the person could say next.
    pub next_steps: Vec<NextStep>,
    /// What the tools came to, when tools were used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synthesis: Option<Synthesis>,
    /// The reply ended before the model was done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// No change of it may be made, though it was not cut off: one of them could not be read for certain.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub blocked: bool,
    /// What had to be repaired to read the reply; absent when nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovered: Option<Vec<String>>,
}

/// What the tools of a turn came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Synthesis {
    /// `synthesis_<message id>`, or `agent_<n>_<message id>` for agent number n.
    pub id: String,
    /// The text.
    pub text: String,
}

/// A part of an answer under a heading.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// Its text.
    pub content: String,
    /// Code that belongs to it.
    pub code_blocks: Vec<CodeBlock>,
}

/// Code in an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CodeBlock {
    /// What it is written in.
    pub language: String,
    /// The code.
    pub code: String,
}

/// A step of the work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Todo {
    /// What is to be done.
    pub text: String,
    /// Whether it is.
    pub completed: bool,
}

/// A change a model would like to make to a file: exactly one of the three is set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FileChange {
    /// The file.
    pub path: String,
    /// Its whole new content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// A unified diff to apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Delete it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<bool>,
}

/// A command a model would like to run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CommandProposal {
    /// The command line.
    pub command: String,
    /// What it is for.
    pub description: String,
}

/// Something a person could say next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct NextStep {
    /// How it is shown.
    pub html: String,
    /// What it puts into the input.
    pub input_text: String,
}
