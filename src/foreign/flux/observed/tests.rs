use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::api::labels::REQUESTED_AT;

fn read(mut object: Value) -> FluxObject {
    object["kind"] = json!("HelmRelease");
    serde_json::from_value(object).unwrap()
}

fn status(object: &FluxObject) -> &HelmReleaseStatus {
    let KindStatus::HelmRelease(status) = &object.status else { panic!("{:?}", object.status) };
    status
}

#[test]
fn helm_release_status_is_read() {
    let object = json!({
        "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
        "metadata": {"name": "a", "generation": 3, "deletionTimestamp": "2026-11-20T10:00:00Z", "labels": {"a": "b"},
            "annotations": {REQUESTED_AT: "now", "other": "x"}},
        "spec": {"suspend": true, "values": {"a": 1}},
        "status": {"observedGeneration": 2, "lastAttemptedGeneration": 3, "lastHandledReconcileAt": "before", "failures": 4,
            "history": [{"status": "deployed", "chartVersion": "1.0.0", "digest": "sha256:0"}],
            "conditions": [{"type": "Ready", "status": "Maybe", "reason": "R", "message": "m", "observedGeneration": 3}],
            "inventory": {"entries": []}},
    });
    let release = read(object);
    assert_eq!(release.metadata.generation, 3);
    assert!(release.metadata.terminating && release.suspended && !release.is_observed());
    assert_eq!(release.metadata.requested_at.as_deref(), Some("now"));
    assert_eq!(release.last_handled_reconcile_at.as_deref(), Some("before"));
    assert_eq!((status(&release).last_attempted_generation, status(&release).failures), (Some(3), 4));
    assert_eq!(status(&release).history[0].chart_version, "1.0.0");
    assert_eq!(release.current("Ready").map(|ready| ready.status), Some(Status::Unknown));
}

#[test]
fn inventory_is_kept_of_a_class_and_not_of_an_addon() {
    let object = |labels: Value| {
        read(json!({
            "metadata": {"name": "a", "labels": labels}, "spec": {},
            "status": {"inventory": {"entries": [{"id": "demo_b__ConfigMap", "v": "v1"}, {"id": "demo_a__ConfigMap"}]}},
        }))
    };
    let ids = |release: &FluxObject| -> Vec<String> {
        status(release).inventory.entries.iter().map(|entry| entry.id.clone()).collect()
    };
    let class = json!({crate::api::labels::RELEASE: "docker-demo-1-34-v1"});
    assert_eq!(ids(&object(class)), ["demo_a__ConfigMap", "demo_b__ConfigMap"]);
    assert!(ids(&object(json!({crate::api::labels::ADDON: "cni"}))).is_empty());
}

#[test]
fn artifact_is_read() {
    let object = json!({"kind": "GitRepository", "status": {"artifact": {"revision": "main@sha1:0", "digest": "sha256:1", "url": "http://a/b.tar.gz", "size": 5}}});
    let source: FluxObject = serde_json::from_value(object).unwrap();
    let artifact = Artifact {
        revision: "main@sha1:0".to_owned(),
        digest: "sha256:1".to_owned(),
        url: "http://a/b.tar.gz".to_owned(),
        size: Some(5),
    };
    assert_eq!(source.status.artifact(), Some(&artifact));
}

#[test]
fn absent_null_and_empty_are_the_same() {
    let nothing = read(json!({"spec": null}));
    assert_eq!(nothing.observed_generation, -1);
    for object in [
        json!({}),
        json!({"metadata": null, "status": null}),
        json!({"metadata": {}, "status": {}}),
        json!({"metadata": {"annotations": null, "managedFields": null, "generation": null, "deletionTimestamp": null},
            "status": {"conditions": null, "history": null, "observedGeneration": null, "failures": null}}),
    ] {
        assert_eq!(read(object), nothing);
    }
}

