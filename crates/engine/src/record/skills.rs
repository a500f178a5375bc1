//! The skills of a session: those that there are, and those that were loaded.

use std::collections::BTreeMap;

use trimtab_vocab::{ListedSkill, SkillFact};

use super::Session;

/// The skills, as they were recorded last.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionSkills {
    pub(crate) listed: Vec<ListedSkill>,
    /// Loaded skills by name. They stay in the prompt, also when the conversation is summarized.
    pub(crate) loaded: BTreeMap<String, LoadedSkill>,
    /// The model was offered skills. Its list of tools stays the same from then on.
    pub(crate) is_offered: bool,
}

/// A skill whose text is part of the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedSkill {
    pub(crate) path: String,
    pub(crate) hash: String,
    pub(crate) project: bool,
    /// What the model reads.
    pub(crate) text: String,
}

/// The tools that a loaded skill leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillTools {
    /// The skill, or several of them.
    pub skill: String,
    pub tools: Vec<String>,
}

impl SkillTools {
    /// Whether this skill is among those that restrict the tools.
    pub(crate) fn is_by(&self, skill: &str) -> bool {
        self.skill.split(", ").any(|name| name == skill)
    }

    /// What both leave.
    fn and(self, other: Option<Self>) -> Self {
        let Some(other) = other.filter(|other| *other != self) else { return self };
        let tools = self.tools.into_iter().filter(|tool| other.tools.contains(tool)).collect();
        let skill = if other.skill == self.skill { self.skill } else { format!("{}, {}", other.skill, self.skill) };
        Self { skill, tools }
    }
}

impl Session {
    pub(crate) fn skills(&self) -> &SessionSkills {
        &self.extensions.skills
    }

    pub(super) fn fold_skill(&mut self, fact: &SkillFact) {
        match fact {
            SkillFact::Listed { skills } => {
                self.extensions.skills.is_offered |= skills.iter().any(|skill| !skill.pending && !skill.manual);
                self.extensions.skills.listed.clone_from(skills);
            }
            SkillFact::Loaded { name, path, hash, project, text, tools, .. } => {
                let loaded =
                    LoadedSkill { path: path.clone(), hash: hash.clone(), project: *project, text: text.clone() };
                self.extensions.skills.loaded.insert(name.clone(), loaded);
                if let (Some(active), Some(tools)) = (&mut self.active, tools) {
                    let narrowed = SkillTools { skill: name.clone(), tools: tools.clone() };
                    active.tools.narrowed = Some(narrowed.and(active.tools.narrowed.take()));
                }
            }
        }
    }
}
