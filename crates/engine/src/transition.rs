//! The transition that is being built: the state to read, the facts that are emitted, and the effects that are
//! requested.

use std::collections::VecDeque;

use serde_json::Value;
use trimtab_vocab::event::{BannerFact, Level, RouteFact, Stage, StageFact, ToolStatus};
use trimtab_vocab::wording::{Notice, StageLabel};
use trimtab_vocab::{CallId, Fact, RefKey, RequestId, SessionId};

use crate::record::Session;
use crate::{Child, Effect, Input, Output};

/// What the rooms see of a step: the state to read, and a voice.
pub(crate) struct Transition<'a> {
    pub(crate) session: &'a mut Session,
    outputs: Vec<Output>,
    next: VecDeque<(RequestId, Next)>,
}

/// Work that a room defers to the turn above it.
#[derive(Debug)]
pub(crate) enum Next {
    /// The request continues.
    Turn,
    /// Its path is decided.
    Routed(Box<RouteFact>),
    /// Its calls begin, as far as they may.
    Batch,
    /// One of its calls continues.
    Call { call: CallId },
    /// One of its calls has ended.
    CallEnded { call: CallId, status: ToolStatus, text: String },
    /// The steps of its plan are carried out as sub-tasks.
    PlanAsSubtasks,
    /// Its plan is carried out. The words are the answer, if none was given.
    PlanEnded { answer: Option<String> },
}

impl<'a> Transition<'a> {
    /// A transition of this session.
    pub(crate) fn new(session: &'a mut Session) -> Self {
        Self { session, outputs: Vec::new(), next: VecDeque::new() }
    }

    /// Defers work for the running request to the turn.
    pub(crate) fn then(&mut self, next: Next) {
        if let Some(active) = self.session.active() {
            self.next.push_back((active.request.id.clone(), next));
        }
    }

    /// The deferred work, unless its request is no longer running.
    pub(crate) fn take_next(&mut self) -> Option<Next> {
        while let Some((request, next)) = self.next.pop_front() {
            if self.session.active().is_some_and(|active| active.request.id == request) {
                return Some(next);
            }
        }
        None
    }

    /// Its outputs so far.
    pub(crate) fn so_far(&self) -> &[Output] {
        &self.outputs
    }

    pub(crate) fn into_outputs(self) -> Vec<Output> {
        self.outputs
    }

    /// Records a fact and makes it true.
    pub(crate) fn emit(&mut self, request: Option<&RequestId>, fact: impl Into<Fact>) {
        let fact = fact.into();
        self.session.fold(request, &fact);
        self.outputs.push(Output::Event { request: request.cloned(), fact });
    }

    /// Tells the user something that asks nothing.
    pub(crate) fn notify(&mut self, request: &RequestId, level: Level, notice: Notice) {
        self.emit(Some(request), BannerFact { level, text: notice.to_string() });
    }

    /// Says what the request is doing.
    pub(crate) fn enter(&mut self, request: &RequestId, stage: Stage, label: StageLabel) {
        self.emit(Some(request), StageFact { stage, label: label.to_string() });
    }

    /// Stores a text together with the facts of this step.
    pub(crate) fn store(&mut self, key: RefKey, text: String) {
        self.outputs.push(Output::Keep { key, text });
    }

    /// Forgets all contents of files but these, together with the facts of this step.
    pub(crate) fn keep_only(&mut self, hashes: Vec<String>) {
        self.outputs.push(Output::KeepOnly { hashes });
    }

    /// Tells the audit, together with the facts of this step.
    pub(crate) fn audit(&mut self, request: &RequestId, action: &'static str, fields: Value) {
        self.outputs.push(Output::Audit { request: request.clone(), action, fields });
    }

    /// Makes a session together with the facts of this step.
    pub(crate) fn spawn_child(&mut self, child: Child) {
        self.outputs.push(Output::Child(Box::new(child)));
    }

    /// Gives another session an input together with the facts of this step.
    pub(crate) fn tell(&mut self, session: SessionId, input: Input) {
        self.outputs.push(Output::Tell { session, input: Box::new(input) });
    }

    /// Asks the world for work.
    pub(crate) fn request(&mut self, effect: Effect) {
        self.outputs.push(Output::Effect(effect));
    }
}
