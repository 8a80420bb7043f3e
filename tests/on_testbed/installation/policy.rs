//! The optional admission policies of `flux/policy`.

use std::fs;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stackflux_testbed::Testbed;

use super::{TIMEOUT, built, installed};
use crate::support::scratch;

const OPERATOR: &str = "--as=system:serviceaccount:flux-system:stackflux";
const RELEASES: [(&str, &str); 2] = [("docker-demo-1-33-v1", "v1.33.4"), ("docker-demo-1-34-v1", "v1.34.0")];

/// A namespace in which the policies apply and two releases are known. Elsewhere the policy for Clusters does not apply:
/// other tests have Clusters that it would refuse.
fn namespace() -> &'static str {
    static NAMESPACE: OnceLock<String> = OnceLock::new();
    NAMESPACE.get_or_init(|| {
        let namespace = Testbed::shared().namespace("policy").unwrap();
        for (name, version) in RELEASES {
            let (api_version, kind) = ("clusterstack.x-k8s.io/v1alpha1", "ClusterStackRelease");
            let metadata = json!({"name": name, "namespace": namespace});
            let release = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {}});
            installed().apply(&release.to_string()).unwrap();
            let status = json!({"status": {"kubernetesVersion": version}}).to_string();
            let patch = [
                "patch",
                "cskr",
                name,
                "-n",
                &namespace,
                "--subresource=status",
                "--type=merge",
                "-p",
                &status,
            ];
            installed().kubectl(&patch).unwrap();
        }
        // A Cluster older than the policy, with a version that does not fit its release.
        apply(&cluster_of(&namespace, "before", "v1beta2", &with_class_ref(RELEASES[1].0), "v1.29.0"))
            .unwrap();
        let policies = built("policy");
        let only_here =
            json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}});
        let here = format!("  matchResources: {only_here}\n  paramRef:");
        assert_eq!(policies.matches("  paramRef:").count(), 2);
        installed().apply(&policies.replace("  paramRef:", &here)).unwrap();
        wait_until_enforced(&namespace);
        namespace
    })
}

/// Returns a `ClusterStack` with another name than that of the releases.
fn stack(namespace: &str, gate: &str) -> Value {
    let metadata = json!({"name": "gated", "namespace": namespace});
    let spec = json!({
        "provider": "docker", "name": "gate", "kubernetesVersion": "1.34", "noProvider": true, "upgradeGate": gate,
        "source": {"git": {"url": "https://git.example.org/stacks.git"}},
    });
    json!({"apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack", "metadata": metadata, "spec": spec})
}

/// The API server follows policies and releases within moments, one after the other.
fn wait_until_enforced(namespace: &str) {
    let start = Instant::now();
    for (class, _) in RELEASES {
        let wrong = cluster_of(namespace, "probe", "v1beta2", &with_class_ref(class), "v1.1.0");
        while dry_run(&wrong).is_ok()
            || as_operator(&["create", "namespace", "probe", "--dry-run=server"]).is_ok()
        {
            assert!(start.elapsed() < TIMEOUT, "the policies do not hold");
            thread::sleep(Duration::from_millis(200));
        }
    }
}

fn with_class_ref(class: &str) -> Value {
    json!({"classRef": {"name": class}})
}

fn cluster_of(namespace: &str, name: &str, api: &str, class: &Value, version: &str) -> Value {
    let mut topology = class.clone();
    topology["version"] = version.into();
    json!({
        "apiVersion": format!("cluster.x-k8s.io/{api}"),
        "kind": "Cluster",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"topology": topology},
    })
}

fn apply(object: &Value) -> Result<(), String> {
    installed().apply(&object.to_string()).map_err(|error| error.to_string())
}

fn dry_run(object: &Value) -> Result<String, String> {
    let file = scratch("policy-dry-run").join("object.json");
    fs::write(&file, object.to_string()).unwrap();
    let arguments = ["apply", "--server-side", "--dry-run=server", "-f", file.to_str().unwrap()];
    installed().kubectl(&arguments).map_err(|error| error.to_string())
}

