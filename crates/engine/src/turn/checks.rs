//! Checks after edits: when the calls of a reply have changed files, the checks of the folder run once, as commands of the
//! same batch. Their results go to the model with those of the calls.

use trimtab_vocab::event::{ChecksFact, Level, ToolStatus};
use trimtab_vocab::wording::Notice;
use trimtab_vocab::{
    CallId, ChangeSetId, CheckMode, CheckOutcome, CheckSource, DueCheck, ListedCheck, RequestId, Rule, RuleVerdict,
};

use super::{is_worker, outcome};
use crate::permit;
use crate::proposal::command::visible;
use crate::record::{Batch, BatchItem, RunningRequest, Session};
use crate::transition::Transition;

/// Adds the checks that are due to the batch. Whether there are any.
pub(super) fn begin(step: &mut Transition<'_>) -> bool {
    let Some(active) = step.session.active() else { return false };
    let request = active.request.id.clone();
    let checks = due(step.session, active);
    let is_due = !checks.is_empty();
    if is_due {
        step.emit(Some(&request), ChecksFact { checks });
    }
    is_due
}

fn due(session: &Session, active: &RunningRequest) -> Vec<DueCheck> {
    let settings = &active.request.settings.commands.checks;
    let Some(batch) = active.batch.as_ref() else { return Vec::new() };
    // Workers change copies. What they made is checked when it is merged.
    let is_wanted = settings.mode != CheckMode::Off && !settings.listed.is_empty() && !is_worker(active);
    if !is_wanted || batch.checks().next().is_some() || !permit::is_trusted(session, active) {
        return Vec::new();
    }
    let Some(edits) = Edits::of_batch(session, &active.request.id, batch) else { return Vec::new() };
    let runs = |check: &&ListedCheck| {
        is_approved(session, check)
            && edits.paths.iter().any(|path| check.is_about(path))
            && !edits.were_checked_by(batch, &check.command)
            && !active.tools.refused_checks.contains(&check.command)
            && !permit::refuses_check(session, active, check)
    };
    let call = CallId::nth(session.next_call() - 1);
    let numbered = |(number, check): (usize, &ListedCheck)| DueCheck {
        call: CallId::tool(&call, batch.items.len() + number + 1),
        command: check.command.clone(),
        source: check.source,
    };
    settings.listed.iter().filter(runs).enumerate().map(numbered).collect()
}

/// What the calls of a batch did to files.
struct Edits {
    paths: Vec<String>,
    /// The last call that changed files.
    last: usize,
}

impl Edits {
    /// None if they changed nothing, or the user has stopped one of them.
    fn of_batch(session: &Session, request: &RequestId, batch: &Batch) -> Option<Self> {
        let is_stopped = |item: &BatchItem| item.done().is_some_and(|done| done.status == ToolStatus::Interrupted);
        if batch.items.iter().any(is_stopped) {
            return None;
        }
        let sets = &session.history()[..session.in_force()];
        let mut edits = Self { paths: Vec::new(), last: 0 };
        for (number, item) in batch.items.iter().enumerate() {
            let id = ChangeSetId::for_call(request, &item.call_id);
            if let Some(set) = sets.iter().rev().find(|set| set.id == id) {
                edits.paths.extend(set.writes.iter().map(|write| write.path.clone()));
                edits.last = number;
            }
        }
        (!edits.paths.is_empty()).then_some(edits)
    }

    /// Whether the model has run a check itself after the last edit.
    fn were_checked_by(&self, batch: &Batch, command: &str) -> bool {
        let is_same = |item: &BatchItem| item.command().map(str::trim) == Some(command.trim());
        let has_run = |item: &BatchItem| {
            item.output.is_some() && item.done().is_some_and(|done| done.status != ToolStatus::Interrupted)
        };
        batch.items.iter().skip(self.last + 1).any(|item| is_same(item) && has_run(item))
    }
}

/// Whether a check may take part: one that the folder names only as the user has approved it.
fn is_approved(session: &Session, check: &ListedCheck) -> bool {
    let has = |verdict| has_rule(session, check, verdict);
    match check.source {
        CheckSource::User | CheckSource::Found => true,
        CheckSource::Project => has(RuleVerdict::Allow) && !has(RuleVerdict::Deny),
        CheckSource::Unknown => false,
    }
}

fn has_rule(session: &Session, check: &ListedCheck, verdict: RuleVerdict) -> bool {
    session.rules_folder().is_some_and(|folder| session.rules().contains(&Rule::check(folder, check, verdict)))
}

/// Tells of the folder's checks that are not approved, once in a session.
pub(super) fn tell_pending(step: &mut Transition<'_>, request: &RequestId) {
    let Some(active) = step.session.active().filter(|active| !is_worker(active)) else { return };
    let settings = &active.request.settings.commands.checks;
    let session = &step.session;
    let is_decided = |check: &ListedCheck| {
        has_rule(session, check, RuleVerdict::Allow) || has_rule(session, check, RuleVerdict::Deny)
    };
    let is_new = |check: &&ListedCheck| {
        check.source == CheckSource::Project && !session.checks().earlier.contains(&check.hash) && !is_decided(check)
    };
    let named = |check: &ListedCheck| format!("`{}`", visible(&check.command));
    let pending: Vec<String> = settings.listed.iter().filter(is_new).map(named).collect();
    if settings.mode != CheckMode::Off && !pending.is_empty() {
        step.notify(request, Level::Warning, Notice::ChecksPending(pending.join(", ")));
    }
}

/// The result of a check as the model reads it, after the result of the last edit. A passed check costs a line.
pub(super) fn told(item: &BatchItem, status: ToolStatus, text: &str) -> String {
    let ended = match status {
        ToolStatus::Ok | ToolStatus::Partial => CheckOutcome::Passed,
        ToolStatus::Error => CheckOutcome::Failed,
        ToolStatus::Blocked => CheckOutcome::NotRun,
        ToolStatus::Interrupted => CheckOutcome::Stopped,
    };
    let head = ended.head(item.command().unwrap_or_default());
    // The model has not asked for it, so that it cannot ask for more time either.
    let text = text.replacen(outcome::MORE_TIME, "", 1);
    let rest = match ended {
        CheckOutcome::Passed => text.split_once('\n').map(|(_, notes)| notes),
        _ => Some(text.as_str()),
    };
    rest.map_or_else(|| head.clone(), |rest| format!("{head}\n{rest}"))
}
