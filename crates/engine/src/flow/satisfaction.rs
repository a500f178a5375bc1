//! The satisfaction check: if the user is not satisfied, the work is repeated with their feedback.

use std::collections::BTreeSet;

use trimtab_vocab::Approve;
use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::RouteDecision;
use trimtab_vocab::wording::{AnswerLabel, QuestionTitle};

use super::{FlowQuestion, FlowWait, line};
use crate::questions::choice;
use crate::record::FlowState;
use crate::transition::Transition;

pub(crate) use crate::record::names::choice::{NEEDS_CHANGES, SATISFIED, START_OVER};

/// Asks after work without a plan that changed something, if the user wants to be asked after steps. Never after a
/// conversation, and never in unattended runs. Returns whether it asked.
pub(crate) fn ask(step: &mut Transition<'_>) -> bool {
    let Some(active) = step.session.active() else { return false };
    let settings = &active.request.settings;
    let wanted = settings.copilot.approval_mode.after() && settings.attended && settings.approve == Approve::Ask;
    let worked =
        active.flow.state == FlowState::Turn && active.path() == Some(RouteDecision::Direct) && active.flow.acted;
    if !(wanted && worked) {
        return false;
    }
    let result = line(&step.session.last_reply().unwrap_or_default(), 1_000);
    let asking = FlowQuestion {
        ask: Ask::Satisfaction { result },
        title: QuestionTitle::Satisfaction,
        choices: vec![
            choice(SATISFIED, AnswerLabel::Satisfied),
            choice(NEEDS_CHANGES, AnswerLabel::NeedsChanges),
            choice(START_OVER, AnswerLabel::StartOver),
        ],
        approving: Some(SATISFIED),
    };
    super::ask(step, asking) == FlowWait::Waits
}

/// The task with what the user says about the result; it takes the task's place.
pub(crate) fn feedback(task: &str, words: &str) -> String {
    format!("{task}\n\nUser Feedback: {words}")
}

/// The message to the model at a fresh start: the changes of the previous attempt.
pub(crate) fn afresh(changed: &BTreeSet<&str>) -> Option<String> {
    let files: Vec<&str> = changed.iter().copied().take(50).collect();
    (!files.is_empty()).then(|| {
        format!(
            "[The user wants a fresh start. An earlier attempt changed these files, and they are as it left them: {}]",
            files.join(", ")
        )
    })
}
