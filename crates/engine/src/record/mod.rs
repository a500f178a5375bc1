//! The state of a session, and the one way it changes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use trimtab_vocab::event::{CheckpointFact, CheckpointKind, ModelFact, ReplyFact, RequestFact, SessionFact, Status};
use trimtab_vocab::{
    CallId, CheckpointId, Fact, INTERRUPT_USER, Message, Part, ProblemKind, Request, RequestId, TimerId, Usage,
};

use crate::turn::budget;

/// A session as its facts made it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Session {
    folder: Option<String>,
    title: Option<String>,
    conversation: Vec<Arc<Message>>,
    active: Option<Active>,
    waiting: VecDeque<Active>,
    /// Requests that ended for want of a person, and go on once somebody answers.
    parked: Vec<Active>,
    checkpoints: BTreeMap<CheckpointId, Checkpoint>,
    budget: Option<f64>,
    known: BTreeSet<RequestId>,
    calls: u64,
    usage: Usage,
}

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// The request that cannot go on without it.
    pub request: RequestId,
    /// What sort of answer it waits for.
    pub kind: CheckpointKind,
    /// The answers to choose from.
    pub choices: Vec<String>,
}

/// The request that is being worked on. A session works on one at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Active {
    /// What was asked.
    pub request: Request,
    /// How far it is.
    pub phase: Phase,
    /// What it cost so far.
    pub usage: Usage,
    /// Replies so far.
    pub steps: u32,
    /// Failures of the call that is being made, in a row.
    pub failures: u32,
    /// Checkpoints so far.
    pub checkpoints: u32,
    /// Its words stand in the conversation.
    begun: bool,
}

/// How far a request is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// It waits for room among the running requests.
    Admitting,
    /// A model is being called.
    Calling {
        /// The call.
        call: CallId,
    },
    /// The call failed and will be made again.
    BackingOff {
        /// The wait.
        timer: TimerId,
        /// How long it was to be.
        millis: u64,
    },
    /// A reply is there and is being worked on; never seen between two steps.
    Replied,
    /// It waits for a person.
    Waiting {
        /// For this answer.
        checkpoint: CheckpointId,
    },
    /// It is being ended.
    Stopping {
        /// The call that is still to be ended.
        call: Option<CallId>,
    },
}

impl Active {
    fn new(request: Request) -> Self {
        Self {
            request,
            phase: Phase::Admitting,
            usage: Usage::default(),
            steps: 0,
            failures: 0,
            checkpoints: 0,
            begun: false,
        }
    }
}

