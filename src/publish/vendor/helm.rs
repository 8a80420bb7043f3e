//! Charts out of Helm repositories.

use reqwest::Url;

use super::{Vendor, VendorError};
use crate::http::{Expected, HttpError, Request, place};
use crate::publish::Vendored;
use crate::publish::dependencies::Missing;
use crate::release::Digest;
use crate::release::chart_index::{self, Entry, Index};

impl Vendor {
    /// The index of a repository.
    pub(super) async fn index(&self, repository: &Url) -> Result<Index, VendorError> {
        let mut url = repository.clone();
        url.set_path(&format!("{}index.yaml", repository.path()));
        let content = self.get(&url, "index.yaml", None, chart_index::LONGEST).await?;
        Index::parse(&content).map_err(|error| VendorError::Index { place: place(&url), error })
    }

    /// The chart of a dependency, as the index of its repository has it.
    pub(super) async fn of_index(
        &self,
        missing: &Missing,
        repository: &Url,
        index: &Index,
        most: u64,
    ) -> Result<Vendored, VendorError> {
        let entries = index.versions(&missing.name);
        let there = entries.iter().map(|entry| entry.version.as_str());
        let version = missing.choose(there, &place(repository))?;
        let entry = entries.iter().find(|entry| entry.version == version);
        let refused = |why: &str| VendorError::Refused {
            place: place(repository),
            chart: format!("{} {version}", missing.name),
            why: why.to_owned(),
        };
        let Some(Entry { digest, urls, .. }) = entry else {
            return Err(refused("the index does not have it"));
        };
        let digest = digest.as_deref().unwrap_or_default();
        let digest =
            format!("sha256:{}", digest.strip_prefix("sha256:").unwrap_or(digest).to_ascii_lowercase());
        let digest: Digest =
            digest.parse().map_err(|_| refused("the index has no SHA-256 for it to be checked with"))?;
        let url = urls.iter().flatten().next().ok_or_else(|| refused("the index has no URL for it"))?;
        if let Some(reference) = url.strip_prefix("oci://") {
            return self.of_reference(missing, version, reference, Some(digest), most).await;
        }
        let url =
            repository.join(url).map_err(|_| refused("the index has no URL for it that can be used"))?;
        let content = self.get(&url, &missing.name, Some(digest), most).await?;
        Ok(Vendored {
            missing: missing.clone(),
            version: version.to_owned(),
            url: place(&url),
            digest,
            content,
        })
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
            let why = "it is not https, and what comes could be anybody's: --plain-http allows http";
            let (place, chart) = (place(url), chart.to_owned());
            return Err(VendorError::Refused { place, chart, why: why.to_owned() });
        }
        let expected = Expected { digest, size: None, most };
        let fetched = self.access.client.download(&Request::get(url.clone()), expected, Vec::new()).await;
        let failed =
            |error: HttpError| VendorError::Origin { chart: chart.to_owned(), error: Box::new(error.into()) };
        fetched.map(|(content, _)| content).map_err(failed)
    }
}

impl Missing {
    /// The version that is fetched, of those that are there.
    pub(super) fn choose<'a>(
        &self,
        there: impl DoubleEndedIterator<Item = &'a str> + Clone,
        place: &str,
    ) -> Result<&'a str, VendorError> {
        let wanted = self.locked.as_deref().unwrap_or(&self.version);
        let chosen = chart_index::choose(there.clone(), wanted)
            .map_err(|error| VendorError::Range { chart: self.name.clone(), error })?;
        chosen.ok_or_else(|| VendorError::NoVersion {
            place: place.to_owned(),
            chart: self.name.clone(),
            version: wanted.to_owned(),
            there: there.map(str::to_owned).collect(),
        })
    }
}
