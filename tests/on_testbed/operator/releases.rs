//! The life of releases: broken, changed, retired, held, orphaned and taken over.

use std::fs;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use stackflux::subscription::RETIREMENT_DELAY;
use stackflux_testbed::Operator;

use super::scenario::{STACK, Scenario, V1, V2, condition, eventually};
use super::state::generations;
use crate::support::{Run, stackflux};

const V3: &str = "docker-demo-1-34-v3";
/// The stages of the third release.
const STAGES: &str = "releases/docker-demo-1-34-v3/clusteraddon.yaml";

fn says(object: &Value, kind: &str, reason: &str) -> bool {
    condition(object, kind).1 == reason
}

/// A ClusterStack that offers two releases, and an operator.
fn offered(name: &str) -> (Scenario<'static>, Operator) {
    let scenario = Scenario::shared(name);
    scenario.publish(&[V1, V2]);
    let operator = scenario.operator();
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    scenario.wait_ready("clusterstack", STACK);
    (scenario, operator)
}

/// Where a release names conditions to wait for, and where a ClusterStack lets an upgrade wait for what moves after it.
#[test]
fn release_with_a_wait_is_refused_until_it_is_ignored() {
    let (scenario, _operator) = offered("waits");
    scenario.derive(V1, V3);
    scenario.edit(
        STAGES,
        "action: apply\n    - name:",
        "action: apply\n      waitForPostCondition: {conditions: a}\n    - name:",
    );
    scenario.push("a release that waits");
    scenario.apply_stack(&["v1", "v2", "v3"], &json!({}));
    scenario.create_cluster("waiting", V3, "one");
    let refused = scenario.wait("clusterstackrelease", V3, "refused", |release| {
        says(release, "ReleaseValid", "WaitNotSupported")
    });
    let message = condition(&refused, "ReleaseValid").2;
    assert!(message.starts_with("clusteraddon.yaml:8:7: waitForPostCondition is not supported"), "{message}");
    let addon = scenario.wait("clusteraddon", "cluster-addon-waiting", "told of it", |addon| {
        says(addon, "ReleaseReady", "WaitNotSupported")
    });
    assert!(addon["status"].get("addons").is_none(), "nothing is delivered: {addon:#}");

    scenario.apply_stack(&["v1", "v2", "v3"], &json!({"flux": {"waits": "Ignore"}}));
    let addon = scenario.wait_at("waiting", V3);
    let cni =
        addon["status"]["addons"].as_array().unwrap().iter().find(|of| of["name"] == scenario.addon("cni"));
    let message = cni.unwrap()["message"].as_str().unwrap();
    let ignored = "ignores waitForPostCondition at AfterControlPlaneInitialized and waitForPostCondition at BeforeClusterUpgrade, as \
                   spec.flux.waits says";
    assert!(message.contains(ignored), "{message}");

    // The CNI moves before an upgrade, and monitoring after it.
    let needs = json!({scenario.addon("cni"): {"dependsOn": [scenario.addon("monitoring")]}});
    scenario.apply_stack(&["v1", "v2", "v3"], &json!({"flux": {"waits": "Ignore", "addons": needs}}));
    let refused = scenario.wait("clusterstackrelease", V3, "refused for a dependency", |release| {
        says(release, "ReleaseValid", "DependencyInvalid")
    });
    let message = condition(&refused, "ReleaseValid").2;
    assert!(message.contains("cni.dependsOn: ") && message.ends_with("neither would move"), "{message}");
    scenario.apply_stack(&["v1", "v2", "v3"], &json!({"flux": {"waits": "Ignore"}}));
    scenario.wait_at("waiting", V3);
    scenario.assert_nothing_uninstalled("one");
}

