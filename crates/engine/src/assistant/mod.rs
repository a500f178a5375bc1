//! Requests about the user's tasks: a path is chosen, then a question is answered, or operations are proposed,
//! checked, repaired once, and summarized. Nothing is applied here: only the user applies operations.
//!
//! `go_on` reads the recorded state and does the next thing, so it continues from any point: after a reply, an answer
//! from another program, or a kill.

mod candidates;
mod clarify;
mod clean;
mod gate;
mod path;
mod prompt;
mod scope;
mod snapshot;
#[cfg(test)]
mod tests;
mod verdict;
mod words;

use serde_json::{Value, json};
use trimtab_vocab::event::{AnswerFact, Level, ProposalFact, ProposalKind, Stage, Status};
use trimtab_vocab::wording::{Notice, ProblemText, StageLabel};
use trimtab_vocab::{
    Annotated, Answer, AskFact, AskPurpose, CallId, DryRun, Message, Previewed, Prices, Problem, Prompt, ProposalId,
    Purpose, Raw, RepairOutcome, RequestId, Role, Said, TasksView,
};

use crate::calls::purpose::{is_dispensable, is_small};
use crate::calls::{self, budget};
use crate::finish::finish;
use crate::record::{Assist, AssistState, RunningRequest, Session};
use crate::transition::Transition;
use crate::{Effect, tasks};
use prompt::{Focus, PromptContext};

pub use path::TASKS;
pub use snapshot::{TaskSelection, view};

/// Tokens for a few sentences, and for the thoughts before them of a model that thinks: cut off in its thoughts it would
/// have said nothing.
const BRIEF: u32 = 2_048;
/// Bytes of a model's words that the audit keeps.
const RAW: usize = 4 * 1024;
/// The same for the full audit.
const RAW_FULL: usize = 16 * 1024;

/// Does what comes next.
pub(crate) fn go_on(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let Some(assist) = &active.assist else { return };
    match assist.state {
        AssistState::Routing if !path::needs_a_look(active) => path::choose(step),
        AssistState::Routing | AssistState::Chatting | AssistState::Proposing if assist.view.is_none() => {
            load_view(step)
        }
        AssistState::Routing | AssistState::Chatting | AssistState::Proposing => call(step),
        AssistState::Asking => clarify::ask(step),
        AssistState::Judging | AssistState::Rejudging => judge(step),
        AssistState::Repairing | AssistState::Summarizing => call(step),
    }
}

fn load_view(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let Some(assist) = &active.assist else { return };
    let (request, settings) = (active.request.id.clone(), Box::new(active.request.settings.auto_mode.clone()));
    let (wanted, stage) = match assist.state {
        AssistState::Proposing => (path::wanted(active, assist), Some((Stage::Proposing, StageLabel::PlanningTasks))),
        state => {
            let stage = (state == AssistState::Routing).then_some((Stage::Routing, StageLabel::RoutingTasks));
            (TaskSelection::Overview { words: path::named_in(active, assist) }, stage)
        }
    };
    if let Some((stage, label)) = stage {
        emit_stage(step, &request, stage, label);
    }
    step.request(Effect::ViewTasks { request, wanted, settings });
}

/// The tasks were read.
pub(crate) fn viewed(step: &mut Transition<'_>, request: &RequestId, view: Box<TasksView>) {
    let awaits = |assist: &Assist| {
        let needs_view = matches!(assist.state, AssistState::Routing | AssistState::Chatting | AssistState::Proposing);
        needs_view && assist.view.is_none()
    };
    if !is_loading(step, request, awaits) {
        return;
    }
    step.emit(Some(request), AskFact::Viewed { view });
    go_on(step);
}

fn is_loading(step: &Transition<'_>, request: &RequestId, awaits: impl Fn(&Assist) -> bool) -> bool {
    let Some(active) = step.session.active().filter(|active| active.request.id == *request) else { return false };
    let stopping = matches!(active.phase, crate::Phase::Stopping { .. });
    !stopping && active.assist.as_deref().is_some_and(awaits)
}

/// Calls the model that the stand needs, if there is money for it.
fn call(step: &mut Transition<'_>) {
    let Some((mut prompt, prices, purpose)) = prompt(step.session) else { return };
    match budget::allow(step.session, &prompt) {
        budget::BudgetVerdict::Free => {}
        budget::BudgetVerdict::UpTo(tokens) => prompt.max_output_tokens = prompt.max_output_tokens.min(tokens),
        budget::BudgetVerdict::TooDear(_) if is_dispensable(&Purpose::Ask(purpose)) => {
            let problem = Problem::new(trimtab_vocab::ProblemKind::Settings, ProblemText::NoRoomInBudget);
            return given_up(step, &problem);
        }
        budget::BudgetVerdict::TooDear(bill) => return budget::ask(step, &bill),
    }
    calls::send(step, prompt, prices, Purpose::Ask(purpose));
}

