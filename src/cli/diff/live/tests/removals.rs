//! Tests of the objects whose addon the release does not have, or has in another form.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::*;
use crate::api::cluster_stack::Pruned;

/// Returns the first Cluster of the example with these changes.
pub(super) fn edited(edit: impl Fn(&mut Value)) -> Vec<ClusterInputs> {
    let mut found = objects::read(&[example("clusters/one.yaml")]).unwrap();
    found
        .iter_mut()
        .filter(|sourced| sourced.object["kind"] == "Cluster")
        .for_each(|sourced| edit(&mut sourced.object));
    clusters::among(&found).unwrap()
}

/// Returns the delivered example with an object of the addon `old`, which the release does not have.
fn with_old() -> Present {
    let mut present = delivered();
    let mut old = object(&mut present, "HelmRelease", "one.ccm").clone();
    old["metadata"]["name"] = json!("one.old");
    old["metadata"]["labels"][labels::ADDON] = json!("old");
    present.flux.push(old);
    present
}

fn addon(present: &mut Present) -> &mut ClusterAddon {
    present.addons.values_mut().next().unwrap()
}

pub(super) fn deliver_by_git(present: &mut Present) {
    let git =
        json!({"mode": "Git", "git": {"url": "https://git.example.org/clusters.git", "path": "clusters"}});
    let stack = present.stacks.get_mut(&Key::new("demo", "docker-demo-1-34")).unwrap();
    stack.spec.delivery = serde_json::from_value(git).unwrap();
    let status = addon(present).status.get_or_insert_default();
    status.committed_by = Some("demo/docker-demo-1-34".to_owned());
}

/// Labels an object as applied by Flux from the repository of its ClusterStack.
pub(super) fn apply_by_flux(object: &mut Value) {
    object["metadata"]["ownerReferences"] = json!([]);
    object["metadata"]["labels"][labels::APPLIED_BY_NAME] = json!("clusters");
    object["metadata"]["labels"][labels::APPLIED_BY_NAMESPACE] = json!("flux-system");
}

/// Reports in the status that an object is removed.
pub(super) fn report_removal(addon: &mut ClusterAddon, name: &str, object: &Value) {
    let reference = json!({"kind": object["kind"], "name": object["metadata"]["name"]});
    let message =
        "neither the release nor its ClusterStack gives it to the Cluster any longer: Flux uninstalls it";
    let entry = json!({"name": name, "object": reference, "reason": "FileRemoved", "message": message});
    addon.status.get_or_insert_default().addons.push(serde_json::from_value(entry).unwrap());
}

fn record_prune(present: &mut Present, count: u32) {
    let since = Time(Timestamp::now());
    let status = addon(present).status.get_or_insert_default();
    status.pruned = Some(Pruned { since, count });
}

/// Returns the lines about addons of the Cluster that are removed or held.
fn lines(present: &Present) -> String {
    let text = texts(&compared(present, &stacks(present).0));
    let lines =
        text.lines().map(str::trim).filter(|line| line.starts_with("removed") || line.starts_with("held"));
    lines.collect::<Vec<_>>().join("\n")
}

const REMOVED: &str = "removed   HelmRelease demo/one.old: Helm uninstalls it";
const WAITS: &str = "held      addon old: AddonRemoved: neither the release nor its ClusterStack gives it to the Cluster any longer: Flux uninstalls it when all addons of the release are delivered";
const LEAVES: &str = "held      addon old: AddonRemoved: neither the release nor its ClusterStack gives it to the Cluster any longer: Flux uninstalls it";

/// A state of the live cluster: why it matters, the change that leads to it, and the lines about it.
type Row = (&'static str, fn(&mut Present), &'static str);

/// Compares the lines about the addon `old` after each change. An addon that waits for a field has a line of its own.
fn assert_lines(table: &[Row]) {
    for (why, change, expected) in table {
        let mut present = with_old();
        change(&mut present);
        let found = lines(&present);
        let is_about_old = |line: &&str| !line.contains("WaitingForField");
        let found: Vec<&str> = found.lines().filter(is_about_old).collect();
        assert_eq!(found.join("\n"), *expected, "{why}");
    }
}

/// Returns the metadata of a HelmRelease of the Cluster.
fn metadata<'a>(present: &'a mut Present, name: &str) -> &'a mut Value {
    &mut object(present, "HelmRelease", name)["metadata"]
}

