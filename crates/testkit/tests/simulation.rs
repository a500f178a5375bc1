//! Random histories of the real engine and host; see `trimtab_testkit::simulator`.

use trimtab_testkit::simulator::{Tally, play};

/// Seeds that once failed, kept for good.
const KEPT: &[u64] = &[
    2_383, // A session was left without being given back after the store had failed twice.
    2_436, // A call was made without room: its request had asked for some, and had none yet.
    565,   // Reopened requests held room that they did not have, and nobody could go on.
];

/// How many histories, and from which seed on: `TRIMTAB_SIM_HISTORIES` and `TRIMTAB_SIM_FROM`
/// make it more than the few of an ordinary run.
fn range() -> std::ops::Range<u64> {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let from = number("TRIMTAB_SIM_FROM", 0);
    from..from + number("TRIMTAB_SIM_HISTORIES", 1_000)
}

#[test]
fn whatever_happens_nothing_is_lost_and_nothing_is_done_twice() {
    let mut total = Tally::default();
    let seeds = KEPT.iter().copied().chain(range());
    for seed in seeds {
        match play(seed) {
            Ok(tally) => total += tally,
            Err(broken) => panic!("seed {seed}: {broken}\nAdd the seed to KEPT once it is mended."),
        }
    }
    println!("{total:#?}");
    // A simulation that never meets what it is for would prove nothing.
    for (what, often) in [
        ("kills", total.kills),
        ("cancelled requests", total.cancelled),
        ("failed requests", total.failed),
        ("completed requests", total.completed),
        ("partial replies", total.partials),
        ("questions", total.questions),
    ] {
        assert!(often > 100, "only {often} {what}");
    }
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for seed in 0..20 {
        assert_eq!(play(seed), play(seed), "seed {seed}");
    }
}
