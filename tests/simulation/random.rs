//! Pseudo-random numbers from a seed (`SplitMix64`).

/// A source of pseudo-random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
    is_calm: bool,
}

impl Random {
    /// The numbers of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed, is_calm: false }
    }

    /// The numbers of a seed of a scenario: the same seed means another order in each scenario.
    pub(crate) fn of(scenario: &str, seed: u64) -> Self {
        let mut random = Self::new(seed);
        for byte in scenario.bytes() {
            random.state ^= u64::from(byte);
            random.state = random.next();
        }
        random
    }

    /// No accident: each number is the first one, and what happens occasionally does not happen.
    pub(crate) fn calm() -> Self {
        Self { state: 0, is_calm: true }
    }

    /// Whether these are the numbers of [`Random::calm`].
    pub(crate) fn is_calm(&self) -> bool {
        self.is_calm
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which must not be 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let number = if self.is_calm { 0 } else { self.next() };
        usize::try_from(number % u64::try_from(end).unwrap()).unwrap()
    }

    /// Whether an event happens now that happens once in so many times.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        !self.is_calm && self.below(times) == 0
    }
}
