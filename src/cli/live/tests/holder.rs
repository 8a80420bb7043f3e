//! Tests of a release that two `ClusterStack`s claim: it is shown at its owner, otherwise at the oldest, as by the operator.

use super::*;

/// Returns the objects with a younger `ClusterStack` of the same line, whose name comes first.
fn with_rival() -> Lists {
    let mut rival = stack();
    rival["metadata"]["name"] = json!("another");
    rival["metadata"]["uid"] = json!("another");
    rival["metadata"]["creationTimestamp"] = json!("2026-11-21T11:00:00Z");
    let mut lists = lists();
    lists.stacks.push(read(rival));
    lists
}

/// Returns the ClusterStacks in the tree that have the release below them.
fn stacks_of_release(snapshot: &Snapshot) -> Vec<String> {
    let (mut stack, mut found) = (String::new(), Vec::new());
    for line in tree_text(&tree::tree(snapshot, None)).lines() {
        if line.starts_with("ClusterStack ") {
            stack = line.split_whitespace().nth(1).unwrap().to_owned();
        } else if line.contains(&format!("ClusterStackRelease stacks/{RELEASE}")) {
            found.push(stack.clone());
        }
    }
    found
}

#[test]
fn tree_shows_a_claimed_release_at_its_holder() {
    for (owner, expected) in
        [(None, "stacks/demo"), (Some("gone"), "stacks/demo"), (Some("another"), "stacks/another")]
    {
        let mut lists = with_rival();
        let reference = |uid| json!([{"apiVersion": "x", "kind": "ClusterStack", "name": uid, "uid": uid}]);
        lists.releases[0].metadata.owner_references = owner.map(|uid| read(reference(uid)));
        let snapshot = Snapshot::new(lists, None, NOW.parse().unwrap());
        assert_eq!(stacks_of_release(&snapshot), [expected], "{owner:?}");
    }
}

#[test]
fn why_names_the_holder_of_a_missing_release() {
    let mut lists = with_rival();
    lists.addons.clear();
    for stack in &mut lists.stacks {
        stack.spec.versions.push("v9".to_owned());
    }
    let snapshot = Snapshot::new(lists, None, NOW.parse().unwrap());
    let (key, member) = snapshot.member("prod", "old").unwrap();
    let why = sentences(&chain::cluster(&snapshot, key, member, None).unwrap());
    assert!(why.contains("ClusterStack stacks/demo"), "{why}");
}
