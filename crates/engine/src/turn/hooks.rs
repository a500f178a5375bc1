//! What follows from hooks in a turn: the work continues where it waited for them.

use serde_json::json;
use trimtab_vocab::checkpoint::WithheldResult;
use trimtab_vocab::event::{CheckpointFact, Status, ToolFact, ToolStatus};
use trimtab_vocab::wording::ProblemText;
use trimtab_vocab::{
    CallId, Fact, FileEffects, FileMark, FileWrite, HookEvent, HookOutcome, ImageRef, Problem, ProblemKind, RequestId,
};

use super::{batch, call_model, end_or_go_on, finish, is_worker, load_or_next, watched};
use crate::hooks::{self, HookMoment, HookReport};
use crate::record::{HeldOutcome, OpenHook, Phase, Session};
use crate::transition::Transition;
use crate::{Effect, Output, Ran};

/// How often hooks can make one request continue.
const MOST_CONTINUED: u32 = 3;
/// Bytes of diffs that the model is shown of what a hook did to files.
const SHOWN: usize = 4 * 1024;

/// Whether the request may begin: the hooks before it have run, and none of them refuses it.
pub(super) fn may_begin(step: &mut Transition<'_>) -> bool {
    let Some(active) = step.session.active().filter(|active| !is_worker(active)) else { return true };
    if active.request.settings.known.hooks.is_empty() {
        return true;
    }
    let request = active.request.id.clone();
    let prompt = json!({"prompt": active.request.text});
    if step.session.has_one_request() {
        let moment = HookMoment::of_request(HookEvent::SessionStart, "startup", json!({"source": "startup"}));
        if hooks::pass(step, &moment).is_none() {
            return false;
        }
    }
    let moment = HookMoment::of_request(HookEvent::UserPromptSubmit, "", prompt);
    let Some(gate) = hooks::pass(step, &moment) else { return false };
    if let Some(reason) = gate.blocked {
        let problem = Problem::new(ProblemKind::NotDone, ProblemText::HookRefused(hooks::on_one_line(&reason)))
            .hint(ProblemText::HookRefusedHint);
        finish(step, &request, Status::Failed, Some(problem));
        return false;
    }
    true
}

/// Whether the request may end: the hooks before its end have run. One that objects makes it continue.
pub(super) fn may_end(step: &mut Transition<'_>, words: &str) -> bool {
    let Some(active) = step.session.active().filter(|active| !is_worker(active)) else { return true };
    if active.request.settings.known.hooks.is_empty() {
        return true;
    }
    let is_continued = active.tools.hooks.continued > 0;
    let fields = json!({"stop_hook_active": is_continued, "last_assistant_message": words});
    hooks::pass(step, &HookMoment::of_request(HookEvent::Stop, "", fields)).is_some()
}

/// Whether the conversation may be summarized: the hooks before that have run.
pub(super) fn may_compact(step: &mut Transition<'_>) -> bool {
    if step.session.listed_hooks().is_empty() {
        return true;
    }
    let fields = json!({"trigger": "auto", "custom_instructions": ""});
    hooks::pass(step, &HookMoment::of_request(HookEvent::PreCompact, "auto", fields)).is_some()
}

/// Runs the hooks that want to know that the user is asked.
pub(crate) fn notify(step: &mut Transition<'_>) {
    let is_told = |session: &Session| {
        session.active().is_some_and(|active| active.request.settings.attended && !is_worker(active))
    };
    if step.session.listed_hooks().is_empty() || !is_told(step.session) {
        return;
    }
    let titles: Vec<String> = step
        .so_far()
        .iter()
        .filter_map(|output| match output {
            Output::Event { fact: Fact::Checkpoint(CheckpointFact::Opened { checkpoint, title, .. }), .. } => {
                step.session.checkpoint(checkpoint).map(|_| title.clone())
            }
            _ => None,
        })
        .collect();
    for title in titles {
        let fields = json!({"message": title, "notification_type": "permission_prompt"});
        hooks::run_all(step, &HookMoment::of_request(HookEvent::Notification, "permission_prompt", fields));
    }
}

