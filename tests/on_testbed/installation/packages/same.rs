//! Objects that were installed, compared with those that kustomize builds: both as the API server stores them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use stackflux_testbed::{Cluster, Testbed};

use super::super::repository;
use crate::support::{copy, scratch};
use crate::text;

/// Objects by kind, namespace and name.
type Objects = BTreeMap<(String, String, String), Value>;

/// The fields of metadata that a user can set.
const METADATA: [&str; 4] = ["name", "namespace", "labels", "annotations"];
/// Labels and annotations that Helm, Flux and controllers add.
const ADDED: [&str; 6] = [
    "app.kubernetes.io/managed-by",
    "deployment.kubernetes.io/",
    "helm.sh/resource-policy",
    "helm.toolkit.fluxcd.io/",
    "kustomize.toolkit.fluxcd.io/name",
    "meta.helm.sh/",
];

/// The block of a guide that contains a text.
pub(super) fn block<'a>(guide: &'a str, part: &str) -> &'a str {
    let mut blocks = guide.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.find(|block| block.contains(part)).unwrap()
}

/// What kustomize builds from an overlay beside `crds/`, `flux/` and `monitoring/`.
pub(super) struct Overlay {
    file: PathBuf,
    objects: Vec<Value>,
}

impl Overlay {
    pub(super) fn new(name: &str, kustomization: &str) -> Self {
        let directory = scratch(&format!("packages-overlay-{name}"));
        for part in ["crds", "flux", "monitoring"] {
            copy(&repository(part), &directory);
        }
        let own = directory.join("overlay");
        fs::create_dir(&own).unwrap();
        fs::write(own.join("kustomization.yaml"), kustomization).unwrap();
        let yaml = Testbed::shared().management().kubectl(&["kustomize", own.to_str().unwrap()]).unwrap();
        let objects = yaml.split("\n---\n").map(|document| serde_yaml::from_str(document).unwrap()).collect();
        let overlay = Self { file: directory.join("objects.json"), objects };
        overlay.write();
        overlay
    }

    /// Leaves out the objects of a kind whose names begin with a text.
    pub(super) fn without(mut self, kind: &str, name: &str) -> Self {
        let is_left_out =
            |object: &Value| object["kind"] == kind && text(object, "/metadata/name").starts_with(name);
        assert!(self.objects.iter().any(is_left_out), "{kind} {name}");
        self.objects.retain(|object| !is_left_out(object));
        self.write();
        self
    }

    fn write(&self) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": self.objects});
        fs::write(&self.file, list.to_string()).unwrap();
    }

    /// The objects as kustomize builds them.
    pub(super) fn built(&self) -> &[Value] {
        &self.objects
    }

    /// The objects with all defaults: what the API server would store.
    pub(super) fn expected(&self, cluster: &Cluster) -> Objects {
        let file = self.file.to_str().unwrap();
        let apply =
            ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-o", "json", "-f", file];
        read(&cluster.kubectl(&apply).unwrap())
    }
}

/// The objects of a list of kubectl, without what differs between any two installations.
fn read(list: &str) -> Objects {
    let mut list: Value = serde_json::from_str(list).unwrap();
    let items = list["items"].as_array_mut().unwrap().iter_mut();
    items
        .map(|object| {
            let object = cleaned(object.take());
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
            let key =
                (text(&object, "/kind").to_owned(), namespace, text(&object, "/metadata/name").to_owned());
            (key, object)
        })
        .collect()
}

fn cleaned(mut object: Value) -> Value {
    let fields = object.as_object_mut().unwrap();
    fields.remove("status");
    if fields.contains_key("aggregationRule") {
        // The controller manager fills them.
        fields.remove("rules");
    }
    let metadata = fields["metadata"].as_object_mut().unwrap();
    metadata.retain(|name, _| METADATA.contains(&name.as_str()));
    for entries in ["labels", "annotations"] {
        let Some(found) = metadata.get_mut(entries).and_then(Value::as_object_mut) else { continue };
        found.retain(|name, _| !ADDED.iter().any(|added| name.starts_with(added)));
        if found.is_empty() {
            metadata.remove(entries);
        }
    }
    if let Some(spec) = fields.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("clusterIP");
        spec.remove("clusterIPs");
    }
    object
}

/// Asserts that a Kustomization or `HelmRelease` has installed exactly these objects.
#[track_caller]
pub(super) fn installed(installer: &Value, cluster: &Cluster, overlay: &Overlay, expected: &Objects) {
    let kind = text(installer, "/kind");
    let entries = installer["status"]["inventory"]["entries"].as_array().unwrap();
    let inventory: BTreeSet<&str> = entries.iter().map(|entry| text(entry, "/id")).collect();
    let id = |object: &Value| {
        let group = text(object, "/apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        format!("{namespace}_{}_{group}_{}", text(object, "/metadata/name"), text(object, "/kind"))
    };
    let ids: BTreeSet<String> = overlay.built().iter().map(id).collect();
    assert_eq!(inventory, ids.iter().map(String::as_str).collect(), "{kind}");

    let live = cluster.kubectl(&["get", "-o", "json", "-f", overlay.file.to_str().unwrap()]).unwrap();
    let live = read(&live);
    assert_eq!(live.len(), overlay.built().len());
    for (key, expected) in expected {
        assert_eq!(live[key], *expected, "{kind}: {key:?}");
    }
}
