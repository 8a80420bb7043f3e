//! Releases that a `ClusterStack` refuses because of its settings.

use super::*;
use crate::api::WaitHandling;
use crate::api::cluster_stack::UpgradeGate;
use crate::inputs::acceptance::accept;
use crate::release::{Action, Finding, Hook, Reason, Release, Stage, Wait};

/// Returns the errors for which a release is refused.
fn refused(fixture: &Fixture, release: &Release) -> Vec<String> {
    let accepted = accept(&fixture.stack, release);
    accepted.map_or_else(|findings| findings.errors().map(ToString::to_string).collect(), |_| Vec::new())
}

/// A stack in which `first` move before an upgrade, with these settings and components.
fn moving(first: &'static [&'static str], settings: &Value, components: &Value) -> Fixture {
    let mut fixture = Fixture::new();
    fixture.before_upgrade = first;
    fixture.stack.flux = serde_json::from_value(json!({"addons": settings})).unwrap();
    fixture.stack.components = serde_json::from_value(json!({"repositories": components})).unwrap();
    fixture
}

#[test]
fn wait_is_refused_unless_the_stack_ignores_it() {
    let mut fixture = Fixture::new();
    let mut release = fixture.published("v1");
    let finding = Finding::error(Reason::WaitNotSupported, "clusteraddon.yaml", "not supported");
    let (hook, field) = (Hook::BeforeClusterUpgrade, "waitForPreCondition");
    release.waits = vec![Wait { addon: "cni".parse().unwrap(), hook, field, finding }];
    assert_eq!(refused(&fixture, &release), ["error: WaitNotSupported: clusteraddon.yaml: not supported"]);
    fixture.stack.flux.waits = WaitHandling::Ignore;
    assert_eq!(refused(&fixture, &release), [""; 0]);
}

#[test]
fn addon_never_waits_for_what_a_deletion_precedes() {
    let stage = |text: &str| {
        let (action, addon) = text.split_at(1);
        let action = if action == "+" { Action::Apply } else { Action::Delete };
        Stage { addon: addon.parse().unwrap(), action }
    };
    let fixture = moving(&[], &json!({"cni": {"dependsOn": ["ccm"]}}), &json!([]));
    let lists = |lists: [&str; 3]| {
        let mut release = fixture.published("v1");
        let list = |text: &str| text.split_whitespace().map(stage).collect::<Vec<_>>();
        release.stages = Hook::ALL.into_iter().zip(lists).map(|(hook, text)| (hook, list(text))).collect();
        release
    };
    let (neither, lost) = ("neither would move", "which a stage deletes in the end");
    for (of, expected) in [
        (["+cni +ccm", "", ""], None),
        (["+ccm -old +cni", "", ""], None),
        (["+cni +ccm -old", "", ""], None),
        (["+cni -old +ccm", "", ""], Some(neither)),
        (["+cni +ccm", "", "+cni -old +ccm"], Some(neither)),
        (["+cni +ccm", "+cni -ccm +ccm", ""], Some(neither)),
        (["+cni +ccm", "+ccm +cni -ccm +ccm", ""], None),
        (["+cni +ccm", "-ccm +ccm +cni", ""], None),
        (["+cni", "+ccm +cni -ccm", ""], Some(lost)),
        (["", "+ccm +cni -cni -ccm", ""], None),
    ] {
        let found = refused(&fixture, &lists(of));
        let is_expected = match (expected, &found[..]) {
            (None, []) => true,
            (Some(expected), [found]) => found.contains(expected) && found.contains("spec.flux.addons.cni"),
            _ => false,
        };
        assert!(is_expected, "{of:?} {expected:?}: {found:?}");
    }
}

#[test]
fn upgrade_never_waits_for_what_moves_after_it() {
    let digest = format!("sha256:{}", "3a".repeat(32));
    let component = |name: &str, hook: &Value, needed: &str| {
        json!([{
            "name": "of", "oci": {"url": "oci://registry.example.org/charts/of", "digest": digest},
            "components": [{"name": name, "chart": ".", "hook": hook, "dependsOn": [needed]}],
        }])
    };
    let (before, after) = (json!("BeforeClusterUpgrade"), Value::Null);
    let needs = |addon: &str, needed: &str| json!({addon: {"dependsOn": [needed]}});
    let error = |place: &str, first: &str, late: &str| {
        format!(
            "error: DependencyInvalid: {place}: {first} moves before an upgrade of the cluster, and {late} only after it: \
             neither would move"
        )
    };
    let of_settings = "spec.flux.addons.cni.dependsOn";
    for (fixture, expected) in [
        (moving(&["cni"], &needs("cni", "ccm"), &json!([])), Some(error(of_settings, "cni", "ccm"))),
        (moving(&["cni", "ccm"], &needs("cni", "ccm"), &json!([])), None),
        (moving(&["cni"], &needs("ccm", "cni"), &json!([])), None),
        (moving(&[], &needs("cni", "ccm"), &json!([])), None),
        (moving(&["cni"], &needs("cni", "nothing"), &json!([])), None),
        (
            moving(&["cni"], &json!({}), &component("edge", &before, "ccm")),
            Some(error("spec.components: dependsOn of edge", "edge", "ccm")),
        ),
        (moving(&["cni"], &json!({}), &component("edge", &before, "cni")), None),
        (moving(&["cni"], &json!({}), &component("edge", &after, "ccm")), None),
        (
            moving(&["cni"], &needs("cni", "edge"), &component("edge", &after, "ccm")),
            Some(error(of_settings, "cni", "edge")),
        ),
    ] {
        let release = fixture.published("v1");
        let expected: Vec<String> = expected.into_iter().collect();
        assert_eq!(refused(&fixture, &release), expected, "{:?}", fixture.stack.flux.addons);
    }
    let mut off = moving(&["cni"], &needs("cni", "ccm"), &json!([]));
    off.stack.upgrade_gate = UpgradeGate::Off;
    let expected = error(of_settings, "cni", "ccm");
    assert_eq!(refused(&off, &off.published("v1")), [expected], "the rest waits without a gate, too");
}
