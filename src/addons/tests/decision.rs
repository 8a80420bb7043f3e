//! Tests of the writes for a Cluster that precede its status.

use serde_json::{Value, json};

use super::*;
use crate::foreign::flux::observed::FluxObject;
use crate::plan::write::{RepairState, Write};
use crate::plan::{ObjectId, Step};

/// Formats the delivery and the write for each addon.
fn short(decision: &Decision) -> String {
    let delivery = match &decision.delivery {
        Delivery::Elsewhere(_) => "Elsewhere".to_owned(),
        other => format!("{other:?}"),
    };
    let actions = decision.actions.iter().map(|(name, action)| {
        let write = match &action.write {
            ObjectWrite::ByOperator(Write::Apply(apply)) if apply.manager.is_some() => "Repair".to_owned(),
            ObjectWrite::ByOperator(Write::Apply(_)) => "Apply".to_owned(),
            ObjectWrite::ByOperator(write) => format!("{write:?}"),
            ObjectWrite::AppliedByFlux(_) => "Nothing".to_owned(),
            ObjectWrite::ByFlux(action) => format!("{action:?}"),
            ObjectWrite::AfterOtherKind => "AfterOtherKind".to_owned(),
        };
        let suspend = match action.suspend {
            Some(true) => " suspend",
            Some(false) => " resume",
            None => "",
        };
        format!(" {name}={write}{suspend}")
    });
    delivery + &actions.collect::<String>()
}

fn decided(change: impl FnOnce(&mut Scene)) -> Decision {
    let mut scene = Scene::new();
    change(&mut scene);
    decide(&scene.facts())
}

fn by_git(scene: &mut Scene) {
    let git = json!({"mode": "Git", "git": {"url": "https://git.example.org/fleet.git", "branch": "main", "path": "fleet"}});
    scene.fixture.stack.delivery = serde_json::from_value(git).unwrap();
}

fn elsewhere(scene: &mut Scene) {
    scene.elsewhere = Some(Hold { reason: Reason::DeliveredElsewhere, message: String::new() });
}

#[test]
fn delivery_follows_mode_of_the_stack() {
    assert_eq!(short(&decided(|_| {})), "Apply ccm=Apply cni=Apply policies=Apply");
    assert_eq!(short(&decided(by_git)), "Commit ccm=Apply cni=Apply policies=Apply");
    let suspended = |scene: &mut Scene| scene.is_suspended = true;
    assert_eq!(short(&decided(suspended)), "Suspended ccm=Apply cni=Apply policies=Apply");
    assert_eq!(short(&decided(elsewhere)), "Elsewhere");
}

/// Returns a source of the release as planned, with these changes.
fn source(scene: &Scene, changes: &Value) -> (ObjectId, Arc<FluxObject>) {
    let plan = scene.fixture.plan("v1", &["c1"]);
    let planned = plan.objects().find(|planned| planned.step == Step::Sources).unwrap();
    let mut object = planned.value.clone();
    merge(&mut object, &json!({"metadata": {"uid": "source"}}));
    merge(&mut object, changes);
    (planned.id.clone(), Arc::new(serde_json::from_value(object).unwrap()))
}

#[test]
fn addons_wait_for_a_source_that_is_taken_or_repaired_later() {
    let of_another = json!({"metadata": {"annotations": null, "labels": null}});
    let changed = json!({"spec": {"url": "https://git.example.org/another.git"}});
    let until = NOW.parse().unwrap();
    let sources = |scene: &mut Scene, changes: &Value| {
        let (id, object) = source(scene, changes);
        scene.sources = vec![object];
        id
    };
    for (decision, first, is_without, why) in [
        (decided(|_| ()), "Apply", false, "it is absent"),
        (decided(|scene| drop(sources(scene, &json!({})))), "Nothing", false, "it is as planned"),
        (decided(|scene| drop(sources(scene, &changed))), "Apply", false, "it is restored"),
        (decided(|scene| drop(sources(scene, &of_another))), "Taken", true, "it is of another client"),
        (
            decided(|scene| scene.occupants = vec![source(scene, &of_another).1]),
            "Taken",
            true,
            "it is of another client, and no watch reports it",
        ),
        (
            decided(|scene| {
                let id = sources(scene, &changed);
                scene.repairs.insert(id, RepairState { digest: None, next: Some((3, until)) });
            }),
            "Later",
            true,
            "it is restored later",
        ),
    ] {
        let found = match decision.sources.first() {
            Some(ObjectWrite::ByOperator(Write::Apply(_))) => "Apply".to_owned(),
            Some(ObjectWrite::ByOperator(Write::Later(_))) => "Later".to_owned(),
            Some(ObjectWrite::ByOperator(write)) => format!("{write:?}"),
            other => panic!("{other:?}"),
        };
        assert_eq!(found, first, "{why}");
        assert_eq!(decision.actions.is_empty(), is_without, "no addon is written: {why}");
        assert!(!is_without || decision.sources.len() == 1, "no source after it is written: {why}");
    }
}

