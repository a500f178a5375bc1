//! Switches to another model if the request's model is still overloaded after all retries.

use trimtab_vocab::event::{Level, ModelSwitch, RequestFact};
use trimtab_vocab::wording::Notice;
use trimtab_vocab::{LearnedFacts, Problem, ProblemKind, RequestId};

use super::model;
use crate::record::RunningRequest;
use crate::transition::Transition;

/// Whether the fallback model may do better: the provider is overloaded, failing or slowing us down, and it is another
/// model that is asked.
pub(super) fn helps(active: &RunningRequest, problem: &Problem) -> bool {
    let fallback = &active.request.settings.models.fallback_model;
    matches!(problem.kind, ProblemKind::Overloaded | ProblemKind::RateLimited)
        && !fallback.is_empty()
        && model(&active.request).0 != fallback
}

/// The request continues with the fallback model, to its end.
pub(super) fn switch(step: &mut Transition<'_>, request: &RequestId) {
    let Some(active) = step.session.active() else { return };
    let models = &active.request.settings.models;
    let (before, after) = (model(&active.request).0.to_owned(), models.fallback_model.clone());
    let switch = ModelSwitch { model: after.clone(), facts: models.fallback_facts.unwrap_or_default() };
    let (approve, attended, max_steps, trusted, tools) = (None, None, None, None, None);
    let (learned, model) = (LearnedFacts::default(), Some(switch));
    step.emit(Some(request), RequestFact::Adjusted { approve, attended, max_steps, trusted, tools, learned, model });
    step.notify(request, Level::Warning, Notice::FallbackModel(before, after));
}
