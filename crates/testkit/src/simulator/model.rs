//! Models that stumble: they cut, fail, stall and answer, all from a seed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use trimtab_vocab::event::{CheckpointFact, ModelFact, ReplyFact, RequestFact};
use trimtab_vocab::{Event, Fact, Fault, Problem, ProblemKind, Prompt, Retry, SessionId, Usage};
use trimtab_world::models::{Model, ModelRegistry, PieceStream, ReplyPiece};

use crate::dice::Dice;
use crate::memory_store::{Disk, MemoryStore, State};
use crate::validity;

use super::JOB_LIMIT;
use super::plan::{self, Ask, Plan, Turn, name_of};

/// Knows what every request deserves, and what was asked of it.
#[derive(Clone)]
pub(super) struct Oracle {
    pub(super) plan: Plan,
    retries: u32,
    disk: Disk,
    heard: Arc<Mutex<Heard>>,
}

#[derive(Default)]
struct Heard {
    /// How often each thing was asked.
    asked: BTreeMap<Ask, u32>,
    /// What was refused for good.
    doomed: Vec<Ask>,
    failures: BTreeMap<Ask, u32>,
    /// Calls under way, by process.
    lines: BTreeMap<u64, u32>,
}

impl Oracle {
    pub(super) fn new(plan: Plan, retries: u32, disk: Disk) -> Self {
        Self { plan, retries, disk, heard: Arc::default() }
    }

    pub(super) fn calls(&self) -> u64 {
        self.heard().asked.values().map(|n| u64::from(*n)).sum()
    }

    /// How often the program tries again.
    pub(super) fn retries(&self) -> u32 {
        self.retries
    }

    /// Whether the program had reason to give up on a request. That nobody could sum it up is none.
    pub(super) fn gave_reason_to_fail(&self, name: &str) -> bool {
        let heard = self.heard();
        let mine = |ask: &Ask| match ask {
            Ask::Round { name: of, .. } | Ask::Assessment { name: of, .. } | Ask::Compile { name: of, .. } => {
                of == name
            }
            // Nor is it that nobody could look at it.
            Ask::Summary { .. }
            | Ask::Look { .. }
            | Ask::Breakdown { .. }
            | Ask::Merge { .. }
            | Ask::Assistant { .. } => false,
        };
        heard.doomed.iter().any(mine)
            || heard.failures.iter().any(|(ask, failures)| mine(ask) && *failures > self.retries)
    }

    fn heard(&self) -> std::sync::MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn complain(&self, broken: String) {
        self.disk.state().seen.broken.push(broken);
    }

    /// Hears a prompt. Whatever no provider would take, and no model could answer, is complained about.
    fn hear(&self, prompt: &Prompt) -> PieceStream {
        for wrong in validity::invalid(prompt) {
            self.complain(format!("a prompt that no provider takes: {wrong}\n{}", shown(prompt)));
        }
        let stored = |key: &str| self.disk.state().texts.get(&key.parse().ok()?).cloned();
        let ask = match plan::read(prompt, |name| is_passed_on(&self.disk.state(), name), stored) {
            Ok(ask) => ask,
            Err(broken) => {
                self.complain(format!("{broken}\n{}", shown(prompt)));
                return stream::pending().boxed();
            }
        };
        let wrong = self.wrong_to_ask(&ask);
        if let Some(broken) = wrong {
            self.complain(format!("{broken}\n{}", shown(prompt)));
        }
        self.perform(&ask, prompt)
    }

    /// A reply that is durable must never be asked for again; and what is asked must be about the
    /// request that the log says the call is for.
    fn wrong_to_ask(&self, ask: &Ask) -> Option<String> {
        let (Ask::Round { name, .. } | Ask::Assessment { name, .. } | Ask::Compile { name, .. }) = ask else {
            return None;
        };
        let state = self.disk.state();
        let mut logs: Vec<_> = logs_of(&state, name).collect();
        // Of a sub-task that is tried again there are several; one that has not ended may ask.
        if super::subtasks::is_worker(name) {
            logs.retain(|(_, log)| !has_ended(log));
            if logs.is_empty() {
                return Some(format!("a worker that has ended, or was never told of it, asks about {name}"));
            }
        }
        let wrong = logs.iter().map(|(session, log)| self.wrong_in(&state, ask, name, (session, log)));
        wrong.collect::<Option<Vec<String>>>()?.pop()
    }

