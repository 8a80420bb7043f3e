//! The environment of a measurement: a testbed of its own without helm-controller, a ClusterStack with two releases,
//! clusters.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use kube::api::Patch;
use serde_json::{Value, json};
use stackflux::api::custom_resource_definitions;
use stackflux_testbed::{Audit, Mark, Operator, Options, OwnTestbed, Testbed};

use crate::helm;
use crate::requests::{Api, Objects};
use crate::support::{objects, release_files};

/// The releases. One chart differs between them.
pub(crate) const V1: &str = "openstack-bench-1-34-v1";
pub(crate) const V2: &str = "openstack-bench-1-34-v2";
/// Maximum time for any step.
const TIMEOUT: Duration = Duration::from_mins(5);
/// Time without a write after which writing counts as finished.
const QUIET: Duration = Duration::from_secs(3);

/// A kind of object.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    group_version: &'static str,
    pub(crate) plural: &'static str,
}

impl Kind {
    pub(crate) fn in_namespace(self, namespace: &str) -> Objects {
        Objects::new(self.group_version, self.plural, namespace)
    }
}

pub(crate) const ADDONS: Kind =
    Kind { group_version: "clusterstack.x-k8s.io/v1alpha1", plural: "clusteraddons" };
pub(crate) const HELM_RELEASES: Kind =
    Kind { group_version: "helm.toolkit.fluxcd.io/v2", plural: "helmreleases" };
pub(crate) const HELM_CHARTS: Kind =
    Kind { group_version: "source.toolkit.fluxcd.io/v1", plural: "helmcharts" };
pub(crate) const CLUSTERS: Kind = Kind { group_version: "cluster.x-k8s.io/v1beta2", plural: "clusters" };
const CONTROL_PLANES: Kind =
    Kind { group_version: "controlplane.cluster.x-k8s.io/v1beta2", plural: "kubeadmcontrolplanes" };
const INFRASTRUCTURES: Kind =
    Kind { group_version: "infrastructure.cluster.x-k8s.io/v1beta1", plural: "openstackclusters" };

/// The whole environment.
pub(crate) struct Ground {
    pub(crate) testbed: OwnTestbed,
    pub(crate) api: Api,
    /// The namespace of the `ClusterStack`.
    stack: String,
    /// Number of clusters in a namespace.
    clusters: usize,
}

impl Ground {
    /// Starts the testbed and lets the operator prepare the releases.
    pub(crate) fn prepare(clusters: usize, components: usize) -> Self {
        let options = Options { workloads: &[], flux: &["source-controller"], ..Options::default() };
        let testbed = Testbed::start_own(&options).unwrap();
        for definition in custom_resource_definitions() {
            testbed.management().apply(&serde_json::to_string(&definition).unwrap()).unwrap();
        }
        let api = Api::new(testbed.management().kubeconfig());
        let stack = testbed.namespace("bench").unwrap();
        let ground = Self { testbed, api, stack, clusters };
        ground.publish(components);
        let operator = ground.operator();
        ground.wait_until_quiet(ground.mark());
        ground.play_helm(&ground.stack);
        operator.process().unwrap().terminate().unwrap();
        ground
    }

    /// Writes the statuses that helm-controller, which does not run, would write to the `HelmRelease`s of a namespace.
    pub(crate) fn play_helm(&self, namespace: &str) {
        let mark = self.mark();
        helm::play(&self.api, &self.stack, namespace);
        self.wait_until_quiet(mark);
    }

    /// Lets an operator report that all clusters of a namespace are ready.
    pub(crate) fn make_ready(&self, namespace: &str) {
        let operator = self.operator();
        operator.wait_ready(TIMEOUT).unwrap();
        self.play_helm(namespace);
        operator.process().unwrap().terminate().unwrap();
    }

