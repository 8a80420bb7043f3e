//! Objects with the status that the operator would write. The status is made by the operator's own functions, so that
//! the documented output matches the code.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::observed::{chart, pinned};
use super::{COMMIT, RELEASE, metadata, read};
use crate::addons::{Installation, lack};
use crate::api::cluster_addon::{AddonObject, AddonState, ClusterAddonStatus, RenderedInputs};
use crate::api::cluster_stack_release::ClusterStackReleaseStatus;
use crate::api::{ClusterStack, ClusterStackRelease, ClusterStackStatus, ConditionType, Reason};
use crate::error::Class;
use crate::foreign::capi::Cluster;
use crate::foreign::flux::observed::SpecDigest;
use crate::names::{ReleaseName, Revision};
use crate::plan::{ObjectId, Step};
use crate::release::{File, Files, Findings, KnownAs, Limits, Release};
use crate::rollup::cluster_stack::{ReleaseState, StackFacts, cluster_stack};
use crate::rollup::{
    AddonFacts, ClusterFacts, ClusterState, ConditionStatus, ContentFacts, InRepository, ObjectFacts,
    ReleaseFacts, Report, Usage, Verdict, cluster_addon, cluster_stack_release, mirror, missing_release,
    ready_of,
};
use crate::subscription::{CatalogFacts, Role};

/// Returns the time at which the operator wrote the status.
fn then() -> Timestamp {
    "2026-11-21T11:45:00Z".parse().unwrap()
}

/// Returns the content of a release with one addon.
fn content() -> Release {
    let mut files = Files::default();
    for (path, content) in [
        ("metadata.yaml", "versions: {clusterStack: v1, kubernetes: v1.34.0}\n"),
        (
            "clusteraddon.yaml",
            "addonStages:\n  AfterControlPlaneInitialized:\n  - {name: cni, action: apply}\n",
        ),
        ("cluster-class/Chart.yaml", "apiVersion: v2\nname: class\nversion: v1\n"),
        ("cluster-addon/cni/Chart.yaml", "apiVersion: v2\nname: CNI\nversion: v1\n"),
    ] {
        files.insert(path, File { content: content.as_bytes().to_vec(), executable: false }).unwrap();
    }
    let name = RELEASE.parse().unwrap();
    Release::load(&name, files, &Limits::default()).unwrap_or_else(|findings| panic!("{findings}")).release
}

fn release_status() -> ClusterStackReleaseStatus {
    let object = |kind: &str, spec: Value, step, verdict| ObjectFacts {
        id: ObjectId {
            api_version: "v1".to_owned(),
            kind: kind.to_owned(),
            namespace: "stacks".to_owned(),
            name: RELEASE.to_owned(),
        },
        step,
        expected: Some(SpecDigest::of(spec)),
        verdict: Some(verdict),
    };
    let facts = ReleaseFacts {
        generation: 1,
        requested_at: None,
        pin: None,
        content: ContentFacts::Known { release: &content(), mutated: None },
        provider: Report::new(ConditionStatus::True, Reason::NotNeeded.as_str(), ""),
        objects: vec![
            object("GitRepository", pinned(), Step::Sources, Verdict::Fetched),
            object("HelmRelease", json!({}), Step::ClusterClass, Verdict::Applied),
        ],
        class_hold: None,
        usage: Usage { clusters: 3, ..Usage::default() },
        deletion_hold: None,
    };
    cluster_stack_release(facts, &ClusterStackReleaseStatus::default(), then())
}

/// Returns the release, whose class and sources are applied.
pub(super) fn release() -> Value {
    json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
        "metadata": metadata("stacks", RELEASE), "spec": {}, "status": release_status(),
    })
}

/// Returns a `ClusterAddon` whose only addon is in this phase.
pub(super) fn addon(namespace: &str, cluster: &str, phase: &str, reason: &str, message: &str) -> Value {
    let (reason, message) = (reason.to_owned(), message.to_owned());
    let verdict = match phase {
        "Applied" => Verdict::Applied,
        "Waiting" => Verdict::Waiting { reason, message, last_good: None },
        _ => Verdict::Failed { class: Class::Transient, reason, message },
    };
    let cni = AddonFacts {
        name: "cni".parse().unwrap(),
        chart: Some(KnownAs { name: "CNI".to_owned(), version: "v1".to_owned(), app_version: None }),
        source: None,
        hold: None,
        object: Some(AddonObject { kind: "HelmRelease".to_owned(), name: format!("{cluster}.cni") }),
        expected: Some(AddonState {
            spec_digest: Some(SpecDigest::of(chart()).to_string()),
            version: Some("1.0.0".to_owned()),
        }),
        observed: None,
        verdict: Some(verdict),
        revision_before: None,
        values_digest: None,
        note: None,
    };
    let facts = ClusterFacts {
        generation: 1,
        requested_at: None,
        hold: None,
        namespace: Some("stacks".to_owned()),
        desired: RELEASE.to_owned(),
        release: ready_of(&release_status()),
        addons: vec![cni],
        of_desired: true,
        delivered: true,
        stages: None,
        pruned: None,
        upgrade: None,
        committed_by: None,
        inputs: Some(RenderedInputs::default()),
    };
    json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddon",
        "metadata": metadata(namespace, &format!("cluster-addon-{cluster}")),
        "spec": {"clusterRef": {"kind": "Cluster", "name": cluster}},
        "status": cluster_addon(facts, &ClusterAddonStatus::default(), then()),
    })
}

