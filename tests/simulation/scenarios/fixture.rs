//! The objects of the scenarios, and what users look at.

use std::time::Duration;

use serde_json::{Value, json};

use crate::driver::Simulation;
use crate::flux::number;
use crate::properties::settle;
use crate::repository::V1;

/// The name of the `ClusterStack`.
pub(super) const STACK: &str = "docker";
/// The name of the `ClusterAddon` of the first Cluster.
pub(super) const ADDON: &str = "cluster-addon-one";
/// The Flux objects of the addons of the first Cluster.
pub(super) const OBJECTS: [(&str, &str); 4] = [
    ("HelmRelease", "one.ccm"),
    ("HelmRelease", "one.cni"),
    ("HelmRelease", "one.monitoring"),
    ("Kustomization", "one.policies"),
];

/// A `ClusterStack` that offers these versions, with more in its spec.
pub(super) fn stack(simulation: &Simulation, name: &str, versions: &[&str], more: &Value) -> Value {
    let mut stack = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1",
        "kind": "ClusterStack",
        "metadata": {"name": name, "namespace": simulation.namespace},
        "spec": {
            "provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "channel": "stable",
            "versions": versions, "noProvider": true,
            "source": {"git": {"url": "https://git.example.org/stacks.git", "ref": {"branch": "main"}}},
        },
    });
    for (field, value) in more.as_object().into_iter().flatten() {
        stack["spec"][field] = value.clone();
    }
    stack
}

/// The annotation that makes the deletion of a `ClusterStack` orphan everything.
pub(super) fn orphan() -> Value {
    json!({"metadata": {"annotations": {"clusterstack.x-k8s.io/on-delete": "Orphan"}}})
}

fn cluster(simulation: &Simulation, name: &str, class: &str) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": name, "namespace": simulation.namespace},
        "spec": {
            "clusterNetwork": {"pods": {"cidrBlocks": ["10.244.0.0/16"]}},
            "controlPlaneEndpoint": {"host": "172.18.0.3", "port": 6443},
            "topology": {"classRef": {"name": class}, "version": "v1.34.0"},
        },
    })
}

/// Lets a simulation settle, and again after each of some hours: a process that crashes after the status counted a deletion,
/// and before the deletion, leaves it to the next hour.
pub(super) fn settle_with_budget(simulation: &mut Simulation) {
    settle(simulation);
    for _ in 0..3 + simulation.max_accidents() {
        simulation.wait(Duration::from_hours(1));
        settle(simulation);
    }
}

impl Simulation {
    /// Applies the `ClusterStack` with these versions and more in its spec.
    pub(super) fn offer(&self, versions: &[&str], more: &Value) {
        self.apply(&stack(self, STACK, versions, more));
    }

    /// Creates a Cluster whose control plane is not initialized.
    pub(super) fn create_starting_cluster(&self, name: &str, class: &str) {
        self.apply(&cluster(self, name, class));
    }

    /// Creates a Cluster that is up.
    pub(super) fn create_cluster(&self, name: &str, class: &str) {
        self.create_starting_cluster(name, class);
        self.set_up(name);
    }

    /// Makes Cluster API report that a Cluster is up.
    pub(super) fn set_up(&self, name: &str) {
        let probe = json!({
            "type": "RemoteConnectionProbe", "status": "True", "reason": "ProbeSucceeded", "message": "",
            "lastTransitionTime": "2026-11-02T09:13:52Z",
        });
        let initialized = json!({"controlPlaneInitialized": true, "infrastructureProvisioned": true});
        self.merge_status("Cluster", name, &json!({"initialization": initialized, "conditions": [probe]}));
    }

    /// Changes the class of a Cluster.
    pub(super) fn upgrade(&self, name: &str, class: &str) {
        self.merge("Cluster", name, &json!({"spec": {"topology": {"classRef": {"name": class}}}}));
    }

    /// Pushes a commit to the stack repository.
    pub(super) fn publish(&mut self, commit: usize) {
        self.flux.publish(&self.wire.cluster().server, commit);
    }

    /// Offers the first release, and creates a Cluster of it.
    pub(super) fn deliver(&mut self) {
        self.begin_with(Self::deliver_v1);
        self.begin_golden("a Cluster has the addons of docker-demo-1-34-v1 (first.txt)");
    }

    /// Like [`Simulation::deliver`], with the golden log of it.
    pub(super) fn deliver_v1(&mut self) {
        self.offer(&["v1"], &json!({}));
        self.create_cluster("one", V1);
        settle(self);
        self.expect("ClusterAddon", ADDON, "Ready", "True Applied");
    }