    fn wrong_in(&self, state: &State, ask: &Ask, name: &str, (session, log): (&SessionId, &[Event])) -> Option<String> {
        let Turn { words, .. } = self.plan.turn(ask);
        let is_it = |event: &&Event| matches!(&event.fact, Fact::Reply(ReplyFact::Saved { message, partial: false, .. }) if message.text() == words);
        // Whoever starts over may hear the same again.
        let afresh = log.iter().rposition(|event| matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Resolved { choice, .. }) if choice == "start_over"));
        let since = &log[afresh.unwrap_or(0)..];
        let written = serde_json::to_string(&words).unwrap_or_default();
        let in_inbox = state
            .inbox
            .iter()
            .filter(|(_, of, _)| of == session)
            .any(|(_, _, payload)| payload.contains("\"replied\"") && payload.contains(&written));
        if in_inbox || since.iter().any(|event| is_it(&event)) {
            return Some(format!("a finished call was made again: {words}"));
        }
        let last = log.iter().rev().find(|event| matches!(event.fact, Fact::Model(ModelFact::Called { .. })))?;
        let about = log.iter().find_map(|event| match &event.fact {
            Fact::Request(RequestFact::Received { text, .. }) if event.request == last.request => Some(name_of(text)),
            _ => None,
        });
        (about != Some(name)).then(|| format!("the call is for {about:?}, but the prompt asks about {name}"))
    }

    fn perform(&self, ask: &Ask, prompt: &Prompt) -> PieceStream {
        let attempt = {
            let mut heard = self.heard();
            let asked = heard.asked.entry(ask.clone()).or_default();
            *asked += 1;
            *asked
        };
        let Turn { words, calls, stop } = self.plan.turn(ask);
        let salt = words.bytes().fold(u64::from(attempt) << 32, |h, b| h.rotate_left(7) ^ u64::from(b));
        let mut dice = Dice::new(self.plan.seed ^ salt);
        let mut moments = Vec::new();
        let mut rest = words.as_str();
        while !rest.is_empty() {
            let cut = rest.ceil_char_boundary(1 + dice.below(40) as usize);
            let (now, later) = rest.split_at(cut);
            moments.push((1 << dice.below(9), Ok(ReplyPiece::Text { block: 0, text: now.to_owned() })));
            rest = later;
        }
        for (block, call) in (1..).zip(calls) {
            let (id, name) = (Some(call.id), Some(call.name.to_owned()));
            let (head, tail) = call.arguments.split_at(call.arguments.len() / 2);
            moments.push((1, Ok(ReplyPiece::Tool { block, id, name, arguments: head.to_owned() })));
            moments.push((1, Ok(ReplyPiece::Tool { block, id: None, name: None, arguments: tail.to_owned() })));
        }
        let ending = match ask {
            Ask::Round { name, .. } if self.plan.is_cursed(name, attempt) => 3,
            _ => dice.below(14),
        };
        if ending < 4 {
            moments.truncate(dice.below(moments.len() as u64) as usize);
        }
        match ending {
            // The connection is cut without a word.
            0 => self.count_failure(ask),
            1 | 2 => {
                self.count_failure(ask);
                moments.push((10, Err(fault(ProblemKind::Overloaded, Retry::Later { after_ms: None }))));
            }
            3 if matches!(ask, Ask::Round { name, .. } if self.plan.is_cursed(name, attempt)) || dice.once_in(3) => {
                self.heard().doomed.push(ask.clone());
                moments.push((1, Err(fault(ProblemKind::Refused, Retry::Never))));
            }
            3 => self.count_failure(ask),
            _ => {
                // Some providers count everything, some only what they had not cached, some nothing.
                let input_tokens = [0, 3, size(prompt) / 4][dice.below(3) as usize];
                let usage = Usage { input_tokens, output_tokens: input_tokens.min(5), ..Usage::default() };
                moments.push((0, Ok(ReplyPiece::Usage(usage))));
                moments.extend(stop.map(|stop| (0, Ok(ReplyPiece::Stop(stop)))));
                moments.push((0, Ok(ReplyPiece::End)));
            }
        }
        stream::iter(moments)
            .then(|(millis, piece)| async move {
                if millis > 0 {
                    tokio::time::sleep(Duration::from_millis(millis)).await;
                }
                piece
            })
            .boxed()
    }

    fn count_failure(&self, ask: &Ask) {
        *self.heard().failures.entry(ask.clone()).or_default() += 1;
    }
}

