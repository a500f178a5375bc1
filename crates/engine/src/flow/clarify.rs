//! Clarifying questions: asked once, before anything is planned, and only the user can answer them.

use serde_json::Value;
use trimtab_vocab::checkpoint::{Ask, Choice, ChoiceRole};
use trimtab_vocab::event::{RouteDecision, Stage};
use trimtab_vocab::format::Plural;
use trimtab_vocab::wording::{AnswerLabel, OwnWords, QuestionTitle, StageLabel};
use trimtab_vocab::{Choosable, Question};

use super::{FlowQuestion, FlowWait, line};
use crate::questions::choice;
use crate::record::RunningRequest;
use crate::transition::Transition;

pub(crate) use crate::record::names::choice::SUBMIT;
/// The user does not want to answer; assumptions are made and stated.
pub(crate) const SKIP: &str = "skip";

/// Questions that are asked together at most.
const MOST: usize = 4;
/// Characters of an answer that is read.
const LONGEST: usize = 4_000;

/// Questions for missing information that the model has not phrased.
const MISSING: [(&str, OwnWords); 4] = [
    ("purpose", OwnWords::AsksPurpose),
    ("inputs", OwnWords::AsksInputs),
    ("outputs", OwnWords::AsksOutputs),
    ("constraints", OwnWords::AsksConstraints),
];

/// Whether something must be asked before anything else: once, before the first call of the model.
pub(super) fn is_due(active: &RunningRequest) -> bool {
    let flow = &active.flow;
    let asks = flow.analysis.as_ref().is_some_and(|analysis| !analysis.questions.is_empty());
    let talks = matches!(active.route, None | Some(RouteDecision::Chat | RouteDecision::Image));
    !flow.clarified && active.calls.steps == 0 && !talks && (asks || active.route == Some(RouteDecision::Clarify))
}

/// The model's own questions, or one for each missing item.
fn questions(active: &RunningRequest) -> Vec<Question> {
    let analysis = active.flow.analysis.clone().unwrap_or_default();
    let mut questions = analysis.questions;
    if questions.is_empty() {
        let known = MISSING.iter().filter(|(what, _)| analysis.missing.iter().any(|one| one == what));
        questions = known.map(|(_, text)| Question { text: text.to_string(), ..Question::default() }).collect();
    }
    if questions.is_empty() {
        questions.push(Question { text: OwnWords::AsksWhat.into(), ..Question::default() });
    }
    questions.truncate(MOST);
    for (number, question) in questions.iter_mut().enumerate() {
        if question.id.trim().is_empty() {
            question.id = format!("q{}", number + 1);
        }
        for (number, option) in question.options.iter_mut().enumerate() {
            if option.id.trim().is_empty() {
                option.id = format!("o{}", number + 1);
            }
        }
    }
    questions
}

/// Answer, or leave it.
pub(crate) fn choices() -> Vec<Choice> {
    vec![choice(SUBMIT, AnswerLabel::Submit), choice(SKIP, AnswerLabel::Skip).with_role(ChoiceRole::Dismiss)]
}

pub(super) fn ask(step: &mut Transition<'_>) -> FlowWait {
    let Some(active) = step.session.active() else { return FlowWait::Waits };
    let request = active.request.id.clone();
    let questions = questions(active);
    let title = match questions.as_slice() {
        [one] => QuestionTitle::Words(one.text.clone()),
        several => QuestionTitle::Clarify(Plural::new(several.len(), "question")),
    };
    step.enter(&request, Stage::Clarifying, StageLabel::AskingUnclear);
    let asking = FlowQuestion {
        ask: Ask::Clarification { questions, sections: None, more_options: Vec::new() },
        title,
        choices: choices(),
        // A question is not approved, it is answered.
        approving: None,
    };
    super::ask(step, asking)
}

/// What the user answered, question by question; `None` where they did not.
///
/// Answers come as a JSON object by the questions' ids or numbers, as `1: …; 2: …`, or as plain words.
pub(crate) fn read(questions: &[Question], text: &str) -> Vec<Option<String>> {
    let text = &text[..text.floor_char_boundary(LONGEST * questions.len().max(1))];
    let mut answers = vec![None; questions.len()];
    if let Ok(Value::Object(given)) = serde_json::from_str(text) {
        for (key, value) in &given {
            if let Some(at) = find(questions, key) {
                answers[at] = Some(meant(&questions[at], &parts(value)));
            }
        }
        return answers;
    }
    let mut at = None;
    for piece in text.split(['\n', ';']) {
        let keyed = piece.split_once([':', '=', ')']).and_then(|(key, rest)| Some((find(questions, key)?, rest)));
        match (keyed, at) {
            (Some((found, rest)), _) => {
                at = Some(found);
                answers[found] = Some(rest.trim().to_owned());
            }
            (None, Some(found)) => {
                let so_far = answers[found].get_or_insert_default();
                so_far.push_str(&format!("; {}", piece.trim()));
            }
            (None, None) => break,
        }
    }
    if at.is_none() {
        // Text without a number answers the first question.
        if let Some(first) = answers.first_mut() {
            *first = Some(text.trim().to_owned());
        }
    }
    for (question, answer) in questions.iter().zip(&mut answers) {
        let chosen = answer.take().map(|answer| answer.trim_end_matches([';', ' ']).to_owned());
        *answer = chosen.filter(|chosen| !chosen.is_empty()).map(|chosen| {
            let parts: Vec<String> = match question.several {
                true => chosen.split(',').map(|part| part.trim().to_owned()).collect(),
                false => vec![chosen.clone()],
            };
            meant(question, &parts)
        });
    }
    answers
}

