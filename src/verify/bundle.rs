//! The newer signature format of cosign: a Sigstore [bundle] that refers to the manifest, with an in-toto statement in a
//! signed DSSE envelope ([`BUNDLE_SPEC`]).
//!
//! [bundle]: https://github.com/sigstore/protobuf-specs/blob/main/protos/sigstore_bundle.proto
//! [`BUNDLE_SPEC`]: https://github.com/sigstore/cosign/blob/main/specs/BUNDLE_SPEC.md

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{PublicKey, Unverified, Verified, cited, decode, parse};
use crate::release::Digest;

/// Media type of a bundle, and artifact type of the manifest whose only layer is the bundle.
pub const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// Predicate type of `cosign sign`; `cosign attest` makes other statements about a manifest with the same key.
pub const PREDICATE: &str = "https://sigstore.dev/cosign/sign/v1";

/// Annotation of an index that repeats the predicate type of a bundle.
pub const PREDICATE_TYPE: &str = "dev.sigstore.bundle.predicateType";

/// Maximum size of a bundle in bytes: besides the envelope it may hold certificates, timestamps and log proofs.
pub const MAX_BUNDLE_BYTES: usize = 1 << 20;

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bundle {
    media_type: String,
    #[serde(default)]
    verification_material: Material,
    dsse_envelope: Option<Envelope>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    certificate: Option<IgnoredAny>,
    x509_certificate_chain: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    payload: String,
    payload_type: String,
    signatures: Vec<Signature>,
}

#[derive(Deserialize)]
struct Signature {
    sig: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Statement {
    #[serde(rename = "_type")]
    kind: String,
    predicate_type: String,
    subject: Vec<Subject>,
}

#[derive(Deserialize)]
struct Subject {
    digest: Digests,
}

#[derive(Deserialize)]
struct Digests {
    sha256: String,
}

/// Checks that the key signed the statement in this bundle, and that it states that this manifest is signed.
pub fn check(key: &PublicKey, manifest: &Digest, bundle: &[u8]) -> Result<Verified, Unverified> {
    let bundle: Bundle = parse(bundle, "the bundle", MAX_BUNDLE_BYTES)?;
    if bundle.media_type != MEDIA_TYPE {
        return Err(Unverified::Malformed(format!(
            "its media type is {:?}, expected {MEDIA_TYPE}",
            cited(&bundle.media_type)
        )));
    }
    let Some(envelope) = bundle.dsse_envelope else {
        return Err(Unverified::Malformed("it has no envelope (dsseEnvelope)".to_owned()));
    };
    let payload = decode(&envelope.payload, "the envelope's payload")?;
    let signature = decode(&only(envelope.signatures, "signatures")?.sig, "the signature")?;
    // Nothing of a statement is parsed before its signature is verified.
    if !key.has_signed(&pre_authentication_encoding(&envelope.payload_type, &payload), &signature) {
        let material = bundle.verification_material;
        let keyless = material.certificate.is_some() || material.x509_certificate_chain.is_some();
        return Err(if keyless { Unverified::Keyless } else { Unverified::WrongSignature });
    }
    if envelope.payload_type != PAYLOAD_TYPE {
        return Err(Unverified::OtherStatement(cited(&envelope.payload_type)));
    }
    states(&payload, manifest)?;
    Ok(Verified { key: key.fingerprint(), reference: None })
}

/// Checks that a signed statement names this manifest, and only this one, as signed.
fn states(payload: &[u8], manifest: &Digest) -> Result<(), Unverified> {
    let statement: Statement = parse(payload, "the statement", MAX_BUNDLE_BYTES)?;
    if statement.kind != STATEMENT_TYPE {
        return Err(Unverified::OtherStatement(cited(&statement.kind)));
    }
    if statement.predicate_type != PREDICATE {
        return Err(Unverified::OtherStatement(cited(&statement.predicate_type)));
    }
    let found = format!("sha256:{}", only(statement.subject, "subjects")?.digest.sha256);
    if found == manifest.to_string() { Ok(()) } else { Err(Unverified::OtherDigest(cited(&found))) }
}

/// Returns the signed bytes of an envelope
/// ([DSSE's protocol](https://github.com/secure-systems-lab/dsse/blob/master/protocol.md)).
fn pre_authentication_encoding(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut encoded = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    encoded.extend_from_slice(payload);
    encoded
}

/// Returns the only element, or an error if there is none or more than one.
fn only<T>(mut all: Vec<T>, what: &'static str) -> Result<T, Unverified> {
    let count = all.len();
    all.pop().filter(|_| count == 1).ok_or(Unverified::Count { what, count })
}
