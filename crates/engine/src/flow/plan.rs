//! Plans: shown to the user, and revised until they are approved.

use serde::Deserialize;
use serde_json::{Value, json};
use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{BugFact, Level, PlanFact, Stage};
use trimtab_vocab::wording::{AnswerLabel, Notice, QuestionTitle, StageLabel};
use trimtab_vocab::{Format, Mode, Plan, PlanStep, RequestId, SubtaskOffer, SubtaskStart};

use super::{FlowQuestion, FlowWait, edits, execute, object_in};
use crate::proposal::plan::{read, steps_apart};
use crate::questions::choice;
use crate::record::names::choice as choices;
use crate::record::{Flow, RunningRequest};
use crate::transition::{Next, Transition};

pub(crate) use crate::record::names::choice::{APPROVE, CANCEL, MODIFY, REPLAN};

pub(crate) use crate::record::names::bug::UNREADABLE;
/// How often the model gets this reminder.
const COMPLAINTS: u32 = 2;

/// The form of a plan, for models without tools.
pub(crate) const FORM: &str = r#"You are Trimtab, a copilot for people who work with files, commands and tasks. You plan; nothing is changed or run, and you have no tools.
Answer with one JSON object of this type and nothing else:
{thought: string, summary: string, steps: {title: string, details: string, files: string[], commands: string[], dependsOn: number[]}[], assumptions: string[]}
thought is one short sentence on what the request needs. dependsOn holds the numbers of earlier steps that must end first; the first step has none. A list may be empty. If the user only asks something, leave steps empty and answer in summary."#;

/// The form of a plan, where a server can hold a model to one.
pub(crate) fn format() -> Format {
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": text});
    let step = json!({
        "type": "object",
        "properties": {
            "title": text, "details": text, "files": texts, "commands": texts,
            "dependsOn": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["title", "details", "files", "commands", "dependsOn"],
        "additionalProperties": false,
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "thought": text, "summary": text, "steps": {"type": "array", "items": step}, "assumptions": texts,
        },
        "required": ["thought", "summary", "steps", "assumptions"],
        "additionalProperties": false,
    });
    Format::Schema { name: "plan".into(), schema }
}

/// A plan was made.
pub(crate) fn propose(step: &mut Transition<'_>, request: &RequestId, plan: Plan, by: &str) {
    let version = step.session.unfinished(request).map_or(0, |active| active.flow.version) + 1;
    step.emit(Some(request), PlanFact::Proposed { version, plan, by: by.into() });
}

/// Shows the plan and asks, unless it may be carried out at once.
pub(super) fn present(step: &mut Transition<'_>) -> FlowWait {
    let Some(active) = step.session.active() else { return FlowWait::Waits };
    let request = active.request.id.clone();
    let by_mode = active.request.mode == Mode::Plan;
    let flow = &active.flow;
    let (version, Some(plan)) = (flow.version, flow.plan.clone()) else { return FlowWait::Waits };
    let by = flow.approval.as_ref().map(|approval| approval.by.clone()).or_else(|| {
        // Who chose to plan leaves it by their own word alone.
        (!by_mode && !active.request.settings.copilot.plan_approval).then(|| "setting".to_owned())
    });
    if by.is_some() && wants_subtasks(active, &plan) {
        step.then(Next::PlanAsSubtasks);
        return FlowWait::Waits;
    }
    if let Some(by) = by {
        if asked_for_subtasks(active) && steps_apart(&plan) < APART {
            step.notify(&request, Level::Info, Notice::PlanNotApart);
        }
        step.emit(Some(&request), PlanFact::Started { version, by });
        execute::tell_progress(step, &request);
        return FlowWait::Settled;
    }
    let offers_subtasks = active.request.settings.subtasks.offer == SubtaskOffer::Ask && can_run_apart(active, &plan);
    let Plan { summary, steps: planned, assumptions } = plan;
    let title = match (planned.len(), version) {
        (1, 1) => QuestionTitle::PlanOfOne,
        (1, version) => QuestionTitle::PlanOfOneAgain(version),
        (steps, 1) => QuestionTitle::Plan(steps),
        (steps, version) => QuestionTitle::PlanAgain(steps, version),
    };
    step.enter(&request, Stage::Planning, StageLabel::WaitingForPlan);
    let mut choices = vec![choice(APPROVE, AnswerLabel::Approve)];
    choices.extend(offers_subtasks.then(|| choice(choices::SUBTASKS, AnswerLabel::RunAsSubtasks)));
    choices.extend([
        choice(MODIFY, AnswerLabel::Modify),
        choice(REPLAN, AnswerLabel::Replan),
        choice(CANCEL, AnswerLabel::Cancel),
    ]);
    let asking = FlowQuestion {
        ask: Ask::Plan { version, summary, steps: planned, assumptions },
        title,
        choices,
        approving: (!by_mode).then_some(APPROVE),
    };
    super::ask(step, asking)
}

