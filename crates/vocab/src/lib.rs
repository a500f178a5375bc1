//! The nouns of Trimtab, spoken by every other crate and by every wire.
//!
//! This crate must not know how anything is done: no clock, no files, no network, no runtime. It
//! depends on serde alone, and its types are at once the log's records, the wire's objects and the
//! surfaces' vocabulary. One concept, one type.
//!
//! The log outlives the program that wrote it, so types here change only by addition: a new field
//! is optional or defaulted, a name is never reused, and an event type that this version does not
//! know is kept unchanged ([`event::Fact::Other`]). `tests/old_records.rs` replays a corpus of
//! records from every released version.

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make their own files"))]

mod agent;
mod answer;
mod approval;
mod ask;
mod autonomy;
mod background;
mod bound_file;
mod call;
mod check;
pub mod checkpoint;
mod control_files;
mod copilot;
mod date;
mod effects;
mod effort;
pub mod event;
pub mod format;
mod hook;
mod id;
mod mcp;
mod memory;
mod message;
mod model;
mod network;
mod picture;
mod pill;
mod plan;
mod problem;
mod purpose;
mod read_op;
mod request;
mod review;
mod rewind;
mod rule;
mod run_settings;
pub mod sensitive_paths;
mod series;
mod skill;
mod stop;
mod subtask;
mod task;
mod time;
mod usage;
pub mod visible;
pub mod wording;
mod work;
mod worker_spending;

pub use agent::{AGENT_FOLDERS, AgentFact, AgentLimits, AgentText, ListedAgent, is_agent_path};
pub use answer::{Answer, CodeBlock, CommandProposal, FileChange, NextStep, Section, Synthesis, TextReplacement, Todo};
pub use approval::{ApprovalClass, PersonDecision};
pub use ask::{
    AskFact, AssistantRequest, AutoMode, Entities, Prior, Raw, RepairOutcome, Said, Selection, TaskShown, TasksShown,
    TasksView, Via, WeekShown,
};
pub use autonomy::{Autonomy, AutonomyChoice, AutonomySettings};
pub use background::{
    BackgroundEnd, BackgroundEndReason, BackgroundReason, BackgroundRow, BackgroundText, LoopbackName, OpenPort,
    ReadyWhen, StoppedBy,
};
pub use bound_file::BoundFile;
pub use call::{Fault, Format, Prompt, Reply, Retry, ToolSpec};
pub use check::{CHECK_TOOL, CheckMode, CheckOutcome, CheckSettings, CheckSource, DueCheck, ListedCheck};
pub use control_files::{ControlFile, control_entry, control_file};
pub use copilot::{Analysis, ApprovalMode, Choosable, Copilot, Pace, Question, Routing, TRIGGERS, border};
pub use date::{BadDate, BadTimeOfDay, Date, TimeOfDay, Weekday};
pub use effects::{FileEffects, SnapshotLimits, Unkept, Unobserved, WhyUnkept};
pub use effort::Effort;
pub use event::{Event, Fact};
pub use hook::{HOOK_FILES, HookEvent, HookFact, HookOutcome, ListedHook};
pub use id::{
    BackgroundId, BadId, CallId, ChangeSetId, CheckpointId, ExtensionId, ImageId, MemoryId, ProposalId, RefKey,
    RequestId, SessionId, TimerId,
};
pub use mcp::{
    ListedServer, NamedResource, PromptParameter, ServerCall, ServerCallPlan, ServerPrompt, ServerQuestion,
    ServerReply, ServerResource, ServerTool, server_mark, server_tool_name, server_tool_title,
};
pub use memory::{Ingest, MemoryEntry, MemoryFact, MemorySettings, Remembered};
pub use message::{INTERRUPT_EXPLANATION, INTERRUPT_TOOL, INTERRUPT_USER, Message, Part, Role, ToolCall, ToolResult};
pub use model::{AnswerProtocol, LearnedFacts, ModelFacts, Prices};
pub use network::{
    AddressRange, HostAttempt, HostOutcome, HostPolicy, HostVerdict, NetworkAccess, NetworkPlan,
    host_pattern_objection, plain_host,
};
pub use picture::{
    GeneratedImage, ImageBatch, ImageFact, ImageSettings, MadePicture, PicturePlan, PictureWish, extension,
    picture_type,
};
pub use pill::Pill;
pub use plan::{
    Approval, Approved, ChangePart, CommandClass, CommandPlan, CommandRun, FileLoss, FilePlan, FileSet, FileState,
    FileWrite, MergedWrite, OnConflict, Overtime, Sandbox,
};
pub use problem::{Problem, ProblemKind};
pub use purpose::{AskPurpose, Purpose};
pub use read_op::{FileMark, InstructionFile, ReadOp, ReadResult};
pub use request::{Control, ImageRef, Mode, Request, WhileRunning};
pub use review::{CheckedFindings, FindingSeverity, ReviewAnswer, ReviewFinding, UnreviewedFile, UnreviewedReason};
pub use rewind::{FileRewind, RewindScope};
pub use rule::{Rule, RuleVerdict};
pub use run_settings::{
    AnswerStyle, Applying, Approve, CommandSettings, ContextSettings, ContextStrategy, Dialog, FileSettings,
    FolderTrust, KnownAtStart, Lists, Machine, ModelSettings, Noop, OnMaxTokens, Recovery, RunSettings,
    SnapshotSettings,
};
pub use series::{Series, SeriesCommand, SeriesResult, SeriesState};
pub use skill::{ListedSkill, SKILL_FILE, SKILL_FOLDERS, SkillFact, SkillText, is_skill_path};
pub use stop::StopReason;
pub use subtask::{
    BreakdownOption, BuildFolders, CallRecords, CopyStats, ExecutionOrder, Granularity, LeftBehind, MergeChoice,
    MergeConflict, MergeObstacle, StrategyOption, SubTask, SubTaskPlan, SubtaskControl, SubtaskOffer, SubtaskSettings,
    SubtaskStart, SubtaskStatus, SubtasksFact, TaskKind, WorkerModel, WorkerQuestion,
};
pub use task::{
    Aggregates, Annotated, Applied, Category, CategoryCounts, DryRun, Item, Operation, OperationResult, Preview,
    Previewed, Priority, PriorityCounts, Proposed, Recurrence, RecurrenceFields, Repeat, ScheduledRange, Task,
    TaskAuthor, TaskConflict, TaskCounts, TaskFields, TaskId, TaskLimits, TaskWrite, TasksFact, Validation, View,
    Where,
};
pub use time::{BadTime, Time};
pub use usage::Usage;
pub use visible::Visible;
pub use work::{Plan, PlanStep, Requirements, StepStatus};
pub use worker_spending::WorkerSpending;
