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
    /// What is known about it.
    #[serde(default)]
    pub facts: ModelFacts,
}

/// A request came or ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum RequestFact {
    /// It was taken in; from here on it cannot be lost.
    #[serde(rename = "request.received")]
    Received {
        /// The person's words, or a preview of them when `refs` holds them whole.
        text: String,
        /// Stored texts that belong to it.
        #[serde(default)]
        refs: Vec<RefKey>,
        /// Stored pictures that belong to it.
        #[serde(default)]
        images: Vec<ImageRef>,
        /// Which path the person chose.
        #[serde(default)]
        mode: Mode,
        /// What its words are marked with, without the `#`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<String>,
        /// The workflow that its words call, with the text that the model is sent in their place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pill: Option<Box<Pill>>,
        /// It is about the person's tasks, and how it was put.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ask: Option<Box<AssistantRequest>>,
        /// What it wants of the gallery of pictures.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        picture: Option<Box<PictureWish>>,
        /// `replace`: it takes the place of the request that ran when it came.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        while_running: Option<WhileRunning>,
        /// Seconds since anything happened in the session before it; absent: nothing happened before, or it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pause_s: Option<u64>,
        /// What was in force.
        #[serde(default)]
        settings: Box<RunSettings>,
    },
    /// Its text was sent to a running or waiting request. No other event follows.
    #[serde(rename = "request.joined")]
    Joined {
        /// The person's words.
        text: String,
        /// The request that has them now.
        into: RequestId,
        /// The question that they answer; absent: the model reads them at its next step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        checkpoint: Option<CheckpointId>,
        /// What they are marked with.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tags: Vec<String>,
    },
    /// A person wants it stopped; what runs is being ended.
    #[serde(rename = "request.stopping")]
    Stopping {},
    /// Words for the model that belong to the request: a person's, or the program's own.
    #[serde(rename = "request.steered")]
    Steered {
        /// The words.
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
        /// What happens where a person would be asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approve: Option<Approve>,
        /// Whether somebody is there to be asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attended: Option<bool>,
        /// Model calls at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_steps: Option<u32>,
        /// The folder is trusted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trusted: Option<bool>,
        /// Whether its model can use tools: one that was found not to answers with one object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<bool>,
        /// What was found out about its model beside that.
        #[serde(flatten)]
        learned: LearnedFacts,
        /// Another model takes over, because the first one is overloaded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<ModelSwitch>,
    },
    /// The lists of the settings are others than when it came; they count from here on.
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
        /// What went wrong, if something did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Problem>,
        /// What it cost in all.
        #[serde(default)]
        usage: Usage,
        /// More about how: `stopped_by_user` where a person ended the work at a rest or between steps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What it did, as the log has it; absent where it did nothing but speak.
        #[serde(default, skip_serializing_if = "DoneFacts::is_empty")]
        done: DoneFacts,
    },
}

/// What a request did: files that changed, commands that ran, and how much was read. It is counted from the facts of the
/// log, never from what a model says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct DoneFacts {
    /// Files that changed, each once, with all its lines that were added and removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<ChangedFile>,
    /// Files that changed besides: only so many are listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_files: u32,
    /// Commands that ran, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandDone>,
    /// How often something of the folder or the web was read.
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
    /// As it should.
    Completed,
    /// It asked for something to be done, and nothing was.
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
    /// Where a request stands.
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
