//! The transition that is being built: the state to read, facts that become true as they are said, and what is asked
//! of the world.

use serde_json::Value;
use trimtab_vocab::{Fact, RefKey, RequestId};

use crate::record::Session;
use crate::{Child, Effect, Output};

/// What the rooms see of a step: the state to read, and a voice.
pub(crate) struct Transition<'a> {
    pub(crate) session: &'a mut Session,
    pub(crate) outputs: Vec<Output>,
}

impl Transition<'_> {
    /// Records a fact and makes it true.
    pub(crate) fn emit(&mut self, request: Option<&RequestId>, fact: impl Into<Fact>) {
        let fact = fact.into();
        self.session.fold(request, &fact);
        self.outputs.push(Output::Event { request: request.cloned(), fact });
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

    /// Asks the world for work.
    pub(crate) fn request(&mut self, effect: Effect) {
        self.outputs.push(Output::Effect(effect));
    }
}