#[test]
fn invalid_release_is_reported_and_affects_no_other() {
    let (scenario, _operator) = offered("wrong");
    let mut before = generations(&scenario);

    scenario.derive(V1, V3);
    scenario.edit(STAGES, "action: apply", "action: aply");
    scenario.edit(&format!("releases/{V2}/metadata.yaml"), "versions:", "# changed\nversions:");
    scenario.push("a broken release, and one that was changed");
    scenario.apply_stack(&["v1", "v2", "v3", "v9"], &json!({}));
    let stack = scenario.wait("clusterstack", STACK, "told of three releases", |stack| {
        let message = condition(stack, "ReleasesSynced").2;
        [
            "v2: the stack repository has other content",
            "v3: clusteraddon.yaml:",
            "v9: the stack repository has no",
        ]
        .iter()
        .all(|part| message.contains(part))
    });
    assert_eq!(condition(&stack, "ReleasesSynced").0, "False");
    let broken = scenario
        .wait("clusterstackrelease", V3, "broken", |release| says(release, "ReleaseValid", "UnknownAction"));
    assert!(broken["spec"].get("source").is_none(), "it is pinned only when it can be used");
    scenario.wait("clusterstackrelease", V2, "mutated", |release| {
        says(release, "ReleaseValid", "ReleaseMutated")
    });
    for release in [V1, V2] {
        assert_eq!(condition(&scenario.get("clusterstackrelease", release).unwrap(), "Ready").0, "True");
    }
    let catalog = format!("GitRepository {STACK}-catalog");
    let mut after = generations(&scenario);
    for generations in [&mut before, &mut after] {
        generations.remove(&catalog).unwrap();
    }
    assert_eq!(before, after);

    // The errors in a release are not reported of a release that does not exist.
    fs::remove_dir_all(scenario.path(&format!("releases/{V3}"))).unwrap();
    scenario.push("the broken release is taken back");
    scenario.wait("clusterstackrelease", V3, "no release any longer", |release| {
        says(release, "ReleaseValid", "ReleaseNotFound")
    });
    scenario.derive(V1, V3);
    scenario.push("the third release is published again");
    scenario.wait_ready("clusterstackrelease", V3);

    let catalog = format!("{STACK}-catalog");
    refused_request_is_reported_in_an_event(&scenario, ("clusterstack", STACK), &catalog);
    refused_request_is_reported_in_an_event(&scenario, ("clusterstackrelease", V1), V1);
}

/// A request to reconcile that the API server refuses for the `GitRepository` is handled, and changes nothing else; the
/// next request succeeds.
fn refused_request_is_reported_in_an_event(
    scenario: &Scenario,
    (kind, name): (&str, &str),
    repository: &str,
) {
    let ask = |token: &str| {
        let request = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": token}}});
        scenario.patch(kind, name, &request);
        scenario.wait(kind, name, "handled", |found| found["status"]["lastHandledReconcileAt"] == token)
    };
    let is_asked = |token: &str| {
        let repository = scenario.get("gitrepository", repository).unwrap();
        repository["metadata"]["annotations"]["reconcile.fluxcd.io/requestedAt"] == token
    };
    let ready = |found: &Value| condition(found, "Ready").1.to_owned();
    let before = ready(&scenario.get(kind, name).unwrap());
    scenario.refuse("gitrepositories", repository);
    assert_eq!(ready(&ask("first")), before);
    assert!(!is_asked("first"));
    eventually("an event says why", || {
        scenario.list("events").iter().any(|event| {
            let [about, reason, note] =
                ["/involvedObject/name", "/reason", "/message"].map(|pointer| crate::text(event, pointer));
            (about, reason) == (name, "DeliveryFailed")
                && note.contains("the request to reconcile is not handed on")
                && note.contains("refused by the test")
        })
    });
    scenario.refuse_no_more("gitrepositories", repository);
    assert_eq!(ready(&ask("second")), before);
    assert!(is_asked("second"));
}

/// The status and the reason of a condition.
fn state_of<'a>(object: &'a Value, kind: &str) -> (&'a str, &'a str) {
    let (status, reason, _) = condition(object, kind);
    (status, reason)
}