fn as_operator(arguments: &[&str]) -> Result<String, String> {
    let arguments = [&[OPERATOR], arguments].concat();
    installed().kubectl(&arguments).map_err(|error| error.to_string())
}

#[test]
fn cluster_version_must_match_its_release() {
    let namespace = namespace();
    let [(old, _), (new, _)] = RELEASES;
    let by_reference = with_class_ref;
    let by_name = |class: &str| json!({"class": class});
    let elsewhere = json!({"classRef": {"name": new, "namespace": "elsewhere"}});
    let here = json!({"classRef": {"name": new, "namespace": namespace}});
    // Each is applied over the result of those before it.
    let cases = [
        ("one", "v1beta2", by_reference(new), "v1.34.0", true),
        ("one", "v1beta2", by_reference(new), "v1.34.1", false),
        ("one", "v1beta2", by_reference(old), "v1.34.0", false),
        ("one", "v1beta2", by_reference(old), "v1.33.4", true),
        ("two", "v1beta2", here, "v1.33.4", false),
        ("two", "v1beta1", by_name(new), "v1.33.4", false),
        ("two", "v1beta1", by_name(new), "1.34.0", true),
        ("three", "v1beta2", by_reference("somebody-elses"), "v1.20.0", true),
        ("four", "v1beta2", elsewhere, "v1.20.0", true),
    ];
    for (name, api, class, version, admitted) in cases {
        let outcome = apply(&cluster_of(namespace, name, api, &class, version));
        assert_eq!(outcome.is_ok(), admitted, "{name} {api} {class} {version}: {outcome:?}");
        if let Err(refusal) = outcome {
            let expected = format!("spec.topology.version is {version}, but release docker-demo-1-3");
            assert!(refusal.contains(&expected), "{refusal}");
        }
    }
}

#[test]
fn mismatched_cluster_allows_other_changes() {
    let namespace = namespace();
    let annotate = ["annotate", "cluster", "before", "-n", namespace, "note=still-here"];
    installed().kubectl(&annotate).unwrap();
    let class = with_class_ref(RELEASES[1].0);
    let refusal = apply(&cluster_of(namespace, "before", "v1beta2", &class, "v1.30.0")).unwrap_err();
    assert!(refusal.contains("is for v1.34.0"), "{refusal}");
    apply(&cluster_of(namespace, "before", "v1beta2", &class, "v1.34.0")).unwrap();
}

#[test]
fn operator_writes_only_its_namespaces() {
    let namespace = namespace();
    let expected = "stackflux may write only namespaces with the label";
    for refused in [
        &["delete", "namespace", namespace][..],
        &["create", "namespace", "policy-without-label", "--dry-run=server"],
        &["label", "namespace", namespace, "app.kubernetes.io/managed-by=stackflux"],
    ] {
        let refusal = as_operator(refused).unwrap_err();
        assert!(refusal.contains(expected), "{refusal}");
    }
    let name = format!("{namespace}-helm");
    let labels = json!({"app.kubernetes.io/managed-by": "stackflux"});
    let object =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
    let file = scratch("policy-namespace").join("namespace.json");
    fs::write(&file, object.to_string()).unwrap();
    as_operator(&["apply", "--server-side", "-f", file.to_str().unwrap()]).unwrap();
    as_operator(&["delete", "namespace", &name, "--wait=false"]).unwrap();
}

const HOOK: &str = "before-upgrade.hook.cluster.cluster.x-k8s.io/stackflux";

/// Patches a Cluster, as a user or as the operator.
fn patch(account: Option<&str>, name: &str, patch: &Value) -> Result<String, String> {
    let patch = patch.to_string();
    let arguments = ["patch", "cluster", name, "-n", namespace(), "--type=merge", "-p", &patch];
    let arguments = [account.as_slice(), &arguments].concat();
    installed().kubectl(&arguments).map_err(|error| error.to_string())
}

