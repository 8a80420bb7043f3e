//! The settings of Flux objects.

use serde_json::{Value, json};

use super::{Case, merge, rules};

/// Settings of addons with every field.
pub(super) fn addons() -> Value {
    json!({
        "cni": {
            "preset": "infrastructure",
            "timeout": "90s",
            "driftDetection": "warn",
            "suspend": true,
            "dependsOn": ["ccm", "metrics-server"],
            "wait": false,
            "overridable": {"enabled": true, "suspend": true, "values": ["cilium.hubble", "a\\.b", "a\\*", "a\\[0\\]", "*"]},
            "values": {"a": {"b": [1, true, null]}, "c": null},
            "valuesFrom": [{"kind": "Secret", "name": "proxy-{cluster}", "valuesKey": "http.proxy",
                            "targetPath": "proxy.http\\.url[0]", "optional": true, "literal": true}],
            "postRenderers": [{"kustomize": {
                "patches": [{"patch": "- {op: remove, path: /data}", "target": {
                    "group": "apps", "version": "v1", "kind": "Deployment", "namespace": "a", "name": "b.*",
                    "annotationSelector": "a=b", "labelSelector": "c in (d)"}}],
                "images": [{"name": "a", "newName": "b", "newTag": "v1", "digest": "sha256:0"}],
            }}],
            "decryption": {"provider": "sops", "secretRef": {"name": "{cluster}-keys"},
                           "serviceAccountName": "kms"},
        },
        "ccm": {},
    })
}

/// A reference to values with a change.
fn values_from(change: &Value) -> Value {
    let mut reference = json!({"kind": "Secret", "name": "a"});
    merge(&mut reference, change);
    json!({"flux": {"addons": {"cni": {"valuesFrom": [reference]}}}})
}

/// Paths as Helm reads them.
pub(super) fn admitted() -> impl Iterator<Item = Value> {
    let paths = ["a", "a.b", "a/b-c_D.1", r"a\.b.c", r"\.a", "a[0]", "a[0][12345].b", r"a\.b[1].c\."];
    paths.into_iter().map(|path| values_from(&json!({"targetPath": path})))
}

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
        rules(
            "spec.flux.addons[cni].valuesFrom[0].name",
            "the name of a Secret or ConfigMap",
            ["", "A", "a_b", "{cluster}{cluster}", "{namespace}", "a{"]
                .map(|name| values_from(&json!({"name": name})))
                .into(),
        ),
        rules(
            "spec.flux.addons[cni].valuesFrom[0].valuesKey",
            "a key must consist of letters",
            vec![values_from(&json!({"valuesKey": "a/b"}))],
        ),
        rules(
            "spec.flux.addons[cni].valuesFrom[0].targetPath",
            "targetPath must be a path",
            [
                "",
                "a b",
                "a[",
                "a[x]",
                "a[123456]",
                "a=b",
                "a,b",
                "a{b}",
                ".a",
                "a.",
                "a..b",
                ".",
                "[0]",
                "a.[0]",
                "a[0]b",
                "a\\b",
                "a\\\\.b",
                "a\\",
            ]
            .map(|path| values_from(&json!({"targetPath": path})))
            .into(),
        ),
        rules(
            "spec.flux.addons[cni].decryption.secretRef.name",
            "the name of a Secret or ConfigMap",
            vec![flux(json!({"addons": {"cni": {"decryption": {"secretRef": {"name": "A"}}}}}))],
        ),
        rules(
            "spec.flux.addons[cni].decryption.serviceAccountName",
            "the name of an object",
            vec![flux(json!({"addons": {"cni": {"decryption": {"serviceAccountName": "a b"}}}}))],
        ),
        rules(
            "spec.flux.addons[cni].overridable.values",
            "a path of values must be *",
            ["", ".", "a.", ".a", "a..b", "a\\", "a.*", "*.a", "a*", "**", "x[0]", "x[0].a", "a]"]
                .map(|path| flux(json!({"addons": {"cni": {"overridable": {"values": [path]}}}})))
                .into(),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
