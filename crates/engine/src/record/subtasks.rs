//! The sub-tasks of a request: folds facts about them into state.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{SessionFact, SubtaskFact};
use trimtab_vocab::{
    CallId, ExecutionOrder, FileWrite, Granularity, LeftBehind, MergeChoice, MergeConflict, MergeObstacle, Problem,
    RequestId, SessionId, SubTaskPlan, SubtaskOffer, SubtaskStart, SubtaskStatus, SubtasksFact, ToolCall, Usage,
};

use super::fold::RecordedAnswer;
use super::names::tool::DELEGATE;
use super::{Batch, Phase, Progress, RunningRequest, Session};
use crate::proposal::{MergeOrder, MergePart, ProposedChange};
use crate::tools::ToolAction;

/// The sub-tasks of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct SubtaskRun {
    /// The call that they are carried out for.
    pub call: CallId,
    pub plan: SubTaskPlan,
    /// How finely the request was broken down, once that is decided.
    pub granularity: Option<Granularity>,
    /// In which order they run, once that is decided.
    pub order: Option<ExecutionOrder>,
    /// Dollars that are set aside for them.
    pub reserved_usd: Option<f64>,
    /// Workers that may run at the same time while the provider limits requests; none: as many as are set.
    pub pool: Option<u32>,
    /// Calls that went well since the pool changed.
    pub good_calls: u32,
    /// The state of each, by its ID.
    pub states: BTreeMap<String, SubtaskState>,
    /// Values that the workers share.
    pub shared: BTreeMap<String, Value>,
    /// How conflicts between their changes are settled.
    pub resolutions: Vec<MergeResolution>,
    /// The user's last answer about all of them, until it is handled.
    pub answer: Option<(String, Option<String>)>,
    /// The conflict that was answered last.
    pub conflict: Option<MergeConflict>,
    /// What the user has said to the request since they were started. Each worker is told.
    pub said: Vec<String>,
    /// The user has canceled the request, and what is finished is merged.
    pub is_cancelled: bool,
    /// Their changes are being merged.
    pub is_merging: bool,
    /// How often they were merged again without a question, because the folder had changed.
    pub remerges: u32,
    /// What stood in the way of the merge when the user was asked about it last.
    pub obstacle: Option<MergeObstacle>,
    /// Files that are not merged, because the user leaves them out.
    pub left_out: BTreeSet<String>,
}

/// How far a sub-task is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SubtaskState {
    pub status: SubtaskStatus,
    /// From 0 to 1.
    pub progress: f64,
    /// How often it was started.
    pub attempt: u32,
    /// The session of its worker.
    pub worker: Option<SessionId>,
    /// Dollars that are set aside for its worker.
    pub reserved_usd: Option<f64>,
    /// Its cost, over all tries.
    pub usage: Usage,
    /// What earlier tries cost.
    pub before: Usage,
    /// Its worker's final text.
    pub summary: String,
    /// Its file changes.
    pub writes: Vec<FileWrite>,
    /// What its worker made that is not merged.
    pub left_behind: LeftBehind,
    /// Why it could not be done.
    pub error: Option<Problem>,
    /// Why the try before could not.
    pub earlier: Option<Problem>,
    /// The user's answer about its failure, until it is handled.
    pub answer: Option<(String, Option<String>)>,
    /// Its worker has its copy and its request, so it can be told something.
    pub has_begun: bool,
    /// How much of what the user has said its worker was told with its instruction.
    pub told: usize,
}

/// How a conflict is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeResolution {
    pub path: String,
    /// The sub-task whose change did not fit.
    pub subtask: String,
    pub choice: MergeChoice,
}

/// For whom a session works, if it is a worker's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerRole {
    /// The session that it works for.
    pub parent: SessionId,
    pub subtask: String,
    /// The folder that its own one is a copy of.
    pub original: String,
}

impl WorkerRole {
    pub(super) fn of(fact: &SessionFact) -> Option<Self> {
        let SessionFact::Worker { parent, subtask, original, .. } = fact else { return None };
        Some(Self { parent: parent.clone(), subtask: subtask.clone(), original: original.clone() })
    }
}

