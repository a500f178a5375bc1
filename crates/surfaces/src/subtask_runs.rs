//! Runs of sub-tasks: what was estimated before, and what it came to.

use std::collections::BTreeMap;

use serde::Serialize;
use trimtab_vocab::event::SubtaskFact;
use trimtab_vocab::{Event, ExecutionOrder, Fact, RequestId, SubTaskPlan, SubtasksFact, Time, Usage};

/// Estimate and truth of one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubtaskRunFigures {
    pub(crate) tasks: usize,
    pub(crate) execution_order: ExecutionOrder,
    pub(crate) estimated_cost: Option<f64>,
    pub(crate) cost_range: Option<(f64, f64)>,
    pub(crate) estimated_time_ms: u64,
    /// The estimate rests on earlier calls, and not on usual figures.
    pub(crate) from_records: bool,
    pub(crate) actual_cost: Option<f64>,
    pub(crate) actual_time_ms: u64,
    pub(crate) tokens_used: u64,
    /// All sub-tasks are over.
    pub(crate) finished: bool,
}

/// The runs of a log, in order.
#[derive(Debug, Default)]
pub(crate) struct SubtaskRuns {
    runs: Vec<ObservedRun>,
}

#[derive(Debug, Default)]
struct ObservedRun {
    request: Option<RequestId>,
    plan: SubTaskPlan,
    order: Option<ExecutionOrder>,
    began: Option<Time>,
    ended: Option<Time>,
    usage: BTreeMap<String, Usage>,
    over: BTreeMap<String, bool>,
}

impl SubtaskRuns {
    pub(crate) fn observe(&mut self, event: &Event) {
        let is_its = |run: &&mut ObservedRun| run.request == event.request;
        match &event.fact {
            Fact::Subtasks(SubtasksFact::Planned { plan, call, .. }) => match self.runs.iter_mut().rev().find(is_its) {
                // Before the start another plan replaces the first; later it only changes a task. A model that delegates
                // again does so with another call.
                Some(run) if call.is_none() => run.plan.clone_from(plan),
                _ => self.runs.push(ObservedRun {
                    request: event.request.clone(),
                    plan: plan.clone(),
                    ..ObservedRun::default()
                }),
            },
            Fact::Subtasks(SubtasksFact::Started { execution_order, .. }) => {
                let Some(run) = self.runs.iter_mut().rev().find(is_its) else { return };
                (run.order, run.began) = (Some(*execution_order), Some(event.time));
            }
            Fact::Subtask(SubtaskFact { subtask, status, usage, .. }) => {
                let Some(run) = self.runs.iter_mut().rev().find(is_its) else { return };
                run.usage.insert(subtask.clone(), *usage);
                run.over.insert(subtask.clone(), status.is_over());
                run.ended = Some(event.time);
            }
            _ => {}
        }
    }

    /// The runs that were started.
    pub(crate) fn figures(&self) -> Vec<SubtaskRunFigures> {
        self.runs.iter().filter_map(ObservedRun::figures).collect()
    }

    /// What the workers of all runs used, which is in the logs of their own sessions.
    pub(crate) fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        self.runs.iter().flat_map(|run| run.usage.values()).for_each(|usage| sum += *usage);
        sum
    }
}

impl ObservedRun {
    fn is_over(&self) -> bool {
        self.order.is_some() && self.plan.tasks.iter().all(|task| self.over.get(&task.id) == Some(&true))
    }

    fn figures(&self) -> Option<SubtaskRunFigures> {
        let (execution_order, began) = (self.order?, self.began?);
        let mut used = Usage::default();
        self.usage.values().for_each(|usage| used += *usage);
        let millis = self.ended.unwrap_or(began).millis().saturating_sub(began.millis());
        Some(SubtaskRunFigures {
            tasks: self.plan.tasks.len(),
            execution_order,
            estimated_cost: self.plan.estimated_cost,
            cost_range: self.plan.cost_range,
            estimated_time_ms: self.plan.estimated_time_ms,
            from_records: self.plan.from_records,
            actual_cost: used.cost_usd,
            actual_time_ms: u64::try_from(millis).unwrap_or(0),
            tokens_used: used.input_tokens + used.output_tokens,
            finished: self.is_over(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event(second: u32, fact: Value) -> Event {
        let time = format!("2026-11-17T10:00:{second:02}.000Z");
        let mut event = json!({"seq": 1, "time": time, "session": "s1", "request": "r1"});
        event.as_object_mut().expect("an object").extend(fact.as_object().expect("an object").clone());
        serde_json::from_value(event).expect("an event")
    }

    #[test]
    fn estimate_and_truth_stand_side_by_side() {
        let mut runs = SubtaskRuns::default();
        let task = |id: &str| json!({"id": id, "instruction": "x", "model": "m/x"});
        let plan = json!({"tasks": [task("1"), task("2")], "executionOrder": "dependency-graph", "estimatedCost": 0.02,
            "estimatedTimeMs": 9000, "costRange": [0.01, 0.06], "fromRecords": true});
        runs.observe(&event(0, json!({"type": "subtasks.planned", "plan": plan, "by": "model"})));
        assert_eq!(runs.figures(), [], "it has not started");
        runs.observe(&event(1, json!({"type": "subtasks.started", "executionOrder": "dependency-graph"})));
        for (second, id, cost) in [(4, "1", 0.01), (6, "2", 0.02)] {
            let usage = json!({"inputTokens": 100, "outputTokens": 10, "costUsd": cost});
            let fact = json!({"type": "subtask", "subtask": id, "status": "completed", "progress": 1.0, "model": "m/x", "usage": usage});
            runs.observe(&event(second, fact));
        }
        let figures = runs.figures().remove(0);
        assert_eq!((figures.estimated_time_ms, figures.actual_time_ms), (9_000, 5_000));
        assert!((figures.actual_cost.expect("known") - 0.03).abs() < 1e-9 && figures.finished && figures.from_records);
        assert_eq!((figures.tokens_used, figures.estimated_cost), (220, Some(0.02)));
    }
}