#[test]
fn clusters_in_trouble_leave_the_stack_ready() {
    let (scenario, _operator) = offered("counted");
    scenario.create_cluster("a", V1, "one");
    scenario.create_cluster("b", V1, "two");
    scenario.wait_addons("a");
    scenario.wait_addons("b");
    let sum = |object: &Value| condition(object, "ClustersReady").2.to_owned();
    let is = |expected: &'static str| move |stack: &Value| sum(stack) == expected;
    scenario.wait("clusterstack", STACK, "2 of 2", is("2 of 2 Clusters are ready"));

    // A release that does not exist, of a Cluster that has one, and of a new one.
    let v99 = "docker-demo-1-34-v99";
    scenario.upgrade("a", v99);
    scenario.create_cluster("c", v99, "one");
    for cluster in ["a", "c"] {
        let addon = scenario.wait("clusteraddon", &format!("cluster-addon-{cluster}"), "told", |addon| {
            state_of(addon, "ReleaseReady") == ("False", "ReleaseNotFound")
                && state_of(addon, "Ready") == ("False", "ReleaseNotFound")
        });
        let message = condition(&addon, "ReleaseReady").2;
        assert!(message.contains(v99) && message.contains(STACK), "{message}");
        for kind in ["ValuesRendered", "Delivered"] {
            assert_eq!(state_of(&addon, kind), ("Unknown", "ReleaseNotFound"), "{addon:#}");
        }
    }
    let addon = scenario.get("clusteraddon", "cluster-addon-a").unwrap();
    let message = condition(&addon, "AddonsReady").2;
    let expected = format!("4 of 4 addons of {V1}; {v99} is not delivered");
    assert_eq!(message, expected, "the numbers name their release");
    let stack = scenario.wait("clusterstack", STACK, "2 of 3 are not ready", |stack| {
        sum(stack).starts_with("2 of 3 Clusters are not ready: 2 ReleaseNotFound")
    });
    assert_eq!(state_of(&stack, "ClustersReady"), ("False", "ReleaseNotFound"));
    assert_eq!(state_of(&stack, "Ready"), ("True", "Usable"), "{stack:#}");
    let synced = condition(&stack, "ReleasesSynced").2;
    assert!(synced.contains("v99: the stack repository has no such release at"), "{synced}");
    assert!(synced.contains("2 Clusters have its class"), "{synced}");

    for arguments in [&["status"][..], &["tree"], &["why", "a"], &["why", "c"]] {
        let run = live(&scenario, arguments);
        assert_eq!(run.code, 1, "{arguments:?}: {}{}", run.stdout, run.stderr);
        assert!(run.stdout.contains("ReleaseNotFound") || run.stdout.contains(v99), "{}", run.stdout);
    }

    // A Kubernetes version other than that of the release.
    scenario.upgrade("a", V1);
    scenario.clusters.delete(&scenario.namespace, &["c".to_owned()]).unwrap();
    scenario.wait("clusterstack", STACK, "2 of 2 again", is("2 of 2 Clusters are ready"));
    scenario.wait_gone("clusteraddon", "cluster-addon-c");
    for arguments in [&["status"][..], &["tree"], &["why", "a"]] {
        let run = live(&scenario, arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}{}", run.stdout, run.stderr);
    }
    let version = |version: &str| {
        let patch = json!({"spec": {"topology": {"version": version}}});
        scenario.clusters.patch(&scenario.namespace, "a", &patch).unwrap();
    };
    version("v1.34.9");
    let stack = scenario.wait("clusterstack", STACK, "1 of 2 is not ready", |stack| {
        state_of(stack, "ClustersReady") == ("False", "KubernetesVersionMismatch")
    });
    assert_eq!(state_of(&stack, "Ready"), ("True", "Usable"), "{stack:#}");
    let addon = scenario.get("clusteraddon", "cluster-addon-a").unwrap();
    assert_eq!(condition(&addon, "AddonsReady").2, format!("4 of 4 addons of {V1}"));
    assert_eq!(state_of(&addon, "Ready"), ("False", "KubernetesVersionMismatch"));
    for arguments in [&["status"][..], &["tree"], &["why", "a"]] {
        assert_eq!(live(&scenario, arguments).code, 1, "{arguments:?}");
    }

    // And another release, of which nothing is delivered.
    scenario.clusters.upgrade(&scenario.namespace, "a", V2, "v1.34.9").unwrap();
    let of_v1 = format!("4 of 4 addons of {V1}; {V2} is not delivered");
    let addon = scenario.wait("clusteraddon", "cluster-addon-a", "numbers of the old release", |addon| {
        condition(addon, "AddonsReady").2 == of_v1
    });
    assert_eq!(state_of(&addon, "Ready"), ("False", "KubernetesVersionMismatch"));
    assert_eq!(state_of(&addon, "Delivered"), ("Unknown", "KubernetesVersionMismatch"));
}

