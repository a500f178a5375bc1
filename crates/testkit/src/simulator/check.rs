//! What must always hold.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use trimtab_vocab::event::{AnswerFact, CheckpointFact, ModelFact, ReplyFact, RequestFact, Status};
use trimtab_vocab::{CallId, Event, Fact, RefKey, RequestId, SessionId};

use super::model::Oracle;
use super::{History, JOB_LIMIT, Tally};
use crate::memory_store::{Disk, folded};

/// Sessions in which something is left to do.
pub(super) fn unfinished(disk: &Disk) -> Vec<SessionId> {
    let state = disk.state();
    let busy = |id: &&SessionId| {
        let idle = state.events.get(*id).is_some_and(|log| folded(log).is_idle());
        !idle || state.inbox.iter().any(|(_, session, _)| session == *id)
    };
    state.sessions.keys().filter(busy).cloned().collect()
}

/// Whoever watches from the beginning sees the log, whole and in order.
pub(super) async fn watched(history: &History) -> Result<(), String> {
    let logs: BTreeMap<SessionId, Vec<Event>> = history.disk.state().events.clone();
    let client = &history.processes.last().ok_or("nobody is left to watch")?.client;
    for (session, log) in logs {
        let mut watch = client.watch(&session, 0);
        for expected in &log {
            let seen = tokio::time::timeout(Duration::from_secs(60), watch.next()).await;
            match seen {
                Ok(Ok(seen)) if seen == *expected => {}
                other => return Err(format!("{session}: a watcher saw {other:?} instead of {expected:?}")),
            }
        }
    }
    Ok(())
}

pub(super) fn everything(history: &History) -> Result<Tally, String> {
    let state = history.disk.state();
    let mut tally = history.tally;
    tally.calls = history.oracle.calls();
    if let Some(broken) = state.broken.first() {
        return Err(broken.clone());
    }
    if state.most_running > JOB_LIMIT {
        return Err(format!("{} requests ran at once; the limit is {JOB_LIMIT}", state.most_running));
    }
    if !state.partials.is_empty() {
        return Err("partial replies were left behind".into());
    }
    for (session, log) in &state.events {
        one_log(history, &state.texts, session, log, &mut tally).map_err(|broken| {
            let lines: Vec<String> = log.iter().filter_map(|event| serde_json::to_string(event).ok()).collect();
            format!("{session}: {broken}\n{}", lines.join("\n"))
        })?;
    }
    for said in &history.said {
        let log = state.events.get(&said.sent.session).ok_or("a session is lost")?;
        one_request(history, said, log)?;
    }
    let open = state.jobs.values().filter(|job| job.status.is_none()).count();
    if open > 0 {
        return Err(format!("{open} jobs are listed as unfinished"));
    }
    Ok(tally)
}

