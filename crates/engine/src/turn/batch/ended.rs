//! The result of a call, and what the model sees of it.

use serde_json::{Value, json};
use trimtab_vocab::event::{
    Change as ChangeEvent, ChangeFact, ChangedFile, ProposalFact, ProposalKind, ToolFact, ToolStatus,
};
use trimtab_vocab::format;
use trimtab_vocab::wording::PermissionReason;
use trimtab_vocab::{
    ApprovalClass, CallId, ChangeSetId, CommandRun, FileEffects, FileMark, FileWrite, INTERRUPT_TOOL, ImageRef,
    ProposalId, ReadResult, RefKey, RequestId, Sandbox, ToolResult,
};

use super::asking::{PermissionRequest, ask_permission};
use super::call::{permit_and_act, rule_about, run_call, run_of};
use super::stopping::{STOPPED, interrupted};
use super::{SHOWN_DIFF, advance, find, proceed};
use crate::record::{BatchItem, Phase, Progress, Session, WithheldResult};
use crate::subtasks;
use crate::tools::ToolAction;
use crate::transition::Transition;
use crate::turn::outside::Offered;
use crate::turn::{
    answers, background, checks, choosing, elicitation, guard, hooks, instructions, network, outcome, outside,
    overtime, prompt, watched,
};
use crate::{Prepared, ProposedChange, Ran, workers};

/// Something was seen.
pub(crate) fn read_finished(step: &mut Transition<'_>, call: &CallId, seen: ReadResult) {
    let Some((request, item)) = find(step, call) else { return };
    if item.progress != Progress::Started {
        return;
    }
    report_seen(step, &request, call, seen);
    advance(step);
}

/// A server has answered, or has not.
pub(crate) fn server_answered(step: &mut Transition<'_>, call: &CallId, seen: ReadResult) {
    let Some((request, _)) = find(step, call) else { return };
    report_seen(step, &request, call, seen);
    proceed(step);
}

/// Ends a call with what was seen. Images are stored.
fn report_seen(step: &mut Transition<'_>, request: &RequestId, call: &CallId, seen: ReadResult) {
    let ReadResult { status, text, images, files } = seen;
    let mut pictures = Vec::new();
    for (number, (media_type, base64)) in images.into_iter().enumerate() {
        let key = RefKey::seen_by(request, call, number);
        step.store(key.clone(), base64);
        pictures.push(ImageRef { key, media_type });
    }
    report(step, call, status, text, pictures, files);
}

/// It is known what a change would make of the files.
pub(crate) fn prepared(step: &mut Transition<'_>, call: &CallId, prepared: Prepared) {
    let Some((request, item)) = find(step, call) else { return };
    if item.progress != Progress::Started || item.writes.is_some() {
        return;
    }
    match prepared {
        Prepared::Refused { reason } => finished(step, call, ToolStatus::Error, reason),
        Prepared::Conflicts { conflicts } => return subtasks::conflicted(step, conflicts),
        Prepared::Blocked { obstacle } => drop(subtasks::blocked(step, call, obstacle)),
        Prepared::NoEffect { why, reason } => crate::turn::noop::met(step, call, &request, why, reason),
        Prepared::Ready { writes, diffs, hunks, versions, losses, unsaved } => {
            let hunks = hunks.into_iter().chain(std::iter::repeat(0));
            let each = writes.iter().zip(&diffs).zip(hunks);
            let with_signs = |write: &FileWrite, mut operation: Value| {
                if versions.contains(&write.path) {
                    operation["versions"] = json!(true);
                }
                if let Some(loss) = losses.iter().find(|loss| loss.path == write.path) {
                    operation["loss"] = json!(loss);
                }
                if unsaved.contains(&write.path) {
                    operation["unsaved"] = json!(true);
                }
                operation
            };
            let operations =
                each.map(|((write, diff), hunks)| with_signs(write, operation(write, diff, hunks))).collect();
            let proposal = ProposalId::for_call(&request, call);
            let kind = if saves_pictures(&item) { ProposalKind::Image } else { ProposalKind::Files };
            step.emit(
                Some(&request),
                ProposalFact::Opened { proposal, call: Some(call.clone()), kind, operations, version: 1 },
            );
            run_call(step, call);
        }
    }
    advance(step);
}

