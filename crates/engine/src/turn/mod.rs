//! A turn: the prompt goes out, the reply comes in, and what it means is decided here.

pub mod budget;
mod prompt;
mod retry;

use trimtab_vocab::event::{
    AnswerFact, BannerFact, BugFact, Level, ModelFact, ReplyFact, RequestFact, RouteDecision, RouteFact, Stage,
    StageFact, Status, UsageFact,
};
use trimtab_vocab::{
    Answer, CallId, Fault, Message, Part, Problem, ProblemKind, RefKey, Reply, Request, RequestId, Retry, StopReason,
    TimerId, Usage,
};

use crate::record::{Active, Phase};
use crate::step::Step;
use crate::{Effect, Input, Interrupted, Partial};

pub use prompt::AGENT_CHAT_SYSTEM_PROMPT;

/// There is room: begin.
pub(crate) fn admitted(step: &mut Step<'_>, request: &RequestId) {
    if active(step, request).is_none_or(|active| active.phase != Phase::Admitting) {
        return;
    }
    step.say(
        Some(request),
        RouteFact {
            decision: RouteDecision::Chat,
            confidence: 1.0,
            complexity: 0,
            categories: Vec::new(),
            reason: "no tools are offered: the answer is in words".into(),
            entities: None,
            filter: None,
        },
    );
    step.say(Some(request), StageFact { stage: Stage::Running, label: "Waiting for the model...".into() });
    call_model(step);
}

/// There is no room yet; the person should know why nothing moves.
pub(crate) fn held(step: &mut Step<'_>, request: &RequestId, ahead: u32) {
    if active(step, request).is_none() {
        return;
    }
    let text = format!("Waiting for room: {ahead} other requests are running or came earlier.");
    step.say(Some(request), BannerFact { level: Level::Info, text });
}

/// The model has spoken.
pub(crate) fn replied(step: &mut Step<'_>, call: &CallId, reply: Reply, raw: Option<RefKey>, warnings: Vec<String>) {
    let Some((request, stopping)) = open_call(step, call) else { return };
    let Reply { message, stop_reason, usage } = reply;
    let model = model_of(step);
    let words = message.text();
    let asked_for_tools = message.parts.iter().any(|part| matches!(part, Part::ToolUse(_)));
    step.say(
        Some(&request),
        ReplyFact::Saved { call: call.clone(), raw, stop_reason: stop_reason.clone(), usage, message, partial: false },
    );
    step.say(Some(&request), UsageFact { model, usage });
    for text in warnings {
        step.say(Some(&request), BannerFact { level: Level::Warning, text });
    }
    if asked_for_tools {
        let message = "the model asked for a tool although none was offered; the request was not run".into();
        step.say(Some(&request), BugFact { kind: "unexpected_tool_use".into(), by: "engine".into(), message });
    }
    step.say(Some(&request), StageFact { stage: Stage::Finishing, label: "Finishing...".into() });
    let truncated = stop_reason == Some(StopReason::MaxTokens);
    if let Some(text) = remark(stop_reason.as_ref(), &words) {
        step.say(Some(&request), BannerFact { level: Level::Warning, text });
    }
    step.say(Some(&request), AnswerFact { answer: Answer { summary: words, truncated, ..Answer::default() } });
    // Stopped and finished in the same moment: what is there is there, and the answer stands.
    let status = if stopping { Status::Cancelled } else { Status::Completed };
    finish(step, &request, status, None);
}

/// What a person must know about how a reply ended.
fn remark(stop: Option<&StopReason>, words: &str) -> Option<String> {
    Some(match stop {
        Some(StopReason::MaxTokens) => {
            "The reply was cut off at the output limit. Raise limits.max_output_tokens, or ask for the rest.".into()
        }
        Some(StopReason::ContentFiltered | StopReason::GuardrailIntervened) => {
            "The provider withheld part of this reply.".into()
        }
        Some(StopReason::Other(reason)) => format!("The model stopped for a reason of its own: {reason}."),
        _ if words.trim().is_empty() => "The model sent an empty reply.".into(),
        _ => return None,
    })
}

