//! From conversation to work: during a conversation, nothing is changed. When the user asks for it, the agreement is
//! written down, shown, planned, and implemented.

use serde::Deserialize;
use serde_json::Value;
use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{BugFact, IntentFact, RequirementsFact, RouteDecision, RouteFact, Stage, Status};
use trimtab_vocab::wording::{AnswerLabel, ProblemText, QuestionTitle, StageLabel};
use trimtab_vocab::{Mode, Problem, ProblemKind, Requirements, Role};

use super::{FlowQuestion, FlowWait, intent, line, object_in};
use crate::finish::finish;
use crate::questions;
use crate::record::names::choice as choices;
use crate::record::{RunningRequest, Session};
use crate::transition::{Next, Transition};

pub(crate) use crate::record::names::choice::TALK;

/// The bug of requirements that came in words of the model's own.
const UNREADABLE: &str = "requirements";

/// The model's instruction while the user discusses first.
pub(crate) const TALKING: &str = "\nThe user wants to discuss first. Do not start the work until they ask for it. Ask about open decisions that matter, one or two questions at a time. When the requirements are clear, summarize them, beginning with \"Here's what I understand:\", and say that \"go ahead\" starts the work.";

/// Who writes down what was agreed on.
pub(crate) const COMPILER: &str = r#"The user wants the discussed work done. Compile the conversation into requirements. Answer with one JSON object and nothing else:
{"summary":"what the user wants, in a few sentences","requirements":["one requirement each"],"decisions":["one decision of the user each, with names and numbers unchanged"],"open":["one open question each"]}
Include every decision of the user. Leave out what they rejected. Add nothing else."#;

/// What the model is asked at the end of the conversation.
pub(crate) const COMPILE: &str = "[Compile this conversation into requirements: the JSON object, and nothing else.]";

/// Items of a list, and characters of each.
const MOST: usize = 60;
const LONGEST: usize = 1_000;

/// What the router would be asked for nothing: the user talks, or wants what was talked about.
pub(crate) enum TalkOrWork {
    /// The path, and what was heard in the words.
    Path(Box<RouteFact>, Option<IntentFact>),
    /// It cannot be done.
    Refused(Problem),
}

/// Whether the request belongs to a conversation, and how it proceeds.
pub(crate) fn decide(session: &Session, active: &RunningRequest) -> Option<TalkOrWork> {
    let request = &active.request;
    let copilot = &request.settings.copilot;
    let talked = session.conversation().iter().any(|message| message.role == Role::Assistant);
    let wanted = request.mode == Mode::Implement;
    if wanted && !copilot.allow_execution_transition {
        let problem =
            Problem::new(ProblemKind::Settings, ProblemText::TransitionOff).hint(ProblemText::TransitionOffHint);
        return Some(TalkOrWork::Refused(problem));
    }
    if wanted && !talked {
        let problem =
            Problem::new(ProblemKind::Usage, ProblemText::NothingTalkedAbout).hint(ProblemText::NothingTalkedAboutHint);
        return Some(TalkOrWork::Refused(problem));
    }
    let by_setting = request.mode == Mode::Auto && copilot.conversational && !session.is_implementing();
    if !wanted && !by_setting && request.mode != Mode::Chat {
        return None;
    }
    let heard = intent::to_implement(&request.text, &copilot.triggers).filter(|_| talked);
    let intent = |phrase: &str, accepted: bool| IntentFact {
        intent: "implement".into(),
        phrase: phrase.into(),
        accepted,
        message: accepted.then(|| COMPILE.to_owned()),
    };
    Some(match heard {
        _ if wanted => {
            TalkOrWork::Path(Box::new(work(active, "the user asked to start the work")), Some(intent("", true)))
        }
        Some(phrase) if copilot.allow_execution_transition => {
            let reason = format!("the user said “{phrase}”: the discussed work starts");
            TalkOrWork::Path(Box::new(work(active, &reason)), Some(intent(phrase, true)))
        }
        heard => {
            let reason = match by_setting {
                true => "the user wants to discuss first",
                false => "the user chose chat mode",
            };
            TalkOrWork::Path(
                Box::new(path(RouteDecision::Chat, reason, &[])),
                heard.map(|phrase| intent(phrase, false)),
            )
        }
    })
}

