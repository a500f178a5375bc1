//! Facts about changes of files: proposed, applied, taken back and brought forward.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    BackgroundId, CallId, ChangePart, ChangeSetId, FileWrite, MergedWrite, OnConflict, ProposalId, RefKey, Time, Unkept,
};

/// A change was proposed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum ProposalFact {
    /// It can be looked at.
    #[serde(rename = "proposal.opened")]
    Opened {
        proposal: ProposalId,
        /// The tool call that proposes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// What it would change.
        kind: ProposalKind,
        /// The single changes, each with its `errors[]`.
        operations: Vec<Value>,
        /// Increases with each repair, and when the user selects a part.
        version: u32,
    },
    /// The user accepted only a part of it. The resulting files are recorded when it is opened again.
    #[serde(rename = "proposal.chosen")]
    Chosen {
        proposal: ProposalId,
        /// The tool call that proposes it.
        call: CallId,
        /// The chosen files, or hunks with the numbers that the diff shows.
        parts: Vec<ChangePart>,
        /// The parts that are left out.
        left: Vec<ChangePart>,
    },
    /// It was decided.
    #[serde(rename = "proposal.resolved")]
    Resolved {
        proposal: ProposalId,
        /// The decision.
        verdict: String,
    },
}

/// What a proposal would change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProposalKind {
    Files,
    Command,
    Tasks,
    Image,
}

/// Files changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type")]
pub enum ChangeFact {
    /// A change set was applied.
    #[serde(rename = "change.applied")]
    Applied(Change),
    /// It was undone.
    #[serde(rename = "change.reverted")]
    Reverted(Change),
    /// It was applied again.
    #[serde(rename = "change.reapplied")]
    Reapplied(Change),
    /// The history is about to move; recorded before any file is touched.
    #[serde(rename = "change.moving")]
    Moving {
        /// The place of the set that shall be current, from 0; below 0: none.
        position: i32,
        /// How conflicts with later edits of the same lines are handled.
        #[serde(default, rename = "onConflict", skip_serializing_if = "OnConflict::is_refuse")]
        on_conflict: OnConflict,
        /// Undo only a part of a change set, with a new change set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        undo: Option<Undo>,
        /// The files were compared with the history; these are not as it left them, or are of the new set.
        /// From here on it is settled what will be written.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        merged: Option<Vec<MergedWrite>>,
    },
    /// A set of the session that was handed off to this one; it is this one's from now on.
    #[serde(rename = "change.inherited")]
    Inherited(Box<Inherited>),
    /// The stored files of these change sets expired, so they can no longer be undone or redone.
    #[serde(rename = "change.expired", rename_all = "camelCase")]
    Expired { change_sets: Vec<ChangeSetId>, reason: String },
    /// Nothing was undone or redone, and no file was changed.
    #[serde(rename = "change.refused")]
    Refused {
        reason: String,
        /// The conflicts with the user's own edits.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        conflicts: Vec<Conflict>,
    },
}

/// A change set that an earlier session has made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Inherited {
    /// The set, under the name that it had there.
    #[serde(flatten)]
    pub change: Change,
    /// The files, before and after.
    pub writes: Vec<FileWrite>,
    /// Its stored files expired.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
    /// When it was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Time>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The change set that it partly undoes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<ChangeSetId>,
}

/// A part of a change set to undo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Undo {
    /// The set that does it.
    pub change_set: ChangeSetId,
    /// The set whose part it is.
    pub of: ChangeSetId,
    pub parts: Vec<ChangePart>,
}

/// A place that the user has edited and that the undo or redo would change too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// The file.
    pub path: String,
    /// Why it conflicts, in one sentence.
    pub reason: String,
    /// Its first line in the current file, from 1. Absent: the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_line: Option<u64>,
    /// How many lines these are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines: u64,
    /// What the history left there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The current text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mine: Option<String>,
    /// What the history would put there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A change set, with the position of the history after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Change {
    pub change_set: ChangeSetId,
    /// What it touched.
    pub files: Vec<ChangedFile>,
    /// The place of the set that is current now, from 0; below 0: none is.
    pub position: i32,
    /// The command that made the change. Absent if a tool call made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Box<ByCommand>>,
    /// What the model is sent because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The command whose changes a change set records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ByCommand {
    /// The command line.
    pub command: String,
    pub call: CallId,
    /// It was cut off, and looked at later: what others changed meanwhile is among it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// The files, before and after.
    #[serde(default)]
    pub writes: Vec<FileWrite>,
    /// What it changed and what cannot be undone, the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unkept: Vec<Unkept>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
    /// Key of the stored unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<RefKey>,
    /// Background commands that ran at the same time. Some of the changes may be theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alongside: Vec<BackgroundId>,
}

/// One file of a change set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ChangedFile {
    /// Relative to the session's folder.
    pub path: String,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// Lines among both that were replaced rather than only added or removed.
    #[serde(default)]
    pub modified: u64,
    /// It did not exist before.
    pub is_new: bool,
    /// It no longer exists.
    pub is_deleted: bool,
}

impl From<&FileWrite> for ChangedFile {
    fn from(write: &FileWrite) -> Self {
        Self {
            path: write.path.clone(),
            added: write.added,
            removed: write.removed,
            modified: write.modified,
            is_new: write.before.is_none(),
            is_deleted: write.after.is_none(),
        }
    }
}
