//! What a release and a user ask of an upgrade: a helper for its time, an order between charts and manifests, and values of an
//! owner of a Cluster.

use std::fs;

use serde_json::json;
use stackflux_testbed::{Object, Testbed, Write};

use super::super::scenario::condition;
use super::{NEW, OLD, Upgrades};

/// The chart that the second release installs before the upgrade of a Cluster, and deletes again.
const HELPER: &str = "helper";

/// Adds the helper to the second release: it is applied first and deleted last of what moves before the upgrade. The manifests are
/// changed, too.
fn add_helper(upgrades: &Upgrades<'_>) {
    let scenario = &upgrades.scenario;
    let (helper, like) = (scenario.addon(HELPER), scenario.addon("monitoring"));
    let charts = format!("releases/{}/cluster-addon", NEW.0);
    let from = |file: &str| scenario.path(&format!("{charts}/{like}/{file}"));
    let to = |file: &str| scenario.path(&format!("{charts}/{helper}/{file}"));
    fs::create_dir_all(to("templates")).unwrap();
    for file in ["Chart.yaml", "values.yaml", "templates/deployment.yaml"] {
        fs::write(to(file), fs::read_to_string(from(file)).unwrap().replace(&like, &helper)).unwrap();
    }
    let stage = |addon: &str, action: &str| format!("    - name: {addon}\n      action: {action}\n");
    let [cni, ccm] = ["cni", "ccm"].map(|addon| stage(&scenario.addon(addon), "apply"));
    let (list, file) = ("  BeforeClusterUpgrade:\n", format!("releases/{}/clusteraddon.yaml", NEW.0));
    let new = format!("{list}{}{cni}{ccm}{}", stage(&helper, "apply"), stage(&helper, "delete"));
    scenario.edit(&file, &format!("{list}{cni}{ccm}"), &new);
    let quota = format!("{charts}/{}/resource-quota.yaml", scenario.addon("policies"));
    scenario.edit(&quota, "pods: \"100\"", "pods: \"200\"");
    scenario.push("a helper");
}

/// A helper lives from the first wait of Cluster API to the last deletion, and the control plane moves after that. After the
/// upgrade a chart waits for manifests, and these for a chart. The values that an owner requested are there at all times.
pub(super) fn helper_dependencies_and_requests_move_through_the_gate(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "staged-gate", &[OLD, NEW]);
    let scenario = &upgrades.scenario;
    add_helper(&upgrades);
    let [cni, ccm, monitoring, policies] =
        ["cni", "ccm", "monitoring", "policies"].map(|addon| scenario.addon(addon));
    let settings = json!({"flux": {"addons": {
        &cni: {"overridable": {"values": ["log"]}},
        &monitoring: {"dependsOn": [&policies]},
        &policies: {"dependsOn": [&ccm]},
    }}});
    let request = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddonOverride",
        "metadata": {"name": "staged", "namespace": scenario.namespace},
        "spec": {"addons": {&cni: {"values": {"log": "debug"}}}},
    });
    scenario.management().apply(&request.to_string()).unwrap();
    let _operator = scenario.operator();
    for minor in ["1.34", "1.35"] {
        upgrades.apply_stack_with(minor, &["v1"], &settings);
    }
    upgrades.create_cluster(&scenario.namespace, "staged", "one", 0);
    scenario.wait_at("staged", OLD.0);
    let has_request = || upgrades.addon("staged", "cni")["spec"]["values"]["log"] == "debug";
    assert!(has_request());

    let begun = testbed.audit().mark().unwrap();
    upgrades.move_to("staged", NEW);
    scenario.wait("clusteraddon", "cluster-addon-staged", "the stages", |addon| {
        let stages = addon["status"]["stages"].as_array();
        addon["status"]["hook"] == "BeforeClusterUpgrade" && stages.is_some_and(|all| all.len() == 4)
    });
    upgrades.wait_upgraded("staged", NEW);
    assert!(has_request(), "after the upgrade");
    let answer = scenario.get("clusteraddonoverride", "staged").unwrap();
    assert_eq!(condition(&answer, "Accepted").0, "True", "{answer:#}");
    assert!(scenario.get("helmrelease", &scenario.object("staged", HELPER)).is_none());
    let workload = testbed.workload("one").unwrap();
    let deployment = Object { kind: "deployment", namespace: "kube-system", name: &scenario.addon(HELPER) };
    assert!(workload.get(deployment).unwrap().is_none(), "Flux has uninstalled the helper");
    in_order(&upgrades, &scenario.writes_since(begun));
}

/// Asserts the order of the whole upgrade in the log of writes.
fn in_order(upgrades: &Upgrades<'_>, writes: &[Write]) {
    let object = |addon: &str| upgrades.scenario.object("staged", addon);
    let by_operator = |verb: &'static str, resource: &'static str, name: String| {
        let is_it = move |it: &Write| {
            (it.user.as_str(), it.verb.as_str(), it.resource.as_str()) == ("stackflux", verb, resource)
                && it.name == name
                && it.subresource.is_empty()
        };
        Box::new(is_it) as Box<dyn Fn(&Write) -> bool>
    };
    let steps = [
        ("the helper is installed", by_operator("patch", "helmreleases", object(HELPER))),
        ("the helper is deleted", by_operator("delete", "helmreleases", object(HELPER))),
        ("the gate opens", by_operator("patch", "clusters", "staged".to_owned())),
        (
            "the control plane moves",
            Box::new(|it| it.resource == "kubeadmcontrolplanes" && it.manager == "capi-topology"),
        ),
        ("the manifests move", by_operator("patch", "kustomizations", object("policies"))),
        ("the chart that waits for them moves", by_operator("patch", "helmreleases", object("monitoring"))),
    ];
    let mut found = 0;
    for (what, is_it) in &steps {
        let at = writes[found..].iter().position(is_it);
        let first = writes.iter().position(is_it);
        assert!(at.is_some() && first >= Some(found), "{what}: {}", listed(writes));
        found += at.unwrap();
    }
}

/// Lists writes, each in a line.
fn listed(writes: &[Write]) -> String {
    let line = |it: &Write| format!("{} {} {} {} {}\n", it.time, it.user, it.verb, it.resource, it.name);
    writes.iter().map(line).collect()
}
