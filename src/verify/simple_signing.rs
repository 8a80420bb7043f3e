//! The older signature format of cosign: a text that names the manifest (Red Hat's [simple signing]), stored as a layer of
//! the manifest `sha256-<hex>.sig`, with its signature in an annotation of that layer ([`SIGNATURE_SPEC`]).
//!
//! [simple signing]: https://github.com/containers/image/blob/main/docs/containers-signature.5.md
//! [`SIGNATURE_SPEC`]: https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md

use serde::Deserialize;

use super::{PublicKey, Unverified, Verified, cited, decode, parse};
use crate::release::Digest;

/// Media type of a layer with a signed text.
pub const LAYER_TYPE: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// Annotation of the layer with the signature, in base64.
pub const SIGNATURE: &str = "dev.cosignproject.cosign/signature";

/// Annotation of the layer with the certificate, if an identity signed.
pub const CERTIFICATE: &str = "dev.sigstore.cosign/certificate";

/// Maximum size of a signed text in bytes: it has a digest, a reference and the signer's annotations.
pub const MAX_PAYLOAD_BYTES: usize = 128 << 10;

/// Maximum length of a reference (a domain name, a repository of 255 characters, a tag of 128).
const MAX_REFERENCE_BYTES: usize = 640;

#[derive(Deserialize)]
struct Payload {
    critical: Critical,
}

#[derive(Deserialize)]
struct Critical {
    identity: Identity,
    image: Image,
    r#type: String,
}

#[derive(Deserialize)]
struct Identity {
    #[serde(rename = "docker-reference")]
    reference: String,
}

#[derive(Deserialize)]
struct Image {
    #[serde(rename = "docker-manifest-digest")]
    digest: String,
}

/// Returns the tag of the signatures of a manifest: `sha256-<hex>.sig`.
#[must_use]
pub fn tag(manifest: &Digest) -> String {
    format!("{}.sig", manifest.to_string().replace(':', "-"))
}

/// Checks that the key signed this text, and that the text names this manifest. `signature` is base64, as in the
/// annotation.
pub fn check(
    key: &PublicKey,
    manifest: &Digest,
    payload: &[u8],
    signature: &str,
) -> Result<Verified, Unverified> {
    if payload.len() > MAX_PAYLOAD_BYTES {
        return Err(Unverified::TooLarge { size: payload.len(), most: MAX_PAYLOAD_BYTES });
    }
    // Nothing of a text is parsed before its signature is verified.
    if !key.has_signed(payload, &decode(signature.trim(), "the signature")?) {
        return Err(Unverified::WrongSignature);
    }
    let Payload { critical: Critical { identity, image, r#type } } =
        parse(payload, "the signed text", MAX_PAYLOAD_BYTES)?;
    if r#type != "cosign container image signature" {
        return Err(Unverified::OtherStatement(cited(&r#type)));
    }
    if image.digest != manifest.to_string() {
        return Err(Unverified::OtherDigest(cited(&image.digest)));
    }
    let reference = identity.reference;
    if reference.len() > MAX_REFERENCE_BYTES
        || !reference.chars().all(|character| character.is_ascii_graphic())
    {
        return Err(Unverified::Malformed("docker-reference is not the name of a repository".to_owned()));
    }
    let reference = Some(reference).filter(|reference| !reference.is_empty());
    Ok(Verified { key: key.fingerprint(), reference })
}
