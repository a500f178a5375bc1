//! The input of a hook in the format of Claude Code: JSON on standard input. Tools have the names and arguments that
//! hooks know from there, beside Trimtab's own.

use regex_automata::meta::Regex;
use serde_json::{Map, Value, json};
use trimtab_vocab::{HookEvent, server_tool_name};

use crate::record::{BatchItem, Session};
use crate::tools::ToolAction;

/// The names of tools here and elsewhere. Hooks get the first name of a tool.
const NAMES: &[(&str, &[&str])] = &[
    ("run_command", &["Bash"]),
    ("edit_file", &["Edit", "MultiEdit"]),
    ("apply_diff", &["Edit", "MultiEdit"]),
    ("write_file", &["Write"]),
    ("delete_file", &["Write"]),
    ("move_file", &["Write"]),
    ("read_file", &["Read"]),
    ("list_files", &["LS"]),
    ("find_files", &["Glob"]),
    ("search", &["Grep"]),
    ("fetch_url", &["WebFetch"]),
    ("web_search", &["WebSearch"]),
    ("delegate", &["Task", "Agent"]),
    ("set_steps", &["TodoWrite"]),
    ("ask_user", &["AskUserQuestion"]),
    ("use_skill", &["Skill"]),
];

fn names_of(tool: &str) -> &'static [&'static str] {
    NAMES.iter().find(|(own, _)| *own == tool).map_or(&[], |(_, names)| names)
}

/// The name of a tool for hooks.
fn tool_name(item: &BatchItem) -> String {
    match item.action.as_deref() {
        Ok(ToolAction::CallServer(call)) => server_tool_name(&call.server, &call.tool.name),
        _ => names_of(&item.call.name).first().map_or_else(|| item.call.name.clone(), |name| (*name).to_owned()),
    }
}

/// The names that matchers are compared with, and the input of a hook about a tool call.
pub(super) fn tool(item: &BatchItem, folder: &str) -> (Vec<String>, Value) {
    let name = tool_name(item);
    let input = match item.action.as_deref() {
        Ok(ToolAction::CallServer(call)) => Value::Object(call.input.clone()),
        _ => known_input(&item.call.input, folder),
    };
    let mut names = vec![name.clone(), item.call.name.clone()];
    names.extend(names_of(&item.call.name).iter().map(|name| (*name).to_owned()));
    let fields = json!({
        "tool_name": name,
        "tool_input": input,
        "tool_use_id": item.call_id,
        "trimtab_tool": item.call.name,
    });
    (names, fields)
}

/// Arguments with the fields that hooks know from elsewhere: `file_path` is the whole path.
fn known_input(input: &Value, folder: &str) -> Value {
    let Value::Object(fields) = input else { return input.clone() };
    let mut fields = fields.clone();
    if let Some(path) = fields.get("path").or_else(|| fields.get("from")).and_then(Value::as_str) {
        let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
        fields.insert("file_path".to_owned(), json!(whole));
    }
    // An edit with several blocks is the one with `edits`.
    let blocks: Vec<Value> = fields.get("blocks").and_then(Value::as_array).cloned().unwrap_or_default();
    let edit = |block: &Value| json!({"old_string": block.get("search"), "new_string": block.get("replace")});
    if let [block] = blocks.as_slice() {
        fields.insert("old_string".to_owned(), block.get("search").cloned().unwrap_or_default());
        fields.insert("new_string".to_owned(), block.get("replace").cloned().unwrap_or_default());
    } else if !blocks.is_empty() {
        fields.insert("edits".to_owned(), blocks.iter().map(edit).collect());
    }
    if let Some(seconds) = fields.get("timeout_s").and_then(Value::as_u64) {
        fields.insert("timeout".to_owned(), json!(seconds.saturating_mul(1000)));
    }
    Value::Object(fields)
}

