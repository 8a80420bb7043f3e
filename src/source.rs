//! Sources of release files.
// This is one of the places that may touch the file system.
#![allow(clippy::disallowed_methods)]

pub mod address;
pub mod artifact;
pub mod directory;
pub mod git;
pub mod github;
pub mod local;
pub mod oci;
pub mod origin;
pub mod remote;
pub mod repository;

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::error::{Class, Classify};
use crate::names::{NameError, ReleaseName};
use crate::release::{Files, Findings, Limits, Loaded, Release, archive};

pub use repository::StackRepository;

/// Files that only a release has at its root.
const RELEASE_FILES: [&str; 4] =
    ["metadata.yaml", "csctl.yaml", "clusteraddon.yaml", crate::release::CLUSTER_CLASS];

/// An error in reading the files of a release.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Reading from this machine failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The directory or archive of a release does not have a release's name.
    #[error("{}: {error}; the directory or archive of a release must have the release's name", path.display())]
    Name {
        /// The directory or archive.
        path: PathBuf,
        /// The cause.
        error: NameError,
    },
    /// The path is neither a release nor a stack repository.
    #[error("{}: neither a release nor a stack repository: no directory here or below releases/ has a release's name", .0.display())]
    Nothing(PathBuf),
    /// The stack repository has no release of that name.
    #[error("{}: there is no release {name}", path.display())]
    NoRelease {
        /// The stack repository.
        path: PathBuf,
        /// Name of the release.
        name: String,
    },
    /// The release has errors.
    #[error("{}: the release cannot be used:\n{}", path.display(), findings.without_warnings())]
    Unusable {
        /// The release's directory or archive.
        path: PathBuf,
        /// All findings, including warnings.
        findings: Findings,
    },
}

impl SourceError {
    fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |error| Self::Io { path, error }
    }

    fn unusable(path: impl Into<PathBuf>) -> impl FnOnce(Findings) -> Self {
        let path = path.into();
        |findings| Self::Unusable { path, findings }
    }
}

impl Classify for SourceError {
    fn class(&self) -> Class {
        match self {
            Self::Io { .. } => Class::Transient,
            Self::Name { .. } | Self::Nothing(_) | Self::NoRelease { .. } => Class::Terminal,
            Self::Unusable { findings, .. } => findings.class(),
        }
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Io { .. } => "SourceUnreadable",
            Self::Name { .. } => "InvalidName",
            Self::Nothing(_) | Self::NoRelease { .. } => "ReleaseNotFound",
            Self::Unusable { findings, .. } => findings.reason(),
        }
    }
}

/// The content of a path.
#[derive(Debug)]
pub enum Opened {
    /// One release.
    Release(ReleaseFiles),
    /// A directory with a directory for every release.
    Repository(StackRepository),
}

/// The files of a release, which are not checked yet.
#[derive(Clone, Debug)]
pub struct ReleaseFiles {
    /// Name of the release.
    pub name: ReleaseName,
    /// The release's directory or archive.
    pub path: PathBuf,
    /// The files in it.
    pub files: Files,
}

impl ReleaseFiles {
    /// Checks the release as one that is not published yet, and returns it.
    pub fn lint(self, limits: &Limits) -> Result<Loaded, SourceError> {
        Release::lint(&self.name, self.files, limits).map_err(SourceError::unusable(self.path))
    }

    /// Checks the release and returns it.
    pub fn load(self, limits: &Limits) -> Result<Loaded, SourceError> {
        Release::load(&self.name, self.files, limits).map_err(SourceError::unusable(self.path))
    }
}

/// Opens a release (its directory, with packed or unpacked charts, or one archive of it) or a stack repository (the
/// directory that has `releases/`, or `releases/` itself).
pub fn open(path: &Path, limits: &Limits) -> Result<Opened, SourceError> {
    let path = fs::canonicalize(path).map_err(SourceError::io(path))?;
    if !path.is_dir() {
        return read_archive(path, limits).map(Opened::Release);
    }
    match name_of(&path, "") {
        Ok(name) => {
            let files = directory::read(&path, limits)?;
            Ok(Opened::Release(ReleaseFiles { name, path, files }))
        }
        Err(error) if RELEASE_FILES.iter().any(|file| path.join(file).exists()) => Err(error),
        Err(_) => StackRepository::open(&path).map(Opened::Repository),
    }
}

/// Reads a release from a `.tgz` of its directory, or of the files in it.
fn read_archive(path: PathBuf, limits: &Limits) -> Result<ReleaseFiles, SourceError> {
    let name = name_of(&path, ".tgz")?;
    let file = fs::File::open(&path).map_err(SourceError::io(&path))?;
    let mut bytes = Vec::new();
    // A compressed archive is seldom longer than its content, and never by much.
    let most = limits.unpacked.saturating_add(1 << 20);
    file.take(most).read_to_end(&mut bytes).map_err(SourceError::io(&path))?;
    let called = path.file_name().unwrap_or_default().to_string_lossy();
    let files = archive::unpack(&bytes, &called, limits).map_err(SourceError::unusable(&path))?;
    let files = files.without_directory(&name.to_string()).without_ignored();
    let files = files.map_err(|finding| SourceError::unusable(&path)((*finding).into()))?;
    Ok(ReleaseFiles { name, path, files })
}

fn name_of(path: &Path, suffix: &str) -> Result<ReleaseName, SourceError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let parsed = name.strip_suffix(suffix).unwrap_or(&name).parse();
    parsed.map_err(|error| SourceError::Name { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests;
