//! Sends facts to watchers.
//!
//! Queues are bounded: a watcher that is too slow loses its place in the live queue and reads what
//! it missed from the log, which has everything but the live-only pieces. A session that another
//! process runs is watched through the log alone.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use trimtab_vocab::event::{Fact, ModelFact, ReplyFact};
use trimtab_vocab::{CallId, Event, Problem, SessionId};

use crate::client::{ActorContext, store_problem};
use crate::words_elsewhere::WordsElsewhere;

/// Facts that a watcher may be behind before it has to read the log.
const QUEUE: usize = 1024;
/// How often to poll for changes that are not reported.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(50);
const PAGE: u32 = 500;

#[derive(Debug, Clone)]
pub(crate) enum Update {
    Event(Arc<Event>),
    /// The session cannot be run any further by this process.
    Failed(Problem),
}

#[derive(Debug, Default)]
pub(crate) struct Hub {
    channels: Mutex<HashMap<SessionId, Channel>>,
    /// The sessions that this process runs.
    owned: Mutex<HashSet<SessionId>>,
}

#[derive(Debug)]
struct Channel {
    updates: broadcast::Sender<Update>,
    /// The text of the current reply so far, which is not in the log yet. New watchers get it at once.
    so_far: Option<Event>,
}

impl Channel {
    fn is_needed(&self) -> bool {
        self.so_far.is_some() || self.updates.receiver_count() > 0
    }
}

impl Hub {
    pub(crate) fn publish(&self, session: &SessionId, update: Update) {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let is_word =
            matches!(&update, Update::Event(event) if matches!(event.fact, Fact::Reply(ReplyFact::Delta { .. })));
        if is_word && !channels.contains_key(session) {
            channels.insert(session.clone(), Channel { updates: broadcast::channel(QUEUE).0, so_far: None });
        }
        let Some(channel) = channels.get_mut(session) else { return };
        if let Update::Event(event) = &update {
            said(&mut channel.so_far, event);
        }
        // There may be no watcher now.
        drop(channel.updates.send(update));
        if !channel.is_needed() {
            channels.remove(session);
        }
    }

    /// From now on this process runs the session, or no longer does.
    pub(crate) fn set_owned(&self, session: &SessionId, owned: bool) {
        let mut all = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        match owned {
            true => drop(all.insert(session.clone())),
            false => drop(all.remove(session)),
        }
    }

    pub(crate) fn owns(&self, session: &SessionId) -> bool {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner).contains(session)
    }

    /// The updates of a session from now on.
    pub(crate) fn updates(&self, session: &SessionId) -> broadcast::Receiver<Update> {
        self.subscribe(session).0
    }

    fn subscribe(&self, session: &SessionId) -> (broadcast::Receiver<Update>, Option<Event>) {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.retain(|_, channel| channel.is_needed());
        let open = || Channel { updates: broadcast::channel(QUEUE).0, so_far: None };
        let channel = channels.entry(session.clone()).or_insert_with(open);
        (channel.updates.subscribe(), channel.so_far.clone())
    }
}

/// The partial text of a reply after one more fact: none once it is recorded or dropped.
pub fn said(so_far: &mut Option<Event>, event: &Event) {
    match (&event.fact, so_far.as_mut().map(|said| &mut said.fact)) {
        (
            Fact::Reply(ReplyFact::Delta { call, text, thinking, progress }),
            Some(Fact::Reply(ReplyFact::Delta { call: same, text: words, thinking: thoughts, progress: latest })),
        ) if call == same => {
            words.push_str(text);
            thoughts.push_str(thinking);
            *latest = progress.or(*latest);
        }
        (Fact::Reply(ReplyFact::Delta { .. }), _) => *so_far = Some(event.clone()),
        (Fact::Reply(ReplyFact::Saved { .. }) | Fact::Model(_) | Fact::Request(_), _) => *so_far = None,
        _ => {}
    }
}

