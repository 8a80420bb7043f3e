//! A cluster in which all is well, for the tables of the checks.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Map, Value, json};

use super::check::{Check, Outcome};
use super::facts::{Answer, Cause, Extension, Facts, Kind, Own, Program, Read, Unread, Webhook};
use super::{Diagnosis, before_install, installed, rights};
use crate::api;
use crate::explain::operator::OperatorLease;
use crate::foreign::capi::Cluster;
use crate::foreign::flux::FluxKind;
use crate::foreign::flux::definition::HELM_RELEASES;
use crate::installation::lease::LEASE;
use crate::installation::rights::Right;
use crate::names::Key;

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";

/// Why something was not read.
pub(super) fn forbidden(verb: &str, group: &str, resource: &str) -> Unread {
    Unread::Forbidden(Right::everywhere(verb, group, resource))
}

/// A Deployment with two Pods that are ready.
pub(super) fn program(namespace: &str, name: &str, image: &str, arguments: &[&str]) -> Program {
    Program {
        key: Key::new(namespace, name),
        image: image.to_owned(),
        arguments: arguments.iter().map(ToString::to_string).collect(),
        account: name.to_owned(),
        replicas: 2,
        ready: 2,
        ..Program::default()
    }
}

/// The Deployment of an operator of this version.
pub(super) fn operator(flags: &[&str]) -> Program {
    let image = format!("registry.example.org/stackflux:{}", env!("CARGO_PKG_VERSION"));
    let pod_labels = [("app.kubernetes.io/name".to_owned(), "stackflux".to_owned())].into();
    Program { pod_labels, ..program("flux-system", "stackflux", &image, &[&["operator"], flags].concat()) }
}

/// The Deployments of Flux; helm-controller has these flags.
pub(super) fn flux_programs(flags: &[&str]) -> Vec<Program> {
    let with = |name: &str, image: &str, flags: &[&str]| {
        let labels = [("app.kubernetes.io/version".to_owned(), "v2.9.2".to_owned())].into();
        Program { labels, ..program("flux-system", name, image, flags) }
    };
    vec![
        with("source-controller", "ghcr.io/fluxcd/source-controller:v1.9.0", &[]),
        with("kustomize-controller", "ghcr.io/fluxcd/kustomize-controller:v1.9.0", &[]),
        with("helm-controller", "ghcr.io/fluxcd/helm-controller:v1.6.0", flags),
    ]
}

/// A `ClusterStack` with these fields of its spec.
pub(super) fn stack(spec: &Value) -> Own {
    let mut all = json!({"provider": "docker", "name": "demo", "kubernetesVersion": "1.34"});
    all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    Own::of(&json!({"metadata": {"namespace": "demo", "name": "docker-demo-1-34"}, "spec": all}))
}

/// A Cluster of the stack's first release.
pub(super) fn cluster(namespace: &str) -> Cluster {
    let class = json!({"name": "docker-demo-1-34-v1", "namespace": "demo"});
    let infrastructure = json!({"apiGroup": INFRASTRUCTURE, "kind": "DockerCluster", "name": "one"});
    Cluster::new(json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"namespace": namespace, "name": "one"},
        "spec": {"topology": {"classRef": class}, "infrastructureRef": infrastructure},
    }))
    .unwrap()
}

/// A definition of a kind of Flux whose `spec.upgrade` has these fields.
pub(super) fn definition(name: &str, fields: &[&str]) -> CustomResourceDefinition {
    let fields: Map<_, _> =
        fields.iter().map(|field| ((*field).to_owned(), json!({"type": "string"}))).collect();
    let upgrade = json!({"type": "object", "properties": fields});
    let spec = json!({"type": "object", "properties": {"upgrade": upgrade}});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {
            "group": "helm.toolkit.fluxcd.io", "scope": "Namespaced",
            "names": {"kind": "HelmRelease", "plural": "helmreleases"},
            "versions": [{"name": "v2", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    }))
    .unwrap()
}

