//! The end of a request.

use trimtab_vocab::event::{RequestFact, Status};
use trimtab_vocab::{Problem, RequestId};

use crate::transition::Transition;
use crate::{Effect, memory, workers};

/// Ends a request.
pub(crate) fn finish(step: &mut Transition<'_>, request: &RequestId, status: Status, error: Option<Problem>) {
    finish_for(step, request, status, error, None);
}

/// Ends a request, with more about how.
pub(crate) fn finish_for(
    step: &mut Transition<'_>,
    request: &RequestId,
    status: Status,
    error: Option<Problem>,
    reason: Option<&str>,
) {
    let reason = reason.map(str::to_owned);
    // Nobody would hear of workers that outlive their request. One that waits for a person goes on with them.
    if !step.session.parks(request, status) {
        workers::stop_all(step, request);
    }
    let ended = step.session.unfinished(request);
    let usage = ended.map(|active| active.usage).unwrap_or_default();
    let done = ended.map(|active| active.done.facts.clone()).unwrap_or_default();
    let running = |step: &Transition<'_>| step.session.active().map(|active| active.request.id.clone());
    let before = running(step);
    memory::ending(step, request, status);
    step.emit(Some(request), RequestFact::Finished { status, error, usage, reason, done });
    if let Some(next) = running(step).filter(|next| before.as_ref() != Some(next)) {
        step.request(Effect::Admit { request: next });
    }
}
