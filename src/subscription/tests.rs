//! Tests of the roles and claims of releases, and of the budget.

mod builtin;
mod deletion;
mod delivery;
mod inventory;
mod outdated;
mod release_delivery;
mod releases;
mod requests;
mod retirement;
mod sources;
mod stack;
mod teardown;

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::api::cluster_stack::Pruned;
use crate::api::{ClusterStack, ClusterStackRelease, ClusterStackSpec, labels};
use crate::names::ReleaseName;

fn stack(name: &str, created: &str, versions: &[&str], auto_subscribe: bool) -> ClusterStack {
    serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
        "metadata": {"name": name, "namespace": "stacks", "uid": name, "creationTimestamp": created},
        "spec": {
            "provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "noProvider": true,
            "versions": versions, "autoSubscribe": auto_subscribe,
        },
    }))
    .unwrap()
}

fn spec(versions: &[&str], auto_subscribe: bool, limit: u32) -> ClusterStackSpec {
    let spec = stack("demo", "2026-11-20T10:00:00Z", versions, auto_subscribe).spec;
    ClusterStackSpec { revision_history_limit: limit, ..spec }
}

fn release(version: &str) -> ReleaseName {
    format!("docker-demo-1-34-{version}").parse().unwrap()
}

fn releases(versions: &str) -> BTreeSet<ReleaseName> {
    versions.split_whitespace().map(release).collect()
}

/// Formats the roles: `v1=Used`.
fn roles_of(spec: &ClusterStackSpec, available: Option<&str>, owned: &str, used: &str) -> String {
    let (available, owned, used) = (available.map(releases), releases(owned), releases(used));
    let facts = Facts { spec, available: available.as_ref(), owned: &owned, used: &used };
    let roles = roles(&facts);
    roles.iter().map(|(name, role)| format!("{}={role:?}", name.version())).collect::<Vec<_>>().join(" ")
}

#[test]
fn roles_follow_offer_use_and_history() {
    let rows = vec![
        (spec(&["v1"], false, 2), Some("v1 v2"), "", "", "v1=Offered"),
        (spec(&["v1", "v9"], false, 2), Some("v1"), "v1", "", "v1=Offered v9=Offered"),
        (spec(&[], false, 2), Some("v1 v2"), "", "", ""),
        // The latest is offered without being listed, and the previous one is kept.
        (spec(&[], true, 2), Some("v1 v2 v10"), "v2", "", "v2=Kept v10=Offered"),
        (spec(&["v1"], true, 0), Some("v1 v2"), "v1", "v1", "v1=Offered v2=Offered"),
        // A release that Clusters use stays, whether or not it is offered or known.
        (spec(&["v2"], false, 0), Some("v1 v2"), "v1 v2", "v1", "v1=Used v2=Offered"),
        (spec(&[], false, 0), Some("v1"), "", "v1", "v1=Used"),
        // Beyond the limit the lowest retire.
        (spec(&[], false, 1), Some("v1 v2 v3"), "v1 v2 v3", "", "v1=Retiring v2=Retiring v3=Kept"),
        (spec(&["v3"], false, 1), Some("v3"), "v1 v2 v3", "", "v1=Retiring v2=Kept v3=Offered"),
        (spec(&[], false, 0), Some(""), "v1", "", "v1=Retiring"),
        // Before the repository was read, no release of a subscribing ClusterStack retires.
        (spec(&[], true, 0), None, "v1 v2", "", "v1=Kept v2=Kept"),
        (spec(&["v2"], false, 0), None, "v1 v2", "", "v1=Retiring v2=Offered"),
    ];
    for (spec, available, owned, used, expected) in rows {
        assert_eq!(roles_of(&spec, available, owned, used), expected, "{available:?} {owned} {used}");
    }
}

