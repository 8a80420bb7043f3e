//! The tables of `status`: ClusterStacks, releases and clusters.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::Named;
use super::snapshot::{Member, Snapshot, clusters_ready, created, mirrored, ready};
use super::tree::{addon_report, cluster_report};
use crate::api::cluster_addon::AddonStatus;
use crate::api::{ClusterStackRelease, ConditionType, Reason};
use crate::names::{Key, ReleaseName};
use crate::rollup::{ConditionStatus, Report};

/// The status of all objects in scope.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fleet {
    /// The `ClusterStack`s.
    pub cluster_stacks: Vec<StackRow>,
    /// The releases.
    pub releases: Vec<ReleaseRow>,
    /// The Clusters.
    pub clusters: Vec<ClusterRow>,
    /// The number of Clusters that belong to no ClusterStack.
    pub unclaimed: usize,
    /// Whether the Clusters are a selection, so that the summary of a ClusterStack also covers other Clusters.
    #[serde(skip)]
    pub selected: bool,
    /// The time at which it was read.
    #[serde(skip)]
    pub now: Timestamp,
}

/// What the lines of all kinds have.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// `True`, `False` or `Unknown`.
    pub ready: &'static str,
    /// The reason.
    pub reason: String,
    /// The message.
    pub message: String,
    /// Whether the object is suspended, so that the operator writes nothing for it.
    pub suspended: bool,
    /// Time of the creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
}

/// The line of a `ClusterStack`.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StackRow {
    /// What all kinds have.
    #[serde(flatten)]
    pub row: Row,
    /// The condition `ClustersReady`.
    pub clusters_ready: &'static str,
    /// Its reason.
    pub clusters_reason: String,
    /// Its message.
    pub clusters_message: String,
    /// The latest release.
    pub latest: Option<String>,
    /// The versions that Clusters can use.
    pub usable: Option<String>,
}

/// The line of a release.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseRow {
    /// What all kinds have.
    #[serde(flatten)]
    pub row: Row,
    /// Its Kubernetes version.
    pub kubernetes: Option<String>,
    /// The number of Clusters that use it.
    pub clusters: usize,
    /// Notes about a release, even if it is ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The line of a Cluster.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRow {
    /// What all kinds have.
    #[serde(flatten)]
    pub row: Row,
    /// The release of its class.
    pub release: Option<String>,
    /// The number of addons that are ready.
    pub addons_ready: usize,
    /// The number of its addons.
    pub addons: usize,
}

/// Returns the status of all objects in the snapshot.
#[must_use]
pub fn fleet(snapshot: &Snapshot) -> Fleet {
    let stacks =
        snapshot.stacks.iter().filter(|(key, _)| snapshot.shows(&key.namespace)).map(|(key, stack)| {
            let status = stack.status.as_ref();
            let report = ready(&stack.metadata, status.map(|status| &status.conditions));
            let clusters = clusters_ready(stack);
            StackRow {
                row: Row { suspended: stack.spec.suspend, ..Row::new(key, created(&stack.metadata), report) },
                clusters_ready: clusters.status.as_str(),
                clusters_reason: clusters.reason,
                clusters_message: clusters.message,
                latest: status.and_then(|status| status.latest_release.clone()),
                usable: status.and_then(|status| status.usable_versions.clone()),
            }
        });
    let ours: Vec<_> = snapshot.claimed().collect();
    Fleet {
        cluster_stacks: stacks.collect(),
        unclaimed: snapshot.members.len() - ours.len(),
        releases: releases(snapshot, &ours),
        clusters: ours.into_iter().map(|(key, member)| cluster_row(snapshot, key, member)).collect(),
        selected: snapshot.selected,
        now: snapshot.now,
    }
}

impl Fleet {
    /// Keeps only the line of the object with this kind and name.
    #[must_use]
    pub fn only(mut self, kind: Named, name: &str) -> Self {
        let is_it = |of: Named, row: &Row| of == kind && row.name == name;
        self.cluster_stacks.retain(|found| is_it(Named::Clusterstack, &found.row));
        self.releases.retain(|found| is_it(Named::Release, &found.row));
        self.clusters.retain(|found| is_it(Named::Cluster, &found.row));
        self.unclaimed = 0;
        self
    }
}

/// Returns the rows of the releases, each with the number of those Clusters that have a row.
fn releases(snapshot: &Snapshot, shown: &[(&Key, &Member)]) -> Vec<ReleaseRow> {
    let mut users: BTreeMap<(String, ReleaseName), usize> = BTreeMap::new();
    for release in shown.iter().filter_map(|(key, member)| member.release(key)) {
        *users.entry(release).or_default() += 1;
    }
    let rows = snapshot.releases.iter().filter_map(|(key, release)| {
        let name: Option<ReleaseName> = key.name.parse().ok();
        let notes =
            name.as_ref().map_or_else(Vec::new, |name| notes(snapshot, &key.namespace, name, release));
        let clusters = name.and_then(|name| users.get(&(key.namespace.clone(), name)).copied()).unwrap_or(0);
        // Others use it than those that are shown.
        let all_users = (clusters == 0 || snapshot.selected).then(|| in_use(release)).flatten();
        let notes = notes.into_iter().chain(all_users).collect();
        let status = release.status.as_ref();
        let report = ready(&release.metadata, status.map(|status| &status.conditions));
        (snapshot.shows(&key.namespace) || clusters > 0).then(|| ReleaseRow {
            row: Row::new(key, created(&release.metadata), report),
            kubernetes: status.and_then(|status| status.kubernetes_version.clone()),
            clusters,
            notes,
        })
    });
    rows.collect()
}

