//! Explains why a Cluster has no `ClusterAddon`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::advice::WAIT_FOR_OPERATOR;
use super::flux::{is_true, source_ready};
use super::snapshot::{Member, Snapshot};
use crate::addons::{Installation, lack};
use crate::api::{ClusterStack, Reason, labels};
use crate::foreign::capi::Cluster;
use crate::gate;
use crate::names::{Key, ReleaseName};
use crate::rollup::{ConditionStatus, InRepository, Report, missing_release};
use crate::subscription::offered;

/// An obstacle, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Obstacle {
    pub(super) report: Report,
    /// The advice, if there is better one than for the reason alone.
    pub(super) advice: Option<String>,
    /// The `ClusterStack` that has yet to install the release, and the report that its source is not ready.
    pub(super) source: Option<(Key, Report)>,
}

impl Obstacle {
    fn new(reason: &str, message: &str, advice: &str) -> Self {
        let report = Report::new(ConditionStatus::Unknown, reason, message);
        Self { report, advice: Some(advice.to_owned()), source: None }
    }
}

impl From<Report> for Obstacle {
    fn from(report: Report) -> Self {
        Self { report, advice: None, source: None }
    }
}

/// Returns the first obstacle: that of a reader who lacks the object or the rights, otherwise the one that the operator
/// finds.
pub(super) fn obstacle(snapshot: &Snapshot, key: &Key, member: &Member) -> Obstacle {
    let Some(cluster) = &member.cluster else {
        return Obstacle::new("NotFound", "the Cluster does not exist", "Check the name and the namespace.");
    };
    if let Some(hold) = gate::not_written(cluster) {
        return Report::new(ConditionStatus::Unknown, hold.reason.as_str(), &hold.message).into();
    }
    let release = cluster.release();
    let release = release.as_ref().map(|(namespace, release)| (namespace.as_str(), release));
    if let Some((namespace, release)) = release.filter(|(namespace, _)| !snapshot.knows(namespace)) {
        let message =
            format!("release {release} of its class is in namespace {namespace}, which you may not read");
        let advice = format!(
            "Ask the owner of namespace {namespace}, or for a ClusterRoleBinding to stackflux-view (docs/reference/security.md)."
        );
        return Obstacle::new("NotRead", &message, &advice);
    }
    let stack = release.and_then(|(namespace, release)| snapshot.stack_of(namespace, release));
    let installation = release.map_or(Installation::NoStack, |(namespace, release)| {
        installation(snapshot, stack, (namespace, release))
    });
    if let Some(lack) = lack(cluster, None, installation) {
        let is = |reason: Reason| lack.report.reason == reason.as_str();
        let advice = is(Reason::ClassUnknown).then(|| about_class(snapshot, key, release));
        let source =
            stack.filter(|_| is(Reason::NotYetReported)).map(|stack| (Key::of(stack), source_ready(stack)));
        let source = source.filter(|(_, report)| !is_true(report));
        return Obstacle { report: lack.report, advice, source };
    }
    Obstacle::new(
        Reason::NotYetReported.as_str(),
        &format!("the operator has not created the ClusterAddon of Cluster {key} yet"),
        WAIT_FOR_OPERATOR,
    )
}

/// Returns the state of the release of a class, according to the status of the `ClusterStack` that has it.
fn installation(
    snapshot: &Snapshot,
    stack: Option<&ClusterStack>,
    (namespace, release): (&str, &ReleaseName),
) -> Installation {
    if snapshot.release(namespace, release).is_some() {
        return Installation::Installed;
    }
    let missing = stack.and_then(|_| missing(snapshot, namespace, release));
    missing.map_or(Installation::NoStack, Installation::Missing)
}

/// Reports a release that is not installed, as its `ClusterStack` does; `None` if no `ClusterStack` has it.
pub(super) fn missing(snapshot: &Snapshot, namespace: &str, release: &ReleaseName) -> Option<Report> {
    let stack = snapshot.stack_of(namespace, release)?;
    let is_user = |user: &Cluster| {
        user.namespace().as_str() == namespace
            && user.release().is_some_and(|(of, name)| of == namespace && name == *release)
    };
    let is_wanted = offers(stack, release) || snapshot.members().any(|(user, _)| is_user(user));
    Some(missing_release(stack, in_repository(stack, release), is_wanted, release))
}

/// Looks up a release in the stack repository, according to the status of the `ClusterStack`. The status names a missing
/// release if the `ClusterStack` offers it, or if Clusters of its namespace use it. Otherwise, whether it exists is not
/// known, and the `ClusterStack` does not install it in either case.
fn in_repository<'a>(stack: &'a ClusterStack, release: &ReleaseName) -> InRepository<'a> {
    let Some(status) = &stack.status else { return InRepository::NotRead };
    let revision = status.source.as_ref().and_then(|source| source.revision.as_deref());
    let Some(commit) = revision.and_then(|revision| revision.rsplit(':').next()) else {
        return InRepository::NotRead;
    };
    let missing = [Reason::ReleaseNotFound, Reason::ApplierUnavailable].map(Reason::as_str);
    let mut summary = status.summary.iter();
    let is_absent = summary.any(|of| of.name == release.to_string() && missing.contains(&of.phase.as_str()));
    if is_absent { InRepository::Absent(commit) } else { InRepository::Present }
}

/// Returns the advice for a Cluster whose class no `ClusterStack` has.
fn about_class(snapshot: &Snapshot, cluster: &Key, release: Option<(&str, &ReleaseName)>) -> String {
    let Some((namespace, release)) = release else {
        return "Give the Cluster a class of a ClusterStack if it needs addons.".to_owned();
    };
    let mut namespaces = snapshot.stacks.keys().map(|key| &key.namespace);
    let elsewhere = namespaces.find(|of| snapshot.stack_of(of, release).is_some());
    match elsewhere {
        // The owner of the other namespace would decide what happens to the addons in the cluster.
        _ if has_objects(snapshot, cluster) => format!(
            "Apply the ClusterStack in namespace {namespace} again, which takes over the addons in the cluster."
        ),
        Some(of) => format!(
            "Create a ClusterStack for it in namespace {namespace}. If the class of namespace {of} is meant, whose \
             owner then decides what runs in the cluster, set spec.topology.classRef.namespace to {of}."
        ),
        None => format!("Create a ClusterStack for it in namespace {namespace}."),
    }
}

/// Whether there are Flux objects for a Cluster, which its `ClusterStack` orphaned when it was deleted.
fn has_objects(snapshot: &Snapshot, cluster: &Key) -> bool {
    let is_of = |key: &Key, metadata: &ObjectMeta| {
        let name = metadata.labels.as_ref().and_then(|all| all.get(labels::CLUSTER_NAME));
        key.namespace == cluster.namespace && name == Some(&cluster.name)
    };
    snapshot.flux.iter().any(|((kind, key), object)| !kind.is_source() && is_of(key, object.metadata()))
}

/// Whether a `ClusterStack` offers a release.
fn offers(stack: &ClusterStack, release: &ReleaseName) -> bool {
    let latest = stack.status.as_ref().and_then(|status| status.latest_release.as_ref()?.parse().ok());
    offered(&stack.spec, Some(&latest.into_iter().collect())).contains(release)
}
