//! Helpers for tests of publishing.

use super::*;
use crate::release::{Digest, File, Files, Limits};
use crate::source::origin::{Fetched, Provenance};

pub(crate) const NAME: &str = "openstack-demo-1-34-v2";

/// Returns the files of a release: a cluster class, an addon that wraps a chart, and one of plain manifests.
pub(crate) fn files(name: &str) -> Files {
    let version = name.rsplit('-').next().unwrap();
    let metadata = format!("versions: {{clusterStack: {version}, kubernetes: v1.34.2}}\n");
    let class = format!("name: class\nversion: {version}\n");
    let all = [
        ("metadata.yaml", metadata.as_str()),
        ("cluster-class/Chart.yaml", &class),
        (
            "clusteraddon.yaml",
            "addonStages: {AfterControlPlaneInitialized: [{name: cni, action: apply}, {name: policies, action: apply}]}\n",
        ),
        (
            "cluster-addon/cni/Chart.yaml",
            "name: cni\nversion: v1\ndependencies: [{name: cilium, version: ~1.2, repository: 'https://charts.example.com'}]\n",
        ),
        ("cluster-addon/policies/all.yaml", "kind: List\n"),
    ];
    all.into_iter().fold(Files::default(), |files, (path, content)| with(files, path, content))
}

/// Returns the files with another one.
pub(crate) fn with(mut files: Files, path: &str, content: &str) -> Files {
    files.insert(path, File { content: content.into(), executable: false }).unwrap();
    files
}

pub(crate) fn fetched(name: &str, files: Files) -> Fetched {
    let source = format!("oci://host/stacks:{name}@sha256:ab");
    let provenance = Provenance { source, digest: Some("sha256:ab".to_owned()), ..Provenance::default() };
    Fetched { name: name.parse().unwrap(), files, provenance }
}

pub(crate) fn prepare(name: &str, files: Files) -> Prepared {
    Prepared::of(fetched(name, files), &Limits::default()).unwrap()
}

pub(crate) fn prepared(name: &str) -> Prepared {
    prepare(name, files(name))
}

/// Returns the first missing dependency as if it had been fetched.
pub(crate) fn vendored(prepared: &Prepared, version: &str, content: &[u8]) -> Vendored {
    let missing = prepared.missing.first().unwrap().clone();
    let (version, url) = (version.to_owned(), format!("https://charts/cilium-{version}.tgz"));
    Vendored { missing, version, url, digest: Digest::of_bytes(content), content: content.to_owned() }
}
