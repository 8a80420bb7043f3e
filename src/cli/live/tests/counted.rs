//! Tests of what the rows of `status` count, and of a selection of Clusters.

use super::*;

#[test]
fn status_counts_the_addons_of_the_release_only() {
    let mut lists = lists();
    let dropped =
        json!({"name": "old", "phase": "Held", "reason": "PruneBudgetExceeded", "message": "waits"});
    lists.addons[0].status.as_mut().unwrap().addons.push(read(dropped));
    let status = table(&fleet::fleet(&Snapshot::new(lists, None, NOW.parse().unwrap())));
    let row = status.lines().find(|line| line.contains("prod        one")).unwrap();
    assert!(row.contains(" 1/1 "), "{row}");
}

#[test]
fn status_describes_a_ready_release() {
    let mut lists = lists();
    let release = &mut lists.releases[0];
    release.metadata.deletion_timestamp = Some(read(json!(NOW)));
    let conditions = &mut release.status.as_mut().unwrap().conditions;
    conditions.retain(|condition| condition.type_ != "InUse");
    conditions.push(read(condition("InUse", "True", "InUse", "deleted, but 2 Clusters use it")));
    let summary = &mut lists.stacks[0].status.as_mut().unwrap().summary;
    summary.push(read(json!({
        "name": RELEASE, "ready": true, "phase": "done", "message": "the stack repository has another content",
    })));
    let snapshot = Snapshot::new(lists, None, NOW.parse().unwrap());
    let status = table(&fleet::fleet(&snapshot));
    let expected = "deleted, but 2 Clusters use it; the stack repository has another content";
    assert!(status.contains(expected), "{status}");
}

/// Returns the objects with only the Clusters of these names, as a selector matches them.
fn selected(names: &[&str]) -> Snapshot {
    let mut lists = lists();
    lists.clusters.retain(|cluster| names.iter().any(|name| cluster["metadata"]["name"] == *name));
    Snapshot::new(Lists { selected: true, ..lists }, None, NOW.parse().unwrap())
}

/// Returns the row of the release.
fn release_row(snapshot: &Snapshot) -> String {
    let text = table(&fleet::fleet(snapshot));
    let begin = format!("stacks      {RELEASE} ");
    text.lines().find(|line| line.starts_with(&begin)).unwrap().to_owned()
}

#[test]
fn selector_without_a_match_is_not_ready() {
    let none = selected(&[]);
    assert_eq!(none.nothing_selected().unwrap(), "no Cluster has the labels of --selector");
    let one = selected(&["one"]);
    assert_eq!(one.nothing_selected(), None);
    assert!(fleet::fleet(&one).all_ready(), "{}", table(&fleet::fleet(&one)));
    let unclaimed = selected(&["plain"]);
    assert_eq!(unclaimed.nothing_selected(), None);
    assert!(!fleet::fleet(&unclaimed).all_ready(), "it has no row");
}

#[test]
fn release_row_counts_the_rows_of_clusters() {
    let row = release_row(&selected(&["one"]));
    assert!(row.contains(" 1          2h    3 Clusters use it"), "{row}");
    let row = release_row(&selected(&[]));
    assert!(row.contains(" 0          2h    3 Clusters use it"), "{row}");
    // Without its ClusterStack, a Cluster without a ClusterAddon has no row.
    let lists = Lists { stacks: Vec::new(), ..lists() };
    let orphaned = Snapshot::new(lists, None, NOW.parse().unwrap());
    assert!(release_row(&orphaned).contains(" 2          2h "), "{}", release_row(&orphaned));
}
