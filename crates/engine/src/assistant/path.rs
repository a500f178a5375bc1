//! Which path a request about tasks takes, and which tasks it is about.

use serde_json::json;
use trimtab_vocab::event::{RouteDecision, RouteFact};
use trimtab_vocab::wording::OwnWords;
use trimtab_vocab::{Analysis, Entities, Mode, Question, Where};

use super::gate::{self, Case};
use super::snapshot::TaskSelection;
use super::verdict::{self, RouterVerdict};
use super::{audit, clarify, go_on, scope};
use crate::record::{Assist, RunningRequest, Session, is_same_question};
use crate::route;
use crate::transition::Transition;

/// Marks a route as one about tasks.
pub const TASKS: &str = "tasks";
/// Questions of one request; then its words are taken as they are.
const QUESTIONS: u32 = 3;
/// A request of at most this many words may mean what was confirmed before it.
const SHORT: usize = 6;

/// Whether a model is asked which path it is.
pub(super) fn needs_a_look(active: &RunningRequest) -> bool {
    let chosen = active
        .assist
        .as_ref()
        .and_then(|assist| assist.clarify.as_ref())
        .is_some_and(|prior| prior.selection.is_some());
    active.is_routed_by_model() && !chosen
}

/// What the user chose needs no look.
pub(super) fn choose(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    let selection = active.assist.as_ref().and_then(|assist| assist.clarify.as_ref()?.selection.clone());
    let fact = match (active.request.mode, selection) {
        (Mode::Chat, _) => plain(RouteDecision::Chat, 1.0, "the user chose chat mode"),
        (_, Some(selection)) => {
            let reason = match selection.is_empty() {
                true => "the user does not want to choose",
                false => "the user chose the tasks",
            };
            if active.is_routed_by_model() {
                let told = json!({
                    "decision": "plan", "confidence": 1.0, "question": null, "stage": "routing",
                    "router_confidence": 1.0,
                });
                audit(step, &request, "router_decision", told);
            }
            named(plain(RouteDecision::Plan, 1.0, reason), &scope::chosen(&selection), &scope::selected(&selection))
        }
        (Mode::Auto, _) => plain(RouteDecision::Plan, 1.0, "auto mode is switched off"),
        _ => plain(RouteDecision::Plan, 1.0, "the user chose plan mode"),
    };
    step.emit(Some(&request), fact);
    go_on(step);
}

/// The router has looked.
pub(super) fn replied(step: &mut Transition<'_>, words: &str) {
    let Some(active) = step.session.active() else { return };
    let Some(assist) = active.assist.as_deref() else { return };
    let Some(today) = assist.view.as_ref().map(|view| view.today) else { return };
    let Some(verdict) = verdict::read(words, today) else { return failed(step) };
    let request = active.request.id.clone();
    let fact = decided(step.session, active, assist, verdict);
    let question = asked(&fact).map(|question| question.text.clone());
    let told = json!({
        "decision": fact.decision, "confidence": fact.confidence, "question": question, "reason": fact.reason,
        "stage": "routing", "router_confidence": fact.confidence,
    });
    audit(step, &request, "router_decision", told);
    step.emit(Some(&request), fact);
    go_on(step);
}

/// The router failed: operations are proposed, and the user sees them before anything happens.
pub(super) fn failed(step: &mut Transition<'_>) {
    let Some(request) = step.session.active().map(|active| active.request.id.clone()) else { return };
    let told = json!({
        "decision": "plan", "confidence": 0.0, "question": null, "reason": "the router failed", "stage": "routing",
        "router_confidence": 0.0,
    });
    audit(step, &request, "router_decision", told);
    step.emit(
        Some(&request),
        plain(RouteDecision::Plan, 0.0, "the router failed; changes are proposed, never applied"),
    );
    go_on(step);
}

fn asked(fact: &RouteFact) -> Option<&Question> {
    fact.analysis.as_ref().filter(|_| fact.decision == RouteDecision::Clarify)?.questions.first()
}