/// The log of a session tells a story that makes sense.
fn one_log(
    history: &History,
    texts_kept: &BTreeMap<RefKey, String>,
    session: &SessionId,
    log: &[Event],
    tally: &mut Tally,
) -> Result<(), String> {
    let mut received: Vec<&RequestId> = Vec::new();
    let mut texts: BTreeMap<&RequestId, &str> = BTreeMap::new();
    let mut finished: BTreeSet<&RequestId> = BTreeSet::new();
    let mut calls: BTreeSet<&CallId> = BTreeSet::new();
    let mut open: Option<&CallId> = None;
    let mut working_on = None;
    for event in log {
        tally.facts += 1;
        if event.session != *session {
            return Err("an event stands in the wrong log".into());
        }
        let request = event.request.as_ref();
        let reopens = matches!(
            event.fact,
            Fact::Request(RequestFact::Reopened {}) | Fact::Checkpoint(CheckpointFact::Resolved { .. })
        );
        if !reopens && request.is_some_and(|request| finished.contains(request)) {
            return Err(format!("something happened after the end: {event:?}"));
        }
        match (&event.fact, request) {
            (Fact::Request(RequestFact::Received { text, .. }), Some(request)) => {
                if texts.insert(request, text).is_some() {
                    return Err(format!("{request} was received twice"));
                }
                received.push(request);
            }
            (Fact::Model(ModelFact::Called { call, .. }), _) => {
                if !calls.insert(call) {
                    return Err(format!("call {call} was made twice"));
                }
                working_on = request;
                if let Some(open) = open.replace(call) {
                    return Err(format!("call {call} was made while {open} was open"));
                }
            }
            (Fact::Model(ModelFact::Failed { call, .. }), _) if open.take() != Some(call) => {
                return Err(format!("call {call} failed but was not open"));
            }
            (Fact::Reply(ReplyFact::Saved { call, message, partial, raw, .. }), Some(request)) => {
                if open != Some(call) {
                    return Err(format!("a reply to call {call} was saved, which was not open"));
                }
                let answer = Oracle::answer(texts.get(request).ok_or("a reply to nothing")?);
                let words = message.text();
                let stored = raw.as_ref().and_then(|key| texts_kept.get(key));
                if stored.map(String::as_str).unwrap_or_default() != words {
                    return Err(format!("{raw:?} holds {stored:?}, but the reply is {words:?}"));
                }
                if *partial {
                    tally.partials += 1;
                    if !answer.starts_with(&words) {
                        return Err(format!("the partial reply {words:?} is not the beginning of {answer:?}"));
                    }
                } else {
                    open = None;
                    if words != answer {
                        return Err(format!("the reply {words:?} is not {answer:?}"));
                    }
                }
            }
            (Fact::Checkpoint(CheckpointFact::Opened { .. }), Some(_)) => tally.questions += 1,
            (Fact::Request(RequestFact::Reopened {}), Some(request)) if !finished.remove(request) => {
                return Err(format!("{request} was reopened before its end"));
            }
            (Fact::Request(RequestFact::Finished { status, .. }), Some(request)) => {
                finished.insert(request);
                // A request that is stopped takes its open call with it.
                if *status == Status::Cancelled && working_on == Some(request) {
                    open = None;
                }
                match status {
                    Status::Completed => tally.completed += 1,
                    Status::Cancelled => tally.cancelled += 1,
                    Status::Failed => tally.failed += 1,
                    Status::NeedsUser | Status::Limit => {}
                }
            }
            _ => {}
        }
    }
    tally.requests += received.len() as u64;
    if finished.len() != received.len() {
        return Err("a request has no end".into());
    }
    // Those that were said by processes which died in the act stand in between; order holds.
    let told = history.said_in(session);
    let in_order: Vec<&RequestId> = received.into_iter().filter(|request| told.contains(request)).collect();
    if in_order != told {
        return Err(format!("said in the order {told:?}, received as {in_order:?}"));
    }
    Ok(())
}

/// What a person said came to a deserved end.
fn one_request(history: &History, said: &super::Said, log: &[Event]) -> Result<(), String> {
    let id = &said.sent.request;
    let mine: Vec<&Fact> =
        log.iter().filter(|event| event.request.as_ref() == Some(id)).map(|event| &event.fact).collect();
    let Some(Fact::Request(RequestFact::Received { text, .. })) = mine.first() else {
        return Err(format!("{id} is lost"));
    };
    if *text != said.text {
        return Err(format!("{id} says {text:?} instead of {:?}", said.text));
    }
    let Some(Fact::Request(RequestFact::Finished { status, .. })) = mine.last() else {
        return Err(format!("{id} has no end"));
    };
    let answered = mine.iter().any(
        |fact| matches!(fact, Fact::Answer(AnswerFact { answer }) if answer.summary == Oracle::answer(&said.text)),
    );
    match status {
        Status::Completed if answered => Ok(()),
        Status::Completed => Err(format!("{id} is completed without its answer")),
        Status::Cancelled if said.cancelled => Ok(()),
        Status::Limit if said.stopped => Ok(()),
        Status::Failed if history.oracle.gave_reason_to_fail(&said.text) => Ok(()),
        status => Err(format!("{id} ended as {status:?} for no reason")),
    }
}
