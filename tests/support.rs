//! The common parts of the tests on the testbed: the program itself, a Git work tree, and Flux's artifacts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The result of a run of the program.
pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: i32,
}

/// Runs the program.
pub(crate) fn stackflux(arguments: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_stackflux")).args(arguments).output().unwrap();
    Run {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code().unwrap(),
    }
}

/// An empty directory of its own below the target directory.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        fs::remove_dir_all(&path).unwrap();
    }
    fs::create_dir_all(&path).unwrap();
    path
}

/// Copies a directory and everything below it. Links stay links.
pub(crate) fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(status.success(), "cp -a {} {}", from.display(), to.display());
}
