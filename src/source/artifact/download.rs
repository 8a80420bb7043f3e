//! The fetching of artifacts. What answers may be anybody: the body is hostile until its digest is right.

use std::io;
use std::time::Duration;

use reqwest::{Client, Response, Url, redirect};
use sha2::{Digest as _, Sha256};
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use super::{Artifact, ArtifactError, ArtifactRef};
use crate::release::Digest;

/// How much, and how long, an artifact may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchLimits {
    /// The file, packed, in bytes.
    pub size: u64,
    /// Until there is a connection.
    pub connect: Duration,
    /// From the beginning to the last byte.
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
    /// A client that asks `address` (`host:port`) instead of the host in an artifact's URL, where one is given.
    /// Neither redirects nor the environment's proxies are followed.
    pub fn new(address: Option<&str>, limits: FetchLimits) -> Result<Self, ArtifactError> {
        let client = Client::builder()
            .connect_timeout(limits.connect)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .user_agent(concat!("stackflux/", env!("CARGO_PKG_VERSION")))
            .build();
        let client = client.map_err(|error| ArtifactError::Temporary(io::Error::other(error)))?;
        Ok(Self { client, address: address.map(str::to_owned), limits })
    }

    /// Fetches an artifact, and returns it if its digest is right.
    pub async fn fetch(&self, artifact: &ArtifactRef) -> Result<Artifact, ArtifactError> {
        let url = self.url(&artifact.url)?;
        if artifact.size.is_some_and(|size| size > self.limits.size) {
            return Err(self.too_large(&url));
        }
        let after = self.limits.overall;
        match timeout(after, self.receive(&url, artifact)).await {
            Ok(fetched) => fetched,
            Err(_) => Err(ArtifactError::Timeout { url: url.into(), after }),
        }
    }

    /// The URL that is asked.
    fn url(&self, text: &str) -> Result<Url, ArtifactError> {
        let refuse = |url: &str, why: &str| ArtifactError::Url { url: url.to_owned(), why: why.to_owned() };
        let mut url = Url::parse(text).map_err(|error| refuse(text, &error.to_string()))?;
        if url.scheme() != "http" {
            return Err(refuse(text, "source-controller serves http"));
        }
        if let Some(address) = &self.address {
            let (host, port) = address.rsplit_once(':').unwrap_or((address, "80"));
            let replaced = port.parse().map(|port| url.set_port(Some(port)));
            if url.set_host(Some(host)).is_err() || replaced != Ok(Ok(())) {
                return Err(refuse(address, "it is no address of the form host:port"));
            }
        }
        Ok(url)
    }

    async fn receive(&self, url: &Url, artifact: &ArtifactRef) -> Result<Artifact, ArtifactError> {
        let answer = self.client.get(url.clone()).send().await;
        let answer = answer.map_err(|error| self.failed(url, &error))?;
        if answer.status() != 200 {
            return Err(ArtifactError::Status { url: url.to_string(), status: answer.status().as_u16() });
        }
        let (file, found) = self.keep(url, answer).await?;
        if found != artifact.digest {
            return Err(ArtifactError::Digest { url: url.to_string(), expected: artifact.digest, found });
        }
        Ok(Artifact(file))
    }

    /// Writes the body to a file without a name.
    async fn keep(&self, url: &Url, mut answer: Response) -> Result<(std::fs::File, Digest), ArtifactError> {
        let mut left = self.limits.size;
        if answer.content_length().is_some_and(|length| length > left) {
            return Err(self.too_large(url));
        }
        let mut file = File::from_std(tempfile::tempfile().map_err(ArtifactError::Temporary)?);
        let mut hash = Sha256::new();
        while let Some(bytes) = answer.chunk().await.map_err(|error| self.failed(url, &error))? {
            left = left.checked_sub(bytes.len() as u64).ok_or_else(|| self.too_large(url))?;
            hash.update(&bytes);
            file.write_all(&bytes).await.map_err(ArtifactError::Temporary)?;
        }
        file.flush().await.map_err(ArtifactError::Temporary)?;
        Ok((file.into_std().await, Digest::of_hashed(hash)))
    }

    fn too_large(&self, url: &Url) -> ArtifactError {
        ArtifactError::TooLarge { url: url.to_string(), most: self.limits.size }
    }

    fn failed(&self, url: &Url, error: &reqwest::Error) -> ArtifactError {
        let url = url.to_string();
        // The innermost error says what happened; those around it only where.
        let mut cause: &dyn std::error::Error = error;
        while let Some(source) = cause.source() {
            cause = source;
        }
        let text = cause.to_string();
        if error.is_timeout() {
            ArtifactError::Timeout { url, after: self.limits.connect }
        } else if error.is_connect() {
            ArtifactError::Unreachable { url, error: text }
        } else {
            ArtifactError::Interrupted { url, error: text }
        }
    }
}
