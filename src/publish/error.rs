//! Errors of publishing a release.

use std::io;
use std::path::PathBuf;

use super::vendor::VendorError;
use crate::error::{Class, Classify};
use crate::git::{GitError, PushUpdateError};
use crate::promote::holds::{self, Hold};
use crate::release::Findings;
use crate::release::finding::listed;
use crate::source::SourceError;
use crate::source::origin::OriginError;

/// Maximum number of paths that an error names.
const MAX_PATHS: usize = 10;

/// An error of publishing a release. Nothing of the release was written.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The release cannot be fetched.
    #[error(transparent)]
    Origin(#[from] OriginError),
    /// The release has errors.
    #[error("{name} is not published: the release cannot be used:\n{}", findings.without_warnings())]
    Unusable {
        /// Name of the release.
        name: String,
        /// All findings, including warnings.
        findings: Findings,
    },
    /// A chart of the release cannot be fetched.
    #[error("{name}: {error}")]
    Chart {
        /// Name of the release.
        name: String,
        /// The cause.
        error: Box<VendorError>,
    },
    /// A fetched archive is another chart.
    #[error("{name}: {url} is not {chart} {version}: its Chart.yaml has another name or version")]
    ChartMismatch {
        /// Name of the release.
        name: String,
        /// URL of the archive.
        url: String,
        /// Name of the expected chart.
        chart: String,
        /// Version of the expected chart.
        version: String,
    },
    /// The stack repository has a release of that name with other content.
    #[error("{name} exists in {place} with other content: {}", listed(.paths, MAX_PATHS))]
    ReleaseExists {
        /// Name of the release.
        name: String,
        /// The stack repository.
        place: String,
        /// The files that differ, or are on one side only.
        paths: Vec<String>,
    },
    /// The release is held back from the stage.
    #[error("{} is held back from stage {}: {}", .0.release, .0.stage, .0.reason)]
    Held(Hold),
    /// The stack repository would exclude files of the release from Flux's artifact.
    #[error(
        "{name}: a .sourceignore of {place} leaves out files that its charts need: {}",
        listed(.paths, MAX_PATHS)
    )]
    LeftOut {
        /// Name of the release.
        name: String,
        /// The stack repository.
        place: String,
        /// The files, by path from the release's directory.
        paths: Vec<String>,
    },
    /// The existing release cannot be read.
    #[error(transparent)]
    Existing(#[from] SourceError),
    /// A part of the stack repository is invalid.
    #[error("{place}: {why}")]
    Place {
        /// The stack repository, or a file of it.
        place: String,
        /// The cause.
        why: String,
    },
    /// The Git repository cannot be read.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The commit was not pushed.
    #[error(transparent)]
    NotPushed(Box<PushUpdateError<Self>>),
    /// Reading or writing on this machine failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
}

impl PublishError {
    /// Suggests how to fix the error.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::ReleaseExists { .. } => Some(
                "a release that was published is never changed: publish the other content under a version of its own"
                    .to_owned(),
            ),
            Self::LeftOut { .. } => {
                Some("add a line `!…` for them to that file, or make its patterns narrower".to_owned())
            }
            Self::Held(_) => {
                Some(format!("once that is solved, remove the entry from {}, and publish again", holds::FILE))
            }
            Self::Git(error) => error.hint(),
            Self::NotPushed(error) => match &**error {
                PushUpdateError::Git(error) => error.hint(),
                PushUpdateError::Change(error) => error.hint(),
                PushUpdateError::Busy { .. } | PushUpdateError::Occupied { .. } => None,
            },
            Self::Origin(error) => error.hint().map(str::to_owned),
            Self::Unusable { .. }
            | Self::Chart { .. }
            | Self::ChartMismatch { .. }
            | Self::Existing(_)
            | Self::Place { .. }
            | Self::Io { .. } => None,
        }
    }
}

impl Classify for PublishError {
    fn class(&self) -> Class {
        match self {
            Self::Origin(error) => error.class(),
            Self::Chart { error, .. } => error.class(),
            Self::Existing(error) => error.class(),
            Self::Git(error) => error.class(),
            Self::NotPushed(error) => error.class(),
            Self::Unusable { .. }
            | Self::ChartMismatch { .. }
            | Self::ReleaseExists { .. }
            | Self::Held(_)
            | Self::LeftOut { .. }
            | Self::Place { .. } => Class::Terminal,
            Self::Io { .. } => Class::Transient,
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Origin(error) => error.reason(),
            Self::Chart { error, .. } => error.reason(),
            Self::Existing(error) => error.reason(),
            Self::Git(error) => error.reason(),
            Self::NotPushed(error) => error.reason(),
            Self::Unusable { findings, .. } => findings.reason(),
            Self::ChartMismatch { .. } => "ChartMismatch",
            Self::ReleaseExists { .. } => "ReleaseExists",
            Self::Held(_) => "ReleaseHeld",
            Self::LeftOut { .. } => "FileIgnored",
            Self::Place { .. } => "InvalidStackRepository",
            Self::Io { .. } => "WriteFailed",
        }
    }
}
