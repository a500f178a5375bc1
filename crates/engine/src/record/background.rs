//! The background commands of a session.

use trimtab_vocab::event::CommandFact;
use trimtab_vocab::{
    BackgroundEnd, BackgroundEndReason, BackgroundId, CallId, Fact, OpenPort, RefKey, RequestId, SnapshotLimits,
    StoppedBy,
};

use super::Session;

/// A command that continues, or continued, in the background.
#[derive(Debug, Clone, PartialEq)]
pub struct BackgroundCommand {
    pub id: BackgroundId,
    /// The call that started it.
    pub call: CallId,
    pub request: RequestId,
    pub command: String,
    pub name: Option<String>,
    pub ready: bool,
    pub ports: Vec<OpenPort>,
    /// Who told it to end.
    pub stopping: Option<StoppedBy>,
    /// Why it ended, and with what; absent: it runs.
    pub ended: Option<EndedBackground>,
    pub(crate) output: RefKey,
    pub(crate) watch: Option<SnapshotLimits>,
    /// The change sets from this one on may have been made or moved while it ran.
    pub(crate) first_set: usize,
}

/// The end of a background command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedBackground {
    pub why: BackgroundEndReason,
    pub exit_code: Option<i32>,
    pub signal: Option<String>,
}

impl BackgroundCommand {
    pub fn is_running(&self) -> bool {
        self.ended.is_none()
    }
}

impl Session {
    /// The background commands, oldest first.
    pub fn background(&self) -> &[BackgroundCommand] {
        &self.background
    }

    pub(crate) fn running_background(&self) -> impl Iterator<Item = &BackgroundCommand> {
        self.background.iter().filter(|command| command.is_running())
    }

    /// The first of the change sets that may have been made while the latest command in the foreground ran.
    pub(crate) fn since_command(&self) -> usize {
        self.changes.since_command
    }

    /// The background commands beside this call that may change files now.
    pub(crate) fn writing_beside(&self, call: &CallId) -> Vec<BackgroundId> {
        let is_other = |command: &&BackgroundCommand| command.watch.is_some() && command.call != *call;
        self.running_background().filter(is_other).map(|command| command.id.clone()).collect()
    }

    /// The background command that a call started, while it runs.
    pub fn background_of(&self, call: &CallId) -> Option<&BackgroundCommand> {
        self.running_background().find(|command| command.call == *call)
    }

    pub(super) fn fold_background(&mut self, request: Option<&RequestId>, fact: &Fact) {
        match fact {
            Fact::Command(fact) => self.fold_background_command(request, fact),
            Fact::Change(_) => self.note_sets(),
            _ => {}
        }
    }

    fn fold_background_command(&mut self, request: Option<&RequestId>, fact: &CommandFact) {
        match fact {
            CommandFact::Background { call, id, command, name, output, watch, .. } => {
                let Some(request) = request.cloned() else { return };
                self.background.push(BackgroundCommand {
                    id: id.clone(),
                    call: call.clone(),
                    request,
                    command: command.clone(),
                    name: name.clone(),
                    ready: false,
                    ports: Vec::new(),
                    stopping: None,
                    ended: None,
                    output: output.clone(),
                    watch: *watch,
                    first_set: self.changes.in_force,
                });
            }
            CommandFact::Ready { id, .. } => self.background_mut(id, |command| command.ready = true),
            CommandFact::Port { id, port, .. } => self.background_mut(id, |command| command.ports.push(*port)),
            CommandFact::Stopping { id, by, .. } => self.background_mut(id, |command| command.stopping = Some(*by)),
            CommandFact::Finished { background: Some(BackgroundEnd { id, why }), exit_code, signal, .. } => {
                let ended = EndedBackground { why: *why, exit_code: *exit_code, signal: signal.clone() };
                self.background_mut(id, |command| command.ended = Some(ended));
            }
            CommandFact::Started { .. } => self.changes.since_command = self.changes.in_force,
            CommandFact::Output { .. } | CommandFact::Finished { .. } => {}
        }
    }

    /// The history was moved, or a set was added.
    fn note_sets(&mut self) {
        let in_force = self.changes.in_force;
        self.changes.since_command = self.changes.since_command.min(in_force);
        let running = self.background.iter_mut().filter(|command| command.is_running());
        running.for_each(|command| command.first_set = command.first_set.min(in_force));
    }

    /// A fork has none of the processes of the session that it was made of.
    pub(super) fn leave_background(&mut self) {
        let running = self.background.iter_mut().filter(|command| command.is_running());
        let why = BackgroundEndReason::Session;
        running.for_each(|command| command.ended = Some(EndedBackground { why, exit_code: None, signal: None }));
    }

    fn background_mut(&mut self, id: &BackgroundId, change: impl FnOnce(&mut BackgroundCommand)) {
        if let Some(command) = self.background.iter_mut().find(|command| command.id == *id) {
            change(command);
        }
    }
}
