//! The plan of the programs that measure plans: one stack, and one release of it.

use serde_json::json;
use stackflux::inputs::stack::Stack;
use stackflux::release::{File, Files, Limits, Release};

use crate::support::release_files;

/// The release.
pub(crate) const RELEASE: &str = "openstack-bench-1-34-v1";

/// Its `ClusterStack`.
pub(crate) fn stack() -> Stack {
    let object = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
        "metadata": {"name": "bench", "namespace": "demo"},
        "spec": {
            "provider": "openstack", "name": "bench", "kubernetesVersion": "1.34", "noProvider": true,
            "source": {"git": {"url": "https://git.example.org/stacks.git"}},
        },
    });
    Stack::new(&serde_json::from_value(object).unwrap(), None, std::iter::empty()).unwrap()
}

/// The loaded release.
pub(crate) fn release() -> Release {
    let mut files = Files::default();
    for (path, content) in release_files("v1") {
        files.insert(&path, File { content: content.into_bytes(), executable: false }).unwrap();
    }
    Release::load(&RELEASE.parse().unwrap(), files, &Limits::default()).unwrap().release
}
