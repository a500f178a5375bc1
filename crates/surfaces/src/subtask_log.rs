//! The sub-tasks of a session, read from its log, and what can be done about each.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use trimtab_host::Client;
use trimtab_vocab::event::RequestFact;
use trimtab_vocab::{Fact, Problem, ProblemKind, RequestId, SessionId, SubtaskControl, SubtaskStatus, SubtasksFact};

use crate::conversation::{Conversation, SubtaskBoard};
use crate::subtask_documents::SubtaskDocuments;

/// The sub-tasks of a session.
pub(crate) struct SubtaskLog {
    /// The latest board.
    pub(crate) board: Option<SubtaskBoard>,
    pub(crate) documents: SubtaskDocuments,
    /// The models that the latest sub-tasks can use.
    pub(crate) models: BTreeSet<String>,
    /// The number of the last event that was read.
    pub(crate) last: u64,
}

impl SubtaskLog {
    pub(crate) async fn read(client: &Client, session: &SessionId) -> Result<Self, Problem> {
        let (mut conversation, mut documents) = (Conversation::default(), SubtaskDocuments::default());
        let mut models: BTreeMap<RequestId, BTreeSet<String>> = BTreeMap::new();
        let mut planned: Option<RequestId> = None;
        let mut last = 0;
        loop {
            let page = client.sessions().events(session, last).await?;
            if page.is_empty() {
                break;
            }
            for event in &page {
                last = event.seq.unwrap_or(last);
                conversation.observe(event);
                documents.observe(event);
                match &event.fact {
                    Fact::Request(RequestFact::Received { settings, .. }) => {
                        let names = settings.worker_models().into_iter().map(|(name, _)| name).collect();
                        models.extend(event.request.clone().map(|request| (request, names)));
                    }
                    Fact::Subtasks(SubtasksFact::Planned { .. }) => planned.clone_from(&event.request),
                    _ => {}
                }
            }
        }
        let models = planned.and_then(|request| models.remove(&request)).unwrap_or_default();
        Ok(Self { board: conversation.last_board().cloned(), documents, models, last })
    }

    /// The document of a sub-task.
    pub(crate) fn document(&self, id: &str) -> Result<&Value, Problem> {
        let missing = || Problem::new(ProblemKind::NotFound, format!("There is no sub-task {id}."));
        self.documents.get(id).ok_or_else(missing)
    }

    /// The session of the last worker of a sub-task.
    pub(crate) fn worker(&self, id: &str) -> Option<SessionId> {
        let workers = self.documents.workers().iter().rev();
        workers.into_iter().find(|(task, _)| task == id).map(|(_, worker)| worker.clone())
    }

    /// Whether an action is possible for a sub-task as it is now.
    pub(crate) fn check(&self, id: &str, action: &SubtaskControl) -> Result<(), Problem> {
        let detail = &self.document(id)?["detail"];
        let status: SubtaskStatus = serde_json::from_value(detail.clone()).unwrap_or_default();
        if action.fits(status) {
            return Ok(());
        }
        let message = match status.is_over() {
            true => format!("Sub-task {id} is already {status}."),
            false => format!("This is not possible while sub-task {id} is {status}."),
        };
        Err(Problem::new(ProblemKind::Usage, message))
    }
}
