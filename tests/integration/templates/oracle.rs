//! The oracle: Go's own engine as a program, built from `tests/oracle` when it is first needed.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// Starts to answer made-up cases, one JSON line each.
pub(crate) fn random(seed: u64, count: u64) -> Child {
    Command::new(program())
        .args(["random", "--seed", &seed.to_string(), "--count", &count.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the oracle starts")
}

/// Writes the conformance files anew, below the target directory.
pub(crate) fn conformance() -> PathBuf {
    let directory = directory().join("conformance");
    if directory.exists() {
        std::fs::remove_dir_all(&directory).expect("the old files go");
    }
    let status = Command::new(program())
        .arg("conformance")
        .arg("--out")
        .arg(&directory)
        .status()
        .expect("the oracle starts");
    assert!(status.success(), "the oracle failed");
    directory
}

/// The names of all functions.
pub(crate) fn functions() -> BTreeSet<String> {
    let output = Command::new(program()).arg("functions").output().expect("the oracle starts");
    String::from_utf8(output.stdout).expect("names").lines().map(str::to_owned).collect()
}

/// Runs the oracle's own tests.
pub(crate) fn test() {
    go(Command::new("go").args(["test", "./..."]));
}

/// The built program. Go's own build cache makes this quick when nothing has changed.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = directory().join("templates");
        go(Command::new("go").args(["build", "-o"]).arg(&program).arg("./templates"));
        program
    })
}

/// Runs Go in the oracle's module.
fn go(command: &mut Command) {
    match command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle")).status() {
        Ok(status) => assert!(status.success(), "{command:?} failed"),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            panic!("this test compares with Go's own engine: install Go 1.26 or newer (https://go.dev/dl)")
        }
        Err(error) => panic!("{command:?}: {error}"),
    }
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target directory").join("oracle")
}
