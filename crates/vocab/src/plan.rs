//! Acting: proposals, the witness that one was approved, and the plans that the world carries out.
//!
//! The world changes files and runs commands only from a plan, a plan is made only from an
//! [`Approved`] proposal, and `Approved::witness` is called only where the engine has a person's
//! answer, a rule or a setting that allows it (`clippy.toml` bans it everywhere else). A forgotten
//! approval does not compile. Plans are never read back from anywhere: they have no `Deserialize`.

use serde::{Deserialize, Serialize};

use crate::{CallId, ChangeSetId, NetworkPlan, PersonDecision};

/// Something that was approved, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approved<T> {
    thing: T,
    by: Approval,
}

/// What approved it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Approval {
    /// A person's answer.
    Answer,
    /// A rule that a person made.
    Rule {
        /// The rule, as it is listed.
        rule: String,
    },
    /// A setting that a person made, or its default.
    Setting,
}

impl<T> Approved<T> {
    /// Vouches that `thing` was approved. Only the engine's permit may.
    pub fn witness(thing: T, by: Approval) -> Self {
        Self { thing, by }
    }

    /// What was approved.
    pub fn thing(&self) -> &T {
        &self.thing
    }

    pub fn by(&self) -> &Approval {
        &self.by
    }
}

/// A file as it is, or as it shall be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileState {
    /// The hash of its bytes, by which they are stored: BLAKE3, in hex.
    pub hash: String,
    /// Its permission bits; of a symbolic link, whose bytes are where it leads to, [`FileState::LINK`].
    pub mode: u32,
}

impl FileState {
    /// The mode of a symbolic link. It is the kernel's, so that it cannot be taken for one of a file.
    pub const LINK: u32 = 0o120_777;

    /// Whether it is a symbolic link.
    pub fn is_link(&self) -> bool {
        self.mode == Self::LINK
    }
}

/// One file of a change set: what it must be before, and what it shall be after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileWrite {
    /// Relative to the session's folder, `/` between its parts.
    pub path: String,
    /// The file before. Absent: it does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<FileState>,
    /// The file after. Absent: it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<FileState>,
    /// Lines added.
    #[serde(default)]
    pub added: u64,
    /// Lines removed.
    #[serde(default)]
    pub removed: u64,
    /// Lines among both that were replaced rather than only added or removed.
    #[serde(default)]
    pub modified: u64,
}

/// The hash of no bytes at all.
const EMPTY: &str = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";

impl FileWrite {
    /// Whether a file that holds something holds nothing afterwards: it is deleted, or emptied, which comes to the same.
    pub fn discards(&self) -> bool {
        let is_empty = |state: &Option<FileState>| state.as_ref().is_none_or(|state| state.hash == EMPTY);
        (self.before.is_some() && self.after.is_none()) || (!is_empty(&self.before) && is_empty(&self.after))
    }
}

/// Lines that a file would lose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileLoss {
    pub path: String,
    /// Lines that would not be in it any more,
    pub lost: u32,
    /// of those that are. Blank lines do not count.
    pub lines: u32,
}

/// Files to change together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FileSet {
    /// Names the change set.
    pub change_set: ChangeSetId,
    /// The folder that all paths are in.
    pub folder: String,
    pub writes: Vec<FileWrite>,
}

impl FileSet {
    /// The change set that undoes this one, with its own ID.
    #[must_use]
    pub fn reversed(&self, change_set: ChangeSetId) -> Self {
        let back = |write: &FileWrite| FileWrite {
            path: write.path.clone(),
            before: write.after.clone(),
            after: write.before.clone(),
            added: write.removed,
            removed: write.added,
            modified: write.modified,
        };
        Self { change_set, folder: self.folder.clone(), writes: self.writes.iter().rev().map(back).collect() }
    }
}

/// How to handle lines that the user has edited and that an undo or redo would change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum OnConflict {
    /// Change nothing.
    #[default]
    Refuse,
    /// Keep the user's lines.
    KeepMine,
    /// Replace the user's lines. Undoing this restores them.
    DiscardMine,
}

impl OnConflict {
    /// Whether a conflict refuses the move.
    pub fn is_refuse(&self) -> bool {
        *self == Self::Refuse
    }
}

/// A part of a change set: a file of it, or some hunks of that file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangePart {
    /// The file, as the set names it.
    pub path: String,
    /// The hunks, counted from 1. Empty: the whole file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<u32>,
}

