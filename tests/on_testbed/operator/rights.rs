//! What a tenant's own rights, which end at its namespace, can do to others: the rows of docs/reference/security.md.

use std::collections::BTreeMap;
use std::fs;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::scenario::{STACK, Scenario, V1, condition};
use super::tenants::Tenant;
use crate::support::scratch;

/// The `GitRepository` of the victim, to which the tenant refers.
const REPOSITORY: &str = "stacks";
/// The annotation with which its owner allows that.
const ALLOWED: &str = "clusterstack.x-k8s.io/allowed-namespaces";

/// Creates the repository that the victim follows by itself.
fn repository(victim: &Scenario) {
    let repository = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
        "metadata": {"name": REPOSITORY, "namespace": victim.namespace},
        "spec": {"url": victim.url(), "ref": {"branch": "main"}, "interval": "2s"},
    });
    victim.management().apply(&repository.to_string()).unwrap();
}

/// Applies an object as the tenant.
fn apply(tenant: &Tenant, object: &Value) -> Result<String, String> {
    let file = scratch(&format!("{}-object", tenant.scenario.namespace)).join("object.json");
    fs::write(&file, object.to_string()).unwrap();
    tenant.kubectl(&["apply", "--server-side", "--force-conflicts", "--filename", file.to_str().unwrap()])
}

/// A ClusterStack of the tenant, which refers to the repository of its victim.
fn refer(tenant: &Tenant, victim: &Scenario) {
    let stack = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
        "metadata": {"name": STACK, "labels": {"test": victim.namespace}},
        "spec": {
            "provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "noProvider": true,
            "versions": ["v1"],
            "source": {"gitRepositoryRef": {"name": REPOSITORY, "namespace": victim.namespace}},
        },
    });
    apply(tenant, &stack).unwrap();
}

/// The names of the sources and charts of a namespace.
fn sources(of: &Scenario) -> Vec<String> {
    ["gitrepositories", "helmcharts"].map(|kind| of.names(kind)).concat()
}

/// The commit that a release of a namespace is pinned to.
fn pinned(of: &Scenario) -> String {
    of.get("clusterstackrelease", V1).unwrap()["spec"]["source"]["revision"].as_str().unwrap().to_owned()
}

#[test]
fn tenant_decides_nothing_in_another_namespace() {
    let victim = Scenario::shared("victim");
    victim.publish(&[V1]);
    repository(&victim);
    let _operator = victim.operator();
    let tenant = Tenant::new("attacker");
    without_consent(&tenant, &victim);
    with_consent(&tenant, &victim);
    other_kinds(&tenant, &victim);
    release_is_offered_by_its_owner(&tenant, &victim);
    consent_is_withdrawn(&tenant, &victim);

    victim.create_cluster("a", V1, "two");
    victim.wait_at("a", V1);
    writes_git_repositories(&tenant, &victim);
    writes_clusters(&tenant, &victim);
    changes_its_cluster_addon(&tenant, &victim);
}

/// A ClusterStack that refers into another namespace brings nothing there, and the condition has the command for the owner.
fn without_consent(tenant: &Tenant, victim: &Scenario) {
    refer(tenant, victim);
    let is_refused = |stack: &Value| condition(stack, "Ready").1 == "SourceNotAllowed";
    let stack = tenant.scenario.wait("clusterstack", STACK, "SourceNotAllowed", is_refused);
    assert_eq!(sources(victim), [REPOSITORY], "nothing was written beside the repository");
    assert!(tenant.scenario.get("clusterstackrelease", V1).is_none());
    let status = tenant.stackflux(&["status"]);
    assert!(status.stdout.contains(ALLOWED), "{}{}", status.stdout, status.stderr);

    let (_, command) = condition(&stack, "SourceReady").2.split_once("kubectl ").unwrap();
    let arguments: Vec<&str> = command.split_whitespace().collect();
    assert!(tenant.kubectl(&arguments).unwrap_err().contains("Forbidden"), "the tenant is not the owner");
    victim.management().kubectl(&arguments).unwrap();
}

