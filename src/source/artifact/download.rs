//! Downloads of artifacts. No server is trusted: the body is untrusted until its digest is verified.

use std::time::Duration;

use tokio::fs::File;

use super::{Artifact, ArtifactError, ArtifactRef};
use crate::http::{Client, Expected, Options, Request, TransportError, Url, redacted_url};

/// Limits for fetching an artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// Maximum size of the compressed file in bytes.
    pub size: u64,
    /// Timeout for connecting.
    pub connect: Duration,
    /// Timeout from the start to the last byte.
    pub overall: Duration,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self { size: 1 << 30, connect: Duration::from_secs(10), overall: Duration::from_mins(5) }
    }
}

/// Fetches artifacts.
#[derive(Clone, Debug)]
pub struct Download {
    client: Client,
    address: Option<String>,
    limits: FetchLimits,
}

impl Download {
    /// Creates a client that connects to `address` (`host:port`), if given, instead of the host in an artifact's URL. It
    /// follows no redirects, uses no proxies of the environment, and does not retry: the caller knows when a retry is
    /// worthwhile.
    pub fn new(address: Option<&str>, limits: FetchLimits) -> Result<Self, ArtifactError> {
        let FetchLimits { connect, overall, .. } = limits;
        let options = Options { connect, overall, attempts: 1, ..Options::default() };
        let client = Client::plain(options)?;
        Ok(Self { client, address: address.map(str::to_owned), limits })
    }

    /// Fetches an artifact, and returns it if its digest is right.
    pub async fn fetch(&self, artifact: &ArtifactRef) -> Result<Artifact, ArtifactError> {
        let url = self.url(&artifact.url)?;
        let most = self.limits.size;
        if artifact.size.is_some_and(|size| size > most) {
            return Err(TransportError::TooLarge { place: redacted_url(&url), most, unit: "bytes" }.into());
        }
        let answer = self.client.send(&Request::get(url)).await?;
        if answer.status() != 200 {
            return Err(answer.refusal().into());
        }
        let expected = Expected { digest: Some(artifact.digest), size: None, most };
        let file = tempfile::tempfile().map_err(TransportError::Temporary)?;
        let (file, _) = answer.keep(File::from_std(file), expected).await?;
        Ok(Artifact(file.into_std().await))
    }

    /// Returns the URL to request.
    fn url(&self, text: &str) -> Result<Url, ArtifactError> {
        let refuse = |url: &str, why: &str| ArtifactError::Url { url: url.to_owned(), why: why.to_owned() };
        let mut url = Url::parse(text).map_err(|error| refuse(text, &error.to_string()))?;
        if url.scheme() != "http" {
            return Err(refuse(text, "expected http, which source-controller serves"));
        }
        if let Some(address) = &self.address {
            let (host, port) = address.rsplit_once(':').unwrap_or((address, "80"));
            let replaced = port.parse().map(|port| url.set_port(Some(port)));
            if url.set_host(Some(host)).is_err() || replaced != Ok(Ok(())) {
                return Err(refuse(address, "expected an address of the form host:port"));
            }
        }
        Ok(url)
    }
}