fn saves_pictures(item: &BatchItem) -> bool {
    matches!(item.action.as_deref(), Ok(ToolAction::Change(ProposedChange::Save { .. })))
}

/// A file of a proposal as events tell of it.
pub(in crate::turn) fn operation(write: &FileWrite, diff: &str, hunks: u32) -> Value {
    let mut value = json!(write);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("diff".into(), json!(diff[..diff.floor_char_boundary(SHOWN_DIFF)]));
        fields.insert("hunks".into(), json!(hunks));
        fields.insert("errors".into(), json!([]));
    }
    value
}

/// Files were written, or were not.
pub(crate) fn applied(step: &mut Transition<'_>, call: &CallId, problem: Option<String>) {
    let Some((request, item)) = find(step, call) else { return };
    let saves = saves_pictures(&item);
    let Some(writes) = item.writes.filter(|_| item.progress == Progress::Acting) else { return };
    match problem {
        Some(reason) if subtasks::merge_again(step, call, &reason) => return,
        Some(reason) => finished(step, call, ToolStatus::Error, reason),
        None => {
            let files: Vec<ChangedFile> = writes.iter().map(ChangedFile::from).collect();
            let said = if saves { saved(&files) } else { summary(&files) };
            let (status, text) = match &item.chosen {
                Some(chosen) => (ToolStatus::Partial, choosing::told(&said, chosen)),
                None => (ToolStatus::Ok, said),
            };
            let joined = joined(step.session, &request, &writes);
            let sets = step.session.in_force() - usize::from(joined.is_some());
            let position = i32::try_from(sets).unwrap_or(i32::MAX);
            let change_set = joined.unwrap_or_else(|| ChangeSetId::for_call(&request, call));
            step.emit(
                Some(&request),
                ChangeFact::Applied(ChangeEvent { change_set, files, position, by: None, message: None }),
            );
            if item.given.as_ref().is_some_and(|given| given.by_person) {
                instructions::approved(step, &request, &writes);
            }
            let mark = |write: &FileWrite| {
                write.after.as_ref().map(|after| FileMark { path: write.path.clone(), hash: after.hash.clone() })
            };
            // A file that is not as the model proposed it is not one that it has seen.
            let known = writes.iter().filter(|_| item.chosen.is_none()).filter_map(mark).collect();
            report(step, call, status, text, Vec::new(), known);
        }
    }
    proceed(step);
}

/// The set that a change of an answer belongs to, if an earlier one has begun it: all files that one answer changes are
/// one change, and are taken back as one. A file that the set has already is a change of its own.
fn joined(session: &Session, request: &RequestId, writes: &[FileWrite]) -> Option<ChangeSetId> {
    let batch = session.active()?.batch.as_ref().filter(|batch| batch.of_answer)?;
    let set = session.history()[..session.in_force()].last()?;
    let is_of_answer = batch.items.iter().any(|item| ChangeSetId::for_call(request, &item.call_id) == set.id);
    let has_it = |write: &FileWrite| set.writes.iter().any(|known| known.path == write.path);
    (is_of_answer && session.in_force() == session.history().len() && !writes.iter().any(has_it))
        .then(|| set.id.clone())
}

