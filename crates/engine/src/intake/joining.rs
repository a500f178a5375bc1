//! A new message while a request of the session runs or waits for the user. The decision is made in the same step
//! that accepts the message, so a request that ends a moment earlier loses nothing.

use trimtab_vocab::checkpoint::{Ask, ChoiceText};
use trimtab_vocab::event::{CheckpointKind, RequestFact};
use trimtab_vocab::{CheckpointId, Mode, Request, RequestId};

use super::gate;
use crate::record::{Checkpoint, Phase, RunningRequest, Session};
use crate::tools::ToolAction;
use crate::transition::Transition;
use crate::turn::{answers, control};
use crate::workers;

/// The request that a new message joins: the running one, else the latest that waits for the user's text. A request
/// that ended at a limit waits for more steps or money, one whose reply was cut off has answered, and one whose model
/// is gone waits for another.
fn met(session: &Session) -> Option<&RunningRequest> {
    let running = session.active().filter(|active| !matches!(active.phase, Phase::Stopping { .. }));
    let idle = session.active().is_none();
    running.or_else(|| session.parked().iter().rev().find(|parked| idle && !has_ended(session, parked)))
}

fn has_ended(session: &Session, parked: &RunningRequest) -> bool {
    let ends = |ask: &Ask| {
        let limits = ask.is_budget() || matches!(ask, Ask::StepLimit | Ask::Recovery { .. } | Ask::ModelGone { .. });
        limits || ask.is_about_subtasks()
    };
    session.questions_for(&parked.request.id).any(|(_, open)| ends(&open.ask))
}

/// Why a message cannot join a request and must be a separate one.
fn obstacle(request: &Request) -> Option<&'static str> {
    if request.pill.is_some() {
        Some("a pill is its own request")
    } else if !request.images.is_empty() {
        Some("a message with images is its own request")
    } else if request.picture.is_some() {
        Some("gallery actions run separately")
    } else if request.mode != Mode::Auto {
        Some("it has a different mode")
    } else if gate::is_too_large(request, &request.text) {
        Some("it is too large for a running request")
    } else {
        None
    }
}

/// Gives a message to the running request: as the answer, if it asks one thing that text can answer, else as text for
/// the model. Otherwise the message is a separate request, with the reason if there is a running one.
pub(super) fn join(step: &mut Transition<'_>, request: Request) -> Result<(), (Box<Request>, Option<&'static str>)> {
    let found = met(step.session).map(|active| (active.request.id.clone(), active.makes_pictures()));
    let Some((into, draws)) = found else {
        return Err((Box::new(request), None));
    };
    if let Some(why) = obstacle(&request) {
        return Err((Box::new(request), Some(why)));
    }
    let answer = answer(step.session, &into, request.text.trim());
    if draws && answer.is_none() {
        return Err((Box::new(request), Some("no model reads it while images are generated")));
    }
    let Request { id, text, tags, .. } = request;
    let checkpoint = answer.as_ref().map(|(checkpoint, ..)| checkpoint.clone());
    step.emit(Some(&id), RequestFact::Joined { text: text.clone(), into: into.clone(), checkpoint, tags });
    match answer {
        Some((checkpoint, choice, words)) => {
            answers::answered(step, &checkpoint, choice, words, answers::Answerer::person())
        }
        None => workers::steer(step, &into, text.trim().to_owned()),
    }
    Ok(())
}

/// What words say to the one open question of a request, if it takes words. A permission takes none: it is
/// given by its own answers alone.
fn answer(session: &Session, request: &RequestId, words: &str) -> Option<(CheckpointId, String, Option<String>)> {
    let mut open = session.questions_for(request);
    let (id, question) = open.next().filter(|_| open.next().is_none())?;
    if question.kind == CheckpointKind::Permission || question.ask.is_about_subtasks() {
        return None;
    }
    if let Some(choice) = named_option(session, question, words) {
        return Some((id.clone(), choice, None));
    }
    let choice = question.choices.iter().find(|choice| choice.text == ChoiceText::Required)?;
    Some((id.clone(), choice.id.clone(), Some(words.to_owned())))
}

/// The choice whose label the words are, of those that the model offers.
fn named_option(session: &Session, question: &Checkpoint, words: &str) -> Option<String> {
    // The options of a worker's question are in the worker's session.
    let (Ask::Question { call }, None) = (&question.ask, &question.worker) else { return None };
    let item = session.unfinished(&question.request)?.batch.as_ref()?.item(call)?;
    let Ok(ToolAction::Ask { options, .. }) = item.action.as_deref() else { return None };
    let number = options.iter().position(|option| option.trim().to_lowercase() == words.to_lowercase())? + 1;
    Some(format!("o{number}")).filter(|id| question.choice(id).is_some())
}

/// Ends what waits for the user, because the user wants something else now.
pub(super) fn replace_waiting(step: &mut Transition<'_>) {
    let waits = step.session.active().is_none().then(|| met(step.session)).flatten();
    if let Some(id) = waits.map(|active| active.request.id.clone()) {
        control::cancel(step, id);
    }
}

/// Ends what runs; what it has done stays. `new` is in its place by now.
pub(super) fn replace_running(step: &mut Transition<'_>, new: &RequestId) {
    let runs = step.session.active().filter(|active| active.request.id != *new);
    if let Some(id) = runs.map(|active| active.request.id.clone()) {
        control::cancel(step, id);
    }
}
