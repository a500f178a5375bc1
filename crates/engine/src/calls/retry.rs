//! How long to wait before a failed call is made again.

use trimtab_vocab::CallId;

const FIRST_MS: u64 = 500;
const LONGEST_MS: u64 = 30_000;
/// A provider may ask for more than our longest wait, up to this.
const LONGEST_ASKED_MS: u64 = 600_000;
/// How long a server may take to load a model: large ones come from slow disks.
const LONGEST_LOAD_MS: u64 = 30 * 60_000;

/// How long to wait before a loading server is asked again: a second at first, and ten once it takes minutes. None:
/// it has taken too long.
pub(crate) fn load_delay_ms(loading_ms: u64) -> Option<u64> {
    (loading_ms < LONGEST_LOAD_MS).then(|| (loading_ms / 4).clamp(1_000, 10_000))
}

/// Doubles with each failure, up to half a minute, and spreads over the upper half of that span so
/// that many clients do not come back at once. The spread is drawn from the call's id: the engine
/// has no dice, and a replay must decide alike.
pub(crate) fn delay_ms(call: &CallId, failures: u32, asked_ms: Option<u64>) -> u64 {
    if let Some(asked) = asked_ms {
        return asked.min(LONGEST_ASKED_MS);
    }
    let span = FIRST_MS.saturating_mul(1 << failures.min(10)).min(LONGEST_MS);
    let spread = call
        .as_str()
        .bytes()
        .fold(0x9e37_79b9_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    span / 2 + (spread >> 16) % (span / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_are_spread_and_stay_bounded() {
        let call = CallId::nth(1);
        for failures in 0..40 {
            let span = (500_u64 << failures.min(10)).min(30_000);
            let delay = delay_ms(&call, failures, None);
            assert!((span / 2..span).contains(&delay), "{failures}: {delay}");
        }
        let spread: std::collections::BTreeSet<_> = (0..50).map(|n| delay_ms(&CallId::nth(n), 3, None)).collect();
        assert!(spread.len() > 40);
    }

    #[test]
    fn the_providers_own_wish_counts_within_reason() {
        assert_eq!(delay_ms(&CallId::nth(1), 0, Some(7_000)), 7_000);
        assert_eq!(delay_ms(&CallId::nth(1), 0, Some(u64::MAX)), LONGEST_ASKED_MS);
    }
}
