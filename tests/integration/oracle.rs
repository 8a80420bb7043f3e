//! Go programs that tell what the real implementations do: `tests/oracle/<program>`, built when a test first asks.

use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use serde_json::Value;

/// One build at a time: two tests may want the same program.
static BUILDING: Mutex<()> = Mutex::new(());

/// Builds `tests/oracle/<program>` into `target/oracle` and returns the binary. Go's own cache makes later calls fast.
pub(crate) fn build(program: &str) -> PathBuf {
    let _building = BUILDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target directory");
    let binary = target.join("oracle").join(program);
    let output = Command::new("go")
        .args(["build", "-trimpath", "-o"])
        .arg(&binary)
        .arg(format!("./{program}"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle"))
        .output()
        .expect("the oracles need Go: https://go.dev/dl");
    assert!(output.status.success(), "go build {program}: {}", String::from_utf8_lossy(&output.stderr));
    binary
}

/// Gives a program one JSON line per request and returns its answers, one JSON line each, in the same order.
pub(crate) fn ask(program: &Path, requests: &[Value]) -> Vec<Value> {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the oracle starts");
    let mut stdin = BufWriter::new(child.stdin.take().expect("a pipe"));
    let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let answers = std::thread::scope(|scope| {
        // Written beside reading: a full pipe would stop both.
        scope.spawn(move || {
            for request in requests {
                writeln!(stdin, "{request}").expect("the oracle reads");
            }
        });
        stdout
            .lines()
            .map(|line| serde_json::from_str(&line.expect("UTF-8")).expect("an answer in JSON"))
            .collect::<Vec<Value>>()
    });
    assert!(child.wait().expect("it was started").success(), "the oracle failed");
    assert_eq!(answers.len(), requests.len(), "one answer for each request");
    answers
}