#[test]
fn releases_of_other_stacks_are_none_of_ours() {
    let spec = spec(&["v1"], true, 2);
    let others =
        ["docker-demo-1-35-v9", "docker-other-1-34-v9", "docker-demo-1-34-v9-beta-1", "aws-demo-1-34-v9"];
    let others: BTreeSet<ReleaseName> = others.iter().map(|name| name.parse().unwrap()).collect();
    assert_eq!(latest(&spec, &others), None);
    assert_eq!(offered(&spec, Some(&others)), releases("v1"));
    let owned = BTreeSet::new();
    let facts = Facts { spec: &spec, available: Some(&others), owned: &owned, used: &others };
    assert_eq!(roles(&facts).into_keys().collect::<BTreeSet<_>>(), releases("v1"));
}

#[test]
fn clusters_elsewhere_keep_a_release_and_bring_none() {
    for (users, is_there, expected) in [
        (&[][..], true, false),
        (&["stacks"], false, true),
        (&["tenant"], false, false),
        (&["tenant"], true, true),
        (&["tenant", "stacks"], false, true),
    ] {
        assert_eq!(is_used("stacks", users.iter().copied(), is_there), expected, "{users:?} {is_there}");
    }
}

#[test]
fn versions_with_a_channel_are_written_with_a_dot() {
    let beta = ClusterStackSpec { channel: "beta".to_owned(), ..spec(&["v0-beta.2"], false, 2) };
    assert_eq!(offered(&beta, None), releases("v0-beta-2"));
}

#[test]
fn custom_channel_offers_only_listed_versions() {
    let custom = |versions: &[&str], auto_subscribe, limit| ClusterStackSpec {
        channel: "custom".to_owned(),
        ..spec(versions, auto_subscribe, limit)
    };
    let listed = custom(&["v0-sha.rwvgrna", "v0-beta.2"], true, 2);
    let available = releases("v0-sha-rwvgrna v0-sha-zzz v0-beta-9 v7");
    assert_eq!(offered(&listed, Some(&available)), releases("v0-sha-rwvgrna v0-beta-2"));
    assert_eq!(latest(&listed, &available), None);
    assert!(!subscribes(&listed) && ignored(&listed).is_some());
    assert_eq!(ignored(&custom(&[], false, 2)), None);
    assert_eq!(ignored(&spec(&[], true, 2)), None);
    // Used releases with any suffix belong to it, and an unread list offers nothing by itself.
    let roles_of = |spec: &ClusterStackSpec, available, owned, used| roles_of(spec, available, owned, used);
    assert_eq!(roles_of(&custom(&[], true, 0), Some(""), "", "v1 v0-git-a"), "v0-git-a=Used");
    assert_eq!(roles_of(&custom(&[], true, 0), None, "v0-sha-a", ""), "v0-sha-a=Retiring");
}

#[test]
fn release_claimed_by_two_stacks_has_one_owner() {
    let (early, late) = ("2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z");
    let a = |created, versions: &[&str]| stack("a", created, versions, false);
    let b = |created, versions: &[&str]| stack("b", created, versions, false);
    let subscribed = stack("b", early, &[], true);
    let ours = |who: &str| Claim::Disputed(who.to_owned());
    let theirs = |who: &str| Claim::Theirs(who.to_owned());
    for (us, other, is_used, owner, expected) in vec![
        (a(early, &["v1"]), b(late, &["v2"]), false, None, Claim::Ours),
        (a(early, &["v1"]), b(late, &["v1"]), false, None, ours("b")),
        (a(late, &["v1"]), b(early, &["v1"]), false, None, theirs("b")),
        (a(early, &["v1"]), b(early, &["v1"]), false, None, ours("b")),
        // The owner keeps the release, whether or not it is younger or lists it.
        (a(late, &["v1"]), b(early, &["v1"]), false, Some("a"), ours("b")),
        (a(early, &["v1"]), b(late, &[]), false, Some("b"), theirs("b")),
        (a(early, &["v1"]), b(late, &[]), false, Some("a"), Claim::Ours),
        // An owner that does not exist has no claim.
        (a(early, &["v1"]), b(late, &["v1"]), false, Some("gone"), ours("b")),
        // Both claim a release that a Cluster uses, and so does a subscription.
        (a(late, &["v1"]), b(early, &[]), true, None, theirs("b")),
        (a(late, &["v1"]), subscribed, false, None, theirs("b")),
    ] {
        let claim = claim(Claimant(&us), &[Claimant(&other)], &release("v1"), is_used, owner);
        assert_eq!(claim, expected, "{us:?} {other:?}");
    }
}

