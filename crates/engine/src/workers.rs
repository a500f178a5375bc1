//! Messages to the workers of a request, and their end: however a request ends, its workers end with it.

use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{CheckpointFact, RequestFact, SubtaskFact};
use trimtab_vocab::{CheckpointId, Control, LeftBehind, RequestId, SessionId, SubTask, SubtaskStatus, WorkerQuestion};

use crate::Input;
use crate::record::names::choice::SKIP;
use crate::record::{Checkpoint, SubtaskRun, SubtaskState};
use crate::transition::Transition;

/// A task in this status, as the event records it.
pub(crate) fn status_fact(task: &SubTask, status: SubtaskStatus, progress: f64, state: &SubtaskState) -> SubtaskFact {
    SubtaskFact {
        subtask: task.id.clone(),
        status,
        progress,
        depends_on: task.depends_on.clone(),
        model: task.model.clone(),
        usage: state.usage,
        worker: state.worker.clone(),
        attempt: state.attempt,
        summary: None,
        writes: Vec::new(),
        error: None,
        reserved_usd: state.reserved_usd,
        copy: None,
        left_behind: LeftBehind::default(),
    }
}

/// Something for a worker's own request, whether it runs or waits for the user.
pub(crate) fn control(step: &mut Transition<'_>, worker: &SessionId, action: Control) {
    let request = Some(RequestId::of_worker(worker));
    step.tell(worker.clone(), Input::Controlled { request, action });
}

/// Passes what the user says to a request on to it, and to the workers that run for it: a request that only waits for
/// its workers asks no model that could hear of it.
pub(crate) fn steer(step: &mut Transition<'_>, request: &RequestId, text: String) {
    let run = step.session.unfinished(request).and_then(|active| active.subtasks.as_deref());
    let run = run.filter(|run| run.is_under_way());
    let can_hear = |state: &&SubtaskState| state.status.is_at_work() && state.has_begun;
    let hearing = run.into_iter().flat_map(|run| run.states.values()).filter(can_hear);
    let workers: Vec<SessionId> = hearing.filter_map(|state| state.worker.clone()).collect();
    for worker in workers {
        control(step, &worker, Control::Steer { text: text.clone() });
    }
    step.emit(Some(request), RequestFact::Steered { text, by: "user".into() });
}

/// Tells the workers of a request that are at work the same as the request.
pub(crate) fn tell_all(step: &mut Transition<'_>, request: &RequestId, action: &Control) {
    let run = step.session.unfinished(request).and_then(|active| active.subtasks.as_deref());
    let at_work = run.into_iter().flat_map(|run| run.states.values()).filter(|state| state.status.is_at_work());
    let workers: Vec<SessionId> = at_work.filter_map(|state| state.worker.clone()).collect();
    for worker in workers {
        control(step, &worker, action.clone());
    }
}

/// Stops all sub-tasks of a request that are not over, and their workers.
pub(crate) fn stop_all(step: &mut Transition<'_>, request: &RequestId) {
    let Some(run) = step.session.unfinished(request).and_then(|active| active.subtasks.as_deref().cloned()) else {
        return;
    };
    // Those that have not started end, too.
    let is_open = |task: &&SubTask| run.order.is_some() && !run.state(&task.id).is_over();
    for task in run.plan.tasks.iter().filter(is_open) {
        stop_task(step, request, &run, task, SubtaskStatus::Stopped, "engine");
    }
}

/// Ends a sub-task, and its worker if it has one. `by`: who wants that.
pub(crate) fn stop_task(
    step: &mut Transition<'_>,
    request: &RequestId,
    run: &SubtaskRun,
    task: &SubTask,
    status: SubtaskStatus,
    by: &str,
) {
    let state = run.states.get(&task.id).cloned().unwrap_or_default();
    if let Some(worker) = state.worker.as_ref().filter(|_| state.status.is_at_work()) {
        close_questions(step, worker, |_| true);
        control(step, worker, Control::Cancel);
    }
    close_failure(step, request, &task.id, by);
    step.emit(Some(request), status_fact(task, status, state.progress, &state));
}

/// The question about a failed sub-task is pointless now.
pub(crate) fn close_failure(step: &mut Transition<'_>, request: &RequestId, id: &str, by: &str) {
    let is_it = |open: &Checkpoint| matches!(&open.ask, Ask::SubtaskFailed { subtask, .. } if subtask == id);
    let open = step.session.own_checkpoints().find(|(_, open)| open.request == *request && is_it(open));
    if let Some(id) = open.map(|(id, _)| id.clone()) {
        dismiss(step, request, id, by);
    }
}

/// Questions of a worker that are answered elsewhere or pointless.
pub(crate) fn close_questions(step: &mut Transition<'_>, worker: &SessionId, is_it: impl Fn(&WorkerQuestion) -> bool) {
    let open = step.session.worker_questions().filter(|(_, _, asked)| asked.session == *worker && is_it(asked));
    let open: Vec<(CheckpointId, RequestId)> = open.map(|(id, open, _)| (id.clone(), open.request.clone())).collect();
    for (id, request) in open {
        dismiss(step, &request, id, "worker");
    }
}

fn dismiss(step: &mut Transition<'_>, request: &RequestId, checkpoint: CheckpointId, by: &str) {
    let (choice, by) = (SKIP.to_owned(), by.to_owned());
    let resolved =
        CheckpointFact::Resolved { checkpoint, choice, text: None, by, surface: None, message: None, selection: None };
    step.emit(Some(request), resolved);
}
