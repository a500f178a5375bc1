//! The sub-tasks of a request as they stand.

use trimtab_vocab::event::SubtaskFact;
use trimtab_vocab::{ExecutionOrder, LeftBehind, SessionId, SubTaskPlan, SubtaskStatus, Time, Usage};

/// The sub-tasks of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SubtaskBoard {
    /// In which order they run, once they do.
    pub(crate) order: Option<ExecutionOrder>,
    pub(crate) tasks: Vec<BoardTask>,
    /// When the request ended that they belong to.
    pub(crate) ended: Option<Time>,
}

/// A sub-task as it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BoardTask {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) depends_on: Vec<String>,
    pub(crate) model: String,
    pub(crate) status: SubtaskStatus,
    /// From 0 to 1.
    pub(crate) progress: f64,
    pub(crate) attempt: u32,
    pub(crate) usage: Usage,
    pub(crate) worker: Option<SessionId>,
    pub(crate) error: Option<String>,
    pub(crate) summary: String,
    /// Dollars that are set aside for its worker.
    pub(crate) reserved_usd: Option<f64>,
    /// What its worker did in its copy that is not merged.
    pub(crate) left_behind: LeftBehind,
    pub(crate) began: Option<Time>,
    pub(crate) ended: Option<Time>,
}

impl SubtaskBoard {
    /// Another plan; what is known of its tasks stays.
    pub(crate) fn plan(&mut self, plan: &SubTaskPlan) {
        let known = std::mem::take(&mut self.tasks);
        let task = |task: &trimtab_vocab::SubTask| {
            let before = known.iter().find(|before| before.id == task.id).cloned();
            BoardTask {
                name: task.name().to_owned(),
                depends_on: task.depends_on.clone(),
                model: task.model.clone(),
                ..before.unwrap_or_else(|| BoardTask {
                    id: task.id.clone(),
                    name: String::new(),
                    depends_on: Vec::new(),
                    model: String::new(),
                    status: SubtaskStatus::Pending,
                    progress: 0.0,
                    attempt: 0,
                    usage: Usage::default(),
                    worker: None,
                    error: None,
                    summary: String::new(),
                    reserved_usd: None,
                    left_behind: LeftBehind::default(),
                    began: None,
                    ended: None,
                })
            }
        };
        self.tasks = plan.tasks.iter().map(task).collect();
    }

    /// Takes in how a task stands. Whether its status is another one, or it is tried again.
    pub(crate) fn moved(&mut self, fact: &SubtaskFact, time: Time) -> bool {
        let Some(task) = self.tasks.iter_mut().find(|task| task.id == fact.subtask) else { return false };
        let is_other = task.status != fact.status || task.attempt != fact.attempt;
        if fact.attempt > task.attempt {
            (task.began, task.ended) = (Some(time), None);
            task.reserved_usd = None;
        }
        if fact.status.is_over() || fact.status == SubtaskStatus::Failed {
            task.ended.get_or_insert(time);
        }
        (task.status, task.progress, task.attempt, task.usage) = (fact.status, fact.progress, fact.attempt, fact.usage);
        if fact.worker.is_some() {
            task.worker.clone_from(&fact.worker);
        }
        task.error = fact.error.as_ref().map(|error| error.message.clone());
        if let Some(summary) = &fact.summary {
            task.summary.clone_from(summary);
        }
        task.reserved_usd = fact.reserved_usd.or(task.reserved_usd);
        task.left_behind.clone_from(&fact.left_behind);
        is_other
    }

    /// Whether they have started and something is left to do.
    pub(crate) fn is_under_way(&self) -> bool {
        self.order.is_some() && self.ended.is_none() && !self.tasks.iter().all(|task| task.status.is_over())
    }

    pub(crate) fn task(&self, id: &str) -> Option<&BoardTask> {
        self.tasks.iter().find(|task| task.id == id)
    }
}
