//! Tables of the status of a `ClusterAddonOverride`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::plan::tests::fixture::Fixture;

const NOW: &str = "2026-11-23T02:00:00Z";

fn requested(addons: &Value) -> ClusterAddonOverride {
    let object = json!({"metadata": {"name": "one", "namespace": "stacks", "generation": 3}, "spec": {"addons": addons}});
    serde_json::from_value(object).unwrap()
}

/// Returns the status for a Cluster of a stack that allows the values `port` and `log` of `ccm`, of which the stack renders `port`.
fn status(addons: &Value) -> ClusterAddonOverrideStatus {
    status_of(requested(addons))
}

fn status_of(found: ClusterAddonOverride) -> ClusterAddonOverrideStatus {
    let mut fixture = Fixture::new();
    let ccm = json!({"suspend": true, "values": ["port", "log", "hosts", "cloud"]});
    let at = |path: &str| json!({"kind": "Secret", "name": "x", "optional": true, "targetPath": path});
    let from = json!([at("cloud.password"), at("hosts[0].name"), at("port")]);
    fixture.stack.flux =
        serde_json::from_value(json!({"addons": {"ccm": {"overridable": ccm, "valuesFrom": from}}})).unwrap();
    fixture.stack.components = serde_json::from_value(json!({"repositories": [{
        "name": "platform", "git": {"url": "https://git.example.org/platform.git"},
        "components": [{"name": "dns", "chart": "dns", "optional": true, "description": "names",
            "schema": {"properties": {"log": {"properties": {"level": {"type": "string"}}}}}}],
    }]}))
    .unwrap();
    let release = fixture.release("v1");
    let found = Arc::new(found);
    let inputs = fixture.inputs("one", "v1").with_requested(Some(found.clone()));
    let versions = BTreeMap::from([("dns".parse().unwrap(), "1.2.3".to_owned())]);
    let target = RequestTarget::Release {
        stack: &fixture.stack,
        release: &release,
        inputs: &inputs,
        versions: &versions,
    };
    cluster_addon_override(&found, &target, NOW.parse().unwrap())
}

fn conditions_of(status: &ClusterAddonOverrideStatus) -> Vec<(&str, &str, &str)> {
    let of = status.conditions.iter();
    of.map(|it| (it.type_.as_str(), it.status.as_str(), it.reason.as_str())).collect()
}

#[test]
fn each_request_has_its_answer() {
    for (request, accepted, refused, without_effect) in [
        (json!({"suspend": true}), true, vec![], vec![]),
        (json!({"values": {"log": 1}}), true, vec![], vec![]),
        (json!({"values": {"log": 1, "port": 2}}), true, vec![], vec!["port"]),
        (json!({"values": {"cloud": {"user": 1}}}), true, vec![], vec![]),
        (json!({"values": {"cloud": {"password": 1}}}), true, vec![], vec!["cloud.password"]),
        (json!({"values": {"cloud": null}}), true, vec![], vec!["cloud"]),
        (json!({"values": {"hosts": [], "port": {"a": 1}}}), true, vec![], vec!["port", "hosts"]),
        (json!({"values": {"other": 1}}), false, vec!["spec.addons.ccm.values.other"], vec![]),
        (json!({"enabled": false}), false, vec!["spec.addons.ccm.enabled"], vec![]),
    ] {
        let status = status(&json!({"ccm": request}));
        let [answer] = &status.addons[..] else { panic!("{status:?}") };
        let fields: Vec<&str> = answer.refused.iter().map(|refused| refused.field.as_str()).collect();
        assert_eq!((answer.accepted, fields, answer.without_effect.clone()), {
            let without_effect: Vec<String> = without_effect.iter().map(ToString::to_string).collect();
            (accepted, refused, without_effect)
        });
        let expected = if accepted { ("True", "Accepted") } else { ("False", "OverrideRefused") };
        assert!(
            conditions_of(&status).iter().all(|(_, status, reason)| (*status, *reason) == expected),
            "{request}"
        );
        assert_eq!(status.observed_generation, Some(3));
    }
}

