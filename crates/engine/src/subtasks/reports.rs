//! Reports of workers: their progress, questions, and results, as the parent session records them.

use trimtab_vocab::event::{CheckpointFact, Level, RequestFact, Status, SubtaskFact, UsageFact};
use trimtab_vocab::format::Plural;
use trimtab_vocab::wording::{Notice, ProblemText};
use trimtab_vocab::{
    CheckpointId, Control, FileWrite, LeftBehind, Problem, ProblemKind, RefKey, RequestId, SessionId, SubTask,
    SubtaskStatus, SubtasksFact, Usage, WorkerQuestion,
};

use super::worker;
use crate::questions::{self, Answerer};
use crate::record::{Checkpoint, Phase, RunningRequest, Session, SubtaskRun, SubtaskState};
use crate::transition::{Next, Transition};
use crate::workers::{self, close_questions};
use crate::{Effect, Input, WorkerAsk, WorkerReport};

/// Bytes of a worker's summary that others read.
const SUMMARY: usize = 2_000;
/// The same for an agent, whose report is its result.
const REPORT: usize = 16_000;

/// A sub-task with the request that it belongs to and the worker that runs it.
struct WorkerTask {
    request: RequestId,
    run: SubtaskRun,
    task: SubTask,
    state: SubtaskState,
    worker: SessionId,
}

impl WorkerTask {
    /// The task of a worker, whether its request runs, waits for its turn, or waits for the user.
    fn find(session: &Session, worker: &SessionId) -> Option<Self> {
        let is_its =
            |active: &&RunningRequest| active.subtasks.as_ref().is_some_and(|run| run.task_of(worker).is_some());
        let active = session.all_unfinished().find(is_its)?;
        let run = active.subtasks.as_deref()?.clone();
        let task = run.plan.task(run.task_of(worker)?)?.clone();
        let state = run.states.get(&task.id)?.clone();
        Some(Self { request: active.request.id.clone(), run, task, state, worker: worker.clone() })
    }

    fn fact(&self, status: SubtaskStatus) -> SubtaskFact {
        workers::status_fact(&self.task, status, self.state.progress, &self.state)
    }

    /// What the task cost over all attempts, if this one cost so much.
    fn total(&self, usage: Usage) -> Usage {
        let mut total = self.state.before;
        total += usage;
        total
    }
}

/// A worker reports something.
pub(crate) fn reported(step: &mut Transition<'_>, worker: &SessionId, report: WorkerReport) {
    let Some(of) = WorkerTask::find(step.session, worker) else { return count_late_cost(step, worker, &report) };
    if !of.state.status.is_at_work() {
        return reported_late(step, &of, &report);
    }
    let request = &of.request;
    match report {
        WorkerReport::Copied { copy } => {
            step.emit(Some(request), SubtaskFact { copy: Some(copy), ..of.fact(of.state.status) });
            // What the user has said meanwhile.
            for text in of.run.said.iter().skip(of.state.told) {
                workers::control(step, worker, Control::Steer { text: text.clone() });
            }
        }
        WorkerReport::RateLimited => shrink_pool(step, &of),
        WorkerReport::Progress { progress, usage } => {
            let fact = of.fact(of.state.status);
            let progress = progress.max(of.state.progress);
            step.emit(Some(request), SubtaskFact { usage: of.total(usage), progress, ..fact });
            if refill_pool(step, &of) {
                continue_request(step, request, &of.run);
            }
        }
        WorkerReport::Asked { question, objection } => {
            if let Some(objection) = objection {
                step.notify(request, Level::Warning, Notice::WorkerObjection(of.task.id.clone(), objection));
            }
            forward_question(step, &of, *question);
            if of.state.status != SubtaskStatus::NeedsUser {
                step.emit(Some(request), of.fact(SubtaskStatus::NeedsUser));
            }
        }
        WorkerReport::Answered { checkpoint } => {
            close_questions(step, worker, |open| open.checkpoint == checkpoint);
            if !has_questions(step.session, worker) {
                step.emit(Some(request), of.fact(SubtaskStatus::Running));
            }
        }
        // It has a question that nobody was there to answer.
        WorkerReport::Ended { status: Status::NeedsUser | Status::Limit, usage, .. }
            if has_questions(step.session, worker) =>
        {
            step.emit(Some(request), SubtaskFact { usage: of.total(usage), ..of.fact(SubtaskStatus::NeedsUser) });
            continue_request(step, request, &of.run);
        }
        WorkerReport::Ended { status, summary, error, usage, writes, left_behind } => {
            let ended = WorkerEnd { status, summary, error, usage, writes, left_behind };
            record_end(step, &of, ended);
        }
        WorkerReport::Shared { key, value } => {
            step.emit(Some(request), SubtasksFact::Shared { key, value, by: of.task.id.clone() });
            store_shared_document(step, request);
        }
    }
}

