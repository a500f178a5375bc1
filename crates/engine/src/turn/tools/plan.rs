//! The plan that a person is to approve. Asked for only while planning.

use super::{ToolAction, ToolDefinition};
use crate::flow::plan;

pub(super) const PROPOSE: ToolDefinition = ToolDefinition {
    name: "propose_plan",
    about: "In plan mode, and only there: propose the whole plan to the user. dependsOn holds numbers of steps that must end first. State what you assume.",
    schema: r#"{"type":"object","properties":{"summary":{"type":"string"},"steps":{"type":"array","items":{"type":"object","properties":{"title":{"type":"string"},"details":{"type":"string"},"files":{"type":"array","items":{"type":"string"}},"commands":{"type":"array","items":{"type":"string"}},"dependsOn":{"type":"array","items":{"type":"integer"}},"estimate":{"type":"string"}},"required":["title"]}},"assumptions":{"type":"array","items":{"type":"string"}}},"required":["steps"]}"#,
    looks: true,
    read: |input| plan::read(&input, &[]).map(ToolAction::Plan),
};
