//! Texts for questions, plans, and steps.

use trimtab_vocab::checkpoint::{
    Ask, Choice, ChoiceRole, ChoiceText, CommandDecision, CommandsAsk, ElicitationAsk, PermissionAsk,
};
use trimtab_vocab::format;
use trimtab_vocab::wording::permission;
use trimtab_vocab::{ApprovalClass, CheckpointId, HostAttempt, PlanStep, Question, Requirements, Visible};

use super::{fold_blank_lines, subtasks};

/// What a person should know before they answer, a line each.
pub(crate) fn details(ask: &Ask) -> Vec<String> {
    let mut lines = Vec::new();
    match ask {
        Ask::Permission(asked) => {
            lines.extend(server_arguments(asked));
            lines.extend(asked.edited_from.as_deref().map(permission::edited_from));
            lines.extend(place(ask));
            lines.extend(reason(ask));
            lines.extend(asked.timeout_s.map(permission::longer_limit));
        }
        Ask::Trust { .. } => lines.push(permission::LINES.unread.to_owned()),
        Ask::Outside(asked) => {
            lines.extend(asked.hosts.iter().map(blocked_host));
            lines.extend((!asked.sign.is_empty()).then(|| permission::sign_of_sandbox(&asked.sign)));
            lines.extend(place(ask));
        }
        Ask::Commands(CommandsAsk::Offered { commands }) => lines.extend(commands.iter().map(|offered| {
            let note = match offered.decision {
                CommandDecision::Auto => String::new(),
                CommandDecision::Deny => format!("  (denied: {})", offered.reason),
                CommandDecision::Ask => format!("  (asks first: {})", offered.reason),
            };
            format!("  {}{note}", offered.shown)
        })),
        Ask::Commands(CommandsAsk::Paused { reason, remaining }) => {
            let remaining: Vec<String> = remaining.iter().map(|command| format!("`{command}`")).collect();
            lines.push(format!("The model says: {reason}"));
            lines.extend((!remaining.is_empty()).then(|| format!("Next: {}", remaining.join(", "))));
        }
        // One question alone is the title already.
        Ask::Clarification { questions, .. } => match questions.as_slice() {
            [one] => lines.extend(asked(one, 1).into_iter().skip(1)),
            several => lines.extend(several.iter().zip(1..).flat_map(|(question, number)| asked(question, number))),
        },
        Ask::Elicitation(asked_by) => lines.extend(elicitation(asked_by)),
        Ask::Plan { summary, steps, assumptions, .. } => lines.extend(plan(summary, steps, assumptions)),
        Ask::Breakdown { options, suggested, reason, .. } => {
            lines.extend(subtasks::breakdown(options, *suggested, reason));
        }
        Ask::SubtaskPlan { plan, strategies, .. } => lines.extend(subtasks::execution(plan, strategies)),
        Ask::SubtaskFailed { dependents, .. } if !dependents.is_empty() => {
            lines.push(format!("Skipping it also skips: {}", dependents.join("; ")));
        }
        Ask::MergeConflict { conflict, remaining, .. } => {
            lines.extend(subtasks::conflict(conflict));
            match remaining {
                0 => {}
                1 => lines.push("1 more conflict follows.".to_owned()),
                more => lines.push(format!("{more} more conflicts follow.")),
            }
        }
        Ask::MergeBlocked { obstacle, .. } => lines.extend(subtasks::obstacle(obstacle)),
        Ask::Understanding { requirements } => lines.extend(understood(requirements)),
        Ask::StepBefore(step) | Ask::StepFailed(step) => lines.extend(indented(&step.details)),
        Ask::Instructions { details, .. } => lines.extend(indented(details)),
        _ => {}
    }
    lines
}

/// What an MCP server would get: every argument whole, because a person approves what they see. Further lines of a value
/// are marked, so that they do not pass for arguments.
fn server_arguments(asked: &PermissionAsk) -> Vec<String> {
    let fields = asked.input.as_object().filter(|_| asked.class == Some(ApprovalClass::ServerCall));
    let shown = |(name, value): (&String, &serde_json::Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let value = Visible::command(&value).as_str().replace('\n', "\n    | ");
        let argument = format!("  {}: {value}", super::command_line(name));
        argument.split('\n').map(str::to_owned).collect::<Vec<_>>()
    };
    fields.into_iter().flatten().flat_map(shown).collect()
}

