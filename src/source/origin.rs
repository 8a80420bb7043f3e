//! Origins of releases: the common interface to every place that releases can be fetched from.

mod error;

use std::collections::BTreeSet;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;

use crate::http::TransportError;
use crate::names::{KubernetesVersion, ReleaseName};
use crate::release::{Files, Findings, Limits, summary};

pub use error::OriginError;

/// A place that has releases.
pub trait Origin: Send + Sync {
    /// Lists the names of the releases. Reads no content.
    fn list(&self) -> BoxFuture<'_, Result<Listing, OriginError>>;

    /// Describes a release from its small files alone (`metadata.yaml`, `clusteraddon.yaml`).
    fn describe<'a>(&'a self, name: &'a ReleaseName) -> BoxFuture<'a, Result<Description, OriginError>>;

    /// Fetches all files of a release, and verifies every byte against the digests that the place gives. Packed archives
    /// stay packed.
    fn fetch<'a>(&'a self, name: &'a ReleaseName) -> BoxFuture<'a, Result<Fetched, OriginError>>;
}

/// Runs a closure that reads `place` on the blocking thread pool.
pub(super) fn blocking<T: Send + 'static>(
    place: String,
    read: impl FnOnce() -> Result<T, OriginError> + Send + 'static,
) -> BoxFuture<'static, Result<T, OriginError>> {
    let failed =
        |error: tokio::task::JoinError| TransportError::Interrupted { place, error: error.to_string() };
    async move { tokio::task::spawn_blocking(read).await.map_err(failed)? }.boxed()
}

/// The releases in a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The releases, lowest first within a stack and channel.
    pub releases: BTreeSet<ReleaseName>,
    /// Names that are not those of releases, sorted. Such names are common, and are skipped.
    pub malformed: Vec<String>,
}

impl Listing {
    /// Sorts names into those of releases and others.
    pub fn of<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> Self {
        let mut listing = Self::default();
        for name in names {
            match name.as_ref().parse() {
                Ok(name) => drop(listing.releases.insert(name)),
                Err(_) => listing.malformed.push(name.as_ref().to_owned()),
            }
        }
        listing.malformed.sort_unstable();
        listing.malformed.dedup();
        listing
    }
}

/// The description of a release, without its charts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The Kubernetes version of the release, if its small files have it.
    pub kubernetes: Option<KubernetesVersion>,
    /// Its addons, in the order in which its stages first name them.
    pub addons: Option<Vec<String>>,
    /// Digest of the manifest (`sha256:…`) or commit that identifies its content in the place.
    pub digest: Option<String>,
    /// Time of its creation or publication, if the place has it.
    pub date: Option<Timestamp>,
}

impl Description {
    /// Reads the small files of a release ([`summary::FILES`]). The caller has to set the digest and the date.
    pub fn of(name: &ReleaseName, small: &Files) -> Result<Self, Findings> {
        let summary = summary::read(name, small, &Limits::default())?;
        Ok(Self { kubernetes: summary.kubernetes, addons: Some(summary.addons), digest: None, date: None })
    }
}

/// A fetched release.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Name of the release.
    pub name: ReleaseName,
    /// Its files; archives are still packed.
    pub files: Files,
    /// The origin of the files.
    pub provenance: Provenance,
}

/// The origin of every byte of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// The address with digest or commit, without credentials: `oci://host/repository:release@sha256:…`.
    pub source: String,
    /// Digest (`sha256:…`) or commit that identifies the content in the place.
    pub digest: Option<String>,
    /// The verified signature, and its key.
    pub verified: Option<String>,
    /// Whether the content was requested by digest.
    pub is_pinned: bool,
}

impl Provenance {
    /// Whether the content is pinned or signed. Neither covers the name under which it was fetched.
    #[must_use]
    pub fn is_pinned_or_signed(&self) -> bool {
        self.is_pinned || self.verified.is_some()
    }
}

#[cfg(test)]
mod tests;
