//! Random histories from a seed: people say things, answer questions, steer, pause and cancel; models
//! ask for tools and stumble, disks refuse, processes die at any operation and others take over.
//! Afterwards, what must always hold is checked. The same seed gives the same history.
//!
//! The engine and the host are the real ones; the disk, the models and the time are simulated.

mod check;
mod flows;
mod model;
mod moves;
mod plan;
mod rewinds;
mod subtasks;
mod tasks;
mod workspace;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use trimtab_host::{Client, ComposedRequest, RequestDraft, Sent, World, shared_workspace};
use trimtab_vocab::{Event, RequestId, SessionId, Time};
use trimtab_world::clock::Clock;

use crate::dice::Dice;
use crate::memory_store::{Death, Disk, MemoryStore};
pub use subtasks::SubtaskTally;

use model::{Oracle, SimulatedModels};
use workspace::SimulatedWorkspace;

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
    /// Tools that were begun.
    pub tools: u64,
    /// Commands that were begun.
    pub commands: u64,
    /// Commands whose end nobody saw.
    pub unknown: u64,
    /// Changes of files that were made.
    pub changes: u64,
    /// Tools that were refused.
    pub refused: u64,
    /// Times that a conversation was made to fit.
    pub compressed: u64,
    /// Requests that were asked how far they came.
    pub assessed: u64,
    /// Requests that went on after they had ended for want of a person.
    pub reopened: u64,
    /// Times that a person paused, steered or adjusted a request, or stopped one of its tools.
    pub controls: u64,
    /// Summaries that a person edited or took back.
    pub mended: u64,
    /// Times that a model asked for the same again and again.
    pub repeats: u64,
    /// Sets that a person undid or brought forward, and parts of them.
    pub moves: u64,
    /// Plans that were proposed, and versions of them.
    pub plans: u64,
    /// Steps of plans that were done.
    pub steps: u64,
    /// Questions that were asked before the work.
    pub clarified: u64,
    /// Conversations that became work.
    pub understood: u64,
    /// Times that a person was asked whether they are content.
    pub satisfactions: u64,
    /// Messages that met a request which ran, and went to it.
    pub joined: u64,
    /// Sessions that went on in others.
    pub handoffs: u64,
    /// Changes of tasks, and moves of their history.
    pub task_sets: u64,
    /// Moves of the history of tasks that somebody heard the end of.
    pub task_moves: u64,
    /// Operations on tasks that were proposed, and versions of them.
    pub task_proposals: u64,
    /// Lasting things that were noted.
    pub noted: u64,
    /// Facts that were recorded.
    pub facts: u64,
    /// What was met of sub-tasks.
    pub subtasks: SubtaskTally,
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
        self.tools += other.tools;
        self.commands += other.commands;
        self.unknown += other.unknown;
        self.changes += other.changes;
        self.refused += other.refused;
        self.compressed += other.compressed;
        self.assessed += other.assessed;
        self.reopened += other.reopened;
        self.controls += other.controls;
        self.mended += other.mended;
        self.repeats += other.repeats;
        self.moves += other.moves;
        self.plans += other.plans;
        self.steps += other.steps;
        self.clarified += other.clarified;
        self.understood += other.understood;
        self.satisfactions += other.satisfactions;
        self.joined += other.joined;
        self.handoffs += other.handoffs;
        self.task_sets += other.task_sets;
        self.task_moves += other.task_moves;
        self.task_proposals += other.task_proposals;
        self.noted += other.noted;
        self.facts += other.facts;
        self.subtasks += other.subtasks;
    }
}

/// Something a person said, and what the program owes for it.
#[derive(Debug, Clone)]
struct Said {
    text: String,
    sent: Sent,
    /// Somebody wanted it stopped, or chose an answer that may end it.
    cancelled: bool,
}

/// Plays the history of a seed; says what was broken, if anything was.
pub fn play(seed: u64) -> Result<Tally, String> {
    live(seed, false)
}

/// Plays the history of a seed in which requests are carried out by workers.
pub fn play_subtasks(seed: u64) -> Result<Tally, String> {
    live(seed, true)
}

fn live(seed: u64, subtasks: bool) -> Result<Tally, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| error.to_string())?;
    // It begins inside, where time stands still. Outside, the clock runs on until the first step, longer on a busy machine.
    runtime.block_on(async { History::begin(seed, subtasks).live().await })
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
    world: World,
    store: Arc<MemoryStore>,
}

struct History {
    dice: Dice,
    /// There is a person who moves the change history.
    rewinds: bool,
    /// There are people who agree first.
    flows: bool,
    /// There is a person with tasks, of whom something is remembered.
    tasks: bool,
    /// There are people whose requests are carried out by workers.
    subtasks: bool,
    orders: tasks::TaskOrders,
    disk: Disk,
    oracle: Oracle,
    clock: Arc<Clockwork>,
    processes: Vec<Process>,
    said: Vec<Said>,
    /// Something may have been said that nobody was told of: its process died in the act.
    unsure: u64,
    /// Questions that were open at some time.
    asked: Vec<Event>,
    tally: Tally,
}

