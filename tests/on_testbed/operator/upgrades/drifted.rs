//! The drift detection of a class, beside Cluster API's defaulting and conversion webhooks.

use std::thread;
use std::time::Duration;

use serde_json::json;
use stackflux_testbed::Testbed;

use super::super::scenario::eventually;
use super::{OLD, Upgrades};

/// Five intervals of one minute.
const INTERVALS: Duration = Duration::from_mins(5);

/// Flux corrects what a user changes of a template. It corrects nothing else, although Cluster API adds defaults, and no Machine is
/// replaced.
pub(super) fn class_is_corrected_once_and_no_machine_is_replaced(testbed: &Testbed) {
    let upgrades = Upgrades::new(testbed, "drifted-gate", &[OLD]);
    let scenario = &upgrades.scenario;
    let _operator = scenario.operator();
    upgrades.apply_stack_with("1.34", &["v1"], &json!({"flux": {"interval": "1m"}}));
    upgrades.create_cluster(&scenario.namespace, "drifted", "one", 1);
    scenario.wait_at("drifted", OLD.0);
    eventually("all Machines run", || {
        let phases = machines(&upgrades, "phase");
        phases.len() == 2 && phases.iter().all(|phase| phase == "Running")
    });
    let before = machines(&upgrades, "uid");

    let (template, label) = (format!("{}-default-worker", OLD.0), "helm.toolkit.fluxcd.io/name");
    let value =
        || scenario.get("kubeadmconfigtemplate", &template).unwrap()["metadata"]["labels"][label].clone();
    let planned = value();
    assert!(planned.is_string());
    scenario.patch("kubeadmconfigtemplate", &template, &json!({"metadata": {"labels": {label: "mine"}}}));
    eventually("Flux corrects the template", || value() == planned);
    let corrected = testbed.audit().mark().unwrap();
    thread::sleep(INTERVALS);
    let writes: Vec<String> = scenario
        .writes_since(corrected)
        .iter()
        .filter(|write| write.subresource.is_empty() && is_of_class(&write.resource))
        .map(|write| format!("{} {} {} by {}", write.verb, write.resource, write.name, write.user))
        .collect();
    assert_eq!(writes, [""; 0], "no correction without a change");
    assert_eq!(machines(&upgrades, "uid"), before, "no Machine is replaced");
    let class = scenario.get("helmrelease", OLD.0).unwrap();
    assert_eq!(class["status"]["history"][0]["version"], 1, "it was never upgraded: {class:#}");
}

/// Whether objects of the class have this kind.
fn is_of_class(resource: &str) -> bool {
    resource == "clusterclasses" || resource.ends_with("templates")
}

/// Returns a field of all Machines of the namespace, sorted.
fn machines(upgrades: &Upgrades<'_>, field: &str) -> Vec<String> {
    let path = if field == "uid" { "metadata.uid" } else { "status.phase" };
    let output = format!("--output=jsonpath={{range .items[*]}}{{.{path}}}{{'\\n'}}{{end}}");
    let namespace = format!("--namespace={}", upgrades.scenario.namespace);
    let found = upgrades.scenario.management().kubectl(&["get", "machines", &namespace, &output]).unwrap();
    let mut found: Vec<String> = found.split_whitespace().map(str::to_owned).collect();
    found.sort();
    found
}
