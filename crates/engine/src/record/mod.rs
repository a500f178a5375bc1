//! The state of a session. It changes only through [`Session::fold`], in `fold/`.

mod agents;
mod assist;
mod autonomy;
mod background;
mod batch;
mod checks;
mod done;
pub(crate) mod excerpt;
mod flow;
mod fold;
mod hooks;
mod legacy;
mod lineage;
mod memory;
pub mod names;
mod offer;
mod pictures;
pub(crate) mod rounds;
mod running;
pub(crate) mod series;
mod servers;
mod skills;
mod subtasks;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use trimtab_vocab::checkpoint::{Ask, Choice};
use trimtab_vocab::event::{CheckpointKind, OfferedTools, PromptNote, Undo};
use trimtab_vocab::{
    AnswerProtocol, Autonomy, CallId, ChangeSetId, CheckpointId, FileWrite, GeneratedImage, ImageId, Lists,
    MergedWrite, Message, OnConflict, Part, RefKey, Remembered, Request, RequestId, Role, Rule, RunSettings, SessionId,
    Todo, Usage, WorkerQuestion, sensitive_paths,
};

pub use agents::{LoadedAgent, SessionAgents};
pub(crate) use assist::is_same_question;
pub use assist::{Assist, AssistState, OpenProposal, TaskMemory};
pub(crate) use autonomy::applies_commands;
pub use background::{BackgroundCommand, EndedBackground};
pub use batch::{Batch, BatchItem, CallOrigin, HunkSelection, Progress, ToolOutcome, UserDecision, WriteConcerns};
pub use checks::SessionChecks;
pub use done::DoneState;
pub(crate) use flow::completed;
pub use flow::{Flow, FlowState, PlanApproval};
pub(crate) use hooks::ObjectionKind;
pub use hooks::{HeldOutcome, HookGate, HookObjection, ItemHooks, OpenHook, RequestHooks, SessionHooks};
pub use lineage::Lineage;
pub use memory::{Memory, RememberedExchange};
pub(crate) use offer::{model_for, offer};
pub(crate) use pictures::MOST_PICTURES;
pub use pictures::SessionPicture;
pub(crate) use running::RequestKind;
pub use running::{
    CallState, Compressing, CompressionState, Phase, RunningRequest, SteeringState, ToolHistory, TrustState,
};
pub use servers::SessionServers;
pub use skills::{LoadedSkill, SessionSkills, SkillTools};
pub use subtasks::{MergeResolution, SubtaskRun, SubtaskState, WorkerRole};
pub use trimtab_vocab::checkpoint::WithheldResult;

use crate::fragment;
use crate::tokens::part_tokens;
pub(crate) use fold::received;
use fold::{RecordedAnswer, carried};

/// A session as its facts made it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Session {
    /// Its ID; absent if it is not needed.
    id: Option<SessionId>,
    lineage: Lineage,
    memory: Memory,
    folder: Option<String>,
    title: Option<String>,
    conversation: ConversationState,
    active: Option<RunningRequest>,
    queue: RequestQueue,
    checkpoints: BTreeMap<CheckpointId, Checkpoint>,
    spending: Spending,
    permissions: SessionPermissions,
    context: SessionContext,
    models: ModelOffer,
    extensions: SessionExtensions,
    todos: Vec<Todo>,
    changes: ChangeHistory,
    task_memory: TaskMemory,
    /// Pictures that were made, in the order of their places.
    gallery: Vec<SessionPicture>,
    background: Vec<BackgroundCommand>,
}

/// What extensions bring into a session.
#[derive(Debug, Clone, Default, PartialEq)]
struct SessionExtensions {
    servers: SessionServers,
    skills: SessionSkills,
    agents: SessionAgents,
    hooks: SessionHooks,
    checks: SessionChecks,
}

