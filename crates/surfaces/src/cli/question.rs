//! Questions, plans and steps in words, and the words that answer them at the terminal.

use std::io;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use trimtab_vocab::event::Choice;
use trimtab_vocab::{PlanStep, Question, Requirements};

use super::output::{calm, note};

/// What a person should see before they answer, a line each.
pub(super) fn lines(body: &Map<String, Value>) -> Vec<String> {
    match body.get("about").and_then(Value::as_str) {
        // One question alone is the title already.
        Some("clarify") => match questions(body).as_slice() {
            [one] => asked(one, 1).split_off(1),
            several => several.iter().zip(1..).flat_map(|(question, number)| asked(question, number)).collect(),
        },
        Some("plan") => plan(body),
        Some("understanding") => {
            let Requirements { requirements, decisions, open, .. } = field(body, "requirements").unwrap_or_default();
            let list = |what: &str, items: Vec<String>| {
                let items = items.into_iter().map(|item| format!("  - {item}"));
                let head = (items.len() > 0).then(|| format!("{what}:"));
                head.into_iter().chain(items).collect::<Vec<_>>()
            };
            [list("Requirements", requirements), list("Decided", decisions), list("Not decided yet", open)].concat()
        }
        Some("stepBefore" | "stepFailed") => {
            let details: String = field(body, "details").unwrap_or_default();
            details.lines().map(|line| format!("  {line}")).collect()
        }
        _ => Vec::new(),
    }
}

fn field<T: DeserializeOwned>(body: &Map<String, Value>, name: &str) -> Option<T> {
    T::deserialize(body.get(name)?).ok()
}

fn questions(body: &Map<String, Value>) -> Vec<Question> {
    field(body, "questions").unwrap_or_default()
}

fn asked(question: &Question, number: usize) -> Vec<String> {
    let mut lines = vec![format!("{number}. {}", question.text)];
    lines.extend(question.options.iter().map(|option| format!("     {}  {}", option.id, option.title)));
    if question.several {
        lines.push("     (several may be chosen, with commas between them)".into());
    }
    lines
}

fn plan(body: &Map<String, Value>) -> Vec<String> {
    let mut lines = Vec::new();
    let summary: String = field(body, "summary").unwrap_or_default();
    lines.extend(Some(summary).filter(|summary| !summary.is_empty()));
    let steps: Vec<PlanStep> = field(body, "steps").unwrap_or_default();
    for (number, step) in steps.iter().enumerate() {
        let estimate = step.estimate.as_ref().map(|estimate| format!(" ({estimate})")).unwrap_or_default();
        lines.push(format!("{}. {}{estimate}", number + 1, step.title));
        lines.extend(step.details.lines().map(|line| format!("     {line}")));
        for (what, list) in [("files", &step.files), ("commands", &step.commands)] {
            lines.extend((!list.is_empty()).then(|| format!("     {what}: {}", list.join(", "))));
        }
        let before = step.depends_on.iter().filter_map(|id| steps.iter().position(|other| other.id == *id));
        let before: Vec<String> = before.map(|at| (at + 1).to_string()).collect();
        let word = if before.len() == 1 { "step" } else { "steps" };
        lines.extend((!before.is_empty()).then(|| format!("     after {word} {}", before.join(", "))));
    }
    let assumptions: Vec<String> = field(body, "assumptions").unwrap_or_default();
    lines.extend(assumptions.iter().map(|assumption| format!("Assumed: {assumption}")));
    lines
}

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
            Some(question) => asked(question, self.heard + 1).iter().for_each(|line| note(&calm(line))),
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

    fn shown(body: Value) -> String {
        lines(body.as_object().expect("an object")).join("\n")
    }

    #[test]
    fn a_plan_is_readable() {
        let body = json!({"about": "plan", "summary": "A log-in.", "assumptions": ["SQLite"], "steps": [
            {"id": "s1", "title": "Write it", "details": "With care.", "files": ["a.rs", "b.rs"], "estimate": "5 min"},
            {"id": "s2", "title": "Test it", "commands": ["cargo test"], "dependsOn": ["s1"]}]});
        insta::assert_snapshot!(shown(body), @r"
        A log-in.
        1. Write it (5 min)
             With care.
             files: a.rs, b.rs
        2. Test it
             commands: cargo test
             after step 1
        Assumed: SQLite
        ");
    }

    #[test]
    fn questions_are_readable() {
        let body = json!({"about": "clarify", "questions": [{"id": "db", "text": "Which database?"}, {"id": "auth",
            "text": "Which log-ins?", "several": true, "options": [{"id": "g", "title": "Google"}]}]});
        insta::assert_snapshot!(shown(body), @r"
        1. Which database?
        2. Which log-ins?
             g  Google
             (several may be chosen, with commas between them)
        ");
        let one = json!({"about": "clarify", "questions": [{"id": "auth", "text": "Which log-in?",
            "options": [{"id": "g", "title": "Google"}, {"id": "h", "title": "GitHub"}]}]});
        assert_eq!(shown(one), "     g  Google\n     h  GitHub", "its text is the title");
    }

    #[test]
    fn what_is_not_as_expected_shows_nothing() {
        assert_eq!(shown(json!({"about": "plan", "steps": 7})), "");
        assert_eq!(shown(json!({"about": "budget"})), "");
    }

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
