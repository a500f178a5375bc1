//! Delegates work to workers, and shares values between them.

use serde::Deserialize;
use serde_json::Value;
use trimtab_vocab::{SubTask, SubTaskPlan, TaskKind};

use super::{BuiltInTool, SUBTASKS, ToolAction, arguments};

/// The tool that hands parts of the work to workers.
pub(crate) const DELEGATE_NAME: &str = "delegate";
/// The tools that only workers have.
pub(crate) const SHARED_TOOLS: [&str; 2] = ["read_shared", "write_shared"];

pub(super) const DELEGATE: BuiltInTool = BuiltInTool {
    name: DELEGATE_NAME,
    description: "Hand independent parts of the work to workers that run at the same time, each with its own copy of the folder. A worker knows only its instruction and files. Their changes are merged and shown to the user. To hand one task to a listed agent, give agent and task.",
    schema: r#"{"type":"object","properties":{"agent":{"type":"string"},"task":{"type":"string"},"tasks":{"type":"array","items":{"type":"object","properties":{"title":{"type":"string"},"instruction":{"type":"string"},"files":{"type":"array","items":{"type":"string"}},"depends_on":{"type":"array","items":{"type":"integer"}},"kind":{"type":"string","enum":["simple","reasoning","review"]},"agent":{"type":"string"}},"required":["instruction"]}}}}"#,
    read_only: false,
    category: Some(SUBTASKS),
    read: |input| {
        #[derive(Deserialize)]
        struct DelegatedTask {
            #[serde(default)]
            title: String,
            #[serde(alias = "task")]
            instruction: String,
            #[serde(default)]
            files: Vec<String>,
            #[serde(default)]
            depends_on: Vec<u32>,
            #[serde(default)]
            kind: TaskKind,
            #[serde(default)]
            agent: Option<String>,
        }
        #[derive(Deserialize)]
        struct DelegateArguments {
            #[serde(default)]
            tasks: Vec<DelegatedTask>,
            #[serde(default)]
            agent: Option<String>,
            #[serde(default, alias = "instruction", alias = "prompt")]
            task: Option<String>,
        }
        let DelegateArguments { mut tasks, agent, task } = arguments(input)?;
        match task.filter(|task| !task.trim().is_empty()) {
            Some(instruction) => {
                let (files, depends_on) = (Vec::new(), Vec::new());
                let (title, kind) = (String::new(), TaskKind::default());
                tasks.push(DelegatedTask { title, instruction, files, depends_on, kind, agent });
            }
            // One agent for all of them.
            None => tasks.iter_mut().for_each(|task| task.agent = task.agent.take().or_else(|| agent.clone())),
        }
        if tasks.is_empty() {
            return Err("There is no task. Give tasks, or agent and task.".to_owned());
        }
        let plain = |agent: String| agent.trim().trim_start_matches('@').trim_start_matches("agent-").to_owned();
        let task = |(number, task): (u32, DelegatedTask)| SubTask {
            id: number.to_string(),
            title: task.title,
            instruction: task.instruction,
            context_files: task.files,
            depends_on: task.depends_on.iter().map(u32::to_string).collect(),
            kind: task.kind,
            agent: task.agent.map(plain).filter(|agent| !agent.is_empty()),
            ..SubTask::default()
        };
        let tasks = (1..).zip(tasks).map(task).collect();
        Ok(ToolAction::Delegate(SubTaskPlan { tasks, ..SubTaskPlan::default() }))
    },
};

pub(super) const READ_SHARED: BuiltInTool = BuiltInTool {
    name: SHARED_TOOLS[0],
    description: "Read what the workers of this task share: the values that they wrote, and the results of finished sub-tasks.",
    schema: r#"{"type":"object","properties":{}}"#,
    read_only: true,
    category: Some(SUBTASKS),
    read: |_| Ok(ToolAction::ReadShared),
};

pub(super) const WRITE_SHARED: BuiltInTool = BuiltInTool {
    name: SHARED_TOOLS[1],
    description: "Write a value that the other workers of this task can read.",
    schema: r#"{"type":"object","properties":{"key":{"type":"string"},"value":{}},"required":["key","value"]}"#,
    read_only: true,
    category: Some(SUBTASKS),
    read: |input| {
        #[derive(Deserialize)]
        struct WriteSharedArguments {
            key: String,
            value: Value,
        }
        const LARGEST: usize = 16 * 1024;
        let WriteSharedArguments { key, value } = arguments(input)?;
        match value.to_string().len() + key.len() {
            0..LARGEST => Ok(ToolAction::WriteShared { key, value }),
            size => Err(format!("{size} bytes are too many; {LARGEST} is the limit.")),
        }
    },
};
