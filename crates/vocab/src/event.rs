//! What happened: one type for the log, the wire and the screen.
//!
//! An [`Event`] is an envelope around a [`Fact`]. Facts are nested by lifecycle step, and the
//! wire's `type` says both: `checkpoint.opened` is [`Fact::Checkpoint`]`(`[`CheckpointFact::Opened`]`)`.
//! A reader that cares for one step matches one arm.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::{
    Analysis, Answer, Approve, Ask, AskFact, CallId, Category, ChangePart, ChangeSetId, CheckpointId, CommandLists,
    ExtensionId, FileMark, FileWrite, ImageFact, ImageRef, MemoryFact, MergedWrite, Message, Mode, OnConflict,
    PictureWish, Pill, Plan, Problem, ProposalId, RefKey, RequestId, Requirements, Rule, RunSettings, Series,
    SessionId, StepStatus, StopReason, TasksFact, Time, Todo, Unkept, Unobserved, Usage, WhileRunning,
};

/// A fact in its envelope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// Its place in the session's log, counted from 1 without gaps. Live-only events have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When it was recorded.
    pub time: Time,
    /// Where it belongs.
    pub session: SessionId,
    /// The request it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// What happened.
    #[serde(flatten)]
    pub fact: Fact,
}

/// What happened, by lifecycle step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Fact {
    /// The session itself.
    Session(SessionFact),
    /// A request came or ended.
    Request(RequestFact),
    /// Where a request stands.
    Stage(StageFact),
    /// Which path it takes.
    Route(RouteFact),
    /// A person wants more than words.
    Intent(IntentFact),
    /// What a conversation came to.
    Requirements(RequirementsFact),
    /// What is to be done, and how far it is.
    Plan(PlanFact),
    /// Something waits for a person.
    Checkpoint(CheckpointFact),
    /// A person decided something once and for all.
    Rule(RuleFact),
    /// A person said something lasting, or it was recalled.
    Memory(MemoryFact),
    /// A model was called.
    Model(ModelFact),
    /// What it said.
    Reply(ReplyFact),
    /// A tool was used.
    Tool(ToolFact),
    /// A command ran.
    Command(CommandFact),
    /// Several commands run one after the other.
    Commands(CommandsFact),
    /// A change was proposed.
    Proposal(ProposalFact),
    /// Files changed.
    Change(ChangeFact),
    /// The list of steps changed.
    Steps(StepsFact),
    /// A part of the work moved on.
    Subtask(SubtaskFact),
    /// What came of a batch of tools.
    Reflection(ReflectionFact),
    /// The conversation was made to fit.
    Context(ContextFact),
    /// What a call cost.
    Usage(UsageFact),
    /// What the request came to.
    Answer(AnswerFact),
    /// A model misbehaved.
    Bug(BugFact),
    /// A line that a person should see.
    Banner(BannerFact),
    /// A person's own tasks changed.
    Tasks(TasksFact),
    /// A request about them moved on.
    Ask(AskFact),
    /// Pictures were ordered, made or chosen.
    Image(ImageFact),
    /// A type that this version does not know, kept as it came.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Other(Map<String, Value>),
}

