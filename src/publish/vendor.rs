//! Fetches the charts that a release needs but does not contain, from the repositories that its charts name, and the content of
//! its components.
//!
//! Executes nothing, keeps only the archives, and verifies each against the digest that its repository names.

mod components;
mod error;
mod helm;
mod oci;

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Url;

use super::dependencies::{Missing, Repository};
use crate::git::{Credentials, GitUrl};
use crate::release::{Digest, range};
use crate::source::oci::Access;

pub use components::VendoredComponent;
pub use error::VendorError;

/// Maximum number of charts fetched for a release: those of SCS have five.
const MAX_CHARTS: usize = 100;

/// Maximum number of their repositories: the index of each, which may be long, may have to be fetched.
const MAX_REPOSITORIES: usize = 20;

/// A chart that was fetched for a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vendored {
    /// The dependency.
    pub missing: Missing,
    /// The exact version.
    pub version: String,
    /// URL of the archive, without credentials.
    pub url: String,
    /// Digest of the archive.
    pub digest: Digest,
    /// Content of the archive.
    pub content: Vec<u8>,
}

/// Fetches charts.
#[derive(Clone, Debug)]
pub struct Vendor {
    access: Access,
    named: Option<String>,
    git: Credentials,
    own_git: Option<GitUrl>,
}

impl Vendor {
    /// Creates a client with this access. Its password and plain HTTP for a registry apply only to the registry `named`;
    /// plain HTTP also applies to Helm repositories with an `http` URL.
    #[must_use]
    pub fn new(access: Access, named: Option<&str>) -> Self {
        Self { access, named: named.map(str::to_owned), git: Credentials::default(), own_git: None }
    }

    /// Adds the credentials for Git repositories. The password applies only to the server of `own`.
    #[must_use]
    pub fn with_git(self, git: Credentials, own: Option<&GitUrl>) -> Self {
        Self { git, own_git: own.cloned(), ..self }
    }

    /// Fetches all dependencies, each in the version of `Chart.lock`, or otherwise in the highest version of its range.
    /// Fetches an archive once, even if several dependencies need it. `most` limits the total size of all archives in bytes.
    pub async fn fetch(&self, missing: &[Missing], most: u64) -> Result<Vec<Vendored>, VendorError> {
        let repositories: BTreeSet<&Repository> = missing.iter().map(|one| &one.repository).collect();
        at_most(missing.len(), MAX_CHARTS, "charts")?;
        at_most(repositories.len(), MAX_REPOSITORIES, "chart repositories")?;
        let (mut fetched, mut left): (Vec<Vendored>, u64) = (Vec::new(), most);
        for chosen in self.choose(missing).await? {
            let path = chosen.missing.archive(&chosen.version);
            if fetched.iter().any(|one| one.missing.archive(&one.version) == path) {
                continue;
            }
            // In sequence: each archive may use what the previous ones left of the limit.
            let vendored = match &chosen.archive {
                Archive::Url(url, digest) => self.of_url(&chosen, url, *digest, left).await?,
                Archive::Registry { reference, expected } => {
                    self.of_reference(&chosen, reference, *expected, left).await?
                }
            };
            left = left.saturating_sub(vendored.content.len() as u64);
            fetched.push(vendored);
        }
        Ok(fetched)
    }

    /// Chooses the versions of all dependencies, and keeps their order.
    async fn choose<'a>(&self, missing: &'a [Missing]) -> Result<Vec<Chosen<'a>>, VendorError> {
        let mut by_repository: BTreeMap<&Repository, Vec<&Missing>> = BTreeMap::new();
        for one in missing {
            by_repository.entry(&one.repository).or_default().push(one);
        }
        let mut chosen = Vec::new();
        for (repository, missing) in by_repository {
            match repository {
                Repository::Helm(url) => chosen.extend(self.of_helm(url, &missing).await?),
                Repository::Oci { registry, path } => {
                    for one in missing {
                        chosen.push(self.of_registry(registry, path, one).await?);
                    }
                }
            }
        }
        chosen.sort_by_key(|chosen| missing.iter().position(|one| one == chosen.missing));
        Ok(chosen)
    }
}

fn at_most(needed: usize, most: usize, what: &'static str) -> Result<(), VendorError> {
    if needed > most { Err(VendorError::TooMany { needed, what, most }) } else { Ok(()) }
}

/// Chooses a version of a dependency, and checks it by Helm's rules: the version becomes part of a path.
fn choose<'a>(
    missing: &Missing,
    versions: impl DoubleEndedIterator<Item = &'a str> + Clone,
    place: &str,
) -> Result<&'a str, VendorError> {
    let chart = missing.name.clone();
    let chosen = missing.choose(versions.clone());
    let chosen = chosen.map_err(|error| VendorError::Range { chart: chart.clone(), error })?;
    let Some(version) = chosen else {
        let (version, versions) = (missing.wanted().to_owned(), versions.map(str::to_owned).collect());
        return Err(VendorError::NoVersion { place: place.to_owned(), chart, version, versions });
    };
    if range::version(version).is_none() {
        let (chart, why) = (format!("{chart} {version}"), "Helm does not accept this version".to_owned());
        return Err(VendorError::Refused { place: place.to_owned(), chart, why });
    }
    Ok(version)
}

/// A dependency with its chosen version and archive.
struct Chosen<'a> {
    missing: &'a Missing,
    version: String,
    archive: Archive,
}

enum Archive {
    /// A file with this digest.
    Url(Url, Digest),
    /// The chart layer of `host/repository:tag`, with this digest if an index names one.
    Registry { reference: String, expected: Option<Digest> },
}

impl Chosen<'_> {
    fn vendored(&self, url: String, digest: Digest, content: Vec<u8>) -> Vendored {
        Vendored { missing: self.missing.clone(), version: self.version.clone(), url, digest, content }
    }
}

#[cfg(test)]
mod tests;
