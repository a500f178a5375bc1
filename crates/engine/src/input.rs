//! The inputs of a session.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trimtab_vocab::checkpoint::{Ask, Choice};
use trimtab_vocab::event::{AbsentFile, CheckpointKind, Conflict, LoadedFile, Status, UnreadResource};
use trimtab_vocab::{
    AgentText, BackgroundReason, CallId, ChangePart, ChangeSetId, CheckpointId, Control, CopyStats, DryRun, Fault,
    FileEffects, FileLoss, FileMark, FileState, FileWrite, HostAttempt, InstructionFile, LeftBehind, ListedAgent,
    ListedServer, ListedSkill, Lists, MadePicture, MergeConflict, MergeObstacle, Message, OpenPort, Problem,
    ReadResult, RefKey, Reply, Request, RequestId, Rule, ServerQuestion, SessionId, SkillText, SnapshotLimits,
    TasksView, Time, TimerId, Usage,
};

/// Something that happened. Inputs wait in a durable inbox, so they are written down; the rule for
/// them is the log's: additions only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Input {
    /// The session was made.
    Opened {
        /// The folder it works in.
        folder: String,
    },
    /// The user said something.
    Said { request: Box<Request> },
    /// The user wants something of a request.
    Controlled {
        /// The request; absent: the running one.
        #[serde(default)]
        request: Option<RequestId>,
        action: Control,
    },
    /// The user answered.
    Answered {
        /// The question.
        checkpoint: CheckpointId,
        /// The answer.
        choice: String,
        /// Words that came with it.
        #[serde(default)]
        text: Option<String>,
        /// Who answered.
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        surface: Option<String>,
        /// Where the answer trusts the folder: its instruction files at this moment, which are accepted with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        instructions: Vec<FileMark>,
    },
    /// The user wants a part of a proposed change, and nothing else of it.
    Chosen {
        /// The question about it.
        checkpoint: CheckpointId,
        /// Files, or hunks of them.
        parts: Vec<ChangePart>,
        /// Who requests it.
        by: String,
        /// The surface of the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        surface: Option<String>,
    },
    /// There is room for the request to run.
    Admitted { request: RequestId },
    /// No slot is free yet.
    Held {
        request: RequestId,
        /// How many run or wait before it.
        ahead: u32,
    },
    /// A model call reached its end.
    Replied {
        call: CallId,
        /// Its result.
        reply: Reply,
        /// Where the raw text is stored.
        #[serde(default)]
        raw: Option<RefKey>,
        /// Warnings about the call for the user.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
    },
    /// A model call did not reach its end.
    CallFailed {
        call: CallId,
        fault: Fault,
        /// The partial result.
        #[serde(default)]
        partial: Option<Partial>,
    },
    /// A model call was ended as asked.
    CallAborted {
        call: CallId,
        /// The partial result.
        #[serde(default)]
        partial: Option<Partial>,
    },
    /// A name for the session was found.
    Titled {
        /// For which request it was asked.
        request: RequestId,
        /// The name.
        title: String,
        /// Who found it.
        model: String,
        /// What that cost.
        #[serde(default)]
        usage: Usage,
    },
    /// The user gave the session a name.
    Renamed {
        /// The name.
        title: String,
    },
    /// What a request names was read, as far as it is there.
    Loaded {
        request: RequestId,
        #[serde(default)]
        files: Vec<LoadedFile>,
        /// Files that could not be read.
        #[serde(default)]
        missing: Vec<String>,
        /// Missing files that the user should know about.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        absent: Vec<AbsentFile>,
        /// The folder's own instructions, as earlier versions reported them.
        #[serde(default)]
        instructions: Option<String>,
        /// The folder's own instructions, file by file.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        instruction_files: Vec<InstructionFile>,
        /// The MCP servers, with their tools as far as they are known; absent: they were not asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        servers: Option<Vec<ListedServer>>,
        /// Resources of MCP servers that could not be read, each with the reason.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unread: Vec<UnreadResource>,
    },
    /// Instruction files beside what a tool of a request touches. It comes before the tool's result.
    NestedFound { request: RequestId, files: Vec<InstructionFile> },
    /// The skills that a request can use. It comes before `Loaded`.
    SkillsListed {
        request: RequestId,
        skills: Vec<ListedSkill>,
        /// The skill that the user calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        called: Option<Box<SkillText>>,
    },
    /// A skill was read for a call, or could not be read.
    SkillRead {
        call: CallId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skill: Option<Box<SkillText>>,
        /// Why it could not be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// The agents that a request can use. It comes before `Loaded`.
    AgentsListed {
        request: RequestId,
        agents: Vec<ListedAgent>,
        /// The agents that the user calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        called: Vec<AgentText>,
        /// Why one of them could not be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// Agents were read for a call that delegates to them, or one of them could not be read.
    AgentsRead {
        call: CallId,
        agents: Vec<AgentText>,
        /// Why one of them could not be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// The tools of MCP servers are known, or have changed.
    ServersListed {
        servers: Vec<ListedServer>,
        /// The search that waits for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
    },
    /// An MCP server has answered a call, or has not.
    ServerAnswered { call: CallId, seen: ReadResult },
    /// Something was seen.
    Looked { call: CallId, seen: ReadResult },
    /// Pictures were made and stored, or were not.
    Drawn {
        call: CallId,
        time: Time,
        /// The images; none: see `fault`.
        #[serde(default)]
        pictures: Vec<MadePicture>,
        /// Why there are no images.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
    },
    /// It is known what a change would make of the files.
    Prepared {
        call: CallId,
        /// What it would.
        prepared: Prepared,
    },
    /// It is known what a part of a change makes of the files.
    Narrowed {
        call: CallId,
        parts: Vec<ChangePart>,
        /// What it makes.
        narrowed: Narrowed,
    },
    /// Files were written, or were not.
    Applied {
        call: CallId,
        /// Why they were not; nothing is changed then.
        #[serde(default)]
        problem: Option<String>,
    },
    /// It is known what a move of the history would make of the files.
    Compared {
        /// What it would.
        compared: Compared,
    },
    /// What the files of these sets were is not to be kept any longer.
    Expire {
        change_sets: Vec<ChangeSetId>,
        /// Why, for people.
        reason: String,
    },
    /// The history moved, or did not.
    Restored {
        /// Why it did not; nothing is changed then.
        #[serde(default)]
        problem: Option<String>,
    },
    /// A command ended.
    Ran {
        call: CallId,
        ran: Ran,
        /// Its file changes, if it was watched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effects: Option<Box<FileEffects>>,
    },
    /// A command continues in the background, and its call ends.
    Detached { call: CallId, detached: Detached },
    /// A background command is ready, or listens on a port.
    BackgroundNews {
        call: CallId,
        #[serde(default)]
        ready: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ports: Vec<OpenPort>,
    },
    /// What a background command has changed so far, of the files that an edit or another command changes now. So each
    /// change is in the history in its turn, and undo reaches the state before the command.
    BackgroundChanged { call: CallId, effects: Box<FileEffects> },
    /// The user leaves the session for now.
    Left { reason: String },
    /// A hook has ended.
    HookRan {
        /// This run of it.
        run: CallId,
        ran: Ran,
        /// What it did to files, if that was watched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effects: Option<Box<FileEffects>>,
    },
    /// The file changes of an interrupted command are known.
    Surveyed {
        call: CallId,
        /// What it did.
        effects: Box<FileEffects>,
    },
    /// A command's time is up, and it still runs.
    Overdue { call: CallId },
    /// An MCP server asks the user something during a call, which waits for the answer.
    ServerAsked { call: CallId, question: Box<ServerQuestion> },
    /// The user added a rule, in any session.
    RuleAdded { rule: Rule },
    /// The settings say something about commands that they may not have said when a request was made.
    Listed {
        /// What they say.
        lists: Lists,
    },
    /// The user removed one.
    RuleRemoved { rule: Rule },
    /// The user's tasks were read.
    TasksViewed {
        request: RequestId,
        /// What is shown of them.
        view: Box<TasksView>,
    },
    /// It is known what operations would do to the user's tasks.
    TasksJudged {
        request: RequestId,
        /// What they would.
        judged: Box<DryRun>,
    },
    /// A wait is over.
    TimerFired { timer: TimerId },
    /// A session that this one was handed off to was deleted.
    ChildGone {
        child: SessionId,
        /// The change sets that it had handed on, and to whom.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        handed_on: BTreeMap<ChangeSetId, SessionId>,
    },
    /// A worker of this session reports progress, a question, or its end.
    WorkerReported { worker: SessionId, report: WorkerReport },
    /// The session has a new owner: what ran under the old one is no longer running.
    Woke {
        /// The interrupted calls, as far as known.
        #[serde(default)]
        interrupted: Vec<Interrupted>,
    },
}

/// A worker's report to its parent session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum WorkerReport {
    /// Its copy of the folder is made.
    Copied { copy: CopyStats },
    /// The provider limits its requests.
    RateLimited,
    /// How far it is.
    Progress {
        /// From 0 to 1.
        progress: f64,
        /// What it cost so far.
        usage: Usage,
    },
    /// It asks the user something.
    Asked {
        question: Box<WorkerAsk>,
        /// Why the last answer to it could not be used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        objection: Option<String>,
    },
    /// What it asked is answered.
    Answered { checkpoint: CheckpointId },
    /// It has written something for the other workers.
    Shared { key: String, value: Value },
    /// It has ended.
    Ended {
        status: Status,
        /// Its final text.
        #[serde(default)]
        summary: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Problem>,
        #[serde(default)]
        usage: Usage,
        /// Its file changes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        writes: Vec<FileWrite>,
        /// What it made in its copy beside these. The engine sees no files: whoever records the report fills it in.
        #[serde(default, skip_serializing_if = "LeftBehind::is_empty")]
        left_behind: LeftBehind,
    },
}

/// A question of a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerAsk {
    pub checkpoint: CheckpointId,
    pub kind: CheckpointKind,
    pub title: String,
    pub choices: Vec<Choice>,
    pub ask: Ask,
}

