//! Permission rules of other programs.

use std::path::Path;

use serde_json::{Map, Value};
use trimtab_vocab::{Rule, RuleVerdict};

use super::{ImportAction, ImportItem, ImportKind, hides_something, read, read_json, shown};

const TOO_BROAD: &str = "It allows everything, so it is not imported. Add rules for what you need.";
const HIDES: &str = "It has characters that a list cannot show.";
const INNER_STAR: &str = "Patterns can have `*` only at the end.";

fn item(file: &Path, text: &str, rule: Result<Rule, String>) -> ImportItem {
    let name = shown(text);
    match rule {
        Ok(rule) => ImportItem::new(ImportKind::Rule, name, file, rule.to_string(), ImportAction::Rule(rule)),
        Err(why) => ImportItem::ignored(ImportKind::Rule, name, file, why),
    }
}

fn rule(verdict: RuleVerdict, tool: &str, pattern: &str) -> Result<Rule, String> {
    let is_broad = pattern.trim_end_matches('*').trim().is_empty();
    // `**` at the end is no more than `*` here.
    let pattern = pattern.strip_suffix("**").map_or_else(|| pattern.to_owned(), |stem| format!("{stem}*"));
    match pattern.as_str() {
        written if hides_something(written) => Err(HIDES.to_owned()),
        _ if is_broad && verdict == RuleVerdict::Allow => Err(TOO_BROAD.to_owned()),
        written if written.strip_suffix('*').unwrap_or(written).contains('*') => Err(INNER_STAR.to_owned()),
        _ => Ok(Rule { verdict, tool: tool.to_owned(), pattern, folder: None }),
    }
}

/// `Tool(what)` in two parts.
fn parts(text: &str) -> (&str, Option<&str>) {
    match text.split_once('(') {
        Some((tool, what)) => (tool.trim(), Some(what.trim().trim_end_matches(')').trim())),
        None => (text.trim(), None),
    }
}

/// What a rule of Claude Code is here.
fn claude_rule(verdict: RuleVerdict, text: &str) -> Result<Rule, String> {
    let (tool, what) = parts(text);
    if let Some(server) = tool.strip_prefix("mcp__") {
        let (server, tool) = server.split_once("__").unwrap_or((server, "*"));
        return rule(verdict, "mcp", &format!("{server}:{tool}"));
    }
    match tool {
        "Bash" => {
            let what = what.unwrap_or("*");
            // `git status:*` means the command with any arguments.
            let pattern = what.strip_suffix(":*").map_or_else(|| what.to_owned(), |stem| format!("{stem} *"));
            rule(verdict, "run_command", &pattern)
        }
        "WebFetch" => match what.and_then(|what| what.strip_prefix("domain:")) {
            Some(host) => rule(verdict, "fetch_url", host),
            None => rule(verdict, "fetch_url", "*"),
        },
        "WebSearch" => Ok(Rule { verdict, tool: "web_search".into(), pattern: "*".into(), folder: None }),
        "Read" | "Edit" | "Write" if verdict != RuleVerdict::Allow => {
            let path = what.unwrap_or("*");
            let path = path.strip_prefix("./").unwrap_or(path);
            if path.starts_with(['/', '~']) {
                return Err("Trimtab's file rules apply only to files in the folder.".to_owned());
            }
            rule(verdict, if tool == "Read" { "read_file" } else { "edit_file" }, path)
        }
        "Read" | "Edit" | "Write" => {
            Err("Rules that allow files are not imported. The setting apply.files controls edits.".to_owned())
        }
        _ => Err("Trimtab has no such tool.".to_owned()),
    }
}

fn texts(value: Option<&Value>) -> Vec<&str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The rules in a file, if it can be read.
fn of_file(file: &Path, rules: impl Fn(&Map<String, Value>) -> Vec<ImportItem>) -> Vec<ImportItem> {
    match read_json(file) {
        None => Vec::new(),
        Some(Err(why)) => vec![ImportItem::ignored(ImportKind::Setting, "all of it", file, why)],
        Some(Ok(value)) => value.as_object().map(rules).unwrap_or_default(),
    }
}

pub(super) fn of_claude(file: &Path) -> Vec<ImportItem> {
    let verdicts = [("deny", RuleVerdict::Deny), ("ask", RuleVerdict::Ask), ("allow", RuleVerdict::Allow)];
    of_file(file, |settings| {
        let permissions = settings.get("permissions");
        let of = |(key, verdict): (&str, RuleVerdict)| {
            let listed = texts(permissions.and_then(|all| all.get(key)));
            listed
                .into_iter()
                .map(|text| item(file, &format!("{key} {text}"), claude_rule(verdict, text)))
                .collect::<Vec<_>>()
        };
        verdicts.into_iter().flat_map(of).collect()
    })
}

