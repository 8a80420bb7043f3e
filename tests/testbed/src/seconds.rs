//! Durations of the tests on the testbed: a line per test in a file that `make test` prints, the slowest first.
//!
//! Stable Rust's test harness does not report times. It runs each test in a thread of the test's name, which ends with
//! the test, failed or not: so does a thread-local value.

use std::cell::OnceCell;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::thread;
use std::time::Instant;

use crate::paths;

thread_local! {
    static SCENARIO: OnceCell<Scenario> = const { OnceCell::new() };
}

/// A test that uses a testbed.
struct Scenario {
    name: String,
    begun: Instant,
}

/// Notes that the test of this thread uses a testbed from now on. No effect after the first call, and in a thread
/// without a name.
pub(crate) fn count() {
    if let Some(name) = thread::current().name().filter(|name| *name != "main") {
        SCENARIO.with(|scenario| {
            scenario.get_or_init(|| Scenario { name: name.to_owned(), begun: Instant::now() });
        });
    }
}

impl Drop for Scenario {
    fn drop(&mut self) {
        // A test does not fail because of this file.
        drop(append(&paths::seconds(), &line(&self.name, self.begun.elapsed().as_secs())));
    }
}

fn line(name: &str, seconds: u64) -> String {
    format!("{seconds:5} s  scenario {name}\n")
}

/// One write of a line: several threads and processes append to the file.
fn append(path: &Path, line: &str) -> std::io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    OpenOptions::new().create(true).append(true).open(path)?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_are_counted_once_at_their_end() {
        let name = format!("of-{}", std::process::id());
        let test = thread::Builder::new().name(name.clone()).spawn(|| {
            count();
            count();
        });
        test.map(thread::JoinHandle::join).map(drop).unwrap_or_default();
        let written = fs::read_to_string(paths::seconds()).unwrap_or_default();
        assert_eq!(written.lines().filter(|line| line.ends_with(&name)).count(), 1, "{written}");
        assert_eq!(line("crds::a_test", 12), "   12 s  scenario crds::a_test\n");
    }
}
