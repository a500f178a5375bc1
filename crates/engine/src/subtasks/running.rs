//! Running: starts the sub-tasks that can start, handles failures, and ends the run.

use serde_json::{Map, json};
use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{AnswerFact, Stage, Status, SubtaskFact, ToolStatus};
use trimtab_vocab::wording::permission::NamedFiles;
use trimtab_vocab::wording::{ProblemText, StageLabel, SubtaskSummary};
use trimtab_vocab::{
    Answer, CallId, ExecutionOrder, FileWrite, LeftBehind, Problem, ProblemKind, RequestId, RunSettings, StepStatus,
    SubTask, SubtaskStatus, SubtasksFact,
};

use super::{ask, current, first_line, merging, plan, worker};
use crate::finish::finish;
use crate::flow::execute;
use crate::record::names::choice::{EDIT, RETRY, RETRY_MODEL, STOP};
use crate::record::{Session, SubtaskRun};
use crate::transition::{Next, Transition};
use crate::workers;

/// Files that the answer names, of those that are not merged.
const FILES_NAMED: usize = 10;
/// Starts of a sub-task before the user is asked.
const STARTS: u32 = 2;

/// Starts the tasks that can start, handles failed ones, and merges once all are over. Whether to look again.
pub(super) fn advance_run(
    step: &mut Transition<'_>,
    request: &RequestId,
    run: &SubtaskRun,
    settings: &RunSettings,
) -> bool {
    if run.is_merging {
        merging::act_on_answer(step, request, run);
        return false;
    }
    for task in &run.plan.tasks {
        let status = run.state(&task.id);
        if status == SubtaskStatus::Pending && has_skipped_dependency(run, task) {
            skip_task(step, request, run, task);
            return true;
        }
        if status == SubtaskStatus::Failed && handle_failure(step, request, run, task) {
            return true;
        }
    }
    if let Some(task) = next_task(run, settings) {
        worker::start(step, request, run, &task);
        return true;
    }
    if run.plan.tasks.iter().all(|task| run.state(&task.id).is_over()) {
        finish_run(step, request, run);
    } else if !settings.attended && run.plan.tasks.iter().all(|task| run.state(&task.id) != SubtaskStatus::Running) {
        // Nothing moves without the user, and nobody is there.
        finish(step, request, Status::NeedsUser, None);
    }
    false
}

fn has_skipped_dependency(run: &SubtaskRun, task: &SubTask) -> bool {
    let is_skipped = |id: &String| matches!(run.state(id), SubtaskStatus::Skipped | SubtaskStatus::Stopped);
    run.order != Some(ExecutionOrder::Parallel) && task.depends_on.iter().any(is_skipped)
}

fn skip_task(step: &mut Transition<'_>, request: &RequestId, run: &SubtaskRun, task: &SubTask) {
    let state = run.states.get(&task.id).cloned().unwrap_or_default();
    step.emit(Some(request), workers::status_fact(task, SubtaskStatus::Skipped, state.progress, &state));
}

/// The task that starts next: of those that may, the one with the highest priority.
fn next_task(run: &SubtaskRun, settings: &RunSettings) -> Option<SubTask> {
    let order = run.order?;
    let at_work: Vec<&SubTask> = run.plan.tasks.iter().filter(|task| run.state(&task.id).is_at_work()).collect();
    let parallel = settings.subtasks.parallel.max(1);
    let most = match order {
        ExecutionOrder::Sequential => 1,
        _ => run.pool.unwrap_or(parallel).min(parallel) as usize,
    };
    if at_work.len() >= most {
        return None;
    }
    let is_free = |task: &SubTask| {
        let is_done = |id: &String| run.state(id) == SubtaskStatus::Completed;
        let is_locked = |file: &String| at_work.iter().any(|other| other.context_files.contains(file));
        order == ExecutionOrder::Parallel
            || (task.depends_on.iter().all(is_done) && !task.context_files.iter().any(is_locked))
    };
    let ready = plan::in_order(&run.plan).into_iter();
    let ready: Vec<&SubTask> = ready.filter(|task| run.state(&task.id) == SubtaskStatus::Pending).collect();
    match order {
        // One after the other means in the order of the plan, whatever else could start.
        ExecutionOrder::Sequential => ready.first().filter(|task| is_free(task)).map(|task| (*task).clone()),
        _ => {
            let free = ready.into_iter().filter(|task| is_free(task));
            free.rev().max_by_key(|task| task.priority).cloned()
        }
    }
}

