//! The words that answer a question at the terminal.

use std::io;

use serde_json::{Map, Value};
use trimtab_vocab::Question;
use trimtab_vocab::event::Choice;

use super::output::{calm, note};
use crate::words::{asked, questions};

/// Lists the choices, and says how to choose.
pub(super) fn list(choices: &[Choice], by_number: bool) {
    for (number, choice) in choices.iter().enumerate() {
        let number = if by_number { format!("{}  ", number + 1) } else { String::new() };
        note(&format!("  {number}{} ({})", calm(&choice.label), choice.id));
    }
    note(if by_number { "A number or a word in brackets answers:" } else { "A word in brackets answers:" });
}

/// The choice that a line names, and the words after it.
pub(super) fn chosen(choices: &[Choice], line: &str, by_number: bool) -> Option<(String, Option<String>)> {
    let (first, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    // `e` and a command: allow, but run that one.
    let first = if first == "e" && !rest.trim().is_empty() { "allow" } else { first };
    let number = first.parse::<usize>().ok().filter(|_| by_number);
    let by_number = number.and_then(|n| choices.get(n.checked_sub(1)?));
    let choice = by_number.or_else(|| choices.iter().find(|choice| choice.id == first))?;
    Some((choice.id.clone(), Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty())))
}

/// Reads a choice from the terminal, by number or by name, and the words that go with it.
pub(super) fn read_choice(choices: &[Choice], body: &Map<String, Value>) -> Option<(String, Option<String>)> {
    // The end of input is no answer.
    let read = || {
        let mut line = String::new();
        io::stdin().read_line(&mut line).ok().filter(|read| *read > 0).map(|_| line)
    };
    loop {
        list(choices, true);
        if let Some((choice, words)) = chosen(choices, &read()?, true) {
            let Some(mut wanted) = Wanted::by(&choice, words.as_deref(), body) else { return Some((choice, words)) };
            loop {
                wanted.ask();
                if let Some(said) = wanted.hear(&read()?) {
                    return Some(said);
                }
            }
        }
        note("That is none of these:");
    }
}

/// The words that a choice needs, line by line: to several questions, an answer to each.
pub(super) struct Wanted {
    choice: String,
    questions: Vec<Question>,
    given: Map<String, Value>,
    heard: usize,
}

impl Wanted {
    /// What is still to be said after a choice and the words that came with it.
    pub(super) fn by(choice: &str, words: Option<&str>, body: &Map<String, Value>) -> Option<Self> {
        let needs = matches!(choice, "submit" | "tell" | "other" | "modify" | "needs_changes");
        let questions = if choice == "submit" { questions(body) } else { Vec::new() };
        (needs && words.is_none()).then(|| Self { choice: choice.into(), questions, given: Map::new(), heard: 0 })
    }

    /// Says what is wanted next.
    pub(super) fn ask(&self) {
        match self.questions.get(self.heard) {
            Some(question) => asked(question, self.heard + 1).iter().for_each(|line| note(line)),
            None => note("Say it in words, on one line:"),
        }
    }

    /// Takes a line; the answer, once it is complete. An empty line leaves a question unanswered.
    pub(super) fn hear(&mut self, line: &str) -> Option<(String, Option<String>)> {
        let line = line.trim();
        let Some(question) = self.questions.get(self.heard) else {
            return (!line.is_empty()).then(|| (self.choice.clone(), Some(line.to_owned())));
        };
        if !line.is_empty() {
            self.given.insert(question.id.clone(), Value::String(line.to_owned()));
        }
        self.heard += 1;
        (self.heard == self.questions.len())
            .then(|| (self.choice.clone(), Some(Value::Object(std::mem::take(&mut self.given)).to_string())))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_that_a_choice_needs_are_asked_for_one_by_one() {
        let body =
            json!({"about": "clarify", "questions": [{"id": "db", "text": "Which?"}, {"id": "who", "text": "Who?"}]});
        let body = body.as_object().expect("an object");
        assert!(Wanted::by("skip", None, body).is_none() && Wanted::by("submit", Some("x"), body).is_none());
        let mut wanted = Wanted::by("submit", None, body).expect("words are wanted");
        assert_eq!(wanted.hear(" SQLite \n"), None);
        assert_eq!(wanted.hear("\n"), Some(("submit".into(), Some(r#"{"db":"SQLite"}"#.into()))));
        let mut wanted = Wanted::by("tell", None, body).expect("words are wanted");
        assert_eq!(wanted.hear("  "), None);
        assert_eq!(wanted.hear("otherwise"), Some(("tell".into(), Some("otherwise".into()))));
    }
}
