//! Sessions of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`. A line is `{timestamp, type, payload}`; in early
//! versions, it is the payload itself.

use serde_json::Value;
use trimtab_vocab::Time;

use super::{ImportedConversation, ImportedPart, text, texts, time};

pub(super) fn read_rollout(lines: impl Iterator<Item = Value>) -> ImportedConversation {
    let mut all = ImportedConversation::default();
    let mut parts: Vec<(RolloutEntry, Option<Time>)> = Vec::new();
    for line in lines {
        let payload = line.get("payload").unwrap_or(&line);
        let of_meta = text(&line, "type") == "session_meta" || (parts.is_empty() && line.get("type").is_none());
        if of_meta && all.id.is_empty() {
            text(payload, "id").clone_into(&mut all.id);
            text(payload, "cwd").clone_into(&mut all.folder);
            // Sub-agents have a conversation of their own.
            if payload.pointer("/source/subagent").is_some() {
                return ImportedConversation::default();
            }
        }
        let said = match text(&line, "type") {
            "event_msg" => event(payload),
            "response_item" | "message" | "function_call" | "custom_tool_call" | "local_shell_call" => item(payload),
            _ => None,
        };
        if let Some(RolloutEntry::Environment(folder)) = &said
            && all.folder.is_empty()
        {
            all.folder.clone_from(folder);
        }
        if let Some(RolloutEntry::RolledBack(turns)) = said {
            roll_back(&mut parts, turns);
        } else {
            parts.extend(said.map(|said| (said, time(&line))));
        }
    }
    // The event has the user's words alone; the message to the model can have more.
    let has_events = parts.iter().any(|(said, _)| matches!(said, RolloutEntry::Typed(_)));
    for (said, time) in parts {
        match said {
            RolloutEntry::Typed(text) => all.add(ImportedPart::User(text), time),
            RolloutEntry::Sent(text) if !has_events => all.add(ImportedPart::User(text), time),
            RolloutEntry::Part(part) => all.add(part, time),
            _ => {}
        }
    }
    all.finish()
}

enum RolloutEntry {
    /// The user typed it.
    Typed(String),
    /// The model was sent it in the user's name.
    Sent(String),
    /// The folder that the model was told.
    Environment(String),
    Part(ImportedPart),
    /// The last turns were taken back.
    RolledBack(u64),
}

fn roll_back(parts: &mut Vec<(RolloutEntry, Option<Time>)>, turns: u64) {
    let has_events = parts.iter().any(|(said, _)| matches!(said, RolloutEntry::Typed(_)));
    for _ in 0..turns {
        let begins = |(said, _): &(RolloutEntry, Option<Time>)| match said {
            RolloutEntry::Typed(_) => true,
            RolloutEntry::Sent(_) => !has_events,
            _ => false,
        };
        let Some(at) = parts.iter().rposition(begins) else { return };
        parts.truncate(at);
    }
}

fn event(payload: &Value) -> Option<RolloutEntry> {
    match text(payload, "type") {
        "user_message" => {
            Some(text(payload, "message").trim().to_owned()).filter(|text| !text.is_empty()).map(RolloutEntry::Typed)
        }
        "thread_rolled_back" => payload.get("num_turns").and_then(Value::as_u64).map(RolloutEntry::RolledBack),
        _ => None,
    }
}

fn item(payload: &Value) -> Option<RolloutEntry> {
    let deed = match text(payload, "type") {
        "message" => return message(payload),
        "function_call" => {
            let arguments: Value = serde_json::from_str(text(payload, "arguments")).unwrap_or_default();
            match (text(payload, "name"), command(&arguments)) {
                // What only looks or plans changed nothing.
                ("update_plan" | "view_image" | "write_stdin" | "read_file" | "list_dir" | "grep_files", _) => {
                    return None;
                }
                (_, Some(command)) => format!("Ran: {command}"),
                (name, None) => format!("Used: {name}"),
            }
        }
        "local_shell_call" => format!("Ran: {}", command(payload.get("action")?)?),
        "custom_tool_call" => {
            let input = text(payload, "input");
            let files: Vec<&str> = input.lines().filter_map(changed).collect();
            match files.is_empty() {
                true => format!("Used: {}", text(payload, "name")),
                false => format!("Changed: {}", files.join(", ")),
            }
        }
        _ => return None,
    };
    Some(RolloutEntry::Part(ImportedPart::Deed(deed)))
}

