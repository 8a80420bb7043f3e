//! Tests of the decision about a deleted release.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::*;
use crate::api::{ClusterAddon, ClusterStackRelease, labels};
use crate::foreign::capi::ClassReference;
use crate::foreign::flux::FluxKind;
use crate::names::Key;

/// Returns a deleted release with the operator's finalizer.
fn deleted() -> ClusterStackRelease {
    serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
        "metadata": {
            "name": "docker-demo-1-34-v1", "namespace": "stacks", "uid": "release", "finalizers": [labels::FINALIZER],
            "deletionTimestamp": "2026-11-23T02:00:00Z",
        },
        "spec": {},
    }))
    .unwrap()
}

fn annotated(mut release: ClusterStackRelease, annotation: &str, value: &str) -> ClusterStackRelease {
    release.metadata.annotations = Some([(annotation.to_owned(), value.to_owned())].into());
    release
}

fn existing() -> ClusterStackRelease {
    let mut release = deleted();
    release.metadata.deletion_timestamp = None;
    release
}

fn owner(suspend: bool) -> ClusterStack {
    let mut owner = stack("demo", "2026-11-20T10:00:00Z", &["v1"], false);
    owner.spec.suspend = suspend;
    owner
}

/// One row: the facts about a release.
struct Row {
    release: ClusterStackRelease,
    owner: Option<ClusterStack>,
    is_of_other_shard: bool,
    live: Option<ClusterStackRelease>,
    is_used: bool,
    shared: Option<&'static str>,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            release: deleted(),
            owner: Some(owner(false)),
            is_of_other_shard: false,
            live: Some(deleted()),
            is_used: false,
            shared: None,
        }
    }
}

/// Formats a decision.
fn decided(row: Row) -> String {
    let class = (FluxKind::HelmRelease, Key::new("stacks", "class"));
    let made = Inventory { flux: [class].into(), ..Inventory::default() };
    let facts = TeardownFacts {
        release: &row.release,
        owner: row.owner.as_ref(),
        is_of_other_shard: row.is_of_other_shard,
        live: row.live,
        is_used: row.is_used,
        shared: row.shared.map(str::to_owned),
        made: made.clone(),
    };
    match decide_teardown(&facts) {
        Teardown::Keep(hold) => {
            format!("keep {}", hold.map(|hold| hold.reason.to_string()).unwrap_or_default())
        }
        Teardown::Finished => "finished".to_owned(),
        Teardown::Unconfirmed => "unconfirmed".to_owned(),
        Teardown::Orphan(objects) => format!("orphan {}", objects == made),
        Teardown::Uninstall(objects) => format!("uninstall {}", objects == made),
    }
}

