//! The repository on disk, used on separate threads.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::spawn_blocking;
use tracing::warn;

use super::super::super::builtin::BuiltinRepositories;
use super::super::super::context::Context;
use super::super::{Stop, hold};
use crate::api::Reason;
use crate::error::Classify as _;
use crate::git::{CommitId, ServedRepository, directory_size};
use crate::names::{ReleaseName, Revision};
use crate::publish::{Prepared, PublishError, Published, builtin};
use crate::release::{Files, Limits};
use crate::runtime::cache::Key;
use crate::source::origin::Fetched;

/// Opens the repository in a directory.
pub(super) async fn open(directory: PathBuf) -> Result<Arc<ServedRepository>, Stop> {
    blocking(move || Ok(Arc::new(ServedRepository::open(&directory)?))).await
}

/// Returns the releases in a repository, with their commits. Their merge is there then.
pub(super) async fn releases(
    repository: &Arc<ServedRepository>,
) -> Result<BTreeMap<ReleaseName, Revision>, Stop> {
    let repository = repository.clone();
    blocking(move || {
        repository.merge()?;
        let commits = repository.releases()?.into_iter();
        Ok(commits.filter_map(|(name, commit)| Some((name, commit.to_string().parse().ok()?))).collect())
    })
    .await
}

/// Checks a release and adds it.
pub(super) async fn publish(
    repository: &Arc<ServedRepository>,
    fetched: Fetched,
    is_private: bool,
) -> Result<Published<CommitId>, Stop> {
    let repository = repository.clone();
    blocking(move || {
        if is_private {
            repository.set_private()?;
        }
        builtin::publish(&repository, &Prepared::of(fetched, &Limits::default())?)
    })
    .await
}

/// Adds the files of a release, which replace those of its name.
pub(super) async fn restore(
    repository: &Arc<ServedRepository>,
    name: ReleaseName,
    files: Files,
) -> Result<(), Stop> {
    let repository = repository.clone();
    blocking(move || Ok(repository.add(&name, &files).map(drop)?)).await
}

/// Returns the size in bytes of all repositories.
pub(super) async fn size(directory: PathBuf) -> Result<u64, Stop> {
    blocking(move || Ok(directory_size(&directory))).await
}

/// Reports the size of all repositories as a metric.
pub(super) async fn measure(context: &Context) {
    let Some(settings) = &context.settings.builtin else { return };
    if let Ok(size) = size(settings.directory.clone()).await {
        context.metrics.builtin(size);
    }
}

/// Removes the repository of a `ClusterStack`.
pub(super) async fn remove(below: &Path, key: &Key, uid: &str) {
    let directory = BuiltinRepositories::directory(below, key, uid);
    let removed = spawn_blocking(move || {
        let removed = fs::remove_dir_all(&directory);
        // The directories of its name and namespace may have others.
        for parent in directory.ancestors().skip(1).take(2) {
            let _ = fs::remove_dir(parent);
        }
        (removed, directory)
    });
    if let Ok((Err(error), directory)) = removed.await {
        warn!(%error, directory = %directory.display(), "cannot remove a built-in stack repository");
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, PublishError> + Send + 'static,
) -> Result<T, Stop> {
    match spawn_blocking(work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(Stop::Held(hold(Reason::PublishFailed, error.to_string()), error.class())),
        Err(error) => Err(hold(Reason::PublishFailed, format!("the worker thread failed: {error}")).into()),
    }
}
