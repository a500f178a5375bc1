//! The tool calls of a reply: started in order, read-only ones in parallel, others one at a time, each with its
//! permission check.
//!
//! This file has the order. `call` does the next thing that one of them needs, `asking` asks the user for it, `ended`
//! records the result, and `stopping` ends calls that the user stops.

mod asking;
mod call;
mod ended;
mod stopping;

use trimtab_vocab::event::{Status, ToolFact, ToolStatus};
use trimtab_vocab::{Approve, CHECK_TOOL, CallId, RefKey, RequestId, ToolResult};

use super::{answers, checks, circles, elicitation, finish, next, overtime, reflection, watched};
use crate::Effect;
use crate::flow::pace;
use crate::permit::Permit;
use crate::pictures;
use crate::record::rounds::Repetition;
use crate::record::{Batch, BatchItem, Phase, Progress};
use crate::subtasks;
use crate::tools::REPEATED;
use crate::tools::ToolAction;
use crate::transition::Transition;
use asking::shown;
use call::file_set;
pub(crate) use call::run_call;
pub(super) use call::{refuse, ruled};
pub(super) use ended::operation;
pub(crate) use ended::{applied, effects_inspected, finished, prepared, ran, read_finished, server_answered};
pub(super) use stopping::{STOPPED, leave, skip, stop, stop_tool};
use stopping::{interrupted, wait};

/// Tools that run side by side at most.
const SIDE_BY_SIDE: usize = 8;
/// Bytes of a diff that a question shows.
pub(super) const SHOWN_DIFF: usize = 16 * 1024;

/// The reply has tool calls: starts them, unless they only repeat earlier ones. Then the user is asked. In unattended
/// runs, the model is warned once, and the request ends if it repeats them. At the last step, the step limit asks.
pub(super) fn begin(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let Some(batch) = &active.batch else { return };
    let is_last = active.calls.steps >= step.session.step_limit(active);
    let is_attended = active.request.settings.attended && answers::approve(active) == Approve::Ask;
    match active.tools.rounds.repetition(batch) {
        _ if is_last => advance(step),
        Repetition::None => advance(step),
        Repetition::Again { times } if is_attended => {
            let what = describe(batch);
            answers::ask_about_repeat(step, &what, times);
        }
        Repetition::Again { times } => {
            let often = if times > 1 { format!(", {times} times") } else { String::new() };
            reject(step, &format!("{REPEATED}{often}. Do something else; if you are done or stuck, say so.]"));
            next(step);
        }
        Repetition::Endless => {
            reject(step, &format!("{REPEATED}; the request ends]"));
            circles::end(step);
        }
    }
}

fn describe(batch: &Batch) -> String {
    let Some(first) = batch.items.first() else { return String::new() };
    let mut text = format!("{} {}", first.call.name, first.call.input);
    if text.len() > 200 {
        text.truncate(text.floor_char_boundary(200));
        text.push('…');
    }
    text
}

/// Continues after an answer: the call that it is about is handled, the others start. After a pause, started calls
/// start again.
pub(super) fn go_on(step: &mut Transition<'_>, had_stopped: bool, call: Option<&CallId>) {
    let Some(batch) = batch_of(step) else { return };
    // A pause ends everything at once, so it is checked first.
    let waited = |item: &BatchItem| item.done().is_none() && has_said(item, answers::WAIT);
    if let Some(item) = batch.items.iter().find(|item| waited(item)) {
        let words = item.given.as_ref().and_then(|given| given.text.clone());
        if subtasks::waits(step, &item.call_id, words.as_ref()) {
            return advance(step);
        }
        return wait(step, words);
    }
    if step.session.active().is_some_and(|active| active.steering.diverted) {
        reject(step, "[Not run: the user says what to do instead.]");
        return next(step);
    }
    let answered: Vec<CallId> = batch
        .items
        .iter()
        .filter(|item| item.progress == Progress::Started && (had_stopped || call == Some(&item.call_id)))
        .map(|item| item.call_id.clone())
        .collect();
    for call in answered {
        run_call(step, &call);
    }
    advance(step);
}

fn has_said(item: &BatchItem, choice: &str) -> bool {
    item.given.as_ref().is_some_and(|given| given.choice == choice)
}

