//! The plain client: it writes the objects that the operator wrote, by the same requests, and does nothing else.

use std::collections::BTreeMap;

use kube::api::Patch;
use serde_json::{Value, json};
use stackflux::foreign::capi::upgrade::UPGRADE_HOOK;

use crate::ground::{ADDONS, CLUSTERS, HELM_RELEASES};
use crate::requests::{Api, Objects, status_patch, text};

/// The objects that the operator wrote into a namespace.
pub(crate) struct Bodies {
    addons: Vec<Value>,
    /// The statuses that precede the writes of `HelmRelease`s.
    taken_back: Vec<(String, Value)>,
    helm_releases: Vec<Value>,
    statuses: Vec<(String, Value)>,
}

impl Bodies {
    pub(crate) fn read(api: &Api, namespace: &str) -> Self {
        let addons = api.list(&ADDONS.in_namespace(namespace));
        let status = |addon: &Value| (text(addon, "/metadata/name").to_owned(), addon["status"].clone());
        Self {
            taken_back: Vec::new(),
            statuses: addons.iter().map(status).collect(),
            addons: addons.iter().map(applied).collect(),
            helm_releases: api.list(&HELM_RELEASES.in_namespace(namespace)).iter().map(applied).collect(),
        }
    }

    /// The `HelmRelease`s that differ, and all statuses twice: the operator first takes `Ready` back.
    pub(crate) fn changed_since(self, before: &Self) -> Self {
        let Self { mut helm_releases, statuses, .. } = self;
        let spec = |object: &Value| (text(object, "/metadata/name").to_owned(), object["spec"].clone());
        let old: BTreeMap<String, Value> = before.helm_releases.iter().map(spec).collect();
        helm_releases.retain(|object| old.get(text(object, "/metadata/name")) != Some(&object["spec"]));
        let taken_back = statuses.iter().map(|(name, status)| (name.clone(), taken_back(status))).collect();
        Self { addons: Vec::new(), taken_back, helm_releases, statuses }
    }

    /// Number of Clusters whose addons these are.
    pub(crate) fn clusters(&self) -> usize {
        self.addons.len()
    }

    /// Number of requests to write all of it.
    pub(crate) fn count(&self) -> usize {
        self.addons.len() + self.taken_back.len() + self.helm_releases.len() + self.statuses.len()
    }
}

/// A status of the same size and another content.
fn taken_back(status: &Value) -> Value {
    let mut status = status.clone();
    for condition in status["conditions"].as_array_mut().unwrap() {
        condition["message"] = json!("the addons of another release are about to be written");
    }
    status
}

/// The body of an apply: an object without the fields that the API server added.
fn applied(object: &Value) -> Value {
    let mut object = object.clone();
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in ["creationTimestamp", "generation", "managedFields", "namespace", "resourceVersion", "uid"] {
        metadata.remove(field);
    }
    object.as_object_mut().unwrap().remove("status");
    object
}

/// A namespace that the plain client writes into.
pub(crate) struct Plain<'a> {
    api: &'a Api,
    clusters: Objects,
    /// The names of Clusters without the annotation.
    annotated: Vec<String>,
    addons: Objects,
    helm_releases: Objects,
    /// UIDs of the `ClusterAddon`s, by name.
    uids: BTreeMap<String, String>,
}

impl<'a> Plain<'a> {
    pub(crate) fn new(api: &'a Api, namespace: &str) -> Self {
        let [clusters, addons, helm_releases] =
            [CLUSTERS, ADDONS, HELM_RELEASES].map(|kind| kind.in_namespace(namespace));
        Self { api, clusters, annotated: Vec::new(), addons, helm_releases, uids: BTreeMap::new() }
    }

    /// Writes all of it: `ClusterAddon`s, then the objects that they own, then their statuses.
    pub(crate) fn create(&mut self, bodies: &Bodies, namespace: &str) {
        // One Cluster, whose class does not exist, owns them all: garbage collection deletes objects whose owner does
        // not exist.
        let owner = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "owner"},
            "spec": {"topology": {"classRef": {"name": "none"}, "version": "v1.34.2"}},
        });
        let owner = self.api.create(&CLUSTERS.in_namespace(namespace), std::iter::once(owner));
        let (name, uid) = owner.first().unwrap();
        let addons = bodies.addons.iter().map(|body| owned(body, Some(name), uid));
        self.patch_clusters();
        self.uids = self.api.apply(&self.addons, addons).into_iter().collect();
        self.update(bodies);
    }

    /// Creates Clusters, whose class does not exist: the annotation of each one is written later.
    pub(crate) fn create_clusters(&mut self, count: usize) {
        let clusters = (0..count).map(|number| {
            json!({
                "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
                "metadata": {"name": format!("plain-{number}")},
                "spec": {"topology": {"classRef": {"name": "none"}, "version": "v1.34.2"}},
            })
        });
        let created = self.api.create(&self.clusters, clusters);
        self.annotated = created.into_iter().map(|(name, _)| name).collect();
    }

    /// Adds the annotation that delays upgrades to each Cluster.
    fn patch_clusters(&self) {
        let operations =
            json!([{"op": "add", "path": "/metadata/annotations", "value": {UPGRADE_HOOK: "v1.34.2"}}]);
        let patches = self
            .annotated
            .iter()
            .map(|name| (name.clone(), Patch::Json(serde_json::from_value(operations.clone()).unwrap())));
        self.api.patch(&self.clusters, None, patches);
    }

    /// Writes `HelmRelease`s, and statuses before and after them.
    pub(crate) fn update(&self, bodies: &Bodies) {
        self.replace_statuses(&bodies.taken_back);
        let uid = |body: &Value| &self.uids[text(body, "/metadata/ownerReferences/0/name")];
        let releases = bodies.helm_releases.iter().map(|body| owned(body, None, uid(body)));
        self.api.apply_only(&self.helm_releases, releases);
        self.replace_statuses(&bodies.statuses);
    }

    fn replace_statuses(&self, statuses: &[(String, Value)]) {
        let patches = statuses.iter().map(|(name, status)| (name.clone(), status_patch(status)));
        self.api.patch(&self.addons, Some("status"), patches);
    }
}

/// The body with this owner.
fn owned(body: &Value, name: Option<&str>, uid: &str) -> Value {
    let mut body = body.clone();
    let owner = &mut body["metadata"]["ownerReferences"][0];
    owner["uid"] = json!(uid);
    if let Some(name) = name {
        owner["name"] = json!(name);
    }
    body
}