#[test]
fn dropped_addon_is_removed_or_held_as_by_operator() {
    assert_lines(&[
        ("everything is delivered", |_| {}, REMOVED),
        ("another addon is being deleted", |all| delete(metadata(all, "one.cni")), WAITS),
        (
            "another addon waits for a field",
            |all| all.clusters = edited(|cluster| cluster["spec"]["controlPlaneEndpoint"] = json!({})),
            WAITS,
        ),
        ("it is being deleted", |all| delete(metadata(all, "one.old")), LEAVES),
        (
            "it is suspended",
            |all| object_of(all)["spec"]["suspend"] = json!(true),
            "held      addon old: AddonRemoved: neither the release nor its ClusterStack gives it to the Cluster any longer: HelmRelease one.old is suspended, and stays until it is resumed",
        ),
        (
            "an earlier ClusterAddon made it",
            |all| metadata(all, "one.old")["ownerReferences"] = json!([owner("earlier")]),
            "",
        ),
        (
            "an earlier ClusterAddon left it to this one",
            |all| {
                let metadata = metadata(all, "one.old");
                metadata["ownerReferences"] = json!([owner("namespace")]);
                metadata["annotations"][labels::HANDED_OVER] = json!("one");
            },
            REMOVED,
        ),
        ("no ClusterAddon exists yet", |all| all.addons.clear(), ""),
    ]);
}

fn delete(metadata: &mut Value) {
    metadata["deletionTimestamp"] = json!("2026-11-21T10:00:00Z");
}

#[test]
fn cluster_without_delivery_keeps_removed_addons() {
    assert_lines(&[
        (
            "the control plane is not initialized",
            |all| all.clusters = edited(|cluster| cluster["status"] = json!({})),
            "held      all of it: ControlPlaneNotInitialized: the Cluster's control plane is not initialized yet: Flux could not reach its API server",
        ),
        (
            "the Cluster is paused",
            |all| all.clusters = edited(|cluster| cluster["spec"]["paused"] = json!(true)),
            "held      all of it: Paused: the Cluster is paused (spec.paused): nothing is written for it",
        ),
        (
            "the Cluster is being deleted",
            |all| all.clusters = edited(|cluster| delete(&mut cluster["metadata"])),
            "held      all of it: Deleting: the Cluster is being deleted since 2026-11-21T10:00:00Z: its Flux objects are suspended and deleted, and nothing is uninstalled",
        ),
        (
            "the ClusterAddon is being deleted",
            |all| {
                let metadata = &mut addon(all).metadata;
                metadata.finalizers = Some(vec![labels::FINALIZER.to_owned()]);
                metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
            },
            "held      all of it: Terminating: the ClusterAddon is being deleted: the next one takes over its Flux objects",
        ),
        (
            "the ClusterStack is being deleted, and orphans everything",
            |all| {
                let metadata = &mut all.stacks.values_mut().next().unwrap().metadata;
                let orphan = (labels::ON_DELETE.to_owned(), labels::ORPHAN.to_owned());
                metadata.annotations = Some([orphan].into());
                metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
            },
            "held      all of it: Terminating: ClusterStack demo/docker-demo-1-34 is being deleted: its Flux objects stay, suspended",
        ),
        (
            "the same, and somebody removed the ClusterAddon",
            |all| {
                let metadata = &mut all.stacks.values_mut().next().unwrap().metadata;
                let orphan = (labels::ON_DELETE.to_owned(), labels::ORPHAN.to_owned());
                metadata.annotations = Some([orphan].into());
                metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
                all.addons.clear();
            },
            "held      all of it: Terminating: ClusterStack demo/docker-demo-1-34 is being deleted: its Flux objects stay as they are",
        ),
        (
            "the same, and another ClusterStack keeps the release",
            |all| {
                let mut other = all.stacks.values().next().unwrap().clone();
                (other.metadata.name, other.metadata.uid) = (Some("a".to_owned()), Some("a".to_owned()));
                let metadata = &mut all.stacks.values_mut().next().unwrap().metadata;
                let orphan = (labels::ON_DELETE.to_owned(), labels::ORPHAN.to_owned());
                metadata.annotations = Some([orphan].into());
                metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
                let owners = &mut all.releases.values_mut().next().unwrap().metadata.owner_references;
                owners.get_or_insert_default().extend(other.owner_ref(&()));
                all.stacks.insert(Key::of(&other), other);
            },
            REMOVED,
        ),
    ]);
}

#[test]
fn removal_waits_for_the_budget() {
    let mut present = with_old();
    record_prune(&mut present, 1);
    let text = lines(&present);
    let expected = "held      addon old: PruneBudgetExceeded: waits to be uninstalled: in the clusters of ClusterStack \
                    demo/docker-demo-1-34, 1 of 5 addon objects may be deleted per hour, the next at ";
    assert!(text.starts_with(expected), "{text}");
    let (_, allowed) = text.split_once(&format!("{}=", labels::PRUNE)).unwrap();
    let allowed = allowed.split(' ').next().unwrap().to_owned();
    let stack = present.stacks.values_mut().next().unwrap();
    stack.metadata.annotations = Some([(labels::PRUNE.to_owned(), allowed)].into());
    assert_eq!(lines(&present), REMOVED);
}

