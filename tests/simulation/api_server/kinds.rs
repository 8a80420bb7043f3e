//! The kinds of the API server.

use serde_json::{Value, json};

/// A kind.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) name: &'static str,
    /// Defaults of the schema: a path, and the JSON of the value.
    defaults: &'static [(&'static [&'static str], &'static str)],
}

const OURS: (&str, &str) = ("clusterstack.x-k8s.io", "v1alpha1");
/// The status before the first one, by the definitions of Flux.
const UNOBSERVED: (&[&str], &str) = (&["status"], r#"{"observedGeneration":-1}"#);

/// All kinds. Those that the operator only creates (events) or never writes are left out.
pub(crate) const KINDS: &[Kind] = &[
    Kind { group: "", version: "v1", plural: "namespaces", name: "Namespace", defaults: &[] },
    Kind {
        group: OURS.0,
        version: OURS.1,
        plural: "clusterstacks",
        name: "ClusterStack",
        defaults: &[
            (&["spec", "autoSubscribe"], "false"),
            (&["spec", "channel"], r#""stable""#),
            (&["spec", "noProvider"], "false"),
            (&["spec", "revisionHistoryLimit"], "2"),
            (&["spec", "source", "git", "interval"], r#""1m""#),
            (&["spec", "source", "git", "path"], r#""releases""#),
        ],
    },
    Kind {
        group: OURS.0,
        version: OURS.1,
        plural: "clusterstackreleases",
        name: "ClusterStackRelease",
        defaults: &[(&["status", "ready"], "false")],
    },
    Kind {
        group: OURS.0,
        version: OURS.1,
        plural: "clusteraddons",
        name: "ClusterAddon",
        defaults: &[(&["status", "ready"], "false")],
    },
    Kind {
        group: OURS.0,
        version: OURS.1,
        plural: "clusteraddonoverrides",
        name: "ClusterAddonOverride",
        defaults: &[],
    },
    Kind {
        group: "cluster.x-k8s.io",
        version: "v1beta2",
        plural: "clusters",
        name: "Cluster",
        defaults: &[],
    },
    Kind {
        group: "source.toolkit.fluxcd.io",
        version: "v1",
        plural: "gitrepositories",
        name: "GitRepository",
        defaults: &[(&["spec", "timeout"], r#""60s""#), UNOBSERVED],
    },
    Kind {
        group: "source.toolkit.fluxcd.io",
        version: "v1",
        plural: "ocirepositories",
        name: "OCIRepository",
        defaults: &[(&["spec", "provider"], r#""generic""#), (&["spec", "timeout"], r#""60s""#), UNOBSERVED],
    },
    Kind {
        group: "source.toolkit.fluxcd.io",
        version: "v1",
        plural: "helmcharts",
        name: "HelmChart",
        defaults: &[
            (&["spec", "reconcileStrategy"], r#""ChartVersion""#),
            (&["spec", "version"], r#""*""#),
            UNOBSERVED,
        ],
    },
    Kind {
        group: "helm.toolkit.fluxcd.io",
        version: "v2",
        plural: "helmreleases",
        name: "HelmRelease",
        defaults: &[(&["spec", "uninstall", "deletionPropagation"], r#""background""#), UNOBSERVED],
    },
    Kind {
        group: "kustomize.toolkit.fluxcd.io",
        version: "v1",
        plural: "kustomizations",
        name: "Kustomization",
        defaults: &[(&["spec", "force"], "false"), UNOBSERVED],
    },
    Kind { group: "events.k8s.io", version: "v1", plural: "events", name: "Event", defaults: &[] },
    Kind {
        group: "controlplane.cluster.x-k8s.io",
        version: "v1beta2",
        plural: "kubeadmcontrolplanes",
        name: "KubeadmControlPlane",
        defaults: &[],
    },
];

/// The number of namespaces among the kinds.
pub(super) const NAMESPACE: usize = 0;

/// The number of a kind by its place in the API.
pub(super) fn number(group: &str, version: &str, plural: &str) -> usize {
    let is_it = |kind: &Kind| (kind.group, kind.version, kind.plural) == (group, version, plural);
    let found = KINDS.iter().position(is_it);
    found.unwrap_or_else(|| panic!("no kind {plural} in {group}/{version}"))
}

/// The number of the kind of an object.
pub(super) fn of(object: &Value) -> usize {
    let is_it = |kind: &Kind| object["kind"] == kind.name && object["apiVersion"] == kind.api_version();
    let found = KINDS.iter().position(is_it);
    found.unwrap_or_else(|| panic!("no kind of {object}"))
}

impl Kind {
    /// `<group>/<version>`.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `<plural>.<group>`, as in messages.
    pub(super) fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// Whether objects have a generation and a status of their own: those of custom definitions.
    pub(super) fn is_custom(&self) -> bool {
        !self.group.is_empty()
    }

    /// Adds the defaults of the schema to an object.
    pub(crate) fn add_defaults(&self, object: &mut Value) {
        for (path, value) in self.defaults {
            let Some((last, above)) = path.split_last() else { continue };
            let parent = above.iter().try_fold(&mut *object, |value, part| value.get_mut(*part));
            if let Some(Value::Object(parent)) = parent {
                parent.entry(*last).or_insert_with(|| serde_json::from_str(value).unwrap());
            }
        }
        if !self.is_custom() {
            object["spec"]["finalizers"] = json!(["kubernetes"]);
            let is_going = object["metadata"].get("deletionTimestamp").is_some();
            object["status"]["phase"] = json!(if is_going { "Terminating" } else { "Active" });
        }
    }
}