/// The conversation, and how large it is.
#[derive(Debug, Clone, Default, PartialEq)]
struct ConversationState {
    messages: Vec<Arc<Message>>,
    /// How many tokens each message has, about.
    weights: Vec<u64>,
    /// The tokens of the conversation's first messages as the provider counted them, and how many
    /// messages these are.
    measured: Option<(usize, u64)>,
    /// How many messages at the conversation's beginning are summaries of what was there.
    summaries: usize,
    /// The source of the last summary, until the next one.
    squeezed: Option<Squeezed>,
    /// Complete replies so far.
    rounds: u64,
    /// The number of complete replies at the last model summary.
    summed_up_at: Option<u64>,
    /// How many messages of the conversation the last turn was sent. Providers may have them cached.
    sent: usize,
    /// It went over from talk to work.
    implementing: bool,
}

/// Requests beside the running one.
#[derive(Debug, Clone, Default, PartialEq)]
struct RequestQueue {
    waiting: VecDeque<RunningRequest>,
    /// Requests that ended because no one could answer, and continue after an answer.
    parked: Vec<RunningRequest>,
    /// All that were ever taken in.
    known: BTreeSet<RequestId>,
}

/// The cost and the budget of a session.
#[derive(Debug, Clone, Default, PartialEq)]
struct Spending {
    calls: u64,
    usage: Usage,
    /// What an answer has raised the budget to.
    budget: Option<f64>,
}

/// The user's decisions for more than one call.
#[derive(Debug, Clone, Default, PartialEq)]
struct SessionPermissions {
    rules: Vec<Rule>,
    /// The level of autonomy that was chosen in the session.
    autonomy: Option<Autonomy>,
    /// How often the user has allowed each thing that a rule could allow.
    allowed: BTreeMap<String, u32>,
}

/// The model's context besides the conversation.
#[derive(Debug, Clone, Default, PartialEq)]
struct SessionContext {
    /// The memories of earlier sessions that the model gets.
    recalled: Vec<Remembered>,
    /// The notes that the model got last, by name, as far as they are still in the conversation.
    told: BTreeMap<String, String>,
    /// Files as the model has seen them, by path.
    marks: BTreeMap<String, String>,
    /// What the folder's own instructions say.
    instructions: Option<String>,
    /// Instructions further down in the folder, by path: the hash, and what they say if they are used.
    nested: BTreeMap<String, (String, Option<String>)>,
}

/// What models were offered, and could not use.
#[derive(Debug, Clone, Default, PartialEq)]
struct ModelOffer {
    /// How models work that were found not to work as their facts say.
    protocols: BTreeMap<String, AnswerProtocol>,
    /// The tools that a model was offered last.
    offered_tools: OfferedTools,
    /// The user has waited long enough between two requests for a provider's short cache to expire.
    waits_long: bool,
}

/// The change sets of a session, and where in them its folder stands.
#[derive(Debug, Clone, Default, PartialEq)]
struct ChangeHistory {
    /// Change sets, oldest first.
    sets: Vec<ChangeSet>,
    /// How many of them are in force.
    in_force: usize,
    /// The history is being moved.
    moving: Option<HistoryMove>,
    /// How many sets undo a part of another.
    undos: u64,
    /// The sets from this one on may have been made while the latest command in the foreground ran.
    since_command: usize,
}

/// Files that were changed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeSet {
    pub id: ChangeSetId,
    /// The files, before and after.
    pub writes: Vec<FileWrite>,
    /// Its file contents are no longer stored.
    pub expired: bool,
}

impl ChangeSet {
    /// Adds files that were changed with it. A file that it has already goes from its first state to its last.
    fn join(&mut self, writes: Vec<FileWrite>) {
        for write in writes {
            match self.writes.iter_mut().find(|known| known.path == write.path) {
                Some(known) => {
                    known.after = write.after;
                    known.added += write.added;
                    known.removed += write.removed;
                    known.modified += write.modified;
                }
                None => self.writes.push(write),
            }
        }
    }
}

/// A move of the history that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HistoryMove {
    /// How many sets are to be applied.
    pub(crate) to: usize,
    /// Where the user has edited the same lines since.
    pub(crate) on_conflict: OnConflict,
    /// It undoes a part of a set.
    pub(crate) undo: Option<Undo>,
    /// What the sets mean for files that are not as they left them; absent: not compared yet.
    pub(crate) merged: Option<Vec<MergedWrite>>,
}

/// The source of a summary.
#[derive(Debug, Clone, PartialEq)]
struct Squeezed {
    source: RefKey,
    originals: Vec<Arc<Message>>,
    /// How many of them, from the first, are summaries.
    summaries: usize,
}