/// The question that a key names: by its id, or by its number.
fn find(questions: &[Question], key: &str) -> Option<usize> {
    let key = key.trim();
    let by_number = || key.parse::<usize>().ok().and_then(|n| n.checked_sub(1)).filter(|n| *n < questions.len());
    questions.iter().position(|question| question.id.eq_ignore_ascii_case(key)).or_else(by_number)
}

fn parts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(parts).collect(),
        Value::Null => Vec::new(),
        other => vec![other.to_string()],
    }
}

/// Options are named by IDs or numbers; the model gets their labels.
fn meant(question: &Question, parts: &[String]) -> String {
    let title = |part: &String| {
        let is_meant = |(number, option): &(usize, &Choosable)| option.id == *part || part.parse() == Ok(number + 1);
        let chosen = question.options.iter().enumerate().find(is_meant);
        chosen.map_or_else(|| part.trim().to_owned(), |(_, option)| option.title.clone())
    };
    parts.iter().map(title).collect::<Vec<_>>().join(", ")
}

/// The message to the model: the questions with their answers.
pub(crate) fn told(questions: &[Question], given: Option<&[Option<String>]>) -> String {
    let Some(given) = given else {
        let asked: Vec<String> = questions.iter().map(|question| format!("- {}", line(&question.text, 500))).collect();
        return format!(
            "[The user was asked, and does not want to answer:\n{}\nMake sensible assumptions, and state each of them.]",
            asked.join("\n")
        );
    };
    let mut text = String::from("Clarification:");
    for (question, answer) in questions.iter().zip(given) {
        let answer = answer.as_deref().unwrap_or("(not answered: make a sensible assumption, and state it)");
        text.push_str(&format!("\nQuestion: {}\nAnswer: {answer}", line(&question.text, 500)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn questions() -> Vec<Question> {
        let option = |id: &str, title: &str| Choosable { id: id.into(), title: title.into(), scheduled_for: None };
        vec![
            Question { id: "db".into(), text: "Which database?".into(), ..Question::default() },
            Question {
                id: "auth".into(),
                text: "Which log-ins?".into(),
                options: vec![option("g", "Google"), option("h", "GitHub")],
                several: true,
            },
        ]
    }

    #[test]
    fn answers_are_read_in_every_form_a_person_may_give_them() {
        let some = |db: &str, auth: &str| vec![Some(db.to_owned()), Some(auth.to_owned())];
        for (text, wanted) in [
            (r#"{"db":"SQLite","auth":["g","h"]}"#, some("SQLite", "Google, GitHub")),
            (r#"{"1":"SQLite","2":"GitHub"}"#, some("SQLite", "GitHub")),
            ("1: SQLite; 2: g, h", some("SQLite", "Google, GitHub")),
            ("1: SQLite\n2: 1,2", some("SQLite", "Google, GitHub")),
            ("db: SQLite; auth: h", some("SQLite", "GitHub")),
            ("db = SQLite; it is small; auth = GitHub", some("SQLite; it is small", "GitHub")),
            ("1: SQLite", vec![Some("SQLite".into()), None]),
            ("just SQLite: it is there", vec![Some("just SQLite: it is there".into()), None]),
            ("{not json", vec![Some("{not json".into()), None]),
            (r#"{"other":"x"}"#, vec![None, None]),
            ("", vec![None, None]),
        ] {
            assert_eq!(read(&questions(), text), wanted, "{text}");
        }
    }

    #[test]
    fn the_model_hears_what_was_answered_and_what_was_not() {
        let told = told(&questions(), Some(&[Some("SQLite".into()), None]));
        assert_eq!(
            told,
            "Clarification:\nQuestion: Which database?\nAnswer: SQLite\nQuestion: Which log-ins?\nAnswer: (not answered: \
             make a sensible assumption, and state it)"
        );
        assert!(
            super::told(&questions(), None).contains("- Which database?\n- Which log-ins?\nMake sensible assumptions")
        );
    }
}