/// A report of a worker whose sub-task was stopped or skipped meanwhile: nothing follows from it, but its cost counts.
fn reported_late(step: &mut Transition<'_>, of: &WorkerTask, report: &WorkerReport) {
    let (WorkerReport::Progress { usage, .. } | WorkerReport::Ended { usage, .. }) = report else { return };
    let usage = of.total(*usage);
    if usage != of.state.usage {
        // What the task has made stays, because the fact replaces it.
        let SubtaskState { status, error, writes, left_behind, .. } = of.state.clone();
        step.emit(Some(&of.request), SubtaskFact { usage, error, writes, left_behind, ..of.fact(status) });
    }
}

/// A worker has ended after its request did: what it cost since its last report still counts.
fn count_late_cost(step: &mut Transition<'_>, worker: &SessionId, report: &WorkerReport) {
    let WorkerReport::Ended { status, usage, .. } = report else { return };
    let known = step.session.lineage().reported_cost.get(worker).filter(|_| *status != Status::NeedsUser);
    let Some((before, model)) = known.cloned() else { return };
    let usage = usage.since(before);
    if (usage.input_tokens, usage.output_tokens) != (0, 0) {
        let worker = Some(worker.clone());
        let (context_tokens, context_window) = (None, None);
        step.emit(None, UsageFact { model, usage, context_tokens, context_window, unfinished: true, worker });
    }
}

/// How a worker ended.
struct WorkerEnd {
    status: Status,
    summary: String,
    error: Option<Problem>,
    usage: Usage,
    writes: Vec<FileWrite>,
    left_behind: LeftBehind,
}

fn record_end(step: &mut Transition<'_>, of: &WorkerTask, end: WorkerEnd) {
    let WorkerEnd { status, mut summary, error, usage, writes, left_behind } = end;
    close_questions(step, &of.worker, |_| true);
    let most = if of.task.agent.is_some() { REPORT } else { SUMMARY };
    summary.truncate(summary.floor_char_boundary(most));
    let (status, progress) = match status {
        Status::Completed => (SubtaskStatus::Completed, 1.0),
        Status::Cancelled => (SubtaskStatus::Stopped, of.state.progress),
        _ => (SubtaskStatus::Failed, of.state.progress),
    };
    let unfinished = || Problem::new(ProblemKind::NotDone, ProblemText::SubtaskUnfinished);
    let error = (status == SubtaskStatus::Failed).then(|| error.unwrap_or_else(unfinished));
    // Of what was not completed, nothing is merged anyway.
    let is_completed = status == SubtaskStatus::Completed;
    let (writes, left_behind) = if is_completed { (writes, left_behind) } else { Default::default() };
    // What builds write is not worth a notice. The answer counts it.
    let not_merged = left_behind.has_names().then(|| left_behind.clone());
    let summary = Some(summary);
    let usage = of.total(usage);
    let fact = SubtaskFact { usage, progress, summary, writes, error, left_behind, ..of.fact(status) };
    step.emit(Some(&of.request), fact);
    if let Some(left) = not_merged {
        step.notify(&of.request, Level::Info, Notice::LeftBehind(of.task.id.clone(), left));
    }
    // The worker removes its copy itself; this is for one whose process was killed before it could.
    if let Some(folder) = worker::copy_path(step.session, &of.request, &of.worker) {
        step.request(Effect::DropWorker { worker: of.worker.clone(), folder });
    }
    store_shared_document(step, &of.request);
    refill_pool(step, of);
    continue_request(step, &of.request, &of.run);
}

