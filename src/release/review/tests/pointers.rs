use super::*;
use crate::release::tests::builder::archive;

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n\
                       oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

#[test]
fn pointer_in_place_of_a_file_is_refused() {
    for (path, severity) in [
        ("cluster-addon/ccm/values.yaml", "error"),
        ("cluster-addon/ccm/templates/a.txt", "error"),
        ("cluster-addon/ccm/crds/a.yaml", "error"),
        ("cluster-addon/storage-classes/a.yaml", "error"),
        ("node-images/a.yaml", "error"),
        ("cluster-class/values.schema.json", "error"),
        ("cluster-addon/ccm/logo.svg", "warning"),
        ("docs/a.yaml", "warning"),
    ] {
        let (place, message) = one(&Stack::good().with(path, POINTER));
        assert_eq!(place, format!("{severity} LfsPointer {path}"));
        assert_eq!(message, "the file is a pointer of Git LFS: source-controller does not fetch its content");
    }
    let text = Stack::good().with("cluster-addon/ccm/templates/a.txt", &format!("See:\n{POINTER}"));
    assert_eq!(found(&text), []);
}

#[test]
fn pointer_in_place_of_an_archive_is_named_as_such() {
    let packed = Stack::good().with("openstack-demo-1-34-node-image-v2.tgz", POINTER);
    let vendored = Stack::good().with("cluster-addon/cni/charts/cilium-1.18.9.tgz", POINTER);
    for stack in [packed, vendored] {
        let findings = stack.lint().unwrap_err();
        let reasons: Vec<_> = findings.errors().map(|finding| finding.reason).collect();
        assert!(reasons.contains(&crate::release::Reason::LfsPointer), "{findings}");
        assert!(!reasons.contains(&crate::release::Reason::InvalidArchive), "{findings}");
    }
}

#[test]
fn pointer_in_a_vendored_chart_is_refused() {
    let chart = "apiVersion: v2\nname: sub\nversion: 1.0.0\n";
    let packed = archive(&[("sub/Chart.yaml", chart), ("sub/templates/a.yaml", POINTER)]);
    let stack = Stack::good().with_bytes("cluster-addon/ccm/charts/sub-1.0.0.tgz", packed);
    assert_eq!(
        one(&stack).0,
        "error LfsPointer cluster-addon/ccm/charts/sub-1.0.0.tgz: sub/templates/a.yaml"
    );
}
