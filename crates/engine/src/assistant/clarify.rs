//! One question with tasks to choose from, and its answer.

use serde_json::Value;
use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::{Choosable, Question, Selection, TaskId, TaskShown};

use super::{candidates, go_on};
use crate::flow::clarify::{SUBMIT, choices};
use crate::flow::{self, FlowQuestion, FlowWait};
use crate::record::{Assist, RunningRequest};
use crate::step::Transition;

/// What is asked where the router found no better words.
pub(super) const DEFAULT_QUESTION: &str = "Which item do you mean?";
/// Options that stand in a question's text.
const INLINE: usize = 5;
/// Options beyond those that are shown at first.
const MORE: usize = 20;
/// Bytes of an answer that are read.
const LONGEST: usize = 8_000;

/// Words for all that is offered.
const ALL: &[&str] = &["all", "all of them", "all of these", "both", "both of them", "everything", "each of them"];

/// An answer.
pub(crate) struct ClarifyAnswer {
    /// What the person said, or what they chose in words.
    pub(crate) words: String,
    /// What they chose; also where they do not want to choose.
    pub(crate) selection: Option<Selection>,
}

/// The question with what is offered, and what more there would be.
pub(super) fn question(
    active: &RunningRequest,
    assist: &Assist,
    text: &str,
    named: &[TaskId],
) -> (Question, Vec<Choosable>) {
    let settings = &active.request.settings.auto_mode;
    let shown = assist.view.as_ref().map(|view| &view.shown);
    let found = shown.map(|shown| candidates::candidates(&active.request.text, shown, named)).unwrap_or_default();
    let mut options: Vec<Choosable> =
        found.iter().take(settings.max_options as usize + MORE).map(|task| option(task)).collect();
    let more = options.split_off(options.len().min(settings.max_options as usize));
    let mut text = if text.trim().is_empty() { DEFAULT_QUESTION.to_owned() } else { text.trim().to_owned() };
    if settings.inline_options && !options.is_empty() {
        let listed: Vec<String> = found.iter().take(INLINE).map(|task| inline(task)).collect();
        text = format!("{text} Options: {}.", listed.join("; "));
    }
    (Question { id: "q1".into(), text, options, several: true }, more)
}

fn option(task: &TaskShown) -> Choosable {
    let scheduled_for = task.scheduled_for.map(|date| date.to_string());
    Choosable { id: task.id.to_string(), title: task.title.clone(), scheduled_for }
}

fn inline(task: &TaskShown) -> String {
    let title: String = task.title.chars().take(40).collect();
    let day = task.scheduled_for.map(|date| format!(" @{date}")).unwrap_or_default();
    format!("#{} “{title}”{day}", task.id)
}

/// Asks what the router wants to know.
pub(super) fn ask(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let Some(assist) = active.assist.as_deref() else { return };
    let questions = active.flow.analysis.as_ref().map(|analysis| analysis.questions.clone()).unwrap_or_default();
    let Some(asked) = questions.first() else { return };
    let ids: Vec<TaskId> = asked.options.iter().filter_map(|option| option.id.parse().ok()).collect();
    let (_, more) = question(active, assist, &asked.text, &ids);
    let more: Vec<Choosable> =
        more.into_iter().filter(|one| !asked.options.iter().any(|shown| shown.id == one.id)).collect();
    let sections = sections(assist, asked).into_iter().map(str::to_owned).collect();
    let asking = FlowQuestion {
        title: asked.text.clone(),
        ask: Ask::Clarification { questions, sections: Some(sections), more_options: more },
        choices: choices(),
        // A question is not approved, it is answered.
        approving: None,
    };
    if flow::ask(step, asking) == FlowWait::Settled {
        go_on(step);
    }
}

/// What an answer may say: which tasks, which day, how much they matter. It stays one question.
fn sections(assist: &Assist, question: &Question) -> Vec<&'static str> {
    let lacks = |what: &[&str]| assist.missing.iter().any(|one| what.contains(&one.to_lowercase().as_str()));
    let mut sections = Vec::new();
    if !question.options.is_empty() {
        sections.push("ids");
    }
    if lacks(&["date", "time", "day", "when"]) {
        sections.push("date");
    }
    if lacks(&["priority"]) {
        sections.push("priority");
    }
    sections
}