impl<'de> Deserialize<'de> for Fact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fn read<T: DeserializeOwned, E: serde::de::Error>(fields: Map<String, Value>) -> Result<T, E> {
            T::deserialize(Value::Object(fields)).map_err(E::custom)
        }
        let fields = Map::deserialize(deserializer)?;
        let Some(name) = fields.get("type").and_then(Value::as_str) else {
            return Err(D::Error::missing_field("type"));
        };
        if !KNOWN_TYPES.contains(&name) {
            return Ok(Self::Other(fields));
        }
        match name.split('.').next().unwrap_or(name) {
            "session" => read(fields).map(Self::Session),
            "request" => read(fields).map(Self::Request),
            "stage" => read(fields).map(Self::Stage),
            "route" => read(fields).map(Self::Route),
            "intent" => read(fields).map(Self::Intent),
            "requirements" => read(fields).map(Self::Requirements),
            "plan" => read(fields).map(Self::Plan),
            "checkpoint" => read(fields).map(Self::Checkpoint),
            "rule" => read(fields).map(Self::Rule),
            "memory" => read(fields).map(Self::Memory),
            "model" => read(fields).map(Self::Model),
            "reply" => read(fields).map(Self::Reply),
            "tool" => read(fields).map(Self::Tool),
            "command" => read(fields).map(Self::Command),
            "commands" => read(fields).map(Self::Commands),
            "proposal" => read(fields).map(Self::Proposal),
            "change" => read(fields).map(Self::Change),
            "steps" => read(fields).map(Self::Steps),
            "subtask" => read(fields).map(Self::Subtask),
            "reflection" => read(fields).map(Self::Reflection),
            "context" => read(fields).map(Self::Context),
            "usage" => read(fields).map(Self::Usage),
            "answer" => read(fields).map(Self::Answer),
            "bug" => read(fields).map(Self::Bug),
            "banner" => read(fields).map(Self::Banner),
            "tasks" => read(fields).map(Self::Tasks),
            "ask" => read(fields).map(Self::Ask),
            "image" => read(fields).map(Self::Image),
            _ => Ok(Self::Other(fields)),
        }
    }
}

/// Every `type` of the wire, in the order of a request's life.
pub const KNOWN_TYPES: &[&str] = &[
    "session.opened",
    "session.titled",
    "session.forked",
    "session.inherited",
    "session.handoff",
    "session.reclaimed",
    "session.extended",
    "session.refused",
    "request.received",
    "request.joined",
    "request.stopping",
    "request.steered",
    "request.pausing",
    "request.resumed",
    "request.adjusted",
    "request.relisted",
    "request.assessing",
    "request.reopened",
    "stage",
    "route",
    "intent",
    "requirements",
    "plan.proposed",
    "plan.started",
    "plan.step",
    "checkpoint.opened",
    "checkpoint.resolved",
    "rule.known",
    "rule.added",
    "rule.removed",
    "memory.recalled",
    "model.called",
    "model.failed",
    "reply.delta",
    "reply.saved",
    "tool.started",
    "tool.stopping",
    "tool.finished",
    "command.started",
    "command.output",
    "command.finished",
    "commands",
    "proposal.opened",
    "proposal.chosen",
    "proposal.resolved",
    "change.applied",
    "change.reverted",
    "change.reapplied",
    "change.moving",
    "change.refused",
    "change.inherited",
    "change.expired",
    "steps",
    "subtask",
    "reflection",
    "context.loaded",
    "context.compressing",
    "context.compressed",
    "context.edited",
    "context.restored",
    "context.full",
    "usage",
    "answer",
    "bug",
    "banner",
    "memory.noted",
    "request.finished",
    "tasks.applied",
    "tasks.reverted",
    "tasks.reapplied",
    "ask.viewed",
    "ask.repaired",
    "image.planned",
    "image.made",
    "image.failed",
    "image.selected",
    "image.saving",
];

impl Fact {
    /// The wire's `type`.
    pub fn kind(&self) -> String {
        match serde_json::to_value(self) {
            Ok(Value::Object(mut fields)) => match fields.remove("type") {
                Some(Value::String(kind)) => kind,
                _ => String::new(),
            },
            _ => String::new(),
        }
    }

    /// Whether the fact is only for those who watch now; such facts are never recorded.
    pub fn is_live_only(&self) -> bool {
        matches!(self, Self::Reply(ReplyFact::Delta { .. }) | Self::Command(CommandFact::Output { .. }))
    }
}

