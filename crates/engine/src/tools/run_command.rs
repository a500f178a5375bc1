//! Runs commands.

use serde::Deserialize;
use serde_json::Value;
use trimtab_vocab::ReadyWhen;

use super::{BackgroundStart, BuiltInTool, COMMANDS, ToolAction, arguments, number};

pub(super) const RUN: BuiltInTool = BuiltInTool {
    name: "run_command",
    description: "Run a shell command in the folder. Returns its output and exit code. It has no input, no terminal, and no network except the ports of the session's other commands and hosts that the user allows, and what it leaves running ends with it. `terminal` gives it a terminal without input: only for programs that need one. It stops at its timeout, and timeout_s asks for a longer one. `background` is for servers and watchers: it returns an id for read_output and stop_command once the port or the text in `ready` appears, or after 10 s. The user may have to approve it. If the sandbox made it fail, run it again with the reason in `outside`: this asks the user to run it without the sandbox. Do not use it to read or edit files.",
    schema: r#"{"type":"object","properties":{"command":{"type":"string"},"timeout_s":{"type":"integer"},"outside":{"type":"string"},"terminal":{"type":"boolean"},"background":{"type":"boolean"},"ready":{"type":"string"},"name":{"type":"string"}},"required":["command"]}"#,
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
            #[serde(default)]
            background: Option<bool>,
            #[serde(default)]
            ready: Value,
            #[serde(default)]
            name: Option<String>,
        }
        let RunCommandArguments { command, timeout_s, outside, terminal, background, ready, name } = arguments(input)?;
        if command.trim().is_empty() {
            return Err("the command is empty.".into());
        }
        let outside = outside.map(|why| why.trim().to_owned()).filter(|why| !why.is_empty());
        Ok(ToolAction::Run {
            command,
            timeout_s: timeout_s.filter(|seconds| *seconds > 0),
            outside,
            terminal: terminal.unwrap_or(false),
            background: match background {
                Some(true) => Some(BackgroundStart { ready: ready_when(&ready)?, name: name.and_then(short_name) }),
                _ => None,
            },
        })
    },
};

/// Bytes of a text to wait for, and of a name.
const LONGEST_READY: usize = 200;
const LONGEST_NAME: usize = 40;

/// A port, as a number or as digits, or a text.
fn ready_when(ready: &Value) -> Result<Option<ReadyWhen>, String> {
    let text = match ready {
        Value::Null => return Ok(None),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        _ => return Err("`ready` is a port or a text of the output.".into()),
    };
    if text.is_empty() {
        return Ok(None);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let port = text.parse().ok().filter(|port: &u16| *port > 0);
        return port.map(|port| Some(ReadyWhen::Port(port))).ok_or_else(|| format!("{text} is not a port."));
    }
    match text.len() <= LONGEST_READY {
        true => Ok(Some(ReadyWhen::Output(text))),
        false => Err(format!("`ready` is longer than {LONGEST_READY} bytes.")),
    }
}

/// A name as it is shown: one short line without control characters.
fn short_name(name: String) -> Option<String> {
    let name: String = name.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let name = name[..name.floor_char_boundary(LONGEST_NAME)].trim().to_owned();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_told_what_a_command_has_and_what_it_may_ask_for() {
        let about = RUN.description;
        for line in [
            "It has no input, no terminal, and no network except the ports of the session's other commands and hosts that the user allows, and what it leaves running ends with it.",
            "`terminal` gives it a terminal without input: only for programs that need one.",
            "If the sandbox made it fail, run it again with the reason in `outside`: this asks the user to run it without the sandbox.",
        ] {
            assert!(about.contains(line), "{line}");
        }
        let schema: Value = serde_json::from_str(RUN.schema).expect("JSON");
        assert_eq!(schema["properties"]["terminal"]["type"], "boolean");
        assert_eq!(schema["required"], serde_json::json!(["command"]), "nobody has to say that it needs none");
    }

    #[test]
    fn a_background_command_is_ready_with_a_port_or_a_text() {
        let read = |input: Value| (RUN.read)(&input);
        let start = |input: Value| match read(input) {
            Ok(ToolAction::Run { background, .. }) => background,
            other => panic!("{other:?}"),
        };
        let json =
            |ready: Value| serde_json::json!({"command": "x", "background": true, "ready": ready, "name": " web\n"});
        let ready = |ready: Value| start(json(ready)).expect("in the background").ready;
        assert_eq!(ready(5173.into()), Some(ReadyWhen::Port(5173)));
        assert_eq!(ready(" 5173 ".into()), Some(ReadyWhen::Port(5173)));
        assert_eq!(ready("ready in".into()), Some(ReadyWhen::Output("ready in".into())));
        assert_eq!((ready(Value::Null), ready("".into())), (None, None));
        assert!(read(json("70000".into())).is_err() && read(json("x".repeat(201).into())).is_err());
        assert_eq!(start(json(Value::Null)).and_then(|start| start.name).as_deref(), Some("web"));
        assert_eq!(start(serde_json::json!({"command": "x", "ready": 1})), None, "only when it is asked for");
    }
}
