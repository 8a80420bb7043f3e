//! The releases that the operator uses, read from the artifacts that Flux serves and cached within limits.
//!
//! Catalogs (the releases of a stack repository) are cached by the artifact's digest, and releases by name and digest, so
//! that nothing is fetched or read twice while it is the same. Concurrent requests for the same artifact share the work.

mod error;
mod lru;
mod single_flight;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

pub use error::ReleaseCacheError;
use lru::LruCache;
use single_flight::SingleFlight;

use crate::inputs::stack::Stack;
use crate::names::{ReleaseName, Revision};
use crate::release::catalog::Others;
use crate::release::{Digest, Files, Loaded, Release};
use crate::runtime::cache::Key;
use crate::source::artifact::{self, Artifact, ArtifactRef, CatalogRead, Download, ReleaseSelection};

/// Maximum number of cached releases. A cluster stack has a few in use and a few on offer.
const MAX_RELEASES: usize = 256;

/// Maximum number of cached catalogs: one for each `ClusterStack`.
const MAX_CATALOGS: usize = 1024;

/// Maximum number of artifacts to fetch or read at a time: each may need 1 GiB of disk, and a CPU.
const MAX_CONCURRENT: usize = 2;

/// Identifies a catalog across all commits of a stack repository.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CatalogKey {
    /// The `GitRepository` that follows the stack repository.
    pub repository: Key,
    /// The releases to read from it.
    pub selection: ReleaseSelection,
}

impl CatalogKey {
    /// Returns the key of the catalog of a `ClusterStack`.
    #[must_use]
    pub fn of(stack: &Stack) -> Self {
        let repository = Key::new(stack.source.namespace.as_str(), stack.source.name.as_str());
        Self { repository, selection: ReleaseSelection::of(stack) }
    }
}

/// Identifies what a catalog is read from: artifact, commit, and the selected releases.
type CatalogContent = (Digest, Revision, ReleaseSelection);

/// Identifies a release: artifact, path, name, and expected digest.
type ReleaseContent = (Digest, String, ReleaseName, Digest);

type CatalogResult = Result<Arc<CatalogRead>, ReleaseCacheError>;
type ReleaseResult = Result<Arc<Release>, ReleaseCacheError>;
type ArtifactResult = Result<Arc<Artifact>, ReleaseCacheError>;

/// The process' releases. Clones share the same cache.
#[derive(Clone, Debug)]
pub struct ReleaseCache(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    download: Download,
    permits: Semaphore,
    /// Artifacts in use. Dropping the last reference removes the file.
    artifacts: Mutex<BTreeMap<Digest, Weak<Artifact>>>,
    artifact_flights: SingleFlight<Digest, ArtifactResult>,
    catalogs: Mutex<LruCache<CatalogContent, CatalogResult>>,
    catalog_flights: SingleFlight<CatalogContent, CatalogResult>,
    last_good: Mutex<LruCache<CatalogKey, Arc<CatalogRead>>>,
    releases: Mutex<LruCache<(ReleaseName, Digest), Arc<Release>>>,
    release_flights: SingleFlight<ReleaseContent, ReleaseResult>,
}

impl ReleaseCache {
    /// Creates an empty cache.
    #[must_use]
    pub fn new(download: Download) -> Self {
        Self(Arc::new(Inner {
            download,
            permits: Semaphore::new(MAX_CONCURRENT),
            artifacts: Mutex::default(),
            artifact_flights: SingleFlight::default(),
            catalogs: Mutex::new(LruCache::new(MAX_CATALOGS)),
            catalog_flights: SingleFlight::default(),
            last_good: Mutex::new(LruCache::new(MAX_CATALOGS)),
            releases: Mutex::new(LruCache::new(MAX_RELEASES)),
            release_flights: SingleFlight::default(),
        }))
    }

