//! Charts that a release needs and does not have, fetched from where its charts say that they are.
//!
//! Nothing is executed, nothing but the archive is taken, and each archive has the digest that its repository names.

mod error;
mod helm;
mod oci;

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::Vendored;
use super::dependencies::{Missing, Repository};
use crate::source::oci::Access;

use crate::release::chart_index::Index;
pub use error::VendorError;

/// Archives that are fetched at a time.
const AT_A_TIME: usize = 4;

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

    /// Fetches all of these, each in the version that `Chart.lock` has, else the highest of its range. `most` is the
    /// longest archive in bytes.
    pub async fn fetch(&self, missing: &[Missing], most: u64) -> Result<Vec<Vendored>, VendorError> {
        let mut indexes = BTreeMap::new();
        for one in missing {
            if let Repository::Helm(url) = &one.repository
                && !indexes.contains_key(url)
            {
                indexes.insert(url.clone(), self.index(url).await?);
            }
        }
        let indexes = &indexes;
        let all = missing.iter().map(|one| async move {
            match &one.repository {
                Repository::Helm(url) => {
                    let index = indexes.get(url).cloned().unwrap_or_else(Index::default);
                    self.of_index(one, url, &index, most).await
                }
                Repository::Oci { registry, path } => self.of_registry(one, registry, path, most).await,
            }
        });
        stream::iter(all).buffered(AT_A_TIME).try_collect().await
    }
}

#[cfg(test)]
mod tests;
