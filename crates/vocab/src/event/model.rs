//! Facts about calls of models: what they said and cost, what the conversation was made to fit, what misbehaved.

use serde::{Deserialize, Serialize};

use crate::{Answer, CallId, Message, Problem, Purpose, RefKey, SessionId, StopReason, Usage};

/// A model was called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum ModelFact {
    /// The intent, recorded before the call is made.
    #[serde(rename = "model.called")]
    Called {
        call: CallId,
        /// `provider/name`.
        model: String,
        /// Which try it is, from 1.
        attempt: u32,
        /// What it is for, if not for the turn itself: `summary` and the like.
        #[serde(default, skip_serializing_if = "Purpose::is_turn")]
        #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
        purpose: Purpose,
        /// The offered tools. Absent: the last recorded tools of the session, or none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<OfferedTools>,
        /// New or changed context that the model gets with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<PromptNote>,
    },
    /// The call failed. It is retried if `retryInMs` is present.
    #[serde(rename = "model.failed")]
    Failed {
        call: CallId,
        error: Problem,
        /// Milliseconds until the retry. Absent: there is no retry.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_in_ms: Option<u64>,
    },
}

/// The tools that a model is offered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfferedTools {
    /// Their names, in the order in which the model sees them.
    pub names: Vec<String>,
    /// The hash of their definitions. It also changes with a description or a schema.
    pub hash: String,
}

/// Context besides the conversation, which can change during a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PromptNote {
    /// What it is about: `mode`, `folder`, `instructions`, `memory`.
    pub name: String,
    /// What it says.
    pub text: String,
}

impl PromptNote {
    /// How a note begins where it stands in the conversation.
    pub const MARK: &str = "[CONTEXT: ";
}

/// A model's reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum ReplyFact {
    /// Partial text. Live only.
    #[serde(rename = "reply.delta")]
    Delta {
        /// The call they belong to.
        call: CallId,
        /// The text. Empty if only the other fields have content.
        text: String,
        /// More of the model's thinking.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        thinking: String,
        /// How much of the prompt the model has read so far, if its server reports it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        progress: Option<PromptProgress>,
    },
    /// The reply, complete or partial.
    #[serde(rename = "reply.saved")]
    Saved {
        /// The call it answers.
        call: CallId,
        /// The raw text, stored before it was parsed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<RefKey>,
        /// Why the model stopped. Absent if it gave no reason or the reply was interrupted.
        #[serde(default)]
        stop_reason: Option<StopReason>,
        /// Its usage and cost.
        #[serde(default)]
        usage: Usage,
        /// The reply as the conversation keeps it.
        message: Message,
        /// The reply is partial: the call was interrupted, cancelled, or cut off.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
        /// How many tool calls of the message the model wrote as text.
        #[serde(default, skip_serializing_if = "is_zero")]
        text_calls: u32,
        /// The request does not clearly ask for what these calls do.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unasked_text: bool,
    },
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// How much of a prompt a model has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PromptProgress {
    /// Tokens that it has read, cached ones included.
    pub read_tokens: u64,
    /// Tokens that the prompt has.
    pub prompt_tokens: u64,
}

/// The conversation was made to fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum ContextFact {
    /// Files that the request names, and the folder's own instructions, as they are.
    #[serde(rename = "context.loaded")]
    Loaded {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<LoadedFile>,
        /// The named files that do not exist or cannot be read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<String>,
        /// What the folder's own instructions say, when that is news.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
        /// The line above the text of each file, as the model is sent it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        headings: Vec<String>,
    },
    /// Instructions of a subfolder that a tool has read or changed.
    #[serde(rename = "context.nested")]
    Nested {
        /// The file, relative to the folder.
        path: String,
        hash: String,
        /// Its text. Absent: not used, because the user has not accepted this version.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// Older turns are about to be summarized. The original is already stored.
    #[serde(rename = "context.compressing")]
    Compressing {
        /// Number of messages, without the summaries before them.
        messages: u32,
        /// Tokens before.
        before: u64,
        /// Where the source is kept whole.
        #[serde(rename = "ref")]
        source: RefKey,
    },
    /// A person replaced a summary.
    #[serde(rename = "context.edited")]
    Edited {
        /// Which summary.
        #[serde(rename = "ref")]
        source: RefKey,
        /// The summary that replaces it.
        summary: String,
    },
    /// A person put the conversation back in a summary's place.
    #[serde(rename = "context.restored")]
    Restored {
        /// Which summary.
        #[serde(rename = "ref")]
        source: RefKey,
    },
    /// A limit is almost reached, and the user decides how to continue.
    #[serde(rename = "context.full")]
    Full {
        limit: ContextLimit,
        /// How much of it is used: tokens, or bytes.
        used: u64,
        /// How much there is.
        of: u64,
    },
    /// Older turns were replaced by a summary.
    #[serde(rename = "context.compressed")]
    Compressed {
        /// Tokens before.
        before: u64,
        /// Tokens after.
        after: u64,
        /// Where the source is kept whole.
        #[serde(rename = "ref")]
        source: RefKey,
        /// The summary that replaces it.
        summary: String,
        /// How many summaries before it have made room for it, too.
        #[serde(default, skip_serializing_if = "is_none_replaced")]
        replaces: u32,
    },
}

fn is_none_replaced(replaces: &u32) -> bool {
    *replaces == 0
}

/// What a conversation can fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ContextLimit {
    /// The model's window, in tokens.
    Window,
    /// The session's documents, in bytes.
    Storage,
    /// A limit of a newer version.
    #[serde(other)]
    Unknown,
}

/// A file that a request names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadedFile {
    /// Relative to the session's folder, or an address.
    pub path: String,
    /// As much of its text as the model sees.
    pub text: String,
    /// The hash of its bytes, if it is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// A resource of an MCP server that a request names and that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnreadResource {
    /// As it was named, without the `@`.
    pub path: String,
    /// A sentence.
    pub reason: String,
}

/// A file that a request names and that is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbsentFile {
    /// As it was named.
    pub path: String,
    /// What may have been meant, relative to the session's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<String>,
}

single! {
    /// What a call cost.
    UsageFact = "usage" {
        /// The model that was called.
        pub model: String,
        /// The figures.
        #[serde(flatten)]
        pub usage: Usage,
        /// Tokens that the conversation takes of the model's window.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub context_tokens: Option<u64>,
        /// The model's window.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub context_window: Option<u64>,
        /// The call was interrupted or cancelled. The figures are as far as known.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub unfinished: bool,
        /// The worker that spent this after its request had ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub worker: Option<SessionId>,
    }
}

single! {
    /// The result of the request.
    AnswerFact = "answer" {
        #[serde(flatten)]
        pub answer: Answer,
    }
}

single! {
    /// A model misbehaved, or a reply had to be repaired.
    BugFact = "bug" {
        /// Which sort.
        pub kind: String,
        /// Who noticed.
        pub by: String,
        /// A description of the problem.
        pub message: String,
    }
}

single! {
    /// A notice for the user.
    BannerFact = "banner" {
        /// How loud.
        pub level: Level,
        /// The line.
        pub text: String,
    }
}

/// How loud a banner is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Level {
    Info,
    Warning,
    Error,
    #[serde(other)]
    Unknown,
}
