//! Errors of a testbed, for readers: one message with everything.

use std::fmt;

/// A failure of the testbed: the operation, its result, and the end of the logs that explain it.
///
/// `Debug` prints the same text as `Display`, so that `unwrap` in a test is readable.
#[derive(Clone)]
pub struct Error(String);

/// A result of the testbed.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl std::error::Error for Error {}

/// Adds the failed operation to an error.
pub(crate) trait Context<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: fmt::Display> Context<T> for std::result::Result<T, E> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::new(format!("{}: {error}", what())))
    }
}
