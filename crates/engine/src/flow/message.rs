//! The message that a model gets after an answer about the flow, beside the answer's text.

use trimtab_vocab::Selection;
use trimtab_vocab::checkpoint::Ask;

use super::{clarify, conversation, plan, satisfaction, task_answer};
use crate::record::names::choice::{APPROVE, MODIFY, NEEDS_CHANGES, START_OVER, SUBMIT, SUBTASKS, TELL};
use crate::record::{Checkpoint, Session};

/// The text, and the tasks that the answer chooses. Composed before the answer is folded.
pub(crate) fn compose(
    session: &Session,
    answered: &Checkpoint,
    choice: &str,
    text: Option<&str>,
) -> (Option<String>, Option<Selection>) {
    let Some(active) = session.unfinished(&answered.request) else { return (None, None) };
    let flow = &active.flow;
    let words = text.unwrap_or_default();
    let message = match &answered.ask {
        Ask::Clarification { questions, .. } if active.assist.is_some() => {
            let question = questions.first().cloned().unwrap_or_default();
            let task_answer::ClarifyAnswer { words, selection } = task_answer::read(&question, choice, text);
            return (Some(words), selection);
        }
        Ask::Clarification { questions, .. } => {
            let given = (choice == SUBMIT).then(|| clarify::read(questions, words));
            Some(clarify::told(questions, given.as_deref()))
        }
        Ask::Understanding { .. } if choice == TELL => Some(conversation::corrected(words)),
        Ask::Understanding { .. } => flow.requirements.as_ref().map(conversation::agreed),
        Ask::Plan { .. } if matches!(choice, APPROVE | SUBTASKS) => None,
        Ask::Plan { .. } if choice == MODIFY && plan::is_structured(words) => None,
        Ask::Plan { .. } => Some(plan::sent_back(flow, choice, text)),
        Ask::Satisfaction { .. } if choice == NEEDS_CHANGES => {
            Some(satisfaction::feedback(&active.request.text, words))
        }
        Ask::Satisfaction { .. } if choice == START_OVER => {
            satisfaction::afresh(&session.changed_by(&answered.request))
        }
        _ => None,
    };
    (message, None)
}
