//! The signature that a release in a registry must have: where to find it, and the errors if it is missing. It is verified
//! before a layer of the release is fetched.

use futures::future::BoxFuture;

use crate::error::{Class, Classify as _};
use crate::names::ReleaseName;
use crate::plan::canonical;
use crate::release::Digest;
use crate::source::origin::OriginError;
use crate::verify::identity::Identity;
use crate::verify::stored::{self, Blob, Signature};
use crate::verify::{PublicKey, Unverified, Verified, bundle, simple_signing};

/// Maximum number of reasons that a message names.
const MAX_REASONS: usize = 5;

/// The signature that a release must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verification {
    /// None: everyone who can write to the registry is trusted.
    #[default]
    Nothing,
    /// A signature by one of these keys. An empty list accepts no release.
    Keys(Vec<PublicKey>),
    /// A signature by this identity, which only Flux can verify.
    Identity(Identity),
}

/// Read access to a repository of a registry.
pub trait Repository: Send + Sync {
    /// Fetches a manifest or index by tag or digest, and verifies the digest; `None` if it does not exist.
    fn manifest<'a>(&'a self, reference: &'a str) -> BoxFuture<'a, Result<Option<Vec<u8>>, OriginError>>;

    /// Lists the referrers of a manifest with an artifact type: one index for each page; `None` if the registry does not
    /// have this API.
    fn referrers<'a>(
        &'a self,
        manifest: &'a Digest,
        artifact_type: &'a str,
    ) -> BoxFuture<'a, Result<Option<Vec<Vec<u8>>>, OriginError>>;

    /// Fetches a blob, and verifies its digest and size.
    fn blob<'a>(&'a self, blob: &'a Blob) -> BoxFuture<'a, Result<Vec<u8>, OriginError>>;
}

/// A release in a registry whose signature is verified.
#[derive(Clone, Copy, Debug)]
pub struct Signed<'a> {
    /// Name of the release.
    pub release: &'a ReleaseName,
    /// `oci://host/repository`.
    pub repository: &'a str,
    /// Digest of its manifest.
    pub manifest: &'a Digest,
}

impl Verification {
    /// Finds and verifies the signature, in both of cosign's formats. `None` if none is required.
    pub async fn check(
        &self,
        registry: &dyn Repository,
        signed: Signed<'_>,
    ) -> Result<Option<Verified>, OriginError> {
        match self {
            Self::Nothing => Ok(None),
            Self::Keys(keys) => by_key(registry, signed, keys).await.map(Some),
            Self::Identity(identity) => {
                let Signed { release, repository, manifest } = signed;
                let object = canonical::to_yaml(&identity.checked_by_flux(release, repository, manifest));
                Err(signed.unverified(format!(
                    "stackflux verifies signatures by a key (--key); only Flux can verify one by an identity \
                     (keyless). Apply this object where Flux runs, wait until its condition SourceVerified is \
                     True, and publish with --digest {manifest} instead of the identity:\n\n{object}"
                )))
            }
        }
    }
}

impl Signed<'_> {
    fn unverified(&self, error: String) -> OriginError {
        OriginError::Unverified { place: format!("{}@{}", self.repository, self.manifest), error }
    }
}

async fn by_key(
    registry: &dyn Repository,
    signed: Signed<'_>,
    keys: &[PublicKey],
) -> Result<Verified, OriginError> {
    let mut search = Search { registry, signed, keys, reasons: Vec::new() };
    if let Some(verified) = search.under_the_tag().await? {
        return Ok(verified);
    }
    if let Some(verified) = search.in_bundles().await? {
        return Ok(verified);
    }
    Err(search.not_found())
}

/// A search for a valid signature, with the reasons why none was accepted so far.
struct Search<'a> {
    registry: &'a dyn Repository,
    signed: Signed<'a>,
    keys: &'a [PublicKey],
    reasons: Vec<(String, String)>,
}

