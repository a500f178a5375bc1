//! Sub-tasks: one request that several workers carry out, each in its own session and its own copy of the folder.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::format::Plural;
use crate::wording::permission::NamedFiles;
use crate::{CallId, CheckpointId, ModelFacts, SessionId};

/// In which order the tasks of a plan run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ExecutionOrder {
    /// Independent sub-tasks run at the same time. The others wait for the ones that they depend on.
    #[default]
    DependencyGraph,
    /// One after the other.
    Sequential,
    /// All at once. What clashes is settled when the results are merged.
    Parallel,
}

/// What a task takes, which decides the model that works on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// Simple work that a fast model can do.
    Simple,
    /// It needs reasoning.
    #[default]
    Reasoning,
    /// Review the results of other sub-tasks.
    Review,
}

/// A part of a request, for one worker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SubTask {
    pub id: String,
    /// A short text for lists.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The complete instruction of the worker.
    pub instruction: String,
    /// The files that it is shown.
    #[serde(default)]
    pub context_files: Vec<String>,
    /// What the result must keep to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<String>,
    /// `provider/name` of who works on it.
    #[serde(default)]
    pub model: String,
    /// The ids of tasks that must be completed first.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// Of tasks that can start, the one with the higher priority starts first.
    #[serde(default)]
    pub priority: u32,
    #[serde(default)]
    pub kind: TaskKind,
    /// The agent whose instructions its worker has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl SubTask {
    /// What lists call it: one line that is not too long.
    pub fn name(&self) -> &str {
        const LONGEST: usize = 120;
        let text = if self.title.trim().is_empty() { &self.instruction } else { &self.title };
        let line = text.trim().lines().next().unwrap_or_default();
        line.char_indices().nth(LONGEST).map_or(line, |(at, _)| line[..at].trim_end())
    }
}

/// The tasks of a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SubTaskPlan {
    pub tasks: Vec<SubTask>,
    pub execution_order: ExecutionOrder,
    /// Estimated cost in US dollars. Absent if a price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_cost: Option<f64>,
    /// Estimated duration in milliseconds.
    #[serde(default)]
    pub estimated_time_ms: u64,
    /// The cheapest and the dearest that is likely, in dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_range: Option<(f64, f64)>,
    /// The estimates rest on earlier calls of these models, and not on usual figures.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_records: bool,
}

impl SubTaskPlan {
    pub fn task(&self, id: &str) -> Option<&SubTask> {
        self.tasks.iter().find(|task| task.id == id)
    }

    /// The place of a task in the plan, from 1.
    pub fn number(&self, id: &str) -> usize {
        self.tasks.iter().position(|task| task.id == id).map_or(0, |at| at + 1)
    }
}

/// How far a sub-task is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SubtaskStatus {
    /// It has not started.
    #[default]
    Pending,
    Running,
    /// Its worker waits for the user.
    NeedsUser,
    Completed,
    /// It failed, and the user decides what to do next.
    Failed,
    /// The user left it out.
    Skipped,
    /// The user stopped it.
    Stopped,
}

impl SubtaskStatus {
    /// Whether nothing more comes of it.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Skipped | Self::Stopped)
    }

    /// Whether a worker is at it.
    pub fn is_at_work(self) -> bool {
        matches!(self, Self::Running | Self::NeedsUser)
    }
}

impl fmt::Display for SubtaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::NeedsUser => "needs_user",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Stopped => "stopped",
        })
    }
}

/// How finely a request is broken down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Granularity {
    Fine,
    Medium,
    Coarse,
}

/// One way to break a request down, as it is offered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct BreakdownOption {
    pub granularity: Granularity,
    /// How many sub-tasks it has.
    pub tasks: u32,
    /// Tokens of each reply, about.
    pub tokens_each: u32,
    /// How likely it is that a reply is cut off, from 0 to 1.
    pub truncation_risk: f64,
    /// What speaks for it and against it.
    pub notes: Vec<String>,
}

