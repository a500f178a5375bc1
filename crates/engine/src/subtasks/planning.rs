//! The plan dialog: asks a model for a plan, offers it in sizes and strategies, and starts the one that the user chose.

use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{Level, PlanFact, RouteDecision, Stage, Status, ToolStatus};
use trimtab_vocab::wording::{Notice, Objection, ProblemText, StageLabel};
use trimtab_vocab::{
    Approve, CallId, ExecutionOrder, Granularity, Problem, ProblemKind, Prompt, Purpose, RequestId, RunSettings,
    SubTask, SubTaskPlan, SubtaskOffer, SubtaskStart, SubtasksFact,
};

use super::reports::store_shared_document;
use super::{ask, first_line, plan};
use crate::agents;
use crate::calls::{self, budget};
use crate::finish::finish;
use crate::output::Effect;
use crate::proposal::command::visible;
use crate::record::names::choice::{DECIDE, DECLINE, EDIT, RETRY_MODEL};
use crate::record::{Checkpoint, LoadedAgent, Session, SubtaskRun};
use crate::transition::{Next, Transition};

/// Plans that a model may get wrong before the request is carried out whole.
pub(super) const TRIES: u32 = 2;

/// Asks a model for the plan.
pub(crate) fn call(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    let (model, facts) = calls::model(&active.request);
    let mut system = plan::SYSTEM.to_owned();
    if let Some(reason) = &active.calls.misplan {
        system.push_str(&format!("\nYour last plan could not be used: {reason}. Send another one."));
    }
    let mut prompt = Prompt {
        model: model.to_owned(),
        system,
        messages: step.session.messages_with(&[]),
        max_output_tokens: active.request.settings.models.max_output_tokens.min(facts.max_output),
        format: Some(plan::format()),
        ..Prompt::default()
    };
    match budget::allow(step.session, &prompt) {
        budget::BudgetVerdict::Free => {}
        budget::BudgetVerdict::UpTo(tokens) => prompt.max_output_tokens = prompt.max_output_tokens.min(tokens),
        budget::BudgetVerdict::TooDear(bill) => return budget::ask(step, &bill),
    }
    step.enter(&request, Stage::Planning, StageLabel::BreakingDown);
    calls::send(step, prompt, facts.prices, Purpose::Subtasks);
}

/// The model has replied with a plan.
pub(crate) fn replied(step: &mut Transition<'_>, said: &str) {
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    let settings = active.request.settings.clone();
    match plan::read(said).and_then(|drafts| plan::plan(drafts, &settings)) {
        Ok(plan) if plan.tasks.len() == 1 => reject_plan(step, &request, TRIES, "it is one task".into()),
        Ok(mut plan) => {
            // Who makes this plan is not told of agents.
            plan.tasks.iter_mut().for_each(|task| task.agent = None);
            let plan = plan::estimated(plan, ExecutionOrder::DependencyGraph, &settings);
            step.emit(
                Some(&request),
                SubtasksFact::Planned { call: None, plan, granularity: None, by: "model".into() },
            );
            step.then(Next::Batch);
        }
        Err(reason) => {
            let tries = active.calls.misplans + 1;
            reject_plan(step, &request, tries, reason);
        }
    }
}

/// No model could be called for a plan.
pub(crate) fn planning_failed(step: &mut Transition<'_>) {
    let Some(request) = step.session.active().map(|active| active.request.id.clone()) else { return };
    reject_plan(step, &request, TRIES, "no model answered".into());
}

fn reject_plan(step: &mut Transition<'_>, request: &RequestId, tries: u32, reason: String) {
    step.emit(Some(request), SubtasksFact::Unplanned { reason: reason.clone(), tries });
    if tries >= TRIES {
        step.notify(request, Level::Info, Notice::NotBrokenDown(reason));
    }
    step.then(Next::Turn);
}

