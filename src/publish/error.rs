//! Why a release was not published.

use std::io;
use std::path::PathBuf;

use super::vendor::VendorError;
use crate::error::{Class, Classify};
use crate::git::{GitError, UpdateError};
use crate::promote::holds::{self, Hold};
use crate::release::Findings;
use crate::source::SourceError;
use crate::source::origin::OriginError;

/// The most paths that an error names.
const MOST_PATHS: usize = 10;

/// Why a release was not published. Nothing of it was written.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// It cannot be had.
    #[error(transparent)]
    Origin(#[from] OriginError),
    /// It is no release that can be used.
    #[error("{name} is not published: the release cannot be used:\n{}", findings.without_warnings())]
    Unusable {
        /// The release.
        name: String,
        /// All that was found, warnings included.
        findings: Findings,
    },
    /// A chart that it needs cannot be had.
    #[error("{name}: {error}")]
    Chart {
        /// The release.
        name: String,
        /// Why.
        error: Box<VendorError>,
    },
    /// A chart that was fetched is another one.
    #[error("{name}: {url} is not {chart} {version}: its Chart.yaml has another name or version")]
    ChartMismatch {
        /// The release.
        name: String,
        /// Where the archive came from.
        url: String,
        /// The chart that it should be.
        chart: String,
        /// Its version.
        version: String,
    },
    /// The stack repository has a release of that name with other content.
    #[error("{name} exists in {place} with other content: {}", shortened(.paths))]
    ReleaseExists {
        /// The release.
        name: String,
        /// The stack repository.
        place: String,
        /// The files that differ, or are on one side only.
        paths: Vec<String>,
    },
    /// It was taken back from the stage that it would come to.
    #[error("{} is held back from stage {}: {}", .0.release, .0.stage, .0.reason)]
    Held(Hold),
    /// The stack repository would not give Flux all of the release.
    #[error(
        "{name}: a .sourceignore of {place} leaves out files that its charts need: {}",
        shortened(.paths)
    )]
    LeftOut {
        /// The release.
        name: String,
        /// The stack repository.
        place: String,
        /// The files, from the release's directory.
        paths: Vec<String>,
    },
    /// The release that is there already cannot be read.
    #[error(transparent)]
    Existing(#[from] SourceError),
    /// Something of the stack repository cannot be used.
    #[error("{place}: {why}")]
    Place {
        /// The stack repository, or a file of it.
        place: String,
        /// What is wrong with it.
        why: String,
    },
    /// The repository cannot be read.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The commit is not in the repository.
    #[error(transparent)]
    NotPushed(Box<UpdateError<Self>>),
    /// The file system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// What was to be written.
        path: PathBuf,
        /// The refusal.
        error: io::Error,
    },
}

impl PublishError {
    /// What to do about it.
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
                UpdateError::Git(error) => error.hint(),
                UpdateError::Change(error) => error.hint(),
                UpdateError::Busy { .. } | UpdateError::Occupied { .. } => None,
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

fn shortened(paths: &[String]) -> String {
    let named = paths.iter().take(MOST_PATHS).cloned().collect::<Vec<_>>().join(", ");
    match paths.len().checked_sub(MOST_PATHS) {
        None | Some(0) => named,
        Some(more) => format!("{named} and {more} more"),
    }
}
