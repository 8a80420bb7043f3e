//! A repository of a registry: tries its mirrors, then the registry itself.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use tokio::sync::Mutex;

use super::access::{Access, Mirror};
use super::endpoint::{Endpoint, Received, Reference};
use super::login::Login;
use super::manifest::{Descriptor, Document, Manifest};
use super::signatures::Repository;
use crate::http::{TransportError, Url};
use crate::release::Digest;
use crate::release::files::join;
use crate::source::address::OciAddress;
use crate::source::origin::OriginError;
use crate::verify::stored::Blob;

/// Host of Docker Hub's API, which differs from the name in addresses.
const DOCKER_HUB: &str = "registry-1.docker.io";

/// A fetched manifest.
#[derive(Clone, Debug)]
pub struct Pulled {
    /// Digest of its bytes.
    pub digest: Digest,
    /// Digest that the reference resolved to, which is the signed one: of this manifest, or of the index that contains only
    /// this manifest.
    pub named: Digest,
    /// Its bytes, to which signatures refer.
    pub bytes: Vec<u8>,
    /// The parsed manifest.
    pub manifest: Manifest,
}

impl Pulled {
    fn of(Received { bytes, digest, .. }: Received, named: Digest, manifest: Manifest) -> Self {
        Self { digest, named, bytes, manifest }
    }
}

/// A repository of a registry, to pull from.
#[derive(Debug)]
pub struct Registry {
    mirrors: Vec<Endpoint>,
    origin: Endpoint,
}

impl Registry {
    /// Opens the repository of an address. Sends nothing, but may run a credential helper.
    pub async fn open(address: &OciAddress, access: &Access) -> Result<Self, OriginError> {
        let OciAddress { registry, repository, .. } = address;
        let is_hub = matches!(registry.as_str(), "docker.io" | "index.docker.io");
        let host = if is_hub { DOCKER_HUB } else { registry };
        let library = format!("library/{repository}");
        let repository = if is_hub && !repository.contains('/') { &library } else { repository };
        let mut mirrors = Vec::new();
        for mirror in access.mirrors.iter().filter(|mirror| mirror.registry.eq_ignore_ascii_case(registry)) {
            mirrors.push(mirror_endpoint(mirror, repository, access).await?);
        }
        let scheme = if access.plain_http { "http" } else { "https" };
        let url = Url::parse(&format!("{scheme}://{host}/"));
        let url = url.map_err(|_| OriginError::Settings(format!("invalid host {host:?}")))?;
        let origin = endpoint(&url, registry, repository, true, access).await?;
        Ok(Self { mirrors, origin })
    }

    /// Fetches a manifest, and verifies it against the reference. An index of one manifest resolves to that manifest.
    pub async fn manifest(&self, reference: &Reference) -> Result<Pulled, OriginError> {
        reference.check()?;
        let received = self.document(reference).await?;
        let named = received.digest;
        let entries = match received.parse()? {
            Document::Manifest(manifest) => return Ok(Pulled::of(received, named, manifest)),
            Document::Index(entries) => entries,
        };
        let [entry] = entries.as_slice() else {
            let count = entries.len();
            return Err(received.refused(format!(
                "it is a list of {count} manifests, but a release has one: name its digest"
            )));
        };
        let received = self.document(&Reference::Digest(entry.digest)).await?;
        match received.parse()? {
            Document::Manifest(manifest) => Ok(Pulled::of(received, named, manifest)),
            Document::Index(_) => Err(received.refused("it is a list of a list of manifests".to_owned())),
        }
    }

    /// Fetches a blob, and verifies its size and digest. Refuses more than `most` bytes.
    pub async fn blob(&self, blob: &Descriptor, most: u64) -> Result<Vec<u8>, OriginError> {
        for mirror in self.mirrors() {
            match mirror.blob(blob, most).await {
                Err(failure) if mirror.should_skip_after(&failure) => {}
                result => return result,
            }
        }
        self.origin.blob(blob, most).await
    }