#[test]
fn removals_of_lost_cluster_addons_count() {
    let mut present = with_old();
    let stack = present.stacks.values_mut().next().unwrap();
    let lost = Pruned { since: Time(Timestamp::now()), count: 1 };
    stack.status.get_or_insert_default().pruned_addons = Some(lost);
    let text = lines(&present);
    assert!(text.starts_with("held      addon old: PruneBudgetExceeded: "), "{text}");
}

#[test]
fn one_budget_limits_the_removals_of_one_run() {
    let mut present = with_old();
    let mut older = object(&mut present, "HelmRelease", "one.old").clone();
    older["metadata"]["name"] = json!("one.older");
    older["metadata"]["labels"][labels::ADDON] = json!("older");
    present.flux.push(older);
    let text = lines(&present);
    let [removed, held] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
    assert_eq!(removed, REMOVED);
    assert!(
        held.starts_with("held      addon older: PruneBudgetExceeded: waits to be uninstalled: "),
        "{held}"
    );
}

#[test]
fn unknown_budget_limits_nothing() {
    let mut present = with_old();
    record_prune(&mut present, 1);
    let namespaces = namespaces();
    let live = Live::new(&present, &namespaces, Timestamp::now()).unwrap();
    let (stacks, _) = stacks(&present);
    assert!(live.may_remove(&stacks));
    let text = texts(&compare(&live, &stacks, None, Some("demo")).unwrap());
    assert!(text.contains(REMOVED), "{text}");
}

#[test]
fn other_namespaces_are_read_only_for_budgets() {
    let namespaces = namespaces();
    let may_remove = |present: &Present| {
        let (stacks, _) = stacks(present);
        Live::new(present, &namespaces, Timestamp::now()).unwrap().may_remove(&stacks)
    };
    assert!(!may_remove(&delivered()));
    assert!(may_remove(&with_old()));
}

#[test]
fn removed_file_is_not_removed_again() {
    let mut present = with_old();
    deliver_by_git(&mut present);
    present.flux.iter_mut().for_each(apply_by_flux);
    assert_eq!(lines(&present), REMOVED);
    let old = object_of(&mut present).clone();
    report_removal(addon(&mut present), "old", &old);
    let leaves = LEAVES.replace("AddonRemoved", "FileRemoved");
    assert_eq!(lines(&present), leaves, "its file is removed, and Flux has to delete it");
    object_of(&mut present)["metadata"]["ownerReferences"] = json!([owner("addon")]);
    object_of(&mut present)["metadata"]["labels"].as_object_mut().unwrap().remove(labels::APPLIED_BY_NAME);
    assert_eq!(lines(&present), REMOVED, "it has no file: the operator deletes it");
}

fn object_of(present: &mut Present) -> &mut Value {
    object(present, "HelmRelease", "one.old")
}

#[test]
fn old_form_in_git_is_removed_after_the_new_form() {
    let mut present = delivered();
    deliver_by_git(&mut present);
    let mut old = object(&mut present, "HelmRelease", "one.ccm").clone();
    old["kind"] = json!("Kustomization");
    present.flux.push(old);
    present.flux.iter_mut().for_each(apply_by_flux);
    let removed = "removed   Kustomization demo/one.ccm: Flux deletes what its manifests made";
    assert_eq!(lines(&present), removed, "Flux has applied the new form");
    object(&mut present, "HelmRelease", "one.ccm")["metadata"]["annotations"][labels::PLAN_DIGEST] =
        json!("earlier");
    assert_eq!(lines(&present), removed, "Flux applies the present plan of the new form first");
}

#[test]
fn unusable_release_is_left_out() {
    let mut present = with_old();
    let condition = |status: &str, generation: i64| {
        let condition = json!({
            "type": "ReleaseValid", "status": status, "reason": "Invalid", "message": "metadata.yaml: no version",
            "observedGeneration": generation, "lastTransitionTime": "2026-11-21T10:00:00Z",
        });
        serde_json::from_value(condition).unwrap()
    };
    let release = present.releases.values_mut().next().unwrap();
    release.metadata.generation = Some(2);
    for (status, generation, is_left_out) in
        [("False", 2, true), ("Unknown", 2, true), ("True", 2, false), ("False", 1, false)]
    {
        let release = present.releases.values_mut().next().unwrap();
        release.status.get_or_insert_default().conditions = vec![condition(status, generation)];
        let (stacks, skipped) = stacks(&present);
        assert_eq!(stacks.is_empty(), is_left_out, "{status} {generation}: {skipped:?}");
        if is_left_out {
            let expected =
                format!("{V1} is left out: the operator does not use it: Invalid: metadata.yaml: no version");
            assert_eq!(skipped, [expected]);
        }
    }
}
