//! The releases that the operator uses, read from the artifacts that Flux serves and cached within limits.
//!
//! Catalogs (the releases of a stack repository) are cached by the artifact's digest, and releases by name and digest, so
//! that nothing is fetched or read twice while it is the same. Concurrent requests for the same artifact share the work.

mod error;
mod flights;
mod kept;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

pub use error::LibraryError;
use flights::Flights;
use kept::Kept;

use crate::inputs::line::Line;
use crate::names::{ReleaseName, Revision};
use crate::release::catalog::Others;
use crate::release::{Digest, Loaded, Release};
use crate::runtime::cache::Key;
use crate::source::artifact::{self, Artifact, ArtifactRef, CatalogRead, Download};

/// Maximum number of cached releases. A cluster stack has a few in use and a few on offer.
const MOST_RELEASES: usize = 256;

/// Maximum number of cached catalogs: one for each `ClusterStack`.
const MOST_CATALOGS: usize = 1024;

/// Maximum number of artifacts to fetch or read at a time: each may need 1 GiB of disk, and a CPU.
const MOST_AT_A_TIME: usize = 2;

/// Identifies a catalog across all commits of a stack repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CatalogKey {
    /// The `GitRepository` that follows the stack repository.
    pub repository: Key,
    /// The directory that contains the releases.
    pub path: String,
    /// The line to read.
    pub line: Line,
}

/// Identifies what a catalog is read from: artifact, commit, path and line.
type CatalogContent = (Digest, Revision, String, Line);

/// Identifies a release: artifact, path, name, and expected digest.
type ReleaseContent = (Digest, String, ReleaseName, Digest);

type CatalogResult = Result<Arc<CatalogRead>, LibraryError>;
type ReleaseResult = Result<Arc<Release>, LibraryError>;
type ArtifactResult = Result<Arc<Artifact>, LibraryError>;

/// The process' releases. Clones share the same library.
#[derive(Clone, Debug)]
pub struct Library(Arc<Shelves>);

#[derive(Debug)]
struct Shelves {
    download: Download,
    at_a_time: Semaphore,
    /// Artifacts in use. Dropping the last reference removes the file.
    artifacts: Mutex<BTreeMap<Digest, Weak<Artifact>>>,
    artifact_flights: Flights<Digest, ArtifactResult>,
    catalogs: Mutex<Kept<CatalogContent, CatalogResult>>,
    catalog_flights: Flights<CatalogContent, CatalogResult>,
    last_good: Mutex<Kept<CatalogKey, Arc<CatalogRead>>>,
    releases: Mutex<Kept<(ReleaseName, Digest), Arc<Release>>>,
    release_flights: Flights<ReleaseContent, ReleaseResult>,
}

impl Library {
    /// Creates an empty library.
    #[must_use]
    pub fn new(download: Download) -> Self {
        Self(Arc::new(Shelves {
            download,
            at_a_time: Semaphore::new(MOST_AT_A_TIME),
            artifacts: Mutex::default(),
            artifact_flights: Flights::default(),
            catalogs: Mutex::new(Kept::new(MOST_CATALOGS)),
            catalog_flights: Flights::default(),
            last_good: Mutex::new(Kept::new(MOST_CATALOGS)),
            releases: Mutex::new(Kept::new(MOST_RELEASES)),
            release_flights: Flights::default(),
        }))
    }

    /// Returns the catalog in the artifact of a stack repository. If the artifact cannot be fetched or read, the last good
    /// catalog of the same key stays [known](Self::known_catalog). A broken artifact is not fetched again.
    pub async fn catalog(&self, key: &CatalogKey, artifact: &ArtifactRef) -> CatalogResult {
        let content = (artifact.digest, artifact.revision.clone(), key.path.clone(), key.line.clone());
        let kept = lock(&self.0.catalogs).get(&content);
        let read = if let Some(read) = kept {
            read
        } else {
            let work = Arc::clone(&self.0).read_catalog(artifact.clone(), content.clone());
            self.0.catalog_flights.join(content, work).await.unwrap_or(Err(LibraryError::Aborted))
        };
        if let Ok(catalog) = &read {
            lock(&self.0.last_good).insert(key.clone(), Arc::clone(catalog));
        }
        read
    }

    /// Returns the last readable catalog of this key, which may be of an older commit than the current artifact.
    #[must_use]
    pub fn known_catalog(&self, key: &CatalogKey) -> Option<Arc<CatalogRead>> {
        lock(&self.0.last_good).get(key)
    }

