//! The prompt for a summary of operations.

use serde_json::Value;
use trimtab_vocab::Annotated;

use super::{Parts, PromptContext, line as one_line};

const SYSTEM: &str = "You are a helpful assistant for a todo app. Keep answers concise and clear. Prefer 1–3 short \
sentences; allow a short paragraph when needed. No markdown, no lists, no JSON.";

pub(super) fn build(scene: &PromptContext<'_>, operations: &[Annotated]) -> Parts {
    let valid: Vec<String> = operations.iter().filter(|one| one.valid().is_some()).map(line).collect();
    let listed: Vec<String> = valid.iter().map(|line| format!("- {line}")).collect();
    let mut context = format!(
        "Conversation (last 3 turns):\n{}\n\n{}\nProposed operations (count: {}):\n{}",
        scene.convo(),
        scene.today(),
        valid.len(),
        listed.join("\n")
    );
    if let Some(scope) = scope(scene) {
        context.push_str(&format!("\nScope: {scope}"));
    }
    let user = format!("User instruction:\n{}", scene.instruction());
    let task = "Summarize the plan in plain English grounded in the proposed operations above. If there are no valid \
                operations, briefly explain and suggest what to clarify.";
    Parts { system: format!("{SYSTEM}\n{}", scene.reminder()), user: format!("{context}\n\n{user}\n\n{task}") }
}

/// What the router found grounds the words: "for today's tasks", "for priority high items".
fn scope(scene: &PromptContext<'_>) -> Option<String> {
    let focus = &scene.focus;
    let mut parts = Vec::new();
    if let Some(category) = &focus.category {
        parts.push(format!("category {category}"));
    }
    if let Some(date) = focus.entities.date {
        let today = if date == scene.view.today { " (today)" } else { "" };
        parts.push(format!("for {date}{today}"));
    }
    if let Some(priority) = focus.entities.priority.or(focus.filter.priority) {
        parts.push(format!("for priority {} items", priority.name()));
    }
    if let Some(text) = &focus.entities.text {
        parts.push(format!("about {}", super::json(&one_line(text, 60))));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// An operation in a line: what, which, when, how much it matters, whether it is done.
pub(in crate::assistant) fn line(annotated: &Annotated) -> String {
    let op = serde_json::to_value(&annotated.op).unwrap_or_default();
    let mut parts = vec![op["op"].as_str().unwrap_or("?").to_owned()];
    if let Some(id) = op["id"].as_u64() {
        parts.push(format!("#{id}"));
    }
    // A bulk operation has its fields in `set`.
    let fields = if op["set"].is_object() { &op["set"] } else { &op };
    if let Some(title) = fields["title"].as_str().filter(|title| !title.is_empty()) {
        parts.push(format!("“{}”", one_line(title, 60)));
    }
    match fields.get("scheduledFor") {
        Some(Value::String(date)) => parts.push(format!("@{date}")),
        Some(_) => parts.push("@unscheduled".into()),
        None => {}
    }
    if let Some(priority) = fields["priority"].as_str() {
        parts.push(format!("prio:{priority}"));
    }
    if let Some(completed) = fields["completed"].as_bool() {
        parts.push(if completed { "[done]" } else { "[undone]" }.into());
    }
    if let Some(date) = op["occurrenceDate"].as_str() {
        parts.push(format!("on {date}"));
    }
    if op["where"].is_object() {
        parts.push(format!("where {}", op["where"]));
    }
    parts.join(" ")
}
