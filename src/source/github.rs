//! Releases on GitHub or a GitHub Enterprise Server: their tags are the names of releases, and their assets the files
//! (<https://docs.github.com/en/rest/releases>).

mod api;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use futures::future::BoxFuture;
use futures::{StreamExt as _, TryStreamExt as _};

pub use api::{Access, Asset, GITHUB};

use super::address::GitHubAddress;
use super::origin::{Description, Fetched, Listing, Origin, OriginError, Provenance};
use crate::http::TransportError;
use crate::names::ReleaseName;
use crate::release::{File, Files, Limits, summary};
use api::{Api, Release};

/// Number of assets fetched at a time.
const AT_A_TIME: usize = 4;

/// The releases of a repository on GitHub.
#[derive(Debug)]
pub struct GitHubOrigin {
    address: GitHubAddress,
    api: Api,
    /// The releases by tag, once listed: every request counts against the rate limit.
    listed: OnceLock<BTreeMap<String, Release>>,
    limits: Limits,
}

impl GitHubOrigin {
    /// Opens the repository of an address. Sends nothing.
    pub fn open(address: &GitHubAddress, access: &Access, limits: Limits) -> Result<Self, OriginError> {
        let api = Api::new(access, &address.organisation, &address.repository)?;
        Ok(Self { address: address.clone(), api, listed: OnceLock::new(), limits })
    }

    async fn listed(&self) -> Result<Listing, OriginError> {
        // Only users with write access see a draft, which has no tag yet.
        let releases = self.api.releases().await?.into_iter().filter(|release| !release.draft);
        let releases: BTreeMap<_, _> = releases.map(|release| (release.tag_name.clone(), release)).collect();
        let listing = Listing::of(releases.keys());
        self.listed.get_or_init(|| releases);
        Ok(listing)
    }

    async fn described(&self, name: &ReleaseName) -> Result<Description, OriginError> {
        let listed = self.listed.get().and_then(|listed| listed.get(&name.to_string()));
        let release = match listed {
            Some(release) => release.clone(),
            None => self.api.release(name).await?,
        };
        let mut small = match release.all_assets() {
            Some(assets) => uploaded(assets),
            None => self.assets(release.id).await?,
        };
        small.retain(|asset| summary::FILES.contains(&asset.name.as_str()));
        let most = self.limits.yaml_file as u64;
        if let Some(asset) = small.iter().find(|asset| asset.size > most) {
            let Asset { name: file, size, .. } = asset;
            let error = format!("{file} exceeds the limit of {most} bytes: it has {size}");
            return Err(self.malformed(name, error));
        }
        let files = self.files(name, small).await?;
        let unusable = |findings| OriginError::Unusable { place: self.source(name), findings };
        let description = Description::of(name, &files).map_err(unusable)?;
        Ok(Description { date: release.published_at.and_then(|date| date.parse().ok()), ..description })
    }

    async fn fetched(&self, name: &ReleaseName) -> Result<Fetched, OriginError> {
        let release = self.api.release(name).await?;
        let assets = self.assets(release.id).await?;
        self.check(name, &assets)?;
        let files = self.files(name, assets).await?;
        let provenance = Provenance { source: self.source(name), ..Provenance::default() };
        Ok(Fetched { name: name.clone(), files, provenance })
    }

    /// Lists the completely uploaded assets of a release.
    async fn assets(&self, release: u64) -> Result<Vec<Asset>, OriginError> {
        self.api.assets(release).await.map(uploaded)
    }

    /// Refuses invalid assets before any of them is fetched.
    fn check(&self, name: &ReleaseName, assets: &[Asset]) -> Result<(), OriginError> {
        if assets.is_empty() {
            return Err(self.malformed(name, "it has no files (assets)".to_owned()));
        }
        let place = self.source(name);
        let size = assets.iter().fold(0, |size: u64, asset| size.saturating_add(asset.size));
        if size > self.limits.unpacked {
            return Err(TransportError::TooLarge { place, most: self.limits.unpacked, unit: "bytes" }.into());
        }
        let mut names = BTreeSet::new();
        match assets.iter().find(|asset| !names.insert(asset.name.as_str())) {
            Some(twice) => Err(self.malformed(name, format!("it has two files called {:?}", twice.name))),
            None => Ok(()),
        }
    }

    /// Fetches assets as files.
    async fn files(&self, name: &ReleaseName, assets: Vec<Asset>) -> Result<Files, OriginError> {
        let fetched = futures::stream::iter(assets.into_iter().map(|asset| self.file(asset)));
        let fetched: Vec<_> = fetched.buffered(AT_A_TIME).try_collect().await?;
        let mut files = Files::default();
        for (path, file) in fetched {
            let added = files.insert(&path, file);
            added.map_err(|error| self.malformed(name, format!("{path:?}: {error}")))?;
        }
        Ok(files)
    }

    async fn file(&self, asset: Asset) -> Result<(String, File), OriginError> {
        let content = self.api.download(&asset, self.limits.unpacked).await?;
        Ok((asset.name, File { content, executable: false }))
    }

    fn malformed(&self, name: &ReleaseName, error: String) -> OriginError {
        TransportError::Malformed { place: self.source(name), error }.into()
    }

    /// Returns the address of a release.
    fn source(&self, name: &ReleaseName) -> String {
        GitHubAddress { release: Some(name.clone()), ..self.address.clone() }.to_string()
    }
}

/// Keeps completely uploaded assets.
fn uploaded(mut assets: Vec<Asset>) -> Vec<Asset> {
    assets.retain(|asset| asset.state == "uploaded");
    assets
}

impl Origin for GitHubOrigin {
    fn list(&self) -> BoxFuture<'_, Result<Listing, OriginError>> {
        Box::pin(self.listed())
    }

    fn describe<'a>(&'a self, name: &'a ReleaseName) -> BoxFuture<'a, Result<Description, OriginError>> {
        Box::pin(self.described(name))
    }

    fn fetch<'a>(&'a self, name: &'a ReleaseName) -> BoxFuture<'a, Result<Fetched, OriginError>> {
        Box::pin(self.fetched(name))
    }
}

#[cfg(test)]
mod tests;
