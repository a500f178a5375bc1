//! Control: what the user does to a sub-task, and what a stop or a new process means for all of them.

use trimtab_vocab::event::{CheckpointFact, Level};
use trimtab_vocab::wording::{Notice, Objection};
use trimtab_vocab::{Control, RequestId, RunSettings, SubTask, SubtaskControl, SubtaskStatus};

use super::reports::continue_request;
use super::running::{replace_task, requeue};
use super::{current, plan, worker};
use crate::record::{SubtaskRun, SubtaskState};
use crate::transition::Transition;
use crate::workers::{self, close_failure, stop_task};

/// A user wants something of a sub-task.
pub(crate) fn control(step: &mut Transition<'_>, id: &str, action: SubtaskControl) {
    let Some((request, run, settings)) = controlled(step) else { return };
    let Some(task) = run.plan.task(id).cloned() else {
        return step.notify(&request, Level::Warning, Notice::NoSuchSubtask(id.to_owned()));
    };
    let state = run.states.get(id).cloned().unwrap_or_default();
    if !is_carried_out(step, &request, &run) {
        return step.notify(&request, Level::Warning, Notice::SubtaskNotNow(id.to_owned(), state.status.to_string()));
    }
    let worker = state.worker.clone().filter(|_| state.status.is_at_work());
    let is_early = worker.is_some() && !state.has_begun;
    match (action, worker) {
        (SubtaskControl::Pause | SubtaskControl::Resume | SubtaskControl::Steer { .. }, _) if is_early => {
            step.notify(&request, Level::Warning, Notice::SubtaskStarting(id.to_owned()));
        }
        (SubtaskControl::Pause, Some(worker)) => workers::control(step, &worker, Control::Pause),
        (SubtaskControl::Resume, Some(worker)) => workers::control(step, &worker, Control::Resume),
        (SubtaskControl::Steer { text }, Some(worker)) => workers::control(step, &worker, Control::Steer { text }),
        (SubtaskControl::Stop, Some(_)) => end_task(step, &request, &run, &task, SubtaskStatus::Stopped),
        (SubtaskControl::Stop, None) if state.status == SubtaskStatus::Pending => {
            end_task(step, &request, &run, &task, SubtaskStatus::Stopped);
        }
        (SubtaskControl::Skip, _) if !state.status.is_over() => {
            end_task(step, &request, &run, &task, SubtaskStatus::Skipped);
        }
        (SubtaskControl::Retry { model, instruction }, None) if can_start_again(&run, &state) => {
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
        _ => step.notify(&request, Level::Warning, Notice::SubtaskNotNow(id.to_owned(), state.status.to_string())),
    }
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

fn can_start_again(run: &SubtaskRun, state: &SubtaskState) -> bool {
    let left = matches!(state.status, SubtaskStatus::Failed | SubtaskStatus::Skipped | SubtaskStatus::Stopped);
    left && !run.is_merging
}

/// This process is new: workers that were running continue where they were.
pub(crate) fn restart_workers(step: &mut Transition<'_>) {
    let Some((request, run, _)) = current(step) else { return };
    for task in &run.plan.tasks {
        let Some(state) = run.states.get(&task.id).filter(|state| state.status.is_at_work()) else { continue };
        if let Some(worker) = &state.worker {
            worker::ensure_started(step, &request, &run, task, worker);
        }
    }
}
