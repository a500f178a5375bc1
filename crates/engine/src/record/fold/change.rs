//! Folds the end of tools, proposed and applied changes, and moves of the history.

use std::collections::HashMap;

use serde_json::Value;
use trimtab_vocab::event::{Change, ChangeFact, CommandsFact, Inherited, ProposalFact, ToolFact};
use trimtab_vocab::{CallId, ChangeSetId, FileWrite, MergedWrite, RequestId, SeriesState};

use super::carried;
use crate::record::names::verdict;
use crate::record::{
    Batch, BatchItem, ChangeSet, HistoryMove, HunkSelection, Phase, Progress, Session, ToolOutcome, legacy,
};

impl Session {
    pub(super) fn fold_tool(&mut self, fact: &ToolFact) {
        match fact {
            ToolFact::Started { call, .. } => {
                if let Some(active) = &mut self.active {
                    active.tools.used += 1;
                    active.calls.hollow = 0;
                    if active.phase == Phase::Replied {
                        active.phase = Phase::Tools;
                    }
                }
                self.set_progress(call, Progress::Started);
            }
            ToolFact::Stopping { call } => {
                if let Some(item) = self.item_mut(call) {
                    item.stopping = true;
                }
            }
            ToolFact::Finished { call, status, preview, images, files, .. } => {
                for file in files {
                    self.context.marks.insert(file.path.clone(), file.hash.clone());
                }
                let done = ToolOutcome { status: *status, content: preview.clone(), images: images.clone() };
                self.set_progress(call, Progress::Done(done));
            }
        }
    }

    pub(super) fn fold_proposal(&mut self, request: Option<&RequestId>, fact: &ProposalFact) {
        match fact {
            ProposalFact::Opened { call: Some(call), operations, .. } => {
                let writes: Option<Vec<FileWrite>> =
                    operations.iter().map(|operation| serde_json::from_value(operation.clone()).ok()).collect();
                let hunks = |operation: &Value| operation.get("hunks").and_then(Value::as_u64).unwrap_or(0);
                let left = |operation: &Value| operation.get("left").and_then(Value::as_str).map(str::to_owned);
                let has = |operation: &Value, sign: &str| operation.get(sign).and_then(Value::as_bool) == Some(true);
                let path = |operation: &Value| operation.get("path").and_then(Value::as_str).map(str::to_owned);
                let loss = |operation: &Value| serde_json::from_value(operation.get("loss")?.clone()).ok();
                if let Some(item) = self.item_mut(call) {
                    item.writes = writes;
                    item.is_stale = false;
                    item.concerns.losses = operations.iter().filter_map(loss).collect();
                    item.concerns.versions =
                        operations.iter().filter(|one| has(one, "versions")).filter_map(path).collect();
                    item.concerns.unsaved =
                        operations.iter().filter(|one| has(one, "unsaved")).filter_map(path).collect();
                    item.hunks = operations.iter().map(|one| u32::try_from(hunks(one)).unwrap_or(0)).collect();
                    if let Some(chosen) = &mut item.chosen {
                        chosen.left_out = Some(operations.iter().filter_map(left).collect());
                    }
                }
            }
            ProposalFact::Chosen { call, parts, left, .. } => {
                let Some(active) = request.and_then(|request| self.unfinished_mut(request)) else { return };
                if let Some(item) = active.batch.as_mut().and_then(|batch| batch.item_mut(call)) {
                    item.chosen = Some(HunkSelection { parts: parts.clone(), left: left.clone(), left_out: None });
                }
            }
            ProposalFact::Resolved { proposal, verdict } if verdict == verdict::APPROVED => {
                let Some(active) = &self.active else { return };
                let of = |call: &CallId| trimtab_vocab::ProposalId::for_call(&active.request.id, call) == *proposal;
                let item = active.batch.iter().flat_map(|batch| &batch.items).find(|item| of(&item.call_id));
                // A command acts from its own `command.started` on.
                if let Some(call) = item.filter(|item| item.writes.is_some()).map(|item| item.call_id.clone()) {
                    self.set_progress(&call, Progress::Acting);
                }
            }
            ProposalFact::Resolved { proposal, verdict } => {
                self.close_task_proposal(proposal, verdict == verdict::APPLIED);
            }
            ProposalFact::Opened { .. } => {}
        }
    }

