//! Rules: the user's permanent decisions about tools.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{BoundFile, ListedCheck, ListedHook};

/// Letters of a hash that a rule names.
const HASH: usize = 32;

/// A person's standing decision about a tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    /// What happens.
    pub verdict: RuleVerdict,
    /// The tool; `trust` is the reading of and working in a folder at all.
    pub tool: String,
    /// The command, path, or host that it matches. A trailing `*` matches anything.
    pub pattern: String,
    /// The folder that it applies to. Absent: everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// The verdict of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RuleVerdict {
    /// Continue without asking.
    Allow,
    /// Ask, even if another rule allows it.
    Ask,
    /// Refuse without asking.
    Deny,
}

impl Rule {
    /// The tool's name in rules that trust a folder.
    pub const TRUST: &str = "trust";

    /// The tool's name in rules that accept a folder's instructions.
    pub const INSTRUCTIONS: &str = "instructions";

    /// The tool's name in rules that accept a skill of a folder.
    pub const SKILL: &str = "skill";

    /// The tool's name in rules that accept an agent of a folder.
    pub const AGENT: &str = "agent";

    /// The tool's name in rules that approve a hook of a folder, or refuse it.
    pub const HOOK: &str = "hook";

    /// The tool's name in rules that approve a check of a folder, or refuse it.
    pub const CHECK: &str = "check";

    /// The rule that trusts a folder.
    pub fn trust(folder: impl Into<String>) -> Self {
        let folder = Some(folder.into());
        Self { verdict: RuleVerdict::Allow, tool: Self::TRUST.into(), pattern: "*".into(), folder }
    }

    /// The rule that trusts a folder which holds more than a project, such as the home folder: it spells it out.
    pub fn trust_broad(folder: impl Into<String>) -> Self {
        let folder = folder.into();
        Self { pattern: folder.clone(), ..Self::trust(folder) }
    }

    /// The rule that accepts these instructions of a folder, each by its path and the beginning of its hash; nothing where
    /// there are none.
    pub fn instructions<'a>(
        folder: impl Into<String>,
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Option<Self> {
        let entries: Vec<String> = files.into_iter().map(|(path, hash)| Self::instruction(path, hash)).collect();
        let (verdict, tool, folder) = (RuleVerdict::Allow, Self::INSTRUCTIONS.into(), Some(folder.into()));
        (!entries.is_empty()).then(|| Self { verdict, tool, pattern: entries.join(", "), folder })
    }

    /// The rule that accepts a skill or an agent of a folder as it is now.
    pub fn bound(file: BoundFile, folder: impl Into<String>, path: &str, hash: &str) -> Self {
        let (verdict, tool, folder) = (RuleVerdict::Allow, file.rule_tool().into(), Some(folder.into()));
        Self { verdict, tool, pattern: Self::version(path, hash), folder }
    }

    /// The rule that approves a hook of a folder as it is now, or refuses it.
    pub fn hook(folder: impl Into<String>, hook: &ListedHook, verdict: RuleVerdict) -> Self {
        let (tool, folder) = (Self::HOOK.into(), Some(folder.into()));
        Self { verdict, tool, pattern: Self::version(hook.event.name(), &hook.hash), folder }
    }

    /// The rule that approves a check of a folder as it is now, or refuses it.
    pub fn check(folder: impl Into<String>, check: &ListedCheck, verdict: RuleVerdict) -> Self {
        let (tool, folder) = (Self::CHECK.into(), Some(folder.into()));
        Self { verdict, tool, pattern: Self::version(&check.command, &check.hash), folder }
    }

    /// How such a rule names one of several. A comma separates them, so a path has none: a folder called
    /// `x, AGENTS.md@HASH, y` would otherwise accept a file that nobody has seen.
    pub fn instruction(path: &str, hash: &str) -> String {
        Self::version(&path.replace(',', "%2C"), hash)
    }

    /// A version of a file.
    fn version(path: &str, hash: &str) -> String {
        format!("{path}@{}", &hash[..hash.floor_char_boundary(HASH)])
    }

    /// Whether the rule speaks of this use of this tool in this folder.
    pub fn covers(&self, tool: &str, subject: &str, folder: Option<&str>) -> bool {
        let here = self.folder.is_none() || self.folder.as_deref() == folder;
        let fits = match self.pattern.strip_suffix('*') {
            // `git status *` allows `git status` and `git status -s`, but not `git statusx`.
            Some(stem) => subject.starts_with(stem) || stem.strip_suffix(' ').is_some_and(|stem| subject == stem),
            None => subject == self.pattern,
        };
        here && fits && self.tool == tool
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict {
            RuleVerdict::Allow => "allow",
            RuleVerdict::Ask => "ask about",
            RuleVerdict::Deny => "deny",
        };
        write!(f, "{verdict} {}: {}", self.tool, self.pattern)?;
        match &self.folder {
            Some(folder) => write!(f, " (in {folder})"),
            None => write!(f, " (everywhere)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_covers_its_own_uses_in_its_own_folder_and_nothing_else() {
        let rule = |pattern: &str| Rule {
            verdict: RuleVerdict::Allow,
            tool: "run_command".into(),
            pattern: pattern.into(),
            folder: Some("/p".into()),
        };
        assert!(rule("git status").covers("run_command", "git status", Some("/p")));
        assert!(!rule("git status").covers("run_command", "git status -s", Some("/p")));
        assert!(rule("git status *").covers("run_command", "git status", Some("/p")));
        assert!(rule("git status *").covers("run_command", "git status -s", Some("/p")));
        assert!(!rule("git status *").covers("run_command", "git statusx", Some("/p")));
        assert!(!rule("*").covers("run_command", "ls", Some("/q")));
        assert!(!rule("*").covers("fetch_url", "ls", Some("/p")));
        assert_eq!(rule("ls").to_string(), "allow run_command: ls (in /p)");
    }

    #[test]
    fn the_name_of_a_folder_accepts_no_other_file() {
        let path = format!("x, AGENTS.md@{}, y/AGENTS.md", "a".repeat(HASH));
        let rule = Rule::instructions("/p", [(path.as_str(), "bb")]).expect("a rule");
        let entries: Vec<&str> = rule.pattern.split(", ").collect();
        assert_eq!(entries, [Rule::instruction(&path, "bb")]);
        // What was read from a rule is written as it was.
        let (known, hash) = entries[0].rsplit_once('@').expect("an entry");
        assert_eq!(Rule::instructions("/p", [(known, hash)]), Some(rule.clone()));
    }
}