/// A host that a command tried to reach, with what its address says.
fn blocked_host(attempt: &HostAttempt) -> String {
    let HostAttempt { host, port, address, .. } = attempt;
    let host = super::command_line(host);
    match (address, attempt.range()) {
        (Some(address), Some(range)) => format!("  {host}:{port} resolves to {address} ({range})"),
        (None, Some(range)) => format!("  {host}:{port} ({range})"),
        _ => format!("  {host}:{port}"),
    }
}

/// What can be done from a shell beyond choosing an answer, a line each.
pub(crate) fn shell_hints(checkpoint: &CheckpointId, ask: &Ask) -> Vec<String> {
    if let Ask::Outside(asked) = ask {
        return asked.rule_text.as_deref().map(permission::rule_of_always).into_iter().collect();
    }
    let Some(PermissionAsk { rule_text, hunks, fingerprint, .. }) = ask.permission() else { return Vec::new() };
    let mut lines = Vec::new();
    lines.extend(rule_text.as_deref().map(permission::rule_of_always));
    lines.extend(hunks.iter().flat_map(|hunks| permission::parts_by_shell(checkpoint, *hunks)));
    if fingerprint.is_some() {
        lines.push(permission::OTHER_COMMAND.to_owned());
    }
    lines
}

/// What must be in sight whatever else has to go: why it is asked, and where and how it would run.
pub(crate) fn reasons(ask: &Ask) -> Vec<String> {
    reason(ask).into_iter().chain(place(ask)).chain(background(ask)).collect()
}

/// A command that continues after its call has ended.
fn background(ask: &Ask) -> Option<String> {
    ask.run().filter(|run| run.background).map(|_| IN_BACKGROUND.to_owned())
}

/// What a command in the background means.
const IN_BACKGROUND: &str = "Runs in the background until it ends, you stop it, or the session ends.";

/// Why it is asked.
fn reason(ask: &Ask) -> Option<String> {
    ask.permission()?.reason.as_deref().map(permission::because)
}

/// The folder of a command, and what it can reach.
fn place(ask: &Ask) -> Option<String> {
    let run = ask.run()?;
    Some(permission::place(&run.cwd, run.sandbox, run.terminal))
}

/// The question in lines. Only a command keeps its line ends, and long runs of blank ones are counted.
pub(crate) fn title(title: &str, ask: &Ask) -> String {
    match ask.fingerprint() {
        Some(_) => fold_blank_lines(title),
        // Its second line is about the answers.
        None if matches!(ask, Ask::Breakdown { .. } | Ask::SubtaskPlan { .. }) => match title.rsplit_once('\n') {
            Some((first, second)) => format!("{}\n{}", Visible::line(first), Visible::line(second)),
            None => Visible::line(title).into(),
        },
        None => Visible::line(title).into(),
    }
}

/// What is said above the text that goes with an answer.
pub(crate) fn text_label(ask: &Ask, choice: &Choice) -> &'static str {
    match (ask, choice.role) {
        (Ask::Permission(_), ChoiceRole::AllowOnce) => permission::RUN_INSTEAD,
        (Ask::Permission(_), ChoiceRole::AllowAlways) => permission::RULE_ALLOWS,
        (Ask::Plan { .. }, ChoiceRole::Secondary) => "What to change",
        (Ask::Budget { .. }, _) => "New budget in dollars",
        (Ask::Question { .. } | Ask::Clarification { .. } | Ask::Elicitation(_), _) => "Your answer",
        (Ask::Satisfaction { .. }, _) => "What to change",
        (Ask::SubtaskPlan { .. }, _) => {
            "One numbered line per sub-task, with optional lines files:, after:, and model: below it"
        }
        (Ask::SubtaskFailed { .. }, _) if choice.id == "retry_model" => "PROVIDER/NAME",
        (Ask::SubtaskFailed { .. }, _) => "The new instruction",
        (Ask::MergeConflict { .. }, _) => "The whole text of the file",
        _ if choice.text == ChoiceText::Required => "What to do instead",
        _ => "Your comment (optional)",
    }
}

/// The text that an answer in words starts from. A side of a conflict that is not shown whole would be saved cut off.
pub(crate) fn starting_text(ask: &Ask, choice: &Choice) -> Option<String> {
    match ask {
        Ask::SubtaskPlan { text, .. } if choice.text == ChoiceText::Required => Some(text.clone()),
        Ask::MergeConflict { conflict, .. } if choice.text == ChoiceText::Required && !conflict.partial => {
            Some(conflict.theirs.clone())
        }
        _ => None,
    }
}

/// The words of an MCP server, set off from our own.
pub(crate) fn server_says(asked_by: &ElicitationAsk) -> Vec<String> {
    asked_by.message.lines().map(|line| format!("  | {}", Visible::line(line))).collect()
}

