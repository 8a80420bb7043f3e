//! The statuses of helm-controller when all succeeds. It does not run: it would take the processors from the measured
//! process.

use std::collections::BTreeMap;

use kube::api::Patch;
use serde_json::{Value, json};

use crate::ground::{HELM_CHARTS, HELM_RELEASES};
use crate::requests::{Api, text};

/// Gives all `HelmRelease`s of a namespace, whose charts are in another one, the status of a deployed one.
pub(crate) fn play(api: &Api, charts: &str, namespace: &str) {
    let revision = |chart: &Value| {
        let revision = text(chart, "/status/artifact/revision");
        (text(chart, "/metadata/name").to_owned(), revision.to_owned())
    };
    let versions: BTreeMap<String, String> =
        api.list(&HELM_CHARTS.in_namespace(charts)).iter().map(revision).collect();
    let releases = HELM_RELEASES.in_namespace(namespace);
    let statuses = api.list(&releases).into_iter().map(|release| {
        let version = &versions[text(&release, "/spec/chartRef/name")];
        (text(&release, "/metadata/name").to_owned(), deployed(&release, version))
    });
    api.patch(&releases, Some("status"), statuses);
}

fn deployed(release: &Value, version: &str) -> Patch<Value> {
    const TIME: &str = "2026-01-01T00:00:00Z";
    let generation = &release["metadata"]["generation"];
    let condition = |kind: &str, reason: &str| {
        json!({
            "type": kind, "status": "True", "reason": reason, "message": "Helm install succeeded",
            "observedGeneration": generation, "lastTransitionTime": TIME,
        })
    };
    let snapshot = json!({
        "name": "release", "namespace": "kube-system", "version": 1, "status": "deployed",
        "chartName": "chart", "chartVersion": version, "digest": "sha256:0", "configDigest": "sha256:0",
        "firstDeployed": TIME, "lastDeployed": TIME,
    });
    Patch::Merge(json!({"status": {
        "observedGeneration": generation, "lastAttemptedGeneration": generation, "history": [snapshot],
        "conditions": [condition("Ready", "InstallSucceeded"), condition("Released", "InstallSucceeded")],
    }}))
}