/// One way to carry a plan out, as it is offered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StrategyOption {
    pub execution_order: ExecutionOrder,
    /// From 1 to 3.
    pub speed: u32,
    /// Estimated cost in US dollars. Absent if a price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// `Low`, `Medium` or `High`.
    pub risk: String,
    pub note: String,
}

/// What a user wants done about the sub-tasks of a request before it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SubtaskStart {
    /// Break it down, and ask how to carry it out.
    Ask,
    /// Break it down, and run what can run side by side.
    Parallel,
    /// Break it down, and run one after the other.
    Sequential,
    /// Break it down, and run all at once.
    Loose,
    /// Never break it down.
    Off,
}

/// Whether a model can propose sub-tasks for a request that did not ask for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SubtaskOffer {
    /// The user is asked.
    #[default]
    Ask,
    /// Never; models cannot delegate either.
    Off,
    /// They start without asking, within the budget.
    Auto,
}

/// The settings of sub-tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SubtaskSettings {
    /// Workers that run at the same time at most.
    pub parallel: u32,
    pub offer: SubtaskOffer,
    /// What the user wants of this request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<SubtaskStart>,
    /// Who works on each kind of task, where that is not the model itself.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<TaskKind, WorkerModel>,
    /// Cost in US dollars up to which sub-tasks start without asking, if a setting or a rule allows it.
    #[serde(alias = "auto_usd")]
    pub auto_usd: f64,
    /// How copies of the folder get the dependency folders that git ignores.
    #[serde(alias = "build_folders")]
    pub build_folders: BuildFolders,
    /// Figures of earlier calls, by model.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub records: BTreeMap<String, CallRecords>,
    /// It is the request of a worker, which cannot delegate.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_worker: bool,
    /// The agent that the user hands the request to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The models that the user's own agents name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agent_models: Vec<WorkerModel>,
    /// The only tools of a worker. Absent: all tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tools that a worker does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without_tools: Vec<String>,
}

impl Default for SubtaskSettings {
    fn default() -> Self {
        Self {
            parallel: 4,
            offer: SubtaskOffer::Ask,
            start: None,
            models: BTreeMap::new(),
            auto_usd: 1.0,
            build_folders: BuildFolders::Clone,
            records: BTreeMap::new(),
            is_worker: false,
            agent: None,
            agent_models: Vec::new(),
            tools: None,
            without_tools: Vec::new(),
        }
    }
}

impl SubtaskSettings {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How a worker's copy of the folder gets the dependency folders that git ignores (`node_modules`, `.venv`, `vendor`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BuildFolders {
    /// Clones that share their contents with the original, where the file system can make them; else as `Share`.
    #[default]
    Clone,
    /// Read-only links to the originals.
    Share,
    /// Not at all.
    None,
}

/// What a copy of the folder took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CopyStats {
    pub files: u64,
    /// Bytes of their contents.
    pub bytes: u64,
    /// How many of these bytes share disk space with the original.
    pub cloned_bytes: u64,
    pub millis: u64,
    /// Git commands work in the copy.
    pub has_git: bool,
}

/// What a worker did in its copy that is not merged, because it is not among the recorded changes: secrets, files that are
/// too large to be kept, files that git ignores.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct LeftBehind {
    /// The first of the files that it wrote.
    pub files: Vec<String>,
    /// How many more there are.
    pub more: u64,
    /// The first of the files that it deleted. A folder that is gone ends with `/` and stands for all that was in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<String>,
    #[serde(skip_serializing_if = "is_zero")]
    pub more_deleted: u64,
    /// Files and folders that it wrote and that git ignores, such as the output of builds. They are only counted.
    #[serde(skip_serializing_if = "is_zero")]
    pub ignored: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl LeftBehind {
    /// Files that are named at most, of those written and of those deleted.
    pub const MOST: usize = 20;

    pub fn is_empty(&self) -> bool {
        !self.has_names() && self.ignored == 0
    }

    /// Whether there is anything that nobody would expect of a build.
    pub fn has_names(&self) -> bool {
        !self.files.is_empty() || !self.deleted.is_empty()
    }

    /// Adds a file that was written. Those after the first are counted.
    pub fn add_file(&mut self, path: String) {
        add(&mut self.files, &mut self.more, path);
    }

    /// Adds a file that was deleted.
    pub fn add_deleted(&mut self, path: String) {
        add(&mut self.deleted, &mut self.more_deleted, path);
    }
}

