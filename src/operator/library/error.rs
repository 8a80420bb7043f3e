//! Why a catalog or a release could not be had.

use std::sync::Arc;

use crate::api::conditions::Reason;
use crate::error::{Class, Classify};
use crate::names::{ReleaseName, Revision};
use crate::release::catalog::CatalogError;
use crate::release::{Digest, Findings};
use crate::source::artifact::ArtifactError;

/// Why a catalog or a release could not be had. All who waited for it hear the same.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LibraryError {
    /// The artifact could not be fetched, or is another than Flux says.
    #[error(transparent)]
    Artifact(Arc<ArtifactError>),
    /// The artifact could not be read.
    #[error(transparent)]
    Catalog(Arc<CatalogError>),
    /// The artifact has no such release.
    #[error("the artifact has no release {name} below {path:?}: check the commit and the path in its source")]
    NoRelease {
        /// The release.
        name: Box<ReleaseName>,
        /// Where it should be.
        path: String,
    },
    /// The release has errors.
    #[error("release {name} cannot be used:\n{}", findings.without_warnings())]
    Unusable {
        /// The release.
        name: Box<ReleaseName>,
        /// All that was found, warnings included.
        findings: Findings,
    },
    /// The release has another content than it had.
    #[error(
        "release {name} was changed: digest mismatch at {revision}: expected {expected}, got {found}; releases are \
         immutable, publish a new one"
    )]
    ReleaseMutated {
        /// The release.
        name: Box<ReleaseName>,
        /// The commit that was read.
        revision: Revision,
        /// What it should have.
        expected: Digest,
        /// What it has.
        found: Digest,
    },
    /// The reading ended without a result: a defect of stackflux, or its shutdown.
    #[error("reading the artifact was aborted: see the log")]
    Aborted,
}

impl From<ArtifactError> for LibraryError {
    fn from(error: ArtifactError) -> Self {
        Self::Artifact(Arc::new(error))
    }
}

impl From<CatalogError> for LibraryError {
    fn from(error: CatalogError) -> Self {
        Self::Catalog(Arc::new(error))
    }
}

impl Classify for LibraryError {
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
