//! Pauses that are the same in every run.

use std::time::Duration;

/// Marsaglia's xorshift: the same pauses in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn pause(&mut self, most: u64) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_millis(self.0 % most)
    }
}
