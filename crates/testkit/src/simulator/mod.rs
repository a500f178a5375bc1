//! Random histories from a seed: people say things and cancel them, models stumble, disks refuse,
//! processes die at any operation and others take over. Afterwards, what must always hold is
//! checked. The same seed gives the same history.
//!
//! The engine and the host are the real ones; the disk, the models and the time are simulated.

mod check;
mod model;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use trimtab_host::{Answered, Client, Say, Sent, Target, World};
use trimtab_vocab::event::CheckpointFact;
use trimtab_vocab::{Control, Event, Fact, Mode, ModelFacts, Prices, RequestId, RunSettings, SessionId, Time};
use trimtab_world::clock::Clock;

use crate::dice::Dice;
use crate::memory_store::{Death, Disk, MemoryStore};
use model::{Oracle, SimulatedModels};

/// Requests that may run at once in a simulation; small, so that the limit is often met.
pub const JOB_LIMIT: u32 = 2;
/// Tries after the first.
const RETRIES: u32 = 2;
/// Whatever was begun must be over by then; simulated, so it costs nothing.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// What a history contained, so that a run can show that it met what it is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests that were taken in.
    pub requests: u64,
    /// Processes that died.
    pub kills: u64,
    /// Requests that were cancelled by a person.
    pub cancelled: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests that were completed.
    pub completed: u64,
    /// Model calls that were made.
    pub calls: u64,
    /// Replies that broke off and were kept.
    pub partials: u64,
    /// Questions that were asked.
    pub questions: u64,
    /// Facts that were recorded.
    pub facts: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.requests += other.requests;
        self.kills += other.kills;
        self.cancelled += other.cancelled;
        self.failed += other.failed;
        self.completed += other.completed;
        self.calls += other.calls;
        self.partials += other.partials;
        self.questions += other.questions;
        self.facts += other.facts;
    }
}

/// Something a person said, and what the program owes for it.
#[derive(Debug, Clone)]
struct Said {
    text: String,
    sent: Sent,
    cancelled: bool,
    /// Somebody answered that it is to stop.
    stopped: bool,
}

/// Plays the history of a seed; says what was broken, if anything was.
pub fn play(seed: u64) -> Result<Tally, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(History::begin(seed).live())
}

struct Clockwork {
    began: Instant,
    chance: AtomicU64,
}

impl Clock for Clockwork {
    fn now(&self) -> Time {
        let passed = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        Time::from_millis(1_800_000_000_000 + passed)
    }

    fn chance(&self) -> u64 {
        Dice::new(self.chance.fetch_add(1, Ordering::Relaxed)).throw()
    }
}

struct Process {
    client: Client,
    store: Arc<MemoryStore>,
}

struct History {
    dice: Dice,
    disk: Disk,
    oracle: Oracle,
    clock: Arc<Clockwork>,
    processes: Vec<Process>,
    said: Vec<Said>,
    /// Something may have been said that nobody was told of: its process died in the act.
    unsure: u64,
    tally: Tally,
}

impl History {
    fn begin(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let disk = Disk::default();
        let oracle = Oracle::new(dice.throw(), RETRIES, disk.clone());
        let clock = Arc::new(Clockwork { began: Instant::now(), chance: AtomicU64::new(dice.throw() >> 1) });
        Self { dice, disk, oracle, clock, processes: Vec::new(), said: Vec::new(), unsure: 0, tally: Tally::default() }
    }

    async fn live(mut self) -> Result<Tally, String> {
        let moves = 4 + self.dice.below(20);
        for _ in 0..moves {
            self.act().await;
            self.bury();
            if let Some(broken) = self.disk.state().broken.first() {
                return Err(broken.clone());
            }
        }
        self.come_to_rest().await?;
        check::everything(&self)
    }

    async fn act(&mut self) {
        if self.processes.is_empty() || (self.processes.len() < 3 && self.dice.once_in(8)) {
            self.start_process(true);
        }
        match self.dice.below(11) {
            0..4 => self.say().await,
            10 => self.answer().await,
            4 => self.cancel().await,
            5 => self.kill(),
            6 => self.resume(),
            _ => {
                let millis = 1 << self.dice.below(12);
                tokio::time::sleep(Duration::from_millis(millis)).await;
            }
        }
    }

    fn start_process(&mut self, mortal: bool) {
        let death =
            (mortal && self.dice.below(3) > 0).then(|| Death { at: self.dice.below(60), after: self.dice.once_in(2) });
        let failure = if mortal && self.dice.once_in(4) { 30 } else { 0 };
        let store = Arc::new(self.disk.process(self.dice.throw(), death, failure));
        let world = World {
            store: Arc::clone(&store) as _,
            models: Arc::new(SimulatedModels { oracle: self.oracle.clone(), store: Arc::clone(&store) }),
            clock: Arc::clone(&self.clock) as _,
        };
        self.processes.push(Process { client: Client::with(world, JOB_LIMIT), store });
    }

    fn any_process(&mut self) -> Option<(Client, Arc<MemoryStore>)> {
        let process = self.dice.pick(&self.processes)?;
        Some((process.client.clone(), Arc::clone(&process.store)))
    }

