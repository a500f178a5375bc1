//! Running commands.

use serde::Deserialize;

use super::{ToolAction, ToolDefinition, arguments, number};

pub(super) const RUN: ToolDefinition = ToolDefinition {
    name: "run_command",
    about: "Run a shell command in the folder and see its output and exit code. It has no input, no terminal and no network; nothing stays running after it. `terminal` gives it a terminal that nobody types at: only for programs that refuse to work without one. It is ended when its time is up; timeout_s asks for more. The user may be asked. If the sandbox itself made it fail, `outside` asks the user to run it without, and says why. Not for reading or editing files.",
    schema: r#"{"type":"object","properties":{"command":{"type":"string"},"timeout_s":{"type":"integer"},"outside":{"type":"string"},"terminal":{"type":"boolean"}},"required":["command"]}"#,
    looks: false,
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
        let about = RUN.about;
        for line in [
            "It has no input, no terminal and no network; nothing stays running after it.",
            "`terminal` gives it a terminal that nobody types at: only for programs that refuse to work without one.",
            "If the sandbox itself made it fail, `outside` asks the user to run it without, and says why.",
        ] {
            assert!(about.contains(line), "{line}");
        }
        let schema: serde_json::Value = serde_json::from_str(RUN.schema).expect("JSON");
        assert_eq!(schema["properties"]["terminal"]["type"], "boolean");
        assert_eq!(schema["required"], serde_json::json!(["command"]), "nobody has to say that it needs none");
    }
}
