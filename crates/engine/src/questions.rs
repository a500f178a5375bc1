//! Questions to the user: how they are asked, and how their answers are recorded.

use trimtab_vocab::checkpoint::{Ask, Choice, ChoiceRole, ChoiceText};
use trimtab_vocab::event::{CheckpointFact, Status};
use trimtab_vocab::wording::{AnswerLabel, PermissionLabel, QuestionTitle};
use trimtab_vocab::{CheckpointId, RequestId, Selection};

use crate::finish::finish;
use crate::record::names::choice::{CONTINUE, SKIP, STOP, TELL};
use crate::transition::Transition;

/// An answer with a number and a letter that do not move when another answer is missing.
pub(crate) fn keyed(id: &str, label: PermissionLabel, number: u8, key: Option<char>) -> Choice {
    Choice { number: Some(number), key, ..choice(id, label.into()) }
}

/// Gives each answer without a number its position.
fn numbered(mut choices: Vec<Choice>) -> Vec<Choice> {
    for (choice, position) in choices.iter_mut().zip(1u8..) {
        choice.number.get_or_insert(position);
    }
    choices
}

pub(crate) fn choice(id: &str, label: AnswerLabel) -> Choice {
    Choice::new(id, label)
}

/// Skips the subject of the question and continues. It denies nothing.
pub(crate) fn leave(label: AnswerLabel) -> Choice {
    choice(SKIP, label).with_role(ChoiceRole::Dismiss).with_text(ChoiceText::Optional)
}

/// Who answers, and where.
pub(crate) struct Answerer {
    pub(crate) by: String,
    pub(crate) surface: Option<String>,
}

impl Answerer {
    /// The user, by way of a message or a control.
    pub(crate) fn person() -> Self {
        Self { by: CheckpointFact::PERSON.into(), surface: None }
    }
}

/// Records an answer, with what the model is sent because of it and the tasks that it chooses.
pub(crate) fn record(
    step: &mut Transition<'_>,
    request: &RequestId,
    checkpoint: CheckpointId,
    (choice, text): (&str, Option<String>),
    Answerer { by, surface }: Answerer,
    (message, selection): (Option<String>, Option<Selection>),
) {
    let choice = choice.to_owned();
    step.emit(Some(request), CheckpointFact::Resolved { checkpoint, choice, text, by, surface, message, selection });
}

/// A question.
pub(crate) struct CheckpointDraft {
    pub(crate) ask: Ask,
    pub(crate) title: QuestionTitle,
    pub(crate) choices: Vec<Choice>,
}

/// Opens a question. The caller must end the request if no one can answer.
pub(crate) fn open(step: &mut Transition<'_>, question: CheckpointDraft) -> Option<CheckpointId> {
    let active = step.session.active()?;
    let request = active.request.id.clone();
    let checkpoint = CheckpointId::nth(&request, active.checkpoints + 1);
    let CheckpointDraft { ask, title, choices } = question;
    let (kind, title, choices) = (ask.kind(), title.to_string(), numbered(choices));
    let opened = CheckpointFact::Opened { checkpoint: checkpoint.clone(), kind, title, choices, worker: None, ask };
    step.emit(Some(&request), opened);
    Some(checkpoint)
}

/// Asks about the request as a whole. If no one can answer now, the request ends there, and continues after an
/// answer.
pub(crate) fn ask(step: &mut Transition<'_>, question: CheckpointDraft, without_a_person: Status) {
    let Some(active) = step.session.active() else { return };
    let (request, attended) = (active.request.id.clone(), active.request.settings.attended);
    open(step, question);
    if !attended {
        finish(step, &request, without_a_person, None);
    }
}

/// The user wanted a rest after the step.
pub(crate) fn rest(step: &mut Transition<'_>) {
    let question = CheckpointDraft {
        ask: Ask::Pause,
        title: QuestionTitle::Paused,
        choices: vec![
            choice(CONTINUE, AnswerLabel::GoOn),
            choice(TELL, AnswerLabel::GoOnDifferently),
            choice(STOP, AnswerLabel::StopHere),
        ],
    };
    ask(step, question, Status::NeedsUser);
}
