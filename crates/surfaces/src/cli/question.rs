//! A question at the terminal, from its choices to the answer, line by line.

use serde_json::{Map, Value};
use tokio::time::Instant;
use trimtab_vocab::Question;
use trimtab_vocab::checkpoint::{Ask, Choice, ChoiceRole, ChoiceText};
use trimtab_vocab::wording::permission;

use super::keyboard::{self, QUIET};
use super::output::note;
use crate::words::{answers, asked, text_label};

/// What a person chose, and the words with it.
pub(super) type ChosenAnswer = (String, Option<String>);

/// A question that a person is answering.
pub(super) struct Answering {
    choices: Vec<Choice>,
    ask: Ask,
    /// A number means one of the choices.
    by_number: bool,
    /// A choice is made, and the words that it needs are still to be said.
    wanted: Option<AnswerText>,
    /// An answer that makes a rule, until the person has confirmed the rule.
    unconfirmed: Option<ChosenAnswer>,
    /// Lines count from then on.
    ready_at: Instant,
    is_ready: bool,
}

impl Answering {
    /// Lists the choices. After a question that was answered elsewhere, a number on its way to it must not be taken
    /// for an answer to this one; a name can hardly be.
    pub(super) fn begin(choices: &[Choice], ask: &Ask, by_number: bool) -> Self {
        let answering = Self {
            choices: choices.to_vec(),
            ask: ask.clone(),
            by_number,
            wanted: None,
            unconfirmed: None,
            ready_at: Instant::now() + QUIET,
            is_ready: false,
        };
        answering.list();
        answering
    }

    fn list(&self) {
        for (at, choice) in self.choices.iter().enumerate() {
            let letter = answers::letter(&self.choices, at).map(|letter| format!("{letter}, ")).unwrap_or_default();
            let number =
                if self.by_number { format!("{}  ", answers::number(&self.choices, at)) } else { String::new() };
            let letter = if self.by_number { letter } else { String::new() };
            note(&format!("  {number}{} ({letter}{})", choice.label, choice.id));
        }
    }

    fn prompt(&self) {
        note(match self.by_number {
            true => "Enter a number or a word in parentheses:",
            false => "Enter a word in parentheses:",
        });
    }

    /// The answer, as soon as it is complete; none at the end of input, which is no answer. May be dropped and called
    /// again.
    pub(super) async fn answer(&mut self) -> Option<ChosenAnswer> {
        if !self.is_ready {
            // What was typed before the question was there is dropped, because it was meant for something else.
            tokio::time::sleep_until(self.ready_at).await;
            keyboard::discard();
            self.is_ready = true;
            self.prompt();
        }
        loop {
            let line = keyboard::line().await?;
            if let Some(said) = self.hear(&line) {
                return Some(said);
            }
        }
    }

    fn hear(&mut self, line: &str) -> Option<ChosenAnswer> {
        if let Some(said) = self.unconfirmed.take() {
            if matches!(line.trim(), "yes" | "y") {
                return Some(said);
            }
            note("No rule added.");
            self.again();
            return None;
        }
        let said = match &mut self.wanted {
            Some(wanted) => wanted.hear(line),
            None => match chosen(&self.choices, line, self.by_number) {
                Some((choice, words)) => {
                    self.wanted = AnswerText::needed(choice, words.as_deref(), &self.ask);
                    self.wanted.is_none().then_some((choice.id.clone(), words))
                }
                None => {
                    note("Not one of the choices:");
                    self.again();
                    return None;
                }
            },
        };
        let Some((choice, words)) = said else {
            self.wanted.iter().for_each(AnswerText::ask);
            return None;
        };
        if let Some(makes_rule) = self.choices.iter().find(|known| known.id == choice && known.confirm) {
            let rule = answers::rule_text(&self.ask, makes_rule, words.as_deref());
            note(&permission::adds_rule(&rule.unwrap_or_else(|| choice.clone())));
            makes_rule.covers.iter().filter(|_| words.is_none()).for_each(|covers| note(&format!("  {covers}")));
            note("Type yes to add it, or press Enter to go back:");
            self.unconfirmed = Some((choice, words));
            return None;
        }
        Some((choice, words))
    }

    fn again(&self) {
        self.list();
        self.prompt();
    }
}

/// The choice that a line names, and the words after it.
fn chosen<'a>(choices: &'a [Choice], line: &str, by_number: bool) -> Option<(&'a Choice, Option<String>)> {
    let (first, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
    // `e` and a command: allow, but run that one.
    let edits = |choice: &&Choice| first == "e" && !rest.trim().is_empty() && choice.role == ChoiceRole::AllowOnce;
    let mut letters = first.chars();
    let key = letters.next().filter(|_| by_number && letters.next().is_none());
    let by_key = key.and_then(|key| choices.get(answers::by_key(choices, key)?));
    let named = || choices.iter().find(|choice| choice.id == first).or_else(|| choices.iter().find(edits));
    let choice = by_key.or_else(named)?;
    Some((choice, Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty())))
}

