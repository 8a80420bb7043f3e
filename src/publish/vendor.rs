//! Charts that a release needs and does not have, fetched from where its charts say that they are.
//!
//! Nothing is executed, nothing but the archive is taken, and each archive has the digest that its repository names.

mod error;
mod helm;
mod oci;

use std::collections::{BTreeMap, BTreeSet};

use reqwest::Url;

use super::Vendored;
use super::dependencies::{Missing, Repository};
use crate::release::{Digest, range};
use crate::source::oci::Access;

pub use error::VendorError;

/// The most charts that are fetched for a release: those of SCS have five.
const MOST_CHARTS: usize = 100;

/// The most repositories that they may be in. Of each an index may be fetched, which is long.
const MOST_REPOSITORIES: usize = 20;

/// Fetches charts.
#[derive(Clone, Debug)]
pub struct Vendor {
    access: Access,
    named: Option<String>,
}

impl Vendor {
    /// Fetches with this access. What it has for one registry, a password and plain HTTP, is for the registry `named`
    /// alone; plain HTTP is also allowed for Helm repositories whose URL says so.
    #[must_use]
    pub fn new(access: Access, named: Option<&str>) -> Self {
        Self { access, named: named.map(str::to_owned) }
    }

    /// Fetches all of these, each in the version that `Chart.lock` has, else the highest of its range; those that are the
    /// same archive once. `most` is what all archives together may have, in bytes.
    pub async fn fetch(&self, missing: &[Missing], most: u64) -> Result<Vec<Vendored>, VendorError> {
        let repositories: BTreeSet<&Repository> = missing.iter().map(|one| &one.repository).collect();
        at_most(missing.len(), MOST_CHARTS, "charts")?;
        at_most(repositories.len(), MOST_REPOSITORIES, "chart repositories")?;
        let (mut fetched, mut left): (Vec<Vendored>, u64) = (Vec::new(), most);
        for chosen in self.choose(missing).await? {
            let path = chosen.missing.archive(&chosen.version);
            if fetched.iter().any(|one| one.missing.archive(&one.version) == path) {
                continue;
            }
            // One after the other: each may have what those before it have left.
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

    /// The versions of all of these, in their order.
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

fn at_most(there: usize, most: usize, what: &'static str) -> Result<(), VendorError> {
    if there > most { Err(VendorError::TooMany { there, what, most }) } else { Ok(()) }
}

/// The version of a dependency that is taken of those that are there, which is one by Helm's rules: it is part of a path.
fn choose<'a>(
    missing: &Missing,
    there: impl DoubleEndedIterator<Item = &'a str> + Clone,
    place: &str,
) -> Result<&'a str, VendorError> {
    let chart = missing.name.clone();
    let chosen = missing.choose(there.clone());
    let chosen = chosen.map_err(|error| VendorError::Range { chart: chart.clone(), error })?;
    let Some(version) = chosen else {
        let (version, there) = (missing.wanted().to_owned(), there.map(str::to_owned).collect());
        return Err(VendorError::NoVersion { place: place.to_owned(), chart, version, there });
    };
    if range::version(version).is_none() {
        let (chart, why) = (format!("{chart} {version}"), "Helm does not accept this version".to_owned());
        return Err(VendorError::Refused { place: place.to_owned(), chart, why });
    }
    Ok(version)
}

/// A dependency in the version that is taken, and where its archive is.
struct Chosen<'a> {
    missing: &'a Missing,
    version: String,
    archive: Archive,
}

enum Archive {
    /// A file with this digest.
    Url(Url, Digest),
    /// The layer behind `host/repository:tag`, with this digest where an index names one.
    Registry { reference: String, expected: Option<Digest> },
}

impl Chosen<'_> {
    fn vendored(&self, url: String, digest: Digest, content: Vec<u8>) -> Vendored {
        Vendored { missing: self.missing.clone(), version: self.version.clone(), url, digest, content }
    }
}

#[cfg(test)]
mod tests;
