//! A request that is running, queued, or waiting for an answer.

use std::collections::VecDeque;

use trimtab_vocab::event::{ReflectionEntry, RouteDecision};
use trimtab_vocab::{
    CallId, CheckpointId, FileChange, Message, Part, Purpose, RefKey, Request, Role, Series, StopReason, TimerId, Usage,
};

use super::rounds::RoundHistory;
use super::{Assist, Batch, DoneState, Flow, RequestHooks, SkillTools, SubtaskRun};

/// How often what the user says to a request is kept for what is lasting in it.
const SAID: usize = 20;

/// The running request. A session runs one at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningRequest {
    /// What was asked.
    pub request: Request,
    /// How far it is.
    pub phase: Phase,
    /// Its cost so far.
    pub usage: Usage,
    /// Checkpoints so far.
    pub checkpoints: u32,
    /// The path it takes.
    pub route: Option<RouteDecision>,
    /// The groups of tools that it needs.
    pub categories: Vec<String>,
    /// The agreement with the user, and its progress.
    pub flow: Flow,
    /// Its state, if it is about the user's tasks.
    pub assist: Option<Box<Assist>>,
    /// The tools of its last reply, until all of them have ended.
    pub batch: Option<Batch>,
    /// The commands of its last answer that has some, until all of them have run or were left.
    pub series: Option<Series>,
    /// The parts of it that workers carry out.
    pub subtasks: Option<Box<SubtaskRun>>,
    /// Its calls of the model, and what was wrong with the replies.
    pub calls: CallState,
    /// The user's messages to it.
    pub steering: SteeringState,
    /// The user's answers about the folder.
    pub trust: TrustState,
    /// The results of its tools.
    pub tools: ToolHistory,
    /// Its actions.
    pub done: DoneState,
    /// How its conversation is made to fit.
    pub compression: CompressionState,
    /// Its references were read, or the model was called without them.
    pub loaded: bool,
    /// Its text and the conversation.
    pub(super) turn: TurnState,
}

/// Where a request is in the conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TurnState {
    /// Its text is in the conversation.
    pub(super) begun: bool,
    /// Others have spoken since it was left.
    pub(super) overtaken: bool,
}

/// The calls of the model that a request has made, and what was wrong with the replies.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallState {
    /// Replies so far.
    pub steps: u32,
    /// Steps beyond the limit that the user has allowed.
    pub more_steps: u32,
    /// The step limit is reached, and the model assesses its progress. It holds until the user allows more steps, so
    /// it is not the purpose of a single call.
    pub assessing: bool,
    /// The words that ask it to.
    pub(super) assessment: Option<String>,
    /// Failures of the call that is being made, in a row.
    pub failures: u32,
    /// Milliseconds that it has waited for the server to load the model.
    pub loading_ms: u64,
    /// Failures in which the model repeated itself endlessly.
    pub runaways: u32,
    /// Why its last reply ended.
    pub stop: Option<StopReason>,
    /// Replies in a row that announced a tool and named none.
    pub hollow: u32,
    /// Replies that were to be the answer and did not fit the schema of the request.
    pub misfits: u32,
    /// Replies in a row that were cut off at the output limit.
    pub cuts: u32,
    /// Calls that its replies held as text.
    pub text_calls: u32,
    /// Replies that held calls as text.
    pub text_replies: u32,
    /// Plans of sub-tasks that could not be used.
    pub misplans: u32,
    /// Why the last one could not.
    pub misplan: Option<String>,
    /// How often its last reply was to be repaired.
    pub repairs: u32,
    /// The changes of an answer that was cut off.
    pub recovered: Vec<FileChange>,
}

impl CallState {
    /// A call has ended: the counts of failures and waits start over.
    pub(crate) fn start_over(&mut self) {
        (self.failures, self.runaways, self.loading_ms) = (0, 0, 0);
    }
}

/// The user's messages to a running request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SteeringState {
    /// Words for the model that it has not been sent yet.
    pub steers: Vec<String>,
    /// Unsent messages of the user, which are not lost when the request ends.
    pub untold: Vec<String>,
    /// The user's later messages, for long-term memory.
    pub said: Vec<String>,
    /// It is to pause after this step.
    pub pausing: bool,
    /// The user said what to do instead of the tools that wait.
    pub diverted: bool,
}

/// The user's answers about the folder of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustState {
    /// The answer to the trust question.
    pub answer: Option<bool>,
    /// The folder was trusted after its instructions would have been read.
    pub is_uninstructed: bool,
    /// The user knows that the folder holds more than a project.
    pub warned: bool,
    /// Instructions that the user does not want used, as the rules that would accept them name them.
    pub declined: Vec<String>,
}

/// The results of the tools of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolHistory {
    /// How many tools it has used.
    pub used: u32,
    /// What its tools have found, the first words of each; for the synthesis.
    pub findings: Vec<String>,
    /// The results of its latest steps.
    pub ledger: VecDeque<ReflectionEntry>,
    /// Whether they bring anything new.
    pub(crate) rounds: RoundHistory,
    /// Commands that failed in the sandbox and that the user did not want to run outside.
    pub left_inside: Vec<String>,
    /// Checks that the user, a rule, or a hook refused.
    pub refused_checks: Vec<String>,
    /// The tools that the skills of the request leave; none: all.
    pub narrowed: Option<SkillTools>,
    /// What the hooks about the request as a whole have decided.
    pub hooks: RequestHooks,
}

