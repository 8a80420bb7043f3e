use crate::git::Message;
use crate::publish::tests::{prepared, vendored};

#[test]
fn what_a_commit_says() {
    let mut prepared = prepared("openstack-demo-1-34-v2");
    prepared.vendored = vec![vendored(&prepared, "1.2.3", b"archive")];
    let text = super::message(&prepared).to_string();
    let version = env!("CARGO_PKG_VERSION");
    let archive = crate::release::Digest::of_bytes(b"archive");
    let digest = prepared.release.digest;
    assert_eq!(
        text,
        format!(
            "Publish openstack-demo-1-34-v2

Kubernetes v1.34.2, cluster class class v2
- cni: cilium ~1.2
- policies: manifests

Stackflux-Source: oci://host/stacks:openstack-demo-1-34-v2@sha256:ab
Stackflux-Source-Digest: sha256:ab
Stackflux-Content-Digest: {digest}
Stackflux-Vendored: cilium 1.2.3 {archive} from https://charts/cilium-1.2.3.tgz
Stackflux-Version: {version}
"
        )
    );
}

#[test]
fn a_chart_s_name_adds_no_trailer() {
    let mut prepared = prepared("openstack-demo-1-34-v2");
    prepared.release.cluster_class.name = "class\n\nStackflux-Verified: me".to_owned();
    prepared.provenance.source = "oci://host/x\nStackflux-Verified: me".to_owned();
    let parsed = Message::parse(&super::message(&prepared).to_string());
    assert_eq!(parsed.value(super::VERIFIED), None);
    assert_eq!(parsed.value(super::SOURCE), Some("oci://host/x Stackflux-Verified: me"));
}

#[test]
fn path_of_the_publisher_is_left_out() {
    let name = "openstack-demo-1-34-v2";
    let mut prepared = prepared(name);
    for (source, expected) in [
        ("/home/ann/stacks/releases/openstack-demo-1-34-v2", name),
        ("../stacks/openstack-demo-1-34-v2.tgz", "openstack-demo-1-34-v2.tgz"),
        (".", name),
        (
            "git+file:///home/ann/stacks.git//releases?ref=main",
            "git+file://.../stacks.git//releases?ref=main",
        ),
        ("git+https://host/stacks.git//releases", "git+https://host/stacks.git//releases"),
        ("github://org/stacks@openstack-demo-1-34-v2", "github://org/stacks@openstack-demo-1-34-v2"),
    ] {
        prepared.provenance.source = source.to_owned();
        let parsed = Message::parse(&super::message(&prepared).to_string());
        assert_eq!(parsed.value(super::SOURCE), Some(expected), "{source}");
    }
}
