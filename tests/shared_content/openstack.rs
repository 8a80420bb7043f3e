//! The real `OpenStack` stack, from a Git push to Ready in two workload clusters.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use stackflux_testbed::{Object, Testbed};

use crate::stack::{RELEASE, installed, publish};
use crate::support::{scratch, stackflux};

fn clusters(namespace: &str) -> String {
    let mut clusters = String::new();
    for (name, host) in [("one", "one.example.org"), ("two", "two.example.org")] {
        write!(
            clusters,
            "---\n\
             apiVersion: cluster.x-k8s.io/v1beta2\n\
             kind: Cluster\n\
             metadata: {{name: {name}, namespace: {namespace}}}\n\
             spec:\n  controlPlaneEndpoint: {{host: {host}, port: 6443}}\n  \
             topology: {{classRef: {{name: {RELEASE}}}, version: v1.32.5}}\n\
             status: {{initialization: {{controlPlaneInitialized: true}}}}\n"
        )
        .unwrap();
    }
    clusters
}

#[test]
fn addons_of_two_clusters_have_own_values() {
    let testbed = Testbed::shared();
    let management = testbed.management();
    let (namespace, directory) = (testbed.namespace("openstack").unwrap(), scratch("openstack"));
    let (stack, url) = (directory.join("stack"), testbed.git().url(&namespace));
    publish(&stack, &url);
    let file = directory.join("clusters.yaml");
    fs::write(&file, clusters(&namespace)).unwrap();
    for workload in ["one", "two"] {
        testbed.add_kubeconfig_secret(&namespace, workload, workload).unwrap();
    }

    let (stack, file) = (stack.to_str().unwrap(), file.to_str().unwrap());
    let arguments = ["generate", stack, "--filename", file, "--url", &url, "--namespace", &namespace];
    let run = stackflux(&arguments);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    management.apply_by_kubectl(&run.stdout).unwrap();

    for cluster in ["one", "two"] {
        for addon in ["cni", "ccm", "csi", "metrics-server"] {
            let name = format!("{cluster}.{addon}");
            let object = Object { kind: "helmrelease", namespace: &namespace, name: &name };
            management.wait_ready(object, Duration::from_mins(3)).unwrap();
        }
        let get = |kind, name| installed(testbed, cluster, kind, name);
        let labels = &get("deployment", "metrics-server")["metadata"]["labels"];
        assert_eq!(labels["domain"], format!("{cluster}.example.org"), "{labels:#}");
        for object in [
            get("daemonset", "openstack-cloud-controller-manager"),
            get("deployment", "openstack-cinder-csi-controllerplugin"),
        ] {
            let containers = object["spec"]["template"]["spec"]["containers"].to_string();
            assert!(containers.contains(&format!("\"value\":\"{cluster}\"")), "{containers}");
        }
    }
    let class = Object { kind: "clusterclass", namespace: &namespace, name: RELEASE };
    management.wait(class, "there", Duration::from_mins(1), |_| true).unwrap();
}
