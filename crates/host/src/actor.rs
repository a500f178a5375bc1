//! The actor that runs a session.

pub(crate) mod durable;
mod starting;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::sync::{Notify, mpsc};
use tokio::task::{AbortHandle, JoinSet};
use trimtab_engine::handoff::Child;
use trimtab_engine::{Effect, Input, Interrupted, Output, Partial, Session};
use trimtab_vocab::event::{ChangeFact, CommandFact, RequestFact, ToolFact};
use trimtab_vocab::{
    BackgroundReason, CallId, Event, Fact, HookFact, ListedHook, Lists, Message, Overtime, Problem, ProblemKind,
    RefKey, Remembered, Request, RequestId, ServerReply, SessionId, Time, Usage,
};
use trimtab_world::store::{
    AuditEntry, Claim, Commit, Lease, NewInput, Recipient, SeededSession, SessionRow, StoreError,
};

use crate::StreamController;
use crate::client::{ActorContext, store_problem};
use crate::effects::{self, ActorHandle};
use crate::hub::{POLL_INTERVAL, Update};
use crate::memory::MOST_LOADED;
use crate::{history, hooks, settings_reload, workers};

use durable::note;
pub(crate) use durable::{first_words, read_rules, told, written_rule};

const PAGE: u32 = 1000;
/// Tasks tell things faster than the actor takes them up only by mistake.
const MAILBOX: usize = 64;
/// Size of the queue of decisions about overtime that a command has not received yet.
const ANSWERS: usize = 4;

/// Why a session cannot be run any further here. Nothing of it is lost, and it can be resumed.
#[derive(Debug)]
pub(crate) enum ActorError {
    /// The store fails.
    Store(StoreError),
    /// The model cannot be called from here: a key or a file is missing.
    SetUp(Problem),
}

impl From<StoreError> for ActorError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Wakes the actor of a session, or starts one.
pub(crate) fn wake(deps: &Arc<ActorContext>, session: &SessionId) {
    deps.roster.want(session, |wake| tokio::spawn(run(Arc::clone(deps), session.clone(), wake)));
}

/// Runs a session until it has nothing left to do. While another process runs it, waits to take over if that process
/// ends.
pub(crate) async fn run(deps: Arc<ActorContext>, session: SessionId, wake: Arc<Notify>) {
    let mut wakes = 0;
    loop {
        if let Err(trouble) = run_once(&deps, &session, &wake).await {
            tracing::error!(%session, ?trouble, "session stopped");
            let problem = match trouble {
                ActorError::Store(error) => store_problem(error),
                ActorError::SetUp(problem) => problem,
            };
            deps.hub.publish(&session, Update::Failed(problem));
            release(&deps, &session).await;
        }
        deps.world.workspace(&session).rest(&session).await;
        if deps.roster.leave(&session, &mut wakes) {
            return;
        }
    }
}

