//! Charts from Helm repositories.

use reqwest::Url;

use super::{Archive, Chosen, Vendor, VendorError, choose};
use crate::http::{Expected, Request, TransportError, redacted_url};
use crate::publish::Vendored;
use crate::publish::dependencies::Missing;
use crate::release::Digest;
use crate::release::chart_index::{self, Entry, Index};

impl Vendor {
    /// Finds the charts of dependencies that are in this repository.
    pub(super) async fn of_helm<'a>(
        &self,
        repository: &Url,
        missing: &[&'a Missing],
    ) -> Result<Vec<Chosen<'a>>, VendorError> {
        let index = self.index(repository).await?;
        missing.iter().map(|missing| of_index(missing, repository, &index)).collect()
    }

    /// Fetches the index of a repository.
    async fn index(&self, repository: &Url) -> Result<Index, VendorError> {
        let mut url = repository.clone();
        url.set_path(&format!("{}index.yaml", repository.path()));
        let content = self.get(&url, "index.yaml", None, chart_index::MAX_INDEX_BYTES).await?;
        Index::parse(&content).map_err(|error| VendorError::Index { place: redacted_url(&url), error })
    }

    /// Fetches the archive at a URL.
    pub(super) async fn of_url(
        &self,
        chosen: &Chosen<'_>,
        url: &Url,
        digest: Digest,
        most: u64,
    ) -> Result<Vendored, VendorError> {
        let content = self.get(url, &chosen.missing.name, Some(digest), most).await?;
        Ok(chosen.vendored(redacted_url(url), digest, content))
    }

    async fn get(
        &self,
        url: &Url,
        chart: &str,
        digest: Option<Digest>,
        most: u64,
    ) -> Result<Vec<u8>, VendorError> {
        let allowed = match url.scheme() {
            "https" => true,
            "http" => self.access.plain_http,
            _ => false,
        };
        if !allowed {
            let why = "it is not https: use --plain-http to allow unencrypted http";
            let (place, chart) = (redacted_url(url), chart.to_owned());
            return Err(VendorError::Refused { place, chart, why: why.to_owned() });
        }
        let expected = Expected { digest, size: None, most };
        let fetched = self.access.client.download(&Request::get(url.clone()), expected, Vec::new()).await;
        let failed = |error: TransportError| VendorError::Origin {
            chart: chart.to_owned(),
            error: Box::new(error.into()),
        };
        fetched.map(|(content, _)| content).map_err(failed)
    }
}

/// Finds the chart of a dependency in the index of its repository.
fn of_index<'a>(missing: &'a Missing, repository: &Url, index: &Index) -> Result<Chosen<'a>, VendorError> {
    let entries = index.versions(&missing.name);
    let there = entries.iter().map(|entry| entry.version.as_str());
    let version = choose(missing, there, &redacted_url(repository))?;
    let entry = entries.iter().find(|entry| entry.version == version);
    let refused = |why: &str| VendorError::Refused {
        place: redacted_url(repository),
        chart: format!("{} {version}", missing.name),
        why: why.to_owned(),
    };
    let Some(Entry { digest, urls, .. }) = entry else {
        return Err(refused("the index does not have it"));
    };
    let digest = digest.as_deref().unwrap_or_default();
    let digest = format!("sha256:{}", digest.strip_prefix("sha256:").unwrap_or(digest).to_ascii_lowercase());
    let digest: Digest = digest.parse().map_err(|_| refused("the index has no SHA-256 to check it with"))?;
    let url = urls.iter().flatten().next().ok_or_else(|| refused("the index has no URL for it"))?;
    let archive = if let Some(reference) = url.strip_prefix("oci://") {
        Archive::Registry { reference: reference.to_owned(), expected: Some(digest) }
    } else {
        let url = repository.join(url);
        Archive::Url(url.map_err(|_| refused("the index has an invalid URL for it"))?, digest)
    };
    Ok(Chosen { missing, version: version.to_owned(), archive })
}