/// Something that waits for the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// The request that waits for it.
    pub request: RequestId,
    /// What sort of answer it waits for.
    pub kind: CheckpointKind,
    /// Its subject.
    pub ask: Ask,
    pub title: String,
    /// The answers to choose from.
    pub choices: Vec<Choice>,
    /// The worker that asks it; none: the session itself does.
    pub worker: Option<WorkerQuestion>,
}

impl Checkpoint {
    /// The answer with this id, if it is offered.
    pub fn choice(&self, id: &str) -> Option<&Choice> {
        self.choices.iter().find(|choice| choice.id == id)
    }
}

impl Session {
    /// A session of this name, before anything happened in it.
    pub fn new(id: SessionId) -> Self {
        Self { id: Some(id), ..Self::default() }
    }

    /// Its name, where it is known.
    pub(crate) fn id(&self) -> Option<&SessionId> {
        self.id.as_ref()
    }

    /// Its parent, and the sessions that continue it.
    pub fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// What it remembers beside its conversation.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Whether the user waits long between the requests of this session.
    pub(crate) fn waits_long(&self) -> bool {
        self.models.waits_long
    }

    /// The folder it works in, once it is open.
    pub fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    /// The folder that rules are about. A worker's is the folder that its copy was made of: what is allowed or denied
    /// there holds in the copy, and what is decided for the copy is about the folder.
    pub fn rules_folder(&self) -> Option<&str> {
        self.lineage.role.as_ref().map(|role| role.original.as_str()).or(self.folder())
    }

    /// Its name, once it has one.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The conversation so far.
    pub fn conversation(&self) -> &[Arc<Message>] {
        &self.conversation.messages
    }

    pub fn active(&self) -> Option<&RunningRequest> {
        self.active.as_ref()
    }

    /// Queued requests.
    pub fn waiting(&self) -> impl Iterator<Item = &Request> {
        self.queue.waiting.iter().map(|waiting| &waiting.request)
    }

    /// An open checkpoint.
    pub fn checkpoint(&self, id: &CheckpointId) -> Option<&Checkpoint> {
        self.checkpoints.get(id)
    }

    /// The open questions of this session itself. What its workers ask is apart, because it is theirs to act upon.
    pub fn own_checkpoints(&self) -> impl Iterator<Item = (&CheckpointId, &Checkpoint)> {
        self.checkpoints.iter().filter(|(_, open)| open.worker.is_none())
    }

    /// The open questions of this session's workers, with the worker that asks.
    pub fn worker_questions(&self) -> impl Iterator<Item = (&CheckpointId, &Checkpoint, &WorkerQuestion)> {
        self.checkpoints.iter().filter_map(|(id, open)| Some((id, open, open.worker.as_ref()?)))
    }

    /// All open questions for a request, its workers' among them.
    pub(crate) fn questions_for(&self, request: &RequestId) -> impl Iterator<Item = (&CheckpointId, &Checkpoint)> {
        self.checkpoints.iter().filter(move |(_, open)| open.request == *request)
    }

    /// Whether a request has ended because no one could answer.
    pub fn is_parked(&self, request: &RequestId) -> bool {
        self.queue.parked.iter().any(|parked| parked.request.id == *request)
    }

    /// Requests that have ended because no one could answer, the earliest first.
    pub(crate) fn parked(&self) -> &[RunningRequest] {
        &self.queue.parked
    }

    /// Whether a request is running, queued, or waiting for an answer.
    pub fn is_unfinished(&self, request: &RequestId) -> bool {
        self.unfinished(request).is_some()
    }

    /// Requests that are running or queued, or have ended because no one could answer.
    pub(crate) fn all_unfinished(&self) -> impl Iterator<Item = &RunningRequest> {
        self.active.iter().chain(&self.queue.waiting).chain(&self.queue.parked)
    }

    /// A request that is running or queued, or has ended because no one could answer.
    pub(crate) fn unfinished(&self, request: &RequestId) -> Option<&RunningRequest> {
        self.all_unfinished().find(|active| active.request.id == *request)
    }

