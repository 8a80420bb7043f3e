//! The definitions of our kinds on an API server of the testbed.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use stackflux::api::custom_resource_definitions;
use stackflux_testbed::{Cluster, Object};

/// Applies them once to each API server, and waits until the kinds are served.
pub(crate) fn apply_definitions(cluster: &Cluster) {
    static APPLIED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut applied = APPLIED.lock().unwrap_or_else(PoisonError::into_inner);
    if applied.contains(cluster.kubeconfig()) {
        return;
    }
    for definition in custom_resource_definitions() {
        cluster.apply(&serde_json::to_string(&definition).unwrap()).unwrap();
        let name = definition.metadata.name.unwrap();
        let object = Object { kind: "crd", namespace: "", name: &name };
        let is_established = |found: &Value| {
            let conditions = found["status"]["conditions"].as_array();
            conditions.into_iter().flatten().any(|it| it["type"] == "Established" && it["status"] == "True")
        };
        cluster.wait(object, "Established=True", Duration::from_mins(1), is_established).unwrap();
    }
    applied.insert(cluster.kubeconfig().to_owned());
}
