//! Files of a folder that are used only in the version that the user accepted.

use crate::{Rule, is_agent_path, is_skill_path};

/// A file of a folder that is accepted by a rule of its own, one version at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BoundFile {
    Skill,
    Agent,
}

impl BoundFile {
    pub const ALL: [Self; 2] = [Self::Skill, Self::Agent];

    /// What the file at a path of a folder is; none: it is not accepted by a rule of its own.
    pub fn at(path: &str) -> Option<Self> {
        match path {
            path if is_skill_path(path) => Some(Self::Skill),
            path if is_agent_path(path) => Some(Self::Agent),
            _ => None,
        }
    }

    /// The tool's name in rules that accept it.
    pub fn rule_tool(self) -> &'static str {
        match self {
            Self::Skill => Rule::SKILL,
            Self::Agent => Rule::AGENT,
        }
    }

    /// Whether rules with this tool accept such files.
    pub fn is_rule_tool(tool: &str) -> bool {
        Self::ALL.iter().any(|kind| kind.rule_tool() == tool)
    }
}