    async fn say(&mut self) {
        let Some((client, store)) = self.any_process() else { return };
        let known: Vec<SessionId> = self.disk.state().sessions.keys().cloned().collect();
        let target = match self.dice.pick(&known) {
            Some(session) if !self.dice.once_in(3) => Target::Session(session.clone()),
            _ => Target::New { folder: "/project".into() },
        };
        let text = format!("say-{}-{}", self.said.len(), self.unsure);
        let settings = self.settings();
        let say = Say { text: text.clone(), mode: Mode::Auto, settings, images: Vec::new() };
        tokio::select! {
            biased;
            () = store.died.notified() => {
                // The notice must not be lost on the undertaker.
                store.died.notify_one();
                self.unsure += 1;
            }
            sent = client.send(target, say) => match sent {
                Ok(sent) => self.said.push(Said { text, sent, cancelled: false, stopped: false }),
                // It was refused, which must mean that it was not taken in.
                Err(_) => self.unsure += 1,
            },
        }
    }

    /// Now and then there is little money, and now and then nobody to be asked for more.
    fn settings(&mut self) -> RunSettings {
        let prices = Some(Prices { input: 3.0, cached: 0.3, cache_write: 3.75, output: 15.0 });
        let budget_usd = [None, None, Some(0.003), Some(0.02)][self.dice.below(4) as usize];
        RunSettings {
            model: "sim/model".into(),
            facts: ModelFacts { prices, ..ModelFacts::default() },
            retries: RETRIES,
            budget_usd,
            attended: self.dice.once_in(2),
            ..RunSettings::default()
        }
    }

    /// Answers one of the open questions, one way or the other.
    async fn answer(&mut self) {
        let open: Vec<Event> = self.disk.state().checkpoints.values().cloned().collect();
        let (Some((client, store)), Some(event)) = (self.any_process(), self.dice.pick(&open)) else { return };
        let stop = self.dice.once_in(3);
        let Some(answer) = answer_to(event, if stop { "stop" } else { "raise" }) else { return };
        if stop {
            let asked = event.request.clone();
            let of = |said: &&mut Said| Some(&said.sent.request) == asked.as_ref();
            self.said.iter_mut().filter(of).for_each(|said| said.stopped = true);
        }
        tokio::select! {
            biased;
            () = store.died.notified() => store.died.notify_one(),
            _ = client.answer(&event.session, answer) => {}
        }
    }

    async fn cancel(&mut self) {
        let Some((client, store)) = self.any_process() else { return };
        if self.said.is_empty() {
            return;
        }
        let at = self.dice.below(self.said.len() as u64) as usize;
        let Sent { session, request } = self.said[at].sent.clone();
        // Marked before: a process may die after it has passed the wish on.
        self.said[at].cancelled = true;
        let named = (!self.dice.once_in(4)).then_some(request);
        if named.is_none() {
            self.said.iter_mut().filter(|said| said.sent.session == session).for_each(|said| said.cancelled = true);
        }
        tokio::select! {
            biased;
            () = store.died.notified() => store.died.notify_one(),
            _ = client.control(&session, named, Control::Cancel) => {}
        }
    }

    fn kill(&mut self) {
        if let Some((_, store)) = self.any_process() {
            store.kill();
        }
    }

    fn resume(&mut self) {
        let known: Vec<SessionId> = self.disk.state().sessions.keys().cloned().collect();
        if let (Some((client, _)), Some(session)) = (self.any_process(), self.dice.pick(&known)) {
            client.resume(session);
        }
    }

    /// Takes dead processes away, with everything they had in their heads.
    fn bury(&mut self) {
        let before = self.processes.len();
        self.processes.retain(|process| !process.store.is_dead());
        self.tally.kills += (before - self.processes.len()) as u64;
    }

    /// A last process that nothing happens to finishes whatever is left.
    async fn come_to_rest(&mut self) -> Result<(), String> {
        if self.dice.once_in(2) {
            self.processes.iter().for_each(|process| process.store.kill());
        }
        self.bury();
        // Those that live on may still die on their own account; they must not be waited for.
        self.start_process(false);
        let began = Instant::now();
        loop {
            self.bury();
            let left = check::unfinished(&self.disk);
            let open: Vec<Event> = self.disk.state().checkpoints.values().cloned().collect();
            if left.is_empty() && open.is_empty() {
                break;
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("these sessions never came to rest: {left:?}\n{:#?}", self.disk.state()));
            }
            let last = self.processes.last().ok_or("the last process died")?.client.clone();
            left.iter().for_each(|session| last.resume(session));
            for event in &open {
                if let Some(answer) = answer_to(event, "raise") {
                    last.answer(&event.session, answer).await.map_err(|problem| problem.message)?;
                }
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        check::watched(self).await
    }

    fn said_in(&self, session: &SessionId) -> Vec<&RequestId> {
        self.said.iter().filter(|said| said.sent.session == *session).map(|said| &said.sent.request).collect()
    }
}

fn answer_to(event: &Event, choice: &str) -> Option<Answered> {
    let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) = &event.fact else { return None };
    Some(Answered { checkpoint: checkpoint.clone(), choice: choice.into(), text: None, by: "user".into() })
}
