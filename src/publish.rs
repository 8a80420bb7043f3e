//! Publishes a release from where it was built into a stack repository.
//!
//! ```text
//!  source::origin ─ fetch ─▶ Prepared ── vendor ──▶ Prepared ── compare ──▶ write: a directory, or a commit
//!                     (unpacked, linted)   (charts)      ▲          │
//!                                                        │          ├─ the same release exists: nothing to do
//!                     existing release, and its hold ────┘          └─ another exists, or it is held: refused
//! ```
//! A published release never changes, and the same release gives the same files and the same message, so publishing is
//! idempotent.
#![allow(clippy::disallowed_methods, reason = "a publisher writes directories")]

pub mod dependencies;
pub mod directory;
mod error;
mod existing;
pub mod git;
mod held;
pub mod message;
mod prepared;
pub mod vendor;

pub use error::PublishError;
pub use existing::{Existing, IgnoreFiles};
pub use prepared::{Prepared, Vendored, prepare};

/// The result of publishing a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Published<T> {
    /// The release already exists with this content.
    Unchanged,
    /// The release was written.
    Written(T),
}

impl<T> Published<T> {
    /// Maps the value of [`Published::Written`].
    pub fn map<U>(self, of: impl FnOnce(T) -> U) -> Published<U> {
        match self {
            Self::Unchanged => Published::Unchanged,
            Self::Written(written) => Published::Written(of(written)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
