use serde_json::{Value, json};

use super::{Followed, StageTarget, mismatch};
use crate::api::ClusterStack;
use crate::promote::stages::{FILE, Stages};

const HERE: &str = "https://git.example.org/team/stacks.git";

fn stack(source: &Value) -> ClusterStack {
    let spec = json!({"provider": "openstack", "name": "scs", "kubernetesVersion": "1.32", "noProvider": true,
        "source": source});
    serde_json::from_value(json!({"apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
        "metadata": {"name": "scs", "namespace": "prod"}, "spec": spec}))
    .unwrap()
}

/// Returns why a source is not that of the stage `prod`, which is on `branch` in `repository`; empty if it is.
fn why(source: &Value, (branch, repository): (&str, &str), objects: &[Value]) -> String {
    let stages = Stages::parse(FILE, b"stages: [{name: prod, path: prod/releases}]", None).unwrap();
    let place = StageTarget { stage: stages.stage("prod").unwrap(), branch, repository };
    let mismatch =
        mismatch(&stack(source), &place, |namespace, name| Followed::among(objects, namespace, name));
    mismatch.map(|mismatch| mismatch.to_string()).unwrap_or_default()
}

fn git(path: &str, reference: &Value) -> Value {
    json!({"git": {"url": HERE, "path": path, "ref": reference}})
}

#[test]
fn stack_follows_stage_by_directory_and_branch() {
    let why = |source: Value| why(&source, ("main", HERE), &[]);
    assert_eq!(why(git("prod/releases", &json!({"branch": "main"}))), "");
    assert_eq!(why(git("./prod/releases/", &json!({"name": "refs/heads/main"}))), "");
    assert_eq!(
        why(git("stage/releases", &json!({"branch": "main"}))),
        "it follows the directory stage/releases"
    );
    assert_eq!(why(git("prod/releases", &json!({"branch": "other"}))), "it follows the branch other");
    assert_eq!(
        why(git("prod/releases", &json!({"name": "refs/heads/other"}))),
        "it follows the branch other"
    );
    assert_eq!(why(Value::Null), "it has no spec.source of its own");
    assert_eq!(
        why(json!({"upstream": {"url": "oci://registry.example.org/stacks"}})),
        "its stack repository is built in: it takes its releases from oci://registry.example.org/stacks"
    );
}

#[test]
fn tag_follows_no_stage_and_default_is_master() {
    let at = |reference: Value| why(&git("prod/releases", &reference), ("main", HERE), &[]);
    for (reference, expected) in [
        (json!({"tag": "main"}), "it follows the tag main, which is not a branch"),
        (json!({"commit": "abc"}), "it follows the commit abc, which is not a branch"),
        (json!({"semver": ">=1.0.0"}), "it follows the version range >=1.0.0, which is not a branch"),
        (json!({"name": "refs/tags/main"}), "it follows the reference refs/tags/main, which is not a branch"),
        (
            json!({"name": "refs/pull/1/head"}),
            "it follows the reference refs/pull/1/head, which is not a branch",
        ),
        (json!({"branch": "main", "commit": "abc"}), "it follows the commit abc, which is not a branch"),
        (json!({"branch": "main", "tag": "v1"}), "it follows the tag v1, which is not a branch"),
        (json!({}), "it follows the branch master"),
    ] {
        assert_eq!(at(reference), expected);
    }
    let nothing = json!({"git": {"url": HERE, "path": "prod/releases"}});
    assert_eq!(why(&nothing, ("main", HERE), &[]), "it follows the branch master");
    assert_eq!(why(&nothing, ("master", HERE), &[]), "");
}

#[test]
fn stack_of_other_repository_follows_no_stage() {
    let at = |url: &str, repository: &str| {
        let source = json!({"git": {"url": url, "path": "prod/releases", "ref": {"branch": "main"}}});
        why(&source, ("main", repository), &[])
    };
    for same in [
        "https://git.example.org/team/stacks",
        "https://git.example.org/Team/Stacks",
        "ssh://git@git.example.org:2222/team/stacks.git",
        "http://gitea.internal/team/stacks.git/",
    ] {
        assert_eq!(at(same, HERE), "");
        assert_eq!(at(same, "git@git.example.org:team/stacks.git"), "");
    }
    assert_eq!(
        at("https://user:pass@git.example.org/other/stacks.git", HERE),
        "it follows the repository other/stacks"
    );
    assert_eq!(at(HERE, "/srv/stacks"), "", "a directory has no name");
}

#[test]
fn referenced_repository_is_resolved() {
    let source = json!({"gitRepositoryRef": {"name": "stacks"}, "path": "prod/releases"});
    let repository = |namespace: &str, spec: Value| {
        json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": "stacks", "namespace": namespace}, "spec": spec})
    };
    let at = |spec: Value| why(&source, ("main", HERE), &[repository("prod", spec)]);
    assert_eq!(at(json!({"url": HERE, "ref": {"branch": "main"}})), "");
    assert_eq!(at(json!({"url": HERE})), "it follows the branch master");
    assert_eq!(
        at(json!({"url": HERE, "ref": {"tag": "v1"}})),
        "it follows the tag v1, which is not a branch"
    );
    let other = json!({"url": "https://git.example.org/other/stacks", "ref": {"branch": "main"}});
    assert_eq!(at(other), "it follows the repository other/stacks");
    let unknown = "its GitRepository prod/stacks is not known here";
    assert_eq!(at(json!({"url": HERE, "ref": {"branch": 1}})), unknown, "another shape than Flux's");
    let elsewhere = repository("elsewhere", json!({"url": HERE, "ref": {"branch": "main"}}));
    assert_eq!(why(&source, ("main", HERE), std::slice::from_ref(&elsewhere)), unknown);
    let there =
        json!({"gitRepositoryRef": {"name": "stacks", "namespace": "elsewhere"}, "path": "prod/releases"});
    assert_eq!(why(&there, ("main", HERE), &[elsewhere]), "");
}
