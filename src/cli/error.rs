//! What a command can fail with, and what to do about it.

use std::fmt::{self, Display};
use std::path::Path;

/// A failed command: what is wrong, and a hint where there is something to do.
#[derive(Debug)]
pub(super) struct CliError {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl CliError {
    /// Something in the arguments or in what they name.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// A file that could not be read or written.
    pub(super) fn io(path: &Path, error: impl Display) -> Self {
        Self::usage(format!("{}: {error}", path.display()))
    }

    /// What a module says of itself, which knows what may be done about it.
    pub(super) fn explained(error: &impl Display, hint: Option<impl Into<String>>) -> Self {
        Self { message: error.to_string(), hint: hint.map(Into::into) }
    }

    /// With what to do about it.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: std::error::Error> From<E> for CliError {
    fn from(error: E) -> Self {
        Self::usage(error.to_string())
    }
}