/// Declares the facts of a step whose only event has the step's own name.
macro_rules! single {
    ($(#[$doc:meta])* $name:ident = $tag:literal { $($body:tt)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "schema", schemars(transform = OfType($tag)))]
        #[serde(tag = "type", rename = $tag, rename_all = "camelCase")]
        pub struct $name { $($body)* }
    };
}

/// Says what the `type` of such a fact is: schemars knows of tags only where there is more than one.
#[cfg(feature = "schema")]
struct OfType(&'static str);

#[cfg(feature = "schema")]
impl schemars::transform::Transform for OfType {
    fn transform(&mut self, schema: &mut schemars::Schema) {
        let fields = schema.ensure_object();
        let properties = fields.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(properties) = properties {
            properties.insert("type".into(), serde_json::json!({"type": "string", "const": self.0}));
        }
        let required = fields.entry("required").or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(required) = required {
            required.push("type".into());
        }
    }
}

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
    },
    /// It got a name.
    #[serde(rename = "session.titled")]
    Titled {
        /// The name.
        title: String,
        /// `user`: a person gave it, and no other name takes its place by itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// It was forked: what stands before this is its parent's, up to the parent's fact `at`, with the ends of what
    /// ran or waited there. The parent goes on without it.
    #[serde(rename = "session.forked")]
    Forked {
        /// The session that it was forked from.
        from: SessionId,
        /// The last fact of that session which it has.
        at: u64,
    },
    /// It begins with what an earlier session has handed over.
    #[serde(rename = "session.inherited")]
    Inherited {
        /// That session.
        from: SessionId,
        /// What the model is told of it.
        text: String,
        /// What a person finds in the input line: the tasks that are open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefill: Option<String>,
        /// Files that were read for requests there.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        referenced: Vec<String>,
        /// What it and those before it have cost; a budget counts that too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spent_usd: Option<f64>,
        /// The budget of the request that was handed over; it holds where a request brings none of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget_usd: Option<f64>,
        /// What an answer has raised the budget to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raised_usd: Option<f64>,
    },
    /// The work goes on in a new session, which has become durable together with this fact.
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
    /// A session that had taken over is no more; what it had taken over and not handed on is this one's again.
    #[serde(rename = "session.reclaimed")]
    Reclaimed {
        /// Which one.
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
    Refused {
        /// Why.
        reason: String,
    },
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
        ask: Option<Box<Ask>>,
        /// What it wants of the gallery of pictures.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        picture: Option<Box<PictureWish>>,
        /// `replace`: it takes the place of the request that ran when it came.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        while_running: Option<WhileRunning>,
        /// What was in force.
        #[serde(default)]
        settings: Box<RunSettings>,
    },
    /// It is not worked on by itself: its words went to a request that ran or waited. Nothing follows it.
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
    /// A person wants it to rest after this step.
    #[serde(rename = "request.pausing")]
    Pausing {},
    /// It goes on under other terms; what is absent stays as it was.
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
    },
    /// The person has edited the lists of commands while it was there; they count from here on.
    #[serde(rename = "request.relisted")]
    Relisted {
        /// The lists.
        lists: CommandLists,
    },
    /// It goes on after it had to wait for an answer or for room.
    #[serde(rename = "request.resumed")]
    Resumed {
        /// It did not rest yet: a person does not want it to any more, and it goes on wherever it is.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        wish: bool,
    },
    /// The limit of steps is reached; the model is asked how far it came.
    #[serde(rename = "request.assessing")]
    Assessing {},
    /// It had ended for want of a person, who has now answered; it goes on.
    #[serde(rename = "request.reopened")]
    Reopened {},
    /// It came to its end.
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
    },
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// As it should.
    Completed,
    /// With an error.
    Failed,
    /// By the person.
    Cancelled,
    /// It cannot go on without a person.
    NeedsUser,
    /// At a limit of steps or money.
    Limit,
}

single! {
    /// Where a request stands.
    StageFact = "stage" {
        /// The stage.
        pub stage: Stage,
        /// What to show for it.
        pub label: String,
    }
}

/// The stages of a request's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
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

single! {
    /// Which path a request takes, and why.
    RouteFact = "route" {
        /// The path.
        pub decision: RouteDecision,
        /// How sure the router is, 0 to 1.
        pub confidence: f64,
        /// How much work it looks like, 0 to 100.
        pub complexity: u8,
        /// The groups of tools it may need.
        #[serde(default)]
        pub categories: Vec<String>,
        /// Why.
        pub reason: String,
        /// What the words name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub entities: Option<Value>,
        /// Which tasks they are about.
        #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
        pub filter: Option<Value>,
        /// What kind of task they are about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub category: Option<Category>,
        /// What the task looks like, if it was looked at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub analysis: Option<Analysis>,
    }
}

