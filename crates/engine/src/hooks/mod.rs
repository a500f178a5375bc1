//! Hooks: which of them run at a moment, one after the other, and what they have decided by then.
//!
//! The intent to run a hook is recorded before it runs, and its result before anything follows from it. A hook runs
//! once for an intent: one whose end is not known counts as failed.

mod payload;
mod plan;
mod report;

use serde_json::{Value, json};
use trimtab_vocab::checkpoint::WithheldResult;
use trimtab_vocab::event::Level;
use trimtab_vocab::wording::{Notice, PermissionReason, Refusal};
use trimtab_vocab::{
    CallId, HookEvent, HookFact, HookOutcome, ImageRef, ListedHook, RequestId, Rule, RuleVerdict, SnapshotLimits,
    format,
};

use crate::Effect;
use crate::permit;
use crate::proposal::command::visible;
use crate::record::{HookGate, HookObjection, ObjectionKind, OpenHook, Phase, Session};
use crate::transition::Transition;

pub(crate) use payload::own_input;
pub(crate) use report::{HookReport, read};

/// Bytes of the text that a hook is sent.
const LONGEST_PAYLOAD: usize = 1024 * 1024;

/// When hooks run, and their input.
#[derive(Debug, Clone)]
pub(crate) struct HookMoment {
    pub(crate) event: HookEvent,
    /// The tool call that they are about.
    pub(crate) call: Option<CallId>,
    /// What the matchers of hooks are compared with.
    names: Vec<String>,
    /// The fields of the input that only this event has.
    fields: Value,
    /// The result that waits for the hooks.
    held: Option<(WithheldResult, Vec<ImageRef>)>,
}

impl HookMoment {
    /// A moment of the request as a whole.
    pub(crate) fn of_request(event: HookEvent, name: &str, fields: Value) -> Self {
        Self { event, call: None, names: vec![name.to_owned()], fields, held: None }
    }

    /// A moment of a tool call.
    pub(crate) fn of_call(session: &Session, event: HookEvent, call: &CallId) -> Option<Self> {
        let item = session.active()?.batch.as_ref()?.item(call)?;
        let (names, mut fields) = payload::tool(item, session.folder().unwrap_or_default());
        if event == HookEvent::PostToolUse {
            let result = item.hooks.held.as_ref().map(|held| &held.result);
            fields["tool_response"] = json!({"output": result.map(|result| result.preview.as_str())});
        }
        Some(Self { event, call: Some(call.clone()), names, fields, held: None })
    }

    /// The same with a result that waits for the hooks.
    pub(crate) fn holding(mut self, result: WithheldResult, images: Vec<ImageRef>) -> Self {
        self.fields["tool_response"] = json!({"output": result.preview});
        Self { held: Some((result, images)), ..self }
    }
}

/// Whether a hook takes part. Those of a folder only where the user has approved them.
fn takes_part(session: &Session, hook: &ListedHook) -> bool {
    if hook.project { is_approved(session, hook) } else { !has_rule(session, hook, RuleVerdict::Deny) }
}

/// Whether the user has approved a hook as it is now, if that is needed.
fn is_approved(session: &Session, hook: &ListedHook) -> bool {
    // Without a request, they are those of the last one, and were read because the folder was trusted.
    let is_trusted = session.active().is_none_or(|active| permit::is_trusted(session, active));
    let has = |verdict| has_rule(session, hook, verdict);
    !hook.needs_approval() || is_trusted && has(RuleVerdict::Allow) && !has(RuleVerdict::Deny)
}

fn has_rule(session: &Session, hook: &ListedHook, verdict: RuleVerdict) -> bool {
    session.rules_folder().is_some_and(|folder| session.rules().contains(&Rule::hook(folder, hook, verdict)))
}

/// The hooks of a moment, the user's own first.
fn matching<'a>(session: &'a Session, moment: &'a HookMoment) -> impl Iterator<Item = &'a ListedHook> {
    let fits = |hook: &&ListedHook| {
        hook.event == moment.event
            && moment.names.iter().any(|name| payload::matches(&hook.matcher, name))
            && takes_part(session, hook)
    };
    let hooks = session.listed_hooks();
    hooks.iter().filter(|hook| !hook.project).chain(hooks.iter().filter(|hook| hook.project)).filter(fits)
}

/// Whether there are hooks for a moment.
pub(crate) fn has_any(session: &Session, moment: &HookMoment) -> bool {
    matching(session, moment).next().is_some()
}

