//! A session as a browser loads it: messages and results, without traces.

use schemars::JsonSchema;
use serde::Serialize;
use trimtab_host::SessionRow;
use trimtab_vocab::event::{AnswerFact, ReplyFact, RequestFact, SessionFact, Status};
use trimtab_vocab::{
    Answer, Autonomy, CheckpointId, Event, ExtensionId, Fact, ImageRef, Mode, Problem, RefKey, RequestId, SessionId,
    Time, Usage,
};

use crate::conversation::ModelCalls;

/// A session as lists show it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionInfo {
    id: SessionId,
    /// `chat`.
    doc_type: &'static str,
    /// The session that was handed off to it, or that it was forked from.
    parent_session_id: Option<SessionId>,
    /// Number of events that a fork has copied from its parent.
    forked_at: Option<u64>,
    /// The session's folder.
    folder: String,
    /// Its name; empty before the first request.
    title: String,
    /// When it was made.
    created: Time,
    /// When the session last changed.
    updated: Time,
}

impl From<SessionRow> for SessionInfo {
    fn from(row: SessionRow) -> Self {
        let SessionRow { id, folder, title, created, updated, parent, forked } = row;
        Self { id, doc_type: "chat", parent_session_id: parent, forked_at: forked, folder, title, created, updated }
    }
}

/// A session with its conversation. Its trace shows how each answer was made.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionDocument {
    /// What lists show.
    #[serde(flatten)]
    info: SessionInfo,
    /// The requests with their results, oldest first.
    messages: Vec<Turn>,
    /// Pending questions and approvals: the events that opened them.
    checkpoints: Vec<Event>,
    /// The session that it was handed off to.
    handed_off_to: Option<SessionId>,
    /// Further documents of it.
    extensions: Vec<ExtensionId>,
    /// Text for the input, until the first message.
    prefill: Option<String>,
    /// How much it does without asking: the level in force for its next request.
    autonomy: Autonomy,
    /// The level that the settings of its folder allow at most.
    autonomy_limit: Option<Autonomy>,
    /// The level that was chosen in it.
    #[serde(skip)]
    chosen: Option<Autonomy>,
    /// The last event that this tells of; watch it from here.
    last_seq: u64,
    #[serde(skip)]
    calls: ModelCalls,
}

/// A request and its result.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Turn {
    request: RequestId,
    /// When it was received.
    time: Time,
    /// The user's text.
    text: String,
    /// Stored texts that belong to it.
    refs: Vec<RefKey>,
    /// Stored images that belong to it.
    images: Vec<ImageRef>,
    /// The mode that the user chose.
    mode: Mode,
    /// The `#tags` of the message.
    tags: Vec<String>,
    /// The request that the message was sent to, if it joined another one.
    joined: Option<RequestId>,
    /// The question that it answers.
    answers: Option<CheckpointId>,
    /// Its result.
    answer: Option<Answer>,
    /// The partial reply, if it was interrupted.
    partial: Option<String>,
    /// How it ended, or `pending`. Absent: the message was sent to another request.
    status: Option<TurnStatus>,
    /// Why it failed.
    error: Option<Problem>,
    /// Its usage and cost.
    usage: Usage,
    /// When it ended.
    finished: Option<Time>,
}

/// The state of a request.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum TurnStatus {
    /// It has ended.
    Ended(Status),
    /// It has not.
    Open(Pending),
}

/// The status of a request that has not ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Pending {
    /// It waits, runs or asks.
    Pending,
}

const PENDING: Option<TurnStatus> = Some(TurnStatus::Open(Pending::Pending));

impl SessionDocument {
    pub(super) fn folder(&self) -> &str {
        &self.info.folder
    }

    /// The level of the settings, and the most that the folder allows.
    pub(super) fn set_autonomy(&mut self, of_settings: Option<Autonomy>, limit: Option<Autonomy>) {
        self.autonomy_limit = limit;
        self.autonomy = self.chosen.or(of_settings).unwrap_or_default().within(limit);
    }

    pub(super) fn new(row: SessionRow) -> Self {
        Self {
            info: row.into(),
            messages: Vec::new(),
            checkpoints: Vec::new(),
            handed_off_to: None,
            extensions: Vec::new(),
            prefill: None,
            autonomy: Autonomy::default(),
            autonomy_limit: None,
            chosen: None,
            last_seq: 0,
            calls: ModelCalls::default(),
        }
    }

    /// The events that opened what waits, of any session; those of others are left out.
    pub(super) fn wait_for(&mut self, open: Vec<Event>) {
        let session = &self.info.id;
        self.checkpoints = open.into_iter().filter(|event| event.session == *session).collect();
    }

    pub(super) fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// The next fact.
    pub(super) fn observe(&mut self, event: Event) {
        self.last_seq = event.seq.unwrap_or(self.last_seq);
        self.calls.observe(&event);
        let (time, request) = (event.time, event.request);
        match (event.fact, request) {
            (Fact::Request(RequestFact::Received { text, refs, images, mode, tags, .. }), Some(request)) => {
                self.prefill = None;
                let status = PENDING;
                self.messages.push(Turn { refs, images, mode, tags, status, ..Turn::new(request, time, text) });
            }
            (Fact::Request(RequestFact::Joined { text, into, checkpoint, tags }), Some(request)) => {
                let (joined, answers) = (Some(into), checkpoint);
                self.messages.push(Turn { tags, joined, answers, ..Turn::new(request, time, text) });
            }
            (Fact::Session(SessionFact::Handoff { child, .. }), _) => self.handed_off_to = Some(child),
            // That the other one was handed off has nothing to do with a fork of it.
            (Fact::Session(SessionFact::Reclaimed { .. } | SessionFact::Forked { .. }), _) => self.handed_off_to = None,
            (Fact::Session(SessionFact::Autonomy { level, .. }), _) => self.chosen = Some(level),
            (Fact::Session(SessionFact::Extended { extension }), _) => self.extensions.push(extension),
            (Fact::Session(SessionFact::Inherited { prefill, .. }), _) => self.prefill = prefill,
            // Calls behind the scenes are not part of the conversation.
            (Fact::Reply(ReplyFact::Saved { call, .. }), _) if self.calls.is_aside(&call) => {}
            (fact, Some(request)) => {
                if let Some(turn) = self.messages.iter_mut().rev().find(|turn| turn.request == request) {
                    turn.observe(time, fact);
                }
            }
            _ => {}
        }
    }
}

impl Turn {
    fn new(request: RequestId, time: Time, text: String) -> Self {
        Self {
            request,
            time,
            text,
            refs: Vec::new(),
            images: Vec::new(),
            mode: Mode::Auto,
            tags: Vec::new(),
            joined: None,
            answers: None,
            answer: None,
            partial: None,
            status: None,
            error: None,
            usage: Usage::default(),
            finished: None,
        }
    }

    fn observe(&mut self, time: Time, fact: Fact) {
        match fact {
            Fact::Answer(AnswerFact { answer }) => (self.answer, self.partial) = (Some(answer), None),
            Fact::Reply(ReplyFact::Saved { partial: true, message, .. }) => {
                self.partial = Some(message.text());
            }
            Fact::Request(RequestFact::Finished { status, error, usage, .. }) => {
                let status = Some(TurnStatus::Ended(status));
                (self.status, self.error, self.usage, self.finished) = (status, error, usage, Some(time));
            }
            Fact::Request(RequestFact::Reopened {}) => (self.status, self.error, self.finished) = (PENDING, None, None),
            _ => {}
        }
    }
}