    /// Offers two releases, and creates a Cluster of the first.
    pub(super) fn deliver_first_of_two(&mut self) {
        self.begin_with(|simulation| {
            simulation.publish(1);
            simulation.offer(&["v1", "v2"], &json!({}));
            simulation.create_cluster("one", V1);
            settle(simulation);
            simulation.expect("ClusterAddon", ADDON, "Ready", "True Applied");
        });
        self.begin_golden(
            "a Cluster has the addons of docker-demo-1-34-v1, and docker-demo-1-34-v2 is offered",
        );
    }

    /// Lets the second of two releases be without a user for so long that it is to be deleted.
    pub(super) fn retire_second(&mut self) {
        self.deliver_first_of_two();
        self.offer(&["v1"], &json!({"revisionHistoryLimit": 0}));
        settle(self);
        self.wait(Duration::from_mins(11));
    }

    /// Makes the `ClusterStack` `other` an owner of the first release, too.
    pub(super) fn keep_by_other(&mut self) {
        let other = json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack", "name": "other",
            "uid": self.field("ClusterStack", "other", "/metadata/uid"),
        });
        let mut owners = self.field("ClusterStackRelease", V1, "/metadata/ownerReferences");
        owners.as_array_mut().unwrap().push(other);
        self.merge("ClusterStackRelease", V1, &json!({"metadata": {"ownerReferences": owners}}));
    }

    /// Changes a label of the first Cluster, so that every watch reports it.
    pub(super) fn touch_cluster(&mut self) {
        self.merge("Cluster", "one", &json!({"metadata": {"labels": {"changed": "true"}}}));
    }

    /// Status and reason of a condition, such as `True Applied`.
    pub(super) fn condition(&self, kind: &str, name: &str, condition: &str) -> String {
        let object = self.get(kind, name).unwrap_or_default();
        let conditions = object["status"]["conditions"].as_array();
        let found = conditions.into_iter().flatten().find(|found| found["type"] == condition);
        let text = |field: &str| found.and_then(|found| found[field].as_str()).unwrap_or("-").to_owned();
        format!("{} {}", text("status"), text("reason"))
    }

    /// The message of a condition.
    pub(super) fn message(&self, kind: &str, name: &str, condition: &str) -> String {
        let object = self.get(kind, name).unwrap_or_default();
        let conditions = object["status"]["conditions"].as_array();
        let found = conditions.into_iter().flatten().find(|found| found["type"] == condition);
        found.and_then(|found| found["message"].as_str()).unwrap_or_default().to_owned()
    }

    /// Fails if a condition is not as expected.
    #[track_caller]
    pub(super) fn expect(&self, kind: &str, name: &str, condition: &str, expected: &str) {
        let (found, message) = (self.condition(kind, name, condition), self.message(kind, name, condition));
        assert_eq!(found, expected, "{condition} of {kind} {name}: {message}");
    }

    /// Fails unless all addons of the Cluster are ready, and are those of this release.
    #[track_caller]
    pub(super) fn expect_ready_at(&self, cluster: &str, release: &str) {
        let addon = format!("cluster-addon-{cluster}");
        self.expect("ClusterAddon", &addon, "Ready", "True Applied");
        assert_eq!(self.get("ClusterAddon", &addon).unwrap()["status"]["release"]["applied"], release);
    }

    /// A field of an object, by a JSON pointer; null if there is none.
    pub(super) fn field(&self, kind: &str, name: &str, pointer: &str) -> Value {
        self.get(kind, name).and_then(|object| object.pointer(pointer).cloned()).unwrap_or_default()
    }

    /// Whether an object exists.
    pub(super) fn has(&self, kind: &str, name: &str) -> bool {
        self.get(kind, name).is_some()
    }

    /// The names of all objects of a kind.
    pub(super) fn names(&self, kind: &str) -> Vec<String> {
        let objects = self.wire.cluster().server.list(number(kind));
        objects.iter().map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The names of the objects whose content Flux has uninstalled.
    pub(super) fn uninstalled(&self) -> Vec<&str> {
        self.flux.uninstalled.iter().map(|place| place.2.as_str()).collect()
    }

    /// The revision of each Helm release of the Cluster's addons: how often Helm installed or upgraded it.
    pub(super) fn revisions(&self) -> Vec<Value> {
        let revision = |(kind, name): &(&str, &str)| self.field(kind, name, "/status/history/0/version");
        OBJECTS.iter().filter(|(kind, _)| *kind == "HelmRelease").map(revision).collect()
    }

    /// UID and generation of each Flux object of the Cluster's addons: equal if nothing was written or created again.
    pub(super) fn generations(&self) -> Vec<(Value, Value)> {
        let of = |(kind, name): &(&str, &str)| {
            (self.field(kind, name, "/metadata/uid"), self.field(kind, name, "/metadata/generation"))
        };
        OBJECTS.iter().map(of).collect()
    }
}