/// The words that a choice needs, line by line: to several questions, an answer to each.
struct AnswerText {
    choice: String,
    label: &'static str,
    questions: Vec<Question>,
    given: Map<String, Value>,
    heard: usize,
}

impl AnswerText {
    /// What is still to be said after a choice and the words that came with it.
    fn needed(choice: &Choice, words: Option<&str>, ask: &Ask) -> Option<Self> {
        (choice.text == ChoiceText::Required && words.is_none()).then(|| Self {
            choice: choice.id.clone(),
            label: text_label(ask, choice),
            questions: ask.questions().to_vec(),
            given: Map::new(),
            heard: 0,
        })
    }

    /// Says what is wanted next.
    fn ask(&self) {
        match self.questions.get(self.heard) {
            Some(question) => asked(question, self.heard + 1).iter().for_each(|line| note(line)),
            None => note(&format!("{}, on one line:", self.label)),
        }
    }

    /// Takes a line; the answer, once it is complete. An empty line leaves a question unanswered.
    fn hear(&mut self, line: &str) -> Option<ChosenAnswer> {
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
        let ask: Ask = serde_json::from_value(
            json!({"about": "clarify", "questions": [{"id": "db", "text": "Which?"}, {"id": "who", "text": "Who?"}]}),
        )
        .expect("a question");
        let by = |id: &str, words: Option<&str>, ask: &Ask| AnswerText::needed(&Choice::new(id, id), words, ask);
        assert!(by("skip", None, &ask).is_none() && by("submit", Some("x"), &ask).is_none());
        let mut wanted = by("submit", None, &ask).expect("words are wanted");
        assert_eq!(wanted.hear(" SQLite \n"), None);
        assert_eq!(wanted.hear("\n"), Some(("submit".into(), Some(r#"{"db":"SQLite"}"#.into()))));
        let mut wanted = by("tell", None, &Ask::Tell).expect("words are wanted");
        assert_eq!(wanted.hear("  "), None);
        assert_eq!(wanted.hear("otherwise"), Some(("tell".into(), Some("otherwise".into()))));
    }

    #[test]
    fn a_form_of_always_shows_its_own_rule_before_it_is_given() {
        let rule: trimtab_vocab::Rule =
            serde_json::from_value(json!({"verdict": "allow", "tool": "run_command", "pattern": "cargo test *"}))
                .expect("a rule");
        let form = Choice {
            confirm: true,
            number: Some(5),
            rule: Some(rule),
            variant_of: Some("always".into()),
            ..Choice::new("always_prefix", "Always allow cargo test *")
        };
        let choices = [Choice::new("allow", "Allow this time"), form];
        let ask: Ask = serde_json::from_value(json!({"about": "tool", "call": "c1-1",
            "rule": {"verdict": "allow", "tool": "run_command", "pattern": "cargo test -q"}}))
        .expect("a question");
        let text = answers::rule_text(&ask, &choices[1], None);
        assert_eq!(text.as_deref(), Some("allow run_command: cargo test * (everywhere)"));
        let mut answering = Answering::begin(&choices, &ask, true);
        assert_eq!(answering.hear("5"), None);
        assert_eq!(answering.hear("yes"), Some(("always_prefix".into(), None)));
        assert_eq!(answering.hear("always_prefix"), None);
        assert_eq!(answering.hear(""), None, "an empty line adds no rule");
    }

    #[test]
    fn an_answer_that_makes_a_rule_is_given_only_after_the_rule_was_confirmed() {
        let choice = |(id, key): (&str, Option<char>)| Choice {
            key,
            confirm: matches!(id, "always" | "never"),
            ..Choice::new(id, id)
        };
        let choices = [("allow", Some('y')), ("always", Some('a')), ("wait", Some('n')), ("never", None)].map(choice);
        let ask: Ask = serde_json::from_value(json!({"about": "tool", "call": "c1-1",
            "rule": {"verdict": "allow", "tool": "run_command", "pattern": "make x"}}))
        .expect("a question");
        let mut answering = Answering::begin(&choices, &ask, true);
        assert_eq!(answering.hear("4"), None);
        assert_eq!(answering.hear("4"), None, "the same key again is no confirmation");
        assert_eq!(answering.hear("never"), None);
        assert_eq!(answering.hear("yes"), Some(("never".into(), None)));
        assert_eq!(answering.hear("1"), Some(("allow".into(), None)));
        assert_eq!(answering.hear("n not so"), Some(("wait".into(), Some("not so".into()))));
    }
}
