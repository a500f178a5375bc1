//! What a model is sent because of an answer, beside the words that came with it.

use trimtab_vocab::Selection;

use super::answers::{RETRY, TELL};
use super::{series, structured};
use crate::assistant;
use crate::flow::{clarify, conversation, plan, satisfaction};
use crate::record::{Checkpoint, CheckpointSubject, Session};

/// What the model is told when a person lets it continue and says nothing more.
const GO_ON: &str = "Go on.";

/// The text, and the tasks that the answer chooses. Composed before the answer is folded.
pub(super) fn compose(
    session: &Session,
    answered: &Checkpoint,
    choice: &str,
    text: Option<&str>,
) -> (Option<String>, Option<Selection>) {
    let Some(active) = session.unfinished(&answered.request) else { return (None, None) };
    let flow = &active.flow;
    let words = text.unwrap_or_default();
    let message = match &answered.about {
        CheckpointSubject::Clarify { questions } if active.assist.is_some() => {
            let question = questions.first().cloned().unwrap_or_default();
            let assistant::ClarifyAnswer { words, selection } = assistant::read_answer(&question, choice, text);
            return (Some(words), selection);
        }
        CheckpointSubject::Clarify { questions } => {
            let given = (choice == clarify::SUBMIT).then(|| clarify::read(questions, words));
            Some(clarify::told(questions, given.as_deref()))
        }
        CheckpointSubject::Understanding if choice == TELL => Some(conversation::corrected(words)),
        CheckpointSubject::Understanding => flow.requirements.as_ref().map(conversation::agreed),
        CheckpointSubject::Plan if choice == plan::APPROVE => None,
        CheckpointSubject::Plan if choice == plan::MODIFY && plan::is_structured(words) => None,
        CheckpointSubject::Plan => Some(plan::sent_back(flow, choice, text)),
        CheckpointSubject::Satisfaction if choice == satisfaction::NEEDS_CHANGES => {
            Some(satisfaction::feedback(&active.request.text, words))
        }
        CheckpointSubject::Satisfaction if choice == satisfaction::START_OVER => {
            satisfaction::afresh(&session.changed_by(&answered.request))
        }
        CheckpointSubject::Recovery if choice == RETRY => Some(structured::AGAIN.to_owned()),
        CheckpointSubject::Series => series::left_out(active, choice, text),
        CheckpointSubject::Steps => text.is_none().then(|| GO_ON.to_owned()),
        _ => None,
    };
    (message, None)
}
