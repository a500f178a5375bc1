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
    /// Number of these tokens that came from the provider's cache.
    pub cached_tokens: u64,
    /// Number of these tokens that were written to the provider's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_tokens: u64,
    /// Of the tokens written to the cache, the ones that stay there for an hour, at a higher price.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write_1h_tokens: u64,
    /// Tokens of the reply, thinking included.
    pub output_tokens: u64,
    /// Price in US dollars. Absent if the model's prices are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The provider reported no usage. The figures are estimated from the size of the texts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// Milliseconds until the first token. Only a single call has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_ms: Option<u64>,
    /// Tokens of the reply in a second, from the first token on. Only one call has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_s: Option<f64>,
}

impl Usage {
    /// The share of the prompt that came from the provider's cache, in percent; none where nothing was sent.
    pub fn cached_percent(&self) -> Option<u64> {
        (self.cached_tokens.saturating_mul(100)).checked_div(self.input_tokens)
    }

    /// What was spent since an earlier sum.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let cost = |usage: Self| usage.cost_usd.unwrap_or(0.0);
        Self {
            input_tokens: self.input_tokens.saturating_sub(before.input_tokens),
            cached_tokens: self.cached_tokens.saturating_sub(before.cached_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_sub(before.cache_write_tokens),
            cache_write_1h_tokens: self.cache_write_1h_tokens.saturating_sub(before.cache_write_1h_tokens),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
            cost_usd: self.cost_usd.map(|_| (cost(self) - cost(before)).max(0.0)),
            estimated: self.estimated,
            first_token_ms: None,
            tokens_per_s: None,
        }
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.cache_write_1h_tokens = self.cache_write_1h_tokens.saturating_add(other.cache_write_1h_tokens);
        self.first_token_ms = None;
        self.tokens_per_s = None;
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

    #[test]
    fn a_sum_has_no_speed_and_knows_the_cached_share() {
        let call = Usage {
            input_tokens: 400,
            cached_tokens: 300,
            first_token_ms: Some(80),
            tokens_per_s: Some(12.5),
            ..Usage::default()
        };
        let mut sum = Usage::default();
        assert_eq!(sum.cached_percent(), None);
        sum += call;
        sum += Usage { input_tokens: 600, cached_tokens: 200, ..call };
        assert_eq!((sum.first_token_ms, sum.tokens_per_s, sum.cached_percent()), (None, None, Some(50)));
    }
}
