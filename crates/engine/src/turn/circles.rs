//! Detects a model that makes no progress: its replies bring no new change, result, question, or text.

use trimtab_vocab::event::{Level, Status};
use trimtab_vocab::wording::{Notice, ProblemText};
use trimtab_vocab::{Problem, ProblemKind, Role};

use super::{claims, ending, finish};
use crate::transition::Transition;

/// Ends the request after calls that repeat others: what it came to is put together from what it has found.
pub(super) fn end(step: &mut Transition<'_>) {
    let said = step.session.conversation().iter().rev().find(|message| message.role == Role::Assistant);
    let words = said.map(|message| message.text()).unwrap_or_default();
    if ending::answer(step, &words, None).is_some() {
        give_up(step, &words);
    }
}

/// Ends the request whose answer stands already. What it has changed was asked for, so with changes it is done;
/// without any, nothing was. What is missing says more than that the model repeated itself.
pub(super) fn give_up(step: &mut Transition<'_>, words: &str) {
    let Some(active) = step.session.active() else { return };
    let (request, is_done) = (active.request.id.clone(), active.tools.rounds.has_changed_files());
    if is_done {
        step.notify(&request, Level::Warning, Notice::NoProgress);
        return finish(step, &request, Status::Completed, None);
    }
    let missing = claims::ending(step.session, words).1;
    let problem = match missing {
        Some(missing) => {
            step.notify(&request, Level::Warning, Notice::NoProgress);
            missing
        }
        None => Problem::new(ProblemKind::Repetition, ProblemText::NoProgress).hint(ProblemText::NoProgressHint),
    };
    finish(step, &request, Status::NotDone, Some(problem));
}