    /// Publishes the releases and a `ClusterStack` that offers them and has components, whose charts are in the same repository.
    fn publish(&self, components: usize) {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-operator");
        for (release, version) in [(V1, "v1"), (V2, "v2")] {
            for (path, content) in release_files(version) {
                let path = directory.join("releases").join(release).join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
        }
        let git = self.testbed.git();
        let commit = git.push_directory(&self.stack, "main", &directory, "two releases").unwrap();
        let url = git.url(&self.stack);
        let chart = |number: usize| {
            json!({
                "name": format!("component-{number}"), "chart": format!("releases/{V1}/cluster-addon/csi"),
                "template": "cluster: {{ .Cluster.metadata.name }}\n",
            })
        };
        let charts: Vec<Value> = (0..components).map(chart).collect();
        let repository =
            json!({"name": "p", "git": {"url": url, "ref": {"commit": commit}}, "components": charts});
        let repositories = if components == 0 { json!([]) } else { json!([repository]) };
        let stack = json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
            "metadata": {"name": "openstack-bench-1-34", "namespace": self.stack},
            "spec": {
                "provider": "openstack", "name": "bench", "kubernetesVersion": "1.34", "noProvider": true,
                "versions": ["v1", "v2"],
                "components": {"credentials": [{"url": url, "insecure": true}], "repositories": repositories},
                "source": {"git": {"url": url, "ref": {"branch": "main"}, "interval": "1h"}},
            },
        });
        self.testbed.management().apply(&stack.to_string()).unwrap();
    }

    /// An operator that needs no Lease, so that it begins at once.
    pub(crate) fn operator(&self) -> Operator {
        self.operator_with(&["--enable-leader-election=false"])
    }

    /// The operator as shipped, with these flags.
    pub(crate) fn operator_with(&self, flags: &[&str]) -> Operator {
        let binary = Path::new(env!("CARGO_BIN_EXE_stackflux"));
        Operator::start(&self.testbed, binary, self.testbed.operator_kubeconfig(), flags).unwrap()
    }

    pub(crate) fn audit(&self) -> Audit {
        self.testbed.audit()
    }

    pub(crate) fn mark(&self) -> Mark {
        self.audit().mark().unwrap()
    }

    /// Waits until there is a write after `mark`, and then none for [`QUIET`]. Only the length of the log is read, which
    /// takes no processor time from the measured process.
    pub(crate) fn wait_until_quiet(&self, mark: Mark) {
        let begun = Instant::now();
        let (mut last, mut since) = (mark, Instant::now());
        while last == mark || since.elapsed() < QUIET {
            assert!(begun.elapsed() < TIMEOUT, "not quiet after {TIMEOUT:?}");
            sleep(Duration::from_millis(50));
            let now = self.mark();
            if now != last {
                (last, since) = (now, Instant::now());
            }
        }
    }

    /// A namespace of its own.
    pub(crate) fn namespace(&self, prefix: &str) -> String {
        self.testbed.namespace(prefix).unwrap()
    }

    /// Creates the clusters of the first release in a namespace, as Cluster API would leave them.
    pub(crate) fn create_clusters(&self, namespace: &str) {
        let mark = self.mark();
        let all: Vec<_> =
            (0..self.clusters).map(|number| objects(namespace, &self.stack, V1, number)).collect();
        for (index, kind) in [CLUSTERS, CONTROL_PLANES, INFRASTRUCTURES].into_iter().enumerate() {
            let place = kind.in_namespace(namespace);
            self.api.create(&place, all.iter().map(|objects| objects[index].clone()));
            let status = |objects: &[Value; 3]| {
                let object = &objects[index];
                let name = object["metadata"]["name"].as_str().unwrap().to_owned();
                (name, Patch::Merge(json!({"status": object["status"]})))
            };
            self.api.patch(&place, Some("status"), all.iter().map(status));
        }
        self.wait_until_quiet(mark);
    }

    /// Moves all clusters of a namespace to the second release.
    pub(crate) fn move_clusters(&self, namespace: &str) {
        let mark = self.mark();
        let class = json!({"spec": {"topology": {"classRef": {"name": V2}}}});
        let patches = (0..self.clusters).map(|number| (cluster_name(number), Patch::Merge(class.clone())));
        self.api.patch(&CLUSTERS.in_namespace(namespace), None, patches);
        self.wait_until_quiet(mark);
    }

    /// Gives a cluster another endpoint, which two of the four templates read.
    pub(crate) fn move_endpoint(&self, namespace: &str, number: usize) {
        let host = format!("moved-{number}.example.org");
        let change = Patch::Merge(json!({"spec": {"controlPlaneEndpoint": {"host": host}}}));
        let patches = std::iter::once((cluster_name(number), change));
        self.api.patch(&CLUSTERS.in_namespace(namespace), None, patches);
    }

    /// Removes everything in a namespace whose operator is stopped.
    pub(crate) fn clear(&self, namespace: &str) {
        let mark = self.mark();
        let addons = ADDONS.in_namespace(namespace);
        let names: Vec<String> = self.api.list(&addons).iter().map(name).collect();
        let let_go = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        self.api.patch(&addons, None, names.into_iter().map(|name| (name, let_go.clone())));
        for kind in [HELM_RELEASES, ADDONS, CONTROL_PLANES, INFRASTRUCTURES, CLUSTERS] {
            self.api.delete_all(&kind.in_namespace(namespace));
        }
        self.wait_until_quiet(mark);
    }
}

pub(crate) fn cluster_name(number: usize) -> String {
    format!("cluster-{number:05}")
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}
