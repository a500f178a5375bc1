//! Facts about tools and commands, and what came of them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    BackgroundEnd, BackgroundId, BackgroundReason, CallId, CommandClass, DueCheck, FileMark, HostAttempt, ImageRef,
    ListedServer, OpenPort, RefKey, Sandbox, Series, SnapshotLimits, StoppedBy, Unobserved,
};

/// A tool was used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum ToolFact {
    #[serde(rename = "tool.started")]
    Started {
        call: CallId,
        /// The tool.
        name: String,
        /// Its arguments.
        input: Value,
        /// Display name if it differs from the name: `SERVER: tool` for a tool of an MCP server.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// The user stops it; the other calls continue.
    #[serde(rename = "tool.stopping")]
    Stopping { call: CallId },
    /// It ended.
    #[serde(rename = "tool.finished")]
    Finished {
        call: CallId,
        status: ToolStatus,
        /// As much of the result as the model sees.
        preview: String,
        /// The result whole.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        full: Option<RefKey>,
        /// Images that the model sees.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageRef>,
        /// Files whose content it has seen, as they were.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<FileMark>,
    },
}

/// How a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    Ok,
    Partial,
    Error,
    Blocked,
    Interrupted,
}

/// The tools of MCP servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum McpFact {
    /// Servers of the session and their tools, whenever they change.
    #[serde(rename = "mcp.listed")]
    Listed {
        /// New and changed servers. The others are as they were recorded before.
        servers: Vec<ListedServer>,
        /// Names of the removed servers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gone: Vec<String>,
        /// The tools are not in the prompt: the model finds them with `find_tool`, and calls them with `use_tool`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        deferred: bool,
    },
    /// The intent to call a tool, recorded before the server is called.
    #[serde(rename = "mcp.called")]
    Called { call: CallId, server: String, tool: String },
}

/// A command ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum CommandFact {
    /// The intent, recorded before it runs.
    #[serde(rename = "command.started")]
    Started {
        /// The tool call that it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The command line as approved.
        command: String,
        /// The executed arguments.
        argv: Vec<String>,
        cwd: String,
        /// Hash of everything that determines what is executed. An approval is bound to it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fingerprint: Option<String>,
        /// A person edited the command before it ran; this is what the model had asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited_from: Option<String>,
        /// `off`: it runs outside of the sandbox. Absent: inside.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox: Option<Sandbox>,
        /// It runs without approval: what it needs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        automatic: Option<CommandClass>,
        /// It is started as a background command.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        background: bool,
    },
    /// It continues in the background: its tool call ends, and the command does not.
    #[serde(rename = "command.background")]
    Background {
        call: CallId,
        /// Its ID in the session.
        id: BackgroundId,
        /// The command line.
        command: String,
        /// A name that the model gave it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        why: BackgroundReason,
        /// Where its output is stored, from time to time and at its end.
        #[serde(rename = "ref")]
        output: RefKey,
        /// The limits of the snapshot before the command. Absent: file changes are not recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        watch: Option<SnapshotLimits>,
    },
    /// The output or the port that a background command was to be ready with appeared.
    #[serde(rename = "command.ready")]
    Ready { call: CallId, id: BackgroundId },
    /// A background command listens on a port.
    #[serde(rename = "command.port")]
    Port {
        call: CallId,
        id: BackgroundId,
        #[serde(flatten)]
        port: OpenPort,
    },
    /// Trimtab is about to end a background command.
    #[serde(rename = "command.stopping")]
    Stopping { call: CallId, id: BackgroundId, by: StoppedBy },
    /// Partial output. Live only.
    #[serde(rename = "command.output")]
    Output {
        /// The tool call that it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The output.
        text: String,
    },
    /// It ended.
    #[serde(rename = "command.finished")]
    Finished {
        /// The tool call that it was for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The command line.
        command: String,
        /// Absent when a signal ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The signal that ended it, by its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<String>,
        /// It was ended for taking too long.
        timed_out: bool,
        /// Milliseconds it took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// As much of the output as is shown.
        preview: String,
        /// The output whole.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        full: Option<RefKey>,
        /// What it did to files is not known, and why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unobserved: Option<Unobserved>,
        /// It was a background command: its ID, and why it ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        background: Option<BackgroundEnd>,
        /// Hosts that it reached or tried to reach through the proxy.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        hosts: Vec<HostAttempt>,
    },
}

single! {
    /// The calls of a reply changed files: these commands check the folder, and their results go to the model with those
    /// of the calls.
    ChecksFact = "checks" {
        pub checks: Vec<DueCheck>,
    }
}

single! {
    /// Several commands of one answer, as they stand: all that a panel shows of them.
    CommandsFact = "commands" {
        /// The commands.
        #[serde(flatten)]
        pub series: Series,
        /// The lines about the command that has just ended.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub progress: String,
        /// The reason for this state, from the model, the user, or a rule.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub reason: String,
        /// What the model is sent because of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub message: Option<String>,
    }
}

single! {
    /// The results of a batch of tool calls.
    ReflectionFact = "reflection" {
        /// One entry per tool.
        pub entries: Vec<ReflectionEntry>,
        /// The entries as the model is sent them, with the results.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub message: Option<String>,
    }
}

/// The result of one tool call. Field names are the documented ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReflectionEntry {
    pub tool: String,
    pub status: ToolStatus,
    pub finding: String,
    pub next_action: String,
}
