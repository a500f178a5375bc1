//! A provider that no longer serves the model of a request: the user chooses one that it serves, and the request continues
//! with that one to its end.

use trimtab_vocab::checkpoint::{Ask, ChoiceText};
use trimtab_vocab::event::{ModelSwitch, RequestFact, Status};
use trimtab_vocab::wording::{AnswerLabel, QuestionTitle};
use trimtab_vocab::{LearnedFacts, Problem, Purpose, RequestId};

use super::answers::STOP;
use super::model;
use crate::questions::{self, CheckpointDraft, choice};
use crate::transition::Transition;

/// Whether another model may be asked for: the call is the request's own, and it is known what is served instead.
pub(super) fn has_others(purpose: &Purpose, problem: &Problem) -> bool {
    purpose.is_conversation() && !problem.nearest.is_empty()
}

/// Asks which model should continue.
pub(super) fn ask(step: &mut Transition<'_>, nearest: Vec<String>) {
    let Some(active) = step.session.active() else { return };
    let model = model(&active.request).0.to_owned();
    let use_model = |name: &String| choice(name, AnswerLabel::UseModel(name.clone())).with_text(ChoiceText::No);
    let choices = nearest.iter().map(use_model).chain([choice(STOP, AnswerLabel::StopHere)]).collect();
    let title = QuestionTitle::ModelGone(model.clone());
    questions::ask(step, CheckpointDraft { ask: Ask::ModelGone { model, nearest }, title, choices }, Status::NeedsUser);
}

/// The user has chosen: the request continues with that model. What is known of the one that is gone is taken for it,
/// because the nearest name is its successor or its other size, and what is wrong is learned from the first refusal.
pub(super) fn answered(step: &mut Transition<'_>, request: &RequestId, ask: &Ask, chosen: &str) {
    let Ask::ModelGone { nearest, .. } = ask else { return };
    let Some(active) = step.session.unfinished(request).filter(|_| nearest.iter().any(|name| name == chosen)) else {
        return;
    };
    let switch = ModelSwitch { model: chosen.to_owned(), facts: model(&active.request).1 };
    let (approve, attended, max_steps, trusted, tools) = (None, None, None, None, None);
    let (learned, model) = (LearnedFacts::default(), Some(switch));
    step.emit(Some(request), RequestFact::Adjusted { approve, attended, max_steps, trusted, tools, learned, model });
}
