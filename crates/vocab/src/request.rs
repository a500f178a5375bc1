//! What a person asks for.

use serde::{Deserialize, Serialize};

use crate::{
    Approve, AssistantRequest, AutonomyChoice, BackgroundId, CallId, ChangePart, ChangeSetId, ImageId, Message,
    OnConflict, Part, PictureWish, Pill, RefKey, RequestId, Role, RunSettings, StoppedBy, SubtaskControl,
};

/// One thing a person asked for, as the engine takes it in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Its permanent name.
    pub id: RequestId,
    /// The person's words; a preview when they were too large to send and `refs` holds them whole.
    pub text: String,
    /// Texts stored beside the conversation that belong to it.
    #[serde(default)]
    pub refs: Vec<RefKey>,
    /// Pictures that belong to it.
    #[serde(default)]
    pub images: Vec<ImageRef>,
    /// The mode that the user chose.
    #[serde(default)]
    pub mode: Mode,
    /// What its words are marked with: `#research` and the like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The workflow that its words call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pill: Option<Box<Pill>>,
    /// It is about the person's tasks, and how it was put.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<Box<AssistantRequest>>,
    /// What it does with the image gallery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<Box<PictureWish>>,
    /// What it does to a request of the session that runs or waits for a person; absent: it waits for its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub while_running: Option<WhileRunning>,
    /// The level of autonomy that the person chose with it. It counts for the session, and is recorded as its own fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autonomy: Option<AutonomyChoice>,
    /// Seconds since the previous event of the session, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_s: Option<u64>,
    /// What was in force when it was asked. Part of the record, so that a replay decides alike.
    pub settings: RunSettings,
}

impl Request {
    /// A request with nothing but words.
    pub fn new(id: RequestId, text: impl Into<String>, settings: RunSettings) -> Self {
        Self {
            id,
            text: text.into(),
            refs: Vec::new(),
            images: Vec::new(),
            mode: Mode::Auto,
            tags: Vec::new(),
            pill: None,
            ask: None,
            picture: None,
            while_running: None,
            autonomy: None,
            pause_s: None,
            settings,
        }
    }

    /// The words that the model reads: the person's, or what a pill makes of them.
    pub fn words(&self) -> &str {
        self.pill.as_ref().map_or(self.text.as_str(), |pill| pill.text.as_str())
    }

    /// The text that the user wrote, and the text that came along with it.
    pub fn typed_and_added(&self) -> (&str, &str) {
        let typed =
            self.settings.typed_bytes.map_or(self.text.len(), |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        self.text.split_at(self.text.floor_char_boundary(typed.min(self.text.len())))
    }

    /// Its words and pictures, as the conversation has them.
    pub fn message(&self) -> Message {
        let pictures = self
            .images
            .iter()
            .map(|image| Part::Image { image: image.key.clone(), media_type: image.media_type.clone() });
        let parts = pictures.chain([Part::Text { text: self.words().to_owned() }]).collect();
        Message { role: Role::User, parts }
    }
}

/// The mode that the user chose for a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The router decides.
    #[default]
    Auto,
    /// Words only.
    Chat,
    /// Look and plan; no effects.
    Plan,
    /// Start the work that was discussed.
    Implement,
}

/// What a new message does to a request of its session that is running or waits for an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WhileRunning {
    /// The text goes to that request. The model sees it at its next step.
    #[default]
    Steer,
    /// It waits until that request has ended.
    Queue,
    /// That request is cancelled, and this one begins.
    Replace,
}

/// A stored image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ImageRef {
    /// Where, in base64.
    #[serde(rename = "ref")]
    pub key: RefKey,
    /// `image/png` and the like.
    pub media_type: String,
}

/// What a person may say to a running request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Control {
    /// Stop now, and keep the results.
    Cancel,
    /// Go no further than the end of this step.
    Pause,
    /// Go on.
    Resume,
    /// Skip the current action, and continue with the next one.
    Skip,
    /// Send this text for the next step.
    Steer {
        /// What the model sees at its next step.
        text: String,
    },
    /// Stop one tool call; the others continue.
    StopTool { call: CallId },
    /// Let a running command continue in the background; absent: the one that runs.
    Background {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    },
    /// End a background command; absent: all of them.
    StopCommand {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<BackgroundId>,
        /// Who wants it: the user, unless the session ends.
        #[serde(default = "by_user")]
        by: StoppedBy,
    },
    /// Control one sub-task; the others continue.
    Subtask { subtask: String, action: SubtaskControl },
    /// Take back so many change sets.
    Rewind {
        steps: u32,
        /// How conflicts with later edits of the same lines are handled.
        #[serde(default, skip_serializing_if = "OnConflict::is_refuse")]
        on_conflict: OnConflict,
    },
    /// Bring so many forward again.
    Forward {
        steps: u32,
        /// How conflicts with later edits of the same lines are handled.
        #[serde(default, skip_serializing_if = "OnConflict::is_refuse")]
        on_conflict: OnConflict,
    },
    /// Undo a part of a change set, which makes a new change set.
    UndoPart {
        change_set: ChangeSetId,
        /// Which files of it, or which hunks.
        parts: Vec<ChangePart>,
        /// How conflicts with later edits of the same lines are handled.
        #[serde(default, skip_serializing_if = "OnConflict::is_refuse")]
        on_conflict: OnConflict,
    },
    /// Continue with other settings; an absent field is unchanged.
    Adjust {
        /// How approval prompts are handled.
        #[serde(default)]
        approve: Option<Approve>,
        /// Whether a user is there to answer prompts.
        #[serde(default)]
        attended: Option<bool>,
        /// Model calls at most.
        #[serde(default)]
        max_steps: Option<u32>,
        /// The folder is trusted.
        #[serde(default)]
        trusted: Option<bool>,
    },
    /// Replace the last summary of the conversation with this text.
    EditSummary {
        /// What replaces the summary.
        text: String,
    },
    /// Put the conversation back in place of its last summary.
    UndoSummary,
    /// The person has applied so many of the operations that were proposed last; 0: they do not want them.
    DecideTasks { applied: u32 },
    /// Select or deselect images.
    SelectImages {
        images: Vec<ImageId>,
        /// Whether they are chosen from now on.
        selected: bool,
    },
    /// Ask more or less from now on, in the whole session.
    Autonomy(AutonomyChoice),
    /// Go on in a new session, which gets what matters of this one.
    Handoff,
    /// Go on in this one, with its whole conversation.
    Extend,
}

fn by_user() -> StoppedBy {
    StoppedBy::User
}
