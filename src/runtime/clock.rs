//! The wall clock.

use std::sync::Arc;

use jiff::Timestamp;

/// A source of the present time. Clones share the source.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self::new(Timestamp::now)
    }

    /// A clock with the time that `now` returns.
    #[must_use]
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The present time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}