/// The command line, with the kubeconfig of an administrator.
pub(super) fn live(scenario: &Scenario, arguments: &[&str]) -> Run {
    let kubeconfig = scenario.management().kubeconfig();
    let access = ["--kubeconfig", kubeconfig.to_str().unwrap(), "--namespace", &scenario.namespace];
    stackflux(&[arguments, &access].concat())
}

#[test]
fn unused_release_is_removed_and_used_one_is_held() {
    let (scenario, _operator) = offered("retire");
    scenario.create_cluster("a", V1, "one");
    scenario.wait_addons("a");

    // v1 is used, v2 is not.
    let of_v2 = || {
        let kinds = ["clusterclass", "gitrepository", "helmchart", "helmrelease"];
        kinds.map(|kind| scenario.get(kind, V2).is_some())
    };
    assert_eq!(of_v2(), [true; 4]);
    scenario.apply_stack(&[], &json!({"revisionHistoryLimit": 0}));
    // It is deleted after its ten minutes, and not before.
    let end = Timestamp::now() + SignedDuration::from_secs(8);
    scenario.retire_since(V2, &(end - RETIREMENT_DELAY).to_string());
    scenario.wait_gone("clusterstackrelease", V2);
    assert!(Timestamp::now() >= end, "it went before its time");
    assert_eq!(of_v2(), [false; 4]);
    assert!(scenario.get("clusterclass", V1).is_some());

    held_let_go_and_taken_over(&scenario);
}

fn held_let_go_and_taken_over(scenario: &Scenario) {
    let namespace = format!("--namespace={}", scenario.namespace);
    let delete = || {
        scenario.management().kubectl(&["delete", "clusterstack", STACK, &namespace, "--wait=false"]).unwrap()
    };
    delete();
    let stack = scenario.wait("clusterstack", STACK, "held", |stack| says(stack, "Ready", "InUse"));
    assert!(condition(&stack, "Ready").2.contains("1 Cluster uses its releases"), "{stack}");
    let before = generations(scenario);
    let orphan = json!({"metadata": {"annotations": {"clusterstack.x-k8s.io/on-delete": "Orphan"}}});
    scenario.patch("clusterstack", STACK, &orphan);
    scenario.wait_gone("clusterstack", STACK);
    assert!(scenario.get("clusterstackrelease", V1).is_none());
    let class = scenario.get("helmrelease", V1).unwrap();
    assert_eq!(class["spec"]["suspend"], true);
    assert!(!class["metadata"]["ownerReferences"].to_string().contains("ClusterStackRelease"), "{class}");
    assert!(generations(scenario).keys().eq(before.keys()), "all is still there");

    scenario.apply_stack(&["v1"], &json!({}));
    scenario.wait_ready("clusterstack", STACK);
    assert!(scenario.get("helmrelease", V1).unwrap()["spec"].get("suspend").is_none());
    scenario.wait_addons("a");

    delete();
    scenario.management().kubectl(&["delete", "cluster", "a", &namespace, "--wait=false"]).unwrap();
    scenario.wait_gone("clusterstack", STACK);
    eventually("nothing is left", || generations(scenario).is_empty());
}

