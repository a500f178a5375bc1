//! The usage of earlier model calls, for estimates.

use std::collections::BTreeMap;

use trimtab_vocab::CallRecords;
use trimtab_world::store::{RecordedCall, Result, Store};

/// Sessions that are looked at, the ones used last.
const SESSIONS: u32 = 40;
/// Facts of each at most.
const FACTS: u32 = 400;

/// The records of all models that were called lately.
pub(crate) async fn collect(store: &dyn Store) -> Result<BTreeMap<String, CallRecords>> {
    Ok(summarize(&store.recent_calls(SESSIONS, FACTS).await?))
}

fn summarize(calls: &[RecordedCall]) -> BTreeMap<String, CallRecords> {
    let mut by_model: BTreeMap<&str, Vec<&RecordedCall>> = BTreeMap::new();
    // Estimated figures are not records.
    for call in calls.iter().filter(|call| !call.usage.estimated && call.usage.output_tokens > 0) {
        by_model.entry(&call.model).or_default().push(call);
    }
    let records = |(model, calls): (&str, Vec<&RecordedCall>)| {
        let count = calls.len() as u64;
        let output: u64 = calls.iter().map(|call| call.usage.output_tokens).sum();
        let speeds: Vec<f64> = calls.iter().filter_map(|call| call.usage.tokens_per_s).collect();
        let truncated = calls.iter().filter(|call| call.truncated).count();
        let records = CallRecords {
            calls: count,
            output_tokens: u32::try_from(output / count).unwrap_or(u32::MAX),
            tokens_per_s: speeds.iter().sum::<f64>() / speeds.len().max(1) as f64,
            truncated: truncated as f64 / count as f64,
        };
        (model.to_owned(), records)
    };
    by_model.into_iter().map(records).collect()
}

#[cfg(test)]
mod tests {
    use trimtab_vocab::Usage;

    use super::*;

    #[test]
    fn records_are_averages_by_model_without_guessed_figures() {
        let call = |model: &str, output_tokens, tokens_per_s, truncated| RecordedCall {
            model: model.into(),
            usage: Usage { output_tokens, tokens_per_s, ..Usage::default() },
            truncated,
        };
        let mut guessed = call("m/a", 9_000, None, false);
        guessed.usage.estimated = true;
        let calls =
            [call("m/a", 100, Some(40.0), false), call("m/a", 300, None, true), guessed, call("m/b", 10, None, false)];
        let records = summarize(&calls);
        assert_eq!(records["m/a"], CallRecords { calls: 2, output_tokens: 200, tokens_per_s: 40.0, truncated: 0.5 });
        assert_eq!(records["m/b"].tokens_per_s, 0.0, "not measured");
    }
}
