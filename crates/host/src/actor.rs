//! A session at work.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use trimtab_engine::{Effect, Input, Interrupted, Output, Partial, Session};
use trimtab_vocab::event::{ModelFact, ReplyFact, RequestFact, SessionFact};
use trimtab_vocab::{CallId, Event, Fact, Message, Problem, ProblemKind, RequestId, SessionId};
use trimtab_world::store::{Claim, Commit, Lease, StoreError};

use crate::StreamController;
use crate::client::{Deps, store_problem};
use crate::effects::{self, Reporter};
use crate::hub::{LOOK_EVERY, News};

const PAGE: u32 = 1000;
/// Tasks tell things faster than the actor takes them up only by mistake.
const NUDGES: usize = 64;
const TITLE: usize = 80;

/// Runs a session until there is nothing left to do in it. While another process runs it, stands
/// by to take over should that process go away.
pub(crate) async fn run(deps: Arc<Deps>, session: SessionId, wake: Arc<Notify>) {
    let mut wishes = 0;
    loop {
        if let Err(error) = attend(&deps, &session, &wake).await {
            tracing::error!(%session, %error, "session stopped");
            deps.hub.publish(&session, News::Failed(store_problem(error)));
            let_go(&deps, &session).await;
        }
        if deps.roster.leave(&session, &mut wishes) {
            return;
        }
    }
}

