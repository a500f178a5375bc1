//! Partial approval of a proposed change: which files the user wants, and which of their hunks.
//!
//! The choice is recorded with the answer. The world computes the resulting files from the two states that the
//! proposal has stored, and this is recorded before anything is written. So what was approved is what is applied: the
//! plan is made from that record, and only if it is about exactly the part that the answer named.

use trimtab_vocab::checkpoint::PermissionAsk;
use trimtab_vocab::event::{ProposalFact, ProposalKind};
use trimtab_vocab::wording::Objection;
use trimtab_vocab::{CallId, ChangePart, CheckpointId, FileWrite, ProposalId, RequestId};

use super::batch::{self, SHOWN_DIFF};
use crate::record::{BatchItem, Checkpoint, HunkSelection, Progress, Session};
use crate::tools::ToolAction;
use crate::transition::Transition;
use crate::{Effect, Narrowed, ProposedChange};

/// A part of what a call proposes, and the rest of it.
pub(crate) struct Partition {
    pub(crate) call: CallId,
    pub(crate) parts: Vec<ChangePart>,
    pub(crate) left: Vec<ChangePart>,
}

/// Why these are not parts of what a checkpoint asks about.
pub fn objection(session: &Session, checkpoint: &CheckpointId, wanted: &[ChangePart]) -> Option<Objection> {
    match session.checkpoint(checkpoint) {
        Some(open) => read(session, open, wanted).err(),
        None => Some(Objection::NotWaiting(checkpoint.to_string())),
    }
}

/// Reads what the user has chosen; nothing, if that is all there is.
pub(crate) fn read(
    session: &Session,
    checkpoint: &Checkpoint,
    wanted: &[ChangePart],
) -> Result<Option<Partition>, Objection> {
    // The call of a worker's question is in the worker's session.
    let (Some(PermissionAsk { call, .. }), None) = (checkpoint.ask.permission(), &checkpoint.worker) else {
        return Err(Objection::NoParts);
    };
    let asked = session.unfinished(&checkpoint.request).and_then(|active| active.batch.as_ref()?.item(call));
    let (item, writes) = asked.and_then(|item| Some((item, item.writes.as_ref()?))).ok_or(Objection::NoParts)?;
    if wanted.is_empty() {
        return Err(Objection::NothingChosen);
    }
    let each = || writes.iter().zip(item.hunks.iter().copied().chain(std::iter::repeat(0)));
    for part in wanted {
        let Some((write, hunks)) = each().find(|(write, _)| write.path == part.path) else {
            let paths: Vec<&str> = writes.iter().map(|write| write.path.as_str()).collect();
            return Err(Objection::NotInProposal(part.path.clone(), paths.join(", ")));
        };
        if !part.hunks.is_empty() && hunks == 0 {
            return Err(Objection::NoHunks(write.path.clone()));
        }
        if let Some(wrong) = part.hunks.iter().find(|number| !(1..=hunks).contains(*number)) {
            return Err(Objection::NoSuchHunk(*wrong, write.path.clone(), hunks));
        }
    }
    let (mut parts, mut left) = (Vec::new(), Vec::new());
    for (write, hunks) in each() {
        let whole = || ChangePart { path: write.path.clone(), hunks: Vec::new() };
        let named: Vec<&ChangePart> = wanted.iter().filter(|part| part.path == write.path).collect();
        let is_chosen = |number: &u32| named.iter().any(|part| part.hunks.contains(number));
        let (chosen, rest): (Vec<u32>, Vec<u32>) = (1..=hunks).partition(is_chosen);
        if named.is_empty() {
            left.push(whole());
        } else if named.iter().any(|part| part.hunks.is_empty()) || rest.is_empty() {
            parts.push(whole());
        } else {
            parts.push(ChangePart { hunks: chosen, ..whole() });
            left.push(ChangePart { hunks: rest, ..whole() });
        }
    }
    if left.is_empty() {
        return Ok(None);
    }
    if !is_divisible(item) {
        return Err(Objection::HalfAMove);
    }
    Ok(Some(Partition { call: call.clone(), parts, left }))
}

