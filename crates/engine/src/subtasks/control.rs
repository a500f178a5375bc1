//! Control: what the user does to a sub-task, and what a stop or a new process means for all of them.

use trimtab_vocab::event::{CheckpointFact, Level};
use trimtab_vocab::wording::{Notice, Objection};
use trimtab_vocab::{Control, RequestId, RunSettings, SubTask, SubtaskControl, SubtaskStatus, SubtasksFact};

use super::reports::continue_request;
use super::running::{replace_task, requeue};
use super::{current, plan, worker};
use crate::record::{Batch, Phase, SubtaskRun};
use crate::transition::Transition;
use crate::workers::{self, close_failure, stop_task};

/// A user wants something of a sub-task.
pub(crate) fn control(step: &mut Transition<'_>, id: &str, action: SubtaskControl) {
    let Some((request, run, settings)) = controlled(step) else { return };
    let Some(task) = run.plan.task(id).cloned() else {
        return step.notify(&request, Level::Warning, Notice::NoSuchSubtask(id.to_owned()));
    };
    let state = run.states.get(id).cloned().unwrap_or_default();
    let is_retry = matches!(action, SubtaskControl::Retry { .. });
    if !is_carried_out(step, &request, &run) || !action.fits(state.status) || (is_retry && run.is_merging) {
        return step.notify(&request, Level::Warning, Notice::SubtaskNotNow(id.to_owned(), state.status.to_string()));
    }
    let worker = state.worker.clone().filter(|_| state.status.is_at_work());
    if let (Some(told), Some(worker)) = (as_control(&action), &worker) {
        return match state.has_begun {
            true => workers::control(step, worker, told),
            false => step.notify(&request, Level::Warning, Notice::SubtaskStarting(id.to_owned())),
        };
    }
    match action {
        SubtaskControl::Stop => end_task(step, &request, &run, &task, SubtaskStatus::Stopped),
        SubtaskControl::Skip => end_task(step, &request, &run, &task, SubtaskStatus::Skipped),
        SubtaskControl::Retry { model, instruction } => {
            if let Some(model) = model.as_ref().filter(|model| plan::facts_of(model, &settings).is_none()) {
                let objection = Objection::UnknownModel(model.clone());
                return step.notify(&request, Level::Warning, Notice::Objection(objection));
            }
            let changed = SubTask {
                model: model.unwrap_or_else(|| task.model.clone()),
                instruction: instruction.unwrap_or_else(|| task.instruction.clone()),
                ..task.clone()
            };
            close_failure(step, &request, id, CheckpointFact::PERSON);
            replace_task(step, &request, &run, Some(changed).filter(|changed| *changed != task));
            requeue(step, &request, &run, id);
            continue_request(step, &request, &run);
        }
        SubtaskControl::Pause | SubtaskControl::Resume | SubtaskControl::Steer { .. } => {}
    }
}

/// The same for the worker's own request, if it is for the worker to do.
fn as_control(action: &SubtaskControl) -> Option<Control> {
    match action {
        SubtaskControl::Pause => Some(Control::Pause),
        SubtaskControl::Resume => Some(Control::Resume),
        SubtaskControl::Steer { text } => Some(Control::Steer { text: text.clone() }),
        SubtaskControl::Stop | SubtaskControl::Skip | SubtaskControl::Retry { .. } => None,
    }
}

/// The user cancels a request some of whose sub-tasks have finished: the others stop, and the finished work is merged as
/// if all were over. Once that is under way, a request is canceled like any other. Whether it is so.
pub(crate) fn keep_finished(step: &mut Transition<'_>, wanted: Option<&RequestId>) -> bool {
    let meant = wanted.map_or_else(|| step.session.active(), |wanted| step.session.unfinished(wanted));
    let Some(active) = meant else { return false };
    let request = active.request.id.clone();
    let Some(run) = active.subtasks.as_deref().cloned() else { return false };
    let is_only_call = |batch: &Batch| batch.items.iter().all(|item| item.call_id == run.call || item.done().is_some());
    let keeps = run.is_under_way()
        && !run.is_cancelled
        && !matches!(active.phase, Phase::Stopping { .. })
        && active.batch.as_ref().is_some_and(is_only_call)
        && is_carried_out(step, &request, &run)
        && !run.merge_order().parts.is_empty();
    if keeps {
        let (finished, all) = (run.merge_order().parts.len(), run.plan.tasks.len());
        step.notify(&request, Level::Info, Notice::FinishedWorkIsKept(finished, all));
        step.emit(Some(&request), SubtasksFact::Cancelled {});
        workers::stop_all(step, &request);
        continue_request(step, &request, &run);
    }
    keeps
}

/// The request whose sub-tasks the user means: the one that runs, else one that waits for its turn or for the user.
fn controlled(step: &Transition<'_>) -> Option<(RequestId, SubtaskRun, RunSettings)> {
    let active = step.session.all_unfinished().find(|active| active.subtasks.is_some())?;
    let run = active.subtasks.as_deref()?.clone();
    Some((active.request.id.clone(), run, active.request.settings.clone()))
}

/// Whether the sub-tasks were started, and the call that delegates to them is not over.
fn is_carried_out(step: &Transition<'_>, request: &RequestId, run: &SubtaskRun) -> bool {
    let batch = step.session.unfinished(request).and_then(|active| active.batch.as_ref());
    run.order.is_some() && batch.and_then(|batch| batch.item(&run.call)).is_some_and(|item| item.done().is_none())
}

/// Ends a sub-task, and its worker if it has one. The worker may still be getting its copy, so its end is not waited for.
fn end_task(step: &mut Transition<'_>, request: &RequestId, run: &SubtaskRun, task: &SubTask, status: SubtaskStatus) {
    stop_task(step, request, run, task, status, CheckpointFact::PERSON);
    continue_request(step, request, run);
}

/// This process is new: workers that were running continue where they were.
pub(crate) fn restart_workers(step: &mut Transition<'_>) {
    let Some((request, run, _)) = current(step) else { return };
    let mut is_first = true;
    for task in &run.plan.tasks {
        let Some(state) = run.states.get(&task.id).filter(|state| state.status.is_at_work()) else { continue };
        if let Some(worker) = &state.worker {
            worker::ensure_started(step, &request, &run, task, (worker, is_first));
            is_first = false;
        }
    }
}
