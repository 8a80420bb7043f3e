//! Places that have releases, however they keep them: what is there, what one says of itself, and all of its files.

mod error;

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use jiff::Timestamp;

use crate::names::{KubernetesVersion, ReleaseName};
use crate::release::{Files, Findings, Limits, summary};

pub use error::OriginError;

/// A place that has releases.
pub trait Origin: Send + Sync {
    /// The names of the releases that are there. Reads no contents.
    fn list(&self) -> BoxFuture<'_, Result<Listing, OriginError>>;

    /// What one release says of itself, from its small files alone (`metadata.yaml`, `clusteraddon.yaml`).
    fn describe<'a>(&'a self, name: &'a ReleaseName) -> BoxFuture<'a, Result<Description, OriginError>>;

    /// All files of one release, every byte checked against the digests that the place gives. Packed archives stay
    /// packed.
    fn fetch<'a>(&'a self, name: &'a ReleaseName) -> BoxFuture<'a, Result<Fetched, OriginError>>;
}

/// Which releases are in a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The releases, lowest first within a stack and channel.
    pub releases: BTreeSet<ReleaseName>,
    /// Names that are no release names, sorted. Real places have some; they are skipped.
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

/// What a release says of itself, without its charts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The Kubernetes version that it is for, where its small files tell.
    pub kubernetes: Option<KubernetesVersion>,
    /// Its addons in the order in which stages name them first.
    pub addons: Option<Vec<String>>,
    /// What names its content in that place: the digest of the manifest (`sha256:…`), or the commit.
    pub digest: Option<String>,
    /// When it was made or published, where the place knows.
    pub date: Option<Timestamp>,
}

impl Description {
    /// Reads the small files of a release ([`summary::FILES`]). Digest and date are for the caller to fill in.
    pub fn of(name: &ReleaseName, small: &Files) -> Result<Self, Findings> {
        let summary = summary::read(name, small, &Limits::default())?;
        Ok(Self { kubernetes: summary.kubernetes, addons: Some(summary.addons), digest: None, date: None })
    }
}

/// A release as it came.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// Its name.
    pub name: ReleaseName,
    /// Its files, archives packed.
    pub files: Files,
    /// Where they came from.
    pub provenance: Provenance,
}

/// Where every byte came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// The address with digest or commit, without credentials: `oci://host/repository:release@sha256:…`.
    pub source: String,
    /// The digest (`sha256:…`) or the commit that names the content there.
    pub digest: Option<String>,
    /// What was verified, and by which key.
    pub verified: Option<String>,
    /// Whether the content is that of a digest that was asked for.
    pub is_pinned: bool,
}

impl Provenance {
    /// Whether somebody vouches for the content. Nobody does so for the name under which it came.
    #[must_use]
    pub fn is_vouched_for(&self) -> bool {
        self.is_pinned || self.verified.is_some()
    }
}

#[cfg(test)]
mod tests;
