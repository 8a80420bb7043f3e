//! The fleet as tables, one for each kind.

use super::age;
use crate::cli::output::{Layout, NOTHING, object_name, table_in};
use crate::explain::Named;
use crate::explain::fleet::{ClusterRow, Fleet, ReleaseRow, Row, StackRow};

/// Formats one table for each kind.
pub(in crate::cli) fn text(fleet: &Fleet, layout: Layout) -> String {
    let tables = [
        (stacks(fleet, layout), fleet.cluster_stacks.is_empty()),
        (releases(fleet, layout), fleet.releases.is_empty()),
        (clusters(fleet, layout), fleet.clusters.is_empty()),
    ];
    let there = tables.into_iter().filter(|(_, empty)| !empty).map(|(table, _)| table);
    there.collect::<Vec<_>>().join("\n")
}

/// Returns the names of the objects, as every command takes them.
pub(in crate::cli) fn names(fleet: &Fleet) -> Vec<String> {
    let name = |kind: Named, row: &Row| object_name(&kind.to_string(), &row.namespace, &row.name);
    let stacks = fleet.cluster_stacks.iter().map(|of| name(Named::Clusterstack, &of.row));
    let releases = fleet.releases.iter().map(|of| name(Named::Release, &of.row));
    let clusters = fleet.clusters.iter().map(|of| name(Named::Cluster, &of.row));
    stacks.chain(releases).chain(clusters).collect()
}

fn stacks(fleet: &Fleet, layout: Layout) -> String {
    let header =
        ["NAMESPACE", "CLUSTERSTACK", "READY", "CLUSTERS READY", "LATEST", "USABLE", "AGE", "STATUS"];
    let rows = fleet.cluster_stacks.iter().map(|stack| {
        let StackRow { row, latest, usable, .. } = stack;
        [
            row.namespace.clone(),
            row.name.clone(),
            row.ready.to_owned(),
            stack.clusters_ready.to_owned(),
            or_nothing(latest.as_deref()),
            or_nothing(usable.as_deref()),
            age(row.created, fleet.now),
            stack.status(),
        ]
    });
    table_in(layout, header, rows)
}

fn releases(fleet: &Fleet, layout: Layout) -> String {
    let header = ["NAMESPACE", "RELEASE", "READY", "KUBERNETES", "CLUSTERS", "AGE", "STATUS"];
    let rows = fleet.releases.iter().map(|ReleaseRow { row, kubernetes, clusters, notes }| {
        let status = if notes.is_empty() { row.status() } else { notes.join("; ") };
        [
            row.namespace.clone(),
            row.name.clone(),
            row.ready.to_owned(),
            or_nothing(kubernetes.as_deref()),
            clusters.to_string(),
            age(row.created, fleet.now),
            status,
        ]
    });
    table_in(layout, header, rows)
}

fn clusters(fleet: &Fleet, layout: Layout) -> String {
    let header = ["NAMESPACE", "CLUSTER", "READY", "RELEASE", "ADDONS", "AGE", "STATUS"];
    let rows = fleet.clusters.iter().map(|ClusterRow { row, release, addons_ready, addons }| {
        [
            row.namespace.clone(),
            row.name.clone(),
            row.ready.to_owned(),
            or_nothing(release.as_deref()),
            format!("{addons_ready}/{addons}"),
            age(row.created, fleet.now),
            row.status(),
        ]
    });
    table_in(layout, header, rows)
}

fn or_nothing(text: Option<&str>) -> String {
    text.filter(|text| !text.is_empty()).unwrap_or(NOTHING).to_owned()
}