fn prompt(session: &Session) -> Option<(Prompt, Option<Prices>, AskPurpose)> {
    let active = session.active()?;
    let assist = active.assist.as_deref()?;
    let settings = &active.request.settings;
    let scene = scene(session, active, assist)?;
    let most = settings.auto_mode.max_operations;
    let strict = settings.auto_mode.strict_schema;
    let (parts, purpose, tokens, format) = match assist.state {
        AssistState::Routing => {
            let recent = path::recent(session, assist);
            (prompt::route(&scene, recent.as_ref()), AskPurpose::Route, BRIEF, Some(trimtab_vocab::Format::Json))
        }
        AssistState::Chatting => (prompt::chat(&scene), AskPurpose::Chat, BRIEF, None),
        AssistState::Proposing => {
            (prompt::propose(&scene, most), AskPurpose::Propose, 4_096, Some(prompt::format(strict)))
        }
        AssistState::Repairing => {
            (prompt::repair(&scene, &assist.operations, most), AskPurpose::Repair, 4_096, Some(prompt::format(strict)))
        }
        AssistState::Summarizing => (prompt::summary(&scene, &assist.operations), AskPurpose::Summary, BRIEF, None),
        AssistState::Asking | AssistState::Judging | AssistState::Rejudging => return None,
    };
    let (model, facts) = match is_small(&Purpose::Ask(purpose)) {
        true => calls::fast(&active.request),
        false => (settings.models.model.as_str(), settings.models.facts),
    };
    let prompt = Prompt {
        model: model.to_owned(),
        max_output_tokens: tokens.min(facts.max_output).min(settings.models.max_output_tokens),
        // What is to be read by a program is better without invention, unless the user has said otherwise.
        temperature: settings.models.temperature.or(format.is_some().then_some(0.0)),
        format,
        ..parts.prompt(crate::memory::fragment(session))
    };
    Some((prompt, facts.prices, purpose))
}

fn scene<'a>(session: &Session, active: &'a RunningRequest, assist: &'a Assist) -> Option<PromptContext<'a>> {
    Some(PromptContext {
        view: assist.view.as_ref()?,
        turns: turns(session, active),
        instruction: &active.request.text,
        clarify: assist.clarify.as_ref(),
        focus: Focus {
            category: assist.category.map(|category| category.name().to_owned()),
            entities: assist.entities.clone(),
            filter: assist.filter.clone(),
            missing: assist.missing.clone(),
        },
    })
}

/// The last turns before the request: from the client, or from the session.
fn turns(session: &Session, active: &RunningRequest) -> Vec<Said> {
    let told = active.request.ask.as_ref().and_then(|ask| ask.transcript.as_ref());
    let said: Vec<Said> = match told {
        Some(told) => told.clone(),
        None => {
            let all = session.conversation();
            // The request itself is the last of them.
            let earlier = &all[..all.len().saturating_sub(1)];
            let turn = |message: &std::sync::Arc<Message>| Said {
                role: if message.role == Role::User { "user" } else { "assistant" }.into(),
                text: message.text(),
            };
            earlier.iter().skip(earlier.len().saturating_sub(prompt::TURNS)).map(turn).collect()
        }
    };
    // An empty bubble is not a turn; neither is the message itself, which some clients have added already.
    let is_turn = |said: &&Said| !said.text.trim().is_empty();
    let mut turns: Vec<Said> = said.iter().filter(is_turn).cloned().collect();
    if told.is_some() && turns.last().is_some_and(|last| last.text.trim() == active.request.text.trim()) {
        turns.pop();
    }
    let mut last = turns.split_off(turns.len().saturating_sub(prompt::TURNS));
    // An answer alone would not say what is wanted.
    if let Some(instruction) = active.assist.as_ref().and_then(|assist| assist.instruction.as_ref())
        && !last.iter().any(|said| said.text.trim() == instruction.trim())
    {
        last.insert(0, Said { role: "user".into(), text: instruction.clone() });
        last.truncate(prompt::TURNS);
    }
    last
}

