//! When an installation that Flux gave up on is retried.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;

#[test]
fn abandoned_installation_is_retried() {
    let mut release = object(
        json!({"failures": 2, "lastAttemptedGeneration": 2, "observedGeneration": 2}),
        &[
            "Stalled=True MissingRollbackTarget: no target",
            "Ready=False UpgradeFailed: no image",
            "Released=False UpgradeFailed: no image",
        ],
    );
    let reported = Verdict::Retrying { attempt: 2, message: "no image".into() };
    assert_eq!(judge_helm_release(&release, &soon()), reported);
    let due = |release: &Value| retry_at(&read(FluxKind::HelmRelease, release));
    assert_eq!(due(&release), Some(time("2026-11-20T10:01:01Z")), "a minute after it gave up");
    for (change, why) in [
        (json!({"spec": {"suspend": true}}), "suspended"),
        (json!({"metadata": {"deletionTimestamp": "2026-11-20T10:00:02Z"}}), "going"),
        (json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": "x"}}}), "asked already"),
        (json!({"metadata": {"generation": 3}}), "changed since"),
    ] {
        let mut changed = release.clone();
        for (part, fields) in change.as_object().unwrap() {
            for (name, value) in fields.as_object().unwrap() {
                changed[part][name] = value.clone();
            }
        }
        assert_eq!(due(&changed), None, "{why}");
    }
    release["status"]["conditions"][0]["reason"] = json!("RetriesExceeded");
    assert_eq!(due(&release), None, "another reason: that is Flux's own decision");
}

#[test]
fn retries_are_due_a_minute_after_flux_gave_up() {
    let given_up = |name: &str, since: &str| {
        let stalled = json!({
            "type": "Stalled", "status": "True", "reason": "MissingRollbackTarget", "message": "no target",
            "lastTransitionTime": since,
        });
        let release = json!({"metadata": {"name": name}, "status": {"conditions": [stalled]}});
        Arc::new(read(FluxKind::HelmRelease, &release))
    };
    let working = Arc::new(read(FluxKind::HelmRelease, &json!({"metadata": {"name": "working"}})));
    let first = given_up("first", "2026-11-20T10:00:00Z");
    let objects = [
        working,
        first.clone(),
        given_up("third", "2026-11-20T10:02:00Z"),
        given_up("second", "2026-11-20T10:01:30Z"),
    ];
    for (now, due, next) in [
        ("2026-11-20T10:00:59Z", 0, Some("2026-11-20T10:01:00Z")),
        ("2026-11-20T10:01:00Z", 1, Some("2026-11-20T10:02:30Z")),
        ("2026-11-20T10:02:30Z", 2, Some("2026-11-20T10:03:00Z")),
        ("2026-11-20T10:03:00Z", 3, None),
    ] {
        let retries = due_retries(&objects, time(now));
        assert_eq!((retries.due.len(), retries.next), (due, next.map(time)), "{now}");
        assert!(due == 0 || retries.due.contains(&first), "{now}");
    }
}
