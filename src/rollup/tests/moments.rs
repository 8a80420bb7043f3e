//! The effects of time: our own deadline, and controllers that do not answer.

use super::*;
use crate::api::cluster_addon::AddonState;
use crate::error::Class::{Terminal, Transient};

const RUNNING: [&str; 2] = ["Ready=Unknown Progressing", "Reconciling=True Progressing: Running 'install'"];
const FAILED: [&str; 2] = ["Ready=False InstallFailed: no luck", "Released=False InstallFailed: no luck"];

/// Creates a moment at which only the controller's name is known.
fn at(text: &str) -> Moment {
    with(text, Pulse::Unknown { moved: None })
}

/// Creates a moment at which this is known of helm-controller.
fn with(now: &str, pulse: Pulse) -> Moment {
    Moment { applier: Applier { name: "helm-controller", pulse }, ..Moment::at(time(now)) }
}

/// Creates the verdict that helm-controller did not answer the request of that time.
fn no_answer(since: &str) -> Verdict {
    Verdict::ApplierUnavailable(Silence::NoAnswer { controller: "helm-controller", since: time(since) })
}

/// Creates an object without a status.
fn new() -> Value {
    object(json!({}), &[])
}

fn installing() -> Value {
    object(json!({"observedGeneration": -1, "lastAttemptedGeneration": 2}), &RUNNING)
}

fn retrying() -> Value {
    let retry = "Reconciling=True ProgressingWithRetry: retrying after 1m0s";
    object(json!({"lastAttemptedGeneration": 2, "failures": 9}), &[FAILED[0], FAILED[1], retry])
}

fn applied() -> Value {
    let history = json!([{"status": "deployed", "chartVersion": CHART}]);
    let status = json!({"observedGeneration": 2, "lastAttemptedGeneration": 2, "history": history});
    object(status, &["Ready=True InstallSucceeded"])
}

#[test]
fn object_not_ready_by_deadline_has_failed() {
    let late = |message: &str| failed(Transient, "DeadlineExceeded", message);
    assert_eq!(
        judge_helm_release(&installing(), &at("2026-11-20T10:19:59Z")),
        progressing("Running 'install'")
    );
    let verdict = judge_helm_release(&installing(), &at("2026-11-20T10:20:00Z"));
    assert_eq!(verdict, late("not ready after 20m: Running 'install'"));
    // A retry shows three states; past the deadline they are one, and the verdict does not change.
    let begins = object(json!({"lastAttemptedGeneration": 2}), &FAILED);
    let runs = object(json!({"lastAttemptedGeneration": 2}), &[RUNNING[0], RUNNING[1], FAILED[1]]);
    for face in [retrying(), begins, runs] {
        let verdict = judge_helm_release(&face, &at("2026-11-20T11:00:00Z"));
        assert_eq!(
            verdict,
            failed(Transient, "InstallFailed", "not ready after 20m: no luck"),
            "the cause stays"
        );
    }
    // Manifests that cannot be applied say nothing while Flux tries again: the status knows.
    let of =
        |reason: &'static str, message: &'static str| Some(Reported { phase: "Failed", reason, message });
    let reported = of("ReconciliationFailed", "not ready after 20m: dry-run failed");
    let kept = failed(Transient, "ReconciliationFailed", "not ready after 20m: dry-run failed");
    assert_eq!(late("not ready after 20m: Reconciliation in progress").with_cause_of(reported), kept);
    let other = failed(Transient, "HealthCheckFailed", "not ready after 20m: a");
    assert_eq!(other.clone().with_cause_of(reported), other, "another cause");
    let early = of("ReconciliationFailed", "dry-run failed");
    assert_eq!(late("x").with_cause_of(early), late("x"), "of another expectation");
}

#[test]
fn deadline_is_configurable() {
    let moment = Moment { deadline: jiff::SignedDuration::from_secs(10), ..soon() };
    let verdict = judge_helm_release(&installing(), &moment);
    assert_eq!(verdict, failed(Transient, "DeadlineExceeded", "not ready after 10s: Running 'install'"));
}

/// Who waits for another object is not late, because that one is; settled and given up objects are not late either.
#[test]
fn deadline_spares_settled_objects() {
    let late = at("2026-11-21T10:00:00Z");
    assert_eq!(judge_helm_release(&applied(), &late), Verdict::Applied);
    for reason in ["DependencyNotReady", "SourceNotReady", "ArtifactFailed"] {
        let waits = object(json!({}), &[&format!("Ready=False {reason}: why")]);
        assert_eq!(judge_helm_release(&waits, &late), waiting(reason, "why", None));
    }
    let given_up = object(json!({}), &["Stalled=True RetriesExceeded: why"]);
    assert_eq!(judge_helm_release(&given_up, &late), failed(Terminal, "RetriesExceeded", "why"));
}

