//! The definitions of our kinds on an API server of the testbed.

use stackflux::api::custom_resource_definitions;
use stackflux_testbed::Cluster;

/// Applies them, and waits until the kinds are served.
pub(crate) fn apply_definitions(cluster: &Cluster) {
    for definition in custom_resource_definitions() {
        cluster.apply(&serde_json::to_string(&definition).unwrap()).unwrap();
        let name = format!("crd/{}", definition.metadata.name.unwrap());
        cluster.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", &name]).unwrap();
    }
}
