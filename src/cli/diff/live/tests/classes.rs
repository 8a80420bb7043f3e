//! Tests of the cluster class, which waits for the provider and for the node images of its release.

use super::*;
use crate::api::ClusterStackReleaseStatus;

/// Returns the delivered example without the cluster class, as if the operator had held it so far.
fn without_class() -> Present {
    let mut present = delivered();
    let (shared, _) = planned(&present);
    let class: Vec<_> = shared.iter().filter(|planned| planned.step == Step::ClusterClass).collect();
    let is_class =
        |kind: &str, name: &str| class.iter().any(|of| (&*of.id.kind, &*of.id.name) == (kind, name));
    present.flux.retain(|object| {
        !is_class(object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
    });
    status(&mut present).objects.retain(|kept| !is_class(&kept.kind, &kept.name));
    report_images(&mut present, true);
    present
}

/// Lets Flux report whether the node images are applied, if they exist.
pub(super) fn report_images(present: &mut Present, is_applied: bool) {
    let is_it = |object: &&mut Value| object["metadata"]["name"] == IMAGES;
    let Some(images) = present.flux.iter_mut().find(is_it) else { return };
    let condition = json!({
        "type": "Ready", "status": if is_applied { "True" } else { "False" }, "reason": "Reason", "message": "no quota",
        "observedGeneration": 1,
    });
    images["metadata"]["generation"] = json!(1);
    images["status"] = json!({
        "observedGeneration": 1, "conditions": [condition], "lastAppliedRevision": format!("main@sha1:{PIN}"),
    });
}

fn status(present: &mut Present) -> &mut ClusterStackReleaseStatus {
    present.releases.values_mut().next().unwrap().status.as_mut().unwrap()
}

/// Sets a condition of the release.
pub(super) fn report(present: &mut Present, kind: &str, is_true: bool) {
    let status = present.releases.values_mut().next().unwrap().status.get_or_insert_default();
    status.conditions.retain(|condition| condition.type_ != kind);
    let condition = json!({
        "type": kind, "status": if is_true { "True" } else { "False" }, "reason": "Reason", "message": "no quota",
        "lastTransitionTime": "2026-11-21T10:00:00Z",
    });
    status.conditions.push(serde_json::from_value(condition).unwrap());
}

/// Gives the ClusterStack a provider, and the release an object of it.
pub(super) fn add_provider(present: &mut Present) {
    let reference =
        |kind: &str| serde_json::from_value(json!({"apiVersion": "x/v1", "kind": kind, "name": "x"}));
    let stack = present.stacks.values_mut().next().unwrap();
    stack.spec.no_provider = false;
    stack.spec.provider_ref = reference("ImageTemplate").unwrap();
    present.releases.values_mut().next().unwrap().spec.provider_ref = reference("Image").unwrap();
}

const IMAGES: &str = "docker-demo-1-34-v1-node-images";

/// A state of the live cluster, the change that leads to it, and the line about the class.
type Row<'a> = (&'a str, fn(&mut Present), &'a str);

#[test]
fn class_is_created_once_provider_and_images_are_ready() {
    let not_ready = format!(
        "held      cluster class demo/{V1}: WaitingForNodeImages: Kustomization demo/{IMAGES} is not ready yet"
    );
    let no_provider = format!("held      cluster class demo/{V1}: WaitingForProvider: no quota");
    let unreported = format!("held      cluster class demo/{V1}: WaitingForProvider: not yet reported");
    let created = format!("created   HelmRelease demo/{V1}");
    let table: [Row; 8] = [
        ("everything is ready", |_| {}, &created),
        ("the images are not ready", |all| report_images(all, false), &not_ready),
        ("nothing is reported", |all| _ = object(all, "Kustomization", IMAGES)["status"].take(), &not_ready),
        (
            "the images do not exist",
            |all| all.flux.retain(|object| object["metadata"]["name"] != IMAGES),
            &not_ready,
        ),
        (
            "the images will change",
            |all| {
                let images = object(all, "Kustomization", IMAGES);
                images["spec"]["path"] = json!("./elsewhere");
            },
            &not_ready,
        ),
        (
            "the images are applied again as they are",
            |all| object(all, "Kustomization", IMAGES)["metadata"]["ownerReferences"] = json!([]),
            &created,
        ),
        (
            "the provider is not ready",
            |all| {
                add_provider(all);
                report(all, "ProviderReady", false);
            },
            &no_provider,
        ),
        ("the provider is not reported", add_provider, &unreported),
    ];
    for (what, change, expected) in table {
        let mut present = without_class();
        change(&mut present);
        let found = differences(&present);
        let text = texts(&found);
        assert!(text.contains(expected), "{what}: no {expected:?} in\n{text}");
        let is_held = found.held_classes.len() == 1;
        assert_eq!(is_held, !text.contains(&created), "{what}:\n{text}");
    }
}

#[test]
fn delivered_class_is_not_held() {
    let mut present = delivered();
    report_images(&mut present, false);
    object(&mut present, "HelmRelease", V1)["spec"]["interval"] = json!("2h");
    let found = differences(&present);
    assert!(texts(&found).contains(&format!("changed   HelmRelease demo/{V1}")), "{}", texts(&found));
    assert!(found.held_classes.is_empty());
}

#[test]
fn held_class_is_no_difference() {
    let mut present = without_class();
    report_images(&mut present, false);
    let found = differences(&present);
    assert!(!found.differs, "{}", texts(&found));
    let json = serde_json::to_value(&found).unwrap();
    let expected = json!([{
        "namespace": "demo", "release": V1, "reason": "WaitingForNodeImages",
        "message": format!("Kustomization demo/{IMAGES} is not ready yet"),
    }]);
    assert_eq!(json["heldClasses"], expected);
}