    /// Returns the catalog in the artifact of a stack repository. If the artifact cannot be fetched or read, the last good
    /// catalog of the same key stays [known](Self::known_catalog). A broken artifact is not fetched again.
    pub async fn catalog(&self, key: &CatalogKey, artifact: &ArtifactRef) -> CatalogResult {
        let content = (artifact.digest, artifact.revision.clone(), key.selection.clone());
        let cached = lock(&self.0.catalogs).get(&content);
        let read = if let Some(read) = cached {
            read
        } else {
            let work = Arc::clone(&self.0).read_catalog(artifact.clone(), content.clone());
            self.0.catalog_flights.join(content, work).await.unwrap_or(Err(ReleaseCacheError::Aborted))
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
        self.0.release_flights.join(content, work).await.unwrap_or(Err(ReleaseCacheError::Aborted))
    }

    /// Returns the files of a release below a path of an artifact.
    pub async fn files(
        &self,
        artifact: &ArtifactRef,
        path: &str,
        name: &ReleaseName,
    ) -> Result<Files, ReleaseCacheError> {
        let fetched = Arc::clone(&self.0).artifact(artifact.clone()).await?;
        let _permit = self.0.permits.acquire().await;
        let (path, name) = (path.to_owned(), Box::new(name.clone()));
        let read = spawn_blocking(move || match artifact::read_release(&fetched, &path, &name)? {
            Some(Ok(loaded)) => Ok(loaded.files),
            Some(Err(findings)) => Err(ReleaseCacheError::Unusable { name, findings }),
            None => Err(ReleaseCacheError::NoRelease { name, path }),
        });
        read.await.unwrap_or(Err(ReleaseCacheError::Aborted))
    }
}

impl Inner {
    async fn read_catalog(self: Arc<Self>, artifact: ArtifactRef, content: CatalogContent) -> CatalogResult {
        if let Some(read) = lock(&self.catalogs).get(&content) {
            return read;
        }
        let fetched = Arc::clone(&self).artifact(artifact).await?;
        let _permit = self.permits.acquire().await;
        let (inner, (_, revision, selection)) = (Arc::clone(&self), content.clone());
        let read = spawn_blocking(move || {
            let keep = |release| inner.keep(release);
            artifact::read_catalog(&fetched, &revision, &selection, keep)
        });
        let Ok(read) = read.await else { return Err(ReleaseCacheError::Aborted) };
        let read = read.map(Arc::new).map_err(ReleaseCacheError::from);
        if let Ok(CatalogRead { revision, releases, others }) = read.as_deref() {
            let (releases, Others { unwanted, malformed }) = (releases.len(), others);
            tracing::debug!(%revision, path = content.2.path, releases, unwanted, malformed, "read a stack repository");
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
        let _permit = self.permits.acquire().await;
        let read = spawn_blocking(move || {
            let name = Box::new(name);
            match artifact::read_release(&fetched, &path, &name)? {
                Some(Ok(Loaded { release, .. })) if release.digest != expected => {
                    Err(ReleaseCacheError::ReleaseMutated { name, revision, expected, found: release.digest })
                }
                Some(Ok(loaded)) => Ok(Arc::new(loaded.release)),
                Some(Err(findings)) => Err(ReleaseCacheError::Unusable { name, findings }),
                None => Err(ReleaseCacheError::NoRelease { name, path }),
            }
        });
        let release = read.await.unwrap_or(Err(ReleaseCacheError::Aborted))?;
        self.keep(Arc::clone(&release));
        Ok(release)
    }

    fn keep(&self, release: Arc<Release>) {
        lock(&self.releases).insert((release.name.clone(), release.digest), release);
    }

    /// Returns the artifact, which is fetched unless it is in use.
    async fn artifact(self: Arc<Self>, artifact: ArtifactRef) -> ArtifactResult {
        let (digest, inner) = (artifact.digest, Arc::clone(&self));
        let work = async move {
            let open = lock(&inner.artifacts).get(&digest).and_then(Weak::upgrade);
            if let Some(open) = open {
                return Ok(open);
            }
            let _permit = inner.permits.acquire().await;
            let fetched = Arc::new(inner.download.fetch(&artifact).await?);
            let mut artifacts = lock(&inner.artifacts);
            artifacts.retain(|_, artifact| artifact.strong_count() > 0);
            artifacts.insert(digest, Arc::downgrade(&fetched));
            Ok(Arc::clone(&fetched))
        };
        self.artifact_flights.join(digest, work).await.unwrap_or(Err(ReleaseCacheError::Aborted))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
