//! Sub-tasks: a request that is broken down, run by workers, and merged into one change.
//!
//! A worker is a child session that works in its own copy of the folder. It reports its questions and its result to the
//! parent session ([`worker::reports`]). Nothing reaches the folder before the merged change is approved. [`advance`]
//! reads the recorded state and does the next thing, so a new process continues from any point.

mod ask;
mod control;
mod merging;
pub(crate) mod plan;
mod planning;
mod reports;
mod running;
pub(crate) mod worker;

use trimtab_vocab::event::RouteDecision;
use trimtab_vocab::{CallId, Mode, RequestId, RunSettings, SubTaskPlan, SubtaskOffer, SubtaskStart};

use crate::record::{RunningRequest, SubtaskRun};
use crate::transition::Transition;

pub(crate) use control::{control, keep_finished, restart_workers};
pub(crate) use merging::{blocked, conflicted, failed, merge_again, merge_by_model, merged, waits};
pub(crate) use planning::{agents_come_first, call, objection, planning_failed, replied, run_plan};
pub(crate) use reports::{answered, reported};
pub(crate) use running::{finish_request, tool_result};

/// Whether a request is to be broken down before anything else is done.
pub(crate) fn is_wanted(active: &RunningRequest) -> bool {
    let settings = &active.request.settings.subtasks;
    let wants = settings.start.is_some_and(|start| start != SubtaskStart::Off);
    let has_place = !active.request.settings.machine.workers.is_empty();
    wants
        && has_place
        && !settings.is_worker
        && active.subtasks.is_none()
        // Workers cannot do anything in a folder that is not trusted.
        && active.trust.answer != Some(false)
        // The steps of an approved plan are the breakdown.
        && active.flow.plan.is_none()
        && active.calls.misplans < planning::TRIES
        && active.path() == Some(RouteDecision::Direct)
}

/// Complexity from which on a model is offered workers.
const LARGE: u8 = 60;

/// Whether a request is large enough for workers, or asks for them.
pub(crate) fn is_large(active: &RunningRequest) -> bool {
    active.flow.complexity >= LARGE || asks_for_workers(active.request.words())
}

fn asks_for_workers(words: &str) -> bool {
    const WORDS: [&str; 6] = ["sub-task", "subtask", "sub-agent", "subagent", "in parallel", "delegate"];
    let words = words.to_lowercase();
    WORDS.iter().any(|word| words.contains(word))
}

/// Whether a request is likely to be broken down, so that it is worth looking up the records of earlier calls.
pub fn may_break_down(words: &str, mode: Mode, settings: &RunSettings) -> bool {
    const LONG: usize = 200;
    let settings = &settings.subtasks;
    match settings.start {
        Some(start) => start != SubtaskStart::Off,
        None if settings.offer == SubtaskOffer::Off || settings.is_worker => false,
        None => mode == Mode::Plan || words.len() >= LONG || asks_for_workers(words),
    }
}

/// Breaks the request down, if that is to be done first.
pub(crate) fn comes_first(step: &mut Transition<'_>) -> bool {
    let is_first = step.session.active().is_some_and(is_wanted);
    if is_first {
        call(step);
    }
    is_first
}

/// The sub-tasks of the running request.
fn current(step: &Transition<'_>) -> Option<(RequestId, SubtaskRun, RunSettings)> {
    let active = step.session.active()?;
    let run = active.subtasks.as_deref()?.clone();
    Some((active.request.id.clone(), run, active.request.settings.clone()))
}

/// Advances a call that delegates work, from wherever it is.
pub(crate) fn advance(step: &mut Transition<'_>, call: &CallId, wanted: &SubTaskPlan) {
    let known = step.session.active().and_then(|active| active.subtasks.as_ref()).map(|run| run.call.clone());
    if known.as_ref() != Some(call) && !planning::record_delegated_plan(step, call, wanted) {
        return;
    }
    while let Some((request, run, settings)) = current(step) {
        let goes_on = match run.order {
            None => planning::choose_order(step, &request, &run, &settings),
            Some(_) => running::advance_run(step, &request, &run, &settings),
        };
        if !goes_on {
            return;
        }
    }
}

fn first_line(words: &str) -> String {
    const LONGEST: usize = 80;
    let line = words.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// Whether the user has canceled the request while its sub-tasks ran.
pub(crate) fn is_cancelled(active: &RunningRequest) -> bool {
    active.subtasks.as_ref().is_some_and(|run| run.is_cancelled)
}

/// Whether an answer about a conflict is still to be acted upon.
pub(crate) fn has_answer(active: &RunningRequest, call: &CallId) -> bool {
    active.subtasks.as_ref().is_some_and(|run| run.call == *call && run.is_merging && run.answer.is_some())
}

/// Whether this call has started workers.
pub(crate) fn is_delegated_by(active: &RunningRequest, call: &CallId) -> bool {
    active.subtasks.as_ref().is_some_and(|run| run.call == *call && run.order.is_some())
}