/// Starts what can start now; closes the batch when all have ended.
pub(crate) fn advance(step: &mut Transition<'_>) {
    loop {
        let Some(active) = step.session.active() else { return };
        let stuck = matches!(active.phase, Phase::Stopping { .. } | Phase::Waiting { .. } | Phase::Admitting);
        let Some(batch) = active.batch.as_ref().filter(|_| !stuck) else { return };
        match ready(batch) {
            NextItem::Nothing => return settle(step),
            NextItem::Begin(call) => start(step, &call),
            NextItem::Close => return close(step),
        }
    }
}

enum NextItem {
    Begin(CallId),
    Nothing,
    Close,
}

/// The next call to begin: of those in front that only look, the quickest; an act only when all
/// before it have ended, and nothing behind it until it has.
fn ready(batch: &Batch) -> NextItem {
    let Some(first) = batch.items.iter().position(|item| item.done().is_none()) else { return NextItem::Close };
    let is_alone = |item: &BatchItem| item.action.as_ref().is_ok_and(|action| action.is_alone());
    let front = &batch.items[first];
    if is_alone(front) {
        let pending = front.progress == Progress::Pending;
        return if pending { NextItem::Begin(front.call_id.clone()) } else { NextItem::Nothing };
    }
    let together = batch.items[first..].iter().take_while(|item| item.done().is_some() || !is_alone(item));
    let running = together.clone().filter(|item| item.progress == Progress::Started).count();
    if running >= SIDE_BY_SIDE {
        return NextItem::Nothing;
    }
    let pending = together.filter(|item| item.progress == Progress::Pending);
    match pending.min_by_key(|item| item.action.as_ref().map_or(0, |action| action.rank())) {
        Some(item) => NextItem::Begin(item.call_id.clone()),
        None => NextItem::Nothing,
    }
}

/// Nothing can begin. In unattended runs, a request that only waits for the user ends for now.
fn settle(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let Some(batch) = &active.batch else { return };
    if batch.is_asking() && !batch.is_running() && !active.request.settings.attended {
        let request = active.request.id.clone();
        finish(step, &request, Status::NeedsUser, None);
    }
}

fn start(step: &mut Transition<'_>, call: &CallId) {
    let Some((request, item)) = find(step, call) else { return };
    let (name, input) = (item.call.name.clone(), shown(&item.call.input));
    let title = item.server_call().or_else(|| item.check().map(|_| CHECK_TOOL.to_owned()));
    let started = ToolFact::Started { call: call.clone(), name, input, title };
    step.emit(Some(&request), started);
    run_call(step, call);
}

/// A new owner finds out what a command did to files before anything else happens to them. Whether it can.
fn inspect_effects(step: &mut Transition<'_>, item: &BatchItem) -> bool {
    let Some((request, _)) = find(step, &item.call_id) else { return false };
    let watch = item.command().and_then(|command| watched::watch(step.session, command));
    if let Some(watch) = watch {
        step.request(Effect::InspectEffects { request, call: item.call_id.clone(), watch });
    }
    watch.is_some()
}

/// After an act: the request may have been stopped meanwhile.
pub(super) fn proceed(step: &mut Transition<'_>) {
    if step.session.active().is_some_and(|active| matches!(active.phase, Phase::Stopping { .. })) {
        super::stop(step);
    } else {
        advance(step);
    }
}

/// A new owner: reads are repeated, writes are finished, and an interrupted command is asked about and never rerun.
/// What this owner has started is not `interrupted`.
pub(super) fn woke(step: &mut Transition<'_>, interrupted: &[CallId]) {
    let Some(batch) = batch_of(step) else { return };
    for item in batch.items.into_iter().filter(|item| interrupted.contains(&item.call_id)) {
        let call = &item.call_id;
        // It has ended, and waits for hooks.
        if item.hooks.held.is_some() {
            continue;
        }
        match item.progress {
            Progress::Started => run_call(step, call),
            Progress::Acting if changes_files(&item) => go_acting(step, call),
            Progress::Acting => {
                overtime::settle(step, call);
                elicitation::settle(step, call);
                if inspect_effects(step, &item) {
                    continue;
                }
                if item.starts_in_background() {
                    ended::gone_with_trimtab(step, call);
                } else {
                    let title = item.server_call().or_else(|| item.command().map(str::to_owned));
                    answers::ask_about_outcome(step, call, &title.unwrap_or_default());
                }
            }
            _ => {}
        }
    }
    advance(step);
}

fn changes_files(item: &BatchItem) -> bool {
    matches!(item.action.as_deref(), Ok(ToolAction::Change(_)))
}

