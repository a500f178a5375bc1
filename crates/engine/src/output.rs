//! The output of a step.

use std::collections::BTreeMap;

use serde_json::Value;
use trimtab_vocab::{
    Annotated, AutoMode, BackgroundId, BackgroundReason, CallId, ChangePart, ChangeSetId, CommandPlan, Fact, FilePlan,
    FileSet, FileState, FileWrite, ListedAgent, ListedHook, ListedSkill, NamedResource, OnConflict, Overtime, Prices,
    Prompt, ReadOp, ReadyWhen, RefKey, Request, RequestId, ServerCallPlan, ServerReply, SessionId, SnapshotLimits,
    TimerId, Where,
};

use crate::Input;
use crate::proposal::{MergePart, ProposedChange};

/// The overview of a folder for a model without read tools: its list of files, and those that seem relevant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// The words of the request, by which files are chosen.
    pub words: String,
    /// Bytes of the files at most.
    pub bytes: usize,
}

/// One consequence of an input. Facts and texts are durable before any effect starts.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// A fact to record.
    Event {
        /// The request it is about.
        request: Option<RequestId>,
        /// What happened.
        fact: Fact,
    },
    /// A text to store under a name, together with the facts that mention it.
    Keep {
        /// The name.
        key: RefKey,
        text: String,
    },
    /// Only these stored file contents, by their hashes, are still needed. The others are deleted together with this
    /// commit.
    KeepOnly { hashes: Vec<String> },
    /// Something for the trail of what was decided, together with the facts.
    Audit {
        /// The request it is about.
        request: RequestId,
        /// What happened, by its documented name.
        action: &'static str,
        /// What the action adds: an object.
        fields: Value,
    },
    /// A session to make, together with the facts.
    Child(Box<Child>),
    /// An input for another session, together with the facts.
    Tell { session: SessionId, input: Box<Input> },
    /// Work for the world. Its result comes back as an input.
    Effect(Effect),
}

/// Which skills a request needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillQuery {
    /// Also those of the folder, because it is trusted.
    pub with_folder: bool,
    /// The skill that the user calls, whose text is needed.
    pub called: Option<String>,
}

/// Which agents a request needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentQuery {
    /// Also those of the folder, because it is trusted.
    pub with_folder: bool,
    /// The agents that the user calls, whose texts are needed.
    pub called: Vec<String>,
}