#[test]
fn release_is_orphaned_if_no_other_owner_keeps_it() {
    let deleted = |name: &str, orphan: bool| {
        let mut stack = stack(name, "2026-11-20T10:00:00Z", &["v1"], false);
        stack.metadata.deletion_timestamp = serde_json::from_value(json!("2026-11-23T02:00:00Z")).unwrap();
        let annotation = (labels::ON_DELETE.to_owned(), labels::ORPHAN.to_owned());
        stack.metadata.annotations = orphan.then(|| [annotation].into());
        stack
    };
    let living = |name: &str| stack(name, "2026-11-20T10:00:00Z", &["v1"], false);
    let annotated = |name: &str| {
        let annotations = deleted(name, true).metadata.annotations;
        let mut stack = living(name);
        stack.metadata.annotations = annotations;
        stack
    };
    let recreated = |name: &str| {
        let mut stack = living(name);
        stack.metadata.uid = Some("another".to_owned());
        stack
    };
    // The release names `a` and `b` as its owners, and the stacks are those that exist.
    for (what, stacks, kept_by, orphaned_by) in [
        ("none exists", vec![], None, None),
        ("one lives", vec![living("a")], Some("a"), None),
        ("one is deleted, and does not orphan", vec![deleted("a", false)], Some("a"), None),
        ("one is annotated, and not deleted", vec![annotated("a")], Some("a"), None),
        ("one orphans", vec![deleted("a", true)], None, Some("a")),
        ("the other one lives", vec![deleted("a", true), living("b")], Some("b"), None),
        ("the other one is deleted", vec![deleted("a", true), deleted("b", false)], Some("b"), None),
        ("both orphan", vec![deleted("a", true), deleted("b", true)], None, Some("a")),
        ("the other one is no owner", vec![deleted("a", true), living("c")], None, Some("a")),
        ("another one has its name", vec![deleted("a", true), recreated("b")], None, Some("a")),
    ] {
        let owner = |name| json!({"apiVersion": "x", "kind": "ClusterStack", "name": name, "uid": name});
        let release: ClusterStackRelease = serde_json::from_value(json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
            "metadata": {"name": "r", "ownerReferences": [owner("a"), owner("b")]}, "spec": {},
        }))
        .unwrap();
        let name = |stack: Option<&ClusterStack>| stack.and_then(|stack| stack.metadata.name.clone());
        assert_eq!(name(keeper(&release, &stacks)).as_deref(), kept_by, "{what}");
        assert_eq!(name(orphaning_stack(&release, &stacks)).as_deref(), orphaned_by, "{what}");
    }
}

#[test]
fn release_has_one_holder() {
    let (early, late) = ("2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z");
    let (older, younger) = (stack("a", early, &["v1"], false), stack("b", late, &["v99"], false));
    let other_channel = ClusterStack {
        spec: ClusterStackSpec { channel: "beta".to_owned(), ..older.spec.clone() },
        ..stack("c", "2026-11-20T09:00:00Z", &[], false)
    };
    for (stacks, owner, expected) in [
        (vec![&younger, &older, &other_channel], None, Some("a")),
        (vec![&older, &younger], Some("b"), Some("b")),
        (vec![&older, &younger], Some("gone"), Some("a")),
        (vec![&younger], None, Some("b")),
        (vec![&other_channel], None, None),
    ] {
        let held = holder(stacks.into_iter().map(Claimant), &release("v99"), owner);
        assert_eq!(held.and_then(|stack| stack.metadata.name.as_deref()), expected, "{owner:?}");
    }
}

