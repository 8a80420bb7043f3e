//! Tests of the removal of files from the repository that Flux applies.

use serde_json::{Value, json};

use super::*;
use crate::api::ClusterStack;
use crate::inputs::overrides::Requests;
use crate::names::Key;

/// An object that Flux applies from a repository, with these changes.
fn applied_by_flux(kind: &str, addon: &str, changes: &Value) -> Arc<FluxObject> {
    let mut object =
        json!({"metadata": {"ownerReferences": null, "labels": {labels::APPLIED_BY_NAME: "fleet"}}});
    merge(&mut object, changes);
    flux_object(kind, addon, &object)
}

/// Returns the changes to a `ClusterAddon` whose status has this reason for the addon `old`.
fn removed_because(reason: Reason) -> Value {
    let object = json!({"kind": "HelmRelease", "name": "c1.old"});
    json!({"status": {"addons": [{"name": "old", "object": object, "reason": reason.as_str()}]}})
}

#[test]
fn removal_from_git_is_found_in_the_status() {
    let (removed, other) = (Reason::FileRemoved, Reason::AddonRemoved);
    for (reason, object, expected, why) in [
        (removed, applied_by_flux("HelmRelease", "old", &json!({})), true, "the status reports it"),
        (other, applied_by_flux("HelmRelease", "old", &json!({})), false, "its file is not removed"),
        (removed, applied_by_flux("Kustomization", "old", &json!({})), false, "it is of the other kind"),
        (removed, flux_object("HelmRelease", "old", &json!({})), false, "it has no file"),
    ] {
        let addon = cluster_addon(&removed_because(reason));
        assert_eq!(!reported_without_file(&addon, &[object]).is_empty(), expected, "{why}");
    }
}

#[test]
fn removal_of_a_file_is_counted_once() {
    const COUNTED: Reason = Reason::FileRemoved;
    let (present, waits) = (json!({}), Reason::PruneBudgetExceeded);
    for (by_git, reason, is_requested, is_turn, object, expected, why) in [
        (true, waits, false, true, &present, "Delete Some(FileRemoved)", "the first time"),
        (true, COUNTED, true, true, &present, "Deleting Some(FileRemoved)", "Flux has to delete it"),
        (true, COUNTED, true, false, &present, "Deleting Some(FileRemoved)", "another addon waits now"),
        (
            true,
            COUNTED,
            false,
            true,
            &present,
            "DeleteCounted Some(FileRemoved)",
            "the operator started again",
        ),
        (true, COUNTED, false, false, &present, "Deleting Some(FileRemoved)", "its turn comes again"),
        (true, COUNTED, false, true, &suspended(), "Blocked None", "a user suspended it"),
        (true, COUNTED, false, true, &deleted(), "Deleting Some(FileRemoved)", "Flux deletes it"),
        (true, waits, false, true, &deleted(), "Deleting Some(AddonRemoved)", "a user deleted it"),
        (false, COUNTED, false, true, &present, "Delete Some(AddonRemoved)", "the operator applies objects"),
    ] {
        let addon = cluster_addon(&removed_because(reason));
        let objects = [applied_by_flux("HelmRelease", "old", object)];
        let without_file = is_requested.then(|| (FluxKind::HelmRelease, "c1.old".to_owned()));
        let without_file = without_file.into_iter().collect();
        let (release, deleted) = (BTreeMap::new(), BTreeSet::new());
        let (objects, without_file, requests) = (&objects, &without_file, &Requests::default());
        let facts = PruneFacts { addon: &addon, release, deleted, requests, objects, by_git, without_file };
        let found = candidates(&facts, |_| is_turn);
        let [found] = &found[..] else { panic!("{why}: {found:?}") };
        let reason = found.hold.as_ref().map(|hold| hold.reason);
        assert_eq!(format!("{:?} {reason:?}", found.decision), expected, "{why}");
    }
}

#[test]
fn uncached_stack_is_believed_to_be_gone_only_if_confirmed() {
    let stack = |by_git: bool, suspend: bool| -> ClusterStack {
        let git = json!({"url": "https://git.example.org/fleet.git", "path": "fleet"});
        let delivery = if by_git { json!({"mode": "Git", "git": git}) } else { json!({}) };
        let spec = json!({
            "provider": "docker", "name": "demo", "kubernetesVersion": "1.34", "suspend": suspend,
            "delivery": delivery,
        });
        serde_json::from_value(json!({
            "apiVersion": "clusterstack.x-k8s.io/v1alpha1", "kind": "ClusterStack",
            "metadata": {"name": "demo", "namespace": "stacks"}, "spec": spec,
        }))
        .unwrap()
    };
    let (key, by_git, by_api) = (Key::new("stacks", "demo"), stack(true, false), stack(false, false));
    let unknown = CommittedFiles::Unknown { stack: key.clone() };
    let repository = |is_suspended| CommittedFiles::InRepository { stack: key.clone(), is_suspended };
    for (cached, live, is_sharded, expected, why) in [
        (Some(&by_git), None, false, repository(false), "the cache has it"),
        (Some(&stack(true, true)), None, true, repository(true), "it is suspended"),
        (Some(&by_api), None, false, CommittedFiles::Nowhere, "it is not delivered through Git now"),
        (None, None, false, CommittedFiles::Nowhere, "it is deleted"),
        (None, None, true, CommittedFiles::Nowhere, "it is deleted"),
        (None, Some(&by_git), false, unknown, "a list was incomplete"),
        (None, Some(&by_api), false, CommittedFiles::Nowhere, "it has no files"),
        (None, Some(&by_git), true, CommittedFiles::InAnotherShard, "another operator watches it"),
    ] {
        assert_eq!(committed_files(Some(&key), cached, live, is_sharded), expected, "{why}");
    }
    assert_eq!(committed_files(None, None, None, false), CommittedFiles::Nowhere, "nothing was committed");
}
