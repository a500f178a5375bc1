//! Checks: commands that run after edits, so that the model and the user see at once whether the folder still builds.

use serde::{Deserialize, Serialize};

use crate::CallId;

/// The display name of a check, which is a call of `run_command`.
pub const CHECK_TOOL: &str = "check";

/// Whether checks run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckMode {
    /// Never.
    #[default]
    Off,
    /// As the same command of a model would: most ask first.
    Ask,
    /// Without asking, if the command policy knows the command or the sandbox holds it.
    On,
}

impl CheckMode {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Ask => "ask",
            Self::On => "on",
        }
    }

    /// The same, if everything asks.
    pub const fn asked(self) -> Self {
        match self {
            Self::On => Self::Ask,
            other => other,
        }
    }

    /// The mode of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Off, Self::Ask, Self::On].into_iter().find(|mode| mode.name() == name)
    }
}

/// Who names a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CheckSource {
    /// The user's settings.
    User,
    /// The settings of the folder. It runs only as the user has approved it.
    Project,
    /// A file of the folder, such as `Cargo.toml`, from which the check follows.
    Found,
    /// A value of a newer version.
    #[default]
    #[serde(other)]
    Unknown,
}

impl CheckSource {
    pub const fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Found => "found",
            Self::Unknown => "unknown",
        }
    }
}

/// A check as a request knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ListedCheck {
    /// The command line.
    pub command: String,
    pub source: CheckSource,
    /// The hash of the entry, and of the folder's files that it names: an approval of a project's check names it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hash: String,
    /// Files of the folder that it names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The ends of file names after whose changes it runs; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

impl ListedCheck {
    /// Whether a change of this file is a reason to run it.
    pub fn is_about(&self, path: &str) -> bool {
        self.after.is_empty() || self.after.iter().any(|end| path.ends_with(end.as_str()))
    }
}

/// The checks of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CheckSettings {
    pub mode: CheckMode,
    /// The checks, in the order in which they run.
    #[serde(rename = "commands", skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<ListedCheck>,
}

impl CheckSettings {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How a check ended, as the first line of its result says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOutcome {
    Passed,
    Failed,
    NotRun,
    Stopped,
}

impl CheckOutcome {
    const ALL: [Self; 4] = [Self::Passed, Self::Failed, Self::NotRun, Self::Stopped];

    const fn words(self) -> &'static str {
        match self {
            Self::Passed => "Check passed",
            Self::Failed => "Check failed",
            Self::NotRun => "Check not run",
            Self::Stopped => "Check stopped",
        }
    }

    /// The first line of the result of a check, which tells the model what it is about.
    pub fn head(self, command: &str) -> String {
        format!("{}: `{command}`", self.words())
    }

    /// The result of a check without its first line, which a person reads elsewhere; nothing if it is not of a check.
    pub fn rest_of(result: &str) -> Option<&str> {
        let (first, rest) = result.split_once('\n').unwrap_or((result, ""));
        let is_head = |outcome: Self| first.strip_prefix(outcome.words()).is_some_and(|rest| rest.starts_with(": `"));
        (first.ends_with('`') && Self::ALL.into_iter().any(is_head)).then_some(rest)
    }
}

/// A check that runs now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DueCheck {
    /// The call that it runs as.
    pub call: CallId,
    pub command: String,
    #[serde(default)]
    pub source: CheckSource,
}
