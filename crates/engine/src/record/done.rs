//! The actions of a request, counted from facts.

use trimtab_vocab::event::{
    BugFact, ChangeFact, ChangedFile, CommandDone, CommandFact, CommandsFact, ContextFact, DoneFacts, ToolFact,
    ToolStatus,
};
use trimtab_vocab::{CallId, CommandClass, Fact, RequestId, SeriesState};

use super::{Progress, RunningRequest, Session, names};
use crate::proposal::ProposedChange;
use crate::proposal::edit::Edit;
use crate::tools::ToolAction;

/// Files and commands that are listed at most, each.
const LISTED: usize = 200;
/// Bytes of a command that are kept.
const COMMAND: usize = 200;

/// The actions of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DoneState {
    /// Reported at its end.
    pub facts: DoneFacts,
    /// A change that it wanted was in place before.
    pub in_place: bool,
    /// The last file that the model sent back whole, just as it was shown to it.
    pub echoed: Option<String>,
    /// A command ran whose effects are not among the changes.
    pub acted: bool,
    /// A command was left to run in the background.
    pub backgrounded: bool,
    /// The user or a rule has refused something of it.
    pub declined: bool,
    /// How often the model was reminded that it has done nothing.
    pub nudges: u32,
}

impl DoneState {
    fn change(&mut self, files: &[ChangedFile]) {
        for file in files {
            if let Some(known) = self.facts.files.iter_mut().find(|known| known.path == file.path) {
                known.added = known.added.saturating_add(file.added);
                known.removed = known.removed.saturating_add(file.removed);
                known.modified = known.modified.saturating_add(file.modified);
                known.is_deleted = file.is_deleted;
            } else if self.facts.files.len() < LISTED {
                self.facts.files.push(file.clone());
            } else {
                self.facts.more_files = self.facts.more_files.saturating_add(1);
            }
        }
    }

    fn run(&mut self, command: &str, exit_code: Option<i32>) {
        if self.facts.commands.len() < LISTED {
            let line = command.lines().next().unwrap_or_default();
            let command = line[..line.floor_char_boundary(COMMAND)].to_owned();
            self.facts.commands.push(CommandDone { command, exit_code });
        }
    }
}

impl Session {
    /// Counts what a fact says to be done by the request that runs.
    pub(super) fn fold_done(&mut self, request: Option<&RequestId>, fact: &Fact) {
        let Some(active) = self.active.as_mut().filter(|active| request == Some(&active.request.id)) else { return };
        let RunningRequest { done, batch, .. } = active;
        let marks = &self.context.marks;
        let action = |call: &CallId| {
            let item = batch.as_ref().and_then(|batch| batch.item(call))?;
            Some((item.action.as_deref().ok()?, &item.progress))
        };
        // A check is not what the model did.
        let is_check = |call: &CallId| {
            batch.as_ref().and_then(|batch| batch.item(call)).is_some_and(|item| item.check().is_some())
        };
        match fact {
            Fact::Command(
                CommandFact::Started { call: Some(call), .. } | CommandFact::Finished { call: Some(call), .. },
            )
            | Fact::Tool(ToolFact::Finished { call, .. })
                if is_check(call) => {}
            Fact::Change(ChangeFact::Applied(change)) => done.change(&change.files),
            Fact::Command(CommandFact::Started { command, automatic, .. }) => {
                // A repository is not among the files whose changes are seen.
                let is_git = command.split(|c: char| !c.is_alphanumeric()).any(|word| word == "git");
                done.acted |= is_git && *automatic != Some(CommandClass::Read);
            }
            Fact::Command(CommandFact::Background { .. }) => (done.acted, done.backgrounded) = (true, true),
            Fact::Command(CommandFact::Finished { background: Some(_), .. }) => {}
            Fact::Command(CommandFact::Finished { command, exit_code, unobserved, .. }) => {
                done.acted |= unobserved.is_some();
                done.run(command, *exit_code);
            }
            Fact::Commands(CommandsFact { series, .. }) => done.declined |= series.state == SeriesState::Left,
            Fact::Context(ContextFact::Loaded { files, .. }) => {
                done.facts.reads = done.facts.reads.saturating_add(u32::try_from(files.len()).unwrap_or(u32::MAX));
            }
            Fact::Tool(ToolFact::Finished { call, status, .. }) => match (status, action(call)) {
                (ToolStatus::Blocked | ToolStatus::Interrupted, _) => done.declined = true,
                (
                    ToolStatus::Ok | ToolStatus::Partial,
                    Some((ToolAction::Read(_) | ToolAction::Fetch { .. } | ToolAction::Stored { .. }, _)),
                ) => done.facts.reads += 1,
                (ToolStatus::Ok | ToolStatus::Partial, Some((ToolAction::CallServer(call), _))) => {
                    match call.tool.read_only {
                        true => done.facts.reads += 1,
                        false => done.acted = true,
                    }
                }
                // It was neither applied nor refused: nothing was left to change.
                (ToolStatus::Ok, Some((ToolAction::Change(change), progress))) if *progress != Progress::Acting => {
                    match change {
                        // A file that is sent back unchanged may mean anything.
                        ProposedChange::Edit(Edit::WholeFile { path, .. }) if marks.contains_key(path) => {
                            done.echoed = Some(path.clone());
                        }
                        _ => done.in_place = true,
                    }
                }
                _ => {}
            },
            Fact::Bug(BugFact { kind, .. }) if kind == names::bug::NOTHING_DONE => done.nudges += 1,
            _ => {}
        }
    }

    /// Every file that this session has changed, also where that was undone since.
    pub(crate) fn changed_paths(&self) -> impl Iterator<Item = &str> {
        self.changes.sets.iter().flat_map(|set| &set.writes).map(|write| write.path.as_str())
    }
}
