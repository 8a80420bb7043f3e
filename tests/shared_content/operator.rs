//! The real `OpenStack` stack under the operator, with a `ClusterStack` as people wrote it for the cluster-stack-operator.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use stackflux::api::custom_resource_definitions;
use stackflux_testbed::{
    ClusterApi, Infrastructure, NewCluster, Object, Operator, Options, OwnTestbed, Testbed,
};

use crate::git::{commit_and_push, git};
use crate::shared;
use crate::support::{copy, scratch, stackflux};

const PATIENCE: Duration = Duration::from_mins(4);
const RELEASE: &str = "openstack-scs-1-32-v1";

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

fn is_ready(object: &Value) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|found| found["type"] == "Ready" && found["status"] == "True")
}

/// Pushes the real release, and returns the URL of its repository.
fn publish(testbed: &OwnTestbed) -> String {
    let (directory, url) = (scratch("operator-openstack"), testbed.git().url("openstack"));
    fs::create_dir_all(directory.join("releases")).unwrap();
    git(&directory, &["init", "--quiet", "--initial-branch=main"]);
    copy(&shared("stacks").join(RELEASE), &directory.join("releases"));
    commit_and_push(&directory, &url, RELEASE);
    url
}

#[test]
fn the_real_stack_gets_ready_on_two_clusters_by_a_sample_of_the_go_operator() {
    let options = Options { workloads: &["one", "two"], ..Options::default() };
    let testbed = Testbed::start_own(&options).unwrap();
    let management = testbed.management();
    for definition in custom_resource_definitions() {
        management.apply(&serde_json::to_string(&definition).unwrap()).unwrap();
    }
    let (namespace, url) = (testbed.namespace("stacks").unwrap(), publish(&testbed));
    let flags = [
        "--enable-leader-election=false".to_owned(),
        format!("--default-source-url={url}"),
        "--default-source-branch=main".to_owned(),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let binary = Path::new(env!("CARGO_BIN_EXE_stackflux"));
    let operator = Operator::start(&testbed, binary, management.kubeconfig(), &flags).unwrap();
    operator.wait_ready(PATIENCE).unwrap();
    management.apply(&SAMPLE.replace("NAMESPACE", &namespace)).unwrap();
    let cluster = |name: &str| NewCluster {
        namespace: namespace.clone(),
        name: name.to_owned(),
        class: RELEASE.to_owned(),
        version: "v1.32.5".to_owned(),
        endpoint: format!("{name}.example.org"),
        infrastructure: Infrastructure::OpenStack,
        initialized: true,
    };
    for name in ["one", "two"] {
        testbed.add_kubeconfig_secret(&namespace, name, name).unwrap();
    }
    ClusterApi::new(management).unwrap().create(&[cluster("one"), cluster("two")]).unwrap();

    let wait = |kind, name: &str, is_so: fn(&Value) -> bool| {
        management.wait(Object { kind, namespace: &namespace, name }, "ready", PATIENCE, is_so).unwrap()
    };
    for name in ["one", "two"] {
        let addon = wait("clusteraddon", &format!("cluster-addon-{name}"), is_ready);
        assert_eq!(addon["status"]["addons"].as_array().map(Vec::len), Some(4), "{addon:#}");
        let metrics = Object { kind: "deployment", namespace: "kube-system", name: "metrics-server" };
        let metrics = testbed.workload(name).unwrap().get(metrics).unwrap().unwrap();
        assert_eq!(metrics["metadata"]["labels"]["domain"], format!("{name}.example.org"));
    }
    wait("clusterstack", "openstack-scs-1-32", is_ready);
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
