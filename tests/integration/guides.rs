//! The commands of a guide work.

use std::fs;
use std::path::Path;
use std::process::Command;

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
        .args(["-c", &commands("docs/first-stack.md")])
        .current_dir(directory.path())
        .env("PATH", format!("{}:{path}", programs.display()))
        .output()
        .unwrap();
    let (out, errors) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{out}\n{errors}");
    assert!(out.contains("k8sServiceHost: 172.18.0.3"), "{out}");
    assert!(directory.path().join("my-stacks/releases/docker-mine-1-34-v1/metadata.yaml").exists());
}
