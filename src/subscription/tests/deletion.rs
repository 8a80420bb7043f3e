//! Tests of the decision about a deleted `ClusterStack`.

use serde_json::json;

use super::*;
use crate::api::{ClusterStack, labels};
use crate::names::Key;
use crate::plan::ObjectId;

/// Returns a deleted `ClusterStack` with the operator's finalizer.
fn deleted() -> ClusterStack {
    let mut stack = existing();
    stack.metadata.deletion_timestamp = serde_json::from_value(json!("2026-11-23T02:00:00Z")).unwrap();
    stack
}

fn existing() -> ClusterStack {
    let mut stack = stack("demo", "2026-11-20T10:00:00Z", &["v1"], false);
    stack.metadata.finalizers = Some(vec![labels::FINALIZER.to_owned()]);
    stack
}

fn orphaned() -> ClusterStack {
    let mut stack = deleted();
    stack.metadata.annotations = Some([(labels::ON_DELETE.to_owned(), labels::ORPHAN.to_owned())].into());
    stack
}

fn suspended(mut stack: ClusterStack) -> ClusterStack {
    stack.spec.suspend = true;
    stack
}

fn source_id() -> ObjectId {
    let (api_version, kind) = ("source.toolkit.fluxcd.io/v1".to_owned(), "GitRepository".to_owned());
    ObjectId { api_version, kind, namespace: "stacks".to_owned(), name: "demo".to_owned() }
}

/// One row: the facts about a `ClusterStack`.
struct Row {
    stack: ClusterStack,
    live: Option<ClusterStack>,
    releases: &'static str,
    kept_by_others: &'static str,
    clusters: usize,
    last_used: Option<&'static str>,
    not_orphaned: bool,
    is_committed: bool,
}

impl Default for Row {
    fn default() -> Self {
        let (stack, live) = (deleted(), Some(deleted()));
        let (releases, kept_by_others) = ("", "");
        let (clusters, last_used, not_orphaned, is_committed) = (0, None, false, false);
        Self { stack, live, releases, kept_by_others, clusters, last_used, not_orphaned, is_committed }
    }
}

/// Formats a decision.
fn decided(row: Row) -> String {
    let cluster = row.not_orphaned.then(|| Key::new("tenant", "a"));
    let facts = DeletionFacts {
        stack: &row.stack,
        live: row.live,
        releases: releases(row.releases),
        kept_by_others: releases(row.kept_by_others),
        clusters: (0..row.clusters).map(|number| Key::new("tenant", &format!("c{number}"))).collect(),
        last_used: row.last_used.map(release),
        not_orphaned: cluster.into_iter().collect(),
        committed: row.is_committed.then(source_id).into_iter().collect(),
    };
    match decide_deletion(&facts) {
        Deletion::Finished => "finished".to_owned(),
        Deletion::Unconfirmed => "unconfirmed".to_owned(),
        Deletion::Keep(hold) => format!("keep: {}: {}", hold.reason, hold.message),
        Deletion::OrphanClusters(clusters) => format!("orphan {} clusters", clusters.len()),
        Deletion::DeleteReleases { orphan, left, message } => {
            let left: Vec<String> = left.iter().map(|name| name.version().to_string()).collect();
            format!("releases but [{}], orphan {orphan}: {message}", left.join(" "))
        }
        Deletion::DeleteSource { orphan, committed } => {
            let files: Vec<_> = committed.iter().map(|id| format!(", first the file of {id}")).collect();
            format!("source, orphan {orphan}{}", files.concat())
        }
    }
}