/// Work for the world.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Find room for a request among the running ones; answered by `Admitted`, perhaps after `Held`.
    Admit { request: RequestId },
    /// Call a model; answered by `Replied`, `CallFailed` or `CallAborted`.
    CallModel {
        request: RequestId,
        call: CallId,
        /// What to send.
        prompt: Box<Prompt>,
        /// What the chosen model costs, if that is known.
        prices: Option<Prices>,
        /// Seconds for which the reply to the same prompt is used again.
        cache_s: u64,
        /// How often the request wants the same thing said, so that the reply is not stopped for it.
        repeats: u32,
    },
    /// Find a name for the session, beside everything else; answered by `Titled`, or not at all.
    Title {
        /// Whom it is for.
        request: RequestId,
        /// What to send.
        prompt: Box<Prompt>,
    },
    /// Read what a request names, and the folder's own instructions; answered by `Loaded`.
    Load {
        request: RequestId,
        /// Files that its words may name.
        files: Vec<String>,
        /// Those of them that the user would miss.
        marked: Vec<String>,
        /// Pages that its words name and that may be fetched.
        urls: Vec<String>,
        /// Resources of MCP servers that its words name. Their servers are waited for.
        resources: Vec<NamedResource>,
        /// Files with the folder's own instructions, in this order. They need not be there.
        instructions: Vec<String>,
        /// What is shown of the folder to a model that cannot look for itself.
        overview: Option<Overview>,
        /// Whether the MCP servers are to be listed. None of them is waited for.
        servers: bool,
        /// Which skills are to be listed.
        skills: Option<SkillQuery>,
        /// Which agents are to be listed.
        agents: Option<AgentQuery>,
    },
    /// Read a skill, answered by `SkillRead`, or another file of its folder, answered by `Looked`.
    ReadSkill {
        request: RequestId,
        call: CallId,
        skill: Box<ListedSkill>,
        /// Another file of its folder.
        file: Option<String>,
    },
    /// Read agents that work is delegated to, answered by `AgentsRead`.
    ReadAgents { request: RequestId, call: CallId, agents: Vec<ListedAgent> },
    /// See something; answered by `Looked`.
    Read {
        request: RequestId,
        call: CallId,
        /// What to look at.
        op: ReadOp,
    },
    /// Make pictures and store them; answered by `Drawn`. Asked again after a crash, unless the answer was there.
    Draw {
        request: RequestId,
        call: CallId,
        /// `provider/name`.
        model: String,
        /// What to show.
        prompt: String,
        count: u32,
        /// Milliseconds to wait before.
        after_ms: u64,
    },
    /// Connect the MCP servers whose tools are not known; answered by `ServersListed`.
    ListServers {
        request: RequestId,
        /// The search that waits for it.
        call: CallId,
    },
    /// Call a tool of an MCP server; answered by `ServerAnswered`. Never asked again after a crash.
    CallServer {
        request: RequestId,
        call: CallId,
        /// What was approved.
        plan: ServerCallPlan,
    },
    /// Read a stored text; answered by `Looked`.
    Recall {
        request: RequestId,
        call: CallId,
        /// The session that has it; none: this one.
        of: Option<SessionId>,
        /// The text.
        key: RefKey,
        /// The first byte to show.
        offset: usize,
        /// Bytes to show at most.
        limit: usize,
    },
    /// Find out what a change would make of the files, and store both; answered by `Prepared`.
    Prepare {
        request: RequestId,
        call: CallId,
        change: ProposedChange,
        /// Its files as the model has seen them, by their hashes.
        seen: BTreeMap<String, String>,
    },
    /// Find out what a part of a change makes of the files, and store it; answered by `Narrowed`.
    SelectHunks {
        request: RequestId,
        call: CallId,
        /// The whole change.
        writes: Vec<FileWrite>,
        /// The part of it.
        parts: Vec<ChangePart>,
    },
    /// Write files; answered by `Applied`. Asked again after a crash, it finishes what was begun.
    Apply {
        request: RequestId,
        call: CallId,
        /// What was approved.
        plan: FilePlan,
    },
    /// Compare files with the history, find out what a move would make of them as they are now, and store
    /// that; answered by `Compared`.
    Compare {
        /// The files, each with its way.
        ways: Vec<RewindPath>,
        /// Where the user has edited the same lines since.
        on_conflict: OnConflict,
    },
    /// Put files as the history wants them; answered by `Restored`. Asked again after a crash, it finishes
    /// what was begun.
    Restore {
        /// What was approved.
        plan: FilePlan,
    },
    /// Run a command; answered by `Ran`, perhaps after `Overdue`. Never asked again after a crash.
    Run {
        request: RequestId,
        call: CallId,
        /// What was approved.
        plan: CommandPlan,
        /// A snapshot is taken first, so that its file changes can be found.
        watch: Option<SnapshotLimits>,
        /// It continues in the background; answered by `Detached`, unless it ends before.
        background: Option<BackgroundWait>,
    },
    /// Run a hook; answered by `HookRan`. Never asked again after a crash.
    RunHook {
        request: RequestId,
        /// This run of it.
        run: CallId,
        /// How it is run.
        plan: CommandPlan,
        /// A snapshot is taken first, so that its file changes can be found.
        watch: Option<SnapshotLimits>,
        /// The hook. A project's is not run if it is no longer what was approved.
        hook: Box<ListedHook>,
    },
    /// Let a running command continue in the background; answered by `Detached`, unless it ends before.
    Detach { call: CallId, why: BackgroundReason },
    /// End a background command; answered by `Ran`.
    EndBackground { call: CallId },
    /// Read the output of a background command; answered by `Looked`.
    ReadOutput {
        request: RequestId,
        call: CallId,
        /// The call that started it.
        of: CallId,
        /// Its ID, for the text.
        id: BackgroundId,
        /// Where its output is stored, if it has ended.
        stored: RefKey,
        since: Option<u64>,
        /// Bytes to show at most.
        limit: usize,
    },
    /// Find the file changes of a background command that ended with an earlier owner; answered by `Surveyed`.
    InspectBackground { call: CallId, watch: SnapshotLimits },
    /// Find the file changes of an interrupted command; answered by `Surveyed`.
    InspectEffects {
        request: RequestId,
        call: CallId,
        /// As when it was run.
        watch: SnapshotLimits,
    },
    /// Send a server the user's answer to its question.
    AnswerServer { call: CallId, reply: ServerReply },
    /// Decide about a command that is overdue.
    Overtime { call: CallId, overtime: Overtime },
    /// End a call now; a model's answer is `CallAborted`, a command's `Ran`, unless it was quicker;
    /// a look has none.
    Abort { call: CallId },
    /// Look at the user's tasks; answered by `TasksViewed`.
    ViewTasks {
        request: RequestId,
        /// What is to be shown of them.
        wanted: TaskSelection,
        /// What the user has set about their tasks.
        settings: Box<AutoMode>,
    },
    /// Find out what operations would do to the user's tasks; answered by `TasksJudged`.
    JudgeTasks {
        request: RequestId,
        /// The operations, each with what is wrong about its form.
        operations: Vec<Annotated>,
        /// What the user has set about their tasks.
        settings: Box<AutoMode>,
    },
    /// Copy the folder for a worker and start it; if repeated, it continues. Its session reports the rest, in
    /// `WorkerReported`.
    StartWorker(Box<WorkerOrder>),
    /// Remove the copy of a worker that has ended.
    DropWorker { worker: SessionId, folder: String },
    /// Wait; answered by `TimerFired`.
    Wait {
        request: RequestId,
        /// Names the wait.
        timer: TimerId,
        /// How long.
        millis: u64,
    },
}