/// Whether these words were passed on to a request that ran.
fn is_passed_on(state: &State, name: &str) -> bool {
    let is_it =
        |event: &Event| matches!(&event.fact, Fact::Request(RequestFact::Joined { text, .. }) if name_of(text) == name);
    state.events.values().flatten().any(is_it)
}

/// The logs in which a request stands.
fn logs_of<'a>(state: &'a State, name: &'a str) -> impl Iterator<Item = (&'a SessionId, &'a [Event])> {
    let is_it = move |event: &Event| matches!(&event.fact, Fact::Request(RequestFact::Received { text, .. }) if name_of(text) == name);
    state.events.iter().filter(move |(_, log)| log.iter().any(is_it)).map(|(session, log)| (session, log.as_slice()))
}

/// Whether the request of a worker has ended.
fn has_ended(log: &[Event]) -> bool {
    let last = log.iter().rev().find_map(|event| match &event.fact {
        Fact::Request(RequestFact::Finished { .. }) => Some(true),
        Fact::Request(RequestFact::Reopened {}) => Some(false),
        _ => None,
    });
    last.unwrap_or(false)
}

fn shown(prompt: &Prompt) -> String {
    prompt.messages.iter().filter_map(|message| serde_json::to_string(&**message).ok()).collect::<Vec<_>>().join("\n")
}

fn size(prompt: &Prompt) -> u64 {
    let tools: usize = prompt.tools.iter().map(|tool| tool.description.len() + 200).sum();
    (prompt.system.len() + tools + shown(prompt).len()) as u64
}

fn fault(kind: ProblemKind, retry: Retry) -> Fault {
    Fault { problem: Problem::new(kind, "simulated"), retry }
}

/// The models of a simulation: one, under any name, as one process sees it.
pub(super) struct SimulatedModels {
    pub(super) oracle: Oracle,
    pub(super) store: Arc<MemoryStore>,
}

impl ModelRegistry for SimulatedModels {
    fn find(&self, _: &str) -> Result<Arc<dyn Model>, Problem> {
        Ok(Arc::new(SimulatedModel { oracle: self.oracle.clone(), store: Arc::clone(&self.store) }))
    }
}

struct SimulatedModel {
    oracle: Oracle,
    store: Arc<MemoryStore>,
}

impl Model for SimulatedModel {
    fn dialect(&self) -> &'static str {
        "scripted"
    }

    fn stream(&self, prompt: &Prompt) -> PieceStream {
        let line = OpenLine::open(&self.oracle, &self.store);
        let pieces = self.oracle.hear(prompt);
        // The line is open for as long as anybody listens.
        pieces.inspect(move |_| line.is_open()).boxed()
    }
}

/// A call that is under way, counted for the process that makes it.
struct OpenLine {
    oracle: Oracle,
    owner: u64,
}

impl OpenLine {
    fn open(oracle: &Oracle, store: &MemoryStore) -> Self {
        let owner = store.owner();
        let mut heard = oracle.heard();
        *heard.lines.entry(owner).or_default() += 1;
        // What a dead process was about to hear, it does not hear.
        let open: u32 = heard.lines.iter().filter(|(owner, _)| oracle.disk.is_alive(**owner)).map(|(_, n)| n).sum();
        drop(heard);
        if open > JOB_LIMIT {
            oracle.complain(format!("{open} calls are made at once; the limit is {JOB_LIMIT}"));
        }
        Self { oracle: oracle.clone(), owner }
    }

    /// Holds the line: it closes when whoever asks this is gone.
    fn is_open(&self) {}
}

impl Drop for OpenLine {
    fn drop(&mut self) {
        if let Some(lines) = self.oracle.heard().lines.get_mut(&self.owner) {
            *lines -= 1;
        }
    }
}