/// Reads an answer: a choice of tasks by their numbers or titles, `{"ids":[…],"date":…,"priority":…}`, or words.
pub(crate) fn read(question: &Question, choice: &str, text: Option<&str>) -> ClarifyAnswer {
    if choice != SUBMIT {
        let words = "Do what seems best; I do not want to choose.".to_owned();
        return ClarifyAnswer { words, selection: Some(Selection::default()) };
    }
    let text = text.unwrap_or_default();
    let text = text[..text.floor_char_boundary(LONGEST)].trim();
    let mut words = text.to_owned();
    if let Ok(Value::Object(given)) = serde_json::from_str::<Value>(text) {
        let selection: Selection = serde_json::from_value(Value::Object(given.clone())).unwrap_or_default();
        if !selection.is_empty() {
            return ClarifyAnswer { words: chosen(question, &selection), selection: Some(selection) };
        }
        let said = given.get(&question.id).or_else(|| given.get("1")).or_else(|| given.get("text"));
        words = match said {
            Some(Value::String(said)) => said.trim().to_owned(),
            Some(Value::Array(list)) => {
                let one = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                list.iter().map(one).collect::<Vec<_>>().join(", ")
            }
            _ => words,
        };
    }
    match ids(question, &words) {
        Some(ids) => {
            let selection = Selection { ids, ..Selection::default() };
            ClarifyAnswer { words: chosen(question, &selection), selection: Some(selection) }
        }
        None => ClarifyAnswer { words, selection: None },
    }
}

/// The tasks that words name of those that are offered, if they name nothing else.
fn ids(question: &Question, words: &str) -> Option<Vec<TaskId>> {
    let plain = words.trim().trim_end_matches(['.', '!']).to_lowercase();
    let id = |option: &Choosable| option.id.parse::<TaskId>().ok();
    if ALL.contains(&plain.as_str()) && !question.options.is_empty() {
        return Some(question.options.iter().filter_map(id).collect());
    }
    let titled: Vec<TaskId> =
        question.options.iter().filter(|option| option.title.to_lowercase() == plain).filter_map(id).collect();
    if !titled.is_empty() {
        return Some(titled);
    }
    let parts = plain.split([',', ' ', ';']).filter(|part| !part.is_empty() && *part != "and");
    let named: Vec<Option<TaskId>> = parts
        .map(|part| {
            let part = part.trim_start_matches('#');
            question.options.iter().find(|option| option.id == part).and_then(id)
        })
        .collect();
    (!named.is_empty()).then(|| named.into_iter().collect::<Option<Vec<_>>>()).flatten()
}

/// What was chosen, in words.
fn chosen(question: &Question, selection: &Selection) -> String {
    let mut parts: Vec<String> = selection
        .ids
        .iter()
        .map(|id| {
            let title = question.options.iter().find(|option| option.id == id.to_string()).map(|option| &option.title);
            title.map_or_else(|| format!("#{id}"), |title| format!("#{id} “{title}”"))
        })
        .collect();
    parts.extend(selection.date.map(|date| date.to_string()));
    parts.extend(selection.priority.map(|priority| format!("{} priority", priority.name())));
    parts.join(", ")
}

/// Whether two texts are the same question, with or without the options in its text.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    let plain = |text: &str| {
        let text = text.split(" Options: ").next().unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
    };
    !one.trim().is_empty() && plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::clarify::SKIP;

    fn asked() -> Question {
        let option = |id: &str, title: &str| Choosable { id: id.into(), title: title.into(), scheduled_for: None };
        let options = vec![option("12", "Call Bob"), option("7", "Call Ann")];
        Question { id: "q1".into(), text: "Which one?".into(), options, several: true }
    }

    #[test]
    fn answers_are_read_in_every_form_a_person_may_give_them() {
        for (text, ids, words) in [
            ("12", Some(vec![12]), "#12 “Call Bob”"),
            ("#7 and 12", Some(vec![7, 12]), "#7 “Call Ann”, #12 “Call Bob”"),
            ("7, 12", Some(vec![7, 12]), "#7 “Call Ann”, #12 “Call Bob”"),
            ("call ann", Some(vec![7]), "#7 “Call Ann”"),
            ("All of them.", Some(vec![12, 7]), "#12 “Call Bob”, #7 “Call Ann”"),
            (r#"{"ids":[12],"date":null}"#, Some(vec![12]), "#12 “Call Bob”"),
            (r#"{"q1":"7"}"#, Some(vec![7]), "#7 “Call Ann”"),
            (r#"{"q1":["7","12"]}"#, Some(vec![7, 12]), "#7 “Call Ann”, #12 “Call Bob”"),
            ("the one tomorrow", None, "the one tomorrow"),
            ("99", None, "99"),
        ] {
            let read = read(&asked(), SUBMIT, Some(text));
            assert_eq!((read.selection.map(|selection| selection.ids), read.words.as_str()), (ids, words), "{text}");
        }
        let day = read(&asked(), SUBMIT, Some(r#"{"date":"2026-11-16","priority":"high"}"#));
        assert_eq!(day.words, "2026-11-16, high priority");
        let skipped = read(&asked(), SKIP, None);
        assert!(skipped.selection.is_some_and(|selection| selection.is_empty()));
    }

    #[test]
    fn a_question_is_known_again_with_and_without_its_options() {
        assert!(is_same("Which one?", " which  one? Options: #1 “A”."));
        assert!(!is_same("Which one?", "When?") && !is_same("", ""));
    }
}
