//! The settings of Flux objects.

use serde_json::{Value, json};

use super::{Case, rules};

pub(super) fn refused_by_rules() -> Vec<Case> {
    let flux = |change: Value| json!({"flux": change});
    let names = "the name of an addon";
    [
        rules(
            "spec.flux.kubeConfig.secretName",
            "secretName must contain {cluster} once",
            [
                "kubeconfig",
                "{cluster}-{cluster}",
                "{Cluster}-kubeconfig",
                "{cluster}-{namespace}",
                "{cluster}_a",
            ]
            .map(|name| flux(json!({"kubeConfig": {"secretName": name}})))
            .into(),
        ),
        rules(
            "spec.flux.kubeConfig.key",
            "a key must consist of letters",
            vec![flux(json!({"kubeConfig": {"key": ""}})), flux(json!({"kubeConfig": {"key": "a/b"}}))],
        ),
        rules(
            "spec.flux.serviceAccountName",
            "the name of an object",
            vec![flux(json!({"serviceAccountName": "flux deployer"}))],
        ),
        rules(
            "spec.flux.addons",
            names,
            ["CNI", "cni.cilium", "-cni", ""].map(|name| flux(json!({"addons": {name: {}}}))).into(),
        ),
        rules(
            "spec.flux.addons",
            "an addon must not depend on itself",
            vec![flux(json!({"addons": {"csi": {"dependsOn": ["ccm", "csi"]}}}))],
        ),
        rules(
            "spec.flux.addons[cni].dependsOn",
            names,
            vec![flux(json!({"addons": {"cni": {"dependsOn": ["CCM"]}}}))],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
