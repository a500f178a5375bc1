//! Command rules in the settings: prefixes, with examples that are checked when they are read.

use toml::Value;
use trimtab_engine::proposal::command::{CommandDecision, Policy, judge};
use trimtab_vocab::{Problem, ProblemKind};

use super::raw::Origin;

/// The folder that examples are judged in.
const SOMEWHERE: (&str, &str) = ("/home/you/project", "/home/you");

/// The beginnings that a list of rules names. An item is a text, or `{ rule, examples, not }`: each of the
/// examples must be covered by the rule alone, and none of the others.
pub(super) fn read(path: &str, value: &Value, origin: &Origin) -> Result<Vec<String>, Problem> {
    let wrong = || {
        Problem::new(ProblemKind::Settings, format!("Invalid value {value} for {path} ({origin}).")).hint(format!(
            "{path} takes a list of strings, or of {{ rule = \"…\", examples = [\"…\"], not = [\"…\"] }}."
        ))
    };
    let items = value.as_array().ok_or_else(wrong)?;
    let mut rules = Vec::with_capacity(items.len());
    for item in items {
        let rule = match item {
            Value::String(rule) => rule,
            Value::Table(fields) => {
                let known = fields.keys().all(|name| matches!(name.as_str(), "rule" | "examples" | "not"));
                let rule = fields.get("rule").and_then(Value::as_str).filter(|_| known).ok_or_else(wrong)?;
                for (name, expected) in [("examples", true), ("not", false)] {
                    let lines = match fields.get(name) {
                        None => &Vec::new(),
                        Some(lines) => lines.as_array().ok_or_else(wrong)?,
                    };
                    for line in lines {
                        let line = line.as_str().ok_or_else(wrong)?;
                        try_out(path, rule, line, expected, origin)?;
                    }
                }
                rule
            }
            _ => return Err(wrong()),
        };
        rules.push(rule.to_owned());
    }
    Ok(rules)
}

/// Whether an example is covered as it says.
fn try_out(path: &str, rule: &str, line: &str, expected: bool, origin: &Origin) -> Result<(), Problem> {
    let (folder, home) = SOMEWHERE;
    let none = Policy::new(folder, home).only(Vec::new());
    let list = vec![rule.to_owned()];
    let (covered, reason) = match path {
        "commands.deny" => {
            let verdict = judge(line, &Policy { deny: list, ..none });
            (verdict.decision == CommandDecision::Deny, verdict.reason)
        }
        "commands.ask" => {
            let verdict = judge(line, &Policy { ask: list, allow: vec![rule.to_owned()], ..none });
            (verdict.decision == CommandDecision::Ask && verdict.rule.as_deref() == Some(rule), verdict.reason)
        }
        _ => {
            let verdict = judge(line, &Policy { allow: list, ..none });
            (verdict.decision == CommandDecision::Auto, verdict.reason)
        }
    };
    if covered == expected {
        return Ok(());
    }
    let what = if expected { "does not match its example" } else { "matches a command that it should not match" };
    Err(Problem::new(ProblemKind::Settings, format!("The rule `{rule}` of {path} ({origin}) {what}: {line}")).hint(
        format!("The result is: {reason}. Change the rule or the example. `trimtab check-command` shows the result."),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Result<Vec<String>, Problem> {
        let table: toml::Table = format!("v = {text}").parse().expect("TOML");
        read(path, &table["v"], &Origin::Default)
    }

    #[test]
    fn examples_are_tried_when_rules_are_read() {
        let good =
            r#"["ls", { rule = "git status", examples = ["git status -s"], not = ["git push", "git status; rm x"] }]"#;
        assert_eq!(rules("commands.allow", good).expect("good"), ["ls", "git status"]);
        let deny = r#"[{ rule = "git push", examples = ["git push -f", "ls && git push"], not = ["git pull"] }]"#;
        assert_eq!(rules("commands.deny", deny).expect("good"), ["git push"]);
        let ask = r#"[{ rule = "npm", examples = ["npm install"], not = ["npx x"] }]"#;
        assert_eq!(rules("commands.ask", ask).expect("good"), ["npm"]);
    }

    #[test]
    fn a_rule_that_does_not_do_what_it_says_is_refused_with_the_example() {
        for (path, text, line) in [
            ("commands.allow", r#"[{ rule = "git", examples = ["git push"] }]"#, "git push"),
            ("commands.allow", r#"[{ rule = "ls", not = ["ls -la"] }]"#, "ls -la"),
            ("commands.deny", r#"[{ rule = "git push", examples = ["git pull"] }]"#, "git pull"),
            ("commands.ask", r#"[{ rule = "npm", not = ["npm test"] }]"#, "npm test"),
        ] {
            let problem = rules(path, text).expect_err(text);
            assert!(problem.message.ends_with(line), "{}", problem.message);
        }
        for text in [
            "[1]",
            r#"[{ examples = ["ls"] }]"#,
            r#"[{ rule = "ls", exmaples = ["ls"] }]"#,
            r#"[{ rule = "ls", not = "x" }]"#,
        ] {
            assert!(rules("commands.allow", text).is_err(), "{text}");
        }
    }
}