/// A cluster that Flux cannot reach, or whose kubeconfig is missing, gets an alert; the reason stays the cause.
#[test]
fn what_waits_for_no_other_object_is_late() {
    let (before, late) = (at("2026-11-20T10:19:59Z"), at("2026-11-20T10:20:00Z"));
    let missing =
        "could not get KubeConfig secret 'team/one-kubeconfig': secrets \"one-kubeconfig\" not found";
    for (flux, reason, said) in [
        ("StateError", "StateError", "connection refused"),
        ("ValuesError", "ValuesError", "could not resolve Secret chart values"),
        ("InstallFailed", "KubeConfigNotFound", missing),
    ] {
        let object = object(json!({}), &[&format!("Ready=False {flux}: {said}")]);
        let Verdict::Waiting { reason: waits, message, .. } = judge_helm_release(&object, &before) else {
            panic!("{flux} waits: {:?}", judge_helm_release(&object, &before))
        };
        assert_eq!(waits, reason);
        let message = format!("not ready after 20m: {message}");
        assert_eq!(judge_helm_release(&object, &late), failed(Transient, reason, &message));
    }
}

#[test]
fn unanswered_change_means_no_controller() {
    let silent = no_answer("2026-11-20T10:00:00Z");
    assert_eq!(judge_helm_release(&new(), &at("2026-11-20T10:01:59Z")), Verdict::Pending);
    assert_eq!(judge_helm_release(&new(), &at("2026-11-20T10:02:00Z")), silent);
    assert_eq!(judge_kustomization(&new(), &at("2026-11-20T10:02:00Z")), silent);
    // An install of five minutes is an answer, although Flux notes the generation only at its end.
    assert_eq!(
        judge_helm_release(&installing(), &at("2026-11-20T10:05:00Z")),
        progressing("Running 'install'")
    );
}

#[test]
fn unhandled_request_means_no_controller() {
    let requested = |value: &str, handled: &str, mut object: Value| {
        object["metadata"]["annotations"] = json!({"reconcile.fluxcd.io/requestedAt": value});
        object["status"]["lastHandledReconcileAt"] = json!(handled);
        object
    };
    let (asked, before) = ("2026-11-20T12:00:00Z", "2026-11-20T08:00:00Z");
    let (silent, fine) = (no_answer(asked), Verdict::Applied);
    let late = at("2026-11-20T12:02:00Z");
    assert_eq!(judge_helm_release(&requested(asked, before, applied()), &at("2026-11-20T12:01:59Z")), fine);
    assert_eq!(judge_helm_release(&requested(asked, before, applied()), &late), silent);
    assert_eq!(judge_helm_release(&requested(asked, asked, applied()), &late), fine);
    // A value that is not a time does not show how long it has been there.
    assert_eq!(judge_helm_release(&requested("now!", before, applied()), &late), fine);
    // Flux is reconciling and notes the request at the end.
    let busy = requested("2026-11-20T10:00:00Z", before, installing());
    assert_eq!(judge_helm_release(&busy, &at("2026-11-20T10:03:00Z")), progressing("Running 'install'"));
    let between_retries = requested("2026-11-20T10:00:00Z", before, retrying());
    let silent = no_answer("2026-11-20T10:00:00Z");
    assert_eq!(judge_helm_release(&between_retries, &at("2026-11-20T10:03:00Z")), silent);
}

/// 1,200 `HelmRelease`s that are written at once wait for minutes.
#[test]
fn full_queue_is_not_a_dead_controller() {
    let seen = |now, pulse| judge_helm_release(&new(), &with(now, pulse));
    let moved = |text: &str| Pulse::Unknown { moved: Some(time(text)) };
    let (late, silent) = ("2026-11-20T10:15:00Z", no_answer("2026-11-20T10:00:00Z"));
    assert_eq!(seen(late, Pulse::Alive), Verdict::Pending, "it renews its Lease");
    assert_eq!(seen(late, moved("2026-11-20T10:13:01Z")), Verdict::Pending, "it changes other objects");
    assert_eq!(seen(late, moved("2026-11-20T10:13:00Z")), silent);
    let overdue = "not ready after 20m: helm-controller has not reported a reconciliation";
    assert_eq!(seen("2026-11-20T10:20:00Z", Pulse::Alive), failed(Transient, "DeadlineExceeded", overdue));
}

