//! Questions, plans and steps in words.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use trimtab_vocab::event::CheckpointFact;
use trimtab_vocab::{Event, Fact, PlanStep, Question, Requirements, Visible};

use super::{fold_blank_lines, permission};

/// What a person should know before they answer, a line each.
pub(crate) fn details(event: &Event) -> Vec<String> {
    let Fact::Checkpoint(CheckpointFact::Opened { body, .. }) = &event.fact else { return Vec::new() };
    let text = |name: &str| body.get(name).and_then(|value| value.as_str());
    let mut lines = Vec::new();
    if let Some(old) = text("editedFrom") {
        lines.push(permission::edited_from(old));
    }
    lines.extend(text("sign").map(permission::sign_of_sandbox));
    lines.extend(place(body));
    for listed in body.get("commands").and_then(|list| list.as_array()).into_iter().flatten() {
        let field = |name: &str| listed.get(name).and_then(|value| value.as_str()).unwrap_or_default();
        let note = match field("decision") {
            "auto" => String::new(),
            "deny" => format!("  (will be refused: {})", field("reason")),
            _ => format!("  (will be asked about: {})", field("reason")),
        };
        lines.push(format!("  {}{note}", field("shown")));
    }
    let remaining = remaining(body);
    match text("reason") {
        Some(reason) if !remaining.is_empty() => {
            lines.push(format!("The model says: {reason}"));
            lines.push(format!("Next: {}", remaining.join(", ")));
        }
        _ => lines.extend(reason(body)),
    }
    let limit = body.get("timeoutS").and_then(|value| value.as_u64()).filter(|_| text("reason").is_some());
    lines.extend(limit.map(permission::longer_limit));
    lines.extend(text("ruleText").map(permission::rule_of_always));
    if let (Some(hunks), Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. })) =
        (body.get("hunks").and_then(|hunks| hunks.as_u64()), &event.fact)
    {
        lines.extend(permission::parts_by_shell(checkpoint, hunks));
    }
    if body.contains_key("fingerprint") && text("about") == Some("tool") {
        lines.push(permission::OTHER_COMMAND.to_owned());
    }
    lines.extend(of_flow(body));
    lines
}

/// What must be in sight whatever else has to go: why it is asked, and where and how it would run.
pub(crate) fn reasons(body: &Map<String, Value>) -> Vec<String> {
    reason(body).into_iter().chain(place(body)).collect()
}

/// Why it is asked.
fn reason(body: &Map<String, Value>) -> Option<String> {
    let reason = body.get("reason").and_then(Value::as_str).filter(|_| remaining(body).is_empty())?;
    Some(permission::because(reason))
}

fn remaining(body: &Map<String, Value>) -> Vec<String> {
    let remaining = body.get("remaining").and_then(|list| list.as_array()).into_iter().flatten();
    remaining.filter_map(|one| Some(format!("`{}`", one.as_str()?))).collect()
}

/// The folder of a command, and what it can reach.
fn place(body: &Map<String, Value>) -> Option<String> {
    let plan = body.get("plan")?;
    let field = |name: &str| plan.get(name).and_then(|value| value.as_str()).unwrap_or_default();
    Some(permission::place(field("cwd"), field("sandbox"), plan.get("terminal").is_some()))
}

/// The question in lines. Only a command keeps its line ends, and long runs of blank ones are counted.
pub(crate) fn title(title: &str, body: &Map<String, Value>) -> String {
    match body.contains_key("fingerprint") {
        true => fold_blank_lines(title),
        false => Visible::line(title).into(),
    }
}

/// What a person should see before they answer, a line each.
fn of_flow(body: &Map<String, Value>) -> Vec<String> {
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
        Some("stepBefore" | "stepFailed" | "instructions") => {
            let details: String = field(body, "details").unwrap_or_default();
            details.lines().map(|line| format!("  {line}")).collect()
        }
        _ => Vec::new(),
    }
}

fn field<T: DeserializeOwned>(body: &Map<String, Value>, name: &str) -> Option<T> {
    T::deserialize(body.get(name)?).ok()
}

pub(crate) fn questions(body: &Map<String, Value>) -> Vec<Question> {
    field(body, "questions").unwrap_or_default()
}

pub(crate) fn asked(question: &Question, number: usize) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(body: Value) -> String {
        of_flow(body.as_object().expect("an object")).join("\n")
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
}
