//! Runs a plan: one step at a time, in order, with the approvals that the user wants.

use trimtab_vocab::checkpoint::{Ask, Choice, StepAsk};
use trimtab_vocab::event::{PlanFact, RouteDecision, Stage, StepsFact};
use trimtab_vocab::wording::{AnswerLabel, OwnWords, QuestionTitle, StageLabel};
use trimtab_vocab::{PlanStep, RequestId, StepStatus, StopReason, Todo};

use super::{FlowQuestion, FlowWait, line};
use crate::proposal::plan::order;
use crate::questions;
use crate::record::names::choice as choices;
use crate::record::{Flow, FlowState, RunningRequest};
use crate::transition::{Next, Transition};

/// How a model says that it could not do a step.
const FAILED: &str = "STEP FAILED";
/// Characters of what a model says of a step.
const NOTE: usize = 300;

/// A step, its place in the order of work from 1, and how many there are.
fn place<'a>(flow: &'a Flow, id: &str) -> Option<(&'a PlanStep, u32, u32)> {
    let plan = flow.plan.as_ref()?;
    let order = order(plan).ok()?;
    let number = order.iter().position(|at| plan.steps[*at].id == id)?;
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Some((&plan.steps[order[number]], count(number + 1), count(order.len())))
}

/// The message to the model when a step begins: all it needs, even if the conversation was summarized since.
pub(crate) fn told(flow: &Flow, id: &str) -> Option<String> {
    let (step, number, of) = place(flow, id)?;
    let mut text = format!("[PLAN STEP {number} of {of}] {}\n", step.title);
    if !step.details.is_empty() {
        text.push_str(&format!("{}\n", step.details));
    }
    for (what, list) in [("Files", &step.files), ("Commands", &step.commands)] {
        if !list.is_empty() {
            text.push_str(&format!("{what}: {}\n", list.join(", ")));
        }
    }
    text.push_str("The user's plan:\n");
    for (step, number) in in_order(flow).zip(1..) {
        let mark = match flow.statuses.get(&step.id) {
            _ if step.id == id => "this step",
            Some(StepStatus::Done) => "done",
            Some(StepStatus::Skipped) => "left out by the user",
            Some(StepStatus::Failed) => "failed",
            Some(StepStatus::Running) | None => "later",
        };
        text.push_str(&format!("{number}. {} ({mark})\n", step.title));
    }
    if !flow.decisions.is_empty() {
        text.push_str("What the user decided:\n");
        for decision in &flow.decisions {
            text.push_str(&format!("- {}\n", line(decision, 500)));
        }
    }
    text.push_str(&format!("Do only this step. If you cannot do it, begin your reply with {FAILED} and say why. "));
    text.push_str(match number == of {
        true => "This is the last step. When it is done, summarize the result of the whole plan in a few sentences.",
        false => "When it is done, say in one or two sentences what you did.",
    });
    Some(text)
}

fn in_order(flow: &Flow) -> impl Iterator<Item = &PlanStep> {
    let plan = flow.plan.iter();
    plan.flat_map(|plan| order(plan).unwrap_or_default().into_iter().map(|at| &plan.steps[at]))
}

/// Moves from step to step. `Some(true)`: the user is asked, or the request has ended. `Some(false)`: the model works
/// on a step. `None`: call it again.
pub(super) fn advance(step: &mut Transition<'_>) -> Option<bool> {
    let active = step.session.active()?;
    let flow = &active.flow;
    if flow.running().is_some() {
        return Some(false);
    }
    let approval = active.request.settings.copilot.approval_mode;
    if let Some(last) = flow.last.clone() {
        let status = flow.statuses.get(&last).copied();
        if status == Some(StepStatus::Failed) {
            return waits(ask_about_failure(step, &last));
        }
        if status == Some(StepStatus::Done) && approval.after() && flow.checked.as_ref() != Some(&last) {
            return waits(ask_after(step, &last));
        }
    }
    let Some(id) = flow.next_step() else {
        finish(step);
        return Some(true);
    };
    if active.steering.pausing {
        questions::rest(step);
        return Some(true);
    }
    if approval.before() && flow.cleared.as_ref() != Some(&id) {
        return waits(ask_before(step, &id));
    }
    let (of_plan, number, of) = place(flow, &id)?;
    let title = of_plan.title.clone();
    let message = told(flow, &id);
    let request = active.request.id.clone();
    step.enter(&request, Stage::Running, StageLabel::PlanStep(number, of, title.clone()));
    let status = StepStatus::Running;
    step.emit(Some(&request), PlanFact::Step { step: id, number, of, title, status, note: String::new(), message });
    None
}

fn waits(asked: FlowWait) -> Option<bool> {
    (asked == FlowWait::Waits).then_some(true)
}

/// The model has ended its turn: the step is done, or it says that it could not do it.
pub(super) fn ended(step: &mut Transition<'_>, words: &str, stop: Option<&StopReason>) -> bool {
    let Some(active) = step.session.active() else { return false };
    let (request, Some(id)) = (active.request.id.clone(), active.flow.running().map(str::to_owned)) else {
        return false;
    };
    if stop == Some(&StopReason::MaxTokens) {
        super::nudge(step, &request, "[Your reply was cut off at the output limit. Continue from there.]");
        return true;
    }
    let plain = words.trim_start_matches(|c: char| !c.is_alphanumeric());
    let failed = plain.get(..FAILED.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(FAILED));
    let status = if failed { StepStatus::Failed } else { StepStatus::Done };
    end(step, &request, &id, status, line(words, NOTE));
    step.then(Next::Turn);
    true
}

/// The user leaves a step out.
pub(super) fn skip(step: &mut Transition<'_>, request: &RequestId, id: &str) {
    end(step, request, id, StepStatus::Skipped, String::new());
}

