//! The layout of the files below a root, the same in a directory and in a Git repository.
//!
//! ```text
//! kustomization.yaml, stackflux.index
//! sources/                        kustomization.yaml, stackflux.index, <namespace>/<kind>-<name>.yaml
//! node-images/                    the same
//! cluster-class/                  the same, and namespace-<name>.yaml
//! clusters/<namespace>/<cluster>/ kustomization.yaml, stackflux.index, <kind>-<name>.yaml
//! ```
//!
//! Each part is a Kustomize root with an index of its own, so that a change of one cluster touches only the files of that
//! cluster, and the root's list changes only when a cluster is added or removed.

use std::fmt;
use std::str::FromStr;

use serde_json::json;

use crate::api::labels;
use crate::foreign::capi::text;
use crate::names::{NameError, Namespace, ObjectName};
use crate::plan::canonical::to_yaml;
use crate::plan::{PlannedObject, Step};

/// File of a directory that lists what Flux applies.
pub const KUSTOMIZATION: &str = "kustomization.yaml";

/// File of a directory that lists what stackflux owns in it. It is YAML without the extension: `kubectl apply --recursive`,
/// stackflux's `--existing` and Flux, if it generates a `kustomization.yaml`, take every `.yaml` and `.yml` file for
/// objects.
pub const INDEX: &str = "stackflux.index";

/// First line of every generated `kustomization.yaml`.
const HEADER: &str =
    "# Written by stackflux, which refuses to overwrite files here that were edited since it wrote them.\n";

/// Maximum length of the path of a file or part, in bytes.
const MAX_PATH_BYTES: usize = 1024;

/// Namespace and name of a Cluster, as in the directory of its files: a name of more than 63 characters is cut and
/// hashed, as in the label of its objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterName {
    namespace: String,
    name: String,
}

impl ClusterName {
    /// Creates the name of a Cluster.
    pub fn new(namespace: &Namespace, name: &ObjectName) -> Result<Self, NameError> {
        Ok(Self { namespace: namespace.to_string(), name: ObjectName::bounded(name.as_str())?.to_string() })
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A directory below the root that is written as a whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Sources and charts.
    Sources,
    /// Node images.
    NodeImages,
    /// Cluster classes.
    ClusterClass,
    /// The addons of one cluster.
    Cluster(ClusterName),
}

impl Part {
    /// Whether all clusters share the part, so that several `ClusterStack`s may have files in it.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        !matches!(self, Self::Cluster(_))
    }

    /// Returns the Cluster of the part, unless it is shared.
    #[must_use]
    pub fn cluster(&self) -> Option<&ClusterName> {
        if let Self::Cluster(name) = self { Some(name) } else { None }
    }

    /// Returns the path of a file of the part, from the root.
    #[must_use]
    pub fn file(&self, name: &str) -> String {
        format!("{self}/{name}")
    }
}

/// Formats the path from the root, without a trailing slash.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sources => f.write_str("sources"),
            Self::NodeImages => f.write_str("node-images"),
            Self::ClusterClass => f.write_str("cluster-class"),
            Self::Cluster(ClusterName { namespace, name }) => write!(f, "clusters/{namespace}/{name}"),
        }
    }
}

/// A path that is not one of a part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a directory of this layout")]
pub struct PartError(String);

impl FromStr for Part {
    type Err = PartError;

    fn from_str(path: &str) -> Result<Self, PartError> {
        let refuse = || PartError(path.to_owned());
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            ["sources"] => Ok(Self::Sources),
            ["node-images"] => Ok(Self::NodeImages),
            ["cluster-class"] => Ok(Self::ClusterClass),
            ["clusters", namespace, name] => {
                let namespace: Namespace = namespace.parse().map_err(|_| refuse())?;
                let name: ObjectName = name.parse().map_err(|_| refuse())?;
                Ok(Self::Cluster(ClusterName { namespace: namespace.to_string(), name: name.to_string() }))
            }
            _ => Err(refuse()),
        }
    }
}

/// Returns the part and the file of a planned object: by step, then by namespace and cluster, so that a pull request lists
/// changes in a natural order.
#[must_use]
pub fn place(object: &PlannedObject) -> (Part, String) {
    let (kind, id) = (object.id.kind.to_lowercase(), &object.id);
    let part = match object.step {
        Step::Sources => Part::Sources,
        Step::NodeImages => Part::NodeImages,
        Step::ClusterClass => Part::ClusterClass,
        Step::Addons => {
            let name = text(&object.value, &["metadata", "labels", labels::CLUSTER_NAME]).to_owned();
            Part::Cluster(ClusterName { namespace: id.namespace.clone(), name })
        }
    };
    let namespace = match &part {
        Part::Cluster(_) => String::new(),
        _ if id.namespace.is_empty() => String::new(),
        _ => format!("{}/", id.namespace),
    };
    (part, format!("{namespace}{kind}-{}.yaml", id.name))
}

/// Whether a path of an index stays in its directory and names a plain file: such paths are read and removed.
#[must_use]
pub(crate) fn is_plain(path: &str) -> bool {
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.eq_ignore_ascii_case(".git");
    path.len() <= MAX_PATH_BYTES
        && path.split('/').all(is_name)
        && !path.contains('\\')
        && !path.chars().any(char::is_control)
}

/// Returns the text of a `kustomization.yaml` over files or directories, which must be sorted.
#[must_use]
pub fn kustomization<'a>(resources: impl Iterator<Item = &'a str>) -> String {
    let resources: Vec<&str> = resources.collect();
    let root = json!({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": resources});
    format!("{HEADER}{}", to_yaml(&root))
}