/// The model has spoken; `words` is what it said.
pub(crate) fn replied(step: &mut Transition<'_>, request: &RequestId, words: &str) {
    let Some(assist) = step.session.active().and_then(|active| active.assist.as_ref()) else { return };
    match assist.state {
        AssistState::Routing => path::replied(step, words),
        AssistState::Chatting => {
            let mut text = clean::cleaned(words);
            if text.is_empty() {
                text = clean::OKAY.to_owned();
            }
            text.extend(path::suggestion(step.session).map(String::from));
            answer(step, request, text);
        }
        AssistState::Judging | AssistState::Rejudging => {
            if assist.state == AssistState::Judging {
                emit_stage(step, request, Stage::Validating, StageLabel::Validating);
            }
            judge(step);
        }
        AssistState::Summarizing => match clean::cleaned(words) {
            text if text.is_empty() => summed_up_by_rule(step, request, "empty_text"),
            text => {
                audit(step, request, "assistant_message", json!({"conversational_fallback": false}));
                answer(step, request, text);
            }
        },
        AssistState::Asking | AssistState::Proposing | AssistState::Repairing => {}
    }
}

/// A call that the request can do without came to nothing.
pub(crate) fn given_up(step: &mut Transition<'_>, problem: &Problem) {
    let Some(active) = step.session.active() else { return };
    let (request, state) = (active.request.id.clone(), active.assist.as_ref().map(|assist| assist.state));
    match state {
        Some(AssistState::Routing) => path::failed(step),
        Some(AssistState::Repairing) => {
            audit(step, &request, "repair_error", json!({"error": problem.message, "repair_success": false}));
            repaired(step, &request, RepairOutcome::Error);
        }
        Some(AssistState::Summarizing) => summed_up_by_rule(step, &request, &problem.message),
        _ => {}
    }
}

/// The operations that a model wrote, as they are to be judged.
fn operations(assist: &Assist) -> (Value, Vec<Annotated>) {
    let today = assist.view.as_ref().map(|view| view.today);
    let body = words::body(&assist.said);
    let read = today.into_iter().flat_map(|today| {
        tasks::operations_in(body.clone())
            .into_iter()
            .filter(words::is_operation)
            .map(move |one| tasks::read(one, today))
    });
    let read = read.collect();
    (body, read)
}

fn judge(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let Some(assist) = &active.assist else { return };
    let (request, (_, operations)) = (active.request.id.clone(), operations(assist));
    let settings = Box::new(active.request.settings.auto_mode.clone());
    step.request(Effect::JudgeTasks { request, operations, settings });
}

/// It is known what the operations would do.
pub(crate) fn judged(step: &mut Transition<'_>, request: &RequestId, judged: DryRun) {
    let awaits = |assist: &Assist| matches!(assist.state, AssistState::Judging | AssistState::Rejudging);
    if !is_loading(step, request, awaits) {
        return;
    }
    let Some(active) = step.session.active() else { return };
    let Some(assist) = active.assist.as_deref() else { return };
    let most = active.request.settings.auto_mode.max_operations as usize;
    let DryRun { results, warnings, .. } = judged;
    let results: Vec<Previewed> =
        results.into_iter().enumerate().map(|(at, one)| words::within(most, at, one)).collect();
    let invalid = results.iter().filter(|one| !one.valid).count();
    let valid = results.len() - invalid;
    let first = assist.state == AssistState::Judging;
    let id = assist
        .proposal
        .clone()
        .unwrap_or_else(|| ProposalId::for_call(request, &CallId::nth(step.session.next_call() - 1)));
    let version = assist.version + 1;
    let results_told: Vec<Value> = results.iter().map(|one| json!({"op": one.op, "errors": one.errors})).collect();
    let fields = json!({
        "stage": "validating", "router_confidence": assist.confidence, "ops_count": results.len(),
        "invalid_count": invalid, "results": results_told, "summary": {"valid": valid, "invalid": invalid},
    });
    let raw = raw(active, assist);
    if first {
        audit(step, request, "assistant_understanding", words::joined(fields, raw));
        leave_earlier(step);
        open(step, request, id, &results, version);
        warn(step, request, &warnings);
        let state = step.session.active().and_then(|active| Some(active.assist.as_ref()?.state));
        if state == Some(AssistState::Repairing) {
            audit(step, request, "repair_attempted", json!({"invalid_ops": invalid}));
            emit_stage(step, request, Stage::Repairing, StageLabel::RepairingOperations);
        } else {
            emit_stage(step, request, Stage::Summarizing, StageLabel::Summarizing);
        }
        return go_on(step);
    }
    if invalid == 0 && valid > 0 {
        audit(
            step,
            request,
            "repair_success",
            words::joined(json!({"repaired_ops": valid, "repair_success": true}), raw),
        );
        open(step, request, id, &results, version);
        warn(step, request, &warnings);
        return repaired(step, request, RepairOutcome::Success);
    }
    let fields = json!({"remaining_invalid": invalid, "repair_success": false});
    audit(step, request, "repair_failed", words::joined(fields, raw));
    repaired(step, request, RepairOutcome::Failed);
}

