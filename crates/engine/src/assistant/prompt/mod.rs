//! The prompts. Texts of users and tasks are data in them: bounded, on one line or in JSON, so that a title cannot
//! pass for an instruction.

mod chat;
mod propose;
mod repair;
mod router;
mod summary;
#[cfg(test)]
mod tests;

use serde::Serialize;
use trimtab_vocab::{Annotated, Entities, Prior, Prompt, Said, TasksView, Where};

use crate::fragment::{self, Fragment};

pub(super) use propose::format;
pub(super) use summary::line as operation_line;

/// Turns that a model is shown.
pub(super) const TURNS: usize = 3;
/// Characters of one of them.
const TURN: usize = 1_000;
/// Bytes of the request.
const INSTRUCTION: usize = 8_000;
/// Bytes of one half of a prompt.
const HALF: usize = 256 * 1024;

/// The context of every prompt.
pub(super) struct PromptContext<'a> {
    pub(super) view: &'a TasksView,
    pub(super) turns: Vec<Said>,
    pub(super) instruction: &'a str,
    pub(super) clarify: Option<&'a Prior>,
    /// What the request is about, as far as the router or the user has said.
    pub(super) focus: Focus,
}

/// What a request is about.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Focus {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) category: Option<String>,
    #[serde(skip_serializing_if = "Entities::is_empty")]
    pub(super) entities: Entities,
    #[serde(rename = "where", skip_serializing_if = "Where::is_everything")]
    pub(super) filter: Where,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) missing: Vec<String>,
}

/// The two halves of a prompt: the instructions, and the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) system: String,
    pub(super) user: String,
}

impl Parts {
    /// As a model is sent it, with what is remembered of the user.
    pub(super) fn prompt(self, remembered: Fragment) -> Prompt {
        let (system, request) = (Fragment::stable("assistant", self.system, HALF), Fragment::request(self.user, HALF));
        fragment::prompt(&[system, remembered, request])
    }
}

/// Which path a request takes.
pub(super) fn route(scene: &PromptContext<'_>, recent: Option<&Where>) -> Parts {
    router::build(scene, recent)
}

/// An answer in words.
pub(super) fn chat(scene: &PromptContext<'_>) -> Parts {
    chat::build(scene)
}

/// Operations.
pub(super) fn propose(scene: &PromptContext<'_>, most: u32) -> Parts {
    propose::build(scene, most)
}

/// Operations in place of those that are wrong.
pub(super) fn repair(scene: &PromptContext<'_>, operations: &[Annotated], most: u32) -> Parts {
    repair::build(scene, operations, most)
}

/// The prompt for a summary of the operations.
pub(super) fn summary(scene: &PromptContext<'_>, operations: &[Annotated]) -> Parts {
    summary::build(scene, operations)
}

impl PromptContext<'_> {
    /// Stands early in every prompt.
    fn reminder(&self) -> String {
        let TasksView { today, timezone, .. } = self.view;
        format!(
            "Timezone reminder: today is {today} ({:?}) in {timezone}; every date is YYYY-MM-DD and every time HH:MM there.",
            today.weekday()
        )
    }

    fn today(&self) -> String {
        format!("Today: {} ({})", self.view.today, self.view.timezone)
    }

    /// The last turns, a line each.
    fn convo(&self) -> String {
        let turn = |said: &Said| format!("- {}: {}", role(&said.role), line(&said.text, TURN));
        self.turns.iter().map(turn).collect::<Vec<_>>().join("\n")
    }

    fn instruction(&self) -> String {
        fragment::capped(self.instruction.trim(), INSTRUCTION).into_owned()
    }

    fn tasks(&self) -> String {
        json(&self.view.shown)
    }

    fn prior(&self) -> Option<String> {
        let question = self.clarify.map(|prior| line(&prior.question, TURN)).filter(|question| !question.is_empty());
        question.map(|question| format!("Prior clarify question: {question}"))
    }
}

/// Only two speak.
fn role(role: &str) -> &'static str {
    if role.eq_ignore_ascii_case("assistant") { "assistant" } else { "user" }
}

/// A value as the model reads it.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A text of at most `most` characters, on one line.
pub(super) fn line(text: &str, most: usize) -> String {
    let is_between = |c: char| c.is_whitespace() || c.is_control();
    let words = text.split(is_between).filter(|word| !word.is_empty());
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > most * 4 {
            break;
        }
    }
    clipped(&line, most)
}

/// A text of at most `most` characters.
pub(super) fn clipped(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => text[..at].to_owned(),
        None => text.to_owned(),
    }
}