impl Session {
    /// Folds a whole log.
    pub fn replay<'a>(facts: impl IntoIterator<Item = (Option<&'a RequestId>, &'a Fact)>) -> Self {
        let mut session = Self::default();
        for (request, fact) in facts {
            session.fold(request, fact);
        }
        session
    }

    /// The folder it works in, once it is open.
    pub fn folder(&self) -> Option<&str> {
        self.folder.as_deref()
    }

    /// Its name, once it has one.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The conversation so far.
    pub fn conversation(&self) -> &[Arc<Message>] {
        &self.conversation
    }

    /// What is being worked on.
    pub fn active(&self) -> Option<&Active> {
        self.active.as_ref()
    }

    /// What waits for its turn.
    pub fn waiting(&self) -> impl Iterator<Item = &Request> {
        self.waiting.iter().map(|waiting| &waiting.request)
    }

    /// What waits for a person.
    pub fn checkpoint(&self, id: &CheckpointId) -> Option<&Checkpoint> {
        self.checkpoints.get(id)
    }

    /// Whether a request has ended for want of a person.
    pub fn is_parked(&self, request: &RequestId) -> bool {
        self.parked.iter().any(|parked| parked.request.id == *request)
    }

    /// Dollars that the session may cost, as a request and later answers have set it.
    pub fn budget(&self) -> Option<f64> {
        let asked = self.active()?.request.settings.budget_usd;
        match (asked, self.budget) {
            (Some(asked), Some(raised)) => Some(asked.max(raised)),
            (asked, _) => asked,
        }
    }

    /// The call whose end is not recorded yet.
    pub fn open_call(&self) -> Option<&CallId> {
        match &self.active()?.phase {
            Phase::Calling { call } | Phase::Stopping { call: Some(call) } => Some(call),
            _ => None,
        }
    }

    /// Whether there is nothing to do.
    pub fn is_idle(&self) -> bool {
        self.active.is_none() && self.waiting.is_empty()
    }

    /// Whether a request was ever taken in.
    pub fn knows(&self, request: &RequestId) -> bool {
        self.known.contains(request)
    }

    /// What the session cost so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The largest budget that any unfinished request was given, or that an answer raised it to.
    pub(crate) fn largest_budget(&self) -> f64 {
        let all = self.active.iter().chain(&self.parked).filter_map(|active| active.request.settings.budget_usd);
        all.chain(self.budget).fold(0.0, f64::max)
    }

    /// The number of the next call.
    pub(crate) fn next_call(&self) -> u64 {
        self.calls + 1
    }

    /// Makes a fact true. Facts of other versions and facts that only inform change nothing.
    pub fn fold(&mut self, request: Option<&RequestId>, fact: &Fact) {
        match fact {
            Fact::Session(SessionFact::Opened { folder }) => self.folder = Some(folder.clone()),
            Fact::Session(SessionFact::Titled { title }) => self.title = Some(title.clone()),
            Fact::Request(fact) => self.fold_request(request, fact),
            Fact::Model(fact) => self.fold_model(fact),
            Fact::Reply(fact) => self.fold_reply(fact),
            Fact::Checkpoint(fact) => self.fold_checkpoint(request, fact),
            _ => {}
        }
    }

    fn fold_request(&mut self, id: Option<&RequestId>, fact: &RequestFact) {
        let Some(id) = id else { return };
        match fact {
            RequestFact::Received { text, refs, images, mode, settings } => {
                let request = Request {
                    id: id.clone(),
                    text: text.clone(),
                    refs: refs.clone(),
                    images: images.clone(),
                    mode: *mode,
                    settings: settings.clone(),
                };
                self.known.insert(id.clone());
                self.waiting.push_back(Active::new(request));
                self.start_next();
            }
            RequestFact::Stopping {} => {
                if let Some(active) = self.active_mut(id) {
                    let call = match &active.phase {
                        Phase::Calling { call } => Some(call.clone()),
                        _ => None,
                    };
                    active.phase = Phase::Stopping { call };
                }
            }
            RequestFact::Reopened {} => {
                if let Some(at) = self.parked.iter().position(|parked| parked.request.id == *id) {
                    let mut active = self.parked.remove(at);
                    active.phase = Phase::Admitting;
                    self.waiting.push_front(active);
                    self.start_next();
                }
            }
            RequestFact::Finished { status, .. } => {
                if self.active_mut(id).is_some() {
                    let ended = self.active.take();
                    match status {
                        Status::Cancelled => {
                            self.checkpoints.retain(|_, checkpoint| checkpoint.request != *id);
                            self.conversation.push(Arc::new(Message::user(INTERRUPT_USER)));
                        }
                        Status::NeedsUser | Status::Limit => {
                            self.parked.extend(ended.filter(|ended| matches!(ended.phase, Phase::Waiting { .. })));
                        }
                        Status::Completed | Status::Failed => {}
                    }
                } else {
                    self.waiting.retain(|waiting| waiting.request.id != *id);
                }
                self.start_next();
            }
        }
    }

    fn fold_model(&mut self, fact: &ModelFact) {
        match fact {
            ModelFact::Called { call, .. } => {
                self.calls += 1;
                if let Some(active) = &mut self.active {
                    active.phase = Phase::Calling { call: call.clone() };
                }
            }
            ModelFact::Failed { call, error, retry_in_ms } => {
                let timer = TimerId::before_call(self.next_call());
                if let Some(active) = self.calling_mut(call) {
                    active.phase = Phase::BackingOff { timer, millis: retry_in_ms.unwrap_or(0) };
                    if error.kind != ProblemKind::Interrupted {
                        active.failures += 1;
                    }
                }
            }
        }
    }

    fn fold_reply(&mut self, fact: &ReplyFact) {
        let ReplyFact::Saved { usage, message, partial, .. } = fact else { return };
        self.usage += *usage;
        let stopping = matches!(self.active, Some(Active { phase: Phase::Stopping { .. }, .. }));
        if let Some(active) = &mut self.active {
            active.usage += *usage;
            if !partial {
                active.steps += 1;
                active.failures = 0;
                active.phase = Phase::Replied;
            }
        }
        // A reply that will be asked for again is kept in the log for the person, not in the
        // conversation: the model would answer its own torso.
        if !partial || stopping {
            let message = if *partial { words_only(message) } else { message.clone() };
            if !message.parts.is_empty() {
                self.conversation.push(Arc::new(message));
            }
        }
    }

    fn fold_checkpoint(&mut self, request: Option<&RequestId>, fact: &CheckpointFact) {
        match fact {
            CheckpointFact::Opened { checkpoint, kind, choices, .. } => {
                let Some(request) = request else { return };
                let choices = choices.iter().map(|choice| choice.id.clone()).collect();
                self.checkpoints
                    .insert(checkpoint.clone(), Checkpoint { request: request.clone(), kind: *kind, choices });
                if let Some(active) = self.active_mut(request) {
                    active.checkpoints += 1;
                    active.phase = Phase::Waiting { checkpoint: checkpoint.clone() };
                }
            }
            CheckpointFact::Resolved { checkpoint, choice, text, .. } => {
                self.checkpoints.remove(checkpoint);
                if choice == budget::RAISE {
                    self.budget = text.as_deref().and_then(|text| text.parse().ok()).or(self.budget);
                }
            }
        }
    }

    fn start_next(&mut self) {
        if self.active.is_some() {
            return;
        }
        let Some(mut active) = self.waiting.pop_front() else { return };
        let words = active.request.message();
        // What goes on after others have spoken says its words again: a model answers the last ones.
        let stands_last = active.begun && self.conversation.last().is_some_and(|last| **last == words);
        if !stands_last {
            self.conversation.push(Arc::new(words));
        }
        active.begun = true;
        self.active = Some(active);
    }

    fn active_mut(&mut self, id: &RequestId) -> Option<&mut Active> {
        self.active.as_mut().filter(|active| active.request.id == *id)
    }

    fn calling_mut(&mut self, wanted: &CallId) -> Option<&mut Active> {
        self.active.as_mut().filter(|active| matches!(&active.phase, Phase::Calling { call } if call == wanted))
    }
}

/// A reply that was stopped keeps its words. Thinking without its signature and half-written tool
/// calls would make the whole conversation invalid for every provider.
fn words_only(message: &Message) -> Message {
    let parts = message
        .parts
        .iter()
        .filter(|part| matches!(part, Part::Text { text } if !text.trim().is_empty()))
        .cloned()
        .collect();
    Message { role: message.role, parts }
}