fn message(payload: &Value) -> Option<RolloutEntry> {
    let words = texts(payload.get("content")?, &["input_text", "output_text", "text"]);
    let words = words.trim();
    match text(payload, "role") {
        _ if words.is_empty() => None,
        "assistant" => Some(RolloutEntry::Part(ImportedPart::Words(words.to_owned()))),
        "user" if words.starts_with("<environment_context>") => {
            let (_, rest) = words.split_once("<cwd>")?;
            rest.split_once("</cwd>").map(|(folder, _)| RolloutEntry::Environment(folder.trim().to_owned()))
        }
        // What Codex adds is in marks; its instructions had a heading before that.
        "user" if words.starts_with('<') || words.starts_with("# AGENTS.md instructions") => None,
        "user" => Some(RolloutEntry::Sent(words.to_owned())),
        _ => None,
    }
}

/// The command line of a call. A list for a shell has it as the last part.
fn command(arguments: &Value) -> Option<String> {
    match arguments.get("command").or_else(|| arguments.get("cmd"))? {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [_, flag, line] if matches!(*flag, "-lc" | "-c") => Some((*line).to_owned()),
                _ => Some(words.join(" ")),
            }
        }
        _ => None,
    }
}

/// The file that a line of a patch names.
fn changed(line: &str) -> Option<&str> {
    ["*** Update File: ", "*** Add File: ", "*** Delete File: "].iter().find_map(|start| line.strip_prefix(start))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(kind: &str, payload: &Value) -> Value {
        json!({"timestamp": "2026-10-29T00:59:38.317Z", "type": kind, "payload": payload})
    }

    fn sent(role: &str, words: &str) -> Value {
        line(
            "response_item",
            &json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": words}]}),
        )
    }

    #[test]
    fn a_rollout_is_read_and_turns_that_were_taken_back_are_gone() {
        let typed =
            |words: &str| line("event_msg", &json!({"type": "user_message", "message": words, "kind": "plain"}));
        let call = |name: &str, arguments: &Value| {
            line(
                "response_item",
                &json!({"type": "function_call", "name": name, "arguments": arguments.to_string(), "call_id": "c"}),
            )
        };
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n-a\n+b\n*** End Patch";
        let lines = [
            line("session_meta", &json!({"id": "0199", "cwd": "/w", "cli_version": "0.65.0", "source": "cli"})),
            sent("developer", "rules"),
            sent("user", "<environment_context>\n<cwd>/other</cwd></environment_context>"),
            sent("user", "fix it"),
            typed("fix it"),
            call("shell", &json!({"command": ["bash", "-lc", "cargo test"]})),
            call("exec_command", &json!({"cmd": "ls"})),
            line("response_item", &json!({"type": "custom_tool_call", "name": "apply_patch", "input": patch})),
            sent("assistant", "Fixed."),
            typed("and this"),
            sent("assistant", "Wrong."),
            line("event_msg", &json!({"type": "thread_rolled_back", "num_turns": 1})),
        ];
        let all = read_rollout(lines.into_iter());
        assert_eq!((&*all.id, &*all.folder, all.exchanges.len()), ("0199", "/w", 1));
        let one = &all.exchanges[0];
        assert_eq!((&*one.user, &*one.answer), ("fix it", "Fixed."));
        assert_eq!(one.work, "[Ran: cargo test]\n[Ran: ls]\n[Changed: src/a.rs]");
        assert_eq!(one.time.map(|time| time.to_string()).as_deref(), Some("2026-10-29T00:59:38.317Z"));
    }

    #[test]
    fn an_early_rollout_has_no_payloads_and_a_sub_agent_is_no_session() {
        let message = |role: &str, words: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": words}]});
        let lines = [
            json!({"id": "old", "timestamp": "2025-07-01T10:00:00.000Z", "instructions": null}),
            message("user", "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>"),
            json!({"record_type": "state"}),
            message("user", "hello"),
            message("assistant", "Hi."),
        ];
        let all = read_rollout(lines.into_iter());
        assert_eq!((&*all.id, &*all.folder, &*all.title), ("old", "/w", "hello"));
        let source = json!({"subagent": {"thread_spawn": {}}});
        let lines = [line("session_meta", &json!({"id": "x", "source": source})), sent("user", "work")];
        assert!(read_rollout(lines.into_iter()).exchanges.is_empty());
    }
}