/// The facts with the answers to all questions about them.
pub(super) fn answered(facts: Facts, is_allowed: impl Fn(&Right) -> bool) -> Facts {
    let questions = rights::questions(&facts);
    let answers = questions.into_iter().map(|question| {
        let is_allowed = is_allowed(&question.right);
        (question, Answer { is_allowed, ..Answer::default() })
    });
    Facts { answers: Ok(answers.collect()), ..facts }
}

/// A cluster in which all is well.
pub(super) fn healthy() -> Facts {
    let now: Timestamp = "2026-11-29T12:00:00Z".parse().unwrap();
    let lease = OperatorLease {
        key: Key::new("flux-system", LEASE),
        renewed: now,
        holder: "stackflux-a".to_owned(),
        acquired: Some(now - SignedDuration::from_hours(3)),
    };
    let mut groups: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for kind in FluxKind::ALL {
        groups.entry(kind.group().to_owned()).or_default().insert(kind.version().to_owned());
    }
    groups.insert("cluster.x-k8s.io".to_owned(), ["v1beta2".to_owned()].into());
    let ours = api::custom_resource_definitions().into_iter();
    let helm = definition(HELM_RELEASES, &["timeout", "chartNameChangeStrategy"]);
    let definitions = ours.chain([helm]).map(|found| (found.metadata.name.clone().unwrap(), Ok(Some(found))));
    let core = program(
        "capi-system",
        "capi-controller-manager",
        "capi:v1.13.3",
        &["--feature-gates=ClusterTopology=true,RuntimeSDK=true"],
    );
    let kind = |kind: &str| Kind { group: INFRASTRUCTURE.to_owned(), kind: kind.to_owned() };
    let facts = Facts {
        now,
        kubernetes: Ok("v1.34.2".to_owned()),
        groups: Ok(groups),
        definitions: definitions.collect(),
        programs: Ok([flux_programs(&[]), vec![operator(&[]), core]].concat()),
        leases: Ok(vec![lease]),
        stacks: Ok(vec![stack(&json!({}))]),
        releases: Ok(Vec::new()),
        addons: Ok(Vec::new()),
        clusters: Ok(vec![cluster("demo")]),
        class_kinds: Ok([(kind("ExampleCluster"), Key::new("demo", "example"))].into()),
        helm_releases: Ok(2),
        webhooks: Ok(Vec::new()),
        extensions: Ok(Vec::new()),
        resources: ["DockerCluster", "ExampleCluster"]
            .map(|name| (kind(name), Some(format!("{}s", name.to_lowercase()))))
            .into(),
        answers: Ok(BTreeMap::new()),
    };
    answered(facts, |_| true)
}

/// Asserts subject, outcome and a part of the message of each check. What is not well has something to run, in one line.
#[track_caller]
pub(super) fn assert_found(checks: &[Check], expected: &[(&str, Outcome, &str)]) {
    assert_eq!(checks.len(), expected.len(), "{checks:#?}");
    for (check, (subject, outcome, part)) in checks.iter().zip(expected) {
        assert!(
            (check.check, check.outcome) == (*subject, *outcome) && check.message.contains(part),
            "{check:#?}: {part}"
        );
        assert_eq!(check.run.is_none(), *outcome == Outcome::Ok, "{check:#?}");
        assert!(
            !check.message.contains('\n') && check.run.as_ref().is_none_or(|run| !run.contains('\n')),
            "{check:#?}"
        );
        // A comment is no part of a command for each shell, nor for a program.
        assert!(check.run.as_ref().is_none_or(|run| !run.contains(" # ")), "{check:#?}");
        assert!(
            check.then.as_ref().is_none_or(|then| check.run.is_some() && then.ends_with('.')),
            "{check:#?}"
        );
    }
}

/// The outcomes of all checks.
fn outcomes(diagnosis: &Diagnosis) -> Vec<Outcome> {
    diagnosis.checks.iter().map(|check| check.outcome).collect()
}

#[test]
fn healthy_cluster_passes_all_checks() {
    for (diagnosis, number) in [(installed(&healthy()), 16), (before_install(&healthy()), 8)] {
        assert_eq!(outcomes(&diagnosis), vec![Outcome::Ok; number], "{diagnosis:#?}");
        assert!(diagnosis.is_healthy());
    }
}

