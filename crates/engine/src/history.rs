//! The change history: what was applied can be taken back and brought forward again, any number of sets
//! at once, all of them or none.

use std::collections::BTreeMap;

use trimtab_vocab::event::{Change as Moved, ChangeFact, ChangedFile};
use trimtab_vocab::{ChangeSetId, FileSet, FileWrite};

use crate::record::{ChangeSet, Session};
use crate::step::Step;
use crate::{Effect, permit};

/// A person wants so many sets taken back (below zero) or brought forward.
pub(crate) fn wanted(step: &mut Step<'_>, by: i64) {
    if step.session.moving_to().is_some() {
        return;
    }
    if step.session.active().is_some() {
        return refuse(step, "A request is running or waits for an answer. Stop it first, then try again.".into());
    }
    let (all, now) = (step.session.history().len() as i64, step.session.in_force() as i64);
    let to = (now + by).clamp(0, all);
    if to == now {
        let what = if by < 0 { "There is no change left to rewind." } else { "There is no change to bring forward." };
        return refuse(step, what.into());
    }
    step.say(None, ChangeFact::Moving { position: position(to) });
    go(step);
}

/// Positions on the wire are indices of the set that is current; below zero: none is.
fn position(in_force: i64) -> i32 {
    i32::try_from(in_force - 1).unwrap_or(i32::MAX)
}

fn refuse(step: &mut Step<'_>, reason: String) {
    let was_moving = step.session.moving_to().is_some();
    step.say(None, ChangeFact::Refused { reason });
    if was_moving {
        admit(step);
    }
}

/// What was said while the history moved begins now.
fn admit(step: &mut Step<'_>) {
    if let Some(active) = step.session.active() {
        let request = active.request.id.clone();
        step.ask(Effect::Admit { request });
    }
}

/// Asks for the move that was begun; asked again after a crash, it finishes what is unfinished.
pub(crate) fn go(step: &mut Step<'_>) {
    let Some(to) = step.session.moving_to() else { return };
    let set = net(step.session, to);
    if set.writes.is_empty() {
        return restored(step, None);
    }
    match permit::by_hand(set) {
        Ok(plan) => step.ask(Effect::Restore { plan }),
        Err(reason) => refuse(step, reason),
    }
}

/// The files are as they shall be, or nothing of them was touched.
pub(crate) fn restored(step: &mut Step<'_>, problem: Option<String>) {
    let Some(to) = step.session.moving_to() else { return };
    if let Some(reason) = problem {
        return refuse(step, reason);
    }
    let from = step.session.in_force();
    let history = step.session.history().to_vec();
    if to < from {
        for at in (to..from).rev() {
            step.say(None, ChangeFact::Reverted(moved(&history[at], at as i64, true)));
        }
    } else {
        for (at, set) in history.iter().enumerate().take(to).skip(from) {
            step.say(None, ChangeFact::Reapplied(moved(set, at as i64 + 1, false)));
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
    Moved { change_set: set.id.clone(), files, position: position(in_force), by: None }
}

/// What all the sets between here and there come to, as one set: it is applied whole or not at all.
fn net(session: &Session, to: usize) -> FileSet {
    let (history, from) = (session.history(), session.in_force());
    let between = &history[from.min(to)..from.max(to)];
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
    let forward =
        FileSet { change_set: change_set.clone(), folder: session.folder().unwrap_or_default().to_owned(), writes };
    if to < from { forward.reversed(change_set) } else { forward }
}