/// How the conversation is made to fit while a request runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompressionState {
    /// The part of the conversation that is being summarized, between the first and the last call for it.
    pub current: Option<Compressing>,
    /// How often it was.
    pub count: u32,
    /// It was since the last call.
    pub fits: bool,
    /// The user was told that the limit is reached, and has decided how to continue or was not there.
    pub told_full: bool,
}

/// A part of the conversation on its way to become a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compressing {
    /// Where the source is kept whole.
    pub source: RefKey,
    /// How many messages, from the first after the summary.
    pub messages: usize,
    /// Tokens before.
    pub before: u64,
    /// Summaries of its parts so far, and last the one of them all.
    pub parts: Vec<String>,
}

/// Which part of the program a request belongs to, from its beginning to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// The assistant for the user's tasks.
    Tasks,
    /// It says what it wants of the gallery.
    Gallery,
    /// A turn: talk, a plan, work, or pictures if its path leads there.
    Turn,
}

/// The phase of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// It waits for room among the running requests.
    Admitting,
    /// What it names is being read.
    Loading,
    /// A model is being called.
    Calling {
        call: CallId,
        /// What it is for.
        purpose: Purpose,
    },
    /// The call failed and will be made again.
    BackingOff {
        /// The wait.
        timer: TimerId,
        /// How long it was to be.
        millis: u64,
        /// What the call is for.
        purpose: Purpose,
    },
    /// A reply is there and is being worked on; seen between two steps only while a hook runs that the
    /// request waits for.
    Replied,
    /// Its tools are at work, or wait for the user.
    Tools,
    /// It waits for the user.
    Waiting {
        /// For this answer.
        checkpoint: CheckpointId,
    },
    /// It is being ended.
    Stopping {
        /// The model call that is still to be ended, and what it is for.
        call: Option<(CallId, Purpose)>,
    },
}

impl Phase {
    /// The purpose of the model call that runs, or is repeated after a wait.
    pub fn purpose(&self) -> Option<&Purpose> {
        match self {
            Self::Calling { purpose, .. } | Self::BackingOff { purpose, .. } => Some(purpose),
            Self::Stopping { call } => call.as_ref().map(|(_, purpose)| purpose),
            Self::Admitting | Self::Loading | Self::Replied | Self::Tools | Self::Waiting { .. } => None,
        }
    }
}

impl RunningRequest {
    pub(crate) fn new(request: Request) -> Self {
        let assist = Assist::for_request(&request);
        Self {
            request,
            assist,
            phase: Phase::Admitting,
            usage: Usage::default(),
            checkpoints: 0,
            route: None,
            categories: Vec::new(),
            flow: Flow::default(),
            batch: None,
            series: None,
            subtasks: None,
            calls: CallState::default(),
            steering: SteeringState::default(),
            trust: TrustState::default(),
            tools: ToolHistory::default(),
            done: DoneState::default(),
            compression: CompressionState::default(),
            loaded: false,
            turn: TurnState::default(),
        }
    }

    /// Which part of the program it belongs to.
    pub(crate) fn kind(&self) -> RequestKind {
        if self.assist.is_some() {
            RequestKind::Tasks
        } else if self.request.picture.is_some() {
            RequestKind::Gallery
        } else {
            RequestKind::Turn
        }
    }

    /// The user says something to the model.
    pub(super) fn hear(&mut self, text: Option<&str>) {
        if self.steering.said.len() < SAID {
            self.steering.said.extend(text.map(str::to_owned));
        }
        self.steering.steers.extend(text.map(str::to_owned));
        self.steering.untold.extend(text.map(str::to_owned));
        if let Some(run) = self.subtasks.as_mut().filter(|run| run.is_under_way() && run.said.len() < SAID) {
            run.said.extend(text.map(str::to_owned));
        }
    }

    /// The words that go to the model with the next call, beside the conversation.
    pub(crate) fn unsent(&self) -> Option<Message> {
        (!self.steering.steers.is_empty()).then(|| Message {
            role: Role::User,
            parts: self.steering.steers.iter().map(|text| Part::Text { text: text.clone() }).collect(),
        })
    }

    /// Model calls that it may make at the usual level of autonomy.
    pub(crate) fn step_limit(&self) -> u32 {
        self.request.settings.models.max_steps.saturating_add(self.calls.more_steps)
    }

    /// Whether the user wants the command that is current run without another word, if it is known to be safe.
    pub(crate) fn has_agreed(&self) -> bool {
        self.series.as_ref().is_some_and(|series| series.agreed)
            && self.batch.as_ref().is_some_and(|batch| batch.of_series)
    }

    /// Whether it waits for the user's answer.
    pub(super) fn waits_for_a_person(&self) -> bool {
        matches!(self.phase, Phase::Waiting { .. })
            || (self.phase == Phase::Tools && self.batch.as_ref().is_some_and(Batch::is_asking))
            || (self.phase == Phase::Tools && self.subtasks.as_ref().is_some_and(|run| run.is_stuck()))
    }
}
