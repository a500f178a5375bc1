//! Everything that happens to [`super::app::App`] is a [`Msg`]; everything that it wants done outside of itself is a
//! [`Cmd`].

use std::sync::Arc;

use trimtab_host::{Answered, History, JobRow, RewindDone, RewindPlan, RewindPoint, Sent, SessionRow};
use trimtab_vocab::{
    Autonomy, BackgroundId, BackgroundRow, CallId, ChangePart, ChangeSetId, CheckpointId, Control, Effort, Event,
    FileWrite, Mode, OnConflict, PlanStep, Problem, RequestId, RewindScope, SessionId, SubtaskStart, Time,
    WhileRunning,
};

use super::composer::{CompletionSource, ComposerDraft, SavedComposer};
use super::keys::TerminalInput;
use super::picker::PickerItem;
use super::setup::Secret;
use super::shell_output::ShellOutput;
use crate::diff::LoadedDiff;

/// What a fold cannot find out by itself, given with each message.
#[derive(Debug)]
pub(super) struct UpdateContext {
    pub(super) now: Time,
    /// What a request will be called that follows from the message.
    pub(super) request: RequestId,
}

/// Something that happened.
#[derive(Debug)]
pub(super) enum Msg {
    /// A key, a paste, a new size, the focus.
    Input(TerminalInput),
    /// Time has passed; only told while something moves.
    Tick,
    /// What the user's own program has printed for the status line.
    Status(String),
    /// Facts of the session that is shown, in order.
    Events(Vec<Event>),
    /// All that the log has is told; what follows is live.
    CaughtUp,
    /// What was said was taken in.
    Sent(Sent),
    /// The changes that a tool call made or wants to make, with their bytes.
    Diff { call: CallId, files: Arc<Vec<LoadedDiff>> },
    /// Facts of the worker whose conversation is open, in order.
    WorkerEvents(Vec<Event>),
    /// The changes of a tool call of a worker, with their bytes.
    WorkerDiff { session: SessionId, call: CallId, files: Arc<Vec<LoadedDiff>> },
    /// The changes of a set of the history, with their bytes.
    SetDiff { set: ChangeSetId, files: Arc<Vec<LoadedDiff>> },
    /// The history of the session.
    History(Box<History>),
    /// Sessions that fit what was searched, and those that have unfinished requests.
    Sessions { query: String, rows: Vec<SessionRow>, jobs: Vec<JobRow> },
    /// A session was forked: this is the fork, and what the input begins with there.
    Forked { session: SessionId, words: Option<String> },
    /// The messages that the person can go back to, and whether the last rewind can be undone.
    RewindPoints { points: Vec<RewindPoint>, can_undo: bool },
    /// What going back would do, with the bytes of the files.
    RewindPlan { plan: Box<RewindPlan>, files: Arc<Vec<LoadedDiff>> },
    /// What came of going back.
    Rewound(Box<RewindDone>),
    /// Something that was wished for is done; this is what to say of it.
    Told(String),
    /// The background commands of the session.
    Background(Vec<BackgroundRow>),
    /// The output of a background command.
    CommandOutput { id: BackgroundId, text: String },
    /// Models that a provider has.
    Models(Vec<PickerItem>),
    /// What was written in the editor; nothing if it was not left well.
    Edited(Option<String>),
    /// Something that was wished for did not work.
    Failed(Problem),
    /// The session cannot be watched any more.
    Lost(Problem),
    /// There is a model to work with now: this one.
    Ready(String),
    /// Something that a person should know, and that stops nothing.
    Warned(String),
    /// There is still none, and why.
    NotReady(String),
    /// This model is used from now on.
    Model(String),
    /// What was said could not be taken in; it is the person's again.
    Unsent { request: RequestId, draft: ComposerDraft },
    /// The workflows that can be called, with their descriptions.
    Workflows(Vec<(String, String)>),
    /// The files of the folder, and the resources of MCP servers.
    Files(Arc<Vec<PickerItem>>),
    /// A command of the person's own has ended.
    ShellEnded(ShellOutput),
    /// What a command of the command line printed.
    Printed(String),
}

/// What should be said.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutgoingMessage {
    /// What it will be called.
    pub(super) request: RequestId,
    pub(super) draft: ComposerDraft,
    pub(super) mode: Mode,
    /// What it does to a request that runs.
    pub(super) while_running: Option<WhileRunning>,
    /// Where; absent: in the session that is shown, or else in a new one.
    pub(super) session: Option<SessionId>,
    /// Whether it is broken down first.
    pub(super) subtasks: Option<SubtaskStart>,
    /// The level of autonomy that was chosen since the last one.
    pub(super) autonomy: Option<Autonomy>,
}

