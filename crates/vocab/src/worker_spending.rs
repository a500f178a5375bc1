//! The cost of sub-tasks, as the events of the parent session report it.

use std::collections::BTreeMap;

use crate::{Event, Fact, RequestId, SubtasksFact, Usage};

/// Turns the sums that sub-tasks report into what was spent since the last report.
#[derive(Debug, Clone, Default)]
pub struct WorkerSpending(BTreeMap<(Option<RequestId>, String), Usage>);

impl WorkerSpending {
    /// What a sub-task has spent since its last report, with its model, if the event is such a report.
    pub fn observe<'e>(&mut self, event: &'e Event) -> Option<(&'e str, Usage)> {
        match &event.fact {
            // A request can delegate again, and its sub-tasks then start with the same numbers.
            Fact::Subtasks(SubtasksFact::Started { .. }) => self.0.retain(|(request, _), _| *request != event.request),
            Fact::Subtask(fact) => {
                let before = self.0.insert((event.request.clone(), fact.subtask.clone()), fact.usage);
                return Some((&fact.model, fact.usage.since(before.unwrap_or_default())));
            }
            _ => {}
        }
        None
    }
}