#[test]
fn addon_is_not_written_over_an_object_that_no_watch_reports() {
    let of_another = json!({"metadata": {"annotations": null, "labels": null, "ownerReferences": null}});
    let taken = decided(|scene| scene.occupants = vec![flux_object("HelmRelease", "cni", &of_another)]);
    assert_eq!(short(&taken), "Apply ccm=Apply cni=Apply policies=Apply", "it is in another namespace");
    let in_namespace = |scene: &mut Scene| {
        let mut changes = of_another.clone();
        merge(&mut changes, &json!({"metadata": {"namespace": "stacks"}}));
        scene.occupants = vec![flux_object("HelmRelease", "cni", &changes)];
    };
    assert_eq!(short(&decided(in_namespace)), "Apply ccm=Apply cni=Taken policies=Apply");
}

#[test]
fn held_cluster_is_not_written() {
    let held = |scene: &mut Scene| {
        scene.fixture.edit_cluster = |cluster| cluster["status"] = json!({});
        elsewhere(scene);
    };
    assert_eq!(short(&decided(held)), "Nothing");
    let held_and_suspended = |scene: &mut Scene| {
        held(scene);
        scene.is_suspended = true;
    };
    assert_eq!(short(&decided(held_and_suspended)), "Nothing");
}

#[test]
fn settings_suspend_single_addons() {
    let flux = json!({"addons": {"cni": {"suspend": true}, "ccm": {}}});
    let set = |scene: &mut Scene| scene.fixture.stack.flux = serde_json::from_value(flux).unwrap();
    assert_eq!(short(&decided(set)), "Apply ccm=Apply cni=Apply suspend policies=Apply");
}

#[test]
fn settings_resume_only_what_they_suspended() {
    let by = |manager: &str| {
        let fields = json!({"f:spec": {"f:suspend": {}}});
        let metadata = json!({"managedFields": [{"manager": manager, "fieldsV1": fields}]});
        json!({"spec": {"suspend": true}, "metadata": metadata})
    };
    let mut terminating = suspended();
    merge(&mut terminating, &deleted());
    for (suspends, changes, expected, why) in [
        (true, json!({}), Some(true), "it runs"),
        (true, by("kubectl"), None, "it is suspended already"),
        (true, deleted(), None, "it is being deleted"),
        (false, json!({}), None, "it runs"),
        (false, by(labels::SUSPEND_FIELD_MANAGER), Some(false), "the settings suspended it"),
        (false, by("kubectl"), None, "a person suspended it"),
        (false, terminating, None, "Flux would uninstall its addon"),
    ] {
        let decision = decided(|scene| {
            let flux = json!({"addons": {"cni": {"suspend": suspends}}});
            scene.fixture.stack.flux = serde_json::from_value(flux).unwrap();
            scene.objects = vec![flux_object("HelmRelease", "cni", &changes)];
        });
        assert_eq!(decision.actions["cni"].suspend, expected, "{why}");
    }
}

#[test]
fn actions_follow_the_delivered_objects() {
    let delivered = |owners: &[&str]| {
        let mut scene = Scene::new();
        scene.deliver(owners);
        scene
    };
    let mut scene = delivered(&["addon", "namespace"]);
    assert_eq!(short(&decide(&scene.facts())), "Apply ccm=Nothing cni=Nothing policies=Nothing");
    scene.addon["status"]["addons"][1]["expected"]["specDigest"] = json!("sha256:0");
    let edited = scene.addon["status"]["addons"][1]["name"].as_str().unwrap().to_owned();
    assert!(short(&decide(&scene.facts())).contains(&format!("{edited}=Repair")));
    by_git(&mut scene);
    let as_planned = "Commit ccm=Nothing cni=Nothing policies=Nothing";
    let decision = decide(&scene.facts());
    assert_eq!(short(&decision), as_planned, "Flux corrects drift");
    let receipts = Receipts::if_accepted(&scene.facts(), &decision);
    for (object, (addon, action)) in scene.objects.iter().zip(&decision.actions) {
        assert_eq!(action.write, ObjectWrite::AppliedByFlux(object.spec_digest.clone()), "{addon}");
        assert_eq!(receipts.expected[addon], object.spec_digest, "its present spec counts as planned");
    }
    let scene = delivered(&["addon"]);
    assert_eq!(short(&decide(&scene.facts())), "Apply ccm=Apply cni=Apply policies=Apply");
}

#[test]
fn object_that_lost_its_label_gets_it_again() {
    let label = json!({"metadata": {"labels": {labels::MANAGED_BY: labels::FIELD_MANAGER}}});
    let disowned = json!({"metadata": {"ownerReferences": null}});
    for (addon, changes, expected, why) in [
        ("old", json!({}), "c1.old", "the watches do not see it"),
        ("old", label, "", "it has the label"),
        ("old", deleted(), "", "it is being deleted"),
        ("old", disowned, "", "it has no owner"),
        ("cni", json!({}), "", "it is planned, and an apply restores its labels"),
    ] {
        for is_suspended in [false, true] {
            let decision = decided(|scene| {
                scene.objects = vec![flux_object("HelmRelease", addon, &changes)];
                scene.is_suspended = is_suspended;
            });
            let found: Vec<_> = decision.relabels.iter().map(|object| object.name()).collect();
            assert_eq!(found.join(" "), expected, "{why}");
        }
    }
}

