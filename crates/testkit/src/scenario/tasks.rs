//! The person's tasks in a scenario.

use std::fmt::Write as _;

use serde_json::Value;
use trimtab_host::config::TaskSettings;
use trimtab_host::{ApplyOperations, TaskList};
use trimtab_vocab::event::{ProposalFact, ProposalKind};
use trimtab_vocab::{Applying, AutoMode, Fact, TaskAuthor, TaskLimits};

use super::Stage;

impl Stage {
    fn list(&self) -> TaskList {
        let settings = TaskSettings {
            applying: Applying::Ask,
            timezone: "UTC".into(),
            limits: TaskLimits::default(),
            keys: 100,
            auto_mode: AutoMode::default(),
        };
        self.client.tasks(&settings).expect("the tasks")
    }

    /// The tasks that there are at the beginning.
    pub(super) async fn fill(&mut self) {
        let operations = std::mem::take(&mut self.tasks);
        if !operations.is_empty() {
            let order = ApplyOperations { operations, by: TaskAuthor::Person, key: None, confirmed: true };
            self.list().apply(order).await.expect("tasks that can be made");
        }
    }

    /// The person applies what was proposed last.
    pub(super) async fn apply(&mut self) {
        let events = self.client.sessions().events(&self.session(), 0).await.expect("the log");
        let proposed = events.iter().rev().find_map(|event| match &event.fact {
            Fact::Proposal(ProposalFact::Opened { kind: ProposalKind::Tasks, operations, .. }) => Some(operations),
            _ => None,
        });
        let valid = proposed.expect("a proposal").iter().filter(|one| one["valid"] == Value::Bool(true));
        let operations: Vec<Value> = valid.map(|one| one["op"].clone()).collect();
        let count = operations.len();
        let order = ApplyOperations { operations, by: TaskAuthor::Assistant, key: None, confirmed: true };
        self.list().apply(order).await.expect("operations that can be applied");
        self.client.requests().decide_tasks(count).await;
        self.wait_for("proposal.resolved").await;
    }

    /// The tasks as they are, and what the trail was told by the assistant.
    pub(super) async fn tasks_and_trail(&self) -> String {
        let mut text = String::from("--- tasks\n");
        for task in self.list().all().await.expect("the tasks").values() {
            let day = task.scheduled_for.map_or("unscheduled".to_owned(), |date| date.to_string());
            let done = if task.completed { " [done]" } else { "" };
            let _ = writeln!(text, "#{} {} @{day} {}{done}", task.id, task.title, task.priority.name());
        }
        text.push_str("--- audit\n");
        for line in self.client.admin().audit_lines(0, 1_000).await.expect("the trail") {
            let mut fields: Value = serde_json::from_str(&line.line).expect("a line is JSON");
            let fields = fields.as_object_mut().expect("an object");
            for name in ["n", "time", "session", "request", "prev"] {
                fields.shift_remove(name);
            }
            let action = fields.shift_remove("action").and_then(|action| action.as_str().map(str::to_owned));
            let action = action.unwrap_or_default();
            if !matches!(action.as_str(), "request" | "request_finished" | "answer") {
                let _ = writeln!(text, "· {action} {}", Value::Object(fields.clone()));
            }
        }
        text
    }
}