/// Repeats a patch until it is admitted, or refused, as expected: the API server follows parameters within moments.
fn wait_until(name: &str, changes: &Value, admitted: bool) -> String {
    let start = Instant::now();
    loop {
        let outcome = patch(None, name, changes);
        if outcome.is_ok() == admitted {
            return outcome.unwrap_or_else(|refusal| refusal);
        }
        assert!(start.elapsed() < TIMEOUT, "{changes}: {outcome:?}");
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn operator_writes_one_annotation_of_clusters() {
    let namespace = namespace();
    let class = with_class_ref("somebody-elses");
    apply(&cluster_of(namespace, "written", "v1beta2", &class, "v1.20.0")).unwrap();
    let annotated = |name: &str, value: &Value| json!({"metadata": {"annotations": {name: value}}});
    let as_operator = |changes: &Value| patch(Some(OPERATOR), "written", changes);
    patch(None, "written", &annotated("note", &json!("of a user"))).unwrap();
    as_operator(&annotated(HOOK, &json!("v1.20.0"))).unwrap();
    as_operator(&annotated(HOOK, &Value::Null)).unwrap();
    // A class that gets a variable with a default changes the spec of its Clusters at their next write.
    as_operator(&json!({"spec": {"topology": {"variables": [{"name": "new", "value": "a"}]}}})).unwrap();
    for (changes, expected) in [
        (annotated("note", &Value::Null), "no annotation"),
        (annotated("note", &json!("of the operator")), "no annotation"),
        (annotated("clusterstack.x-k8s.io/open-upgrade-gate", &json!("v1.20.0")), "no annotation"),
        (json!({"metadata": {"labels": {"a": "b"}}}), "no labels, finalizers and owners"),
        (json!({"metadata": {"finalizers": ["a.example.org/b"]}}), "no labels, finalizers and owners"),
        (json!({"spec": {"paused": true}}), "neither paused"),
        (json!({"spec": {"topology": {"version": "v1.21.0"}}}), "neither paused"),
        (json!({"spec": {"topology": {"classRef": {"name": "another"}}}}), "neither paused"),
        (
            json!({"spec": {"controlPlaneRef": {"kind": "A", "name": "b", "apiGroup": "c.example.org"}}}),
            "neither paused",
        ),
    ] {
        let refusal = as_operator(&changes).unwrap_err();
        assert!(refusal.contains(expected), "{changes}: {refusal}");
        assert!(patch(None, "written", &changes).is_ok(), "a user may: {changes}");
    }
}

#[test]
fn new_version_needs_the_gate() {
    let namespace = namespace();
    let class = with_class_ref("docker-gate-1-34-v8");
    apply(&cluster_of(namespace, "gated", "v1beta2", &class, "v1.34.0")).unwrap();
    let version = |version: &str| json!({"spec": {"topology": {"version": version}}});
    let annotated = |name: &str, value: &Value| json!({"metadata": {"annotations": {name: value}}});
    apply(&stack(namespace, "Enforce")).unwrap();
    let refusal = wait_until("gated", &version("v1.34.1"), false);
    assert!(refusal.contains("lacks the annotation") && refusal.contains(HOOK), "{refusal}");
    // All else of the Cluster can be changed.
    patch(None, "gated", &annotated("note", &json!("here"))).unwrap();
    patch(None, "gated", &annotated("clusterstack.x-k8s.io/open-upgrade-gate", &json!("v1.34.2"))).unwrap();
    assert!(patch(None, "gated", &version("v1.34.1")).is_err(), "it is opened for another version");
    patch(None, "gated", &version("v1.34.2")).unwrap();
    patch(None, "gated", &annotated(HOOK, &json!("v1.34.2"))).unwrap();
    patch(None, "gated", &version("v1.34.3")).unwrap();
    patch(None, "gated", &annotated(HOOK, &Value::Null)).unwrap();
    assert!(patch(None, "gated", &version("v1.34.4")).is_err());
    apply(&stack(namespace, "Off")).unwrap();
    wait_until("gated", &version("v1.34.4"), true);
}