/// The user leaves the session.
pub(crate) fn left(step: &mut Transition<'_>, reason: &str) {
    if !step.session.listed_hooks().is_empty() {
        hooks::run_all(step, &HookMoment::of_request(HookEvent::SessionEnd, reason, json!({"reason": reason})));
    }
}

/// Holds the result of a call back until the hooks after it have run. Whether there are any.
pub(super) fn hold(step: &mut Transition<'_>, call: &CallId, result: &WithheldResult, images: &[ImageRef]) -> bool {
    let is_good = matches!(result.status, ToolStatus::Ok | ToolStatus::Partial);
    if !is_good || step.session.listed_hooks().is_empty() {
        return false;
    }
    let Some(moment) = HookMoment::of_call(step.session, HookEvent::PostToolUse, call) else { return false };
    let moment = moment.holding(result.clone(), images.to_vec());
    // A failure before the start leaves nothing to wait for.
    hooks::has_any(step.session, &moment) && hooks::pass(step, &moment).is_none()
}

/// A hook has ended.
pub(crate) fn ended(step: &mut Transition<'_>, run: &CallId, ran: &Ran, effects: Option<&FileEffects>) {
    let Some(open) = step.session.hooks().open.get(run).cloned() else { return };
    let report = hooks::read(open.event, ran);
    conclude(step, run, &open, report, effects);
}

/// The file changes of an interrupted hook are known. Returns whether the call was a hook.
pub(super) fn inspected(step: &mut Transition<'_>, run: &CallId, effects: &FileEffects) -> bool {
    let Some(open) = step.session.hooks().open.get(run).cloned() else { return false };
    conclude(step, run, &open, lost(), Some(effects));
    true
}

fn lost() -> HookReport {
    HookReport::failed("Trimtab was interrupted, so its end is not known. It is not run again")
}

/// A new owner: hooks that ran have ended with the old one. They are not run again. What this owner has started is not
/// `interrupted`. This comes after the calls that were interrupted, because a call whose hook ends here starts here.
pub(super) fn woke(step: &mut Transition<'_>, interrupted: &[CallId]) {
    let open = step.session.hooks().open.iter().filter(|(run, _)| interrupted.contains(run));
    let open: Vec<(CallId, OpenHook)> = open.map(|(run, open)| (run.clone(), open.clone())).collect();
    for (run, open) in open {
        let request = step.session.active().map(|active| active.request.id.clone());
        let hook = step.session.listed_hooks().iter().find(|hook| hook.hash == open.hook).cloned();
        let watch =
            hook.filter(|_| open.event == HookEvent::PostToolUse).and_then(|hook| hooks::watch(step.session, &hook));
        match request.zip(watch) {
            Some((request, watch)) => step.request(Effect::InspectEffects { request, call: run, watch }),
            None => conclude(step, &run, &open, lost(), None),
        }
    }
}

/// Records the end of a hook, and continues.
fn conclude(
    step: &mut Transition<'_>,
    run: &CallId,
    open: &OpenHook,
    mut report: HookReport,
    effects: Option<&FileEffects>,
) {
    let folder = step.session.folder().unwrap_or_default().to_owned();
    let found = open.call.as_ref().and_then(|call| batch::find(step, call));
    report.input = report
        .input
        .zip(found.as_ref())
        .and_then(|(input, (_, item))| hooks::own_input(&input, item, &folder).filter(|new| *new != item.call.input));
    let current = step.session.active().filter(|_| step.session.is_current(open));
    let continued = current.map_or(0, |active| active.tools.hooks.continued);
    if open.event == HookEvent::Stop && report.outcome == HookOutcome::Blocked && continued >= MOST_CONTINUED {
        report = HookReport { outcome: HookOutcome::Passed, message: None, ..report };
    }
    let held = found.and_then(|(request, item)| Some((request, item.call_id, item.hooks.held?)));
    let result = held
        .filter(|_| open.event == HookEvent::PostToolUse)
        .map(|(request, call, held)| with_report(step, &request, &call, held, open, &report, effects));
    hooks::finish(step, run, report, result);
    if step.session.is_current(open) {
        resume(step, open.event, open.call.as_ref());
    }
}

