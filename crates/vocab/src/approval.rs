//! What an approval is about, and which approvals only a person can give.

use serde::{Deserialize, Serialize};

/// What a person approves. Settings, `--approve auto`, and wide rules answer only the classes that
/// [`ApprovalClass::needs_person`] leaves to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalClass {
    /// A command in the sandbox.
    Command,
    /// A change of files.
    Edit,
    /// Deleting a file that the model has read.
    Delete,
    /// Running a command outside of the sandbox.
    LeaveSandbox,
    /// Running a command although a fence, or the snapshot that undo needs, cannot be had.
    Unprotected,
    /// Reading or changing a file that usually holds keys or passwords.
    Secret,
    /// Contacting a host that no rule names.
    NewHost,
    /// Calling a tool of an MCP server: what it does outside of the folder cannot be undone.
    ServerCall,
    /// Deleting, emptying, or replacing a file that the model has not read.
    DeleteUnread,
    /// Dropping most of a file, changing files for a request that asks for no change, making a change of an answer that
    /// had to be repaired, or carrying out a call that a model wrote as text for a request that asks for none.
    Doubtful,
    /// Changing a file that other programs run or obey.
    ControlFile,
    /// Using instructions that have changed since the user accepted them.
    Instructions,
    /// Reading a folder and working in it.
    TrustFolder,
    /// Continuing after an interrupted command with an unknown result.
    UnknownOutcome,
    /// Using a tool although a hook wants the user to be asked, has failed, or has changed the call.
    Hook,
}

impl ApprovalClass {
    pub const ALL: [Self; 15] = [
        Self::Command,
        Self::Edit,
        Self::Delete,
        Self::LeaveSandbox,
        Self::Unprotected,
        Self::Secret,
        Self::NewHost,
        Self::ServerCall,
        Self::DeleteUnread,
        Self::Doubtful,
        Self::ControlFile,
        Self::Instructions,
        Self::TrustFolder,
        Self::UnknownOutcome,
        Self::Hook,
    ];

    /// Whether only a recorded answer of a person will do. A rule counts as one where it names exactly this.
    pub const fn needs_person(self) -> bool {
        match self {
            Self::Command | Self::Edit | Self::Delete => false,
            Self::LeaveSandbox
            | Self::Unprotected
            | Self::Secret
            | Self::NewHost
            | Self::ServerCall
            | Self::DeleteUnread
            | Self::Doubtful
            | Self::ControlFile
            | Self::Instructions
            | Self::TrustFolder
            | Self::UnknownOutcome
            | Self::Hook => true,
        }
    }
}

/// Proof that a person decided it: a recorded answer, a rule that names exactly this, or their own setting. Only the
/// engine's permit makes one (`clippy.toml` bans it everywhere else).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PersonDecision(());

impl PersonDecision {
    /// Vouches that a person decided it.
    pub fn witness() -> Self {
        Self(())
    }
}
