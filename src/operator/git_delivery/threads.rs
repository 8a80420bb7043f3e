//! Runs work with repositories on separate threads, because libgit2 blocks.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::task::{JoinError, spawn_blocking};
use tokio::time::timeout;

use crate::git::GitUrl;

/// Time limit for work: a little more than a fetch, which ends after 10 minutes.
pub const THREAD_TIMEOUT: Duration = Duration::from_mins(11);

/// A reason why work has no result.
#[derive(Debug, thiserror::Error)]
pub enum ThreadError {
    /// The work timed out.
    #[error("{url}: timed out after {} s", .after.as_secs())]
    TooLong {
        /// The repository.
        url: String,
        /// The time limit.
        after: Duration,
    },
    /// Earlier work that timed out still uses the clone.
    #[error(
        "{url}: an earlier connection that timed out is still open: the operator tries again when the connection has \
         ended, or after a restart"
    )]
    Hangs {
        /// The repository.
        url: String,
    },
    /// The work panicked or was cancelled.
    #[error("{url}: the worker thread failed: {error}")]
    Ended {
        /// The repository.
        url: String,
        /// The cause.
        error: JoinError,
    },
}

/// The running threads. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub struct Threads(Arc<Mutex<Vec<Thread>>>);

/// A thread that uses a clone.
#[derive(Debug)]
struct Thread {
    /// The directory of the clone.
    directory: PathBuf,
    /// Dropped when the work ends.
    at_work: Weak<()>,
    /// Whether the work timed out.
    hangs: bool,
}

impl Threads {
    /// Runs work with the clone in a directory, for at most `longest`. A thread cannot be stopped: one that hangs keeps its
    /// clone, and later work with this clone fails. Work with other clones is not affected.
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
        let mark = Arc::downgrade(&at_work);
        self.note(directory, &mark, false);
        let job = move || {
            let done = work();
            drop(at_work);
            done
        };
        let Ok(done) = timeout(longest, spawn_blocking(job)).await else {
            self.note(directory, &mark, true);
            return Err(ThreadError::TooLong { url, after: longest });
        };
        done.map_err(|error| ThreadError::Ended { url, error })
    }

    /// Whether a thread is using the clone in a directory.
    #[must_use]
    pub fn has(&self, directory: &Path) -> bool {
        self.at_work().iter().any(|thread| thread.directory == directory)
    }

    fn hangs(&self, directory: &Path) -> bool {
        self.at_work().iter().any(|thread| thread.hangs && thread.directory == directory)
    }

    fn note(&self, directory: &Path, at_work: &Weak<()>, hangs: bool) {
        let mut threads = self.at_work();
        threads.retain(|thread| !thread.at_work.ptr_eq(at_work));
        threads.push(Thread { directory: directory.to_owned(), at_work: at_work.clone(), hangs });
    }

    /// Returns the running threads, and forgets those that ended.
    fn at_work(&self) -> MutexGuard<'_, Vec<Thread>> {
        let mut threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| thread.at_work.strong_count() > 0);
        threads
    }
}

#[cfg(test)]
mod tests;