fn decided(session: &Session, active: &RunningRequest, assist: &Assist, verdict: RouterVerdict) -> RouteFact {
    let RouterVerdict { decision, category, confidence, question: text, options, entities, missing, filter } = verdict;
    let today = assist.view.as_ref().map(|view| view.today);
    let words = route::words(&active.request.text);
    let (entities, mut filter) = scoped(&active.request.text, today, entities, filter);
    let mut why_scope = "";
    if filter.is_everything()
        && entities.is_empty()
        && is_short(&active.request.text)
        && !words.question
        && let Some(recent) = recent(session, assist)
    {
        filter = recent;
        why_scope = ", about what was confirmed a moment ago";
    }
    let (question, _) = clarify::question(active, assist, &text, &options);
    let prior = assist.clarify.as_ref();
    let case = Case {
        decision: decision.unwrap_or(RouteDecision::Plan),
        confidence,
        entities: entities.clone(),
        filter: filter.clone(),
        words,
        answers: prior.is_some(),
        askable: !text.is_empty() || !question.options.is_empty(),
        asked: assist.asked >= QUESTIONS
            || prior.is_some_and(|prior| is_same_question(&prior.question, &question.text)),
    };
    let (decision, why) = gate::decide(&case, &active.request.settings.auto_mode);
    let questions = if decision == RouteDecision::Clarify { vec![question] } else { Vec::new() };
    let fact = plain(decision, confidence, &format!("{why}{why_scope}"));
    let analysis = Analysis { missing, questions, ..Analysis::default() };
    let analysis = Some(analysis).filter(|analysis| *analysis != Analysis::default());
    named(RouteFact { category, analysis, ..fact }, &entities, &filter)
}

/// What the router found, completed by what the words plainly say.
fn scoped(text: &str, today: Option<trimtab_vocab::Date>, mut entities: Entities, filter: Where) -> (Entities, Where) {
    let (by_words, words_filter) = today.map(|today| scope::named(text, today)).unwrap_or_default();
    entities.date = entities.date.or(by_words.date);
    entities.priority = entities.priority.or(by_words.priority);
    if entities.ids.is_empty() {
        entities.ids = by_words.ids;
    }
    let filter = match filter.is_everything() {
        false => filter,
        true if !words_filter.is_everything() => words_filter,
        true => scope::derived(text, &entities),
    };
    (entities, filter)
}

fn is_short(text: &str) -> bool {
    text.split_whitespace().take(SHORT + 1).count() <= SHORT
}

/// The tasks that the user has confirmed to mean a short while ago.
pub(super) fn recent(session: &Session, assist: &Assist) -> Option<Where> {
    let minutes = session.active()?.request.settings.auto_mode.remember_scope_min;
    let (filter, then) = session.task_memory().scope.as_ref()?;
    let now = assist.view.as_ref()?.now;
    let passed = now.millis().saturating_sub(then.millis());
    (minutes > 0 && passed <= i64::from(minutes) * 60_000).then(|| filter.clone())
}

/// What the planner is shown.
pub(super) fn wanted(active: &RunningRequest, assist: &Assist) -> TaskSelection {
    match assist.filter.is_everything() {
        true => TaskSelection::Foremost { words: named_in(active, assist) },
        false => {
            // Numbers name exactly these tasks.
            let words = if assist.filter.ids.is_some() { "" } else { instruction(active, assist) };
            TaskSelection::Focused { filter: assist.filter.clone(), words: words.to_owned() }
        }
    }
}

/// All text that may name a task: the original request, the last message, and the router's result.
pub(super) fn named_in(active: &RunningRequest, assist: &Assist) -> String {
    let about = assist.entities.text.as_deref().unwrap_or_default();
    let first = assist.instruction.as_deref().unwrap_or_default();
    [about, first, active.request.text.as_str()].join(" ")
}

/// What was asked for first.
pub(super) fn instruction<'a>(active: &'a RunningRequest, assist: &'a Assist) -> &'a str {
    assist.instruction.as_deref().unwrap_or(&active.request.text)
}

/// What an answer in words ends with where changes seem to be wanted.
pub(super) fn suggestion(session: &Session) -> Option<OwnWords> {
    let wants = |active: &RunningRequest| {
        let words = route::words(&active.request.text);
        let named = active.assist.as_ref().is_some_and(|assist| !assist.entities.is_empty());
        named && words.change && active.is_routed_by_model() && active.request.settings.auto_mode.suggest_changes
    };
    session.active().is_some_and(wants).then_some(OwnWords::OffersChanges)
}

fn plain(decision: RouteDecision, confidence: f64, reason: &str) -> RouteFact {
    RouteFact {
        decision,
        confidence,
        complexity: 0,
        categories: vec![TASKS.into()],
        reason: reason.into(),
        entities: None,
        filter: None,
        category: None,
        analysis: None,
    }
}

fn named(fact: RouteFact, entities: &Entities, filter: &Where) -> RouteFact {
    RouteFact {
        entities: (!entities.is_empty()).then(|| json!(entities)),
        filter: (!filter.is_everything()).then(|| json!(filter)),
        ..fact
    }
}
