//! The releases that the operator works with, read from the artifacts that Flux serves and kept within bounds.
//!
//! Catalogs (what a stack repository has) are kept by the artifact's digest, releases by name and digest, so that
//! nothing is fetched or read twice while it is the same. Those who ask for the same at the same time share the work.

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

/// Releases that are kept in memory. A cluster stack has a few in use and a few on offer.
const MOST_RELEASES: usize = 256;

/// Catalogs that are kept in memory: one for each `ClusterStack`.
const MOST_CATALOGS: usize = 1024;

/// Artifacts that are fetched or read at a time: each may need 1 GiB on the disk, and a processor.
const MOST_AT_A_TIME: usize = 2;

/// What a catalog is of: the same for all commits of a stack repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CatalogKey {
    /// The `GitRepository` that follows the stack repository.
    pub repository: Key,
    /// The directory that has the releases.
    pub path: String,
    /// The line that is looked for.
    pub line: Line,
}

/// The artifact, the commit, the path and the line: what a catalog is read of.
type CatalogContent = (Digest, Revision, String, Line);

/// The artifact, the path, the name, and the digest that the release must have.
type ReleaseContent = (Digest, String, ReleaseName, Digest);

type CatalogResult = Result<Arc<CatalogRead>, LibraryError>;
type ReleaseResult = Result<Arc<Release>, LibraryError>;
type ArtifactResult = Result<Arc<Artifact>, LibraryError>;

/// The process' releases. A clone is the same library.
#[derive(Clone, Debug)]
pub struct Library(Arc<Shelves>);

#[derive(Debug)]
struct Shelves {
    download: Download,
    at_a_time: Semaphore,
    /// Those that are being read: the last reader takes the file with it.
    artifacts: Mutex<BTreeMap<Digest, Weak<Artifact>>>,
    artifact_flights: Flights<Digest, ArtifactResult>,
    catalogs: Mutex<Kept<CatalogContent, CatalogResult>>,
    catalog_flights: Flights<CatalogContent, CatalogResult>,
    last_good: Mutex<Kept<CatalogKey, Arc<CatalogRead>>>,
    releases: Mutex<Kept<(ReleaseName, Digest), Arc<Release>>>,
    release_flights: Flights<ReleaseContent, ReleaseResult>,
}

impl Library {
    /// An empty library.
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

    /// What the artifact of a stack repository has. Where it cannot be had or read, the last good one of the same key
    /// stays [known](Self::known_catalog); an artifact that was read and is broken is not fetched again.
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

    /// The last catalog of this key that could be read; it may be of an older commit than the artifact at present.
    #[must_use]
    pub fn known_catalog(&self, key: &CatalogKey) -> Option<Arc<CatalogRead>> {
        lock(&self.0.last_good).get(key)
    }

    /// A release that was read before, from whichever artifact, and has this digest.
    #[must_use]
    pub fn release(&self, name: &ReleaseName, digest: Digest) -> Option<Arc<Release>> {
        lock(&self.0.releases).get(&(name.clone(), digest))
    }

    /// The release in an artifact, that of its pinned `GitRepository` or of the whole stack repository, below this
    /// path. Another content than the expected is an error; where the release is [known](Self::release) nothing is
    /// fetched.
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

    /// The artifact: the one that is being read, or fetched.
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
