//! The change history in a simulation: a person takes changes back, whole sets and parts of them, and
//! brings them forward again, while processes die. The checker keeps a list of its own.

use std::collections::BTreeMap;

use trimtab_engine::merge::{self, File, Prefer};
use trimtab_vocab::event::{Change, ChangeFact, Inherited, Undo};
use trimtab_vocab::{ChangePart, ChangeSetId, Control, Event, Fact, FileState, OnConflict, SessionId};

use super::History;
use crate::memory_store::State;

/// Every fourth history has a person who moves the change history; seeds that are kept for other reasons
/// mean what they meant.
pub(super) fn is_wanted(seed: u64) -> bool {
    seed.is_multiple_of(4)
}

/// Whether a move of the change history was begun and is not over.
pub(super) fn is_moving(log: &[Event]) -> bool {
    let last = log.iter().rev().find_map(|event| match &event.fact {
        Fact::Change(fact) => Some(fact),
        _ => None,
    });
    matches!(last, Some(ChangeFact::Moving { .. }))
}

/// Sessions whose change history is on its way.
pub(super) fn moving(state: &State) -> impl Iterator<Item = &SessionId> {
    state.events.iter().filter(|(_, log)| is_moving(log)).map(|(session, _)| session)
}

/// Sessions in which files were changed.
pub(super) fn changed(state: &State) -> Vec<SessionId> {
    let has_changes =
        |log: &&Vec<Event>| log.iter().any(|event| matches!(event.fact, Fact::Change(ChangeFact::Applied(_))));
    // The copy of a worker goes when it ends, and what it made is moved where it was merged.
    let own = state.events.iter().filter(|(session, _)| !session.is_worker());
    own.filter(|(_, log)| has_changes(log)).map(|(session, _)| session.clone()).collect()
}

impl History {
    /// What a person may want of a session's change history.
    pub(super) fn rewind_or_forward(&mut self, session: &SessionId) -> Control {
        let applied: Vec<Change> = {
            let state = self.disk.state();
            let log = state.events.get(session).into_iter().flatten();
            log.filter_map(|event| match &event.fact {
                Fact::Change(ChangeFact::Applied(change)) => Some(change.clone()),
                _ => None,
            })
            .collect()
        };
        let dice = &mut self.dice;
        let on_conflict = [OnConflict::Refuse, OnConflict::KeepMine, OnConflict::DiscardMine][dice.below(3) as usize];
        let steps = 1 + dice.below(3) as u32;
        match (dice.below(6), dice.pick(&applied)) {
            (0, Some(Change { change_set, files, .. })) => {
                let part = dice.pick(files).map(|file| ChangePart { path: file.path.clone(), hunks: Vec::new() });
                Control::UndoPart { change_set: change_set.clone(), parts: part.into_iter().collect(), on_conflict }
            }
            (0..4, _) => Control::Rewind { steps, on_conflict },
            _ => Control::Forward { steps, on_conflict },
        }
    }
}

/// A file without a set, and with it.
type Written = (String, Option<String>, Option<String>);

/// What the checker knows of a session's history.
#[derive(Debug, Default)]
pub(super) struct Sets {
    sets: Vec<(ChangeSetId, Vec<Written>)>,
    in_force: usize,
    undo: Option<(Undo, Prefer)>,
    /// What was ever written, here and in the sessions before it, by its hash.
    pub(super) texts: BTreeMap<String, String>,
    /// Files that another session has changed, and whether this one has moved them since.
    inherited: BTreeMap<String, bool>,
}

type Files = BTreeMap<String, String>;

impl Sets {
    /// Those of a session that may inherit from others, whose texts these are.
    pub(super) fn after(texts: BTreeMap<String, String>) -> Self {
        Self { texts, ..Self::default() }
    }

    /// Leaves in `files` what all sessions together have made of them; `own` is what this one has.
    pub(super) fn merge_into(self, files: &mut Files, mut own: Files) -> BTreeMap<String, String> {
        for (name, is_moved) in &self.inherited {
            drop(if *is_moved { files.remove(name) } else { own.remove(name) });
        }
        files.extend(own);
        self.texts
    }

    /// A set comes from the session that was handed off to this one.
    fn inherit(&mut self, inherited: &Inherited, files: &mut Files) {
        let text = |state: &Option<FileState>| state.as_ref().map(|state| self.texts.get(&state.hash).cloned());
        // What a command has left behind is unknown here; where the history is moved, commands are not watched.
        let set: Vec<Written> = inherited
            .writes
            .iter()
            .filter_map(|write| match (text(&write.before), text(&write.after)) {
                (Some(None), _) | (_, Some(None)) => None,
                (before, after) => Some((write.path.clone(), before.flatten(), after.flatten())),
            })
            .collect();
        let in_force = usize::try_from(inherited.change.position + 1).unwrap_or(0);
        for (name, before, after) in &set {
            let is_known = self.inherited.insert(name.clone(), false).is_some();
            if self.sets.len() < in_force {
                put(files, name, after.clone());
            } else if !is_known {
                put(files, name, before.clone());
            }
        }
        self.sets.push((inherited.change.change_set.clone(), set));
        self.in_force = in_force.min(self.sets.len());
    }