/// A write that was approved and begun is carried out again: it finishes what is unfinished.
fn go_acting(step: &mut Transition<'_>, call: &CallId) {
    let Some((request, item)) = find(step, call) else { return };
    let Some(writes) = item.writes else { return };
    let Some(permit) = Permit::recorded(step.session, call) else { return };
    let set = file_set(step.session, &request, call, writes);
    step.request(Effect::Apply { request, call: call.clone(), plan: permit.files(set) });
}

/// A new owner while the request is being stopped: commands that ran are gone with the old one, writes
/// are finished first. Whether nothing is left to wait for.
pub(super) fn woke_stopping(step: &mut Transition<'_>, under_way: &[CallId]) -> bool {
    let Some(batch) = batch_of(step) else { return true };
    for item in batch.items {
        let call = &item.call_id;
        match item.progress {
            Progress::Done(_) => {}
            _ if item.hooks.held.is_some() => {}
            Progress::Acting if !under_way.contains(call) => {}
            Progress::Acting if changes_files(&item) => go_acting(step, call),
            _ => {
                overtime::settle(step, call);
                elicitation::settle(step, call);
                let comparing = item.progress == Progress::Acting && inspect_effects(step, &item);
                if !comparing {
                    interrupted(step, call, ToolResult::interrupt(&item.call.id).content);
                }
            }
        }
    }
    batch_of(step).is_none_or(|batch| batch.items.iter().all(|item| item.done().is_some()))
}

/// The reply cannot be used: each of its tools gets this result.
pub(super) fn reject(step: &mut Transition<'_>, reason: &str) {
    let Some(batch) = batch_of(step) else { return };
    for item in batch.items {
        finished(step, &item.call_id, ToolStatus::Error, reason.to_owned());
    }
    reflect(step);
}

/// All have ended: the results go back, and the next step begins.
fn close(step: &mut Transition<'_>) {
    if batch_of(step).is_some_and(|batch| batch.of_series) {
        return super::series::ran(step);
    }
    if let Some(batch) = batch_of(step).filter(|batch| batch.of_pictures) {
        let done = batch.items.iter().filter_map(BatchItem::done);
        let outcomes: Vec<(ToolStatus, String)> = done.map(|done| (done.status, done.content.clone())).collect();
        reflect(step);
        return pictures::closed(step, &outcomes);
    }
    let is_cancelled = step.session.active().is_some_and(subtasks::is_cancelled);
    if !is_cancelled && checks::begin(step) {
        return advance(step);
    }
    if let Some(batch) = batch_of(step).filter(|batch| batch.of_subtasks) {
        let done = batch.items.first().and_then(BatchItem::done);
        let outcome = done.map(|done| (done.status, done.content.clone()));
        reflect(step);
        return subtasks::finish_request(step, outcome);
    }
    // A check that was not run is nothing that a model could do better.
    let went_well = |item: &BatchItem| match item.done() {
        Some(done) if item.check().is_some() => done.status != ToolStatus::Error,
        Some(done) => done.status == ToolStatus::Ok,
        None => false,
    };
    let all_went_well = batch_of(step).is_some_and(|batch| batch.items.iter().all(went_well));
    reflect(step);
    if let Some(active) = step.session.active().filter(|active| subtasks::is_cancelled(active)) {
        let request = active.request.id.clone();
        return finish(step, &request, Status::Cancelled, None);
    }
    if !super::structured::closed(step, all_went_well) {
        pace::after_round(step);
        next(step);
    }
}

fn reflect(step: &mut Transition<'_>) {
    let Some(active) = step.session.active() else { return };
    let Some(batch) = &active.batch else { return };
    let request = active.request.id.clone();
    let reflection = reflection::assess(active, batch);
    step.emit(Some(&request), reflection);
    if let Some(active) = step.session.active() {
        let ledger: Vec<String> = active.tools.ledger.iter().map(reflection::line).collect();
        let ledger = ledger.join("\n");
        step.store(RefKey::ledger_of(&request), ledger);
    }
}

fn batch_of(step: &Transition<'_>) -> Option<Batch> {
    step.session.active()?.batch.clone()
}

pub(crate) fn find(step: &Transition<'_>, call: &CallId) -> Option<(RequestId, BatchItem)> {
    let active = step.session.active()?;
    Some((active.request.id.clone(), active.batch.as_ref()?.item(call)?.clone()))
}