#[test]
fn deleted_release_is_kept_orphaned_or_uninstalled() {
    let row = Row::default;
    let orphaned = || annotated(deleted(), labels::ON_DELETE, labels::ORPHAN);
    let retiring = || annotated(existing(), labels::RETIRING_SINCE, "2026-11-23T01:00:00Z");
    let without_finalizer = || {
        let mut release = deleted();
        release.metadata.finalizers = None;
        release
    };
    let shared = Some("Image cluster with docker-demo-1-34-v2");
    for (row, expected) in vec![
        (row(), "uninstall true"),
        // A release that is not deleted is kept; only a retiring one reports a hold.
        (Row { release: existing(), shared, ..row() }, "keep "),
        (Row { release: retiring(), ..row() }, "keep "),
        (Row { release: retiring(), shared, ..row() }, "keep SharesObjects"),
        // Without its ClusterStack it is uninstalled, unless another operator watches the ClusterStack.
        (Row { owner: None, ..row() }, "uninstall true"),
        (Row { owner: None, is_of_other_shard: true, ..row() }, "keep "),
        (Row { release: without_finalizer(), ..row() }, "finished"),
        // The watch alone does not confirm the deletion.
        (Row { live: None, ..row() }, "unconfirmed"),
        (Row { live: Some(existing()), ..row() }, "unconfirmed"),
        (Row { release: orphaned(), live: None, ..row() }, "unconfirmed"),
        // The users of an orphaned release do not matter.
        (Row { release: orphaned(), ..row() }, "orphan true"),
        (
            Row { release: orphaned(), is_used: true, owner: Some(owner(true)), shared, ..row() },
            "orphan true",
        ),
        (Row { release: annotated(deleted(), labels::ON_DELETE, "Delete"), ..row() }, "uninstall true"),
        // The first reason counts.
        (Row { is_used: true, ..row() }, "keep InUse"),
        (Row { is_used: true, owner: Some(owner(true)), shared, ..row() }, "keep InUse"),
        (Row { owner: Some(owner(true)), shared, ..row() }, "keep Suspended"),
        (Row { shared, ..row() }, "keep SharesObjects"),
    ] {
        let shown = format!(
            "owner {} shard {} live {} used {} shared {:?}: {:?}",
            row.owner.is_some(),
            row.is_of_other_shard,
            row.live.is_some(),
            row.is_used,
            row.shared,
            row.release.metadata
        );
        assert_eq!(decided(row), expected, "{shown}");
    }
}

#[test]
fn deletion_is_confirmed_by_same_object_only() {
    let mut recreated = deleted();
    recreated.metadata.uid = Some("another".to_owned());
    let mut later = deleted();
    later.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    for (live, expected) in
        [(None, false), (Some(existing()), false), (Some(recreated), false), (Some(later), true)]
    {
        assert_eq!(is_deletion_confirmed(&deleted(), live.as_ref()), expected, "{live:?}");
    }
}

#[test]
fn user_of_a_release_has_its_class_or_its_addons() {
    let class = |namespace: &str, name: &str| ClassReference {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let (v1, v1_class) = (release("v1"), release("v1").class_name());
    for (class, expected) in [
        (None, false),
        (Some(class("stacks", &v1_class)), true),
        (Some(class("other", &v1_class)), false),
        (Some(class("stacks", "another")), false),
    ] {
        assert_eq!(has_class(class.as_ref(), "stacks", &v1), expected, "{class:?}");
    }
    let addon = |progress: Value| -> ClusterAddon {
        serde_json::from_value(json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddon", "metadata": {"name": "a"},
            "spec": {"clusterRef": {"name": "a"}}, "status": {"release": progress},
        }))
        .unwrap()
    };
    let (name, other) = (v1.to_string(), release("v2").to_string());
    for (progress, expected) in [
        (json!({"desired": other, "applied": name, "appliedNamespace": "stacks"}), true),
        (json!({"desired": name, "applied": other, "appliedNamespace": "stacks"}), false),
        (json!({"desired": name, "applied": name, "appliedNamespace": "other"}), false),
        // A status of an earlier version.
        (json!({"desired": other, "applied": name}), true),
    ] {
        assert_eq!(has_applied(Some(&addon(progress.clone())), "stacks", &v1), expected, "{progress}");
    }
    assert!(!has_applied(None, "stacks", &v1));
}

#[test]
fn namespace_is_deleted_only_if_stackflux_made_it() {
    for (metadata, expected) in [
        (json!({"name": "n", "labels": {labels::MANAGED_BY: labels::FIELD_MANAGER}}), true),
        (json!({"name": "n", "labels": {labels::MANAGED_BY: "helm"}}), false),
        (json!({"name": "n"}), false),
        (
            json!({
                "name": "n", "labels": {labels::MANAGED_BY: labels::FIELD_MANAGER},
                "deletionTimestamp": "2026-11-23T02:00:00Z",
            }),
            false,
        ),
    ] {
        let namespace = serde_json::from_value(json!({"metadata": metadata})).unwrap();
        assert_eq!(is_own_namespace(&namespace), expected, "{metadata}");
    }
}
