//! Facts about a request: it was received, steered, and finished, and its current stage.

use serde::{Deserialize, Serialize};

use super::ChangedFile;
use crate::{
    Approve, AssistantRequest, CheckpointId, ImageRef, LearnedFacts, Lists, Mode, ModelFacts, PictureWish, Pill,
    Problem, RefKey, RequestId, RunSettings, Usage, WhileRunning,
};

/// The model that a request continues with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ModelSwitch {
    /// `provider/name`.
    pub model: String,
    /// The known facts about the model.
    #[serde(default)]
    pub facts: ModelFacts,
}

/// A request came or ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum RequestFact {
    /// The request is stored and cannot be lost.
    #[serde(rename = "request.received")]
    Received {
        /// The person's words, or a preview of them when `refs` holds them whole.
        text: String,
        /// Stored texts that belong to it.
        #[serde(default)]
        refs: Vec<RefKey>,
        /// Stored images that belong to it.
        #[serde(default)]
        images: Vec<ImageRef>,
        /// The mode that the user chose.
        #[serde(default)]
        mode: Mode,
        /// Its tags, without the `#`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<String>,
        /// The workflow that its words call, with the text that the model is sent in their place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pill: Option<Box<Pill>>,
        /// It is about the person's tasks, and how it was put.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ask: Option<Box<AssistantRequest>>,
        /// What it does with the image gallery.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        picture: Option<Box<PictureWish>>,
        /// `replace`: it takes the place of the request that ran when it came.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        while_running: Option<WhileRunning>,
        /// Seconds since the previous event of the session, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pause_s: Option<u64>,
        /// The settings of the request.
        #[serde(default)]
        settings: Box<RunSettings>,
    },
    /// Its text was sent to a running or waiting request. No other event follows.
    #[serde(rename = "request.joined")]
    Joined {
        /// The user's text.
        text: String,
        /// The request that has them now.
        into: RequestId,
        /// The question that the text answers. Absent: the model reads the text at its next step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint: Option<CheckpointId>,
        /// What they are marked with.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<String>,
    },
    /// A person wants it stopped; what runs is being ended.
    #[serde(rename = "request.stopping")]
    Stopping {},
    /// A message for the model that belongs to the request, from the user or from Trimtab.
    #[serde(rename = "request.steered")]
    Steered {
        /// What the model sees at its next step.
        text: String,
        /// Whose they are: `user` or `engine`.
        by: String,
    },
    /// A person wants it to pause after this step.
    #[serde(rename = "request.pausing")]
    Pausing {},
    /// It continues with other settings; an absent field is unchanged.
    #[serde(rename = "request.adjusted")]
    Adjusted {
        /// How approval prompts are handled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approve: Option<Approve>,
        /// Whether a user is there to answer prompts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attended: Option<bool>,
        /// Model calls at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_steps: Option<u32>,
        /// The folder is trusted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trusted: Option<bool>,
        /// Whether its model supports tools. Otherwise, it answers with one JSON object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<bool>,
        /// What was found out about its model beside that.
        #[serde(flatten)]
        learned: LearnedFacts,
        /// Another model takes over, because the first one is overloaded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<ModelSwitch>,
    },
    /// The lists in the settings changed. The new ones apply from now on.
    #[serde(rename = "request.relisted")]
    Relisted { lists: Lists },
    /// It continues after it waited for an answer or for a slot.
    #[serde(rename = "request.resumed")]
    Resumed {
        /// It had not paused yet: the user cancelled the pause, and it continues.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        wish: bool,
    },
    /// The limit of steps is reached; the model is asked how far it came.
    #[serde(rename = "request.assessing")]
    Assessing {
        /// What the model is asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// It had ended because it needed an answer. The user answered, and it continues.
    #[serde(rename = "request.reopened")]
    Reopened {},
    /// All commands have ended.
    #[serde(rename = "request.finished")]
    Finished {
        /// Which end.
        status: Status,
        /// The error, if there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Problem>,
        /// What it cost in all.
        #[serde(default)]
        usage: Usage,
        /// Details of the outcome, such as `stopped_by_user` if the user stopped the work between two steps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The actions of the request according to the log. Absent if there were none.
        #[serde(default, skip_serializing_if = "DoneFacts::is_empty")]
        done: DoneFacts,
    },
}

/// The actions of a request: changed files, commands, and reads. They are counted from the log, never from the model's
/// text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct DoneFacts {
    /// Files that changed, each once, with all its lines that were added and removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ChangedFile>,
    /// Number of further changed files that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_files: u32,
    /// Commands that ran, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandDone>,
    /// Number of reads of files, folders, and pages.
    #[serde(skip_serializing_if = "is_zero")]
    pub reads: u32,
}

/// A command that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CommandDone {
    /// The command line, its first line at most.
    pub command: String,
    /// Absent when a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl DoneFacts {
    /// Whether nothing was done.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.commands.is_empty() && self.reads == 0
    }
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Well.
    Completed,
    /// The request asked for an action, and the model did not take it.
    NotDone,
    /// With an error.
    Failed,
    /// By the person.
    Cancelled,
    /// It needs the user.
    NeedsUser,
    /// At a limit of steps or money.
    Limit,
}

single! {
    /// The current stage of a request.
    StageFact = "stage" {
        pub stage: Stage,
        /// What to show for it.
        pub label: String,
    }
}

/// The stages of a request's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Intake,
    Routing,
    Clarifying,
    Planning,
    Proposing,
    Validating,
    Repairing,
    Running,
    Compressing,
    Summarizing,
    Finishing,
    /// A stage of a newer version.
    #[serde(other)]
    Unknown,
}
