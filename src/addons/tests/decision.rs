//! Tests of the writes for a Cluster that precede its status.

use serde_json::{Value, json};

use super::*;

/// Formats a decision.
fn short(decision: &Decision) -> String {
    let Decision { delivery, suspend, blocked, request_reconcile, retry } = decision;
    let delivery = match delivery {
        Delivery::Elsewhere(_) => "Elsewhere".to_owned(),
        other => format!("{other:?}"),
    };
    let names = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(" ");
    let flags = [(*request_reconcile, " request"), (*retry, " retry")];
    let flags: String = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| *name).collect();
    format!("{delivery} suspend [{}] blocked [{}]{flags}", names(suspend), names(blocked))
}

fn decided(change: impl FnOnce(&mut Scene)) -> String {
    let mut scene = Scene::new();
    change(&mut scene);
    short(&decide(&scene.facts()))
}

fn git() -> Value {
    json!({"mode": "Git", "git": {"url": "https://git.example.org/fleet.git", "branch": "main", "path": "fleet"}})
}

fn elsewhere_hold() -> Hold {
    Hold { reason: Reason::DeliveredElsewhere, message: String::new() }
}

#[test]
fn delivery_follows_mode_of_the_stack() {
    let by_git = |scene: &mut Scene| scene.fixture.stack.delivery = serde_json::from_value(git()).unwrap();
    assert_eq!(decided(|_| {}), "Apply suspend [] blocked [] retry");
    assert_eq!(decided(by_git), "Commit suspend [] blocked [] retry");
    let suspended = |scene: &mut Scene| scene.is_suspended = true;
    assert_eq!(decided(suspended), "Suspended suspend [] blocked []");
    let elsewhere = |scene: &mut Scene| scene.elsewhere = Some(elsewhere_hold());
    assert_eq!(decided(elsewhere), "Elsewhere suspend [] blocked [] retry");
}

#[test]
fn held_cluster_is_not_written() {
    let held = |scene: &mut Scene| {
        scene.fixture.edit_cluster = |cluster| cluster["status"] = json!({});
        scene.elsewhere = Some(elsewhere_hold());
    };
    assert_eq!(decided(held), "Nothing suspend [] blocked [] retry");
    let held_and_suspended = |scene: &mut Scene| {
        held(scene);
        scene.is_suspended = true;
    };
    assert_eq!(decided(held_and_suspended), "Nothing suspend [] blocked []");
}

#[test]
fn settings_suspend_single_addons() {
    let flux = json!({"addons": {"cni": {"suspend": true}, "ccm": {}}});
    let set = |scene: &mut Scene| scene.fixture.stack.flux = serde_json::from_value(flux).unwrap();
    assert_eq!(decided(set), "Apply suspend [cni] blocked [] retry");
}

#[test]
fn object_of_the_other_kind_blocks_its_addon() {
    let with = |kind: &'static str, addon: &'static str, changes: Value| {
        decided(move |scene| scene.objects = vec![flux_object(kind, addon, &changes)])
    };
    assert_eq!(with("Kustomization", "cni", json!({})), "Apply suspend [] blocked [cni] retry");
    assert_eq!(with("HelmRelease", "policies", json!({})), "Apply suspend [] blocked [policies] retry");
    assert_eq!(with("HelmRelease", "cni", json!({})), "Apply suspend [] blocked [] retry");
    // An object without the owner does not block.
    let other = json!({"metadata": {"ownerReferences": null}});
    assert_eq!(with("Kustomization", "cni", other), "Apply suspend [] blocked [] retry");
}

#[test]
fn recovered_cluster_requests_reconcile() {
    let mut scene = Scene::new();
    scene.addon = available_because(Reason::Unreachable);
    assert_eq!(short(&decide(&scene.facts())), "Apply suspend [] blocked [] request retry");
    let without = decide(&scene.facts_without_release());
    assert_eq!(short(&without), "Nothing suspend [] blocked [] request");
    let paused = decide(&scene.facts_of(Target::Paused));
    assert_eq!(short(&paused), "Nothing suspend [] blocked []");
    scene.addon = available_because(Reason::Paused);
    assert_eq!(short(&decide(&scene.facts_without_release())), "Nothing suspend [] blocked []");
}
