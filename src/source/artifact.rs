//! What source-controller serves of a `GitRepository`: fetched over plain HTTP, checked against its digest, and only
//! then read.

mod download;
mod error;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

pub use download::{Download, FetchLimits};
pub use error::ArtifactError;

use crate::foreign::flux::observed;
use crate::inputs::content::{Catalog, CatalogEntry};
use crate::inputs::line::Line;
use crate::names::{ReleaseName, Revision};
use crate::release::catalog::{self, CatalogError, CatalogLimits, Others};
use crate::release::{Digest, Findings, Loaded, Release};

/// An artifact as the status of a `GitRepository` tells it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ArtifactRef {
    /// Where source-controller serves it.
    pub url: String,
    /// The SHA-256 of the file behind the URL.
    pub digest: Digest,
    /// The size of that file in bytes, where it is told.
    pub size: Option<u64>,
    /// The commit that it was made of.
    pub revision: Revision,
}

impl ArtifactRef {
    /// Reads what Flux says; an error names the field that cannot be read.
    pub fn new(artifact: &observed::Artifact) -> Result<Self, ArtifactError> {
        let field =
            |field, value: &str, error: String| ArtifactError::Field { field, value: value.into(), error };
        let digest = artifact.digest.parse();
        let digest = digest.map_err(|error| field("digest", &artifact.digest, format!("{error}")))?;
        // `<branch>@sha1:<commit>` or `sha1:<commit>` (Flux RFC 5); a branch may have any of these signs itself.
        let commit = artifact.revision.rsplit(':').next().unwrap_or_default();
        let revision = commit.parse();
        let revision = revision.map_err(|error| field("revision", &artifact.revision, format!("{error}")))?;
        Ok(Self { url: artifact.url.clone(), digest, size: artifact.size, revision })
    }
}

/// An artifact that was fetched and has the digest that it should have. Its file has no name and goes with it.
#[derive(Debug)]
pub struct Artifact(File);

impl Artifact {
    /// The file from its beginning. There may be several readers at a time.
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

/// What a stack repository has of one line at one commit.
#[derive(Clone, Debug)]
pub struct CatalogRead {
    /// The commit.
    pub revision: Revision,
    /// Each release of the line, or all that makes it unusable.
    pub releases: BTreeMap<ReleaseName, Result<CatalogEntry, Findings>>,
    /// What else is where the releases are.
    pub others: Others,
}

impl CatalogRead {
    /// The releases that can be used.
    #[must_use]
    pub fn catalog(&self) -> Catalog {
        let usable = |(name, entry): (&ReleaseName, &Result<CatalogEntry, _>)| {
            Some((name.clone(), entry.as_ref().ok()?.clone()))
        };
        self.releases.iter().filter_map(usable).collect()
    }
}

/// Reads the releases of a line out of the artifact of a stack repository at that commit. Each that can be used is
/// shown to `keep`.
pub fn read_catalog(
    artifact: &Artifact,
    revision: &Revision,
    path: &str,
    line: &Line,
    mut keep: impl FnMut(Arc<Release>),
) -> Result<CatalogRead, CatalogError> {
    let limits = CatalogLimits::default();
    let found = catalog::read(
        artifact.reader(),
        path,
        &limits,
        |name| line.has(name),
        |loaded| {
            let entry = CatalogEntry::of(&loaded.release, revision.clone());
            keep(Arc::new(loaded.release));
            entry
        },
    )?;
    Ok(CatalogRead { revision: revision.clone(), releases: found.releases, others: found.others })
}

/// Reads one release out of an artifact that may have others beside it: go-git takes the directories of a sparse
/// checkout as prefixes, so that `…-v1` brings `…-v10`. `None` where it is not there.
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
