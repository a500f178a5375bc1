//! Both ends of a worker: how one is started, and what it tells the session that it works for.

use std::collections::BTreeMap;

use serde_json::json;
use trimtab_vocab::event::{
    AnswerFact, CheckpointFact, RequestFact, SessionFact, Status, StepsFact, SubtaskFact, UsageFact,
};
use trimtab_vocab::{
    Applying, ContextStrategy, Control, Copilot, ExecutionOrder, Fact, FileWrite, Ingest, ModelSettings, Request,
    RequestId, RunSettings, SessionId, SubTask, SubtaskOffer, SubtaskSettings, SubtaskStatus,
};

use super::plan;
use crate::output::{Child, WorkerOrder};
use crate::proposal::MergePart;
use crate::record::{Session, SubtaskRun, SubtaskState};
use crate::transition::Transition;
use crate::{Effect, Input, Output, WorkerAsk, WorkerNews};

/// Starts a worker for a task: its session, the fact that it is at work, and the copy of the folder.
pub(super) fn start(step: &mut Transition<'_>, request: &RequestId, run: &SubtaskRun, task: &SubTask) {
    let Some(parent) = step.session.id().cloned() else { return };
    // A session is made for each try of each request, so that its name is free.
    let worker = SessionId::worker_of(&parent, step.session.lineage().workers + 1);
    let Some(folder) = copy_of(step.session, request, &worker) else { return };
    let original = step.session.folder().unwrap_or_default().to_owned();
    let subtask = task.id.clone();
    let parent_session_id = Some(parent.clone());
    let facts = vec![
        SessionFact::Opened { folder: folder.clone(), parent_session_id }.into(),
        SessionFact::Worker { parent, for_request: request.clone(), subtask, original }.into(),
        SessionFact::Titled { title: format!("{}. {}", task.id, task.name()), by: Some("engine".into()) }.into(),
    ];
    step.spawn_child(Child { id: worker.clone(), folder, facts, files: Vec::new() });
    let state = run.states.get(&task.id).cloned().unwrap_or_default();
    let fact = moved(task, SubtaskStatus::Running, 0.0, &state);
    step.emit(Some(request), SubtaskFact { worker: Some(worker.clone()), attempt: state.attempt + 1, ..fact });
    start_again(step, request, run, task, &worker);
}

/// Asks for a worker to be at work. One that is already is left alone.
pub(super) fn start_again(
    step: &mut Transition<'_>,
    request: &RequestId,
    run: &SubtaskRun,
    task: &SubTask,
    worker: &SessionId,
) {
    let Some(active) = step.session.unfinished(request) else { return };
    let Some(folder) = copy_of(step.session, request, worker) else { return };
    let original = step.session.folder().unwrap_or_default().to_owned();
    let state = active.subtasks.as_ref().and_then(|run| run.states.get(&task.id)).cloned().unwrap_or_default();
    let settings = settings(step.session, &active.request.settings, run, task, &state);
    let text = instruction(run, task, &state);
    let said = Request::new(RequestId::of_worker(worker), text, settings);
    let seed = seed(run, task);
    step.request(Effect::StartWorker(Box::new(WorkerOrder { worker: worker.clone(), original, folder, seed, said })));
}

/// Where a worker has its copy of the folder.
pub(super) fn copy_of(session: &Session, request: &RequestId, worker: &SessionId) -> Option<String> {
    let place = &session.unfinished(request)?.request.settings.machine.workers;
    Some(format!("{place}/{worker}"))
}

/// How a task stands, as an event tells it.
pub(super) fn moved(task: &SubTask, status: SubtaskStatus, progress: f64, state: &SubtaskState) -> SubtaskFact {
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
    }
}

/// The changes that a worker finds in its copy: those of the tasks that it builds upon, in the order of the plan.
fn seed(run: &SubtaskRun, task: &SubTask) -> Vec<MergePart> {
    let order = run.order.unwrap_or_default();
    let mut needed: Vec<&str> = Vec::new();
    let mut open: Vec<&str> = match order {
        ExecutionOrder::Parallel => Vec::new(),
        ExecutionOrder::DependencyGraph => task.depends_on.iter().map(String::as_str).collect(),
        ExecutionOrder::Sequential => run.plan.tasks.iter().map(|task| task.id.as_str()).collect(),
    };
    while let Some(id) = open.pop() {
        if !needed.contains(&id) {
            needed.push(id);
            open.extend(run.plan.task(id).into_iter().flat_map(|task| &task.depends_on).map(String::as_str));
        }
    }
    run.merge_order().parts.into_iter().filter(|part| needed.contains(&part.subtask.as_str())).collect()
}