#[test]
fn spec_digest_ignores_suspend() {
    let digest = |spec| SpecDigest::of(spec);
    let spec = json!({"interval": "1m", "values": {"b": [1, {"y": 1, "x": null}], "a": "1"}});
    assert_eq!(
        digest(spec.clone()),
        digest(
            json!({"suspend": true, "values": {"a": "1", "b": [1, {"x": null, "y": 1}]}, "interval": "1m"})
        )
    );
    for other in [
        json!({"interval": "1m", "values": {"b": [{"y": 1, "x": null}, 1], "a": "1"}}),
        json!({"interval": "1m", "values": {"b": [1, {"y": 1, "x": null}], "a": 1}}),
        json!({"interval": "1m", "values": {"b": [1, {"y": 1}], "a": "1"}}),
        json!({"interval": "1m", "values": {"b": [1, {"y": 1, "x": null}], "a": "1", "suspend": true}}),
        Value::Null,
    ] {
        assert_ne!(digest(spec.clone()), digest(other));
    }
    assert_eq!(
        digest(json!({})).to_string(),
        "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    );
}

#[test]
fn condition_of_old_generation_is_not_current() {
    let release = |generation: Value| {
        read(json!({"metadata": {"generation": 3}, "status": {"conditions": [
            {"type": "Stalled", "status": "True", "observedGeneration": generation}]}}))
    };
    assert!(release(json!(3)).current("Stalled").is_some());
    assert!(release(json!(2)).current("Stalled").is_none());
    assert!(release(Value::Null).current("Stalled").is_some());
}

fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        Just("Ready".to_owned()),
        Just("True".to_owned()),
        Just("deployed".to_owned()),
        Just("2026-11-20T10:00:00Z".to_owned()),
        ".{0,8}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "metadata",
        "spec",
        "status",
        "generation",
        "conditions",
        "type",
        "reason",
        "message",
        "observedGeneration",
        "history",
        "chartVersion",
        "artifact",
        "size",
        "managedFields",
        "fieldsV1",
        "f:spec",
        "time",
        "annotations",
        "deletionTimestamp",
        "suspend",
        "failures",
    ]);
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(|fields| fields
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    /// Reading any object gives a value or an error, and every value has a verdict.
    #[test]
    fn odd_objects_never_panic(object in any_json()) {
        use crate::rollup::{self, Expected, Moment};
        let moment = Moment::at(jiff::Timestamp::UNIX_EPOCH);
        let spec_digest = SpecDigest::of(object.get("spec").cloned().unwrap_or_default());
        let expected = Expected { spec_digest, version: Some("1".to_owned()), revision_before: None, since: jiff::Timestamp::UNIX_EPOCH };
        let verdicts = FluxKind::ALL.map(|kind| {
            let mut object = object.clone();
            if let Some(fields) = object.as_object_mut() {
                fields.insert("kind".to_owned(), json!(kind));
            }
            FluxObject::deserialize(&object).map(|found| rollup::judge(&found, &expected, &moment))
        });
        for verdict in verdicts.into_iter().flatten() {
            prop_assert!(!verdict.report().reason.is_empty());
        }
    }
}

#[test]
fn unreadable_status_counts_as_none() {
    for status in
        [json!({"conditions": "nonsense"}), json!({"history": 7}), json!({"observedGeneration": "x"})]
    {
        let object = json!({"kind": "HelmRelease", "metadata": {"name": "a", "generation": 1}, "spec": {}, "status": status});
        let found = FluxObject::deserialize(&object).unwrap();
        assert!(!found.is_observed() && found.conditions.get("Ready").is_none(), "{object}");
        assert!(found.unreadable_status.is_some_and(|why| why.contains("invalid type")), "{object}");
    }
}

#[test]
fn object_of_another_kind_is_an_error() {
    for object in [json!({}), json!({"kind": "HelmRepository"})] {
        assert!(FluxObject::deserialize(&object).is_err(), "{object}");
    }
}

#[test]
fn condition_message_shows_no_password() {
    let message = "failed to checkout 'https://u:hidden@git.example.org/a.git': authentication required";
    let conditions = json!([{"type": "Ready", "status": "False", "message": message}]);
    let release = read(json!({"status": {"conditions": conditions}}));
    let ready = release.current("Ready").map(|ready| ready.message.as_str());
    let expected = "failed to checkout 'https://…@git.example.org/a.git': authentication required";
    assert_eq!(ready, Some(expected));
}