    pub(super) fn fold_change(&mut self, request: Option<&RequestId>, fact: &ChangeFact) {
        match fact {
            ChangeFact::Applied(change) if self.is_undoing(&change.change_set) => self.fold_undo(change),
            ChangeFact::Applied(change) => {
                let mut items = self.active.iter().flat_map(|active| &active.batch).flat_map(|batch| &batch.items);
                let mine = |item: &&BatchItem| {
                    request.is_some_and(|request| ChangeSetId::for_call(request, &item.call_id) == change.change_set)
                };
                // What acts acts alone; a set that an earlier change of the same answer began has the name of that one.
                let acts = |item: &&BatchItem| item.progress == Progress::Acting && item.writes.is_some();
                let writes = match &change.by {
                    Some(by) => Some(by.writes.clone()),
                    None => items.clone().find(acts).or_else(|| items.find(mine)).and_then(|item| item.writes.clone()),
                };
                let Some(writes) = writes else { return };
                if let Some(active) = &mut self.active {
                    active.tools.rounds.changed(&writes);
                }
                // Undone sets that are now built over can no longer be redone.
                self.changes.sets.truncate(self.changes.in_force);
                match self.changes.sets.last_mut().filter(|set| set.id == change.change_set) {
                    Some(set) => set.join(writes),
                    None => self.changes.sets.push(ChangeSet { id: change.change_set.clone(), writes, expired: false }),
                }
                self.changes.in_force = self.changes.sets.len();
                self.acted();
            }
            ChangeFact::Moving { position, on_conflict, undo, merged } => {
                self.changes.undos += u64::from(undo.is_some() && merged.is_none());
                let (to, on_conflict) = (in_force(*position), *on_conflict);
                self.changes.moving = Some(HistoryMove { to, on_conflict, undo: undo.clone(), merged: merged.clone() });
            }
            ChangeFact::Inherited(inherited) => {
                let Inherited { change, writes, expired, .. } = &**inherited;
                // The numbers of sets that undo parts continue.
                self.changes.undos = self.changes.undos.max(change.change_set.undo_number().unwrap_or(0));
                let (id, writes, expired) = (change.change_set.clone(), writes.clone(), *expired);
                self.changes.sets.push(ChangeSet { id, writes, expired });
                self.changes.in_force = in_force(change.position).min(self.changes.sets.len());
            }
            ChangeFact::Expired { change_sets, .. } => {
                let sets = self.changes.sets.iter_mut().filter(|set| change_sets.contains(&set.id));
                sets.for_each(|set| set.expired = true);
            }
            ChangeFact::Refused { .. } => {
                self.changes.moving = None;
                self.start_next();
            }
            ChangeFact::Reverted(change) | ChangeFact::Reapplied(change) => {
                self.rework(&change.change_set);
                self.changes.in_force = in_force(change.position).min(self.changes.sets.len());
                let back = matches!(fact, ChangeFact::Reverted(_));
                let files: Vec<&str> = change.files.iter().map(|file| file.path.as_str()).collect();
                self.outdate_proposals(&files);
                // The model must not believe that its change still stands; of one without files it was never told.
                if !files.is_empty() {
                    self.pass_over_the_parked();
                    self.push_words(carried(change.message.as_deref(), || Some(legacy::moved(&files, back))));
                }
                if self.changes.moving.as_ref().is_some_and(|moving| moving.to == self.changes.in_force) {
                    self.changes.moving = None;
                    self.start_next();
                }
            }
        }
    }

    /// A set was moved over the user's edits. It now goes from what was found to what was left, so that the way back
    /// restores exactly what was there.
    pub(super) fn rework(&mut self, id: &ChangeSetId) {
        let Some(merged) = self.changes.moving.as_ref().and_then(|moving| moving.merged.as_ref()) else { return };
        let Some(set) = self.changes.sets.iter_mut().find(|set| set.id == *id) else { return };
        let of_set = merged.iter().filter(|merged| merged.change_set == *id);
        let found: HashMap<&str, &FileWrite> =
            of_set.map(|MergedWrite { write, .. }| (write.path.as_str(), write)).collect();
        for known in &mut set.writes {
            if let Some(write) = found.get(known.path.as_str()) {
                known.clone_from(write);
            }
        }
    }

    pub(super) fn is_undoing(&self, id: &ChangeSetId) -> bool {
        let undo = self.changes.moving.as_ref().and_then(|moving| moving.undo.as_ref());
        undo.is_some_and(|undo| undo.change_set == *id)
    }

    /// A set, or a part of one, was undone or redone. Proposals for these files were prepared for an older state and are
    /// outdated.
    fn outdate_proposals(&mut self, files: &[&str]) {
        let queue = &mut self.queue;
        let all = self.active.iter_mut().chain(&mut queue.waiting).chain(&mut queue.parked);
        for item in all.flat_map(|active| &mut active.batch).flat_map(|batch| &mut batch.items) {
            let mut writes = item.writes.iter().flatten();
            item.is_stale |=
                item.progress != Progress::Acting && writes.any(|write| files.contains(&write.path.as_str()));
        }
    }

    pub(super) fn fold_undo(&mut self, change: &Change) {
        let merged = self.changes.moving.take().and_then(|moving| moving.merged).unwrap_or_default();
        let writes = merged.into_iter().map(|merged| merged.write).collect();
        self.changes.sets.truncate(self.changes.in_force);
        self.changes.sets.push(ChangeSet { id: change.change_set.clone(), writes, expired: false });
        self.changes.in_force = self.changes.sets.len();
        let files: Vec<&str> = change.files.iter().map(|file| file.path.as_str()).collect();
        self.outdate_proposals(&files);
        self.pass_over_the_parked();
        self.push_words(carried(change.message.as_deref(), || Some(legacy::undone(&files))));
        self.start_next();
    }

    /// A series of commands advances: one starts, its end is reported to the model, or the rest is skipped.
    pub(super) fn fold_commands(&mut self, request: Option<&RequestId>, fact: &CommandsFact) {
        let Some(request) = request else { return };
        let CommandsFact { series, message, .. } = fact;
        let is_over = matches!(series.state, SeriesState::Done | SeriesState::Left | SeriesState::Unknown);
        let Some(active) = self.unfinished_mut(request) else { return };
        active.series = (!is_over).then(|| series.clone());
        let Some(active) = self.active_mut(request) else { return };
        if let Some(current) = &series.current {
            active.batch =
                Some(Batch::of_series(&current.call, crate::record::series::run_command_call(&current.command)));
            active.phase = Phase::Replied;
            return;
        }
        let is_ended = matches!(series.state, SeriesState::Judging | SeriesState::Done)
            && active.batch.as_ref().is_some_and(|batch| batch.of_series);
        let ended = if is_ended { active.take_batch() } else { None };
        let item = ended.as_ref().and_then(|batch| batch.items.first());
        let message = carried(message.as_deref(), || legacy::of_series(series, item));
        self.push_words(message);
    }
}

/// How many sets are in force when this one is current.
fn in_force(position: i32) -> usize {
    usize::try_from(position.saturating_add(1)).unwrap_or(0)
}