/// A model hands work to workers. Whether its plan can be used.
pub(super) fn record_delegated_plan(step: &mut Transition<'_>, call: &CallId, wanted: &SubTaskPlan) -> bool {
    let Some(active) = step.session.active() else { return false };
    let (request, settings) = (active.request.id.clone(), active.request.settings.clone());
    // Models also call tools that they are not offered.
    if !active.may_use_workers() {
        let text = "Nothing was delegated: this request cannot use workers. Do the work yourself.".to_owned();
        step.then(Next::CallEnded { call: call.clone(), status: ToolStatus::Blocked, text });
        return false;
    }
    let refused = |step: &mut Transition<'_>, reason: String| {
        let text = format!("Nothing was delegated: {reason}.");
        step.then(Next::CallEnded { call: call.clone(), status: ToolStatus::Error, text });
        false
    };
    match agents::missing(step.session, active, wanted) {
        Ok(missing) if missing.is_empty() => {}
        Ok(agents) => {
            step.request(Effect::ReadAgents { request, call: call.clone(), agents });
            return false;
        }
        Err(reason) => return refused(step, reason),
    }
    let mut plan = wanted.clone();
    assign(step, &request, &mut plan, &settings);
    if let Err(reason) = plan::validate(&plan, &settings) {
        return refused(step, reason);
    }
    let plan = plan::estimated(plan, ExecutionOrder::DependencyGraph, &settings);
    let call = Some(call.clone());
    step.emit(Some(&request), SubtasksFact::Planned { call, plan, granularity: None, by: "model".into() });
    true
}

/// Gives each task of a plan its model: that of its agent if the user has set it up, else that of its kind.
fn assign(step: &mut Transition<'_>, request: &RequestId, plan: &mut SubTaskPlan, settings: &RunSettings) {
    for task in &mut plan.tasks {
        let agent = task.agent.as_ref().and_then(|name| step.session.agents().current(name)).cloned();
        if let Some(name) = &task.agent {
            task.title = agents::title(name, task);
        }
        if !task.model.is_empty() {
            continue;
        }
        let usual = settings.worker_model(task.kind).0;
        let of_agent = agent.as_ref().map(|loaded| &loaded.agent);
        task.model = of_agent.and_then(|agent| agents::model_of(agent, settings)).unwrap_or_else(|| usual.clone());
        if let Some((agent, wanted)) = of_agent.and_then(|agent| Some((agent, agent.limits.model.as_ref()?)))
            && *wanted != task.model
        {
            let notice = Notice::AgentModelUnknown(visible(&agent.name), visible(wanted), usual);
            step.notify(request, Level::Warning, notice);
        }
    }
}

/// The user hands the request to agents: each is one worker, and no model is asked for a plan. Whether it did so.
pub(crate) fn agents_come_first(step: &mut Transition<'_>) -> bool {
    let Some(active) = step.session.active() else { return false };
    let (request, settings) = (active.request.id.clone(), active.request.settings.clone());
    if active.subtasks.is_some() || active.path() != Some(RouteDecision::Direct) {
        return false;
    }
    let ready = agents::ready(step.session, active);
    if ready.is_empty() {
        return false;
    }
    if settings.machine.workers.is_empty() {
        let problem = Problem::new(ProblemKind::NotDone, ProblemText::NoPlaceForWorkers);
        finish(step, &request, Status::NotDone, Some(problem));
        return true;
    }
    let words = active.request.words();
    let task = |(number, loaded): (usize, &&LoadedAgent)| SubTask {
        id: number.to_string(),
        title: first_line(words),
        instruction: words.to_owned(),
        agent: Some(loaded.agent.name.clone()),
        ..SubTask::default()
    };
    let tasks = (1..).zip(&ready).map(task).collect();
    let mut plan = SubTaskPlan { tasks, ..SubTaskPlan::default() };
    assign(step, &request, &mut plan, &settings);
    let plan = plan::estimated(plan, ExecutionOrder::DependencyGraph, &settings);
    step.emit(Some(&request), SubtasksFact::Planned { call: None, plan, granularity: None, by: "user".into() });
    step.then(Next::Batch);
    true
}