/// The arguments that a hook puts in the place of others, in Trimtab's own fields. Fields that it does not name stay as
/// they were, and a field that it has changed counts by whichever name.
pub(crate) fn own_input(updated: &Value, item: &BatchItem, folder: &str) -> Option<Value> {
    let Value::Object(updated) = updated else { return None };
    if let Ok(ToolAction::CallServer(call)) = item.action.as_deref() {
        let whole = Value::Object(updated.clone());
        let is_direct = item.call.name == server_tool_name(&call.server, &call.tool.name);
        return Some(if is_direct { whole } else { json!({"name": item.call.input.get("name"), "input": whole}) });
    }
    let Value::Object(old) = &item.call.input else { return Some(Value::Object(updated.clone())) };
    let known = known_input(&item.call.input, folder);
    let changed = |name: &str| updated.get(name).filter(|value| known.get(name) != Some(value));
    let mut new: Map<String, Value> = old.clone();
    for (name, value) in updated.iter().filter(|(name, _)| !FOREIGN.contains(&name.as_str())) {
        new.insert(name.clone(), value.clone());
    }
    if let Some(path) = changed("file_path").and_then(Value::as_str) {
        let inside = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path);
        let field = if old.contains_key("from") { "from" } else { "path" };
        new.insert(field.to_owned(), json!(inside));
    }
    if changed("old_string").is_some() || changed("new_string").is_some() {
        let text = |name: &str| updated.get(name).or_else(|| known.get(name)).cloned().unwrap_or_default();
        new.insert("blocks".to_owned(), json!([{"search": text("old_string"), "replace": text("new_string")}]));
    }
    if let Some(millis) = changed("timeout").and_then(Value::as_u64) {
        new.insert("timeout_s".to_owned(), json!(millis.div_ceil(1000)));
    }
    Some(Value::Object(new))
}

/// Fields of other programs that stand for fields here.
const FOREIGN: [&str; 5] = ["file_path", "old_string", "new_string", "edits", "timeout"];

/// The whole input of a hook.
pub(super) fn text(session: &Session, event: HookEvent, fields: &Value) -> String {
    let mut all = json!({
        "session_id": session.id(),
        "transcript_path": "",
        "cwd": session.folder(),
        "permission_mode": "default",
        "hook_event_name": event.name(),
    });
    if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
        all.extend(fields.clone());
    }
    all.to_string()
}

/// Whether a matcher means a name. A matcher that cannot be read means every name: a check is not left out by mistake.
pub(super) fn matches(matcher: &str, name: &str) -> bool {
    let matcher = matcher.trim();
    if matcher.is_empty() || matcher == "*" {
        return true;
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ' | '|' | ',');
    if matcher.chars().all(is_plain) {
        return matcher.split(['|', ',']).any(|one| one.trim() == name);
    }
    // Limited, because a project writes them, too.
    let config = Regex::config().nfa_size_limit(Some(1 << 20)).hybrid_cache_capacity(1 << 20);
    match Regex::builder().configure(config).build(&format!("^(?:{matcher})$")) {
        Ok(pattern) => pattern.is_match(name),
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trimtab_vocab::{CallId, ToolCall};

    use super::*;
    use crate::record::Batch;

    fn item(name: &str, input: Value) -> BatchItem {
        let call = ToolCall { id: "1".into(), name: name.into(), input, broken: None };
        Batch::for_test(&CallId::nth(1), call).items.remove(0)
    }

    #[test]
    fn matchers_mean_what_they_mean_elsewhere() {
        let cases = [
            ("", "Bash", true),
            ("*", "Bash", true),
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("Edit|Write", "Write", true),
            ("Edit|Write", "MultiEdit", false),
            ("mcp__.*", "mcp__github__list", true),
            ("mcp__github__.*", "mcp__gitlab__list", false),
            ("Notebook.*", "Read", false),
            ("(unclosed", "Read", true),
        ];
        for (matcher, name, fits) in cases {
            assert_eq!(matches(matcher, name), fits, "{matcher} {name}");
        }
    }

    #[test]
    fn a_hook_is_told_the_names_it_knows_and_may_answer_with_them() {
        let edit = item("edit_file", json!({"path": "a.rs", "blocks": [{"search": "x", "replace": "y"}]}));
        let (names, fields) = tool(&edit, "/p");
        assert!(["Edit", "edit_file"].iter().all(|name| names.iter().any(|known| known == name)));
        assert_eq!(fields["tool_input"]["file_path"], "/p/a.rs");
        assert_eq!(fields["tool_input"]["new_string"], "y");
        let mut updated = fields["tool_input"].clone();
        updated["file_path"] = json!("/p/b.rs");
        updated["new_string"] = json!("z");
        let own = own_input(&updated, &edit, "/p").expect("an object");
        assert_eq!(own, json!({"path": "b.rs", "blocks": [{"search": "x", "replace": "z"}]}));
        let run = item("run_command", json!({"command": "ls"}));
        assert_eq!(tool_name(&run), "Bash");
        let own = own_input(&json!({"command": "ls -l", "timeout": 1500}), &run, "/p").expect("an object");
        assert_eq!(own, json!({"command": "ls -l", "timeout_s": 2}));
        assert_eq!(own_input(&json!("ls"), &run, "/p"), None);
        drop(Arc::clone(&run.call));
    }
}
