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

pub mod builtin;
mod contents;
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
pub use prepared::Prepared;
pub use vendor::Vendored;

use crate::names::ReleaseName;
use crate::release::Limits;
use crate::source::origin::Origin;
use vendor::Vendor;

/// Fetches and checks a release. With `vendor`, also fetches the content of its components, and the charts that it lacks, unless
/// the stack repository already has the release.
pub async fn prepare(
    origin: &dyn Origin,
    name: &ReleaseName,
    vendor: Option<&Vendor>,
    existing: &Existing,
    limits: &Limits,
) -> Result<Prepared, PublishError> {
    let mut prepared = Prepared::of(origin.fetch(name).await?, limits)?;
    let failed = |error| PublishError::Chart { name: name.to_string(), error: Box::new(error) };
    if let Some(vendor) = vendor.filter(|_| prepared.has_components()) {
        let left = limits.unpacked.saturating_sub(prepared.files.size());
        let components = vendor.fetch_components(&prepared.release, left).await.map_err(failed)?;
        prepared = prepared.with_contents(components, limits)?;
    }
    let Some(vendor) = vendor.filter(|_| !prepared.missing.is_empty() && !existing.has(&prepared, true))
    else {
        return Ok(prepared);
    };
    let left = limits.unpacked.saturating_sub(prepared.files.size());
    let vendored = vendor.fetch(&prepared.missing, left).await;
    prepared.with(vendored.map_err(failed)?, limits)
}

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