impl SubtaskRun {
    pub(crate) fn state(&self, id: &str) -> SubtaskStatus {
        self.states.get(id).map(|state| state.status).unwrap_or_default()
    }

    /// Whether the workers were started, and nothing is merged yet.
    pub(crate) fn is_under_way(&self) -> bool {
        self.order.is_some() && !self.is_merging
    }

    /// The sub-task that this session works on.
    pub(crate) fn task_of(&self, worker: &SessionId) -> Option<&str> {
        let is_its = |state: &SubtaskState| state.worker.as_ref() == Some(worker);
        self.states.iter().find(|(_, state)| is_its(state)).map(|(id, _)| id.as_str())
    }

    /// Whether only the user can continue it: a worker waits for an answer, or a failed sub-task needs a decision.
    pub(crate) fn is_stuck(&self) -> bool {
        let is = |status: SubtaskStatus| self.states.values().any(|state| state.status == status);
        !is(SubtaskStatus::Running) && (is(SubtaskStatus::NeedsUser) || is(SubtaskStatus::Failed))
    }

    /// Dollars of the reserve that neither were spent nor are set aside for a worker.
    pub(crate) fn reserve_left(&self) -> Option<f64> {
        let cost = |usage: Usage| usage.cost_usd.unwrap_or(0.0);
        let taken = |state: &SubtaskState| {
            let set_aside = state.reserved_usd.filter(|_| state.status.is_at_work()).unwrap_or(0.0);
            cost(state.usage).max(cost(state.before) + set_aside)
        };
        let taken: f64 = self.states.values().map(taken).sum();
        self.reserved_usd.map(|reserved| (reserved - taken).max(0.0))
    }

    /// The changes of a sub-task that are merged, and those that the user leaves out.
    pub(crate) fn merged_writes<'a>(&self, state: &'a SubtaskState) -> (Vec<&'a FileWrite>, Vec<&'a FileWrite>) {
        state.writes.iter().partition(|write| !self.left_out.contains(&write.path))
    }

    /// The changes of the completed sub-tasks, in the order of the plan.
    pub(crate) fn merge_order(&self) -> MergeOrder {
        let part = |task: &trimtab_vocab::SubTask| {
            let state = self.states.get(&task.id).filter(|state| state.status == SubtaskStatus::Completed)?;
            let (writes, _) = self.merged_writes(state);
            let worker = state.worker.clone().filter(|_| !writes.is_empty())?;
            Some(MergePart { subtask: task.id.clone(), worker, writes: writes.into_iter().cloned().collect() })
        };
        let settled = |known: &MergeResolution| ((known.path.clone(), known.subtask.clone()), known.choice.clone());
        MergeOrder {
            parts: self.plan.tasks.iter().filter_map(part).collect(),
            settled: self.resolutions.iter().map(settled).collect(),
        }
    }
}

impl RunningRequest {
    /// Whether parts of it may be handed to workers.
    pub(crate) fn may_use_workers(&self) -> bool {
        let settings = &self.request.settings;
        settings.subtasks.offer != SubtaskOffer::Off
            && settings.subtasks.start != Some(SubtaskStart::Off)
            && !settings.subtasks.is_worker
            && !settings.machine.workers.is_empty()
    }

    /// Whether it only waits for workers, so that it needs no slot.
    pub(super) fn waits_for_workers(&self) -> bool {
        let Some(run) = &self.subtasks else { return false };
        let is_over = |id: &str| !run.state(id).is_at_work();
        let others = self.batch.iter().flat_map(|batch| &batch.items).filter(|item| item.call_id != run.call);
        let is_alone = others.into_iter().all(|item| !matches!(item.progress, Progress::Started | Progress::Acting));
        self.phase == Phase::Tools
            && is_alone
            && !run.is_merging
            && !run.plan.tasks.iter().all(|task| is_over(&task.id))
    }
}

