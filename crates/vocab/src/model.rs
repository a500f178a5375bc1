//! What is known about a model.

use serde::{Deserialize, Serialize};

use crate::Usage;

/// The known facts about a model, with cautious values for the rest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ModelFacts {
    /// Tokens it can take in and give, together.
    pub window: u64,
    /// Tokens of one reply at most.
    pub max_output: u32,
    /// The prices of the model, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// It can ask for tools.
    pub tools: bool,
    /// It can read images.
    pub images: bool,
    /// Whether the model can think before it answers.
    pub thinking: bool,
    /// It cannot read images: they are left out of its prompts. Without this and `images`, it is not known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub blind: bool,
    /// How the model requests actions. Absent: with tools if it supports them, otherwise with one JSON object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<AnswerProtocol>,
    /// The catalog or the user's models.toml names this model, and not only its provider. Records from before this was
    /// asked are of models that were in use.
    #[serde(skip_serializing_if = "is_true")]
    pub known: bool,
}

fn is_true(known: &bool) -> bool {
    *known
}

/// How a model requests actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AnswerProtocol {
    /// One JSON object holds the whole answer.
    StructuredJson,
    /// Words, with whole files and replacements in fenced blocks.
    EditBlocks,
    /// Calls of tools.
    #[serde(other)]
    NativeTools,
}

impl AnswerProtocol {
    pub const ALL: [Self; 3] = [Self::NativeTools, Self::StructuredJson, Self::EditBlocks];

    /// As settings name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NativeTools => "native_tools",
            Self::StructuredJson => "structured_json",
            Self::EditBlocks => "edit_blocks",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|protocol| protocol.name() == name)
    }
}

impl ModelFacts {
    /// How it says what it wants done.
    pub fn answer_protocol(&self) -> AnswerProtocol {
        match self.protocol {
            _ if self.tools => AnswerProtocol::NativeTools,
            Some(AnswerProtocol::EditBlocks) => AnswerProtocol::EditBlocks,
            _ => AnswerProtocol::StructuredJson,
        }
    }

    /// The same model, made to work in this way.
    #[must_use]
    pub fn with_protocol(self, protocol: AnswerProtocol) -> Self {
        let tools = protocol == AnswerProtocol::NativeTools;
        Self { tools, protocol: Some(protocol), ..self }
    }
}

/// What Trimtab learned about a model from its work or from its server; an absent field is unchanged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct LearnedFacts {
    /// Tokens it can take in and give, together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Whether it can read images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// How the model requests actions from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<AnswerProtocol>,
}

impl LearnedFacts {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Puts what was found out in the place of what was believed.
    pub fn correct(&self, facts: &mut ModelFacts) {
        facts.window = self.window.unwrap_or(facts.window);
        if let Some(images) = self.images {
            (facts.images, facts.blind) = (images, !images);
        }
        if let Some(protocol) = self.protocol {
            *facts = facts.with_protocol(protocol);
        }
        // A reply longer than the window cannot be.
        facts.max_output = facts.max_output.min(u32::try_from(facts.window).unwrap_or(u32::MAX));
    }

    /// This, and what another finding adds or says otherwise.
    #[must_use]
    pub fn and(self, newer: Self) -> Self {
        Self {
            window: newer.window.or(self.window),
            images: newer.images.or(self.images),
            protocol: newer.protocol.or(self.protocol),
        }
    }
}

/// US dollars for a million tokens of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Prices {
    /// Taken in.
    pub input: f64,
    /// Taken in from the provider's cache.
    pub cached: f64,
    /// Taken in and written to the provider's cache.
    pub cache_write: f64,
    /// Given.
    pub output: f64,
}

impl Default for ModelFacts {
    /// The defaults for an unknown model: a small window, no images, unknown prices, but tools.
    fn default() -> Self {
        Self {
            window: 32_768,
            max_output: 4_096,
            prices: None,
            tools: true,
            images: false,
            thinking: false,
            blind: false,
            protocol: None,
            known: true,
        }
    }
}

/// What a token costs that is written to a cache for an hour, in prices of a plain one. Only Anthropic has such a cache,
/// and documents this factor for every model.
const HOUR_IN_CACHE: f64 = 2.0;

impl Prices {
    /// The most that a token of the prompt can cost.
    pub fn dearest_input(&self, long_cache: bool) -> f64 {
        let hour = if long_cache && self.cache_write > 0.0 { self.input * HOUR_IN_CACHE } else { 0.0 };
        self.input.max(self.cache_write).max(hour)
    }

    /// What a call cost.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let plain = usage.input_tokens.saturating_sub(usage.cached_tokens).saturating_sub(usage.cache_write_tokens);
        (plain as f64 * self.input
            + usage.cached_tokens as f64 * self.cached
            + usage.cache_write_tokens.saturating_sub(usage.cache_write_1h_tokens) as f64 * self.cache_write
            + usage.cache_write_1h_tokens as f64 * self.input * HOUR_IN_CACHE
            + usage.output_tokens as f64 * self.output)
            / 1_000_000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_earlier_versions_keep_their_protocol() {
        let read = |text: &str| serde_json::from_str::<ModelFacts>(text).expect("facts");
        assert_eq!(read(r#"{"tools":true}"#).answer_protocol(), AnswerProtocol::NativeTools);
        assert_eq!(read(r#"{"tools":false}"#).answer_protocol(), AnswerProtocol::StructuredJson);
        assert_eq!(read(r#"{"tools":false,"protocol":"edit_blocks"}"#).answer_protocol(), AnswerProtocol::EditBlocks);
        let written = serde_json::to_string(&ModelFacts::default()).expect("written");
        assert!(!written.contains("protocol") && !written.contains("blind"), "{written}");
        for protocol in AnswerProtocol::ALL {
            assert_eq!(ModelFacts::default().with_protocol(protocol).answer_protocol(), protocol);
            assert_eq!(AnswerProtocol::from_name(protocol.name()), Some(protocol));
        }
    }

    #[test]
    fn each_kind_of_token_has_its_own_price() {
        let prices = Prices { input: 3.0, cached: 0.3, cache_write: 3.75, output: 15.0 };
        let usage = Usage {
            input_tokens: 1_000_000,
            cached_tokens: 600_000,
            cache_write_tokens: 100_000,
            output_tokens: 10_000,
            ..Usage::default()
        };
        let cost = prices.cost(&usage);
        assert!((cost - (0.9 + 0.18 + 0.375 + 0.15)).abs() < 1e-9, "{cost}");
        let hour = prices.cost(&Usage { cache_write_1h_tokens: 60_000, ..usage });
        assert!((hour - (0.9 + 0.18 + 0.15 + 0.36 + 0.15)).abs() < 1e-9, "{hour}");
        assert_eq!((prices.dearest_input(false), prices.dearest_input(true)), (3.75, 6.0));
    }
}
