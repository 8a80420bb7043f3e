//! Tests of the requests to reconcile that are forwarded to Flux.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::api::{ClusterStackRelease, labels};
use crate::foreign::flux::observed::FluxObject;

fn release(requested: Option<&str>, handled: Option<&str>) -> ClusterStackRelease {
    let annotations = requested.map(|requested| json!({(labels::REQUESTED_AT): requested}));
    serde_json::from_value(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
        "metadata": {"name": "docker-demo-1-34-v1", "namespace": "stacks", "annotations": annotations},
        "spec": {},
        "status": {"lastHandledReconcileAt": handled},
    }))
    .unwrap()
}

fn source(name: &str, annotations: &serde_json::Value) -> Arc<FluxObject> {
    let object = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": name, "namespace": "stacks", "annotations": annotations},
        "spec": {},
    });
    Arc::new(serde_json::from_value(object).unwrap())
}

#[test]
fn open_request_is_forwarded_to_our_objects() {
    let ours = source("ours", &json!({(labels::PLAN_DIGEST): "sha256:0"}));
    let recorded = [ours.clone(), source("theirs", &json!({}))];
    let owner = stack("demo", "2026-11-20T10:00:00Z", &["v1"], false);
    let mut suspended = owner.clone();
    suspended.spec.suspend = true;
    for (requested, handled, owner, expected, why) in [
        (Some("2"), Some("1"), &owner, Some("2"), "a new request"),
        (Some("2"), None, &owner, Some("2"), "the first request"),
        (Some("2"), Some("2"), &owner, None, "it is handled"),
        (None, Some("1"), &owner, None, "no request"),
        (Some("2"), Some("1"), &suspended, None, "nothing is written"),
    ] {
        let expected =
            expected.map(|request| Forward { request: request.to_owned(), to: vec![ours.clone()] });
        assert_eq!(forward(&release(requested, handled), owner, &recorded), expected, "{why}");
    }
}
