//! How much a model thinks before it answers.

use serde::{Deserialize, Serialize};

/// How much a model thinks, independent of the provider's own setting. What each level means for a model stands in one table,
/// `crates/world/src/models/effort.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Max,
}

impl Effort {
    /// Every level, from the least on.
    pub const ALL: [Self; 6] = [Self::Off, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Max];

    /// Its name in settings and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Max => "max",
        }
    }

    /// The level of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The tokens to think with, for models that take a number.
    pub fn tokens(self) -> u32 {
        match self {
            Self::Off => 0,
            Self::Minimal => 1_024,
            Self::Low => 4_096,
            Self::Medium => 10_000,
            Self::High => 24_000,
            Self::Max => 60_000,
        }
    }

    /// The level that a number of tokens comes to, for models that take a level.
    pub fn from_tokens(tokens: u32) -> Option<Self> {
        match tokens {
            0 => None,
            1..=4_096 => Some(Self::Low),
            4_097..=16_384 => Some(Self::Medium),
            _ => Some(Self::High),
        }
    }

    /// The level after this one; after the last and after none, the first, and then none again.
    pub fn next(level: Option<Self>) -> Option<Self> {
        match level {
            None => Some(Self::Off),
            Some(level) => Self::ALL.into_iter().find(|other| *other > level),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_is_found_by_its_name_and_follows_the_one_before() {
        let mut level = None;
        for expected in Effort::ALL {
            level = Effort::next(level);
            assert_eq!(level, Some(expected));
            assert_eq!(Effort::named(expected.name()), Some(expected));
            assert_eq!(serde_json::to_string(&expected).expect("a name"), format!("\"{}\"", expected.name()));
        }
        assert_eq!(Effort::next(level), None);
        assert_eq!(Effort::named("auto"), None);
    }
}
