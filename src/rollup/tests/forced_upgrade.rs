//! A success of Flux that has no revision of Helm, and the forced upgrade that is requested then.

use super::*;
use crate::error::Class::Terminal;

const BEFORE: &str = "2026-11-20T09:59:59Z";
const AFTER: &str = "2026-11-20T10:00:20Z";
const READY: &str = "Ready=True UpgradeSucceeded: done";

/// Returns a release that Flux reports as upgraded, at a revision of Helm with a status.
fn at_revision(revision: i64, status: &str) -> Value {
    let history =
        json!([{"version": revision, "status": status, "chartVersion": CHART, "action": "upgrade"}]);
    object(json!({"observedGeneration": 2, "lastAttemptedGeneration": 2, "history": history}), &[READY])
}

/// Sets the requested and the handled forced upgrade of a release, and its last request.
fn forced(mut release: Value, requested: [Option<&str>; 2], handled: Option<&str>) -> Value {
    let [force, request] = requested;
    release["metadata"]["annotations"] =
        json!({"reconcile.fluxcd.io/forceAt": force, "reconcile.fluxcd.io/requestedAt": request});
    release["status"]["lastHandledForceAt"] = json!(handled);
    release["status"]["lastHandledReconcileAt"] = json!(handled);
    release
}

/// Returns the verdict on a release whose content was changed at revision 3, and whether a forced upgrade is due.
fn judged(release: &Value) -> (Verdict, bool) {
    let expected = Expected { revision_before: Some(3), ..expected(release, CHART) };
    let object = read(FluxKind::HelmRelease, release);
    (judge(&object, &expected, &soon()), is_forced_upgrade_due(&object, &expected))
}

fn retrying() -> Verdict {
    let message = "helm-controller reports success, but Helm still has revision 3, from before the content changed: \
                   the operator requested a forced upgrade";
    Verdict::Retrying { attempt: 1, message: message.to_owned() }
}

#[test]
fn success_without_a_revision_is_not_applied() {
    assert_eq!(judged(&at_revision(3, "deployed")), (retrying(), true));
    for (revision, why) in [(4, "the upgrade"), (1, "Helm installed the release again")] {
        assert_eq!(judged(&at_revision(revision, "deployed")), (Verdict::Applied, false), "{why}");
    }
    let none = progressing("no Helm release is deployed");
    assert_eq!(judged(&at_revision(3, "failed")), (none, false), "the upgrade failed");
    let mut release = at_revision(3, "deployed");
    release["spec"]["values"] = json!({"clusterstack.x-k8s.io/content-digest": "sha256:1"});
    assert_eq!(judged(&release), (Verdict::Applied, false), "helm-controller compares the content itself");
}

#[test]
fn release_without_a_note_is_applied() {
    assert_eq!(judge_helm_release(&at_revision(3, "deployed"), &soon()), Verdict::Applied);
}

#[test]
fn forced_upgrade_is_requested_once_for_each_content() {
    let release = || at_revision(3, "deployed");
    for (requested, handled, due, why) in [
        ([Some(AFTER); 2], None, false, "it is requested"),
        ([Some(AFTER); 2], Some(BEFORE), false, "it is requested, and an earlier one was handled"),
        ([Some(AFTER), Some("later")], None, true, "another request replaced it before Flux handled it"),
        ([Some(BEFORE); 2], Some(BEFORE), true, "it was for the content before"),
        ([Some("now"); 2], Some("now"), true, "it has no time"),
    ] {
        assert_eq!(judged(&forced(release(), requested, handled)), (retrying(), due), "{why}");
    }
    let (verdict, due) = judged(&forced(release(), [Some(AFTER); 2], Some(AFTER)));
    assert!(!due);
    let Verdict::Failed { class: Terminal, reason, message } = verdict else { panic!("{verdict:?}") };
    assert_eq!(reason, "UpgradeFailed");
    assert!(message.contains("also after a forced upgrade"), "{message}");
    assert!(message.ends_with("flux reconcile helmrelease c1.cni -n tenant --force"), "{message}");
}

#[test]
fn forced_upgrade_needs_a_present_status() {
    for (part, name, value, why) in [
        ("spec", "suspend", json!(true), "suspended"),
        ("metadata", "deletionTimestamp", json!(AFTER), "being deleted"),
        ("metadata", "generation", json!(3), "not attempted yet"),
        ("status", "conditions", json!([condition("Ready=False UpgradeFailed: no luck")]), "failed"),
    ] {
        let mut release = at_revision(3, "deployed");
        release[part][name] = value;
        assert!(!judged(&release).1, "{why}");
    }
}