fn open(step: &mut Transition<'_>, request: &RequestId, proposal: ProposalId, results: &[Previewed], version: u32) {
    let operations = results.iter().filter_map(|one| serde_json::to_value(one).ok()).collect();
    let opened = ProposalFact::Opened { proposal, call: None, kind: ProposalKind::Tasks, operations, version };
    step.emit(Some(request), opened);
}

fn warn(step: &mut Transition<'_>, request: &RequestId, warnings: &[String]) {
    for text in warnings {
        step.notify(request, Level::Warning, Notice::Words(text.clone()));
    }
}

fn repaired(step: &mut Transition<'_>, request: &RequestId, outcome: RepairOutcome) {
    let Some(assist) = step.session.active().and_then(|active| active.assist.as_ref()) else { return };
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let (operations, invalid) = (assist.operations.len(), assist.operations.len() - assist.valid());
    step.emit(Some(request), AskFact::Repaired { outcome, operations: count(operations), invalid: count(invalid) });
    emit_stage(step, request, Stage::Summarizing, StageLabel::Summarizing);
    go_on(step);
}

/// The summary failed: the operations are listed instead.
fn summed_up_by_rule(step: &mut Transition<'_>, request: &RequestId, error: &str) {
    let Some(assist) = step.session.active().and_then(|active| active.assist.as_ref()) else { return };
    let text = words::summary(&assist.operations);
    audit(step, request, "assistant_message", json!({"conversational_fallback": true, "error": error}));
    answer(step, request, text);
}

fn answer(step: &mut Transition<'_>, request: &RequestId, summary: String) {
    step.emit(Some(request), AnswerFact { answer: Answer { summary, ..Answer::default() } });
    finish(step, request, Status::Completed, None);
}

/// Pending operations of an earlier request are dropped when others replace them.
fn leave_earlier(step: &mut Transition<'_>) {
    let Some(open) = step.session.task_memory().proposal.clone() else { return };
    let is_own = step.session.active().is_some_and(|active| active.request.id == open.request);
    if !is_own {
        close(step, &open, false, 0);
    }
}

fn close(step: &mut Transition<'_>, open: &crate::record::OpenProposal, applied: bool, operations: usize) {
    let verdict = if applied { words::APPLIED } else { words::LEFT };
    step.emit(Some(&open.request), ProposalFact::Resolved { proposal: open.id.clone(), verdict: verdict.into() });
    let fields = json!({
        "applied": applied, "applied_ops": operations, "ops_count": open.operations,
        "invalid_count": open.operations - open.valid,
    });
    audit(step, &open.request, "plan_outcome", fields);
}

/// The user has applied operations, or said that they do not want them. Whose they are is not asked: what was
/// proposed last is what the user has before them.
pub(crate) fn decided(step: &mut Transition<'_>, applied: u32) {
    if let Some(open) = step.session.task_memory().proposal.clone() {
        close(step, &open, applied > 0, applied as usize);
    }
}

/// Emits the stage of the request, if it has changed.
fn emit_stage(step: &mut Transition<'_>, request: &RequestId, stage: Stage, label: StageLabel) {
    let assist = step.session.active().and_then(|active| active.assist.as_ref());
    if assist.is_some_and(|assist| assist.stage == Some(stage)) {
        return;
    }
    step.enter(request, stage, label);
}

/// Tells the audit. The door by which the request came is part of most entries.
fn audit(step: &mut Transition<'_>, request: &RequestId, action: &'static str, fields: Value) {
    let ask = step.session.unfinished(request).and_then(|active| active.request.ask.as_ref());
    let via = ask.map(|ask| json!({"mode": ask.via.name()})).unwrap_or_default();
    step.audit(request, action, words::joined(via, fields));
}

/// What the model said, and what was read of it, as far as it is to be kept.
fn raw(active: &RunningRequest, assist: &Assist) -> Value {
    let most = match active.request.settings.auto_mode.audit_raw {
        Raw::Off => return Value::Null,
        Raw::Truncated => RAW,
        Raw::Full => RAW_FULL,
    };
    let said = &assist.said[..assist.said.floor_char_boundary(most)];
    let body = operations(assist).0;
    let small = body.to_string().len() <= most;
    json!({"model_raw": said, "parsed_body": if small { body } else { Value::Null }})
}