#[test]
fn object_of_the_other_kind_blocks_its_addon() {
    let with = |kind: &'static str, addon: &'static str, changes: Value| {
        short(&decided(move |scene| scene.objects = vec![flux_object(kind, addon, &changes)]))
    };
    let (cni, policies) = (
        "Apply ccm=Apply cni=AfterOtherKind policies=Apply",
        "Apply ccm=Apply cni=Apply policies=AfterOtherKind",
    );
    let none = "Apply ccm=Apply cni=Apply policies=Apply";
    assert_eq!(with("Kustomization", "cni", json!({})), cni);
    assert_eq!(with("HelmRelease", "policies", json!({})), policies);
    assert_eq!(with("HelmRelease", "cni", json!({})), none);
    // An object without the owner does not block.
    let other = json!({"metadata": {"ownerReferences": null}});
    assert_eq!(with("Kustomization", "cni", other.clone()), none);
    // An object of another client has the name of the new form.
    let both = |scene: &mut Scene| {
        scene.objects =
            vec![flux_object("Kustomization", "cni", &json!({})), flux_object("HelmRelease", "cni", &other)];
    };
    assert_eq!(short(&decided(both)), "Apply ccm=Apply cni=Taken policies=Apply");
    let by_flux = |scene: &mut Scene| {
        by_git(scene);
        scene.objects = vec![flux_object("Kustomization", "cni", &json!({}))];
    };
    assert_eq!(short(&decided(by_flux)), "Commit ccm=Apply cni=Apply policies=Apply", "its file is removed");
}

/// Returns the names of objects.
fn names<'a>(objects: impl IntoIterator<Item = &'a Arc<FluxObject>>) -> Vec<&'a str> {
    objects.into_iter().map(|object| object.name()).collect()
}

/// Returns an object of the `ClusterAddon`, one that is being deleted, and one of another client.
fn three_objects() -> Vec<Arc<FluxObject>> {
    let of_others = json!({"metadata": {"ownerReferences": null, "labels": null}});
    vec![
        flux_object("HelmRelease", "cni", &json!({})),
        flux_object("HelmRelease", "old", &deleted()),
        flux_object("HelmRelease", "ccm", &of_others),
    ]
}

#[test]
fn recovered_cluster_requests_reconcile() {
    let mut scene = Scene::new();
    scene.objects = three_objects();
    scene.addon = available_because(Reason::Unreachable);
    let requests = |facts: &Facts| decide(facts).requests.map(|objects| names(&objects).join(" "));
    assert_eq!(requests(&scene.facts()).as_deref(), Some("c1.cni"));
    assert_eq!(requests(&scene.facts_without_release()).as_deref(), Some("c1.cni"));
    assert_eq!(requests(&scene.facts_of(Target::Paused)), None);
    scene.addon = available_because(Reason::Paused);
    assert_eq!(requests(&scene.facts_without_release()), None);
}

#[test]
fn stalled_installation_is_retried_unless_suspended() {
    let stalled = |changes: &Value| {
        let condition = json!({
            "type": "Stalled", "status": "True", "reason": "MissingRollbackTarget", "message": "",
            "lastTransitionTime": "2026-11-23T01:58:00Z",
        });
        let mut object = json!({"status": {"conditions": [condition]}});
        merge(&mut object, changes);
        object
    };
    let mut scene = Scene::new();
    let of_others = json!({"metadata": {"ownerReferences": null, "labels": null}});
    scene.objects = vec![
        flux_object("HelmRelease", "cni", &stalled(&json!({}))),
        flux_object("HelmRelease", "old", &stalled(&json!({}))),
        flux_object("HelmRelease", "ccm", &stalled(&of_others)),
    ];
    let due = |scene: &Scene| names(&decide(&scene.facts()).retries.due).join(" ");
    assert_eq!(due(&scene), "c1.old", "the operator writes cni now, and decides again after that");
    elsewhere(&mut scene);
    assert_eq!(due(&scene), "c1.cni c1.old");
    scene.is_suspended = true;
    assert_eq!(due(&scene), "");
    assert!(decide(&scene.facts_without_release()).retries.due.is_empty());
}

#[test]
fn request_is_forwarded_until_it_is_handled() {
    let asked = json!({"metadata": {"annotations": {labels::REQUESTED_AT: "two"}}});
    let handled = |value: &str| {
        let mut asked = asked.clone();
        merge(&mut asked, &json!({"status": {"lastHandledReconcileAt": value}}));
        asked
    };
    for (addon, is_suspended, expected, why) in [
        (json!({}), false, None, "nobody asks"),
        (asked.clone(), false, Some("two"), "it is the first one"),
        (handled("one"), false, Some("two"), "another one is handled"),
        (handled("two"), false, None, "it is handled"),
        (asked.clone(), true, None, "nothing is written"),
    ] {
        let decision = decided(|scene| (scene.addon, scene.is_suspended) = (addon, is_suspended));
        assert_eq!(decision.forwards.as_deref(), expected, "{why}");
    }
}
