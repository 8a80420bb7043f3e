//! The definitions of our kinds on an API server of the testbed.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use stackflux::api::custom_resource_definitions;
use stackflux_testbed::Cluster;

/// Applies them once to each API server, and waits until the kinds are served.
pub(crate) fn apply_definitions(cluster: &Cluster) {
    static APPLIED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut applied = APPLIED.lock().unwrap_or_else(PoisonError::into_inner);
    if applied.contains(cluster.kubeconfig()) {
        return;
    }
    for definition in custom_resource_definitions() {
        cluster.apply(&serde_json::to_string(&definition).unwrap()).unwrap();
        let name = format!("crd/{}", definition.metadata.name.unwrap());
        cluster.wait_established(&[&name]).unwrap();
    }
    applied.insert(cluster.kubeconfig().to_owned());
}
