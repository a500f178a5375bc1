//! What comes between a request and the work: questions, agreement, a plan, its steps, and the satisfaction check.
//! Everything here reads the recorded state and does the next thing, so a new process or an answer from another
//! program continues from any point.

pub(crate) mod clarify;
pub(crate) mod conversation;
mod edits;
pub(crate) mod execute;
pub mod intent;
pub(crate) mod message;
pub(crate) mod pace;
pub(crate) mod plan;
pub(crate) mod satisfaction;
mod task_answer;
#[cfg(test)]
mod tests;

use serde_json::Value;
use trimtab_vocab::checkpoint::{Ask, Choice, StepAsk};
use trimtab_vocab::event::{RequestFact, Status};
use trimtab_vocab::wording::{Objection, QuestionTitle};
use trimtab_vocab::{Approve, Purpose, RequestId, StopReason};

use crate::finish::finish_for;
use crate::proposal::plan::line;
use crate::questions;
use crate::record::names::choice as choices;
use crate::record::{Checkpoint, FlowState, RunningRequest, Session};
use crate::transition::{Next, Transition};

/// Whether the user has to be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlowWait {
    /// It is already answered: continue.
    Settled,
    /// The user has to answer.
    Waits,
}

/// A question of the flow.
pub(crate) struct FlowQuestion {
    pub(crate) ask: Ask,
    pub(crate) title: QuestionTitle,
    pub(crate) choices: Vec<Choice>,
    /// The choice that `--approve auto` makes; none: the user has to.
    pub(crate) approving: Option<&'static str>,
}

/// Asks. The choice that changes nothing stands last, and is made where everything is refused.
pub(crate) fn ask(step: &mut Transition<'_>, asking: FlowQuestion) -> FlowWait {
    let Some(active) = step.session.active() else { return FlowWait::Waits };
    let request = active.request.id.clone();
    let FlowQuestion { ask, title, choices, approving } = asking;
    let (choice, by) = match (active.request.settings.approve, approving) {
        (Approve::Auto, Some(choice)) => (Some(choice.to_owned()), "approve auto"),
        (Approve::Deny, _) => (choices.last().map(|choice| choice.id.clone()), "approve deny"),
        _ => (None, ""),
    };
    let question = questions::CheckpointDraft { ask, title, choices };
    let Some(choice) = choice else {
        questions::ask(step, question, Status::NeedsUser);
        return FlowWait::Waits;
    };
    let Some(id) = questions::open(step, question) else { return FlowWait::Waits };
    let Some(checkpoint) = step.session.checkpoint(&id).cloned() else { return FlowWait::Waits };
    let composed = message::compose(step.session, &checkpoint, &choice, None);
    let by = questions::Answerer { by: by.into(), surface: None };
    questions::record(step, &request, id, (&choice, None), by, composed);
    match follow_up(step, &checkpoint, &choice, None) {
        Some((status, reason)) => {
            finish_for(step, &request, status, None, reason);
            FlowWait::Waits
        }
        None => {
            step.emit(Some(&request), RequestFact::Resumed { wish: false });
            FlowWait::Settled
        }
    }
}

/// Says something to the model in the program's own name, and lets the request continue.
fn nudge(step: &mut Transition<'_>, request: &RequestId, text: &str) {
    step.emit(Some(request), RequestFact::Steered { text: text.into(), by: "engine".into() });
    step.then(Next::Turn);
}

/// Does what must come before the next model call. Returns whether it replaces the call: the user is asked, or the
/// request has ended.
pub(crate) fn comes_first(step: &mut Transition<'_>) -> bool {
    loop {
        let Some(active) = step.session.active() else { return true };
        let asked = if clarify::is_due(active) {
            clarify::ask(step)
        } else {
            match active.flow.state {
                FlowState::Understood => conversation::confirm(step),
                FlowState::Proposed => plan::present(step),
                FlowState::Executing => match execute::advance(step) {
                    Some(taken) => return taken,
                    None => FlowWait::Settled,
                },
                FlowState::Turn if execute::asks_to_begin(active) => execute::ask_to_begin(step),
                FlowState::Turn | FlowState::Compiling | FlowState::Planning => return false,
            }
        };
        if asked == FlowWait::Waits {
            return true;
        }
    }
}

/// Whether the request may rest now. The step of a plan is completed first.
pub(crate) fn may_rest(step: &Transition<'_>) -> bool {
    step.session.active().is_some_and(|active| active.flow.running().is_none())
}

