//! Errors of fetching charts.

use crate::error::{Class, Classify};
use crate::git::GitError;
use crate::release::finding::listed;
use crate::release::range::RangeError;
use crate::source::origin::OriginError;

/// Maximum number of versions that an error names.
const MAX_VERSIONS: usize = 5;

/// An error of fetching a chart. `place` is a URL without credentials.
#[derive(Debug, thiserror::Error)]
pub enum VendorError {
    /// The repository or archive cannot be fetched.
    #[error("the chart {chart} cannot be fetched: {error}")]
    Origin {
        /// The chart, or the repository's index.
        chart: String,
        /// The cause.
        error: Box<OriginError>,
    },
    /// The repository of a component cannot be fetched.
    #[error("the component {component} cannot be fetched: {error}")]
    Git {
        /// The component.
        component: String,
        /// The cause.
        error: Box<GitError>,
    },
    /// The index of a Helm repository is invalid.
    #[error("{place}: the index of the Helm repository cannot be read: {error}")]
    Index {
        /// URL of the index.
        place: String,
        /// The cause.
        error: String,
    },
    /// The version range is invalid.
    #[error("the chart {chart}: {error}")]
    Range {
        /// The chart.
        chart: String,
        /// The cause.
        error: RangeError,
    },
    /// The repository does not have the chart in a matching version.
    #[error("{place} has no chart {chart} {version}; it has {}", existing(.versions))]
    NoVersion {
        /// The repository.
        place: String,
        /// The chart.
        chart: String,
        /// The version or the range.
        version: String,
        /// The existing versions, as listed.
        versions: Vec<String>,
    },
    /// The release needs too many charts or repositories.
    #[error("exceeds the limit of {most} {what}: its charts need {needed}")]
    TooMany {
        /// The number needed.
        needed: usize,
        /// `charts` or `chart repositories`.
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// The repository's entry for the chart is refused.
    #[error("{place}: {chart} is not fetched: {why}")]
    Refused {
        /// The repository, or the URL of the archive.
        place: String,
        /// The chart with its version.
        chart: String,
        /// The cause.
        why: String,
    },
}

impl Classify for VendorError {
    fn class(&self) -> Class {
        match self {
            Self::Origin { error, .. } => error.class(),
            Self::Git { error, .. } => error.class(),
            _ => Class::Terminal,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Origin { error, .. } => error.reason(),
            Self::Git { error, .. } => error.reason(),
            Self::Index { .. } => "ChartIndexInvalid",
            Self::Range { .. } | Self::NoVersion { .. } => "ChartNotFound",
            Self::TooMany { .. } => "LimitExceeded",
            Self::Refused { .. } => "ChartRefused",
        }
    }
}

fn existing(versions: &[String]) -> String {
    if versions.is_empty() { "none of that name".to_owned() } else { listed(versions, MAX_VERSIONS) }
}
