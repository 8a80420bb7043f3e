//! Plans of Clusters with requests for their addons.

use std::sync::Arc;

use super::*;
use crate::gate::upgrade::Phase;
use crate::inputs::ReleaseInputs;

/// A stack whose chart `ccm` renders `cluster` and `port`, and whose component `ingress` has static values and renders `cluster`.
/// All of both may be overridden, and `dns` is optional.
fn fixture() -> Fixture {
    let mut fixture = Fixture::new();
    let all = json!({"overridable": {"enabled": true, "suspend": true, "values": ["*"]}});
    fixture.stack.flux =
        serde_json::from_value(json!({"addons": {"ccm": all, "ingress": all, "policies": all}})).unwrap();
    fixture.stack.components = serde_json::from_value(json!({"repositories": [{
        "name": "platform", "git": {"url": "https://git.example.org/platform.git"},
        "components": [
            {"name": "ingress", "chart": "ingress", "values": {"replicas": 2, "log": {"level": "info", "json": true}},
                "template": "cluster: {{ .Cluster.metadata.name }}\n"},
            {"name": "dns", "chart": "dns", "optional": true},
        ],
    }]}))
    .unwrap();
    fixture
}

fn plan_in(fixture: &Fixture, addons: &Value) -> Plan {
    plan_after(fixture, addons, &json!({}))
}

/// Plans with requests, of which the status says these things.
fn plan_after(fixture: &Fixture, addons: &Value, status: &Value) -> Plan {
    let (release, contents) = (fixture.release("v1"), fixture.contents("v1"));
    let inputs = ReleaseInputs { stack: &fixture.stack, release: &release, contents: &contents };
    let requested = json!({
        "metadata": {"name": "one", "namespace": "stacks"}, "spec": {"addons": addons}, "status": status,
    });
    let requested = Arc::new(serde_json::from_value(requested).unwrap());
    cluster(
        &inputs,
        &fixture.inputs("one", "v1").with_requested(Some(requested)),
        &Course::ended(Phase::Steady),
    )
    .unwrap()
}

fn planned(addons: &Value) -> Plan {
    plan_in(&fixture(), addons)
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.addons().map(|object| object.id.name.as_str()).collect()
}

fn values(plan: &Plan, name: &str) -> Value {
    let found = plan.addons().find(|object| object.id.name == name).unwrap();
    rendered_values(&found.value).unwrap_or_default()
}

#[test]
fn requested_values_rank_between_static_and_rendered() {
    for (requested, expected) in [
        (json!({}), json!({"replicas": 2, "log": {"level": "info", "json": true}, "cluster": "one"})),
        (
            json!({"replicas": 3, "log": {"level": "debug"}}),
            json!({"replicas": 3, "log": {"level": "debug", "json": true}, "cluster": "one"}),
        ),
        (json!({"log": null}), json!({"replicas": 2, "log": null, "cluster": "one"})),
        (json!({"log": [1]}), json!({"replicas": 2, "log": [1], "cluster": "one"})),
        (
            json!({"cluster": "two", "more": true}),
            json!({"replicas": 2, "log": {"level": "info", "json": true}, "cluster": "one", "more": true}),
        ),
        (
            json!({"cluster": null}),
            json!({"replicas": 2, "log": {"level": "info", "json": true}, "cluster": "one"}),
        ),
    ] {
        let plan = planned(&json!({"ingress": {"values": requested}}));
        assert_eq!(values(&plan, "one.ingress"), expected, "{requested}");
    }
    let plan = planned(&json!({"ccm": {"values": {"port": 1, "log": 2}}}));
    assert_eq!(values(&plan, "one.ccm"), json!({"cluster": "one", "port": 6443, "log": 2}));
}

#[test]
fn requested_value_at_a_target_path_is_left_out() {
    let platform = json!({"cloud": {"password": "none"}, "hosts": ["a"]});
    let kept =
        json!({"replicas": 2, "log": {"level": "info", "json": true}, "cluster": "one", "hosts": ["a"]});
    let with = |key: &str, value: Value| {
        let mut whole = kept.clone();
        whole.as_object_mut().unwrap().insert(key.to_owned(), value);
        whole
    };
    let optional = |path: &str| json!({"kind": "Secret", "name": "x", "targetPath": path, "optional": true});
    let none = with("cloud", json!({"password": "none"}));
    for (reference, requested, expected) in [
        (optional("cloud.password"), json!({"cloud": {"password": 1}}), none.clone()),
        (
            optional("cloud.password"),
            json!({"cloud": {"password": 1, "user": 2}}),
            with("cloud", json!({"password": "none", "user": 2})),
        ),
        (optional("cloud.password"), json!({"cloud": {"password": {"a": 1}}}), none.clone()),
        (optional("cloud.password"), json!({"cloud": null}), none.clone()),
        (optional("cloud.password"), json!({"cloud": "text"}), none.clone()),
        (optional("cloud.password.a"), json!({"cloud": {"password": 1}}), none.clone()),
        (optional("hosts[0]"), json!({"hosts": ["b"]}), none.clone()),
        (
            json!({"kind": "Secret", "name": "x", "targetPath": "hosts[0].name"}),
            json!({"hosts": null}),
            none.clone(),
        ),
        (optional("cluster"), json!({"cluster": "two"}), none.clone()),
        (
            json!({"kind": "Secret", "name": "x", "targetPath": "cloud.password"}),
            json!({"cloud": {"password": 1}}),
            with("cloud", json!({})),
        ),
        (
            json!({"kind": "Secret", "name": "x"}),
            json!({"cloud": {"password": 1}}),
            with("cloud", json!({"password": 1})),
        ),
    ] {
        let mut fixture = fixture();
        let settings = fixture.stack.flux.addons.get_mut("ingress").unwrap();
        settings.values = platform.as_object().unwrap().clone();
        settings.values_from = vec![serde_json::from_value(reference.clone()).unwrap()];
        let plan = plan_in(&fixture, &json!({"ingress": {"values": requested}}));
        assert_eq!(values(&plan, "one.ingress"), expected, "{reference} {requested}");
    }
}

