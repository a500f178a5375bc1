//! Hooks: programs of the user, or of a project that the user has approved, which run at fixed points of the work.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checkpoint::WithheldResult;
use crate::{CallId, ImageRef};

/// The files of a project that can name hooks, in the order in which they are read.
pub const HOOK_FILES: [&str; 3] = [".claude/settings.json", ".claude/settings.local.json", ".trimtab/hooks.json"];

/// When a hook runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum HookEvent {
    /// A session has its first request.
    SessionStart,
    /// Before the model reads a request.
    UserPromptSubmit,
    /// Before a tool is used.
    PreToolUse,
    /// After a tool was used with success.
    PostToolUse,
    /// Before the user is asked for a permission.
    PermissionRequest,
    /// The user is asked something.
    Notification,
    /// Before a request ends with an answer.
    Stop,
    /// Before the conversation is summarized.
    PreCompact,
    /// The user leaves a session.
    SessionEnd,
    /// A value of a newer version.
    #[default]
    #[serde(other)]
    Unknown,
}

impl HookEvent {
    pub const ALL: [Self; 9] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PermissionRequest,
        Self::Notification,
        Self::Stop,
        Self::PreCompact,
        Self::SessionEnd,
    ];

    /// Its name in files and on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PermissionRequest => "PermissionRequest",
            Self::Notification => "Notification",
            Self::Stop => "Stop",
            Self::PreCompact => "PreCompact",
            Self::SessionEnd => "SessionEnd",
            Self::Unknown => "Unknown",
        }
    }

    /// The event of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }
}

/// A hook as a request knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ListedHook {
    pub event: HookEvent,
    /// Which tools it is for, as a name, names with `|` between them, or a regular expression; empty: all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub matcher: String,
    /// The command line, for a shell.
    pub command: String,
    /// Seconds it may take.
    pub timeout_s: u64,
    /// The work continues if it fails. Otherwise, a failed `PreToolUse` hook asks the user.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub allows_on_failure: bool,
    /// The folder names it; otherwise, it is the user's own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub project: bool,
    /// The hash of the whole entry, and of the folder's files that it names: an approval names it.
    pub hash: String,
    /// Files of the folder that it runs or reads: a change of them changes what it does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Why it cannot be run. It counts as failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl ListedHook {
    /// Whether it runs only as the user has approved it in a folder. The user's own hooks do as well if they run files of the
    /// folder, because a command could have written those.
    pub fn needs_approval(&self) -> bool {
        self.project || !self.files.is_empty()
    }
}

/// What a hook came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HookOutcome {
    /// It has no objection.
    #[default]
    Passed,
    /// It allows the call, so that Trimtab does not ask.
    Allowed,
    /// It wants the user to be asked.
    Asked,
    /// It refuses, or wants the model to continue.
    Blocked,
    /// It crashed, took too long, is missing, said something that cannot be read, or its end is not known.
    Failed,
    /// A value of a newer version.
    #[serde(other)]
    Unknown,
}

/// A hook runs, or has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum HookFact {
    /// A hook is about to run. It is never run again for this.
    #[serde(rename = "hook.started")]
    Started {
        /// This run of it.
        run: CallId,
        event: HookEvent,
        /// Its hash.
        hook: String,
        command: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        project: bool,
        /// The tool call that it is about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The result of that call, which waits for the hooks after it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Box<WithheldResult>>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageRef>,
    },
    /// A hook has ended.
    #[serde(rename = "hook.finished")]
    Finished {
        run: CallId,
        outcome: HookOutcome,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// Why it refuses or asks, or how it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The arguments that it puts in the place of those of the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Value>,
        /// What the model reads because of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The result of the call with the files as the hook has left them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Box<WithheldResult>>,
    },
}