/// All that a worker is told.
fn instruction(run: &SubtaskRun, task: &SubTask, state: &SubtaskState) -> String {
    let mut text = task.instruction.clone();
    if !task.constraints.is_empty() {
        let lines: Vec<String> = task.constraints.iter().map(|line| format!("- {line}")).collect();
        text.push_str(&format!("\n\nConstraints:\n{}", lines.join("\n")));
    }
    let before: Vec<String> = task.depends_on.iter().filter_map(|id| output_of(run, id)).collect();
    if !before.is_empty() {
        text.push_str(&format!("\n\nResults of the tasks before this one:\n{}", before.join("\n")));
    }
    if let Some(error) = &state.earlier {
        text.push_str(&format!("\n\nThe last attempt failed: {} Do it differently.", error.message));
    }
    if !task.context_files.is_empty() {
        let files: Vec<String> = task.context_files.iter().map(|file| format!("@{file}")).collect();
        text.push_str(&format!("\n\nFiles: {}", files.join(" ")));
    }
    text.push_str(
        "\n\nThis is one part of a larger task; others work on the rest at the same time. Do this part and nothing else. \
         End with a short summary of what you did.",
    );
    text
}

/// What a task came to, for those that depend on it.
fn output_of(run: &SubtaskRun, id: &str) -> Option<String> {
    let (task, state) = (run.plan.task(id)?, run.states.get(id)?);
    let files: Vec<&str> = state.writes.iter().map(|write| write.path.as_str()).collect();
    let files = if files.is_empty() { String::new() } else { format!(" (changed: {})", files.join(", ")) };
    Some(format!("{id}. {}{files}: {}", task.name(), state.summary.trim()))
}

/// The settings of a worker: those of the request, with nothing allowed that is not allowed there. Files change only in
/// the copy; what reaches the folder is asked about when it is merged.
fn settings(
    session: &Session,
    of: &RunSettings,
    run: &SubtaskRun,
    task: &SubTask,
    state: &SubtaskState,
) -> RunSettings {
    let facts = plan::facts_of(&task.model, of).unwrap_or(of.models.facts);
    // What earlier attempts have cost is gone from its share.
    let before = state.before.cost_usd.unwrap_or(0.0);
    let left = run.reserved_usd.map(|reserved| (reserved * plan::share(task, &run.plan, of) - before).max(0.0));
    let mut settings = of.clone();
    settings.models = ModelSettings { model: task.model.clone(), facts, budget_usd: left, ..of.models.clone() };
    settings.files.apply = Applying::Auto;
    settings.files.apply_chosen = true;
    settings.files.confirm_deletes = false;
    settings.trusted = true;
    settings.copilot = Copilot { enable_planning: false, plan_approval: false, ..Copilot::default() };
    settings.subtasks = SubtaskSettings { is_worker: true, offer: SubtaskOffer::Off, ..SubtaskSettings::default() };
    settings.style.answer_schema = None;
    // A full conversation is summarized, because a worker has nobody to hand it to.
    settings.context.strategy = ContextStrategy::Compress;
    // Nobody has said these words.
    settings.memory.ingest = Ingest::Off;
    settings.rules.clear();
    settings.recalled = session.recalled().to_vec();
    settings
}

