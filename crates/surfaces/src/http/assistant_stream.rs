//! From the facts of a request about tasks to the documented pieces of its stream, and to its answer.

use axum::body::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{
    AnswerFact, CheckpointFact, CheckpointKind, ProposalFact, ProposalKind, RequestFact, Stage, StageFact, Status,
};
use trimtab_vocab::{Choosable, Event, Fact, Proposed};

/// What is shown while operations are being made.
const PLANNING: &str = "Planning…";

/// An answer, or a question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum AssistantReply {
    /// The assistant asks which tasks are meant.
    #[serde(rename_all = "camelCase")]
    Question {
        /// Always true.
        requires_clarification: bool,
        /// The question, and what may be chosen.
        #[serde(flatten)]
        clarify: Clarify,
    },
    /// The assistant's text and its proposed operations.
    Answer {
        /// The assistant's text.
        text: String,
        /// Every operation, including invalid ones.
        operations: Vec<Annotation>,
    },
    #[default]
    #[schemars(skip)]
    Nothing,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Clarify {
    question: String,
    /// Tasks to choose from.
    options: Vec<OptionShown>,
    /// Options for *Show more*.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    more_options: Vec<OptionShown>,
    /// Which parts the answer can have: `ids`, `date`, or `priority`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sections: Vec<String>,
}

/// A task to choose.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OptionShown {
    /// Its number.
    id: u64,
    title: String,
    /// The day it is for.
    scheduled_for: Option<String>,
}

/// An operation with its errors.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(super) struct Annotation {
    /// The operation, in its normal form.
    op: Proposed,
    /// Why it cannot be applied.
    errors: Vec<String>,
}

/// What a stream sends.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum StreamPiece {
    /// `stage`: where it is.
    Stage { stage: Stage },
    /// `clarify`: a question.
    Clarify(Clarify),
    /// `ops`: operations, as soon as they are checked, and again after a repair changed them.
    #[serde(rename_all = "camelCase")]
    Operations { version: u32, operations: Vec<Annotation>, valid_count: usize, invalid_count: usize },
    /// `summary`: the text so far. Each one replaces the previous one.
    Summary { text: String },
    /// `result`: what it came to.
    Result { text: String, operations: Vec<Annotation> },
    /// `heartbeat`: the stream lives.
    Heartbeat { ts: trimtab_vocab::Time },
    /// `done`: the end of the stream.
    Done(bool),
}

impl StreamPiece {
    fn name(&self) -> &'static str {
        match self {
            Self::Stage { .. } => "stage",
            Self::Clarify(_) => "clarify",
            Self::Operations { .. } => "ops",
            Self::Summary { .. } => "summary",
            Self::Result { .. } => "result",
            Self::Heartbeat { .. } => "heartbeat",
            Self::Done(_) => "done",
        }
    }

    pub(super) fn bytes(&self) -> Bytes {
        let data = serde_json::to_string(self).unwrap_or_default();
        format!("event: {}\ndata: {data}\n\n", self.name()).into()
    }
}

/// How a message ended.
#[derive(Debug, PartialEq)]
pub(super) enum MessageEnd {
    /// With an answer or a question.
    Done,
    /// Another one took its place.
    Replaced,
    /// With an error.
    Failed(String),
}

/// From facts to the documented pieces.
#[derive(Debug, Default)]
pub(super) struct Translator {
    operations: Vec<Annotation>,
    pub(super) reply: AssistantReply,
    pub(super) end: Option<MessageEnd>,
    pub(super) over: bool,
}

impl Translator {
    pub(super) fn observe(&mut self, event: &Event) -> Vec<StreamPiece> {
        match &event.fact {
            Fact::Stage(StageFact { stage: Stage::Proposing, .. }) => {
                vec![StreamPiece::Summary { text: PLANNING.into() }, StreamPiece::Stage { stage: Stage::Proposing }]
            }
            Fact::Stage(StageFact { stage, .. })
                if matches!(stage, Stage::Routing | Stage::Validating | Stage::Repairing | Stage::Summarizing) =>
            {
                vec![StreamPiece::Stage { stage: *stage }]
            }
            Fact::Checkpoint(CheckpointFact::Opened { kind: CheckpointKind::Clarification, title, ask, .. }) => {
                let clarify = clarify(title, ask);
                self.reply = AssistantReply::Question { requires_clarification: true, clarify: clarify.clone() };
                vec![StreamPiece::Clarify(clarify)]
            }
            Fact::Proposal(ProposalFact::Opened { kind: ProposalKind::Tasks, operations, version, .. }) => {
                self.operations = operations.iter().filter_map(annotation).collect();
                let valid_count = self.operations.iter().filter(|one| one.errors.is_empty()).count();
                let invalid_count = self.operations.len() - valid_count;
                let operations = self.operations.clone();
                vec![StreamPiece::Operations { version: *version, operations, valid_count, invalid_count }]
            }
            Fact::Answer(AnswerFact { answer }) => {
                let (text, operations) = (answer.summary.clone(), self.operations.clone());
                self.reply = AssistantReply::Answer { text: text.clone(), operations: operations.clone() };
                vec![StreamPiece::Summary { text: text.clone() }, StreamPiece::Result { text, operations }]
            }
            Fact::Request(RequestFact::Finished { status, error, .. }) => {
                let why =
                    error.as_ref().map_or_else(|| "The request did not finish.".into(), |error| error.message.clone());
                self.end = Some(match status {
                    Status::Completed => MessageEnd::Done,
                    Status::NeedsUser if matches!(self.reply, AssistantReply::Question { .. }) => MessageEnd::Done,
                    Status::Cancelled => MessageEnd::Replaced,
                    Status::Limit => MessageEnd::Failed("The budget of the session is used up.".into()),
                    Status::Failed | Status::NotDone | Status::NeedsUser => MessageEnd::Failed(why),
                });
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}

fn clarify(title: &str, ask: &Ask) -> Clarify {
    let (sections, more) = match ask {
        Ask::Clarification { sections, more_options, .. } => (sections.clone(), more_options.as_slice()),
        _ => (None, &[][..]),
    };
    let shown = |options: &[Choosable]| {
        let one = |option: &Choosable| {
            let Choosable { id, title, scheduled_for } = option.clone();
            Some(OptionShown { id: id.parse().ok()?, title, scheduled_for })
        };
        options.iter().filter_map(one).collect()
    };
    let options = ask.questions().first().map_or(&[][..], |question| &question.options);
    let mut sections = sections.unwrap_or_default();
    if sections.iter().all(|section| section == "ids") {
        sections.clear();
    }
    Clarify { question: title.to_owned(), options: shown(options), more_options: shown(more), sections }
}

fn annotation(operation: &Value) -> Option<Annotation> {
    let op = Proposed::deserialize(operation.get("op")?).ok()?;
    let errors = Vec::deserialize(operation.get("errors")?).ok()?;
    Some(Annotation { op, errors })
}
