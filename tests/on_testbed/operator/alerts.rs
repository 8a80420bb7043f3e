//! The alerts of `monitoring/` over what a real operator reports: each fires in a bad state, and ends in the good one.

pub(crate) mod series;

use std::net::TcpListener;

use serde_json::{Value, json};
use stackflux_testbed::Operator;

use super::scenario::{STACK, Scenario, V1, V2, condition, eventually, leads};
use series::{Course, Scrape};

/// Nothing listens there.
const NOWHERE: &str = "127.0.0.1:1";
/// ClusterStacks with a source or a destination that fails, each with the condition that says so, and its reason.
const BROKEN: [(&str, &str, &str); 4] = [
    ("no-source", "SourceReady", "GitOperationFailed"),
    ("no-upstream", "ReleasesPublished", "UpstreamUnavailable"),
    ("no-delivery", "Delivered", "PushFailed"),
    ("no-secret", "Delivered", "SecretInvalid"),
];
/// ClusterStacks whose registry never answers.
const SILENT: [&str; 2] = ["silent-one", "silent-two"];

/// Applies a ClusterStack for another version of Kubernetes, with no release.
fn apply_stack(scenario: &Scenario<'_>, name: &str, minor: usize, more: &Value) {
    let mut stack = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
        "metadata": {"name": name, "namespace": scenario.namespace, "labels": {"test": scenario.namespace}},
        "spec": {
            "provider": "docker", "name": "demo", "kubernetesVersion": format!("1.{minor}"), "noProvider": true,
            "source": {"git": {"url": scenario.url(), "ref": {"branch": "main"}, "interval": "2s"}},
        },
    });
    for (field, value) in more.as_object().unwrap() {
        stack["spec"][field] = value.clone();
    }
    scenario.management().apply(&stack.to_string()).unwrap();
}

fn upstream(scenario: &Scenario<'_>, address: &str) -> Value {
    let upstream = json!({"url": format!("oci://{address}/stacks"), "interval": "2s", "insecure": true});
    let git = json!({"url": scenario.url(), "ref": {"branch": "main"}, "interval": "2s"});
    json!({"source": {"git": git, "upstream": upstream}})
}

#[test]
fn alerts_fire_in_bad_states_and_end() {
    let scenario = Scenario::shared("alerts");
    scenario.publish(&[V1]);
    let operator = scenario.operator_as(scenario.testbed.operator_kubeconfig(), &["--concurrent=1"]);
    scenario.apply_stack(&["v1"], &json!({}));
    scenario.create_cluster("a", V1, "one");
    let good = good_scrape(&scenario, &operator);
    for kind in ["ClusterAddon", "ClusterStackRelease"] {
        let count = format!(
            "stackflux_convergence_seconds_count{{namespace=\"flux-system\",pod=\"a\",kind=\"{kind}\""
        );
        assert!(good.value(&count).is_some_and(|count| count > 0.5), "nothing of {kind} converged");
    }

    let registry = TcpListener::bind("127.0.0.1:0").unwrap();
    break_everything(&scenario, &registry.local_addr().unwrap().to_string());
    // One is being listed, and the other waits.
    let waiting = r#"stackflux_queue_depth{namespace="flux-system",pod="a",queue="Publish""#;
    let is_stuck = |scrape: &Scrape| scrape.value(waiting).is_some_and(|depth| depth > 0.5);
    eventually("the registry blocks the queue", || is_stuck(&Scrape::of(&[("a", &operator)])));
    let bad = Scrape::of(&[("a", &operator)]);
    drop(registry);
    repair(&scenario);
    let again = good_scrape(&scenario, &operator);
    Course { before: &good, bad: &bad, good: &again }.assert_fires(
        "fleet",
        &[
            "StackfluxClusterStackNotReady",
            "StackfluxClusterStuck",
            "StackfluxClustersFailing",
            "StackfluxDeliveryFailing",
            "StackfluxPublishFailing",
            "StackfluxQueueStuck",
            "StackfluxReconcileErrors",
            "StackfluxReleaseNotUsable",
            "StackfluxRemoteOperationsFailing",
            "StackfluxSourceUnavailable",
        ],
    );
    leaders_are_watched(&again);
}

/// Waits until everything is ready, and nothing waits for the operator.
fn good_scrape(scenario: &Scenario<'_>, operator: &Operator) -> Scrape {
    scenario.wait_addons("a");
    scenario.wait("clusterstack", STACK, "Ready and ClustersReady", |stack| {
        ["Ready", "ClustersReady"].map(|kind| condition(stack, kind).0) == ["True"; 2]
    });
    let waits = |operator: &Operator| {
        let metrics = operator.metrics().unwrap();
        metrics.iter().any(|(sample, value)| {
            *value > 0.0 && (sample.starts_with("stackflux_queue_depth") || is_unready(sample))
        })
    };
    eventually("nothing waits", || !waits(operator));
    Scrape::of(&[("a", operator)])
}

