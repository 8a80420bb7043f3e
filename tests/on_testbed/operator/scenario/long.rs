//! The two lengths of a scenario.

/// Returns the first value if `make test-long` runs the scenario, and otherwise the second.
#[expect(clippy::disallowed_methods, reason = "the Makefile names the length")]
pub(crate) fn long<T>(with_time: T, otherwise: T) -> T {
    if std::env::var_os("TEST_LONG").is_some() { with_time } else { otherwise }
}