/// Records the result of a step.
pub(crate) fn end(step: &mut Transition<'_>, request: &RequestId, id: &str, status: StepStatus, note: String) {
    let Some(active) = step.session.unfinished(request) else { return };
    let Some((of_plan, number, of)) = place(&active.flow, id) else { return };
    let title = of_plan.title.clone();
    let step_id = id.to_owned();
    step.emit(Some(request), PlanFact::Step { step: step_id, number, of, title, status, note, message: None });
    tell_progress(step, request);
}

/// The list of steps as it stands, for the user.
pub(super) fn tell_progress(step: &mut Transition<'_>, request: &RequestId) {
    let Some(active) = step.session.unfinished(request) else { return };
    let done = |id: &str| matches!(active.flow.statuses.get(id), Some(StepStatus::Done));
    let todo = |one: &PlanStep| Todo { text: one.title.clone(), completed: done(&one.id) };
    let todos = in_order(&active.flow).map(todo).collect();
    step.emit(Some(request), StepsFact { todos });
}

/// All steps have ended: the model's last words are the answer.
fn finish(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let flow = &active.flow;
    let count = |status: StepStatus| flow.statuses.values().filter(|one| **one == status).count();
    let (done, of) = (count(StepStatus::Done), flow.statuses.len());
    let summed_up = flow.last.as_ref().and_then(|last| flow.statuses.get(last)) == Some(&StepStatus::Done);
    let words = match step.session.last_reply() {
        Some(words) if summed_up && !words.trim().is_empty() => words,
        _ => OwnWords::StepsDone(done, of).into(),
    };
    // An answer in the fixed form was said when it came.
    let answer = (active.has_tools() || !summed_up).then_some(words);
    step.then(Next::PlanEnded { answer });
}

fn ask_before(step: &mut Transition<'_>, id: &str) -> FlowWait {
    let choices = vec![
        questions::choice(choices::CONTINUE, AnswerLabel::DoIt),
        questions::choice(choices::TELL, AnswerLabel::DoDifferently),
        questions::leave(AnswerLabel::LeaveStep),
        questions::choice(choices::STOP, AnswerLabel::StopHere),
    ];
    ask_about(step, id, Ask::StepBefore, choices, QuestionTitle::StepBefore)
}

fn ask_after(step: &mut Transition<'_>, id: &str) -> FlowWait {
    let more = step.session.active().is_some_and(|active| active.flow.next_step().is_some());
    let mut choices =
        vec![questions::choice(choices::CONTINUE, if more { AnswerLabel::GoOn } else { AnswerLabel::Good })];
    if more {
        choices.push(questions::choice(choices::TELL, AnswerLabel::GoOnDifferently));
        choices.push(questions::leave(AnswerLabel::LeaveNextStep));
    } else {
        choices.push(questions::choice(choices::TELL, AnswerLabel::ChangeSomething));
    }
    choices.push(questions::choice(choices::STOP, AnswerLabel::StopHere));
    ask_about(step, id, Ask::StepAfter, choices, QuestionTitle::StepAfter)
}

fn ask_about_failure(step: &mut Transition<'_>, id: &str) -> FlowWait {
    let choices = vec![
        questions::choice(choices::RETRY, AnswerLabel::TryAgain),
        questions::choice(choices::TELL, AnswerLabel::TryDifferently),
        questions::leave(AnswerLabel::WithoutStep),
        questions::choice(choices::STOP, AnswerLabel::StopHere),
    ];
    ask_about(step, id, Ask::StepFailed, choices, QuestionTitle::StepFailed)
}

fn ask_about(
    step: &mut Transition<'_>,
    id: &str,
    about: fn(StepAsk) -> Ask,
    choices: Vec<Choice>,
    title: fn(u32, u32, String) -> QuestionTitle,
) -> FlowWait {
    let Some(active) = step.session.active() else { return FlowWait::Waits };
    let Some((of_plan, number, of)) = place(&active.flow, id) else { return FlowWait::Waits };
    let ask = about(StepAsk { step: id.to_owned(), number, of, details: of_plan.details.clone() });
    let title = title(number, of, of_plan.title.clone());
    // What went wrong is for the user to judge.
    let approving = (!matches!(ask, Ask::StepFailed(_))).then_some(choices::CONTINUE);
    super::ask(step, FlowQuestion { ask, title, choices, approving })
}

/// Whether the user wants to be asked before work without a plan begins. A simple task needs no approval, if
/// the user has said so.
pub(super) fn asks_to_begin(active: &RunningRequest) -> bool {
    let copilot = &active.request.settings.copilot;
    let flow = &active.flow;
    let simple = flow.analysis.as_ref().is_some_and(|analysis| !analysis.is_complex(flow.complexity));
    flow.state == FlowState::Turn
        && active.path() == Some(RouteDecision::Direct)
        && copilot.approval_mode.before()
        && !flow.begun
        && active.calls.steps == 0
        && !(simple && copilot.auto_approve_simple)
}

pub(super) fn ask_to_begin(step: &mut Transition<'_>) -> FlowWait {
    let Some(active) = step.session.active() else { return FlowWait::Waits };
    let title = QuestionTitle::Begin(line(&active.request.text, 200));
    let asking = FlowQuestion {
        ask: Ask::Begin,
        title,
        choices: vec![
            questions::choice(choices::CONTINUE, AnswerLabel::Begin),
            questions::choice(choices::TELL, AnswerLabel::BeginDifferently),
            questions::choice(choices::STOP, AnswerLabel::StopHere),
        ],
        approving: Some(choices::CONTINUE),
    };
    super::ask(step, asking)
}
