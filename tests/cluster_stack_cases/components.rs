//! What is admitted and refused of the components of a `ClusterStack`.

use serde_json::{Value, json};

use super::{Case, Refused, merge, rules};

const COMMIT: &str = "9f1c2a3b4c5d6e7f8091a2b3c4d5e6f708192a3b";
const DIGEST: &str = "sha256:3a5b7c9d1e2f4051627384950617283940516273849506172839405162738495";

/// A repository with one component, after a change.
fn repository(change: &Value) -> Value {
    let mut repository = json!({
        "name": "platform",
        "git": {"url": "https://git.example.com/platform.git", "ref": {"branch": "main", "commit": COMMIT}},
        "interval": "2m",
        "components": [{"name": "ingress", "chart": "charts/ingress"}],
    });
    merge(&mut repository, change);
    json!({"components": {"repositories": [repository]}})
}

/// A repository whose component has a change.
fn component(change: &Value) -> Value {
    let mut component = json!({"name": "ingress", "chart": "charts/ingress"});
    merge(&mut component, change);
    repository(&json!({"components": [component]}))
}

/// The cases that are admitted.
pub(super) fn admitted() -> Vec<Case> {
    let changes = [
        repository(&json!({"git": {"ref": null}, "interval": null})),
        repository(&json!({"git": {"url": "ssh://git@git.example.com:22/a", "ref": {"branch": null}}})),
        repository(&json!({"git": {"ref": {"branch": null, "commit": null, "semver": ">=1.0.0"}}})),
        repository(&json!({
            "git": null, "oci": {"url": "oci://registry.example.com:5000/charts/a", "digest": DIGEST},
            "components": [{"name": "a", "chart": ".", "hook": "BeforeClusterUpgrade", "replaces": true}],
        })),
        component(&json!({
            "template": "a: {{ .Cluster.metadata.name }}", "values": {"a": {"b": [1, true]}}, "dependsOn": ["cni"],
            "targetNamespace": "ingress", "createNamespace": true, "hook": "BeforeClusterUpgrade",
            "clusterSelector": {"matchLabels": {"a": "b"},
                "matchExpressions": [{"key": "c", "operator": "NotIn", "values": ["d"]}]},
        })),
        component(
            &json!({"chart": null, "manifests": ".", "substitute": "a: b", "optional": true, "description": "d",
            "homepage": "https://example.org"}),
        ),
        component(&json!({"schema": {"properties": {"replicas": {"type": "integer"}}}})),
    ];
    changes.into_iter().map(|change| Case { change, refused: Refused::Not }).collect()
}

/// The cases that a rule refuses.
pub(super) fn refused_by_rules() -> Vec<Case> {
    refused_repositories().into_iter().chain(refused_components()).collect()
}

fn refused_repositories() -> Vec<Case> {
    let at = "spec.components.repositories[0]";
    let url = |url: &str| repository(&json!({"git": {"url": url}}));
    let oci = |url: &str| {
        let components = json!([{"name": "a", "manifests": "."}]);
        repository(&json!({"git": null, "oci": {"url": url}, "components": components}))
    };
    let whole = json!([{"name": "a", "chart": "."}]);
    [
        rules(
            at,
            "a repository must have either git or oci",
            vec![
                repository(&json!({"git": null})),
                repository(&json!({"oci": {"url": "oci://a.example.com/b"}, "components": whole})),
            ],
        ),
        rules(
            at,
            "the chart of an OCI repository is the whole of it",
            vec![repository(&json!({"git": null, "oci": {"url": "oci://a.example.com/b"}}))],
        ),
        rules(
            at,
            "hook requires a commit or a digest",
            vec![repository(&json!({
                "git": {"ref": {"commit": null}},
                "components": [{"name": "a", "chart": "b", "hook": "BeforeClusterUpgrade"}],
            }))],
        ),
        rules(
            "spec.components.repositories[0].git.url",
            "url must be https://, ssh:// or http://",
            ["oci://a.example.com/b", "https://me@a.example.com/b", "https://a.example.com/%2e", "https://"]
                .map(url)
                .into(),
        ),
        rules(
            "spec.components.repositories[0].oci.url",
            "url must be oci:// and a host",
            ["https://a.example.com/b", "oci://a.example.com/b:v1", "oci://a.example.com/b@sha256:00"].map(oci).into(),
        ),
        rules(
            "spec.components.repositories[0].git.ref",
            "ref must have one of branch",
            vec![
                repository(&json!({"git": {"ref": {"tag": "v1"}}})),
                repository(&json!({"git": {"ref": {"commit": null, "tag": "v1"}}})),
            ],
        ),
        rules(
            "spec.components.repositories[0].git.ref.commit",
            "a commit must be",
            vec![repository(&json!({"git": {"ref": {"commit": "9f1c"}}}))],
        ),
        rules(
            "spec.components.repositories[0].oci.digest",
            "a digest must be sha256:",
            vec![repository(&json!({
                "git": null, "oci": {"url": "oci://a.example.com/b", "digest": "sha256:3A"}, "components": whole,
            }))],
        ),
        rules(
            "spec.components.repositories[0].oci",
            "a repository must have at most one of digest",
            vec![repository(&json!({
                "git": null, "oci": {"url": "oci://a.example.com/b", "tag": "v1", "semver": "1"}, "components": whole,
            }))],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn refused_components() -> Vec<Case> {
    let of = "spec.components.repositories[0].components[0]";
    [
        rules(
            of,
            "a component must have either chart or manifests",
            vec![component(&json!({"manifests": "."})), component(&json!({"chart": null}))],
        ),
        rules(
            of,
            "template, values, schema, dependsOn, targetNamespace and createNamespace are for charts",
            vec![
                component(&json!({"chart": null, "manifests": ".", "template": "a: b"})),
                component(&json!({"chart": null, "manifests": ".", "dependsOn": ["cni"]})),
                component(&json!({"chart": null, "manifests": ".", "targetNamespace": "a"})),
                component(&json!({"chart": null, "manifests": ".", "schema": {"properties": {}}})),
            ],
        ),
        rules(of, "substitute is for manifests", vec![component(&json!({"substitute": "a: b"}))]),
        rules(
            of,
            "replaces has no clusterSelector",
            vec![component(&json!({"replaces": true, "clusterSelector": {"matchLabels": {"a": "b"}}}))],
        ),
        rules(
            "spec.components.repositories[0].components[0].homepage",
            "homepage must begin with",
            vec![component(&json!({"homepage": "example.org"}))],
        ),
        rules(
            of,
            "an optional component does not replace",
            vec![component(&json!({"replaces": true, "optional": true}))],
        ),
        rules(
            "spec.components.repositories[0].components[0].chart",
            "a path must be relative",
            vec![component(&json!({"chart": "/a"})), component(&json!({"chart": "../a"}))],
        ),
        rules(
            "spec.components.repositories[0].components[0].name",
            "the name of an addon",
            vec![component(&json!({"name": "Ingress"}))],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
