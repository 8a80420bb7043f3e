//! What the time adds: our own deadline, and controllers that do not answer.

use super::*;
use crate::error::Class::{Terminal, Transient};

fn at(text: &str) -> Moment {
    Moment::at(time(text))
}

fn installing() -> Value {
    json!({"observedGeneration": -1, "lastAttemptedGeneration": 2, "conditions": [
        condition("Ready", "Unknown", "Progressing", ""), condition("Reconciling", "True", "Progressing", "Running 'install'")]})
}

fn retrying() -> Value {
    let failure = |kind| condition(kind, "False", "InstallFailed", "no luck");
    json!({"observedGeneration": 2, "lastAttemptedGeneration": 2, "failures": 9, "conditions": [
        failure("Ready"), failure("Released"), condition("Reconciling", "True", "ProgressingWithRetry", "retrying after 1m0s")]})
}

fn applied() -> Value {
    json!({"observedGeneration": 2, "lastAttemptedGeneration": 2, "history": [{"status": "deployed", "chartVersion": CHART}],
        "conditions": [condition("Ready", "True", "InstallSucceeded", "")]})
}

#[test]
fn what_is_not_done_by_the_deadline_has_failed() {
    let late = |message: &str| failed(Transient, "DeadlineExceeded", message);
    assert_eq!(
        judge_helm_release(&object(installing()), &at("2026-11-20T10:19:59Z")),
        progressing("Running 'install'")
    );
    assert_eq!(
        judge_helm_release(&object(installing()), &at("2026-11-20T10:20:00Z")),
        late("not done after 20m: Running 'install'")
    );
    // A retry shows three faces; past the deadline they are one, and the verdict stays put.
    let begins = json!({"lastAttemptedGeneration": 2, "conditions": [
        condition("Ready", "False", "InstallFailed", "no luck"), condition("Released", "False", "InstallFailed", "no luck")]});
    let mut runs = installing();
    runs["conditions"].as_array_mut().unwrap().push(condition(
        "Released",
        "False",
        "InstallFailed",
        "no luck",
    ));
    for face in [retrying(), begins, runs] {
        assert_eq!(
            judge_helm_release(&object(face), &at("2026-11-20T11:00:00Z")),
            late("not done after 20m: no luck")
        );
    }
}

#[test]
fn the_deadline_is_an_argument() {
    let moment = Moment { deadline: jiff::SignedDuration::from_secs(10), ..soon() };
    let verdict = judge_helm_release(&object(installing()), &moment);
    assert_eq!(verdict, failed(Transient, "DeadlineExceeded", "not done after 10s: Running 'install'"));
}

/// Waiting is a state, not an error; what is settled or given up is not late either.
#[test]
fn the_deadline_spares_what_is_not_on_its_way() {
    let late = at("2026-11-21T10:00:00Z");
    assert_eq!(judge_helm_release(&object(applied()), &late), Verdict::Applied { drifted: false });
    let dependency = json!({"conditions": [condition("Ready", "False", "DependencyNotReady", "why")]});
    assert_eq!(judge_helm_release(&object(dependency), &late), waiting("DependencyNotReady", "why", None));
    let given_up = json!({"conditions": [condition("Stalled", "True", "RetriesExceeded", "why")]});
    assert_eq!(judge_helm_release(&object(given_up), &late), failed(Terminal, "RetriesExceeded", "why"));
}

#[test]
fn a_change_without_an_answer_for_two_minutes() {
    assert_eq!(judge_helm_release(&object(Value::Null), &at("2026-11-20T10:01:59Z")), Verdict::Pending);
    let silent = Verdict::ApplierUnavailable(Silence::NoAnswer);
    assert_eq!(judge_helm_release(&object(Value::Null), &at("2026-11-20T10:02:00Z")), silent);
    assert_eq!(judge_kustomization(&object(Value::Null), &at("2026-11-20T10:02:00Z")), silent);
    // An install of five minutes is an answer, although Flux notes the generation only at its end.
    assert_eq!(
        judge_helm_release(&object(installing()), &at("2026-11-20T10:05:00Z")),
        progressing("Running 'install'")
    );
}

#[test]
fn a_request_that_is_not_handled_for_two_minutes() {
    let requested = |value: &str, handled: &str, status: Value| {
        let mut object = object(status);
        object["metadata"]["annotations"] = json!({"reconcile.fluxcd.io/requestedAt": value});
        object["status"]["lastHandledReconcileAt"] = json!(handled);
        object
    };
    let (asked, before) = ("2026-11-20T12:00:00Z", "2026-11-20T08:00:00Z");
    let silent = Verdict::ApplierUnavailable(Silence::NoAnswer);
    let fine = Verdict::Applied { drifted: false };
    assert_eq!(judge_helm_release(&requested(asked, before, applied()), &at("2026-11-20T12:01:59Z")), fine);
    assert_eq!(judge_helm_release(&requested(asked, before, applied()), &at("2026-11-20T12:02:00Z")), silent);
    assert_eq!(judge_helm_release(&requested(asked, asked, applied()), &at("2026-11-20T12:02:00Z")), fine);
    // A value that is no time says nothing about how long it has been there.
    assert_eq!(judge_helm_release(&requested("now!", before, applied()), &at("2026-11-20T12:02:00Z")), fine);
    // Flux is at work and notes the request when it is done.
    let busy = requested("2026-11-20T10:00:00Z", before, installing());
    assert_eq!(judge_helm_release(&busy, &at("2026-11-20T10:03:00Z")), progressing("Running 'install'"));
}

#[test]
fn a_lease_that_is_not_renewed() {
    let renewed = |text: &str| Moment { lease_renewed: Some(time(text)), ..soon() };
    let (fresh, lost) = (renewed("2026-11-20T09:59:31Z"), renewed("2026-11-20T09:59:30Z"));
    let silent = Verdict::ApplierUnavailable(Silence::LeaseNotRenewed);
    assert_eq!(
        judge_helm_release(&object(retrying()), &fresh),
        Verdict::Retrying { attempt: 9, message: "no luck".to_owned() }
    );
    assert_eq!(judge_helm_release(&object(retrying()), &lost), silent);
    assert_eq!(judge_helm_release(&object(Value::Null), &lost), silent);
    // What is in place stays in place when the controller restarts.
    assert_eq!(judge_helm_release(&object(applied()), &lost), Verdict::Applied { drifted: false });
    let mut deleted = object(retrying());
    deleted["metadata"]["deletionTimestamp"] = json!("2026-11-20T10:00:07Z");
    assert_eq!(judge_helm_release(&deleted, &lost), Verdict::Terminating);
}

#[test]
fn odd_times_do_not_overflow() {
    let object = object(installing());
    for since in [Timestamp::MIN, Timestamp::MAX] {
        let expected = Expected { since, ..expected(&object, CHART) };
        let release = serde_json::from_value(object.clone()).unwrap();
        for now in [Timestamp::MIN, Timestamp::MAX] {
            let deadline = jiff::SignedDuration::MAX;
            let moment = Moment { now, lease_renewed: Some(since), deadline };
            assert_ne!(helm_release(&release, &expected, &moment), Verdict::Applied { drifted: false });
        }
    }
}