/// With consent, sources and charts have names of their own; the content of a release stays as it was first read.
fn with_consent(tenant: &Tenant, victim: &Scenario) {
    tenant.scenario.wait_ready("clusterstack", STACK);
    tenant.scenario.wait_ready("clusterstackrelease", V1);
    let names = sources(victim);
    assert!(names.len() > 2 && names.iter().all(|name| name != V1), "{names:?}");
    // The shipped role may not write it, and nobody may change the pin.
    let evil = json!({"spec": {"source": {"revision": "e".repeat(40), "digest": "sha256:0", "path": "x"}}});
    let patch = format!("--patch={evil}");
    let arguments = ["patch", "clusterstackrelease", V1, "--type=merge", &patch];
    assert!(tenant.kubectl(&arguments).unwrap_err().contains("Forbidden"));
    let namespace = format!("--namespace={}", tenant.scenario.namespace);
    for change in [evil, json!({"spec": {"source": null}})] {
        let patch = format!("--patch={change}");
        let arguments = ["patch", "clusterstackrelease", V1, "--type=merge", &patch, &namespace];
        let refusal = victim.management().kubectl(&arguments).unwrap_err().to_string();
        assert!(refusal.contains("spec.source cannot be changed"), "{refusal}");
    }
}

/// Every kind: the rights of the tenant end at its namespace.
fn other_kinds(tenant: &Tenant, victim: &Scenario) {
    let there = format!("--namespace={}", victim.namespace);
    for arguments in [
        &["annotate", "gitrepository", REPOSITORY, "a=b"][..],
        &["delete", "gitrepository", REPOSITORY],
        &["delete", "clusterstacks", "--all"],
        &["delete", "clusterstackreleases", "--all"],
        &["delete", "clusteraddons", "--all"],
        &["delete", "clusters", "--all"],
    ] {
        let refusal = tenant.kubectl(&[arguments, &[&there]].concat()).unwrap_err();
        assert!(refusal.contains("Forbidden"), "{arguments:?}: {refusal}");
    }
    // In its own namespace, the objects that only the operator makes.
    for object in [
        json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStackRelease",
            "metadata": {"name": "docker-demo-1-34-v9"}, "spec": {},
        }),
        json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddon",
            "metadata": {"name": "cluster-addon-x"}, "spec": {"clusterRef": {"name": "x"}},
        }),
    ] {
        let refusal = apply(tenant, &object).unwrap_err();
        assert!(refusal.contains("orbidden"), "{refusal}");
    }
}

/// The attack: the release was a draft when the operator pinned it for the tenant. Its owner changes and offers it.
fn release_is_offered_by_its_owner(tenant: &Tenant, victim: &Scenario) {
    let before = pinned(&tenant.scenario);
    let file = victim.path(&format!("releases/{V1}/cluster-class/values.yaml"));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}# final\n")).unwrap();
    let commit = victim.push("finish the draft");
    victim.wait("gitrepository", REPOSITORY, "fetched", |found| {
        found["status"]["artifact"]["revision"].as_str().is_some_and(|revision| revision.ends_with(&commit))
    });
    victim.apply_stack(&["v1"], &json!({"source": {"gitRepositoryRef": {"name": REPOSITORY}}}));
    victim.wait_ready("clusterstackrelease", V1);
    assert_ne!(pinned(victim), before, "the tenant's commit");
    let source = victim.get("gitrepository", V1).unwrap();
    assert_eq!(source["spec"]["ref"]["commit"], pinned(victim).as_str(), "{source:#}");
    assert_eq!(pinned(&tenant.scenario), before);
    let is_mutated = |release: &Value| condition(release, "ReleaseValid").1 == "ReleaseMutated";
    tenant.scenario.wait("clusterstackrelease", V1, "still at the draft", is_mutated);
}