/// The paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RouteDecision {
    /// Words only.
    Chat,
    /// Straight to work.
    Direct,
    /// A plan first.
    Plan,
    /// A question first.
    Clarify,
    /// A picture.
    Image,
}

single! {
    /// A person's words ask for more than words.
    IntentFact = "intent" {
        /// What they want: `implement`.
        pub intent: String,
        /// The words that say so; empty: it was not said in words.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub phrase: String,
        /// Whether it is acted upon.
        pub accepted: bool,
    }
}

single! {
    /// What a conversation came to, before anything of it is carried out.
    RequirementsFact = "requirements" {
        /// What was understood.
        #[serde(flatten)]
        pub requirements: Requirements,
    }
}

/// What is to be done, and how far it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum PlanFact {
    /// A plan, or another version of it.
    #[serde(rename = "plan.proposed")]
    Proposed {
        /// From 1; earlier versions stay in the log.
        version: u32,
        /// The plan.
        #[serde(flatten)]
        plan: Plan,
        /// Whose it is: `model` or `user`.
        by: String,
    },
    /// It is carried out from here on.
    #[serde(rename = "plan.started")]
    Started {
        /// Which version.
        version: u32,
        /// Who or what let it: `user`, `approve auto`, `setting`.
        by: String,
    },
    /// A step began or ended.
    #[serde(rename = "plan.step")]
    Step {
        /// Which one.
        step: String,
        /// Its place in the order of work, from 1.
        number: u32,
        /// How many there are.
        of: u32,
        /// What it is about.
        title: String,
        /// How it stands.
        status: StepStatus,
        /// What the model says of it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
    },
}

/// Something waits for a person, or no longer does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum CheckpointFact {
    /// It waits, for as long as it takes.
    #[serde(rename = "checkpoint.opened")]
    Opened {
        /// Names it for good.
        checkpoint: CheckpointId,
        /// What sort of answer it waits for.
        kind: CheckpointKind,
        /// The question.
        title: String,
        /// The answers to choose from.
        choices: Vec<Choice>,
        /// What the kind adds.
        #[serde(flatten)]
        #[cfg_attr(feature = "schema", schemars(with = "crate::checkpoint_body::CheckpointBody"))]
        body: Map<String, Value>,
    },
    /// It was answered.
    #[serde(rename = "checkpoint.resolved")]
    Resolved {
        /// Which one.
        checkpoint: CheckpointId,
        /// The answer.
        choice: String,
        /// Words that came with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Who gave it.
        by: String,
    },
}

/// The sorts of checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum CheckpointKind {
    Permission,
    Clarification,
    Plan,
    Step,
    Satisfaction,
    Confirm,
    Recovery,
    Handoff,
    Unknown,
}

/// An answer to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Choice {
    /// What a program sends.
    pub id: String,
    /// What a person reads.
    pub label: String,
}

/// A person decided something once and for all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum RuleFact {
    /// The rules as they are, when they are not as the session knew them.
    #[serde(rename = "rule.known")]
    Known {
        /// All of them.
        rules: Vec<Rule>,
    },
    /// A new one.
    #[serde(rename = "rule.added")]
    Added {
        /// The rule.
        rule: Rule,
    },
    /// One that is no more.
    #[serde(rename = "rule.removed")]
    Removed {
        /// The rule.
        rule: Rule,
    },
}

/// A model was called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum ModelFact {
    /// The intent, recorded before the call is made.
    #[serde(rename = "model.called")]
    Called {
        /// The call.
        call: CallId,
        /// `provider/name`.
        model: String,
        /// Which try it is, from 1.
        attempt: u32,
        /// What it is for, if not for the turn itself: `summary`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        purpose: Option<String>,
    },
    /// It came to nothing.
    #[serde(rename = "model.failed")]
    Failed {
        /// The call.
        call: CallId,
        /// Why.
        error: Problem,
        /// When it is tried again, in milliseconds from this fact; absent: it is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_in_ms: Option<u64>,
    },
}

