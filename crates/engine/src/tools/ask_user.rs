//! Asks the user.

use serde::Deserialize;

use super::{BuiltInTool, ToolAction, arguments};

/// Answers to choose from at most.
const MOST: usize = 12;

pub(super) const ASK: BuiltInTool = BuiltInTool {
    name: "ask_user",
    description: "Ask the user if only they can decide. Offer short options. They can also answer in text.",
    schema: r#"{"type":"object","properties":{"question":{"type":"string"},"options":{"type":"array","items":{"type":"string"}}},"required":["question"]}"#,
    read_only: true,
    category: None,
    read: |input| {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum AskUserChoice {
            Words(String),
            Labelled { label: String },
        }
        #[derive(Deserialize)]
        struct AskUserArguments {
            question: String,
            #[serde(default)]
            options: Option<Vec<AskUserChoice>>,
        }
        let AskUserArguments { question, options } = arguments(input)?;
        if question.trim().is_empty() {
            return Err("the question is empty.".into());
        }
        let label = |option| match option {
            AskUserChoice::Words(label) | AskUserChoice::Labelled { label } => label,
        };
        let options: Vec<String> = options.unwrap_or_default().into_iter().map(label).collect();
        if options.len() > MOST {
            return Err(format!("{} options are too many; {MOST} at most.", options.len()));
        }
        Ok(ToolAction::Ask { question, options })
    },
};
