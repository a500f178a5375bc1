//! The change history: any number of change sets can be undone and redone at once, all of them or none, and a part of
//! a set can be undone.
//!
//! A move is compared first: the world computes what it would do to the current files, set by set, and merges it with
//! the user's later edits ([`crate::merge`]). The result is recorded before any file is touched, and the sets are
//! updated to it. So undoing three sets is the same as undoing one three times, and a redo restores exactly what was
//! there.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use trimtab_vocab::event::{Change as Moved, ChangeFact, ChangedFile, Conflict, Undo};
use trimtab_vocab::format::Plural;
use trimtab_vocab::wording::Objection;
use trimtab_vocab::{ChangePart, ChangeSetId, FileSet, FileWrite, MergedWrite, OnConflict};

use crate::record::{ChangeSet, HistoryMove, Session};
use crate::transition::Transition;
use crate::{Compared, Effect, RewindPath, RewindPreview, RewindStep, handoff, permit};

/// The user wants to undo (below zero) or redo so many sets.
pub(crate) fn wanted(step: &mut Transition<'_>, by: i64, on_conflict: OnConflict) {
    if !may_begin(step) {
        return;
    }
    let (all, now) = (step.session.history().len() as i64, step.session.in_force() as i64);
    let to = (now + by).clamp(0, all);
    if to == now {
        return refuse(step, if by < 0 { Objection::NothingToUndo } else { Objection::NothingToRedo }, Vec::new());
    }
    let passed = passed(step.session, to as usize);
    if let Some(set) = passed.iter().find(|set| set.expired) {
        let reason = expired(step.session, set);
        return refuse(step, reason, Vec::new());
    }
    if let Some(reason) = passed.iter().find_map(|set| handoff::lent(step.session, &set.id)) {
        return refuse(step, reason, Vec::new());
    }
    step.emit(None, ChangeFact::Moving { position: position(to), on_conflict, undo: None, merged: None });
    start_restore(step);
}

fn expired(session: &Session, set: &ChangeSet) -> Objection {
    let number = session.history().iter().position(|other| other.id == set.id).map_or(0, |at| at + 1);
    Objection::Expired(number)
}

/// What the files of some sets were is no longer to be kept. What an unfinished move or a question that waits
/// for an answer needs stays.
pub(crate) fn expire(step: &mut Transition<'_>, ids: &[ChangeSetId], reason: String) {
    // A background command needs the files as they were before it.
    let in_background = step.session.running_background().next().is_some();
    if step.session.is_moving() || step.session.active().is_some() || in_background {
        return;
    }
    let known = step.session.history().iter().filter(|set| !set.expired && ids.contains(&set.id));
    let change_sets: Vec<ChangeSetId> = known.map(|set| set.id.clone()).collect();
    if !change_sets.is_empty() {
        step.emit(None, ChangeFact::Expired { change_sets, reason });
    }
    // File contents of undone sets that were built over, and of refused proposals, are not needed either.
    let held = step.session.history().iter().filter(|set| !set.expired).flat_map(|set| &set.writes);
    let states = held.chain(step.session.parked_writes()).flat_map(|write| [&write.before, &write.after]).flatten();
    let needed: BTreeSet<String> = states.map(|state| state.hash.clone()).collect();
    step.keep_only(needed.into_iter().collect());
}

/// The user wants to undo a part of a set.
pub(crate) fn part_unwanted(
    step: &mut Transition<'_>,
    of: &ChangeSetId,
    parts: Vec<ChangePart>,
    on_conflict: OnConflict,
) {
    if !may_begin(step) {
        return;
    }
    let (history, in_force) = (step.session.history(), step.session.in_force());
    let reason = match history.iter().position(|set| set.id == *of) {
        None => Some(Objection::NoSuchChange),
        Some(_) if step.session.lineage().lent.contains_key(of) => handoff::lent(step.session, of),
        Some(at) if at >= in_force => Some(Objection::AlreadyUndone),
        Some(at) if history[at].expired => Some(expired(step.session, &history[at])),
        Some(_) if in_force < history.len() => {
            // The new set would be built over them.
            Some(Objection::LaterUndone(Plural::new(history.len() - in_force, "undone change")))
        }
        Some(at) => {
            let is_there = |part: &&ChangePart| history[at].writes.iter().any(|write| write.path == part.path);
            let wrong = parts.iter().find(|part| !is_there(part));
            wrong.map(|part| Objection::NotTouched(part.path.clone()))
        }
    };
    if let Some(reason) = reason.or_else(|| parts.is_empty().then_some(Objection::NoPartNamed)) {
        return refuse(step, reason, Vec::new());
    }
    let change_set = ChangeSetId::undo_of(of, step.session.undos() + 1);
    let undo = Some(Undo { change_set, of: of.clone(), parts });
    let position = position(in_force as i64 + 1);
    step.emit(None, ChangeFact::Moving { position, on_conflict, undo, merged: None });
    start_restore(step);
}

