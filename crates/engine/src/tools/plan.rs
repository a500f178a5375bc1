//! The plan that the user is to approve. Offered only while planning.

use super::{BuiltInTool, FILES, ToolAction};
use crate::proposal::plan;

pub(super) const PROPOSE: BuiltInTool = BuiltInTool {
    name: "propose_plan",
    description: "Propose the complete plan to the user. Only in plan mode. dependsOn lists the numbers of the steps that must end first. State your assumptions.",
    schema: r#"{"type":"object","properties":{"summary":{"type":"string"},"steps":{"type":"array","items":{"type":"object","properties":{"title":{"type":"string"},"details":{"type":"string"},"files":{"type":"array","items":{"type":"string"}},"commands":{"type":"array","items":{"type":"string"}},"dependsOn":{"type":"array","items":{"type":"integer"}},"estimate":{"type":"string"}},"required":["title"]}},"assumptions":{"type":"array","items":{"type":"string"}}},"required":["steps"]}"#,
    read_only: true,
    category: Some(FILES),
    read: |input| plan::read(input, &[]).map(ToolAction::Plan),
};