/// Without consent again, everything stays: nothing is pruned.
fn consent_is_withdrawn(tenant: &Tenant, victim: &Scenario) {
    let before = sources(victim);
    let there = format!("--namespace={}", victim.namespace);
    let withdraw = ["annotate", "gitrepository", REPOSITORY, &there, &format!("{ALLOWED}-")];
    victim.management().kubectl(&withdraw).unwrap();
    let is_refused = |stack: &Value| condition(stack, "Ready").1 == "SourceNotAllowed";
    tenant.scenario.wait("clusterstack", STACK, "SourceNotAllowed", is_refused);
    assert_eq!(sources(victim), before);
    assert!(tenant.scenario.get("clusterstackrelease", V1).is_some());
    assert!(tenant.scenario.get("helmrelease", V1).is_some());
    assert_eq!(condition(&victim.get("clusterstack", STACK).unwrap(), "Ready").0, "True");
}

/// What the victim has: UID, owners and spec of each object, and what Helm and the operator last brought to its cluster.
fn belongings(victim: &Scenario) -> BTreeMap<String, Value> {
    let kinds = "gitrepositories,helmcharts,helmreleases,kustomizations,clusterstacks,clusterstackreleases,clusteraddons";
    let namespace = format!("--namespace={}", victim.namespace);
    let list = victim.management().kubectl(&["get", kinds, &namespace, "--output=json"]).unwrap();
    let list: Value = serde_json::from_str(&list).unwrap();
    let entry = |object: &Value| {
        let (metadata, status) = (&object["metadata"], &object["status"]);
        let key = format!("{}/{}", object["kind"], metadata["name"]);
        let delivered = [&status["history"][0]["version"], &status["release"]["applied"], &status["source"]];
        let of = json!({
            "uid": metadata["uid"], "owners": metadata["ownerReferences"], "spec": object["spec"], "delivered": delivered,
        });
        (key, of)
    };
    list["items"].as_array().unwrap().iter().map(entry).collect()
}

/// Has the operator reconcile an object, and waits until it has.
fn reconciled(of: &Scenario, kind: &str, name: &str) -> Value {
    let now = format!("{:?}", SystemTime::now());
    of.patch(kind, name, &json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": now}}}));
    of.wait(kind, name, "reconciled", |found| found["status"]["lastHandledReconcileAt"] == now.as_str())
}

/// Lets a tenant do something, and expects that everything of the victim stays as it is.
fn leaves_alone(victim: &Scenario, what: &str, attack: impl FnOnce()) {
    let before = belongings(victim);
    for kind in ["GitRepository", "HelmChart", "HelmRelease", "ClusterStack", "ClusterAddon"] {
        assert!(before.keys().any(|key| key.contains(kind)), "{kind}: {:?}", before.keys());
    }
    attack();
    for (kind, name) in [("clusterstack", STACK), ("clusteraddon", "cluster-addon-a")] {
        let found = reconciled(victim, kind, name);
        assert_eq!(condition(&found, "Ready").0, "True", "{what}: {found:#}");
    }
    assert_eq!(belongings(victim), before, "{what}");
}

/// GitRepository: one in the tenant's namespace is neither a pin nor the consent of another, whatever it says.
fn writes_git_repositories(tenant: &Tenant, victim: &Scenario) {
    tenant.scenario.publish(&[V1]);
    let uid = victim.get("clusterstack", STACK).unwrap()["metadata"]["uid"].clone();
    for (name, allowed) in [(REPOSITORY, "*"), (V1, tenant.scenario.namespace.as_str())] {
        // All that the repository of the victim with that name says, and all that a pin of the victim could say.
        let mut metadata = victim.get("gitrepository", name).unwrap()["metadata"].clone();
        metadata["labels"]["clusterstack.x-k8s.io/stack-namespace"] = json!(victim.namespace);
        metadata["labels"]["clusterstack.x-k8s.io/stack-uid"] = uid.clone();
        metadata["annotations"]["clusterstack.x-k8s.io/stack-name"] = json!(STACK);
        metadata["annotations"][ALLOWED] = json!(allowed);
        let (labels, annotations) = (&metadata["labels"], &metadata["annotations"]);
        let forged = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
            "metadata": {"name": name, "labels": labels, "annotations": annotations},
            "spec": {"url": tenant.scenario.url(), "ref": {"branch": "main"}, "interval": "2s"},
        });
        leaves_alone(victim, name, || {
            apply(tenant, &forged).unwrap();
            let is_fetched = |found: &Value| found["status"]["artifact"].is_object();
            tenant.scenario.wait("gitrepository", name, "fetched", is_fetched);
            let stack = reconciled(&tenant.scenario, "clusterstack", STACK);
            assert_eq!(
                condition(&stack, "Ready").1,
                "SourceNotAllowed",
                "only the owner consents: {stack:#}"
            );
        });
    }
}