    /// Requests that are not finished, and were made when the settings said something else about commands.
    pub(crate) fn outdated(&self, lists: &Lists) -> Vec<RequestId> {
        let all = self.active.iter().chain(&self.queue.waiting).chain(&self.queue.parked).map(|active| &active.request);
        let changes = |settings: &RunSettings| {
            let mut relisted = settings.clone();
            relisted.relist(lists.clone());
            relisted != *settings
        };
        all.filter(|request| changes(&request.settings)).map(|request| request.id.clone()).collect()
    }

    /// The running request, or else the one that would continue next.
    pub(crate) fn foremost(&self) -> Option<&RunningRequest> {
        self.active.iter().chain(&self.queue.waiting).chain(&self.queue.parked).next()
    }

    /// The names of the instruction files that this answer accepts, because it trusts the folder.
    pub fn instructions_to_bind(&self, checkpoint: &CheckpointId, choice: &str) -> Vec<String> {
        let asked = self
            .checkpoint(checkpoint)
            .filter(|asked| matches!(asked.ask, Ask::Trust { .. }) && choice == names::choice::TRUST);
        let request = asked.and_then(|asked| self.unfinished(&asked.request));
        request
            .map(|active| sensitive_paths::instruction_files(&active.request.settings.context.files))
            .unwrap_or_default()
    }

    /// Dollars that the session may cost together with those before it, as a request and later answers have
    /// set it.
    pub fn budget(&self) -> Option<f64> {
        let asked = self.budget_of(self.active()?);
        match (asked, self.spending.budget) {
            (Some(asked), Some(raised)) => Some(asked.max(raised)),
            (asked, _) => asked,
        }
    }

    /// The budget that a request was given: its own, or the one of the request that was handed over.
    pub(crate) fn budget_of(&self, active: &RunningRequest) -> Option<f64> {
        active.request.settings.models.budget_usd.or(self.lineage.budget_usd)
    }

    /// What an answer has raised the budget to.
    pub(crate) fn raised_budget(&self) -> Option<f64> {
        self.spending.budget
    }

    /// Dollars that the session and those before it have cost.
    pub fn spent(&self) -> f64 {
        self.lineage.spent_usd + self.spending.usage.cost_usd.unwrap_or(0.0)
    }

    /// The running request, while it waits for an answer or for its workers. It needs no slot then.
    pub fn resting(&self) -> Option<&RequestId> {
        let is_at_work = |active: &RunningRequest| active.batch.as_ref().is_some_and(Batch::is_running);
        let rests = |active: &&RunningRequest| match active.phase {
            _ if active.waits_for_workers() => true,
            Phase::Tools => active.waits_for_a_person() && !is_at_work(active),
            _ => active.waits_for_a_person(),
        };
        self.active.as_ref().filter(rests).map(|active| &active.request.id)
    }

    /// The model call whose end is not recorded yet.
    pub fn open_call(&self) -> Option<&CallId> {
        match &self.active()?.phase {
            Phase::Calling { call, .. } | Phase::Stopping { call: Some((call, _)) } => Some(call),
            _ => None,
        }
    }

    /// The calls that would be lost with their owner: the model call, or started tools. None while the request waits.
    pub fn under_way(&self) -> Vec<CallId> {
        let tools = self.active.iter().filter(|active| matches!(active.phase, Phase::Tools | Phase::Stopping { .. }));
        let tools = tools.flat_map(|active| &active.batch).flat_map(|batch| &batch.items);
        let begun = tools.filter(|item| matches!(item.progress, Progress::Started | Progress::Acting));
        let moving = self.changes.moving.as_ref().map(|_| CallId::history());
        let hooks = self.extensions.hooks.open.keys();
        let calls = self.open_call().into_iter().chain(begun.map(|item| &item.call_id)).chain(hooks);
        calls.cloned().chain(moving).collect()
    }

    /// Whether there is nothing to do.
    pub fn is_idle(&self) -> bool {
        self.active.is_none() && self.queue.waiting.is_empty() && self.changes.moving.is_none()
    }

    /// The pictures that were made, in the order of their places.
    pub fn gallery(&self) -> impl Iterator<Item = &GeneratedImage> {
        self.gallery.iter().map(|picture| &picture.image)
    }

