//! The sub-tasks of a session as documents, in the documented shape.

use serde_json::{Map, Value, json};
use trimtab_vocab::event::SubtaskFact;
use trimtab_vocab::{Event, Fact, FileWrite, SessionId, SubTask, SubtaskStatus, SubtasksFact};

use crate::subtask_runs::SubtaskRuns;

/// The documents of a session, in the order of its plans, and what its workers share.
#[derive(Debug, Default)]
pub(crate) struct SubtaskDocuments {
    documents: Vec<(SubTask, Value)>,
    shared: Map<String, Value>,
    workers: Vec<(String, SessionId)>,
    runs: SubtaskRuns,
}

impl SubtaskDocuments {
    pub(crate) fn observe(&mut self, event: &Event) {
        self.runs.observe(event);
        match &event.fact {
            Fact::Subtasks(SubtasksFact::Planned { plan, .. }) => {
                // Another plan takes the place of tasks that have not started.
                self.documents.retain(|(_, document)| document["status"] != "pending");
                for task in &plan.tasks {
                    match self.documents.iter_mut().find(|(known, _)| known.id == task.id) {
                        Some((known, document)) => {
                            known.clone_from(task);
                            document["input"] = input(task);
                            document["model"] = json!(task.model);
                        }
                        None => self.documents.push((task.clone(), document(event, task))),
                    }
                }
            }
            Fact::Subtasks(SubtasksFact::Shared { key, value, .. }) => {
                self.shared.insert(key.clone(), value.clone());
            }
            Fact::Subtask(fact) => {
                if let Some(worker) =
                    fact.worker.as_ref().filter(|worker| !self.workers.iter().any(|(_, known)| known == *worker))
                {
                    self.workers.push((fact.subtask.clone(), worker.clone()));
                }
                if let Some((_, document)) = self.documents.iter_mut().find(|(task, _)| task.id == fact.subtask) {
                    moved(document, fact, event);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Value> {
        self.documents.iter().find(|(task, _)| task.id == id).map(|(_, document)| document)
    }

    /// One document for each sub-task.
    pub(crate) fn all(&self) -> Vec<Value> {
        self.documents.iter().map(|(_, document)| document.clone()).collect()
    }

    /// Every worker with its sub-task, in the order in which they started.
    pub(crate) fn workers(&self) -> &[(String, SessionId)] {
        &self.workers
    }

    /// Estimate and truth of each run.
    pub(crate) fn runs(&self) -> Value {
        json!(self.runs.figures())
    }

    /// What the workers share.
    pub(crate) fn context(&self, session: &SessionId) -> Value {
        let output = |(task, document): &(SubTask, Value)| {
            let output = document.get("output").filter(|_| document["status"] == "completed")?;
            Some((task.id.clone(), output.clone()))
        };
        let outputs: Map<String, Value> = self.documents.iter().filter_map(output).collect();
        json!({
            "docType": "subtask-context", "parentSessionId": session, "sharedData": self.shared, "stepOutputs": outputs,
        })
    }
}

fn input(task: &SubTask) -> Value {
    json!({"instruction": task.instruction, "contextFiles": task.context_files, "constraints": task.constraints})
}

fn document(event: &Event, task: &SubTask) -> Value {
    json!({
        "docType": "subtask", "parentSessionId": event.session, "subtaskId": task.id, "title": task.name(),
        "status": "pending", "priority": task.priority, "dependencies": task.depends_on, "input": input(task),
        "output": {"fileChanges": [], "summary": "", "tokensUsed": 0}, "model": task.model, "createdAt": event.time,
        "completedAt": null,
    })
}

fn moved(document: &mut Value, fact: &SubtaskFact, event: &Event) {
    // The document knows four statuses; what is left out or stopped has not been done.
    let status = match fact.status {
        SubtaskStatus::Pending => "pending",
        SubtaskStatus::Running | SubtaskStatus::NeedsUser => "running",
        SubtaskStatus::Completed => "completed",
        SubtaskStatus::Failed | SubtaskStatus::Skipped | SubtaskStatus::Stopped => "failed",
    };
    let is_over = fact.status.is_over() || fact.status == SubtaskStatus::Failed;
    document["status"] = json!(status);
    document["detail"] = json!(fact.status);
    document["worker"] = json!(fact.worker);
    document["attempt"] = json!(fact.attempt);
    if let Some(reserved) = fact.reserved_usd {
        document["reservedUsd"] = json!(reserved);
    }
    if let Some(copy) = &fact.copy {
        document["copy"] = json!(copy);
    }
    document["completedAt"] = if is_over { json!(event.time) } else { Value::Null };
    let change = |write: &FileWrite| {
        json!({
            "path": write.path, "added": write.added, "removed": write.removed,
            "isNew": write.before.is_none(), "isDeleted": write.after.is_none(),
        })
    };
    let output = &mut document["output"];
    output["tokensUsed"] = json!(fact.usage.input_tokens + fact.usage.output_tokens);
    if let Some(summary) = &fact.summary {
        output["summary"] = json!(summary);
        output["fileChanges"] = fact.writes.iter().map(change).collect();
        if !fact.left_behind.is_empty() {
            output["notMerged"] = json!(fact.left_behind);
        }
    }
    if let Some(error) = &fact.error {
        document["error"] = json!(error.message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(fact: Value) -> Event {
        let mut event = json!({"seq": 1, "time": "2026-11-17T10:00:00.000Z", "session": "s1", "request": "r1"});
        event.as_object_mut().expect("an object").extend(fact.as_object().expect("an object").clone());
        serde_json::from_value(event).expect("an event")
    }

    #[test]
    fn a_document_has_the_documented_fields_at_each_status() {
        let mut documents = SubtaskDocuments::default();
        let task =
            json!({"id": "1", "instruction": "Write it", "contextFiles": ["a.rs"], "model": "m/x", "dependsOn": []});
        let plan = json!({"tasks": [task], "executionOrder": "sequential"});
        documents.observe(&event(json!({"type": "subtasks.planned", "plan": plan, "by": "model"})));
        let written = json!({
            "docType": "subtask", "parentSessionId": "s1", "subtaskId": "1", "title": "Write it", "status": "pending",
            "priority": 0, "dependencies": [], "input": {"instruction": "Write it", "contextFiles": ["a.rs"], "constraints": []},
            "output": {"fileChanges": [], "summary": "", "tokensUsed": 0}, "model": "m/x",
            "createdAt": "2026-11-17T10:00:00.000Z", "completedAt": null,
        });
        assert_eq!(documents.all()[0], written);
        let moves = |status: &str| json!({"type": "subtask", "subtask": "1", "status": status, "progress": 0.5, "model": "m/x", "attempt": 1});
        for (status, shown) in [("running", "running"), ("needs_user", "running"), ("failed", "failed")] {
            documents.observe(&event(moves(status)));
            assert_eq!(documents.all()[0]["status"], shown);
        }
        let mut done = moves("completed");
        done["summary"] = json!("Written.");
        done["writes"] = json!([{"path": "a.rs", "added": 1, "removed": 0, "after": {"hash": "x", "mode": 420}}]);
        done["usage"] = json!({"inputTokens": 10, "outputTokens": 5});
        documents.observe(&event(done));
        let output = json!({
            "fileChanges": [{"path": "a.rs", "added": 1, "removed": 0, "isNew": true, "isDeleted": false}],
            "summary": "Written.", "tokensUsed": 15,
        });
        assert_eq!(documents.all()[0]["output"], output);
        let shared = json!({"type": "subtasks.shared", "key": "port", "value": 80, "by": "1"});
        documents.observe(&event(shared));
        assert_eq!(
            documents.context(&"s1".parse().expect("an id")),
            json!({"docType": "subtask-context", "parentSessionId": "s1", "sharedData": {"port": 80}, "stepOutputs": {"1": output}})
        );
    }
}
