//! Skills: instructions in files, which a model loads when a task needs them.

use serde::{Deserialize, Serialize};

use crate::CallId;

/// Where a folder keeps its skills, in the order in which they are read.
pub const SKILL_FOLDERS: [&str; 3] = [".agents/skills", ".claude/skills", ".trimtab/skills"];
/// The file of a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// Whether a path of a folder is the file of a skill.
pub fn is_skill_path(path: &str) -> bool {
    let is_below = |root: &&str| path.strip_prefix(*root).is_some_and(|rest| rest.starts_with('/'));
    SKILL_FOLDERS.iter().any(is_below) && path.rsplit('/').next() == Some(SKILL_FILE)
}

/// A skill as a session knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ListedSkill {
    /// The name that loads it.
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
    /// Only the user can load it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub manual: bool,
    /// The only tools after it is loaded. Absent: all tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

/// The file of a skill, as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillText {
    /// As the list has it, with the hash of what was read.
    pub skill: ListedSkill,
    /// The whole file.
    pub text: String,
    /// Where the text for the model begins in it.
    pub body_from: usize,
    /// Other files in the skill's folder, relative to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

impl SkillText {
    /// The text for the model.
    pub fn body(&self) -> &str {
        self.text.get(self.body_from..).unwrap_or_default().trim()
    }
}

/// Skills are known, or one was loaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum SkillFact {
    /// All skills of the session, whenever they change.
    #[serde(rename = "skill.listed")]
    Listed { skills: Vec<ListedSkill> },
    /// A skill is part of the prompt from now on.
    #[serde(rename = "skill.loaded")]
    Loaded {
        /// The call that loaded it. Absent: the user loaded it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        name: String,
        /// Its file.
        path: String,
        /// The hash of its file.
        hash: String,
        /// It is the folder's.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        project: bool,
        /// The text for the model. A summary of the conversation keeps it unchanged.
        text: String,
        /// The only tools for the rest of the request. Absent: all tools.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<Vec<String>>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_files_of_skills_are_taken_for_them() {
        for path in [".claude/skills/pdf/SKILL.md", ".agents/skills/group/pdf/SKILL.md", ".trimtab/skills/a/SKILL.md"] {
            assert!(is_skill_path(path), "{path}");
        }
        for path in
            ["SKILL.md", ".claude/skills/pdf/README.md", ".claude/skillset/pdf/SKILL.md", "a/.claude/skills/b/SKILL.md"]
        {
            assert!(!is_skill_path(path), "{path}");
        }
    }
}