impl Session {
    pub(super) fn fold_subtasks(&mut self, request: Option<&RequestId>, fact: &SubtasksFact) {
        if let SubtasksFact::Planned { call: None, plan, .. } = fact
            && self.active.as_ref().is_some_and(|active| active.subtasks.is_none())
        {
            self.begin_subtasks(plan);
        }
        let Some(active) = request.and_then(|request| self.unfinished_mut(request)) else { return };
        match fact {
            SubtasksFact::Planned { call, plan, granularity, .. } => {
                let own = active.batch.as_ref().and_then(|batch| batch.items.first()).map(|item| item.call_id.clone());
                let is_same = |run: &&mut Box<SubtaskRun>| call.as_ref().is_none_or(|call| *call == run.call);
                match active.subtasks.as_mut().filter(is_same) {
                    Some(run) => {
                        run.answer = None;
                        run.plan.clone_from(plan);
                        run.granularity = granularity.or(run.granularity);
                        run.states.retain(|id, _| plan.task(id).is_some());
                    }
                    None => {
                        let Some(call) = call.clone().or(own) else { return };
                        active.subtasks = Some(Box::new(SubtaskRun {
                            call,
                            plan: plan.clone(),
                            granularity: *granularity,
                            order: None,
                            reserved_usd: None,
                            pool: None,
                            good_calls: 0,
                            states: BTreeMap::new(),
                            shared: BTreeMap::new(),
                            resolutions: Vec::new(),
                            answer: None,
                            conflict: None,
                            said: Vec::new(),
                            is_cancelled: false,
                            is_merging: false,
                            remerges: 0,
                            obstacle: None,
                            left_out: BTreeSet::new(),
                        }));
                    }
                }
            }
            SubtasksFact::Started { execution_order, reserved_usd } => {
                let Some(run) = &mut active.subtasks else { return };
                (run.order, run.reserved_usd, run.answer) = (Some(*execution_order), *reserved_usd, None);
            }
            SubtasksFact::Resized { parallel, .. } => {
                let Some(run) = &mut active.subtasks else { return };
                (run.pool, run.good_calls) = (Some(*parallel), 0);
            }
            SubtasksFact::Cancelled {} => {
                let Some(run) = &mut active.subtasks else { return };
                run.is_cancelled = true;
            }
            SubtasksFact::Merging { without } => {
                let Some(run) = &mut active.subtasks else { return };
                run.left_out.extend(without.iter().cloned());
                // What was answered was about another state of the folder.
                let is_again = std::mem::replace(&mut run.is_merging, true);
                if is_again {
                    run.remerges += 1;
                    run.resolutions.clear();
                }
                run.answer = None;
                let (call, change) = (run.call.clone(), ProposedChange::Merge(run.merge_order()));
                self.become_change(&call, change);
                if let Some(item) = self.item_mut(&call).filter(|_| is_again) {
                    item.progress = Progress::Started;
                    item.forget_preparation();
                }
            }
            SubtasksFact::Resolved { path, subtask, choice, by } => {
                let Some(run) = &mut active.subtasks else { return };
                // The user has not seen a model's merge yet.
                if let Some(batch) = active.batch.as_mut().filter(|_| by == "model") {
                    batch.mended = true;
                }
                active.phase = Phase::Tools;
                let (path, subtask, choice) = (path.clone(), subtask.clone(), choice.clone());
                run.resolutions.push(MergeResolution { path, subtask, choice });
                run.answer = None;
                let (call, change) = (run.call.clone(), ProposedChange::Merge(run.merge_order()));
                self.become_change(&call, change);
            }
            SubtasksFact::Unplanned { reason, tries } => {
                active.calls.misplans = *tries;
                active.calls.misplan = Some(reason.clone());
                // A failed plan says nothing about the calls that follow.
                active.calls.failures = 0;
            }
            SubtasksFact::Shared { key, value, .. } => {
                let Some(run) = &mut active.subtasks else { return };
                run.shared.insert(key.clone(), value.clone());
            }
        }
    }

