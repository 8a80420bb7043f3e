//! Refusals of bad files, archives and exceeded limits, and of hostile releases.

use tar::EntryType;

use super::builder::{Stack, archive, expect, raw_archive};
use crate::error::Classify as _;
use crate::release::{File, Limits, Reason};

const STAGES: &str = "clusteraddon.yaml";

#[test]
fn links_are_refused() {
    let mut stack = Stack::good();
    stack.files.insert_link("cluster-addon/cni/values.yaml", "../../values.yaml").unwrap();
    let message = "it is a link to \"../../values.yaml\": Flux leaves links out of an artifact";
    expect(&stack.refused(), Reason::LinkNotAllowed, "cluster-addon/cni/values.yaml", None, message);
}

#[test]
fn ignored_file_of_a_chart_is_refused() {
    let mut stack = Stack::good();
    stack.files.insert_ignored("cluster-addon/cni/.gitignore").unwrap();
    stack.files.insert_ignored("logo.png").unwrap();
    stack.clean();
    stack.files.insert_ignored("cluster-addon/cni/files/logo.png").unwrap();
    let message = "Flux leaves this file out of an artifact, so the chart would be packaged without it";
    expect(&stack.refused(), Reason::FileIgnored, "cluster-addon/cni/files/logo.png", None, message);
}

#[test]
fn sops_configuration_of_manifests_is_accepted() {
    let mut stack = Stack::good();
    stack.files.insert_ignored("cluster-addon/storage-classes/.sops.yaml").unwrap();
    stack.files.insert_ignored("cluster-addon/storage-classes/secrets/.sops.yaml").unwrap();
    stack.clean();
    stack.files.insert_ignored("cluster-addon/cni/.sops.yaml").unwrap();
    let message = "Flux leaves this file out of an artifact, so the chart would be packaged without it";
    expect(&stack.refused(), Reason::FileIgnored, "cluster-addon/cni/.sops.yaml", None, message);
}

#[test]
fn limits() {
    let mut stack = Stack::good();
    stack.limits = Limits { unpacked: 1500, ..Limits::default() };
    stack = stack.with("README.md", &"x".repeat(2000));
    let findings = stack.load().unwrap_err();
    assert!(findings.errors().all(|finding| finding.reason == Reason::LimitExceeded), "{findings}");
    assert_eq!(findings.reason(), "LimitExceeded");

    let mut stack = Stack::good();
    stack.limits.entries = 9;
    let message = "the release exceeds the limit of 9 files: it has 10";
    expect(&stack.refused(), Reason::LimitExceeded, "", None, message);

    let mut stack = Stack::good().with("metadata.yaml", &"#".repeat(601));
    stack.limits.yaml_file = 600;
    let message = "the file exceeds the limit of 600 bytes: it has 601";
    expect(&stack.refused(), Reason::LimitExceeded, "metadata.yaml", None, message);
}

#[test]
fn archives_of_a_packed_release_share_the_limits() {
    let big = "x".repeat(600_000);
    let mut stack = Stack::empty()
        .with("metadata.yaml", "versions: {kubernetes: v1.34.2}\n")
        .with_bytes(
            "openstack-demo-1-34-cluster-addon-v2.tgz",
            archive(&[("c/Chart.yaml", "name: c\nversion: v1\n"), ("c/x", &big)]),
        )
        .with_bytes(
            "openstack-demo-1-34-cluster-class-v2.tgz",
            archive(&[("c/Chart.yaml", "name: c\nversion: v2\n"), ("c/x", &big)]),
        );
    stack.clean();
    stack.limits.unpacked = 1_000_000;
    let findings = stack.load().unwrap_err();
    let finding = findings.errors().find(|finding| finding.reason == Reason::LimitExceeded).unwrap();
    let message = "with this archive unpacked, the release exceeds the limit of bytes";
    expect(finding, Reason::LimitExceeded, "openstack-demo-1-34-cluster-class-v2.tgz", None, message);
}

#[test]
fn invalid_entry_of_packed_release_is_reported() {
    let bytes = raw_archive([("../../etc/passwd", EntryType::Regular, "", &b"x"[..])]);
    let stack = Stack::single().with_bytes("openstack-demo-1-34-node-image-v2.tgz", bytes);
    let file = "openstack-demo-1-34-node-image-v2.tgz: ../../etc/passwd";
    expect(&stack.refused(), Reason::InvalidPath, file, None, "the path has a `..` in it");
}

#[test]
fn content_of_invalid_archive_is_not_missing() {
    let bytes = raw_archive([("/etc/passwd", EntryType::Regular, "", &b"x"[..])]);
    let class = "openstack-demo-1-34-cluster-class-v2.tgz";
    let stack = Stack::single().without("cluster-class/Chart.yaml").with_bytes(class, bytes);
    let file = format!("{class}: /etc/passwd");
    expect(&stack.refused(), Reason::InvalidPath, &file, None, "the path is absolute");
}

#[test]
fn part_packed_and_unpacked_is_refused() {
    let bytes = archive(&[("c/Chart.yaml", "name: c\nversion: v2\n")]);
    let stack = Stack::single().with_bytes("openstack-demo-1-34-cluster-class-v2.tgz", bytes);
    let message = "the file is in openstack-demo-1-34-cluster-class-v2.tgz and also unpacked in the release: another \
                   entry has the same path, or is a file where this one needs a directory";
    expect(&stack.refused(), Reason::InvalidPath, "cluster-class/Chart.yaml", None, message);
}

#[test]
fn invalid_entry_of_vendored_chart_is_reported() {
    let path = "cluster-addon/cni/charts/cilium-1.18.9.tgz";
    let chart = &b"name: cilium\nversion: 1.18.9\n"[..];
    let bytes = raw_archive([
        ("cilium/Chart.yaml", EntryType::Regular, "", chart),
        ("cilium/null", EntryType::Char, "", &b""[..]),
    ]);
    let findings = Stack::good().with_bytes(path, bytes).load().unwrap_err();
    let finding = findings.errors().next().unwrap();
    let message = "the entry is a device, a pipe or something else special";
    expect(finding, Reason::SpecialFile, &format!("{path}: cilium/null"), None, message);
    let finding =
        Stack::good().with_bytes(path, archive(&[("cilium/Chart.yaml", "a: 1\na: 2\n")])).load().unwrap_err();
    let finding = finding.errors().next().unwrap();
    let message = "duplicate key \"a\" in one mapping";
    expect(finding, Reason::DuplicateKey, &format!("{path}: cilium/Chart.yaml"), 2, message);
}

#[test]
fn control_characters_do_not_reach_a_terminal() {
    let mut stack = Stack::good();
    let file = File { content: b"versions: \"\x1b[31m\"\n".to_vec(), executable: false };
    stack.files.remove("metadata.yaml");
    stack.files.insert("metadata.yaml", file).unwrap();
    assert!(!stack.load().unwrap_err().to_string().contains('\x1b'));
}

#[test]
fn file_with_many_errors_is_reported_completely() {
    let stages = "    - {name: x, action: x, more: x}\n".repeat(5_000);
    let text = format!("addonStages:\n  AfterControlPlaneInitialized:\n{stages}");
    let findings = Stack::good().with(STAGES, &text).load().unwrap_err();
    assert_eq!((findings.errors().count(), findings.warnings().count()), (10_000, 5_000));
}
