//! Paths of a testbed: its sources, the cache of built binaries, the directories of runs.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{Context as _, Error, Result};

/// The directory `tests/testbed` of the work tree that this was compiled in.
pub(crate) fn sources() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The cache of built binaries, outside the work tree so that it outlives `cargo clean`: `TESTBED_CACHE`, by default
/// `stackflux-testbed` in the user's cache directory.
pub(crate) fn cache() -> Result<PathBuf> {
    if let Some(directory) = variable("TESTBED_CACHE") {
        return Ok(directory.into());
    }
    let user_cache = match (variable("XDG_CACHE_HOME"), variable("HOME")) {
        (Some(directory), _) => PathBuf::from(directory),
        (None, Some(home)) => Path::new(&home).join(".cache"),
        (None, None) => return Err(Error::new("no place for built binaries: set HOME or TESTBED_CACHE")),
    };
    Ok(user_cache.join("stackflux-testbed"))
}

/// The file with the seconds of each test on the testbed; its reader removes it.
pub(crate) fn seconds() -> PathBuf {
    runs().join("seconds")
}

/// The directory of the testbed that a user starts.
pub(crate) fn run_of_person() -> PathBuf {
    runs().join("up")
}

/// The directory of this test process's own testbed, beside those of other test processes. The directories of earlier
/// test processes, which hold their logs, are removed if their process has ended.
pub(crate) fn run_of_tests() -> Result<PathBuf> {
    let runs = runs();
    fs::create_dir_all(&runs).context(|| format!("cannot create {}", runs.display()))?;
    for entry in fs::read_dir(&runs).context(|| format!("cannot list {}", runs.display()))?.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix("tests-")?.split('-').next());
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // Another test process may be removing the same directory.
            drop(fs::remove_dir_all(entry.path()));
        }
    }
    Ok(runs.join(format!("tests-{}", std::process::id())))
}

/// The directory of a testbed for one test of this process.
pub(crate) fn run_of_one_test(number: u32) -> Result<PathBuf> {
    let run = run_of_tests()?;
    Ok(run.with_file_name(format!("tests-{}-{number}", std::process::id())))
}

/// Distinguishes the components of one process.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// The directory of a component that a test of this process starts on its own: another one each time.
pub(crate) fn run_of_component(name: &str) -> Result<PathBuf> {
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    let run = run_of_tests()?;
    Ok(run.with_file_name(format!("tests-{}-{name}-{number}", std::process::id())))
}

/// A variable of the environment that is set and not empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn runs() -> PathBuf {
    let workspace = sources().ancestors().nth(2).unwrap_or_else(sources);
    // Relative to the workspace, as Cargo reads it when it is called there.
    workspace.join(variable("CARGO_TARGET_DIR").unwrap_or_else(|| "target".to_owned())).join("testbed")
}