/// As much of a reply as came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Partial {
    /// The partial message.
    pub message: Message,
    /// Where the raw text is stored.
    #[serde(default)]
    pub raw: Option<RefKey>,
    /// Its usage so far, if known.
    #[serde(default)]
    pub usage: Usage,
}

/// A call that was under way when its owner went away.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interrupted {
    pub call: CallId,
    /// What had been saved of it.
    #[serde(default)]
    pub partial: Option<Partial>,
}

/// The prepared result of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "prepared", rename_all = "camelCase")]
pub enum Prepared {
    /// This; both states of each file are stored.
    Ready {
        writes: Vec<FileWrite>,
        /// The change of each, for people: a unified diff.
        diffs: Vec<String>,
        /// The number of separate hunks of each.
        #[serde(default)]
        hunks: Vec<u32>,
        /// Paths among them that belong to version control, by the folder's structure.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        versions: Vec<String>,
        /// Files among them of which most would be lost.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        losses: Vec<FileLoss>,
        /// Files among them with unsaved changes in the user's editor, which the change is made on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unsaved: Vec<String>,
    },
    /// Changes of workers do not fit together.
    Conflicts { conflicts: Vec<MergeConflict> },
    /// Changes of workers cannot be merged as they are.
    Blocked { obstacle: MergeObstacle },
    /// It is an edit that would have no effect.
    NoEffect {
        /// Why it would have none.
        why: NoEffect,
        /// A sentence that lets the model do better.
        reason: String,
    },
    /// It cannot be made.
    Refused {
        /// A sentence that lets the model do better.
        reason: String,
    },
}