    /// A picture of the gallery.
    pub(crate) fn picture(&self, image: &ImageId) -> Option<&GeneratedImage> {
        self.gallery().find(|picture| picture.id == *image)
    }

    /// The pictures that a request has made, or could not make.
    pub(crate) fn pictures_of(&self, request: &RequestId) -> impl Iterator<Item = &GeneratedImage> {
        self.gallery.iter().filter(move |picture| picture.request == *request).map(|picture| &picture.image)
    }

    /// Whether only one request was ever taken in.
    pub(crate) fn has_one_request(&self) -> bool {
        self.queue.known.len() == 1
    }

    /// Whether a request was ever taken in.
    pub fn knows(&self, request: &RequestId) -> bool {
        self.queue.known.contains(request)
    }

    /// Whether it has any request.
    pub(crate) fn has_requests(&self) -> bool {
        !self.queue.known.is_empty()
    }

    /// The cost of the session so far.
    pub fn usage(&self) -> Usage {
        self.spending.usage
    }

    /// The user's standing decisions.
    pub fn rules(&self) -> &[Rule] {
        &self.permissions.rules
    }

    /// The memories of earlier sessions that the model gets.
    pub fn recalled(&self) -> &[Remembered] {
        &self.context.recalled
    }

    /// What the model was last told besides the conversation, by name.
    pub(crate) fn told(&self) -> &BTreeMap<String, String> {
        &self.context.told
    }

    /// Whether the user has said something to a request that no model has answered. Words that went out with the results
    /// of tools stay untold, as they did in 0.1, so these alone do not tell.
    pub(crate) fn has_unanswered_words(&self, request: &RequestId) -> bool {
        let Some(active) = self.unfinished(request) else { return false };
        let awaits_reply = || self.conversation.messages.last().is_some_and(|last| last.role == Role::User);
        !active.steering.untold.is_empty() && (!active.steering.steers.is_empty() || awaits_reply())
    }

    /// What the model last said to the running request. What it said to others in between is theirs.
    pub(crate) fn last_reply(&self) -> Option<String> {
        let own = self.conversation.messages.get(self.active.as_ref()?.flow.from..)?;
        own.iter().rev().find(|message| message.role == Role::Assistant).map(|message| message.text())
    }

    /// The messages that a turn adds to the conversation, each with its place: notes go before a request that no
    /// model has seen yet, so that the request comes last, else at the end.
    fn additions(&self, notes: &[PromptNote]) -> Vec<(usize, Message)> {
        let Some(active) = &self.active else { return Vec::new() };
        let user = |parts: Vec<Part>| (!parts.is_empty()).then_some(Message { role: Role::User, parts });
        let (at, end) = (active.flow.from, self.conversation.messages.len());
        let steers = active.unsent().map(|words| words.parts).unwrap_or_default();
        let notes: Vec<Part> = notes.iter().map(fragment::part).collect();
        match at >= self.conversation.sent && at < end {
            // Behind one more message, the end is one further.
            true => {
                let end = end + usize::from(!notes.is_empty());
                user(notes).map(|notes| (at, notes)).into_iter().chain(user(steers).map(|words| (end, words))).collect()
            }
            false => user([notes, steers].concat()).map(|words| (end, words)).into_iter().collect(),
        }
    }

    /// The conversation as the next turn sends it.
    pub(crate) fn messages_with(&self, notes: &[PromptNote]) -> Vec<Arc<Message>> {
        let mut messages = self.conversation.messages.clone();
        self.additions(notes).into_iter().for_each(|(at, message)| messages.insert(at, Arc::new(message)));
        messages
    }

    /// Tokens that the next turn adds to the conversation, about.
    pub(crate) fn added_tokens(&self, notes: &[PromptNote]) -> u64 {
        self.additions(notes).iter().map(|(_, message)| weight_of(message)).sum()
    }

    /// The steps of the work, as the model last told them.
    pub fn todos(&self) -> &[Todo] {
        &self.todos
    }

    /// The model of the running request.
    pub fn model_at_work(&self) -> Option<&str> {
        self.active.as_ref().map(|active| model_for(&active.request).0)
    }

    /// The tools that a model was offered last, if recorded.
    pub fn offered_tools(&self) -> &OfferedTools {
        &self.models.offered_tools
    }