#[test]
fn next_limit_follows_the_last_movement() {
    let limit = |pulse| with("2026-11-20T10:01:00Z", pulse).next_limit(&Verdict::Pending, written_at());
    let moved = |text: &str| Pulse::Unknown { moved: Some(time(text)) };
    assert_eq!(limit(moved("2026-11-20T09:00:00Z")), Some(time("2026-11-20T10:02:00Z")));
    assert_eq!(limit(moved("2026-11-20T10:00:50Z")), Some(time("2026-11-20T10:02:50Z")));
    assert_eq!(limit(Pulse::Alive), Some(time("2026-11-20T10:20:00Z")), "a Lease that is lost is reported");
}

#[test]
fn pulse_needs_an_old_lease_and_no_movement() {
    let now = time("2026-11-20T10:10:00Z");
    let lease = |seen: &str| SeenLease { renewed: time("2026-11-20T08:00:00Z"), seen: time(seen) };
    let (old, new) = (lease("2026-11-20T10:09:00Z"), lease("2026-11-20T10:09:01Z"));
    let dead = Pulse::Dead { since: old.renewed };
    for (lease, moved, pulse) in [
        (Some(old), None, dead),
        (Some(old), Some("2026-11-20T10:09:00Z"), dead),
        (Some(old), Some("2026-11-20T10:09:01Z"), Pulse::Alive),
        (Some(new), None, Pulse::Alive),
        (None, None, Pulse::Unknown { moved: None }),
    ] {
        assert_eq!(Pulse::of(lease, moved.map(time), now), pulse, "{lease:?} {moved:?}");
    }
    assert_eq!(SeenLease::read(Some(old), old.renewed, now), old, "not renewed");
    let renewed = time("2026-11-20T08:00:05Z");
    assert_eq!(SeenLease::read(Some(old), renewed, now), SeenLease { renewed, seen: now });
}

#[test]
fn expired_lease_means_no_controller() {
    let since = time("2026-11-20T09:59:30Z");
    let soon = |pulse| with("2026-11-20T10:00:30Z", pulse);
    let (fresh, lost) = (soon(Pulse::Alive), soon(Pulse::Dead { since }));
    let silent =
        Verdict::ApplierUnavailable(Silence::LeaseNotRenewed { controller: "helm-controller", since });
    let sentence = "helm-controller has not renewed its Lease helm-controller-leader-election since 2026-11-20T09:59:30Z";
    assert_eq!(silent.report().message, sentence);
    let still = Verdict::Retrying { attempt: 9, message: "no luck".to_owned() };
    assert_eq!(judge_helm_release(&retrying(), &fresh), still);
    assert_eq!(judge_helm_release(&retrying(), &lost), silent);
    assert_eq!(judge_helm_release(&new(), &lost), silent);
    // Applied objects stay applied when the controller restarts.
    assert_eq!(judge_helm_release(&applied(), &lost), Verdict::Applied);
    let mut deleted = retrying();
    deleted["metadata"]["deletionTimestamp"] = json!("2026-11-20T10:00:07Z");
    assert_eq!(judge_helm_release(&deleted, &lost), Verdict::Terminating);
}

#[test]
fn odd_times_do_not_overflow() {
    let object = installing();
    for since in [Timestamp::MIN, Timestamp::MAX] {
        let expected = Expected { since, ..expected(&object, CHART) };
        let release = read(FluxKind::HelmRelease, &object);
        for now in [Timestamp::MIN, Timestamp::MAX] {
            let moment = Moment { deadline: jiff::SignedDuration::MAX, ..Moment::at(now) };
            let verdict = judge(&release, &expected, &moment);
            assert!(!verdict.is_settled() && verdict.awaits_applier(), "{verdict:?}");
        }
    }
}

#[test]
fn expectation_is_restored_from_status() {
    let digest = SpecDigest::of(json!({"interval": "10m"}));
    let kept = AddonState { spec_digest: Some(digest.to_string()), version: Some(CHART.to_owned()) };
    assert_eq!(Expected::kept(&kept, written_at()), Some(expected(&new(), CHART)));
    assert_eq!(Expected::kept(&AddonState { spec_digest: None, ..kept }, written_at()), None);
}
