//! Why a chart was not fetched.

use crate::error::{Class, Classify};
use crate::release::range::RangeError;
use crate::source::origin::OriginError;

/// The most versions that an error names.
const MOST_VERSIONS: usize = 5;

/// Why a chart was not fetched. `place` is a URL without credentials.
#[derive(Debug, thiserror::Error)]
pub enum VendorError {
    /// The repository, or the archive.
    #[error("the chart {chart} cannot be fetched: {error}")]
    Origin {
        /// The chart, or the repository's index.
        chart: String,
        /// What failed.
        error: Box<OriginError>,
    },
    /// The index of a Helm repository.
    #[error("{place}: the index of the Helm repository cannot be read: {error}")]
    Index {
        /// The index.
        place: String,
        /// What is wrong with it.
        error: String,
    },
    /// A range of versions that nobody reads.
    #[error("the chart {chart}: {error}")]
    Range {
        /// The chart.
        chart: String,
        /// What is wrong.
        error: RangeError,
    },
    /// The repository does not have the chart in such a version.
    #[error("{place} has no chart {chart} {version}; {}", told(.there))]
    NoVersion {
        /// The repository.
        place: String,
        /// The chart.
        chart: String,
        /// The version or the range.
        version: String,
        /// The versions that it has, as they are listed.
        there: Vec<String>,
    },
    /// Nobody fetches that much for one release.
    #[error("exceeds the limit of {most} {what}: its charts need {there}")]
    TooMany {
        /// How many.
        there: usize,
        /// Charts, or repositories.
        what: &'static str,
        /// The limit.
        most: usize,
    },
    /// What the repository says of the chart cannot be used.
    #[error("{place}: {chart} is not fetched: {why}")]
    Refused {
        /// The repository, or the URL of the archive.
        place: String,
        /// The chart with its version.
        chart: String,
        /// What is wrong.
        why: String,
    },
}

impl Classify for VendorError {
    fn class(&self) -> Class {
        match self {
            Self::Origin { error, .. } => error.class(),
            _ => Class::Terminal,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Origin { error, .. } => error.reason(),
            Self::Index { .. } => "ChartIndexInvalid",
            Self::Range { .. } | Self::NoVersion { .. } => "ChartNotFound",
            Self::TooMany { .. } => "LimitExceeded",
            Self::Refused { .. } => "ChartRefused",
        }
    }
}

fn told(there: &[String]) -> String {
    let named = there.iter().take(MOST_VERSIONS).cloned().collect::<Vec<_>>().join(", ");
    match there.len().checked_sub(MOST_VERSIONS) {
        _ if there.is_empty() => "it has none of that name".to_owned(),
        None | Some(0) => format!("it has {named}"),
        Some(more) => format!("it has {named} and {more} more"),
    }
}