/// What the next call of the turn is for.
pub(crate) fn purpose(active: &RunningRequest) -> Purpose {
    if active.flow.state == FlowState::Compiling { Purpose::Requirements } else { Purpose::Turn }
}

/// The words of a model that answers in the form of a plan and has found nothing to plan.
pub(crate) fn answer_without_plan(session: &Session, words: &str) -> Option<String> {
    let active = session.active().filter(|active| active.flow.state == FlowState::Planning && !active.has_tools())?;
    plan::answer_in(words).filter(|_| active.flow.plan.is_none())
}

/// The model has said all it wants to say. Whether something else follows than the answer.
pub(crate) fn ended(step: &mut Transition<'_>, words: &str, stop: Option<&StopReason>) -> bool {
    let Some(active) = step.session.active() else { return false };
    match active.flow.state {
        FlowState::Compiling => conversation::compiled(step, words),
        FlowState::Planning => plan::in_words(step, words),
        FlowState::Executing if active.flow.running().is_some() => execute::ended(step, words, stop),
        _ => false,
    }
}

/// Why an answer will not do, in words for the user.
pub(crate) fn objection(
    step: &Transition<'_>,
    checkpoint: &Checkpoint,
    choice: &str,
    text: Option<&str>,
) -> Option<Objection> {
    match (&checkpoint.ask, text) {
        (Ask::Plan { .. }, Some(text)) if choice == plan::MODIFY => {
            let flow = &step.session.unfinished(&checkpoint.request)?.flow;
            plan::is_structured(text).then(|| edits::apply(flow.plan.as_ref()?, text).err()).flatten()
        }
        _ => None,
    }
}

/// What else follows from an answer that is recorded: facts that it makes, and whether the request ends with
/// it and how.
pub(crate) fn follow_up(
    step: &mut Transition<'_>,
    checkpoint: &Checkpoint,
    choice: &str,
    text: Option<&str>,
) -> Option<(Status, Option<&'static str>)> {
    let request = &checkpoint.request;
    match &checkpoint.ask {
        Ask::Plan { .. } if choice == plan::CANCEL => return Some((Status::Cancelled, None)),
        Ask::Plan { .. } if choice == plan::MODIFY => plan::modified(step, request, text.unwrap_or_default()),
        Ask::Understanding { .. } if choice == conversation::TALK => return Some((Status::Completed, None)),
        // A user who has sent more meanwhile wants more.
        Ask::Satisfaction { .. } if choice == satisfaction::SATISFIED => {
            return (!step.session.has_unanswered_words(request)).then_some((Status::Completed, None));
        }
        Ask::Begin | Ask::StepBefore(_) | Ask::StepAfter(_) | Ask::StepFailed(_) | Ask::Pause
            if choice == choices::STOP =>
        {
            return Some((Status::Cancelled, Some(STOPPED_BY_USER)));
        }
        Ask::StepBefore(StepAsk { step: id, .. }) | Ask::StepFailed(StepAsk { step: id, .. })
            if choice == choices::SKIP =>
        {
            execute::skip(step, request, id);
        }
        Ask::StepAfter(_) if choice == choices::SKIP => {
            let next = step.session.unfinished(request).and_then(|active| active.flow.next_step());
            if let Some(next) = next {
                execute::skip(step, request, &next);
            }
        }
        _ => {}
    }
    None
}

/// The end of a request that the user stopped at a pause or between steps.
pub const STOPPED_BY_USER: &str = "stopped_by_user";

/// The last JSON object in a text that `read` accepts, or the last complaint about one. Models put words, fences
/// and drafts around what they are asked for.
fn object_in<T>(words: &str, read: impl Fn(&Value) -> Result<T, String>) -> Option<Result<T, String>> {
    const TRIES: usize = 64;
    let words = words.rfind("</think>").map_or(words, |at| &words[at..]);
    let (mut found, mut at, mut tries) = (None, 0, 0);
    while let Some(start) = words[at..].find('{').map(|offset| at + offset) {
        let mut values = serde_json::Deserializer::from_str(&words[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                at = start + values.byte_offset().max(1);
                let read = read(&value);
                if read.is_ok() || !matches!(found, Some(Ok(_))) {
                    found = Some(read);
                }
            }
            _ => at = start + 1,
        }
        tries += 1;
        if tries >= TRIES {
            break;
        }
    }
    found
}
