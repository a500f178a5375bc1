//! Agents: workers that are described in files. The model and the user hand sub-tasks to them.

use serde::{Deserialize, Serialize};

use crate::{CallId, Effort};

/// Where a folder keeps its agents, in the order in which they are read.
pub const AGENT_FOLDERS: [&str; 2] = [".claude/agents", ".trimtab/agents"];

/// Whether a path of a folder is the file of an agent.
pub fn is_agent_path(path: &str) -> bool {
    let is_below = |root: &&str| path.strip_prefix(*root).is_some_and(|rest| rest.starts_with('/'));
    AGENT_FOLDERS.iter().any(is_below) && path.ends_with(".md")
}

/// An agent as a session knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ListedAgent {
    /// The name that it is called by.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its file: relative to the folder, or absolute for the user's own.
    pub path: String,
    /// The hash of its file: BLAKE3, in hex.
    pub hash: String,
    /// It is the folder's; otherwise, it is the user's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub project: bool,
    /// The user has not accepted it as it is now, so the model does not get it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
    #[serde(flatten)]
    pub limits: AgentLimits,
}

/// What the file of an agent says about how it works. It only takes away from what the request has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct AgentLimits {
    /// The only tools of its workers. Absent: all tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tools that its workers do not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without_tools: Vec<String>,
    /// `provider/name`. Absent: the model of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much its model thinks. Absent: as much as that of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Model calls of one worker at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
}

/// The file of an agent, as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentText {
    /// As the list has it, with the hash of what was read.
    pub agent: ListedAgent,
    /// The whole file.
    pub text: String,
    /// Where the instructions of the worker begin in it.
    pub body_from: usize,
}

impl AgentText {
    /// The instructions of the worker.
    pub fn body(&self) -> &str {
        self.text.get(self.body_from..).unwrap_or_default().trim()
    }
}

/// Agents are known, or one is put to work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum AgentFact {
    /// All agents of the session, whenever they change.
    #[serde(rename = "agent.listed")]
    Listed { agents: Vec<ListedAgent> },
    /// The instructions of an agent, for the workers that follow. In the session of a worker: its own.
    #[serde(rename = "agent.loaded")]
    Loaded {
        /// The call that delegates to it. Absent: the user calls it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        agent: Box<ListedAgent>,
        /// The instructions of its workers.
        text: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_files_of_agents_are_taken_for_them() {
        for path in [".claude/agents/review.md", ".claude/agents/group/review.md", ".trimtab/agents/a.md"] {
            assert!(is_agent_path(path), "{path}");
        }
        for path in ["agents/review.md", ".claude/agents/notes.txt", ".claude/agentset/a.md", "a/.claude/agents/b.md"] {
            assert!(!is_agent_path(path), "{path}");
        }
    }
}
