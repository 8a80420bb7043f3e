//! Explains why a Cluster has no `ClusterAddon`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::snapshot::{Member, Snapshot, mirrored};
use crate::api::{ClusterStack, ConditionType, Reason, labels};
use crate::names::{Key, ReleaseName};
use crate::rollup::{ConditionStatus, Report};
use crate::subscription::offered;

/// An obstacle, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) action: String,
}

impl Obstacle {
    pub(super) fn report(&self) -> Report {
        Report::new(ConditionStatus::Unknown, self.reason, &self.message)
    }

    fn new(reason: &'static str, message: String, action: String) -> Self {
        Self { reason, message, action }
    }

    fn known(reason: Reason, message: &str) -> Self {
        Self::new(reason.as_str(), message.to_owned(), reason.action().to_owned())
    }
}

/// Returns the first obstacle, beginning at the Cluster.
pub(super) fn obstacle(snapshot: &Snapshot, key: &Key, member: &Member) -> Obstacle {
    let Some(cluster) = &member.cluster else {
        let message = "the Cluster does not exist".to_owned();
        return Obstacle::new("NotFound", message, "Check the name and the namespace.".to_owned());
    };
    let Some(class) = cluster.class() else {
        let message = "the Cluster has no class (spec.topology.classRef), so it belongs to no ClusterStack";
        let action = "Give it a class of a ClusterStack if it needs addons.".to_owned();
        return Obstacle::new("NoClass", message.to_owned(), action);
    };
    let Some(release) = class.release() else {
        let message =
            format!("its class {}/{} is not a release of a cluster stack", class.namespace, class.name);
        let action = "Name a class of a ClusterStack's release if it needs addons.".to_owned();
        return Obstacle::new("UnknownClass", message, action);
    };
    if let Some(problem) = without_release(snapshot, (key, &class.namespace), &release) {
        return problem;
    }
    if cluster.deleting() {
        return Obstacle::known(Reason::Deleting, "the Cluster is being deleted");
    }
    if let Some(by) = cluster.paused_by() {
        let message = format!("the Cluster is paused ({by}): nothing is written for it");
        return Obstacle::known(Reason::Paused, &message);
    }
    Obstacle::new(
        Reason::NotYetReported.as_str(),
        format!("the operator has not created the ClusterAddon of Cluster {key} yet"),
        "Wait; if it takes long, check that the operator runs and watches this namespace.".to_owned(),
    )
}

/// Returns the obstacle if the release of a class is missing.
fn without_release(
    snapshot: &Snapshot,
    (cluster, namespace): (&Key, &str),
    release: &ReleaseName,
) -> Option<Obstacle> {
    if !snapshot.knows(namespace) {
        let message =
            format!("release {release} of its class is in namespace {namespace}, which you may not read");
        let action = format!(
            "Ask the owner of namespace {namespace}, or for a ClusterRoleBinding to stackflux-view (docs/security.md)."
        );
        return Some(Obstacle::new("NotRead", message, action));
    }
    let Some(stack) = snapshot.stack_of(namespace, release) else {
        let mut namespaces = snapshot.stacks.keys().map(|key| &key.namespace);
        let elsewhere = namespaces.find(|of| snapshot.stack_of(of, release).is_some());
        let message =
            format!("no ClusterStack in namespace {namespace} is for release {release} of its class");
        let action = match elsewhere {
            // The owner of the other namespace would decide what happens to the addons in the cluster.
            _ if has_objects(snapshot, cluster) => format!(
                "Apply the ClusterStack in namespace {namespace} again, which takes over the addons in the cluster."
            ),
            Some(of) => format!(
                "Create a ClusterStack for it in namespace {namespace}. If the class of namespace {of} is meant, whose \
                 owner then decides what runs in the cluster, set spec.topology.classRef.namespace to {of}."
            ),
            None => format!("Create a ClusterStack for it in namespace {namespace}."),
        };
        return Some(Obstacle::new("NoClusterStack", message, action));
    };
    if snapshot.release(namespace, release).is_some() {
        return None;
    }
    if cluster.namespace != namespace && !offers(stack, release) {
        let message = format!("ClusterStack {} does not offer release {release}", Key::of(stack));
        return Some(Obstacle::known(Reason::ReleaseNotOffered, &message));
    }
    let conditions = stack.status.as_ref().map(|status| &status.conditions);
    let mut summary = stack.status.iter().flat_map(|status| &status.summary);
    let summary = summary.find(|summary| summary.name == release.to_string());
    let summary = summary.and_then(|summary| summary.message.as_ref()).map(|message| format!(": {message}"));
    let obstacle = [ConditionType::SourceReady, ConditionType::ReleasesSynced]
        .map(|kind| (kind, mirrored(&stack.metadata, conditions, kind)))
        .into_iter()
        .find(|(_, report)| report.status != ConditionStatus::True);
    let why =
        obstacle.map(|(kind, report)| format!(": {kind} is {}: {}", report.status.as_str(), report.message));
    let message = format!(
        "ClusterStack {} has no release {release}{}",
        Key::of(stack),
        summary.or(why).unwrap_or_default()
    );
    let action = format!(
        "Check that the stack repository has {release}; the operator reads a release in use by itself."
    );
    Some(Obstacle::new("NoRelease", message, action))
}

/// Whether there are Flux objects for a Cluster, which its `ClusterStack` orphaned when it was deleted.
fn has_objects(snapshot: &Snapshot, cluster: &Key) -> bool {
    let is_of = |key: &Key, metadata: &ObjectMeta| {
        let name = metadata.labels.as_ref().and_then(|all| all.get(labels::CLUSTER_NAME));
        key.namespace == cluster.namespace && name == Some(&cluster.name)
    };
    snapshot.flux.iter().any(|((kind, key), object)| !kind.is_source() && is_of(key, &object.metadata))
}

/// Whether a `ClusterStack` offers a release.
fn offers(stack: &ClusterStack, release: &ReleaseName) -> bool {
    let latest = stack.status.as_ref().and_then(|status| status.latest_release.as_ref()?.parse().ok());
    offered(&stack.spec, Some(&latest.into_iter().collect())).contains(release)
}
