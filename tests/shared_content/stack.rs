//! The real `OpenStack` stack on a testbed: its repository, and clusters of its class.

use std::fs;
use std::path::Path;

use serde_json::Value;
use stackflux_testbed::{ClusterApi, Infrastructure, NewCluster, Object, Testbed};

use crate::git::{commit_and_push, git};
use crate::shared;
use crate::support::copy;

/// The release, and so the class of its clusters.
pub(crate) const RELEASE: &str = "openstack-scs-1-32-v1";
/// The ClusterStack that offers it.
pub(crate) const STACK: &str = "openstack-scs-1-32";

/// Makes a stack repository of the release in a new directory, and pushes it.
pub(crate) fn publish(directory: &Path, url: &str) {
    fs::create_dir_all(directory.join("releases")).unwrap();
    git(directory, &["init", "--quiet", "--initial-branch=main"]);
    copy(&shared("stacks").join(RELEASE), &directory.join("releases"));
    commit_and_push(directory, url, RELEASE);
}

/// Creates clusters of the class, each with the workload cluster of its name.
pub(crate) fn create_clusters(testbed: &Testbed, namespace: &str, names: &[&str]) {
    let cluster = |name: &&str| {
        testbed.add_kubeconfig_secret(namespace, name, name).unwrap();
        NewCluster {
            namespace: namespace.to_owned(),
            name: (*name).to_owned(),
            class: RELEASE.to_owned(),
            version: "v1.32.5".to_owned(),
            endpoint: format!("{name}.example.org"),
            infrastructure: Infrastructure::OpenStack,
            initialized: true,
        }
    };
    let clusters: Vec<NewCluster> = names.iter().map(cluster).collect();
    ClusterApi::new(testbed.management()).unwrap().create(&clusters).unwrap();
}

/// An object of the addons in a workload cluster; nothing where it is not there.
pub(crate) fn installed(testbed: &Testbed, workload: &str, kind: &str, name: &str) -> Value {
    let object = Object { kind, namespace: "kube-system", name };
    testbed.workload(workload).unwrap().get(object).unwrap().unwrap_or_default()
}

/// Status and reason of a condition; empty where it is not there.
pub(crate) fn condition<'v>(object: &'v Value, kind: &str) -> (&'v str, &'v str) {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let found = conditions.into_iter().flatten().find(|condition| condition["type"] == kind);
    let text = |name: &str| found.and_then(|found| found[name].as_str()).unwrap_or_default();
    (text("status"), text("reason"))
}

/// Whether an object says `Ready=True`.
pub(crate) fn is_ready(object: &Value) -> bool {
    condition(object, "Ready").0 == "True"
}