/// Returns the `ClusterAddon` of a Cluster whose class is of a release that its `ClusterStack` does not offer.
pub(super) fn addon_without_release(namespace: &str, cluster_name: &str, release: &str) -> Value {
    let stack: ClusterStack = read(json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack", "metadata": metadata("stacks", "demo"),
        "spec": {"provider": "docker", "name": "demo", "kubernetesVersion": "1.34"},
    }));
    let name: ReleaseName = release.parse().unwrap();
    let revision: Revision = "0123456789abcdef0123456789abcdef01234567".parse().unwrap();
    let releases = BTreeMap::from([(name.clone(), Err(Findings::default()))]);
    let catalog = CatalogFacts { revision: &revision, releases: &releases, is_current: true };
    let report = missing_release(&stack, InRepository::of(Some(catalog), &name), false, &name);
    let class = json!({"classRef": {"name": release, "namespace": "stacks"}});
    let cluster = Cluster::new(super::cluster(namespace, cluster_name, &class, true)).unwrap();
    let lack = lack(&cluster, None, Installation::Missing(report)).unwrap();
    let facts = ClusterFacts {
        generation: 1,
        requested_at: None,
        hold: None,
        namespace: Some("stacks".to_owned()),
        desired: release.to_owned(),
        release: lack.report,
        addons: Vec::new(),
        of_desired: false,
        delivered: false,
        stages: None,
        pruned: None,
        upgrade: None,
        committed_by: None,
        inputs: None,
    };
    json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddon",
        "metadata": metadata(namespace, &format!("cluster-addon-{cluster_name}")),
        "spec": {"clusterRef": {"kind": "Cluster", "name": cluster_name}},
        "status": cluster_addon(facts, &ClusterAddonStatus::default(), then()),
    })
}

/// Returns the `ClusterStack`. Its release v1 is used by `one` and `two`, whose `ClusterAddon`s are given, and by
/// `young`; `old` of another namespace names v9, which is not offered.
pub(super) fn stack(one: &Value, two: &Value) -> Value {
    let release: ClusterStackRelease = read(release());
    let name = |version: &str| -> ReleaseName { format!("docker-demo-1-34-{version}").parse().unwrap() };
    let ready = |addon: &Value| {
        let status: ClusterAddonStatus = read(addon["status"].clone());
        mirror(&status.conditions, 1, ConditionType::Ready.as_str())
    };
    let cluster = |name: &'static str, ready: Option<Report>| ClusterState {
        namespace: "prod",
        name,
        deleting: false,
        paused: false,
        suspended: false,
        initialized: name != "young",
        without_release: None,
        unoffered: false,
        ready,
    };
    let message =
        "the stack repository of ClusterStack stacks/demo has no release docker-demo-1-34-v9 at 0123456";
    let not_found = Report::new(ConditionStatus::False, Reason::ReleaseNotFound.as_str(), message);
    let facts = StackFacts {
        components: None,
        generation: 1,
        requested_at: None,
        source_ready: Report::new(ConditionStatus::True, Reason::Fetched.as_str(), ""),
        source: None,
        interval: SignedDuration::from_mins(10),
        available: Some((Some(name("v1")), 1)),
        releases: BTreeMap::from([(
            name("v1"),
            ReleaseState { role: Role::Offered, clusters: 3, release: Some(&release) },
        )]),
        problems: BTreeMap::new(),
        clusters: vec![
            cluster("one", Some(ready(one))),
            cluster("two", Some(ready(two))),
            cluster("young", None),
            ClusterState { without_release: Some(not_found), unoffered: true, ..cluster("old", None) },
        ],
        notes: Vec::new(),
        pruned: None,
        pruned_addons: None,
        delivered: None,
        published: None,
        deletion_hold: None,
    };
    json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack", "metadata": metadata("stacks", "demo"),
        "spec": {
            "provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "noProvider": true, "versions": ["v1"],
            "source": {"git": {"url": "https://git.example.org/stacks.git", "ref": {"branch": "main"}}},
        },
        "status": ClusterStackStatus {
            source: Some(read(json!({
                "gitRepository": "stacks/demo-catalog", "revision": format!("main@sha1:{COMMIT}"),
            }))),
            ..cluster_stack(facts, &ClusterStackStatus::default(), then())
        },
    })
}
