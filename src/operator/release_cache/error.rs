//! Errors of reading catalogs and releases.

use std::sync::Arc;

use crate::api::conditions::Reason;
use crate::error::{Class, Classify};
use crate::names::{ReleaseName, Revision};
use crate::release::catalog::CatalogError;
use crate::release::{Digest, Findings};
use crate::source::artifact::ArtifactError;

/// A reason why a catalog or a release is not available. All requests that waited for it share the same error.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReleaseCacheError {
    /// The artifact could not be fetched or verified.
    #[error(transparent)]
    Artifact(Arc<ArtifactError>),
    /// The artifact could not be read.
    #[error(transparent)]
    Catalog(Arc<CatalogError>),
    /// The artifact does not contain the release.
    #[error("the artifact has no release {name} below {path:?}: check the commit and the path in its source")]
    NoRelease {
        /// The release.
        name: Box<ReleaseName>,
        /// The searched directory.
        path: String,
    },
    /// The release has errors.
    #[error("release {name} cannot be used:\n{}", findings.without_warnings())]
    Unusable {
        /// The release.
        name: Box<ReleaseName>,
        /// All findings, including warnings.
        findings: Findings,
    },
    /// The content of the release changed.
    #[error(
        "release {name} was changed: digest mismatch at {revision}: expected {expected}, got {found}; releases are \
         immutable, publish a new one"
    )]
    ReleaseMutated {
        /// The release.
        name: Box<ReleaseName>,
        /// The commit that was read.
        revision: Revision,
        /// The expected digest.
        expected: Digest,
        /// The digest of the content.
        found: Digest,
    },
    /// Reading ended without a result, by a panic or at shutdown.
    #[error("reading the artifact was aborted: see the log")]
    Aborted,
}

impl From<ArtifactError> for ReleaseCacheError {
    fn from(error: ArtifactError) -> Self {
        Self::Artifact(Arc::new(error))
    }
}

impl From<CatalogError> for ReleaseCacheError {
    fn from(error: CatalogError) -> Self {
        Self::Catalog(Arc::new(error))
    }
}

impl Classify for ReleaseCacheError {
    fn class(&self) -> Class {
        match self {
            Self::Artifact(error) => error.class(),
            Self::Catalog(error) => error.class(),
            Self::NoRelease { .. } | Self::ReleaseMutated { .. } => Class::Terminal,
            Self::Unusable { findings, .. } => findings.class(),
            Self::Aborted => Class::Transient,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Artifact(error) => error.reason(),
            Self::Catalog(error) => error.reason(),
            Self::NoRelease { .. } => Reason::ReleaseNotFound.as_str(),
            Self::Unusable { findings, .. } => findings.reason(),
            Self::ReleaseMutated { .. } => Reason::ReleaseMutated.as_str(),
            Self::Aborted => Reason::ArtifactUnavailable.as_str(),
        }
    }
}
