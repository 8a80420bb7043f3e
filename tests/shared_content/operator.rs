//! The real `OpenStack` stack under the operator, with a `ClusterStack` as people wrote it for the cluster-stack-operator.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use stackflux_testbed::{Object, Operator, Options, Testbed};

use crate::definitions::apply_definitions;
use crate::stack::{RELEASE, STACK, condition, create_clusters, installed, is_ready, publish};
use crate::support::{scratch, stackflux};

const TIMEOUT: Duration = Duration::from_mins(4);
const CLUSTERS: [&str; 2] = ["one", "two"];

/// A sample of the cluster-stack-operator (`config/samples`), for this stack: it names no source.
const SAMPLE: &str = "\
apiVersion: clusterstack.x-k8s.io/v1alpha1
kind: ClusterStack
metadata:
  name: openstack-scs-1-32
  namespace: NAMESPACE
spec:
  provider: openstack
  name: scs
  kubernetesVersion: \"1.32\"
  channel: stable
  autoSubscribe: false
  noProvider: true
  versions:
    - v1
";

#[test]
fn go_sample_becomes_ready_on_two_clusters() {
    let testbed = Testbed::start_own(&Options { workloads: &CLUSTERS, ..Options::default() }).unwrap();
    let (management, namespace) = (testbed.management(), testbed.namespace("stacks").unwrap());
    apply_definitions(management);
    let url = testbed.git().url(&namespace);
    publish(&scratch("operator-openstack"), &url);
    let flags = [
        "--enable-leader-election=false".to_owned(),
        format!("--default-source-url={url}"),
        "--default-source-branch=main".to_owned(),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let binary = Path::new(env!("CARGO_BIN_EXE_stackflux"));
    let operator = Operator::start(&testbed, binary, management.kubeconfig(), &flags).unwrap();
    operator.wait_ready(TIMEOUT).unwrap();
    management.apply(&SAMPLE.replace("NAMESPACE", &namespace)).unwrap();
    create_clusters(&testbed, &namespace, &CLUSTERS);

    let wait = |kind, name: &str, is_so: fn(&Value) -> bool| {
        management.wait(Object { kind, namespace: &namespace, name }, "ready", TIMEOUT, is_so).unwrap()
    };
    for name in CLUSTERS {
        let addon = wait("clusteraddon", &format!("cluster-addon-{name}"), is_ready);
        assert_eq!(addon["status"]["addons"].as_array().map(Vec::len), Some(4), "{addon:#}");
        let metrics = installed(&testbed, name, "deployment", "metrics-server");
        assert_eq!(metrics["metadata"]["labels"]["domain"], format!("{name}.example.org"));
    }
    // The ClusterStack counts its Clusters after their ClusterAddons are ready, and the tree shows both.
    wait("clusterstack", STACK, |stack| is_ready(stack) && condition(stack, "ClustersReady").0 == "True");
    wait("clusterclass", RELEASE, |_| true);
    let kubeconfig = management.kubeconfig().to_str().unwrap();
    let tree = stackflux(&["tree", "--namespace", &namespace, "--kubeconfig", kubeconfig]);
    assert_eq!(tree.code, 0, "{}{}", tree.stdout, tree.stderr);
    assert!(
        tree.stdout.contains("one.ccm") && tree.stdout.contains("DaemonSet kube-system/"),
        "{}",
        tree.stdout
    );
}
