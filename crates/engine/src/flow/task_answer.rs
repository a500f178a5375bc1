//! Answers to the question which of the offered tasks are meant.

use serde_json::Value;
use trimtab_vocab::{Choosable, Question, Selection, TaskId};

use crate::record::names::choice::SUBMIT;

/// Bytes of an answer that are read.
const LONGEST: usize = 8_000;

/// Words for all that is offered.
const ALL: &[&str] = &["all", "all of them", "all of these", "both", "both of them", "everything", "each of them"];

/// An answer about tasks.
pub(super) struct ClarifyAnswer {
    /// What the user said, or what they chose in words.
    pub(super) words: String,
    /// What they chose; also where they do not want to choose.
    pub(super) selection: Option<Selection>,
}

/// Reads an answer: a choice of tasks by their numbers or titles, `{"ids":[…],"date":…,"priority":…}`, or words.
pub(super) fn read(question: &Question, choice: &str, text: Option<&str>) -> ClarifyAnswer {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::names::choice::SKIP;

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
}
