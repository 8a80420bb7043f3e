//! Releases in an OCI registry: one repository, one tag for each release, one layer for each file.
//!
//! A layer's annotation `org.opencontainers.image.title` is the name of the file. Media types are ignored, because they
//! differ between the programs that push releases. Every byte is verified: a manifest against the requested digest and the
//! one that the registry names, a layer against the size and digest in its descriptor.

mod access;
pub mod challenge;
pub mod credentials;
mod endpoint;
mod login;
pub mod manifest;
mod realm;
mod registry;
pub mod signatures;

use futures::future::BoxFuture;
use futures::{StreamExt as _, TryStreamExt as _};

pub use access::{Access, Mirror, MirrorError};
pub use endpoint::Reference;
pub use registry::{Pulled, Registry};

use super::address::OciAddress;
use super::origin::{Description, Fetched, Listing, Origin, OriginError, Provenance};
use crate::http::TransportError;
use crate::names::ReleaseName;
use crate::release::{Digest, File, Files, Limits, summary};
use crate::verify::{Verified, stored};
use manifest::Descriptor;
use signatures::{Signed, Verification};

/// Number of layers fetched at a time.
const AT_A_TIME: usize = 4;

/// The releases in a repository of a registry.
#[derive(Debug)]
pub struct OciOrigin {
    address: OciAddress,
    registry: Registry,
    verification: Verification,
    limits: Limits,
}

impl OciOrigin {
    /// Opens the repository of an address. A digest in the address requires a release. Sends nothing, but may run a
    /// credential helper.
    pub async fn open(address: &OciAddress, access: &Access, limits: Limits) -> Result<Self, OriginError> {
        if address.digest.is_some() && address.release.is_none() {
            return Err(OriginError::Settings(format!(
                "{address}: a digest identifies one release, but no release is named: write :release before the digest"
            )));
        }
        let registry = Registry::open(address, access).await?;
        let verification = access.verification.clone();
        Ok(Self { address: address.clone(), registry, verification, limits })
    }

    /// Returns the registry, for its other content: signatures, charts.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Fetches the manifest of a release: by the digest in the address, if it is for this release, or otherwise by tag.
    pub async fn manifest(&self, name: &ReleaseName) -> Result<Pulled, OriginError> {
        let reference = match self.pinned(name) {
            Some(digest) => Reference::Digest(digest),
            None => Reference::Tag(name.to_string()),
        };
        self.registry.manifest(&reference).await.map_err(|error| match error {
            OriginError::Transport(TransportError::Status { place, status: 404, .. }) => {
                OriginError::NoRelease { place, name: Box::new(name.clone()) }
            }
            error => error,
        })
    }

    /// Returns the digest in the address, if it is for this release.
    fn pinned(&self, name: &ReleaseName) -> Option<Digest> {
        self.address.digest.filter(|_| self.address.release.as_ref() == Some(name))
    }

    /// Fetches the manifest of a release, and verifies its signature before anything that it names is fetched.
    async fn verified(&self, name: &ReleaseName) -> Result<(Pulled, Option<Verified>), OriginError> {
        let pulled = self.manifest(name).await?;
        let repository = self.address.without_release().to_string();
        let signed = Signed { release: name, repository: &repository, manifest: &pulled.named };
        let verified = self.verification.check(&self.registry, signed).await?;
        Ok((pulled, verified))
    }

    /// Fetches layers as files.
    async fn files(&self, layers: Vec<(String, Descriptor)>) -> Result<Files, OriginError> {
        let fetched = futures::stream::iter(layers.into_iter().map(|layer| self.file(layer)));
        let fetched: Vec<_> = fetched.buffered(AT_A_TIME).try_collect().await?;
        let mut files = Files::default();
        for (title, file) in fetched {
            files.insert(&title, file).map_err(|error| self.malformed(format!("{title:?}: {error}")))?;
        }
        Ok(files)
    }

    async fn file(&self, (title, layer): (String, Descriptor)) -> Result<(String, File), OriginError> {
        let content = self.registry.blob(&layer, self.limits.unpacked).await?;
        Ok((title, File { content, executable: false }))
    }

    async fn described(&self, name: &ReleaseName) -> Result<Description, OriginError> {
        let (Pulled { digest, manifest, .. }, _) = self.verified(name).await?;
        let layers = manifest.files(&self.limits).map_err(|error| self.malformed(error))?;
        let small: Vec<_> =
            layers.into_iter().filter(|(title, _)| summary::FILES.contains(&title.as_str())).collect();
        if let Some((title, layer)) =
            small.iter().find(|(_, layer)| layer.size > self.limits.yaml_file as u64)
        {
            let (most, has) = (self.limits.yaml_file, layer.size);
            let error = format!("{title} exceeds the limit of {most} bytes: it has {has}");
            return Err(self.malformed(error));
        }
        let files = self.files(small).await?;
        let unusable = |findings| OriginError::Unusable { place: self.source(name, None), findings };
        let description = Description::of(name, &files).map_err(unusable)?;
        Ok(Description { digest: Some(digest.to_string()), date: manifest.created(), ..description })
    }

    async fn fetched(&self, name: &ReleaseName) -> Result<Fetched, OriginError> {
        let (Pulled { digest, manifest, .. }, verified) = self.verified(name).await?;
        let layers = manifest.files(&self.limits).map_err(|error| self.malformed(error))?;
        let files = self.files(layers).await?;
        let source = self.source(name, Some(digest));
        let provenance = Provenance {
            source,
            digest: Some(digest.to_string()),
            verified: verified.map(|verified| verified.to_string()),
            is_pinned: self.pinned(name).is_some(),
        };
        Ok(Fetched { name: name.clone(), files, provenance })
    }

    fn malformed(&self, error: String) -> OriginError {
        TransportError::Malformed { place: self.address.to_string(), error }.into()
    }

    /// Returns the address of a release.
    fn source(&self, name: &ReleaseName, digest: Option<Digest>) -> String {
        OciAddress { release: Some(name.clone()), digest, ..self.address.clone() }.to_string()
    }
}

impl Origin for OciOrigin {
    fn list(&self) -> BoxFuture<'_, Result<Listing, OriginError>> {
        Box::pin(async {
            let tags = self.registry.tags().await?;
            Ok(Listing::of(tags.iter().filter(|tag| !stored::is_tag_of_signatures(tag))))
        })
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