pub(super) fn of_opencode(file: &Path) -> Vec<ImportItem> {
    let verdict = |word: &str| match word {
        "allow" => Some(RuleVerdict::Allow),
        "ask" => Some(RuleVerdict::Ask),
        "deny" => Some(RuleVerdict::Deny),
        _ => None,
    };
    of_file(file, |settings| {
        let Some(permission) = settings.get("permission").and_then(Value::as_object) else { return Vec::new() };
        let mut items = Vec::new();
        for (tool, value) in permission {
            let ours = match tool.as_str() {
                "bash" => "run_command",
                "webfetch" => "fetch_url",
                "edit" => "edit_file",
                _ => {
                    items.push(item(file, tool, Err("Trimtab has no such tool.".to_owned())));
                    continue;
                }
            };
            let whole = value.as_str().map(|word| ("*".to_owned(), word));
            let each = value.as_object().into_iter().flatten();
            let each = each.filter_map(|(pattern, word)| Some((pattern.clone(), word.as_str()?)));
            for (pattern, word) in whole.into_iter().chain(each) {
                let made = verdict(word).ok_or_else(|| "Expected allow, ask, or deny.".to_owned());
                let made = made.and_then(|verdict| rule(verdict, ours, &pattern));
                items.push(item(file, &format!("{word} {tool} {pattern}"), made));
            }
        }
        items
    })
}

pub(super) fn of_gemini(file: &Path) -> Vec<ImportItem> {
    let shell = |verdict: RuleVerdict, text: &str| match parts(text) {
        ("run_shell_command" | "ShellTool", Some(what)) => rule(verdict, "run_command", &format!("{what} *")),
        ("run_shell_command" | "ShellTool", None) => rule(verdict, "run_command", "*"),
        _ => Err("Only rules about commands can be imported.".to_owned()),
    };
    of_file(file, |settings| {
        let tools = settings.get("tools");
        let lists = [
            ("allowed", RuleVerdict::Allow, tools.and_then(|tools| tools.get("allowed"))),
            ("allowedTools", RuleVerdict::Allow, settings.get("allowedTools")),
            ("exclude", RuleVerdict::Deny, tools.and_then(|tools| tools.get("exclude"))),
            ("excludeTools", RuleVerdict::Deny, settings.get("excludeTools")),
        ];
        let of = |(key, verdict, list): (&str, RuleVerdict, Option<&Value>)| {
            let listed = texts(list);
            listed
                .into_iter()
                .map(|text| item(file, &format!("{key} {text}"), shell(verdict, text)))
                .collect::<Vec<_>>()
        };
        lists.into_iter().flat_map(of).collect()
    })
}

const HOOKS: &str = "Hooks run programs. To use them, copy them into hooks.json beside your settings.";
const SETTING: &str = "It is a setting of the other tool. `trimtab config` shows Trimtab's settings.";

/// Settings that mean something to the user and are not taken over.
pub(super) fn other_settings(file: &Path, keys: &[&str]) -> Vec<ImportItem> {
    let Some(Ok(Value::Object(settings))) = read_json(file) else { return Vec::new() };
    let why = |key: &str| match key {
        "hooks" => HOOKS,
        "env" => "Values of variables may be secrets. Set them in your environment.",
        _ => SETTING,
    };
    let there = keys.iter().filter(|key| settings.contains_key(**key));
    there.map(|key| ImportItem::ignored(ImportKind::Setting, *key, file, why(key))).collect()
}

/// Settings of Codex that are not taken over.
pub(super) fn codex_settings(file: &Path) -> Vec<ImportItem> {
    let Some(Ok(text)) = read(file) else { return Vec::new() };
    let Ok(settings) = text.parse::<toml::Table>() else { return Vec::new() };
    let keys = ["model", "approval_policy", "sandbox_mode", "notify", "profiles"];
    let there = keys.iter().filter(|key| settings.contains_key(**key));
    there.map(|key| ImportItem::ignored(ImportKind::Setting, *key, file, SETTING)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_claude_code_become_rules_or_say_why_not() {
        let said = |verdict, text| match claude_rule(verdict, text) {
            Ok(rule) => rule.to_string(),
            Err(why) => why,
        };
        let (allow, deny) = (RuleVerdict::Allow, RuleVerdict::Deny);
        for (verdict, text, expected) in [
            (allow, "Bash(git status:*)", "allow run_command: git status * (everywhere)"),
            (allow, "Bash(npm run test)", "allow run_command: npm run test (everywhere)"),
            (allow, "WebFetch(domain:docs.rs)", "allow fetch_url: docs.rs (everywhere)"),
            (allow, "mcp__github__list_issues", "allow mcp: github:list_issues (everywhere)"),
            (allow, "mcp__github", "allow mcp: github:* (everywhere)"),
            (deny, "Read(./.env)", "deny read_file: .env (everywhere)"),
            (deny, "Bash", "deny run_command: * (everywhere)"),
            (allow, "Bash(ls\nid)", HIDES),
            (deny, "Bash(ls\u{202e}:*)", HIDES),
            (allow, "Bash(*)", TOO_BROAD),
            (allow, "Bash", TOO_BROAD),
            (allow, "Bash(git * main)", INNER_STAR),
            (deny, "Read(./secrets/**)", "deny read_file: secrets/* (everywhere)"),
            (deny, "Read(**/*.pem)", INNER_STAR),
            (allow, "Edit", "Rules that allow files are not imported. The setting apply.files controls edits."),
            (allow, "Teleport(x)", "Trimtab has no such tool."),
        ] {
            assert_eq!(said(verdict, text), expected, "{text}");
        }
    }
}
