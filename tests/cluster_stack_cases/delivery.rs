//! What is refused of delivery through Git and of upstream sources.

use serde_json::{Value, json};

use super::{Case, rules};

/// The cases.
pub(super) fn refused_by_rules() -> Vec<Case> {
    let git = |change: Value| json!({"delivery": {"git": change}});
    let upstream = |change: Value| json!({"source": {"upstream": change}});
    let name = "the name of an object";
    [
        rules("spec.delivery", "delivery.git is required", vec![json!({"delivery": {"git": null}})]),
        rules("spec.delivery.git.url", "url must begin with", vec![git(json!({"url": "file:///fleet"}))]),
        rules(
            "spec.delivery.git.url",
            "url must not contain credentials",
            vec![git(json!({"url": "https://token@example.com/fleet"}))],
        ),
        rules(
            "spec.delivery.git.branch",
            "a branch must be a valid Git branch name",
            ["", "-main", "a..b", "a//b", "a/.b", "x.lock", "a b", "a~1", "x/"]
                .map(|branch| git(json!({"branch": branch})))
                .into(),
        ),
        rules("spec.delivery.git.path", "a path must be relative", vec![git(json!({"path": "/clusters"}))]),
        rules("spec.delivery.git.secretRef.name", name, vec![git(json!({"secretRef": {"name": "A"}}))]),
        rules(
            "spec.delivery.git.commit.author.email",
            "an author's name and address",
            ["", "<me@example.com>", "me\nyou"]
                .map(|email| git(json!({"commit": {"author": {"email": email}}})))
                .into(),
        ),
        rules(
            "spec.delivery.git.pullRequest.api",
            "api must begin with",
            vec![git(json!({"pullRequest": {"api": "git.example.com"}}))],
        ),
        rules(
            "spec.source.upstream.url",
            "url must be oci://<host>/<repository>",
            [
                "https://registry.example.com/x",
                "oci://",
                "oci://registry.example.com",
                "oci://registry.example.com/x:openstack-scs2-1-34-v2",
                "oci://registry.example.com:5000/x@sha256:cc59cd3f6c1e2ee2a155ac562f3cf8a04003b9b27f868df14d603b17636baf3a",
                "oci://user@registry.example.com/x",
                "github://SovereignCloudStack/cluster-stacks@openstack-scs2-1-34-v2",
                "",
            ]
            .map(|url| upstream(json!({"url": url})))
            .into(),
        ),
        rules(
            "spec.source.upstream.pushSecretRef.name",
            name,
            vec![upstream(json!({"pushSecretRef": {"name": "a_b"}}))],
        ),
        rules(
            "spec.source.upstream.commit.signingKey.secretRef.name",
            name,
            vec![upstream(json!({"commit": {"signingKey": {"secretRef": {"name": ""}}}}))],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
