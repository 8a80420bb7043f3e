//! What the tests on the testbed share: the program itself, a Git work tree, and what Flux made.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What a run of the program gave.
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

/// A directory of its own below the target directory, empty.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.exists() {
        fs::remove_dir_all(&path).unwrap();
    }
    fs::create_dir_all(&path).unwrap();
    path
}

/// Copies a directory and all below it. Links stay links.
pub(crate) fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(status.success(), "cp -a {} {}", from.display(), to.display());
}

/// Runs git in a work tree, without this machine's settings, and returns what it printed.
pub(crate) fn git(work_tree: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(work_tree)
        .args(arguments)
        .envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("NO_PROXY", "127.0.0.1")])
        .envs([("GIT_AUTHOR_NAME", "test"), ("GIT_AUTHOR_EMAIL", "test@localhost")])
        .envs([("GIT_COMMITTER_NAME", "test"), ("GIT_COMMITTER_EMAIL", "test@localhost")])
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Commits all of a work tree, ignored files too, pushes it and returns the commit.
pub(crate) fn commit_and_push(work_tree: &Path, url: &str, message: &str) -> String {
    git(work_tree, &["add", "--all", "--force"]);
    git(work_tree, &["commit", "--quiet", "--message", message]);
    git(work_tree, &["push", "--quiet", url, "HEAD:main"]);
    git(work_tree, &["rev-parse", "HEAD"])
}

/// The text at a JSON pointer.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("no text at {pointer}: {object:#}"))
}

/// The body of an answer to GET, from a server on loopback.
pub(crate) fn http_get(url: &str) -> Vec<u8> {
    let (host, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.0\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
    assert!(answer.starts_with(b"HTTP/1.0 200") || answer.starts_with(b"HTTP/1.1 200"), "{url}");
    answer.split_off(end + 4)
}
