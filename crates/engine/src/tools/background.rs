//! Background commands: reads their output, and ends them.

use serde::Deserialize;
use trimtab_vocab::BackgroundId;

use super::{BuiltInTool, COMMANDS, ToolAction, arguments, number};

pub(super) const READ_OUTPUT: BuiltInTool = BuiltInTool {
    name: "read_output",
    description: "Read the output of a background command. Without `since`, its end; else what follows that position, which each result names.",
    schema: r#"{"type":"object","properties":{"id":{"type":"string"},"since":{"type":"integer"}},"required":["id"]}"#,
    read_only: true,
    category: Some(COMMANDS),
    read: |input| {
        #[derive(Deserialize)]
        struct ReadOutputArguments {
            id: String,
            #[serde(default, deserialize_with = "number")]
            since: Option<u64>,
        }
        let ReadOutputArguments { id, since } = arguments(input)?;
        Ok(ToolAction::ReadOutput { id: parsed(&id)?, since })
    },
};

pub(super) const STOP_COMMAND: BuiltInTool = BuiltInTool {
    name: "stop_command",
    description: "End a background command and everything that it started.",
    schema: r#"{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}"#,
    read_only: false,
    category: Some(COMMANDS),
    read: |input| {
        #[derive(Deserialize)]
        struct StopCommandArguments {
            id: String,
        }
        let StopCommandArguments { id } = arguments(input)?;
        Ok(ToolAction::StopCommand { id: parsed(&id)? })
    },
};

fn parsed(id: &str) -> Result<BackgroundId, String> {
    id.trim().parse().map_err(|error| format!("{error}."))
}
