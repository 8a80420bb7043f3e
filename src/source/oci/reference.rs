//! References to manifests.

use std::fmt;

use crate::release::Digest;
use crate::source::origin::OriginError;

/// A reference to a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The manifest of a tag.
    Tag(String),
    /// The manifest with this digest.
    Digest(Digest),
}

impl Reference {
    /// Returns the digest, unless this is a tag.
    pub(super) fn digest(&self) -> Option<Digest> {
        match self {
            Self::Tag(_) => None,
            Self::Digest(digest) => Some(*digest),
        }
    }

    /// Checks the tag, which must not change the path of a URL: `[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}`.
    pub(super) fn check(&self) -> Result<(), OriginError> {
        let Self::Tag(tag) = self else { return Ok(()) };
        let is_tag = tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte));
        if is_tag && (1..=128).contains(&tag.len()) && !tag.starts_with(['.', '-']) {
            return Ok(());
        }
        Err(OriginError::Settings(format!(
            "invalid tag {tag:?}: use letters, digits, '_', '.' and '-', at most 128 characters"
        )))
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => f.write_str(tag),
            Self::Digest(digest) => digest.fmt(f),
        }
    }
}
