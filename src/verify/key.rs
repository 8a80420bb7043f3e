//! The public key that must have signed releases: ECDSA on P-256 in PEM, as cosign makes it.

use std::fmt;
use std::str::FromStr;

use ring::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};

use crate::release::Digest;

/// Maximum size of a file with one public key.
const MAX_KEY_BYTES: usize = 16 << 10;

/// Prefix of the 65 bytes of an uncompressed point in the `SubjectPublicKeyInfo` of a P-256 key (RFC 5480). DER has one
/// encoding of it, so it need not be parsed.
const P256: &[u8] = b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00";

/// Object identifiers of other kinds of key, with the error that names each.
const OTHERS: [(&[u8], KeyError); 5] = [
    (b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01", KeyError::Unsupported("an RSA key")),
    (b"\x06\x05\x2b\x81\x04\x00\x22", KeyError::Unsupported("an ECDSA key on P-384")),
    (b"\x06\x05\x2b\x81\x04\x00\x23", KeyError::Unsupported("an ECDSA key on P-521")),
    (b"\x06\x05\x2b\x81\x04\x00\x0a", KeyError::Unsupported("an ECDSA key on secp256k1")),
    (b"\x06\x03\x2b\x65\x70", KeyError::Ed25519),
];

/// An invalid or unsupported public key. No error quotes the text, which may be a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The key is a private key.
    #[error(
        "this is a private key; give the public one (`cosign public-key --key cosign.key`, `openssl pkey -pubout`)"
    )]
    Private,
    /// The text is a certificate.
    #[error("this is a certificate; give the public key in it (`openssl x509 -pubkey -noout`)")]
    Certificate,
    /// The text is an SSH key.
    #[error("this is an SSH key; cosign's keys are PEM and begin with -----BEGIN PUBLIC KEY-----")]
    Ssh,
    /// The kind of key is not supported.
    #[error("this is {0}; only ECDSA keys on P-256 are supported, as `cosign generate-key-pair` makes them")]
    Unsupported(&'static str),
    /// The key is an Ed25519 key, with which cosign signs in a form of its own.
    #[error(
        "this is an Ed25519 key: cosign signs with it in the pre-hashed form (Ed25519ph), which is not supported; \
         only ECDSA keys on P-256 are supported, as `cosign generate-key-pair` makes them"
    )]
    Ed25519,
    /// The text has more than one PEM block: it would not be clear which key must have signed.
    #[error("there is more than one PEM block; expected one public key")]
    Several,
    /// The text is not a public key.
    #[error("invalid public key: {0}")]
    Malformed(&'static str),
}

/// A key to verify signatures with.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// The uncompressed point.
    point: Vec<u8>,
    fingerprint: Digest,
}

impl PublicKey {
    /// Returns the SHA-256 of the key as DER, as `openssl pkey -pubin -in cosign.pub -outform DER | sha256sum` prints it.
    #[must_use]
    pub fn fingerprint(&self) -> Digest {
        self.fingerprint
    }

    /// Whether this key made the signature (DER) of the message.
    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &self.point).verify(message, signature).is_ok()
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.fingerprint)
    }
}

/// Parses a `SubjectPublicKeyInfo` in PEM (RFC 7468). No other block may follow.
impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        if text.len() > MAX_KEY_BYTES {
            return Err(KeyError::Malformed("it exceeds the limit of 16 KiB"));
        }
        let der = body(text)?;
        match der.strip_prefix(P256) {
            // An uncompressed point begins with 4.
            Some(point) if point.len() == 65 && point.first() == Some(&4) => {
                Ok(Self { point: point.to_vec(), fingerprint: Digest::of_bytes(&der) })
            }
            _ => Err(refusal(&der)),
        }
    }
}

/// Returns the bytes of the single PEM block.
fn body(text: &str) -> Result<Vec<u8>, KeyError> {
    let mut lines = text.lines().map(str::trim);
    let label = lines.by_ref().find_map(|line| line.strip_prefix("-----BEGIN ")?.strip_suffix("-----"));
    match label {
        Some("PUBLIC KEY") => {}
        Some("RSA PUBLIC KEY") => return Err(KeyError::Unsupported("an RSA key")),
        Some(label) if label.contains("PRIVATE KEY") => return Err(KeyError::Private),
        Some(label) if label.contains("CERTIFICATE") => return Err(KeyError::Certificate),
        Some(label) if label.starts_with("PGP ") => return Err(KeyError::Unsupported("a PGP key")),
        Some(label) if label.starts_with("SSH2 ") => return Err(KeyError::Ssh),
        Some(_) => return Err(KeyError::Malformed("expected -----BEGIN PUBLIC KEY-----")),
        None if ["ssh-", "ecdsa-sha2-", "sk-"].iter().any(|mark| text.trim_start().starts_with(mark)) => {
            return Err(KeyError::Ssh);
        }
        None => return Err(KeyError::Malformed("expected PEM that begins with -----BEGIN PUBLIC KEY-----")),
    }
    let mut encoded = String::new();
    let mut ended = false;
    for line in lines.by_ref() {
        if line == "-----END PUBLIC KEY-----" {
            ended = true;
            break;
        }
        encoded.push_str(line);
    }
    if !ended {
        return Err(KeyError::Malformed("-----END PUBLIC KEY----- is missing"));
    }
    if lines.any(|line| line.starts_with("-----BEGIN ")) {
        return Err(KeyError::Several);
    }
    super::decode(&encoded, "").map_err(|_| KeyError::Malformed("the text between the markers is not base64"))
}

/// Returns the error for bytes that PEM labels as a public key, but that are not a supported one.
fn refusal(der: &[u8]) -> KeyError {
    // The algorithm is at the beginning.
    let head = der.get(..32).unwrap_or(der);
    let known = OTHERS.iter().find(|(id, _)| head.windows(id.len()).any(|window| window == *id));
    known.map_or(KeyError::Malformed("not an ECDSA key on P-256, or cut off"), |(_, error)| *error)
}
