//! Tables of what requests for addons change about a Cluster.

use serde_json::{Value, json};

use super::*;
use crate::api::ClusterStack;
use crate::inputs::overrides::Requests;

fn requested(addons: &Value, changes: &Value) -> ClusterAddonOverride {
    let mut object = json!({
        "metadata": {"name": "c1", "namespace": "work", "uid": "o", "generation": 1}, "spec": {"addons": addons},
    });
    merge(&mut object, changes);
    serde_json::from_value(object).unwrap()
}

/// A Cluster with all addons of a stack that lets `cni` and `policies` be overridden, with these requests from now on.
fn scene(addons: &Value) -> Scene {
    let mut scene = Scene::new();
    let all = json!({"overridable": {"enabled": true, "suspend": true, "values": ["*"]}});
    scene.fixture.stack.flux =
        serde_json::from_value(json!({"addons": {"cni": all, "policies": all}})).unwrap();
    scene.deliver(&["addon", "namespace"]);
    scene.fixture.requested = Some(Arc::new(requested(addons, &json!({}))));
    scene
}

#[test]
fn requests_are_confirmed_by_the_same_object() {
    let off = json!({"cni": {"enabled": false}});
    let planned = requested(&off, &json!({}));
    for (live, expected, why) in [
        (Some(planned.clone()), true, "it is as in the cache"),
        (
            Some(requested(&off, &json!({"metadata": {"resourceVersion": "9"}, "status": {}}))),
            true,
            "its status changed",
        ),
        (Some(requested(&json!({}), &json!({}))), false, "it asks for nothing"),
        (
            Some(requested(&off, &json!({"metadata": {"generation": 2}}))),
            false,
            "it changed and changed back",
        ),
        (Some(requested(&off, &json!({"metadata": {"uid": "p"}}))), false, "it is another one"),
        (Some(requested(&off, &deleted())), false, "it is being deleted, and the addon comes back"),
        (
            Some(requested(&off, &json!({"status": {"addons": [{"name": "cni", "inEffect": ["enabled"]}]}}))),
            false,
            "it was accepted since",
        ),
        (None, false, "it is gone"),
    ] {
        assert_eq!(are_requests_confirmed(Some(&planned), live.as_ref()), expected, "{why}");
    }
    assert!(are_requests_confirmed(None, None));
    assert!(!are_requests_confirmed(None, Some(&planned)), "it may switch an optional component on");
}

/// A list without the requests does not prove that there are none, and other content would be without them.
#[test]
fn other_content_without_requests_is_confirmed() {
    let is_to_confirm = |scene: &Scene| {
        let facts = scene.facts();
        are_requests_to_confirm(&facts, &decide(&facts))
    };
    let mut scene = scene(&json!({"cni": {"values": {labels::CONTENT_DIGEST: 1}}}));
    scene.fixture.requested = None;
    assert!(!is_to_confirm(&scene), "nothing changes");
    let installed = scene.objects.clone();
    scene.objects.retain(|object| object.addon() != Some("cni"));
    assert!(is_to_confirm(&scene), "an addon comes back that may be switched off");
    scene.objects = installed;
    let cni = scene.objects.iter_mut().find(|object| object.addon() == Some("cni")).unwrap();
    let cni = Arc::make_mut(cni);
    (cni.suspended, cni.metadata.suspended_by_settings) = (true, true);
    assert!(is_to_confirm(&scene), "an addon is resumed that may be suspended");
    scene.fixture.requested = Some(Arc::new(requested(&json!({}), &json!({}))));
    assert!(!is_to_confirm(&scene), "there are requests");
}

