//! Chance that can be thrown again: everything random in a test comes from a seed.

/// A small generator (SplitMix64): good enough to wander through histories, and every throw can be
/// repeated from the seed.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that fall alike for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The seed that `TRIMTAB_SEED` names, and how many lines `TRIMTAB_LINES` wants: longer runs of generated tests are
    /// one variable away, and a failure can be repeated.
    pub fn seed_and_lines(usual: usize) -> (u64, usize) {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let lines = number("TRIMTAB_LINES").and_then(|lines| usize::try_from(lines).ok());
        (number("TRIMTAB_SEED").unwrap_or(0x5eed_1234_5678_9abc), lines.unwrap_or(usual))
    }

    /// The next throw.
    pub fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which must not be 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.throw() % bound
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { from.get(self.below(from.len() as u64) as usize) }
    }
}
