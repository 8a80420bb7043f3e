//! Tests of the deletion of removed addons' objects.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::inputs::overrides::Requests;
use crate::names::AddonName;

/// An object of a removed addon.
const REMOVED: OwnedObject =
    OwnedObject { delivers: AddonMatch::NotInRelease, suspended: false, terminating: false };

#[test]
fn removed_object_without_blocker_is_deleted() {
    for (object, is_turn, expected, why) in [
        (REMOVED, true, PruneDecision::Delete, "the release has it no more"),
        (REMOVED, false, PruneDecision::Blocked, "what replaces it may be held"),
        (
            OwnedObject { delivers: AddonMatch::OtherKind, ..REMOVED },
            true,
            PruneDecision::Delete,
            "what the release has comes when it is gone",
        ),
        (
            OwnedObject { delivers: AddonMatch::OtherKind, ..REMOVED },
            false,
            PruneDecision::Blocked,
            "what the release has is held",
        ),
        (
            OwnedObject { delivers: AddonMatch::Current, ..REMOVED },
            true,
            PruneDecision::Keep,
            "the release has it",
        ),
        (
            OwnedObject { delivers: AddonMatch::OtherOwner, ..REMOVED },
            true,
            PruneDecision::Keep,
            "an earlier ClusterAddon made it",
        ),
        (
            OwnedObject { suspended: true, ..REMOVED },
            true,
            PruneDecision::Blocked,
            "a person wants it left alone",
        ),
        (
            OwnedObject { terminating: true, ..REMOVED },
            true,
            PruneDecision::Deleting,
            "it is deleted already",
        ),
        (
            OwnedObject { terminating: true, ..REMOVED },
            false,
            PruneDecision::Deleting,
            "it is deleted already",
        ),
        (
            OwnedObject { delivers: AddonMatch::Current, terminating: true, ..REMOVED },
            true,
            PruneDecision::Keep,
            "what the release has is delivered again, not removed",
        ),
    ] {
        assert_eq!(prune_decision(object, is_turn), expected, "{why}");
    }
}