#[test]
fn request_decides_which_addons_are_planned() {
    let usual = ["one.ccm", "one.cni", "one.ingress", "one.policies"];
    for (addons, expected) in [
        (json!({}), usual.to_vec()),
        (json!({"ccm": {"enabled": false}}), vec!["one.cni", "one.ingress", "one.policies"]),
        (json!({"policies": {"enabled": false}}), vec!["one.ccm", "one.cni", "one.ingress"]),
        (
            json!({"dns": {"enabled": true}}),
            vec!["one.ccm", "one.cni", "one.dns", "one.ingress", "one.policies"],
        ),
        (json!({"ccm": {"suspend": true}}), usual.to_vec()),
    ] {
        let plan = planned(&addons);
        let mut found = names(&plan);
        found.sort_unstable();
        assert_eq!((found, plan.held()), (expected, &[][..]), "{addons}");
    }
}

#[test]
fn addon_is_held_if_its_request_was_accepted_before() {
    for (addons, addon, before, is_held, is_planned) in [
        (json!({"cni": {"enabled": false}}), "cni", &["enabled"][..], true, false),
        (json!({"cni": {"values": {"a": 1}}}), "cni", &["values"], true, false),
        (json!({"cni": {"enabled": false}}), "cni", &[], false, true),
        (json!({"cni": {"values": {"a": 1}}}), "cni", &[], false, true),
        (json!({"cni": {"suspend": true}}), "cni", &[], false, true),
        (json!({"dns": {"enabled": true, "suspend": true}}), "dns", &["enabled"], true, false),
        (json!({"dns": {"enabled": true, "suspend": true}}), "dns", &[], false, false),
        (json!({"dns": {"suspend": true}}), "dns", &["enabled"], false, false),
        (json!({"gone": {"enabled": true}}), "gone", &["enabled"], false, false),
    ] {
        let status = json!({"addons": [{"name": addon, "inEffect": before}]});
        let plan = plan_after(&fixture(), &addons, &status);
        let held: Vec<_> = plan
            .held()
            .iter()
            .map(|held| (held.addon.as_ref().unwrap().as_str(), held.hold.reason))
            .collect();
        let expected: Vec<_> = is_held.then_some((addon, Reason::OverrideRefused)).into_iter().collect();
        assert_eq!(held, expected, "{addons} {before:?}");
        assert_eq!(names(&plan).iter().any(|name| name.ends_with(addon)), is_planned, "{addons} {before:?}");
        assert!(names(&plan).contains(&"one.ingress"), "others are delivered");
    }
}

#[test]
fn plan_without_requests_does_not_change() {
    let fixture = fixture();
    let without = fixture.plan("v1", &["one"]);
    for addons in [json!({}), json!({"ccm": {}}), json!({"ccm": {"enabled": true, "suspend": false}})] {
        let addons: Vec<_> = planned(&addons).addons().map(|object| object.digest().to_owned()).collect();
        let expected: Vec<_> = without.addons().map(|object| object.digest().to_owned()).collect();
        assert_eq!(addons, expected);
    }
}

#[test]
fn dependency_on_an_optional_component_names_the_override() {
    let mut fixture = fixture();
    let flux = json!({"addons": {"ccm": {"dependsOn": ["dns"]}}});
    fixture.stack.flux = serde_json::from_value(flux).unwrap();
    let plan = plan_in(&fixture, &json!({}));
    let [held] = plan.held() else { panic!("{:?}", plan.held()) };
    assert_eq!(held.hold.reason, Reason::DependencyInvalid);
    assert!(
        held.hold.message.contains("its ClusterAddonOverride does not switch that on"),
        "{}",
        held.hold.message
    );
    let plan = plan_in(&fixture, &json!({"dns": {"enabled": true}}));
    assert_eq!(plan.held(), []);
}
