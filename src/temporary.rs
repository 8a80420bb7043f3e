//! Temporary directories that only their owner can read, and that do not outlive the process.
//!
//! A directory is removed when its [`Temporary`] is dropped, and by [`remove_on_signals`] when a signal ends the process.
//! What a killed process left is removed by a later one: a lock in the directory tells that its process is gone.
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

/// What the lock of a temporary directory is called.
const LOCK: &str = "stackflux.lock";

/// The age from which a directory without an owner is removed. Its lock comes right after the directory.
const ABANDONED: Duration = Duration::from_hours(1);

/// How often a directory is removed into which the process still writes.
const ATTEMPTS: usize = 20;

/// What a signal removes.
static PENDING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn pending() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A path that goes with the process, unless it was dropped or moved away before.
#[derive(Debug)]
pub struct Doomed(PathBuf);

impl Doomed {
    /// Notes a path, which need not be there yet.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        pending().insert(path.clone());
        Self(path)
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Moves it to where it stays. A signal comes before that or after it: it never removes a part of what was moved.
    pub fn move_to(self, to: &Path) -> io::Result<()> {
        let mut pending = pending();
        let moved = fs::rename(&self.0, to);
        if moved.is_ok() {
            pending.remove(&self.0);
        }
        // Before the path itself is dropped, which locks again.
        drop(pending);
        moved
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        remove(&self.0);
        pending().remove(&self.0);
    }
}

/// A directory of mode 0700 in that for temporary files.
#[derive(Debug)]
pub struct Temporary {
    // In this order: the lock is let go last.
    directory: Doomed,
    _lock: File,
}

impl Temporary {
    /// Makes a directory, and removes those of this prefix that processes left that were killed.
    pub fn new(prefix: &str) -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir(), prefix)
    }

    fn new_in(parent: &Path, prefix: &str) -> io::Result<Self> {
        let mode = Permissions::from_mode(0o700);
        let directory = tempfile::Builder::new().prefix(prefix).permissions(mode).tempdir_in(parent)?;
        let directory = Doomed::new(directory.keep());
        let lock = File::create(directory.path().join(LOCK))?;
        lock.lock()?;
        remove_abandoned(parent, prefix, &lock, ABANDONED);
        Ok(Self { directory, _lock: lock })
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes the directories of this prefix that are ours, old, and have no process. What cannot be removed stays.
fn remove_abandoned(parent: &Path, prefix: &str, own: &File, age: Duration) {
    let Ok(own) = own.metadata() else { return };
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(prefix);
        // Of the entry itself: a link is not followed.
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

/// Removes what goes with the process. Nothing can be [moved](Doomed::move_to) away while the result lives.
#[must_use]
pub fn remove_all() -> impl Sized {
    let pending = pending();
    for path in pending.iter() {
        remove(path);
    }
    pending
}

/// From now on SIGHUP, SIGINT and SIGTERM, if the process does not ignore them as `nohup` has it do, remove what goes with the process, and end it with the exit code of a shell
/// (128 and the signal's number). For commands: an operator ends in its own way.
pub fn remove_on_signals() {
    let wait = || -> io::Result<i32> {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
        runtime.block_on(async {
            let kinds = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()];
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

/// Whether the process was started with a signal ignored, by the kernel's words about it (`/proc/self/status`).
fn is_ignored(signal: SignalKind, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    mask >> (signal.as_raw_value() - 1) & 1 == 1
}

#[cfg(test)]
mod tests;