#[test]
fn removal_by_request_needs_the_settings_of_the_plan() {
    let scene = scene(&json!({"cni": {"enabled": false}}));
    let stack = &scene.fixture.stack;
    let requests = |addons: &Value| {
        let found = Arc::new(requested(addons, &json!({})));
        Requests::decide(Some(&found), stack, &scene.release, &scene.cluster)
    };
    let live = |flux: Value| -> ClusterStack {
        let spec = json!({"provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "noProvider": true, "flux": flux});
        serde_json::from_value(json!({"metadata": {"name": "demo"}, "spec": spec})).unwrap()
    };
    let same = || Some(live(serde_json::to_value(&stack.flux).unwrap()));
    let revoked = || Some(live(json!({"addons": {"cni": {"overridable": {"suspend": true}}}})));
    for (addons, live, expected, why) in [
        (json!({"cni": {"enabled": false}}), same(), true, "the settings are those of the plan"),
        (json!({"cni": {"enabled": false}}), revoked(), false, "the request is not allowed now"),
        (json!({}), revoked(), true, "there is no request"),
        (json!({"cni": {"enabled": false}}), None, false, "the ClusterStack is gone"),
        (json!({}), None, true, "the ClusterStack is gone, and nothing depends on it"),
    ] {
        assert_eq!(has_present_settings(stack, &requests(&addons), live.as_ref()), expected, "{why}");
    }
}

/// Formats what is pruned: addon, relation, decision, and the reason of the hold.
fn pruned(scene: &Scene) -> String {
    let facts = scene.facts();
    let receipts = Receipts::if_accepted(&facts, &decide(&facts));
    let found = prune_candidates(&facts, &receipts);
    let short = found.iter().map(|it| {
        let report = it.report(&facts.snapshot.addon).map(|hold| hold.reason);
        format!("{} {:?} {:?} {report:?}", it.addon, it.delivers, it.decision)
    });
    short.collect::<Vec<_>>().join("; ")
}

#[test]
fn only_what_an_accepted_request_switches_off_is_removed() {
    let bad = json!({labels::CONTENT_DIGEST: 1});
    for (addons, expected) in [
        (json!({}), ""),
        (json!({"cni": {"enabled": false}}), "cni SwitchedOff Delete Some(AddonRemoved)"),
        (json!({"policies": {"enabled": false}}), "policies SwitchedOff Delete Some(AddonRemoved)"),
        (json!({"cni": {"enabled": false, "values": bad}}), ""),
        (json!({"ccm": {"enabled": false}}), ""),
        (json!({"cni": {"suspend": true}}), ""),
    ] {
        let scene = scene(&addons);
        assert_eq!(pruned(&scene), expected, "{addons}");
    }
}

#[test]
fn unknown_addon_stays_only_if_it_was_switched_on() {
    let removed = "old NotInRelease Delete Some(AddonRemoved)";
    for (addons, before, expected) in [
        (json!({}), "enabled", removed),
        (json!({"old": {"enabled": true}}), "enabled", "old NotInRelease Blocked Some(OverrideRefused)"),
        (json!({"old": {"enabled": true}}), "values", removed),
        (json!({"old": {"enabled": false}}), "enabled", removed),
        (json!({"old": {"suspend": true}}), "suspend", removed),
    ] {
        let mut scene = scene(&addons);
        let status = json!({"status": {"addons": [{"name": "old", "inEffect": [before]}]}});
        scene.fixture.requested = Some(Arc::new(requested(&addons, &status)));
        scene.objects.push(flux_object("HelmRelease", "old", &json!({})));
        merge(&mut scene.addon, &json!({"status": {"committedBy": "stacks/demo"}}));
        assert_eq!(pruned(&scene), expected, "{addons}");
        let facts = scene.facts();
        let Target::Available(available) = &facts.target else { panic!() };
        let stack = crate::names::Key::new("stacks", "demo");
        let (of, without_file) = ((&scene.release, &available.course), BTreeSet::new());
        let cluster = (&scene.cluster, &available.requests);
        let prune = PruneFacts::of(&facts.snapshot.addon, of, cluster, &without_file);
        let prune = PruneFacts { objects: &facts.snapshot.objects, ..prune };
        let is_removed = expected.contains("Delete");
        assert_eq!(is_prune_pending(&prune, (&stack, false)), is_removed, "{addons}");
    }
}

#[test]
fn request_suspends_like_the_settings() {
    for (addons, expected) in [
        (json!({}), None),
        (json!({"cni": {"suspend": true}}), Some(true)),
        (json!({"cni": {"suspend": false}}), None),
        (json!({"ccm": {"suspend": true}}), None),
    ] {
        let scene = scene(&addons);
        let decision = decide(&scene.facts());
        assert_eq!(decision.actions["cni"].suspend, expected, "{addons}");
        assert_eq!(decision.actions["ccm"].suspend, None, "a refused request has no effect");
    }
}

/// Flux uninstalls nothing of a suspended object. The operator resumes what it has suspended itself.
#[test]
fn addon_that_goes_away_is_resumed() {
    let by = |manager: &str| {
        let fields = json!({"f:spec": {"f:suspend": {}}});
        json!({"spec": {"suspend": true}, "metadata": {"managedFields": [{"manager": manager, "fieldsV1": fields}]}})
    };
    let (ours, theirs) = (by(labels::SUSPEND_FIELD_MANAGER), by("kubectl"));
    let off = json!({"cni": {"enabled": false}});
    for (addons, addon, object, expected, why) in [
        (&off, "cni", &ours, true, "it is switched off"),
        (&json!({}), "old", &ours, true, "the release lacks it"),
        (&json!({}), "cni", &ours, false, "its own write resumes it"),
        (&off, "cni", &theirs, false, "a person suspended it"),
        (&off, "cni", &json!({}), false, "it is not suspended"),
    ] {
        let mut scene = scene(addons);
        scene.objects = vec![flux_object("HelmRelease", addon, object)];
        let decision = decide(&scene.facts());
        let resumed: Vec<_> = decision.resumes.iter().map(|object| object.addon().unwrap()).collect();
        assert_eq!(resumed, if expected { vec![addon] } else { vec![] }, "{why}");
    }
}

#[test]
fn what_is_off_is_no_part_of_the_gate() {
    for (addons, expected) in [
        (json!({}), vec!["cni", "policies"]),
        (json!({"cni": {"enabled": false}}), vec!["policies"]),
        (json!({"cni": {"suspend": true}}), vec!["cni", "policies"]),
        (json!({"cni": {"enabled": false, "values": {labels::CONTENT_DIGEST: 1}}}), vec!["cni", "policies"]),
    ] {
        let mut scene = scene(&addons);
        scene.fixture.before_upgrade = &["cni", "policies"];
        scene.release = scene.fixture.release("v1");
        let facts = scene.facts();
        let Target::Available(available) = &facts.target else { panic!() };
        let needed: Vec<&str> = needed_before_upgrade(available).map(|addon| addon.name.as_str()).collect();
        assert_eq!(needed, expected, "{addons}");
    }
}