#[test]
fn refused_requests_are_named_and_others_accepted() {
    let status =
        status(&json!({"ccm": {"suspend": true}, "cni": {"suspend": true}, "gone": {"enabled": true}}));
    let answers: Vec<_> =
        status.addons.iter().map(|answer| (answer.name.as_str(), answer.accepted)).collect();
    assert_eq!(answers, [("ccm", true), ("cni", false), ("gone", false)]);
    let message = &status.conditions[0].message;
    assert!(
        message.starts_with("spec.addons.cni.suspend: ")
            && message.ends_with("the request for cni, gone is refused, and makes no difference"),
        "{message}"
    );
    assert_eq!(status.addons[0].in_effect, ["suspend"]);
}

#[test]
fn request_that_was_accepted_stays_in_effect() {
    let mut found = requested(&json!({"ccm": {"suspend": true}}));
    found.status = Some(status(&json!({"ccm": {"suspend": true}})));
    found.spec = requested(&json!({"ccm": {"suspend": true, "values": {"other": 1}}})).spec;
    let refused = status_of(found);
    assert_eq!(
        (refused.addons[0].accepted, &*refused.addons[0].in_effect),
        (false, &["suspend".to_owned()][..])
    );
    let message = &refused.conditions[0].message;
    assert!(message.contains("for ccm is refused: what the Cluster has of it stays as it is"), "{message}");
}

#[test]
fn available_addons_say_what_may_be_requested() {
    let entry = |status: &ClusterAddonOverrideStatus, name: &str| {
        let found = status.available.iter().find(|found| found.name == name).unwrap().clone();
        serde_json::to_value(found).unwrap()
    };
    let none = status(&json!({}));
    assert_eq!(
        entry(&none, "ccm"),
        json!({
            "name": "ccm", "version": "v1", "enabled": true, "overridable": {"suspend": true, "values": ["port", "log", "hosts", "cloud"]},
        })
    );
    assert_eq!(entry(&none, "policies"), json!({"name": "policies", "enabled": true}));
    let dns = |enabled: bool| {
        json!({
            "name": "dns", "version": "1.2.3", "enabled": enabled, "optional": true, "description": "names",
            "overridable": {"enabled": true, "values": ["log.level"]},
        })
    };
    assert_eq!(entry(&none, "dns"), dns(false));
    assert_eq!(entry(&status(&json!({"dns": {"enabled": true}})), "dns"), dns(true));
}

#[test]
fn requests_without_a_release_keep_their_answers() {
    let mut found = requested(&json!({"ccm": {"suspend": true}}));
    found.status = Some(status(&json!({"ccm": {"suspend": true}})));
    let report = Report::new(ConditionStatus::Unknown, Reason::Paused.as_str(), "paused");
    let unknown = cluster_addon_override(&found, &RequestTarget::Unknown(report), NOW.parse().unwrap());
    assert_eq!((unknown.addons.len(), unknown.available.len()), (1, 4));
    assert_eq!(unknown.observed_generation, Some(3));
    assert_eq!(conditions_of(&unknown), [("Ready", "Unknown", "Paused"), ("Accepted", "Unknown", "Paused")]);
    let none = cluster_addon_override(&found, &RequestTarget::NoCluster, NOW.parse().unwrap());
    assert_eq!((none.addons.len(), none.available.len()), (0, 0));
    assert_eq!(conditions_of(&none)[1], ("Accepted", "False", "ClusterNotFound"));
}

#[test]
fn kept_answers_keep_the_generation_they_are_for() {
    let known = status(&json!({"ccm": {"suspend": true}}));
    let report = Report::new(ConditionStatus::Unknown, Reason::Paused.as_str(), "paused");
    let unknown = RequestTarget::Unknown(report);
    for (old, target, expected) in [
        (Some(known.clone()), &unknown, 3),
        (None, &unknown, 4),
        (
            Some(ClusterAddonOverrideStatus { observed_generation: Some(3), ..Default::default() }),
            &unknown,
            4,
        ),
        (Some(known), &RequestTarget::NoCluster, 4),
    ] {
        let mut found = requested(&json!({"ccm": {"suspend": true}}));
        (found.status, found.metadata.generation) = (old, Some(4));
        let status = cluster_addon_override(&found, target, NOW.parse().unwrap());
        assert_eq!(status.observed_generation, Some(expected), "{target:?}");
        assert!(status.conditions.iter().all(|condition| condition.observed_generation == Some(4)));
    }
}
