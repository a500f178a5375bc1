//! Control: what the user does to a sub-task, and what a stop or a new process means for all of them.

use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{CheckpointFact, Level};
use trimtab_vocab::wording::{Notice, Objection};
use trimtab_vocab::{Control, RequestId, SubTask, SubtaskControl, SubtaskStatus};

use super::reports::close_questions;
use super::running::{replace_task, requeue, skip_task};
use super::{current, plan, worker};
use crate::questions::{self, Answerer};
use crate::record::names::choice::SKIP;
use crate::record::{Checkpoint, SubtaskRun, SubtaskState};
use crate::transition::{Next, Transition};

/// A user wants something of a sub-task.
pub(crate) fn control(step: &mut Transition<'_>, id: &str, action: SubtaskControl) {
    let Some((request, run, settings)) = current(step) else { return };
    let Some(task) = run.plan.task(id).cloned() else {
        return step.notify(&request, Level::Warning, Notice::NoSuchSubtask(id.to_owned()));
    };
    let state = run.states.get(id).cloned().unwrap_or_default();
    let worker = state.worker.clone().filter(|_| state.status.is_at_work());
    match (action, worker) {
        (SubtaskControl::Stop, Some(worker)) => worker::control(step, &worker, Control::Cancel),
        (SubtaskControl::Pause, Some(worker)) => worker::control(step, &worker, Control::Pause),
        (SubtaskControl::Resume, Some(worker)) => worker::control(step, &worker, Control::Resume),
        (SubtaskControl::Steer { text }, Some(worker)) => worker::control(step, &worker, Control::Steer { text }),
        (SubtaskControl::Skip, worker) if !state.status.is_over() => {
            if let Some(worker) = worker {
                close_questions(step, &worker, |_| true);
                worker::control(step, &worker, Control::Cancel);
            }
            close_failure(step, &request, id);
            skip_task(step, &request, &run, &task);
            step.then(Next::Call { call: run.call.clone() });
        }
        (SubtaskControl::Stop, None) if state.status == SubtaskStatus::Pending => {
            step.emit(Some(&request), worker::status_fact(&task, SubtaskStatus::Stopped, 0.0, &state));
            step.then(Next::Call { call: run.call.clone() });
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
            close_failure(step, &request, id);
            replace_task(step, &request, &run, Some(changed).filter(|changed| *changed != task));
            requeue(step, &request, &run, id);
            step.then(Next::Call { call: run.call.clone() });
        }
        _ => step.notify(&request, Level::Warning, Notice::SubtaskNotNow(id.to_owned(), state.status.to_string())),
    }
}

fn can_start_again(run: &SubtaskRun, state: &SubtaskState) -> bool {
    let left = matches!(state.status, SubtaskStatus::Failed | SubtaskStatus::Skipped | SubtaskStatus::Stopped);
    left && !run.is_merging
}

/// The question about a failed sub-task is pointless now.
fn close_failure(step: &mut Transition<'_>, request: &RequestId, id: &str) {
    let is_it = |open: &Checkpoint| matches!(&open.ask, Ask::SubtaskFailed { subtask, .. } if subtask == id);
    let open = step.session.checkpoints().find(|(_, open)| open.request == *request && is_it(open));
    if let Some(id) = open.map(|(id, _)| id.clone()) {
        let by = Answerer { by: CheckpointFact::PERSON.into(), surface: None };
        questions::record(step, request, id, (SKIP, None), by, (None, None));
    }
}

/// Nothing more is to come of the sub-tasks of a request: workers that are at it end.
pub(crate) fn stop_all(step: &mut Transition<'_>, request: &RequestId) {
    let Some(run) = step.session.unfinished(request).and_then(|active| active.subtasks.as_deref().cloned()) else {
        return;
    };
    for task in &run.plan.tasks {
        let Some(state) = run.states.get(&task.id).filter(|state| !state.status.is_over()) else { continue };
        if let Some(worker) = state.worker.as_ref().filter(|_| state.status.is_at_work()) {
            close_questions(step, worker, |_| true);
            worker::control(step, worker, Control::Cancel);
        }
        close_failure(step, request, &task.id);
        step.emit(Some(request), worker::status_fact(task, SubtaskStatus::Stopped, state.progress, state));
    }
}

/// This process is new: workers that were at work are started again, which finds them where they were.
pub(crate) fn restart_workers(step: &mut Transition<'_>) {
    let Some((request, run, _)) = current(step) else { return };
    for task in &run.plan.tasks {
        let Some(state) = run.states.get(&task.id).filter(|state| state.status.is_at_work()) else { continue };
        if let Some(worker) = &state.worker {
            worker::ensure_started(step, &request, &run, task, worker);
        }
    }
}