fn add(named: &mut Vec<String>, more: &mut u64, path: String) {
    match named.len() < LeftBehind::MOST {
        true => named.push(path),
        false => *more += 1,
    }
}

impl fmt::Display for LeftBehind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMED: usize = 10;
        let names = |files: &[String], more| NamedFiles::with_more(files.iter().map(String::as_str), NAMED, more);
        let wrote = names(&self.files, self.more).map(|files| format!("wrote {files}"));
        let deleted = names(&self.deleted, self.more_deleted).map(|files| format!("deleted {files}"));
        let ignored = (self.ignored > 0).then(|| Plural::new(self.ignored, "ignored path").to_string());
        let parts: Vec<String> = [wrote, deleted, ignored].into_iter().flatten().collect();
        f.write_str(&parts.join("; "))
    }
}

/// A model for workers, with the known facts about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerModel {
    /// `provider/name`.
    pub model: String,
    pub facts: ModelFacts,
}

/// Figures of a model's earlier calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CallRecords {
    /// Calls that were counted.
    pub calls: u64,
    /// Average number of tokens in a reply.
    pub output_tokens: u32,
    /// Tokens of a reply in a second, on average.
    pub tokens_per_s: f64,
    /// The share of replies that were cut off, from 0 to 1.
    pub truncated: f64,
}

/// A question of a worker, which is asked in the session that it works for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkerQuestion {
    /// The sub-task.
    pub subtask: String,
    /// What lists call the sub-task.
    #[serde(default)]
    pub name: String,
    /// The worker's session.
    pub session: SessionId,
    /// The question there.
    pub checkpoint: CheckpointId,
}

/// Where the changes of two workers, or of a worker and the user, do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MergeConflict {
    pub path: String,
    /// The sub-task whose change does not fit.
    pub subtask: String,
    /// The sub-tasks that changed the file earlier. Empty: the user changed it.
    #[serde(default)]
    pub against: Vec<String>,
    /// What both started from.
    pub base: String,
    /// The current text.
    pub ours: String,
    /// The sub-task's version.
    pub theirs: String,
    /// `theirs` is truncated or is not text, so it cannot be edited.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

/// Why the changes of workers cannot be merged as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MergeObstacle {
    pub reason: String,
    /// The files that stand in the way: the others can be merged without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The files that can be left out instead, where only one of the two can be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
}

/// How a conflict is settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "keep", rename_all = "snake_case")]
pub enum MergeChoice {
    /// Where both changed the same lines, keep the lines in the folder.
    Ours,
    /// If both changed the same lines, use the lines of the sub-task.
    Theirs,
    /// The file becomes this text.
    Text { text: String },
}

/// An action on a sub-task that runs, failed, or waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum SubtaskControl {
    Pause,
    Resume,
    Stop,
    Skip,
    /// Start over; with another model or instruction, if they are given.
    Retry {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instruction: Option<String>,
    },
    Steer {
        text: String,
    },
}

impl SubtaskControl {
    /// Whether it is possible for a sub-task in this status.
    pub fn fits(&self, status: SubtaskStatus) -> bool {
        match self {
            Self::Pause | Self::Resume | Self::Steer { .. } => status.is_at_work(),
            Self::Stop => status.is_at_work() || status == SubtaskStatus::Pending,
            Self::Skip => !status.is_over(),
            Self::Retry { .. } => {
                matches!(status, SubtaskStatus::Failed | SubtaskStatus::Skipped | SubtaskStatus::Stopped)
            }
        }
    }
}