/// Steps that can run at the same time from which on a plan is offered as sub-tasks.
const APART: usize = 3;

fn can_run_apart(active: &RunningRequest, plan: &Plan) -> bool {
    active.may_use_workers() && active.subtasks.is_none() && steps_apart(plan) >= APART
}

/// Whether the request itself asks for sub-tasks.
fn asked_for_subtasks(active: &RunningRequest) -> bool {
    active.request.settings.subtasks.start.is_some_and(|start| start != SubtaskStart::Off)
}

/// Whether an approved plan runs as sub-tasks: by the user's choice or by the setting.
fn wants_subtasks(active: &RunningRequest, plan: &Plan) -> bool {
    let by_setting = active.request.settings.subtasks.offer == SubtaskOffer::Auto;
    (active.flow.wants_subtasks() || asked_for_subtasks(active) || by_setting) && can_run_apart(active, plan)
}

/// The canonical answer to a plan. `reject` comes with what is wanted next, as `{"next":"cancel"}` or
/// `{"next":"replan","text":"…"}`; plain text is the reason for another plan. Any other `next` is not an answer.
pub(crate) fn canonical(choice: String, text: Option<String>) -> (String, Option<String>) {
    #[derive(Deserialize)]
    struct Rejection {
        next: String,
        #[serde(default)]
        text: Option<String>,
    }
    // Either of the two, as `next` says: the one word for both that simpler dialogs have.
    if choice != choices::REJECT {
        return (choice, text);
    }
    match text.as_deref().map(serde_json::from_str) {
        Some(Ok(Rejection { next, text })) if next == REPLAN || next == CANCEL => (next, text),
        Some(Ok(_)) => (choice, text),
        Some(Err(_)) | None => (REPLAN.into(), text),
    }
}

/// Whether an edit is a list or operations, and not words.
pub(crate) fn is_structured(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<Value>(text).is_ok()
}

/// The user has edited the plan themselves: that is the next version.
pub(super) fn modified(step: &mut Transition<'_>, request: &RequestId, text: &str) {
    if !is_structured(text) {
        return;
    }
    let plan = step.session.unfinished(request).and_then(|active| active.flow.plan.clone());
    if let Some(plan) = plan.and_then(|plan| edits::apply(&plan, text).ok()) {
        propose(step, request, plan, "user");
    }
}

/// The message to the model when the user wants another plan.
pub(crate) fn sent_back(flow: &Flow, choice: &str, text: Option<&str>) -> String {
    let so_far = flow.plan.as_ref().map(outline).unwrap_or_default();
    let version = flow.version;
    match (choice, text) {
        (MODIFY, Some(words)) => format!(
            "[The user wants version {version} of the plan changed:]\n{words}\n[Change what they say and leave the rest. \
             Propose the whole plan again. Version {version} was:]\n{so_far}"
        ),
        (_, reason) => {
            let reason = reason.map(|reason| format!(" They say: {reason}")).unwrap_or_default();
            format!(
                "[The user does not want version {version} of the plan.{reason}]\n[Find another way and propose a \
                 different plan. Version {version} was:]\n{so_far}"
            )
        }
    }
}

