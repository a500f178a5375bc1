//! Both ends of a worker: how the parent starts it, and what it reports to the parent.

use std::collections::BTreeMap;

use serde_json::json;
use trimtab_vocab::event::{
    AnswerFact, BannerFact, CheckpointFact, ModelFact, RequestFact, SessionFact, StepsFact, SubtaskFact, UsageFact,
};
use trimtab_vocab::{
    AgentFact, Applying, CheckpointId, ContextStrategy, Copilot, ExecutionOrder, Fact, FileWrite, Ingest, LeftBehind,
    ListedSkill, ModelSettings, ProblemKind, Request, RequestId, RunSettings, SessionId, SkillFact, SubTask,
    SubtaskOffer, SubtaskSettings, SubtaskStatus, TaskKind,
};

use super::plan;
use crate::agents;
use crate::output::{Child, WorkerOrder};
use crate::proposal::MergePart;
use crate::record::{Checkpoint, Session, SubtaskRun, SubtaskState};
use crate::transition::Transition;
use crate::{Effect, Input, Output, WorkerAsk, WorkerReport, workers};

/// Starts a worker for a task: creates its session, records the task as running, and requests the copy of the folder.
pub(super) fn start(step: &mut Transition<'_>, request: &RequestId, run: &SubtaskRun, task: &SubTask) {
    let Some(parent) = step.session.id().cloned() else { return };
    // A session is made for each try of each request, so that its name is free.
    let worker = SessionId::worker_of(&parent, step.session.lineage().workers + 1);
    let Some(folder) = copy_path(step.session, request, &worker) else { return };
    let original = step.session.folder().unwrap_or_default().to_owned();
    let subtask = task.id.clone();
    let parent_session_id = Some(parent.clone());
    let mut facts: Vec<Fact> = vec![
        SessionFact::Opened { folder: folder.clone(), parent_session_id, imported: None }.into(),
        SessionFact::Worker { parent, for_request: request.clone(), subtask, original }.into(),
        SessionFact::Titled { title: format!("{}. {}", task.id, task.name()), by: Some("engine".into()) }.into(),
    ];
    facts.extend(extensions(step.session, task));
    step.spawn_child(Child { id: worker.clone(), folder, facts, files: Vec::new() });
    let state = run.states.get(&task.id).cloned().unwrap_or_default();
    let reserved_usd = step.session.unfinished(request).and_then(|of| share_of(run, task, &of.request.settings));
    let fact = workers::status_fact(task, SubtaskStatus::Running, 0.0, &state);
    let attempt = state.attempt + 1;
    step.emit(Some(request), SubtaskFact { worker: Some(worker.clone()), attempt, reserved_usd, ..fact });
    let is_first = run.states.values().all(|state| state.worker.is_none());
    ensure_started(step, request, run, task, (&worker, is_first));
}

/// What a worker has of the extensions of its request: the skills that are accepted, and its agent.
fn extensions(session: &Session, task: &SubTask) -> Vec<Fact> {
    let skills: Vec<ListedSkill> = session.skills().listed.iter().filter(|skill| !skill.pending).cloned().collect();
    let skills = (!skills.is_empty()).then(|| SkillFact::Listed { skills }.into());
    let loaded = task.agent.as_ref().and_then(|name| session.agents().loaded.get(name));
    let agent = loaded.map(|loaded| {
        let (agent, text) = (Box::new(loaded.agent.clone()), loaded.text.clone());
        AgentFact::Loaded { call: None, agent, text }.into()
    });
    skills.into_iter().chain(agent).collect()
}

/// Starts a worker, or continues it after a restart. One that is running is left alone. `is_first`: of those that this
/// process starts for the request.
pub(super) fn ensure_started(
    step: &mut Transition<'_>,
    request: &RequestId,
    run: &SubtaskRun,
    task: &SubTask,
    (worker, is_first): (&SessionId, bool),
) {
    let Some(active) = step.session.unfinished(request) else { return };
    let Some(folder) = copy_path(step.session, request, worker) else { return };
    let original = step.session.folder().unwrap_or_default().to_owned();
    let state = active.subtasks.as_ref().and_then(|run| run.states.get(&task.id)).cloned().unwrap_or_default();
    let mut settings = settings(step.session, &active.request.settings, task, state.reserved_usd);
    let agent = task.agent.as_ref().and_then(|name| step.session.agents().loaded.get(name));
    agents::narrow(&mut settings, agent, active, step.session.step_limit(active));
    let text = instruction(run, task, &state);
    let said = Request::new(RequestId::of_worker(worker), text, settings);
    let seed = seed(run, task);
    step.request(Effect::StartWorker(Box::new(WorkerOrder {
        worker: worker.clone(),
        original,
        folder,
        seed,
        is_first,
        said,
    })));
}