/// The result of a call with what a hook did and said. The hook's file changes join those of the call.
fn with_report(
    step: &mut Transition<'_>,
    request: &RequestId,
    call: &CallId,
    held: HeldOutcome,
    open: &OpenHook,
    report: &HookReport,
    effects: Option<&FileEffects>,
) -> WithheldResult {
    let mut result = held.result;
    if let Some(effects) = effects {
        watched::record_with(step, request, call, &open.command, effects);
        tell_changes(step.session, &mut result, &open.command, effects);
    }
    match (&report.message, report.outcome) {
        (Some(message), HookOutcome::Blocked) => result.preview.push_str(&format!("\n{message}")),
        (Some(message), _) => result.preview.push_str(&format!("\n[From a hook: {message}]")),
        (None, _) => {}
    }
    result
}

/// Tells the model which files a hook changed, with short diffs of those that it knows. It then knows them as they are.
fn tell_changes(session: &Session, result: &mut WithheldResult, command: &str, effects: &FileEffects) {
    let Some(sentence) = watched::sentence(effects) else { return };
    result.preview.push_str(&format!("\n[Then the hook `{command}` ran. {sentence}]"));
    let mut left = SHOWN;
    for (write, diff) in effects.writes.iter().zip(&effects.diffs) {
        let before = write.before.as_ref().map(|before| before.hash.as_str());
        let known = result.files.iter().find(|file| file.path == write.path).map(|file| file.hash.as_str());
        let is_known = before.is_some() && known.or(session.mark(&write.path)) == before;
        result.files.retain(|file| file.path != write.path);
        let FileWrite { path, after: Some(after), .. } = write else { continue };
        if is_known && !diff.is_empty() && diff.len() <= left && !after.is_link() {
            left -= diff.len();
            result.preview.push_str(&format!("\n{}", diff.trim_end()));
            result.files.push(FileMark { path: path.clone(), hash: after.hash.clone() });
        }
    }
}

/// Continues where the work waited for the hooks of a moment.
fn resume(step: &mut Transition<'_>, event: HookEvent, call: Option<&CallId>) {
    let Some(active) = step.session.active() else { return };
    let (phase, is_loaded) = (active.phase.clone(), active.loaded);
    let is_stopping = matches!(phase, Phase::Stopping { .. });
    match (event, call) {
        (HookEvent::PreToolUse | HookEvent::PermissionRequest, Some(call)) => {
            if phase == Phase::Tools {
                batch::run_call(step, call);
            }
            batch::advance(step);
        }
        (HookEvent::PostToolUse, Some(call)) => {
            let Some(moment) = HookMoment::of_call(step.session, event, call) else { return };
            if hooks::pass(step, &moment).is_some() {
                release(step, call);
            }
        }
        _ if is_stopping => {}
        (HookEvent::SessionStart | HookEvent::UserPromptSubmit, None) if !is_loaded => load_or_next(step),
        (HookEvent::PreCompact, None) => call_model(step),
        (HookEvent::Stop, None) => {
            let words = step.session.conversation().last().map(|said| said.text()).unwrap_or_default();
            let stop = step.session.active().and_then(|active| active.calls.stop.clone());
            end_or_go_on(step, &words, stop.as_ref());
        }
        _ => {}
    }
}

/// The hooks after a call have run: it ends.
fn release(step: &mut Transition<'_>, call: &CallId) {
    let Some((request, item)) = batch::find(step, call) else { return };
    let Some(HeldOutcome { result, images }) = item.hooks.held.filter(|_| item.progress.is_open()) else { return };
    let WithheldResult { status, preview, full, files } = result;
    step.emit(Some(&request), ToolFact::Finished { call: call.clone(), status, preview, full, images, files });
    batch::proceed(step);
}
