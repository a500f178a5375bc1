//! Turns messages into requests: nothing passes unrecorded.

mod gate;
mod joining;

use trimtab_vocab::event::{Level, RuleFact, Stage, Status};
use trimtab_vocab::wording::{Notice, StageLabel};
use trimtab_vocab::{Mode, Request, WhileRunning};

use crate::finish::finish;
use crate::transition::Transition;
use crate::turn::{answers, control};
use crate::{Effect, memory};

pub use crate::words::{NamedUrl, References, pill, references, tags};
pub use gate::{INLINE_LIMIT, input_budget};

pub(crate) fn take_in(step: &mut Transition<'_>, mut request: Request) {
    if step.session.knows(&request.id) {
        return;
    }
    request.tags = tags(&request.text);
    if let Some(choice) = request.autonomy.take() {
        control::choose_autonomy(step, choice);
    }
    let mut waits = (request.while_running == Some(WhileRunning::Queue)).then_some("");
    if request.while_running == Some(WhileRunning::Steer) {
        match joining::join(step, request) {
            Ok(()) => return,
            Err((own, why)) => {
                request = *own;
                waits = why;
            }
        }
    }
    let replaces = request.while_running == Some(WhileRunning::Replace);
    if replaces {
        joining::replace_waiting(step);
    }
    answers::supersede(step);
    let was_idle = step.session.is_idle();
    let id = request.id.clone();
    // What it would have done to a request that is not there is not worth a word in the record.
    request.while_running = request.while_running.filter(|_| replaces && !was_idle);
    // What the user chose for this once comes before what the pill says.
    request.mode = match (&request.pill, request.mode) {
        (Some(pill), Mode::Auto) => pill.mode,
        (_, mode) => mode,
    };
    // Rules are many and change seldom: they are recorded only when they are not as they were.
    let rules = std::mem::take(&mut request.settings.known.rules);
    if rules != step.session.rules() {
        step.emit(None, RuleFact::Known { rules });
    }
    gate::pass(step, &mut request);
    let recalled = std::mem::take(&mut request.settings.known.recalled);
    step.emit(Some(&id), crate::record::received(request));
    memory::recalled(step, &id, recalled);
    step.enter(&id, Stage::Intake, StageLabel::AnalyzingRequest);
    if step.session.lineage().is_dismissed {
        finish(step, &id, Status::Cancelled, None);
    } else if was_idle {
        step.request(Effect::Admit { request: id });
    } else if replaces {
        joining::replace_running(step, &id);
    } else if let Some(why) = waits {
        let notice = if why.is_empty() { Notice::Queued } else { Notice::QueuedBecause(why.to_owned()) };
        step.notify(&id, Level::Info, notice);
    }
}
