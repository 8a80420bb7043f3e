//! The tables of `status`: ClusterStacks, releases and clusters.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use super::Named;
use super::snapshot::{Member, Snapshot, age, clusters_ready, created, mirrored, ready};
use super::tree::{addon_report, cluster_report};
use crate::api::cluster_addon::AddonStatus;
use crate::api::{ClusterStackRelease, ConditionType, Reason};
use crate::cli::output::{NOTHING, table};
use crate::names::{Key, ReleaseName};
use crate::rollup::{ConditionStatus, Report};

/// The status of all objects in scope.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli) struct Overview {
    cluster_stacks: Vec<StackRow>,
    releases: Vec<ReleaseRow>,
    clusters: Vec<ClusterRow>,
    /// The number of Clusters that belong to no ClusterStack.
    unclaimed: usize,
    /// Whether the Clusters are a selection, so that the summary of a ClusterStack also covers other Clusters.
    #[serde(skip)]
    selected: bool,
    #[serde(skip)]
    now: Timestamp,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    namespace: String,
    name: String,
    ready: &'static str,
    reason: String,
    message: String,
    /// Whether the object is suspended, so that the operator writes nothing for it.
    suspended: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StackRow {
    #[serde(flatten)]
    row: Row,
    /// The condition `ClustersReady`.
    clusters_ready: &'static str,
    clusters_reason: String,
    clusters_message: String,
    latest: Option<String>,
    usable: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReleaseRow {
    #[serde(flatten)]
    row: Row,
    kubernetes: Option<String>,
    clusters: usize,
    /// Notes about a release, even if it is ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterRow {
    #[serde(flatten)]
    row: Row,
    release: Option<String>,
    addons_ready: usize,
    addons: usize,
}

/// Returns the status of all objects in the snapshot.
pub(in crate::cli) fn overview(snapshot: &Snapshot) -> Overview {
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
    let (ours, others): (Vec<_>, Vec<_>) = snapshot.members.iter().partition(|(key, member)| {
        let release = member.release(key);
        let is_of_ours = |(of, name): (String, ReleaseName)| {
            snapshot.stack_of(&of, &name).is_some() || !snapshot.knows(&of)
        };
        member.addon.is_some() || release.is_some_and(is_of_ours)
    });
    Overview {
        cluster_stacks: stacks.collect(),
        releases: releases(snapshot, &ours),
        clusters: ours.into_iter().map(|(key, member)| cluster_row(snapshot, key, member)).collect(),
        unclaimed: others.len(),
        selected: snapshot.selected,
        now: snapshot.now,
    }
}

impl Overview {
    /// Keeps only the line of the object with this kind and name.
    pub(in crate::cli) fn only(mut self, kind: Named, name: &str) -> Self {
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
    fn status(&self) -> String {
        let shown = if self.message.is_empty() { &self.reason } else { &self.message };
        if self.suspended { format!("suspended; {shown}") } else { shown.clone() }
    }
}

impl StackRow {
    /// Returns the status of the stack itself, and that of its Clusters if they are not ready.
    fn status(&self) -> String {
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

impl Overview {
    /// Whether everything is ready, and there is at least one object; of a selection of Clusters, at least one of them.
    pub(in crate::cli) fn all_ready(&self) -> bool {
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
    pub(in crate::cli) fn is_empty(&self) -> bool {
        self.cluster_stacks.is_empty() && self.releases.is_empty() && self.clusters.is_empty()
    }

    /// Returns the number of clusters that are left out.
    pub(in crate::cli) fn unclaimed(&self) -> usize {
        self.unclaimed
    }

    /// Formats one table per kind.
    pub(in crate::cli) fn text(&self) -> String {
        let tables = [
            (self.stack_table(), self.cluster_stacks.is_empty()),
            (self.release_table(), self.releases.is_empty()),
            (self.cluster_table(), self.clusters.is_empty()),
        ];
        let there = tables.into_iter().filter(|(_, empty)| !empty).map(|(table, _)| table);
        there.collect::<Vec<_>>().join("\n")
    }

    fn stack_table(&self) -> String {
        let header =
            ["NAMESPACE", "CLUSTERSTACK", "READY", "CLUSTERS READY", "LATEST", "USABLE", "AGE", "STATUS"];
        let rows = self.cluster_stacks.iter().map(|stack| {
            let StackRow { row, latest, usable, .. } = stack;
            [
                row.namespace.clone(),
                row.name.clone(),
                row.ready.to_owned(),
                stack.clusters_ready.to_owned(),
                or_nothing(latest.as_deref()),
                or_nothing(usable.as_deref()),
                age(row.created, self.now),
                stack.status(),
            ]
        });
        table(header, rows)
    }

    fn release_table(&self) -> String {
        let header = ["NAMESPACE", "RELEASE", "READY", "KUBERNETES", "CLUSTERS", "AGE", "STATUS"];
        let rows = self.releases.iter().map(|ReleaseRow { row, kubernetes, clusters, notes }| {
            let status = if notes.is_empty() { row.status() } else { notes.join("; ") };
            [
                row.namespace.clone(),
                row.name.clone(),
                row.ready.to_owned(),
                or_nothing(kubernetes.as_deref()),
                clusters.to_string(),
                age(row.created, self.now),
                status,
            ]
        });
        table(header, rows)
    }

    fn cluster_table(&self) -> String {
        let header = ["NAMESPACE", "CLUSTER", "READY", "RELEASE", "ADDONS", "AGE", "STATUS"];
        let rows = self.clusters.iter().map(|ClusterRow { row, release, addons_ready, addons }| {
            [
                row.namespace.clone(),
                row.name.clone(),
                row.ready.to_owned(),
                or_nothing(release.as_deref()),
                format!("{addons_ready}/{addons}"),
                age(row.created, self.now),
                row.status(),
            ]
        });
        table(header, rows)
    }
}

fn or_nothing(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or(NOTHING).to_owned()
}
