//! Standard output and standard error that cannot be written: a full disk, a reader that has gone away.

use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::scratch;

fn stack() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/cli/stack")
}

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stackflux"));
    command.current_dir(stack()).args(arguments).stdin(Stdio::null());
    command
}

fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

/// The writing end of a pipe that nothing reads.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn unwritable_diagnostics_are_dropped() {
    for (name, stderr) in [("full", Stdio::from(full())), ("closed", closed())] {
        let to = scratch(&format!("streams-{name}"));
        let to_text = to.display().to_string();
        let arguments = ["publish", "releases", "--to", &to_text, "--release"];
        let releases = ["openstack-demo-1-34-v1", "--release", "openstack-demo-1-34-v2"];
        let status = program(&[&arguments[..], &releases].concat()).stderr(stderr).status().unwrap();
        assert_eq!(status.code(), Some(0), "{name}");
        assert_eq!(fs::read_dir(to.join("releases")).unwrap().count(), 2, "{name}");
    }
}

#[test]
fn unwritable_logs_are_dropped() {
    let arguments = ["operator", "--kubeconfig", "/dev/null", "--runtime-namespace", "flux-system"];
    for stderr in [Stdio::from(full()), closed()] {
        let status = program(&arguments).stdout(Stdio::null()).stderr(stderr).status().unwrap();
        assert_eq!(status.code(), Some(2));
    }
}

#[test]
fn unwritable_results_exit_with_2() {
    let release = "releases/openstack-demo-1-34-v1";
    for arguments in [
        &["crds"][..],
        &["install", "--export"],
        &["version"],
        &["completion", "bash"],
        &["inspect", release],
        &["inspect", release, "-o", "json"],
        &["lint", release, "-o", "json"],
        &["diff", release, "releases/openstack-demo-1-34-v2", "--files"],
        &["--help"],
        &["generate", "--help"],
    ] {
        let output = program(arguments).stdout(full()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains("panicked"), "{arguments:?}: {stderr}");
    }
}

#[test]
fn closed_pipe_is_not_an_error() {
    for arguments in [&["crds"][..], &["install", "--export"], &["completion", "bash"], &["--help"]] {
        let mut child = program(arguments).stdout(closed()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""), "{arguments:?}");
    }
}
