//! A good release with one file of any content: neither the operator nor `lint` panics, and what is found is within the file
//! and fit for a terminal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use stackflux::release::{File, Files, Finding, Findings, Limits, Release};

/// What the file replaces, or stands beside.
const GOOD: [(&str, &str); 7] = [
    ("metadata.yaml", "versions: {kubernetes: v1.34.2}\n"),
    (
        "clusteraddon.yaml",
        "addonStages:\n  AfterControlPlaneInitialized:\n    - {name: cni, action: apply}\n    - {name: ccm, action: apply}\n",
    ),
    ("cluster-class/Chart.yaml", "name: demo-class\nversion: v1\n"),
    ("cluster-class/templates/class.yaml", "kind: ClusterClass\nmetadata:\n  name: docker-demo-1-34-v1\n"),
    ("cluster-addon/cni/Chart.yaml", "name: cni\nversion: v1\n"),
    ("cluster-addon/ccm/Chart.yaml", "name: ccm\nversion: v1\n"),
    ("components/file.yaml", "a: {{ .Cluster.metadata.name }}\n"),
];

// The input is the file: its path, a line feed, its content. A csctl.yaml is read where there is no metadata.yaml.
fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |byte| *byte == b'\n');
    let (path, content) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let Ok(path) = std::str::from_utf8(path) else { return };
    let mut files = Files::default();
    if files.insert(path, file(content)).is_err() {
        return;
    }
    for (good, content) in GOOD {
        if (path, good) != ("csctl.yaml", "metadata.yaml") {
            // It is taken where it is the file of the input.
            let _ = files.insert(good, file(content.as_bytes()));
        }
    }
    let Ok(files) = files.without_ignored() else { return };
    check(files, path, content);
});

fn file(content: &[u8]) -> File {
    File { content: content.to_vec(), executable: false }
}

fn check(files: Files, path: &str, content: &[u8]) {
    let name = "docker-demo-1-34-v1".parse().expect("the name of a release");
    for read in [Release::load, Release::lint] {
        let findings = match read(&name, files.clone(), &Limits::default()) {
            Ok(loaded) => {
                assert!(!loaded.warnings.has_errors());
                loaded.warnings
            }
            Err(findings) => {
                assert!(findings.has_errors());
                findings
            }
        };
        check_findings(&findings, path, content);
    }
}

fn check_findings(findings: &Findings, path: &str, content: &[u8]) {
    let shown = findings.to_string();
    assert!(shown.chars().all(|character| character == '\n' || !character.is_control()));
    let lines = 1 + content.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() as u64;
    let of_the_file = |finding: &&Finding| finding.file == path;
    for finding in findings.iter().filter(of_the_file) {
        assert!(finding.line.is_none_or(|line| (1..=lines).contains(&line)), "{finding}");
        assert!(finding.line.is_none_or(|_| finding.column.is_some_and(|column| column > 0)), "{finding}");
    }
}
