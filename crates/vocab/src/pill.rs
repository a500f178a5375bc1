//! A workflow that a person wrote down once and calls by its name.

use serde::{Deserialize, Serialize};

use crate::Mode;

/// A pill as a request runs it. Part of the record, so that a later reader sees what the model was sent,
/// even if the file has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Pill {
    /// What it was called by, without the slash.
    pub name: String,
    /// The file that it was read from.
    pub from: String,
    /// What the model is sent in place of the person's words: the file's text with the arguments in it.
    pub text: String,
    /// The path it chooses.
    #[serde(default)]
    pub mode: Mode,
    /// The groups of tools that it needs. Empty: the groups of its route.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// The only tools that it can use. Empty: all tools of its groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The skill that it loads. Absent: it has its own text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
}
