//! The commands of a guide work.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::documents::documents;

/// Returns the commands of a document: its blocks for a shell.
fn commands(document: &str) -> String {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(document)).unwrap();
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    format!("set -euo pipefail\n{}", blocks.collect::<Vec<_>>().join("\n"))
}

#[test]
fn commands_of_the_first_stack_work() {
    let directory = tempfile::tempdir().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let copied = Command::new("cp").arg("-r").arg(examples).arg(directory.path()).status().unwrap();
    assert!(copied.success());
    let programs = Path::new(env!("CARGO_BIN_EXE_stackflux")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let run = Command::new("bash")
        .args(["-c", &commands("docs/learn/first-stack.md")])
        .current_dir(directory.path())
        .env("PATH", format!("{}:{path}", programs.display()))
        .output()
        .unwrap();
    let (out, errors) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{out}\n{errors}");
    assert!(out.contains("k8sServiceHost: 172.18.0.3"), "{out}");
    assert!(directory.path().join("my-stacks/releases/docker-mine-1-34-v1/metadata.yaml").exists());
}

/// A page about a task ends with a command that shows whether it worked.
#[test]
fn tasks_end_with_a_check() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ends = |page: &String| {
        let text = fs::read_to_string(root.join(page)).unwrap();
        let (_, last) = text.rsplit_once("\n## ").unwrap();
        last.starts_with("Check that it worked\n") && last.contains("\n```")
    };
    let missing: Vec<_> = documents("docs/do").into_iter().filter(|page| !ends(page)).collect();
    assert!(missing.is_empty(), "these end without `## Check that it worked` and a command: {missing:?}");
}

/// The most words of all pages that are read from the beginning to the end.
const MAX_WORDS: usize = 25_000;

#[test]
fn pages_to_read_stay_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_read =
        |page: &String| !page.starts_with("docs/reference/") && !page.starts_with("docs/decisions/");
    let pages = documents("docs").into_iter().filter(is_read);
    let words = |page: String| fs::read_to_string(root.join(page)).unwrap().split_whitespace().count();
    let sum: usize = pages.map(words).sum();
    assert!(sum <= MAX_WORDS, "{sum} words, at most {MAX_WORDS}");
}
