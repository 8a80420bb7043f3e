use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Offered, Target, followers, offer, unreachable};
use crate::api::ClusterStack;
use crate::names::ReleaseName;
use crate::promote::follow::StageTarget;
use crate::promote::stages::{FILE, Stage, Stages};

fn stage() -> Stage {
    let text = "stages: [{name: prod, path: prod/releases}]";
    Stages::parse(FILE, text.as_bytes(), None).unwrap().stage("prod").unwrap().clone()
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

fn target<'a>(
    stage: &'a Stage,
    stacks: &'a [ClusterStack],
    releases: &'a BTreeSet<ReleaseName>,
) -> Target<'a> {
    let place = StageTarget { stage, branch: "main", repository: "https://h/r" };
    Target { place, releases, stacks, clusters: &[], objects: &[] }
}

#[test]
fn other_repository_or_branch_does_not_follow_stage() {
    let source = |url: &str, branch: &str| json!({"git": {"url": url, "path": "prod/releases", "ref": {"branch": branch}}});
    let stacks =
        [source("https://h/r", "main"), source("https://h/other", "main"), source("https://h/r", "other")];
    let stacks = stacks.map(|source| stack(&source, &json!({})));
    let referring = stack(&json!({"gitRepositoryRef": {"name": "r"}, "path": "prod/releases"}), &json!({}));
    let stacks = [stacks.to_vec(), vec![referring]].concat();
    let (stage, releases) = (stage(), BTreeSet::new());
    let unknown = target(&stage, &stacks, &releases);
    let followed = |target: &Target| followers(target, &release("1-32-v2")).count();
    assert_eq!(
        followed(&unknown),
        2,
        "of the one whose GitRepository is not known it is said so when it is planned for"
    );
    let repository = |url: &str| {
        [json!({"kind": "GitRepository", "metadata": {"name": "r", "namespace": "prod"},
        "spec": {"url": url, "ref": {"branch": "main"}}})]
    };
    let (here, other) = (repository("https://h/r"), repository("https://h/other"));
    assert_eq!(followed(&Target { objects: &here, ..target(&stage, &stacks, &releases) }), 2);
    assert_eq!(followed(&Target { objects: &other, ..target(&stage, &stacks, &releases) }), 1);
}

#[test]
fn offer_of_each_stack_is_reported() {
    let source = git("prod/releases", &json!({"branch": "main"}));
    let offered = |more: Value, present: &[&str]| {
        let (stacks, releases, stage) = ([stack(&source, &more)], releases(present), stage());
        let (target, new) = (target(&stage, &stacks, &releases), release("1-32-v2"));
        let stack = followers(&target, &new).next().unwrap();
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
fn other_minor_version_has_other_stacks() {
    let source = git("prod/releases", &json!({"branch": "main"}));
    let (stacks, stage, releases) = ([stack(&source, &json!({}))], stage(), BTreeSet::new());
    let target = target(&stage, &stacks, &releases);
    let followed_by = |name: &str| followers(&target, &release(name)).count();
    assert_eq!((followed_by("1-32-v2"), followed_by("1-33-v2"), followed_by("1-32-v2-beta-1")), (1, 0, 0));
}

#[test]
fn only_clusters_that_may_upgrade_are_planned() {
    let there = releases(&["1-31-v4", "1-32-v1", "1-32-v2", "1-32-v3", "1-30-v1", "1-33-v1"]);
    let why = |from: &str| unreachable(&release(from), &release("1-32-v2"), &there);
    assert_eq!((why("1-32-v1"), why("1-31-v4")), (None, None));
    assert_eq!(why("1-32-v2").unwrap(), "it has openstack-scs-1-32-v2 already");
    assert_eq!(why("1-32-v3").unwrap(), "it has openstack-scs-1-32-v3, which is later");
    assert!(why("1-30-v1").unwrap().contains("one Kubernetes minor version at a time"));
    assert!(why("1-33-v1").unwrap().contains("one Kubernetes minor version at a time"));
    assert!(why("1-32-v0").unwrap().ends_with("which the stage does not have"));
}
