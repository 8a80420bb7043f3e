//! A release on its way from where it was published into a stack repository.
//!
//! ```text
//!  source::origin ─ fetch ─▶ Prepared ── vendor ──▶ Prepared ── compare ──▶ write: a directory, or a commit
//!                     (unpacked, linted)   (charts)      ▲          │
//!                                                        │          ├─ the same is there: nothing to do
//!                        what is there already, and held ┘          └─ something else is there, or it is held: refused
//! ```
//! A release that is there is never changed, and the same release gives the same files and the same message, so that
//! publishing twice is publishing once.
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

/// What publishing a release did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Published<T> {
    /// The release was there already, with this content.
    Unchanged,
    /// It was written.
    Written(T),
}

impl<T> Published<T> {
    /// The same, with something else of what was written.
    pub fn map<U>(self, of: impl FnOnce(T) -> U) -> Published<U> {
        match self {
            Self::Unchanged => Published::Unchanged,
            Self::Written(written) => Published::Written(of(written)),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
