//! The digest of content: it names a chart, and shows that a release was changed.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

use super::files::Files;

/// The SHA-256 of a directory's content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Computes the digest of the files below `directory` (the empty string is the root): SHA-256 over one record per
    /// regular file, in the order of the paths' bytes. A record is the path relative to `directory` and a NUL byte, `x`
    /// for an executable file or `-`, and the 32 bytes of the content's SHA-256. Links, empty directories and files
    /// that Flux leaves out of an artifact are not part of it.
    #[must_use]
    pub fn of(files: &Files, directory: &str) -> Self {
        let mut hash = Sha256::new();
        for (path, file) in files.below(directory) {
            hash.update(path.as_bytes());
            hash.update(if file.executable { b"\0x" } else { b"\0-" });
            hash.update(Sha256::digest(&file.content));
        }
        Self(hash.finalize().into())
    }

    /// Computes the SHA-256 of bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Completes the digest of pieces that were hashed one by one.
    #[must_use]
    pub fn of_hashed(hash: Sha256) -> Self {
        Self(hash.finalize().into())
    }

    /// Returns the first 12 hex digits, as in the name of a chart's object.
    #[must_use]
    pub fn short(&self) -> String {
        hex(self.0.iter().take(6))
    }
}

/// Formats each byte as two lower-case hex digits.
fn hex<'a>(bytes: impl Iterator<Item = &'a u8>) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
    bytes.flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", hex(self.0.iter()))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not `sha256:` and 64 lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a digest: expected sha256: and 64 lower-case hex digits")]
pub struct DigestError(String);

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        parse(text).ok_or_else(|| DigestError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Digest> {
    let digits = text.strip_prefix("sha256:")?.as_bytes();
    let mut bytes = [0; 32];
    if digits.len() != 2 * bytes.len()
        || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(Digest(bytes))
}
