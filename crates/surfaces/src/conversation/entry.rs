//! What a conversation consists of: data, and no sentences.

use std::time::Duration;

use serde_json::Value;
use trimtab_vocab::event::{ByCommand, ChangedFile, CheckpointKind, Choice, Level, Status, ToolStatus};
use trimtab_vocab::{
    Answer, BackgroundEndReason, BackgroundId, BackgroundReason, CallId, ChangeSetId, CheckpointId, FileWrite,
    ImageFact, MemoryFact, OpenPort, Pill, PlanStep, Problem, Rule, Series, SessionId, StepStatus, TasksFact, Todo,
    Unobserved, Usage,
};

use super::{SubtaskBoard, WorkDone};
use crate::structured_answer::StructuredAnswer;

/// One thing that was said or done.
#[derive(Debug)]
pub(crate) enum Entry {
    UserMessage(UserMessage),
    Reply(ModelReply),
    Tool(Box<ToolRun>),
    /// Several commands that run one after the other, as they stand.
    Commands(Box<Series>),
    Change(Box<AppliedChange>),
    Question(AskedQuestion),
    Plan(ProposedPlan),
    PlanStep(PlanProgress),
    Todos(Vec<Todo>),
    Subtasks(SubtaskBoard),
    Retry(CallRetry),
    Banner {
        level: Level,
        text: String,
    },
    Image(Box<ImageFact>),
    Notice(Box<SessionNotice>),
    Answer {
        answer: Box<Answer>,
        /// The call whose reply has said it already.
        said_by: Option<CallId>,
    },
    Summary(Box<RequestSummary>),
}

#[derive(Debug)]
pub(crate) struct UserMessage {
    pub(crate) text: String,
    /// How many images came with it.
    #[cfg_attr(not(test), expect(dead_code, reason = "no terminal shows them; the fixtures do"))]
    pub(crate) images: usize,
    pub(crate) via: MessageVia,
    /// `user`, or what speaks for the person.
    pub(crate) by: String,
}

/// What became of a message.
#[derive(Debug)]
pub(crate) enum MessageVia {
    /// It starts a separate request, which may call a workflow.
    Request(Option<Box<Pill>>),
    /// A request that was running takes it in.
    Joined,
    /// It answers what that request asked.
    Answer(CheckpointId),
    Steered,
}

#[derive(Debug)]
pub(crate) struct ModelReply {
    pub(crate) call: CallId,
    /// The words for the person.
    pub(crate) text: String,
    pub(crate) thinking: String,
    pub(crate) state: ReplyState,
    /// It asks for tools: its words are on the way to an answer.
    pub(crate) before_tools: bool,
    pub(super) reader: StructuredAnswer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyState {
    Live,
    /// It broke off.
    Partial,
    Done,
}

#[derive(Debug)]
pub(crate) struct ToolRun {
    pub(crate) call: CallId,
    /// Empty, where its beginning is not in the part of the log that was folded.
    pub(crate) name: String,
    pub(crate) input: Value,
    pub(crate) status: Option<ToolStatus>,
    /// What came of it as a person looks at it: the output of a command, else the result.
    pub(crate) preview: String,
    /// What the model was told of it.
    pub(crate) result: String,
    /// A person is asked whether it may.
    pub(crate) is_waiting: bool,
    pub(crate) command: Option<CommandProgress>,
    /// Files that it would write or has written.
    pub(crate) writes: Vec<FileWrite>,
    pub(crate) changed: Vec<ChangedFile>,
}

/// The command that a tool runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct CommandProgress {
    /// The person has edited what the model asked for.
    pub(crate) is_edited: bool,
    pub(crate) exit_code: Option<i32>,
    pub(crate) signal: Option<String>,
    pub(crate) timed_out: bool,
    pub(crate) took: Option<Duration>,
    pub(crate) is_over: bool,
    /// Why it is not known what it did to files, at the first command of which that is so.
    pub(crate) unobserved: Option<Unobserved>,
}

#[derive(Debug)]
pub(crate) struct AppliedChange {
    pub(crate) change_set: ChangeSetId,
    pub(crate) files: Vec<ChangedFile>,
    /// The tool call that made it.
    pub(crate) call: Option<CallId>,
    /// A command did it.
    pub(crate) by: Option<Box<ByCommand>>,
    pub(crate) undone: bool,
}

#[derive(Debug)]
pub(crate) struct AskedQuestion {
    pub(crate) checkpoint: CheckpointId,
    pub(crate) kind: CheckpointKind,
    pub(crate) title: String,
    pub(crate) choices: Vec<Choice>,
    pub(crate) answer: Option<GivenAnswer>,
}

#[derive(Debug)]
pub(crate) struct GivenAnswer {
    pub(crate) choice: String,
    pub(crate) text: Option<String>,
    pub(crate) by: String,
}

#[derive(Debug)]
pub(crate) struct ProposedPlan {
    #[cfg_attr(not(test), expect(dead_code, reason = "no terminal shows it; the fixtures do"))]
    pub(crate) version: u32,
    pub(crate) steps: Vec<(PlanStep, Option<StepStatus>)>,
}

/// A step of a plan began or ended.
#[derive(Debug)]
pub(crate) struct PlanProgress {
    pub(crate) number: u32,
    pub(crate) of: u32,
    pub(crate) title: String,
    pub(crate) status: StepStatus,
    pub(crate) note: String,
}

/// A call failed and is made again.
#[derive(Debug)]
pub(crate) struct CallRetry {
    pub(crate) error: Problem,
    pub(crate) in_ms: u64,
    /// It failed as the call before it.
    pub(crate) is_repeated: bool,
    /// The call was made again.
    pub(crate) is_over: bool,
}

/// What happened to the session around the work.
#[derive(Debug)]
pub(crate) enum SessionNotice {
    Handoff {
        child: SessionId,
        changes: usize,
        prefill: Option<String>,
    },
    Inherited {
        text: String,
        prefill: Option<String>,
    },
    Forked {
        from: SessionId,
        /// The user went back to an earlier message.
        is_rewind: bool,
    },
    Extended,
    /// The session could not be handed off or extended.
    Refused {
        reason: String,
    },
    /// Talk becomes work, because of these words.
    Intent {
        phrase: String,
    },
    Rule(Rule),
    Memory(MemoryFact),
    /// Files that the model was given.
    Loaded,
    Compressed {
        before: u64,
        after: u64,
    },
    /// Only a part of a change was allowed.
    Chosen,
    /// Changes of files were undone, or done again.
    Moved {
        undone: bool,
        files: Vec<ChangedFile>,
    },
    MoveRefused {
        reason: String,
    },
    Tasks(TasksFact),
    Background(BackgroundNotice),
}

/// What happened to a background command.
#[derive(Debug)]
pub(crate) enum BackgroundNotice {
    Started {
        id: BackgroundId,
        command: String,
        why: BackgroundReason,
    },
    Port {
        id: BackgroundId,
        port: OpenPort,
    },
    Ended {
        id: BackgroundId,
        command: String,
        why: BackgroundEndReason,
        exit_code: Option<i32>,
        signal: Option<String>,
    },
}

impl BackgroundNotice {
    /// Whether it ended on its own, and not well.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::Ended { why: BackgroundEndReason::Exited, exit_code, .. } if *exit_code != Some(0))
    }
}

/// A request came to its end.
#[derive(Debug)]
pub(crate) struct RequestSummary {
    pub(crate) status: Status,
    pub(crate) error: Option<Problem>,
    pub(crate) took: Option<Duration>,
    pub(crate) usage: Usage,
    pub(crate) work: WorkDone,
}
