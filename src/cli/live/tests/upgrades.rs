//! Tests of how the views show an upgrade to another Kubernetes version.

use super::*;
use crate::explain::tree::Only;

/// Returns a snapshot in which the upgrade of cluster `two` waits for this reason.
fn snapshot_of(gate: &[&str; 3], addons: &Value) -> Snapshot {
    let mut lists = lists();
    let mut two = addon("prod", "two", "Applied", "Applied", "");
    let conditions = [
        ("ClusterAvailable", "True", "Available", "the control plane is initialized"),
        ("ReleaseReady", "True", "Usable", "Clusters can use it."),
        ("ValuesRendered", "True", "Rendered", ""),
        ("Delivered", "Unknown", "WaitingForUpgrade", "ccm: stays as it is"),
        ("AddonsReady", "False", "UpgradeFailed", "cni: timed out"),
        ("UpgradeGate", gate[0], gate[1], gate[2]),
        ("Ready", "False", "UpgradeFailed", "AddonsReady: cni: timed out"),
    ];
    let conditions =
        conditions.iter().map(|(kind, status, reason, message)| condition(kind, status, reason, message));
    two["status"]["conditions"] = conditions.collect();
    two["status"]["addons"] = addons.clone();
    two["status"]["upgrade"] =
        json!({"from": "v1.34.0", "to": "v1.35.0", "phase": "Waiting", "since": "2026-11-21T09:30:00Z"});
    lists.addons[1] = read(two);
    Snapshot::new(lists, None, NOW.parse().unwrap())
}

fn failing() -> Value {
    json!([{"name": "cni", "phase": "Failed", "reason": "UpgradeFailed", "message": "timed out"}])
}

fn why_two(snapshot: &Snapshot) -> String {
    let (key, member) = snapshot.member("prod", "two").unwrap();
    sentences(&chain::cluster(snapshot, key, member, None).unwrap())
}

#[test]
fn waiting_upgrade_is_between_release_and_addons() {
    let waits = ["False", "WaitingForAddons", "cni: timed out; the upgrade waits"];
    let snapshot = snapshot_of(&waits, &failing());
    let text = why_two(&snapshot);
    let lines: Vec<&str> = text.lines().collect();
    let gate = lines.iter().position(|line| line.contains("UpgradeGate v1.34.0 to v1.35.0")).unwrap();
    assert!(lines[gate - 1].contains("ReleaseReady") && lines[gate + 1].contains("ValuesRendered"), "{text}");
    assert!(lines[0].contains("addon cni: timed out"), "{text}");

    let only = Only { kind: Named::Cluster, name: "two".to_owned() };
    let tree = tree_text(&tree::tree(&snapshot, Some(&only)));
    let gate = tree.lines().find(|line| line.contains("UpgradeGate v1.34.0 to v1.35.0")).unwrap();
    assert!(gate.contains("False") && gate.contains("WaitingForAddons"), "{tree}");
}

#[test]
fn upgrade_that_waits_for_cluster_api_has_its_own_advice() {
    let waits = ["False", "WaitingForClusterAPI", "Cluster API says: one is not healthy"];
    let text = why_two(&snapshot_of(&waits, &json!([])));
    assert!(text.lines().nth(1).unwrap().contains("(stackflux explain WaitingForClusterAPI)"), "{text}");
}
