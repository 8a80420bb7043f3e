//! Problems of a ClusterStack or a release itself: the condition that reports each, and the exit codes.

use std::fs;

use serde_json::{Value, json};

use crate::git::git;
use crate::operator::scenario::{STACK, Scenario, V1, V2};

/// A row of the table.
pub(super) struct StackSituation {
    /// The prefix of the namespace.
    pub(super) name: &'static str,
    /// The versions that the ClusterStack offers, unless `spec` names others.
    pub(super) versions: &'static [&'static str],
    /// Changes the releases before they are published.
    pub(super) prepare: fn(&Scenario),
    /// More of the ClusterStack's spec.
    pub(super) spec: fn() -> Value,
    /// Produces the situation, once the ClusterStack is ready; `None` if it never gets ready.
    pub(super) make: Option<fn(&Scenario)>,
    /// The object that reports the situation: its kind and its name.
    pub(super) object: (&'static str, &'static str),
    /// `Ready` of that object.
    pub(super) ready: &'static str,
    /// The reason of that `Ready`.
    pub(super) reason: &'static str,
}

const PLAIN: StackSituation = StackSituation {
    name: "",
    versions: &["v1"],
    prepare: |_| {},
    spec: || json!({}),
    make: None,
    object: ("clusterstack", STACK),
    ready: "False",
    reason: "",
};

pub(super) static STACK_SITUATIONS: &[StackSituation] = &[
    StackSituation { name: "no-source", spec: || json!({"source": null}), reason: "NoSource", ..PLAIN },
    StackSituation {
        name: "source-gone",
        spec: || json!({"source": {"gitRepositoryRef": {"name": "missing"}}}),
        reason: "SourceNotFound",
        ..PLAIN
    },
    StackSituation {
        name: "git-secret",
        spec: || {
            json!({"source": {"git": {
                "url": "https://git.example.invalid/stacks.git", "ref": {"branch": "main"}, "interval": "2s",
                "secretRef": {"name": "git"},
            }}})
        },
        reason: "AuthenticationFailed",
        ..PLAIN
    },
    StackSituation {
        name: "unpublished",
        spec: || json!({"versions": ["v1", "v9"]}),
        reason: "ReleaseNotFound",
        ..PLAIN
    },
    StackSituation {
        name: "invalid",
        versions: &["v1", "v2"],
        prepare: without_metadata,
        reason: "Invalid",
        ..PLAIN
    },
    StackSituation {
        name: "chart-missing",
        versions: &["v1", "v2"],
        prepare: without_chart,
        reason: "Invalid",
        ..PLAIN
    },
    StackSituation {
        name: "provider-kinds",
        prepare: unknown_machines,
        object: ("clusterstackrelease", V1),
        reason: "KindNotInstalled",
        ..PLAIN
    },
    StackSituation { name: "mutated", make: Some(mutated), reason: "ReleaseMutated", ..PLAIN },
    StackSituation {
        name: "frozen",
        make: Some(source_suspended),
        ready: "Unknown",
        reason: "Suspended",
        ..PLAIN
    },
    StackSituation {
        name: "source-refused",
        make: Some(source_refused),
        ready: "Unknown",
        reason: "DeliveryFailed",
        ..PLAIN
    },
    StackSituation {
        name: "class-refused",
        make: Some(class_refused),
        object: ("clusterstackrelease", V1),
        ready: "Unknown",
        reason: "DeliveryFailed",
        ..PLAIN
    },
    StackSituation {
        name: "claimed",
        make: Some(claimed),
        object: ("clusterstack", "second"),
        reason: "ReleaseClaimed",
        ..PLAIN
    },
    StackSituation {
        name: "provider",
        spec: || {
            json!({"noProvider": false, "providerRef": {
                "apiVersion": "infrastructure.clusterstack.x-k8s.io/v1alpha1",
                "kind": "DockerClusterStackReleaseTemplate", "name": "missing",
            }})
        },
        object: ("clusterstackrelease", V1),
        reason: "ProviderTemplateNotFound",
        ..PLAIN
    },
    StackSituation {
        name: "unpinned",
        make: Some(history_rewritten),
        object: ("clusterstackrelease", V1),
        reason: "PinUnreachable",
        ..PLAIN
    },
];

fn without_metadata(of: &Scenario) {
    fs::remove_file(of.path(&format!("releases/{V2}/metadata.yaml"))).unwrap();
}

fn without_chart(of: &Scenario) {
    let chart = format!("releases/{V2}/cluster-addon/{}/Chart.yaml", of.addon("app"));
    fs::remove_file(of.path(&chart)).unwrap();
}

/// The cluster class has a template of an infrastructure provider that is not installed.
fn unknown_machines(of: &Scenario) {
    let template = json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "VSphereMachineTemplate",
        "metadata": {"name": "control-plane-{{ .Chart.Version }}"}, "spec": {},
    });
    let file = of.path(&format!("releases/{V1}/cluster-class/templates/machines.yaml"));
    fs::write(file, template.to_string()).unwrap();
}

/// The content of a release in use changes in its directory.
fn mutated(of: &Scenario) {
    let chart = format!("releases/{V1}/cluster-addon/{}/templates/configmap.yaml", of.addon("app"));
    of.edit(&chart, "content: v1", "content: other");
    of.push("change a release in use");
}

/// A user suspends the followed GitRepository.
fn source_suspended(of: &Scenario) {
    of.patch("gitrepository", &format!("{STACK}-catalog"), &json!({"spec": {"suspend": true}}));
}

/// The followed GitRepository has to change, and an admission policy refuses that.
fn source_refused(of: &Scenario) {
    of.refuse("gitrepositories", &format!("{STACK}-catalog"));
    of.patch("clusterstack", STACK, &json!({"spec": {"source": {"git": {"interval": "3s"}}}}));
}

/// The HelmRelease of a class has to change, and an admission policy refuses that.
fn class_refused(of: &Scenario) {
    of.refuse("helmreleases", V1);
    of.patch("clusterstack", STACK, &json!({"spec": {"flux": {"interval": "9m"}}}));
}

/// A second ClusterStack offers the releases of the first.
fn claimed(of: &Scenario) {
    let first = of.get("clusterstack", STACK).unwrap();
    let metadata = json!({"name": "second", "namespace": of.namespace, "labels": {"test": of.namespace}});
    let second = json!({
        "apiVersion": first["apiVersion"], "kind": "ClusterStack", "metadata": metadata, "spec": first["spec"],
    });
    of.management().apply(&second.to_string()).unwrap();
}

/// The branch loses the commit that the release is pinned to, and Flux fetches the pin again.
fn history_rewritten(of: &Scenario) {
    let work_tree = of.path("");
    git(&work_tree, &["checkout", "--quiet", "--orphan", "rewritten"]);
    git(&work_tree, &["commit", "--quiet", "--allow-empty", "--message", "a new history"]);
    git(&work_tree, &["push", "--quiet", "--force", &of.url(), "HEAD:main"]);
    let reset = json!({"spec": {"timeout": "31s"}});
    of.patch("gitrepository", V1, &reset);
}