/// Where a worker has its copy of the folder.
pub(super) fn copy_path(session: &Session, request: &RequestId, worker: &SessionId) -> Option<String> {
    let place = &session.unfinished(request)?.request.settings.machine.workers;
    Some(format!("{place}/{worker}"))
}

/// Dollars that a worker gets: its part of what is left of the reserve, among the tasks that have not started. What
/// others did not use is part of that.
fn share_of(run: &SubtaskRun, task: &SubTask, settings: &RunSettings) -> Option<f64> {
    let waits = |other: &&SubTask| !run.state(&other.id).is_over() && !run.state(&other.id).is_at_work();
    let waiting: f64 = run.plan.tasks.iter().filter(waits).map(|other| plan::weight(other, settings)).sum();
    run.reserve_left().map(|left| left * plan::weight(task, settings) / waiting.max(f64::MIN_POSITIVE))
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

/// What every reviewer is told.
const REVIEW: &str = "\n\nThis is a review of work that others have done. Read what they changed before you judge it. Report \
each problem with its file, its line, and how it fails, the worst first. If there is none, say so. Change files only if the task \
above asks for it.";

/// The request of a worker: all that it knows of the task.
fn instruction(run: &SubtaskRun, task: &SubTask, state: &SubtaskState) -> String {
    let mut text = task.instruction.clone();
    if task.kind == TaskKind::Review {
        text.push_str(REVIEW);
    }
    if !task.constraints.is_empty() {
        let lines: Vec<String> = task.constraints.iter().map(|line| format!("- {line}")).collect();
        text.push_str(&format!("\n\nConstraints:\n{}", lines.join("\n")));
    }
    let before: Vec<String> = task.depends_on.iter().filter_map(|id| output_of(run, id)).collect();
    if !before.is_empty() {
        text.push_str(&format!("\n\nResults of the tasks before this one:\n{}", before.join("\n")));
    }
    if !run.said.is_empty() {
        let lines: Vec<String> = run.said.iter().map(|said| format!("- {said}")).collect();
        text.push_str(&format!("\n\nThe user has added for all tasks:\n{}", lines.join("\n")));
    }
    if let Some(error) = &state.earlier {
        text.push_str(&format!("\n\nThe last attempt failed: {} Do it differently.", error.message));
    }
    if !task.context_files.is_empty() {
        let files: Vec<String> = task.context_files.iter().map(|file| format!("@{file}")).collect();
        text.push_str(&format!("\n\nFiles: {}", files.join(" ")));
    }
    text.push_str(match task.agent {
        Some(_) => "\n\nDo this and nothing else. Your last message is all that the caller reads: report what you did and found.",
        None => {
            "\n\nThis is one part of a larger task; others work on the rest at the same time. Do this part and nothing else. \
             End with a short summary of what you did."
        }
    });
    text
}

/// The result of a task, for those that depend on it.
fn output_of(run: &SubtaskRun, id: &str) -> Option<String> {
    let (task, state) = (run.plan.task(id)?, run.states.get(id)?);
    let files: Vec<&str> = state.writes.iter().map(|write| write.path.as_str()).collect();
    let files = if files.is_empty() { String::new() } else { format!(" (changed: {})", files.join(", ")) };
    Some(format!("{id}. {}{files}: {}", task.name(), state.summary.trim()))
}

/// The settings of a worker: those of the request, with nothing allowed that is not allowed there. Files change only in
/// the copy; what reaches the folder is asked about when it is merged.
fn settings(session: &Session, of: &RunSettings, task: &SubTask, budget_usd: Option<f64>) -> RunSettings {
    let facts = plan::facts_of(&task.model, of).unwrap_or(of.models.facts);
    let mut settings = of.clone();
    settings.models = ModelSettings { model: task.model.clone(), facts, budget_usd, ..of.models.clone() };
    settings.files.apply = Applying::Auto;
    settings.files.apply_chosen = true;
    settings.files.confirm_deletes = false;
    settings.trust.trusted = true;
    // It begins with the level of the request, and hears of later changes.
    settings.autonomy.level = Some(session.autonomy_for(of));
    settings.copilot = Copilot { enable_planning: false, plan_approval: false, ..Copilot::default() };
    let build_folders = of.subtasks.build_folders;
    settings.subtasks =
        SubtaskSettings { is_worker: true, offer: SubtaskOffer::Off, build_folders, ..SubtaskSettings::default() };
    settings.style.answer_schema = None;
    // A full conversation is summarized, because a worker has nobody to hand it to.
    settings.context.strategy = ContextStrategy::Compress;
    // Nobody has said these words.
    settings.memory.ingest = Ingest::Off;
    settings.typed_bytes = Some(0);
    settings.known.rules.clear();
    settings.known.recalled = session.recalled().to_vec();
    settings
}

/// What a transition of a worker's session means to its parent.
pub(crate) fn reports(session: &Session, outputs: &[Output]) -> Vec<Output> {
    let (Some(role), Some(worker)) = (&session.lineage().role, session.id()) else { return Vec::new() };
    let own = RequestId::of_worker(worker);
    let mut all: Vec<WorkerReport> = Vec::new();
    let mut summary = String::new();
    let (mut has_moved, mut is_dismissed) = (false, false);
    for output in outputs {
        let Output::Event { request, fact } = output else { continue };
        match fact {
            Fact::Answer(AnswerFact { answer }) => summary.clone_from(&answer.summary),
            Fact::Usage(UsageFact { .. }) | Fact::Steps(StepsFact { .. }) => has_moved = true,
            Fact::Checkpoint(CheckpointFact::Opened { checkpoint, kind, title, choices, ask, .. }) => {
                let (checkpoint, kind, title) = (checkpoint.clone(), *kind, title.clone());
                let (choices, ask) = (choices.clone(), ask.clone());
                let question = Box::new(WorkerAsk { checkpoint, kind, title, choices, ask });
                all.push(WorkerReport::Asked { question, objection: None });
            }
            Fact::Checkpoint(CheckpointFact::Resolved { checkpoint, .. }) => {
                all.push(WorkerReport::Answered { checkpoint: checkpoint.clone() });
            }
            Fact::Model(ModelFact::Failed { error, .. })
                if matches!(error.kind, ProblemKind::RateLimited | ProblemKind::Overloaded) =>
            {
                all.push(WorkerReport::RateLimited);
            }
            Fact::Request(RequestFact::Finished { status, error, .. }) if request.as_ref() == Some(&own) => {
                all.push(WorkerReport::Ended {
                    status: *status,
                    summary: summary.clone(),
                    error: error.clone(),
                    usage: session.usage(),
                    writes: net_writes(session),
                    left_behind: LeftBehind::default(),
                });
            }
            Fact::Session(SessionFact::Dismissed {}) => is_dismissed = true,
            _ => {}
        }
    }
    if has_moved && !all.iter().any(|report| matches!(report, WorkerReport::Ended { .. })) {
        all.push(WorkerReport::Progress { progress: progress(session), usage: session.usage() });
    }
    let has_ended = all.iter().any(|report| matches!(report, WorkerReport::Ended { .. }));
    let tell = |report| Output::Tell {
        session: role.parent.clone(),
        input: Box::new(Input::WorkerReported { worker: worker.clone(), report }),
    };
    let mut outputs: Vec<Output> = all.into_iter().map(tell).collect();
    // A worker that waits for an answer needs its copy when the answer comes.
    if let Some(folder) =
        session.folder().filter(|_| is_dismissed || (has_ended && session.own_checkpoints().next().is_none()))
    {
        outputs.push(Output::Effect(Effect::DropWorker { worker: worker.clone(), folder: folder.to_owned() }));
    }
    outputs
}

/// An answer to a question of this session, if it is a worker's, could not be used: the parent session has closed the
/// question, so it is asked there again.
pub(crate) fn ask_again(step: &mut Transition<'_>, id: &CheckpointId, open: &Checkpoint) {
    let parent = step.session.lineage().role.as_ref().map(|role| role.parent.clone());
    let (Some(parent), Some(worker)) = (parent, step.session.id().cloned()) else { return };
    if open.worker.is_some() || step.session.checkpoint(id).is_none() {
        return;
    }
    let objection = step.so_far().iter().rev().find_map(|output| match output {
        Output::Event { fact: Fact::Banner(BannerFact { text, .. }), .. } => Some(text.clone()),
        _ => None,
    });
    let Checkpoint { kind, ask, title, choices, .. } = open.clone();
    let question = Box::new(WorkerAsk { checkpoint: id.clone(), kind, title, choices, ask });
    step.tell(parent, Input::WorkerReported { worker, report: WorkerReport::Asked { question, objection } });
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