fn summary(files: &[ChangedFile]) -> String {
    let line = |file: &ChangedFile| match (file.is_new, file.is_deleted) {
        (true, _) => format!("Created {} ({} lines).", file.path, file.added),
        (_, true) => format!("Deleted {}.", file.path),
        _ => format!("Changed {}: +{} -{} lines.", file.path, file.added, file.removed),
    };
    files.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn saved(files: &[ChangedFile]) -> String {
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    format!("Saved {}: {}.", format::plural(names.len(), "image"), names.join(", "))
}

/// A command ended.
pub(crate) fn ran(step: &mut Transition<'_>, call: &CallId, ran: Ran, effects: Option<&FileEffects>) {
    if background::ended(step, call, &ran, effects) {
        return;
    }
    let Some((request, item)) = find(step, call) else { return };
    let Some((action, command)) = running(&item) else { return };
    overtime::settle(step, call);
    // A background command may have ended meanwhile, and has its own set.
    let own = effects.map(|effects| background::unexplained(step.session, step.session.since_command(), effects));
    let effects = own.as_ref();
    if let Some(effects) = effects {
        watched::record(step, &request, call, command, effects, false);
    }
    if ran.lost && !item.stopping && step.session.active().is_some_and(|active| active.phase == Phase::Tools) {
        answers::ask_about_outcome(step, call, command);
        return advance(step);
    }
    let run = run_of(step.session, call, action);
    let is_going_on = !item.stopping && step.session.active().is_some_and(|active| active.phase == Phase::Tools);
    if let (Some(reason), true) = (&ran.blocked, is_going_on) {
        step.emit(Some(&request), outcome::finished(call, command.to_owned(), &ran, None, None));
        blocked(step, call, action, &item, reason.clone(), run);
        return advance(step);
    }
    let limit = overtime::limit_of(step.session, call).unwrap_or_default();
    let facts = step.session.active().map(|active| prompt::model(&active.request).1).unwrap_or_default();
    let (files, marks) = effects.map(|effects| watched::told(step.session, effects)).unwrap_or_default();
    let edited = item.origin.edited_from.as_ref().map(|old| format!("[The user edited this command; it was: `{old}`]"));
    let again = outside::told(&item).map(str::to_owned);
    let beside = effects.and_then(|effects| watched::told_alongside(step.session, call, effects));
    let more: Vec<String> = edited.into_iter().chain(again).chain(files).chain(beside).collect();
    let is_passed_check = item.check().is_some() && ran.exit_code == Some(0) && !ran.timed_out && !ran.stopped;
    // What a passed check prints, and what it tried to reach, is for people.
    let silent = is_passed_check.then(|| Ran { output: String::new(), hosts: Vec::new(), ..ran.clone() });
    let of = silent.as_ref().unwrap_or(&ran);
    let (status, preview) = outcome::told(of, item.stopping, limit, &more, guard::limit(&facts));
    let preview = match item.check() {
        Some(_) => checks::told(&item, status, &preview),
        None => preview,
    };
    let full = ran.raw.clone();
    let unobserved = effects.and_then(|effects| effects.unobserved);
    step.emit(Some(&request), outcome::finished(call, command.to_owned(), &ran, unobserved, None));
    // What was cut out of a long result was not seen.
    let held = WithheldResult { status, preview, full, files: if ran.raw.is_none() { marks } else { Vec::new() } };
    // A check that needs more than its fence has failed.
    if let (Some(run), true) = (run, is_going_on && item.check().is_none())
        && run.sandbox != Sandbox::Off
    {
        let offered = match network::offer(step, &item, &run, &ran, &held) {
            Offered::Nothing => outside::offer(step, &item, action, run, &ran, &held),
            offered => offered,
        };
        match offered {
            Offered::Nothing => {}
            Offered::Open => return advance(step),
            Offered::Answered => {
                permit_and_act(step, call);
                return advance(step);
            }
        }
    }
    close(step, &request, call, held, Vec::new());
    proceed(step);
}

/// A command that was to run automatically did not start, because a fence or the snapshot that undo needs could not
/// be had: only a person can let it run now.
fn blocked(
    step: &mut Transition<'_>,
    call: &CallId,
    action: &ToolAction,
    item: &BatchItem,
    reason: String,
    run: Option<CommandRun>,
) {
    let reason = PermissionReason::Unprotected(reason);
    let asked = PermissionRequest { class: ApprovalClass::Unprotected, reason, rule: rule_about(step.session, action) };
    ask_permission(step, call, action, item, asked, run);
}

/// It is known what a command did to files whose end nobody saw.
pub(crate) fn effects_inspected(step: &mut Transition<'_>, call: &CallId, effects: &FileEffects) {
    if background::inspected(step, call, effects) || hooks::inspected(step, call, effects) {
        return;
    }
    let Some((request, item)) = find(step, call) else { return };
    let Some((_, command)) = running(&item) else { return };
    let own = background::unexplained(step.session, step.session.since_command(), effects);
    watched::record(step, &request, call, command, &own, true);
    if item.starts_in_background() {
        gone_with_trimtab(step, call);
    } else if item.stopping {
        interrupted(step, call, STOPPED.to_owned());
    } else if step.session.active().is_some_and(|active| active.phase == Phase::Tools) {
        answers::ask_about_outcome(step, call, command);
    } else {
        interrupted(step, call, ToolResult::interrupt(&item.call.id).content);
    }
    proceed(step);
}

/// A command that was to continue in the background ended with an earlier owner before its call did.
pub(super) fn gone_with_trimtab(step: &mut Transition<'_>, call: &CallId) {
    let mut text = "Trimtab was interrupted while this command was starting in the background, and the command ended with it. It was not started again.".to_owned();
    if let Some((request, _)) = find(step, call)
        && let Some(files) = watched::after_all(step.session, &request, call)
    {
        text.push_str(&format!(" {files}"));
    }
    finished(step, call, ToolStatus::Error, text);
}

/// The command that runs.
fn running(item: &BatchItem) -> Option<(&ToolAction, &str)> {
    let action = item.action.as_deref().ok()?;
    Some((action, item.command().filter(|_| item.progress == Progress::Acting)?))
}

pub(crate) fn finished(step: &mut Transition<'_>, call: &CallId, status: ToolStatus, text: String) {
    let is_undone = matches!(status, ToolStatus::Error | ToolStatus::Blocked);
    if is_undone && subtasks::failed(step, call, &text) {
        return;
    }
    report(step, call, status, text, Vec::new(), Vec::new());
}

fn report(
    step: &mut Transition<'_>,
    call: &CallId,
    status: ToolStatus,
    text: String,
    images: Vec<ImageRef>,
    files: Vec<FileMark>,
) {
    let Some((request, item)) = find(step, call) else { return };
    elicitation::settle(step, call);
    // Workers do not outlive the call that delegates to them, however it ends.
    if step.session.active().is_some_and(|active| subtasks::is_delegated_by(active, call)) {
        workers::stop_all(step, &request);
    }
    let text = match words_of(&item) {
        Some(words) => format!("{text}\nThe user allowed this, and says: {words}"),
        None => text,
    };
    let text = match item.check() {
        Some(_) if !text.starts_with(INTERRUPT_TOOL) => checks::told(&item, status, &text),
        _ => text,
    };
    let text = match subtasks::tool_result(step.session, call) {
        Some(results) => format!("{text}\n{results}"),
        None => text,
    };
    let (preview, full) = guarded(step, &request, call, text);
    close(step, &request, call, WithheldResult { status, preview, full, files }, images);
}

/// Ends a call, once the hooks after it have run.
fn close(step: &mut Transition<'_>, request: &RequestId, call: &CallId, result: WithheldResult, images: Vec<ImageRef>) {
    if hooks::hold(step, call, &result, &images) {
        return;
    }
    let WithheldResult { status, preview, full, files } = result;
    step.emit(Some(request), ToolFact::Finished { call: call.clone(), status, preview, full, images, files });
}

/// What a person said when they allowed a call. Words that came with a yes to a command were the command to run.
fn words_of(item: &BatchItem) -> Option<&str> {
    let given = item.given.as_ref()?;
    let is_apart = match given.choice.as_str() {
        answers::ALLOW => given.fingerprint.is_none(),
        answers::ALWAYS => true,
        _ => false,
    };
    given.text.as_deref().map(str::trim).filter(|words| is_apart && !words.is_empty())
}

/// What the model sees of a result, and where the whole is if that is not all of it.
fn guarded(step: &mut Transition<'_>, request: &RequestId, call: &CallId, text: String) -> (String, Option<RefKey>) {
    let facts = step.session.active().map(|active| prompt::model(&active.request).1).unwrap_or_default();
    let limit = guard::limit(&facts);
    if text.len() <= limit {
        return (text, None);
    }
    let key = RefKey::result_of(request, call);
    let preview = guard::sandwich(&text, limit, "result", &key);
    step.store(key.clone(), text);
    (preview, Some(key))
}
