//! Loads a skill.

use serde::Deserialize;

use super::{BuiltInTool, ToolAction, arguments};

/// Only sessions with skills offer it.
pub(crate) const USE_SKILL: &str = "use_skill";

pub(super) const SKILL: BuiltInTool = BuiltInTool {
    name: USE_SKILL,
    description: "Load a listed skill's instructions by name. With file, read another file of the skill.",
    schema: r#"{"type":"object","properties":{"name":{"type":"string"},"file":{"type":"string"}},"required":["name"]}"#,
    read_only: true,
    category: None,
    read: |input| {
        #[derive(Deserialize)]
        struct UseSkillArguments {
            name: String,
            #[serde(default)]
            file: Option<String>,
        }
        let UseSkillArguments { name, file } = arguments(input)?;
        let name = name.trim().trim_start_matches('/').to_owned();
        Ok(ToolAction::UseSkill { name, file: file.filter(|file| !file.trim().is_empty()) })
    },
};