/// Formats the candidates: addon, kind, decision, and the reason of the hold.
fn found(objects: &[Arc<FluxObject>], without_file: &[&'static str], is_turn: bool) -> String {
    let addon = cluster_addon(&json!({}));
    let (cni, csi): (AddonName, AddonName) = ("cni".parse().unwrap(), "csi".parse().unwrap());
    let facts = PruneFacts {
        addon: &addon,
        release: BTreeMap::from([(&cni, FluxKind::HelmRelease), (&csi, FluxKind::Kustomization)]),
        deleted: BTreeSet::new(),
        requests: &Requests::default(),
        objects,
        by_git: false,
        without_file: &without_file.iter().map(|name| (FluxKind::HelmRelease, (*name).to_owned())).collect(),
    };
    let found = candidates(&facts, |_| is_turn);
    let short = found.iter().map(|it| {
        let reason = it.hold.as_ref().map(|hold| hold.reason);
        format!("{} {} {:?} {reason:?}", it.addon, it.object.kind(), it.decision)
    });
    short.collect::<Vec<_>>().join("; ")
}

#[test]
fn objects_missing_from_release_are_candidates() {
    let plain = |kind, addon| flux_object(kind, addon, &json!({}));
    let no_label = json!({"metadata": {"labels": {labels::ADDON: null}}});
    let other = json!({"metadata": {"ownerReferences": null}});
    let label = |addon: &str| json!({"metadata": {"labels": {labels::ADDON: addon}}});
    let of_cluster = |cluster: &str, addon: &str| json!({"metadata": {"labels": {labels::ADDON: addon, labels::CLUSTER_NAME: cluster}}});
    for (object, without_file, expected) in [
        (plain("HelmRelease", "cni"), "", ""),
        (plain("Kustomization", "csi"), "", ""),
        (plain("HelmRelease", "old"), "", "old HelmRelease Delete Some(AddonRemoved)"),
        (plain("Kustomization", "old"), "", "old Kustomization Delete Some(AddonRemoved)"),
        (plain("HelmRelease", "csi"), "", "csi HelmRelease Delete Some(AddonRemoved)"),
        // The budget already counts an object without a file.
        (plain("HelmRelease", "old"), "c1.old", "old HelmRelease Deleting Some(AddonRemoved)"),
        (flux_object("HelmRelease", "old", &suspended()), "", "old HelmRelease Blocked None"),
        (flux_object("HelmRelease", "old", &deleted()), "", "old HelmRelease Deleting Some(AddonRemoved)"),
        // Its label names an addon that the release does not have, or none: its name decides.
        (flux_object("HelmRelease", "cni", &label("zzz")), "", ""),
        (flux_object("HelmRelease", "cni", &no_label), "", ""),
        (flux_object("Kustomization", "csi", &label("cni")), "", ""),
        (flux_object("HelmRelease", "cni", &of_cluster("c2", "zzz")), "", ""),
        (
            flux_object("Kustomization", "cni", &label("zzz")),
            "",
            "cni Kustomization Delete Some(AddonRemoved)",
        ),
        // Flux applies it for another Cluster, whose label was changed.
        (
            flux_object(
                "HelmRelease",
                "old",
                &json!({"metadata": {"name": "c2.old", "ownerReferences": null,
            "labels": {labels::APPLIED_BY_NAME: "fleet"}}}),
            ),
            "",
            "",
        ),
        (
            flux_object(
                "HelmRelease",
                "old",
                &json!({"metadata": {"ownerReferences": null,
            "labels": {labels::APPLIED_BY_NAME: "fleet"}}}),
            ),
            "",
            "old HelmRelease Delete Some(AddonRemoved)",
        ),
        // The operator did not deliver it, or delivered it for another ClusterAddon.
        (flux_object("HelmRelease", "old", &no_label), "", ""),
        (flux_object("HelmRelease", "old", &other), "", ""),
    ] {
        assert_eq!(found(std::slice::from_ref(&object), &[without_file], true), expected, "{object:?}");
    }
    assert_eq!(found(&[plain("HelmRelease", "old")], &[], false), "old HelmRelease Blocked None");
}

#[test]
fn prune_needs_unchanged_cluster_and_addon() {
    let (cached, addon) = (cluster(&json!({})), cluster_addon(&json!({})));
    let class =
        |name: &str| json!({"spec": {"topology": {"classRef": {"name": name, "namespace": "stacks"}}}});
    let as_before = Some((json!({}), json!({})));
    let with_cluster = |changes: Value| Some((changes, json!({})));
    let with_addon = |changes: Value| Some((json!({}), changes));
    let stage = json!({"name": "old", "action": "delete", "phase": "done"});
    for (live, expected, why) in [
        (as_before, true, "both are as in the cache"),
        (with_cluster(class("openstack-scs-1-32-v3")), false, "the Cluster has another class"),
        (with_cluster(json!({"spec": {"topology": null}})), false, "it has no class"),
        (with_cluster(json!({"metadata": {"uid": "d"}})), false, "it is another Cluster"),
        (with_cluster(json!({"metadata": {"labels": {"gpu": "true"}}})), false, "it has other labels"),
        (
            with_cluster(json!({"spec": {"topology": {"version": "v1.33.0"}}})),
            false,
            "it has another version",
        ),
        (with_cluster(deleted()), false, "it is being deleted"),
        (with_cluster(json!({"spec": {"paused": true}})), false, "it is paused"),
        (with_addon(json!({"metadata": {"uid": "b"}})), false, "it is another ClusterAddon"),
        (with_addon(json!({"spec": {"suspend": true}})), false, "the ClusterAddon is suspended"),
        (with_addon(deleted()), false, "the ClusterAddon is being deleted"),
        (with_addon(json!({"status": {"hook": "AfterClusterUpgrade"}})), false, "other stages run"),
        (with_addon(json!({"status": {"stages": [stage]}})), false, "the stages have come further"),
        (
            with_addon(json!({"status": {"release": {"applied": "v2"}}})),
            false,
            "another release is delivered",
        ),
        (with_addon(json!({"status": {"ready": true}})), true, "only what does not matter has changed"),
        (None, false, "both are gone"),
    ] {
        let live = live.map(|(one, other)| (cluster(&one), cluster_addon(&other)));
        let live = (live.as_ref().map(|live| &live.0), live.as_ref().map(|live| &live.1));
        assert_eq!(is_prune_confirmed((&cached, &addon), live), expected, "{why}");
    }
    let (live_cluster, going) = (cluster(&json!({})), cluster_addon(&deleted()));
    let live = (Some(&live_cluster), Some(&going));
    assert!(is_prune_confirmed((&cached, &going), live), "the ClusterAddon was deleted before, too");
    assert!(!is_prune_confirmed((&cached, &addon), (Some(&live_cluster), None)), "it is gone");
    let classless = cluster(&json!({"spec": {"topology": null}}));
    let live = (Some(&classless), Some(&addon));
    assert!(!is_prune_confirmed((&classless, &addon), live), "without a class nothing is removed");
}

#[test]
fn changed_object_is_not_deleted() {
    let addon = cluster_addon(&json!({}));
    let object = flux_object("HelmRelease", "old", &json!({}));
    let name: AddonName = "old".parse().unwrap();
    let (delivers, decision) = (AddonMatch::NotInRelease, PruneDecision::Delete);
    let candidate = Candidate { addon: name, delivers, object, decision, hold: None };
    for (changes, expected, why) in [
        (json!({}), true, "it is as it was"),
        (json!({"metadata": {"uid": "another"}}), false, "another one has its name"),
        (json!({"metadata": {"labels": {labels::ADDON: "cni"}}}), false, "it delivers another addon"),
        (suspended(), false, "it was suspended"),
        (deleted(), false, "it is being deleted"),
        (json!({"metadata": {"ownerReferences": null}}), false, "it is not ours now"),
    ] {
        let live = flux_object("HelmRelease", "old", &changes);
        assert_eq!(is_still_due(&candidate, &live, &addon), expected, "{why}");
    }
}

#[test]
fn kept_object_is_reported_with_the_reason() {
    let (present, deleted_addon) = (cluster_addon(&json!({})), cluster_addon(&deleted()));
    let suspended_one = flux_object("HelmRelease", "old", &suspended());
    let plain = flux_object("HelmRelease", "old", &json!({}));
    let (dropped, other) = (AddonMatch::NotInRelease, AddonMatch::OtherKind);
    let leaving = Hold { reason: Reason::AddonRemoved, message: "leaves".to_owned() };
    let waits = "neither the release nor its ClusterStack gives it to the Cluster any longer: Flux uninstalls it when all addons of the release are delivered";
    for (delivers, object, hold, expected) in [
        (dropped, &plain, Some(&leaving), Some("leaves")),
        (dropped, &plain, None, Some(waits)),
        (
            dropped,
            &suspended_one,
            None,
            Some(
                "neither the release nor its ClusterStack gives it to the Cluster any longer: HelmRelease c1.old is suspended, and stays until it is resumed",
            ),
        ),
        (
            other,
            &suspended_one,
            None,
            Some(
                "the release has it in another form: HelmRelease c1.old is suspended, and stays until it is resumed",
            ),
        ),
        (other, &plain, None, None),
    ] {
        let (addon, decision) = ("old".parse().unwrap(), PruneDecision::Blocked);
        let candidate = Candidate { addon, delivers, object: object.clone(), decision, hold: hold.cloned() };
        let message = |addon| candidate.report(addon).map(|hold| hold.message);
        assert_eq!(message(&present).as_deref(), expected);
        let before_deletion =
            expected.map(|message| format!("{message}; the ClusterAddon is deleted after that"));
        assert_eq!(message(&deleted_addon), before_deletion);
    }
}

/// Returns the decision about an object of the addon `old` if the API server accepts all writes.
fn decided(change: impl FnOnce(&mut Scene)) -> String {
    decided_after(change, |_| ())
}

/// Returns the same after other receipts.
fn decided_after(change: impl FnOnce(&mut Scene), receive: impl FnOnce(&mut Receipts)) -> String {
    let mut scene = Scene::new();
    scene.objects.push(flux_object("HelmRelease", "old", &json!({})));
    change(&mut scene);
    let facts = scene.facts();
    let mut receipts = Receipts::if_accepted(&facts, &decide(&facts));
    receive(&mut receipts);
    let found = prune_candidates(&facts, &receipts);
    found.iter().map(|it| format!("{} {:?}", it.addon, it.decision)).collect::<Vec<_>>().join(", ")
}

#[test]
fn removal_follows_the_other_writes() {
    let by_git = |scene: &mut Scene| {
        let git =
            json!({"mode": "Git", "git": {"url": "https://git.example.org/fleet.git", "path": "fleet"}});
        scene.fixture.stack.delivery = serde_json::from_value(git).unwrap();
    };
    let elsewhere = |scene: &mut Scene| {
        let hold = Hold { reason: Reason::DeliveredElsewhere, message: String::new() };
        scene.elsewhere = Some(hold);
    };
    assert_eq!(decided(|_| {}), "old Delete", "the API server accepts what is missing");
    assert_eq!(decided(by_git), "old Delete", "Flux applies what is missing");
    let is_committed = |receipts: &mut Receipts| {
        receipts.expected.remove("cni");
        receipts.on_their_way.insert("cni".to_owned(), committing());
    };
    assert_eq!(decided_after(by_git, is_committed), "old Blocked", "Flux has not applied what is missing");
    assert_eq!(decided(|scene| scene.is_suspended = true), "old Blocked");
    assert_eq!(decided(elsewhere), "old Blocked");
    let other_kind = |scene: &mut Scene| {
        scene.objects.push(flux_object("Kustomization", "cni", &json!({})));
    };
    assert_eq!(decided(other_kind), "old Blocked, cni Delete", "the new form only waits for the old one");
    let terminating = |scene: &mut Scene| scene.objects.push(flux_object("HelmRelease", "cni", &deleted()));
    assert_eq!(decided(terminating), "old Blocked", "an object is created again when it is gone");
    let of_others = json!({"metadata": {"ownerReferences": null}});
    let of_others = |scene: &mut Scene| scene.objects.push(flux_object("HelmRelease", "cni", &of_others));
    assert_eq!(decided(of_others), "old Blocked", "an object of another client is left as it is");
    let both = |scene: &mut Scene| {
        other_kind(scene);
        of_others(scene);
    };
    assert_eq!(decided(both), "old Blocked, cni Blocked", "the old form stays while the new one cannot come");
}