/// The prepared result of a part of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "narrowed", rename_all = "camelCase")]
pub enum Narrowed {
    /// This; both states of each file are stored.
    Ready {
        /// The files of the part.
        writes: Vec<FileWrite>,
        /// The change of each, for people: a unified diff.
        diffs: Vec<String>,
        /// What is left out of each, in the same form; empty: nothing is.
        left: Vec<String>,
    },
    /// It cannot be found out.
    Refused {
        /// In a sentence, why.
        reason: String,
    },
}

/// Why an edit has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoEffect {
    /// What it would write is there already, by a whole text or by search and replace.
    InPlace,
    /// What a diff would write is there already.
    Done,
    /// The lines that it would change are not there.
    Unmatched,
    /// It is not a diff that can be read.
    Malformed,
}

/// The prepared result of a move of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "compared", rename_all = "camelCase")]
pub enum Compared {
    /// The files, where they are not or will not be as the history says; both states of each are stored.
    Ready {
        /// Leg by leg, in the order of the move.
        walked: Vec<RewindPreview>,
    },
    /// It cannot be made.
    Refused {
        /// A sentence for the user.
        reason: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        conflicts: Vec<Conflict>,
    },
}

/// One leg of a file's way, as it really is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RewindPreview {
    pub change_set: ChangeSetId,
    /// The file.
    pub path: String,
    /// As it is before the leg.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<FileState>,
    /// As it will be after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<FileState>,
    /// Lines that the leg adds.
    #[serde(default)]
    pub added: u64,
    /// Lines that it removes.
    #[serde(default)]
    pub removed: u64,
    /// Lines among both that it replaces.
    #[serde(default)]
    pub modified: u64,
}

/// A command as it is when it continues in the background.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Detached {
    pub why: BackgroundReason,
    /// What it was to be ready with has appeared; absent: nothing was named.
    #[serde(default)]
    pub ready: Option<bool>,
    #[serde(default)]
    pub ports: Vec<OpenPort>,
    /// Its output so far.
    #[serde(default)]
    pub output: String,
    /// Bytes it wrote, if `output` is not all of it.
    #[serde(default)]
    pub output_bytes: u64,
    /// The limits of the snapshot before it, if there is one that outlasts other commands.
    #[serde(default)]
    pub watch: Option<SnapshotLimits>,
}

/// How a command ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Ran {
    /// Absent when a signal ended it.
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// It took too long.
    pub timed_out: bool,
    /// The user stopped it.
    pub stopped: bool,
    /// It was started, and how it ended was not seen.
    pub lost: bool,
    /// It did not start, and why.
    pub not_started: Option<String>,
    /// It was to run without a question and did not start, because a sandbox layer or the snapshot for undo was not
    /// available. The user is asked with this reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// Milliseconds it took.
    pub took_ms: u64,
    /// Its output, in order, as a terminal would finally show it.
    pub output: String,
    /// Bytes it wrote, if `output` is not all of it.
    pub output_bytes: u64,
    /// Where all that it wrote is stored.
    pub raw: Option<RefKey>,
    /// Additional notes, a sentence each.
    pub notes: Vec<String>,
    /// Hosts that it tried to reach.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostAttempt>,
}