/// The facts of a session, from any point of its log on, as long as one asks.
pub struct SessionWatch {
    session: SessionId,
    deps: Arc<ActorContext>,
    live: broadcast::Receiver<Update>,
    seen: u64,
    backlog: VecDeque<Event>,
    version: Option<u64>,
    /// Words that were said before this watch began and are in no log yet.
    so_far: Option<Event>,
    /// Text that another process has saved.
    elsewhere: WordsElsewhere,
}

impl SessionWatch {
    pub(crate) fn new(deps: Arc<ActorContext>, session: SessionId, after: u64) -> Self {
        // Subscribed before the log is first read: nothing falls between the two.
        let (live, so_far) = deps.hub.subscribe(&session);
        let (backlog, elsewhere) = (VecDeque::new(), WordsElsewhere::default());
        Self { session, deps, live, seen: after, backlog, version: None, so_far, elsewhere }
    }

    /// The next fact, recorded or live. Recorded ones come once each, in order, without gaps. May
    /// be dropped and called again.
    pub async fn next(&mut self) -> Result<Event, Problem> {
        loop {
            if let Some(event) = self.backlog.pop_front() {
                self.seen = event.seq.unwrap_or(self.seen);
                return Ok(event);
            }
            if self.version.is_none() {
                self.read_log().await?;
                continue;
            }
            if let Some(event) = self.so_far.take() {
                return Ok(event);
            }
            tokio::select! {
                biased;
                update = self.live.recv() => match update {
                    Ok(Update::Event(event)) => match event.seq {
                        None => return Ok(Event::clone(&event)),
                        Some(seq) if seq == self.seen + 1 => {
                            self.seen = seq;
                            return Ok(Event::clone(&event));
                        }
                        Some(seq) if seq <= self.seen => {}
                        Some(_) => self.version = None,
                    },
                    Ok(Update::Failed(problem)) => return Err(problem),
                    Err(RecvError::Lagged(_)) => self.version = None,
                    // The hub outlives its watchers; were it gone, the log would still be there.
                    Err(RecvError::Closed) => tokio::time::sleep(POLL_INTERVAL).await,
                },
                changed = self.deps.world.store.changed(self.version) => {
                    changed.map_err(store_problem)?;
                    self.version = None;
                }
            }
        }
    }

    async fn read_log(&mut self) -> Result<(), Problem> {
        let store = &self.deps.world.store;
        let version = store.changed(None).await.map_err(store_problem)?;
        // Read before the log, so that no text comes before the call that it belongs to.
        let mut saved = WordsElsewhere::saved(&self.deps, &self.session).await.map_err(store_problem)?;
        let events = store.events(&self.session, self.seen, PAGE).await.map_err(store_problem)?;
        // A full page means that there may be more: look again once it is read.
        if events.len() < PAGE as usize {
            self.version = Some(version);
        }
        if let Some(so_far) = &self.so_far {
            // What is recorded meanwhile has the words already.
            let coming = match &so_far.fact {
                Fact::Reply(ReplyFact::Delta { call, .. }) => Some(call),
                _ => None,
            };
            if coming.is_some_and(|call| events.iter().any(|event| ends(event, call))) {
                self.so_far = None;
            }
        }
        self.backlog.extend(events);
        if self.version.is_some() {
            // Text whose reply was recorded meanwhile is not worth showing.
            saved.retain(|(call, _)| !self.backlog.iter().any(|event| ends(event, call)));
            let words = self.elsewhere.take(&self.deps, &self.session, saved).await.map_err(store_problem)?;
            self.backlog.extend(words);
        }
        Ok(())
    }
}

/// Whether a fact ends the reply of a call.
fn ends(event: &Event, ended: &CallId) -> bool {
    match &event.fact {
        Fact::Reply(ReplyFact::Saved { call, .. }) | Fact::Model(ModelFact::Failed { call, .. }) => call == ended,
        _ => false,
    }
}
