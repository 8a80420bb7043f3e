//! The state of delivery through Git.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use tracing::warn;

use super::super::latest::Latest;
use super::pending_commits::PendingCommits;
use super::progress::Progress;
use super::threads::Threads;
use crate::release::Digest;
use crate::temporary::Temporary;

/// Interval between checks whether a clone to remove is unused.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// The requested changes, and the progress of their commits.
#[derive(Debug, Default)]
pub struct GitDelivery {
    /// The requested changes.
    pub pending_commits: PendingCommits,
    /// Threads that use the clones.
    pub threads: Threads,
    /// The directory of the clones, which is removed when the process ends.
    clones: OnceLock<Temporary>,
    /// The progress of each `ClusterStack` since its first pass.
    pub progress: Latest<Progress>,
}

impl GitDelivery {
    /// Returns the directory of the clone of a repository, per namespace whose Secrets give access to it.
    pub(in super::super) fn directory(&self, namespace: &str, url: &str) -> io::Result<PathBuf> {
        let clones = if let Some(clones) = self.clones.get() {
            clones
        } else {
            let made = Temporary::new("stackflux-clones-")?;
            self.clones.get_or_init(|| made)
        };
        Ok(clones.path().join(clone_name(namespace, url)))
    }

    /// Removes an unused clone when no thread is using it.
    pub(super) fn remove(&self, name: &str) {
        let Some(clones) = self.clones.get() else { return };
        let (directory, threads) = (clones.path().join(name), self.threads.clone());
        tokio::spawn(async move {
            while threads.has(&directory) {
                tokio::time::sleep(IDLE_CHECK_INTERVAL).await;
            }
            _ = tokio::task::spawn_blocking(move || {
                if directory.exists()
                    && let Err(error) = std::fs::remove_dir_all(&directory)
                {
                    warn!(directory = %directory.display(), "cannot remove the clone: {error}");
                }
            })
            .await;
        });
    }
}

/// Returns the name of the directory of a clone.
pub(super) fn clone_name(namespace: &str, url: &str) -> String {
    Digest::of_bytes(format!("{namespace} {url}").as_bytes()).short()
}