/// The call came to nothing: try again, or end the request.
pub(crate) fn failed(step: &mut Step<'_>, call: &CallId, fault: Fault, partial: Option<Partial>) {
    let Some((request, stopping)) = open_call(step, call) else { return };
    save_partial(step, &request, call, partial);
    if stopping {
        finish(step, &request, Status::Cancelled, None);
        return;
    }
    let Some(active) = active(step, &request) else { return };
    let retries = active.request.settings.retries;
    let delay = match fault.retry {
        Retry::Never => None,
        Retry::Later { .. } if active.failures >= retries => None,
        Retry::Later { after_ms } => Some(retry::delay_ms(call, active.failures, after_ms)),
    };
    let problem = fault.problem;
    step.say(Some(&request), ModelFact::Failed { call: call.clone(), error: problem.clone(), retry_in_ms: delay });
    match delay {
        Some(_) => back_off(step),
        None => finish(step, &request, Status::Failed, Some(problem)),
    }
}

/// The call was ended because a person wanted it.
pub(crate) fn aborted(step: &mut Step<'_>, call: &CallId, partial: Option<Partial>) {
    let Some((request, _)) = open_call(step, call) else { return };
    save_partial(step, &request, call, partial);
    finish(step, &request, Status::Cancelled, None);
}

/// The wait is over.
pub(crate) fn timer_fired(step: &mut Step<'_>, fired: &TimerId) {
    let waiting = |active: &Active| matches!(&active.phase, Phase::BackingOff { timer, .. } if timer == fired);
    if step.session.active().is_some_and(waiting) {
        call_model(step);
    }
}

/// A new owner: what `interrupted` names is no longer running, and neither is any wait.
///
/// A model call is made again, because a call has no effect but its price; whatever had come of it
/// is kept in the log. A wait is begun anew: the provider may have asked for it.
pub(crate) fn woke(step: &mut Step<'_>, interrupted: Vec<Interrupted>) {
    let gone = step.session.open_call().and_then(|open| interrupted.into_iter().find(|one| one.call == *open));
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    let stopping = matches!(active.phase, Phase::Stopping { .. });
    match gone {
        Some(Interrupted { call, partial }) => {
            if let Some(Partial { message, raw: Some(key) }) = &partial {
                step.keep(key.clone(), message.text());
            }
            save_partial(step, &request, &call, partial);
            if stopping {
                finish(step, &request, Status::Cancelled, None);
                return;
            }
            let error = Problem::new(ProblemKind::Interrupted, "The program ended while the model was answering.");
            step.say(Some(&request), ModelFact::Failed { call, error, retry_in_ms: Some(0) });
            call_model(step);
        }
        None if active.phase == Phase::Admitting => step.ask(Effect::Admit { request }),
        // A person is still to answer, or a wait is to be begun anew.
        None => back_off(step),
    }
}

/// Asks for the wait that the request is in, if it is in one.
fn back_off(step: &mut Step<'_>) {
    if let Some(Active { phase: Phase::BackingOff { timer, millis }, .. }) = step.session.active() {
        let (timer, millis) = (timer.clone(), *millis);
        step.ask(Effect::Wait { timer, millis });
    }
}

/// Ends what runs after a person said stop.
pub(crate) fn stop(step: &mut Step<'_>) {
    let Some(Active { request, phase: Phase::Stopping { call }, .. }) = step.session.active() else { return };
    match call.clone() {
        Some(call) => step.ask(Effect::Abort { call }),
        None => {
            let request = request.id.clone();
            finish(step, &request, Status::Cancelled, None);
        }
    }
}