/// What a step of a worker's session means to the session that it works for.
pub(crate) fn news(session: &Session, outputs: &[Output]) -> Vec<Output> {
    let (Some(role), Some(worker)) = (&session.lineage().role, session.id()) else { return Vec::new() };
    let own = RequestId::of_worker(worker);
    let mut all: Vec<WorkerNews> = Vec::new();
    let mut summary = String::new();
    let mut has_moved = false;
    for output in outputs {
        let Output::Event { request, fact } = output else { continue };
        match fact {
            Fact::Answer(AnswerFact { answer }) => summary.clone_from(&answer.summary),
            Fact::Usage(UsageFact { .. }) | Fact::Steps(StepsFact { .. }) => has_moved = true,
            Fact::Checkpoint(CheckpointFact::Opened { checkpoint, kind, title, choices, ask, .. }) => {
                let (checkpoint, kind, title) = (checkpoint.clone(), *kind, title.clone());
                let (choices, ask) = (choices.clone(), ask.clone());
                all.push(WorkerNews::Asked { question: Box::new(WorkerAsk { checkpoint, kind, title, choices, ask }) });
            }
            Fact::Checkpoint(CheckpointFact::Resolved { checkpoint, .. }) => {
                all.push(WorkerNews::Answered { checkpoint: checkpoint.clone() });
            }
            Fact::Request(RequestFact::Finished { status, error, .. }) if request.as_ref() == Some(&own) => {
                // One that asks about its budget ends at the limit until somebody answers.
                let waits = session.is_parked(&own);
                all.push(WorkerNews::Ended {
                    status: if waits { Status::NeedsUser } else { *status },
                    summary: summary.clone(),
                    error: error.clone(),
                    usage: session.usage(),
                    writes: net_writes(session),
                });
            }
            _ => {}
        }
    }
    if has_moved && !all.iter().any(|news| matches!(news, WorkerNews::Ended { .. })) {
        all.push(WorkerNews::Moved { progress: progress(session), usage: session.usage() });
    }
    // A worker that is over needs its copy no more, whoever wanted its end.
    let is_over = all.iter().any(|news| matches!(news, WorkerNews::Ended { .. })) && !session.is_unfinished(&own);
    let folder = session.folder().filter(|_| is_over).map(str::to_owned);
    let tell = |news| Output::Tell {
        session: role.parent.clone(),
        input: Box::new(Input::WorkerTold { worker: worker.clone(), news }),
    };
    let drop = folder.map(|folder| Output::Effect(Effect::DropWorker { worker: worker.clone(), folder }));
    all.into_iter().map(tell).chain(drop).collect()
}

/// How far a worker is: by its list of steps, else by the calls that a sub-task usually takes.
fn progress(session: &Session) -> f64 {
    const MOST: f64 = 0.95;
    let todos = session.todos();
    let done = todos.iter().filter(|todo| todo.completed).count();
    let calls = session.active().map_or(0, |active| active.calls.steps);
    let part = match todos.len() {
        0 => f64::from(calls) / f64::from(plan::USUAL_CALLS),
        all => done as f64 / all as f64,
    };
    part.min(MOST)
}

/// What all changes of a session together make of each file.
fn net_writes(session: &Session) -> Vec<FileWrite> {
    let mut net: BTreeMap<&str, FileWrite> = BTreeMap::new();
    for write in session.history()[..session.in_force()].iter().flat_map(|set| &set.writes) {
        match net.get_mut(write.path.as_str()) {
            Some(known) => {
                known.after.clone_from(&write.after);
                known.added += write.added;
                known.removed += write.removed;
                known.modified += write.modified;
            }
            None => drop(net.insert(&write.path, write.clone())),
        }
    }
    net.into_values().filter(|write| write.before != write.after).collect()
}

/// The document that workers share, as it is stored and exported.
pub(crate) fn shared_document(parent: &SessionId, run: &SubtaskRun) -> serde_json::Value {
    let output = |(id, state): (&String, &SubtaskState)| {
        let files: Vec<&str> = state.writes.iter().map(|write| write.path.as_str()).collect();
        (id.clone(), json!({"summary": state.summary, "files": files}))
    };
    let done = run.states.iter().filter(|(_, state)| state.status == SubtaskStatus::Completed);
    json!({
        "docType": "subtask-context",
        "parentSessionId": parent,
        "sharedData": run.shared,
        "stepOutputs": done.map(output).collect::<serde_json::Map<_, _>>(),
    })
}

/// Something for a worker's own request, whether it runs or waits for the user.
pub(super) fn control(step: &mut Transition<'_>, worker: &SessionId, action: Control) {
    let request = Some(RequestId::of_worker(worker));
    step.tell(worker.clone(), Input::Controlled { request, action });
}