/// Whether a move may begin; says why not. One that is under way is not disturbed.
fn may_begin(step: &mut Transition<'_>) -> bool {
    if step.session.moving().is_some() {
        return false;
    }
    let is_free = step.session.active().is_none();
    if !is_free {
        refuse(step, Objection::Busy, Vec::new());
    }
    is_free
}

/// Positions on the wire are indices of the set that is current; below zero: none is.
fn position(in_force: i64) -> i32 {
    i32::try_from(in_force - 1).unwrap_or(i32::MAX)
}

fn refuse(step: &mut Transition<'_>, reason: impl Into<String>, conflicts: Vec<Conflict>) {
    let was_moving = step.session.moving().is_some();
    step.emit(None, ChangeFact::Refused { reason: reason.into(), conflicts });
    if was_moving {
        admit(step);
    }
}

/// Starts the request that arrived while the history moved.
fn admit(step: &mut Transition<'_>) {
    if let Some(active) = step.session.active() {
        let request = active.request.id.clone();
        step.request(Effect::Admit { request });
    }
}

/// Asks for the next thing that the begun move needs: the comparison, then the files. Asked again after a
/// crash, it finishes what is unfinished.
pub(crate) fn start_restore(step: &mut Transition<'_>) {
    let Some(moving) = step.session.moving() else { return };
    if moving.merged.is_none() {
        let (ways, on_conflict) = (ways(step.session, moving), moving.on_conflict);
        return step.request(Effect::Compare { ways, on_conflict });
    }
    let set = net(step.session, moving);
    if set.writes.is_empty() {
        return restored(step, None);
    }
    match permit::user_initiated(set) {
        Ok(plan) => step.request(Effect::Restore { plan }),
        Err(reason) => refuse(step, reason, Vec::new()),
    }
}

/// The sets that a move passes, in its own order.
fn passed(session: &Session, to: usize) -> Vec<&ChangeSet> {
    let (history, from) = (session.history(), session.in_force());
    if to < from { history[to..from].iter().rev().collect() } else { history[from..to].iter().collect() }
}

/// The way of every file that a move touches.
fn ways(session: &Session, moving: &HistoryMove) -> Vec<RewindPath> {
    if let Some(Undo { change_set, of, parts }) = &moving.undo {
        let Some(set) = session.history().iter().find(|set| set.id == *of) else { return Vec::new() };
        let way = |write: &FileWrite| {
            let part = parts.iter().find(|part| part.path == write.path)?;
            let rewind_step = RewindStep {
                change_set: change_set.clone(),
                from: write.after.clone(),
                to: write.before.clone(),
                hunks: part.hunks.clone(),
            };
            Some(RewindPath { path: write.path.clone(), steps: vec![rewind_step], is_undo: true })
        };
        return set.writes.iter().filter_map(way).collect();
    }
    let back = moving.to < session.in_force();
    let mut ways: BTreeMap<&str, Vec<RewindStep>> = BTreeMap::new();
    for set in passed(session, moving.to) {
        for write in &set.writes {
            let (before, after) = (write.before.clone(), write.after.clone());
            let (from, to) = if back { (after, before) } else { (before, after) };
            let rewind_step = RewindStep { change_set: set.id.clone(), from, to, hunks: Vec::new() };
            ways.entry(&write.path).or_default().push(rewind_step);
        }
    }
    ways.into_iter().map(|(path, steps)| RewindPath { path: path.to_owned(), steps, is_undo: false }).collect()
}

/// It is known what the move would make of the files: that is recorded, and then done.
pub(crate) fn compared(step: &mut Transition<'_>, compared: Compared) {
    let Some(moving) = step.session.moving().filter(|moving| moving.merged.is_none()).cloned() else { return };
    let walked = match compared {
        Compared::Refused { reason, conflicts } => return refuse(step, reason, conflicts),
        Compared::Ready { walked } => walked,
    };
    let HistoryMove { to, on_conflict, undo, .. } = moving;
    // Sets are recorded as they were made, in both directions.
    let back = undo.is_none() && to < step.session.in_force();
    let merged = |walked: RewindPreview| {
        let RewindPreview { change_set, path, from, to, added, removed, modified } = walked;
        let write = match back {
            true => FileWrite { path, before: to, after: from, added: removed, removed: added, modified },
            false => FileWrite { path, before: from, after: to, added, removed, modified },
        };
        MergedWrite { change_set, write }
    };
    let mut merged: Vec<MergedWrite> = walked.into_iter().map(merged).collect();
    if undo.is_some() {
        merged.retain(|merged| merged.write.before != merged.write.after);
        if merged.is_empty() {
            return refuse(step, Objection::NothingLeft, Vec::new());
        }
    }
    let (position, merged) = (position(to as i64), Some(merged));
    step.emit(None, ChangeFact::Moving { position, on_conflict, undo, merged });
    start_restore(step);
}

