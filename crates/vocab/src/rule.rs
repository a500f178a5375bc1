//! Rules: the user's permanent decisions about tools.

use std::fmt;

use serde::{Deserialize, Serialize};

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
    /// Which uses of it: a command, a path, a host; `*` at its end stands for anything.
    pub pattern: String,
    /// The folder it holds in; absent: everywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
}

/// What a rule says.
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

    /// How such a rule names one of them.
    pub fn instruction(path: &str, hash: &str) -> String {
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
}