/// Returns notes about a release, even if it is ready: that it was deleted, and what its `ClusterStack` reports about
/// it.
fn notes(
    snapshot: &Snapshot,
    namespace: &str,
    name: &ReleaseName,
    release: &ClusterStackRelease,
) -> Vec<String> {
    let conditions = release.status.as_ref().map(|status| &status.conditions);
    let deleted = release.metadata.deletion_timestamp.as_ref().map(|_| {
        let in_use = mirrored(&release.metadata, conditions, ConditionType::InUse);
        if in_use.reason == Reason::InUse.as_str() { in_use.message } else { "is being deleted".to_owned() }
    });
    let stack = snapshot.stack_of(namespace, name);
    let summary =
        stack.and_then(|stack| stack.status.as_ref()).into_iter().flat_map(|status| &status.summary);
    let of_it = summary.filter(|summary| summary.name == name.to_string() && summary.ready);
    deleted.into_iter().chain(of_it.filter_map(|summary| summary.message.clone())).collect()
}

/// Returns what a release reports about its Clusters, if any use it.
fn in_use(release: &ClusterStackRelease) -> Option<String> {
    let conditions = release.status.as_ref().map(|status| &status.conditions);
    let in_use = mirrored(&release.metadata, conditions, ConditionType::InUse);
    (in_use.status == ConditionStatus::True).then_some(in_use.message)
}

fn cluster_row(snapshot: &Snapshot, key: &Key, member: &Member) -> ClusterRow {
    let status = member.addon.as_ref().and_then(|addon| addon.status.as_ref());
    let addons = status.map(|status| status.addons.as_slice()).unwrap_or_default();
    let is_ready = |report: &Report| report.status == ConditionStatus::True;
    let addons: Vec<&AddonStatus> = addons.iter().filter(|addon| !is_dropped(addon)).collect();
    let is_deleting = member.deletion_report().is_some();
    ClusterRow {
        row: Row {
            suspended: member.addon.as_ref().is_some_and(|addon| addon.spec.suspend),
            ..Row::new(key, member.created, cluster_report(snapshot, key, member))
        },
        release: member.release(key).map(|(_, release)| release.to_string()),
        addons_ready: addons
            .iter()
            .copied()
            .map(addon_report)
            .filter(|report| !is_deleting && is_ready(report))
            .count(),
        addons: addons.len(),
    }
}

/// Whether an addon is no longer in the release, but some of it is left.
fn is_dropped(addon: &AddonStatus) -> bool {
    let reasons = [Reason::AddonRemoved, Reason::FileRemoved, Reason::PruneBudgetExceeded];
    reasons.iter().any(|reason| addon.reason.as_deref() == Some(reason.as_str()))
}

impl Row {
    fn new(key: &Key, created: Option<Timestamp>, report: Report) -> Self {
        let (ready, reason, message) = (report.status.as_str(), report.reason, report.message);
        let Key { namespace, name } = key.clone();
        Self { namespace, name, ready, reason, message, suspended: false, created }
    }

    /// Returns the message, or the reason if there is none, after a note if the object is suspended.
    #[must_use]
    pub fn status(&self) -> String {
        let shown = if self.message.is_empty() { &self.reason } else { &self.message };
        if self.suspended { format!("suspended; {shown}") } else { shown.clone() }
    }
}

impl StackRow {
    /// Returns the status of the stack itself, and that of its Clusters if they are not ready.
    #[must_use]
    pub fn status(&self) -> String {
        let is_true = |status: &str| status == ConditionStatus::True.as_str();
        let own = self.row.status();
        if is_true(self.clusters_ready) || self.clusters_message.is_empty() {
            own
        } else if is_true(self.row.ready) && !self.row.suspended {
            self.clusters_message.clone()
        } else {
            format!("{own}; {}", self.clusters_message)
        }
    }
}

impl Fleet {
    /// Whether everything is ready, and there is at least one object; of a selection of Clusters, at least one of them.
    #[must_use]
    pub fn all_ready(&self) -> bool {
        let stacks = self.cluster_stacks.iter().map(|stack| &stack.row);
        let releases = self.releases.iter().map(|release| &release.row);
        let clusters = self.clusters.iter().map(|cluster| &cluster.row);
        let clusters_are_ready = self.selected
            || self.cluster_stacks.iter().all(|stack| stack.clusters_ready == ConditionStatus::True.as_str());
        let hides_all_selected = self.selected && self.clusters.is_empty() && self.unclaimed > 0;
        !self.is_empty()
            && !hides_all_selected
            && clusters_are_ready
            && stacks.chain(releases).chain(clusters).all(|row| row.ready == ConditionStatus::True.as_str())
    }

    /// Whether there are no objects of stackflux.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cluster_stacks.is_empty() && self.releases.is_empty() && self.clusters.is_empty()
    }

    /// Returns the number of clusters that are left out.
    #[must_use]
    pub fn unclaimed(&self) -> usize {
        self.unclaimed
    }
}