/// A sub-task has failed: tries it again, asks, or does what was answered. Whether something changed.
fn handle_failure(step: &mut Transition<'_>, request: &RequestId, run: &SubtaskRun, task: &SubTask) -> bool {
    let Some(state) = run.states.get(&task.id) else { return false };
    let Some((choice, text)) = state.answer.clone() else {
        // A worker that reached a limit would reach it again.
        let is_limit = state.error.as_ref().is_some_and(|error| error.kind == ProblemKind::Limit);
        if state.attempt < STARTS && !is_limit {
            requeue(step, request, run, &task.id);
            return true;
        }
        let is_asked = step.session.own_checkpoints().any(|(_, open)| {
            open.request == *request && matches!(&open.ask, Ask::SubtaskFailed { subtask, .. } if *subtask == task.id)
        });
        if !is_asked {
            let reason = state.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
            ask::ask_about_failure(step, run, task, reason);
        }
        return false;
    };
    let changed = match choice.as_str() {
        RETRY => None,
        RETRY_MODEL => Some(SubTask { model: text.unwrap_or_default(), ..task.clone() }),
        EDIT => Some(SubTask { instruction: text.unwrap_or_default(), ..task.clone() }),
        STOP => {
            workers::stop_all(step, request);
            return true;
        }
        _ => {
            skip_task(step, request, run, task);
            return true;
        }
    };
    replace_task(step, request, run, changed);
    requeue(step, request, run, &task.id);
    true
}

/// Puts a changed task into the plan.
pub(super) fn replace_task(step: &mut Transition<'_>, request: &RequestId, run: &SubtaskRun, changed: Option<SubTask>) {
    let Some(changed) = changed else { return };
    let mut plan = run.plan.clone();
    plan.tasks.iter_mut().filter(|task| task.id == changed.id).for_each(|task| task.clone_from(&changed));
    step.emit(
        Some(request),
        SubtasksFact::Planned { call: None, plan, granularity: run.granularity, by: "user".into() },
    );
}

/// A task waits for a worker again.
pub(super) fn requeue(step: &mut Transition<'_>, request: &RequestId, run: &SubtaskRun, id: &str) {
    let now = step.session.unfinished(request).and_then(|active| active.subtasks.as_deref().cloned());
    let Some(now) = now else { return };
    let (Some(task), Some(state)) = (now.plan.task(id), run.states.get(id)) else { return };
    let fact =
        SubtaskFact { error: state.error.clone(), ..workers::status_fact(task, SubtaskStatus::Pending, 0.0, state) };
    step.emit(Some(request), fact);
}

/// All are over: their changes are merged, or there are none.
fn finish_run(step: &mut Transition<'_>, request: &RequestId, run: &SubtaskRun) {
    if run.merge_order().parts.is_empty() {
        let is_done = |task: &SubTask| run.state(&task.id) == SubtaskStatus::Completed;
        let status = if run.plan.tasks.iter().any(is_done) { ToolStatus::Ok } else { ToolStatus::Error };
        return step.then(Next::CallEnded { call: run.call.clone(), status, text: "No files were changed.".into() });
    }
    step.enter(request, Stage::Validating, StageLabel::MergingSubtasks);
    merging::begin_merge(step, request, run, Vec::new());
}

/// The result of the tool call that delegated the sub-tasks.
pub(crate) fn tool_result(session: &Session, call: &CallId) -> Option<String> {
    let run = session.active()?.subtasks.as_deref().filter(|run| run.call == *call && run.order.is_some())?;
    let mut results = Map::new();
    for (number, task) in (1..).zip(&run.plan.tasks) {
        let state = run.states.get(&task.id).cloned().unwrap_or_default();
        let (merged, left_out) = run.merged_writes(&state);
        let path = |write: &&FileWrite| write.path.clone();
        let files: Vec<String> = merged.iter().map(path).collect();
        let mut result = json!({"status": state.status, "summary": state.summary, "files": files});
        let not_merged: Vec<String> =
            left_out.iter().map(path).chain(state.left_behind.files.iter().cloned()).collect();
        if !not_merged.is_empty() {
            result["notMerged"] = json!(not_merged);
        }
        let LeftBehind { files: _, more, deleted, more_deleted, ignored } = &state.left_behind;
        if !deleted.is_empty() {
            result["notDeleted"] = json!(deleted);
        }
        let counts = [("moreNotMerged", more), ("moreNotDeleted", more_deleted), ("ignoredNotMerged", ignored)];
        for (name, count) in counts.into_iter().filter(|(_, count)| **count > 0) {
            result[name] = json!(count);
        }
        if let Some(error) = &state.error {
            result["error"] = json!(error.message);
        }
        results.insert(format!("agent_{number}_{}", task.id), result);
    }
    Some(serde_json::Value::Object(results).to_string())
}

