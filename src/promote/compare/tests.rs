use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Offered, Target, followers, follows, may_be_in, offer, unreachable};
use crate::api::ClusterStack;
use crate::names::ReleaseName;
use crate::promote::stages::{FILE, Stage, Stages};

fn stage() -> Stage {
    let text = "stages: [{name: prod, path: prod/releases}]";
    Stages::parse(FILE, text.as_bytes()).unwrap().stage("prod").unwrap().clone()
}

fn release(text: &str) -> ReleaseName {
    format!("openstack-scs-{text}").parse().unwrap()
}

fn releases(versions: &[&str]) -> BTreeSet<ReleaseName> {
    versions.iter().map(|version| release(version)).collect()
}

fn stack(source: &Value, more: &Value) -> ClusterStack {
    let mut spec = json!({"provider": "openstack", "name": "scs", "kubernetesVersion": "1.32", "noProvider": true,
        "source": source});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(json!({"apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
        "metadata": {"name": "scs", "namespace": "prod"}, "spec": spec}))
    .unwrap()
}

fn git(path: &str, reference: &Value) -> Value {
    json!({"git": {"url": "https://h/r", "path": path, "ref": reference}})
}

#[test]
fn a_stack_follows_a_stage_by_its_directory_and_branch() {
    let follows = |source: Value| {
        let stack = stack(&source, &json!({}));
        follows(stack.spec.source.as_ref().unwrap(), &stage(), "main")
    };
    assert!(follows(git("prod/releases", &json!({"branch": "main"}))));
    assert!(follows(git("./prod/releases/", &json!({"name": "refs/heads/main"}))));
    assert!(!follows(git("stage/releases", &json!({"branch": "main"}))));
    assert!(!follows(git("prod/releases", &json!({"branch": "other"}))));
    assert!(!follows(git("prod/releases", &json!({"name": "refs/heads/other"}))));
    assert!(follows(json!({"gitRepositoryRef": {"name": "stacks"}, "path": "prod/releases"})));
    assert!(!follows(json!({"gitRepositoryRef": {"name": "stacks"}})), "the default is releases");
}

#[test]
fn a_stack_of_another_repository_is_none_of_the_stage() {
    let at = |url: &str| {
        let stack = stack(&json!({"git": {"url": url, "path": "prod/releases"}}), &json!({}));
        may_be_in(stack.spec.source.as_ref().unwrap(), "https://git.example.org/team/stacks.git")
    };
    for same in [
        "https://git.example.org/team/stacks",
        "ssh://git@git.example.org:2222/team/stacks.git",
        "http://gitea.internal/team/stacks.git/",
    ] {
        assert!(at(same), "{same}");
    }
    assert!(!at("https://git.example.org/other/stacks.git"));
    let any = stack(&json!({"gitRepositoryRef": {"name": "stacks"}, "path": "prod/releases"}), &json!({}));
    let any = any.spec.source.as_ref().unwrap();
    assert!(may_be_in(any, "git@git.example.org:team/stacks.git"));
    let known = stack(&git("prod/releases", &json!({})), &json!({}));
    assert!(may_be_in(known.spec.source.as_ref().unwrap(), "/srv/stacks"), "a directory has no name");
}

#[test]
fn whether_a_stack_will_offer_the_release_is_told() {
    let source = git("prod/releases", &json!({"branch": "main"}));
    let offered = |more: Value, present: &[&str]| {
        let (stacks, releases, stage) = ([stack(&source, &more)], releases(present), stage());
        let target = Target {
            stage: &stage,
            branch: "main",
            releases: &releases,
            stacks: &stacks,
            clusters: &[],
            objects: &[],
        };
        let new = release("1-32-v2");
        let stack = followers(&stacks, &stage, "main", &new).next().unwrap();
        offer(stack, &target, &new).offered
    };
    let subscribed = json!({"autoSubscribe": true});
    assert_eq!(offered(json!({"versions": ["v1", "v2"]}), &["1-32-v3"]), Offered::Listed);
    assert_eq!(offered(json!({"versions": ["v1"]}), &["1-32-v1"]), Offered::NotListed);
    assert_eq!(offered(json!({}), &[]), Offered::NotListed);
    assert_eq!(offered(subscribed.clone(), &["1-32-v1", "1-33-v9", "1-32-v9-beta-1"]), Offered::Latest);
    assert_eq!(offered(subscribed.clone(), &[]), Offered::Latest);
    assert_eq!(offered(subscribed, &["1-32-v10"]), Offered::NotLatest);
}

#[test]
fn another_minor_version_has_other_stacks() {
    let (stacks, stage) = ([stack(&git("prod/releases", &json!({})), &json!({}))], stage());
    assert_eq!(followers(&stacks, &stage, "main", &release("1-33-v2")).count(), 0);
    assert_eq!(followers(&stacks, &stage, "main", &release("1-32-v2-beta-1")).count(), 0);
}

#[test]
fn only_clusters_that_may_go_to_the_release_are_planned() {
    let there = releases(&["1-31-v4", "1-32-v1", "1-32-v2", "1-32-v3", "1-30-v1", "1-33-v1"]);
    let why = |from: &str| unreachable(&release(from), &release("1-32-v2"), &there);
    assert_eq!((why("1-32-v1"), why("1-31-v4")), (None, None));
    assert_eq!(why("1-32-v2").unwrap(), "it has openstack-scs-1-32-v2 already");
    assert_eq!(why("1-32-v3").unwrap(), "it has openstack-scs-1-32-v3, which is later");
    assert!(why("1-30-v1").unwrap().contains("one Kubernetes minor version at a time"));
    assert!(why("1-33-v1").unwrap().contains("one Kubernetes minor version at a time"));
    assert!(why("1-32-v0").unwrap().ends_with("which the stage does not have"));
}
