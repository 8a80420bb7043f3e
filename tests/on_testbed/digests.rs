//! The digest of a work tree equals the digest of Flux's artifact.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::Duration;

use stackflux::release::{Digest, Limits, archive};
use stackflux::source::directory;
use stackflux_testbed::{Object, Testbed};

use crate::git::{commit_and_push, git};
use crate::support::scratch;
use crate::text;

#[test]
fn work_tree_digest_is_that_of_its_artifact() {
    let testbed = Testbed::shared();
    let namespace = testbed.namespace("digest").unwrap();
    let tree = scratch("digest");
    let write = |path: &str, content: &str| {
        let path = tree.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    write("release/cluster-addon/cni/Chart.yaml", "name: cni\n");
    write("release/cluster-addon/cni/templates/all.yaml", "a: 1\n");
    write("release/cluster-addon/cni/charts/sub-1.0.0.tgz", "not ignored");
    write("release/cluster-addon/cni/logo.png", "ignored by default");
    write("release/cluster-addon/cni/files/backup.tar.gz", "ignored by default");
    write("release/.github/workflows/ci.yaml", "ignored by default");
    write("release/.sourceignore", "*.bak\n/secret/\n!keep.bak\n");
    write("release/notes.bak", "ignored by .sourceignore");
    write("release/keep.bak", "kept by .sourceignore");
    write("release/secret/key", "ignored by .sourceignore");
    // Sorted by name, it precedes the file of the directory above.
    write("release/.config/.sourceignore", "!kept.bak\n");
    write("release/.config/kept.bak", "kept by its own .sourceignore");
    write("release/run.sh", "#!/bin/sh\n");
    let run = tree.join("release/run.sh");
    fs::set_permissions(run, fs::Permissions::from_mode(0o755)).unwrap();
    symlink("notes.bak", tree.join("release/link")).unwrap();
    git(&tree, &["init", "--quiet", "--initial-branch=main"]);
    let commit = commit_and_push(&tree, &testbed.git().url(&namespace), "a release");

    let source = format!(
        "{{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {{name: digest, namespace: {namespace}}}, \
         spec: {{url: {:?}, interval: 24h, ref: {{commit: {commit}}}, sparseCheckout: [release]}}}}",
        testbed.git().url(&namespace)
    );
    let management = testbed.management();
    management.apply(&source).unwrap();
    let object = Object { kind: "gitrepository", namespace: &namespace, name: "digest" };
    let fetched = management.wait_ready(object, Duration::from_mins(1)).unwrap();
    let artifact = http_get(text(&fetched, "/status/artifact/url"));

    let limits = Limits::default();
    let of_flux = archive::unpack(&artifact, "artifact", &limits).unwrap();
    let of_tree = directory::read(&tree, &limits).unwrap();
    let paths = |files: &stackflux::release::Files| -> Vec<String> {
        files.below("release").map(|(path, file)| format!("{path} {}", file.executable)).collect()
    };
    assert_eq!(paths(&of_flux), paths(&of_tree));
    assert_eq!(Digest::of(&of_flux, "release"), Digest::of(&of_tree, "release"));
}

/// The body of a GET response from a server on loopback.
fn http_get(url: &str) -> Vec<u8> {
    let (host, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.0\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
    assert!(answer.starts_with(b"HTTP/1.0 200") || answer.starts_with(b"HTTP/1.1 200"), "{url}");
    answer.split_off(end + 4)
}
