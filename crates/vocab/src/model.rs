//! What is known about a model.

use serde::{Deserialize, Serialize};

use crate::Usage;

/// What is known about a model; what is not known has careful values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ModelFacts {
    /// Tokens it can take in and give, together.
    pub window: u64,
    /// Tokens of one reply at most.
    pub max_output: u32,
    /// What it costs; absent: nobody has said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// It can ask for tools.
    pub tools: bool,
    /// It can see pictures.
    pub images: bool,
    /// It can think before it speaks.
    pub thinking: bool,
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
    /// Of a model that nobody knows: small, blind, of unknown price, but able to ask for tools.
    fn default() -> Self {
        Self { window: 32_768, max_output: 4_096, prices: None, tools: true, images: false, thinking: false }
    }
}

impl Prices {
    /// What a call cost.
    pub fn cost(&self, usage: &Usage) -> f64 {
        let plain = usage.input_tokens.saturating_sub(usage.cached_tokens).saturating_sub(usage.cache_write_tokens);
        (plain as f64 * self.input
            + usage.cached_tokens as f64 * self.cached
            + usage.cache_write_tokens as f64 * self.cache_write
            + usage.output_tokens as f64 * self.output)
            / 1_000_000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
