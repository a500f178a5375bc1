//! The list of steps.

use serde::Deserialize;
use trimtab_vocab::Todo;

use super::{BuiltInTool, ToolAction, arguments};

/// Steps at most.
const MOST: usize = 50;

pub(super) const STEPS: BuiltInTool = BuiltInTool {
    name: "set_steps",
    description: "Show the user the steps of the work. Use it for three or more steps. Send the complete list each time, and mark finished steps.",
    schema: r#"{"type":"object","properties":{"steps":{"type":"array","items":{"type":"object","properties":{"text":{"type":"string"},"completed":{"type":"boolean"}},"required":["text"]}}},"required":["steps"]}"#,
    read_only: true,
    category: None,
    read: |input| {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum StepArgument {
            Whole(Todo),
            Words(String),
        }
        #[derive(Deserialize)]
        struct SetStepsArguments {
            #[serde(alias = "todos")]
            steps: Vec<StepArgument>,
        }
        let SetStepsArguments { steps } = arguments(input)?;
        if steps.len() > MOST {
            return Err(format!("{} steps are too many; {MOST} at most.", steps.len()));
        }
        let todo = |step| match step {
            StepArgument::Whole(todo) => todo,
            StepArgument::Words(text) => Todo { text, completed: false },
        };
        Ok(ToolAction::Steps(steps.into_iter().map(todo).collect()))
    },
};