    /// Returns a release with this digest that was read before, from any artifact.
    #[must_use]
    pub fn release(&self, name: &ReleaseName, digest: Digest) -> Option<Arc<Release>> {
        lock(&self.0.releases).get(&(name.clone(), digest))
    }

    /// Returns the release below a path of an artifact, which is that of the release's pinned `GitRepository` or of the
    /// whole stack repository. Content with another digest than `expected` is an error. A [known](Self::release) release is
    /// not fetched.
    pub async fn pinned_release(
        &self,
        artifact: &ArtifactRef,
        path: &str,
        name: &ReleaseName,
        expected: Digest,
    ) -> ReleaseResult {
        if let Some(release) = self.release(name, expected) {
            return Ok(release);
        }
        let content = (artifact.digest, path.to_owned(), name.clone(), expected);
        let work = Arc::clone(&self.0).read_release(artifact.clone(), content.clone());
        self.0.release_flights.join(content, work).await.unwrap_or(Err(LibraryError::Aborted))
    }
}

impl Shelves {
    async fn read_catalog(self: Arc<Self>, artifact: ArtifactRef, content: CatalogContent) -> CatalogResult {
        if let Some(read) = lock(&self.catalogs).get(&content) {
            return read;
        }
        let fetched = Arc::clone(&self).artifact(artifact).await?;
        let _permit = self.at_a_time.acquire().await;
        let (shelves, (_, revision, path, line)) = (Arc::clone(&self), content.clone());
        let read = spawn_blocking(move || {
            let keep = |release| shelves.keep(release);
            artifact::read_catalog(&fetched, &revision, &path, &line, keep)
        });
        let Ok(read) = read.await else { return Err(LibraryError::Aborted) };
        let read = read.map(Arc::new).map_err(LibraryError::from);
        if let Ok(CatalogRead { revision, releases, others }) = read.as_deref() {
            let (releases, Others { unwanted, malformed }) = (releases.len(), others);
            tracing::debug!(%revision, path = content.2, releases, unwanted, malformed, "read a stack repository");
        }
        lock(&self.catalogs).insert(content, read.clone());
        read
    }

    async fn read_release(self: Arc<Self>, artifact: ArtifactRef, content: ReleaseContent) -> ReleaseResult {
        let (_, path, name, expected) = content;
        if let Some(release) = lock(&self.releases).get(&(name.clone(), expected)) {
            return Ok(release);
        }
        let revision = artifact.revision.clone();
        let fetched = Arc::clone(&self).artifact(artifact).await?;
        let _permit = self.at_a_time.acquire().await;
        let read = spawn_blocking(move || {
            let name = Box::new(name);
            match artifact::read_release(&fetched, &path, &name)? {
                Some(Ok(Loaded { release, .. })) if release.digest != expected => {
                    Err(LibraryError::ReleaseMutated { name, revision, expected, found: release.digest })
                }
                Some(Ok(loaded)) => Ok(Arc::new(loaded.release)),
                Some(Err(findings)) => Err(LibraryError::Unusable { name, findings }),
                None => Err(LibraryError::NoRelease { name, path }),
            }
        });
        let release = read.await.unwrap_or(Err(LibraryError::Aborted))?;
        self.keep(Arc::clone(&release));
        Ok(release)
    }

    fn keep(&self, release: Arc<Release>) {
        lock(&self.releases).insert((release.name.clone(), release.digest), release);
    }

    /// Returns the artifact, which is fetched unless it is in use.
    async fn artifact(self: Arc<Self>, artifact: ArtifactRef) -> ArtifactResult {
        let (digest, shelves) = (artifact.digest, Arc::clone(&self));
        let work = async move {
            let open = lock(&shelves.artifacts).get(&digest).and_then(Weak::upgrade);
            if let Some(open) = open {
                return Ok(open);
            }
            let _permit = shelves.at_a_time.acquire().await;
            let fetched = Arc::new(shelves.download.fetch(&artifact).await?);
            let mut artifacts = lock(&shelves.artifacts);
            artifacts.retain(|_, artifact| artifact.strong_count() > 0);
            artifacts.insert(digest, Arc::downgrade(&fetched));
            Ok(Arc::clone(&fetched))
        };
        self.artifact_flights.join(digest, work).await.unwrap_or(Err(LibraryError::Aborted))
    }
}

fn lock<T>(shelf: &Mutex<T>) -> MutexGuard<'_, T> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
