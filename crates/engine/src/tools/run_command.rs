//! Runs commands.

use serde::Deserialize;

use super::{BuiltInTool, COMMANDS, ToolAction, arguments, number};

pub(super) const RUN: BuiltInTool = BuiltInTool {
    name: "run_command",
    description: "Run a shell command in the folder. Returns its output and exit code. It has no input, no terminal, and no network, and its background processes end with it. `terminal` gives it a terminal without input: only for programs that need one. It stops at its timeout, and timeout_s asks for a longer one. The user may have to approve it. If the sandbox made it fail, run it again with the reason in `outside`: this asks the user to run it without the sandbox. Do not use it to read or edit files.",
    schema: r#"{"type":"object","properties":{"command":{"type":"string"},"timeout_s":{"type":"integer"},"outside":{"type":"string"},"terminal":{"type":"boolean"}},"required":["command"]}"#,
    read_only: false,
    category: Some(COMMANDS),
    read: |input| {
        #[derive(Deserialize)]
        struct RunCommandArguments {
            command: String,
            #[serde(default, deserialize_with = "number")]
            timeout_s: Option<u64>,
            #[serde(default)]
            outside: Option<String>,
            #[serde(default)]
            terminal: Option<bool>,
        }
        let RunCommandArguments { command, timeout_s, outside, terminal } = arguments(input)?;
        if command.trim().is_empty() {
            return Err("the command is empty.".into());
        }
        let outside = outside.map(|why| why.trim().to_owned()).filter(|why| !why.is_empty());
        Ok(ToolAction::Run {
            command,
            timeout_s: timeout_s.filter(|seconds| *seconds > 0),
            outside,
            terminal: terminal.unwrap_or(false),
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_told_what_a_command_has_and_what_it_may_ask_for() {
        let about = RUN.description;
        for line in [
            "It has no input, no terminal, and no network, and its background processes end with it.",
            "`terminal` gives it a terminal without input: only for programs that need one.",
            "If the sandbox made it fail, run it again with the reason in `outside`: this asks the user to run it without the sandbox.",
        ] {
            assert!(about.contains(line), "{line}");
        }
        let schema: serde_json::Value = serde_json::from_str(RUN.schema).expect("JSON");
        assert_eq!(schema["properties"]["terminal"]["type"], "boolean");
        assert_eq!(schema["required"], serde_json::json!(["command"]), "nobody has to say that it needs none");
    }
}