/// Tells of the folder's hooks that are not approved, once in a session.
pub(crate) fn tell_pending(step: &mut Transition<'_>, request: &RequestId) {
    let Some(folder) = step.session.rules_folder() else { return };
    let is_decided = |hook: &ListedHook| {
        let has = |verdict| step.session.rules().contains(&Rule::hook(folder, hook, verdict));
        has(RuleVerdict::Allow) || has(RuleVerdict::Deny)
    };
    let earlier = &step.session.hooks().earlier;
    let is_new = |hook: &&ListedHook| hook.needs_approval() && !earlier.contains(&hook.hash) && !is_decided(hook);
    let pending: Vec<String> = step.session.listed_hooks().iter().filter(is_new).map(title).collect();
    if !pending.is_empty() {
        step.notify(request, Level::Warning, Notice::HooksPending(pending.join(", ")));
    }
}

/// A hook as it is named to people.
fn title(hook: &ListedHook) -> String {
    format!("{} `{}`", hook.event.name(), visible(&hook.command))
}

/// What the hooks of a moment have decided.
fn gate(session: &Session, moment: &HookMoment) -> HookGate {
    session.hook_gate(moment.event, moment.call.as_ref()).cloned().unwrap_or_default()
}

/// Runs the hooks of a moment, one after the other. Returns what they have decided once all have run, or one of them
/// refuses; nothing, while one runs.
pub(crate) fn pass(step: &mut Transition<'_>, moment: &HookMoment) -> Option<HookGate> {
    loop {
        let so_far = gate(step.session, moment);
        if so_far.running.is_some() {
            return None;
        }
        let is_over = so_far.blocked.is_some() || is_stopping(step.session);
        let next = matching(step.session, moment).find(|hook| !so_far.ran.contains(&hook.hash)).cloned();
        match next.filter(|_| !is_over) {
            None => return Some(so_far),
            Some(hook) if start(step, moment, &hook) => return None,
            // It failed before it could start.
            Some(_) => {}
        }
    }
}

fn is_stopping(session: &Session) -> bool {
    session.active().is_none_or(|active| matches!(active.phase, Phase::Stopping { .. }))
}

/// Runs all hooks of a moment that decide nothing.
pub(crate) fn run_all(step: &mut Transition<'_>, moment: &HookMoment) {
    let hooks: Vec<ListedHook> = matching(step.session, moment).cloned().collect();
    for hook in hooks {
        start(step, moment, &hook);
    }
}

/// The request that a hook is recorded with.
fn about(session: &Session) -> Option<RequestId> {
    session.active().map(|active| active.request.id.clone()).or_else(|| session.hooks().last_request.clone())
}

/// Starts a hook. Whether it runs.
fn start(step: &mut Transition<'_>, moment: &HookMoment, hook: &ListedHook) -> bool {
    let Some(request) = about(step.session) else { return false };
    let run = CallId::hook(step.session.hooks().runs + 1);
    let (result, images) = match moment.held.clone().filter(|_| gate(step.session, moment).ran.is_empty()) {
        Some((result, images)) => (Some(Box::new(result)), images),
        None => (None, Vec::new()),
    };
    let (event, call) = (moment.event, moment.call.clone());
    step.audit(&request, "hook", json!({"op": "run", "event": event.name(), "command": hook.command, "call": call}));
    step.emit(
        Some(&request),
        HookFact::Started {
            run: run.clone(),
            event,
            hook: hook.hash.clone(),
            command: hook.command.clone(),
            project: hook.project,
            call,
            result,
            images,
        },
    );
    let text = payload::text(step.session, moment.event, &moment.fields);
    let problem = match &hook.problem {
        Some(problem) => Some(problem.clone()),
        None if text.len() > LONGEST_PAYLOAD => Some("what it would be told is larger than 1 MB".to_owned()),
        // A check of the user that may not run has not said yes.
        None if !is_approved(step.session, hook) => {
            let files: Vec<&str> = hook.files.iter().map(String::as_str).collect();
            let files = format::first(&files, 3);
            Some(format!("it runs {files} of this folder, which you have not approved (`trimtab hooks`)"))
        }
        None => None,
    };
    let plan = match problem {
        None => plan::of(step.session, &run, hook, event, &text).ok_or("it cannot be run in the sandbox".to_owned()),
        Some(problem) => Err(problem),
    };
    match plan {
        Ok(plan) => {
            let watch = (event == HookEvent::PostToolUse).then(|| watch(step.session, hook)).flatten();
            step.request(Effect::RunHook { request, run, plan, watch, hook: Box::new(hook.clone()) });
            true
        }
        Err(problem) => {
            let report = HookReport::failed(problem);
            finish(step, &run, report, None);
            false
        }
    }
}

