//! Where the files of releases come from.
// This is one of the places that may touch the file system.
#![allow(clippy::disallowed_methods)]

pub mod directory;

use std::io;
use std::path::PathBuf;

use crate::error::{Class, Classify};
use crate::release::Findings;

/// Why the files of a release could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The operating system refused.
    #[error("{}: {error}", path.display())]
    Io {
        /// What was to be read.
        path: PathBuf,
        /// The refusal.
        error: io::Error,
    },
    /// Some of what is there cannot be part of a release.
    #[error(transparent)]
    Unusable(#[from] Findings),
}

impl SourceError {
    fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |error| Self::Io { path, error }
    }
}

impl Classify for SourceError {
    fn class(&self) -> Class {
        match self {
            Self::Io { .. } => Class::Transient,
            Self::Unusable(findings) => findings.class(),
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Io { .. } => "SourceUnreadable",
            Self::Unusable(findings) => findings.reason(),
        }
    }
}