impl History {
    fn begin(seed: u64, subtasks: bool) -> Self {
        let mut dice = Dice::new(seed);
        let disk = Disk::default();
        let tasks = tasks::is_wanted(seed) && !subtasks;
        let flows = flows::is_wanted(seed) && !tasks && !subtasks;
        let means = plan::Plan { seed: dice.throw(), flows, subtasks };
        let oracle = Oracle::new(means, RETRIES, disk.clone());
        let clock = Arc::new(Clockwork { began: Instant::now(), chance: AtomicU64::new(dice.throw() >> 1) });
        if dice.once_in(3) {
            disk.state().files.insert("AGENTS.md".into(), b"Be brief.".to_vec());
        }
        disk.state().files.insert("shared.txt".into(), b"begin\nshared\n".to_vec());
        Self {
            dice,
            rewinds: rewinds::is_wanted(seed) && !flows && !tasks,
            flows,
            tasks,
            subtasks,
            orders: tasks::TaskOrders::default(),
            disk,
            oracle,
            clock,
            processes: Vec::new(),
            said: Vec::new(),
            unsure: 0,
            asked: Vec::new(),
            tally: Tally::default(),
        }
    }

    async fn live(mut self) -> Result<Tally, String> {
        let moves = 4 + self.dice.below(40);
        for _ in 0..moves {
            self.act().await;
            self.bury();
            self.complain()?;
        }
        self.come_to_rest().await?;
        check::everything(&self)
    }

    /// What somebody has complained about meanwhile.
    fn complain(&self) -> Result<(), String> {
        let state = self.disk.state();
        match state.seen.broken.first() {
            Some(broken) => Err(format!("{broken}\n{}", check::shown(&state))),
            None => Ok(()),
        }
    }

    fn start_process(&mut self, mortal: bool) {
        let death =
            (mortal && self.dice.below(3) > 0).then(|| Death { at: self.dice.below(250), after: self.dice.once_in(2) });
        let failure = if mortal && self.dice.once_in(4) { 30 } else { 0 };
        let store = Arc::new(self.disk.process(self.dice.throw(), death, failure));
        let world = World {
            store: Arc::clone(&store) as _,
            models: Arc::new(SimulatedModels { oracle: self.oracle.clone(), store: Arc::clone(&store) }),
            clock: Arc::clone(&self.clock) as _,
            workspaces: shared_workspace(SimulatedWorkspace { disk: self.disk.clone(), store: Arc::clone(&store) }),
        };
        self.processes.push(Process { client: Client::with(world.clone(), JOB_LIMIT), world, store });
    }

    /// A request under settings of the dice.
    fn composed(&mut self, draft: RequestDraft) -> Option<ComposedRequest> {
        let settings = self.settings();
        Some(self.processes.first()?.world.say(draft, None, settings))
    }

    fn any_process(&mut self) -> Option<(Client, Arc<MemoryStore>)> {
        let process = self.dice.pick(&self.processes)?;
        Some((process.client.clone(), Arc::clone(&process.store)))
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
        let died = (before - self.processes.len()) as u64;
        self.tally.kills += died;
        if !self.disk.state().copies.is_empty() {
            self.tally.subtasks.killed += died;
        }
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
        let mut after_all = if self.rewinds { 3 } else { 0 };
        loop {
            self.bury();
            self.complain()?;
            let left = check::unfinished(&self.disk);
            let open: Vec<Event> = self.disk.state().checkpoints.values().cloned().collect();
            if left.is_empty() && open.is_empty() {
                if after_all == 0 {
                    break;
                }
                // When all is said and done, a person looks at what was changed.
                after_all -= 1;
                let last = self.processes.last().ok_or("the last process died")?.client.clone();
                let changed = rewinds::changed(&self.disk.state());
                for session in changed {
                    let action = self.rewind_or_forward(&session);
                    last.requests().control(&session, None, action).await.map_err(|problem| problem.message)?;
                }
                continue;
            }
            if began.elapsed() > PATIENCE {
                let state = self.disk.state();
                return Err(format!("these sessions never came to rest: {left:?}, {open:?}\n{}", check::shown(&state)));
            }
            let last = self.processes.last().ok_or("the last process died")?.client.clone();
            left.iter().for_each(|session| last.resume(session));
            for event in &open {
                if let Some(answer) = self.choose(event) {
                    last.requests().answer(&event.session, answer).await.map_err(|problem| problem.message)?;
                }
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        if self.subtasks {
            // Copies are removed behind everything else.
            tokio::time::sleep(Duration::from_secs(5)).await;
            // A process that dies now leaves its copies like any other.
            self.bury();
        }
        check::watched(self).await
    }

    fn said_in(&self, session: &SessionId) -> Vec<&RequestId> {
        self.said.iter().filter(|said| said.sent.session == *session).map(|said| &said.sent.request).collect()
    }
}
