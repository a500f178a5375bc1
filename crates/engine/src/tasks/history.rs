//! The change history of tasks: a fold of the facts in their log, as for files.

use trimtab_vocab::event::Fact;
use trimtab_vocab::{ChangeSetId, TaskAuthor, TaskCounts, TaskWrite, TasksFact, Time};

use super::undo;

/// Changes of tasks that were made together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSet {
    pub id: ChangeSetId,
    /// When it was made.
    pub time: Time,
    /// Who requested it.
    pub by: TaskAuthor,
    /// How much changed.
    pub summary: TaskCounts,
    /// Each task as the set found it and left it. After a move beside later edits these are what the move
    /// found and left, so that the way back leads to exactly what was there.
    pub writes: Vec<TaskWrite>,
    /// The set that it undoes.
    pub undoes: Option<ChangeSetId>,
}

/// All change sets of tasks, and how many of them are in force.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskHistory {
    sets: Vec<TaskSet>,
    in_force: usize,
}

impl TaskHistory {
    /// All sets, the oldest first. Undone sets come last.
    pub fn sets(&self) -> &[TaskSet] {
        &self.sets
    }

    /// How many of them are in force.
    pub fn in_force(&self) -> usize {
        self.in_force
    }

    /// Takes in a fact of the log.
    pub fn fold(&mut self, time: Time, fact: &Fact) {
        let Fact::Tasks(fact) = fact else { return };
        match fact.clone() {
            TasksFact::Applied { change_set, by, summary, writes, undoes } => {
                // Undone sets are built over.
                self.sets.truncate(self.in_force);
                self.sets.push(TaskSet { id: change_set, time, by, summary, writes, undoes });
                self.in_force = self.sets.len();
            }
            TasksFact::Reverted { change_set, writes } => {
                if let Some(at) = self.sets.iter().position(|set| set.id == change_set) {
                    self.sets[at].writes = undo::reversed(&writes);
                    self.in_force = at;
                }
            }
            TasksFact::Reapplied { change_set, writes } => {
                if let Some(at) = self.sets.iter().position(|set| set.id == change_set) {
                    self.sets[at].writes = writes;
                    self.in_force = at + 1;
                }
            }
        }
    }
}