/// How many workers may run at the same time now, and how many are set.
fn pool(session: &Session, request: &RequestId) -> Option<(u32, u32, u32)> {
    let active = session.unfinished(request)?;
    let (run, set) = (active.subtasks.as_deref()?, active.request.settings.subtasks.parallel.max(1));
    Some((run.pool.unwrap_or(set).min(set), set, run.good_calls))
}

/// The provider limits requests: half as many workers may start from now on, at least one. Those that run wait for the
/// provider by themselves.
fn shrink_pool(step: &mut Transition<'_>, of: &WorkerTask) {
    let Some((now, _, good_calls)) = pool(step.session, &of.request) else { return };
    let parallel = (now / 2).max(1);
    if parallel == now && good_calls == 0 {
        return;
    }
    step.emit(Some(&of.request), SubtasksFact::Resized { parallel, reason: "rate_limit".into() });
    if parallel < now {
        step.notify(&of.request, Level::Warning, Notice::FewerWorkers(Plural::new(parallel, "sub-task")));
    }
}

/// As many calls went well as workers may run: one more may, up to the number that is set. Whether that is so.
fn refill_pool(step: &mut Transition<'_>, of: &WorkerTask) -> bool {
    let Some((now, set, good_calls)) = pool(step.session, &of.request) else { return false };
    if now >= set || good_calls < now {
        return false;
    }
    let parallel = now + 1;
    step.emit(Some(&of.request), SubtasksFact::Resized { parallel, reason: "recovered".into() });
    if parallel == set {
        step.notify(&of.request, Level::Info, Notice::MoreWorkers(parallel));
    }
    true
}

/// Stores what the workers share, where they can read it.
pub(super) fn store_shared_document(step: &mut Transition<'_>, request: &RequestId) {
    let (Some(parent), Some(active)) = (step.session.id(), step.session.unfinished(request)) else { return };
    let Some(run) = active.subtasks.as_deref() else { return };
    let document = worker::shared_document(parent, run).to_string();
    let key = RefKey::shared_by(parent);
    step.store(key, document);
}

/// Continues the request: at once if it is the running one, else when no question of it is open.
pub(super) fn continue_request(step: &mut Transition<'_>, request: &RequestId, run: &SubtaskRun) {
    if let Some(active) = step.session.active().filter(|active| active.request.id == *request) {
        // A request that waits for its slot reads its sub-tasks once it has the slot. Until then it cannot be parked.
        if active.phase == Phase::Tools {
            step.then(Next::Call { call: run.call.clone() });
        }
        return;
    }
    if step.session.questions_for(request).next().is_none() && step.session.is_parked(request) {
        let was_idle = step.session.active().is_none();
        step.emit(Some(request), RequestFact::Reopened {});
        if was_idle && step.session.active().is_some() {
            step.request(Effect::Admit { request: request.clone() });
        }
    }
}

/// Opens a worker's question in this session, with the worker's name.
fn forward_question(step: &mut Transition<'_>, of: &WorkerTask, question: WorkerAsk) {
    let WorkerAsk { checkpoint, kind, title, choices, ask } = question;
    let Some(active) = step.session.unfinished(&of.request) else { return };
    let id = CheckpointId::nth(&of.request, active.checkpoints + 1);
    let (subtask, name, session) = (of.task.id.clone(), of.task.name().to_owned(), of.worker.clone());
    let worker = Some(Box::new(WorkerQuestion { subtask, name, session, checkpoint }));
    step.emit(Some(&of.request), CheckpointFact::Opened { checkpoint: id, kind, title, choices, worker, ask });
}

fn has_questions(session: &Session, worker: &SessionId) -> bool {
    session.worker_questions().any(|(_, _, asked)| asked.session == *worker)
}

/// The user has answered a worker's question: the answer goes to the worker.
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
    let of = WorkerTask::find(step.session, &session).filter(|_| !has_questions(step.session, &session));
    if let Some(of) = of.filter(|of| of.state.status.is_at_work()) {
        step.emit(Some(&of.request), of.fact(SubtaskStatus::Running));
    }
}