/// A reader without any right: what depends on reading is never `ok`.
#[test]
fn reader_without_rights_learns_nothing_good() {
    fn not<T>() -> Read<T> {
        Err(forbidden("list", "", "secrets"))
    }
    let definitions = healthy().definitions.into_keys().map(|name| (name, not())).collect();
    let facts = Facts {
        now: healthy().now,
        kubernetes: not(),
        groups: not(),
        definitions,
        programs: not(),
        leases: not(),
        stacks: not(),
        releases: not(),
        addons: not(),
        clusters: not(),
        class_kinds: not(),
        helm_releases: not(),
        webhooks: not(),
        extensions: not(),
        resources: BTreeMap::new(),
        answers: not(),
    };
    for diagnosis in [installed(&facts), before_install(&facts)] {
        assert!(outcomes(&diagnosis).iter().all(|outcome| *outcome == Outcome::NotChecked), "{diagnosis:#?}");
        assert!(!diagnosis.is_healthy() && diagnosis.problems == 0);
    }
    let known = Facts { groups: healthy().groups, ..facts };
    assert!(outcomes(&installed(&known)).iter().all(|outcome| *outcome == Outcome::NotChecked));
}

#[test]
fn flags_of_a_deployment_are_read_like_pflag() {
    let program = Program::of(&json!({
        "metadata": {"namespace": "a", "name": "b", "labels": {"x": "y"}},
        "spec": {"replicas": 3, "template": {"spec": {"serviceAccountName": "c", "containers": [{
            "image": "registry:5000/team/b:v1@sha256:0", "command": ["/manager"],
            "args": ["--a", "--b=1", "--c", "2", "--b=3", "--bb=4", "--off=false", "--d"],
        }]}}},
        "status": {"readyReplicas": 2},
    }));
    let flags = ["a", "b", "c", "d", "e", "off"].map(|name| program.flag(name));
    assert_eq!(flags, [Some("true"), Some("3"), Some("2"), Some("true"), None, Some("false")]);
    assert!(program.has("a") && !program.has("off") && !program.has("e"));
    let Program { key, account, replicas, ready, .. } = &program;
    assert_eq!((key.to_string().as_str(), account.as_str(), replicas, ready), ("a/b", "c", &3, &2));
    assert_eq!((program.tag(), program.labels["x"].as_str()), ("v1", "y"));
}

#[test]
fn objects_of_other_versions_are_read_as_far_as_possible() {
    let object = json!({
        "metadata": {"namespace": "demo", "name": "a", "finalizers": ["x"]},
        "spec": {"kubernetesVersion": 1},
        "status": {"conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "SourceReady", "status": "False", "reason": "Lost", "message": "so"},
        ]},
    });
    let Own { key, finalizers, causes, stack } = Own::of(&object);
    assert_eq!(
        (key.to_string().as_str(), finalizers.as_slice(), stack),
        ("demo/a", &["x".to_owned()][..], None)
    );
    let [condition, reason, message] = ["SourceReady", "Lost", "so"].map(str::to_owned);
    assert_eq!(causes, [Cause { condition, reason, message }]);
    let service = json!({"namespace": "cso-system", "name": "hooks"});
    let webhooks = json!({
        "metadata": {"name": "cso"},
        "webhooks": [{"clientConfig": {"service": service}, "rules": [{"apiGroups": ["a", "b"]}, {"apiGroups": ["c"]}]}],
    });
    let expected = Webhook {
        kind: "ValidatingWebhookConfiguration",
        name: "cso".to_owned(),
        service: Key::new("cso-system", "hooks"),
        groups: ["a", "b", "c"].map(str::to_owned).into(),
    };
    assert_eq!(Webhook::of("ValidatingWebhookConfiguration", &webhooks), [expected]);
    let extension = json!({"metadata": {"name": "a"}, "spec": {"clientConfig": {"service": service}}});
    let expected = Extension { name: "a".to_owned(), service: Key::new("cso-system", "hooks") };
    assert_eq!(Extension::of(&extension), expected);
}