/// Runs the steps of an approved plan as sub-tasks. A plan that cannot be run that way is carried out step by step.
pub(crate) fn run_plan(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let (request, settings) = (active.request.id.clone(), active.request.settings.clone());
    let (flow, by_setting) = (&active.flow, !active.flow.wants_subtasks());
    let (version, Some(by)) = (flow.version, flow.approval.as_ref().map(|approval| approval.by.clone())) else {
        return;
    };
    let plan = plan::of_steps(flow, &settings);
    step.emit(Some(&request), PlanFact::Started { version, by });
    match plan::validate(&plan, &settings) {
        Ok(()) => {
            let count = plan.tasks.len();
            let plan = plan::estimated(plan, ExecutionOrder::DependencyGraph, &settings);
            step.emit(Some(&request), SubtasksFact::Planned { call: None, plan, granularity: None, by: "plan".into() });
            if by_setting {
                step.notify(&request, Level::Info, Notice::PlanAsSubtasks(count));
            }
            step.then(Next::Batch);
        }
        Err(reason) => reject_plan(step, &request, TRIES, reason),
    }
}

/// The preset execution order, if the user does not have to choose, and whether the program chose it.
fn preset_order(settings: &RunSettings) -> Option<(ExecutionOrder, bool)> {
    match settings.subtasks.start {
        Some(SubtaskStart::Parallel) => Some((ExecutionOrder::DependencyGraph, false)),
        Some(SubtaskStart::Sequential) => Some((ExecutionOrder::Sequential, false)),
        Some(SubtaskStart::Loose) => Some((ExecutionOrder::Parallel, false)),
        _ if settings.approve == Approve::Auto => Some((ExecutionOrder::DependencyGraph, true)),
        None if settings.subtasks.offer == SubtaskOffer::Auto => Some((ExecutionOrder::DependencyGraph, true)),
        _ => None,
    }
}

/// Whether a plan may cost more than the program may start without a question.
fn is_dear(session: &Session, plan: &SubTaskPlan, settings: &RunSettings) -> bool {
    let left = session.budget().map_or(f64::INFINITY, |budget| budget - session.spent());
    plan.cost_range.is_some_and(|(_, most)| most > settings.subtasks.auto_usd.min(left))
}

/// Decides or asks how the plan is carried out. Whether to look again.
pub(super) fn choose_order(
    step: &mut Transition<'_>,
    request: &RequestId,
    run: &SubtaskRun,
    settings: &RunSettings,
) -> bool {
    let Some(active) = step.session.active() else { return false };
    let is_planned = active.flow.plan.is_some();
    let by_user = active.batch.as_ref().is_some_and(|batch| batch.of_subtasks) && !is_planned;
    if let Some((choice, text)) = run.answer.clone() {
        return apply_plan_answer(step, request, run, settings, &choice, text.as_deref());
    }
    // The user has named the agents: there is nothing left to choose.
    if by_user && run.plan.tasks.iter().all(|task| task.agent.is_some()) {
        return start(step, request, run, settings, ExecutionOrder::DependencyGraph);
    }
    let order = preset_order(settings);
    let is_unsized = by_user && run.granularity.is_none() && run.plan.tasks.len() > plan::FEW;
    match order {
        Some(_) if is_unsized => resize(step, request, run, settings, None),
        Some((order, automatic)) if !(automatic && is_dear(step.session, &run.plan, settings)) => {
            return start(step, request, run, settings, order);
        }
        None if settings.approve == Approve::Deny => decline(step, run),
        None if is_unsized => {
            ask::ask_breakdown(step, run, settings);
            return false;
        }
        _ => {
            let words = step.session.active().map(|active| first_line(active.request.words())).unwrap_or_default();
            ask::ask_plan(step, run, settings, !by_user, &words);
            return false;
        }
    }
    order.is_some()
}

