//! Requests of a tenant for the addons of a cluster: with Kubernetes' role `edit` in the tenant's namespace, and nothing else.

use serde_json::{Value, json};

use super::platform::Platform;
use super::scenario::{Scenario, V1, addon_status, condition};
use super::tenants::Tenant;

/// Requests these things as the tenant.
fn request(tenant: &Tenant, addons: &Value) {
    let object = json!({
        "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterAddonOverride",
        "metadata": {"name": "a", "namespace": tenant.scenario.namespace}, "spec": {"addons": addons},
    });
    let file = tenant.scenario.path("override.json");
    std::fs::write(&file, object.to_string()).unwrap();
    tenant.kubectl(&["apply", "--server-side", "--filename", file.to_str().unwrap()]).unwrap();
}

/// Waits for the answer, and returns the object as the tenant sees it.
fn answered(tenant: &Tenant, expected: (&str, &str)) -> Value {
    tenant.scenario.wait("clusteraddonoverride", "a", "the answer", |found| {
        let (status, reason, _) = condition(found, "Accepted");
        found["status"]["observedGeneration"] == found["metadata"]["generation"]
            && (status, reason) == expected
    });
    let found = tenant.kubectl(&["get", "clusteraddonoverride", "a", "--output=json"]).unwrap();
    serde_json::from_str(&found).unwrap()
}

/// The line of an addon in `stackflux addons`, without the spaces between its columns.
fn listed(tenant: &Tenant, addon: &str) -> String {
    let run = tenant.stackflux(&["addons", "a"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let line = run.stdout.lines().find(|line| line.starts_with(&format!("{addon} ")));
    line.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn tenant_overrides_addons_with_the_role_edit() {
    let provider = Scenario::shared("catalog");
    provider.publish(&[V1]);
    let platform = Platform::new(&provider);
    let commit = platform.push("offered");
    let (edge, cni) = (provider.addon("edge"), provider.addon("cni"));
    let schema = json!({"type": "object", "properties": {"replicas": {"type": "integer", "maximum": 3}}});
    let more = json!({"optional": true, "description": "HTTP from outside", "schema": schema});
    let mut spec = platform.exact(&commit, &more);
    spec["flux"] = json!({"addons": {&cni: {"overridable": {"values": ["log"]}}}});
    let _operator = provider.operator();
    provider.apply_stack(&["v1"], &spec);
    provider.wait_ready("clusterstackrelease", V1);
    let tenant = Tenant::new("catalog-tenant");
    tenant.create_cluster("a", &provider.namespace, V1);
    tenant.scenario.wait_at("a", V1);
    let object = format!("a.{edge}");
    assert!(tenant.scenario.get("helmrelease", &object).is_none(), "it is off until it is requested");

    request(
        &tenant,
        &json!({&edge: {"enabled": true, "values": {"replicas": 2}}, &cni: {"values": {"log": "debug"}}}),
    );
    let answer = answered(&tenant, ("True", "Accepted"));
    assert!(answer["status"]["available"].to_string().contains("HTTP from outside"), "{answer:#}");
    tenant.scenario.wait("clusteraddon", "cluster-addon-a", "the component is installed", |addon| {
        addon_status(addon, &edge).is_some() && condition(addon, "Ready").0 == "True"
    });
    assert_eq!(tenant.scenario.get("helmrelease", &object).unwrap()["spec"]["values"]["replicas"], 2);
    let values = tenant.scenario.get("helmrelease", &format!("a.{cni}")).unwrap()["spec"]["values"].clone();
    assert_eq!(values["log"], "debug", "{values}");
    let line = listed(&tenant, &edge);
    assert!(
        line.contains(" on ") && line.contains("switched on by request, with requested values"),
        "{line}"
    );

    // What is not allowed holds the addon, and nothing else.
    request(&tenant, &json!({&edge: {"enabled": true, "values": {"replicas": 4}}, &cni: {"enabled": false}}));
    let answer = answered(&tenant, ("False", "OverrideRefused"));
    let refused = answer["status"]["addons"].to_string();
    assert!(refused.contains("at most 3") && refused.contains("overridable.enabled"), "{refused}");
    let held = |addon: &Value| condition(addon, "Ready").1 == "OverrideRefused";
    tenant.scenario.wait("clusteraddon", "cluster-addon-a", "the addons are held", held);
    assert_eq!(tenant.scenario.get("helmrelease", &object).unwrap()["spec"]["values"]["replicas"], 2);
    let why = tenant.stackflux(&["why", &format!("a/{cni}")]);
    assert!(why.stdout.contains("OverrideRefused"), "{}{}", why.stdout, why.stderr);
    let forged = format!("--patch={}", json!({"status": {"conditions": []}}));
    let patch = ["patch", "clusteraddonoverride", "a", "--type=merge", "--subresource=status", &forged];
    assert!(tenant.kubectl(&patch).unwrap_err().contains("Forbidden"));

    tenant.kubectl(&["delete", "clusteraddonoverride", "a"]).unwrap();
    tenant.scenario.wait("clusteraddon", "cluster-addon-a", "the component is removed", |addon| {
        addon_status(addon, &edge).is_none() && condition(addon, "Ready").0 == "True"
    });
    assert!(tenant.scenario.get("helmrelease", &object).is_none());
    let values = tenant.scenario.get("helmrelease", &format!("a.{cni}")).unwrap()["spec"]["values"].clone();
    assert!(values["log"].is_null(), "{values}");
}