#[test]
fn class_with_shared_object_is_kept() {
    let scenario = Scenario::shared("shares");
    let shared = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared}\n";
    scenario.publish(&[V1, V2]);
    for release in [V1, V2] {
        let file = scenario.path(&format!("releases/{release}/cluster-class/templates/shared.yaml"));
        std::fs::write(file, shared).unwrap();
    }
    scenario.push("both have it");
    let _operator = scenario.operator();
    scenario.apply_stack(&["v1", "v2"], &json!({}));
    scenario.wait_ready("clusterstack", STACK);
    scenario.apply_stack(&["v2"], &json!({"revisionHistoryLimit": 0}));
    scenario.retire(V1);
    let release =
        scenario.wait("clusterstackrelease", V1, "kept", |release| says(release, "InUse", "SharesObjects"));
    assert!(condition(&release, "InUse").2.contains("ConfigMap"), "{release}");
    assert!(release["metadata"].get("deletionTimestamp").is_none());
    assert!(scenario.get("configmap", "shared").is_some());
}

/// A provider's kind, whose objects may have any fields.
fn provider_kind(kind: &str) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.provider.example.org")},
        "spec": {
            "group": "provider.example.org", "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}},
            }],
        },
    })
}

#[test]
fn class_waits_for_the_provider() {
    let scenario = Scenario::shared("provider");
    let apply = |object: &Value| scenario.management().apply(&object.to_string()).unwrap();
    for kind in ["DemoClusterStackRelease", "DemoClusterStackReleaseTemplate"] {
        apply(&provider_kind(kind));
    }
    let template = json!({
        "apiVersion": "provider.example.org/v1", "kind": "DemoClusterStackReleaseTemplate",
        "metadata": {"name": "demo", "namespace": scenario.namespace},
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {"cloud": "one"}}},
    });
    eventually("the kind is served", || scenario.management().apply(&template.to_string()).is_ok());
    scenario.publish(&[V1]);
    let _operator = scenario.operator();
    let reference = json!({
        "apiVersion": "provider.example.org/v1", "kind": "DemoClusterStackReleaseTemplate", "name": "demo",
    });
    scenario.apply_stack(&["v1"], &json!({"noProvider": false, "providerRef": reference}));
    let object = scenario.wait("democlusterstackrelease", V1, "there", |_| true);
    assert_eq!(object["spec"], json!({"cloud": "one"}));
    assert_eq!(object["metadata"]["labels"]["a"], "b");
    assert_eq!(object["metadata"]["ownerReferences"][0]["controller"], true);
    scenario.wait("clusterstackrelease", V1, "waiting", |release| {
        says(release, "ClusterClassReady", "WaitingForProvider")
            && says(release, "ProviderReady", "ProviderNotReady")
    });
    assert!(scenario.get("helmrelease", V1).is_none());

    let namespace = format!("--namespace={}", scenario.namespace);
    let ready = [
        "patch",
        "democlusterstackrelease",
        V1,
        &namespace,
        "--subresource=status",
        "--type=merge",
        "--patch={\"status\":{\"ready\":true}}",
    ];
    scenario.management().kubectl(&ready).unwrap();
    scenario.wait_ready("clusterstackrelease", V1);
    scenario.patch(
        "democlusterstackreleasetemplate",
        "demo",
        &json!({"spec": {"template": {"spec": {"cloud": "two"}}}}),
    );
    scenario
        .wait("democlusterstackrelease", V1, "as its template", |object| object["spec"]["cloud"] == "two");
}