/// The program failed at an input: say so, and end the request that it was about.
pub(crate) fn give_up(step: &mut Step<'_>, input: Option<Input>, problem: Problem) {
    let said = match input {
        Some(Input::Said { request }) if !step.session.knows(&request.id) => Some(request),
        _ => None,
    };
    let request = match said {
        // What a person said must not be lost, least of all through a defect of ours.
        Some(Request { id, text, refs, images, mode, settings }) => {
            let was_idle = step.session.is_idle();
            step.say(Some(&id), RequestFact::Received { text, refs, images, mode, settings });
            if !was_idle {
                step.say(Some(&id), bug(&problem));
                let status = Status::Failed;
                step.say(Some(&id), RequestFact::Finished { status, error: Some(problem), usage: Usage::default() });
                return;
            }
            Some(id)
        }
        None => step.session.active().map(|active| active.request.id.clone()),
    };
    step.say(request.as_ref(), bug(&problem));
    if let Some(call) = step.session.open_call().cloned() {
        step.ask(Effect::Abort { call });
    }
    if let Some(request) = request {
        finish(step, &request, Status::Failed, Some(problem));
    }
}

fn bug(problem: &Problem) -> BugFact {
    BugFact { kind: "internal".into(), by: "host".into(), message: problem.message.clone() }
}

/// Takes back a request that has not begun.
pub(crate) fn withdraw(step: &mut Step<'_>, request: &RequestId) {
    if step.session.waiting().any(|waiting| waiting.id == *request) {
        let cancelled = RequestFact::Finished { status: Status::Cancelled, error: None, usage: Usage::default() };
        step.say(Some(request), cancelled);
    }
}

/// Makes the next call, if there is money for it.
pub(crate) fn call_model(step: &mut Step<'_>) {
    let Some(mut prompt) = prompt::build(step.session) else { return };
    match budget::allow(step.session, &prompt) {
        budget::Verdict::Free => {}
        budget::Verdict::UpTo(tokens) => prompt.max_output_tokens = prompt.max_output_tokens.min(tokens),
        budget::Verdict::TooDear(bill) => return budget::ask(step, &bill),
    }
    let call = CallId::nth(step.session.next_call());
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    let attempt = active.failures + 1;
    step.say(Some(&request), ModelFact::Called { call: call.clone(), model: prompt.model.clone(), attempt });
    step.ask(Effect::CallModel { call, prompt: Box::new(prompt) });
}

fn save_partial(step: &mut Step<'_>, request: &RequestId, call: &CallId, partial: Option<Partial>) {
    let Some(Partial { message, raw }) = partial.filter(|partial| is_worth_keeping(&partial.message)) else {
        return;
    };
    step.say(
        Some(request),
        ReplyFact::Saved {
            call: call.clone(),
            raw,
            stop_reason: None,
            usage: Usage::default(),
            message,
            partial: true,
        },
    );
}

fn is_worth_keeping(message: &Message) -> bool {
    message.parts.iter().any(|part| match part {
        Part::Text { text } | Part::Thinking { text, .. } => !text.is_empty(),
        _ => true,
    })
}

pub(crate) fn finish(step: &mut Step<'_>, request: &RequestId, status: Status, error: Option<Problem>) {
    let usage = active(step, request).map(|active| active.usage).unwrap_or_default();
    let running = |step: &Step<'_>| step.session.active().map(|active| active.request.id.clone());
    let before = running(step);
    step.say(Some(request), RequestFact::Finished { status, error, usage });
    if let Some(next) = running(step).filter(|next| before.as_ref() != Some(next)) {
        step.ask(Effect::Admit { request: next });
    }
}

fn active<'a>(step: &'a Step<'_>, request: &RequestId) -> Option<&'a Active> {
    step.session.active().filter(|active| active.request.id == *request)
}

/// The request that waits for this call, and whether it is being stopped.
fn open_call(step: &Step<'_>, wanted: &CallId) -> Option<(RequestId, bool)> {
    let active = step.session.active()?;
    let stopping = match &active.phase {
        Phase::Calling { call } if call == wanted => false,
        Phase::Stopping { call: Some(call) } if call == wanted => true,
        _ => return None,
    };
    Some((active.request.id.clone(), stopping))
}

fn model_of(step: &Step<'_>) -> String {
    step.session.active().map(|active| prompt::model(&active.request).0.to_owned()).unwrap_or_default()
}
