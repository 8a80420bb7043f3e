//! Pseudo-random numbers from a seed (`SplitMix64`), a stream for each concern of a simulation: one more number for a new fault
//! changes neither the order of the steps nor the other faults of a seed.

/// A source of pseudo-random numbers.
#[derive(Clone, Copy, Debug)]
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

    /// The numbers of one concern. They do not depend on those of others.
    fn of_concern(&self, concern: u64) -> Self {
        let mut random = *self;
        random.state ^= concern;
        random.state = random.next();
        random
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

/// The random numbers of a simulation, by what they decide.
#[derive(Debug)]
pub(crate) struct Streams {
    /// The next step.
    pub(crate) order: Random,
    /// When users act.
    pub(crate) users: Random,
    /// Where the simulation begins: with a checkpoint, with a second process.
    pub(crate) start: Random,
    /// Crashes and losses of the Lease, and what a new process sees first.
    pub(crate) processes: Random,
    /// Requests that fail or arrive late.
    pub(crate) requests: Random,
    /// Events and lists.
    pub(crate) watches: Random,
    /// When `diff --live` is compared with the operator.
    pub(crate) previews: Random,
    /// When time passes while something else can happen.
    pub(crate) time: Random,
}

impl Streams {
    /// The streams of a seed.
    pub(crate) fn new(random: Random) -> Self {
        let mut concerns = 1..;
        let mut stream = || random.of_concern(concerns.next().unwrap());
        Self {
            order: stream(),
            users: stream(),
            start: stream(),
            processes: stream(),
            requests: stream(),
            watches: stream(),
            previews: stream(),
            time: stream(),
        }
    }

    /// Whether these are the numbers of [`Random::calm`].
    pub(crate) fn is_calm(&self) -> bool {
        self.order.is_calm
    }
}

#[cfg(test)]
mod tests {
    use super::{Random, Streams};

    #[test]
    fn streams_of_a_seed_differ_and_repeat() {
        let numbers = |seed| {
            let streams = Streams::new(Random::of("keeps", seed));
            [streams.order, streams.users, streams.watches].map(|mut stream| stream.below(1 << 30))
        };
        let first = numbers(7);
        assert!(first[0] != first[1] && first[1] != first[2] && first[0] != first[2], "{first:?}");
        assert_eq!(first, numbers(7));
        assert_ne!(first, numbers(8));
    }

    #[test]
    fn more_numbers_of_one_stream_leave_the_others() {
        let (mut one, mut other) = (Streams::new(Random::new(1)), Streams::new(Random::new(1)));
        _ = one.requests.below(10);
        assert_eq!(one.order.below(1 << 30), other.order.below(1 << 30));
    }
}