    /// No model has asked for these, so their call is counted like one of its replies.
    fn begin_subtasks(&mut self, plan: &SubTaskPlan) {
        self.spending.calls += 1;
        let call = CallId::nth(self.spending.calls);
        let Some(active) = &mut self.active else { return };
        let input = json!({"tasks": plan.tasks.iter().map(trimtab_vocab::SubTask::name).collect::<Vec<_>>()});
        let tool_call = ToolCall { id: format!("{DELEGATE}-1"), name: DELEGATE.to_owned(), input, broken: None };
        active.batch = Some(Batch::of_subtasks(&call, tool_call, ToolAction::Delegate(plan.clone())));
        active.phase = Phase::Replied;
    }

    /// What the workers have made is a change like any other from now on.
    fn become_change(&mut self, call: &CallId, change: ProposedChange) {
        if let Some(item) = self.item_mut(call) {
            item.action = Ok(Arc::new(ToolAction::Change(change)));
            item.writes = None;
        }
    }

    pub(super) fn fold_subtask(&mut self, request: Option<&RequestId>, fact: &SubtaskFact) {
        let Some(request) = request else { return };
        let spent = {
            let queue = &mut self.queue;
            let all = self.active.iter_mut().chain(&mut queue.waiting).chain(&mut queue.parked);
            let Some(active) = all.into_iter().find(|active| active.request.id == *request) else { return };
            let Some(run) = &mut active.subtasks else { return };
            let state = run.states.entry(fact.subtask.clone()).or_default();
            if fact.attempt > state.attempt {
                self.lineage.workers += 1;
                (state.attempt, state.before, state.earlier) = (fact.attempt, state.usage, state.error.take());
                (state.answer, state.summary, state.reserved_usd) = (None, String::new(), None);
                (state.has_begun, state.told) = (false, run.said.len());
                state.writes.clear();
            }
            let spent = fact.usage.since(state.usage);
            state.has_begun |= fact.copy.is_some() || fact.progress > 0.0 || spent.input_tokens > 0;
            run.good_calls += u32::from(fact.usage.output_tokens > state.usage.output_tokens);
            state.reserved_usd = fact.reserved_usd.or(state.reserved_usd);
            (state.status, state.progress, state.usage) = (fact.status, fact.progress, fact.usage);
            if fact.worker.is_some() {
                state.worker.clone_from(&fact.worker);
            }
            if let Some(summary) = &fact.summary {
                state.summary.clone_from(summary);
            }
            if fact.status == SubtaskStatus::Completed {
                (state.writes, state.left_behind) = (fact.writes.clone(), fact.left_behind.clone());
            }
            state.error.clone_from(&fact.error);
            active.usage += spent;
            if let Some(worker) = &state.worker {
                let own = state.usage.since(state.before);
                self.lineage.reported_cost.insert(worker.clone(), (own, fact.model.clone()));
            }
            spent
        };
        self.spending.usage += spent;
    }

    /// Keeps the user's answer about sub-tasks until the room handles it.
    pub(super) fn fold_subtask_answer(&mut self, request: &RequestId, ask: &Ask, given: RecordedAnswer<'_>) {
        let answer = Some((given.choice.to_owned(), given.text.map(str::to_owned)));
        let Some(active) = self.unfinished_mut(request) else { return };
        let Some(run) = &mut active.subtasks else { return };
        match ask {
            Ask::SubtaskFailed { subtask, .. } => {
                if let Some(state) = run.states.get_mut(subtask) {
                    state.answer = answer;
                }
            }
            _ => {
                run.answer = answer;
                match ask {
                    Ask::MergeConflict { conflict, .. } => run.conflict = Some((**conflict).clone()),
                    Ask::MergeBlocked { obstacle, .. } => {
                        (run.obstacle, run.remerges) = (Some((**obstacle).clone()), 0)
                    }
                    _ => {}
                }
                let call = run.call.clone();
                if let Some(item) = active.batch.as_mut().and_then(|batch| batch.item_mut(&call)) {
                    item.progress = Progress::Started;
                }
            }
        }
    }
}
