//! Cluster API, as values templates and gates read it.
//!
//! A Cluster is served as `v1beta2` or `v1beta1`, and both are read. Values templates see the `v1beta1` spellings that
//! stack authors wrote against, whichever version is served. Shapes: Cluster API's `api/core/{v1beta1,v1beta2}`.

pub mod contract;
pub mod upgrade;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::names::{Key, KubernetesVersion, NameError, Namespace, ObjectName, ReleaseName};

/// The API group of Clusters.
pub const GROUP: &str = "cluster.x-k8s.io";
/// The annotation that pauses the object that has it.
const PAUSED: &str = "cluster.x-k8s.io/paused";

/// The reason why an object is not a usable Cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// The object has another kind or group.
    #[error("expected kind Cluster of group {GROUP}, found {found}")]
    NotACluster {
        /// The object's kind and version.
        found: String,
    },
    /// The name or namespace is missing, or Kubernetes would not accept it.
    #[error("the Cluster's metadata.{field}: {source}")]
    Name {
        /// `name` or `namespace`.
        field: &'static str,
        /// Description of the problem.
        source: NameError,
    },
}

/// A Cluster as it is, and the facts that gates and plans need.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    name: ObjectName,
    namespace: Namespace,
    object: Value,
}

/// The `ClusterClass` that a Cluster uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassReference {
    /// The class's name.
    pub name: String,
    /// The class's namespace, by default the Cluster's.
    pub namespace: String,
}

impl ClassReference {
    /// Derives the release of the class; `None` if the class's name shows that it belongs to no cluster stack.
    #[must_use]
    pub fn release(&self) -> Option<ReleaseName> {
        ReleaseName::from_class_name(&self.name).ok()
    }
}

/// An object that a Cluster refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectReference {
    /// API group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The name; the namespace is the Cluster's.
    pub name: String,
}

impl Cluster {
    /// Reads a Cluster of either version. An absent namespace is `default`, as for kubectl.
    pub fn new(object: Value) -> Result<Self, ClusterError> {
        let (version, kind) = (text(&object, &["apiVersion"]), text(&object, &["kind"]));
        if kind != "Cluster" || version.split('/').next() != Some(GROUP) {
            return Err(ClusterError::NotACluster { found: format!("{kind:?} of {version:?}") });
        }
        let name = text(&object, &["metadata", "name"])
            .parse()
            .map_err(|source| ClusterError::Name { field: "name", source })?;
        let namespace = match text(&object, &["metadata", "namespace"]) {
            "" => "default",
            namespace => namespace,
        };
        let namespace =
            namespace.parse().map_err(|source| ClusterError::Name { field: "namespace", source })?;
        Ok(Self { name, namespace, object })
    }

    /// Returns the name of the Cluster.
    #[must_use]
    pub fn name(&self) -> &ObjectName {
        &self.name
    }