/// What a model said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum ReplyFact {
    /// Words as they come. Live only.
    #[serde(rename = "reply.delta")]
    Delta {
        /// The call they belong to.
        call: CallId,
        /// The words.
        text: String,
    },
    /// The reply, or as much of it as came.
    #[serde(rename = "reply.saved")]
    Saved {
        /// The call it answers.
        call: CallId,
        /// The words as they came, stored before anything was made of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<RefKey>,
        /// Why the model stopped; absent when it did not say, or never got there.
        #[serde(default)]
        stop_reason: Option<StopReason>,
        /// What it cost.
        #[serde(default)]
        usage: Usage,
        /// The reply as the conversation keeps it.
        message: Message,
        /// The reply broke off: the call was interrupted, cancelled or cut.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
    },
}

/// A tool was used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum ToolFact {
    /// It starts.
    #[serde(rename = "tool.started")]
    Started {
        /// The call.
        call: CallId,
        /// The tool.
        name: String,
        /// Its arguments.
        input: Value,
    },
    /// A person wants it ended; the rest goes on.
    #[serde(rename = "tool.stopping")]
    Stopping {
        /// The call.
        call: CallId,
    },
    /// It ended.
    #[serde(rename = "tool.finished")]
    Finished {
        /// The call.
        call: CallId,
        /// How.
        status: ToolStatus,
        /// As much of the result as the model sees.
        preview: String,
        /// The result whole.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        full: Option<RefKey>,
        /// Pictures that the model sees.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<ImageRef>,
        /// Files whose content it has seen, as they were.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<FileMark>,
    },
}

/// How a tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum ToolStatus {
    Ok,
    Partial,
    Error,
    Blocked,
    Interrupted,
}

/// A command ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum CommandFact {
    /// The intent, recorded before it runs.
    #[serde(rename = "command.started")]
    Started {
        /// The tool call that it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The command line as approved.
        command: String,
        /// What is executed.
        argv: Vec<String>,
        /// Where.
        cwd: String,
        /// The hash of all that decides what is executed; an approval names it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fingerprint: Option<String>,
        /// A person edited the command before it ran; this is what the model had asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited_from: Option<String>,
    },
    /// Output as it comes. Live only.
    #[serde(rename = "command.output")]
    Output {
        /// The tool call that it is for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The output.
        text: String,
    },
    /// It ended.
    #[serde(rename = "command.finished")]
    Finished {
        /// The tool call that it was for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// The command line.
        command: String,
        /// Absent when a signal ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// The signal that ended it, by its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<String>,
        /// It was ended for taking too long.
        timed_out: bool,
        /// Milliseconds it took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// As much of the output as is shown.
        preview: String,
        /// The output whole.
        #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
        full: Option<RefKey>,
        /// What it did to files is not known, and why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unobserved: Option<Unobserved>,
    },
}

single! {
    /// Several commands of one answer, as they stand: all that a panel shows of them.
    CommandsFact = "commands" {
        /// The commands.
        #[serde(flatten)]
        pub series: Series,
        /// The block of lines about the one that has just ended.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub progress: String,
        /// What the model, a person or a rule of the program gave as the reason for this state.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        pub reason: String,
    }
}

/// A change was proposed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum ProposalFact {
    /// It can be looked at.
    #[serde(rename = "proposal.opened")]
    Opened {
        /// Names it.
        proposal: ProposalId,
        /// The tool call that proposes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// What it would change.
        kind: ProposalKind,
        /// The single changes, each with its `errors[]`.
        operations: Vec<Value>,
        /// Grows with each repair, and when a person has chosen a part of it.
        version: u32,
    },
    /// A person wants a part of it and nothing else. What that makes of the files is told when it is opened again.
    #[serde(rename = "proposal.chosen")]
    Chosen {
        /// Which one.
        proposal: ProposalId,
        /// The tool call that proposes it.
        call: CallId,
        /// What is wanted: files, or hunks of them by the numbers that people see.
        parts: Vec<ChangePart>,
        /// What is left out.
        left: Vec<ChangePart>,
    },
    /// It was decided.
    #[serde(rename = "proposal.resolved")]
    Resolved {
        /// Which one.
        proposal: ProposalId,
        /// What was decided.
        verdict: String,
    },
}