/// The sub-tasks of the request are over: answers with their results, and ends the request. If the user wanted none, the
/// steps of their plan are carried out one by one.
pub(crate) fn finish_request(step: &mut Transition<'_>, outcome: Option<(ToolStatus, String)>) {
    let Some((request, run, _)) = current(step) else { return };
    let is_planned = step.session.active().is_some_and(|active| active.flow.plan.is_some());
    match (is_planned, run.order) {
        (true, None) => return step.then(Next::Turn),
        (true, Some(_)) => run.plan.tasks.iter().for_each(|task| end_step(step, &request, &run, task)),
        (false, _) => {}
    }
    step.enter(&request, Stage::Finishing, StageLabel::Finishing);
    let count = |status| run.plan.tasks.iter().filter(|task| run.state(&task.id) == status).count();
    let (completed, all) = (count(SubtaskStatus::Completed), run.plan.tasks.len());
    let mut summary = SubtaskSummary::Completed(completed, all).to_string();
    let is_by_agents = run.plan.tasks.iter().all(|task| task.agent.is_some()) && completed > 0;
    if is_by_agents {
        summary = agent_reports(&run);
    }
    for task in run.plan.tasks.iter().filter(|_| !is_by_agents) {
        let state = run.states.get(&task.id).cloned().unwrap_or_default();
        let line = match state.status {
            SubtaskStatus::Completed => first_line(&state.summary),
            status => SubtaskSummary::Status(status.to_string()).to_string(),
        };
        summary.push_str(&format!("\n{}. {}: {line}", task.id, task.name()));
    }
    if let Some(files) = NamedFiles::new(run.left_out.iter().map(String::as_str), FILES_NAMED) {
        summary.push_str(&format!("\n{}", SubtaskSummary::LeftOut(files)));
    }
    for (id, state) in &run.states {
        if !state.left_behind.is_empty() {
            summary.push_str(&format!("\n{}", SubtaskSummary::LeftBehind(id.clone(), state.left_behind.clone())));
        }
    }
    step.emit(Some(&request), AnswerFact { answer: Answer { summary, ..Answer::default() } });
    let (status, problem) = match outcome {
        _ if run.is_cancelled => (Status::Cancelled, None),
        Some((ToolStatus::Ok | ToolStatus::Partial, _)) if completed > 0 => (Status::Completed, None),
        Some((ToolStatus::Interrupted, _)) => (Status::Cancelled, None),
        Some((ToolStatus::Blocked, _)) => (Status::NotDone, Some(ProblemText::MergeNotApplied)),
        _ => (Status::NotDone, Some(ProblemText::NoSubtaskCompleted)),
    };
    let problem = problem.map(|text| Problem::new(ProblemKind::NotDone, text));
    finish(step, &request, status, problem);
}

/// What the agents that the user called have to say, word for word.
fn agent_reports(run: &SubtaskRun) -> String {
    let report = |task: &SubTask| {
        let state = run.states.get(&task.id).cloned().unwrap_or_default();
        let text = match state.status {
            SubtaskStatus::Completed => state.summary.trim().to_owned(),
            status => SubtaskSummary::Status(status.to_string()).to_string(),
        };
        match run.plan.tasks.len() {
            1 => text,
            _ => format!("{}:\n{text}", task.agent.as_deref().unwrap_or_default()),
        }
    };
    run.plan.tasks.iter().map(report).collect::<Vec<_>>().join("\n\n")
}

/// Records what a sub-task means for the step of the plan that it stands for.
fn end_step(step: &mut Transition<'_>, request: &RequestId, run: &SubtaskRun, task: &SubTask) {
    let status = match run.state(&task.id) {
        SubtaskStatus::Completed => StepStatus::Done,
        SubtaskStatus::Failed => StepStatus::Failed,
        _ => StepStatus::Skipped,
    };
    let note = run.states.get(&task.id).map(|state| first_line(&state.summary)).unwrap_or_default();
    execute::end(step, request, &task.id, status, note);
}