/// Applies the user's answer about the plan. Returns whether to look again.
fn apply_plan_answer(
    step: &mut Transition<'_>,
    request: &RequestId,
    run: &SubtaskRun,
    settings: &RunSettings,
    choice: &str,
    text: Option<&str>,
) -> bool {
    if let Some(order) = ask::order(choice) {
        return start(step, request, run, settings, order);
    }
    match choice {
        EDIT => {
            let plan = plan::edited(text.unwrap_or_default(), &run.plan, settings);
            let plan = plan.unwrap_or_else(|_| run.plan.clone());
            let plan = plan::estimated(plan, ExecutionOrder::DependencyGraph, settings);
            let granularity = run.granularity;
            step.emit(Some(request), SubtasksFact::Planned { call: None, plan, granularity, by: "user".into() });
            true
        }
        DECLINE => {
            decline(step, run);
            false
        }
        DECIDE => {
            resize(step, request, run, settings, None);
            true
        }
        choice => {
            resize(step, request, run, settings, ask::granularity(choice));
            true
        }
    }
}

/// The plan in the size that a user has chosen, or that fits best.
fn resize(
    step: &mut Transition<'_>,
    request: &RequestId,
    run: &SubtaskRun,
    settings: &RunSettings,
    wanted: Option<Granularity>,
) {
    let (suggested, reason) = plan::suggested(&run.plan, settings);
    let granularity = wanted.unwrap_or(suggested);
    let size = plan::sizes(&run.plan).into_iter().find(|(known, _)| *known == granularity).map(|(_, count)| count);
    let plan = plan::coarser(&run.plan, size.unwrap_or(run.plan.tasks.len()));
    let plan = plan::estimated(plan, ExecutionOrder::DependencyGraph, settings);
    let by = if wanted.is_some() { "user" } else { "engine" };
    let granularity = Some(granularity);
    step.emit(Some(request), SubtasksFact::Planned { call: None, plan, granularity, by: by.into() });
    if wanted.is_none() {
        step.notify(request, Level::Info, Notice::BrokenDown(reason));
    }
}

/// The user wants no sub-tasks.
fn decline(step: &mut Transition<'_>, run: &SubtaskRun) {
    let text = "The user wants no sub-tasks for this. Do the work yourself.".to_owned();
    step.then(Next::CallEnded { call: run.call.clone(), status: ToolStatus::Blocked, text });
}

/// Starts the run, if the budget allows it. Whether it did.
fn start(
    step: &mut Transition<'_>,
    request: &RequestId,
    run: &SubtaskRun,
    settings: &RunSettings,
    order: ExecutionOrder,
) -> bool {
    let least = plan::estimated(run.plan.clone(), order, settings).cost_range.map_or(0.0, |(least, _)| least);
    if let Some(bill) = budget::allow_price(step.session, least) {
        budget::ask(step, &bill);
        return false;
    }
    let reserved_usd = step.session.budget().map(|budget| (budget - step.session.spent()).max(0.0));
    step.emit(Some(request), SubtasksFact::Started { execution_order: order, reserved_usd });
    // Workers must not read the results of an earlier run.
    store_shared_document(step, request);
    let label = match order {
        _ if run.plan.tasks.len() == 1 => StageLabel::RunningOneSubtask,
        ExecutionOrder::Sequential => StageLabel::RunningSubtasksInOrder(run.plan.tasks.len()),
        _ => StageLabel::RunningSubtasks(run.plan.tasks.len()),
    };
    step.enter(request, Stage::Running, label);
    true
}

/// What a user may not answer, and why.
pub(crate) fn objection(session: &Session, open: &Checkpoint, choice: &str, text: Option<&str>) -> Option<Objection> {
    let active = session.unfinished(&open.request)?;
    let run = active.subtasks.as_deref()?;
    let settings = &active.request.settings;
    let text = text.unwrap_or_default();
    match (&open.ask, choice) {
        (Ask::SubtaskPlan { .. }, EDIT) => plan::edited(text, &run.plan, settings).err().map(Objection::BadPlan),
        (Ask::SubtaskFailed { .. }, RETRY_MODEL) if plan::facts_of(text, settings).is_none() => {
            Some(Objection::UnknownModel(text.to_owned()))
        }
        _ => None,
    }
}
