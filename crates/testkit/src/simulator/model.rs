//! Models that stumble: they cut, fail, stall and answer, all from a seed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use trimtab_vocab::{Fault, Message, Part, Problem, ProblemKind, Prompt, Retry, StopReason, Usage};
use trimtab_world::models::{Model, Models, Piece, PieceStream};

use crate::dice::Dice;
use crate::memory_store::{Disk, MemoryStore};

use super::JOB_LIMIT;

/// Knows what every request deserves, and what was asked of it.
#[derive(Clone)]
pub(super) struct Oracle {
    seed: u64,
    retries: u32,
    disk: Disk,
    heard: Arc<Mutex<Heard>>,
}

#[derive(Default)]
struct Heard {
    /// How often each text was asked about.
    asked: BTreeMap<String, u32>,
    /// Texts that a call was refused for, for good.
    doomed: Vec<String>,
    failures: BTreeMap<String, u32>,
    /// Calls under way, by process.
    lines: BTreeMap<u64, u32>,
}

impl Oracle {
    pub(super) fn new(seed: u64, retries: u32, disk: Disk) -> Self {
        Self { seed, retries, disk, heard: Arc::default() }
    }

    /// The one right answer to a text.
    pub(super) fn answer(text: &str) -> String {
        format!("The answer to {text} is {} — naïve 🦀.", text.len())
    }

    pub(super) fn calls(&self) -> u64 {
        self.heard().asked.values().map(|n| u64::from(*n)).sum()
    }

    /// Whether the program had reason to give up on a text.
    pub(super) fn gave_reason_to_fail(&self, text: &str) -> bool {
        let heard = self.heard();
        heard.doomed.iter().any(|doomed| doomed == text)
            || heard.failures.get(text).is_some_and(|failures| *failures > self.retries)
    }

    fn heard(&self) -> std::sync::MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn perform(&self, text: &str) -> PieceStream {
        let attempt = {
            let mut heard = self.heard();
            let asked = heard.asked.entry(text.to_owned()).or_default();
            *asked += 1;
            *asked
        };
        let mut dice =
            Dice::new(self.seed ^ text.bytes().fold(u64::from(attempt) << 32, |h, b| h.rotate_left(7) ^ u64::from(b)));
        let words = Self::answer(text);
        let mut moments = Vec::new();
        let mut rest = words.as_str();
        while !rest.is_empty() {
            let cut = rest.ceil_char_boundary(1 + dice.below(12) as usize);
            let (now, later) = rest.split_at(cut);
            moments.push((1 << dice.below(9), Ok(Piece::Text { block: 0, text: now.to_owned() })));
            rest = later;
        }
        let ending = dice.below(10);
        if ending < 4 {
            moments.truncate(dice.below(moments.len() as u64) as usize);
        }
        match ending {
            // The connection is cut without a word.
            0 => self.count_failure(text),
            1 | 2 => {
                self.count_failure(text);
                moments.push((10, Err(fault(ProblemKind::Overloaded, Retry::Later { after_ms: None }))));
            }
            3 if dice.once_in(3) => {
                self.heard().doomed.push(text.to_owned());
                moments.push((1, Err(fault(ProblemKind::Refused, Retry::Never))));
            }
            3 => self.count_failure(text),
            _ => {
                moments.push((0, Ok(Piece::Usage(Usage { input_tokens: 3, output_tokens: 5, ..Usage::default() }))));
                moments.push((0, Ok(Piece::Stop(StopReason::EndTurn))));
                moments.push((0, Ok(Piece::End)));
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

    fn count_failure(&self, text: &str) {
        *self.heard().failures.entry(text.to_owned()).or_default() += 1;
    }

    /// A reply that is durable must never be asked for again.
    fn complain_if_paid_already(&self, text: &str) {
        let mut state = self.disk.state();
        let answer = Self::answer(text);
        let in_inbox =
            state.inbox.iter().any(|(_, _, payload)| payload.contains("\"replied\"") && payload.contains(&answer));
        let in_log = state.events.values().flatten().any(|event| {
            use trimtab_vocab::{Fact, event::ReplyFact};
            matches!(&event.fact, Fact::Reply(ReplyFact::Saved { message, partial: false, .. }) if message.text() == answer)
        });
        if in_inbox || in_log {
            state.broken.push(format!("a finished call was made again for {text}"));
        }
    }
}

fn fault(kind: ProblemKind, retry: Retry) -> Fault {
    Fault { problem: Problem::new(kind, "simulated"), retry }
}

/// The models of a simulation: one, under any name, as one process sees it.
pub(super) struct SimulatedModels {
    pub(super) oracle: Oracle,
    pub(super) store: Arc<MemoryStore>,
}

impl Models for SimulatedModels {
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
        let text = prompt.messages.last().map(|message| last_words(message)).unwrap_or_default();
        self.oracle.complain_if_paid_already(&text);
        let line = OpenLine::open(&self.oracle, &self.store);
        let pieces = self.oracle.perform(&text);
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
            oracle.disk.state().broken.push(format!("{open} calls are made at once; the limit is {JOB_LIMIT}"));
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

fn last_words(message: &Message) -> String {
    message
        .parts
        .iter()
        .rev()
        .find_map(|part| match part {
            Part::Text { text } => Some(text.clone()),
            _ => None,
        })
        .unwrap_or_default()
}