/// Cluster: one of the tenant gets the addons of the victim's release, with the labels of the victim's Cluster too.
fn writes_clusters(tenant: &Tenant, victim: &Scenario) {
    leaves_alone(victim, "a Cluster", || {
        tenant.create_cluster("b", &victim.namespace, V1);
        tenant.scenario.wait_at("b", V1);
        let labels = json!({"metadata": {"labels": {"cluster.x-k8s.io/cluster-name": "a"}}});
        tenant.kubectl(&["patch", "cluster", "b", "--type=merge", &format!("--patch={labels}")]).unwrap();
        reconciled(&tenant.scenario, "clusteraddon", "cluster-addon-b");
    });
}

/// `ClusterAddon`: the tenant may change its own one, which the operator made. It stays that of the tenant's Cluster.
fn changes_its_cluster_addon(tenant: &Tenant, victim: &Scenario) {
    const NAME: &str = "cluster-addon-b";
    let change = |change: &Value| {
        tenant
            .kubectl(&["patch", "clusteraddon", NAME, "--type=merge", &format!("--patch={change}")])
            .unwrap();
    };
    let theirs = victim.get("clusteraddon", "cluster-addon-a").unwrap();
    leaves_alone(victim, "labels and annotations", || {
        let metadata = json!({
            "labels": {"cluster.x-k8s.io/cluster-name": "a", "clusterstack.x-k8s.io/stack-namespace": victim.namespace},
            "annotations": {
                "reconcile.fluxcd.io/requestedAt": "now", "clusterstack.x-k8s.io/on-delete": "Orphan",
                "clusterstack.x-k8s.io/handed-over": "a", (ALLOWED): "*",
            },
        });
        change(&json!({"metadata": metadata}));
        let is_handled = |found: &Value| found["status"]["lastHandledReconcileAt"] == "now";
        tenant.scenario.wait("clusteraddon", NAME, "handled", is_handled);
    });
    leaves_alone(victim, "the reference to the Cluster", || {
        let own = tenant.scenario.get("clusteraddon", NAME).unwrap()["spec"]["clusterRef"].clone();
        assert_ne!(own, theirs["spec"]["clusterRef"]);
        change(&json!({"spec": {"clusterRef": theirs["spec"]["clusterRef"]}}));
        tenant.scenario.wait("clusteraddon", NAME, "put back", |found| found["spec"]["clusterRef"] == own);
        tenant.scenario.wait_at("b", V1);
    });
    leaves_alone(victim, "the owner", || {
        change(&json!({"metadata": {"ownerReferences": theirs["metadata"]["ownerReferences"]}}));
        let own = tenant.scenario.get("cluster", "b").unwrap()["metadata"]["uid"].clone();
        let is_owned = |found: &Value| found["metadata"]["ownerReferences"][0]["uid"] == own;
        tenant.scenario.wait("clusteraddon", NAME, "made again for its Cluster", is_owned);
    });
    let refusal = tenant.kubectl(&["delete", "clusteraddon", NAME]).unwrap_err();
    assert!(refusal.contains("Forbidden"), "{refusal}");
}
