//! Model calls: which model is called, what it may cost, and how long to wait before a retry.

pub(crate) mod budget;
pub(crate) mod purpose;
pub(crate) mod retry;

use trimtab_vocab::event::{ModelFact, PromptNote};
use trimtab_vocab::{CallId, ModelFacts, Prices, Prompt, Purpose, Request};

use crate::Effect;
pub(crate) use crate::record::model_for as model;
use crate::runaway;
use crate::transition::Transition;

/// Calls a model behind the scenes; `prices`: what that model costs, `purpose`: what the call is for.
pub(crate) fn send(step: &mut Transition<'_>, prompt: Prompt, prices: Option<Prices>, purpose: Purpose) {
    send_with(step, prompt, prices, purpose, Vec::new());
}

/// Calls a model for the running request, with these notes.
pub(crate) fn send_with(
    step: &mut Transition<'_>,
    mut prompt: Prompt,
    prices: Option<Prices>,
    purpose: Purpose,
    notes: Vec<PromptNote>,
) {
    let Some(active) = step.session.active() else { return };
    if active.calls.runaways > 0 {
        vary(&mut prompt);
    }
    let (request, attempt) = (active.request.id.clone(), active.calls.failures + 1);
    let cache_s = active.request.settings.models.cache_s;
    let repeats = runaway::asked_repeats(&active.request.text);
    let call = CallId::nth(step.session.next_call());
    let model = prompt.model.clone();
    let tools = purpose.is_conversation().then(|| step.session.tools().record_of(&prompt.tools));
    let tools = tools.filter(|tools| tools != step.session.offered_tools());
    step.emit(Some(&request), ModelFact::Called { call: call.clone(), model, attempt, purpose, tools, notes });
    step.request(Effect::CallModel { request, call, prompt: Box::new(prompt), prices, cache_s, repeats });
}

/// The same prompt for a model that has repeated itself without end: the same choice of words would repeat itself again.
fn vary(prompt: &mut Prompt) {
    let is_warm = prompt.temperature.is_some_and(|temperature| temperature > 0.8);
    prompt.temperature = Some(if is_warm { 0.6 } else { 1.0 });
    prompt.repeat_penalty = Some(1.2);
}

/// Who does small work behind the scenes.
pub(crate) fn fast(request: &Request) -> (&str, ModelFacts) {
    let settings = &request.settings;
    if settings.models.fast_model.is_empty() {
        (&settings.models.model, settings.models.facts)
    } else {
        (&settings.models.fast_model, settings.models.fast_facts.unwrap_or_default())
    }
}
