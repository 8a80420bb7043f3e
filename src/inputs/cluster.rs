//! One Cluster with the objects that it refers to: what values templates are rendered over.

use serde_json::{Map, Value};

use crate::foreign::capi::{Cluster, ObjectReference};
use crate::names::KubernetesVersion;
use crate::template::FieldPath;

/// What a Cluster's reference leads to.
#[derive(Clone, Debug, PartialEq)]
enum Related {
    /// The Cluster refers to nothing: the root does not exist, as in Go.
    NotReferenced,
    /// The object.
    Found(Value),
    /// The Cluster refers to an object that is not there (yet).
    NotFound(ObjectReference),
}

impl Related {
    fn find<'a>(
        reference: Option<ObjectReference>,
        find: impl Fn(&ObjectReference) -> Option<&'a Value>,
    ) -> Self {
        match reference {
            None => Self::NotReferenced,
            Some(reference) => match find(&reference) {
                Some(object) => Self::Found(object.clone()),
                None => Self::NotFound(reference),
            },
        }
    }

    fn object(&self) -> Option<&Value> {
        match self {
            Self::Found(object) => Some(object),
            Self::NotReferenced | Self::NotFound(_) => None,
        }
    }
}

/// A Cluster and the data that its values templates are rendered over.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterInputs {
    /// The Cluster.
    pub cluster: Cluster,
    control_plane: Related,
    infrastructure: Related,
    data: Value,
}

impl ClusterInputs {
    /// Takes a Cluster with the objects that it refers to, which `find` finds in the Cluster's namespace.
    #[must_use]
    pub fn new<'a>(cluster: Cluster, find: impl Fn(&ObjectReference) -> Option<&'a Value>) -> Self {
        let control_plane = Related::find(cluster.control_plane_ref(), &find);
        let infrastructure = Related::find(cluster.infrastructure_ref(), &find);
        Self::assemble(cluster, control_plane, infrastructure)
    }

    /// The same as if the Cluster used another class at that class's Kubernetes version: what an upgrade would give.
    /// The objects that it refers to stay as they are.
    #[must_use]
    pub fn with_class(&self, class: &str, version: &KubernetesVersion) -> Self {
        let cluster = self.cluster.with_class(class, version);
        Self::assemble(cluster, self.control_plane.clone(), self.infrastructure.clone())
    }

    fn assemble(cluster: Cluster, control_plane: Related, infrastructure: Related) -> Self {
        let mut data = Map::new();
        let seen = cluster.for_templates(control_plane.object(), infrastructure.object());
        data.insert("Cluster".to_owned(), seen);
        for (root, related) in [("ControlPlane", &control_plane), ("InfraCluster", &infrastructure)] {
            if let Some(object) = related.object() {
                data.insert(root.to_owned(), object.clone());
            }
        }
        Self { cluster, control_plane, infrastructure, data: Value::Object(data) }
    }

    /// The data of values templates: `Cluster`, and `ControlPlane` and `InfraCluster` where they exist.
    #[must_use]
    pub fn data(&self) -> &Value {
        &self.data
    }

    /// The object that one of `fields` needs, that the Cluster refers to and that is not there.
    #[must_use]
    pub fn missing_object<'a>(
        &self,
        mut fields: impl Iterator<Item = &'a FieldPath>,
    ) -> Option<&ObjectReference> {
        fields.find_map(|field| {
            match (field.segments().first()?.as_str(), &self.control_plane, &self.infrastructure) {
                ("ControlPlane", Related::NotFound(reference), _)
                | ("InfraCluster", _, Related::NotFound(reference)) => Some(reference),
                _ => None,
            }
        })
    }
}