    /// A tool has made a set: what the files were, and what they are.
    pub(super) fn applied(&mut self, id: &ChangeSetId, before: &Files, after: &Files) {
        let names = before.keys().chain(after.keys());
        let mut set: Vec<Written> = names
            .filter(|name| before.get(*name) != after.get(*name))
            .map(|name| (name.clone(), before.get(name).cloned(), after.get(name).cloned()))
            .collect();
        set.dedup();
        for text in set.iter().flat_map(|(_, before, after)| [before, after]).flatten() {
            self.texts.insert(trimtab_world::store::hash(text.as_bytes()), text.clone());
        }
        self.sets.truncate(self.in_force);
        self.sets.push((id.clone(), set));
        self.in_force = self.sets.len();
    }

    /// The history was moved by a person; the files go with it.
    pub(super) fn moved(&mut self, fact: &ChangeFact, files: &mut Files) -> Result<bool, String> {
        match fact {
            ChangeFact::Moving { undo, on_conflict, .. } => {
                let prefer = match on_conflict {
                    OnConflict::Refuse => Prefer::Neither,
                    OnConflict::KeepMine => Prefer::Left,
                    OnConflict::DiscardMine => Prefer::Right,
                };
                self.undo = undo.clone().map(|undo| (undo, prefer));
                return Ok(false);
            }
            ChangeFact::Inherited(inherited) => {
                self.inherit(inherited, files);
                return Ok(false);
            }
            ChangeFact::Refused { .. } | ChangeFact::Expired { .. } => return Ok(false),
            ChangeFact::Applied(change) => self.undone(change, files)?,
            ChangeFact::Reverted(change) => {
                self.in_force = self.in_force.checked_sub(1).ok_or("more was taken back than there was")?;
                self.passes(change, self.in_force, true, files)?;
            }
            ChangeFact::Reapplied(change) => {
                self.passes(change, self.in_force, false, files)?;
                self.in_force += 1;
            }
        }
        let (ChangeFact::Applied(change) | ChangeFact::Reverted(change) | ChangeFact::Reapplied(change)) = fact else {
            return Ok(false);
        };
        match i64::from(change.position) + 1 == self.in_force as i64 {
            true => Ok(true),
            false => Err(format!("{} sets are in force, but the position is {}", self.in_force, change.position)),
        }
    }

    fn passes(&mut self, change: &Change, at: usize, back: bool, files: &mut Files) -> Result<(), String> {
        let (id, set) = self.sets.get(at).ok_or("a set was moved that is not there")?;
        if *id != change.change_set {
            return Err(format!("{} was moved instead of {id}", change.change_set));
        }
        for (name, before, after) in set {
            let (from, to) = if back { (after, before) } else { (before, after) };
            if files.get(name) != from.as_ref() {
                return Err(format!("{name} was moved from {from:?}, but is {:?}", files.get(name)));
            }
            put(files, name, to.clone());
            self.inherited.entry(name.clone()).and_modify(|is_moved| *is_moved = true);
        }
        Ok(())
    }

    fn undone(&mut self, change: &Change, files: &mut Files) -> Result<(), String> {
        let (undo, prefer) = self.undo.take().ok_or("a set came from nowhere")?;
        if undo.change_set != change.change_set || self.in_force < self.sets.len() {
            return Err("a part was taken back by another set, or over others".into());
        }
        let (_, of) = self.sets.iter().find(|(id, _)| *id == undo.of).ok_or("a part of no set was taken back")?;
        let before = files.clone();
        for (name, old, new) in of.iter().filter(|(name, ..)| undo.parts.iter().any(|part| part.path == *name)) {
            fn side(text: Option<&String>) -> Option<File<'_>> {
                text.map(|text| File { bytes: text.as_bytes(), mode: 0o644 })
            }
            let merged = merge::merge_files(side(new.as_ref()), side(files.get(name)), side(old.as_ref()), prefer)
                .map_err(|_| format!("{name} was taken back over a conflict"))?;
            put(files, name, merged.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()));
            self.inherited.entry(name.clone()).and_modify(|is_moved| *is_moved = true);
        }
        self.applied(&undo.change_set, &before, files);
        Ok(())
    }
}

fn put(files: &mut Files, name: &str, text: Option<String>) {
    match text {
        Some(text) => drop(files.insert(name.to_owned(), text)),
        None => drop(files.remove(name)),
    }
}