/// Something that should be done.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cmd {
    /// Say this in the session, or in a new one, once what was wished to be kept is kept.
    Send(Box<OutgoingMessage>),
    /// Take a request back that waits for its turn.
    Withdraw(RequestId),
    /// Run the user's own program for the status line with this.
    ShowStatus(String),
    /// Look for what a list offers.
    Offer(CompletionSource),
    /// Keep a provider's key, and work with its model.
    KeepKey { provider: &'static str, key: Secret },
    /// Work with a model of this machine.
    Local,
    /// Work with the recorded model.
    Demo,
    /// Ask the providers which models they have.
    LoadModels,
    /// Use another model from the next request on.
    Model(String),
    /// Think so much from the next request on.
    Effort(Option<Effort>),
    /// Work with the model of a server at this address.
    Address(String),
    /// Say "continue" by itself from the next request on, or no longer.
    AutoContinue(bool),
    /// Run a command of the person's own, as a shell does.
    Shell(String),
    /// Draw everything anew.
    Redraw,
    /// The plan that is asked about should be this one.
    Plan(Vec<PlanStep>),
    /// Take what is in the clipboard, as if it were pasted.
    Paste,
    /// Write the draft down, so that it outlives the program.
    Keep(Box<SavedComposer>),
    /// Answer what is asked.
    Answer(Answered),
    /// Allow only these parts of the change that is asked about.
    AllowParts { checkpoint: CheckpointId, parts: Vec<ChangePart> },
    /// Tell a request of the session what to do.
    Control(Control),
    /// Show this session from now on.
    Open(SessionId),
    /// Tell what a worker does, from its beginning on, beside the session that is shown.
    WatchWorker(SessionId),
    /// Tell no longer what a worker does.
    LeaveWorker,
    /// Load what a tool call of a worker changes.
    LoadWorkerDiff { session: SessionId, call: CallId, writes: Vec<FileWrite> },
    /// Begin a new session with the next words.
    New,
    /// Load what a tool call changes.
    LoadDiff { call: CallId, writes: Vec<FileWrite> },
    /// Load what a set of the history changed.
    LoadSet { set: ChangeSetId, writes: Vec<FileWrite> },
    /// Load the history of the session.
    LoadHistory,
    /// Look for sessions.
    LoadSessions { query: String },
    /// Make a session that begins as this one was at a place, and show it; words for its input.
    Fork { session: SessionId, at: Option<u64>, words: Option<String> },
    /// List the messages that the person can go back to.
    LoadRewindPoints,
    /// Find out what going back to before a message would do; without one, what undoing the last rewind would do.
    LoadRewindPlan(Option<u64>),
    /// Go back to before a message; without one, undo the last rewind.
    Rewind { before: Option<u64>, scope: RewindScope, on_conflict: OnConflict },
    /// Give a session a name, and look for sessions again.
    Rename { session: SessionId, title: String, query: String },
    /// Write a session into a file, as JSON.
    Export(SessionId),
    /// Write the conversation on the screen into a file, as Markdown.
    ExportText { session: SessionId, text: String },
    /// Show what a command of the command line prints.
    Program(&'static [&'static str]),
    /// Put a text into the clipboard of the terminal.
    Copy(String),
    /// List the background commands of the session.
    LoadBackground,
    /// Read the output of a background command.
    LoadOutput(BackgroundId),
    /// End a background command, and list them again.
    StopCommand(BackgroundId),
    /// Open the port of a background command for a browser, and list the commands again.
    OpenPort(BackgroundId),
    /// Show the MCP servers, and whether they are on.
    LoadServers,
    /// Log in to an MCP server, perhaps at hosts that are not its own.
    LogIn { server: String, hosts: Vec<String> },
    /// Log out of an MCP server.
    LogOut { server: String },
    /// Show the extensions, and whether they are in use.
    LoadExtensions,
    /// Forget a session, and look for sessions again.
    Forget { session: SessionId, query: String },
    /// Let the person write in their editor.
    Edit(String),
    /// Tell the person, who looks elsewhere, that something needs them.
    Notify(String),
    /// Stop the program for a while, as the shell's job control does.
    Suspend,
    /// End the program.
    Quit,
}
