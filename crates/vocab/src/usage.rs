//! What a call cost.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Tokens and money of one call, or the sum of many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Every token of the prompt, cached or not.
    pub input_tokens: u64,
    /// Of those, the ones read from the provider's cache.
    pub cached_tokens: u64,
    /// Of those, the ones written to the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Tokens of the reply, thinking included.
    pub output_tokens: u64,
    /// Price in US dollars; absent when the model's prices are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The provider told no figures; these are guessed from the size of the texts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.estimated |= other.estimated;
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_never_overflow_and_unknown_prices_stay_unknown() {
        let mut sum = Usage { input_tokens: u64::MAX, ..Usage::default() };
        sum += Usage { input_tokens: 1, output_tokens: 2, ..Usage::default() };
        assert_eq!((sum.input_tokens, sum.output_tokens, sum.cost_usd), (u64::MAX, 2, None));
        sum += Usage { cost_usd: Some(0.5), ..Usage::default() };
        assert_eq!(sum.cost_usd, Some(0.5));
    }
}