    /// What the folder's own instructions say.
    pub(crate) fn instructions(&self) -> Option<&str> {
        self.context.instructions.as_deref()
    }

    /// Instructions further down in the folder, by path.
    pub(crate) fn nested_instructions(&self) -> &BTreeMap<String, (String, Option<String>)> {
        &self.context.nested
    }

    /// A file as the model has seen it, by its hash.
    pub(crate) fn mark(&self, path: &str) -> Option<&str> {
        self.context.marks.get(path).map(String::as_str)
    }

    /// How often the user has allowed what this rule would allow.
    pub(crate) fn times_allowed(&self, rule: &Rule) -> u32 {
        self.permissions.allowed.get(&rule.to_string()).copied().unwrap_or(0)
    }

    /// Change sets, oldest first.
    pub fn history(&self) -> &[ChangeSet] {
        &self.changes.sets
    }

    /// How many of them are in force.
    pub fn in_force(&self) -> usize {
        self.changes.in_force
    }

    /// The move of the history that was begun and is not over.
    pub(crate) fn moving(&self) -> Option<&HistoryMove> {
        self.changes.moving.as_ref()
    }

    /// Files that requests which wait for the user would write.
    pub(crate) fn parked_writes(&self) -> impl Iterator<Item = &FileWrite> {
        let items = self
            .queue
            .parked
            .iter()
            .chain(&self.active)
            .flat_map(|active| &active.batch)
            .flat_map(|batch| &batch.items);
        items.flat_map(|item| item.writes.iter().flatten())
    }

    /// Whether the history is being moved.
    pub fn is_moving(&self) -> bool {
        self.changes.moving.is_some()
    }

    /// How many sets undo a part of another.
    pub(crate) fn undos(&self) -> u64 {
        self.changes.undos
    }

    /// The summary that can be undone or edited: where its source is.
    pub(crate) fn last_summary(&self) -> Option<&RefKey> {
        self.conversation.squeezed.as_ref().map(|squeezed| &squeezed.source)
    }

    /// How many tokens more the conversation would have with its last summary undone.
    pub(crate) fn undoing_adds(&self) -> Option<u64> {
        let squeezed = self.conversation.squeezed.as_ref()?;
        let whole: u64 = squeezed.originals.iter().map(|message| weight_of(message)).sum();
        let at = self.conversation.summaries.checked_sub(1)?;
        Some(whole.saturating_sub(self.weight(at..at + 1)))
    }

    /// How many messages at the beginning are summaries.
    pub(crate) fn summaries(&self) -> usize {
        self.conversation.summaries
    }

    /// Replies of the conversation since a model was last asked for a summary, if one ever was.
    pub(crate) fn rounds_since_summary(&self) -> Option<u64> {
        Some(self.conversation.rounds - self.conversation.summed_up_at?)
    }

    /// Tokens of the messages in a range, about.
    pub(crate) fn weight(&self, range: std::ops::Range<usize>) -> u64 {
        self.conversation.weights.get(range).map_or(0, |weights| weights.iter().sum())
    }

    /// Tokens of the conversation: what the provider has counted, and an estimate of the rest. A count
    /// far below the estimate is not believed: some providers leave out what they had cached.
    pub(crate) fn conversation_tokens(&self) -> u64 {
        let (messages, tokens) = self.conversation.measured.unwrap_or((0, 0));
        let least = self.weight(0..self.conversation.weights.len()) / 2;
        (tokens + self.weight(messages..self.conversation.weights.len())).max(least)
    }

    /// The largest budget that any unfinished request was given, or that an answer raised it to.
    pub(crate) fn largest_budget(&self) -> f64 {
        let all = self.active.iter().chain(&self.queue.parked).filter_map(|active| self.budget_of(active));
        all.chain(self.spending.budget).fold(0.0, f64::max)
    }

    /// The number of the next call.
    pub(crate) fn next_call(&self) -> u64 {
        self.spending.calls + 1
    }
}

/// Tokens of a message, about.
pub(crate) fn weight_of(message: &Message) -> u64 {
    4 + message.parts.iter().map(part_tokens).sum::<u64>()
}