/// What a proposal would change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
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
        /// What is done where a person has edited the same lines since.
        #[serde(default, rename = "onConflict", skip_serializing_if = "OnConflict::is_refuse")]
        on_conflict: OnConflict,
        /// Only a part of a set is taken back, by a new set.
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
    /// What the files of these sets were is not kept any longer: they can no longer be taken back or brought
    /// forward.
    #[serde(rename = "change.expired", rename_all = "camelCase")]
    Expired {
        /// The sets.
        change_sets: Vec<ChangeSetId>,
        /// Why.
        reason: String,
    },
    /// It did not move, and no file was touched.
    #[serde(rename = "change.refused")]
    Refused {
        /// Why.
        reason: String,
        /// Where a person's edits stand in the way.
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
    /// What its files were is not kept any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
    /// When it was applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Time>,
    /// What it cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// It takes back a part of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undoes: Option<ChangeSetId>,
}

/// A part of a change set that is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Undo {
    /// The set that does it.
    pub change_set: ChangeSetId,
    /// The set whose part it is.
    pub of: ChangeSetId,
    /// Which part.
    pub parts: Vec<ChangePart>,
}

/// A place that a person has edited and that the history would change too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// The file.
    pub path: String,
    /// In a sentence, what stands in the way.
    pub reason: String,
    /// The first of its lines as they are now, from 1; absent: it is about the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_line: Option<u64>,
    /// How many lines these are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lines: u64,
    /// What the history left there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// What is there now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mine: Option<String>,
    /// What the history would put there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A change set and where the history stands after it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// The set.
    pub change_set: ChangeSetId,
    /// What it touched.
    pub files: Vec<ChangedFile>,
    /// The place of the set that is current now, from 0; below 0: none is.
    pub position: i32,
    /// The command that did it; absent: it was a change that a model proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Box<ByCommand>>,
}

/// What a command did, when a change set is of its making.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ByCommand {
    /// The command line.
    pub command: String,
    /// Its call.
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
    /// How many more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
    /// Where the change of the files is stored, for people: a unified diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<RefKey>,
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
    /// It does not exist any more.
    pub is_deleted: bool,
}

single! {
    /// The list of steps as it stands.
    StepsFact = "steps" {
        /// All of them, in order.
        pub todos: Vec<Todo>,
    }
}

single! {
    /// A part of the work moved on.
    SubtaskFact = "subtask" {
        /// Which part.
        pub subtask: String,
        /// How it stands.
        pub status: String,
        /// 0 to 1.
        pub progress: f64,
        /// Parts that must end first.
        #[serde(default)]
        pub depends_on: Vec<String>,
        /// Who works on it.
        pub model: String,
        /// What it cost so far.
        #[serde(default)]
        pub usage: Usage,
    }
}

single! {
    /// What came of a batch of tools.
    ReflectionFact = "reflection" {
        /// One entry per tool.
        pub entries: Vec<ReflectionEntry>,
    }
}

/// What came of one tool. Field names are the documented ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(missing_docs, reason = "the names say it")]
pub struct ReflectionEntry {
    pub tool: String,
    pub status: ToolStatus,
    pub finding: String,
    pub next_action: String,
}

/// The conversation was made to fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum ContextFact {
    /// Files that the request names, and the folder's own instructions, as they are.
    #[serde(rename = "context.loaded")]
    Loaded {
        /// The files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<LoadedFile>,
        /// What was named and is not there, or could not be read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        missing: Vec<String>,
        /// What the folder's own instructions say, when that is news.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
    },
    /// Older turns are about to be summed up; their source is stored already.
    #[serde(rename = "context.compressing")]
    Compressing {
        /// How many messages, from the first that is no summary.
        messages: u32,
        /// Tokens before.
        before: u64,
        /// Where the source is kept whole.
        #[serde(rename = "ref")]
        source: RefKey,
    },
    /// A person put other words in a summary's place.
    #[serde(rename = "context.edited")]
    Edited {
        /// Which summary.
        #[serde(rename = "ref")]
        source: RefKey,
        /// What stands in its place now.
        summary: String,
    },
    /// A person put the conversation back in a summary's place.
    #[serde(rename = "context.restored")]
    Restored {
        /// Which summary.
        #[serde(rename = "ref")]
        source: RefKey,
    },
    /// So much of a limit is used up that a person should decide how to go on.
    #[serde(rename = "context.full")]
    Full {
        /// Which limit.
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
        /// What stands in its place.
        summary: String,
    },
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

