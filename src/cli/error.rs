//! The errors of commands, with hints for their resolution.

use std::fmt::{self, Display};
use std::path::Path;

/// The error of a failed command, with a hint if the user can do something about it.
#[derive(Debug)]
pub(super) struct CliError {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl CliError {
    /// Creates an error about the arguments or the files that they name.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    /// Creates an error about a file that cannot be read or written.
    pub(super) fn io(path: &Path, error: impl Display) -> Self {
        Self::usage(format!("{}: {error}", path.display()))
    }

    /// Creates an error from that of another module, with the hint of that module.
    pub(super) fn explained(error: &impl Display, hint: Option<impl Into<String>>) -> Self {
        Self { message: error.to_string(), hint: hint.map(Into::into) }
    }

    /// Adds a hint.
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