/// Whether a part of it can be applied separately.
pub(super) fn is_divisible(item: &BatchItem) -> bool {
    match item.action.as_deref() {
        Ok(ToolAction::Change(ProposedChange::Move { .. })) => false,
        Ok(ToolAction::Change(ProposedChange::Edit(edit))) => edit.moves().is_empty(),
        _ => true,
    }
}

/// What is still to be found out about the part that the user wants.
pub(super) fn narrow(request: &RequestId, item: &BatchItem) -> Option<Effect> {
    let (call, writes) = (item.call_id.clone(), item.writes.clone()?);
    let chosen = item.chosen.as_ref().filter(|chosen| chosen.left_out.is_none())?;
    Some(Effect::SelectHunks { request: request.clone(), call, writes, parts: chosen.parts.clone() })
}

/// It is known what the part makes of the files.
pub(crate) fn narrowed(step: &mut Transition<'_>, call: &CallId, parts: &[ChangePart], narrowed: Narrowed) {
    let Some((request, item)) = batch::find(step, call) else { return };
    let is_wanted = |chosen: &HunkSelection| chosen.parts == parts && chosen.left_out.is_none();
    if item.progress != Progress::Started || !item.chosen.as_ref().is_some_and(is_wanted) {
        return;
    }
    match narrowed {
        Narrowed::Refused { reason } => batch::refuse(step, call, reason),
        Narrowed::Ready { writes, .. } if !is_of(&writes, &item, parts) => {
            batch::refuse(step, call, Objection::LostPart);
        }
        Narrowed::Ready { writes, diffs, left } => {
            let each = writes.iter().zip(parts).zip(diffs.iter().zip(left));
            let operations = each.map(|((write, part), (diff, left))| {
                let mut operation = batch::operation(write, diff, hunks_of(part, &item));
                operation["left"] = left[..left.floor_char_boundary(SHOWN_DIFF)].into();
                operation
            });
            let (proposal, kind) = (ProposalId::for_call(&request, call), ProposalKind::Files);
            let (call, operations) = (Some(call.clone()), operations.collect());
            step.emit(Some(&request), ProposalFact::Opened { proposal, call, kind, operations, version: 2 });
            batch::run_call(step, &item.call_id);
        }
    }
    batch::advance(step);
}

/// How many hunks a part has.
fn hunks_of(part: &ChangePart, item: &BatchItem) -> u32 {
    let whole = item.writes.iter().flatten().zip(&item.hunks).find(|(write, _)| write.path == part.path);
    match part.hunks.len() {
        0 => whole.map_or(0, |(_, hunks)| *hunks),
        some => u32::try_from(some).unwrap_or(u32::MAX),
    }
}

/// Whether these are the files of the part, from the state that was approved.
fn is_of(writes: &[FileWrite], item: &BatchItem, parts: &[ChangePart]) -> bool {
    let from = |path: &str| item.writes.iter().flatten().find(|write| write.path == path);
    let same = |(write, part): (&FileWrite, &ChangePart)| {
        write.path == part.path && from(&part.path).is_some_and(|whole| whole.before == write.before)
    };
    writes.len() == parts.len() && writes.iter().zip(parts).all(same)
}

/// The message to the model, so that it does not take the rest for done.
pub(super) fn told(summary: &str, chosen: &HunkSelection) -> String {
    let named = |part: &ChangePart| match part.hunks.as_slice() {
        [] => format!("all of {}", part.path),
        [one] => format!("hunk {one} of {}", part.path),
        several => {
            let numbers: Vec<String> = several.iter().map(u32::to_string).collect();
            format!("hunks {} of {}", numbers.join(", "), part.path)
        }
    };
    let left: Vec<String> = chosen.left.iter().map(named).collect();
    let diff = chosen.left_out.as_deref().unwrap_or_default();
    format!(
        "{summary}\nThe user accepted only a part of this change. Left out: {}. This is NOT in the files:\n{diff}\
         [Do not treat the part that was left out as done, and do not propose it again unless the user asks for it. Read a file again before you change it.]",
        left.join("; ")
    )
}
