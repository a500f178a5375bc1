//! The incremental pace: all steps are listed at once, one or two are done per turn, and "continue" comes from the
//! user or automatically. The single pace: a pause follows each round of tools.

use trimtab_vocab::event::{BugFact, RequestFact, RouteDecision};
use trimtab_vocab::{NextStep, Pace, Todo};

use crate::record::{FlowState, RunningRequest, Session, completed};
use crate::transition::{Next, Transition};

/// The model's instruction.
pub(crate) const RULE: &str = "\nThis user works step by step. A task is multi-step when it has 3 or more steps, touches 3 or more \
files, or spans several concerns (frontend, backend, config, docs). For such a task list ALL its steps in your first response, \
complete only 1-2 of them in this response, mark those completed, and stop: the user says \"continue\" for the next ones, or \
corrects you. Other tasks, and each step of an approved plan, are done at once.";

/// Steps that may be completed in one turn.
const MOST: usize = 2;
/// The text that continues.
pub(crate) const CONTINUE: &str = "continue";

/// Whether the pace applies to this turn. A plan has its own pace.
pub(crate) fn applies(active: &RunningRequest) -> bool {
    active.request.settings.copilot.pace == Pace::Incremental
        && active.flow.state == FlowState::Turn
        && active.path() == Some(RouteDecision::Direct)
}

/// After a round of tools: at the single pace, the user is asked before the model sees the results. The pause is the
/// same as one by the user.
pub(crate) fn after_round(step: &mut Transition<'_>) {
    let rests = |active: &&RunningRequest| {
        let single = active.request.settings.copilot.pace == Pace::Single;
        single && !active.steering.pausing && active.flow.state == FlowState::Turn && active.steering.steers.is_empty()
    };
    if let Some(request) = step.session.active().filter(rests).map(|active| active.request.id.clone()) {
        step.emit(Some(&request), RequestFact::Pausing {});
    }
}

/// Steps that were completed in this turn.
fn newly_completed(session: &Session, active: &RunningRequest) -> usize {
    completed(session.todos()).difference(&active.flow.done_before).count()
}

fn is_open(todos: &[Todo]) -> bool {
    todos.iter().any(|todo| !todo.completed)
}

/// The message to the model when it has done as much as it may in one turn.
pub(crate) fn enough(session: &Session) -> Option<&'static str> {
    let active = session.active().filter(|active| applies(active))?;
    (is_open(session.todos()) && newly_completed(session, active) >= MOST).then_some(
        "This is enough for one turn. Stop here, and say what comes next. The user sends \"continue\" for the next steps.",
    )
}

/// What the user could say next: "continue" is among it while steps are open.
pub(crate) fn next_steps(session: &Session, mut given: Vec<NextStep>) -> Vec<NextStep> {
    // A structured answer is complete: at any pace, only the user continues its open steps.
    let applies = session.active().is_some_and(|active| applies(active) || active.answers_in_form());
    // A button that says nothing would send nothing.
    given.retain(|next| !next.input_text.trim().is_empty());
    let is_there = given.iter().any(|next| next.input_text.trim().eq_ignore_ascii_case(CONTINUE));
    if applies && is_open(session.todos()) && !is_there {
        given.insert(0, NextStep { html: "Continue to next step".into(), input_text: CONTINUE.into() });
    }
    given
}

/// Flags a turn that has done more than it may.
pub(crate) fn check(step: &mut Transition<'_>) {
    let Some(active) = step.session.active().filter(|active| applies(active)) else { return };
    let (request, done) = (active.request.id.clone(), newly_completed(step.session, active));
    // What was small enough to be done at once needed no steps.
    if done > MOST {
        let message = format!("{done} steps were completed in one turn; {MOST} at most were agreed");
        step.emit(Some(&request), BugFact { kind: "pace".into(), by: "engine".into(), message });
    }
}

/// Sends "continue" automatically while steps are open and the last turn has completed one. Returns whether it did.
/// Limits of steps and money apply, and a pause stops it.
pub(crate) fn go_on(step: &mut Transition<'_>) -> bool {
    let goes_by_itself = |active: &&RunningRequest| {
        let single = active.request.settings.copilot.pace == Pace::Single;
        !single && active.flow.state == FlowState::Turn && active.path() == Some(RouteDecision::Direct)
    };
    let Some(active) = step.session.active().filter(goes_by_itself) else { return false };
    let progressed = newly_completed(step.session, active) > 0;
    if !(active.request.settings.copilot.auto_continue && is_open(step.session.todos()) && progressed) {
        return false;
    }
    let request = active.request.id.clone();
    step.emit(Some(&request), RequestFact::Steered { text: CONTINUE.into(), by: BY.into() });
    step.then(Next::Turn);
    true
}

pub(crate) use crate::record::names::AUTO_CONTINUE as BY;
