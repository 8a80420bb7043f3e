//! Reads the manifests and indexes that hold or list the signatures of a manifest in a registry.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Unverified, bundle, parse, simple_signing};
use crate::release::Digest;

/// Maximum size of a manifest or an index in bytes, by the OCI distribution specification.
const MAX_MANIFEST_BYTES: usize = 4 << 20;

/// Maximum number of signatures of a release that are checked. A release has one for each key in use, and one for each
/// time that it was signed again.
pub const MAX_SIGNATURES: usize = 32;

/// Whether a tag attaches something to a manifest by the conventions of cosign and the OCI distribution specification:
/// `sha256-<hex>`, optionally with `.sig`, `.att` or `.sbom`. Such a tag does not name a release.
#[must_use]
pub fn is_tag_of_signatures(tag: &str) -> bool {
    let Some(rest) = tag.strip_prefix("sha256-") else { return false };
    let digits = rest.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count();
    digits == 64 && matches!(rest.get(digits..), Some("" | ".sig" | ".att" | ".sbom"))
}

#[derive(Deserialize)]
struct Manifest {
    layers: Vec<Descriptor>,
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    artifact_type: Option<String>,
    digest: String,
    size: u64,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

impl Descriptor {
    fn annotation(&self, name: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(name).map(String::as_str)
    }

    /// Returns the described blob, or an error if it is larger than `most`.
    fn blob(&self, most: usize) -> Result<Blob, Unverified> {
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        if size > most {
            return Err(Unverified::TooLarge { size, most });
        }
        let digest = self.digest.parse();
        let digest = digest.map_err(|_| Unverified::Malformed("a digest that is not SHA-256".to_owned()))?;
        Ok(Blob { digest, size: self.size })
    }
}

/// A blob in a registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blob {
    /// Digest of the blob.
    pub digest: Digest,
    /// Size in bytes.
    pub size: u64,
}

/// A signed text and its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The signed text.
    pub payload: Blob,
    /// The signature, in base64.
    pub signature: String,
    /// Whether the certificate of an identity is attached.
    pub is_keyless: bool,
}

/// Returns the signatures in the manifest under cosign's tag: one for each layer, at most [`MAX_SIGNATURES`].
pub fn signatures(manifest: &[u8]) -> Result<Vec<Result<Signature, Unverified>>, Unverified> {
    let manifest: Manifest = parse(manifest, "the manifest", MAX_MANIFEST_BYTES)?;
    let layers = manifest.layers.iter().filter(|layer| layer.media_type == simple_signing::LAYER_TYPE);
    Ok(layers.take(MAX_SIGNATURES).map(signature_in).collect())
}

fn signature_in(layer: &Descriptor) -> Result<Signature, Unverified> {
    let signature = layer.annotation(simple_signing::SIGNATURE);
    let missing =
        || Unverified::Malformed(format!("a layer without the annotation {}", simple_signing::SIGNATURE));
    Ok(Signature {
        payload: layer.blob(simple_signing::MAX_PAYLOAD_BYTES)?,
        signature: signature.ok_or_else(missing)?.to_owned(),
        is_keyless: layer.annotation(simple_signing::CERTIFICATE).is_some_and(|value| !value.is_empty()),
    })
}

/// Returns the manifests of bundles in an index of referrers, at most [`MAX_SIGNATURES`]. Skips bundles whose annotation
/// says that they are not signatures; others may still turn out not to be.
pub fn bundles(index: &[u8]) -> Result<Vec<Digest>, Unverified> {
    let index: Index = parse(index, "the index of what refers to the manifest", MAX_MANIFEST_BYTES)?;
    let is_bundle = |found: &&Descriptor| {
        found.artifact_type.as_deref() == Some(bundle::MEDIA_TYPE)
            && found.annotation(bundle::PREDICATE_TYPE).is_none_or(|predicate| predicate == bundle::PREDICATE)
    };
    let bundles = index.manifests.iter().filter(is_bundle).take(MAX_SIGNATURES);
    bundles.map(|found| found.blob(MAX_MANIFEST_BYTES).map(|blob| blob.digest)).collect()
}

/// Returns the bundle that is the only layer of a manifest.
pub fn bundle(manifest: &[u8]) -> Result<Blob, Unverified> {
    let manifest: Manifest = parse(manifest, "the manifest of a bundle", MAX_MANIFEST_BYTES)?;
    match manifest.layers.as_slice() {
        [layer] => layer.blob(bundle::MAX_BUNDLE_BYTES),
        layers => Err(Unverified::Count { what: "layers", count: layers.len() }),
    }
}