/// After a failure: releases the session, so that other processes can run it. Retries until it works, because this
/// process could not run the session before that either.
async fn release(deps: &ActorContext, session: &SessionId) {
    loop {
        let given_back = match deps.world.store.claim(session).await {
            Ok(Claim::Granted(lease)) => deps.world.store.release(&lease).await.is_ok(),
            Ok(Claim::Held { .. }) => true,
            Err(error) => matches!(error, StoreError::NoSession(_)),
        };
        if given_back {
            deps.hub.set_owned(session, false);
            return;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn run_once(deps: &Arc<ActorContext>, session: &SessionId, wake: &Arc<Notify>) -> Result<(), ActorError> {
    loop {
        match deps.world.store.claim(session).await? {
            Claim::Granted(lease) => {
                deps.hub.set_owned(session, true);
                let mut actor = Actor::wake_up(Arc::clone(deps), lease.clone(), Arc::clone(wake)).await?;
                match actor.work().await {
                    #[cfg(debug_assertions)]
                    Ok(()) => actor.check_replay().await?,
                    // Another process took over and finishes it.
                    Err(ActorError::Store(StoreError::LeaseLost)) => {}
                    other => other?,
                }
                let has_declined = actor.has_declined;
                drop(actor);
                deps.hub.set_owned(session, false);
                deps.world.store.release(&lease).await?;
                if has_declined {
                    return Ok(());
                }
            }
            Claim::Held { by } => tracing::debug!(%session, by, "another process runs this session"),
        }
        // An input may have come between the last look and the release.
        let store = &deps.world.store;
        if store.inbox(session).await?.is_empty() && !store.has_open_request(session).await? {
            return Ok(());
        }
        tokio::time::sleep(store.pace()).await;
    }
}

struct Actor {
    deps: Arc<ActorContext>,
    session: Session,
    seq: u64,
    /// Whether the session has a name in lists.
    named: bool,
    reporter: ActorHandle,
    mailbox: mpsc::Receiver<Input>,
    /// Calls that were under way when the last owner went, until they are dealt with.
    interrupted: Option<Vec<Interrupted>>,
    /// How to end what runs: calls of models and of tools.
    calls: BTreeMap<CallId, StreamController>,
    /// How to control the commands that run, in the foreground and in the background.
    commands: BTreeMap<CallId, CommandControls>,
    /// Waits on behalf of a request, which must not outlive it.
    waits: BTreeMap<RequestId, Vec<AbortHandle>>,
    /// Requests that have asked for room among the running ones.
    asked: BTreeSet<RequestId>,
    /// Requests that have it.
    admitted: BTreeSet<RequestId>,
    /// The request that has released its slot until the user answers.
    resting: Option<RequestId>,
    tasks: JoinSet<Result<(), ActorError>>,
    version: Option<u64>,
    /// Where the answers to the questions of servers go, by the calls that ask them.
    server_calls: BTreeMap<CallId, mpsc::Sender<ServerReply>>,
    /// The settings, as they were last read.
    settings: Option<settings_reload::LastRead>,
    /// When requests were taken in.
    received: BTreeMap<RequestId, Time>,
    /// The rest is for another process, which waits.
    has_declined: bool,
}

/// How a command that runs is controlled.
struct CommandControls {
    /// Says what to do when its time is up.
    overtime: mpsc::Sender<Overtime>,
    /// Lets it continue in the background.
    detach: mpsc::Sender<BackgroundReason>,
    stop: StreamController,
}

/// An input, and its text in the inbox if it has one.
type InboxInput = (Input, Option<String>);

impl Actor {
    async fn wake_up(deps: Arc<ActorContext>, lease: Lease, wake: Arc<Notify>) -> Result<Self, StoreError> {
        let (sender, mailbox) = mpsc::channel(MAILBOX);
        let reporter = ActorHandle { lease, wake, mailbox: sender };
        let mut actor = Self {
            deps,
            session: Session::new(reporter.lease.session().clone()),
            seq: 0,
            named: false,
            reporter,
            mailbox,
            interrupted: None,
            calls: BTreeMap::new(),
            commands: BTreeMap::new(),
            waits: BTreeMap::new(),
            asked: BTreeSet::new(),
            admitted: BTreeSet::new(),
            resting: None,
            tasks: JoinSet::new(),
            version: None,
            server_calls: BTreeMap::new(),
            settings: None,
            received: BTreeMap::new(),
            has_declined: false,
        };
        actor.fold_log().await?;
        actor.named = !actor.session.conversation().is_empty() || actor.session.title().is_some();
        actor.interrupted = Some(actor.find_interrupted().await?);
        Ok(actor)
    }

    async fn fold_log(&mut self) -> Result<(), StoreError> {
        self.session = Session::new(self.reporter.lease.session().clone());
        self.seq = 0;
        loop {
            let page = self.deps.world.store.events(self.reporter.lease.session(), self.seq, PAGE).await?;
            for event in &page {
                self.session.fold(event.request.as_ref(), &event.fact);
                self.seq = event.seq.unwrap_or(self.seq);
                self.note_receipt(event);
            }
            if page.len() < PAGE as usize {
                return Ok(());
            }
        }
    }

    /// Replay equals live: what the log gives is what was in memory.
    #[cfg(debug_assertions)]
    async fn check_replay(&mut self) -> Result<(), StoreError> {
        let live = std::mem::take(&mut self.session);
        self.fold_log().await?;
        assert_eq!(self.session, live, "replaying the log gives a different state");
        Ok(())
    }

    async fn find_interrupted(&self) -> Result<Vec<Interrupted>, StoreError> {
        let under_way = self.session.under_way();
        if under_way.is_empty() {
            return Ok(Vec::new());
        }
        let lease = &self.reporter.lease;
        let mut saved = self.deps.world.store.partials(lease.session()).await?;
        let interrupted = |call: CallId| {
            let words = saved.iter().position(|(of, _)| *of == call).map(|at| saved.swap_remove(at).1);
            let partial = words.map(|words| Partial {
                raw: effects::raw_key(lease, &call, &words),
                message: Message::assistant(words),
                usage: Usage::default(),
            });
            Interrupted { call, partial }
        };
        Ok(under_way.into_iter().map(interrupted).collect())
    }

    async fn work(&mut self) -> Result<(), ActorError> {
        loop {
            let rows = self.deps.world.store.inbox(self.reporter.lease.session()).await?;
            let mut inputs: Vec<InboxInput> = Vec::with_capacity(rows.len());
            let mut commit = Commit::default();
            for row in rows {
                let mut input = read_input(&row.payload)?;
                // A background command may end while the history is moved. Its file changes wait for that, and for what
                // comes before them, which may begin such a move.
                if self.is_background_end(&input) && (self.session.is_moving() || !inputs.is_empty()) {
                    continue;
                }
                commit.consumed.push(row.id);
                if let Input::Said { request } = &mut input {
                    // Read when the request starts, not when it was sent, because a rule that was added in between
                    // must apply. Later rules are sent to this session.
                    request.settings.known.rules = read_rules(&self.deps.world.store.rules().await?);
                    request.settings.known.recalled = self.recalled(request).await?;
                    request.settings.known.hooks = self.hooks(request, &inputs).await;
                }
                inputs.push((input, Some(row.payload)));
            }
            while let Ok(input) = self.mailbox.try_recv() {
                inputs.push((input, None));
            }
            if let Some(interrupted) = self.interrupted.take() {
                inputs.push((Input::Woke { interrupted }, None));
            }
            if !inputs.is_empty() {
                self.process(inputs, commit).await?;
                continue;
            }
            if (self.session.is_idle() || self.has_declined) && self.tasks.is_empty() {
                return Ok(());
            }
            self.wait().await?;
        }
    }

    /// Whether an input reports the file changes of a background command.
    fn is_background_end(&self, input: &Input) -> bool {
        match input {
            Input::Ran { call, .. } | Input::Surveyed { call, .. } | Input::BackgroundChanged { call, .. } => {
                self.session.background_of(call).is_some()
            }
            _ => false,
        }
    }

    /// The memories of earlier sessions that the model gets for a request.
    async fn recalled(&self, request: &Request) -> Result<Vec<Remembered>, StoreError> {
        let bytes = request.settings.memory.recall_bytes as usize;
        if bytes == 0 {
            return Ok(Vec::new());
        }
        let folder = self.session.rules_folder();
        // Without a folder there is nothing that holds in it; no folder is called so.
        let entries = self.deps.world.store.memories(Some(folder.unwrap_or_default()), MOST_LOADED).await?;
        Ok(trimtab_engine::memory::recall(&entries, folder, &request.text, bytes))
    }

    /// The hooks that run during a request: the user's own, and those of the folder if it is trusted.
    async fn hooks(&self, request: &Request, before: &[InboxInput]) -> Vec<ListedHook> {
        // A new session is opened by an input of the same batch.
        let opened = before.iter().find_map(|(input, _)| match input {
            Input::Opened { folder } => Some(folder.as_str()),
            _ => None,
        });
        let Some(folder) = self.session.folder().or(opened).map(str::to_owned) else { return Vec::new() };
        let settings = &request.settings;
        let trusted = settings.trust.trusted
            || self.session.is_trusted()
            || trimtab_engine::trusts(&settings.known.rules, &folder, &settings.machine);
        hooks::for_request(self.deps.settings.clone(), folder, trusted).await
    }

    /// Waits until there is something to take up.
    async fn wait(&mut self) -> Result<(), ActorError> {
        let store = Arc::clone(&self.deps.world.store);
        let since = self.version;
        let changed = async {
            // The inbox was read just now, so a short wait needs no look at the store at all.
            if since.is_none() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            store.changed(since).await
        };
        tokio::pin!(changed);
        loop {
            tokio::select! {
                biased;
                Some(done) = self.tasks.join_next(), if !self.tasks.is_empty() => match done {
                    Ok(done) => {
                        done?;
                        if self.tasks.is_empty() {
                            return Ok(());
                        }
                    }
                    Err(error) if error.is_panic() => {
                        let outputs = trimtab_engine::give_up(&mut self.session, None, defect());
                        return self.record(outputs, Commit::default()).await;
                    }
                    Err(_) => {}
                },
                Some(input) = self.mailbox.recv() => {
                    return self.process(vec![(input, None)], Commit::default()).await;
                }
                () = self.reporter.wake.notified() => return Ok(()),
                version = &mut changed => {
                    self.version = Some(version?);
                    return Ok(());
                }
                () = tokio::time::sleep(POLL_INTERVAL) => {
                    if let Some(lists) = self.lists(false).await {
                        return self.process(vec![(Input::Listed { lists }, None)], Commit::default()).await;
                    }
                }
            }
        }
    }

    /// Lets the engine decide, then makes it so.
    async fn process(&mut self, inputs: Vec<InboxInput>, commit: Commit) -> Result<(), ActorError> {
        let mut outputs = Vec::new();
        // Trust applies to what runs next, so the folder's own settings are read before the answer counts. They can
        // only be stricter, so a late answer gains nothing.
        let trusting =
            inputs.iter().any(|(input, _)| matches!(input, Input::Answered { choice, .. } if choice == "trust"));
        if let Some(lists) = self.lists(trusting).await {
            outputs.extend(trimtab_engine::step(&mut self.session, Input::Listed { lists }));
        }
        for (mut input, text) in inputs {
            self.look_at_instructions(&mut input).await;
            if let Input::Admitted { request } = &input {
                self.admitted.insert(request.clone());
            }
            let session = &mut self.session;
            match catch_unwind(AssertUnwindSafe(|| trimtab_engine::step(session, input))) {
                Ok(more) => outputs.extend(more),
                Err(_) => {
                    // What the panicking step left behind is not to be trusted; the log is.
                    self.fold_log().await?;
                    for output in &outputs {
                        if let Output::Event { request, fact } = output {
                            self.session.fold(request.as_ref(), fact);
                        }
                    }
                    let input = text.as_deref().map(read_input).transpose()?;
                    outputs.extend(trimtab_engine::give_up(&mut self.session, input, defect()));
                }
            }
        }
        self.record(outputs, commit).await
    }

    /// A user who trusts the folder accepts its instructions as they are at this moment.
    async fn look_at_instructions(&self, input: &mut Input) {
        let Input::Answered { checkpoint, choice, instructions, .. } = input else { return };
        let names = self.session.instructions_to_bind(checkpoint, choice);
        let Some(folder) = self.session.folder().filter(|_| !names.is_empty()) else { return };
        let workspace = self.deps.world.workspace(self.reporter.lease.session());
        let home = &self.deps.machine.home;
        *instructions = crate::instructions::marks_to_accept(&*workspace, folder, home, names).await;
    }

    /// What the settings list, if that may have changed since a request was made.
    async fn lists(&mut self, trusting: bool) -> Option<Lists> {
        let file = self.deps.settings.clone()?;
        let folder = self.session.folder()?.to_owned();
        let Self { session, received, .. } = self;
        received.retain(|request, _| session.is_unfinished(request));
        let since = *received.values().min()?;
        let trusted = trusting || session.is_trusted();
        if trusting {
            self.settings = Some(settings_reload::LastRead::default());
        }
        settings_reload::changed_lists(file, folder, trusted, since, &mut self.settings).await
    }

    /// What a request has found out about its model is kept for those to come.
    fn note_model(&self, event: &Event) {
        let Fact::Request(RequestFact::Adjusted { learned, .. }) = &event.fact else { return };
        let Some(notes) = self.deps.notes.as_ref().filter(|_| !learned.is_empty()) else { return };
        if let Some(model) = self.session.model_at_work() {
            notes.learn(model, *learned, event.time);
        }
    }

    /// Words that became part of another request are answered by that one, so this process sees it to its end.
    fn note_joining(&self, event: &Event) {
        let Fact::Request(RequestFact::Joined { into, .. }) = &event.fact else { return };
        let session = self.reporter.lease.session();
        if event.request.is_some() && event.request == self.deps.roster.own_request(session) {
            self.deps.roster.run_for(session, into);
        }
    }

    fn note_receipt(&mut self, event: &Event) {
        if let (Fact::Request(RequestFact::Received { .. }), Some(request)) = (&event.fact, &event.request) {
            self.received.insert(request.clone(), event.time);
        }
    }

    /// Makes durable, publishes, starts; in this order.
    async fn record(&mut self, outputs: Vec<Output>, mut commit: Commit) -> Result<(), ActorError> {
        let mut effects = Vec::new();
        let mut others = Vec::new();
        let now = self.deps.world.clock.now();
        let mut seq = self.seq;
        for output in outputs {
            match output {
                Output::Event { request, fact } => {
                    seq += 1;
                    let session = self.reporter.lease.session().clone();
                    let event = Event { seq: Some(seq), time: now, session, request, fact };
                    note(&mut commit, &event, !self.named);
                    self.note_receipt(&event);
                    self.note_model(&event);
                    self.note_joining(&event);
                    commit.events.push(event);
                }
                Output::Audit { request, action, fields } => {
                    let session = self.reporter.lease.session().clone();
                    commit.audit.push(AuditEntry::new(action, fields).about(Some(session), Some(request)));
                }
                Output::Child(child) => commit.children.push(self.child(*child, now).await?),
                Output::Tell { session, mut input } => {
                    let workspace = self.deps.world.workspace(self.reporter.lease.session());
                    workers::note_left_behind(workspace.as_ref(), &self.session, &mut input).await;
                    let payload = effects::written(&input);
                    commit
                        .tell
                        .push((Recipient::Session(session.clone()), NewInput { payload, ..NewInput::default() }));
                    others.push(session);
                }
                Output::Keep { key, text } => commit.keeps.push((key, text)),
                Output::KeepOnly { hashes } => {
                    let key = |hash: &String| RefKey::file_of(self.reporter.lease.session(), hash);
                    commit.keep_only = Some(hashes.iter().map(key).collect());
                    // What was noted of the folder before the last command relies on what goes now.
                    let session = self.reporter.lease.session();
                    let noted = [RefKey::snapshot_of(session), RefKey::watched_in(session)];
                    commit.keeps.extend(noted.map(|key| (key, String::new())));
                }
                Output::Effect(effect) => effects.push(effect),
            }
        }
        let stopped = workers::stopped(&commit.events, &others);
        let published: Vec<Arc<Event>> = commit.events.iter().cloned().map(Arc::new).collect();
        let mut closed = commit.closed_calls.clone();
        let ended: Vec<RequestId> =
            commit.finished.iter().map(|(request, _)| request).chain(&commit.reopened).cloned().collect();
        closed.extend(commit.events.iter().filter_map(ended_call));
        self.named |= commit.title.is_some();
        let over = ended.iter().filter(|request| !self.session.is_unfinished(request));
        commit.closed = over.cloned().collect();
        commit.moving = self.session.is_moving();
        let resting = self.session.resting().cloned();
        let rests = resting.clone().filter(|resting| self.resting.as_ref() != Some(resting));
        commit.resting.extend(rests.clone());
        commit.writing = effects.iter().filter_map(Effect::writes).cloned().collect();
        commit.relaxed_durability = durable::is_relaxed(&commit, &effects);
        self.deps.world.store.commit(&self.reporter.lease, commit).await?;
        self.seq = seq;
        self.resting = resting;
        // It releases its slot, so it must get one again after the answer.
        if let Some(request) = &rests {
            self.admitted.remove(request);
        }
        // Before whoever watches hears of the end of a request and exits.
        for worker in stopped {
            let (deps, parent) = (Arc::clone(&self.deps), self.reporter.lease.session().clone());
            self.deps.endings.spawn(workers::end(deps, parent, worker));
        }
        for event in published {
            if tracing::enabled!(tracing::Level::DEBUG) {
                tracing::debug!(session = %event.session, seq = event.seq, kind = event.fact.kind(), "recorded");
            }
            self.deps.hub.publish(self.reporter.lease.session(), Update::Event(event));
        }
        for request in ended {
            // When it is reopened, perhaps in the same step, it must find room again.
            self.admitted.remove(&request);
            self.asked.remove(&request);
            self.waits.remove(&request).into_iter().flatten().for_each(|wait| wait.abort());
        }
        for effect in effects {
            self.start(effect);
        }
        for session in others {
            wake(&self.deps, &session);
        }
        for call in &closed {
            self.calls.remove(call);
            if self.session.background_of(call).is_none() {
                self.commands.remove(call);
            }
        }
        Ok(())
    }

    /// The session that is handed off to, with its log. When the inherited sets were made, and for how much,
    /// only the log of this one can tell.
    async fn child(&self, child: Child, now: Time) -> Result<SeededSession, StoreError> {
        let parent = self.reporter.lease.session();
        let store = &self.deps.world.store;
        let history = history::read(store.as_ref(), parent).await?;
        let Child { id, folder, facts, files } = child;
        let event = |(seq, mut fact): (u64, Fact)| {
            if let Fact::Change(ChangeFact::Inherited(inherited)) = &mut fact
                && let Some(set) = history.sets.iter().find(|set| set.id == inherited.change.change_set)
            {
                inherited.made = Some(set.time);
                inherited.cost_usd = set.cost;
                inherited.change.by.clone_from(&set.by);
                inherited.undoes.clone_from(&set.undoes);
            }
            Event { seq: Some(seq), time: now, session: id.clone(), request: None, fact }
        };
        let events = (1..).zip(facts).map(event).collect();
        let share = |hash: &String| (RefKey::file_of(parent, hash), RefKey::file_of(&id, hash));
        let shares = files.iter().map(share).collect();
        let title = store.session(parent).await?.map(|row| row.title).unwrap_or_default();
        let parent = Some(parent.clone());
        let row = SessionRow { parent, ..SessionRow::new(id.clone(), folder, title, now) };
        Ok(SeededSession { row, events, shares })
    }
}

/// The call that an event ends.
fn ended_call(event: &Event) -> Option<CallId> {
    match &event.fact {
        Fact::Tool(ToolFact::Finished { call, .. })
        | Fact::Hook(HookFact::Finished { run: call, .. })
        | Fact::Command(CommandFact::Finished { call: Some(call), background: Some(_), .. }) => Some(call.clone()),
        _ => None,
    }
}

fn read_input(payload: &str) -> Result<Input, StoreError> {
    serde_json::from_str(payload).map_err(|error| StoreError::Unreadable(format!("an input, {error}")))
}

fn defect() -> Problem {
    Problem::new(ProblemKind::Internal, "Trimtab failed because of an internal error.")
        .hint("Nothing was lost: `trimtab sessions show` has the whole conversation. Please report it.")
}
