//! Reports of workers: their progress, questions, and results, as the parent session records them.

use trimtab_vocab::event::{CheckpointFact, RequestFact, Status, SubtaskFact};
use trimtab_vocab::wording::ProblemText;
use trimtab_vocab::{
    CheckpointId, Problem, ProblemKind, RefKey, RequestId, SessionId, SubTask, SubtaskStatus, SubtasksFact, Usage,
    WorkerQuestion,
};

use super::worker;
use crate::questions::{self, Answerer};
use crate::record::names::choice::SKIP;
use crate::record::{Checkpoint, RunningRequest, Session, SubtaskRun};
use crate::transition::{Next, Transition};
use crate::{Effect, Input, WorkerAsk, WorkerReport};

/// Bytes of a worker's summary that others read.
const SUMMARY: usize = 2_000;

/// The request that a worker works for, with its sub-task.
fn work_of(session: &Session, worker: &SessionId) -> Option<(RequestId, SubtaskRun, SubTask)> {
    let all = session.active().into_iter().chain(session.parked());
    let is_its = |active: &&RunningRequest| active.subtasks.as_ref().is_some_and(|run| run.task_of(worker).is_some());
    let active = all.into_iter().find(is_its)?;
    let run = active.subtasks.as_deref()?.clone();
    let task = run.plan.task(run.task_of(worker)?)?.clone();
    Some((active.request.id.clone(), run, task))
}

/// A worker tells something.
pub(crate) fn reported(step: &mut Transition<'_>, worker: &SessionId, report: WorkerReport) {
    let Some((request, run, task)) = work_of(step.session, worker) else { return };
    let Some(state) = run.states.get(&task.id).cloned() else { return };
    // What is over stays over.
    if !state.status.is_at_work() {
        return;
    }
    let total = |usage: Usage| {
        let mut total = state.before;
        total += usage;
        total
    };
    match report {
        WorkerReport::Moved { progress, usage } => {
            let fact = worker::status_fact(&task, state.status, progress.max(state.progress), &state);
            step.emit(Some(&request), SubtaskFact { usage: total(usage), ..fact });
        }
        WorkerReport::Asked { question } => {
            forward_question(step, &request, &task, worker, *question);
            if state.status != SubtaskStatus::NeedsUser {
                step.emit(Some(&request), worker::status_fact(&task, SubtaskStatus::NeedsUser, state.progress, &state));
            }
        }
        WorkerReport::Answered { checkpoint } => {
            close_questions(step, worker, |open| open.checkpoint == checkpoint);
            if !has_questions(step.session, worker) {
                step.emit(Some(&request), worker::status_fact(&task, SubtaskStatus::Running, state.progress, &state));
            }
        }
        WorkerReport::Ended { status: Status::NeedsUser, usage, .. } => {
            let fact = worker::status_fact(&task, SubtaskStatus::NeedsUser, state.progress, &state);
            step.emit(Some(&request), SubtaskFact { usage: total(usage), ..fact });
            continue_request(step, &request, &run);
        }
        WorkerReport::Ended { status, summary, error, usage, writes } => {
            close_questions(step, worker, |_| true);
            let summary = summary[..summary.floor_char_boundary(SUMMARY)].to_owned();
            let (status, progress) = match status {
                Status::Completed => (SubtaskStatus::Completed, 1.0),
                Status::Cancelled => (SubtaskStatus::Stopped, state.progress),
                _ => (SubtaskStatus::Failed, state.progress),
            };
            let error = (status == SubtaskStatus::Failed)
                .then(|| error.unwrap_or_else(|| Problem::new(ProblemKind::NotDone, ProblemText::SubtaskUnfinished)));
            let writes = if status == SubtaskStatus::Completed { writes } else { Vec::new() };
            let fact = worker::status_fact(&task, status, progress, &state);
            let fact = SubtaskFact { usage: total(usage), summary: Some(summary), writes, error, ..fact };
            step.emit(Some(&request), fact);
            if let Some(folder) = worker::copy_path(step.session, &request, worker) {
                step.request(Effect::DropWorker { worker: worker.clone(), folder });
            }
            store_shared_document(step, &request);
            continue_request(step, &request, &run);
        }
        WorkerReport::Shared { key, value } => {
            step.emit(Some(&request), SubtasksFact::Shared { key, value, by: task.id.clone() });
            store_shared_document(step, &request);
        }
    }
}

