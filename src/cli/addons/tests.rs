//! Tables of what is listed.

use serde_json::{Value, json};

use super::*;

fn found(requested: Option<Value>, with_stack: bool) -> Found {
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "one", "namespace": "team", "labels": {"tier": "gold"}},
        "spec": {"topology": {"classRef": {"name": "docker-demo-1-34-v1", "namespace": "stacks"}}},
    });
    let addon = json!({
        "metadata": {"name": "cluster-addon-one", "namespace": "team"}, "spec": {"clusterRef": {"name": "one"}},
        "status": {"addons": [
            {"name": "cni", "version": "1.2.3", "reason": "Applied", "phase": "Applied"},
            {"name": "dns", "version": "0.1.0", "phase": "Pending"},
        ]},
    });
    let stack = json!({
        "metadata": {"name": "demo", "namespace": "stacks"},
        "spec": {
            "provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "noProvider": true,
            "flux": {"addons": {"cni": {"overridable": {"suspend": true, "values": ["log"]}}}},
            "components": {"repositories": [{"name": "r", "git": {"url": "https://git.example.org/r.git"}, "components": [
                {"name": "dns", "chart": "dns", "optional": true},
                {"name": "ingress", "chart": "ingress", "optional": true, "description": "HTTP from outside"},
                {"name": "gpu", "chart": "gpu", "optional": true, "clusterSelector": {"matchLabels": {"gpu": "on"}}},
                {"name": "backup", "chart": "b", "optional": true, "clusterSelector": {"matchLabels": {"tier": "gold"}}},
                {"name": "quota", "manifests": "quota"},
            ]}]},
        },
    });
    Found {
        cluster: Cluster::new(cluster).unwrap(),
        addon: Some(serde_json::from_value(addon).unwrap()),
        requested: requested.map(|requested| serde_json::from_value(requested).unwrap()),
        stack: with_stack.then(|| serde_json::from_value(stack).unwrap()),
    }
}

fn requested(addons: &Value, status: &Value) -> Value {
    json!({"metadata": {"name": "one", "namespace": "team", "generation": 2}, "spec": {"addons": addons}, "status": status})
}

fn lines(found: &Found) -> Vec<String> {
    let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text(&rows(found), Layout::default()).lines().map(squeezed).collect()
}

#[test]
fn without_override_cluster_addon_and_stack_are_combined() {
    assert_eq!(
        lines(&found(None, true)),
        [
            "ADDON IS VERSION STATE MAY BE REQUESTED WHY",
            "cni on 1.2.3 Applied suspend, values log by default",
            "dns on 0.1.0 Pending enabled optional, and not requested",
            "backup off - - enabled optional, and not requested",
            "ingress off - - enabled optional, and not requested: HTTP from outside",
        ]
    );
    assert_eq!(lines(&found(None, false)).len(), 3, "only what the ClusterAddon reports");
}

#[test]
fn combined_list_has_what_the_status_would_have() {
    let mut found = found(None, true);
    let spec = &mut found.stack.as_mut().unwrap().spec;
    let overridable = json!({"overridable": {"values": ["image", "p00"]}});
    for name in ["ingress", "quota"] {
        spec.flux.addons.insert(name.to_owned(), serde_json::from_value(overridable.clone()).unwrap());
    }
    let components = &mut spec.components.repositories[0].components;
    let properties: Value = (0..18).map(|at| (format!("p{at:02}"), json!({"type": "string"}))).collect();
    components[1].schema = json!({"properties": properties}).as_object().unwrap().clone();
    let status = found.addon.as_mut().unwrap().status.as_mut().unwrap();
    let quota = json!({"name": "quota", "object": {"kind": "Kustomization", "name": "one.quota"}});
    status.addons.push(serde_json::from_value(quota).unwrap());
    let lines = lines(&found);
    let ingress = lines.iter().find(|line| line.starts_with("ingress")).unwrap();
    assert!(ingress.contains("enabled, values image, values p00, values p01, "), "{ingress}");
    assert!(ingress.contains("values p14, and 3 more optional"), "{ingress}");
    assert!(lines.contains(&"quota on - - - by default".to_owned()), "{lines:#?}");
}

#[test]
fn status_of_the_override_is_preferred_if_it_is_current() {
    let available = json!([{"name": "cni", "version": "9", "enabled": true}]);
    let status = |generation: i64| json!({"observedGeneration": generation, "available": available});
    let current = found(Some(requested(&json!({}), &status(2))), true);
    assert_eq!(lines(&current)[1..], ["cni on 9 Applied - by default"]);
    let outdated = found(Some(requested(&json!({}), &status(1))), true);
    assert_eq!(lines(&outdated).len(), 5);
}

#[test]
fn reason_names_the_request_and_its_answer() {
    let refused =
        json!([{"name": "cni", "refused": [{"field": "spec.addons.cni.enabled", "rule": "not allowed"}]}]);
    for (request, optional, answers, expected) in [
        (json!({}), false, json!([]), "by default"),
        (json!({}), true, json!([]), "optional, and not requested"),
        (json!({"enabled": true}), true, json!([]), "switched on by request"),
        (json!({"enabled": false}), false, json!([]), "switched off by request"),
        (json!({"suspend": true}), false, json!([]), "by default, suspended by request"),
        (json!({"values": {"a": 1}}), false, json!([]), "by default, with requested values"),
        (
            json!({"enabled": true, "values": {"a": 1}}),
            true,
            json!([]),
            "switched on by request, with requested values",
        ),
        (
            json!({"enabled": false}),
            false,
            refused,
            "the request is refused: spec.addons.cni.enabled: not allowed",
        ),
    ] {
        let found = found(Some(requested(&json!({"cni": request}), &json!({"addons": answers}))), true);
        let offered = AvailableAddon { name: "cni".to_owned(), optional, ..AvailableAddon::default() };
        assert_eq!(why(&found, &offered), expected, "{request}");
    }
    assert_eq!(
        serde_json::to_value(&rows(&found(None, true))[0]).unwrap(),
        json!({
            "name": "cni", "version": "1.2.3", "enabled": true, "overridable": {"suspend": true, "values": ["log"]},
            "state": "Applied", "why": "by default",
        })
    );
}