impl Search<'_> {
    /// Searches the older format.
    async fn under_the_tag(&mut self) -> Result<Option<Verified>, OriginError> {
        let tag = simple_signing::tag(self.signed.manifest);
        let manifest = self.registry.manifest(&tag).await;
        let Some(manifest) = self.unless_broken(&tag, manifest)?.flatten() else { return Ok(None) };
        let signatures = self.take(&tag, stored::signatures(&manifest)).unwrap_or_default();
        for (layer, signature) in signatures.into_iter().enumerate() {
            let place = format!("{tag}, layer {}", layer + 1);
            let Some(Signature { payload, signature, is_keyless }) = self.take(&place, signature) else {
                continue;
            };
            let payload = self.registry.blob(&payload).await;
            let Some(payload) = self.unless_broken(&place, payload)? else { continue };
            let manifest = self.signed.manifest;
            let mut checked = self.by_any(|key| simple_signing::check(key, manifest, &payload, &signature));
            if is_keyless && checked == Err(Unverified::WrongSignature) {
                checked = Err(Unverified::Keyless);
            }
            if let Some(verified) = self.take(&place, checked) {
                return Ok(Some(verified));
            }
        }
        Ok(None)
    }

    /// Searches the newer format.
    async fn in_bundles(&mut self) -> Result<Option<Verified>, OriginError> {
        let manifest = self.signed.manifest;
        let mut found = Vec::new();
        for index in self.indexes().await? {
            found.extend(self.take("the index of referrers", stored::bundles(&index)).unwrap_or_default());
        }
        for digest in found.into_iter().take(stored::MAX_SIGNATURES) {
            let place = format!("bundle {digest}");
            let holder = self.registry.manifest(&digest.to_string()).await;
            let Some(holder) = self.unless_broken(&place, holder)?.flatten() else { continue };
            let Some(blob) = self.take(&place, stored::bundle(&holder)) else { continue };
            let bytes = self.registry.blob(&blob).await;
            let Some(bytes) = self.unless_broken(&place, bytes)? else { continue };
            if let Some(verified) = self.take(&place, self.by_any(|key| bundle::check(key, manifest, &bytes)))
            {
                return Ok(Some(verified));
            }
        }
        Ok(None)
    }

    /// Lists the referrers of the manifest: from the API, or under a tag if the registry does not have it.
    async fn indexes(&self) -> Result<Vec<Vec<u8>>, OriginError> {
        let manifest = self.signed.manifest;
        if let Some(pages) = self.registry.referrers(manifest, bundle::MEDIA_TYPE).await? {
            return Ok(pages);
        }
        let tag = manifest.to_string().replace(':', "-");
        Ok(self.registry.manifest(&tag).await?.into_iter().collect())
    }

    /// Returns the value that was read. A permanent failure only rejects one signature; a transient one ends the search.
    fn unless_broken<T>(
        &mut self,
        place: &str,
        read: Result<T, OriginError>,
    ) -> Result<Option<T>, OriginError> {
        match read {
            Ok(read) => Ok(Some(read)),
            Err(error) if error.class() == Class::Transient => Err(error),
            Err(error) => {
                self.reasons.push((place.to_owned(), error.to_string()));
                Ok(None)
            }
        }
    }

    /// Returns the verdict of the key that made the signature, if one did.
    fn by_any(
        &self,
        check: impl Fn(&PublicKey) -> Result<Verified, Unverified>,
    ) -> Result<Verified, Unverified> {
        let mut verdict = Err(Unverified::WrongSignature);
        for key in self.keys {
            verdict = check(key);
            if !matches!(verdict, Err(Unverified::WrongSignature | Unverified::Keyless)) {
                break;
            }
        }
        verdict
    }

    fn take<T>(&mut self, place: &str, result: Result<T, Unverified>) -> Option<T> {
        result.map_err(|error| self.reasons.push((place.to_owned(), error.to_string()))).ok()
    }

    fn not_found(&self) -> OriginError {
        if self.reasons.is_empty() {
            let tag = simple_signing::tag(self.signed.manifest);
            return self.signed.unverified(format!(
                "it is not signed: there is no tag {tag} and no cosign bundle that refers to it"
            ));
        }
        let keys: Vec<String> = self.keys.iter().map(|key| key.fingerprint().to_string()).collect();
        let mut lines = vec![match keys.as_slice() {
            [key] => format!("no signature by the key {key}:"),
            keys => format!("no signature by one of {} keys ({}):", keys.len(), keys.join(", ")),
        }];
        let reasons = self.reasons.iter().take(MAX_REASONS);
        lines.extend(reasons.map(|(place, reason)| format!("  {place}: {reason}")));
        if let Some(more) = self.reasons.len().checked_sub(MAX_REASONS).filter(|more| *more > 0) {
            lines.push(format!("  and {more} more"));
        }
        self.signed.unverified(lines.join("\n"))
    }
}

#[cfg(test)]
mod tests;
