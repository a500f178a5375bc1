//! Checks after edits: calls of the program's own at the end of a batch. Folds facts about them into state.

use std::collections::BTreeSet;

use trimtab_vocab::event::ToolStatus;
use trimtab_vocab::{CheckSettings, CheckSource, DueCheck, ListedCheck};

use super::series::run_command_call;
use super::{Batch, BatchItem, RunningRequest, Session};

/// The checks of a session's requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionChecks {
    /// The checks of the latest request,
    latest: Vec<ListedCheck>,
    /// and the hashes of those before it: the user was told of them already.
    pub(crate) earlier: BTreeSet<String>,
}

impl Session {
    pub(crate) fn checks(&self) -> &SessionChecks {
        &self.extensions.checks
    }

    /// A request came with these checks.
    pub(super) fn note_checks(&mut self, checks: &CheckSettings) {
        let known = &mut self.extensions.checks;
        let before = std::mem::replace(&mut known.latest, checks.listed.clone());
        known.earlier.extend(before.into_iter().map(|check| check.hash));
    }

    pub(super) fn fold_checks(&mut self, checks: &[DueCheck]) {
        let Some(batch) = self.active.as_mut().and_then(|active| active.batch.as_mut()) else { return };
        batch.items.extend(checks.iter().map(BatchItem::of_check));
    }
}

impl RunningRequest {
    /// A check that was refused is not proposed again in the same request.
    pub(super) fn note_refused_checks(&mut self, batch: &Batch) {
        let is_refused = |item: &&BatchItem| item.done().is_some_and(|done| done.status == ToolStatus::Blocked);
        let refused = batch.checks().filter(is_refused).filter_map(BatchItem::command).map(str::to_owned);
        self.tools.refused_checks.extend(refused);
    }
}

impl Batch {
    /// The calls of the model. Checks are the program's own: the model has not asked for them.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &BatchItem> {
        self.items.iter().filter(|item| item.check().is_none())
    }

    /// The checks after its edits.
    pub(crate) fn checks(&self) -> impl Iterator<Item = &BatchItem> {
        self.items.iter().filter(|item| item.check().is_some())
    }
}

impl BatchItem {
    fn of_check(due: &DueCheck) -> Self {
        let call = run_command_call(&due.command);
        let action = crate::tools::registry().read(&call);
        let mut item = Self::new(due.call.clone(), call, action);
        item.origin.check = Some(due.source);
        item
    }

    /// Who names it, if it is a check after edits.
    pub(crate) fn check(&self) -> Option<CheckSource> {
        self.origin.check
    }
}