/// Whether a sample says that a Cluster is not ready.
fn is_unready(sample: &str) -> bool {
    sample.starts_with("stackflux_oldest_unready") || sample.starts_with("stackflux_clusters{ready=\"False\"")
}

/// A release is invalid, its Cluster cannot have it, the API server refuses objects, and no host can be reached.
fn break_everything(scenario: &Scenario<'_>, silent: &str) {
    // The repository never has it as a valid release: its content would be the first, and stay in use.
    scenario.derive(V1, V2);
    scenario.edit(&format!("releases/{V2}/metadata.yaml"), "versions:", "versions: 1 #");
    scenario.push("an invalid release");
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    scenario.create_cluster("b", V2, "two");
    let git = json!({"url": format!("http://{NOWHERE}/none"), "ref": {"branch": "main"}, "interval": "2s"});
    apply_stack(scenario, "no-source", 20, &json!({"source": {"git": git}}));
    apply_stack(scenario, "no-upstream", 21, &upstream(scenario, NOWHERE));
    let git = json!({"url": format!("http://{NOWHERE}/none"), "path": "stacks"});
    apply_stack(scenario, "no-delivery", 22, &json!({"delivery": {"mode": "Git", "git": git}}));
    let git = json!({"url": scenario.url(), "path": "stacks", "secretRef": {"name": "missing"}});
    apply_stack(scenario, "no-secret", 25, &json!({"delivery": {"mode": "Git", "git": git}}));
    scenario.refuse("helmreleases", &scenario.object("a", "ccm"));
    scenario.set_endpoint("a", "refused.example.org");

    let is_false = |kind: &'static str| move |object: &Value| condition(object, kind).0 == "False";
    scenario.wait("clusterstackrelease", V2, "not usable", is_false("Ready"));
    scenario.wait("clusterstack", STACK, "not ready", is_false("Ready"));
    scenario.wait("clusteraddon", "cluster-addon-b", "not ready", is_false("Ready"));
    let is_refused = |addon: &Value| condition(addon, "Ready").1 == "DeliveryFailed";
    scenario.wait("clusteraddon", "cluster-addon-a", "refused", is_refused);
    for (name, kind, reason) in BROKEN {
        scenario.wait("clusterstack", name, reason, |stack| condition(stack, kind).1 == reason);
    }
    // The queue has one worker: the other stacks must have reported before.
    for (minor, name) in (23..).zip(SILENT) {
        apply_stack(scenario, name, minor, &upstream(scenario, silent));
    }
}

/// Ends all of that.
fn repair(scenario: &Scenario<'_>) {
    scenario.refuse_no_more("helmreleases", &scenario.object("a", "ccm"));
    scenario.clusters.delete(&scenario.namespace, &["b".to_owned()]).unwrap();
    scenario.edit(&format!("releases/{V2}/metadata.yaml"), "versions: 1 #", "versions:");
    scenario.push("a valid release");
    let extra = || BROKEN.iter().map(|(name, ..)| *name).chain(SILENT);
    for name in extra() {
        let orphan = json!({"metadata": {"annotations": {"clusterstack.x-k8s.io/on-delete": "Orphan"}}});
        scenario.patch("clusterstack", name, &orphan);
        let namespace = format!("--namespace={}", scenario.namespace);
        let delete = ["delete", "clusterstack", name, &namespace, "--wait=false"];
        scenario.management().kubectl(&delete).unwrap();
    }
    scenario.wait_gone("clusteraddon", "cluster-addon-b");
    extra().for_each(|name| scenario.wait_gone("clusterstack", name));
}

/// The alerts about Pods: none is scraped, none leads, two lead.
fn leaders_are_watched(good: &Scrape) {
    let empty = Scenario::shared("alerts-empty");
    let candidate = || empty.candidate(empty.testbed.operator_kubeconfig(), &[]);
    let leader = candidate();
    eventually("it leads", || leads(&leader));
    let standby = candidate();
    eventually("it answers", || standby.metrics().is_ok());
    let none = Scrape::of(&[]);
    let down = Course { before: good, bad: &none, good };
    down.assert_fires("down", &["StackfluxDown"]);
    let (no_leader, two) = (Scrape::of(&[("a", &standby)]), good.clone().and("b", &leader));
    Course { before: good, bad: &no_leader, good }.assert_fires("no-leader", &["StackfluxNoLeader"]);
    Course { before: good, bad: &two, good }.assert_fires("leaders", &["StackfluxSeveralLeaders"]);
}
