//! What a refusal or a reply says about the model itself: how much it holds, whether it sees, and how it wants to be
//! asked. It is recorded, so that a replay knows it too, and the request continues with it.

use trimtab_vocab::event::{Level, RequestFact, RouteDecision};
use trimtab_vocab::format::Plural;
use trimtab_vocab::wording::Notice;
use trimtab_vocab::{AnswerProtocol, LearnedFacts, Part, Purpose, RequestId, Retry};

use super::{context, model_of, prompt};
use crate::calls::{fast, model, purpose};
use crate::transition::Transition;

/// How often a prompt is made shorter for one call.
const SHORTENINGS: u32 = 4;
/// Tokens that a window has at least: less holds no request.
const SMALLEST_WINDOW: u64 = 256;

/// Records what a failed call says about its model; whether the call may do better now.
pub(super) fn from_refusal(step: &mut Transition<'_>, request: &RequestId, purpose: &Purpose, retry: Retry) -> bool {
    let Some(active) = step.session.active().filter(|active| active.calls.failures < SHORTENINGS) else { return false };
    // A small call has its own prompt, which does not get shorter.
    if purpose::is_small(purpose) && fast(&active.request).0 != model(&active.request).0 {
        return false;
    }
    let (name, facts) = model_of(step);
    match retry {
        Retry::Shorter { window, prompt } => {
            let Some(window) = shorter(step, window, prompt) else { return false };
            learn(step, request, LearnedFacts { window: Some(window), ..LearnedFacts::default() });
            step.notify(request, Level::Info, Notice::WindowLearned(name, Plural::new(window, "token")));
            true
        }
        Retry::WithoutImages if !facts.blind => {
            learn(step, request, LearnedFacts { images: Some(false), ..LearnedFacts::default() });
            step.notify(request, Level::Warning, Notice::PicturesLeftOut(name));
            true
        }
        Retry::WithoutImages | Retry::Never | Retry::Later { .. } => false,
    }
}

/// The window in tokens as we count them, from what the provider counted; smaller than what was believed.
fn shorter(step: &Transition<'_>, window: Option<u64>, counted: Option<u64>) -> Option<u64> {
    let facts = model_of(step).1;
    let turn = prompt::build(step.session)?;
    let used = context::room(step.session, &turn, &facts).0.max(1);
    let held = match (window, counted) {
        // The provider cuts words into more tokens than we guess: its window is smaller by our count.
        (Some(window), Some(counted)) if counted > used => window.saturating_mul(used) / counted,
        (Some(window), _) => window,
        (None, _) => used.min(facts.window) * 3 / 4,
    };
    // A refusal of what should have fit means that the estimate was too low, with any window.
    let held = if held >= facts.window { facts.window * 3 / 4 } else { held };
    (held >= SMALLEST_WINDOW).then_some(held)
}

/// Records what was learned about a model, for this request and later ones.
pub(super) fn learn(step: &mut Transition<'_>, request: &RequestId, learned: LearnedFacts) {
    let (approve, attended, max_steps, trusted, tools) = (None, None, None, None, None);
    step.emit(
        Some(request),
        RequestFact::Adjusted { approve, attended, max_steps, trusted, tools, learned, model: None },
    );
}

/// The model works in another way from here on.
pub(super) fn change_protocol(step: &mut Transition<'_>, request: &RequestId, protocol: AnswerProtocol) {
    let name = model_of(step).0;
    learn(step, request, LearnedFacts { protocol: Some(protocol), ..LearnedFacts::default() });
    step.notify(request, Level::Info, Notice::ProtocolChanged(name, protocol.name().to_owned()));
}

/// Replies with calls in text that show that a model does not know how to call tools.
const TEXT_REPLIES: u32 = 2;

/// Switches a model that keeps writing its calls as text to a JSON object that its server can enforce, unless the
/// user has set the protocol. Returns whether it did.
pub(super) fn leave_tools(step: &mut Transition<'_>, request: &RequestId) -> bool {
    let Some(active) = step.session.active() else { return false };
    let facts = model(&active.request).1;
    let is_at_work = active.path() == Some(RouteDecision::Direct) && !active.calls.assessing;
    if !is_at_work || !facts.tools || facts.protocol.is_some() || active.calls.text_replies < TEXT_REPLIES {
        return false;
    }
    change_protocol(step, request, AnswerProtocol::StructuredJson);
    true
}

/// Tells the user once that the pictures of a request are not sent, because the model is known to see nothing.
pub(super) fn warn_of_pictures(step: &mut Transition<'_>, request: &RequestId) {
    let Some(active) = step.session.active() else { return };
    let (name, facts) = model(&active.request);
    let is_first = active.calls.steps == 0 && active.calls.failures == 0;
    if facts.blind && is_first && !active.request.images.is_empty() {
        let name = name.to_owned();
        step.notify(request, Level::Warning, Notice::PicturesLeftOut(name));
    }
}

/// The placeholder for an image that the model cannot see.
pub(super) fn unseen_picture() -> Part {
    Part::Text { text: "[An image is left out here, because you cannot see images.]".into() }
}