    /// Lists all tags.
    pub async fn tags(&self) -> Result<BTreeSet<String>, OriginError> {
        for mirror in self.mirrors() {
            match mirror.tags().await {
                Err(failure) if mirror.should_skip_after(&failure) => {}
                result => return result,
            }
        }
        self.origin.tags().await.map_err(|error| match error {
            OriginError::Transport(TransportError::Status { place, status: 404, .. }) => {
                OriginError::NotFound { place, what: "the repository".to_owned() }
            }
            error => error,
        })
    }

    /// Lists the referrers of a manifest, page by page; `None` if the registry does not have this API.
    pub(super) async fn referrers(
        &self,
        manifest: &Digest,
        artifact_type: &str,
    ) -> Result<Option<Vec<Vec<u8>>>, OriginError> {
        for mirror in self.mirrors() {
            match mirror.referrers(manifest, artifact_type).await {
                Err(failure) if mirror.should_skip_after(&failure) => {}
                result => return result.map(Some),
            }
        }
        match self.origin.referrers(manifest, artifact_type).await {
            // Registries before version 1.1 of the specification lack this API; some answer 405.
            Err(error) if matches!(error.status(), Some(404 | 405)) => Ok(None),
            result => result.map(Some),
        }
    }

    /// Fetches the bytes of a manifest or index, and verifies them against the reference.
    pub(super) async fn document(&self, reference: &Reference) -> Result<Received, OriginError> {
        for mirror in self.mirrors() {
            match mirror.manifest(reference).await {
                Err(failure) if mirror.should_skip_after(&failure) => {}
                result => return result,
            }
        }
        self.origin.manifest(reference).await
    }

    /// Returns the mirrors that are not known to be down.
    fn mirrors(&self) -> impl Iterator<Item = &Endpoint> {
        self.mirrors.iter().filter(|mirror| !mirror.is_down.load(Ordering::Relaxed))
    }
}

impl Repository for Registry {
    fn manifest<'a>(&'a self, reference: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, OriginError>> {
        let reference =
            reference.parse().map_or_else(|_| Reference::Tag(reference.to_owned()), Reference::Digest);
        Box::pin(async move {
            match self.document(&reference).await {
                Ok(received) => Ok(Some(received.bytes)),
                Err(OriginError::NotFound { .. }) => Ok(None),
                Err(error) if error.status() == Some(404) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    fn referrers<'a>(
        &'a self,
        manifest: &'a Digest,
        artifact_type: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<Vec<u8>>>, OriginError>> {
        Box::pin(self.referrers(manifest, artifact_type))
    }

    fn blob<'a>(&'a self, blob: &'a Blob) -> BoxFuture<'a, Result<Vec<u8>, OriginError>> {
        Box::pin(async {
            let Blob { digest, size } = *blob;
            let (media_type, annotations) = Default::default();
            let descriptor = Descriptor { media_type, digest, size, annotations };
            self.blob(&descriptor, size).await
        })
    }
}

async fn mirror_endpoint(
    mirror: &Mirror,
    repository: &str,
    access: &Access,
) -> Result<Endpoint, OriginError> {
    let host = mirror.url.host_str().unwrap_or_default();
    let host = mirror.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let prefix = mirror.url.path().trim_matches('/');
    endpoint(&mirror.url, &host, &join(prefix, repository), false, access).await
}

/// Creates the endpoint of a repository, with the credentials for its host.
async fn endpoint(
    registry: &Url,
    host: &str,
    repository: &str,
    is_named: bool,
    access: &Access,
) -> Result<Endpoint, OriginError> {
    let base = registry.join(&format!("/v2/{repository}/"));
    let base = base.map_err(|_| OriginError::Settings(format!("{repository:?} cannot be part of a URL")))?;
    let credentials = access.keychain.of(host, repository, is_named).await?;
    let login = Login {
        http: access.client.clone(),
        registry: base.clone(),
        repository: repository.to_owned(),
        credentials,
        realms: access.realms.clone(),
        current: Mutex::new(None),
    };
    Ok(Endpoint { http: access.client.clone(), base, login, is_down: AtomicBool::new(false) })
}