    /// Returns the namespace of the Cluster.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// Returns the labels.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<String, String> {
        let labels = field(&self.object, &["metadata", "labels"]).and_then(Value::as_object);
        let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
        labels.into_iter().flatten().filter_map(text).collect()
    }

    /// Returns the UID of the Cluster; `None` if it was not read from an API server.
    #[must_use]
    pub fn uid(&self) -> Option<&str> {
        Some(text(&self.object, &["metadata", "uid"])).filter(|uid| !uid.is_empty())
    }

    /// Returns namespace and name of the Cluster.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(self.namespace.as_str(), self.name.as_str())
    }

    /// Reads the class, in either spelling; `None` for a Cluster without topology.
    #[must_use]
    pub fn class(&self) -> Option<ClassReference> {
        let either = |new: &[&str], old: &[&str]| match text(&self.object, new) {
            "" => text(&self.object, old).to_owned(),
            found => found.to_owned(),
        };
        let name = either(&["spec", "topology", "classRef", "name"], &["spec", "topology", "class"]);
        let namespace =
            either(&["spec", "topology", "classRef", "namespace"], &["spec", "topology", "classNamespace"]);
        let namespace = if namespace.is_empty() { self.namespace.to_string() } else { namespace };
        (!name.is_empty()).then_some(ClassReference { name, namespace })
    }

    /// Returns the namespace of the Cluster's class, and the release of the class; `None` without a class, or if the class
    /// belongs to no cluster stack.
    #[must_use]
    pub fn release(&self) -> Option<(String, ReleaseName)> {
        let class = self.class()?;
        let release = class.release()?;
        Some((class.namespace, release))
    }

    /// Returns the key of the `ClusterStackRelease` of the Cluster's [release](Cluster::release).
    #[must_use]
    pub fn release_key(&self) -> Option<Key> {
        self.release().map(|(namespace, release)| Key::new(&namespace, &release.to_string()))
    }

    /// The same Cluster with another class of the same namespace and with that class's Kubernetes version, in the
    /// spelling of the Cluster. A Cluster without a class stays without one.
    #[must_use]
    pub fn with_class(&self, class: &str, version: &KubernetesVersion) -> Self {
        let mut cluster = self.clone();
        let topology = cluster.object.pointer_mut("/spec/topology").and_then(Value::as_object_mut);
        let Some(topology) = topology.filter(|_| self.class().is_some()) else { return cluster };
        match topology.get_mut("classRef").and_then(Value::as_object_mut) {
            Some(reference) => reference.insert("name".to_owned(), json!(class)),
            None => topology.insert("class".to_owned(), json!(class)),
        };
        topology.insert("version".to_owned(), json!(version.to_string()));
        cluster
    }

    /// Reads `spec.topology.version`; `None` when absent or not a version.
    #[must_use]
    pub fn kubernetes_version(&self) -> Option<KubernetesVersion> {
        text(&self.object, &["spec", "topology", "version"]).parse().ok()
    }

    /// Whether the Cluster's API server has answered once: addons can be installed from then on.
    #[must_use]
    pub fn control_plane_initialized(&self) -> bool {
        self.flag(&["status", "initialization", "controlPlaneInitialized"])
            || condition(&self.object, &["status", "conditions"], "ControlPlaneInitialized") == Some("True")
    }

    /// Returns Cluster API's message if it has lost the connection to the API server of the Cluster.
    #[must_use]
    pub fn unreachable(&self) -> Option<&str> {
        let conditions = field(&self.object, &["status", "conditions"])?.as_array()?;
        let lost = conditions.iter().find(|condition| {
            (text(condition, &["type"]), text(condition, &["status"])) == ("RemoteConnectionProbe", "False")
        });
        lost.filter(|_| self.control_plane_initialized()).map(|lost| text(lost, &["message"]))
    }

    /// Returns the object as it is served.
    #[must_use]
    pub fn object(&self) -> &Value {
        &self.object
    }

    /// Whether the Cluster is paused, so that nothing may be written for it.
    #[must_use]
    pub fn paused(&self) -> bool {
        self.paused_by().is_some()
    }

    /// Names what pauses the Cluster: the field, the annotation, or both. As for Cluster API, the value of the
    /// annotation does not matter.
    #[must_use]
    pub fn paused_by(&self) -> Option<&'static str> {
        let is_annotated = field(&self.object, &["metadata", "annotations", PAUSED]).is_some();
        match (self.flag(&["spec", "paused"]), is_annotated) {
            (true, true) => Some("spec.paused and annotation cluster.x-k8s.io/paused"),
            (true, false) => Some("spec.paused"),
            (false, true) => Some("annotation cluster.x-k8s.io/paused"),
            (false, false) => None,
        }
    }

    /// Whether the Cluster is being deleted.
    #[must_use]
    pub fn deleting(&self) -> bool {
        field(&self.object, &["metadata", "deletionTimestamp"]).is_some()
    }

    /// Returns the time of the Cluster's deletion, if it is being deleted.
    #[must_use]
    pub fn deleting_since(&self) -> Option<&str> {
        field(&self.object, &["metadata", "deletionTimestamp"]).and_then(Value::as_str)
    }

    /// Returns the object that the Cluster names as its control plane.
    #[must_use]
    pub fn control_plane_ref(&self) -> Option<ObjectReference> {
        self.reference("controlPlaneRef")
    }

    /// Returns the object that the Cluster names as its infrastructure.
    #[must_use]
    pub fn infrastructure_ref(&self) -> Option<ObjectReference> {
        self.reference("infrastructureRef")
    }

    fn reference(&self, name: &str) -> Option<ObjectReference> {
        let reference = field(&self.object, &["spec", name])?;
        let version = text(reference, &["apiVersion"]);
        let group = match text(reference, &["apiGroup"]) {
            "" => version.split_once('/').map_or("", |(group, _)| group),
            group => group,
        };
        let (kind, name) = (text(reference, &["kind"]), text(reference, &["name"]));
        (!kind.is_empty() && !name.is_empty()).then(|| ObjectReference {
            group: group.to_owned(),
            kind: kind.to_owned(),
            name: name.to_owned(),
        })
    }

    fn flag(&self, path: &[&str]) -> bool {
        field(&self.object, path).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns the object as values templates see it: as it is served, with the `v1beta1` spellings added if it is not
    /// `v1beta1`. `control_plane` and `infrastructure` are the objects that the Cluster refers to: they have the
    /// versions of the references.
    #[must_use]
    pub fn for_templates(&self, control_plane: Option<&Value>, infrastructure: Option<&Value>) -> Value {
        let mut object = self.object.clone();
        let namespace = self.namespace.as_str();
        if let Some(class) =
            self.class().filter(|_| field(&object, &["spec", "topology", "classRef"]).is_some())
        {
            add(&mut object, &["spec", "topology"], "class", json!(class.name));
            if field(&object, &["spec", "topology", "classRef", "namespace"]).is_some() {
                add(&mut object, &["spec", "topology"], "classNamespace", json!(class.namespace));
            }
        }
        for (name, target) in [("controlPlaneRef", control_plane), ("infrastructureRef", infrastructure)] {
            add(&mut object, &["spec", name], "namespace", json!(namespace));
            if let Some(version) = target.map(|target| text(target, &["apiVersion"])) {
                add(&mut object, &["spec", name], "apiVersion", json!(version));
            }
        }
        for (new, old) in [
            ("infrastructureProvisioned", "infrastructureReady"),
            ("controlPlaneInitialized", "controlPlaneReady"),
        ] {
            if let Some(flag) = field(&object, &["status", "initialization", new]).cloned() {
                add(&mut object, &["status"], old, flag);
            }
        }
        object
    }
}

/// Returns the status of the condition of type `kind` in the list at `path`.
fn condition<'a>(object: &'a Value, path: &[&str], kind: &str) -> Option<&'a str> {
    let conditions = field(object, path)?.as_array()?;
    let found = conditions.iter().find(|condition| text(condition, &["type"]) == kind)?;
    Some(text(found, &["status"]))
}

/// Adds a field to the mapping at `path` if that mapping exists and lacks the field.
fn add(object: &mut Value, path: &[&str], name: &str, value: Value) {
    let parent = path.iter().try_fold(object, |value, segment| value.get_mut(segment));
    if let Some(parent) = parent.and_then(Value::as_object_mut) {
        parent.entry(name).or_insert(value);
    }
}

/// Returns the value at `path`; `None` if a step is absent or null.
#[must_use]
pub fn field<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, segment| value.get(segment)).filter(|value| !value.is_null())
}

/// Returns the text at `path`; empty if it is absent or not a text.
#[must_use]
pub fn text<'a>(value: &'a Value, path: &[&str]) -> &'a str {
    field(value, path).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
