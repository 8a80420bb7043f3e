//! The wall clock.

use std::sync::Arc;

use jiff::Timestamp;

/// A source of the present time. Clones share the source.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// Returns the system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self::new(Timestamp::now)
    }

    /// Creates a clock with the time that `now` returns.
    #[must_use]
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Returns the present time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}
