//! Tests of the upgrades of addons that are repeated after that of the Cluster.

use serde_json::{Value, json};

use super::upgrade::scene;
use super::*;
use crate::api::labels::{FORCE_AT, REPEAT_AFTER, REQUESTED_AT};

/// The version of the Cluster before.
const OLD: &str = "v1.34.1";
/// The version of the Cluster.
const NEW: &str = "v1.34.2";
/// The upgrade of the Cluster: release and version.
const UPGRADE: &str = "docker-demo-1-34-v1/v1.34.2";

/// Returns annotations of an object of an addon.
fn annotated(annotations: &[(&str, &str)]) -> Value {
    let annotations: serde_json::Map<String, Value> =
        annotations.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    json!({"metadata": {"annotations": annotations}})
}

/// Returns the objects that are noted, and those that Flux is asked to upgrade once more. `cni`, with these changes of its object,
/// belongs before and after the upgrade.
fn decided(
    control_plane: &'static str,
    changes: &[&Value],
    edit: impl FnOnce(&mut Scene),
) -> [Vec<String>; 2] {
    let mut all = json!({});
    for change in changes {
        merge(&mut all, change);
    }
    let mut scene = scene(&all);
    scene.control_plane = Some(control_plane);
    scene.fixture.phase = if control_plane == NEW { Phase::Steady } else { Phase::Waiting };
    scene.fixture.after_upgrade = &["cni"];
    edit(&mut scene);
    scene.release = scene.fixture.release("v1");
    let facts = scene.facts();
    let repeats = decide(&facts).repeats;
    assert_eq!(repeats.upgrade, UPGRADE);
    [repeats.noted, repeats.due].map(|objects| objects.iter().map(|it| it.name().to_owned()).collect())
}

#[test]
fn addon_of_both_hooks_is_noted_before_the_upgrade() {
    let as_it_is = |_: &mut Scene| {};
    let noted = |changes: &[&Value]| decided(OLD, changes, as_it_is)[0].clone();
    assert_eq!(noted(&[]), ["c1.cni"]);
    let none: [&str; 0] = [];
    assert_eq!(noted(&[&annotated(&[(REPEAT_AFTER, UPGRADE)])]), none, "it is noted");
    assert_eq!(
        noted(&[&annotated(&[(REPEAT_AFTER, "docker-demo-1-34-v0/v1.34.1")])]),
        ["c1.cni"],
        "an earlier one"
    );
    assert_eq!(noted(&[&json!({"spec": {"interval": "1s"}})]), none, "it has not moved yet");
    assert_eq!(noted(&[&suspended()]), none, "a user suspended it");
    let before_alone = |scene: &mut Scene| scene.fixture.after_upgrade = &[];
    assert_eq!(decided(OLD, &[], before_alone)[0], none, "it belongs before the upgrade alone");
    let after_alone = |scene: &mut Scene| scene.fixture.before_upgrade = &[];
    assert_eq!(decided(OLD, &[], after_alone)[0], none, "it belongs after the upgrade alone");
}

#[test]
fn noted_addon_is_upgraded_once_more_after_the_upgrade() {
    let noted = annotated(&[(REPEAT_AFTER, UPGRADE)]);
    let asked = annotated(&[(REQUESTED_AT, UPGRADE), (FORCE_AT, UPGRADE)]);
    let handled = json!({"status": {"lastHandledForceAt": UPGRADE}});
    let begun = |scene: &mut Scene| {
        let pending = json!({"runtime.cluster.x-k8s.io/pending-hooks": "AfterClusterUpgrade"});
        let topology = json!({"topology": {"version": NEW}});
        scene.cluster = cluster(&json!({"metadata": {"annotations": pending}, "spec": topology}));
        scene.fixture.phase = Phase::Upgrading;
    };
    let due = |changes: &[&Value]| decided(NEW, changes, |_| {});
    let none: [Vec<String>; 2] = [vec![], vec![]];
    assert_eq!(due(&[&noted]), [vec![], vec!["c1.cni".to_owned()]]);
    assert_eq!(due(&[]), none, "the Cluster was created with this version");
    assert_eq!(
        due(&[&annotated(&[(REPEAT_AFTER, "docker-demo-1-34-v0/v1.34.1")])]),
        none,
        "an earlier upgrade"
    );
    assert_eq!(due(&[&noted, &asked]), none, "Flux is asked");
    assert_eq!(due(&[&noted, &asked, &handled]), none, "Flux handled it");
    assert_eq!(
        due(&[&noted, &annotated(&[(FORCE_AT, UPGRADE), (REQUESTED_AT, "x")])])[1],
        ["c1.cni"],
        "another request replaced it"
    );
    assert_eq!(due(&[&noted, &suspended()]), none, "a user suspended it");
    assert_eq!(
        due(&[&noted, &json!({"spec": {"interval": "1s"}})]),
        none,
        "it is written, and Flux upgrades it"
    );
    assert_eq!(decided(NEW, &[&noted], begun), none, "the nodes do not have the version yet");
    assert_eq!(decided(OLD, &[&noted], |_| {}), none, "the control plane does not have it");
}
