//! Go's own template engine as a program: `tests/oracle`.

use std::collections::BTreeSet;
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

/// Writes the conformance files again, below the target directory.
pub(crate) fn conformance() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("conformance");
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

/// Lists the names of all functions.
pub(crate) fn functions() -> BTreeSet<String> {
    let output = Command::new(program()).arg("functions").output().expect("the oracle starts");
    String::from_utf8(output.stdout).expect("names").lines().map(str::to_owned).collect()
}

/// Runs the oracle's own tests.
pub(crate) fn test() {
    let output = Command::new("go")
        .args(["test", "."])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle"))
        .output()
        .expect("the oracle needs Go: https://go.dev/dl");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Returns the program, which is built on first use. Go's own cache makes later builds fast.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join("oracle");
        let output = Command::new("go")
            .args(["build", "-trimpath", "-o"])
            .arg(&binary)
            .arg(".")
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle"))
            .output()
            .expect("the oracle needs Go: https://go.dev/dl");
        assert!(output.status.success(), "go build: {}", String::from_utf8_lossy(&output.stderr));
        binary
    })
}
