use serde_json::{Value, json};

use super::*;
use crate::api::labels::PLAN_DIGEST;
use crate::plan::{ObjectId, Step};

const NOW: &str = "2026-11-23T02:00:00Z";

fn planned(kind: &str) -> PlannedObject {
    let id = ObjectId {
        api_version: String::new(),
        kind: kind.to_owned(),
        namespace: "n".to_owned(),
        name: "o".to_owned(),
    };
    let value = json!({"metadata": {"annotations": {PLAN_DIGEST: "sha256:1"}}});
    PlannedObject { step: Step::Addons, id, value }
}

fn owner(uid: &str) -> OwnerReference {
    OwnerReference { uid: uid.to_owned(), ..OwnerReference::default() }
}

/// An object of the API server with the digest of a plan and these owners.
fn object(kind: &str, digest: &str, owners: &[&str], changes: &Value) -> FluxObject {
    let owner = |uid: &&str| json!({"apiVersion": "x/v1", "kind": "Owner", "name": uid, "uid": uid});
    let owners: Vec<Value> = owners.iter().map(owner).collect();
    let mut metadata = json!({
        "name": "o", "namespace": "n", "uid": "u", "resourceVersion": "7", "annotations": {PLAN_DIGEST: digest},
        "ownerReferences": owners,
    });
    metadata.as_object_mut().unwrap().extend(changes.as_object().cloned().unwrap());
    serde_json::from_value(json!({"kind": kind, "metadata": metadata, "spec": {"interval": "1h"}})).unwrap()
}

/// Formats a write: what it is, the precondition, the owners, and what it is counted as.
fn in_short(write: &Write) -> String {
    match write {
        Write::Later(wait) => format!("later, {} repairs, {:?}", wait.count, wait.manager),
        Write::Apply(apply) => {
            let owners: Vec<&str> = apply.owners.iter().map(|owner| owner.uid.as_str()).collect();
            let repair = if apply.is_repair { ", repair" } else { "" };
            let manager = apply.manager.as_ref().map(|manager| format!(", {manager}")).unwrap_or_default();
            format!("{:?} [{}]{repair}{manager}", apply.over, owners.join(" "))
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn write_has_the_state_that_it_depends_on() {
    let helm =
        |digest: &str, owners: &[&str], changes: Value| object("HelmRelease", digest, owners, &changes);
    let as_planned = helm("sha256:1", &["addon", "namespace"], json!({}));
    let expected = as_planned.spec_digest.clone();
    let earlier = helm("sha256:0", &["addon", "namespace"], json!({}));
    let without_owner = helm("sha256:1", &["namespace"], json!({}));
    let terminating = helm("sha256:1", &["addon"], json!({"deletionTimestamp": NOW}));
    let of_another = helm("sha256:1", &[], json!({"annotations": null}));
    let (addon, namespace) = ([owner("addon")], owner("namespace"));
    let other = SpecDigest::kept("another");
    let facts = WriteFacts {
        found: None,
        expected: Some(&expected),
        owners: &addon,
        namespace: Some(&namespace),
        is_shared: false,
        repairs: &RepairState::NONE,
    };
    let same = r#"Same("u") [addon namespace]"#;
    for (facts, wanted, why) in [
        (facts, "Absent [addon namespace]".to_owned(), "absent"),
        (WriteFacts { found: Some(&as_planned), ..facts }, "Nothing".to_owned(), "as planned"),
        (WriteFacts { found: Some(&earlier), ..facts }, same.to_owned(), "an earlier plan"),
        (
            WriteFacts { found: Some(&without_owner), ..facts },
            format!("{same}, repair"),
            "its owner was removed",
        ),
        (
            WriteFacts { found: Some(&as_planned), expected: Some(&other), ..facts },
            format!("{same}, repair, another field manager"),
            "another spec than written",
        ),
        (
            WriteFacts { found: Some(&as_planned), expected: None, ..facts },
            same.to_owned(),
            "the last write is unknown",
        ),
        (
            WriteFacts { found: Some(&earlier), namespace: None, ..facts },
            r#"Same("u") [addon]"#.to_owned(),
            "the Namespace is unknown",
        ),
        (WriteFacts { found: Some(&terminating), ..facts }, "AfterDeletion".to_owned(), "being deleted"),
        (WriteFacts { found: Some(&of_another), ..facts }, "Taken".to_owned(), "of another client"),
    ] {
        assert_eq!(in_short(&write(&planned("HelmRelease"), facts)), wanted, "{why}");
    }
}

#[test]
fn shared_source_is_written_over_the_state_with_all_its_owners() {
    let source = object("GitRepository", "sha256:1", &["r1"], &json!({}));
    let owners = [owner("r2"), owner("r1")];
    let facts = WriteFacts {
        found: Some(&source),
        expected: Some(&source.spec_digest),
        owners: &owners,
        namespace: Some(&owner("namespace")),
        is_shared: true,
        repairs: &RepairState::NONE,
    };
    let planned = planned("GitRepository");
    assert_eq!(in_short(&write(&planned, facts)), r#"Unchanged("7") [r2 r1]"#, "another release adds itself");
    let ours = [owner("r1")];
    assert_eq!(write(&planned, WriteFacts { owners: &ours, ..facts }), Write::Nothing);
    let none = WriteFacts { owners: &[], expected: None, ..facts };
    assert_eq!(in_short(&write(&planned, none)), r#"Same("u") []"#, "in the namespace of Clusters");
    assert_eq!(in_short(&write(&planned, WriteFacts { found: None, ..facts })), "Absent [r2 r1]");
}

#[test]
fn repair_waits_and_other_content_does_not() {
    let until: Timestamp = NOW.parse().unwrap();
    let repairs = RepairState { digest: Some("sha256:1".to_owned()), next: Some((3, until)) };
    let of = |digest: &str| object("HelmRelease", digest, &["addon"], &json!({}));
    let (changed, earlier) = (of("sha256:1"), of("sha256:0"));
    let (addon, other) = ([owner("addon")], SpecDigest::kept("another"));
    let decided = |found: Option<&FluxObject>, repairs: &RepairState| {
        let expected = Some(&other);
        let facts =
            WriteFacts { found, expected, owners: &addon, namespace: None, is_shared: false, repairs };
        in_short(&write(&planned("HelmRelease"), facts))
    };
    assert_eq!(decided(Some(&changed), &repairs), "later, 3 repairs, None");
    assert_eq!(decided(None, &repairs), "later, 3 repairs, None", "deleted again");
    let next = RepairState { digest: Some("sha256:0".to_owned()), ..repairs };
    assert_eq!(decided(Some(&earlier), &next), r#"Same("u") [addon]"#, "the next plan");
    assert_eq!(decided(None, &next), "Absent [addon]", "the next plan");
}
