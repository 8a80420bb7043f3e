//! Temporary directories of a process that a signal ends.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::scratch;

/// The directories in that for temporary files.
fn directories(temporary: &Path) -> Vec<PathBuf> {
    fs::read_dir(temporary).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The program on a Git server that never answers, until it has made its clone. Signals end it, whatever the process of the
/// test ignores.
fn fetching(temporary: &Path) -> (TcpListener, Child) {
    fetching_with(temporary, "--default-signal=HUP,INT,QUIT,TERM,USR1,USR2")
}

/// The same, with an option of coreutils' env for signals.
fn fetching_with(temporary: &Path, signals: &str) -> (TcpListener, Child) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let source = format!("git+http://{}/a.git", listener.local_addr().unwrap());
    let mut command = Command::new("env");
    command.args([signals, env!("CARGO_BIN_EXE_stackflux"), "releases", &source]).env("TMPDIR", temporary);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    listener.set_nonblocking(false).unwrap();
    while !directories(temporary).iter().any(|clone| clone.join("repository.git/HEAD").is_file()) {
        assert!(begun.elapsed() < Duration::from_secs(20), "no clone is made");
        std::thread::sleep(Duration::from_millis(20));
    }
    (listener, child)
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn clone_is_private_and_removed_on_a_signal() {
    for (name, code) in
        [("HUP", 129), ("INT", 130), ("QUIT", 131), ("TERM", 143), ("USR1", 138), ("USR2", 140)]
    {
        let temporary = scratch(&format!("temporary-{name}"));
        let (_server, mut child) = fetching(&temporary);
        for clone in directories(&temporary) {
            assert_eq!(fs::metadata(&clone).unwrap().permissions().mode() & 0o777, 0o700, "{name}");
        }
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{name}");
        assert_eq!(directories(&temporary), Vec::<PathBuf>::new(), "{name}");
    }
}

/// As nohup starts a process.
#[test]
fn ignored_signal_ends_nothing() {
    let temporary = scratch("temporary-nohup");
    let (_server, mut child) = fetching_with(&temporary, "--ignore-signal=HUP");
    signal(&child, "HUP");
    std::thread::sleep(Duration::from_millis(500));
    assert!(child.try_wait().unwrap().is_none() && !directories(&temporary).is_empty());
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn clone_of_a_killed_process_is_removed_by_the_next() {
    let temporary = scratch("temporary-killed");
    let (_server, mut child) = fetching(&temporary);
    child.kill().unwrap();
    child.wait().unwrap();
    let left = directories(&temporary);
    assert_eq!(left.len(), 1);
    let age = std::time::SystemTime::now() - Duration::from_hours(2);
    fs::File::open(&left[0]).unwrap().set_modified(age).unwrap();
    let (_server, mut child) = fetching_instead(&temporary, &left[0]);
    signal(&child, "TERM");
    child.wait().unwrap();
    assert_eq!(directories(&temporary), Vec::<PathBuf>::new());
}

/// The same, until the directory of another process is gone and there is one of its own.
fn fetching_instead(temporary: &Path, left: &Path) -> (TcpListener, Child) {
    let (listener, child) = fetching(temporary);
    let begun = Instant::now();
    while left.exists() || directories(temporary).is_empty() {
        assert!(begun.elapsed() < Duration::from_mins(1), "{} is not removed", left.display());
        std::thread::sleep(Duration::from_millis(20));
    }
    (listener, child)
}