/// After a failure: gives the session back, so that others may run it, however often that has to
/// be tried. Whoever wants it run again here could not have it run before this works either.
async fn let_go(deps: &Deps, session: &SessionId) {
    loop {
        let given_back = match deps.world.store.claim(session).await {
            Ok(Claim::Granted(lease)) => deps.world.store.release(&lease).await.is_ok(),
            Ok(Claim::Held { .. }) => true,
            Err(error) => error == StoreError::NoSession,
        };
        if given_back {
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn attend(deps: &Arc<Deps>, session: &SessionId, wake: &Arc<Notify>) -> Result<(), StoreError> {
    loop {
        match deps.world.store.claim(session).await? {
            Claim::Granted(lease) => {
                let mut actor = Actor::wake_up(Arc::clone(deps), lease.clone(), Arc::clone(wake)).await?;
                match actor.work().await {
                    // Somebody else took over; it is theirs to finish.
                    Err(StoreError::LeaseLost) => {}
                    other => other?,
                }
                #[cfg(debug_assertions)]
                actor.check_replay().await?;
                drop(actor);
                deps.world.store.release(&lease).await?;
            }
            Claim::Held { by } => tracing::debug!(%session, by, "another process runs this session"),
        }
        // An input may have come between the last look and the release.
        if deps.world.store.inbox(session).await?.is_empty() && !is_unfinished(deps, session).await? {
            return Ok(());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn is_unfinished(deps: &Deps, session: &SessionId) -> Result<bool, StoreError> {
    Ok(deps.world.store.jobs(false).await?.iter().any(|job| job.session == *session))
}

struct Actor {
    deps: Arc<Deps>,
    session: Session,
    seq: u64,
    reporter: Reporter,
    nudges: mpsc::Receiver<Input>,
    /// Calls that were under way when the last owner went, until they are dealt with.
    interrupted: Option<Vec<Interrupted>>,
    calls: BTreeMap<CallId, StreamController>,
    admitting: BTreeSet<RequestId>,
    tasks: JoinSet<Result<(), StoreError>>,
    version: Option<u64>,
}

impl Actor {
    async fn wake_up(deps: Arc<Deps>, lease: Lease, wake: Arc<Notify>) -> Result<Self, StoreError> {
        let (sender, nudges) = mpsc::channel(NUDGES);
        let reporter = Reporter { lease, wake, nudges: sender };
        let mut actor = Self {
            deps,
            session: Session::default(),
            seq: 0,
            reporter,
            nudges,
            interrupted: None,
            calls: BTreeMap::new(),
            admitting: BTreeSet::new(),
            tasks: JoinSet::new(),
            version: None,
        };
        actor.fold_log().await?;
        actor.interrupted = Some(actor.find_interrupted().await?);
        Ok(actor)
    }

    async fn fold_log(&mut self) -> Result<(), StoreError> {
        self.session = Session::default();
        self.seq = 0;
        loop {
            let page = self.deps.world.store.events(self.reporter.lease.session(), self.seq, PAGE).await?;
            for event in &page {
                self.session.fold(event.request.as_ref(), &event.fact);
                self.seq = event.seq.unwrap_or(self.seq);
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
        assert_eq!(self.session, live, "replaying the log gives another state than the one that wrote it");
        Ok(())
    }

    async fn find_interrupted(&self) -> Result<Vec<Interrupted>, StoreError> {
        let Some(call) = self.session.open_call() else { return Ok(Vec::new()) };
        let lease = &self.reporter.lease;
        let saved = self.deps.world.store.partials(lease.session()).await?;
        let partial = saved.into_iter().find(|(of, _)| of == call).map(|(_, words)| Partial {
            raw: effects::raw_key(lease, call, &words),
            message: Message::assistant(words),
        });
        Ok(vec![Interrupted { call: call.clone(), partial }])
    }

    async fn work(&mut self) -> Result<(), StoreError> {
        loop {
            let rows = self.deps.world.store.inbox(self.reporter.lease.session()).await?;
            let mut inputs = Vec::with_capacity(rows.len());
            let mut commit = Commit::default();
            for row in rows {
                commit.consumed.push(row.id);
                inputs.push(
                    serde_json::from_str(&row.payload).map_err(|error| {
                        StoreError::Corrupt(format!("an input of the inbox cannot be read: {error}"))
                    })?,
                );
            }
            while let Ok(nudge) = self.nudges.try_recv() {
                inputs.push(nudge);
            }
            if let Some(interrupted) = self.interrupted.take() {
                for one in &interrupted {
                    if let Some(Partial { raw: Some(key), message }) = &one.partial {
                        commit.keeps.push((key.clone(), message.text()));
                    }
                }
                inputs.push(Input::Woke { interrupted });
            }
            if !inputs.is_empty() {
                self.take_up(inputs, commit).await?;
                continue;
            }
            if self.session.is_idle() && self.tasks.is_empty() {
                return Ok(());
            }
            self.rest().await?;
        }
    }

    /// Waits until there is something to take up.
    async fn rest(&mut self) -> Result<(), StoreError> {
        loop {
            tokio::select! {
                biased;
                Some(done) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                    done.map_err(|error| StoreError::Io(format!("a task failed unexpectedly: {error}")))??;
                    if self.tasks.is_empty() {
                        return Ok(());
                    }
                }
                Some(nudge) = self.nudges.recv() => {
                    return self.take_up(vec![nudge], Commit::default()).await;
                }
                () = self.reporter.wake.notified() => return Ok(()),
                () = tokio::time::sleep(LOOK_EVERY) => {
                    let version = self.deps.world.store.version().await?;
                    if self.version.replace(version) != Some(version) {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Decides, makes durable, publishes, starts; in this order.
    async fn take_up(&mut self, inputs: Vec<Input>, mut commit: Commit) -> Result<(), StoreError> {
        let mut outputs = Vec::new();
        for input in inputs {
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
                    outputs.extend(trimtab_engine::give_up(&mut self.session, defect()));
                }
            }
        }
        let mut effects = Vec::new();
        let now = self.deps.world.clock.now();
        let mut seq = self.seq;
        for output in outputs {
            match output {
                Output::Event { request, fact } => {
                    seq += 1;
                    note(&mut commit, request.as_ref(), &fact, self.session.title().is_none());
                    let session = self.reporter.lease.session().clone();
                    commit.events.push(Event { seq: Some(seq), time: now, session, request, fact });
                }
                Output::Keep { key, text } => commit.keeps.push((key, text)),
                Output::Effect(effect) => effects.push(effect),
            }
        }
        let news: Vec<Arc<Event>> = commit.events.iter().cloned().map(Arc::new).collect();
        self.deps.world.store.commit(&self.reporter.lease, commit).await?;
        self.seq = seq;
        for event in news {
            self.deps.hub.publish(self.reporter.lease.session(), News::Event(event));
        }
        for effect in effects {
            self.start(effect);
        }
        Ok(())
    }

    fn start(&mut self, effect: Effect) {
        let (deps, reporter) = (Arc::clone(&self.deps), self.reporter.clone());
        match effect {
            Effect::Admit { request } => {
                if self.admitting.insert(request.clone()) {
                    self.tasks.spawn(effects::admit(deps, reporter, request));
                }
            }
            Effect::Wait { timer, millis } => {
                self.tasks.spawn(effects::wait(reporter, timer, millis));
            }
            Effect::CallModel { call, prompt } => {
                let controller = StreamController::new();
                self.calls.insert(call.clone(), controller.clone());
                let request = self.session.active().map(|active| active.request.id.clone());
                self.tasks.spawn(effects::call_model(deps, reporter, request, call, prompt, controller));
            }
            Effect::Abort { call } => {
                if let Some(controller) = self.calls.remove(&call) {
                    controller.abort();
                }
            }
        }
    }
}

/// What else must become durable together with a fact.
fn note(commit: &mut Commit, request: Option<&RequestId>, fact: &Fact, untitled: bool) {
    match (fact, request) {
        (Fact::Request(RequestFact::Finished { status, .. }), Some(request)) => {
            commit.finished.push((request.clone(), *status));
        }
        (Fact::Request(RequestFact::Received { text, .. }), _) if untitled => {
            commit.title.get_or_insert_with(|| first_words(text));
        }
        (Fact::Session(SessionFact::Titled { title }), _) => commit.title = Some(title.clone()),
        (Fact::Reply(ReplyFact::Saved { call, .. }) | Fact::Model(ModelFact::Failed { call, .. }), _) => {
            commit.closed_calls.push(call.clone());
        }
        _ => {}
    }
}

/// The first line of a text, short enough for a list.
pub(crate) fn first_words(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut words: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(TITLE + 1).collect();
    if words.chars().count() > TITLE {
        words.pop();
        words.push('…');
    }
    words
}

fn defect() -> Problem {
    Problem::new(ProblemKind::Internal, "Trimtab failed at this request because of a defect of its own.")
        .hint("Nothing was lost: `trimtab sessions show` has the whole conversation. Please report it.")
}
