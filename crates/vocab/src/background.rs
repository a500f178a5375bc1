//! Commands that continue in the background, after their tool call has ended.

use serde::{Deserialize, Serialize};

use crate::{BackgroundId, CallId, RefKey, SessionId, Time};

/// Why a command is in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BackgroundReason {
    /// The model started it there.
    Started,
    /// The user moved it there while it ran.
    Moved,
    /// Its time was up, and the user let it continue there.
    Overtime,
    /// A reason of a newer version.
    #[serde(other)]
    Unknown,
}

/// Who stopped a background command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    Model,
    User,
    /// The session ended here: the program exits, or the session was handed off.
    Session,
    /// Trimtab was killed, and the command ended with it.
    Program,
    /// Somebody of a newer version.
    #[serde(other)]
    Unknown,
}

/// How a background command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackgroundEnd {
    pub id: BackgroundId,
    pub why: BackgroundEndReason,
}

/// Why a background command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BackgroundEndReason {
    /// It exited, or a signal ended it, and Trimtab had not stopped it.
    Exited,
    /// The model stopped it.
    Model,
    /// The user stopped it.
    User,
    /// The session ended.
    Session,
    /// Trimtab was killed, and the command ended with it.
    Killed,
    /// A reason of a newer version.
    #[serde(other)]
    Unknown,
}

impl From<StoppedBy> for BackgroundEndReason {
    fn from(by: StoppedBy) -> Self {
        match by {
            StoppedBy::Model => Self::Model,
            StoppedBy::User => Self::User,
            StoppedBy::Session => Self::Session,
            StoppedBy::Program => Self::Killed,
            StoppedBy::Unknown => Self::Unknown,
        }
    }
}

/// A port that a background command listens on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OpenPort {
    pub port: u16,
    /// Whether a browser on this machine reaches it at this number. A port in the sandbox has no way in until it is opened.
    pub reachable: bool,
    /// The port of this machine that leads to it, while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarded: Option<u16>,
    /// The name under which that port answers.
    #[serde(default, skip_serializing_if = "LoopbackName::is_default")]
    pub host: LoopbackName,
}

/// What a browser can call this machine. Its cookies belong to the name, not to a port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoopbackName {
    /// `localhost`.
    #[default]
    Localhost,
    /// `127.0.0.1`.
    Address,
}

impl LoopbackName {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Localhost => "localhost",
            Self::Address => "127.0.0.1",
        }
    }

    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl OpenPort {
    /// Its address, if there is a way to it.
    pub fn url(self) -> Option<String> {
        let port = self.forwarded.or_else(|| self.reachable.then_some(self.port))?;
        Some(format!("http://{}:{port}", self.host.as_str()))
    }
}

/// When a background command counts as ready.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReadyWhen {
    /// Something listens on this port.
    Port(u16),
    /// Its output has this text, a regular expression or plain text.
    Output(String),
}

/// A background command as lists show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BackgroundRow {
    pub id: BackgroundId,
    pub session: SessionId,
    pub call: CallId,
    /// The command line.
    pub command: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub started: Time,
    /// Whether it is ready. Absent: not yet, or no condition was set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ready: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<OpenPort>,
    /// When it ended. Absent: it is running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<BackgroundEndReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Where its output is stored.
    #[serde(rename = "ref")]
    pub output: RefKey,
}

impl BackgroundRow {
    pub fn is_running(&self) -> bool {
        self.ended.is_none()
    }
}

/// A part of the output of a background command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackgroundText {
    /// The output, as a terminal would finally show it.
    pub text: String,
    /// Offset of the next byte to read.
    pub next: u64,
    /// Bytes before it that are not shown, because the output was too long.
    #[serde(default)]
    pub dropped: u64,
}
