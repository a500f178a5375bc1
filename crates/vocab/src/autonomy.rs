//! How much a session does without a question.

use serde::{Deserialize, Serialize};

/// How much a session does without asking. The levels are described in
/// `docs/decisions/0130-autonomy.md`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Autonomy {
    /// Edits and all commands ask.
    Careful,
    /// Edits apply, and read-only commands run.
    #[default]
    Standard,
    /// Also run every command that stays in the sandbox and that undo covers.
    Trusting,
}

impl Autonomy {
    /// Every level, from the one that asks most.
    pub const ALL: [Self; 3] = [Self::Careful, Self::Standard, Self::Trusting];

    /// Its name in settings and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Careful => "careful",
            Self::Standard => "standard",
            Self::Trusting => "trusting",
        }
    }

    /// The level of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The level under a limit: the one that asks more.
    #[must_use]
    pub fn within(self, limit: Option<Self>) -> Self {
        limit.map_or(self, |limit| self.min(limit))
    }

    /// What it does without a question, in one sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Careful => "Asks before edits and before every command.",
            Self::Standard => "Applies edits, runs read-only commands, and asks before others.",
            Self::Trusting => "Runs sandboxed commands that undo covers, up to 100 model calls.",
        }
    }
}

/// A level that a person chose for a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct AutonomyChoice {
    pub level: Autonomy,
    /// Where they chose it: `run`, `tui`, `http`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surface: Option<String>,
}

/// The level that a request begins with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AutonomySettings {
    /// The level in the settings, if one is set. A level that was chosen in the session overrides it.
    #[serde(rename = "autonomy", skip_serializing_if = "Option::is_none")]
    pub level: Option<Autonomy>,
    /// The highest level that the project allows. Absent: no limit.
    #[serde(rename = "autonomyLimit", skip_serializing_if = "Option::is_none")]
    pub limit: Option<Autonomy>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_has_one_name_and_a_limit_only_lowers_it() {
        for level in Autonomy::ALL {
            assert_eq!(Autonomy::named(level.name()), Some(level));
            assert_eq!(serde_json::to_string(&level).expect("a name"), format!("\"{}\"", level.name()));
            assert_eq!(level.within(None), level);
            assert_eq!(level.within(Some(Autonomy::Trusting)), level);
            assert_eq!(level.within(Some(Autonomy::Careful)), Autonomy::Careful);
        }
        assert_eq!(Autonomy::named("yolo"), None);
    }
}
