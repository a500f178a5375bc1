//! Facts about the session itself: it began, was named, forked, handed off or extended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Autonomy, ChangeSetId, ExtensionId, FileRewind, RequestId, SessionId};

/// Facts about the session itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum SessionFact {
    /// The first fact of every log.
    #[serde(rename = "session.opened")]
    Opened {
        /// The folder it works in.
        folder: String,
        /// The session that was handed off to it, or that it was forked from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_session_id: Option<SessionId>,
        /// The program that the conversation was imported from: `claude` or `codex`. Such a session takes no requests.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        imported: Option<String>,
    },
    /// It got a name.
    #[serde(rename = "session.titled")]
    Titled {
        /// The name.
        title: String,
        /// `user`: the user set it, and a generated title never replaces it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// It works on a part of another session's request, in a copy of that session's folder.
    #[serde(rename = "session.worker")]
    Worker {
        /// The session that it works for.
        parent: SessionId,
        /// The request of that session that it carries out a part of.
        for_request: RequestId,
        /// The sub-task.
        subtask: String,
        /// The folder that its own one is a copy of.
        original: String,
    },
    /// The level of autonomy changed.
    #[serde(rename = "session.autonomy")]
    Autonomy {
        level: Autonomy,
        /// `user`: a person chose it. `engine`: it comes from the session that this one continues.
        by: String,
        /// Where it was chosen: `run`, `tui`, `http`, …
        #[serde(default, skip_serializing_if = "Option::is_none")]
        surface: Option<String>,
    },
    /// It was stopped before it started.
    #[serde(rename = "session.dismissed")]
    Dismissed {},
    /// The session is a fork. The events before this one are copies of its parent's events up to `at`. Calls and
    /// prompts that were open there are closed in the copy. The parent does not change.
    #[serde(rename = "session.forked")]
    Forked {
        /// The session that it was forked from.
        from: SessionId,
        /// The last fact of that session which it has.
        at: u64,
        /// What the model is sent because of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// The user went back to an earlier message: the changes of files that were undone for it, in order. Absent:
        /// the user wanted a second conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rewound: Option<Vec<FileRewind>>,
    },
    /// It begins with what an earlier session has handed over.
    #[serde(rename = "session.inherited")]
    Inherited {
        from: SessionId,
        /// What the model sees of it.
        text: String,
        /// Text for the input: the open to-dos.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefill: Option<String>,
        /// Files that were read for requests there.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        referenced: Vec<String>,
        /// Cost of this session and its predecessors. A budget includes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent_usd: Option<f64>,
        /// The budget of the request that was handed over; it applies to requests without their own budget.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget_usd: Option<f64>,
        /// What an answer has raised the budget to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raised_usd: Option<f64>,
    },
    /// The work continues in a new session, which was stored in the same transaction.
    #[serde(rename = "session.handoff")]
    Handoff {
        /// The new session.
        child: SessionId,
        /// Change sets that only the child can move from now on.
        #[serde(default)]
        change_sets: Vec<ChangeSetId>,
        /// What its input line begins with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefill: Option<String>,
    },
    /// The session that took over was deleted. The changes that it did not hand on belong to this session again.
    #[serde(rename = "session.reclaimed")]
    Reclaimed {
        child: SessionId,
        /// Change sets that it had handed on, and the sessions that have them.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        handed_on: BTreeMap<ChangeSetId, SessionId>,
    },
    /// It has one document more: the conversation is kept whole for as long as it fits.
    #[serde(rename = "session.extended")]
    Extended {
        /// Names the document.
        extension: ExtensionId,
    },
    /// It could be neither handed off nor extended.
    #[serde(rename = "session.refused")]
    Refused { reason: String },
}
