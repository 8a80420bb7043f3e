//! The commands on a live cluster, against a real API server: their reads, writes and waits.

use serde_json::{Value, json};
use stackflux_testbed::{Object, Testbed};

use crate::support::{Run, stackflux};

const RELEASE: &str = "docker-demo-1-34-v1";

/// A namespace with a ClusterStack whose status looks as if an operator had written it.
struct Live {
    testbed: &'static Testbed,
    namespace: String,
}

impl Live {
    fn new() -> Self {
        let testbed = Testbed::shared();
        let crds = stackflux(&["crds"]).stdout;
        testbed.management().apply_by_kubectl(&crds).unwrap();
        for crd in ["clusterstacks", "clusterstackreleases", "clusteraddons", "clusteraddonoverrides"] {
            let crd = format!("crd/{crd}.clusterstack.x-k8s.io");
            testbed.management().wait_established(&[&crd]).unwrap();
        }
        let live = Self { testbed, namespace: testbed.namespace("live").unwrap() };
        let spec =
            json!({"provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "noProvider": true});
        live.apply("clusterstack.x-k8s.io/v1alpha1", "ClusterStack", "demo", &spec);
        live.apply("clusterstack.x-k8s.io/v1alpha1", "ClusterStackRelease", RELEASE, &json!({}));
        let class = json!({"topology": {"classRef": {"name": RELEASE}, "version": "v1.34.0"}});
        live.apply("cluster.x-k8s.io/v1beta2", "Cluster", "one", &class);
        let of = json!({"clusterRef": {"kind": "Cluster", "name": "one"}});
        live.apply("clusterstack.x-k8s.io/v1alpha1", "ClusterAddon", "cluster-addon-one", &of);
        live
    }

    fn apply(&self, version: &str, kind: &str, name: &str, spec: &Value) {
        let metadata = json!({"name": name, "namespace": self.namespace});
        let object = json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec});
        self.testbed.management().apply(&object.to_string()).unwrap();
    }

    /// Writes the status of an object as an operator would.
    fn say(&self, resource: &str, name: &str, status: &str, handled: Option<&str>) {
        let condition = |kind| {
            json!({
                "type": kind, "status": status, "reason": "Applied", "message": "said by the test",
                "lastTransitionTime": "2026-11-21T11:00:00Z",
            })
        };
        let conditions = ["Ready", "ClustersReady"].map(condition);
        let status =
            json!({"status": {"conditions": conditions, "ready": true, "lastHandledReconcileAt": handled}});
        let namespace = format!("--namespace={}", self.namespace);
        let patch = status.to_string();
        let arguments =
            ["patch", resource, name, &namespace, "--subresource=status", "--type=merge", "--patch", &patch];
        self.testbed.management().kubectl(&arguments).unwrap();
    }

    fn field(&self, pointer: &str) -> Value {
        let object = Object { kind: "clusterstack", namespace: &self.namespace, name: "demo" };
        let stack = self.testbed.management().get(object).unwrap().unwrap();
        stack.pointer(pointer).cloned().unwrap_or_default()
    }

    fn run(&self, arguments: &[&str]) -> Run {
        let kubeconfig = self.testbed.management().kubeconfig();
        let access = ["--kubeconfig", kubeconfig.to_str().unwrap(), "--namespace", &self.namespace];
        stackflux(&[arguments, &access].concat())
    }
}

#[test]
fn live_cluster_is_shown_reconciled_and_suspended() {
    let live = Live::new();
    let young = live.run(&["status"]);
    assert_eq!(young.code, 1, "{}{}", young.stdout, young.stderr);
    assert!(young.stdout.contains("one       Unknown   docker-demo-1-34-v1"), "{}", young.stdout);
    let slow = live.run(&["tree", "--wait", "--timeout", "1s"]);
    assert!(slow.code == 1 && slow.stderr.contains("not everything is ready"), "{}", slow.stderr);

    live.say("clusterstack", "demo", "True", None);
    live.say("clusterstackrelease", RELEASE, "True", None);
    live.say("clusteraddon", "cluster-addon-one", "True", None);
    let tree = live.run(&["tree", "--watch", "--wait"]);
    assert_eq!(tree.code, 0, "{}{}", tree.stdout, tree.stderr);
    assert!(tree.stdout.contains(&format!("└─Cluster {}/one", live.namespace)), "{}", tree.stdout);
    assert_eq!(live.run(&["status"]).code, 0);
    assert_eq!(live.run(&["why", "one"]).code, 0);
    let selected = live.run(&["status", "--selector", "stage=nowhere", "--output", "json"]);
    let selected: Value = serde_json::from_str(&selected.stdout).unwrap();
    assert_eq!(selected["clusters"], json!([]));
    let missing = live.run(&["why", "nope"]);
    assert!(missing.code == 2 && missing.stderr.contains("not found: Cluster"), "{}", missing.stderr);

    let suspended = live.run(&["suspend", "clusterstack", "demo"]);
    assert_eq!((suspended.code, live.field("/spec/suspend")), (0, json!(true)), "{}", suspended.stderr);
    let refused = live.run(&["reconcile", "clusterstack", "demo"]);
    assert!(refused.code == 2 && refused.stderr.contains("is suspended"), "{}", refused.stderr);
    let resumed = live.run(&["resume", "clusterstack", "demo"]);
    assert_eq!(resumed.code, 0, "{}", resumed.stderr);
    assert_ne!(live.field("/spec/suspend"), true);
}

#[test]
fn reconciliation_is_requested_and_awaited() {
    let live = Live::new();
    let unheard = live.run(&["reconcile", "clusterstack", "demo", "--timeout", "1s"]);
    assert!(unheard.code == 2 && unheard.stderr.contains("timed out after"), "{}", unheard.stderr);
    let path = "/metadata/annotations/reconcile.fluxcd.io~1requestedAt";
    let before = live.field(path);
    let run = std::thread::scope(|scope| {
        let asked = scope.spawn(|| live.run(&["reconcile", "clusterstack", "demo", "--timeout", "1m"]));
        let begin = std::time::Instant::now();
        while live.field(path) == before {
            assert!(begin.elapsed().as_secs() < 60, "nothing was asked for");
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        live.say("clusterstack", "demo", "True", live.field(path).as_str());
        asked.join().unwrap()
    });
    assert!(run.code == 0 && run.stderr.contains("is reconciled and ready"), "{}", run.stderr);
}
