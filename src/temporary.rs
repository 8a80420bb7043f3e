//! Temporary directories that only their owner can read, and that do not outlive the process.
//!
//! A directory is removed when its [`Temporary`] is dropped, and by [`remove_on_signals`] when a signal ends the process.
//! Directories of killed processes are removed by a later process: a lock in each shows whether its process still runs.
#![allow(clippy::disallowed_methods, reason = "it is about directories, their age and signals")]

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use futures::future::select_all;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

/// File name of the lock in a temporary directory.
const LOCK: &str = "stackflux.lock";

/// Minimum age of an abandoned directory: a process creates the directory just before it takes the lock.
const ABANDONED: Duration = Duration::from_hours(1);

/// Maximum number of attempts to remove a directory into which the process still writes.
const ATTEMPTS: usize = 20;

/// Paths that a signal removes.
static PENDING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn pending() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A path that is removed on drop or when a signal ends the process, unless it was moved before.
#[derive(Debug)]
pub struct RemoveOnDrop(PathBuf);

impl RemoveOnDrop {
    /// Registers a path, which need not exist yet.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        pending().insert(path.clone());
        Self(path)
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Moves the path to its final place. A signal removes it either before or not at all, never in part.
    pub fn move_to(self, to: &Path) -> io::Result<()> {
        let mut pending = pending();
        let moved = fs::rename(&self.0, to);
        if moved.is_ok() {
            pending.remove(&self.0);
        }
        // `self` locks again when it is dropped.
        drop(pending);
        moved
    }
}

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        remove(&self.0);
        pending().remove(&self.0);
    }
}

/// A directory of mode 0700 in the system's temporary directory.
#[derive(Debug)]
pub struct Temporary {
    // Dropped in this order: the lock is released last.
    directory: RemoveOnDrop,
    _lock: File,
}

impl Temporary {
    /// Creates a directory, and removes those of the same prefix that killed processes left.
    pub fn new(prefix: &str) -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir(), prefix)
    }

    fn new_in(parent: &Path, prefix: &str) -> io::Result<Self> {
        let mode = Permissions::from_mode(0o700);
        let directory = tempfile::Builder::new().prefix(prefix).permissions(mode).tempdir_in(parent)?;
        let directory = RemoveOnDrop::new(directory.keep());
        let lock = File::create(directory.path().join(LOCK))?;
        lock.lock()?;
        remove_abandoned(parent, prefix, &lock, ABANDONED);
        Ok(Self { directory, _lock: lock })
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes the directories of this prefix that this user owns, that are old and unlocked. Ignores errors.
fn remove_abandoned(parent: &Path, prefix: &str, own: &File, age: Duration) {
    let Ok(own) = own.metadata() else { return };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(prefix);
        // Of the entry itself: links are not followed.
        let Some(found) = entry.metadata().ok().filter(|found| is_named && found.is_dir()) else { continue };
        let modified = found.modified().ok().and_then(|time| time.elapsed().ok());
        if found.uid() != own.uid() || modified.is_none_or(|passed| passed < age) {
            continue;
        }
        let lock = File::open(entry.path().join(LOCK));
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            remove(&entry.path());
        }
    }
}

fn remove(path: &Path) {
    for _ in 0..ATTEMPTS {
        let removed = match fs::symlink_metadata(path) {
            Ok(found) if found.is_dir() => fs::remove_dir_all(path),
            Ok(_) => fs::remove_file(path),
            Err(_) => return,
        };
        if removed.is_ok() {
            return;
        }
        thread::yield_now();
    }
}

/// Ignores that a path to remove does not exist.
pub fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Removes all registered paths. Nothing can be [moved](RemoveOnDrop::move_to) away while the result lives.
#[must_use]
pub fn remove_all() -> impl Sized {
    let pending = pending();
    for path in pending.iter() {
        remove(path);
    }
    pending
}

/// Starts a thread that waits for the signals that end a process, except those that the process was started to ignore
/// (`nohup`). On such a signal, the thread removes all registered paths and exits with the code of a shell (128 plus the number of the
/// signal). For commands only: the operator shuts down by itself.
pub fn remove_on_signals() {
    let wait = || -> io::Result<i32> {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
        runtime.block_on(async {
            let kinds = [
                SignalKind::hangup(),
                SignalKind::interrupt(),
                SignalKind::quit(),
                SignalKind::terminate(),
                SignalKind::user_defined1(),
                SignalKind::user_defined2(),
            ];
            let heard = kinds.into_iter().filter(|kind| !is_ignored(*kind, &status)).map(|kind| {
                let mut signals = signal(kind)?;
                Ok(Box::pin(async move {
                    signals.recv().await;
                    kind.as_raw_value()
                }))
            });
            let heard = heard.collect::<io::Result<Vec<_>>>()?;
            if heard.is_empty() {
                return std::future::pending().await;
            }
            Ok(select_all(heard).await.0)
        })
    };
    thread::spawn(move || {
        if let Ok(signal) = wait() {
            let _nothing_moves = remove_all();
            std::process::exit(128 + signal);
        }
    });
}

/// Whether the process ignores a signal, by the `SigIgn` mask in `/proc/self/status`.
fn is_ignored(signal: SignalKind, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask >> (signal.as_raw_value() - 1) & 1 == 1
}

#[cfg(test)]
mod tests;