single! {
    /// What a call cost.
    UsageFact = "usage" {
        /// Who was called.
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
    }
}

single! {
    /// What the request came to.
    AnswerFact = "answer" {
        /// The answer.
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
        /// What was noticed.
        pub message: String,
    }
}

single! {
    /// A line that a person should see.
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
#[expect(missing_docs, reason = "the names say it")]
pub enum Level {
    Info,
    Warning,
    Error,
    #[serde(other)]
    Unknown,
}

/// Lifts the facts of a step into [`Fact`], so that `banner.into()` reads well where one is made.
macro_rules! lift {
    ($($inner:ident => $variant:ident),* $(,)?) => {$(
        impl From<$inner> for Fact {
            fn from(fact: $inner) -> Self {
                Self::$variant(fact)
            }
        }
    )*};
}

lift! {
    SessionFact => Session, RequestFact => Request, StageFact => Stage, RouteFact => Route,
    IntentFact => Intent, RequirementsFact => Requirements, PlanFact => Plan,
    CheckpointFact => Checkpoint, RuleFact => Rule, MemoryFact => Memory, ModelFact => Model, ReplyFact => Reply, ToolFact => Tool,
    CommandFact => Command, CommandsFact => Commands, ProposalFact => Proposal, ChangeFact => Change, StepsFact => Steps,
    SubtaskFact => Subtask, ReflectionFact => Reflection, ContextFact => Context, UsageFact => Usage,
    AnswerFact => Answer, BugFact => Bug, BannerFact => Banner, TasksFact => Tasks, AskFact => Ask,
    ImageFact => Image,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(line: &str) -> Event {
        let event: Event = serde_json::from_str(line).expect("parses");
        assert_eq!(serde_json::to_string(&event).expect("writes"), line, "the wire form changed");
        event
    }

    #[test]
    fn the_envelope_comes_first_and_the_fact_is_flat() {
        let event = round_trip(
            r#"{"seq":3,"time":"2026-11-15T08:30:00.000Z","session":"s1","request":"r1","type":"stage","stage":"running","label":"Working"}"#,
        );
        assert!(matches!(event.fact, Fact::Stage(StageFact { stage: Stage::Running, .. })));
    }

    #[test]
    fn a_live_event_has_no_seq() {
        let event = round_trip(
            r#"{"time":"2026-11-15T08:30:00.000Z","session":"s1","request":"r1","type":"reply.delta","call":"c1","text":"Hi"}"#,
        );
        assert!(event.fact.is_live_only());
    }

    #[test]
    fn a_type_of_a_newer_version_is_kept_as_it_came() {
        let event = round_trip(
            r#"{"seq":1,"time":"2026-11-15T08:30:00.000Z","session":"s1","type":"moon.phase","phase":"full","deep":{"a":[1]}}"#,
        );
        assert!(matches!(event.fact, Fact::Other(_)));
        round_trip(r#"{"seq":1,"time":"2026-11-15T08:30:00.000Z","session":"s1","type":"reply.sung","tune":"la"}"#);
    }

    #[test]
    fn a_known_type_with_broken_fields_is_an_error_not_a_guess() {
        let line = r#"{"seq":1,"time":"2026-11-15T08:30:00.000Z","session":"s1","type":"stage","stage":7}"#;
        assert!(serde_json::from_str::<Event>(line).is_err());
    }

    #[test]
    fn fields_of_a_newer_version_do_not_stop_an_older_one() {
        let line = r#"{"seq":1,"time":"2026-11-15T08:30:00.000Z","session":"s1","type":"banner","level":"loud","text":"x","colour":"red"}"#;
        let event: Event = serde_json::from_str(line).expect("parses");
        assert_eq!(event.fact, BannerFact { level: Level::Unknown, text: "x".into() }.into());
    }
}
