//! Verifies that an OCI artifact was signed with a key, in both signature formats of [cosign]: bytes in, verdict out.
//!
//! A signature names its manifest by digest, and the manifest names every layer by digest, so verifying both covers each
//! byte of the release. Only the key is verified: no certificate, no identity, no transparency log and no signing time.
//! Signatures of identities ("keyless") cannot be verified with a key; `docs/reference/verification.md` describes how Flux verifies
//! them.
//!
//! [cosign]: https://github.com/sigstore/cosign/blob/main/specs

pub mod bundle;
pub mod identity;
pub mod key;
pub mod simple_signing;
pub mod stored;

use std::fmt;

use crate::release::Digest;

pub use key::{KeyError, PublicKey};

/// Maximum number of characters of foreign text that an error quotes.
const MAX_CITED: usize = 100;

/// A valid signature of this manifest by this key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Fingerprint of the key.
    pub key: Digest,
    /// The signer's name for the repository, if the format has one. Shown but not compared: a mirror has another name.
    pub reference: Option<String>,
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cosign, key {}", self.key)?;
        match &self.reference {
            Some(reference) => write!(f, ", signed as {reference}"),
            None => Ok(()),
        }
    }
}

/// Reason for not accepting a signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unverified {
    /// The key did not make the signature, or the signed text was changed.
    #[error("the signature does not match the key and the signed text")]
    WrongSignature,
    /// The signature was made with the certificate of an identity.
    #[error("it was signed by an identity (keyless), which cannot be verified with a key")]
    Keyless,
    /// The signature is valid, but for another manifest.
    #[error("it is the signature of {0:?}, not of this manifest")]
    OtherDigest(String),
    /// The signed statement is not a signature of the manifest but, for example, an SBOM or a provenance.
    #[error("it states {0:?}, which is not a signature")]
    OtherStatement(String),
    /// A part that must be there once is missing or repeated.
    #[error("it has {count} {what}, expected one")]
    Count {
        /// The counted part.
        what: &'static str,
        /// The number found.
        count: usize,
    },
    /// The signature is not in the expected format.
    #[error("it is malformed: {0}")]
    Malformed(String),
    /// The signature is larger than the limit.
    #[error("it exceeds the limit of {most} bytes: it has {size}")]
    TooLarge {
        /// Size in bytes.
        size: usize,
        /// The limit in bytes.
        most: usize,
    },
}

/// Decodes base64 with the standard alphabet and padding.
fn decode(text: &str, what: &str) -> Result<Vec<u8>, Unverified> {
    use base64::Engine as _;
    let decoded = base64::engine::general_purpose::STANDARD.decode(text);
    decoded.map_err(|error| Unverified::Malformed(format!("{what}: {error}")))
}

/// Parses JSON of at most `most` bytes.
fn parse<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8], what: &str, most: usize) -> Result<T, Unverified> {
    if bytes.len() > most {
        return Err(Unverified::TooLarge { size: bytes.len(), most });
    }
    // serde's message may quote all of it: report only the position.
    serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        Unverified::Malformed(format!("{what}: not the expected JSON (line {line}, column {column})"))
    })
}

/// Shortens a foreign text for an error.
fn cited(text: &str) -> String {
    text.chars().take(MAX_CITED).collect()
}

#[cfg(test)]
mod tests;