#[test]
fn deleted_stack_waits_for_clusters_and_releases() {
    let row = Row::default;
    let without_finalizer = || {
        let mut stack = deleted();
        stack.metadata.finalizers = None;
        stack
    };
    for (row, expected) in vec![
        (row(), "source, orphan false"),
        (
            Row { is_committed: true, ..row() },
            "source, orphan false, first the file of GitRepository stacks/demo",
        ),
        (Row { stack: orphaned(), is_committed: true, ..row() }, "source, orphan true"),
        (Row { stack: without_finalizer(), ..row() }, "finished"),
        (Row { live: None, ..row() }, "unconfirmed"),
        (Row { live: Some(existing()), ..row() }, "unconfirmed"),
        (
            Row { releases: "v1 v2 v3 v4", ..row() },
            "releases but [], orphan false: being deleted: its releases are deleted first: docker-demo-1-34-v1, \
             docker-demo-1-34-v2, docker-demo-1-34-v3",
        ),
        // Clusters that use it precede all other reasons.
        (
            Row { releases: "v1", clusters: 1, stack: suspended(deleted()), ..row() },
            "keep: InUse: deleted, but 1 Cluster uses its releases (tenant/c0): kept until no Cluster does",
        ),
        (
            Row { releases: "v1", clusters: 2, last_used: Some("v1"), ..row() },
            "keep: InUse: deleted, but 2 Clusters use its releases (tenant/c0, tenant/c1): kept until no Cluster does",
        ),
        (
            Row { releases: "v1", clusters: 7, ..row() },
            "keep: InUse: deleted, but 7 Clusters use its releases (tenant/c0, tenant/c1, tenant/c2, tenant/c3, \
             tenant/c4 and 2 more): kept until no Cluster does",
        ),
        (
            Row { releases: "v1", last_used: Some("v1"), ..row() },
            "keep: InUse: deleted, but a Cluster uses docker-demo-1-34-v1: kept until no Cluster does",
        ),
        (
            Row { stack: suspended(deleted()), ..row() },
            "keep: Suspended: deleted while suspended: unset spec.suspend, or annotate with \
             clusterstack.x-k8s.io/on-delete=Orphan",
        ),
        // Orphaning does not wait for users, and its releases stay until its Clusters are orphaned.
        (Row { stack: suspended(orphaned()), ..row() }, "source, orphan true"),
        (
            Row { stack: orphaned(), releases: "v1", clusters: 1, not_orphaned: true, ..row() },
            "orphan 1 clusters",
        ),
        (
            Row { stack: orphaned(), releases: "v1", clusters: 1, ..row() },
            "releases but [], orphan true: being deleted: its releases are deleted first: docker-demo-1-34-v1",
        ),
        // Another ClusterStack keeps its releases.
        (
            Row { stack: orphaned(), releases: "v1 v2", kept_by_others: "v1", ..row() },
            "releases but [v1], orphan true: being deleted: its releases are deleted first: docker-demo-1-34-v2",
        ),
        (
            Row { releases: "v1", kept_by_others: "v1", ..row() },
            "releases but [v1], orphan false: being deleted: its releases are left to their other owners first: \
             docker-demo-1-34-v1",
        ),
        (
            Row { releases: "v1", kept_by_others: "v1", clusters: 1, ..row() },
            "keep: InUse: deleted, but 1 Cluster uses its releases (tenant/c0): kept until no Cluster does",
        ),
    ] {
        assert_eq!(decided(row), expected);
    }
}

#[test]
fn status_names_blocker_of_deletion() {
    let releases = || {
        let message = "its releases first".to_owned();
        Deletion::DeleteReleases { orphan: false, left: BTreeSet::new(), message }
    };
    let source = || Deletion::DeleteSource { orphan: false, committed: vec![source_id()] };
    let in_git = "being deleted: its GitRepository is removed from the repository of delivery.git first";
    for (deletion, is_removed, expected) in [
        (releases(), true, Some("its releases first")),
        (source(), false, Some(in_git)),
        (source(), true, None),
        (Deletion::OrphanClusters([Key::new("tenant", "a")].into()), true, None),
        (Deletion::Unconfirmed, true, None),
        (Deletion::Finished, true, None),
    ] {
        assert_eq!(deletion.waits_for(is_removed), expected, "{deletion:?}");
    }
}