/// A plan in a few lines.
pub(super) fn outline(plan: &Plan) -> String {
    let line = |(number, step): (usize, &PlanStep)| format!("{}. {}", number + 1, step.title);
    plan.steps.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

/// The model has planned in text. A model without tools answers in the fixed form; another one is asked to propose
/// its plan with the tool. Text without a plan is an answer. Returns whether something else follows.
pub(super) fn in_words(step: &mut Transition<'_>, words: &str) -> bool {
    let Some(active) = step.session.active() else { return false };
    let request = active.request.id.clone();
    let (has_tools, complaints) = (active.has_tools(), active.flow.complaints);
    let wanted = active.request.mode != Mode::Plan;
    if !has_tools && let Some(Ok(plan)) = object_in(words, |value| read(value, &[])) {
        propose(step, &request, plan, "model");
        step.then(Next::Turn);
        return true;
    }
    let wrong = match object_in(words, |value| read(value, &[])) {
        Some(Err(wrong)) if !has_tools => Some(wrong),
        _ if is_listed(words) || (wanted && complaints == 0) => Some("no plan was proposed.".to_owned()),
        _ => None,
    };
    let Some(wrong) = wrong.filter(|_| complaints < COMPLAINTS) else { return false };
    let how = match has_tools {
        true => "Call propose_plan with its steps",
        false => "Answer with the JSON object and nothing else",
    };
    step.emit(Some(&request), BugFact { kind: UNREADABLE.into(), by: "engine".into(), message: wrong.clone() });
    super::nudge(step, &request, &format!("[{wrong} {how}; if there is nothing to do, just answer.]"));
    true
}

/// What a model says that answers in the form of a plan and finds nothing to plan. A plan beside it is taken instead.
pub(super) fn answer_in(words: &str) -> Option<String> {
    let answer = |value: &Value| {
        let is_empty = value.get("steps").and_then(Value::as_array).is_some_and(Vec::is_empty);
        let summary = value.get("summary").and_then(Value::as_str).map(str::trim).filter(|summary| !summary.is_empty());
        summary.filter(|_| is_empty).map(str::to_owned).ok_or_else(String::new)
    };
    match object_in(words, |value| read(value, &[])) {
        Some(Ok(_)) => None,
        _ => object_in(words, answer)?.ok(),
    }
}

/// Whether a text has a numbered list: a plan that was described and not proposed.
fn is_listed(words: &str) -> bool {
    let numbered = |wanted: usize| {
        let begins = |line: &str| {
            let rest = line.trim_start_matches([' ', '*', '#', '-']).strip_prefix(&wanted.to_string());
            rest.is_some_and(|rest| rest.starts_with(['.', ')', ':']))
        };
        words.lines().any(begins)
    };
    numbered(1) && numbered(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_says_what_comes_next() {
        let read = |choice: &str, text: Option<&str>| canonical(choice.into(), text.map(str::to_owned));
        let some = |choice: &str, text: &str| (choice.to_owned(), Some(text.to_owned()));
        assert_eq!(read("reject", None), ("replan".into(), None));
        assert_eq!(read("reject", Some("too slow")), some("replan", "too slow"));
        assert_eq!(read("reject", Some(r#"{"next":"cancel"}"#)), ("cancel".into(), None));
        assert_eq!(read("reject", Some(r#"{"next":"replan","text":"too slow"}"#)), some("replan", "too slow"));
        assert_eq!(read("reject", Some(r#"{"next":"approve"}"#)).0, "reject", "which is none of the choices");
        assert_eq!(read("modify", Some(r#"{"next":"cancel"}"#)).0, "modify");
    }

    #[test]
    fn a_plan_without_steps_is_its_summary() {
        let empty = r#"{"thought":"a question","summary":"It sets 8080.","steps":[],"assumptions":[]}"#;
        assert_eq!(answer_in(empty).as_deref(), Some("It sets 8080."));
        assert_eq!(answer_in(&format!("```json\n{empty}\n```")).as_deref(), Some("It sets 8080."));
        for words in [
            r#"{"summary":"","steps":[]}"#,
            r#"{"summary":"Two steps","steps":["Look","Write"]}"#,
            &format!(r#"{empty} {{"summary":"One step","steps":["Look"]}}"#),
            "It sets 8080.",
        ] {
            assert_eq!(answer_in(words), None, "{words}");
        }
    }

    #[test]
    fn a_list_in_words_is_told_from_an_answer() {
        assert!(is_listed("The plan:\n1. Look\n2. Write"));
        assert!(is_listed("**1)** no\n 1) a\n 2) b"));
        assert!(!is_listed("It takes 1. or 2. steps."));
        assert!(!is_listed("1. only one"));
    }
}
