//! Work with repositories, on threads of its own: libgit2 blocks, and a server can hold it for ever.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::task::{JoinError, spawn_blocking};
use tokio::time::timeout;

use crate::git::GitUrl;

/// How long work may take: a little more than one fetch, which is ended after 10 minutes as soon as anything of it comes.
pub const LONGEST: Duration = Duration::from_mins(11);

/// Why work has no result.
#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    /// It takes longer than it may.
    #[error("{url}: the Git server did not answer to the end within {} s", .after.as_secs())]
    TooLong {
        /// The repository.
        url: String,
        /// The time that it had.
        after: Duration,
    },
    /// What took too long before has the clone still.
    #[error(
        "{url}: a connection that the Git server did not answer to the end still hangs: it is tried again when that \
         has ended, or after a restart of the operator"
    )]
    Hangs {
        /// The repository.
        url: String,
    },
    /// It ended in a defect.
    #[error("the work with {url} ended: {error}")]
    Ended {
        /// The repository.
        url: String,
        /// How.
        error: JoinError,
    },
}

/// The threads that were not waited for to the end, by the directory of the clone that each of them has.
#[derive(Debug, Default)]
pub struct Threads(Mutex<BTreeMap<PathBuf, Weak<()>>>);

impl Threads {
    /// Does work with the clone in a directory, and waits no longer than `longest` for it. A thread cannot be ended: one
    /// that hangs keeps its clone, and whoever needs that is told so. Other repositories are not hindered.
    pub async fn run<T: Send + 'static>(
        &self,
        (url, directory): (&GitUrl, &Path),
        longest: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ThreadError> {
        let url = url.to_string();
        if self.hangs(directory) {
            return Err(ThreadError::Hangs { url });
        }
        let at_work = Arc::new(());
        let hanging = Arc::downgrade(&at_work);
        let job = move || {
            let done = work();
            drop(at_work);
            done
        };
        let Ok(done) = timeout(longest, spawn_blocking(job)).await else {
            self.lock().insert(directory.to_owned(), hanging);
            return Err(ThreadError::TooLong { url, after: longest });
        };
        done.map_err(|error| ThreadError::Ended { url, error })
    }

    fn hangs(&self, directory: &Path) -> bool {
        self.lock().get(directory).is_some_and(|hanging| hanging.strong_count() > 0)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Weak<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
