//! Work with repositories, on threads of its own: libgit2 blocks, and a server can hold it for ever.

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
    #[error("{url}: timed out after {} s", .after.as_secs())]
    TooLong {
        /// The repository.
        url: String,
        /// The time that it had.
        after: Duration,
    },
    /// What took too long before has the clone still.
    #[error(
        "{url}: an earlier connection that timed out is still open: the operator tries again when the connection has \
         ended, or after a restart"
    )]
    Hangs {
        /// The repository.
        url: String,
    },
    /// It ended in a defect.
    #[error("{url}: the worker thread failed: {error}")]
    Ended {
        /// The repository.
        url: String,
        /// How.
        error: JoinError,
    },
}

/// The threads that are at work. Copies are the same.
#[derive(Clone, Debug, Default)]
pub struct Threads(Arc<Mutex<Vec<Thread>>>);

/// A thread that has a clone.
#[derive(Debug)]
struct Thread {
    /// The directory of the clone.
    directory: PathBuf,
    /// It goes with the work.
    at_work: Weak<()>,
    /// Whether it was not waited for to the end.
    hangs: bool,
}

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

    /// Whether a thread is at work with the clone in a directory.
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

    /// Those that have not ended; the others are forgotten.
    fn at_work(&self) -> MutexGuard<'_, Vec<Thread>> {
        let mut threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| thread.at_work.strong_count() > 0);
        threads
    }
}

#[cfg(test)]
mod tests;
