//! Tests of a Cluster that is being deleted when the operator has not reported this yet.

use super::*;

#[test]
fn deleting_cluster_overrides_ready_addon() {
    let mut lists = lists();
    lists.clusters[0]["metadata"]["deletionTimestamp"] = json!("2026-11-21T11:58:00Z");
    lists.flux.retain(|(kind, _)| *kind != FluxKind::HelmRelease);
    lists.flux.push((FluxKind::HelmRelease, Some(vec![])));
    let snapshot = Snapshot::new(lists, None, NOW.parse().unwrap());
    let expected = "the Cluster is being deleted since 2026-11-21T11:58:00Z";

    let only = tree::Only { kind: Named::Cluster, name: "one".to_owned() };
    let nodes = tree::tree(&snapshot, Some(&only));
    let text = tree_text(&nodes);
    let of_cluster = |line: &&str| line.contains("Cluster prod/one") || line.contains("Addon cni");
    assert_eq!(text.lines().filter(of_cluster).count(), 2, "{text}");
    for line in text.lines().filter(of_cluster) {
        assert!(line.contains("False") && line.contains("Deleting") && line.contains(expected), "{text}");
    }
    assert!(!tree::all_ready(&nodes));

    let overview = fleet::fleet(&snapshot);
    let table = table(&overview);
    let row = table.lines().find(|line| line.contains(" one ")).unwrap();
    assert!(row.contains("False") && row.contains("0/1") && row.contains(expected), "{table}");

    let (key, member) = snapshot.member("prod", "one").unwrap();
    let chain = chain::cluster(&snapshot, key, member, None).unwrap();
    assert!(!chain.ready);
    let text = sentences(&chain);
    assert!(text.contains(expected) && text.contains("(stackflux explain Deleting)"), "{text}");
    assert!(!text.contains("is true"), "what was said before is not repeated: {text}");
}
