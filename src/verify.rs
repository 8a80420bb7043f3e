//! Whether an OCI artifact was signed with a key, by the two formats of [cosign]: bytes in, verdict out.
//!
//! A signature says which manifest it is for by that manifest's digest, and the manifest names every layer by digest:
//! who has checked both knows each byte of the release. What is checked is the key, and nothing else: no certificate,
//! no identity, no transparency log and no time of signing. Signatures of identities ("keyless") are not for a key to
//! check; `docs/verification.md` says who can.
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

/// The most characters of somebody else's text that an error repeats.
const MOST_CITED: usize = 100;

/// A signature that holds: of this manifest, by this key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The fingerprint of the key.
    pub key: Digest,
    /// What the signer calls the signed repository, where the format has room for it. A mirror has another name, so
    /// this is told and not compared.
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

/// Why one signature does not count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unverified {
    /// The key did not make it, or what was signed was changed.
    #[error("the signature does not match the key and the signed text")]
    WrongSignature,
    /// It was made with the certificate of an identity.
    #[error("it was signed by an identity (keyless), which cannot be verified with a key")]
    Keyless,
    /// It holds, and is for something else.
    #[error("it is the signature of {0:?}, not of this manifest")]
    OtherDigest(String),
    /// It is a statement about the manifest, but not that it is signed: an SBOM, a provenance.
    #[error("it states {0:?}, which is not a signature")]
    OtherStatement(String),
    /// It has none or several of what must be there once.
    #[error("it has {count} {what}, expected one")]
    Count {
        /// What was counted.
        what: &'static str,
        /// How many there are.
        count: usize,
    },
    /// It is not in the format that it should have.
    #[error("it is malformed: {0}")]
    Malformed(String),
    /// No signature is so long.
    #[error("it exceeds the limit of {most} bytes: it has {size}")]
    TooLarge {
        /// Its bytes.
        size: usize,
        /// The most that are read.
        most: usize,
    },
}

/// Bytes that are base64 with the standard alphabet and padding.
fn decode(text: &str, what: &str) -> Result<Vec<u8>, Unverified> {
    use base64::Engine as _;
    let decoded = base64::engine::general_purpose::STANDARD.decode(text);
    decoded.map_err(|error| Unverified::Malformed(format!("{what}: {error}")))
}

/// The JSON in bytes of which there are not too many.
fn parse<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8], what: &str, most: usize) -> Result<T, Unverified> {
    if bytes.len() > most {
        return Err(Unverified::TooLarge { size: bytes.len(), most });
    }
    // What serde says may cite all of it: only where it stands is told.
    serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        Unverified::Malformed(format!("{what}: not the expected JSON (line {line}, column {column})"))
    })
}

/// A text of somebody else's, as much of it as an error repeats.
fn cited(text: &str) -> String {
    text.chars().take(MOST_CITED).collect()
}

#[cfg(test)]
mod tests;