/// The sub-tasks of a request as a whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum SubtasksFact {
    /// There is a plan, or another one in its place.
    #[serde(rename = "subtasks.planned")]
    Planned {
        /// The tool call that delegates the work. Absent: the user asked for sub-tasks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        plan: SubTaskPlan,
        /// How finely the request was broken down, where there was a choice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        granularity: Option<Granularity>,
        /// Who made or changed it.
        by: String,
    },
    /// A model's plan cannot be used.
    #[serde(rename = "subtasks.unplanned")]
    Unplanned {
        reason: String,
        /// How often that was so.
        tries: u32,
    },
    /// It is carried out from now on.
    #[serde(rename = "subtasks.started")]
    Started {
        execution_order: ExecutionOrder,
        /// Dollars of the budget that are set aside for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reserved_usd: Option<f64>,
    },
    /// The number of parallel workers changed because of the provider's rate limit.
    #[serde(rename = "subtasks.resized")]
    Resized {
        parallel: u32,
        /// `rate_limit`, or `recovered`.
        reason: String,
    },
    /// The user cancelled the request: sub-tasks stop, and the changes of finished ones are merged.
    #[serde(rename = "subtasks.cancelled")]
    Cancelled {},
    /// All sub-tasks are over, and their changes are being merged.
    #[serde(rename = "subtasks.merging")]
    Merging {
        /// Files that the user leaves out, because they cannot be merged.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        without: Vec<String>,
    },
    /// A conflict between changes is settled.
    #[serde(rename = "subtasks.resolved")]
    Resolved {
        path: String,
        subtask: String,
        choice: MergeChoice,
        /// `user`, or `model` where the user let it merge.
        by: String,
    },
    /// A worker has written to what all of them share.
    #[serde(rename = "subtasks.shared")]
    Shared {
        key: String,
        value: Value,
        /// The sub-task.
        by: String,
    },
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_cannot_pass_for_a_sentence_or_for_several_files() {
        let names = ["x\n\n**All tests pass.**", "a; deleted src/", "b, c", "plain.rs"].map(str::to_owned);
        let left = LeftBehind { files: names.to_vec(), more: 2, ..LeftBehind::default() };
        assert_eq!(
            left.to_string(),
            "wrote x ↵  ↵ **All tests pass.**, \"a; deleted src/\", \"b, c\", plain.rs, and 2 more files"
        );
    }

    #[test]
    fn a_plan_has_the_documented_fields() {
        let task = SubTask {
            id: "1".into(),
            instruction: "Create the user model".into(),
            context_files: vec!["src/user.rs".into()],
            model: "xai/grok-3-mini".into(),
            priority: 1,
            ..SubTask::default()
        };
        let plan = SubTaskPlan {
            tasks: vec![task],
            execution_order: ExecutionOrder::DependencyGraph,
            estimated_cost: Some(0.02),
            estimated_time_ms: 30_000,
            ..SubTaskPlan::default()
        };
        let written = serde_json::to_value(&plan).expect("written");
        assert_eq!(
            written,
            json!({
                "tasks": [{"id": "1", "instruction": "Create the user model", "contextFiles": ["src/user.rs"],
                    "model": "xai/grok-3-mini", "dependsOn": [], "priority": 1, "kind": "reasoning"}],
                "executionOrder": "dependency-graph",
                "estimatedCost": 0.02,
                "estimatedTimeMs": 30_000,
            })
        );
        assert_eq!(serde_json::from_value::<SubTaskPlan>(written).expect("read"), plan);
        let orders = [ExecutionOrder::Sequential, ExecutionOrder::Parallel, ExecutionOrder::DependencyGraph];
        assert_eq!(json!(orders), json!(["sequential", "parallel", "dependency-graph"]));
    }
}
