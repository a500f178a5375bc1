//! Answers that must fit a JSON Schema: the final reply is checked, and sent back with its errors. A model that does
//! not produce a valid answer has failed, even if it did other work.

use trimtab_vocab::event::{AnswerFact, BugFact, Stage, Status};
use trimtab_vocab::wording::{ProblemText, StageLabel};
use trimtab_vocab::{Answer, Problem, ProblemKind};

use super::{ending, finish, nudge};
use crate::proposal::json_schema::{schema_errors, values_in};
use crate::record::{RunningRequest, names};
use crate::transition::Transition;

/// So often a reply is sent back.
const ROUNDS: u32 = 2;

/// The model's instruction about the schema.
pub(super) fn rule(active: &RunningRequest) -> String {
    let Some(schema) = &active.request.settings.style.answer_schema else { return String::new() };
    format!(
        "When the work is done, your last reply must be one JSON value and nothing else, not even a code fence. It must be \
         valid against this JSON Schema:\n{schema}"
    )
}

/// The reply would end the request. Whether that is for this room to decide: it does not fit yet and goes back, or it
/// fits and is the answer.
pub(super) fn settle(step: &mut Transition<'_>, words: &str) -> bool {
    let Some(active) = step.session.active() else { return false };
    let Some(schema) = active.request.settings.style.answer_schema.clone() else { return false };
    let (request, rounds) = (active.request.id.clone(), active.calls.misfits);
    let mut errors = None;
    for value in values_in(words) {
        let wrong = schema_errors(&schema, &value);
        if wrong.is_empty() {
            step.enter(&request, Stage::Finishing, StageLabel::Finishing);
            let answer = Answer { summary: value.to_string(), ..Answer::default() };
            step.emit(Some(&request), AnswerFact { answer });
            ending::conclude(step, &request, words);
            return true;
        }
        errors.get_or_insert(wrong);
    }
    let errors = errors.unwrap_or_else(|| vec!["the reply is not JSON".to_owned()]);
    let text = format!(
        "[Your reply is not valid against the JSON Schema that the answer must fit:\n- {}\nThe schema:\n{schema}\nReply \
         again with the JSON value alone, without any other words.]",
        errors.join("\n- ")
    );
    let message = errors.join("; ");
    if rounds >= ROUNDS {
        let problem = Problem::new(ProblemKind::Protocol, ProblemText::Misfit(message)).hint(ProblemText::MisfitHint);
        finish(step, &request, Status::Failed, Some(problem));
        return true;
    }
    step.emit(Some(&request), BugFact { kind: names::bug::MISFIT.into(), by: "engine".into(), message });
    nudge(step, &request, &text);
    true
}