/// What is waited for before a background command's call ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackgroundWait {
    pub ready: Option<ReadyWhen>,
}

impl Effect {
    /// Whether something outside changes by it, or is paid for: the intent must be on the disk before it begins. What
    /// only looks or waits is simply begun again.
    pub fn acts(&self) -> bool {
        match self {
            Self::CallModel { .. }
            | Self::Title { .. }
            | Self::Draw { .. }
            | Self::Apply { .. }
            | Self::Restore { .. }
            | Self::StartWorker(_)
            | Self::CallServer { .. }
            | Self::RunHook { .. }
            | Self::Run { .. } => true,
            Self::Admit { .. }
            | Self::Load { .. }
            | Self::Read { .. }
            | Self::ReadSkill { .. }
            | Self::ReadAgents { .. }
            | Self::ListServers { .. }
            | Self::Recall { .. }
            | Self::Prepare { .. }
            | Self::SelectHunks { .. }
            | Self::Compare { .. }
            | Self::InspectEffects { .. }
            | Self::InspectBackground { .. }
            | Self::Detach { .. }
            | Self::EndBackground { .. }
            | Self::ReadOutput { .. }
            | Self::Overtime { .. }
            | Self::AnswerServer { .. }
            | Self::Abort { .. }
            | Self::ViewTasks { .. }
            | Self::JudgeTasks { .. }
            | Self::DropWorker { .. }
            | Self::Wait { .. } => false,
        }
    }

    /// The files that are written by it.
    pub fn writes(&self) -> Option<&FileSet> {
        match self {
            Self::Apply { plan, .. } | Self::Restore { plan } => Some(plan.set()),
            _ => None,
        }
    }
}

/// The way of one file along the history: through every set that changed it, in the order of the move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewindPath {
    /// The file.
    pub path: String,
    /// From set to set.
    pub steps: Vec<RewindStep>,
    /// It undoes a part of a set, by a new set that is made from the result.
    pub is_undo: bool,
}

/// What one set means for a file, in the direction of the move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewindStep {
    pub change_set: ChangeSetId,
    /// The state that the history left.
    pub from: Option<FileState>,
    /// The state on the other side.
    pub to: Option<FileState>,
    /// Only these hunks of it, counted from 1; none: all of it.
    pub hunks: Vec<u32>,
}

/// A session to make, together with the facts of the step that asks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Child {
    pub id: SessionId,
    /// The session's folder.
    pub folder: String,
    /// Its log so far.
    pub facts: Vec<Fact>,
    /// Contents of files that it needs of its parent, by their hashes.
    pub files: Vec<String>,
}

/// A worker to be started.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerOrder {
    /// Its session, which exists.
    pub worker: SessionId,
    /// The folder that is copied.
    pub original: String,
    /// The folder that the copy becomes.
    pub folder: String,
    /// Changes of other workers that it depends on.
    pub seed: Vec<MergePart>,
    /// It is the first of its run in this process: copies that a killed process left are removed with it.
    pub is_first: bool,
    pub said: Request,
}

/// The selection of the user's tasks for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskSelection {
    /// This week and some of the rest: to find out what is meant, and to answer in words.
    Overview {
        /// What was asked for: what it names by its title is shown as well, whenever it is planned.
        words: String,
    },
    /// The foremost, and how many there are of each sort: to plan changes.
    Foremost {
        /// As above.
        words: String,
    },
    /// What a filter fits, and how many there are of each sort.
    Focused {
        filter: Where,
        /// What was asked for: what it names by its title is shown as well.
        words: String,
    },
}