/// What an MCP server asks. An address is shown whole.
fn elicitation(asked_by: &ElicitationAsk) -> Vec<String> {
    let mut lines = server_says(asked_by);
    if let Some(url) = &asked_by.url {
        lines.push("Open this address yourself if you trust it (Trimtab does not open it):".to_owned());
        lines.push(format!("  {}", Visible::line(url)));
    }
    lines.extend(asked_by.questions.iter().zip(1..).flat_map(|(question, number)| asked(question, number)));
    lines
}

fn indented(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(|line| format!("  {line}"))
}

fn understood(Requirements { requirements, decisions, open, .. }: &Requirements) -> Vec<String> {
    let list = |what: &str, items: &[String]| {
        let items = items.iter().map(|item| format!("  - {item}"));
        let head = (items.len() > 0).then(|| format!("{what}:"));
        head.into_iter().chain(items).collect::<Vec<_>>()
    };
    [list("Requirements", requirements), list("Decided", decisions), list("Not decided yet", open)].concat()
}

pub(crate) fn asked(question: &Question, number: usize) -> Vec<String> {
    let mut lines = vec![format!("{number}. {}", question.text)];
    lines.extend(question.options.iter().map(|option| format!("     {}  {}", option.id, option.title)));
    if question.several {
        lines.push("     (choose several by separating them with commas)".into());
    }
    lines
}

fn plan(summary: &str, steps: &[PlanStep], assumptions: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(Some(summary.to_owned()).filter(|summary| !summary.is_empty()));
    for (number, step) in steps.iter().enumerate() {
        let estimate = step.estimate.as_ref().map(|estimate| format!(" ({estimate})")).unwrap_or_default();
        lines.push(format!("{}. {}{estimate}", number + 1, step.title));
        lines.extend(step.details.lines().map(|line| format!("     {line}")));
        for (what, list) in [("files", &step.files), ("commands", &step.commands)] {
            lines.extend((!list.is_empty()).then(|| format!("     {what}: {}", list.join(", "))));
        }
        let before = step.depends_on.iter().filter_map(|id| steps.iter().position(|other| other.id == *id));
        let before: Vec<String> = before.map(|at| (at + 1).to_string()).collect();
        let word = format::verb(before.len(), "step", "steps");
        lines.extend((!before.is_empty()).then(|| format!("     after {word} {}", before.join(", "))));
    }
    lines.extend(assumptions.iter().map(|assumption| format!("Assumed: {assumption}")));
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn shown(ask: Value) -> String {
        details(&serde_json::from_value(ask).expect("any question is read")).join("\n")
    }

    #[test]
    fn a_plan_is_readable() {
        let body = json!({"about": "plan", "version": 1, "summary": "A log-in.", "assumptions": ["SQLite"], "steps": [
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
             (choose several by separating them with commas)
        ");
        let one = json!({"about": "clarify", "questions": [{"id": "auth", "text": "Which log-in?",
            "options": [{"id": "g", "title": "Google"}, {"id": "h", "title": "GitHub"}]}]});
        assert_eq!(shown(one), "     g  Google\n     h  GitHub", "its text is the title");
    }

    #[test]
    fn the_arguments_for_a_server_are_shown_whole() {
        let (long, input) = ("x".repeat(50_000), json!({"b": {"c": "d\u{202e}e"}}));
        let input = json!({"text": format!("one\n  path: two{long}"), "more": input});
        let call = trimtab_vocab::CallId::nth(1);
        let asked =
            PermissionAsk { class: Some(ApprovalClass::ServerCall), ..PermissionAsk::new(call, "mcp__a__b", input) };
        let lines = details(&Ask::Permission(Box::new(asked)));
        assert!(lines.contains(&"  text: one".to_owned()), "{lines:?}");
        assert!(lines.contains(&format!("    |   path: two{long}")), "a line of a value is not an argument");
        assert!(lines.contains(&r#"  more: {"b":{"c":"d⟨U+202E⟩e"}}"#.to_owned()), "{:?}", lines.last());
    }

    #[test]
    fn what_is_not_as_expected_shows_nothing() {
        assert_eq!(shown(json!({"about": "plan", "steps": 7})), "");
        assert_eq!(shown(json!({"about": "budget"})), "");
    }

    #[test]
    fn a_question_of_the_model_is_never_labelled_as_a_command() {
        let ask: Ask = serde_json::from_value(json!({"about": "question", "call": "c1-1"})).expect("a question");
        assert_eq!(text_label(&ask, &Choice::new("other", "Answer in text")), "Your answer");
    }
}
