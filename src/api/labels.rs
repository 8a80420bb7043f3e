//! The names of all labels, annotations, finalizers and field managers: the one place.

/// Label: the program that manages the object. Kubernetes' recommended label.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// Label: the Cluster that an object belongs to. Cluster API's label.
pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";

/// Label: the addon that an object delivers.
pub const ADDON: &str = "clusterstack.x-k8s.io/addon";

/// Label: the release that an object was made from.
pub const RELEASE: &str = "clusterstack.x-k8s.io/release";

/// Label: the name of the Flux `Kustomization` that applies the object. Flux's label.
pub const APPLIED_BY_NAME: &str = "kustomize.toolkit.fluxcd.io/name";

/// Label: the namespace of that `Kustomization`. Flux's label.
pub const APPLIED_BY_NAMESPACE: &str = "kustomize.toolkit.fluxcd.io/namespace";

/// Annotation: the digest of the object as it was planned.
pub const PLAN_DIGEST: &str = "clusterstack.x-k8s.io/digest";

/// Annotation on sources and charts, on the `Kustomization` of an addon's manifests, and on the objects of an addon's
/// chart: the full digest of the content, of which names hold twelve digits at most.
pub const CONTENT_DIGEST: &str = "clusterstack.x-k8s.io/content-digest";

/// Annotation: becomes `cluster` in every event that Flux sends about the object.
pub const EVENT_CLUSTER: &str = "event.toolkit.fluxcd.io/cluster";

/// Annotation: becomes `release` in every event that Flux sends about the object.
pub const EVENT_RELEASE: &str = "event.toolkit.fluxcd.io/release";

/// Annotation: a new value requests a reconciliation now. Flux's annotation, honoured on our kinds too.
pub const REQUESTED_AT: &str = "reconcile.fluxcd.io/requestedAt";

/// Annotation on a `HelmRelease`: with the value of [`REQUESTED_AT`], Flux installs or upgrades even if nothing changed. Flux's
/// annotation.
pub const FORCE_AT: &str = "reconcile.fluxcd.io/forceAt";

/// Annotation on a `HelmRelease`: the upgrade of the Cluster, `<release>/<version>`, after which Flux is asked to repeat that of the
/// addon. It is removed when Flux has done so.
pub const REPEAT_AFTER: &str = "clusterstack.x-k8s.io/repeat-after";

/// Annotation on a `HelmRelease`: with the value of [`REQUESTED_AT`], Flux resets its count of failures. Flux's
/// annotation.
pub const RESET_AT: &str = "reconcile.fluxcd.io/resetAt";

/// The field manager of everything that is applied, and the value of [`MANAGED_BY`].
pub const FIELD_MANAGER: &str = "stackflux";

/// The field manager of `spec.suspend` of Flux objects, a field that is never applied.
pub const SUSPEND_FIELD_MANAGER: &str = "stackflux-suspend";

/// The field manager of the writes of `stackflux reconcile`, `suspend` and `resume`.
pub const CLI_FIELD_MANAGER: &str = "stackflux-cli";

/// Finalizer on our own objects that have to be cleaned up in order.
pub const FINALIZER: &str = "clusterstack.x-k8s.io/stackflux";

/// Reports whether an object has [`FINALIZER`].
#[must_use]
pub fn has_finalizer(object: &impl kube::Resource) -> bool {
    object.meta().finalizers.iter().flatten().any(|finalizer| finalizer == FINALIZER)
}

/// Returns the last [request to reconcile](REQUESTED_AT) an object, unless it is the handled one.
#[must_use]
pub fn open_request(object: &impl kube::Resource, handled: Option<&str>) -> Option<String> {
    let requested = object.meta().annotations.as_ref()?.get(REQUESTED_AT);
    requested.filter(|requested| Some(requested.as_str()) != handled).cloned()
}

/// Annotation on a `ClusterStack` or a `ClusterStackRelease`: the handling of its objects when it is deleted. The only
/// value is [`ORPHAN`].
pub const ON_DELETE: &str = "clusterstack.x-k8s.io/on-delete";

/// Value of [`ON_DELETE`]: all objects stay in the clusters, and stackflux no longer manages them.
pub const ORPHAN: &str = "Orphan";

/// Label on a source or chart: the namespace of the `ClusterStack`s that it belongs to.
pub const STACK_NAMESPACE: &str = "clusterstack.x-k8s.io/stack-namespace";

/// Label on a source or chart beside a repository of another namespace: the UID of the `ClusterStack` that it belongs to.
pub const STACK_UID: &str = "clusterstack.x-k8s.io/stack-uid";

/// Annotation on such a source or chart: the name of that `ClusterStack`.
pub const STACK_NAME: &str = "clusterstack.x-k8s.io/stack-name";

/// Annotation on a `GitRepository`: the namespaces, separated by commas, whose `ClusterStack`s may refer to it, or `*`. Its
/// own namespace needs no mention.
pub const ALLOWED_NAMESPACES: &str = "clusterstack.x-k8s.io/allowed-namespaces";

/// Annotation on a Flux object whose `ClusterAddon` was deleted: the Cluster whose next `ClusterAddon` takes it over.
pub const HANDED_OVER: &str = "clusterstack.x-k8s.io/handed-over";

/// Annotation on a `ClusterStackRelease`: the time since which the release is no longer needed.
pub const RETIRING_SINCE: &str = "clusterstack.x-k8s.io/retiring-since";

/// Annotation on a `ClusterStack`: the digest, from its status, of the deletions that may exceed the budget.
pub const PRUNE: &str = "clusterstack.x-k8s.io/prune";

/// Annotation on a Cluster: the Kubernetes version to which Cluster API may upgrade it before its addons are upgraded.
pub const OPEN_UPGRADE_GATE: &str = "clusterstack.x-k8s.io/open-upgrade-gate";
