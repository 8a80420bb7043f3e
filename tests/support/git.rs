//! A Git work tree that tests commit to and push from.

use std::path::Path;
use std::process::Command;

/// Runs git in a work tree, without this machine's settings, and returns its output.
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
