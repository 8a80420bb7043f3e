//! Artifacts that source-controller serves for a `GitRepository`: fetched over plain HTTP, and verified against their
//! digest before they are read.

mod download;
mod error;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

pub use download::{Download, FetchLimits};
pub use error::ArtifactError;

use crate::builtin;
use crate::foreign::flux::observed;
use crate::inputs::content::{Catalog, CatalogEntry};
use crate::inputs::line::Line;
use crate::inputs::stack::{Stack, StackSource};
use crate::names::{ReleaseName, Revision};
use crate::release::catalog::{self, CatalogError, CatalogLimits, Others};
use crate::release::{Digest, Findings, Loaded, Release};

/// An artifact in the status of a `GitRepository`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArtifactRef {
    /// URL at source-controller.
    pub url: String,
    /// SHA-256 of the file.
    pub digest: Digest,
    /// Size of the file in bytes, if the status has it.
    pub size: Option<u64>,
    /// The commit of the artifact.
    pub revision: Revision,
}

impl ArtifactRef {
    /// Parses the artifact of a status; the error names the invalid field.
    pub fn new(artifact: &observed::Artifact) -> Result<Self, ArtifactError> {
        let field =
            |field, value: &str, error: String| ArtifactError::Field { field, value: value.into(), error };
        let digest = artifact.digest.parse();
        let digest = digest.map_err(|error| field("digest", &artifact.digest, format!("{error}")))?;
        // `<branch>@sha1:<commit>` or `sha1:<commit>` (Flux RFC 5); a branch name may contain any of these characters.
        let commit = artifact.revision.rsplit(':').next().unwrap_or_default();
        let revision = commit.parse();
        let revision = revision.map_err(|error| field("revision", &artifact.revision, format!("{error}")))?;
        Ok(Self { url: artifact.url.clone(), digest, size: artifact.size, revision })
    }
}

/// A fetched artifact whose digest was verified, in an unnamed temporary file.
#[derive(Debug)]
pub struct Artifact(File);

impl Artifact {
    /// Returns a reader from the start of the file. Several readers may exist at a time.
    #[must_use]
    pub fn reader(&self) -> impl Read + use<'_> {
        BufReader::with_capacity(64 << 10, Reader { file: &self.0, at: 0 })
    }
}

struct Reader<'a> {
    file: &'a File,
    at: u64,
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The releases of one line in a stack repository at one commit.
#[derive(Clone, Debug)]
pub struct CatalogRead {
    /// The commit.
    pub revision: Revision,
    /// Each release of the line, or the errors that make it unusable.
    pub releases: BTreeMap<ReleaseName, Result<CatalogEntry, Findings>>,
    /// Other entries in the directory of the releases.
    pub others: Others,
}

impl CatalogRead {
    /// Returns the usable releases.
    #[must_use]
    pub fn catalog(&self) -> Catalog {
        let usable = |(name, entry): (&ReleaseName, &Result<CatalogEntry, _>)| {
            Some((name.clone(), entry.as_ref().ok()?.clone()))
        };
        self.releases.iter().filter_map(usable).collect()
    }
}

/// The releases to read from a stack repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReleaseSelection {
    /// The directory that contains the releases.
    pub path: String,
    /// The line to read.
    pub line: Line,
    /// Whether it is the built-in stack repository, in which each release has a commit of its own.
    pub is_builtin: bool,
}

impl ReleaseSelection {
    /// Returns the releases that a `ClusterStack` follows.
    #[must_use]
    pub fn of(stack: &Stack) -> Self {
        let StackSource { path, is_builtin, .. } = &stack.source;
        Self { path: path.clone(), line: stack.line.clone(), is_builtin: *is_builtin }
    }
}

/// Reads the selected releases from the artifact of a stack repository at that commit. Passes each usable release to
/// `keep`.
pub fn read_catalog(
    artifact: &Artifact,
    revision: &Revision,
    selection: &ReleaseSelection,
    mut keep: impl FnMut(Arc<Release>),
) -> Result<CatalogRead, CatalogError> {
    let limits = CatalogLimits::default();
    let found = catalog::read(
        artifact.reader(),
        &selection.path,
        &limits,
        |name| selection.line.has(name),
        |loaded| {
            let own = || builtin::root_commit(&loaded.release.name, &loaded.files);
            let pin = if selection.is_builtin { own() } else { revision.clone() };
            let entry = CatalogEntry::of(&loaded.release, pin);
            keep(Arc::new(loaded.release));
            entry
        },
    )?;
    Ok(CatalogRead { revision: revision.clone(), releases: found.releases, others: found.others })
}

/// Reads one release from an artifact that may contain others: go-git treats the directories of a sparse checkout as
/// prefixes, so that `…-v1` also selects `…-v10`. `None` if the artifact does not contain the release.
pub fn read_release(
    artifact: &Artifact,
    path: &str,
    name: &ReleaseName,
) -> Result<Option<Result<Loaded, Findings>>, CatalogError> {
    let limits = CatalogLimits::default();
    let found = catalog::read(artifact.reader(), path, &limits, |found| found == name, |loaded| loaded)?;
    Ok(found.releases.into_values().next())
}

#[cfg(test)]
pub(crate) mod tests;