/// The files are restored, or none of them was touched.
pub(crate) fn restored(step: &mut Transition<'_>, problem: Option<String>) {
    let Some(moving) = step.session.moving().filter(|moving| moving.merged.is_some()).cloned() else { return };
    if let Some(reason) = problem {
        return refuse(step, reason, Vec::new());
    }
    let (to, from) = (moving.to, step.session.in_force());
    if let Some(undo) = &moving.undo {
        let writes = net(step.session, &moving).writes;
        let set = ChangeSet { id: undo.change_set.clone(), writes, expired: false };
        let message = Some(format!("[The user undid a part of an earlier change, in {}.]", paths(&set)));
        step.emit(None, ChangeFact::Applied(Moved { message, ..moved(&set, to as i64, false) }));
        return admit(step);
    }
    let passed: Vec<ChangeSet> =
        passed(step.session, to).into_iter().map(|set| reworked(set, &moving).into_owned()).collect();
    for (n, set) in passed.iter().enumerate() {
        if to < from {
            let message = Some(format!("[The user undid the change of {}.]", paths(set)));
            step.emit(None, ChangeFact::Reverted(Moved { message, ..moved(set, (from - n - 1) as i64, true) }));
        } else {
            let message = Some(format!("[The user redid the change of {}.]", paths(set)));
            step.emit(None, ChangeFact::Reapplied(Moved { message, ..moved(set, (from + n + 1) as i64, false) }));
        }
    }
    admit(step);
}

fn moved(set: &ChangeSet, in_force: i64, back: bool) -> Moved {
    let file = |write: &FileWrite| ChangedFile {
        path: write.path.clone(),
        added: if back { write.removed } else { write.added },
        removed: if back { write.added } else { write.removed },
        modified: write.modified,
        is_new: if back { write.after.is_none() } else { write.before.is_none() },
        is_deleted: if back { write.before.is_none() } else { write.after.is_none() },
    };
    let files = set.writes.iter().map(file).collect();
    Moved { change_set: set.id.clone(), files, position: position(in_force), by: None, message: None }
}

/// The files of a set, as text for the model.
fn paths(set: &ChangeSet) -> String {
    set.writes.iter().map(|write| write.path.as_str()).collect::<Vec<_>>().join(", ")
}

/// A set as it will be when the move is over.
fn reworked<'a>(set: &'a ChangeSet, moving: &HistoryMove) -> Cow<'a, ChangeSet> {
    let merged: BTreeMap<&str, &FileWrite> = moving
        .merged
        .iter()
        .flatten()
        .filter(|merged| merged.change_set == set.id)
        .map(|merged| (merged.write.path.as_str(), &merged.write))
        .collect();
    if merged.is_empty() {
        return Cow::Borrowed(set);
    }
    let write = |write: &FileWrite| (*merged.get(write.path.as_str()).unwrap_or(&write)).clone();
    Cow::Owned(ChangeSet { writes: set.writes.iter().map(write).collect(), ..set.clone() })
}

/// The net effect of a move, as one set: it is applied completely or not at all.
fn net(session: &Session, moving: &HistoryMove) -> FileSet {
    let (to, from) = (moving.to, session.in_force());
    let folder = session.folder().unwrap_or_default().to_owned();
    if let Some(undo) = &moving.undo {
        let writes = moving.merged.iter().flatten().map(|merged| merged.write.clone()).collect();
        return FileSet { change_set: undo.change_set.clone(), folder, writes };
    }
    let between: Vec<Cow<'_, ChangeSet>> =
        session.history()[from.min(to)..from.max(to)].iter().map(|set| reworked(set, moving)).collect();
    let mut files: BTreeMap<&str, FileWrite> = BTreeMap::new();
    for write in between.iter().flat_map(|set| &set.writes) {
        match files.get_mut(write.path.as_str()) {
            Some(known) => known.after.clone_from(&write.after),
            None => drop(files.insert(&write.path, write.clone())),
        }
    }
    let writes = files.into_values().filter(|write| write.before != write.after).collect();
    let name = between.last().map_or("none", |set| set.id.as_str());
    let change_set: ChangeSetId = format!("{name}-to-{to}").parse().unwrap_or_else(|_| between[0].id.clone());
    let forward = FileSet { change_set: change_set.clone(), folder, writes };
    if to < from { forward.reversed(change_set) } else { forward }
}