/// Stores what the workers share, where they can read it.
fn store_shared_document(step: &mut Transition<'_>, request: &RequestId) {
    let (Some(parent), Some(active)) = (step.session.id(), step.session.unfinished(request)) else { return };
    let Some(run) = active.subtasks.as_deref() else { return };
    let document = worker::shared_document(parent, run).to_string();
    let key = RefKey::shared_by(parent);
    step.store(key, document);
}

/// What comes next of the sub-tasks, if the request is the one that is worked on; else it goes on when nothing is open.
fn continue_request(step: &mut Transition<'_>, request: &RequestId, run: &SubtaskRun) {
    if step.session.active().is_some_and(|active| active.request.id == *request) {
        return step.then(Next::Call { call: run.call.clone() });
    }
    let is_open = step.session.checkpoints().any(|(_, open)| open.request == *request);
    if !is_open && step.session.is_parked(request) {
        let was_idle = step.session.active().is_none();
        step.emit(Some(request), RequestFact::Reopened {});
        if was_idle && step.session.active().is_some() {
            step.request(Effect::Admit { request: request.clone() });
        }
    }
}

/// Asks here what a worker asks there.
fn forward_question(
    step: &mut Transition<'_>,
    request: &RequestId,
    task: &SubTask,
    worker: &SessionId,
    question: WorkerAsk,
) {
    let WorkerAsk { checkpoint, kind, title, choices, ask } = question;
    let Some(active) = step.session.unfinished(request) else { return };
    let id = CheckpointId::nth(request, active.checkpoints + 1);
    let name = task.name().to_owned();
    let worker = WorkerQuestion { subtask: task.id.clone(), name, session: worker.clone(), checkpoint };
    let opened = CheckpointFact::Opened { checkpoint: id, kind, title, choices, worker: Some(Box::new(worker)), ask };
    step.emit(Some(request), opened);
}

fn has_questions(session: &Session, worker: &SessionId) -> bool {
    session.checkpoints().any(|(_, open)| open.worker.as_ref().is_some_and(|asked| asked.session == *worker))
}

/// Questions of a worker that are answered elsewhere or pointless.
pub(super) fn close_questions(step: &mut Transition<'_>, worker: &SessionId, is_it: impl Fn(&WorkerQuestion) -> bool) {
    let is_its = |open: &Checkpoint| open.worker.as_ref().is_some_and(|asked| asked.session == *worker && is_it(asked));
    let open = step.session.checkpoints().filter(|(_, open)| is_its(open));
    let open: Vec<(CheckpointId, RequestId)> = open.map(|(id, open)| (id.clone(), open.request.clone())).collect();
    for (id, request) in open {
        let by = Answerer { by: "worker".into(), surface: None };
        questions::record(step, &request, id, (SKIP, None), by, (None, None));
    }
}

/// A user has answered what a worker asks: the worker hears it.
pub(crate) fn answered(
    step: &mut Transition<'_>,
    id: &CheckpointId,
    open: &Checkpoint,
    choice: String,
    text: Option<String>,
    by: Answerer,
) {
    let Some(asked) = &open.worker else { return };
    let Answerer { by: who, surface } = &by;
    let input = Input::Answered {
        checkpoint: asked.checkpoint.clone(),
        choice: choice.clone(),
        text: text.clone(),
        by: who.clone(),
        surface: surface.clone(),
        instructions: Vec::new(),
    };
    let (session, request) = (asked.session.clone(), open.request.clone());
    questions::record(step, &request, id.clone(), (&choice, text), by, (None, None));
    step.tell(session.clone(), input);
    let at_work = work_of(step.session, &session).filter(|_| !has_questions(step.session, &session));
    if let Some((request, run, task)) = at_work {
        let state = run.states.get(&task.id).cloned().unwrap_or_default();
        step.emit(Some(&request), worker::status_fact(&task, SubtaskStatus::Running, state.progress, &state));
    }
}