/// How much is noted before a hook that may change files.
pub(crate) fn watch(session: &Session, hook: &ListedHook) -> Option<SnapshotLimits> {
    let settings = &session.active()?.request.settings;
    let (files, bytes) = (settings.snapshot.files, u64::from(settings.snapshot.mb) << 20);
    (files > 0 && bytes > 0).then_some(SnapshotLimits { files, bytes, whole: hook.project })
}

/// Records the end of a hook, and tells of what went wrong. `result` is the result that waits for it, as it is now.
pub(crate) fn finish(step: &mut Transition<'_>, run: &CallId, report: HookReport, result: Option<WithheldResult>) {
    let Some(open) = step.session.hooks().open.get(run).cloned() else { return };
    let request = open.request.clone();
    let HookReport { outcome, exit_code, reason, input, message } = report;
    let fact = HookFact::Finished {
        run: run.clone(),
        outcome,
        exit_code,
        reason: reason.clone(),
        input: input.clone(),
        message,
        result: result.map(Box::new),
    };
    step.emit(request.as_ref(), fact);
    let Some(request) = request else { return };
    let OpenHook { event, command, .. } = &open;
    let fields = json!({"op": "end", "event": event.name(), "command": command, "outcome": outcome, "reason": reason});
    step.audit(&request, "hook", fields);
    let (command, reason) = (visible(command), visible(&on_one_line(reason.as_deref().unwrap_or_default())));
    if outcome == HookOutcome::Failed {
        step.notify(&request, Level::Warning, Notice::HookFailed(command.clone(), reason));
    } else if outcome == HookOutcome::Blocked && open.event == HookEvent::Stop {
        step.notify(&request, Level::Info, Notice::HookContinues(command.clone(), reason));
    }
    if let (Some(input), Some(call)) = (input, &open.call) {
        let tool = step.session.active().and_then(|active| Some(active.batch.as_ref()?.item(call)?.call.name.clone()));
        let input = visible(&shortened(&input.to_string()));
        step.notify(&request, Level::Info, Notice::HookChangedCall(command, tool.unwrap_or_default(), input));
    }
}

/// What a hook says, as people are shown it: a line of its own would look like one of Trimtab's.
pub(crate) fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Arguments as a notice shows them.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 1_000;
    match text.len() > LONGEST {
        true => format!("{}…", &text[..text.floor_char_boundary(LONGEST)]),
        false => text.to_owned(),
    }
}

/// Ends the hooks that run: all, or those about one call.
pub(crate) fn abort(step: &mut Transition<'_>, call: Option<&CallId>) {
    let is_meant = |open: &OpenHook| call.is_none() || open.call.as_ref() == call;
    let runs: Vec<CallId> =
        step.session.hooks().open.iter().filter(|(_, open)| is_meant(open)).map(|(run, _)| run.clone()).collect();
    for call in runs {
        step.request(Effect::Abort { call });
    }
}

/// Why the user is asked, in words.
pub(crate) fn reason(objection: &HookObjection) -> PermissionReason {
    let command = visible(&objection.command);
    match &objection.kind {
        ObjectionKind::Asks(reason) => PermissionReason::HookAsks(command, visible(&on_one_line(reason))),
        ObjectionKind::Failed(how) => PermissionReason::HookFailed(command, visible(&on_one_line(how))),
        ObjectionKind::Changed => PermissionReason::HookChanged(command),
    }
}

/// Why a call is refused in an unattended run, because a hook failed. A hook that asks leaves a question for later.
pub(crate) fn refusal(session: &Session, objection: &HookObjection) -> Option<Refusal> {
    let is_attended = session.active().is_some_and(|active| active.request.settings.attended);
    let command = visible(&objection.command);
    match &objection.kind {
        _ if is_attended => None,
        ObjectionKind::Failed(how) => Some(Refusal::HookFailed(command, visible(how))),
        ObjectionKind::Changed => {
            Some(Refusal::HookFailed(command, "it changed the call, which a person has to see".to_owned()))
        }
        ObjectionKind::Asks(_) => None,
    }
}