#[test]
fn budget_is_a_tenth_per_hour_and_at_least_one() {
    let time = |text: &str| -> Timestamp { text.parse().unwrap() };
    let at = time("2026-11-20T10:00:00Z");
    let pruned = |since: &str, count| Pruned {
        since: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(time(since)),
        count,
    };
    for (pruned, total, expected) in [
        (None, 0, 1),
        (None, 1, 1),
        (None, 19, 1),
        (None, 20, 2),
        (Some(pruned("2026-11-20T09:59:00Z", 1)), 5, 0),
        (Some(pruned("2026-11-20T09:00:01Z", 3)), 50, 2),
        (Some(pruned("2026-11-20T09:00:00Z", 3)), 5, 1),
    ] {
        assert_eq!(left(pruned.as_ref(), total, at), expected, "{pruned:?} {total}");
    }
    let first = spent(None, at);
    assert_eq!((first.since.0, first.count), (at, 1));
    let second = spent(Some(&first), time("2026-11-20T10:30:00Z"));
    assert_eq!((second.since.0, second.count), (at, 2));
    assert_eq!(spent(Some(&second), time("2026-11-20T11:00:00Z")).count, 1);
    assert_ne!(deletions(releases("v1")), deletions(releases("v1 v2")));
}

#[test]
fn several_spend_one_budget() {
    let time = |text: &str| -> Timestamp { text.parse().unwrap() };
    let pruned = |since: &str, count| Pruned {
        since: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(time(since)),
        count,
    };
    let now = time("2026-11-20T10:00:00Z");
    let spent = [
        pruned("2026-11-20T08:30:00Z", 9),
        pruned("2026-11-20T09:20:00Z", 2),
        pruned("2026-11-20T09:10:00Z", 1),
    ];
    assert_eq!(left(&spent, 40, now), 1);
    assert_eq!(left(&spent, 30, now), 0);
    assert_eq!(refilled(&spent, now), Some(time("2026-11-20T10:10:00Z")));
    assert_eq!(refilled(&[], now), None);
}

#[test]
fn budget_message_has_size_and_next_time() {
    let time = |text: &str| -> Timestamp { text.parse().unwrap() };
    let now = time("2026-11-20T10:00:00Z");
    let since = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(time("2026-11-20T09:20:00.5Z"));
    let pruned = [Pruned { since, count: 2 }];
    let text = in_words(&pruned, (24, "releases"), now);
    assert_eq!(text, "2 of 24 releases may be deleted per hour, the next at 2026-11-20T10:20:00Z");
    assert_eq!(in_words(&[], (3, "releases"), now), "1 of 3 releases may be deleted per hour");
}

#[test]
fn reservation_counts_until_it_is_in_a_status() {
    let pruned = |since: &str, count| Pruned {
        since: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(since.parse().unwrap()),
        count,
    };
    let (early, late) = ("2026-11-20T09:00:00Z", "2026-11-20T10:30:00Z");
    for (status, reserved, expected) in [
        (None, None, None),
        (Some(pruned(early, 2)), None, Some(2)),
        (None, Some(pruned(early, 1)), Some(1)),
        (Some(pruned(early, 1)), Some(pruned(early, 2)), Some(2)),
        (Some(pruned(early, 3)), Some(pruned(early, 2)), Some(3)),
        // Another hour has begun.
        (Some(pruned(early, 3)), Some(pruned(late, 1)), Some(1)),
    ] {
        let found = known(status.as_ref(), reserved.as_ref()).map(|pruned| pruned.count);
        assert_eq!(found, expected, "{status:?} {reserved:?}");
    }
}

#[test]
fn annotation_allows_named_deletions() {
    for (annotation, expected) in
        [(None, false), (Some(""), false), (Some("ab"), true), (Some("abc"), false), (Some("cd, ab"), true)]
    {
        assert_eq!(allows(annotation, "ab"), expected, "{annotation:?}");
    }
}
