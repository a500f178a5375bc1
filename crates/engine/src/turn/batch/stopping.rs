//! Tools that end because a person wants it so.

use trimtab_vocab::event::{CheckpointFact, Level, RequestFact, ToolFact, ToolStatus};
use trimtab_vocab::wording::Notice;
use trimtab_vocab::{CallId, CheckpointId, RequestId, ToolResult};

use super::ended::finished;
use super::{advance, batch_of, find, reflect};
use crate::Effect;
use crate::hooks;
use crate::record::{BatchItem, Progress, WithheldResult};
use crate::transition::Transition;
use crate::turn::{answers, next};
use crate::workers;

/// A tool that a person stopped, and nothing else.
pub(in crate::turn) const STOPPED: &str = "[Stopped by the user. The other calls continue.]";
/// A tool that a person skipped.
pub(super) const SKIPPED: &str = "[Skipped by the user. Continue with what comes next.]";

/// The person chose to wait: every tool ends at once with the documented result.
pub(super) fn wait(step: &mut Transition<'_>, words: Option<String>) {
    end_all(step, |id| ToolResult::interrupt(id).content);
    let Some(active) = step.session.active() else { return };
    let request = active.request.id.clone();
    step.notify(&request, Level::Warning, Notice::WaitingForFeedback);
    if let Some(text) = words.clone() {
        step.emit(Some(&request), RequestFact::Steered { text, by: "user".into() });
    }
    reflect(step);
    crate::turn::series::left(step, &request);
    match words {
        Some(_) => next(step),
        None => answers::ask_what_instead(step),
    }
}

/// Ends whatever has not ended and does not act: it is told to stop, and its result is `content`.
fn end_all(step: &mut Transition<'_>, content: impl Fn(&str) -> String) {
    let Some(batch) = batch_of(step) else { return };
    for item in batch.items {
        hooks::abort(step, Some(&item.call_id));
        match item.progress {
            Progress::Done(_) => {}
            Progress::Acting => step.request(Effect::Abort { call: item.call_id }),
            Progress::Started => {
                step.request(Effect::Abort { call: item.call_id.clone() });
                interrupted(step, &item.call_id, content(&item.call.id));
            }
            Progress::Asking { checkpoint } => {
                answer_for(step, checkpoint);
                interrupted(step, &item.call_id, content(&item.call.id));
            }
            Progress::Pending => interrupted(step, &item.call_id, content(&item.call.id)),
        }
    }
}

/// What a person wants makes a question pointless: it is answered with that.
fn answer_for(step: &mut Transition<'_>, checkpoint: CheckpointId) {
    let Some(request) = step.session.active().map(|active| active.request.id.clone()) else { return };
    answers::resolve(step, &request, checkpoint, answers::SKIP, CheckpointFact::PERSON);
}

/// The person said stop. What acts is told to end, and its end is waited for; the rest is over now.
/// Whether nothing is left to wait for.
pub(in crate::turn) fn stop(step: &mut Transition<'_>) -> bool {
    end_all(step, |id| ToolResult::interrupt(id).content);
    batch_of(step).is_none_or(|batch| batch.items.iter().all(|item| item.done().is_some()))
}

/// A request ends by an answer: tools that had begun have an end, too. Nothing of them runs.
pub(in crate::turn) fn leave(step: &mut Transition<'_>, request: &RequestId) {
    workers::stop_all(step, request);
    let Some(batch) = step.session.unfinished(request).and_then(|active| active.batch.clone()) else { return };
    for BatchItem { call_id: call, call: tool_call, .. } in batch.items.into_iter().filter(|item| item.is_open()) {
        let (preview, status) = (ToolResult::interrupt(&tool_call.id).content, ToolStatus::Interrupted);
        let (images, files) = (Vec::new(), Vec::new());
        step.emit(Some(request), ToolFact::Finished { call, status, preview, full: None, images, files });
    }
}

/// The person wants what runs now left, and the rest to go on.
pub(in crate::turn) fn skip(step: &mut Transition<'_>) {
    let Some(batch) = batch_of(step) else { return };
    for item in &batch.items {
        stop_one(step, &item.call_id, SKIPPED);
    }
    advance(step);
}

/// The person wants one tool ended.
pub(in crate::turn) fn stop_tool(step: &mut Transition<'_>, call: &CallId) {
    stop_one(step, call, STOPPED);
    advance(step);
}

fn stop_one(step: &mut Transition<'_>, call: &CallId, text: &str) {
    let Some((request, item)) = find(step, call) else { return };
    hooks::abort(step, Some(call));
    match item.progress {
        Progress::Done(_) => {}
        Progress::Acting => {
            step.emit(Some(&request), ToolFact::Stopping { call: call.clone() });
            step.request(Effect::Abort { call: call.clone() });
        }
        Progress::Asking { checkpoint } => {
            answer_for(step, checkpoint);
            interrupted(step, call, text.into());
        }
        Progress::Pending | Progress::Started => {
            step.request(Effect::Abort { call: call.clone() });
            interrupted(step, call, text.into());
        }
    }
}

pub(super) fn interrupted(step: &mut Transition<'_>, call: &CallId, text: String) {
    // A command that has ended in the sandbox has come to that, whatever becomes of the question about it.
    let held = find(step, call).filter(|(_, item)| !item.outside).and_then(|(_, item)| item.held);
    match held {
        Some(WithheldResult { status, preview, .. }) => finished(step, call, status, preview),
        None => finished(step, call, ToolStatus::Interrupted, text),
    }
}