fn work(active: &RunningRequest, reason: &str) -> RouteFact {
    match active.request.settings.copilot.enable_planning {
        true => path(RouteDecision::Plan, reason, &["files"]),
        false => path(RouteDecision::Direct, reason, &["files", "commands", "web"]),
    }
}

fn path(decision: RouteDecision, reason: &str, categories: &[&str]) -> RouteFact {
    RouteFact {
        decision,
        confidence: 1.0,
        complexity: 0,
        categories: categories.iter().map(|name| (*name).to_owned()).collect(),
        reason: reason.into(),
        entities: None,
        filter: None,
        category: None,
        analysis: None,
    }
}

/// Ends a request that cannot be.
pub(crate) fn refuse(step: &mut Transition<'_>, problem: Problem) {
    if let Some(request) = step.session.active().map(|active| active.request.id.clone()) {
        finish(step, &request, Status::Failed, Some(problem));
    }
}

/// The model has written down the agreement; or something else, which then replaces it.
pub(super) fn compiled(step: &mut Transition<'_>, words: &str) -> bool {
    let Some(request) = step.session.active().map(|active| active.request.id.clone()) else { return false };
    let requirements = match object_in(words, read) {
        Some(Ok(requirements)) => requirements,
        _ => {
            let message = "the model sent the requirements as text, not as JSON".into();
            step.emit(Some(&request), BugFact { kind: UNREADABLE.into(), by: "engine".into(), message });
            let summary = words.trim().chars().take(4_000).collect();
            Requirements { summary, ..Requirements::default() }
        }
    };
    step.emit(Some(&request), RequirementsFact { requirements });
    step.then(Next::Turn);
    true
}

fn read(value: &Value) -> Result<Requirements, String> {
    #[derive(Deserialize)]
    struct TalkReply {
        summary: String,
        #[serde(default)]
        requirements: Option<Vec<Value>>,
        #[serde(default)]
        decisions: Option<Vec<Value>>,
        #[serde(default)]
        open: Option<Vec<Value>>,
    }
    let written: TalkReply = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    let one = |value: &Value| match value {
        Value::String(text) => line(text, LONGEST),
        other => line(&other.to_string(), LONGEST),
    };
    let list = |items: Option<Vec<Value>>| {
        items.unwrap_or_default().iter().map(one).filter(|item| !item.is_empty()).take(MOST).collect()
    };
    Ok(Requirements {
        summary: written.summary.trim().chars().take(4_000).collect(),
        requirements: list(written.requirements),
        decisions: list(written.decisions),
        open: list(written.open),
    })
}

/// Shows what was understood, before anything is planned.
pub(super) fn confirm(step: &mut Transition<'_>) -> FlowWait {
    let Some(active) = step.session.active() else { return FlowWait::Waits };
    let request = active.request.id.clone();
    let Some(requirements) = active.flow.requirements.clone() else { return FlowWait::Waits };
    step.enter(&request, Stage::Clarifying, StageLabel::ShowingUnderstood);
    let asking = FlowQuestion {
        title: QuestionTitle::Understood(requirements.summary.clone()),
        ask: Ask::Understanding { requirements },
        choices: vec![
            questions::choice(choices::CONTINUE, AnswerLabel::GoAhead),
            questions::choice(choices::TELL, AnswerLabel::NotQuite),
            questions::choice(TALK, AnswerLabel::KeepTalking),
        ],
        approving: Some(choices::CONTINUE),
    };
    super::ask(step, asking)
}

/// The message to the model after a misunderstanding.
pub(crate) fn corrected(words: &str) -> String {
    format!("[This is not quite what the user wants. Their correction:]\n{words}\n{COMPILE}")
}

/// What was agreed on, as the planner and every step after it see it.
pub(crate) fn agreed(requirements: &Requirements) -> String {
    let mut text = format!("[The user agrees. The work to do:]\n{}", requirements.summary);
    for (what, list) in [
        ("Requirements", &requirements.requirements),
        ("Decided by the user", &requirements.decisions),
        ("Not decided; make a sensible assumption and state it", &requirements.open),
    ] {
        if !list.is_empty() {
            text.push_str(&format!("\n{what}:\n- {}", list.join("\n- ")));
        }
    }
    text
}