/// What a set does to a file when a person has edited it since: as a move of the history has found and left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MergedWrite {
    pub change_set: ChangeSetId,
    /// The file without the set, and with it.
    #[serde(flatten)]
    pub write: FileWrite,
}

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CommandRun {
    /// The tool call that it is for.
    pub call: CallId,
    /// The command line as a person approves it.
    pub command: String,
    /// The executed arguments.
    pub argv: Vec<String>,
    /// Where: an absolute folder.
    pub cwd: String,
    /// Its timeout in seconds.
    pub timeout_s: u64,
    /// The user is present: at its timeout, it keeps running while Trimtab asks. Otherwise, it is stopped.
    #[serde(default)]
    pub attended: bool,
    /// It runs by itself and is git's: what a repository names to be run is not.
    #[serde(default)]
    pub plain_git: bool,
    /// The folders that git is started in, whose repositories' settings are looked at before; the folder it runs in if
    /// none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub git_folders: Vec<String>,
    /// It has a terminal without input.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminal: bool,
    /// It is started in the background, without a time limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// What it writes is stored whole, if it is not shown whole.
    #[serde(default)]
    pub archive: bool,
    /// How it is fenced in.
    pub sandbox: Sandbox,
    /// Nobody was asked about it: it gets the least fence that its class needs, and does not start where that
    /// fence, or the snapshot that undo needs, cannot be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub automatic: Option<CommandClass>,
    /// It is git alone: an automatic one may write the repository, apart from its settings and hooks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub writes_repository: bool,
    /// The folder that it may write to.
    pub folder: String,
    /// Hosts that the user lets it reach this time, beside those that rules allow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

impl CommandRun {
    /// All that decides what is executed, in one text: its hash is what an approval names. The call is not part
    /// of it, since the same command may be asked for again; nor is who is there and what is stored of it, which
    /// may change until somebody answers.
    pub fn sealed(&self) -> String {
        let mut fields = serde_json::to_value(self).unwrap_or_default();
        if let Some(fields) = fields.as_object_mut() {
            for beside in ["call", "attended", "archive"] {
                fields.remove(beside);
            }
        }
        fields.to_string()
    }
}

/// What a command needs that runs without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CommandClass {
    /// Read-only: everything is mounted read-only, without secrets and network.
    Read,
    /// A build, test, or lint: it can write in the folder, after a snapshot for undo.
    Check,
}

/// How a command is fenced in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    /// Writes in the folder and in a private temporary folder. No network.
    #[default]
    Workspace,
    /// Writes only in a private temporary folder. No network.
    ReadOnly,
    /// It is not fenced in.
    Off,
}

/// What becomes of a command whose time is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Overtime {
    /// It can run for this many more seconds.
    Seconds(u64),
    /// It may take as long as it takes.
    Unlimited,
    /// It is ended.
    None,
}

/// An approved set of files, to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlan {
    approved: Approved<FileSet>,
    first_attempt: bool,
}

impl FilePlan {
    /// The plan for what was approved. A killed run may have written a part of it: a file that is as the set wants it
    /// counts as written.
    pub fn new(approved: Approved<FileSet>) -> Self {
        Self { approved, first_attempt: false }
    }

    /// The same plan, nothing of which was written yet: every file must be as it was when the set was approved.
    #[must_use]
    pub fn as_first_attempt(self) -> Self {
        Self { first_attempt: true, ..self }
    }

    /// Whether nothing of it can have been written.
    pub fn is_first_attempt(&self) -> bool {
        self.first_attempt
    }

    /// What to write.
    pub fn set(&self) -> &FileSet {
        self.approved.thing()
    }
}

/// An approved command, to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPlan {
    approved: Approved<CommandRun>,
    fingerprint: Option<String>,
    read_only: Vec<String>,
    network: Option<Box<NetworkPlan>>,
}

impl CommandPlan {
    /// The plan for a command in the sandbox; nothing for one outside of it.
    pub fn fenced(approved: Approved<CommandRun>) -> Option<Self> {
        (approved.thing.sandbox != Sandbox::Off).then_some(Self {
            approved,
            fingerprint: None,
            read_only: Vec::new(),
            network: None,
        })
    }

    /// The plan for a command that may also run outside of the sandbox: a person decided so.
    pub fn unfenced(approved: Approved<CommandRun>, _: PersonDecision) -> Self {
        Self { approved, fingerprint: None, read_only: Vec::new(), network: None }
    }

    /// The same, with the hash that the approval names: nothing else is run.
    #[must_use]
    pub fn named(self, fingerprint: String) -> Self {
        Self { fingerprint: Some(fingerprint), ..self }
    }

    /// The same, with less that it may write: absolute paths in its folder, of files and folders. What is found
    /// out just before it starts may only take away from what was approved.
    #[must_use]
    pub fn guarded(mut self, more: Vec<String>) -> Self {
        self.read_only.extend(more);
        self
    }

    /// The same in the network of its session, with what it may reach from there.
    #[must_use]
    pub fn in_network(self, network: Option<NetworkPlan>) -> Self {
        Self { network: network.map(Box::new), ..self }
    }

    /// The network that it shares with the other commands of its session; none: it has one of its own, without a way out.
    pub fn network(&self) -> Option<&NetworkPlan> {
        self.network.as_deref()
    }

    /// What it must not write, although it may write in the folder.
    pub fn read_only(&self) -> &[String] {
        &self.read_only
    }

    /// By what it was approved.
    pub fn by(&self) -> &Approval {
        self.approved.by()
    }

    pub fn run(&self) -> &CommandRun {
        self.approved.thing()
    }

    /// The hash that the approval names: BLAKE3 of [`CommandRun::sealed`], in hex.
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }
}
